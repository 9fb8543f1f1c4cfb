"""Windows of narratives and talk: the few sentences in a row that tell what is asked.

A story says what happened over several sentences and in other words than a question, so no single
sentence answers it, and no block stands for one fact. Windows of neighbouring sentences are ranked
by how much of the question they hold together: Chinese by single characters (杀 for 斩 as well)
and by all names of a person, English by stems and their variants. A reader decides between the
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import has_han, simplified
from graph.text.patterns import lazy_regex

from ...chunking.structure import sections
from ...plain_text import SPEAKER
from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence, split_passages
from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from ...types import Passage
from ..packing import TextAt
from .blocks import count_words
from .excerpt import Excerpt, Reader, text_before, text_behind
from .known_as import KnownAs
from .question_type import WH_CHINESE, classify_question, strip_question_words

Floats = NDArray[np.float64]

WINDOW_WORDS = 90
"""Words of a window, at most; two Chinese characters count as one."""
NAME = 2.0
"""Weight of a name beside a single character."""
VARIANT = 0.7
"""Credit of a word that stands there only as another of the same meaning."""
DENSEST, RANK = 0.5, 0.3
"""Weights of the window's best sentence, and of the passage's score."""
READ_WINDOWS = {"en": 10, "zh": 8}
"""Windows that reach the reader, the best by words."""
READ_CHARACTERS = {"en": 700, "zh": 110}
"""Characters of a window that are read: the time grows with them."""
READ = {"en": 0.2, "zh": 0.5}
"""Weight of a reader's logit beside the score by words."""
CLOSE = 0.3
"""A second window is shown where its score lies no further below the best one's."""
SHOWN_WORDS = 125
"""Words shown of what is told; two Chinese characters count as one."""
REACH = 600
"""Characters of the document before and behind a passage that are seen."""
TOLD_PASSAGES = 20
"""Passages whose windows are ranked before the best are packed."""
TELLING = 0.6
"""Share of the passages with direct speech from which on a text is a narrative or talk."""

_SPEECH = lazy_regex(r"曰[：:；;]?\s*[“「『]|[“「‘\"'][^”」’\"']{3,}[，。！？,.!?—-][”」’\"']")
_FUNCTION = frozenset(
    "的了是在和与被把从到时后前最一个吗呢么什谁哪怎样为何又他她它们这那些有没中里上下来去让使将及对于之其也都就还会能要"
)
_SAME_MEANING = (
    "死亡殒薨崩卒逝毙", "杀斩诛戮弑刺砍害", "请邀召聘", "降投归", "打战斗攻", "妻妇娶", "岁寿龄",
    "找寻觅得", "丢失弃", "放释", "败破胜", "进入", "送献给与", "说言曰劝", "擒捉获执缚",
    "看望视见",
    "去往赴", "哭泣泪", "父爷", "救援", "嫁许", "怒忿恨", "住居", "医治疗", "跑奔走", "偷窃盗",
    "骂叱喝", "火烧焚", "病疾",
)  # fmt: skip
"""Characters of one meaning, as today's and older Chinese write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The sentences `first` to `last`, rows of the ranked list.

    `covered` is the share, 0–1, of the question's weight that they hold together.
    """

    first: int
    last: int
    covered: float
    score: float


def is_narrative(passages: Sequence[Passage]) -> bool:
    """Check whether passages are a narrative or talk: people speak in many of them."""
    spoken = sum(1 for each in passages if _SPEECH.search(each.text) or SPEAKER.search(each.text))
    return spoken >= max(1.0, TELLING * len(passages))


def rank_windows(
    question: str, sentences: Sequence[Sentence], passages: Sequence[Passage], *, known_as: KnownAs
) -> list[Window]:
    """Return windows that do not overlap, best first; ties go to the earlier one."""
    terms, weights = _terms(question, known_as)
    if not terms or not sentences:
        return []
    held = _held(terms, sentences, known_as)
    lasts = _lasts(sentences)
    together = np.array([held[row : last + 1].max(axis=0) for row, last in enumerate(lasts)])
    often = (together > 0).sum(axis=0)
    worth = weights * np.log((len(lasts) + 1) / (often + 0.5)) * (often > 0)
    total = worth.sum()
    covered, alone = together @ worth / max(total, 1e-9), held @ worth / max(total, 1e-9)
    top = max(max(each.score for each in passages), 1e-9)
    scores = [
        covered[row]
        + DENSEST * alone[row : last + 1].max()
        + RANK * max(passages[sentences[row].passage].score, 0.0) / top
        for row, last in enumerate(lasts)
    ]
    found: list[Window] = []
    taken = np.zeros(len(lasts), dtype=np.bool_)
    for row in np.argsort(-np.array(scores), kind="stable").tolist():
        last = lasts[row]
        if not taken[row : last + 1].any():
            taken[row : last + 1] = True
            found.append(
                Window(first=row, last=last, covered=float(covered[row]), score=scores[row])
            )
    return found


def told_excerpts(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    known_as: KnownAs,
    read: Reader | None,
    text_at: TextAt | None,
) -> list[Excerpt]:
    """Return the window that tells what is asked, and another that does so nearly as well."""
    language = language_of(question)
    ranked = rank_windows(question, sentences, passages, known_as=known_as)
    ranked = ranked[: READ_WINDOWS[language]]
    if not ranked:
        return []
    scores, logits = np.array([each.score for each in ranked]), [None] * len(ranked)
    if read is not None:
        held = _weighed_rows(question, sentences, known_as)
        limit = READ_CHARACTERS[language]
        texts = [_densest(each, sentences, passages, held, limit=limit) for each in ranked]
        logits = read(question, texts).tolist()
        scores = scores + READ[language] * np.array(logits)
    order = np.argsort(-scores, kind="stable").tolist()
    near = [row for row in order[:2] if scores[row] >= scores[order[0]] - CLOSE]
    show = partial(
        _excerpt,
        sentences=sentences,
        passages=passages,
        is_reason=classify_question(question).kind == "reason",
        text_at=text_at,
    )
    found = [show(ranked[row], logit=logits[row]) for row in near]
    return found[:1] if len(found) > 1 and _overlap(*found) else found


def _overlap(one: Excerpt, other: Excerpt) -> bool:
    (start, end), (begin, stop) = (
        (each.source.start + each.start, each.source.start + each.end) for each in (one, other)
    )
    is_same = one.source.document_id == other.source.document_id
    return is_same and start < stop and begin < end


def _weighed_rows(question: str, sentences: Sequence[Sentence], known_as: KnownAs) -> Floats:
    """Return the weight of the question's words in each sentence."""
    terms, weights = _terms(question, known_as)
    return np.asarray(_held(terms, sentences, known_as) @ weights)


def _densest(
    window: Window,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    held: Floats,
    *,
    limit: int,
) -> str:
    """Return the run of a window's sentences that holds most in so many characters."""
    best, start, end = -1.0, window.first, window.first
    for first in range(window.first, window.last + 1):
        last = first
        begin = sentences[first].start
        while last < window.last and sentences[last + 1].end - begin <= limit:
            last += 1
        if held[first : last + 1].sum() > best:
            best, start, end = held[first : last + 1].sum(), first, last
    text = passages[sentences[start].passage].text
    said = text[sentences[start].start : sentences[end].end]
    return " ".join(said.replace(":", " ").split())  # a heading ends with a colon


def _excerpt(
    window: Window,
    *,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    logit: float | None,
    is_reason: bool,
    text_at: TextAt | None,
) -> Excerpt:
    """Show a window with what follows it, below its chapter and its speaker.

    A reason, or how it came about, is told before the deed: that leads as far as there is room.
    """
    passage = passages[sentences[window.first].passage]
    before, behind = text_before(passage, text_at, REACH), text_behind(passage, text_at, REACH)
    wide = replace(
        passage,
        text=f"{before}{passage.text}{behind}",
        start=passage.start - len(before),
        end=passage.end + len(behind),
    )
    first = sentences[window.first].start + len(before)
    last = sentences[window.last].end + len(before)
    heading, spans = _section(wide, first)
    start, end = first, last
    leading = [begin for begin, _ in spans if begin < first][-1 if not is_reason else 0 :]
    for begin in reversed(leading):
        if count_words(wide.text[begin:last]) <= SHOWN_WORDS:
            start = begin
    for _, stop in spans:
        if stop > end and count_words(wide.text[start:stop]) <= SHOWN_WORDS:
            end = stop
    return Excerpt(
        source=wide,
        start=start,
        end=end,
        heading=_lead(wide, start, heading),
        text=wide.text[start:end],
        score=window.score,
        logit=logit,
    )


def _section(passage: Passage, place: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the heading above a place, and the sentences of its section."""
    is_markdown = not passage.document_id.casefold().endswith(".txt")
    found = sections(passage.text, markdown=is_markdown)
    section = next(each for each in found if place < each.blocks[-1].end)
    bodies = [each for each in section.blocks if each.kind not in ("heading", "front")]
    spans = [
        (each.start + start, each.start + end)
        for each in bodies
        for start, end in sentence_spans(passage.text[each.start : each.end])
    ]
    above = passage.headings[-1] if passage.headings else passage.title
    return section.path[-1] if section.path else above, spans


def _lead(passage: Passage, start: int, heading: str) -> str:
    """Return the heading, and who speaks at a place if that is said before it."""
    speakers = SPEAKER.findall(passage.text, 0, start)
    is_turn = SPEAKER.match(passage.text, start)
    return f"{heading} · {speakers[-1]}" if speakers and not is_turn else heading


def windows_first(
    question: str, passages: Sequence[Passage], *, known_as: KnownAs
) -> list[Passage]:
    """Order passages by the best window of each."""
    sentences = split_passages(passages)
    ranked = rank_windows(question, sentences, passages, known_as=known_as)
    order = list(dict.fromkeys(sentences[each.first].passage for each in ranked))
    rest = (row for row in range(len(passages)) if row not in order)
    return [passages[row] for row in (*order, *rest)]


def _lasts(sentences: Sequence[Sentence]) -> list[int]:
    """Return the last row of the window that begins at each row."""
    words = [count_words(each.text) for each in sentences]
    lasts = []
    for row, first in enumerate(sentences):
        last, count = row, words[row]
        while last + 1 < len(sentences) and count + words[last + 1] <= WINDOW_WORDS:
            behind = sentences[last + 1]
            if (behind.passage, behind.heading) != (first.passage, first.heading):
                break
            last += 1
            count += words[last]
        lasts.append(last)
    return lasts


def _terms(question: str, known_as: KnownAs) -> tuple[list[str], Floats]:
    """Return what a window is searched for, and the weight of each."""
    if language_of(question) == "en":
        found = list(dict.fromkeys(tokens(strip_question_words(question))))
        return found, np.ones(len(found))
    rest = WH_CHINESE.sub(" ", simplified(question))
    names = [name for name, _ in known_as.names if name in rest]
    for name in names:
        rest = rest.replace(name, " ")
    weighed = dict.fromkeys(names, NAME)
    weighed |= {each: NAME for each in tokens(rest) if not has_han(each)}
    weighed |= {each: 1.0 for each in rest if has_han(each) and each not in _FUNCTION}
    return list(weighed), np.array(list(weighed.values()))


def _held(terms: Sequence[str], sentences: Sequence[Sentence], known_as: KnownAs) -> Floats:
    """Return how much of each term each sentence holds: `(sentences, terms)`, 0–1."""
    forms = [(*_same(term),) if has_han(term) else lexical_variants(term) for term in terms]
    held = np.zeros((len(sentences), len(terms)))
    for row, sentence in enumerate(sentences):
        text = known_as.read(simplified(sentence.text))
        found = sentence.terms | sentence.tells
        for column, (term, *others) in enumerate(forms):
            is_chinese = has_han(term)
            if term in (text if is_chinese else found):
                held[row, column] = 1.0
            elif any(other in (text if is_chinese else found) for other in others):
                held[row, column] = VARIANT
    return held


@cache
def _same(term: str) -> tuple[str, ...]:
    """Return a Chinese term and, of a single character, those of the same meaning."""
    if len(term) > 1:
        return (term,)
    others = {one for group in _SAME_MEANING if term in group for one in group} - {term}
    return (term, *sorted(others))
