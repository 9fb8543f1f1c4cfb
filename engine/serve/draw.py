"""Terminal output: rich on a terminal, JSON for programs.

Texts of documents are shown as they are: nothing in them is taken for colours, links or emoji, and
no control character of theirs reaches the terminal.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from .safe_text import safe_text
from .trace_lines import trace_lines

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ..index.library import DocumentRow
    from ..types import (
        Answer,
        Citation,
        Passage,
        Usage,
    )
    from .doctor import Finding

# Long lines are left to the terminal: a pipe gets them whole.
_out = Console(soft_wrap=True)
ERRORS = Console(soft_wrap=True, stderr=True)

STAGES = {
    "read": "Reading files",
    "embed": "Embedding chunks",
    "extract": "Extracting names",
    "resolve": "Resolving entities",
    "link": "Linking names",
    "cluster": "Clustering",
    "report": "Writing reports",
    "read with the model": "Reading with the model",
    "judge names": "Judging names",
    "summarise": "Summarising descriptions",
    "ask": "Asking questions",
}
EXCERPT_CHARACTERS = 300
NOT_UP_TO_DATE = "no: the next add or question sees to it"


def print_line(*parts: str | tuple[str, str], to: Console = _out, lines: bool = False) -> None:
    """Print texts, plain or styled, on one line or several."""
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    to.print(Text.assemble(*((safe_text(text, lines=lines), style) for text, style in pairs)))


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar per stage on stderr; yields `progress(stage, done, total)`.

    Off a terminal only the end is written, once.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bars = Progress(*columns, TimeElapsedColumn(), console=ERRORS)
    tasks: dict[str, TaskID] = {}
    before = ""

    def complete(stage: str) -> None:
        if stage in tasks:
            bars.update(tasks[stage], completed=bars.tasks[tasks[stage]].total)

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal before
        if not tasks:
            bars.start()
        if stage != before and before != "read":  # files are read while others are worked on
            complete(before)
        before = stage
        if stage not in tasks:
            tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total)
        bars.update(tasks[stage], completed=done, total=max(total, done))

    try:
        yield progress
        for stage in tasks:
            complete(stage)
    finally:
        if tasks:
            bars.stop()


def print_json(value: object) -> None:
    """Print a value as JSON; escaped where the encoding requires it."""
    text = json.dumps(value, ensure_ascii=not _holds_unicode(), indent=2, default=_plain)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()  # who follows a watching reads each report when it is there


def _holds_unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be printed as JSON")


def show_line(text: str) -> None:
    """One line on standard output."""
    print_line(text)


def show_error(message: str) -> None:
    """One line on standard error, whatever the message holds."""
    print_line((f"loregraph: {' '.join(message.split())}", "red"), to=ERRORS)


def show_failure(error: Exception, *, then: str = "") -> None:
    """Print a failure in one line: what happened, and what to do."""
    message = str(error)
    if isinstance(error, OSError):
        place = f"{str(error.filename)!r}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "; make room and run the same command again" if full else ""
        message = f"{place}{error.strerror or error}{advice}"
    show_error(f"{message} ({then})" if then else message)


def usage_line(usage: Usage) -> str:
    """Summarise LLM calls and cost in one line."""
    cost = f", {usage.cost:.4f} {usage.currency} by the price table" if usage.cost else ""
    kept = kept_by_provider(usage.cached_tokens)
    return (
        f"language model: {counted(usage.calls, 'call')}, {usage.prompt_tokens:,} tokens in{kept}, "
        f"{usage.completion_tokens:,} out{cost}"
    )


def kept_by_provider(tokens: int) -> str:
    """Describe prompt tokens that the provider cached; empty without any."""
    return f" ({tokens:,} of them kept by the provider)" if tokens else ""


def counted(number: int, word: str) -> str:
    """Return a count with its noun."""
    return f"1 {word}" if number == 1 else f"{number:,} {word}s"


def show_watching(sources: Sequence[str]) -> None:
    """Print that the command keeps watching."""
    print_line((f"watching {', '.join(sources)} (Ctrl-C ends)", "dim"), to=ERRORS)


def show_question(question: str) -> None:
    """Print a question that was not typed by the reader."""
    print_line("")
    print_line((f"? {question}", "bold"))


def show_answer(answer: Answer, *, explain: bool, as_json: bool) -> None:
    """Print an answer with its sources."""
    if as_json:
        print_json(answer)
        return
    if answer.short is not None and answer.short.is_likely:
        print_line((answer.short.text, "bold"), (f"  ({answer.short.confidence:.0%} sure)", "dim"))
    print_line(answer.text, lines=True)
    if answer.citations:
        _heading("Sources")
    for citation in answer.citations:
        print_line(f"  [{citation.number}] {citation.title} ({_place(citation)})")
    if answer.unchecked:
        print_line((f"not checked as asked for: {answer.unchecked}", "yellow"))
    print_line((_route(answer), "dim"))
    if answer.usage.calls:
        print_line((usage_line(answer.usage), "dim"))
    if explain:
        _show_trace(answer)
        if answer.passages:
            _heading("Passages")
            show_passages(answer.passages, explain=True, as_json=False)


def _heading(text: str) -> None:
    print_line("")
    print_line((text, "bold"))


def _place(source: Citation | Passage) -> str:
    page = f", p. {source.page}" if source.page else ""
    outside = "web: " if source.origin == "web" else ""
    return f"{outside}{source.document_id}{page}:{source.start}-{source.end}"


def _route(answer: Answer) -> str:
    reasons = (step.detail for step in answer.trace if step.stage == "route")
    return next(reasons, f"{answer.mode}: asked for")


def _show_trace(answer: Answer) -> None:
    _heading("How it was found")
    for line in trace_lines(answer.trace, width=_out.width):
        print_line((line.text, "dim" if line.quiet else ""))


def show_passages(passages: Sequence[Passage], *, explain: bool, as_json: bool) -> None:
    """Passages, best first; with `explain` what each list gave, and the path."""
    if as_json:
        print_json(list(passages))
        return
    if not passages:
        print_line("nothing found")
    for number, passage in enumerate(passages, 1):
        title, place = f"{number}. {passage.title}", f" ({_place(passage)})"
        print_line((title, "bold"), place, f"  relevance {passage.relevance:.2f}")
        excerpt = " ".join(passage.text.split())
        cut = "…" if len(excerpt) > EXCERPT_CHARACTERS else ""
        print_line(f"   {excerpt[:EXCERPT_CHARACTERS]}{cut}")
        if explain:
            lists = ", ".join(f"{name} {value:.3f}" for name, value in passage.scores.items())
            print_line((f"   {lists}", "dim"))
            print_line((f"   {' '.join(passage.path)}", "dim"))


RARE = ("outdated", "claims", "partial", "pending", "unreadable", "written_reports")
"""Counts that are shown only where they are not 0."""


def size_in_words(count: int) -> str:
    """Format a size in bytes: `36 kB`, `2.5 MB`."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{-(-count // 1000):,} kB"


def show_stats(
    stats: dict[str, Any], documents: Sequence[DocumentRow] | None, *, as_json: bool
) -> None:
    """Print counts, and documents on request."""
    if as_json:
        listed = {} if documents is None else {"documents_listed": list(documents)}
        print_json(stats | listed)
        return
    shown = {name: f"{value:,}" for name, value in stats.items() if value or name not in RARE} | {
        "size_bytes": size_in_words(stats["size_bytes"]),
        "up_to_date": "yes" if stats["up_to_date"] else NOT_UP_TO_DATE,
    }
    for name, value in shown.items():
        print_line(f"{name.removesuffix('_bytes').replace('_', ' '):<17}{value}")
    for document in documents or ():
        state = ("  outdated", "yellow") if document.outdated else ""
        print_line(f"  {document.id}", (f"  {document.title}", "dim"), state)


def show_findings(findings: Sequence[Finding]) -> None:
    """Print the findings of `doctor`, one line each."""
    sound, problem = ("✓", "✗") if _holds_unicode() else ("+", "x")
    for finding in findings:
        mark = (sound, "green")
        if finding.is_lack:
            mark = ("!", "yellow")
        if finding.is_problem:
            mark = (problem, "red")
        print_line(mark, f" {finding.text}")
