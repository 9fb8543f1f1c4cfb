"""Agent tools: names, descriptions for the models that choose among them, and their functions.

One list for every protocol: reading tools (search, ask, explore, list, read, count), then tools
that change a library (add and remove texts and documents).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError, create_model

from ..concurrency import WorkCancelled
from ..errors import QuestionError, SourceError, UnknownName, field_problems
from ..events import AnswerEvent, StepEvent
from ..knowledge_graph.explorer import (
    community_lines,
    community_list_lines,
    entity_lines,
    path_lines,
)
from ..plain_text import nearest_lines, place_of, source_lines
from ..storage.graph_api import EntityPath
from ..types import Answer, IngestReport, MetaValue, Passage, Turn
from .schemas import (
    HOME,
    NAMESPACE,
    Access,
    AddDocumentArguments,
    AddTextArguments,
    AnswerResult,
    Arguments,
    AskArguments,
    Call,
    Changed,
    ExploreArguments,
    ExploredEntity,
    FactResult,
    ForgetArguments,
    FoundPassages,
    ListArguments,
    ListedDocument,
    ListedDocuments,
    Metadata,
    PassageResult,
    ReadArguments,
    ReadText,
    RecallArguments,
    Recalled,
    RememberArguments,
    Remembered,
    RemoveArguments,
    Result,
    SearchArguments,
    StatsArguments,
    StatsResult,
    Topics,
    TopicsArguments,
    admitted_source,
    without_addresses,
)

if TYPE_CHECKING:
    from ..engine import KnowledgeEngine

PATHS = 3


def search(engine: KnowledgeEngine, wanted: SearchArguments, call: Call) -> Result:
    """Return passages for the `search` tool, best first."""
    found = engine.retrieve(
        wanted.query,
        top_k=wanted.top_k,
        min_relevance=wanted.min_relevance,
        filters=wanted.filters or None,
        namespace=call.rights.within(call.namespace),
    )
    lines = []
    for number, passage in enumerate(found, 1):
        lines.append(f"[{number}] {passage.title} ({place_of(passage)})")
        lines += [passage.text, ""]
    value = FoundPassages(passages=tuple(_passage(one) for one in found))
    return Result.of(lines or ["nothing was found"], value)


def ask(engine: KnowledgeEngine, wanted: AskArguments, call: Call) -> Result:
    """Answer a question with sources; every stage is reported as it ends."""
    events = engine.stream(
        wanted.query,
        mode=wanted.mode,
        effort=wanted.effort,
        history=[Turn(each.question, each.answer) for each in wanted.history],
        filters=wanted.filters or None,
        namespace=call.rights.within(call.namespace),
        memory=call.rights.memory(wanted.session) if wanted.session is not None else None,
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
    lines = [f"(understood as: {answer.rewritten_question})"] if answer.rewritten_question else []
    lines.append(answer.text)
    if answer.nearest:
        lines += ["", *nearest_lines(answer)]
    if answer.citations:
        lines += ["", "Sources:"]
    sources = zip(source_lines(answer.citations), answer.citations, strict=True)
    return lines + [f"{line}: “{' '.join(one.quote.split())}”" for line, one in sources]


def answer_value(answer: Answer) -> AnswerResult:
    """Convert an answer to the tools' format."""
    return AnswerResult(
        answer=answer.text,
        rewritten_question=answer.rewritten_question,
        abstained=answer.abstained,
        mode=answer.mode,
        why_this_mode=answer.route.reason if answer.route is not None else "it was asked for",
        citations=answer.citations,
        nearest=answer.nearest,
    )


def recall(engine: KnowledgeEngine, wanted: RecallArguments, call: Call) -> Result:
    """Return what the user said before, best first, with the facts in it."""
    user = call.rights.memory("default").user
    found = engine.memory.search(user, wanted.query, top_k=wanted.top_k, topic=wanted.topic)
    facts = [
        fact
        for fact in engine.memory.facts(user)
        if any(
            fact.document_id == each.document_id and each.start <= fact.start < each.end
            for each in found
        )
    ]
    lines = [passage.text for passage in found]
    lines += [f"fact {fact.id} ({fact.kind}, {fact.valid_from}): {fact.text}" for fact in facts]
    value = Recalled(
        passages=tuple(_passage(one) for one in found),
        facts=tuple(
            FactResult(
                id=fact.id,
                kind=fact.kind,
                text=fact.text,
                valid_from=fact.valid_from,
                current=fact.superseded_by is None,
            )
            for fact in facts
        ),
    )
    recalled = "\n".join(lines) or "nothing was said about it"
    return Result.of([f"<recalled>\n{recalled}\n</recalled>"], value)


def remember(engine: KnowledgeEngine, wanted: RememberArguments, call: Call) -> Result:
    """Store what the user said."""
    memory = call.rights.memory(wanted.session)
    stored = engine.memory.remember(memory.user, [("user", wanted.text)], session=memory.session)
    return Result.of([f"{stored} messages remembered"], Remembered(stored=stored))


def forget(engine: KnowledgeEngine, wanted: ForgetArguments, call: Call) -> Result:
    """Forget a fact or a conversation of the user, for good."""
    user = call.rights.memory("default").user
    if (wanted.fact is None) == (wanted.session is None):
        raise QuestionError("forget: give either a fact or a session")
    engine.memory.forget(user, session=wanted.session, fact=wanted.fact)
    return Result.of(["forgotten"], Remembered(forgotten=True))


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
    value = text_window(engine, wanted.document_id, wanted.start, wanted.length, call)
    head = f"{value.title} ({value.document_id}, {value.start}–{value.end} of {value.total})"
    return Result.of([head, "", value.text], value)


def text_window(
    engine: KnowledgeEngine, document_id: str, start: int, length: int, call: Call
) -> ReadText:
    """Return a window of a visible document's text for the tools.

    Raises:
        UnknownName: there is none of this id, as far as this caller can know.
    """
    rights = call.rights
    known = engine.catalogue.document(document_id)
    found = engine.catalogue.window(document_id, start=start, end=start + length)
    if known is None or found is None or not rights.can_access(known.namespace):
        raise UnknownName(f"unknown document: {document_id!r}; `list_documents` shows the ids")
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


def add_text(engine: KnowledgeEngine, wanted: AddTextArguments, call: Call) -> Result:
    """Add a text as a document."""
    namespace = call.rights.home(call.namespace)
    document_id = wanted.document_id or _made_from(wanted.text)
    report = engine.add_text(
        wanted.text,
        document_id=document_id,
        title=wanted.title,
        metadata=_metadata(wanted.metadata),
        namespace=namespace,
        progress=call.progress,
    )
    return _result(report, call.rights)


def add_document(engine: KnowledgeEngine, wanted: AddDocumentArguments, call: Call) -> Result:
    """Add a file, a folder's files, or a web address."""
    namespace = call.rights.home(call.namespace)
    admitted = admitted_source(wanted.path, folders=call.folders)
    report = engine.add(
        admitted.source,
        include=admitted.include,
        metadata=_metadata(wanted.metadata),
        namespace=namespace,
        progress=call.progress,
    )
    return _result(report, call.rights)


def remove(engine: KnowledgeEngine, wanted: RemoveArguments, call: Call) -> Result:
    """Remove a document and everything derived from it alone."""
    rights = call.rights
    found = engine.catalogue.from_source(wanted.document_id)
    if not found or not all(rights.can_access(one.namespace) for one in found):
        raise UnknownName(
            f"unknown document: {wanted.document_id!r}; `list_documents` shows the ids"
        )
    for one in found:
        rights.home(one.namespace)
    return _result(engine.remove(wanted.document_id, progress=call.progress), rights)


def _made_from(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()
    return f"text-{digest[:16]}"


def _metadata(given: Metadata) -> Mapping[str, MetaValue] | None:
    if not given:
        return None
    return {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}


def _result(report: IngestReport, rights: Access) -> Result:
    """Return the result; raises `SourceError` if nothing was done."""
    if rights.reads is not None:
        report = without_addresses(report)
    failed = tuple(f"{one.source}: {one.reason}" for one in report.failed)
    done = report.added or report.changed or report.unchanged or report.removed
    if failed and not done:
        raise SourceError("; ".join(failed))
    value = Changed(
        added=report.added,
        changed=report.changed,
        unchanged=report.unchanged,
        removed=report.removed,
        failed=failed,
        partial=tuple(f"{one.source}: {one.reason}" for one in report.partial),
        notes=report.notes,
        pending_chunks=len(report.pending),
    )
    lines = [
        f"{what}: {', '.join(names)}"
        for what, names in (
            ("added", value.added),
            ("changed", value.changed),
            ("unchanged", value.unchanged),
            ("removed", value.removed),
            ("failed", value.failed),
            ("partial", value.partial),
            ("note", value.notes),
        )
        if names
    ]
    if value.pending_chunks:
        lines.append(f"{value.pending_chunks} chunks wait for a language model")
    return Result.of(lines or ["there was nothing to do"], value)


_writing = threading.Lock()
"""One tool writes at a time in this process; others wait for their turn."""


@dataclass(frozen=True)
class Tool:
    """Something that an agent can do.

    Args:
        name: as it is called.
        title: as people see it.
        description: for whoever chooses among tools.
        takes: its arguments, without a namespace.
        gives: the type of its result's value.
        work: does it.
        namespace: the field that says which namespace is meant; None where an id says it.
        writes: whether it changes the library.
        destroys: whether it takes something away.
        goes_out: whether it can fetch from the web.
        memory: whether it is about the user's memory; only who has one is offered it.
    """

    name: str
    title: str
    description: str
    takes: type[Arguments]
    gives: type[object]
    work: Callable[[KnowledgeEngine, Any, Call], Result]
    namespace: object | None = NAMESPACE
    writes: bool = False
    destroys: bool = False
    goes_out: bool = False
    memory: bool = False

    def is_offered(self, rights: Access) -> bool:
        """Check whether a caller may use it."""
        if self.memory:
            return bool(rights.user)
        return not self.writes or rights.writes is None or bool(rights.writes)

    @cached_property
    def arguments(self) -> type[Arguments]:
        """Its arguments with the namespace among them, where it takes one."""
        if self.namespace is None:
            return self.takes
        return create_model(
            self.takes.__name__,
            __base__=self.takes,
            __doc__=self.takes.__doc__,
            namespace=(str | None, self.namespace),
        )

    def arguments_schema(self, *, confined: bool) -> type[Arguments]:
        """Its arguments; whoever is confined to one namespace has none to choose."""
        return self.takes if confined else self.arguments

    @cached_property
    def _values(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.gives)

    @cached_property
    def result_schema(self) -> dict[str, Any]:
        """The JSON schema of its result's value, an object."""
        return self._values.json_schema(mode="serialization")

    def plain(self, result: Result) -> dict[str, Any]:
        """Convert a result's value to JSON types."""
        found: dict[str, Any] = self._values.dump_python(result.value, mode="json")
        return found

    def checked(self, given: Mapping[str, object], *, confined: bool) -> Arguments:
        """Validate the arguments of a call.

        Raises:
            QuestionError: one of them is unknown, missing, or not as it should be; in one line.
        """
        try:
            return self.arguments_schema(confined=confined).model_validate(given)
        except ValidationError as error:
            raise QuestionError(f"{self.name}: {_one_line(error)}") from error

    def run(self, engine: KnowledgeEngine, wanted: Arguments, call: Call) -> Result:
        """Do it; one that writes waits until no other does.

        Raises:
            EngineError: what came in the way, in one line.
        """
        if not self.writes:
            return self.work(engine, wanted, call)
        with _writing:
            return self.work(engine, wanted, call)


def _one_line(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    told = field_problems(problems, unknown="unknown argument")
    return "; ".join(f"{where}: {what}" for where, what in told)


TOOLS = (
    Tool(
        name="search",
        title="Search the documents",
        description=(
            "Find passages of the documents by words, meaning and links between names, best first. "
            "For reading the evidence yourself; `ask` answers."
        ),
        takes=SearchArguments,
        gives=FoundPassages,
        work=search,
    ),
    Tool(
        name="ask",
        title="Ask the library",
        description=(
            "Answer a question from the documents, every claim with a numbered citation, or say "
            "that they do not hold the answer (`abstained`)."
        ),
        takes=AskArguments,
        gives=AnswerResult,
        work=ask,
    ),
    Tool(
        name="explore_entity",
        title="Explore a person, place or thing",
        description=(
            "Look up a person, organisation, place or other named thing: its names, relations with "
            "the sentences that state them, and topics."
        ),
        takes=ExploreArguments,
        gives=ExploredEntity,
        work=explore_entity,
    ),
    Tool(
        name="explore_topics",
        title="Look at the table of contents",
        description=(
            "List the topics of the documents, or show one topic's report with sources. For "
            "learning what there is before asking."
        ),
        takes=TopicsArguments,
        gives=Topics,
        work=explore_topics,
    ),
    Tool(
        name="list_documents",
        title="List the documents",
        description="List documents with id, title, type, size and metadata.",
        takes=ListArguments,
        gives=ListedDocuments,
        work=list_documents,
    ),
    Tool(
        name="read_document",
        title="Read a document",
        description=(
            "Read a document's text, or a part of it: `start` and `end` of citations and passages "
            "are places in it."
        ),
        takes=ReadArguments,
        gives=ReadText,
        work=read_document,
        namespace=None,
    ),
    Tool(
        name="stats",
        title="Count what there is",
        description="Count documents, chunks, entities and so on.",
        takes=StatsArguments,
        gives=StatsResult,
        work=stats,
    ),
    Tool(
        name="add_text",
        title="Add a text",
        description="Add a text to the library; the same id later replaces it.",
        takes=AddTextArguments,
        gives=Changed,
        work=add_text,
        namespace=HOME,
        writes=True,
    ),
    Tool(
        name="add_document",
        title="Add files or a web page",
        description=(
            "Add a file, a folder's files or a web page: PDF, office files, Markdown, HTML, mail, "
            "tables, code, archives. Unchanged files cost nothing."
        ),
        takes=AddDocumentArguments,
        gives=Changed,
        work=add_document,
        namespace=HOME,
        writes=True,
        goes_out=True,
    ),
    Tool(
        name="remove",
        title="Remove a document",
        description="Remove a document for good, with all that only it said.",
        takes=RemoveArguments,
        gives=Changed,
        work=remove,
        namespace=None,
        writes=True,
        destroys=True,
    ),
    Tool(
        name="recall",
        title="Recall what the user said",
        description=(
            "Search what the user said in earlier conversations: preferences, facts about them, "
            "events. It is no evidence about documents."
        ),
        takes=RecallArguments,
        gives=Recalled,
        work=recall,
        namespace=None,
        memory=True,
    ),
    Tool(
        name="remember",
        title="Remember what the user said",
        description="Store something that the user said about themselves, in their own words.",
        takes=RememberArguments,
        gives=Remembered,
        work=remember,
        namespace=None,
        writes=True,
        memory=True,
    ),
    Tool(
        name="forget",
        title="Forget what the user said",
        description="Forget a fact or a whole conversation of the user, for good.",
        takes=ForgetArguments,
        gives=Remembered,
        work=forget,
        namespace=None,
        writes=True,
        destroys=True,
        memory=True,
    ),
)
"""All tools; read-only ones first."""
