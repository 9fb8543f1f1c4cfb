"""Parts of a collection: those its own titles and folders give, else topics of alike documents.

Documents of one folder whose titles are numbered ("Chapter 6. …", "6.3. …") are the chapters of a
book. Others are compared by their words and by the entities of the graph, which join languages;
central ones are chosen one by one so that all are as near as possible to one of them (facility
location, Nemhauser et al. 1978: within 1 - 1/e of the best); each belongs to the nearest. Pure,
deterministic and bounded by `MAX_CHUNKS`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import HAN, has_han, is_chinese
from graph.text.patterns import FENCE

from ...storage.graph_api import Chunk, bare_heading
from ...storage.tokenization import tokens, tokens_of
from .standalone import is_unpaired

MAX_DOCUMENTS, MAX_CHUNKS = 600, 1200
"""Maximum number of documents and of chunks that are read; larger libraries are sampled evenly."""
_OF_INDEX, _INDEXES = 30, 5
"""Chunks that are read of a page that lists others, at most, and such pages."""
MIN_SECTIONS, MAX_DEPTH = 4, 3
_PARTS = 8
"""Number of parts of a document without headings."""
_HEAD_COUNTS = 3
"""A word of a title or heading counts as much as in so many places of the text."""
_MAX_TERMS = 4000
_COMMON = 0.6
"""Terms of more than this share of the units tell none apart."""
_ENTITY_COUNTS = 2
_OTHER_SCRIPT = 0.8
"""Factor for a central unit in another script than the question's."""
_MOST = 0.6
"""A heading that stands over this share of a section is named with the section's own."""
_OTHER_TITLE, _UNTOLD, _FARTHER, _PHRASED = 0.5, 0.2, 0.85, 9
"""Factors for titles in another script, for those that say nothing, and for each unit farther from
the centre; so many units are named by the phrases that they share."""
_CODE = re.compile(rf"[\w.-]*[\d_.][\w.-]*|[^{HAN}]{{0,3}}|.")
"""Titles that say nothing: "ES2006b", "notes_final.txt"."""
NUMBERED = re.compile(
    r"(?P<word>chapter|part|appendix|第|附录)?\s*(?P<number>\d{1,3}|[A-Z](?=\.)|[一二三四五六七八九十百]+)"
    r"(?P<deeper>(?:\.\d{1,3})*)(?:\.| ?[章部编回卷]|:|\s)",
    re.IGNORECASE,
)
MIN_CHAPTERS = 3
"""Least chapters of a book."""

Rows = NDArray[np.float64]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Unit:
    """A document or a section of one, with the chunks of it that were read, in their order."""

    document_id: str
    headings: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    called: str = ""
    sections: tuple[str, ...] = ()
    """Titles of the documents of a chapter that has no page of its own."""

    @cached_property
    def title(self) -> str:
        """A name of its own, else its heading in plain words; empty where that says nothing."""
        if self.called:
            return self.called
        said = plain_title(self.headings[-1] if self.headings else self.chunks[0].title)
        if _CODE.fullmatch(said):
            return ""
        depth = len(self.headings)
        below = Counter(one.headings[depth] for one in self.chunks if len(one.headings) > depth)
        for heading, count in below.most_common(1) if self.headings else ():
            if count >= _MOST * len(self.chunks):
                return f"{calm(said)}: {calm(plain_title(heading))}"
        return calm(said)

    @property
    def name(self) -> str:
        """Its title, else that of its document."""
        return self.title or plain_title(self.chunks[0].title)

    @cached_property
    def is_chinese(self) -> bool:
        """Check for a text mostly in Chinese."""
        return is_chinese(self.chunks[0].text)


@dataclass(frozen=True)
class Topic:
    """Units that belong together, the central one first; `weights` are those of their terms."""

    units: tuple[Unit, ...]
    weights: Mapping[str, float]

    @property
    def chunks(self) -> list[Chunk]:
        """Return the chunks that were read of it."""
        return [chunk for unit in self.units for chunk in unit.chunks]


def sample_chunks(by_document: Mapping[str, Sequence[str]]) -> list[str]:
    """Return about `MAX_CHUNKS` chunk ids, spread over the documents and over each of them.

    Pictures are left out beside other documents.
    """
    told = [name for name in sorted(by_document) if not is_picture(name)] or sorted(by_document)
    documents = spread_evenly(told, MAX_DOCUMENTS)
    most = _even_share([len(by_document[name]) for name in documents])
    indexes = (name for name in documents if is_index(name.rpartition("/")[2].casefold()))
    outer = sorted(indexes, key=lambda name: (name.count("/"), name))[:_INDEXES]
    room = {name: max(most, _OF_INDEX) for name in outer}
    return [
        key for name in documents for key in spread_evenly(by_document[name], room.get(name, most))
    ]


def _even_share(lengths: Sequence[int]) -> int:
    """Return how many chunks of each document make `MAX_CHUNKS`; short ones leave theirs."""
    room, most = MAX_CHUNKS, 0
    for at, length in enumerate(sorted(lengths)):
        most = room // (len(lengths) - at)
        if length > most:
            break
        room -= length
    return most


def spread_evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many items at equal distances, the first among them."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def units_of(chunks: Sequence[Chunk]) -> list[Unit]:
    """Return documents as units, or the sections of a single document or section; by place."""
    ordered = sorted(chunks, key=lambda one: (one.document_id, one.position, one.start, one.id))
    if len({chunk.document_id for chunk in ordered}) > 1:
        return sections(ordered, depth=0)
    ordered = [part for chunk in ordered for part in parts_of(chunk)]
    above = len(shared_path([chunk.headings for chunk in ordered]))
    depths = range(above + 1, above + MAX_DEPTH + 1)
    parted = [sections(ordered, depth=depth) for depth in depths]
    if found := next((some for some in parted if len(some) >= MIN_SECTIONS), None):
        return found
    if len(few := max(parted, key=len)) > 1:
        return few
    size = max(1, math.ceil(len(ordered) / _PARTS))
    parts = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    return [Unit(some[0].document_id, some[0].headings, tuple(some)) for some in parts]


_HEADING = re.compile(r"(?:\A|(?<=\n\n))(#{1,5})[ \t]+(\S.*?)[ \t#]*\n(?=\s*\n)")
_FENCE = re.compile(rf"^{FENCE.pattern}[ \t]*(?P<info>\S*)", re.MULTILINE)


def parts_of(chunk: Chunk) -> list[Chunk]:
    """Return a chunk that holds several sections as a chunk for each, else as it is.

    A heading has empty lines around it; lines of code that begin with a hash are none.
    """
    code = _code_spans(chunk.text)
    heads = [
        one
        for one in _HEADING.finditer(chunk.text)
        if not any(start <= one.start() < end for start, end in code)
    ]
    if not any(chunk.text[: one.start()].strip() for one in heads):
        return [chunk]
    path, parts, above = chunk.headings, [], 0
    bounds = [0, *(one.start() for one in heads if one.start()), len(chunk.text)]
    levels = {one.start(): (len(one[1]), " ".join(one[2].split())) for one in heads}
    for start, end in pairwise(bounds):
        if start in levels:
            level, heading = levels[start]
            if not start and path and path[-1] == heading:
                above = level - len(path)  # levels that the document leaves out
            path = (*path[: max(0, level - 1 - above)], heading)
        text = chunk.text[start:end]
        begins = chunk.start + start
        parts.append(replace(chunk, text=text, start=begins, end=begins + len(text), headings=path))
    return parts


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of code in a chunk, which may begin or end within some."""
    fences = list(_FENCE.finditer(text))
    if len(fences) % 2 and not fences[0]["info"]:
        bounds = [0, *(one.start() for one in fences)]  # it begins in code
    else:
        bounds = [*(one.start() for one in fences), len(text)]
    return list(zip(bounds[::2], bounds[1::2], strict=False))


def shared_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all paths begin with."""
    levels = zip(*paths, strict=False)
    shared = takewhile(lambda level: len(set(level)) == 1, levels)
    return tuple(level[0] for level in shared)


def sections(chunks: Sequence[Chunk], *, depth: int) -> list[Unit]:
    """Return the units of chunks in one document under the same headings down to a depth."""
    held: defaultdict[tuple[str, tuple[str, ...]], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        held[chunk.document_id, chunk.headings[:depth]].append(chunk)
    return [Unit(name, headings, tuple(some)) for (name, headings), some in held.items()]


def in_groups(units: Sequence[Unit], most: int) -> list[Sequence[Unit]]:
    """Return at most so many groups of adjoining units, of one size but for the last."""
    size = math.ceil(len(units) / most)
    return [units[at : at + size] for at in range(0, len(units), size)]


def joined(units: Sequence[Unit]) -> Unit:
    """Return adjoining units as one: *Chapter 1 – Chapter 3*."""
    titles = [unit.title for unit in units if unit.title] or [""]
    chunks = tuple(chunk for unit in units for chunk in unit.chunks)
    called = " – ".join(dict.fromkeys((titles[0], titles[-1])))
    return replace(units[0], chunks=chunks, called=called)


_INDEX = re.compile(r"(?:index|contents|toc|readme|summary)(?:[._-][\w.-]*)?", re.IGNORECASE)


def is_index(file: str) -> bool:
    """Check that a file is called as the first page of a folder is."""
    return _INDEX.fullmatch(file) is not None


_JOINT = re.compile(r": | [-–—|·] | (?=\([^()]+\)$)")
_OF_ALL = 0.3
"""Least share of titles that end alike where that is the name of their book or site."""


def shared_endings(titles: Collection[str]) -> tuple[str, ...]:
    """Return what many titles end with behind a colon, dash or bar, the longest first.

    It is the name of the book or the site that they belong to.
    """
    counts = Counter(title[joint.start() :] for title in titles for joint in _JOINT.finditer(title))
    least = max(MIN_CHAPTERS + 1, _OF_ALL * len(titles))
    often = [ending for ending, count in counts.items() if count >= least]
    whole = [
        ending
        for ending in often
        if not any(one != ending and one.endswith(ending) and counts[one] == counts[ending]
                   for one in often)
    ]  # fmt: skip
    return tuple(sorted(whole, key=lambda ending: (-len(ending), ending)))


def shared_titles(titles: Mapping[str, int]) -> frozenset[str]:
    """Return the titles that many documents have alike: the name of their book or site.

    `titles` are the documents that have each.
    """
    least = max(MIN_CHAPTERS + 1, _OF_ALL * sum(titles.values()))
    return frozenset(title for title, count in titles.items() if count >= least)


def without_ending(title: str, endings: Iterable[str]) -> str:
    """Return a title without the name of its book or site."""
    bare = next((title.removesuffix(each) for each in endings if title.endswith(each)), title)
    return bare.strip() or title


_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".svg")


def is_picture(document_id: str) -> bool:
    """Check by its name that a document is a picture, of which only words were read."""
    return document_id.casefold().endswith(_PICTURES)


def han_number(text: str) -> int:
    """Return the value of a Chinese numeral below a thousand; 0 for any other text."""
    total = digit = 0
    for one in text:
        if one in "十百":
            total, digit = total + (digit or 1) * (10 if one == "十" else 100), 0
        else:
            digit = "〇一二三四五六七八九".find(one)
            if digit < 0:
                return 0
    return total + digit


def weights_of(
    units: Sequence[Unit], entities_of: Callable[[str], Iterable[str]]
) -> tuple[Rows, list[str]]:
    """Return unit vectors of tf-idf, a row a unit, and the terms of the columns."""
    counts = [_terms(unit, entities_of) for unit in units]
    held = Counter(term for one in counts for term in one)
    most = max(_COMMON * len(counts), 3)
    known = [
        term for term, found in held.items() if found <= most and (found > 1 or len(counts) < 9)
    ]
    terms = sorted(known, key=lambda term: (-held[term], term))[:_MAX_TERMS]
    column = {term: at for at, term in enumerate(terms)}
    rows = np.zeros((len(counts), len(terms)), dtype=np.float64)
    for number, one in enumerate(counts):
        for term, count in one.items():
            at = column.get(term)
            if at is not None:
                idf = math.log(1 + len(counts) / held[term])
                rows[number, at] = (1 + math.log(count)) * idf
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1), terms


def group_units(
    units: Sequence[Unit],
    *,
    entities_of: Callable[[str], Iterable[str]],
    most: int,
    chinese: bool,
) -> list[Topic]:
    """Return at most `most` topics, the largest first; a topic a unit where there are no more.

    Args:
        units: what is grouped.
        entities_of: the ids of entities named in a chunk.
        most: maximum number of topics.
        chinese: whether central units in Chinese are preferred, or those that are not.
    """
    rows, terms = weights_of(units, entities_of)
    if len(units) <= most:
        centres = list(range(len(units)))
        owner = np.arange(len(units))
        near = np.eye(len(units))
    else:
        near = rows @ rows.T
        np.fill_diagonal(near, 1.0)
        sizes = np.array([math.sqrt(len(unit.chunks)) for unit in units])
        fits = [1.0 if unit.is_chinese == chinese else _OTHER_SCRIPT for unit in units]
        centres = _central(near, sizes, np.array(fits), most=most)
        owner = np.argmax(near[centres], axis=0)
        owner[centres] = np.arange(len(centres))
    topics = []
    for number, centre in enumerate(centres):
        members = sorted(
            np.flatnonzero(owner == number).tolist(), key=lambda row: (-near[centre, row], row)
        )
        centroid = rows[members].sum(axis=0)
        weights = {terms[at]: float(centroid[at]) for at in np.flatnonzero(centroid > 0)}
        topics.append((members, Topic(tuple(units[row] for row in members), weights)))
    topics.sort(key=lambda one: (-len(one[0]), one[0][0]))
    return [topic for _, topic in topics]


def _central(near: Rows, sizes: Rows, fits: Rows, *, most: int) -> list[int]:
    """Return the units that bring the others nearest to one of them, chosen one by one."""
    best = np.zeros(len(near), dtype=np.float64)
    chosen: list[int] = []
    for _ in range(min(most, len(near))):
        gains = (np.maximum(near - best, 0.0) @ sizes * fits).round(6)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        best = np.maximum(best, near[chosen[-1]])
    return chosen


def _terms(unit: Unit, entities_of: Callable[[str], Iterable[str]]) -> Counter[str]:
    """Count a unit's words, those of its headings more, and the entities named in it."""
    counts: Counter[str] = Counter()
    heads = {unit.chunks[0].title, *(head for one in unit.chunks for head in one.headings)}
    for head in sorted(heads):
        counts.update(dict.fromkeys(tokens(head), _HEAD_COUNTS))
    for chunk in unit.chunks:
        counts.update(tokens(chunk.text))
        counts.update({f"\0{entity}": _ENTITY_COUNTS for entity in entities_of(chunk.id)})
    return counts


def key_phrases(units: Sequence[Unit], others: Sequence[Unit]) -> list[str]:
    """Return English phrases that the beginnings of these units share, and others seldom have."""
    inside = Counter(phrase for unit in units for phrase in _phrases(unit))
    every = Counter(phrase for unit in others for phrase in _phrases(unit))
    scored = []
    for phrase, count in inside.items():
        share, least = count / len(units), max(2.0, _SHARED * len(units))
        lift = share / (every[phrase] / len(others))
        if count >= least and lift > _LIFT:
            worth = share * math.log(lift) * (1 + _LONGER * phrase.count(" "))
            scored.append((-round(worth, 6), phrase))
    chosen: list[str] = []
    for _, phrase in sorted(scored):
        words = set(tokens(phrase))
        if not any(words & set(tokens(one)) for one in chosen):
            chosen.append(phrase)
    return chosen[:_MAX_PHRASES]


_SHARED, _LIFT, _LONGER, _MAX_PHRASES = 0.15, 1.5, 0.8, 3
"""Least share of a topic's units that hold a key phrase, least multiple of the share elsewhere,
worth of each further word, and maximum number of phrases."""
_BEGINNING = 400
"""Characters of a unit in which its key phrases stand."""
_RUN = re.compile(r"(?<![\w'’-])[^\W\d_]+(?:-[^\W\d_]+)*(?: [^\W\d_]+(?:-[^\W\d_]+)*)*(?![\w'’])")
_LOOSE = re.compile(
    r"\w+(?:ed|ing|ly)|also|first|best|known|made|based|many|most|various|new|other|one|two|born"
    r"|may|might|can|could|will|would|shall|should|must|makes?"
)


def _phrases(unit: Unit) -> set[str]:
    """Return the runs of one to three content words; those with capitals have two at least."""
    found: set[str] = set()
    for run in _RUN.findall(unit.chunks[0].text[:_BEGINNING]):
        words = run.split()
        bare = [bool(tokens(word)) and not _LOOSE.fullmatch(word) for word in words]
        for size in (1, 2, 3):
            for at in range(len(words) - size + 1):
                phrase = " ".join(words[at : at + size])
                if all(bare[at : at + size]) and (size > 1 or phrase.islower()):
                    found.add(phrase)
    return found


_DATED = re.compile(
    r"\d{1,4}(?:[年月日]|(?:st|nd|rd|th)? (?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)"
    r"[a-z]*\b)"
)
"""Titles that begin with a date, whose number is no chapter's."""


def plain_title(title: str) -> str:
    """Return a title or heading without its number; with it where the number belongs to it."""
    if _DATED.match(title):
        return " ".join(title.split())
    bare, last = bare_heading(title), title.rstrip()[-1:]
    if last in ")）" and is_unpaired(bare):
        bare += last  # was taken for mark-up: *1.3. Midnight Commander (MC)*
    return " ".join(title.split()) if is_unpaired(bare) or bare[:1].islower() else bare


_GENERIC = re.compile(
    r"(?:(?:chapter|part|section|book|volume|stave|act|scene|letter|page)s?|第)? ?"
    r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|[一二三四五六七八九十百]+)?"
    r"[章回节部卷]?"
    r"|(?:frequently asked questions|faq|introduction|contents?|table of contents|home|index"
    r"|untitled|overview|summary|notes?|test|title|document|readme|常见问题|简介|前言|目录|首页)",
    re.IGNORECASE,
)


def is_numbered(title: str) -> bool:
    """Check for the title of a chapter or section with its number."""
    return NUMBERED.match(title) is not None


def number_of(title: str) -> str:
    """Return the number that a chapter's title begins with: *Chapter 36*, 第三回; else nothing."""
    found = NUMBERED.match(f"{title} ")
    return calm(found.group().strip(" .:")) if found else ""


_OPENS_WITH = re.compile(
    r"\b(?:introduct\w+|getting started|first steps|quick ?start|tutorials?|basics?|beginner\w*"
    r"|howto|primer|welcome|overview)\b|入门|基础|教程|简介|介绍|概述|快速|新手|初学",
    re.IGNORECASE,
)
_CAN_WAIT = re.compile(
    r"\b(?:appendix|appendices|licen[cs]e|changelog|glossary|bibliography|credits|release notes)\b"
    r"|(?:references?|index)\W*$|附录|许可证$|术语表|参考文献|致谢|索引$",
    re.IGNORECASE,
)
_TO_BEGIN = 3


def reading_order(
    units: Sequence[Unit], *, is_ordered: bool = True
) -> tuple[list[Unit], list[Unit]]:
    """Return what to begin with and what can wait, by the titles, a few of each in their order.

    Where no title tells, the first of chapters is what to begin with.
    """
    wait = [unit for unit in units if _CAN_WAIT.search(unit.name)]
    rest = [unit for unit in units if unit not in wait] or list(units)
    first = [unit for unit in rest if _OPENS_WITH.search(unit.name)] or rest[:is_ordered]
    wait = [unit for unit in wait if unit not in rest]
    return first[:_TO_BEGIN], wait[: 2 * _TO_BEGIN]


def is_telling(title: str) -> bool:
    """Check that a title says what its part is about: not "Chapter 3", "Introduction"."""
    return bool(title) and _GENERIC.fullmatch(title) is None


def calm(title: str) -> str:
    """Return a title in capitals with only its first letters in capitals."""
    if title.isupper() and not has_han(title) and " " in title:
        calm = re.sub(r"(?<=[’'])S\b", "s", title.title())
        return _ROMAN.sub(lambda number: number.group().upper(), calm)
    return title


_ROMAN = re.compile(r"(?<= )(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b", re.IGNORECASE)


def titled(title: str, headings: Sequence[str]) -> str:
    """Return the title of a document, and the heading of the section in it."""
    document = plain_title(title)
    section = plain_title(headings[-1]) if headings else ""
    if not section or section.casefold() in document.casefold():
        return document
    return f"{document} – {section}"


def title_of(topic: Topic, among: Sequence[Unit], taken: Sequence[str], *, chinese: bool) -> str:
    """Return phrases that many units share, else the title that fits the whole topic best."""
    if len(topic.units) >= _PHRASED:
        phrases = ("、" if chinese else ", ").join(key_phrases(topic.units, among))
        if phrases and phrases not in taken:
            return phrases[:1].upper() + phrases[1:]
    fitting = sorted(
        (-_title_score(unit, place, topic, chinese=chinese), place, unit.title)
        for place, unit in enumerate(topic.units)
        if unit.title and unit.title not in taken
    )
    if fitting:
        return fitting[0][2]
    first = topic.units[0]
    document = plain_title(first.chunks[0].title)
    return document if document not in taken else f"{document} ({first.document_id})"


def _title_score(unit: Unit, place: int, topic: Topic, *, chinese: bool) -> float:
    """Return how well a unit's title names what the whole topic is about."""
    words = tokens_of(unit.title)
    value = sum(topic.weights.get(word, 0.0) for word in words) / (len(words) + 1)
    value *= _FARTHER**place * (1.0 if is_telling(unit.title) else _UNTOLD)
    return round(value * (1.0 if has_han(unit.title) == chinese else _OTHER_TITLE), 6)
