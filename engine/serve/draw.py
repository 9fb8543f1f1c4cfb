"""What the command line shows: text and bars by rich on a terminal, JSON for programs.

Texts of documents are shown as they are: nothing in them is taken for colours, links or emoji, and
no control character of theirs reaches the terminal.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from ..index.library import DocumentRow
    from ..types import Answer, Citation, IngestReport, Passage
    from .doctor import Finding

# Long lines are left to the terminal: a pipe gets them whole.
_out = Console(highlight=False, emoji=False, soft_wrap=True)
_err = Console(highlight=False, emoji=False, soft_wrap=True, stderr=True)

STAGES = {
    "read": "Reading files",
    "embed": "Embedding chunks",
    "extract": "Extracting names",
    "resolve": "Resolving entities",
    "link": "Linking names",
    "cluster": "Clustering",
    "report": "Writing reports",
}
EXCERPT_CHARACTERS = 300
NOT_UP_TO_DATE = "no: the next add or question sees to it"
_CONTROL = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_LINE = _CONTROL | {ord("\n"): "�", ord("\t"): "�"}


def _text(text: str) -> str:
    return escape(text.translate(_CONTROL))


def _line(text: str) -> str:
    return escape(text.translate(_LINE))


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """A bar a stage on standard error; what it yields is `progress(stage, done, total)`.

    Off a terminal only the end is written, once.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=_err) as bars:
        tasks: dict[str, Any] = {}
        before = ""

        def complete(stage: str) -> None:
            if stage in tasks:
                bars.update(tasks[stage], completed=bars.tasks[tasks[stage]].total)

        def progress(stage: str, done: int, total: int) -> None:
            nonlocal before
            if stage != before and before != "read":  # files are read while others are worked on
                complete(before)
            before = stage
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=max(total, done))

        yield progress
        for stage in tasks:
            complete(stage)


def print_json(value: object) -> None:
    """A value as JSON on standard output; escaped where the output cannot hold all characters."""
    is_unicode = "utf" in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, ensure_ascii=not is_unicode, indent=2, default=_plain)
    sys.stdout.write(text + "\n")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be printed as JSON")


def show_error(message: str) -> None:
    """One line on standard error, whatever the message holds."""
    _err.print(f"[red]loregraph: {escape(' '.join(message.split()).translate(_LINE))}[/red]")


def show_report(report: IngestReport, *, as_json: bool) -> None:
    """What an `add` or `remove` did; what failed goes to standard error, a line each."""
    if as_json:
        print_json(report)
        return
    words = ("added", "changed", "unchanged", "removed", "failed")
    counts = [f"{len(found)} {word}" for word in words if (found := getattr(report, word))]
    if report.chunks:
        counts.append(f"{report.chunks} chunks")
    slowest = sorted(report.seconds.items(), key=lambda item: -item[1])
    times = ", ".join(f"{stage} {value:.1f} s" for stage, value in slowest if value >= 0.05)
    _out.print(f"[bold]{', '.join(counts) or 'nothing to do'}[/bold]{f' ({times})' * bool(times)}")
    for note in report.notes:
        _out.print(f"  note: {_line(note)}")
    for failure in report.failed:
        _err.print(f"  [red]failed[/red] {_line(failure.source)}: {_line(failure.reason)}")


def show_question(question: str) -> None:
    """A question that was not typed by who reads the answer."""
    _out.print(f"\n[bold]? {_line(question)}[/bold]")


def show_answer(answer: Answer, *, explain: bool, as_json: bool) -> None:
    """An answer with its sources."""
    if as_json:
        print_json(answer)
        return
    _out.print(_text(answer.text))
    if answer.citations:
        _out.print("\n[bold]Sources[/bold]")
    for citation in answer.citations:
        mark = escape(f"[{citation.number}]")
        _out.print(f"  {mark} {_line(citation.title)} ({_place(citation)})")
    _out.print(f"[dim]{_line(_route(answer))}[/dim]")
    if explain:
        _show_trace(answer)
        show_passages(answer.passages, explain=True, as_json=False)


def _place(source: Citation | Passage) -> str:
    page = f", p. {source.page}" if source.page else ""
    return f"{_line(source.document_id)}{page}:{source.start}-{source.end}"


def _route(answer: Answer) -> str:
    reasons = (step.detail for step in answer.trace if step.stage == "route")
    return next(reasons, f"{answer.mode}: asked for")


def _show_trace(answer: Answer) -> None:
    _out.print("\n[bold]How it was found[/bold]")
    for step in answer.trace:
        figures = ", ".join(f"{name} {value:.3g}" for name, value in step.figures.items())
        detail = _line(step.detail) + f" ({figures})" * bool(figures)
        _out.print(f"  {_line(step.stage):<14}{step.seconds * 1000:>7.0f} ms  {detail}")
    if answer.passages:
        _out.print("\n[bold]Passages[/bold]")


def show_passages(passages: Sequence[Passage], *, explain: bool, as_json: bool) -> None:
    """Passages, best first; with `explain` what each list gave, and the path."""
    if as_json:
        print_json(list(passages))
        return
    if not passages:
        _out.print("nothing found")
    for number, passage in enumerate(passages, 1):
        _out.print(
            f"[bold]{number}. {_line(passage.title)}[/bold] ({_place(passage)})  "
            f"relevance {passage.relevance:.2f}"
        )
        excerpt = " ".join(passage.text.split())
        cut = "…" * (len(excerpt) > EXCERPT_CHARACTERS)
        _out.print(f"   {_line(excerpt[:EXCERPT_CHARACTERS])}{cut}")
        if explain:
            lists = ", ".join(f"{name} {value:.3f}" for name, value in passage.scores.items())
            _out.print(f"   [dim]{lists}[/dim]")
            _out.print(f"   [dim]{_line(' '.join(passage.path))}[/dim]")


def show_stats(
    stats: dict[str, Any], documents: Sequence[DocumentRow] | None, *, as_json: bool
) -> None:
    """Counts, and the documents where asked for."""
    if as_json:
        listed = {} if documents is None else {"documents_listed": list(documents)}
        print_json(stats | listed)
        return
    shown = {name: f"{value:,}" for name, value in stats.items() if type(value) is int}
    shown["size"] = f"{stats['size_bytes'] / 1e6:.1f} MB"
    shown["up to date"] = (
        "yes" if stats["up_to_date"] else "no: the next add or question sees to it"
    )
    del shown["size_bytes"]
    for name, value in shown.items():
        _out.print(f"{name:<13}{value}")
    for document in documents or ():
        _out.print(f"  {_line(document.id)}  [dim]{_line(document.title)}[/dim]")


def show_findings(findings: Sequence[Finding]) -> None:
    """What `doctor` found, a line each."""
    for finding in findings:
        mark = "[green]✓[/green]"
        if finding.is_lack:
            mark = "[yellow]![/yellow]"
        if finding.is_problem:
            mark = "[red]✗[/red]"
        _out.print(f"{mark} {_line(finding.text)}")
