"""Marks like `[1]` in a written answer to citations: which sentence of the source says it.

A model marks passages by number; a reader wants the sentence. For every mark the sentence of that
passage that best supports the claim in front of it is cited, by shared words and, where an encoder
is given, by likeness. Marks with unknown numbers are taken out of the text, and counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..types import Citation, Passage
from .draft import cite_span
from .sentences import Sentence, SentenceSpans, Tokens, split_passages

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_NUMBERS = r"\d{1,4}(?:\s*[,，、;；–—-]\s*\d{1,4})*"
_MARK = re.compile(rf"[ \t]*[\[【［]\^?\s*({_NUMBERS})\s*[\]】］](?!\()")
_RUN = re.compile(rf"(?:{_MARK.pattern})+")
_LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A text whose marks are numbered 1, 2, … in order of first use, each with its citation.

    `unknown` marks named no passage and were removed; `unmarked` statements carry no mark; `weak`
    citations share no word with their claim.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    unknown: int = 0
    unmarked: int = 0
    weak: int = 0


def resolve_marks(
    text: str,
    passages: Sequence[Passage],
    *,
    tokens: Tokens,
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
) -> Cited:
    """The text with its marks renumbered, and a citation for each; mark `[n]` is `passages[n-1]`.

    Understands `[1]`, `[1, 3]`, `[2-4]`, `[^1]`, `【1】` and full-width digits. A claim is what
    stands between the end of the sentence or mark before and the mark. Two claims that rest on the
    same sentence share a number; two sentences of one passage get two.
    """
    # Only digits are made plain: other characters of the text are the author's.
    text = re.sub(r"[０-９]", lambda match: unicodedata.normalize("NFKC", match.group()), text)
    by_passage = _sentences_of(passages, tokens=tokens, sentence_spans=sentence_spans)
    citations: dict[tuple[int, int], Citation] = {}
    pieces: list[str] = []
    unknown = weak = done = 0
    for run in _RUN.finditer(text):
        pieces.append(text[done : run.start()])
        claim = _claim(text[done : run.start()], sentence_spans)
        done = run.end()
        numbers = [n for mark in _MARK.finditer(run.group()) for n in _numbers(mark.group(1))]
        known = [n for n in dict.fromkeys(numbers) if 1 <= n <= len(passages)]
        unknown += len(set(numbers)) - len(known)
        places = [
            _support(
                claim, n - 1, passages, sentences=by_passage[n - 1], tokens=tokens, embed=embed
            )
            for n in known
        ]
        weak += sum(1 for place in places if place.weak)
        pieces.append(_write_marks(places, citations, passages, spaced=run.group()[0] in " \t"))
    pieces.append(text[done:])
    clean = _tidy("".join(pieces))
    return Cited(
        text=clean,
        citations=tuple(citations.values()),
        unknown=unknown,
        unmarked=count_unmarked(clean, sentence_spans=sentence_spans),
        weak=weak,
    )


def expand_marks(text: str, numbers: Mapping[int, Sequence[int]]) -> str:
    """The text with every mark's number replaced by those it stands for.

    A number that is no key of `numbers` becomes 0, which no source has: `resolve_marks` counts it.
    """

    def expanded(match: re.Match[str]) -> str:
        new = [n for old in _numbers(match.group(1)) for n in numbers.get(old, (0,))]
        blank = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{blank}[{', '.join(map(str, new))}]" if new else ""

    return _MARK.sub(expanded, text)


def count_unmarked(text: str, *, sentence_spans: SentenceSpans) -> int:
    """How many statements carry no mark; headings and lead lines that end in a colon are none."""
    # A mark behind a full stop belongs to the sentence in front of it.
    text = re.sub(rf"([.!?。！？]+)({_RUN.pattern})", r"\2\1", text)
    unmarked = 0
    for start, end in sentence_spans(text):
        sentence = text[start:end].strip()
        lead = sentence.startswith("#") or sentence.endswith((":", "："))
        if not lead and not _MARK.search(sentence) and re.search(r"\w", sentence):
            unmarked += 1
    return unmarked


@dataclass(frozen=True, slots=True)
class _Place:
    passage: int
    start: int
    end: int
    weak: bool


def _sentences_of(
    passages: Sequence[Passage], *, tokens: Tokens, sentence_spans: SentenceSpans
) -> list[list[Sentence]]:
    return [
        split_passages([passage], tokens=tokens, sentence_spans=sentence_spans)
        for passage in passages
    ]


def _claim(before: str, sentence_spans: SentenceSpans) -> str:
    """The last sentence of the text between two marks; a bare stop is not one."""
    spans = [
        (start, end) for start, end in sentence_spans(before) if re.search(r"\w", before[start:end])
    ]
    return before[spans[-1][0] : spans[-1][1]] if spans else ""


def _support(
    claim: str,
    index: int,
    passages: Sequence[Passage],
    *,
    sentences: Sequence[Sentence],
    tokens: Tokens,
    embed: Embed | None,
) -> _Place:
    if not sentences:
        return _Place(index, 0, len(passages[index].text), weak=True)
    wanted = set(tokens(claim))
    overlaps = [_overlap(wanted, sentence.terms) for sentence in sentences]
    scores = list(overlaps)
    if embed is not None and claim:
        vectors = embed([claim, *(sentence.text for sentence in sentences)])
        cosines = (vectors[1:] @ vectors[0]).tolist()
        scores = [overlap + 0.5 * cosine for overlap, cosine in zip(overlaps, cosines, strict=True)]
    best = max(range(len(sentences)), key=lambda place: (scores[place], -place))
    chosen = sentences[best]
    return _Place(index, chosen.start, chosen.end, weak=overlaps[best] == 0.0)


def _overlap(wanted: set[str], terms: frozenset[str]) -> float:
    """The share of the claim's terms in the sentence, and a little for the share the other way.

    The little decides between a short sentence and a long one that hold the same.
    """
    shared = len(wanted & terms)
    return (shared / len(wanted) + 0.2 * shared / len(terms)) if shared else 0.0


def _numbers(inside: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"\s*[,，、;；]\s*", inside):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers.extend(range(ends[0], ends[1] + 1))
        else:
            numbers.extend(ends)
    return numbers


def _write_marks(
    places: Sequence[_Place],
    citations: dict[tuple[int, int], Citation],
    passages: Sequence[Passage],
    *,
    spaced: bool,
) -> str:
    written: list[str] = []
    for place in places:
        passage = passages[place.passage]
        key = (place.passage, place.start)
        if key not in citations:
            number = len(citations) + 1
            citations[key] = cite_span(passage, place.start, place.end, number=number)
        written.append(f"[{citations[key].number}]")
    marks = "".join(dict.fromkeys(written))
    return f" {marks}" if marks and spaced else marks


def _tidy(text: str) -> str:
    return re.sub(r"[ \t]+(?=[.,;:!?。，；：！？](?:\s|$))", "", text).strip()
