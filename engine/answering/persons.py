"""Documents and chapters that name a person: lines below the answer to *Who is X?*."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graph.text.cjk import has_han

from ..plain_text import strip_markdown
from ..prompts import Language, language_of
from ..storage.graph_api import (
    Chunk,
    EntityView,
    Explorer,
    NameUnknown,
    NamingChunk,
    graph_errors,
    sentence_spans,
)
from ..storage.graph_views import GraphViewCache
from ..storage.library import Library
from ..storage.schema import DocumentFilter
from ..types import Citation
from .extractive.intent import asked_person
from .global_search.topics import is_telling, number_of, plain_title
from .packing import Draft

FEWEST = 3
"""Documents or chapters of which fewer are not worth a line."""
_SHOWN, _COMPANY, _DEPTH, _READ, _LONG = 5, 3, 3, 5, 240
"""Places that are shown, those that name the person most; others named beside; depth of headings;
passages of a place that are read; and characters of a sentence that is not shown."""


class PersonPlaces:
    """Adds to an answer the documents or chapters that name the person asked for.

    Args:
        library: what is read.
        views: the graph as documents that may be seen give it.
    """

    def __init__(self, library: Library, views: GraphViewCache) -> None:
        self._library = library
        self._views = views

    def below(self, question: str, draft: Draft, *, within: DocumentFilter | None) -> Draft:
        """Return a draft with these lines; as it is where no known person is asked for."""
        name, language = asked_person(question), language_of(question)
        if not name or not draft.citations:
            return draft
        with self._library.read() as connection, graph_errors():
            seen = self._views.current(connection, within)
            explorer = Explorer(
                connection, seen, page_of=lambda _document, _offset: None, language=language
            )
            try:
                person = explorer.entity_at(explorer.number(name))
            except NameUnknown:
                return draft
            names = {each.casefold() for each in (name, person.name, *person.aliases)}
            has_text = any(each.title.casefold() in names for each in draft.citations)
            if person.type != "PERSON" or has_text:
                return draft
            company = explorer.named_with(person.id, kind="PERSON", limit=_COMPANY)
            places = _places(explorer.chunks_naming(person.id))
            if len(places) < FEWEST:
                return draft
            ranked = sorted(places, key=lambda place: -len(places[place]))[:_SHOWN]
            first = {place: places[place][:_READ] for place in places if place in ranked}
            held = explorer.chunks(one.id for some in first.values() for one in some)
        shown = {place: [held[one.id] for one in some] for place, some in first.items()}
        lead = _lead([*places], [each.name for each in company], language)
        return _with_places(draft, lead, person, shown, language)


Place = tuple[str, str]
"""A document's id, and its title or that of a chapter."""


def _with_places(
    draft: Draft,
    lead: str,
    person: EntityView,
    shown: Mapping[Place, Sequence[Chunk]],
    language: Language,
) -> Draft:
    citations, called = list(draft.citations), list[str]()
    is_book = _is_book(shown)
    for place, chunks in shown.items():
        citation = _citation(chunks, person, number=len(citations) + 1)
        if citation is None:
            continue
        citation = next((one for one in citations if _span(one) == _span(citation)), citation)
        citations += [citation] if citation not in citations else []
        is_bare = is_book or len(citation.quote) > _LONG or "-----" in citation.quote
        said = "" if is_bare else strip_markdown(citation.quote)
        colon = ("：" if language == "zh" else ": ") if said else ""
        called.append(f"{place[1]}{colon}{said} [{citation.number}]")
    if not is_book or all(is_telling(title) for _, title in shown):
        told = "\n".join((lead, *(f"- {each}" for each in called)))
    else:
        told = f"{lead} {('、' if language == 'zh' else ', ').join(called)}"
    return replace(draft, text=f"{draft.text}\n\n{told}", citations=tuple(citations))


def _is_book(places: Iterable[Place]) -> bool:
    return len({document for document, _ in places}) == 1


def _places(chunks: Sequence[NamingChunk]) -> dict[Place, list[NamingChunk]]:
    """Return the passages by document and title, or in one document by chapter, in their order.

    Chapters of one title, of different volumes, are called by both.
    """
    if len({chunk.document_id for chunk in chunks}) > 1:
        return _by_title((chunk, plain_title(chunk.title)) for chunk in chunks)
    found: dict[Place, list[NamingChunk]] = {}
    for depth in range(1, _DEPTH + 1):
        paths = [chunk.headings[:depth] for chunk in chunks]
        called = Counter(path[-1] for path in set(paths) if path)
        found = _by_title(
            (chunk, path[-1] if called[path[-1]] == 1 else " – ".join(path))
            for chunk, path in zip(chunks, paths, strict=True)
            if len(path) == depth
        )
        if len(found) >= FEWEST:
            break
    return found


def _by_title(titled: Iterable[tuple[NamingChunk, str]]) -> dict[Place, list[NamingChunk]]:
    found: dict[Place, list[NamingChunk]] = {}
    for chunk, title in titled:
        found.setdefault((chunk.document_id, title), []).append(chunk)
    return found


def _lead(places: Iterable[Place], company: Sequence[str], language: Language) -> str:
    titles = [title for _, title in places]
    is_numbered = all(number_of(title.rpartition(" – ")[2]) for title in titles)
    if language == "zh":
        kind = ("章" if is_numbered else "节") if _is_book(places) else "份文档"
        told = f"见于 {len(titles)} {kind}"
        return told + (f"，多与{'、'.join(company)}一起提到" if company else "") + "；主要在："
    kind = ("chapters" if is_numbered else "sections") if _is_book(places) else "documents"
    told = f"Named in {len(titles)} {kind}"
    return told + (f", mostly with {', '.join(company)}" if company else "") + "; above all in:"


def _span(citation: Citation) -> tuple[str, int, int]:
    return citation.document_id, citation.start, citation.end


def _citation(chunks: Sequence[Chunk], person: EntityView, *, number: int) -> Citation | None:
    """Return the first sentence of these passages that names a person; None without any."""
    escaped = map(re.escape, (person.name, *person.aliases))
    names = "|".join(one if has_han(one) else rf"(?<!\w){one}(?!\w)" for one in escaped)
    for chunk in chunks:
        for start, end in sentence_spans(chunk.text):
            if re.search(names, chunk.text[start:end]):
                return Citation(
                    number=number,
                    document_id=chunk.document_id,
                    chunk_id=chunk.id,
                    title=chunk.title,
                    quote=chunk.text[start:end],
                    start=chunk.start + start,
                    end=chunk.start + end,
                )
    return None
