"""What the command line shows: tables and bars by rich on a terminal, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from ..index.library import DocumentRow
    from ..types import Answer, IngestReport, Passage
    from .doctor import Finding

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False)

STAGES = {
    "read": "Reading files",
    "embed": "Embedding chunks",
    "extract": "Extracting names and relations",
    "store": "Storing documents",
    "resolve": "Resolving entities",
    "link": "Linking names",
    "cluster": "Clustering communities",
    "report": "Writing community reports",
}


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """A bar a stage on standard error; what it yields is `progress(stage, done, total)`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=_err) as bars:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=max(total, 1))

        yield progress


def as_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]
    sys.stdout.write(json.dumps(plain, ensure_ascii=False, indent=2, default=_plain) + "\n")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be printed as JSON")


def show_report(report: IngestReport, *, as_json: bool) -> None:
    """What an `add` or `remove` did."""
    if as_json:
        globals()["as_json"](report)
        return
    counts = [
        f"{len(ids)} {word}"
        for word in ("added", "changed", "unchanged", "removed")
        if (ids := getattr(report, word))
    ]
    seconds = ", ".join(f"{stage} {value:.1f} s" for stage, value in report.seconds.items())
    _out.print(
        f"[bold]{', '.join(counts) or 'nothing to do'}[/bold]"
        + (f" ({seconds})" if seconds else "")
    )
    for note in report.notes:
        _out.print(f"  note: {escape(note)}")
    for failure in report.failed:
        _out.print(f"  [red]failed[/red] {escape(failure.source)}: {escape(failure.reason)}")


def show_answer(answer: Answer, *, explain: bool, as_json: bool) -> None:
    """An answer with its sources."""
    if as_json:
        globals()["as_json"](answer)
        return
    _out.print(escape(answer.text))
    if answer.citations:
        _out.print("\n[bold]Sources[/bold]")
    for citation in answer.citations:
        page = f", p. {citation.page}" if citation.page else ""
        place = f"{citation.document_id}{page}:{citation.start}-{citation.end}"
        _out.print(
            f"  [{citation.number}] ".replace("[", r"\[") + escape(f"{citation.title} ({place})")
        )
    _out.print(f"[dim]{answer.mode} · {escape(_route(answer))}[/dim]")
    if explain:
        _show_trace(answer)
        show_passages(answer.passages, explain=True, as_json=False)


def _route(answer: Answer) -> str:
    return next((step.detail for step in answer.trace if step.stage == "route"), "")


def _show_trace(answer: Answer) -> None:
    table = Table("stage", "what", "ms", "figures", title="Trace", title_justify="left")
    for step in answer.trace:
        figures = ", ".join(f"{name} {value:.3g}" for name, value in step.figures.items())
        table.add_row(step.stage, escape(step.detail), f"{step.seconds * 1000:.1f}", figures)
    _out.print(table)


def show_passages(passages: Sequence[Passage], *, explain: bool, as_json: bool) -> None:
    """Passages, best first; with `explain` what each list gave, and the path."""
    if as_json:
        globals()["as_json"](list(passages))
        return
    if not passages:
        _out.print("nothing found")
    for number, passage in enumerate(passages, 1):
        page = f", p. {passage.page}" if passage.page else ""
        place = f"{passage.document_id}{page}:{passage.start}-{passage.end}"
        _out.print(
            f"[bold]{number}. {escape(passage.title)}[/bold]  {escape(place)}  "
            f"relevance {passage.relevance:.2f}"
        )
        excerpt = " ".join(passage.text.split())
        _out.print("   " + escape(excerpt[:300] + ("…" if len(excerpt) > 300 else "")))
        if explain:
            lists = ", ".join(f"{name} {value:.3f}" for name, value in passage.scores.items())
            _out.print(f"   [dim]{lists}[/dim]")
            _out.print(f"   [dim]path: {escape(' '.join(passage.path))}[/dim]")


def show_stats(stats: dict[str, Any], documents: Sequence[DocumentRow], *, as_json: bool) -> None:
    """Counts, and the documents where asked for."""
    if as_json:
        listed = {"documents_listed": list(documents)} if documents else {}
        globals()["as_json"](stats | listed)
        return
    table = Table(show_header=False, box=None)
    for name, value in stats.items():
        table.add_row(name.replace("_", " "), escape(str(value)))
    _out.print(table)
    for document in documents:
        _out.print(f"  {escape(document.id)}  [dim]{escape(document.title)}[/dim]")


def show_findings(findings: Sequence[Finding]) -> None:
    """What `doctor` found, a line each."""
    for finding in findings:
        mark = (
            "[red]✗[/red]"
            if finding.is_problem
            else "[yellow]![/yellow]"
            if finding.is_lack
            else "[green]✓[/green]"
        )
        _out.print(f"{mark} {escape(finding.text)}")
