"""Best block: the one that answers a question, chosen by the cross-encoder.

A dozen blocks, those with the best sentences, are read by the cross-encoder together with the
question; signs of what is asked (a definition, a cause, steps, a list, a command) count beside its
logit. Without a reader the best sentence's score and the heading decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...prompts import language_of
from ...types import Passage
from .block_candidates import (
    FUSED,
    WORDS,
    Reader,
    WeighedBlock,
    WholeReader,
    fused_score,
    read_heading,
    read_leads,
    read_text,
    told_text,
)
from .blocks import (
    ExcerptBlock,
    entry_term,
    is_of_term,
)
from .evidence import probability
from .extent import (
    Best,
    in_section,
    leans,
    opens_section,
    with_adjoining_blocks,
)
from .intent import Intent, is_defined_by, shows_intent
from .read_spans import SpanReader

READ_BLOCKS, MORE_BLOCKS = 7, {"en": 12, "zh": 16}
"""Blocks that reach the reader (`READ_AT_ONCE` at a time), and those that do where none of these
answers plainly. Of 36 questions on a Chinese novel 8 show the block that answers for 15, 16 for 18.
"""
LIKELY, MOST_ABOVE, LONE_ABOVE = (-3.6, 0.70, 0.86), 4.0, 1.0
"""Log odds that a Chinese block answers: constant, its logit, score above the next block
(`MOST_ABOVE` at most, `LONE_ABOVE` where there is none). Of 172 questions on a novel, manuals and
help pages, 79 of them asked of another library (AUC .92)."""
READ_AT_ONCE, FOUND = {"en": 4, "zh": 8}, {"en": 9.0, "zh": 5.5}
"""Blocks that are read together; no further ones are where one has such a logit,
signs counted."""
PLAINLY_READ = 5.5
"""The same behind the first `READ_BLOCKS`."""
SHOWN = {"en": 2.0, "zh": 0.5}
"""A reader's logits for signs of what is asked."""
OF_TERM = 2.0
"""Logits for an entry whose term the question names."""
SIGNED = 2.0
"""The same where nothing reads."""
NEARLY = 3.5
"""Logits below the best block at which an adjoining one is shown with it."""
CLOSEST, CLOSE, DISPUTED = 3, {"en": 1.5, "zh": 0.5}, 3.0
"""Blocks that may be shown below the best one, and the logits that they lie below it at most; where
vectors find it nearer, more. Of English questions where they do the best block answers .45 and one
of both .76; of those where they do not the best one .73."""
BESIDE = {"en": 2.0, "zh": 4.0}
"""The same where the best one is unsure. Of 86 English questions 8 have the answer in another block
so near, 1 in one of 17 farther ones; for Chinese not measured."""
UNSURE, UNLIKELY, BESIDE_UNSURE = 1.5, 0.4, {"en": 2, "zh": 2}
"""Logit of an English block from which it answers with .6, this probability of a Chinese one, and
the blocks that are shown below one that does with less, or that defines nothing where a definition
is asked for."""
IN_A_SENTENCE = frozenset(("command", "definition", "explanation"))
"""Intents that one sentence of a block may answer."""
LEADING = 3
"""Blocks, best read first, whose sentences are read."""
LEADS, ALONE = 2.5, 2.0
"""Logit from which a sentence answers by itself, and how far it may lie below its block's."""
_POINTS = re.compile(r"\b(?:following|as follows|below)\b", re.IGNORECASE)
"""Words of a sentence that points to what stands below it."""
OPENS = {"definition": 1.0, "explanation": 1.0}
"""Logits of English for the first block of a section, which introduces what it is about."""


def best_blocks(
    question: str,
    intent: Intent,
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    read: Reader | None,
    is_alone: bool = True,
) -> list[Best]:
    """Return the best block, and what may answer in its place unless it is to stand alone.

    A block is read as the best of its sentences is, where one sentence may answer.
    """
    logits: NDArray[np.float64] | None = None
    leads: dict[int, tuple[int, int]] = {}
    shown = np.array([_shows(intent, one.block, question) for one in candidates])
    scores = np.array([one.prior for one in candidates])
    if read is not None:
        logits = read_blocks(question, candidates, passages, read, signs=shown)
        if intent in IN_A_SENTENCE and isinstance(read, SpanReader):
            logits, leads = _with_leads(question, candidates, passages, logits, wanted, read)
            if intent == "definition":
                leads = {
                    row: place
                    for row, place in leads.items()
                    if _tells(passages[candidates[row].block.passage], place, question)
                }
        scores = logits + _signs(question, intent, candidates, passages, shown)
    else:
        scores = scores + SIGNED * shown
    order = [int(row) for row in np.argsort(-scores, kind="stable")]
    starts = ("list", "steps") if language_of(question) == "en" else ("list", "steps", "comparison")
    row = _list_start(order[0], candidates, scores) if intent in starts else order[0]
    first = candidates[row].block
    near = [candidates[each].block for each in order if scores[each] >= scores[row] - NEARLY]
    if intent == "list" and first.form == "entry" and not is_of_term(first, question):
        first = replace(first, form="list")  # not what one term means is asked for, but all terms
    if intent == "steps" and first.form == "titled":
        first = replace(first, form="prose")  # the next step stands below it
    best = Best(
        block=with_adjoining_blocks(first, near, passages),
        score=float(scores[row]),
        logit=None if logits is None else float(logits[row]),
        lead=leads.get(row),
    )
    rest = [each for each in order if not _is_part(candidates[each].block, best.block)]
    if logits is not None and language_of(question) == "zh":
        below = [float(scores[each]) for each in rest]
        best = replace(best, likely=_likelihood(best, below))
    if read is None or logits is None or is_alone:
        return [best]
    is_undefined = intent == "definition" and not shown[row]
    sure = LEADS if is_undefined else UNSURE
    is_unsure = logits[row] < sure if best.likely is None else best.likely < UNLIKELY
    others = _below_best(question, row, rest, scores, logits, candidates, passages, read,
                        is_unsure=is_unsure)  # fmt: skip
    return [best, *others]


def _signs(
    question: str,
    intent: Intent,
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    shown: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return what counts beside each block's logit: words, passage, signs of what is asked."""
    language = language_of(question)
    words = np.array([one.prior for one in candidates])
    found = np.array([fused_score(one.block, passages) for one in candidates])
    signs = WORDS[language] * words + FUSED * found + SHOWN[language] * shown
    signs += OF_TERM * np.array([is_of_term(one.block, question) for one in candidates])
    if language == "en":
        opens = np.array([opens_section(one.block, passages) for one in candidates])
        signs += OPENS.get(intent, 0.0) * opens
    return np.asarray(signs)


def _below_best(
    question: str,
    row: int,
    rest: Sequence[int],
    scores: NDArray[np.float64],
    logits: NDArray[np.float64],
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    read: Reader,
    *,
    is_unsure: bool,
) -> list[Best]:
    """Return what may answer in the place of the best block; more where that is unsure."""
    other = _second(question, row, rest, scores, candidates, passages, read)
    others = [] if other is None else [other]
    if is_unsure:
        language = language_of(question)
        close = (each for each in rest[:CLOSEST] if scores[each] >= scores[row] - BESIDE[language])
        most = BESIDE_UNSURE[language]
        others = list(dict.fromkeys((*others, *close)))[:most]
    return [
        Best(block=candidates[each].block, score=float(scores[each]), logit=float(logits[each]))
        for each in others
    ]


def _second(
    question: str,
    row: int,
    rest: Sequence[int],
    scores: NDArray[np.float64],
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    read: Reader,
) -> int | None:
    """Return the row of a block that may answer in the place of the best one; None without.

    It is nearly as good, or of those that are not much worse vectors find it nearer than the best.
    """
    language = language_of(question)
    vectors = read if language == "en" and isinstance(read, WholeReader) else None
    least = scores[row] - (CLOSE[language] if vectors is None else DISPUTED)
    close = [each for each in rest[:CLOSEST] if scores[each] >= least]
    if vectors is None or not close:
        return close[0] if close else None
    rows = [row, *close]
    near = vectors.whole(question, [read_text(candidates[each].block, passages) for each in rows])
    nearest = rows[int(np.argmax(near))]
    return None if nearest == row else nearest


def _tells(passage: Passage, place: tuple[int, int], question: str) -> bool:
    """Check for a sentence that says what something is."""
    return shows_intent("definition", passage.text[slice(*place)], question)


def _with_leads(
    question: str,
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    logits: NDArray[np.float64],
    wanted: Mapping[str, float],
    read: Reader,
) -> tuple[NDArray[np.float64], dict[int, tuple[int, int]]]:
    """Return the logits, no lower than those of sentences, and where a sentence answers by row."""
    rows = [int(row) for row in np.argsort(-logits, kind="stable")[:LEADING]]
    blocks = [candidates[row].block for row in rows]

    def above(block: ExcerptBlock) -> str:
        return read_heading(block, passages)

    told = read_leads(question, blocks, above=above, wanted=wanted, read=read)
    raised, places = logits.copy(), {}
    for row, block, lead in zip(rows, blocks, told, strict=True):
        if lead is not None:
            raised[row] = max(logits[row], lead.logit)
            said = block.text[lead.start : lead.end]
            stands = not (leans(said) or _POINTS.search(said))
            if stands and lead.logit >= max(LEADS, logits[row] - ALONE):
                places[row] = (block.start + lead.start, block.start + lead.end)
    return raised, places


def _likelihood(best: Best, rest: Sequence[float]) -> float:
    """Return the probability that a Chinese block answers; `rest` are the scores of the others."""
    above = min(MOST_ABOVE, best.score - max(rest)) if rest else LONE_ABOVE
    return probability(float(np.dot(LIKELY, (1.0, best.logit or 0.0, above))))


def _list_start(row: int, candidates: Sequence[WeighedBlock], scores: NDArray[np.float64]) -> int:
    """Return the earliest block of a section that answers nearly as well as one of it."""
    block = candidates[row].block
    near = [
        each
        for each, one in enumerate(candidates)
        if in_section(one.block, block) and scores[each] >= scores[row] - NEARLY
    ]
    return min(near, key=lambda each: candidates[each].block.place)


def _shows(intent: Intent, block: ExcerptBlock, question: str) -> bool:
    """Check a block, or the heading that it is the first of, for the signs of an intent."""
    heading = entry_term(block) or (block.heading if block.place == 0 else "")
    if is_defined_by(heading, intent, question):
        return True
    return shows_intent(intent, block.text, question)


def _is_part(block: ExcerptBlock, whole: ExcerptBlock) -> bool:
    return block.passage == whole.passage and whole.start <= block.start < whole.end


def _is_of_names(block: ExcerptBlock) -> bool:
    """Check for a list, table or labels without a sentence, which say nothing without a heading."""
    is_listed = block.form in ("list", "table") and _SENTENCE_ENDS.search(block.text) is None
    return is_listed or is_labelled(block)


def is_labelled(block: ExcerptBlock) -> bool:
    """Check for lines with labels and no sentence, such as the date and place of a meeting."""
    is_told = block.form != "prose" or _SENTENCE_ENDS.search(block.text) or _ENDS.search(block.text)
    return not is_told and len(_LABEL.findall(block.text)) >= _LABELS


_SENTENCE_ENDS, _ENDS = re.compile("[。！？；]"), re.compile(r"[.!?](?=\s|$)")
_LABEL, _LABELS = re.compile(r"(?m)^[*_> \t-]{0,8}\w{1,12}[：:]"), 3
"""Label at the beginning of a line, as in **时间：** 9月17日, and the fewest of a block of them."""


def read_blocks(
    question: str,
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    read: Reader,
    *,
    signs: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return logits in input order; no block is read behind one that plainly answers.

    Only those of its own section are. One that was not read has the lowest logit. `signs`: which
    show the signs of what is asked. All are given to the reader again with the next ones, which it
    may leave where they are far below.
    """
    logits = np.full(len(candidates), -np.inf)
    is_chinese = language_of(question) == "zh"  # in which a heading misleads the reader
    texts = [
        told_text(one.block)
        if is_chinese and not _is_of_names(one.block)
        else read_text(one.block, passages)
        for one in candidates
    ]
    rows, some = list(range(len(candidates))), list[int]()
    at_once = READ_AT_ONCE[language_of(question)]
    while rows:
        some, rows = [*some, *rows[:at_once]], rows[at_once:]
        logits[some] = read(question, [texts[row] for row in some])
        promise = logits + SHOWN[language_of(question)] * signs
        is_more = len(candidates) - len(rows) >= READ_BLOCKS
        if promise.max() >= (PLAINLY_READ if is_more else FOUND[language_of(question)]):
            best = candidates[int(np.argmax(promise))].block
            rows = [row for row in rows if in_section(candidates[row].block, best)]
    return logits
