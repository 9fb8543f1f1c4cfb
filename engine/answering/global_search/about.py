"""Documents and sections that are about a subject, by their titles and headings."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from graph.text.cjk import is_chinese

from ...storage.graph_api import Chunk, content_words
from ...storage.tokenization import tokens_of
from ...types import Passage
from ..named_documents import (
    asked_of_document,
    document_asked,
    document_named,
    is_document,
    is_title_of,
    is_whole_named,
)
from .asked import Asked, Found, asks_to_sum_up, without_closing
from .books import books_of
from .context import GlobalContext
from .references import for_each_part, read_reference, referred_part
from .sentences import Said, defines, is_alike, opening_of, openings_of, sentences_of
from .topics import (
    MAX_CHUNKS,
    MAX_DEPTH,
    MIN_CHAPTERS,
    MIN_SECTIONS,
    Unit,
    is_index,
    plain_title,
    sample_chunks,
    spread_evenly,
    titled,
    units_of,
)
from .windows import widened

_FEW_SECTIONS, FEW_BELOW = 2, 3
"""Sections of a part that are told, at least, and those of a section."""
_OPENING = 2
"""Sentences of a section in which it says what its heading is."""
_TITLED, _MOSTLY = 0.9, 1 / 3
"""Least share of the subject's weight that a title of it has, and of its words that are of it."""
_OF_WHOLE = 0.9
"""Least share of the words of a title that are of the name of what may be a whole library."""
_NAMED = 0.5
"""Least share of it that the title of a part has that is about the subject."""
_KNOWN, _LEAST_WEIGHT, _RELEVANT, _HELD = 0.25, 0.1, 0.5, 0.5
"""Least share of the subject that passages have, least weight of a word, least relevance of a
passage that has none of them, and share of the best passage's words that another has."""
_SEARCHED, _DESCRIBED = 40, (0.4, 0.5)
"""Passages searched for a subject or a description, and the least share of their scores in the
document or chapter, and in the section, that it is of."""
_FOREMOST, _FAR = 0.3, 1.5
"""The same of a document that has so many times as much as any other."""
_CALLED, _FOREMOST_CALLED = 0.4, 0.9
"""Least share of the words to be summed up that the title of its document has, and that share with
the document's share of what is found."""
_OF_KIND = 1 / 3
"""Greatest share of the documents that are called what a part is called, *diary*, *letters*."""
_CHAPTER = 0.25
"""The same of one called a chapter, which has more of it than any other."""
_WORDED, _LIKE, _TOLD_IN = 0.6, 0.5, 5
"""Least share of a description's words, by weight, in what it is of, or relevance of a passage; so
many words paraphrase."""
_BEGUN, _BEGINNING, _ABOUT_PART = 24, 700, "the part about {}"
"""Parts whose beginnings are read to find the one described, characters of each, and the question.
"""
_BELOW_READ, _BELOW, _OF_SHARE = 2.0, 1.0, 8.0
"""Logits below 0 of the beginning of what is described, at most, those that lose what holds it, and
those of all that is found for the description."""
_PlaceOf = tuple[str, tuple[str, ...]]
_PARTS, _READ = 4, 60
"""Maximum number of parts, and of chunks that are read of each."""


def is_titled(title: str, found: Found, *, least: float = _TITLED, mostly: float = _MOSTLY) -> bool:
    """Check whether a title or heading names the subject, or a share of it, and little else."""
    words = {word for word in tokens_of(plain_title(title)) if len(word) > 1 and word.isalpha()}
    if not found.words or found.weight(words) < least:
        return False
    own = sum(1 for word in words if found.akin({word}))
    return own >= mostly * len(words)


def parts_referred(scene: GlobalContext) -> list[tuple[GlobalContext, Sequence[Chunk]]]:
    """Return the chunks of each part that a question names and asks to sum up, in its order.

    With them stands a question about that part alone. None unless all parts are there.
    """
    found: list[tuple[GlobalContext, Sequence[Chunk]]] = []
    for question in for_each_part(scene.question):
        one = scene if question == scene.question else replace(scene, question=question)
        reference = read_reference(without_closing(question))
        if reference is None or not (reference.is_all or asks_to_sum_up(question)):
            return []
        part = referred_part(one, reference, scene.by_document)
        if not part:
            return []
        found.append((one, part))
    return found


_READER = (
    r"(?:i|we|you|one|(?:an? )?(?:(?:complete|total|absolute|new) )?"
    r"(?:beginners?|newcomers?|novices?|readers?))"
)
_FIRST_ZH = (
    r"(?:(?:哪|什么)(?:[几些一])?(?:[章节部篇本份个]分?)?(?:书|文件|文档|文章|章节|资料)?|哪[里儿])"
)
_END = r"(?=\s*(?:[,，.。?？!！;；]|and (?:which|what)\b|if (?:i am|i['’]m|you are) new\b|$))"
_WHERE_TO_BEGIN = re.compile(
    rf"\bwhere (?:should|do|can|would|must|shall) {_READER} (?:best |first )?(?:begin|start)"
    rf"(?: (?:reading|first))?{_END}"
    rf"|\bwhat (?:should|must|do) {_READER} read first(?: in (?:this|the) \w+)?{_END}"
    r"|\bwhich (?:chapter|part|section|document|book|page|file|text)s? (?:should|must|do) "
    rf"{_READER} (?:read first|(?:start|begin) with){_END}"
    r"|\bwhat(?:['’]s| is) the (?:best |right )?reading order(?: of (?:these|the) \w+)?\W*$"
    r"|(?:^\W*|(?:新手|初学者?|我们?|该|资料|文档|书|手册)[^，。？?]{0,6})"
    rf"(?:先[看读]{_FIRST_ZH}|从(?:哪[里儿]?|什么地方|何处)[^，。？?]{{0,4}}"
    rf"(?:[看读]起|开始[看读]|入手)){_END}"
    r"|阅读顺序(?:是什么|如何|怎样)?\W*$",
    re.IGNORECASE,
)


def asks_where_to_begin(question: str) -> bool:
    """Check for a question that asks what of the documents should be read first."""
    return _WHERE_TO_BEGIN.search(question) is not None


def part_asked(
    scene: GlobalContext, referred: Sequence[Chunk] = ()
) -> tuple[Asked, Sequence[Chunk]]:
    """Return what is asked, and the chunks of the document or section that it is asked of.

    None of them where the whole or a subject is asked about, or some documents on a subject.
    `referred`: those of a part that is named by number or title.
    """
    by_document = scene.by_document
    if asks_where_to_begin(scene.question):
        return Asked(scene.question, None, ()), ()
    asked = Asked.read(scene.question, scene.weight)
    if referred:
        return replace(asked, subject=(), aspect=None, kinds=()), referred
    names_part = bool(asked.part) and asked.names_part
    if not asked.subject and not names_part:
        return asked, ()
    part = named_part(scene, asked, by_document)
    beside = Asked.read(asked_of_document(scene.question), scene.weight)
    if beside.subject:  # of all documents where none is called so
        return replace(beside, documents=frozenset(one.document_id for one in part)), ()
    if not part and asked.part and is_whole_named(asked.part, scene.retriever.titles(scene.within)):
        return replace(asked, subject=()), ()
    part = part or described_part(scene, asked, by_document)
    part = part or _summed_up(scene, asked, by_document)
    if part and names_part:  # 软件包管理这一章 asks for no programs
        asked = replace(asked, aspect=None, kinds=())
    is_subject = asked.names_subject and (asked.is_on_something or not scene.names_nothing)
    if scene.about_whole and not part and not is_subject:
        asked = replace(asked, subject=())
    return asked, part


def find_subject(asked: Asked, scene: GlobalContext) -> Found:
    """Return the chunks that tell of the subject of a question, of the documents that are asked."""
    terms = asked.subject
    weights = {term: max(scene.weight(term), _LEAST_WEIGHT) for term in terms}
    found = scene.retriever.search(
        content_words(asked.question) or asked.question, top_k=_SEARCHED, within=scene.within
    ).passages
    chunks = scene.chunks(passage.chunk_id for passage in found)
    held = {key: tokens_of(one.title, *one.headings, one.text) for key, one in chunks.items()}
    known = frozenset[str]().union(*held.values())
    words = {term: weights[term] for term in Found(chunks, {}, weights).akin(known)}
    if sum(words.values()) < _KNOWN * sum(_possible_words(weights, words).values()):
        words = {}
    plain = Found(chunks, {}, words)
    shares = {key: plain.weight(some) for key, some in held.items()}
    least = 0.0 if asked.aspect else _HELD * max(shares.values(), default=0.0)
    top = max((passage.score for passage in found), default=0.0) or 1.0
    scores = {
        one.chunk_id: one.score / top + shares[one.chunk_id]
        for one in found
        if one.chunk_id in chunks
    }
    telling = {
        one.chunk_id: chunks[one.chunk_id]
        for one in found
        if one.chunk_id in chunks
        and (
            is_chinese(chunks[one.chunk_id].text) != asked.is_chinese
            or (shares[one.chunk_id] >= least if words else one.relevance >= _RELEVANT)
        )
    }
    told = Found(telling, scores, words, near=chunks)
    return told.within(asked.documents) if asked.documents else told


def _possible_words(weights: Mapping[str, float], known: Collection[str]) -> dict[str, float]:
    """Return the weights of terms that may be words: not a Chinese pair across two of them.

    A pair that no document has and that shares a character with a known one stands across.
    """
    han = [one for one in known if is_chinese(one)]
    ends = {one[0] for one in han}, {one[-1] for one in han}
    return {
        term: weight
        for term, weight in weights.items()
        if term in known
        or not is_chinese(term)
        or (term[-1] not in ends[0] and term[0] not in ends[1])
    }


def named_part(
    scene: GlobalContext, asked: Asked, by_document: Mapping[str, Sequence[str]]
) -> Sequence[Chunk]:
    """Return the one document, chapter or book whose title a question names; none where none is.

    A book is a folder of documents, called as its index page is.
    """
    question = without_closing(scene.question)
    name = document_named(question)
    if not (scene.about_whole or is_document(name)):
        name = document_asked(question)
    if not name:
        return ()
    heads = list(scene.chunks(keys[0] for keys in by_document.values()).values())
    if len(by_document) == 1 and is_title_of(name, heads[0].title):
        return list(scene.chunks(sample_chunks(by_document)).values())
    units = units_of(heads) if len(by_document) > 1 else []
    if book := _book_asked(name, units):
        keys = sample_chunks({each: by_document[each] for each in book})
        return list(scene.chunks(keys).values())
    books, others = books_of(units)
    parts = [*others, *(one for book in books for one in (*book.front, *book.chapters))]
    wanted = Found({}, {}, {word: scene.weight(word) for word in asked.subject})
    titles = [one.title for one in heads]
    mostly = _OF_WHOLE if is_whole_named(name, titles) else _MOSTLY
    named = []
    for part in parts:
        file = part.document_id.rpartition("/")[2].rpartition(".")[0]
        title = part.chunks[0].title
        is_it = is_document(name) and any(
            is_titled(each, wanted, mostly=mostly) for each in (title, file)
        )
        is_file = tokens_of(name) == tokens_of(file.replace("-", " ").replace("_", " "))
        if is_it or is_file or is_title_of(name, title):
            named.append((len(tokens_of(title)), -len(part.chunks), part.document_id, part))
    if not named:
        return ()
    part = min(named, key=lambda one: one[:3])[3]
    documents = {chunk.document_id for chunk in part.chunks}
    keys = sample_chunks({name: by_document[name] for name in documents})
    return list(scene.chunks(keys).values())


def described_part(
    scene: GlobalContext, asked: Asked, by_document: Mapping[str, Sequence[str]]
) -> Sequence[Chunk]:
    """Return the document or section that a question describes; none where none stands out.

    It is the deepest one in which most of what is found for the description stands, of those called
    so if any is, where that has its words or is like it, and is not all that may be seen.
    """
    if not asked.describes_part:
        return ()
    searched = scene.retriever.search(asked.part, top_k=_SEARCHED, within=scene.within).passages
    found = _of_kind(asked.kinds_of_document, searched, of=len(by_document)) or searched
    total = sum(one.score for one in found) or 1.0
    shares: defaultdict[_PlaceOf, float] = defaultdict(float)
    for one in found:
        for depth in range(len(one.headings) + 1):
            shares[one.document_id, one.headings[:depth]] += one.score / total
    described = tokens_of(asked.part)
    if part := _part_read(scene, asked, by_document, shares):
        return part
    likely = [place for place, share in shares.items() if share >= _DESCRIBED[bool(place[1][1:])]]
    likely = likely or _foremost(shares)
    called = [at for at in likely if at[1] and tokens_of(plain_title(at[1][-1])) == described]
    document, above = max(called or likely, key=lambda place: len(place[1]), default=("", ()))
    is_likely = bool(document)
    if asked.names_chapter and not is_likely:
        document = max(shares, key=lambda place: shares[place], default=("", ()))[0]
    whole = scene.ordered(by_document.get(document, ()))
    part = [one for one in whole if one.headings[: len(above)] == above]
    if asked.names_chapter and not called and 2 * len(part) > len(whole):
        above = _chapter_of(whole, {at: s for (name, at), s in shares.items() if name == document})
        part = [one for one in whole if above and one.headings[: len(above)] == above] or part
    if len(by_document) == 1 and len(part) == len(whole):
        return ()
    wanted = Found({}, {}, {word: scene.weight(word) for word in described})
    held = tokens_of(*(text for one in part for text in (one.title, *one.headings, one.text)))
    inside = {one.id for one in part}
    like = max((one.relevance for one in found if one.chunk_id in inside), default=0.0)
    is_worded = wanted.weight(held) >= _WORDED or like >= _LIKE
    return part if is_worded or (is_likely and len(described) >= _TOLD_IN) else ()


def _summed_up(
    scene: GlobalContext, asked: Asked, by_document: Mapping[str, Sequence[str]]
) -> Sequence[Chunk]:
    """Return the document that tells most of what is to be summed up, if it is called so.

    Its title has most of the subject's words. None where the documents are asked what they say.
    """
    if asked.aspect or asked.asks_documents or not asks_to_sum_up(asked.question):
        return ()
    found = scene.retriever.search(asked.topic, top_k=_SEARCHED, within=scene.within).passages
    total = sum(one.score for one in found) or 1.0
    shares: defaultdict[_PlaceOf, float] = defaultdict(float)
    for one in found:
        shares[one.document_id, ()] += one.score / total
    places = _foremost(shares)
    if not places or len(by_document) < 2:
        return ()
    whole = scene.ordered(by_document.get(places[0][0], ())[:MAX_CHUNKS])
    wanted = Found({}, {}, {word: scene.weight(word) for word in asked.subject})
    title, least = whole[0].title, _FOREMOST_CALLED - shares[places[0]]
    return whole if is_titled(title, wanted, least=max(_CALLED, least)) else ()


def _of_kind(kinds: Set[str], found: Sequence[Passage], *, of: int) -> Sequence[Passage]:
    """Return the passages of documents called what the part is called; none where many are."""
    called = {
        one.document_id
        for one in found
        if not kinds.isdisjoint(tokens_of(one.title, re.sub(r"[-_./]", " ", one.document_id)))
    }
    is_few = len(called) <= max(1, _OF_KIND * of)
    return [one for one in found if one.document_id in called] if is_few else ()


def _foremost(shares: Mapping[_PlaceOf, float]) -> list[_PlaceOf]:
    """Return the document with far more of what is found than any other; none without."""
    whole = sorted(((share, at) for at, share in shares.items() if not at[1]), reverse=True)
    (first, place), (second, _) = [*whole, (0.0, ("", ())), (0.0, ("", ()))][:2]
    return [place] if first >= max(_FOREMOST, _FAR * second) else []


def _part_read(
    scene: GlobalContext,
    asked: Asked,
    by_document: Mapping[str, Sequence[str]],
    shares: Mapping[_PlaceOf, float],
) -> Sequence[Chunk]:
    """Return the document or section whose beginning a reader finds to be what is described.

    One that holds the section is nearly as good. None in Chinese, which no reader compares so well.
    """
    if scene.reader is None or asked.is_chinese:
        return ()
    places = sorted(shares, key=lambda place: (-shares[place], place))[:_BEGUN]
    whole = {name: scene.ordered(by_document.get(name, ())[:MAX_CHUNKS]) for name, _ in places}
    held_in = {
        (name, above): [one for one in whole[name] if one.headings[: len(above)] == above]
        for name, above in places
    }
    begun = {place: _beginning(chunks) for place, chunks in held_in.items()}
    texts = sorted({text for text in begun.values() if text})
    read = dict(zip(texts, scene.reader(_ABOUT_PART.format(asked.part), texts), strict=True))
    logits = {place: float(read.get(text, -math.inf)) for place, text in begun.items()}
    held = {
        (name, above): max(
            logit - _BELOW * (len(at) > len(above))
            for (other, at), logit in logits.items()
            if other == name and at[: len(above)] == above
        )
        for name, above in places
    }
    best = max(places, key=lambda at: (held[at] + _OF_SHARE * shares[at], len(at[1])), default=None)
    if best is None or min(held[best] + _BELOW_READ, held[best] + _OF_SHARE * shares[best]) < 0:
        return ()
    part = held_in[best]
    return () if len(by_document) == 1 and len(part) == len(whole[best[0]]) else part


def _beginning(chunks: Sequence[Chunk]) -> str:
    """Return what a part begins with, below its title and heading."""
    if not chunks:
        return ""
    return f"{titled(chunks[0].title, chunks[0].headings)}\n{chunks[0].text[:_BEGINNING]}"


def _chapter_of(whole: Sequence[Chunk], shares: Mapping[tuple[str, ...], float]) -> tuple[str, ...]:
    """Return the headings of the chapter of a document with the largest share; none without."""
    held = Counter(one.headings[:depth] for one in whole for depth in range(len(one.headings) + 1))
    chapters = (at for at, count in held.items() if at and 2 * count <= len(whole))
    best = max(chapters, key=lambda at: (shares.get(at, 0.0), -len(at)), default=())
    return best if shares.get(best, 0.0) >= _CHAPTER else ()


def _book_asked(name: str, units: Sequence[Unit]) -> list[str]:
    """Return the documents of the folder with this name, or whose index page has this title.

    Of several it is the one whose title is nearest in length.
    """
    found = []
    for unit in units:
        folder, _, file = unit.document_id.rpartition("/")
        title = unit.chunks[0].title
        called = re.sub(r"[-_]", " ", folder.rpartition("/")[2])
        words = tokens_of(called)
        is_folder = bool(words) and is_whole_named(name, [called]) and words <= tokens_of(name)
        if is_index(file) and (is_folder or is_title_of(name, title)):
            inside = [
                one.document_id
                for one in units
                if one.document_id.rpartition("/")[0] == folder
                or (folder and one.document_id.startswith(f"{folder}/"))
            ]
            if len(inside) >= MIN_CHAPTERS:
                found.append((len(tokens_of(title)), folder, inside))
    return min(found, default=(0, "", []))[2]


def parts_about(
    found: Found,
    chunks: Sequence[Chunk],
    whole: Callable[[str], Sequence[Chunk]],
    *,
    by_share: bool = False,
) -> list[Unit]:
    """Return the parts about the subject, those with the best passages first.

    `chunks` are those found; a part is a whole document or a section of it, with its chunks, which
    `whole` gives by document id. `by_share`: a title may have a share of the subject's words.
    """
    least = _NAMED if by_share else _TITLED
    places: dict[tuple[str, tuple[str, ...]], float] = {}
    for chunk in chunks:
        place = _place_about(chunk, found, least)
        if place is not None:
            key = (chunk.document_id, place)
            places[key] = max(places.get(key, 0.0), found.scores[chunk.id])
    ordered = sorted(places, key=lambda key: (-places[key], key))
    units: list[Unit] = []
    for name, headings in ordered:
        inside = any(
            name == other and len(above) < len(headings) and headings[: len(above)] == above
            for other, above in ordered
        )
        if not inside and len(units) < _PARTS:
            depth = len(headings)
            own = [one for one in whole(name) if one.headings[:depth] == headings]
            some = {one.id for one in spread_evenly(own, _READ)} | found.chunks.keys()
            units.append(Unit(name, headings, tuple(one for one in own if one.id in some)))
    return [unit for unit in units if unit.chunks]


def is_named(unit: Unit, found: Found) -> bool:
    """Check whether the title or last heading of a part names the whole subject."""
    return is_titled((*unit.headings[-1:], unit.chunks[0].title)[0], found)


def _place_about(chunk: Chunk, found: Found, least: float) -> tuple[str, ...] | None:
    """Return the headings down to the one that names the subject; none of them for the title."""
    if is_titled(chunk.title, found, least=least):
        return ()
    depths = range(1, len(chunk.headings) + 1)
    depth = next(
        (at for at in depths if is_titled(chunk.headings[at - 1], found, least=least)), None
    )
    return None if depth is None else chunk.headings[:depth]


def outline(
    unit: Unit,
    read: Sequence[Said],
    *,
    chinese: bool,
    is_own: bool = False,
    read_alone: bool = False,
    said: Sequence[frozenset[str]] = (),
) -> list[tuple[str, Said | None]]:
    """Return the sections of a part in their order, each with the window that tells most of it.

    That is the best that was read, else what says of its heading what that is, else the first; None
    where nothing in it is new and can be read alone. Of a part that has the subject for its title
    (`is_own`) what says what a heading is comes first, and what stands before the first section,
    which has no name, is told by its beginning and its best. With `read_alone` what was not read is
    passed over. Empty for a part of less than two.
    """
    for depth in range(1, MAX_DEPTH + 1):
        held = _by_heading(unit, depth)
        named = held.keys() - {()}
        if len(named) >= MIN_SECTIONS:
            break
    if len(named) < _FEW_SECTIONS:
        return []
    told: list[tuple[str, Said | None]] = []
    known = list(said)
    for path, chunks in held.items():
        ids = {chunk.id for chunk in chunks}
        best = [one for one in read if one.chunk.id in ids]
        name = path[-1] if path else ""
        first, opening = list[Said](), list[Said]()
        if is_own or not (best or read_alone):
            first = [widened(one) for one in sentences_of(chunks, chinese=chinese)]
            begun = opening_of(chunks, chinese=chinese)
            first = [widened(begun), *first] if begun and name else first
            opening = [one for one in first[:_OPENING] if defines(one.text, tokens_of(name))]
        if is_own and not path:
            opening = first[:1]
        one = _first_new([*opening, *(best or first)], known)
        if path or one:
            told.append((name, one))
        if is_own and not path and (one := _first_new(best, known)):
            told.append((name, one))
    return told


def begun_below(unit: Unit, names: Set[str] = frozenset(), *, chinese: bool) -> list[Said]:
    """Return what a part and each of its sections begins with, behind their names; or none.

    `names`: words of the names of a story's persons, of which its chapters tell first.
    """
    depth = len(unit.headings)
    held: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in unit.chunks:
        held[plain_title("".join(chunk.headings[depth : depth + 1]))].append(chunk)
    if len(held.keys() - {""}) < FEW_BELOW:
        return []
    found = list[Said]()
    for name, chunks in held.items():
        if names:
            begun = openings_of([chunks], names, chinese=chinese, ends=name == [*held][-1])
        else:
            begun = [widened(one) for one in [opening_of(chunks, chinese=chinese)] if one]
        found += [replace(one, speaker=name) for one in begun]
    return found if len(found) >= FEW_BELOW else []


def _first_new(found: Iterable[Said], known: list[frozenset[str]]) -> Said | None:
    """Return the first that says something new, and add its words to what is known."""
    new = (one for one in found if not any(is_alike(one.words, words) for words in known))
    one = next(new, None)
    known += [one.words] if one else []
    return one


def _by_heading(unit: Unit, depth: int) -> dict[tuple[str, ...], list[Chunk]]:
    """Return the chunks of a part below each path of its headings down to a depth."""
    title = plain_title((*unit.headings[-1:], unit.chunks[0].title)[0])
    held: defaultdict[tuple[str, ...], list[Chunk]] = defaultdict(list)
    for chunk in unit.chunks:
        path = map(plain_title, chunk.headings[len(unit.headings) :])
        held[tuple([one for one in path if one != title][:depth])].append(chunk)
    return dict(held)
