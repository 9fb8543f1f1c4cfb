"""Gold of questions as document ids of one library. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from ..errors import SourceError
from .queries import EvaluationQuery

SHOWN = 3


def located(
    queries: Sequence[EvaluationQuery], held: Collection[str], *, length_of: Callable[[str], int]
) -> tuple[EvaluationQuery, ...]:
    """Resolve gold ids to the library's spelling.

    A gold id that is no document's but that one document's alone ends with, after a slash, means
    that one: files of a folder are known by the folder's name and the path in it. What is not
    found stays as it is.

    Args:
        queries: as read.
        held: the ids of the library's documents.
        length_of: document id → how many characters its text has.

    Raises:
        SourceError: no gold of any question is in the library, or a span ends after its document.
    """
    by_ending = _by_ending(held)
    found = tuple(_renamed(query, held, by_ending) for query in queries)
    if not any(name in held for query in found for name in query.documents):
        gold = sorted({name for query in queries for name in query.documents})
        raise SourceError(
            f"none of the {len(gold)} gold documents, such as {gold[0]!r}, is in the library: gold "
            f"ids must be its document ids, such as {_some(held)}"
        )
    for query in found:
        for span in query.gold_spans:
            if span.document_id in held and span.end > (length := length_of(span.document_id)):
                raise SourceError(
                    f"the gold span {span.start} to {span.end} of question {query.id!r} ends after "
                    f"{span.document_id!r}, which has {length} characters as stored"
                )
    return found


def _renamed(
    query: EvaluationQuery, held: Collection[str], by_ending: Mapping[str, Sequence[str]]
) -> EvaluationQuery:
    def name_of(given: str) -> str:
        candidates = by_ending.get(given.removeprefix("./"), ())
        return candidates[0] if given not in held and len(candidates) == 1 else given

    return replace(
        query,
        gold_ids=tuple(sorted({name_of(name) for name in query.gold_ids})),
        gold_spans=tuple(
            replace(span, document_id=name_of(span.document_id)) for span in query.gold_spans
        ),
    )


def _by_ending(held: Collection[str]) -> Mapping[str, Sequence[str]]:
    endings: dict[str, list[str]] = defaultdict(list)
    for name in sorted(held):
        parts = name.split("/")
        for first in range(1, len(parts)):
            endings["/".join(parts[first:])].append(name)
    return endings


def _some(held: Collection[str]) -> str:
    return ", ".join(repr(name) for name in sorted(held)[:SHOWN]) or "none: it is empty"
