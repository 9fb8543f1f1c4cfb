"""Chunking, embedding and extraction of documents, each isolated from the others.

A text that a stage cannot take is stored without that stage's result (cut in a plainer way, without
vectors, without names) and listed as partial with the reason; it is found by its words and tried
again when its text, the settings or the product's version change. Nothing here opens a transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlalchemy import Connection, exists, func, select

from ..types import PartialDocument, SourceText
from .graph_api import (
    DERIVE,
    EXTRACT,
    LINK,
    Extraction,
    Fault,
    chunk_table,
    faults,
    graph_errors,
    in_batches,
    isolation,
    product_version,
    read_chunks,
)
from .library import Library
from .schema import keywords, vectors
from .vectors.spaces import VectorSpace

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode, TextNode

    from .graph_api import Extractor, KnowledgeGraphIndex
    from .llamaindex import WindowedVectorIndex

T = TypeVar("T")
CHUNK, EMBED, KEYWORDS, STORE = "chunk", "embed", "keywords", "store"
"""Stages that can be at fault, beside `EXTRACT` and those of the graph."""

BATCH_CHUNKS = 64
"""Chunks embedded and extracted together; a batch ends at a document's end."""

Chunker = Callable[[SourceText], "list[TextNode]"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be stored.

    `windows` are by embedding model and chunk id, `known` (what a language model read before) by
    chunk id, `faults` by stage and chunk id.
    """

    source: SourceText
    nodes: list[BaseNode]
    windows: Mapping[str, Mapping[str, list[BaseNode]]] = field(default_factory=dict)
    known: Mapping[str, Extraction] = field(default_factory=dict)
    faults: Mapping[str, Mapping[str, Fault]] = field(default_factory=dict)

    @property
    def node_ids(self) -> list[str]:
        """The ids of its chunks, in order."""
        return [node.node_id for node in self.nodes]

    def with_faults(self, stage: str, found: Mapping[str, Fault]) -> Prepared:
        """The same, with its share of a stage's faults."""
        own = {key: found[key] for key in self.node_ids if key in found}
        return replace(self, faults={**self.faults, stage: own})

    def without_facts(self, fault: Fault) -> Prepared:
        """Return the document without extractions, which cannot be stored."""
        return replace(self, known={}, faults={**self.faults, EXTRACT: self._all(fault)})

    def bare(self, fault: Fault) -> Prepared:
        """Return the document without extractions and vectors."""
        plain = self.without_facts(fault)
        return replace(plain, windows={}, faults={**plain.faults, EMBED: self._all(fault)})

    def _all(self, fault: Fault) -> dict[str, Fault]:
        return {node.node_id: fault for node in self.nodes}


@dataclass(slots=True)
class Done:
    """Results of a stage for a batch: windows by chunk or nodes, how much was really done, and
    faults by chunk."""

    windows: defaultdict[str, list[BaseNode]] = field(default_factory=lambda: defaultdict(list))
    nodes: list[BaseNode] = field(default_factory=list)
    count: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)


def chunk_document(
    source: SourceText, chunkers: Iterable[Chunker]
) -> tuple[list[BaseNode], Fault | None]:
    """Chunk a document by the first chunker that can, and return the first one's fault if any.

    No chunks and a fault: none of them can.
    """
    fault: Fault | None = None
    for chunker in chunkers:
        with isolation(CHUNK) as isolated:
            return list(chunker(source)), fault
        fault = fault or isolated.caught
    return [], fault


def embed_chunks(nodes: Sequence[BaseNode], index: WindowedVectorIndex) -> Done:
    """Embed chunks; those that the model cannot take have no windows and a fault.

    Raises:
        Exception: what the model raised, where it cannot take a plain word either: then it is the
            model that fails, not a text.
    """

    from .llamaindex import CHUNK_KEY

    done = Done()
    for some in _batches(nodes):
        with isolation(EMBED) as isolated:
            windows = index.windows(some.items)
            done.count += index.embed(windows)
            for window in windows:
                done.windows[window.metadata[CHUNK_KEY]].append(window)
        if not isolated.fault or some.divide():
            continue
        with isolation(EMBED) as tried:
            index.try_out()
        if tried.fault:
            raise isolated.fault.error or RuntimeError(isolated.fault.reason)
        done.faults[some.items[0].node_id] = isolated.fault
    return done


def read_alone(extractor: Extractor, texts: Sequence[str]) -> list[Extraction | Fault]:
    """Extract each text by itself with a model, or say why it cannot be read, in order."""
    found: list[Extraction | Fault] = []
    with graph_errors():
        for some in _batches(texts):
            with isolation(EXTRACT) as isolated:
                found += extractor.extract(some.items)
            if isolated.fault and not some.divide():
                found.append(isolated.fault)
    return found


def extract_chunks(nodes: Sequence[BaseNode], graph: KnowledgeGraphIndex) -> Done:
    """Extract names and relations; chunks that cannot be read come as they are, with a fault."""
    done = Done()
    with graph_errors():
        for some in _batches(nodes):
            with isolation(EXTRACT) as isolated:
                read, count = graph.extract(some.items)
                done.nodes += read
                done.count += count
            if isolated.fault and not some.divide():
                done.faults[some.items[0].node_id] = isolated.fault
                done.nodes += some.items
    return done


@dataclass(slots=True)
class _Batch(Generic[T]):
    """Items that a stage takes at once; one that fails is divided until one item is at fault."""

    items: Sequence[T]
    _waiting: list[Sequence[T]]

    def divide(self) -> bool:
        """Put both halves next in line; False for a single item."""
        middle = len(self.items) // 2
        if middle:
            self._waiting += [self.items[middle:], self.items[:middle]]
        return middle > 0


def _batches(items: Sequence[T]) -> Iterator[_Batch[T]]:
    """Yield all items as one batch, then the halves of each that was divided, in their order."""
    waiting = [items] if items else []
    while waiting:
        yield _Batch(waiting.pop(), waiting)


def nodes_without_vectors(
    library: Library, space: VectorSpace, *, only: Collection[str] | None = None
) -> Iterator[list[BaseNode]]:
    """Yield batches of stored chunks that a space reads and has no vectors of.

    In the order of their ids; those of the documents `only`, or of all. Chunks that the model
    could not take before are left out.
    """
    from .graph_api import node_of_chunk

    held = exists().where(vectors.c.chunk_id == chunk_table.c.id)
    failed = exists().where(faults.c.chunk_id == chunk_table.c.id, faults.c.stage == EMBED)
    query = select(chunk_table.c.id, chunk_table.c.document_id).where(
        ~held.where(vectors.c.model == space.identity), ~failed
    )
    if space.english_only:
        query = query.join(keywords, keywords.c.chunk_id == chunk_table.c.id)
        query = query.where(keywords.c.readable > 0)
    with library.read() as connection:
        rows = connection.execute(query.order_by(chunk_table.c.id)).all()
    ids = [row.id for row in rows if only is None or row.document_id in only]
    for begin in range(0, len(ids), BATCH_CHUNKS):
        with library.read() as connection:
            found = read_chunks(connection, ids[begin : begin + BATCH_CHUNKS])
        yield [node_of_chunk(found[key]) for key in sorted(found)]


_LACKS = {
    CHUNK: "is cut in a plainer way than settings say",
    EMBED: "has no vectors for {count}",
    EXTRACT: "has no names for {count}",
    KEYWORDS: "is indexed by plain words in {count}",
    LINK: "is not linked to names in {count}",
    DERIVE: "is left out of the graph",
}
"""By stage, what a document lacks."""

MAX_REASONS = 3
"""Maximum number of different reasons that are given for one document."""


def partial_documents(
    library: Library, only: Collection[str] | None = None
) -> list[PartialDocument]:
    """Return the partial documents, or those among `only`, sorted by id."""
    with library.read() as connection:
        found = why_partial(connection, only)
    return [PartialDocument(source=name, reason=found[name]) for name in sorted(found)]


def partial_count(library: Library) -> int:
    """Count the partial documents."""
    query = select(func.count(chunk_table.c.document_id.distinct()))
    with library.read() as connection:
        joined = query.select_from(faults).join(chunk_table, chunk_table.c.id == faults.c.chunk_id)
        return int(connection.execute(joined).scalar_one())


def partial_by_other_version(library: Library) -> frozenset[str]:
    """Return documents that another product version could not process."""
    faulty = select(faults.c.chunk_id).where(faults.c.version != product_version())
    query = select(chunk_table.c.document_id).where(chunk_table.c.id.in_(faulty)).distinct()
    with library.read() as connection:
        return frozenset(connection.execute(query).scalars())


def why_partial(connection: Connection, only: Collection[str] | None) -> dict[str, str]:
    """Return reasons of partial documents by id, of all or `only`."""
    columns = (chunk_table.c.document_id, faults.c.stage, faults.c.reason)
    query = select(*columns, func.count().label("count"))
    query = query.join(chunk_table, chunk_table.c.id == faults.c.chunk_id).group_by(*columns)
    queries = [query]
    if only is not None:
        queries = [query.where(chunk_table.c.document_id.in_(batch)) for batch in in_batches(only)]
    found: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for one in queries:
        for document_id, stage, reason, count in connection.execute(one):
            found[document_id][stage][reason] = count
    return {name: _told(by_stage) for name, by_stage in found.items()}


def _told(by_stage: Mapping[str, Mapping[str, int]]) -> str:
    """One line: what is lacking by stage, in their order, and the different reasons."""
    parts = []
    for stage in (*_LACKS, *sorted(by_stage.keys() - _LACKS.keys())):
        counts = by_stage.get(stage)
        if not counts:
            continue
        count = sum(counts.values())
        chunks = "1 chunk" if count == 1 else f"{count} chunks"
        lacks = _LACKS.get(stage, f"is without {stage}").format(count=chunks)
        reasons = sorted(counts, key=lambda reason: (-counts[reason], reason))
        more = ["…"] if len(reasons) > MAX_REASONS else []
        parts.append(f"{lacks}: {', '.join([*reasons[:MAX_REASONS], *more])}")
    return "; ".join(parts)
