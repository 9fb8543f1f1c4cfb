"""References to parts of documents: *chapter 7 of the guide*, *section "Trust"*, 第四回.

A question may name a part by its number, by its title in quotes, or by both. The part is looked up
among the titles and headings of the documents that may be seen; what else the question says, as the
name of the book, decides between parts of equal numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from graph.text.cjk import has_han

from ...storage.graph_api import Chunk, chunk_table, content_words
from ...storage.tokenization import tokens
from .context import GlobalContext
from .topics import MAX_CHUNKS, han_number, is_index, parts_of, plain_title, sample_chunks

_KINDS = {
    "chapter": "chapter", "stave": "chapter", "canto": "chapter", "part": "part", "book": "part",
    "volume": "part", "act": "act", "scene": "scene", "section": "section",
    "appendix": "appendix", "annex": "appendix",
    "章": "chapter", "回": "chapter", "讲": "chapter", "节": "section", "卷": "part", "部": "part",
    "编": "part", "篇": "part", "幕": "act", "附录": "appendix",
}  # fmt: skip
_EN = "|".join(kind for kind in _KINDS if kind.isascii())
_ZH = "".join(kind for kind in _KINDS if len(kind) == 1)
_WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_DEEPER = r"(?:\.\d{1,3}){0,3}"
_ROMAN_NUMBER = r"(?=[IVXL])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_NUMBER = rf"(?:\d{{1,3}}{_DEEPER}|(?-i:[A-Z]){_DEEPER}|{_ROMAN_NUMBER}|{'|'.join(_WORDS)})"
_HAN_NUMBER = r"[\d一二三四五六七八九十百零〇]{1,5}"
_REFERENCE = re.compile(
    rf"\b(?P<kind>{_EN})\s+(?P<number>{_NUMBER})(?![\w'’-])"
    rf"|\b(?P<ordinal>{'|'.join(_ORDINALS)})\s+(?P<counted>{_EN})\b"
    rf"|第\s*(?P<han>{_HAN_NUMBER})\s*(?P<han_kind>[{_ZH}])"
    r"|(?P<han_appendix>附录)\s*(?P<letter>[A-Z])"
    rf"|(?P<dotted>\d{{1,3}}(?:\.\d{{1,3}}){{1,3}})\s*(?P<dotted_kind>[{_ZH}])"
    r"|\b(?:sum up|summari[sz]e|recap|condense)\s+(?P<summed>\d{1,3}(?:\.\d{1,3}){1,3})(?![\w.])",
    re.IGNORECASE,
)
_HEADED = re.compile(
    rf"(?:(?P<kind>{_EN})\s+(?P<number>{_NUMBER})|第\s*(?P<han>{_HAN_NUMBER})\s*(?P<han_kind>[{_ZH}])"
    r"|(?P<han_appendix>附录)\s*(?P<letter>[A-Z])"
    rf"|(?P<bare>\d{{1,3}}{_DEEPER}|[A-Z](?:\.\d{{1,3}}){{1,3}}|(?-i:{_ROMAN_NUMBER})(?=\.)))(?=[.:：,)\s]|$)",
    re.IGNORECASE,
)
_COUNTED = r"(?!\s*(?:sentences?|lines?|words?|paragraphs?|points?|bullets?|things?|pages?)\b)"
_UNIT = rf"{_NUMBER}(?![\w'’]|\.\d){_COUNTED}"
_SEVERAL = re.compile(
    rf"\b(?P<kind>{_EN}|appendice)(?P<plural>s)?\s+(?P<numbers>{_UNIT}"
    rf"(?:(?:,?\s+(?:and|to|through|&)\s+|\s*[,–-]\s*)(?:(?:{_EN})\s+)?{_UNIT})+)"
    rf"|(?P<han>第\s*{_HAN_NUMBER}\s*[{_ZH}]?(?:\s*[、，和与及到至–-]\s*第?\s*{_HAN_NUMBER}\s*[{_ZH}]?)+)",
    re.IGNORECASE,
)
"""Several parts of a kind: *chapters 2 to 4*, *sections 4.1 and 4.3*, 第三到第五回."""
_ONE = re.compile(
    rf"(?P<between>[^\W\d_]+(?=\s)|[,&–-])?\s*(?:\b(?P<kind>{_EN})\s+)?(?P<number>{_UNIT})",
    re.IGNORECASE,
)
_ONE_HAN = re.compile(
    rf"(?P<between>[、，和与及到至–-])?[\s第]*(?P<number>{_HAN_NUMBER})\s*(?P<unit>[{_ZH}])?"
)
_AFTER = re.compile(
    r"\s*(?:[,.;:?!]|$|(?:of|in|from)\b(?! (?:its|them|it)\b)"
    r"|(?:please|briefly|for|say|cover|tell|about)\b)",
    re.IGNORECASE,
)
"""Text behind *chapter 2 and 3* where the second number counts nothing else."""
_TO = frozenset(("to", "through", "-", "–", "到", "至"))
_MOST_PARTS = 8
"""Parts that a question may name together."""
_QUOTED = re.compile(r"\"([^\"]{3,120})\"|“([^”]{2,120})”|《([^《》]{2,60})》|「([^」]{2,60})」")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}

_LIKE, _INSIDE = 0.75, 0.8
"""Least likeness of a quoted title to a heading, and that of one that is a part of it."""
_FEW_WORDS = 3
"""Words of a quoted title that may be a part of a heading."""
_MANY_CHUNKS = 20_000
"""Chunks of a library above which only documents found for the question are looked through."""
_SEARCHED = 40
_ITS_BOOK = re.compile(
    r"^\W*(?:,\s*(?!(?:who|what|which|when|where|why|how|is|are|do|does|did)\b)"
    r"[\w'’& -]{1,60}?,?\s+)?"
    r"\b(?:of|in|from)\s+(?:the\s+|this\s+|that\s+)?(?P<book>[\w'’.&-]+(?:\s+[\w'’.&-]+){0,7})\s*$",
    re.IGNORECASE,
)
"""The title and the book behind a reference: *Documentation, of the New Maintainers' Guide*."""
_BEHIND_BOOK = re.compile(
    r"\s(?:in|for|to|with|by|as|please|say|says|tell|about|cover\w*)\b.*", re.I
)
_PARTED = re.compile(
    rf"\b(?:{_EN}|document|report|article|paper|letter|story|page)\b|[章节回篇]|附录", re.IGNORECASE
)
"""Words beside which a title stands in plain quotes."""
_TELLS = re.compile(
    r"\b(?:about|says?|happen\w*|goes on|cover\w*|deals?|contain\w*|discuss\w*|sum|summar\w+"
    r"|outline|overview|recap|gist|tells?|main|contents?|advise\w*|describe\w*|explain\w*)\b"
    r"|[讲说写谈]|介绍|概括|概述|总结|归纳|大意|内容|情节|发生",
    re.IGNORECASE,
)
"""Words that ask what a part tells."""
_AND_MORE = re.compile(r"\s*(?:and|or|to|&|,|-|–|[和与到至、])\s*(?:\d|[IVX]+\b)")
_ANY_BOOK = frozenset(
    tokens(
        "manual handbook guide book novel story document text file library report contract thesis"
        " paper article agreement policy tutorial reference documentation"
    )
)
"""Words for what a part is of that name nothing."""
_ASKS = re.compile(
    r"\b(?:what|which|happen\w*|occur\w*|goes on|is|are|does|do|did|about|on|in|of|the|this|that"
    r"|say|says|tell|tells|me|us|cover\w*|deal\w*|with|contain\w*|discuss\w*|describe\w*|explain\w*|advise\w*"
    r"|talk\w*|main|points?|contents?|summar\w+|sum|up|outline|overview|recap|gist|give|write|short"
    r"|brief|briefly|an?|please|can|could|you|i|it|for|and|key|events?|plot|story|called|titled"
    r"|named|entitled|quick|few|words|sentences?|lines?|to|all|some|whole|paragraphs?"
    r"|will do|enough|fine|just)\b"
    r"|[讲说写谈][^，。？?]{1,12}的[，,]|主要|讲述?|说|写|谈|介绍|提到|内容|情节|故事|事情?|什么|哪些|怎么|如何|概括|概述|总结|归纳|大意|梗概|一下"
    r"|请|帮我|给我|用|[几一两三]句?话|句|简单|简要|大概|大致|了|的|是|有|都|些|到底|究竟|具体|里面?|中|这|那|本|书|发生|过|吗|呢|回|章|节"
    r"|[\W_]",
    re.IGNORECASE,
)
"""Words that ask what a part tells, and name nothing that it tells of."""

Number = tuple[str, ...]
_Headed = tuple[str, str, Sequence[str]]


@dataclass(frozen=True)
class Reference:
    """Number and kind of a part that a question names, and titles in quotes.

    `asks` are the question's other words without the name of the book, `book` the words of that
    name and `words` all words that may be in a title.
    """

    kind: str
    number: Number
    titles: tuple[str, ...]
    asks: str
    book: frozenset[str]
    words: frozenset[str]

    @property
    def is_all(self) -> bool:
        """Check for a question that only asks what the part tells."""
        return _TELLS.search(self.asks) is not None and not _ASKS.sub("", self.asks)


@dataclass(frozen=True)
class _Place:
    """Document or section that may be meant; the best has the greatest rank."""

    document: str
    headings: tuple[str, ...]
    likeness: float
    numbered: int
    shared: float

    @property
    def rank(self) -> tuple[float, int, float, int]:
        """By its title, its number, the words that name it and what is above, and the outermost."""
        return self.likeness, self.numbered, self.shared, -len(self.headings)


def read_reference(question: str) -> Reference | None:
    """Return the part that a question names by a number or a title in quotes.

    None where it names none or several.
    """
    quoted = [next(filter(None, one.groups())) for one in _QUOTED.finditer(question)]
    bare = _QUOTED.sub(" ", question)
    found, *others = [*_REFERENCE.finditer(bare), None]
    if found is None:
        is_part = "《" in question or _PARTED.search(bare) is not None
        titles = tuple(quoted) if is_part else ()
        words = frozenset(tokens(" ".join(titles)))
        return Reference("", (), titles, bare, frozenset(), words) if titles else None
    before, behind = bare[: found.start()], bare[found.end() :]
    kind, number = _kind_and_number(found)
    if len(others) > 1 or _AND_MORE.match(behind) or not number:
        return None
    book = _ITS_BOOK.search(behind.rstrip(" ?.!,;:"))
    named = _BEHIND_BOOK.sub("", book["book"]) if book else ""
    told = "" if has_han(question) else _ASKS.sub(" ", f"{before} {behind}")
    return Reference(
        kind=kind,
        number=number,
        titles=tuple(quoted),
        asks=f"{before} {book['book'][len(named) :] if book else behind}",
        book=frozenset(tokens(content_words(named))) - _ANY_BOOK,
        words=frozenset(tokens(f"{content_words(told)} {' '.join(quoted)}")) - _ANY_BOOK,
    )


def asks_for_part(question: str) -> bool:
    """Check for a question that names parts by their numbers, and only asks what these tell."""
    references = map(read_reference, for_each_part(question))
    return all(one is not None and bool(one.number) and one.is_all for one in references)


def for_each_part(question: str) -> list[str]:
    """Return a question about several parts as one about each; any other as it is.

    A range is taken as all that lies between; more than `_MOST_PARTS` are no parts to be told.
    """
    found = _SEVERAL.search(question)
    names = _names_of(found) if found else []
    if found is None or not 1 < len(names) <= _MOST_PARTS:
        return [question]
    before, behind = question[: found.start()], question[found.end() :]
    return [f"{before}{name}{behind}" for name in names]


def _names_of(found: re.Match[str]) -> list[str]:
    """Return the names of several parts of one kind; none where they are of different kinds."""
    own = _KINDS.get((found["kind"] or "appendix").casefold(), "appendix")
    pattern = _ONE_HAN if found["han"] else _ONE
    ones = [*pattern.finditer(found["numbers"] or found["han"])]
    if len({_is_letter(one["number"]) for one in ones}) > 1:  # *chapter 2 and I*
        return []
    unit = ""
    if found["han"]:
        units = {one["unit"] for one in ones if one["unit"]}
        unit = ones[-1]["unit"] or ""
        is_one_kind = units == {unit}
    else:
        others = [one["kind"] for one in ones[1:]]
        is_one_kind = all(_KINDS[one.casefold()] == own for one in others if one)
        between = {one["between"] for one in ones[1:]}
        is_plain = bool(_AFTER.match(found.string, found.end())) and "," not in between
        is_one_kind &= bool(found["plural"]) or all(others) or is_plain
    if not is_one_kind:
        return []
    numbers: list[str] = []
    for one in ones:
        is_to = (one["between"] or "").casefold() in _TO
        number = one["number"]
        numbers += _between(numbers[-1], number) if is_to and numbers else [number]
    named = (f"第{each}{unit}" if unit else f"{own} {each}" for each in numbers)
    return list(dict.fromkeys(named))


def _is_letter(number: str) -> bool:
    """Check for a letter or a Roman number."""
    is_word = number.casefold() in _WORDS
    return number[:1].isascii() and number[:1].isalpha() and not is_word


def _between(first: str, last: str) -> list[str]:
    """Return the numbers behind one up to another, of which the last component counts."""
    (above, _, start), (same, _, stop) = first.rpartition("."), last.rpartition(".")
    ends = [_as_digits(one, is_letter=False) for one in (start, stop)]
    if above == same and all(one.isdecimal() for one in ends) and int(ends[0]) < int(ends[1]):
        numbers = range(int(ends[0]) + 1, min(int(ends[1]), int(ends[0]) + _MOST_PARTS) + 1)
        return [f"{above}.{number}" if above else str(number) for number in numbers]
    if all(len(one) == 1 and one.isascii() and one.isalpha() for one in ends):
        return [chr(code) for code in range(ord(ends[0]) + 1, ord(ends[1]) + 1)]
    return [last]


def referred_part(
    scene: GlobalContext, reference: Reference, by_document: Mapping[str, Sequence[str]]
) -> Sequence[Chunk]:
    """Return the document, chapter or section that a question refers to; none where none is.

    Of parts of equal numbers it is the one with most other words of the question in its titles, in
    the name of its file or on the first page of its folder.
    """
    rows = _headed_places(scene, by_document)
    titles = {document: title for document, title, _ in rows}
    best = _best_place(scene, reference, rows, titles)
    if best is None:  # a chunk may hold several sections
        found = scene.retriever.search(scene.question, top_k=_SEARCHED, within=scene.within)
        chunks = scene.chunks(one.chunk_id for one in found.passages).values()
        parts = [part for chunk in chunks for part in parts_of(chunk)]
        inner = [(part.document_id, part.title, part.headings) for part in parts]
        best = _best_place(scene, reference, inner, titles)
    return _chunks_at(scene, best, reference, titles, by_document) if best else ()


def _best_place(
    scene: GlobalContext,
    reference: Reference,
    rows: Iterable[_Headed],
    titles: Mapping[str, str],
) -> _Place | None:
    """Return the document or section that is best referred to; None where none is."""
    folders = {
        _folder(document): title
        for document, title in titles.items()
        if is_index(document.rpartition("/")[2].casefold())
    }
    weights = {word: scene.weight(word) for word in reference.words | reference.book}
    likeness_of: dict[str, float] = {}
    places: list[_Place] = []
    for document, title, headings in rows:
        above = f"{title} {folders.get(_folder(document), '')} {_bare_path(document)}"
        for depth in range(len(headings) + 1):
            heading = headings[depth - 1] if depth else title
            if heading not in likeness_of:
                likeness_of[heading] = max(
                    (_likeness(one, heading) for one in reference.titles), default=0.0
                )
            likeness, numbered = likeness_of[heading], _numbered(heading, reference)
            if likeness < _LIKE and not numbered:
                continue
            named = frozenset(tokens(f"{above} {' '.join(headings[:depth])}"))
            if likeness or not reference.book or reference.book & named:  # else of another book
                shared = sum(weight for word, weight in weights.items() if word in named)
                found = (likeness, numbered, round(shared, 6))
                places.append(_Place(document, tuple(headings[:depth]), *found))
    return max(places, key=lambda place: place.rank, default=None)


def _chunks_at(
    scene: GlobalContext,
    place: _Place,
    reference: Reference,
    titles: Mapping[str, str],
    by_document: Mapping[str, Sequence[str]],
) -> Sequence[Chunk]:
    """Return the chunks of a place; of a chapter also those of its sections in other files."""
    keys = by_document[place.document][:MAX_CHUNKS]
    whole = [part for chunk in scene.ordered(keys) for part in parts_of(chunk)]
    depth = len(place.headings)
    part = [one for one in whole if one.headings[:depth] == place.headings]
    if len(part) < len(whole) or not place.numbered:
        return part
    inside = [
        document
        for document, title in titles.items()
        if document != place.document
        and _folder(document) == _folder(place.document)
        and _number_of(title)[1][: len(reference.number)] == reference.number
        and len(_number_of(title)[1]) > len(reference.number)
    ]
    keys = sample_chunks({name: by_document[name] for name in (place.document, *inside)})
    return list(scene.chunks(keys).values()) if inside else part


def _headed_places(scene: GlobalContext, by_document: Mapping[str, Sequence[str]]) -> list[_Headed]:
    """Return the id, the title and each path of headings of documents, in order of the ids."""
    columns = chunk_table.c
    place = (columns.document_id, columns.title, columns.headings)
    query, first = select(*place).group_by(*place), func.min(columns.position)
    if sum(map(len, by_document.values())) > _MANY_CHUNKS:
        found = scene.retriever.search(scene.question, top_k=_SEARCHED, within=scene.within)
        near = {one.document_id for one in found.passages}
        query = query.where(columns.document_id.in_(near))
    with scene.library.read() as connection:
        rows = connection.execute(query.order_by(columns.document_id, first)).all()
    return [
        (document, title, json.loads(headings))
        for document, title, headings in rows
        if document in by_document
    ]


def _folder(document: str) -> str:
    return document.rpartition("/")[0]


def _bare_path(document: str) -> str:
    return re.sub(r"[/._-]+", " ", document)


def _likeness(title: str, heading: str) -> float:
    """Return how far a quoted title is a heading, 0 to 1; its number may be left out."""
    heads = (frozenset(tokens(heading)), frozenset(tokens(plain_title(heading))))
    asked = frozenset(tokens(plain_title(title))) or frozenset(tokens(title))
    if not asked:
        return 0.0
    like = max((len(asked & head) / len(asked | head) for head in heads if head), default=0.0)
    is_inside = len(asked) >= _FEW_WORDS and asked <= heads[0]
    return max(like, _INSIDE if is_inside else 0.0)


def _numbered(heading: str, reference: Reference) -> int:
    """Return 2 for a heading with the number and the word of a reference, 1 without any word."""
    kind, number = _number_of(heading) if reference.number else ("", ())
    if not number or number != reference.number or kind not in ("", reference.kind):
        return 0
    return 2 if kind else 1


def _number_of(heading: str) -> tuple[str, Number]:
    """Return the kind and the number that a heading begins with."""
    found = _HEADED.match(heading.strip())
    return _kind_and_number(found) if found else ("", ())


def _kind_and_number(found: re.Match[str]) -> tuple[str, Number]:
    """Return the kind of a part and its number, outermost first."""
    group = found.groupdict()
    words = ("kind", "counted", "han_kind", "han_appendix", "dotted_kind")
    kind = _KINDS.get(next(filter(None, map(group.get, words)), "").casefold(), "")
    if ordinal := group.get("ordinal"):
        counted = ordinal.casefold()
        return kind, (str(_ORDINALS.index(counted) + 1),) if counted in _ORDINALS else ()
    names = ("number", "han", "letter", "dotted", "summed", "bare")
    first, *deeper = next(filter(None, map(group.get, names)), "").split(".")
    return kind, (_as_digits(first, is_letter=kind == "appendix" or bool(deeper)), *deeper)


def _as_digits(number: str, *, is_letter: bool) -> str:
    """Return a number in digits; a letter that is none in capitals."""
    if number.isdecimal():
        return str(int(number))
    if number.casefold() in _WORDS:
        return str(_WORDS.index(number.casefold()) + 1)
    if value := han_number(number):
        return str(value)
    upper = number.upper()
    is_letter |= len(upper) == 1 and upper not in "IVX"
    if is_letter or not set(upper) <= _ROMAN.keys():
        return upper
    values = [_ROMAN[each] for each in upper]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return str(sum(-value if value < after else value for value, after in pairs))
