"""The tools that only look: search, ask, explore, list, read, count."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ..errors import UnknownName
from ..events import AnswerEvent, StepEvent
from ..explore import EntityPath
from ..explore_text import (
    community_lines,
    community_list_lines,
    entity_lines,
    path_lines,
)
from ..given_up import WorkCancelled
from ..types import Answer, Citation, Passage, Turn
from .call import Call, Result
from .values import (
    AnswerResult,
    AskArguments,
    ExploreArguments,
    ExploredEntity,
    FoundPassages,
    ListArguments,
    ListedDocument,
    ListedDocuments,
    PassageResult,
    ReadArguments,
    ReadText,
    SearchArguments,
    StatsArguments,
    StatsResult,
    Topics,
    TopicsArguments,
)

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine

PATHS = 3


def search(engine: KnowledgeEngine, wanted: SearchArguments, call: Call) -> Result:
    """Passages, best first."""
    found = engine.retrieve(
        wanted.question,
        top_k=wanted.top_k,
        min_relevance=wanted.min_relevance,
        filters=wanted.filters or None,
        namespace=call.rights.within(call.namespace),
    )
    lines = []
    for number, passage in enumerate(found, 1):
        lines.append(f"[{number}] {passage.title} ({_place(passage)})")
        lines += [passage.text, ""]
    value = FoundPassages(passages=tuple(_passage(one) for one in found))
    return Result.of(lines or ["nothing was found"], value)


def ask(engine: KnowledgeEngine, wanted: AskArguments, call: Call) -> Result:
    """Answer a question with sources; every stage is reported as it ends."""
    events = engine.stream(
        wanted.question,
        mode=wanted.mode,
        effort=wanted.effort,
        history=[Turn(each.question, each.answer) for each in wanted.history],
        filters=wanted.filters or None,
        namespace=call.rights.within(call.namespace),
    )
    with closing(events):
        for event in events:
            if isinstance(event, StepEvent):
                call.progress(f"{event.step.stage}: {event.step.detail}", 0, 0)
            elif isinstance(event, AnswerEvent):
                return Result.of(answer_lines(event.answer), answer_value(event.answer))
    raise WorkCancelled  # nobody waits for the answer any more


def answer_lines(answer: Answer) -> list[str]:
    """Render an answer followed by its sources."""
    lines = [f"(understood as: {answer.understood})"] if answer.understood else []
    lines.append(answer.text)
    if answer.citations:
        lines += ["", "Sources:"]
    for one in answer.citations:
        lines.append(f"[{one.number}] {one.title} ({_place(one)}): “{' '.join(one.quote.split())}”")
    return lines


def answer_value(answer: Answer) -> AnswerResult:
    """Convert an answer to the tools' format."""
    return AnswerResult(
        answer=answer.text,
        understood=answer.understood,
        abstained=answer.abstained,
        mode=answer.mode,
        why_this_mode=answer.route.reason if answer.route is not None else "it was asked for",
        citations=answer.citations,
    )


def explore_entity(engine: KnowledgeEngine, wanted: ExploreArguments, call: Call) -> Result:
    """Show an entity, and paths to another."""
    within = call.rights.within(call.namespace)
    filters = wanted.filters or None
    entity = engine.graph.entity(
        wanted.name, limit=wanted.limit, evidences=3, filters=filters, namespace=within
    )
    lines = list(entity_lines(entity))
    paths: tuple[EntityPath, ...] = ()
    if wanted.related_to:
        paths = engine.graph.paths(
            entity.id, wanted.related_to, limit=PATHS, filters=filters, namespace=within
        )
        lines += ["", f"From {entity.name} to {wanted.related_to}:"]
        lines += path_lines(paths, ends=(entity.name, wanted.related_to), hops=4)
    return Result.of(lines, ExploredEntity(entity=entity, paths=paths))


def explore_topics(engine: KnowledgeEngine, wanted: TopicsArguments, call: Call) -> Result:
    """List communities, or show one with its report."""
    within, filters = call.rights.within(call.namespace), wanted.filters or None
    graph = engine.graph
    if wanted.topic_id:
        topic = graph.community(
            wanted.topic_id, limit=wanted.limit, filters=filters, namespace=within
        )
        return Result.of(list(community_lines(topic)), Topics(topic=topic, topics=(), total=0))
    found = graph.communities(wanted.level, limit=wanted.limit, filters=filters, namespace=within)
    value = Topics(topic=None, topics=found.items, total=found.total)
    return Result.of(list(community_list_lines(found)), value)


def list_documents(engine: KnowledgeEngine, wanted: ListArguments, call: Call) -> Result:
    """Documents by id."""
    page = engine.catalogue.page(
        query=wanted.query,
        filters=wanted.filters or None,
        namespace=call.rights.within(call.namespace),
        after=wanted.after,
        limit=wanted.limit,
    )
    found = tuple(
        ListedDocument(
            id=one.id,
            title=one.title,
            type=one.type,
            namespace=one.namespace,
            characters=one.characters,
            metadata=one.metadata,
        )
        for one in page.items
    )
    after = found[-1].id if page.has_more and found else None
    lines = [f"{len(found)} of {page.total:,} documents"]
    lines += [
        f"{one.id} – {one.title} ({one.type}, {one.characters:,} characters)" for one in found
    ]
    if after is not None:
        lines.append(f"more follow after {after!r}")
    return Result.of(lines, ListedDocuments(documents=found, total=page.total, next=after))


def read_document(engine: KnowledgeEngine, wanted: ReadArguments, call: Call) -> Result:
    """Read a window of a document's text."""
    value = window(engine, wanted.document_id, wanted.start, wanted.length, call)
    head = f"{value.title} ({value.document_id}, {value.start}–{value.end} of {value.total})"
    return Result.of([head, "", value.text], value)


def window(
    engine: KnowledgeEngine, document_id: str, start: int, length: int, call: Call
) -> ReadText:
    """Return a window of a visible document.

    Raises:
        UnknownName: there is none of this id, as far as this caller can know.
    """
    rights = call.rights
    known = engine.catalogue.document(document_id)
    found = engine.catalogue.window(document_id, start=start, end=start + length)
    if known is None or found is None or not rights.can_access(known.namespace):
        raise UnknownName(f"no document {document_id!r}: `list_documents` shows the ids")
    return ReadText(
        document_id=found.id,
        title=found.title,
        text=found.text,
        start=found.start,
        end=found.end,
        total=found.total,
    )


def stats(engine: KnowledgeEngine, wanted: StatsArguments, call: Call) -> Result:  # noqa: ARG001
    """Return the library's counts."""
    within = call.rights.within(call.namespace)
    if within is None:
        figures = {name: int(count) for name, count in engine.stats().items()}
    else:
        figures = dict(engine.catalogue.counts({within} if isinstance(within, str) else within))
    lines = [f"{name.replace('_', ' ')}: {count:,}" for name, count in figures.items()]
    return Result.of(lines, StatsResult(figures=figures))


def _passage(passage: Passage) -> PassageResult:
    return PassageResult(
        document_id=passage.document_id,
        title=passage.title,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        page=passage.page,
        relevance=round(passage.relevance, 4),
    )


def _place(where: Passage | Citation) -> str:
    page = f", page {where.page}" if where.page is not None else ""
    return f"{where.document_id}{page}, {where.start}–{where.end}"
