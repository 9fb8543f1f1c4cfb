"""Evaluation data: questions with their gold, corpora, relevance judgements, and their library.

Files are JSON lines and come from anywhere: each line is checked, and errors name its number.
BEIR's `_id` is read as `id`. Relevance judgements (qrels) have BEIR's three columns with a heading,
`query-id corpus-id score`, or TREC's four, `question iteration document grade`; gold is what is
graded above zero. The library of a corpus is cached while the corpus is unchanged.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import Settings
from ..engine import KnowledgeEngine
from ..errors import SourceError
from ..storage.library import DocumentRow
from ..types import IngestReport


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
    found = [parse_query(row, where) for where, row in json_rows(path)]
    refuse_repeats(path, [query.id for query in found])
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
        for where, row in json_rows(path)
    )
    if not found:
        raise SourceError(f"no documents in the corpus: {str(path)!r}; name another file")
    refuse_repeats(path, [row.id for row in found])
    return found


def parse_query(row: Mapping[str, object], where: str) -> EvaluationQuery:
    """Parse one object of a questions file; `where` names its place in messages."""
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
    raise SourceError(
        f"{where}: span not usable: {value!r}; give document_id, start and a greater end"
    )


def _text(row: Mapping[str, object], key: str, where: str) -> str:
    value = row.get(key, row.get(f"_{key}"))
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        keys = "" if value is not None else f"; its keys are {', '.join(map(repr, row)) or 'none'}"
        raise SourceError(f"{where}: {key!r} must be a text that is not empty, not {value!r}{keys}")
    return value


def json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield each line's place, for messages, and its object."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError as error:
        raise SourceError(f"no such file: {str(path)!r}; check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot read: {str(path)!r} ({' '.join(str(error).split())}); check the file"
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{str(path)!r} line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(f"{where}: not JSON ({error}); correct the line") from error
        if not isinstance(row, dict):
            raise SourceError(
                f"{where}: not an object with id and text: {line[:60]!r}; correct the line"
            )
        yield where, row


def refuse_repeats(path: Path, ids: list[str]) -> None:
    """Raise `SourceError` for an id that is given twice."""
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise SourceError(f"id given twice in {str(path)!r}: {name!r}; use each id once")
        seen.add(name)


FOLDER = "loregraph-eval"
LINES = (".jsonl", ".ndjson")
INDEXING = ("ingest", "chunk", "embedding", "graph")
"""Sections of the settings that decide what stands in a library."""


def check_corpus(corpus: Path) -> None:
    """Refuse what is no corpus before a library is made for it.

    Raises:
        SourceError: there is no such file or folder, a file that is none, or no rows in it.
    """
    if not corpus.exists():
        raise SourceError(f"no corpus at {str(corpus)!r}: name a .jsonl file or a folder")
    if corpus.is_dir():
        return
    if corpus.suffix.lower() not in LINES:
        raise SourceError(f"not a corpus: {str(corpus)!r}; name a .jsonl file or a folder")
    read_corpus(corpus)


def library_for(corpus: Path, settings: Settings) -> Path:
    """Return the temporary folder of the library for this corpus and these settings.

    A file is known by its content, a folder by its place: what changes in it is added.

    Raises:
        SourceError: as `check_corpus`.
    """
    check_corpus(corpus)
    digest = hashlib.sha256(index_stamp(settings).encode())
    if corpus.is_dir():
        digest.update(str(corpus.resolve()).encode("utf8", "surrogatepass"))
    else:
        digest.update(corpus.read_bytes())
    return Path(tempfile.gettempdir()) / FOLDER / f"{corpus.stem}-{digest.hexdigest()[:16]}"


def index_stamp(settings: Settings) -> str:
    """Two settings with one stamp make the same library."""
    return settings.model_dump_json(include=set(INDEXING))


def add_corpus(
    engine: KnowledgeEngine, corpus: Path, *, progress: Callable[[str, int, int], None]
) -> IngestReport:
    """Add missing documents of a corpus: rows of a `.jsonl` file, or a folder's files.

    Raises:
        SourceError: the library holds documents of another origin, or nothing could be added.
    """
    rows = () if corpus.is_dir() else read_corpus(corpus)
    _refuse_others(engine, corpus, {row.id for row in rows})
    if corpus.is_dir():
        report = engine.sync(corpus, progress=progress)
    else:
        from llama_index.core.schema import Document

        given = [
            Document(id_=row.id, text=row.text, metadata={"title": row.title} if row.title else {})
            for row in rows
        ]
        report = engine.add(given, progress=progress)
    if report.failed and not (report.added or report.changed or report.unchanged):
        first = report.failed[0]
        raise SourceError(f"nothing added from {str(corpus)!r}: {first.source}: {first.reason}")
    return report


def _refuse_others(engine: KnowledgeEngine, corpus: Path, ids: Collection[str]) -> None:
    """Refuse a library with other documents; its figures would be meaningless."""
    home = corpus.resolve()

    def is_of_corpus(row: DocumentRow) -> bool:
        if row.path is None:
            return row.id in ids
        return corpus.is_dir() and Path(row.path).is_relative_to(home)

    others = [row.id for row in engine.documents() if not is_of_corpus(row)]
    if others:
        raise SourceError(
            f"library holds {len(others)} documents of another corpus than "
            f"{str(corpus)!r}, such as {others[0]!r}: name another --library for this "
            "corpus, or search this one without --corpus"
        )


SHOWN = 3


def resolve_gold_ids(
    queries: Sequence[EvaluationQuery], held: Collection[str], *, length_of: Callable[[str], int]
) -> tuple[EvaluationQuery, ...]:
    """Resolve the gold document ids of an evaluation to the library's spelling.

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
                    f"gold span outside of its document: {span.start} to {span.end} of "
                    f"question {query.id!r}, but {span.document_id!r} has {length} characters "
                    "as stored; correct the span"
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


def read_judgements(path: Path) -> Mapping[str, tuple[str, ...]]:
    """By question, its gold documents, sorted; questions without any are left out.

    Raises:
        SourceError: no such file, a line that is no judgement, or nothing graded above zero.
    """
    gold: dict[str, set[str]] = defaultdict(set)
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and not _is_number(fields[-1])):
            continue
        if len(fields) not in (3, 4) or not _is_number(fields[-1]):
            raise SourceError(
                f"line {number} of {str(path)!r} is not a judgement: {line[:60]!r}; give a "
                "question id, a document id and a grade, separated by tabs"
            )
        if float(fields[-1]) > 0:
            gold[fields[0].strip()].add(fields[-2].strip())
    if not gold:
        raise SourceError(f"no document graded above zero: {str(path)!r}; add judgements")
    return {question: tuple(sorted(documents)) for question, documents in sorted(gold.items())}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise SourceError(f"no such file: {str(path)!r}; check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot read: {str(path)!r} ({' '.join(str(error).split())}); check the file"
        ) from error
