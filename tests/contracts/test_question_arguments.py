"""One signature for asking and retrieving: Python, REST, MCP and the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer.main
from pydantic import ValidationError

from engine.api.schemas import AskRequest, RetrieveRequest
from engine.cli.main import app
from engine.engine import KnowledgeEngine
from engine.errors import QuestionError
from engine.tools.definitions import TOOLS
from engine.tools.schemas import AskArguments, SearchArguments

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def of_python(method: Callable[..., object]) -> set[str]:
    return set(inspect.signature(method).parameters) - {"self"}


def of_mcp(name: str) -> set[str]:
    """The arguments of a tool, whose `query` is a `question` elsewhere."""
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    return {"question" if field == "query" else field for field in tool.arguments.model_fields}


def of_command(name: str) -> set[str]:
    return {parameter.name for parameter in COMMANDS[name].params}


def test_asking_takes_the_same_arguments_everywhere() -> None:
    names = of_python(KnowledgeEngine.ask)
    assert names == {"question", "mode", "effort", "filters", "namespace", "history", "memory"}
    for method in (KnowledgeEngine.aask, KnowledgeEngine.stream, KnowledgeEngine.astream):
        assert of_python(method) == names
    plain = names - {"memory"}  # in Python a user and a session; a token has its user
    assert set(AskRequest.model_fields) - plain == {"stream", "explain", "session", "user"}
    assert set(AskRequest.model_fields) >= plain
    assert of_mcp("ask") == plain | {"session"}
    assert of_command("ask") >= plain | {"session", "user"}


def test_retrieving_takes_the_same_arguments_everywhere() -> None:
    names = of_python(KnowledgeEngine.retrieve)
    assert names == {"question", "top_k", "min_relevance", "filters", "namespace"}
    assert of_python(KnowledgeEngine.aretrieve) == names
    assert set(RetrieveRequest.model_fields) == names
    assert of_mcp("search") == names
    assert of_command("search") >= names


@pytest.mark.parametrize("model", [AskRequest, RetrieveRequest, AskArguments, SearchArguments])
def test_query_is_accepted_for_question_over_rest_and_mcp(model: Any) -> None:
    assert model.model_validate({"query": "Who?"}) == model.model_validate({"question": "Who?"})
    with pytest.raises(ValidationError, match="are the same argument; give one"):
        model.model_validate({"query": "Who?", "question": "Who?"})
    shown = model.model_json_schema()["properties"].keys()
    assert len({"query", "question"} & shown) == 1


def test_query_is_accepted_for_question_in_python(tmp_path: Any) -> None:
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        engine.add_text("Ada Marsh founded the station in 1901.", document_id="note")
        question = "Who founded the station?"
        assert engine.ask(query=question).text == engine.ask(question).text
        assert engine.retrieve(query=question) == engine.retrieve(question=question)
        with pytest.raises(QuestionError, match="are the same argument; give one"):
            engine.ask(question, query=question)
        with pytest.raises(QuestionError, match=r"^ask: question is None; give a text$"):
            engine.ask(None)  # type: ignore[arg-type]
