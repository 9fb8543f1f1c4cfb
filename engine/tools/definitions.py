"""The tools: their names, what they are for, and which function does the work.

One list for every protocol. The descriptions are written for models that choose among tools.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError, create_model

from ..errors import QuestionError
from . import reading, writing
from .call import Call, Result
from .values import (
    HOME,
    NAMESPACE,
    AddDocumentArguments,
    AddTextArguments,
    AnswerResult,
    Arguments,
    AskArguments,
    Changed,
    ExploreArguments,
    ExploredEntity,
    FoundPassages,
    ListArguments,
    ListedDocuments,
    ReadArguments,
    ReadText,
    RemoveArguments,
    SearchArguments,
    StatsArguments,
    StatsResult,
    Topics,
    TopicsArguments,
)

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine

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
    told = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(str(part) for part in problem["loc"])
        what = "unknown argument" if problem["type"] == "extra_forbidden" else problem["msg"]
        told.append(f"{where}: {what.removeprefix('Value error, ')}")
    return "; ".join(told)


TOOLS = (
    Tool(
        name="search",
        title="Search the documents",
        description=(
            "Find passages in the library's documents. Combines words, meaning and links between "
            "names, so it also finds what is said in several steps across documents. Gives the "
            "text of each passage with its document and place, best first. Use it to read the "
            "evidence yourself; use `ask` for an answer with citations."
        ),
        takes=SearchArguments,
        gives=FoundPassages,
        work=reading.search,
    ),
    Tool(
        name="ask",
        title="Ask the library",
        description=(
            "Answer a question from the library's documents. Every claim has a numbered citation "
            "whose quote stands in a document; where the documents do not hold the answer, it "
            "says so (`abstained`). Works for facts and for questions about the whole collection."
        ),
        takes=AskArguments,
        gives=AnswerResult,
        work=reading.ask,
    ),
    Tool(
        name="explore_entity",
        title="Explore a person, place or thing",
        description=(
            "Look up a person, organisation, place, event or other named thing: all its names, "
            "sentences that name it, its relations to other things with the sentences that state "
            "them, and the groups of things it belongs to. With `related_to`, also how the two "
            "are connected, step by step. A misspelt name is answered with the nearest ones."
        ),
        takes=ExploreArguments,
        gives=ExploredEntity,
        work=reading.explore_entity,
    ),
    Tool(
        name="explore_topics",
        title="Look at the table of contents",
        description=(
            "The library's topics: groups of people, places and things that belong together, from "
            "wide (level 0) to narrow, found in the documents themselves. With `topic_id`, one "
            "topic's report: what the documents say about it, every finding with its source. Use "
            "it to learn what a library is about before asking."
        ),
        takes=TopicsArguments,
        gives=Topics,
        work=reading.explore_topics,
    ),
    Tool(
        name="list_documents",
        title="List the documents",
        description="List the library's documents by id with title, type, size and metadata.",
        takes=ListArguments,
        gives=ListedDocuments,
        work=reading.list_documents,
    ),
    Tool(
        name="read_document",
        title="Read a document",
        description=(
            "Read the text of a document, whole or a part of it: a citation's or a passage's "
            "`start` and `end` are places in this text."
        ),
        takes=ReadArguments,
        gives=ReadText,
        work=reading.read_document,
        namespace=None,
    ),
    Tool(
        name="stats",
        title="Count what there is",
        description="How many documents, chunks, entities and so on the library holds.",
        takes=StatsArguments,
        gives=StatsResult,
        work=reading.stats,
    ),
    Tool(
        name="add_text",
        title="Add a text",
        description=(
            "Add a text (a note, a result, a page that you hold) to the library, so that it is "
            "found and cited from now on. The same id later replaces it."
        ),
        takes=AddTextArguments,
        gives=Changed,
        work=writing.add_text,
        namespace=HOME,
        writes=True,
    ),
    Tool(
        name="add_document",
        title="Add files or a web page",
        description=(
            "Read a file, the files of a folder, or a web page into the library: PDF, office "
            "files, Markdown, HTML, mail, tables, code, archives and more. Files must lie in a "
            "folder that was allowed. What is unchanged costs nothing; what changed is replaced."
        ),
        takes=AddDocumentArguments,
        gives=Changed,
        work=writing.add_document,
        namespace=HOME,
        writes=True,
        goes_out=True,
    ),
    Tool(
        name="remove",
        title="Remove a document",
        description="Remove a document from the library for good, with all that only it said.",
        takes=RemoveArguments,
        gives=Changed,
        work=writing.remove,
        namespace=None,
        writes=True,
        destroys=True,
    ),
)
"""All tools; read-only ones first."""
