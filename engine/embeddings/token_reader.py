"""Late interaction: a question and a text compared token by token.

Each token of the question looks for the token of the text that is nearest to it (Khattab and
Zaharia, "ColBERT", 2020); rare word pieces weigh more, and the cosine of the whole is added. States
are those of the multilingual encoder, the weights of whose last four layers are changed by products
of low rank (Hu et al., "LoRA", 2021). These and the weights of tokens are in `token_weights.npz`
(MIT, as the encoder), fitted by `tests/benchmarks/fit_token_reader.py` to questions and the blocks
that answer them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from .bundled import map_threads, thread_count
from .question_encoder import Changes, Encoder, load_encoder

READ_TOKENS, ASKED_TOKENS = 320, 64
"""Tokens read of a text and of a question."""
ROWS_AT_ONCE = 2
"""Tokens of a question that are compared at once."""
COMMON, LARGEST = -8.0, 16.0
"""Log-probability of a word piece of middling weight, and the rareness of one, at most."""
SCALE, EVEN = 20.0, -14.0
"""Logits of a likeness of 1 above one of 0, and of a likeness of 0."""

Floats = NDArray[np.float64]


class TokenReader:
    """Reader of texts in a question's language by their tokens; thread-safe, loaded on first use.

    Args:
        environment: where to look for `LOREGRAPH_MODELS`.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()

    def __call__(self, question: str, texts: Sequence[str]) -> Floats:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        if not texts:
            return np.empty(0)
        encoder, weights = self._loaded(), _weights()
        shape, by_token = encoder.shape, weights["weight"]
        row = shape.row(f"query: {question}", ASKED_TOKENS)
        states = encoder.states(row)
        inner = slice(shape.lead("query"), -1)
        own, whole = _unit(states[inner]), _unit(states.mean(axis=0))
        rareness = np.minimum(-shape.chances[row[inner]], LARGEST)
        odds = states[inner] @ by_token[:-2] + by_token[-2]
        shares = np.logaddexp(0.0, odds + by_token[-1] * (rareness + COMMON))
        shares = shares / shares.sum()
        start = shape.lead("passage")

        def read(text: str) -> float:
            found = encoder.states(shape.row(f"passage: {text}", READ_TOKENS))
            nearest = _nearest(own, _unit(found[start:-1]))
            near = float(shares @ nearest + weights["cosine"] * (whole @ _unit(found.mean(axis=0))))
            return SCALE * near + EVEN

        return np.array(map_threads(read, list(texts), threads=thread_count()))

    def _loaded(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = load_encoder(self._environment, _changes())
            return self._encoder


def _nearest(own: Floats, others: Floats) -> Floats:
    """Return the greatest product of each row with any of the others.

    A few rows at a time: for larger products OpenBLAS wakes a thread, which then waits busily for
    the next one, 20 CPU ms a text.
    """
    some = range(0, len(own), ROWS_AT_ONCE)
    return np.concatenate([(own[row : row + ROWS_AT_ONCE] @ others.T).max(axis=1) for row in some])


def _unit(states: NDArray[np.float32]) -> Floats:
    rows = states.astype(np.float64)
    found: Floats = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return found


@cache
def _weights() -> Mapping[str, NDArray[np.float32]]:
    """Read the fitted weights by name."""
    with (files(__package__) / "token_weights.npz").open("rb") as file:
        found = np.load(file, allow_pickle=False)
        return {name: found[name].astype(np.float32) for name in found.files}


def _changes() -> Changes:
    weights = _weights()
    names = {name.rpartition(".")[0] for name in weights if name.endswith(".in")}
    return {name: (weights[f"{name}.out"], weights[f"{name}.in"]) for name in sorted(names)}
