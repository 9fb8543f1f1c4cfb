"""Short answers by the reader: spans of the shown sentences, weighed by where it sees the answer.

The bundled cross-encoder tells for each word how likely the answer begins or ends there. Spans are
still those of the rules, so that an answer is a whole name, date or number of the asked kind. The
confidence of the likeliest is the calibrated probability that it is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...embeddings.span_reading import LEAST, Reading
from .answer_spans import COEFFICIENTS as SPAN_COEFFICIENTS
from .answer_spans import FEATURES as SPAN_FEATURES
from .answer_spans import Candidate, softmax, span_candidates
from .question_type import Kind, QuestionType
from .sentence_scoring import ScoredSentence

Floats = NDArray[np.float64]

LOWEST, HIGHEST = -8.0, 8.0
"""Bounds of a logit."""
LEAST_READ = -16.0
"""Log-probability below which spans are alike."""

FEATURES = ("span score", "read", "logit", "fits", "typed")
COEFFICIENTS = (0.64, 0.23, 0.36, 0.37, 0.45)
"""Weights of a span, in the order of `FEATURES`; of one question the sum of shares is 1."""
CALIBRATION_FEATURES = ("constant", "log odds", "read", "logit")
CALIBRATION = (0.31, 0.34, 0.72, 0.82)
"""Weights of the log odds that a span is right, in the order of `CALIBRATION_FEATURES`.

Of SQuAD 2.0 and three sets of several hops; the constant is of the sample corpus, as questions made
to mislead, and chains, are rarer than in those sets.
"""
MOST_ODDS = 6.0
_KINDS_WITH_FORM = frozenset(("person", "place", "nationality", "time", "amount", "money"))
"""Kinds of which every answer has a form of its own."""


@runtime_checkable
class SpanReader(Protocol):
    """Reader that tells where in a text the answer stands."""

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Return a reading of each text."""
        ...


def read_candidates(
    question: str,
    weighed: Sequence[ScoredSentence],
    texts: Mapping[int, str],
    *,
    asked: QuestionType,
    wanted: Mapping[str, float],
    reader: SpanReader,
    types: Mapping[str, str],
) -> tuple[list[Candidate], Floats]:
    """Return the spans of the rows of `texts` and their matrix (spans, FEATURES).

    `texts` are what the reader reads of each row: the sentence at the end, its context before.
    `types` are the graph's types of names, by the name as it stands.
    """
    found, matrix = span_candidates(question, weighed, asked=asked, wanted=wanted, rows=list(texts))
    readings = dict(zip(texts, reader.read(question, list(texts.values())), strict=True))
    scores = matrix @ np.array(SPAN_COEFFICIENTS[asked.language])
    fits = matrix[:, SPAN_FEATURES.index("fits")]
    rows = []
    for each, score, fit in zip(found, scores, fits, strict=True):
        reading, text = readings[each.row], texts[each.row]
        read = _read(reading, text, each, weighed[each.row].sentence.text)
        logit = min(max(reading.logit, LOWEST), HIGHEST)
        typed = type_match(asked.kind, types.get(each.text, ""))
        rows.append([score, max(read, LEAST_READ), logit, fit, typed])
    return found, np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


def type_match(kind: str, type_: str) -> float:
    """Return 1 for a name of the type asked for, −1 for one of another, 0 where that is open."""
    if kind not in _TYPE_OF or type_ in _OPEN_TYPES or (kind, type_) in _MAY_BE:
        return 0.0
    return 1.0 if type_ == _TYPE_OF[kind] else -1.0


_TYPE_OF = {"person": "PERSON", "place": "PLACE"}
_OPEN_TYPES = ("", "NAME", "CONCEPT")
_MAY_BE = (("person", "ORGANISATION"),)
"""A company may be who did it."""


def _read(reading: Reading, text: str, span: Candidate, sentence: str) -> float:
    """Return the log-probability of a span where it stands in the text that was read."""
    if text.endswith(sentence):
        place = len(text) - len(sentence) + span.span.start
    else:  # marks are left out of what is read
        place = text.rfind(span.text)
    return reading.span(place, place + len(span.text)) if place >= 0 else reading.span(-1, -1)


def rank_read_spans(found: Sequence[Candidate], matrix: Floats, *, kind: Kind) -> list[Candidate]:
    """Rank spans, likeliest first, with the confidence of each; ties by position.

    What has another type or form than the kind asked for, a person for a place, a name for a date,
    is none of them.
    """
    shares = softmax(matrix @ np.array(COEFFICIENTS))
    order = np.lexsort((np.arange(shares.size), -shares))
    odds = calibration_features(found, matrix, shares) @ np.array(CALIBRATION)
    confidence = 1.0 / (1.0 + np.exp(-odds))
    typed, fits = (matrix[:, FEATURES.index(name)] for name in ("typed", "fits"))
    is_shown = (typed >= 0) & ((fits > 0) | (kind not in _KINDS_WITH_FORM))
    return [
        replace(found[place], share=float(shares[place]), confidence=float(confidence[place]))
        for place in order
        if is_shown[place]
    ]


def calibration_features(
    found: Sequence[Candidate],
    matrix: Floats,
    shares: Floats,
) -> Floats:
    """Return the matrix (spans, CALIBRATION_FEATURES); a text counts wherever it stands."""
    of_text: dict[str, float] = defaultdict(float)
    for each, share in zip(found, shares, strict=True):
        of_text[each.text] += float(share)
    share = np.clip(np.array([of_text[each.text] for each in found]), 1e-6, 1 - 1e-6)
    read, logit = (matrix[:, FEATURES.index(name)] for name in ("read", "logit"))
    return np.stack(
        [
            np.ones(shares.size),
            np.clip(np.log(share / (1.0 - share)), -MOST_ODDS, MOST_ODDS),
            np.maximum(read, LEAST) / 4,
            logit / 4,
        ],
        axis=1,
    )
