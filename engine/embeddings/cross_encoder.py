"""The bundled English cross-encoder: ms-marco-MiniLM-L-12-v2 on onnxruntime.

Reads a question and a text together and gives one logit, higher for a text that answers (Nogueira
and Cho, "Passage Re-ranking with BERT", 2019). The file has int8 weights (inputs `input_ids`,
`attention_mask`, `token_type_ids`, int64). Each pair is run by itself, unpadded: a logit depends
on its pair alone, not on its batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bundled import map_threads, open_session, thread_count
from .model_files import CROSS_ENCODER, FETCH_COMMAND, model_fault, model_file
from .onnx_messages import with_output
from .span_reading import LAYER_OUTPUT, Reading, read_states
from .tokenizer import read_tokeniser

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_LOGGER = logging.getLogger("loregraph.models")

WINDOW_TOKENS = 148
"""Tokens read of a question and a text, the longer cut first; a pair takes time by its tokens.

A block with its heading has 159 in the median and 233 in nine of ten; what it is about is told in
the first ones. Of 90 questions on four sets of documents as much of what answers is shown as with
200 tokens; with 128 more right answers are doubted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readings:
    """Readings of the latest question, by text."""

    question: str = ""
    of: dict[str, Reading] = field(default_factory=dict)


class CrossEncoder:
    """The bundled cross-encoder; loaded on first use, thread-safe.

    Args:
        window_tokens: tokens read of each pair.
        threads: pairs that are read at once, each by one thread; by default as many as this process
            has processors, four at most.
        environment: where to look for `LOREGRAPH_MODELS`.
    """

    def __init__(
        self,
        *,
        window_tokens: int = WINDOW_TOKENS,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._window_tokens = window_tokens
        self._threads = threads or thread_count()
        self._environment = environment
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None
        self._readings = _Readings()

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return np.array([each.logit for each in self.read(question, texts)])

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Return a reading of each text, in input order; a text is read once for a question.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        known = self._readings  # others may be asked at once
        if known.question != question:
            self._readings = known = _Readings(question=question)
        new = [text for text in dict.fromkeys(texts) if text not in known.of]
        found = map_threads(partial(self._read, question), new, threads=self._threads)
        known.of.update(zip(new, found, strict=True))
        return [known.of[text] for text in texts]

    def _read(self, question: str, text: str) -> Reading:
        logit, states, own, offsets = self._run(question, text)
        return read_states(logit, states[own], offsets)

    def states(self, question: str, text: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the states of the text's tokens, and where in the text each begins and ends."""
        _, states, own, offsets = self._run(question, text)
        return states[own], offsets

    def _run(
        self, question: str, text: str
    ) -> tuple[float, NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]]:
        """Run the model on a pair: logit, states, which are of the text, and these ones' places."""
        tokeniser, session = self._parts()
        pair = tokeniser.encode(question, text.replace("`", " "))  # marks of code say nothing
        inputs = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
        }
        logits, states = session.run(None, inputs)
        offsets = np.array(pair.offsets, dtype=np.int64)
        own = (np.array(pair.type_ids) == 1) & (offsets[:, 1] > offsets[:, 0])
        return float(np.ravel(logits)[0]), states[0], own, offsets[own]

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                tokeniser = read_tokeniser(
                    model_file(CROSS_ENCODER, "tokenizer.json", self._environment)
                )
                tokeniser.enable_truncation(self._window_tokens, strategy="longest_first")
                path = model_file(CROSS_ENCODER, "model.onnx", self._environment)
                session = open_session(with_output(path.read_bytes(), LAYER_OUTPUT))
                self._loaded = (tokeniser, session)
            return self._loaded


def load_reader(kind: str, environment: Mapping[str, str] | None = None) -> CrossEncoder | None:
    """Return the bundled cross-encoder; None for `none`, or without its files."""
    if kind == "none":
        return None
    if fault := model_fault(CROSS_ENCODER, environment, by_size=True):
        _LOGGER.warning(
            "answers go without %s, which %s: run `%s`", CROSS_ENCODER.name, fault, FETCH_COMMAND
        )
        return None
    return CrossEncoder(environment=environment)
