"""The bundled English cross-encoder: ms-marco-MiniLM-L-12-v2 on onnxruntime.

Reads a question and a text together and gives one logit, higher for a text that answers (Nogueira
and Cho, "Passage Re-ranking with BERT", 2019). The file has int8 weights (inputs `input_ids`,
`attention_mask`, `token_type_ids`, int64). Each pair is run by itself, unpadded: a logit depends
on its pair alone, not on its batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bundled import open_session
from .model_files import CROSS_ENCODER, FETCH_COMMAND, model_fault, model_file
from .tokenizer import read_tokeniser

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_LOGGER = logging.getLogger("loregraph.models")

WINDOW_TOKENS = 128
"""Tokens read of a question and a text: the time of a pair grows with them."""


class CrossEncoder:
    """The bundled cross-encoder; loaded on first use, thread-safe.

    Args:
        window_tokens: tokens read of each pair.
        threads: threads of one run; by default the processors of this process, four at most.
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
        self._threads = threads
        self._environment = environment
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        logits = np.empty(len(texts))
        if texts:
            tokeniser, session = self._parts()
            for row, text in enumerate(texts):
                pair = tokeniser.encode(question, text)
                inputs = {
                    "input_ids": np.array([pair.ids], dtype=np.int64),
                    "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
                    "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
                }
                logits[row] = float(np.ravel(session.run(None, inputs)[0])[0])
        return logits

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                tokeniser = read_tokeniser(
                    model_file(CROSS_ENCODER, "tokenizer.json", self._environment)
                )
                tokeniser.enable_truncation(self._window_tokens, strategy="only_second")
                model = model_file(CROSS_ENCODER, "model.onnx", self._environment)
                self._loaded = (tokeniser, open_session(str(model), threads=self._threads))
            return self._loaded


def load_reader(
    kind: str, environment: Mapping[str, str] | None = None
) -> Callable[[str, Sequence[str]], NDArray[np.float64]] | None:
    """Return the scoring function of the bundled cross-encoder; None for `none`, or without it."""
    if kind == "none":
        return None
    if fault := model_fault(CROSS_ENCODER, environment, by_size=True):
        _LOGGER.warning(
            "answers go without %s, which %s: run `%s`", CROSS_ENCODER.name, fault, FETCH_COMMAND
        )
        return None
    return CrossEncoder(environment=environment).score
