"""An answer's trace in lines, so that one can see where it went wrong.

Pure: steps and a width to lines; who prints them, others know.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..types import TraceStep

STAGE_CHARACTERS = 14
INDENT = " " * (STAGE_CHARACTERS + 14)
_LEAST_CHARACTERS = 30


@dataclass(frozen=True, slots=True)
class TraceLine:
    """A line; `quiet` ones say what a stage took and gave."""

    text: str
    quiet: bool = False


def trace_lines(trace: Sequence[TraceStep], *, width: int) -> Iterator[TraceLine]:
    """Format the trace: name, milliseconds, summary and figures for each stage.

    What a stage takes is left out where it is what the stage before took; `width` bounds lines
    of what stages took and gave.
    """
    took = ""
    for step in trace:
        figures = [f"{name} {value:.4g}" for name, value in step.figures.items()]
        if step.usage.calls or step.usage.kept:
            figures.append(_cost(step))
        said = f"{step.detail} ({', '.join(figures)})" if figures else step.detail
        yield TraceLine(f"  {step.stage:<{STAGE_CHARACTERS}}{step.seconds * 1000:>7.0f} ms  {said}")
        if step.input and step.input != took:
            yield from _quiet("in:  ", step.input, width)
        if step.output:
            yield from _quiet("out: ", step.output, width)
        took = step.input or took


def _cost(step: TraceStep) -> str:
    if not step.usage.calls:
        return "kept reply, no tokens"
    cost = f", cost {step.usage.cost:.4f} {step.usage.currency}" if step.usage.cost else ""
    return f"{step.usage.prompt_tokens:,} tokens in, {step.usage.completion_tokens:,} out{cost}"


def _quiet(name: str, text: str, width: int) -> Iterator[TraceLine]:
    lines = textwrap.wrap(
        text,
        max(width, len(INDENT) + len(name) + _LEAST_CHARACTERS),
        initial_indent=INDENT + name,
        subsequent_indent=INDENT + " " * len(name),
        break_on_hyphens=False,
    )
    yield from (TraceLine(line, quiet=True) for line in lines)
