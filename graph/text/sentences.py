"""Sentences and scripts: segmentation, quality, Han and Latin, layouts.

Spans are half-open character offsets, in order, without overlap, stripped of white space; only
white space lies between two. A sentence in two overlapping chunks is one sentence. A *shadow* has
the offsets of its text, with markup, formulas, addresses and control characters blanked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from ..model import Chunk, content_id
from .boilerplate import boilerplate_spans
from .cjk import HAN, count_han, is_chinese
from .patterns import lazy_regex

_ABBREVIATION = lazy_regex(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|No|Nos|Vol|Fig|Figs"
    r"|Eq|Ch|Sec|Inc|Ltd|Co|Corp|vs|etc|al|approx|ca|cf|e\.g|i\.e|a\.m|p\.m|Jan|Feb|Mar|Apr|Jun|Jul"
    r"|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z](?:\.[A-Z])*)\.$"
)
_BOUNDARY = lazy_regex(
    r"""
    (?P<cjk>[。！？；…]+[」』”’）》"'\)]*)          # Chinese marks end a sentence with no space
    | (?P<latin>[.!?]+["'”’\)\]]*)(?=\s+|$)        # Latin marks need white space behind them
    | (?P<break>\n[ \t]*\n\s*|\n(?=[ \t]*(?:[-*+#>|]|\d+[.)])[ \t]))  # blank line, list
    """,
    re.VERBOSE,
)
_HEADING = lazy_regex(r"^[ \t]*#{1,6}[ \t].*$", re.MULTILINE)
_LOWER_START = lazy_regex(r"\s*[a-z,;]")
MAX_SENTENCE_CHARACTERS = 1000
"""Maximum sentence length; longer runs are cut at white space."""
LOOK_BACK = 120
"""Characters searched backwards for a boundary at first."""
FEW = 300
"""Fewer offsets than one in so many characters are looked up one by one."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of `text` as `(start, end)`."""
    ends = sorted(_boundaries(text))
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in (*ends, len(text)):
        spans.extend(_pieces(text, begin, end))
        begin = end
    return spans


def sentences_at(text: str, offsets: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return for each offset its sentence of `sentence_spans`, or the last before.

    What lies before all sentences has the first; a text without sentences gives nothing. For few
    offsets in a long text only what lies around them is read.
    """
    if len(offsets) * FEW > len(text):
        return _of_all(sentence_spans(text), offsets)
    found: dict[int, tuple[int, int]] = {}
    begin = end = 0
    pieces: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if not begin <= offset < end:
            begin, end = _region(text, offset)
            pieces = _pieces(text, begin, end)
        before = [piece for piece in pieces if piece[0] <= offset]
        if not before:  # between two sentences, or before all
            return _of_all(sentence_spans(text), offsets)
        found[offset] = before[-1]
    return found


def _of_all(spans: list[tuple[int, int]], offsets: Collection[int]) -> dict[int, tuple[int, int]]:
    starts = [start for start, _ in spans]
    return {one: spans[max(0, bisect_right(starts, one) - 1)] for one in offsets if spans}


def _region(text: str, offset: int) -> tuple[int, int]:
    """Return the region between the boundaries around `offset`."""
    reach = LOOK_BACK
    while True:
        here = _not_within_a_mark(text, offset - reach)
        begin, end = 0, len(text)
        for mark in _marks(text, here):
            if mark > offset:
                end = mark
                break
            begin = mark
        for heading in _headings(text, here, end):
            if heading > offset:
                end = min(end, heading)
            else:
                begin = max(begin, heading)
        if begin or here == 0:
            return begin, end
        reach *= 4


def _not_within_a_mark(text: str, offset: int) -> int:
    """Return the nearest earlier place from which scanning finds the same marks."""
    while offset > 0 and not text[offset - 1].isalnum():
        offset -= 1
    return max(0, offset)


def _boundaries(text: str) -> set[int]:
    return {match.end() for match in _HEADING.finditer(text)} | {*_marks(text, 0)}


def _marks(text: str, begin: int) -> Iterator[int]:
    """Return sentence ends by marks and breaks, in order, from `begin`."""
    for match in _BOUNDARY.finditer(text, begin):
        if match.lastgroup == "break":
            yield match.start()
        elif match.lastgroup == "cjk" or _ends_sentence(text, match):
            yield match.end()


def _headings(text: str, begin: int, end: int) -> Iterator[int]:
    """Return the ends of headings among lines touching `text[begin:end]`."""
    line = text.rfind("\n", 0, begin) + 1
    while line <= end:
        if match := _HEADING.match(text, line):
            yield match.end()
        line = text.find("\n", line) + 1 or len(text) + 1


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if not match.group().startswith(".") or match.group().startswith(".."):
        return not _LOWER_START.match(text, match.end())
    before = text[max(0, match.start() - 12) : match.start() + 1]
    return not (_ABBREVIATION.search(before) or _LOWER_START.match(text, match.end()))


def _pieces(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    pieces: list[tuple[int, int]] = []
    while end - begin > MAX_SENTENCE_CHARACTERS:
        limit = begin + MAX_SENTENCE_CHARACTERS
        cut = max(text.rfind(mark, begin + 1, limit) for mark in (" ", "\n", "，"))
        cut = limit if cut <= begin else cut + 1
        pieces.append((begin, len(text[begin:cut].rstrip()) + begin))
        begin = cut
        while begin < end and text[begin].isspace():
            begin += 1
    if begin < end:
        pieces.append((begin, end))
    return pieces


_TOKEN = lazy_regex(rf"[{HAN}]|[^\W_{HAN}]+")
_NO_SENTENCE = lazy_regex(r"#{1,6}\s|\||={3,}|-{3,}|<\w|```|>?\s*$")
_LIST_MARK = lazy_regex(r"(?:[-*+•·>]|\(?\d{1,3}[.)、])\s*")
_ENDS = lazy_regex(r"[.!?。！？…][\"'”’)\]）」』》]*$")
_LEANS_BACK = lazy_regex(
    r"(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Bb]ut|[Aa]nd|[Ss]o|[Hh]is"
    r"|[Hh]er|[Ii]ts|[Tt]heir|[Hh]owever|[Tt]herefore|[Tt]hen|I|[Ww]e|[Yy]ou)\b"
    r"|[他她它这那但并而]|因此|所以|于是|然而"
)
_SPEECH = lazy_regex(r"[\"“「『‘]")
_PAIRED = lazy_regex(r"[\"“”「」『』《》（）()[\]]")
GOOD_LENGTH = (8.0, 40.0)
"""Good sentence length in words (two Chinese characters count as one)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Sentence naming entities, at `chunk.text[start:end]`; `text` has single spaces.

    `stated` holds a pair of entity ids for each relation that the sentence states (more than their
    standing together), `quality` is 0–1, `digest` a hash of place and text.
    """

    chunk_id: str
    document_id: str
    start: int
    end: int
    text: str
    entity_ids: tuple[str, ...]
    stated: tuple[tuple[str, str], ...]
    quality: float
    digest: str


def sentences_with_entities(
    chunks: Iterable[Chunk],
    *,
    spans: Iterable[tuple[str, int, tuple[str, ...]]],
    statements: Iterable[tuple[str, int, str, str, bool]],
) -> list[Sentence]:
    """Return sentences naming entities, by document and place.

    Args:
        chunks: in any order; of a sentence in two overlapping chunks the first chunk's is kept.
        spans: (chunk id, offset, entity ids) of mentions.
        statements: (chunk id, offset, source id, target id, whether the relation is typed).

    Raises:
        KeyError: a chunk id that none of `chunks` has.
    """
    naming: dict[str, list[_Naming]] = defaultdict(list)
    for chunk_id, offset, entity_ids in spans:
        naming[chunk_id].append((offset, entity_ids, False))
    for chunk_id, offset, source, target, typed in statements:
        naming[chunk_id].append((offset, (source, target), typed))
    layout = _Layout.of(chunks)
    said: dict[tuple[str, int], _Said] = {}
    while naming:
        chunk_id, some = naming.popitem()
        places = layout.places(chunk_id, {offset for offset, _, _ in some})
        for offset, entity_ids, typed in some:
            place, end = places[offset]
            if place not in said:
                said[place] = _Said(end=end)
            said[place].named.extend(entity_ids)
            if typed:
                said[place].stated.append((entity_ids[0], entity_ids[1]))
    return [layout.sentence(place, said.pop(place)) for place in sorted(said, key=layout.order)]


_Naming = tuple[int, tuple[str, ...], bool]
"""Offset, entities named there, and whether a relation is stated."""

_Place = tuple[str, int]
"""(chunk id, start) of a sentence's first appearance."""


@dataclass(slots=True)
class _Said:
    """Facts of the sentence ending at `end`, with repeats."""

    end: int
    named: list[str] = field(default_factory=list)
    stated: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Positions of chunks in their documents."""

    chunks: Mapping[str, Chunk]
    """In the order of their documents."""
    by_start: Mapping[str, tuple[list[int], list[Chunk]]]
    """For each document where its chunks start, ascending, and these."""
    longest: int

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> _Layout:
        ordered = sorted(chunks, key=_order)
        documents: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in sorted(ordered, key=lambda one: one.start):
            documents[chunk.document_id].append(chunk)
        return cls(
            chunks={chunk.id: chunk for chunk in ordered},
            by_start={key: ([one.start for one in some], some) for key, some in documents.items()},
            longest=max((len(chunk.text) for chunk in ordered), default=0),
        )

    def places(self, chunk_id: str, offsets: Collection[int]) -> dict[int, tuple[_Place, int]]:
        """Return the sentence span of each offset in a chunk."""
        chunk = self.chunks[chunk_id]
        found = sentences_at(chunk.text, offsets)
        if not found:
            return dict.fromkeys(offsets, ((chunk_id, 0), len(chunk.text)))
        first = {span: self._first(chunk, *span) for span in {*found.values()}}
        return {offset: first[span] for offset, span in found.items()}

    def _first(self, chunk: Chunk, start: int, end: int) -> tuple[_Place, int]:
        """Return the first occurrence of a sentence in its document."""
        starts, beside = self.by_start[chunk.document_id]
        where, text = chunk.start + start, chunk.text[start:end]
        near = beside[bisect_left(starts, where - self.longest) : bisect_right(starts, where)]
        near = [one for one in near if one.text.startswith(text, where - one.start)]
        for other in sorted(near, key=_order) if len(near) > 1 else ():
            at = where - other.start
            span = (at, at + len(text))
            if sentences_at(other.text, (at,))[at] == span:
                return (other.id, at), span[1]
        return (chunk.id, start), end

    def order(self, place: _Place) -> tuple[str, int, int, str]:
        chunk = self.chunks[place[0]]
        return chunk.document_id, chunk.position, place[1], chunk.id

    def sentence(self, place: _Place, said: _Said) -> Sentence:
        chunk, start = self.chunks[place[0]], place[1]
        text = " ".join(chunk.text[start : said.end].split())
        return Sentence(
            chunk_id=chunk.id,
            document_id=chunk.document_id,
            start=start,
            end=said.end,
            text=text,
            entity_ids=tuple(sorted({*said.named})),
            stated=tuple(sorted({*said.stated})),
            quality=sentence_quality(text),
            digest=content_id("", chunk.id, chunk.document_id, str(start), str(said.end), text),
        )


def _order(chunk: Chunk) -> tuple[int, int, str]:
    """Return a chunk's position in its document."""
    return chunk.position, chunk.start, chunk.id


def sentence_quality(text: str) -> float:
    """Return how well a sentence stands alone, 0–1; 0 for headings, table rows and marks."""
    if _NO_SENTENCE.match(text):
        return 0.0
    value = _length_factor(text)
    mark = _LIST_MARK.match(text)
    if mark is not None:
        value *= 0.6
        text = text[mark.end() :]
    if not _ENDS.search(text):
        value *= 0.4
    if text[:1].islower():
        value *= 0.5
    if _LEANS_BACK.match(text):
        value *= 0.7
    if _SPEECH.match(text) or text[-1:] in "?？!！" or _is_torn(text):
        value *= 0.6
    return value


def _is_torn(text: str) -> bool:
    """Check for unbalanced quotation marks or brackets."""
    if not _PAIRED.search(text):
        return False
    return text.count('"') % 2 == 1 or any(
        text.count(opening) != text.count(closing)
        for opening, closing in zip("“「『《（([", "”」』》）)]", strict=True)
    )


def _length_factor(text: str) -> float:
    chinese = count_han(text)
    words = len(_TOKEN.findall(text)) - chinese + chinese / 2
    short, long = GOOD_LENGTH
    if words < short:
        return words / short
    return min(1.0, long / words)


def sentence_words(text: str) -> frozenset[str]:
    """Return a sentence's words in lower case and single Chinese characters."""
    return frozenset(_TOKEN.findall(text.casefold()))


def is_near_duplicate(words: frozenset[str], others: frozenset[str]) -> bool:
    """Check for near-duplicates: four in five words of the shorter are shared."""
    if not words or not others:
        return words == others
    return len(words & others) >= 0.8 * min(len(words), len(others))


_MARKUP = lazy_regex(
    r"""
    [\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\u200b-\u200f\u2028\u2029]  # no text at all
    | \$\$[^$]{1,2000}\$\$                         # formulas
    | \$(?=[^$]{0,400}[\\^_])(?:[^$\n]|\n(?![ \t]{0,9}\n)){1,400}\$
    | \{[a-z]{1,40}\}                             # what a transcriber marks: {vocalsound}
    | [*`~\\<>]                                   # emphasis, code, tags
    | ^[ \t]*\#{1,6}(?=[ \t])                     # headings
    | (?<!\w)_++ | (?<!_)_++(?!\w)               # emphasis again
    | \]\([^()\s]*\)                              # the target of a link
    | \b(?:https?|ftp)://\S+ | \bwww\.\S+
    """,
    re.VERBOSE | re.MULTILINE,
)
_MAIL_RUN = lazy_regex(r"[\w.+-]++(?=(@[\w-]++\.[\w.]++)?)")
"""Pattern of mail addresses.

Runs are taken whole, and never looked at again from their middle: text without spaces is one run.
"""
_WRAPPED_LINE = 40
"""Minimum line length for a following break to be wrapped prose."""
_NEW_LINE = lazy_regex(r"\s*(?:$|[\w-]{1,20}:|[A-Z][\w.-]{0,20}(?: [A-Z][\w.-]{0,20}){1,2}: )")
"""An empty line, or one with a label ("Date: …", "Grad E: …"), goes on from no line."""
MAX_SEGMENT_CHARACTERS = 20_000
"""Maximum characters parsed at once, which bounds memory and time."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive sentences of one language: `shadow == shadow_of_text[start:end]`."""

    start: int
    end: int
    shadow: str
    chinese: bool
    sentences: tuple[tuple[int, int], ...]
    """Spans into the whole text, not into the segment."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A text with its shadow, its sentences and its segments."""

    text: str
    shadow: str
    sentences: tuple[tuple[int, int], ...]
    segments: tuple[Segment, ...]

    def sentence_at(self, offset: int) -> int | None:
        """Return the index of the sentence at `offset`."""
        index = bisect_right(self.sentences, (offset, len(self.text) + 1)) - 1
        if index < 0 or offset >= self.sentences[index][1]:
            return None
        return index


def lay_out(text: str) -> Layout:
    """Sentences of `text` by `sentence_spans`, grouped into segments of one language."""
    shadow = strip_markup(text)
    sentences = tuple(sentence_spans(text))
    groups: list[tuple[bool, list[tuple[int, int]]]] = []
    for start, end in sentences:
        chinese = is_chinese(text[start:end])
        fits = groups and end - groups[-1][1][0][0] <= MAX_SEGMENT_CHARACTERS
        if groups and fits and groups[-1][0] == chinese:
            groups[-1][1].append((start, end))
        else:
            groups.append((chinese, [(start, end)]))
    segments = tuple(
        Segment(
            spans[0][0], spans[-1][1], shadow[spans[0][0] : spans[-1][1]], chinese, tuple(spans)
        )
        for chinese, spans in groups
    )
    return Layout(text, shadow, sentences, segments)


def strip_markup(text: str) -> str:
    """`text` with all that is no prose blanked, character for character."""
    blanked = _blanked(_blanked(text, _no_prose(text)), boilerplate_spans(text))
    lines = blanked.replace("|", ";").split("\n")
    parts = [lines[0]]
    for before, line in pairwise(lines):
        wrapped = len(before.rstrip()) >= _WRAPPED_LINE and not _NEW_LINE.match(line)
        parts += [" " if wrapped else "\n", line]
    return "".join(parts)


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*parts, text[done:]])


def _no_prose(text: str) -> Iterator[tuple[int, int]]:
    """Markup and mail addresses, whichever comes first, without overlaps."""
    done, size = 0, len(text)
    markup = _MARKUP.search(text)
    for start, at, end in (*_addresses(text), (size, size, size)):
        while markup is not None and markup.start() <= max(start, done):
            if markup.start() >= done:
                yield markup.span()
                done = markup.end()
            markup = _MARKUP.search(text, done)
        if done < at:  # what goes before has left something of its name
            yield max(start, done), end
            done = end


def _addresses(text: str) -> Iterator[tuple[int, int, int]]:
    """Return the start, @ and end of mail addresses."""
    if "@" not in text:
        return
    for run in _MAIL_RUN.finditer(text):
        if run.group(1):
            yield run.start(), run.end(), run.end(1)
