"""The bundled English cross-encoder: ms-marco-MiniLM-L-12-v2 on onnxruntime.

Reads a question and a text together and gives one logit, higher for a text that answers (Nogueira
and Cho, "Passage Re-ranking with BERT", 2019). The file has int8 weights (inputs `input_ids`,
`attention_mask`, `token_type_ids`, int64). Each pair is run by itself, unpadded: the logit of a
text that is read depends on its pair alone, not on its batch. Of texts that are read together only
those that the first layers find near the best one are read by all (`early_reading`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bundled import open_session, thread_count
from .early_reading import STAGES, STATES, Begun, features, foretold, read_near
from .model_files import CROSS_ENCODER, FETCH_COMMAND, model_fault, model_file
from .onnx_messages import part
from .span_reading import LAYER_OUTPUT, Reading, read_states
from .tokenizer import read_tokeniser

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_LOGGER = logging.getLogger("loregraph.models")

WINDOW_TOKENS = 148
"""Tokens read of a question and a text, the longer cut first; a pair takes time by its tokens.

A block with its heading has 159 in the median and 233 in nine of ten; what it is about is told in
the first ones. Of 90 questions on four sets of documents as much of what answers is shown as with
200 tokens; with 128 more right answers are doubted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair(Begun):
    """Pair of question and text, with the states of its tokens behind the last stage."""

    pair: Encoding
    states: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readings:
    """Texts of the latest question, as far as they were read."""

    question: str = ""
    of: dict[str, _Pair | Reading] = field(default_factory=dict)


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
        self._loaded: tuple[Tokenizer, list[InferenceSession]] | None = None
        self._readings = _Readings()

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return np.array([each.logit for each in self.read(question, texts)])

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Return a reading of each text, in input order; a text is read once for a question.

        A text that the first layers find far below the best one of these is not read on (`STAGES`):
        its logit is as they foretell it, and it has no words that may be the answer.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._read(question, texts, far=[stage.far for stage in STAGES])

    def fully(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order; all are read to the end.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        found = self._read(question, texts, far=[np.inf for _ in STAGES])
        return np.array([each.logit for each in found])

    def _read(self, question: str, texts: Sequence[str], *, far: Sequence[float]) -> list[Reading]:
        known = self._readings  # others may be asked at once
        if known.question != question:
            self._readings = known = _Readings(question=question)
        for text in texts:
            if text not in known.of:
                known.of[text] = self._begun(question, text)
        return read_near(texts, known.of, self._read_on, far=far, threads=self._threads)

    def states(self, question: str, text: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the states of the text's tokens, and where in the text each begins and ends."""
        _, states, offsets = self._finished(self._stages(question, text)[-1])
        return states, offsets

    def early(self, question: str, text: str) -> tuple[list[NDArray[np.float64]], float]:
        """Return of what a logit is foretold behind each stage (see `features`), and the logit."""
        stages = self._stages(question, text)
        types = np.array(stages[-1].pair.type_ids)
        found = [features(one.states[0], types) for one in stages if one.states is not None]
        return found, self._finished(stages[-1])[0]

    def _stages(self, question: str, text: str) -> list[_Pair]:
        """Return a pair behind each stage."""
        stages = [self._foretold(self._begun(question, text))]
        while len(stages) < len(STAGES):
            stages.append(self._foretold(stages[-1]))
        return stages

    def _begun(self, question: str, text: str) -> _Pair:
        tokeniser, _ = self._parts()
        return _Pair(pair=tokeniser.encode(question, text.replace("`", " ")))  # marks of code

    def _read_on(self, begun: _Pair) -> _Pair | Reading:
        if begun.stages < len(STAGES):
            return self._foretold(begun)
        return read_states(*self._finished(begun))

    def _foretold(self, begun: _Pair) -> _Pair:
        """Run the layers of the next stage."""
        (states,) = self._run(begun)
        logit = foretold(begun.stages, states[0], np.array(begun.pair.type_ids))
        return replace(begun, stages=begun.stages + 1, states=states, logit=logit)

    def _finished(self, begun: _Pair) -> tuple[float, NDArray[np.float32], NDArray[np.int64]]:
        """Run the last layers: the logit, the states of the text's tokens and their places."""
        logits, states = self._run(begun)
        offsets = np.array(begun.pair.offsets, dtype=np.int64)
        own = (np.array(begun.pair.type_ids) == 1) & (offsets[:, 1] > offsets[:, 0])
        return float(np.ravel(logits)[0]), states[0][own], offsets[own]

    def _run(self, begun: _Pair) -> list[NDArray[np.float32]]:
        """Run a pair through the layers behind those that it was run through."""
        session, pair = self._parts()[1][begun.stages], begun.pair
        inputs: dict[str, object] = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
        }
        if begun.stages:
            inputs[STAGES[begun.stages - 1].output] = begun.states
        given = {each.name: inputs[each.name] for each in session.get_inputs()}
        return list(session.run(None, given))

    def _parts(self) -> tuple[Tokenizer, list[InferenceSession]]:
        with self._lock:
            if self._loaded is None:
                tokeniser = read_tokeniser(
                    model_file(CROSS_ENCODER, "tokenizer.json", self._environment)
                )
                tokeniser.enable_truncation(self._window_tokens, strategy="longest_first")
                model = model_file(CROSS_ENCODER, "model.onnx", self._environment).read_bytes()
                self._loaded = (tokeniser, [open_session(part) for part in _parts_of(model)])
            return self._loaded


def _parts_of(model: bytes) -> Iterator[bytes]:
    """Give the part of the model of each stage, then the rest of it."""
    given: dict[str, Sequence[int | str]] = {}
    for stage in STAGES:
        yield part(model, [stage.output], given=given)
        given = {stage.output: ("texts", "tokens", STATES)}
    yield part(model, ["logits", LAYER_OUTPUT], given=given)


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
