"""Decisions by a model, through the gateway; what it may not do is refused, and rules decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..concurrency import run_with_timeout
from ..errors import ModelError
from ..llm.client import LLMClient
from ..prompts import language_of, stage_prompt
from ..verification.llm_judge import read_object
from .rules import decide_by_rules
from .state import (
    Action,
    AskClarification,
    DirectAnswer,
    SearchKnowledge,
    SearchMemory,
    SearchWeb,
    State,
    is_repeated,
)

if TYPE_CHECKING:
    from ..storage.graph_api import Prompt

MAX_REPLY_CHARACTERS = 4_000
MAX_TEXT_CHARACTERS = 300
_SHOWN_PREFERENCES = 1_000
_SHOWN_PASSAGES, _SHOWN_CHARACTERS, _SHOWN_TURNS = 5, 400, 3
_SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "reason": {"type": "string"},
        "params": {"type": "object"},
    },
    "required": ["action", "params"],
}


def decide_by_model(
    client: LLMClient, *, max_seconds: float | None = None
) -> Callable[[State], Action]:
    """Return the decider that asks a model once a round after the first search.

    It waits for the model no longer than what is left of `max_seconds`; then rules decide.
    """

    def decide(state: State) -> Action:
        ruled = decide_by_rules(state)
        if not state.findings:
            return ruled  # greetings, sums, and the search that every question has
        left = None if max_seconds is None else max(0.0, max_seconds - state.seconds)
        try:
            reply = run_with_timeout(
                left, lambda: client.ask(agent_prompt(state), stage="agent", keep=True).text
            )
        except (ModelError, TimeoutError):
            return ruled
        return read_action(reply, state) or ruled

    return decide


def agent_prompt(state: State) -> Prompt:
    """Build the prompt: the last turns, what was found and tried, and the user's preferences."""
    shown = [
        f"[{n}] {passage.title}: {passage.text[:_SHOWN_CHARACTERS]}"
        for n, passage in enumerate(
            (each for finding in state.findings for each in finding.passages[:_SHOWN_PASSAGES]), 1
        )
    ]
    wishes = [f"The user prefers: {' | '.join(state.preferences)}"[:_SHOWN_PREFERENCES]]
    tried = "Tried: " + " | ".join(action.query for action in state.tried)
    earlier = "\n".join(
        f"{turn.question[:_SHOWN_CHARACTERS]} → {turn.answer[:_SHOWN_CHARACTERS]}"
        for turn in state.turns[-_SHOWN_TURNS:]
    )
    return stage_prompt(
        "agent",
        language=language_of(state.question),
        context="\n\n".join((*shown, *(wishes if state.preferences else ()), tried)),
        question=state.question,
        max_output_tokens=200,
        schema=_SCHEMA,
        earlier=earlier,
        actions=", ".join(_offered(state)),
    )


def read_action(reply: str, state: State) -> Action | None:
    """Parse a model's decision; None where it is invalid, repeated, or not offered."""
    if len(reply) > MAX_REPLY_CHARACTERS:
        return None
    found = read_object(reply)
    name, params = found.get("action"), found.get("params")
    if not isinstance(name, str) or name not in _offered(state):
        return None
    given = params if isinstance(params, Mapping) else {}
    reason = _text(found.get("reason"))
    if name == "direct_answer":
        return DirectAnswer(reason=reason)  # its text is written from sources alone
    if name == "ask_clarification":
        said = _text(given.get("question"))
        return AskClarification(question=said, reason=reason) if said else None
    query = _text(given.get("query"))
    action = _SEARCHES[name](query=query, reason=reason)
    return action if query and not is_repeated(action, state.tried) else None


_SEARCHES: dict[str, type[SearchKnowledge] | type[SearchWeb] | type[SearchMemory]] = {
    "search_knowledge": SearchKnowledge,
    "search_web": SearchWeb,
    "search_memory": SearchMemory,
}


def _offered(state: State) -> list[str]:
    offered = ["search_knowledge", "ask_clarification", "direct_answer"]
    offered += ["search_memory"] if state.has_memory else []
    return offered + (["search_web"] if state.has_web else [])


def _text(given: object) -> str:
    text = " ".join(given.split()) if isinstance(given, str) else ""
    return text if len(text) <= MAX_TEXT_CHARACTERS else ""
