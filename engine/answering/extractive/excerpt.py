"""One good excerpt: the block that answers a question, as it is shown, with what belongs to it.

Shown is the section around the block, from the paragraph on that answers; where the reader is not
sure, what may answer in its place below; one block for each side of a comparison.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import has_han

from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants, told_in_chinese
from ...retrieval.passages import Sentence
from ...storage.graph_api import han_surname, sentence_spans
from ...storage.tokenization import tokens
from ...types import Passage
from ..connection_questions import TIE, connection_pairs
from ..packing import TextAt
from ..passage_order import direct_rows
from .best_block import (
    CLOSE,
    LEADS,
    MORE_BLOCKS,
    READ_BLOCKS,
    SHOWN,
    UNSURE,
    best_blocks,
    is_labelled,
    read_blocks,
)
from .block_candidates import (
    READ_PASSAGES,
    Reader,
    WeighedBlock,
    bare_sides,
    is_of_all,
    items_of_sides,
    join_windows,
    list_items,
    names_side,
    promised,
    read_text,
    told_by_items,
    weigh_blocks,
)
from .blocks import (
    WINDOW_WORDS,
    ExcerptBlock,
    count_words,
    entry_term,
    split_blocks,
)
from .evidence import probability
from .extent import (
    LEAST_WORDS,
    SHORTEST_WORDS,
    SIBLINGS,
    WHOLE_DEFINITION,
    WHOLE_STEPS,
    WHOLE_WORDS,
    Best,
    Excerpt,
    extended,
    is_said,
    leans,
    listed_sections,
    outlined,
    short_excerpt,
    speech_end,
)
from .intent import (
    Intent,
    asked_subject,
    compared_sides,
    question_intent,
    question_of_side,
    shows_intent,
)
from .question_type import leading_question
from .read_spans import SpanReader
from .sentence_scoring import ScoredSentence

NEAREST_BLOCKS = 12
"""Blocks in another language that are read."""
PART = 130
"""Characters of the parts of a long Chinese paragraph, of which two beside each other are shown."""
SENTENCES, BEFORE, AFTER, TURNING = 4, 70, 120, 2
"""Least sentences of a Chinese block that is cut to those that tell a fact, characters kept in
front of the best one and behind it, and sentences behind these of which one may take it back. Of 23
paragraphs that told a fact 20 keep it; by sentences read alone, with one in front and two behind,
it were 15."""
TOLD = 5.0
"""Logits for a sentence with a word by which texts tell what is asked for. Of the 23 18 without."""
MIXED_ODDS, MIXED_EVEN = 2.5, 1.0
"""Log odds that a block of both languages answers, by the logits that it lies above the next one:
all that name what is asked are near. Of 21 Chinese questions on half translated pages 6 of 9 right
blocks lie above even odds, and 1 of 12 wrong ones."""
WHOLE = ("list", "steps", "command")
"""Intents for which a long paragraph is shown whole, and a block below it with what it leads to."""
MOST_PIECES = 10
"""Paragraphs that are read, at most."""
AHEAD, LEFT_OUT = {"en": 2.0, "zh": 1.0}, 2.0
"""Logits that this paragraph lies above those before it, which stand below it or are left out."""
BEHIND, REASON_BEHIND, IN_ORDER = 3.0, 5.0, frozenset(("steps", "list"))
"""Logits below the best paragraph at which those at the end of an excerpt are left out (where a
reason is asked for: `REASON_BEHIND`), and intents that they belong to. Of 56 excerpts of which a
paragraph has the words that answer none lost them, and a third of the words shown went."""
_GAP = re.compile(r"\n[ \t]*\n\s*")
_MARK = r"[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)、])"
_ITEM, _ITEMS = re.compile(rf"{_MARK}|[ \t]*```"), re.compile(rf"^{_MARK}", re.MULTILINE)
_STEPS = re.compile(
    r"^\W{0,4}(?:(?:step|part) )?(?:\d{1,3}(?:\.\d+)*[.):：、）]|[a-h]\))"
    r"|^[一二三四五六七八九十]+[、）]"
    r"|^[（(][\da-h一二三四五六七八九十]+[)）]|^第[\d一二三四五六七八九十]+[步、]"
    r"|\Afirst(?:ly)?\b|^首先",
    re.IGNORECASE | re.MULTILINE,
)
"""Beginnings of items whose place in their list counts, also below a line that leads to them."""
_WARNS = re.compile(
    r"\b(?:warning|caution|danger|beware|never|do not|don['’]t|no longer|must not|before you)\b"
    r"|警告|注意|小心|切勿|不要|不再|请勿|务必",
    re.IGNORECASE,
)
"""Words of what is not left out in front of an answer."""
_ALERT = re.compile(
    r"^\W{0,4}(?:warning|caution|danger|beware|important|attention|however|but|except|unless)\b"
    r"|^\W{0,4}(?:警告|注意|小心|危险|但是?|不过|除非)",
    re.IGNORECASE | re.MULTILINE,
)
"""Beginnings of what qualifies an answer before it."""
_TURNS_HAN = re.compile(r"\W*(?:但|然而|不过|可是|不料|谁知|后来|其实|岂知)")
"""Beginnings of sentences that take back what was told."""
_HOW = re.compile(r"\bhow\b|怎|如何", re.IGNORECASE)
_LISTED = re.compile(rf"(?m)^(?:{_ITEM.pattern})")
_FORMED = re.compile(rf"{_ITEM.pattern}|[ \t]*\|")
_ENDED = re.compile(r"[.!?:;。！？：；][\W\d]*$")
SIDE_BLOCKS = 4
"""Blocks that reach the reader for what one side of a comparison is."""
AROUND_WORDS = 130
"""Words shown around the sentence that says a fact, at most."""
PLAIN, PLAINLY = 1.0, 1.0
"""Logit of a block that tells a fact, and how far it lies above that of loose sentences."""
LEAST_PEAK = -4.0
"""Log-probability below which the likeliest answers of blocks are alike."""
SETTLED = 5.5
"""Logit of sentences beside which no block is read."""
BOTH = {"en": 4.0, "zh": 6.0}
"""A reader's logit from which a block that names all sides is taken to compare them."""


def choose_excerpts(
    question: str,
    intent: Intent,
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    read: Reader | None,
    text_at: TextAt | None = None,
) -> list[Excerpt]:
    """Return the excerpt that answers, or one for each side of a comparison; maybe none.

    Where the reader is not sure between two sections both are shown, the second one short.
    `text_at` gives the document around a passage, where a section began or goes on.
    """
    blocks = split_blocks(passages[:READ_PASSAGES])
    candidates = weigh_blocks(join_windows(blocks, passages), passages, weighed, wanted)
    if not candidates:
        return []
    sides = compared_sides(question) if intent == "comparison" else ()
    if sides:
        return _beside(
            question, sides, candidates, blocks, passages, wanted=wanted, read=read, text_at=text_at
        )
    most = MORE_BLOCKS[language_of(question)] if read is not None else READ_BLOCKS
    best, *close = best_blocks(
        question, intent, candidates[:most], passages, wanted=wanted, read=read, is_alone=False
    )
    own = None
    if intent == "definition":
        own = _of_own_term(question, best, passages[best.block.passage])
    listed = _siblings(best.block, blocks) if intent == "list" else []
    if len(listed) >= SIBLINGS and (_FOR_EACH.search(question) or not _holds_a_list(best.block)):
        return [listed_sections(best, listed, passages)]
    first = outlined(best, passages[best.block.passage], text_at) if intent == "list" else own
    if first is None and intent not in WHOLE:
        first = _narrowed(question, best, passages[best.block.passage], read)
    whole = WHOLE_STEPS if intent in ("steps", "command", "comparison") else WHOLE_WORDS
    whole = WHOLE_DEFINITION if intent == "definition" else whole
    source, has_steps = passages[best.block.passage], intent == "steps"
    first = first or extended(best, source, text_at, whole=whole, has_steps=has_steps)
    others = (_below(question, each, intent, passages, read, text_at) for each in close)
    apart: list[Excerpt] = []
    for each in others:
        if not any(_covers(one, each) or _covers(each, one) for one in (first, *apart)):
            apart.append(each)
    return [*_from_answer(question, intent, first, wanted, read), *apart]


_FOR_EACH = re.compile(
    r"\b(?:(?:for each|per) [a-z]+|by (?:country|kind|language|region|topic|type|year))\W*$", re.I
)
"""A list that is asked for in parts: *the mailing lists by language*."""


def _of_own_term(question: str, best: Best, passage: Passage) -> Excerpt | None:
    """Return of a list or a glossary the entry whose term is what a question asks about.

    It answers by its form, however short it is. None of another block.
    """
    subject, block = tokens(asked_subject(question)), best.block
    entries = [(tokens(entry_term(block)), block)]
    if block.form == "list":
        entries = list(list_items(block, passage.text, least=1))
    told = (entry for term, entry in entries if subject and term == subject)
    own = next((entry for entry in told if len(tokens(entry.text)) > len(subject)), None)
    if own is None:
        return None
    logit = None if best.logit is None else max(best.logit, LEADS)
    return short_excerpt(replace(best, block=own, logit=logit), passage)


def _holds_a_list(block: ExcerptBlock) -> bool:
    """Check for a block that is, or leads to, a list or table of its own."""
    return block.form in ("list", "entry", "table")


def _from_answer(
    question: str,
    intent: Intent,
    excerpt: Excerpt,
    wanted: Iterable[str],
    read: Reader | None,
) -> list[Excerpt]:
    """Return an excerpt from the paragraph on that answers, where those before it do not.

    A box on two things, or a section, may tell of another one first. What has a word of the
    question (`wanted`) which the rest has not is not left out, but stands below it, as do lists and
    tables, unless a list is asked for, and what may be an earlier step. What stands behind the
    answer and is read far below it is left out. Unchanged where two things are connected or
    compared.
    """
    pieces = list(_paragraphs(excerpt.text))
    is_short = 2 <= len(pieces) <= MOST_PIECES
    if read is None or not is_short or intent == "comparison" or connection_pairs(question):
        return [excerpt]
    head = f"{excerpt.source.title}: {excerpt.heading}"
    logits = read(question, [f"{head}\n{text}" for _, text in pieces])
    best = int(np.argmax(logits))
    answers = logits[best]
    if intent not in IN_ORDER and leading_question(question) == question:
        excerpt = _to_answer(question, intent, excerpt, pieces, logits, wanted)
    if best and (pieces[best][1].startswith("```") or _leads_to(pieces[best - 1][1])):
        best -= 1  # the caption of the code, what leads to the list
    start, text = pieces[best]
    ahead = answers - logits[:best].max(initial=-math.inf)
    is_apart = best > 0 and ahead >= AHEAD[language_of(question)] and not leans(text)
    if not is_apart or _is_in_list(pieces, best) or excerpt.text[:start].count("```") % 2:
        return [excerpt]
    place = excerpt.start + start
    lead = excerpt.lead if excerpt.lead and excerpt.lead[0] >= place else None
    rest = replace(excerpt, start=place, text=excerpt.text[start:], lead=lead)
    told, below = (set(tokens(each)) for each in (rest.text, excerpt.text[:start]))
    is_plain = not any(_FORMED.match(said) for _, said in pieces[: best + 1])
    if intent == "list" and not (is_plain or _LISTED.search(rest.text)):
        return [excerpt]
    is_plain &= ahead >= LEFT_OUT and intent != "steps"
    is_plain &= not any(_WARNS.search(said) for _, said in pieces[:best])
    if is_plain and _held_terms(below, wanted) <= _held_terms(told, wanted):
        return [rest]
    begun = excerpt.text[:start].rstrip()
    before = replace(
        excerpt, end=excerpt.start + len(begun), heading="", text=begun,
        logit=None, lead=None, likely=None,
    )  # fmt: skip
    return [rest, before]


def _to_answer(
    question: str,
    intent: Intent,
    excerpt: Excerpt,
    pieces: Sequence[tuple[int, str]],
    logits: NDArray[np.float64],
    wanted: Iterable[str],
) -> Excerpt:
    """Return an excerpt without the paragraphs at its end that are read far below the best one.

    Not without what the last one leads to, what leans on it, lists and code, warnings, the code of
    a way, and words of the question (`wanted`) that the rest has not; of several questions none.
    """
    language = language_of(question)
    shown = np.array([shows_intent(intent, text, question) for _, text in pieces])
    behind = REASON_BEHIND if intent == "cause" else BEHIND
    near = np.flatnonzero(logits + SHOWN[language] * shown >= logits.max() - behind)
    told = _up_to(excerpt, pieces, int(near[-1]))
    left = excerpt.text[len(told.text) :]
    if intent == "command" and _WARNS.search(left):
        return excerpt
    is_code = "```" in left and "```" not in told.text
    if is_code and (intent == "command" or _HOW.search(question)):
        return excerpt
    held, lost = (_held_terms(set(tokens(each)), wanted) for each in (told.text, left))
    return told if lost <= held and not _ALERT.search(left) else excerpt


def _up_to(excerpt: Excerpt, pieces: Sequence[tuple[int, str]], row: int) -> Excerpt:
    """Return an excerpt to the end of a paragraph, and of those that belong to it."""
    while row + 1 < len(pieces) and _goes_on(pieces[row][1], pieces[row + 1][1]):
        row += 1
    told = excerpt.text[: pieces[row + 1][0]].rstrip() if row + 1 < len(pieces) else excerpt.text
    if told.count("```") % 2:
        return excerpt
    end = excerpt.start + len(told)
    lead = excerpt.lead if excerpt.lead and excerpt.lead[1] <= end else None
    return replace(excerpt, end=end, text=told, lead=lead)


def _goes_on(one: str, other: str) -> bool:
    """Check for a paragraph that belongs to the one before it."""
    return _leads_to(one) or _FORMED.match(other) is not None or leans(other)


def _is_in_list(pieces: Sequence[tuple[int, str]], row: int) -> bool:
    """Check for a paragraph behind a step, or for an item behind another one."""
    before = [text for _, text in pieces[:row]]
    is_item = _ITEM.match(pieces[row][1]) is not None
    return any(_STEPS.search(text) or (is_item and _ITEMS.search(text)) for text in before)


def _leads_to(paragraph: str) -> bool:
    """Check for a paragraph that ends with a colon."""
    return paragraph.rstrip(" \n*_").endswith((":", "："))


def _held_terms(terms: Set[str], wanted: Iterable[str]) -> frozenset[str]:
    """Return the question words that a text has, or variants of them."""
    return frozenset(one for one in wanted if not terms.isdisjoint(lexical_variants(one)))


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Give the paragraphs of a text and where each begins; a title goes with what it is above."""
    start = begun = 0
    gaps = [(gap.start(), gap.end()) for gap in _GAP.finditer(text)]
    for end, begins in (*gaps, (len(text), len(text))):
        piece, begun = text[begun:end], begins
        if piece.strip() and (_ENDED.search(piece) or count_words(piece) >= LEAST_WORDS):
            yield start, text[start:end]
            start = begins


def _below(
    question: str,
    best: Best,
    intent: Intent,
    passages: Sequence[Passage],
    read: Reader | None,
    text_at: TextAt | None,
) -> Excerpt:
    """Return a block as it is shown below another, with the list, code or steps it leads to."""
    passage = passages[best.block.passage]
    if intent not in WHOLE and (part := _narrowed(question, best, passage, read)):
        return part
    if intent == "steps" or best.block.text.rstrip().endswith((":", "：")):
        return extended(best, passage, text_at, whole=WINDOW_WORDS, longest=WINDOW_WORDS)
    return short_excerpt(best, passage)


def told_at_one_place(
    question: str,
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    read: Reader,
    beside: float,
    text_at: TextAt | None,
) -> list[Excerpt]:
    """Return the block that tells a fact plainly better than sentences; maybe none.

    `beside` is the highest logit of the sentences. Those of a chain stand at several places, and
    read together they are more than any block.
    """
    if beside >= SETTLED:
        return []
    direct = direct_rows(question, passages)[:READ_PASSAGES]
    blocks = [each for each in split_blocks(passages) if each.passage in direct]
    windows = join_windows(blocks, passages)
    candidates = weigh_blocks(windows, passages, weighed, wanted)[:READ_BLOCKS]
    if not candidates:
        return []
    unsigned = np.zeros(len(candidates), dtype=np.bool_)
    logits = read_blocks(question, candidates, passages, read, signs=unsigned)
    was_read = np.flatnonzero(np.isfinite(logits))
    peaks = np.zeros(len(candidates))
    peaks[was_read] = _peaks(question, [candidates[one] for one in was_read], passages, read)
    row = int(np.argmax(logits + promised(candidates, passages) + peaks))
    if logits[row] < max(PLAIN, beside + PLAINLY):
        return []
    score = float(logits[row])
    best = Best(block=candidates[row].block, score=score, logit=score)
    return [extended(best, passages[best.block.passage], text_at)]


def _peaks(
    question: str,
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    read: Reader,
) -> NDArray[np.float64]:
    """Return how plainly each block has words that are the answer, in logits from 0 down."""
    if not isinstance(read, SpanReader):
        return np.zeros(len(candidates))
    readings = read.read(question, [read_text(one.block, passages) for one in candidates])
    return np.array([max(each.best(), LEAST_PEAK) for each in readings])


def around(
    sentence: Sentence, passages: Sequence[Passage], *, text_at: TextAt | None
) -> Excerpt | None:
    """Return the block around a sentence, to the end of its paragraph; None where it is in none."""
    passage = passages[sentence.passage]
    windows = join_windows(split_blocks([passage]), [passage])
    block = next((each for each in windows if each.start <= sentence.start < each.end), None)
    if block is None:
        return None
    best = Best(block=block, score=0.0, logit=None)
    whole = extended(best, passage, text_at, whole=AROUND_WORDS, longest=AROUND_WORDS, may_cut=True)
    pieces = list(_paragraphs(whole.text))
    place = passage.start + sentence.start - whole.source.start - whole.start
    row = sum(start <= place for start, _ in pieces) - 1
    return _up_to(whole, pieces, row) if row >= 0 else whole


def nearest_excerpt(
    question: str, passages: Sequence[Passage], *, read: Reader, text_at: TextAt | None
) -> Excerpt | None:
    """Return the block that a reader finds nearest to a question; None without any.

    A mere title, near to every question that has its words, is no answer.
    """
    blocks = join_windows(split_blocks(passages[:READ_PASSAGES]), passages)
    blocks = ([each for each in blocks if is_said(each)] or blocks)[:NEAREST_BLOCKS]
    if not blocks:
        return None
    logits = read(question, [read_text(each, passages) for each in blocks])
    row, *rest = (int(each) for each in np.argsort(-logits, kind="stable"))
    best = Best(block=blocks[row], score=float(logits[row]), logit=float(logits[row]))
    if rest and has_han(question) and has_han(best.block.text):
        odds = MIXED_ODDS * (float(logits[row] - logits[rest[0]]) - MIXED_EVEN)
        best = replace(best, likely=probability(odds))
    return extended(best, passages[best.block.passage], text_at)


def likeliest_place(question: str, excerpt: Excerpt, read: SpanReader) -> int:
    """Return where in the text of an excerpt's source the answer most likely begins."""
    reading = read.read(question, [excerpt.text])[0]
    if not reading.begins.size:
        return excerpt.start
    return excerpt.start + int(reading.starts[int(np.argmax(reading.begins))])


def _siblings(best: ExcerptBlock, blocks: Sequence[ExcerptBlock]) -> list[ExcerptBlock]:
    """Return the first block of each section beside the best one's, in its passage."""
    return [
        each
        for each in blocks
        if each.passage == best.passage
        and each.place == 0
        and each.above == best.above
        and each.heading != each.above
    ]


def _narrowed(question: str, best: Best, passage: Passage, read: Reader | None) -> Excerpt | None:
    """Return of a long paragraph the two parts beside each other that are nearest; maybe None.

    A fact or a connection has the sentences that tell it. Of several questions in one each has its
    parts, and what stands between them is shown.
    """
    block = best.block
    if read is None or language_of(question) != "zh" or block.form != "prose":
        return None
    is_long = count_words(block.text) >= SHORTEST_WORDS
    sentences = list(sentence_spans(block.text))
    leading = leading_question(question)
    names = {side for pair in connection_pairs(question) for side in pair}
    is_fact = leading == question and (bool(names) or question_intent(question) is None)
    if is_long and is_fact and len(sentences) >= SENTENCES:
        first, last = _telling(question, block.text, sentences, read)
        if all(_says(block.text[first:last], name) for name in names):
            return _part_of(best, passage, first, last)
    parts: list[tuple[int, int]] = []
    for start, end in sentences:
        if parts and end - parts[-1][0] <= PART:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
    if len(parts) < 3 or not is_long or "\n\n" in block.text:
        return None
    texts = [block.text[start:end] for start, end in parts]
    rest = question.removeprefix(leading[:-1]).lstrip("，。；？")
    rows = []
    for asked in (question,) if leading == question else (leading, rest):
        near = read(asked, texts)
        rows.append(int(np.argmax(near[:-1] + near[1:])))
    return _part_of(best, passage, parts[min(rows)][0], parts[max(rows) + 1][1])


def _says(text: str, name: str) -> bool:
    """Check for a name in a text, of 东吴的全纪 and 洛阳太守韩福 for that of the person."""
    bare = name.rpartition("的")[2]
    forms = (bare, *(bare[-size:] for size in (2, 3) if han_surname(bare[-size:])))
    return any(form in text for form in forms)


def _telling(
    question: str, text: str, sentences: Sequence[tuple[int, int]], read: Reader
) -> tuple[int, int]:
    """Return from where to where the sentences stand that tell a fact, with those around them.

    A sentence is read with the one before it, which often names whom it speaks of. To the one that
    takes it back.
    """
    said = [text[start:end] for start, end in sentences]
    before = [text[one[0] : other[1]] for one, other in pairwise(sentences)]
    told = "|".join(map(re.escape, told_in_chinese(question).split()))
    sign = TIE if connection_pairs(question) else re.compile(told or "(?!)")
    signs = np.array([sign.search(each) is not None for each in said])
    best = int(np.argmax(read(question, [said[0], *before]) + TOLD * signs))
    start, end = sentences[best]
    first = min(row for row in range(best + 1) if start - sentences[row][0] <= BEFORE)
    first = min(first, max(0, best - 1))  # it was read with the best one, and may tell the fact
    last = max(row for row in range(best, len(said)) if sentences[row][1] - end <= AFTER)
    behind = range(last + 1, min(len(said), last + 1 + TURNING))
    last = max((row for row in behind if _TURNS_HAN.match(said[row])), default=last)
    return sentences[first][0], sentences[last][1]


def _part_of(best: Best, passage: Passage, first: int, last: int) -> Excerpt:
    """Return the part of a block between two places in it, a speech to its end."""
    block = best.block
    start = block.start + first
    end = speech_end(passage.text, start, block.start + last)
    part = replace(block, start=start, end=end, text=passage.text[start:end])
    return short_excerpt(replace(best, block=part), passage)


def _covers(excerpt: Excerpt, other: Excerpt) -> bool:
    """Check that the beginning of another excerpt is shown by this one."""
    one, two = excerpt.source, other.source
    place = two.start + other.start
    is_same = one.document_id == two.document_id
    return is_same and one.start + excerpt.start <= place < one.start + excerpt.end


def _beside(
    question: str,
    sides: Sequence[str],
    candidates: Sequence[WeighedBlock],
    blocks: Sequence[ExcerptBlock],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    read: Reader | None,
    text_at: TextAt | None,
) -> list[Excerpt]:
    """Return what compares all sides, a list that explains them or a block, else one for each."""
    names = bare_sides(sides)
    candidates = [one for one in candidates if not is_labelled(one.block)] or candidates
    told = told_by_items(question, names, blocks, passages, read)
    is_told = bool(told) and (told[0].logit is None or told[0].logit >= UNSURE)
    both = [one for one in candidates if is_of_all(one.block, names) and not is_labelled(one.block)]
    together: list[Excerpt] = []
    if both:
        best, *_ = best_blocks(
            question, "comparison", both[:READ_BLOCKS], passages, wanted=wanted, read=read
        )
        ahead = CLOSE["en"] * (-1 if is_told else 1)
        if told and (told[0].logit or 0.0) >= (best.logit or 0.0) + ahead:
            return told
        together = [extended(best, passages[best.block.passage], text_at, whole=WHOLE_STEPS)]
        titled = all(set(tokens(side)) <= set(tokens(best.block.heading)) for side in names)
        is_sure = best.logit is None or best.logit >= UNSURE
        if is_sure and (items := items_of_sides(names, blocks, passages, best.block)):
            kept = (replace(best, block=item) for item in items)
            below = [short_excerpt(one, passages[one.block.passage]) for one in kept]
            return [*together, *(each for each in below if not _covers(together[0], each))]
        if titled or best.logit is None or best.logit >= BOTH[language_of(question)]:
            return together
    if is_told:
        return told
    apart = _of_each_side(question, sides, candidates, passages, wanted, read, text_at)
    if len(apart) == len(sides) or together:
        return apart if len(apart) == len(sides) else together
    if told:
        return told
    best, *others = best_blocks(
        question, "explanation", candidates[:READ_BLOCKS], passages,
        wanted=wanted, read=read, is_alone=False,
    )  # fmt: skip
    for each in (best, *others):  # of descriptions the whole question finds more
        whole = extended(each, passages[each.block.passage], text_at)
        same = [_covers(one, whole) or _covers(whole, one) for one in apart]
        if len(apart) < len(sides) and not any(same):
            apart.append(whole)
        elif each is best and any(same):  # it tells of one side, and answers the whole question
            rows = [row for row, is_same in enumerate(same) if is_same]
            apart[rows[0]] = replace(apart[rows[0]], logit=each.logit)
    return apart


def _of_each_side(
    question: str,
    sides: Sequence[str],
    candidates: Sequence[WeighedBlock],
    passages: Sequence[Passage],
    wanted: Mapping[str, float],
    read: Reader | None,
    text_at: TextAt | None,
) -> list[Excerpt]:
    """Return an excerpt on each side that a block names, in their order; the same one once.

    A section that is called as a side begins with what that is.
    """
    found: dict[tuple[str, int], Excerpt] = {}
    for side, name in zip(sides, bare_sides(sides), strict=True):
        named = [one for one in candidates if names_side(one.block, name)]
        if not named:
            continue
        asks, of_side = question_of_side(question, side, sides)
        most = SIDE_BLOCKS if of_side == "definition" else READ_BLOCKS
        best, *_ = best_blocks(asks, of_side, named[:most], passages, wanted=wanted, read=read)
        words = set(tokens(name))
        is_called = bool(words) and words <= set(tokens(best.block.heading))
        opens = of_side == "definition" and is_called
        one = extended(best, passages[best.block.passage], text_at, opens=opens)
        found[one.source.document_id, one.source.start + one.start] = one
    return list(found.values())
