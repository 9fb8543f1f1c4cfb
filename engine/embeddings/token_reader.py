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
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from .bundled import thread_count
from .early_reading import Begun, read_near
from .question_encoder import Changes, Encoder, load_encoder
from .span_reading import Reading, unread_text

READ_TOKENS, ASKED_TOKENS = 320, 64
"""Tokens read of a text and of a question."""
ROWS_AT_ONCE = 2
"""Tokens of a question that are compared at once."""
COMMON, LARGEST = -8.0, 16.0
"""Log-probability of a word piece of middling weight, and the rareness of one, at most."""
SCALE, EVEN = 20.0, -14.0
"""Logits of a likeness of 1 above one of 0, and of a likeness of 0."""
BY_WORDS, FAR = (-13.1, 14.8, 8.6), 1.75
"""Logit that the words of a text foretell by their likeness to the question's, token by token and
as a whole: constant and weights, fitted by `tests/benchmarks/fit_early.py`. From so far below the
best one of a call on a text is not read: of 472 texts for 30 questions on a novel a half, and the
best of 2 of 71 calls, by .3 logits."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question: its tokens' vectors and states, what share each has, and the texts read for it.

    `words` and `states` are of length 1, without the tokens around the question; `whole` the same
    of their means.
    """

    question: str
    words: Floats
    whole_words: Floats
    states: Floats
    whole: Floats
    shares: Floats
    read: dict[str, _Text | Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text(Begun):
    """A text as word pieces."""

    row: Sequence[int]


class TokenReader:
    """Reader of texts in a question's language by their tokens; thread-safe, loaded on first use.

    Of the texts of a call only those are read whose words are near enough (`FAR`); the others have
    the logit that their words foretell.

    Args:
        environment: where to look for `LOREGRAPH_MODELS`.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()
        self._latest: _Asked | None = None

    def __call__(self, question: str, texts: Sequence[str]) -> Floats:
        """Return a logit for each text, in input order; a text is read once for a question.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._logits(question, texts, far=FAR)

    def fully(self, question: str, texts: Sequence[str]) -> Floats:
        """Return a logit for each text, in input order; all are read to the end.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._logits(question, texts, far=np.inf)

    def _logits(self, question: str, texts: Sequence[str], *, far: float) -> Floats:
        if not texts:
            return np.empty(0)
        encoder, asked = self._loaded(), self._asked(question)
        for text in texts:
            if text not in asked.read:
                asked.read[text] = _text(encoder, text)
        read_on = partial(_read_on, encoder, asked)
        found = read_near(texts, asked.read, read_on, far=[far], threads=thread_count())
        return np.array([each.logit for each in found])

    def early(self, question: str, text: str) -> tuple[tuple[float, float], float]:
        """Return of what a text's logit is foretold, its words' likeness, and the logit."""
        encoder, asked = self._loaded(), self._asked(question)
        begun = _text(encoder, text)
        return _likeness_of_words(encoder, asked, begun), _read(encoder, asked, begun).logit

    def _asked(self, question: str) -> _Asked:
        asked = self._latest  # others may be asked at once
        if asked is None or asked.question != question:
            self._latest = asked = _asked(question, self._loaded())
        return asked

    def _loaded(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = load_encoder(self._environment, _changes())
            return self._encoder


def _asked(question: str, encoder: Encoder) -> _Asked:
    """Read a question: rare word pieces have a larger share."""
    shape, weights = encoder.shape, _weights()
    row, by_token = shape.row(f"query: {question}", ASKED_TOKENS), weights["weight"]
    inner = slice(shape.lead("query"), -1)
    states, words = encoder.states(row), _unit(encoder.word_vectors(row[inner]))
    rareness = np.minimum(-shape.chances[row[inner]], LARGEST)
    odds = states[inner] @ by_token[:-2] + by_token[-2]
    shares = np.logaddexp(0.0, odds + by_token[-1] * (rareness + COMMON))
    return _Asked(
        question=question,
        words=words,
        whole_words=_unit(words.mean(axis=0)),
        states=_unit(states[inner]),
        whole=_unit(states.mean(axis=0)),
        shares=shares / shares.sum(),
    )


def _text(encoder: Encoder, text: str) -> _Text:
    return _Text(row=encoder.shape.row(f"passage: {text}", READ_TOKENS))


def _read_on(encoder: Encoder, asked: _Asked, text: _Text) -> _Text | Reading:
    """Compare the words of a text with those of the question, then their states."""
    if text.stages:
        return _read(encoder, asked, text)
    constant, by_token, by_whole = BY_WORDS
    near, whole = _likeness_of_words(encoder, asked, text)
    return replace(text, stages=1, logit=constant + by_token * near + by_whole * whole)


def _likeness_of_words(encoder: Encoder, asked: _Asked, text: _Text) -> tuple[float, float]:
    """Return the likeness of words as they stand by themselves, one by one and as a whole."""
    words = _unit(encoder.word_vectors(text.row[encoder.shape.lead("passage") : -1]))
    near = asked.shares @ _nearest(asked.words, words)
    return float(near), float(asked.whole_words @ _unit(words.mean(axis=0)))


def _read(encoder: Encoder, asked: _Asked, text: _Text) -> Reading:
    """Compare the states of a text with those of the question."""
    found = encoder.states(text.row)
    nearest = _nearest(asked.states, _unit(found[encoder.shape.lead("passage") : -1]))
    whole = asked.whole @ _unit(found.mean(axis=0))
    near = float(asked.shares @ nearest + _weights()["cosine"] * whole)
    return unread_text(SCALE * near + EVEN)


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
