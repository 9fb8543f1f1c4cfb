"""Terminal output of answers, passages, traces, reports and estimates; JSON for programs.

Texts of documents are shown as they are: nothing in them is taken for colours, links or emoji, and
no control character of theirs reaches the terminal.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..events import AnswerEvent, Event, PassagesEvent, RouteEvent, StepEvent, TokensEvent
from ..plain_text import nearest_lines, place_of, source_lines
from ..types import EMPTY, Answer, TraceStep

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ..storage.library import DocumentRow
    from ..types import (
        Estimate,
        IngestReport,
        Passage,
        PendingChunk,
        SourceFailure,
        StageUsage,
        Usage,
    )

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
        if step.usage.calls or step.usage.cached_calls:
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
        return "cache hit, no tokens"
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


_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Unseen characters that turn the order of what follows."""
_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\N{REPLACEMENT CHARACTER}") | {
    code: f"\\u{code:04x}" for code in _DIRECTIONS
}
_CONTROL[0x0D] = ""  # of the line ends of another system
_CONTROL_BUT_LINES = {code: mark for code, mark in _CONTROL.items() if chr(code) not in "\n\t"}


def safe_text(text: str, *, lines: bool = False) -> str:
    """Escape a text for the terminal, on one line or with its `lines`."""
    return text.translate(_CONTROL_BUT_LINES if lines else _CONTROL)


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
    "reword": "Rewording",
}
_DERIVED = frozenset({"resolve", "link", "cluster", "report"})
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
    before, idle = "", False

    def complete(stage: str) -> None:
        if stage in tasks:
            bars.update(tasks[stage], completed=bars.tasks[tasks[stage]].total)

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal before, idle
        if not tasks:
            idle = idle or (stage == "read" and not total)
            if not total or (idle and stage in _DERIVED):
                return  # nothing was read: what follows from it changes nothing
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
    text = json.dumps(
        value, ensure_ascii=not _holds_unicode(), indent=2, default=dataclasses.asdict
    )
    sys.stdout.write(text + "\n")
    sys.stdout.flush()  # who follows a watching reads each report when it is there


def _holds_unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


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
    cached = cached_by_provider(usage.cached_tokens)
    return (
        f"language model: {counted(usage.calls, 'call')}, {usage.prompt_tokens:,} tokens in"
        f"{cached}, {usage.completion_tokens:,} out{cost}"
    )


def cached_by_provider(tokens: int) -> str:
    """Describe prompt tokens that the provider cached; empty without any."""
    return f" ({tokens:,} of them cached by the provider)" if tokens else ""


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
    """Print an answer with its sources on the terminal."""
    if as_json:
        print_json(answer)
        return
    show_reply(answer)
    print_line((_route(answer), "dim"))
    if answer.usage.calls:
        print_line((usage_line(answer.usage), "dim"))
    if explain:
        _show_trace(answer)
        if answer.passages:
            _heading("Passages")
            show_passages(answer.passages, explain=True, as_json=False)


def show_reply(answer: Answer) -> None:
    """Print the answer, what is nearest where there is none, its sources, and what to doubt."""
    if answer.short is not None and answer.short.is_confident:
        print_line((answer.short.text, "bold"), (f"  ({answer.short.confidence:.0%} sure)", "dim"))
    print_line(answer.text, lines=True)
    for line in ["", *nearest_lines(answer)] if answer.nearest else []:
        print_line(line)
    if answer.citations:
        _heading("Sources")
    for line in source_lines(answer.citations):
        print_line(f"  {line}")
    if unchecked := sum(claim.unchecked for claim in answer.claims):
        print_line((f"{unchecked} of {len(answer.claims)} claim(s) not checked", "yellow"))
    if answer.unchecked:
        print_line((f"not checked as asked for: {answer.unchecked}", "yellow"))


def _heading(text: str) -> None:
    print_line("")
    print_line((text, "bold"))


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
        title, place = f"{number}. {passage.title}", f" ({place_of(passage)})"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line. `is_lack`: it works with less; `is_problem`: something must be done."""

    text: str
    is_lack: bool = False
    is_problem: bool = False


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


_OF_ONE_CALL = re.compile(r"\d[\d,.]*(?= of | are spent|; raise)")
UNREADABLE = "unreadable by this model, and not asked about again"
DONE = ("added", "changed", "unchanged", "removed")
NAMES_OF_A_PLAN = 20
NAMES_OF_A_REASON = 3
SHORTEST_SECONDS, SHORTEST_IDLE_SECONDS = 0.05, 1.0
"""Stages shorter than this are not shown; where nothing changed, a busy machine decides more."""


def show_report(report: IngestReport, *, as_json: bool, planned: bool = False) -> None:
    """Print the result of an `add`, `sync` or `remove`; failures go to stderr."""
    if as_json:
        print_json(report)
        return
    counts = [f"{len(found)} {word}" for word in DONE if (found := getattr(report, word))]
    empty = sum(failure.is_empty for failure in report.failed)
    failed = len(report.failed) - empty
    others = (
        (empty, "empty"),
        (failed, "failed"),
        (len(report.partial), "partial"),
        (len(report.outdated), "outdated"),
    )
    counts += [f"{count} {word}" for count, word in others if count]
    if report.chunks:
        counts.append(counted(report.chunks, "chunk"))
    slowest = sorted(report.seconds.items(), key=lambda item: -item[1])
    least = SHORTEST_SECONDS if report.chunks or report.removed else SHORTEST_IDLE_SECONDS
    times = ", ".join(f"{stage} {value:.1f} s" for stage, value in slowest if value >= least)
    said = ", ".join(counts) or "nothing to do"
    print_line((f"would be: {said}" if planned else said, "bold"), f" ({times})" if times else "")
    if planned:
        _show_plan(report)
    for note in report.notes:
        print_line(f"  note: {note}")
    if report.usage.calls:
        print_line(f"  {usage_line(report.usage)}")
    _show_pending(report)
    for document in report.partial:
        print_line("  ", ("partial", "yellow"), f" {document.source}: {document.reason}", to=ERRORS)
    _show_failed(report.failed)
    for each in report.outdated:
        print_line("  ", ("outdated", "yellow"), f" {each.source}: {each.reason}", to=ERRORS)
    if report.outdated:
        print_line("  `--strict` removes what is outdated", to=ERRORS)


def _show_failed(failures: Sequence[SourceFailure]) -> None:
    """Print failed sources to stderr, many with one reason on one line."""
    groups: dict[str, list[SourceFailure]] = {}
    for failure in failures:
        groups.setdefault(failure.reason, []).append(failure)
    for reason, group in groups.items():
        word = ("empty", "yellow") if group[0].is_empty else ("failed", "red")
        said = reason.removeprefix(f"{EMPTY}: ")
        names = [failure.source for failure in group]
        if len(names) > NAMES_OF_A_REASON:
            more = f" and {len(names) - NAMES_OF_A_REASON} more (--json lists all)"
            shown = ", ".join(names[:NAMES_OF_A_REASON])
            print_line("  ", word, f" {len(names)} sources: {said}: {shown}{more}", to=ERRORS)
            continue
        for name in names:
            print_line("  ", word, f" {name}: {said}", to=ERRORS)


def by_reason(pending: Sequence[PendingChunk]) -> list[tuple[str, int]]:
    """Why chunks are pending and how many for that, most first.

    Reasons that differ in what a single call would have taken count as one.
    """
    groups: dict[str, list[str]] = {}
    for each in pending:
        groups.setdefault(_OF_ONE_CALL.sub("", each.reason), []).append(each.reason)
    reasons = [(group[0], len(group)) for group in groups.values()]
    return sorted(reasons, key=lambda pair: (-pair[1], pair[0]))


def _show_pending(report: IngestReport) -> None:
    """Why chunks were not read, one line a reason."""
    for word, unread, advice in (
        ("pending", "not read by the model yet", "the next run of `loregraph add` goes on with"),
        ("unreadable", UNREADABLE, "`loregraph add --retry` asks it again about"),
    ):
        chunks = [each for each in report.pending if each.unreadable == (word == "unreadable")]
        for reason, count in by_reason(chunks):
            are = "1 chunk is" if count == 1 else f"{count} chunks are"
            print_line("  ", (word, "yellow"), f" {are} {unread}: {reason}", to=ERRORS)
        if chunks:
            print_line(f"  {advice} {'it' if len(chunks) == 1 else 'them'}", to=ERRORS)


def show_estimate(estimate: Estimate, *, as_json: bool) -> None:
    """Print the cost estimate by stage."""
    if as_json:
        print_json(estimate)
        return
    documents, chunks = counted(estimate.documents, "document"), counted(estimate.chunks, "chunk")
    print_line((f"{documents}, {chunks} to read", "bold"))
    show_stages(estimate.stages)
    cost = estimate.cost
    total = (
        ", cost not known: a model has no price"
        if cost is None
        else _ingest_cost(cost, estimate.currency)
    )
    if estimate.stages:
        print_line(f"  in all {_sum_line(estimate.stages)}{total}")
    else:
        print_line("  no language model is asked: it costs nothing")
    for note in estimate.notes:
        print_line(f"  note: {note}")
    _show_failed(estimate.failed)


def show_stages(stages: Sequence[StageUsage]) -> None:
    """Print one line per stage: calls, tokens, cost and the basis of an estimate."""
    for each in stages:
        name = " ".join(part for part in (each.day, each.stage, f"({each.model})") if part)
        cost = "" if each.cost is None else _ingest_cost(each.cost, each.currency)
        failed = f", {each.failed} failed" if each.failed else ""
        basis = f" – {each.basis}" if each.basis else ""
        print_line(f"  {name}: {_sum_line([each])}{cost}{failed}{basis}")


def _ingest_cost(value: float, currency: str) -> str:
    return f", cost {value:.4f} {currency}" if value else ", free"


def _sum_line(stages: Sequence[StageUsage]) -> str:
    calls = sum(each.calls for each in stages)
    tokens_in = sum(each.prompt_tokens for each in stages)
    tokens_out = sum(each.completion_tokens for each in stages)
    cached = cached_by_provider(sum(each.cached_tokens for each in stages))
    return f"{counted(calls, 'call')}, {tokens_in:,} tokens in{cached}, {tokens_out:,} out"


def show_usage(rows: Sequence[StageUsage], *, as_json: bool) -> None:
    """Print the LLM usage so far."""
    if as_json:
        print_json(list(rows))
    elif rows:
        show_stages(rows)
        print_line(f"  in all {_sum_line(rows)}")
    else:
        print_line("no language model was asked yet")


def _show_plan(report: IngestReport) -> None:
    for word in ("added", "changed", "removed"):
        found = getattr(report, word)
        for name in found[:NAMES_OF_A_PLAN]:
            print_line(f"  {word} {name}")
        if len(found) > NAMES_OF_A_PLAN:
            print_line(f"  {word} … and {len(found) - NAMES_OF_A_PLAN} more (--json lists all)")


def report_by_source(report: IngestReport) -> str:
    """Return the outcome of every source as JSON, with reasons.

    Outcomes: added, changed, unchanged, removed, empty, failed, outdated, skipped. What is
    added, changed or unchanged and stored only in part is partial as well, in a row of its own.
    """
    rows = [{"source": name, "outcome": word} for word in DONE for name in getattr(report, word)]
    rows += [
        {"source": each.source, "outcome": "outdated", "reason": each.reason}
        for each in report.outdated
    ]
    settled = {row["source"]: row for row in rows}
    rows += [
        {
            "source": failure.source,
            "outcome": "empty" if failure.is_empty else "failed",
            "reason": failure.reason,
        }
        for failure in report.failed
        if failure.source not in settled
    ]
    for failure in report.failed:
        settled.get(failure.source, {}).setdefault("reason", failure.reason)
    rows += [
        {"source": each.source, "outcome": "skipped", "reason": each.reason}
        for each in report.skipped
    ]
    rows += [
        {"source": each.source, "outcome": "partial", "reason": each.reason}
        for each in report.partial
    ]
    rows.sort(key=lambda row: (row["source"], row["outcome"]))
    counts = Counter(row["outcome"] for row in rows)
    value = {"counts": dict(sorted(counts.items())), "notes": report.notes, "sources": rows}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


LINES = 12
"""Number of trailing lines shown."""
_PER_SECOND = 12


def stderr_is_tty() -> bool:
    """Check whether stderr is a terminal."""
    return Console(stderr=True).is_terminal


def render_stream(
    events: Generator[Event], console: Console | None = None, *, visible: bool = True
) -> Answer:
    """Return the final answer of a stream, displayed as it arrives where that is `visible`.

    The stream is read to its end: its thread still writes the log and ends spans after the answer,
    and would die with the process. Where this is interrupted the work is given up.
    """
    console = console or Console(stderr=True, quiet=not visible)
    picture = _Picture(console.width)
    answer: Answer | None = None
    with (
        closing(events),
        Live(console=console, transient=True, refresh_per_second=_PER_SECOND) as live,
    ):
        for event in events:
            if isinstance(event, AnswerEvent):
                answer = event.answer
            else:
                picture.note(event)
                live.update(picture.drawn())
    if answer is None:
        raise AssertionError("a stream ends in an answer or an error")
    return answer


class _Picture:
    def __init__(self, width: int) -> None:
        self._width = max(20, width - 1)
        self._said = ""
        self._doing = "looking"

    def note(self, event: Event) -> None:
        match event:
            case RouteEvent(route=route):
                self._doing = f"{route.mode}: {route.reason}"
            case StepEvent(step=step):
                self._doing = f"{step.stage}: {step.detail}"
            case PassagesEvent(passages=passages):
                self._doing = f"reading {len(passages)} passages"
            case TokensEvent(text=text):
                self._said += text
            case _:
                pass

    def drawn(self) -> Text:
        """Return the lines to draw: the latest text, or the current stage."""
        if not self._said:
            doing = textwrap.shorten(safe_text(self._doing), self._width, placeholder="…")
            return Text(doing, style="dim", no_wrap=True)
        lines = [
            line
            for whole in safe_text(self._said[-LINES * self._width :], lines=True).split("\n")
            for line in textwrap.wrap(whole, self._width) or [""]
        ]
        return Text("\n".join(lines[-LINES:]))
