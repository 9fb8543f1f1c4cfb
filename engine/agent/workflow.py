"""LlamaIndex workflow of agentic search, for deciders of one's own.

The same steps as `run_agent`: decide, act, until a stop rule or the decider ends it. The limits
stand outside the decider here too.
"""

from __future__ import annotations

import asyncio
import time

from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from ..types import Answer
from .rules import decide_by_rules
from .runner import AgentTools, Decide, finish, next_action, take_action
from .state import AskClarification, DirectAnswer, Limits, Search, State


class Decided(Event):
    """A search that was decided on, in a state."""

    state: State
    action: Search


class Found(Event):
    """State after a round, or the first one."""

    state: State


class SearchWorkflow(Workflow):
    """Answers a question in rounds: `await workflow.run(question=…)` returns an `Answer`.

    Args:
        tools: the searches; `KnowledgeEngine.as_workflow` gives those of a library.
        decide: state to the next action; by default rules.
        limits: rounds and seconds of one question.
        timeout: seconds after which LlamaIndex ends a run; None never does.
    """

    def __init__(
        self,
        tools: AgentTools,
        *,
        decide: Decide = decide_by_rules,
        limits: Limits | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(timeout=timeout)
        self._tools = tools
        self._decide = decide
        self._limits = limits or Limits()

    @step
    async def begin(self, event: StartEvent) -> Found:
        """Begin with nothing found."""
        return Found(state=self._tools.begin(str(event.question)))

    @step
    async def decide(self, event: Found) -> Decided | StopEvent:
        """Decide on the next search, or end with an answer."""
        state = event.state
        action = await asyncio.to_thread(next_action, state, self._decide, self._limits)
        if isinstance(action, DirectAnswer | AskClarification):
            answer: Answer = await asyncio.to_thread(finish, state, action, self._tools)
            return StopEvent(result=answer)
        return Decided(state=state, action=action)

    @step
    async def act(self, event: Decided) -> Found:
        """Make the search, or read what was found."""
        begun = time.monotonic()
        finding = await asyncio.to_thread(take_action, event.action, self._tools, event.state)
        seconds = event.state.seconds + time.monotonic() - begun
        return Found(state=event.state.after(finding, seconds=seconds, tokens=event.state.tokens))
