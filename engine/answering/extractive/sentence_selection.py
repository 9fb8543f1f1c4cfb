"""Selection of the sentences of an answer: the likeliest, what leads to it, and what adds to it.

`select_sentences` takes as many as it takes to be sure, without repetition: what a further one adds
to the question's words speaks for it, and those of a chain come in the order of its hops. Behind a
Chinese sentence comes what follows it in its section: that often holds what it leaves open.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import has_han

from ...plain_text import strip_markdown
from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence, led_by
from ...types import Passage
from ..openings import read_title
from .answer_spans import Candidate, softmax
from .block_candidates import BOUNDS, READ, Reader
from .blocks import count_words, split_blocks
from .extent import unit_of
from .sentence_scoring import ScoredSentence

SURE = 0.85
"""Target probability that a selected sentence holds the answer."""
SURE_WHEN_READ = {"en": 0.99, "zh": SURE}
"""The same, of shares that a reader has sharpened."""
SAME = 0.8
"""Sentences that share so much of the shorter one's words say the same."""
LOOKED_AT = 40
"""Further ones are chosen from so many, the likeliest."""
GAIN = 3.0
"""Bonus in log share for a sentence that covers the whole question."""
COVERED = 0.8
"""Target share of the question's weight covered by the selection."""
LEAST_GAIN = 0.1
"""Minimum share of the weight a further sentence must add."""
LEAST_SHARE = 0.02
"""Least likelihood of a further sentence where the others are shown with what belongs to them."""
LONGEST_TITLE = 40
"""Characters of a title, at most."""
ADJOINING_WORDS = 75
"""Words of a Chinese sentence with those that follow it, at most; two characters are one."""
_STATES = re.compile(r"[。！；，：、,.;:|`=]|^\s*[-*•]|\d")


def select_sentences(
    weighed: Sequence[ScoredSentence],
    share: NDArray[np.float64],
    *,
    wanted: Mapping[str, float],
    limit: int,
    enough: float = SURE,
    units: Sequence[Unit | None] = (),
) -> list[int]:
    """Select rows: the likeliest sentence, the one that leads to it, then further ones.

    Of what is read and shown together (`units`, of each row) one is selected.

    `share` is how likely each sentence is to hold the answer. Further ones are added, at most up
    to `limit`, until one of them holds the answer with the probability `enough` and they
    carry the question's words (`wanted`, by weight). Deterministic: ties go to the earlier one.
    """
    order = [int(row) for row in np.lexsort((np.arange(share.size), -share))]
    first = order[0]
    hop = weighed[first].hop
    leads = hop is not None and limit > 1 and weighed[hop].covered > weighed[first].covered
    chosen = [first, hop] if leads and hop is not None else [first]
    carried = frozenset[str]().union(*(carried_terms(weighed[row], wanted) for row in chosen))
    likely = [row for row in order[:LOOKED_AT] if row not in chosen]
    while len(chosen) < limit:
        told = {units[row] for row in chosen if units and units[row]}
        least = LEAST_SHARE if told else 0.0
        rest = [
            row
            for row in likely
            if row not in chosen
            and share[row] >= least
            and not (units and units[row] in told)
            and not _repeats(weighed, row, chosen)
        ]
        gains = {
            row: weight_share(carried_terms(weighed[row], wanted) - carried, wanted) for row in rest
        }
        if float(share[chosen].sum()) >= enough:
            if weight_share(carried, wanted) >= COVERED:
                break
            rest = [row for row in rest if gains[row] >= LEAST_GAIN]
        if not rest:
            break
        row = max(rest, key=lambda row: np.log(share[row] + 1e-6) + GAIN * gains[row])
        chosen.append(row)
        carried |= carried_terms(weighed[row], wanted)
    return chosen


def sentence_shares(
    weighed: Sequence[ScoredSentence], spans: Sequence[Candidate]
) -> NDArray[np.float64]:
    """Return each sentence's likelihood, by itself and by its spans."""
    likely = softmax(np.array([each.score for each in weighed]))
    if not spans:
        return likely
    by_span = np.zeros(len(weighed))
    for each in spans:
        by_span[each.row] += each.share
    return np.asarray((likely + by_span) / 2)


Unit = tuple[int, int, int]
"""Passage, start and end of what a sentence is read and shown with."""
READ_SENTENCES, READ_UNITS, WORDED, READ_BESIDE = 10, 10, 4, 4
"""Sentences that reach the reader, likeliest first, units of them in English, those of units that
do by their words, wherever their block lies, and sentences beside the selected ones in which a
short answer is looked for."""
UNLIKELY = 4.5
"""Logits below the likeliest one, by words and place, from which an English unit is not read: of 31
questions for a fact the sentence that was told lies at most 2.3 below it."""
EACH_OF = 6
"""Passages of which a Chinese sentence reaches the reader, whatever words it shares."""
UNSAID, OF_PASSAGE, ELSEWHERE = 0.0, 2, -2.0
"""Logit below which no English sentence that was read says it, those of each passage that are read
then, and how far their place lies below the best."""
BY_WORDS = 0.6
"""Weight of the log share where a block's place counts."""


def sentence_units(
    weighed: Sequence[ScoredSentence], passages: Sequence[Passage]
) -> list[Unit | None]:
    """Return what each sentence is read and shown with, where that is short; None for others."""
    blocks = {row: split_blocks([passage]) for row, passage in enumerate(passages)}
    found: list[Unit | None] = []
    for each in weighed:
        row = each.sentence.passage
        unit = unit_of(each.sentence.start, passages[row], blocks[row])
        found.append((row, *unit) if unit else None)
    return found


def read_shares(
    question: str,
    weighed: Sequence[ScoredSentence],
    share: NDArray[np.float64],
    passages: Sequence[Passage],
    read: Reader,
    *,
    units: Sequence[Unit | None] = (),
    places: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weigh the likeliest sentences by the reader, each behind the sentence that leads to it.

    Alone, the last sentence of a chain does not name what the question asks about, nor what a
    parameter is for the parameter: sentences of a unit are read together. `places` are how far
    each sentence's block lies below the best one (see `read_places`).
    """
    likely = np.log(share + 1e-6)
    order = _rows_to_read(weighed, share, language_of(question))
    if places is not None:
        likely = BY_WORDS * np.log(_joint(share, units) + 1e-6) + places
        by_words = np.log(_joint(share, units) + 1e-6)
        order = _rows_of_units(likely, units)
        order = list(dict.fromkeys((*order, *_rows_of_units(by_words, units)[:WORDED])))
    logits = np.full(share.size, BOUNDS[0])
    texts = [unit_text(weighed, row, passages, units) for row in order]
    logits[order] = read(question, texts)
    if places is not None and logits.max() < UNSAID:
        more = _rows_elsewhere(weighed, by_words, units, order)
        logits[more] = read(question, [unit_text(weighed, row, passages, units) for row in more])
        likely[more] = np.maximum(likely[more], BY_WORDS * by_words[more] + ELSEWHERE)
    return softmax(likely + READ * np.clip(logits, *BOUNDS))


def _rows_elsewhere(
    weighed: Sequence[ScoredSentence],
    share: NDArray[np.float64],
    units: Sequence[Unit | None],
    read: Sequence[int],
) -> list[int]:
    """Return the likeliest rows of each passage that were not read, each of another unit."""
    told = {units[row] or row for row in read}
    found: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.lexsort((np.arange(share.size), -share)).tolist():
        of_passage = found[weighed[row].sentence.passage]
        if len(of_passage) < OF_PASSAGE and (units[row] or row) not in told:
            told.add(units[row] or row)
            of_passage.append(row)
    return sorted(row for rows in found.values() for row in rows)


def _joint(share: NDArray[np.float64], units: Sequence[Unit | None]) -> NDArray[np.float64]:
    """Give the likeliest sentence of each unit the shares of all of them."""
    of_unit: defaultdict[Unit | int, list[int]] = defaultdict(list)
    for row, unit in enumerate(units):
        of_unit[row if unit is None else unit].append(row)
    joint = share.copy()
    for rows in of_unit.values():
        joint[max(rows, key=lambda row: (share[row], -row))] = share[rows].sum()
    return joint


def _rows_of_units(share: NDArray[np.float64], units: Sequence[Unit | None]) -> list[int]:
    """Return the likeliest row of each of the likeliest units."""
    rows: dict[Unit | int, int] = {}
    for row in np.lexsort((np.arange(share.size), -share)).tolist():
        if len(rows) == READ_UNITS or share[row] < share.max() - UNLIKELY:
            break
        rows.setdefault(units[row] or row, row)
    return list(rows.values())


def with_beside(
    rows: Sequence[int],
    share: NDArray[np.float64],
    units: Sequence[Unit | None],
    *,
    most: int | None = READ_BESIDE,
) -> list[int]:
    """Return rows, and behind them the likeliest others that stand in their units, or all."""
    told = {units[row] for row in rows if units and units[row]}
    others = [row for row, unit in enumerate(units) if unit in told and row not in rows]
    others.sort(key=lambda row: (-share[row], row))
    return [*rows, *others[:most]]


def unit_text(
    weighed: Sequence[ScoredSentence],
    row: int,
    passages: Sequence[Passage],
    units: Sequence[Unit | None],
) -> str:
    """Return a sentence with its unit, behind the one that leads to it, as a reader reads them."""
    unit = units[row] if units else None
    if unit is None:
        return chain_text(weighed, row, passages)
    passage, start, end = unit
    text = " ".join(passages[passage].text[start:end].split())
    whole = ": ".join((*_above(weighed[row].sentence, passages), text))
    hop = _leading(weighed, row, passages)
    return whole if hop is None else f"{_placed(weighed[hop].sentence, passages)}\n{whole}"


def _leading(
    weighed: Sequence[ScoredSentence], row: int, passages: Sequence[Passage]
) -> int | None:
    """Return the row of the sentence of another document that leads to one; None without."""
    hop = weighed[row].hop
    return None if hop is None or _same_document(weighed, row, hop, passages) else hop


def _same_document(
    weighed: Sequence[ScoredSentence], row: int, other: int, passages: Sequence[Passage]
) -> bool:
    """Check for two sentences of one document, whose title stands above both."""
    one, two = (passages[weighed[each].sentence.passage] for each in (row, other))
    return one.document_id == two.document_id


def _rows_to_read(
    weighed: Sequence[ScoredSentence], share: NDArray[np.float64], language: str
) -> list[int]:
    """Return the likeliest rows; in Chinese, which is quick to read, the best of each passage."""
    order = [int(row) for row in np.lexsort((np.arange(share.size), -share))]
    best: dict[int, int] = {}
    for row in order if language == "zh" else ():
        best.setdefault(weighed[row].sentence.passage, row)
    leading = [best[passage] for passage in sorted(best)[:EACH_OF]]
    return list(dict.fromkeys((*order[:READ_SENTENCES], *leading)))


def chain_text(weighed: Sequence[ScoredSentence], row: int, passages: Sequence[Passage]) -> str:
    """Return a sentence behind the one that leads to it, as a reader takes them in."""
    hop = _leading(weighed, row, passages)
    chain = [weighed[row]] if hop is None else [weighed[hop], weighed[row]]
    return "\n".join(_placed(each.sentence, passages) for each in chain)


def _placed(sentence: Sentence, passages: Sequence[Passage]) -> str:
    """Return a sentence behind its title and its heading."""
    text = strip_markdown(sentence.text, columns=sentence.columns)
    if sentence.tells:
        text = _LIFE_DATES.sub(r"(born \1, died \2)", text, count=1)
    return ": ".join((*_above(sentence, passages), text))


def _above(sentence: Sentence, passages: Sequence[Passage]) -> list[str]:
    """Return the title and the heading above a sentence."""
    passage = passages[sentence.passage]
    shown = f"{passage.title} {sentence.heading} {sentence.text}"
    title = read_title(passage, sentence.start, shown)
    lead = strip_markdown(led_by(passage.text, sentence.start))
    return list(dict.fromkeys(name for name in (title, sentence.heading, lead) if name))


_LIFE_DATES = re.compile(r"\(([^()]{0,80}?\d{3,4})\s*[–—-]\s*([^()]{0,40}?\d{3,4})\)")
"""Brackets with two dates: a life, as encyclopaedias write it."""


def carried_terms(weighed: ScoredSentence, wanted: Mapping[str, float]) -> frozenset[str]:
    """Return the question words, or variants, present in a sentence or its headings."""
    sentence = weighed.sentence
    terms = sentence.terms | sentence.tells | sentence.context
    return frozenset(term for term in wanted if not terms.isdisjoint(lexical_variants(term)))


def weight_share(terms: frozenset[str], wanted: Mapping[str, float]) -> float:
    """Return the share of the question's weight of some words."""
    return sum(w for term, w in wanted.items() if term in terms) / sum(wanted.values())


def _repeats(weighed: Sequence[ScoredSentence], row: int, chosen: Sequence[int]) -> bool:
    terms = weighed[row].sentence.terms
    others = [weighed[other].sentence.terms for other in chosen]
    return any(len(terms & o) >= SAME * max(1, min(len(terms), len(o))) for o in others)


def is_title(text: str) -> bool:
    """Check for a Chinese line without a mark of a sentence, a list or a table."""
    return has_han(text) and len(text) <= LONGEST_TITLE and not _STATES.search(text)


def join_adjoining(chosen: Sequence[Sentence], passages: Sequence[Passage]) -> list[Sentence]:
    """Join Chinese sentences that follow each other to one quote."""
    found: list[Sentence] = []
    for each in chosen:
        last, text = found[-1] if found else None, passages[each.passage].text
        if last is not None and _goes_on(last, each, text):
            found[-1] = replace(last, end=each.end, text=text[last.start : each.end])
        else:
            found.append(each)
    return found


def _goes_on(last: Sentence, sentence: Sentence, text: str) -> bool:
    """Check that a Chinese sentence stands right behind another, below the same heading."""
    return (
        (last.passage, last.heading) == (sentence.passage, sentence.heading)
        and last.end <= sentence.start
        and not text[last.end : sentence.start].strip()
        and not (last.columns or sentence.columns)
        and has_han(last.text)
    )


def with_adjoining(
    rows: Sequence[int], weighed: Sequence[ScoredSentence], passages: Sequence[Passage]
) -> list[int]:
    """Put behind the first sentence those that follow it in its section, up to a length."""
    sentence = weighed[rows[0]].sentence
    begin, found = sentence.start, [rows[0]]
    for row in range(rows[0] + 1, len(weighed)):
        behind = weighed[row].sentence
        text = passages[behind.passage].text
        is_next = _goes_on(sentence, behind, text)
        if not is_next or count_words(text[begin : behind.end]) > ADJOINING_WORDS:
            break
        found.append(row)
        sentence = behind
    return [*found, *(row for row in rows if row not in found)]
