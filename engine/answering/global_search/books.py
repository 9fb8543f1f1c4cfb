"""Books of a library: folders of chapters, folders with an index page, long documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ...storage.graph_api import bare_heading
from .topics import (
    MIN_CHAPTERS,
    NUMBERED,
    Unit,
    calm,
    han_number,
    is_index,
    plain_title,
    units_of,
)

_LONG = 30
"""Chunks of a document that is a book beside short ones, at least."""
_IN_BOOK = 0.5
"""Least share of a folder's documents that are numbered as chapters."""
_FRONT = re.compile(r"(?:^|[/._-])(?:index|readme|toc|title|cover|main)(?=[._-]|$)", re.IGNORECASE)
_PARTS_OF_BOOK = 4
"""Entries of a level that rather are parts than chapters, at most."""
_ENTRY = re.compile(r"^( *)(?:[-*]|\d+\.) (?:[IVXLC]+\. )?(.+)$", re.MULTILINE)
_CHAPTER = re.compile(
    r"(?P<word>chapter|appendix|part|第|附录)\s*"
    r"(?P<number>\d{1,3}|[A-Z]|[IVXLC]{1,6}|[一二三四五六七八九十百]{1,4})"
    r"(?:\s*[章回讲部编卷](?:分)?)?(?:[.:：,]\s*|\s+)(?P<name>\S.*)",
    re.IGNORECASE,
)
_IN_PART = re.compile(r"(?P<number>\d{1,3})\.\s+(?P<name>\S.*)")
"""A chapter below the title of a part, where it has no word before its number."""
_PART = re.compile(r"part\b|第.{1,4}[部编卷]", re.IGNORECASE)
_LETTERED = re.compile(r"^[A-Z]\.[\d.]+\s+")
"""Number of a section of an appendix."""
_FRONT_TITLE = re.compile(
    r"preface|foreword|about (?:this|the) (?:book|manual|guide|handbook|document\w*)"
    r"|what(?:['’]s| is) in this (?:book|manual|guide)|前言|序言?|关于本[书手指].*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Book:
    """Documents of one folder as a book: front matter, and chapters in their order.

    `parts` are the titles of its parts by the number of their first chapter.
    """

    title: str
    front: tuple[Unit, ...]
    chapters: tuple[Unit, ...]
    documents: int
    parts: Mapping[int, str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of chunks that were read of it."""
        units = (*self.front, *self.chapters)
        return len({chunk.id for unit in units for chunk in unit.chunks})


def books_in(units: Sequence[Unit]) -> tuple[list[Book], list[Unit]]:
    """Return the books of a library, longest first, and its other documents.

    Index pages are looked at where few documents are numbered.
    """
    books, others = books_of(units)
    if 2 * sum(book.documents for book in books) <= len(units):
        indexed = indexed_book(units)
        books, others = ([indexed], []) if indexed else with_indexed(books, others)
    return with_long(books, others)


def books_of(units: Sequence[Unit]) -> tuple[list[Book], list[Unit]]:
    """Return the books that folders of documents with numbered titles are, and all other units."""
    folders: defaultdict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        folders[unit.document_id.rpartition("/")[0]].append(unit)
    books: list[Book] = []
    others: list[Unit] = []
    for folder in sorted(folders):
        book = _book(folder, folders[folder])
        if book is None:
            others += folders[folder]
        else:
            books.append(book)
    return sorted(books, key=lambda book: (-book.documents, book.title)), others


def with_indexed(books: Sequence[Book], others: Sequence[Unit]) -> tuple[list[Book], list[Unit]]:
    """Return the books with those of further folders by their index pages, and all other units.

    A folder is the outermost one that has such a page.
    """
    outer: list[str] = []
    for unit in sorted(others, key=lambda one: (one.document_id.count("/"), one.document_id)):
        folder, _, file = unit.document_id.rpartition("/")
        if is_index(file.casefold()) and not any(f"{folder}/".startswith(at) for at in outer):
            outer.append(f"{folder}/")
    found, left = list(books), list(others)
    for at in outer:
        inside = [unit for unit in left if unit.document_id.startswith(at)]
        if (book := indexed_book(inside)) is not None:
            found.append(book)
            left = [unit for unit in left if not unit.document_id.startswith(at)]
    return sorted(found, key=lambda book: (-book.documents, book.title)), left


def indexed_book(units: Sequence[Unit]) -> Book | None:
    """Return the documents of a folder as the book of its index page; None where it has none.

    Its chapters are those that the page numbers as chapters, else those that it lists, on the
    outermost level with more than a few, else the documents that are numbered as chapters.
    """
    ranked = sorted(
        (unit.document_id.count("/"), not file.startswith("index"), unit.document_id, at)
        for at, unit in enumerate(units)
        if is_index(file := unit.document_id.rpartition("/")[2].casefold())
    )
    pages = [units[at] for *_, at in ranked]
    if not pages:
        return None
    index = pages[0]
    folder = index.document_id.rpartition("/")[0]
    if not all(unit.document_id.startswith(f"{folder}/" if folder else "") for unit in units):
        return None
    titled = {bare_heading(unit.chunks[0].title): unit for unit in units if unit != index}
    numbered = ((page, *_numbered_entries(page, titled)) for page in pages)
    listed = ((page, _listed_units(page, titled), dict[int, str]()) for page in pages)
    found = next((one for one in (*numbered, *listed) if len(one[1]) >= MIN_CHAPTERS), None)
    page, chapters, parts = found or (index, _numbered_units(units), {})
    if len(chapters) < MIN_CHAPTERS:
        return None
    told = [unit for unit in units if _FRONT_TITLE.fullmatch(plain_title(unit.chunks[0].title))]
    front = dict.fromkeys((index, *told, page))
    return Book(
        plain_title(index.chunks[0].title), tuple(front), tuple(chapters), len(units), parts
    )


def _numbered_entries(page: Unit, titled: Mapping[str, Unit]) -> tuple[list[Unit], dict[int, str]]:
    """Return the chapters that a page names with their numbers, and its parts by the first of each.

    A chapter that no document is called by is a place on the page.
    """
    chapters: dict[str, Unit] = {}
    parts: dict[int, str] = {}
    for chunk in page.chunks:
        for line in chunk.text.splitlines():
            entry = line.strip(" >*#-")
            worded, bare = _CHAPTER.fullmatch(entry), _IN_PART.fullmatch(entry)
            if worded and _PART.match(entry):
                if (name := calm(entry)) not in parts.values():
                    parts[len(chapters)] = name
                continue
            is_next = bare is not None and parts and int(bare["number"]) == len(chapters) + 1
            match = worded or (bare if is_next else None)
            if match is not None:
                number = f"{match['word'] if worded else ''} {match['number']}".casefold()
                place = Unit(page.document_id, (entry,), (chunk,), called=calm(match["name"]))
                chapters.setdefault(number, titled.get(match["name"], place))
    return list(chapters.values()), parts


def _listed_units(page: Unit, titled: Mapping[str, Unit]) -> list[Unit]:
    """Return the documents that a page lists, on the outermost level with more than a few."""
    levels: defaultdict[str, list[Unit]] = defaultdict(list)
    for chunk in page.chunks:
        for indent, entry in _ENTRY.findall(chunk.text):
            unit = titled.get(bare_heading(entry.strip()), page)
            deeper = (some for level, some in levels.items() if len(level) >= len(indent))
            is_new = unit not in chain.from_iterable(deeper)  # a chunk begins with the last entry
            if unit != page and is_new:
                levels[indent].append(unit)
    listed = [some for _, some in sorted(levels.items()) if len(some) >= MIN_CHAPTERS]
    return next((some for some in listed if len(some) > _PARTS_OF_BOOK), (listed or [[]])[0])


def _numbered_units(units: Sequence[Unit]) -> list[Unit]:
    """Return the documents that are numbered as chapters, in their order."""
    found = ((unit, NUMBERED.match(unit.chunks[0].title)) for unit in units)
    numbered = [(int(match["number"]), unit.document_id, unit) for unit, match in found
                if match and match["word"] and match["number"].isdigit()]  # fmt: skip
    return [unit for _, _, unit in sorted(numbered, key=lambda one: one[:2])]


def _book(folder: str, units: Sequence[Unit]) -> Book | None:
    """Return a folder's documents as a book; None where their titles are not its chapters'."""
    found = [(unit, _numbering(unit)) for unit in units]
    worded = any(match and match["word"] for _, match in found)
    held: defaultdict[tuple[bool, int, str], list[tuple[tuple[int, ...], Unit]]] = defaultdict(list)
    front: list[Unit] = []
    for unit, match in found:
        if match is None or (worded and not match["word"] and not match["deeper"]):
            front.append(unit)
            continue
        number = match["number"]
        value = int(number) if number.isdigit() else han_number(number)
        key = (value == 0, value, number)
        held[key].append((tuple(map(int, match["deeper"].split(".")[1:])), unit))
    if 2 * sum(any(not deeper for deeper, _ in some) for some in held.values()) < len(held):
        for key, some in held.items():  # numbered sections of a preface, not the chapters' pages
            if below := [one for one in some if one[0]]:
                front += [unit for deeper, unit in some if not deeper]
                held[key] = below
    numbered = sum(map(len, held.values()))
    if len(held) < MIN_CHAPTERS or numbered < _IN_BOOK * len(units):
        return None
    chapters: list[Unit] = []
    for key in sorted(held):
        ordered = sorted(held[key], key=lambda one: (one[0], one[1].document_id))
        alike = [unit for deeper, unit in ordered if not deeper]
        if len(alike) > 1:  # of several books: whose the sections are is unknown
            chapters += alike
            continue
        first = ordered[0][1]
        chunks = tuple(chunk for _, unit in ordered for chunk in unit.chunks)
        chapter = Unit(first.document_id, first.headings, chunks)
        if not alike:
            titles = tuple(
                _LETTERED.sub("", unit.name) for deeper, unit in ordered if len(deeper) == 1
            )
            chapter = replace(chapter, called=key[2], sections=titles)
        chapters.append(chapter)
    front.sort(key=lambda unit: (not _FRONT.search(unit.document_id), unit.document_id))
    named = bool(front) and _FRONT.search(front[0].document_id) and front[0].title
    title = front[0].title if named else folder.rpartition("/")[2]
    return Book(title, tuple(front), tuple(chapters), len(units))


def _numbering(unit: Unit) -> re.Match[str] | None:
    """Return the number of a document, from its title or from a first heading that repeats it."""
    first = unit.chunks[0]
    for heading in (first.title, *first.headings[:1]):
        if bare_heading(heading) == bare_heading(first.title) and (
            found := NUMBERED.match(heading)
        ):
            return found
    return None


def with_long(books: Sequence[Book], others: Sequence[Unit]) -> tuple[list[Book], list[Unit]]:
    """Return the books with documents that are as long as the shortest of them, and other units.

    Without books it is a document of most of the text. The chapters of such a document are its
    sections.
    """
    half = sum(len(unit.chunks) for unit in others) / 2
    least = max(_LONG, min((book.length for book in books), default=half))
    found, left = list(books), list[Unit]()
    for unit in others:
        chapters = units_of(unit.chunks) if len(unit.chunks) >= least else []
        title = plain_title(unit.chunks[0].title)
        own = tuple(one for one in chapters if one.title not in ("", title))
        if len(own) < MIN_CHAPTERS:
            left.append(unit)
            continue
        front = tuple(one for one in chapters if one not in own)
        found.append(Book(title, front, own, 1))
    return sorted(found, key=lambda book: (-book.length, book.title)), left
