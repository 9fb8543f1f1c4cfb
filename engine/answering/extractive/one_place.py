"""Facts told at one place: which blocks are read, and which of their sentences answers.

A block is read where its words and its passage promise most; a sentence answers by the reader's
logit of its block, by where in that the reader sees the answer begin, and by its own words. All
weights are fitted to SQuAD 2.0 by `tests/benchmarks/fit_blocks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...storage.tokenization import tokens
from ...types import Passage
from .answer_spans import softmax
from .block_prior import PromisingBlock, promising_blocks, weight_of
from .blocks import text_to_read
from .read_spans import SpanReader
from .sentence_scoring import ScoredSentence

Floats = NDArray[np.float64]

READ_BLOCKS = 10
"""Blocks that are read."""
SENTENCE_FEATURES = ("words", "logit", "begins")
SENTENCE_WEIGHTS = (0.4, 0.6, 0.9)
"""Weights of the log share of a sentence, in the order of `SENTENCE_FEATURES`."""
LOWEST, HIGHEST, LEAST = -8.0, 11.0, 1e-3
"""Bounds of a logit, and the probability of a beginning below which sentences are alike."""
WHOLE = 0.8
"""Share of the question's weight from which on a block carries what is asked about."""
ENOUGH, LEAST_SHARE = 0.8, 0.15
"""Share from which on no further sentence is shown, and the least of one that is."""


def rests_elsewhere(
    sentence: ScoredSentence, weighed: Sequence[ScoredSentence], passages: Sequence[Passage]
) -> bool:
    """Check that a sentence rests on one of another document, which leads to it: a chain."""
    if sentence.hop is None:
        return False
    own, leading = (passages[each.sentence.passage] for each in (sentence, weighed[sentence.hop]))
    return own.document_id != leading.document_id


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePlace:
    """Rows of the sentences that answer, likeliest first.

    `is_whole`: the block of the first one carries what the question asks about, so that no sentence
    elsewhere is needed to tell what it says.
    """

    rows: list[int]
    is_whole: bool


def read_one_place(
    question: str,
    weighed: Sequence[ScoredSentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    reader: SpanReader,
    limit: int,
) -> OnePlace:
    """Read the blocks that promise most and select their sentences, at most `limit`."""
    likely = promising_blocks(question, weighed, passages, wanted=wanted)[:READ_BLOCKS]
    scores = np.full(len(weighed), -np.inf)
    features = sentence_features(question, likely, weighed, passages, reader=reader)
    for one, found in zip(likely, features, strict=True):
        scores[list(one.rows)] = found @ np.array(SENTENCE_WEIGHTS)
    rows = _likeliest(softmax(scores), limit=limit)
    block = next(one.block for one in likely if rows[0] in one.rows)
    return OnePlace(rows=rows, is_whole=weight_of(set(tokens(block.text)), wanted) >= WHOLE)


def _likeliest(share: Floats, *, limit: int) -> list[int]:
    """Return the rows of the likeliest sentences, until they answer with enough probability."""
    order = [int(row) for row in np.argsort(-share, kind="stable")[:limit]]
    chosen = order[:1]
    for row in order[1:]:
        if share[chosen].sum() >= ENOUGH or share[row] < LEAST_SHARE:
            break
        chosen.append(row)
    return chosen


def sentence_features(
    question: str,
    likely: Sequence[PromisingBlock],
    weighed: Sequence[ScoredSentence],
    passages: Sequence[Passage],
    *,
    reader: SpanReader,
) -> list[Floats]:
    """Return for each block (its sentences, SENTENCE_FEATURES)."""
    texts = [text_to_read(one.block, passages) for one in likely]
    best = max(each.score for each in weighed)
    found = []
    for one, text, reading in zip(likely, texts, reader.read(question, texts), strict=True):
        begins, logit = np.exp(reading.begins), min(max(reading.logit, LOWEST), HIGHEST)
        behind = len(text) - len(one.block.text) - one.block.start
        features = []
        for row in one.rows:
            sentence = weighed[row].sentence
            start, end = behind + sentence.start, behind + sentence.end
            mass = float(begins[(start <= reading.starts) & (reading.starts < end)].sum())
            features.append((weighed[row].score - best, logit, np.log(mass + LEAST)))
        found.append(np.array(features))
    return found
