"""Questions with their gold, and the rows of a corpus, read from JSON lines.

Files come from anywhere, so each line is checked, and what is wrong is said with its line number.
What BEIR calls `_id` is read as `id`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSpan:
    """Characters `[start, end)` of a document's stored text that a question needs."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationQuery:
    """A question and what it needs: documents, or spans of them; never both.

    Gold documents are sorted, without repeats; spans are in the order given.
    """

    id: str
    text: str
    gold_ids: tuple[str, ...] = ()
    gold_spans: tuple[GoldSpan, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that gold stands in, sorted."""
        return tuple(sorted({*self.gold_ids, *(span.document_id for span in self.gold_spans)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRow:
    """One document of a corpus file."""

    id: str
    title: str
    text: str


def read_queries(
    path: Path, *, judgements: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[EvaluationQuery, ...]:
    """Read the questions with gold from a file, in order.

    A line is `{"id", "text", "gold_ids": [document id, …]}`, or with `gold_spans`:
    `[{"document_id", "start", "end"}, …]` in place of `gold_ids`. Other keys are passed over.
    With `judgements`, gold documents by question (see `judgements`), these alone are gold.

    Raises:
        SourceError: no such file, a line that is none of these, an id that stands there twice, or
            no question with gold.
    """
    found = [_query(row, where) for where, row in _rows(path)]
    _refuse_repeats(path, [query.id for query in found])
    if judgements is not None:
        found = [
            replace(query, gold_ids=judgements.get(query.id, ()), gold_spans=()) for query in found
        ]
    with_gold = tuple(query for query in found if query.documents)
    if not with_gold:
        raise SourceError(_without_gold(path, len(found), judgements))
    return with_gold


def _without_gold(path: Path, count: int, judgements: Mapping[str, tuple[str, ...]] | None) -> str:
    if not count:
        return f"{str(path)!r} holds no question"
    if judgements is not None:
        return f"no question of {str(path)!r} is judged: no judgement has an id of its {count}"
    beside = path.parent / "qrels"
    files = sorted(beside.glob("*.tsv")) if beside.is_dir() else []
    found = f", such as {str(files[0])!r}" if files else ""
    return (
        f"{str(path)!r} holds no question with gold_ids or gold_spans; where their gold stands in "
        f"a file of judgements, name it with --qrels{found}"
    )


def read_corpus(path: Path) -> tuple[CorpusRow, ...]:
    """Read documents, one `{"id", "title", "text"}` per line; titles are optional.

    Raises:
        SourceError: no such file, a line that is none of these, an id that stands there twice, or
            no document at all.
    """
    found = tuple(
        CorpusRow(
            id=_text(row, "id", where),
            title=_text(row, "title", where) if row.get("title") else "",
            text=_text(row, "text", where),
        )
        for where, row in _rows(path)
    )
    if not found:
        raise SourceError(f"{str(path)!r} holds no document")
    _refuse_repeats(path, [row.id for row in found])
    return found


def _query(row: Mapping[str, object], where: str) -> EvaluationQuery:
    gold, spans = row.get("gold_ids", []), row.get("gold_spans", [])
    if not isinstance(gold, list) or not all(isinstance(name, (str, int)) for name in gold):
        raise SourceError(f"{where}: gold_ids must be a list of document ids, not {gold!r}")
    if not isinstance(spans, list):
        raise SourceError(f"{where}: gold_spans must be a list, not {spans!r}")
    if gold and spans:
        raise SourceError(f"{where}: give gold_ids or gold_spans, not both")
    return EvaluationQuery(
        id=_text(row, "id", where),
        text=_text(row, "text", where),
        gold_ids=tuple(sorted({str(name) for name in gold})),
        gold_spans=tuple(dict.fromkeys(_span(span, where) for span in spans)),
    )


def _span(value: object, where: str) -> GoldSpan:
    match value:
        case {"document_id": str(name), "start": int(start), "end": int(end)} if 0 <= start < end:
            return GoldSpan(document_id=name, start=start, end=end)
    raise SourceError(f"{where}: {value!r} is no span: give document_id, start and a greater end")


def _text(row: Mapping[str, object], key: str, where: str) -> str:
    value = row.get(key, row.get(f"_{key}"))
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        keys = "" if value is not None else f"; its keys are {', '.join(map(repr, row)) or 'none'}"
        raise SourceError(f"{where}: {key!r} must be a text that is not empty, not {value!r}{keys}")
    return value


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Each line's place, for messages, and what it holds."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError as error:
        raise SourceError(f"no file at {str(path)!r}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot read {str(path)!r}: {' '.join(str(error).split())}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{str(path)!r} line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(f"{where} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise SourceError(f"{where} must be an object with id and text, not {line[:60]!r}")
        yield where, row


def _refuse_repeats(path: Path, ids: list[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise SourceError(f"{str(path)!r} holds the id {name!r} twice")
        seen.add(name)
