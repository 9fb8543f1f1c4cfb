"""Terminal output of ingestion: reports and estimates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..types import EMPTY
from .draw import ERRORS, counted, kept_by_provider, print_json, print_line, usage_line

if TYPE_CHECKING:
    from ..types import Estimate, IngestReport, PendingChunk, SourceFailure, StageUsage

_OF_ONE_CALL = re.compile(r"\d[\d,.]*(?= of | are spent|; raise)")
UNREADABLE = "unreadable by this model, and not asked about again"
DONE = ("added", "changed", "unchanged", "removed")
NAMES_OF_A_PLAN = 20


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
    times = ", ".join(f"{stage} {value:.1f} s" for stage, value in slowest if value >= 0.05)
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
    """Print failed sources with reasons to stderr."""
    for failure in failures:
        if failure.is_empty:
            reason = failure.reason.removeprefix(f"{EMPTY}: ")
            print_line("  ", ("empty", "yellow"), f" {failure.source}: {reason}", to=ERRORS)
        else:
            print_line("  ", ("failed", "red"), f" {failure.source}: {failure.reason}", to=ERRORS)


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
        ", cost not known: a model has no price" if cost is None else _cost(cost, estimate.currency)
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
        cost = "" if each.cost is None else _cost(each.cost, each.currency)
        failed = f", {each.failed} failed" if each.failed else ""
        basis = f" – {each.basis}" if each.basis else ""
        print_line(f"  {name}: {_sum_line([each])}{cost}{failed}{basis}")


def _cost(value: float, currency: str) -> str:
    return f", cost {value:.4f} {currency}" if value else ", free"


def _sum_line(stages: Sequence[StageUsage]) -> str:
    calls = sum(each.calls for each in stages)
    tokens_in = sum(each.prompt_tokens for each in stages)
    tokens_out = sum(each.completion_tokens for each in stages)
    kept = kept_by_provider(sum(each.cached_tokens for each in stages))
    return f"{counted(calls, 'call')}, {tokens_in:,} tokens in{kept}, {tokens_out:,} out"


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
    """What came of every source, as JSON: outcome and, where it is not there, the reason.

    Outcomes: added, changed, unchanged, removed, empty, failed, outdated, passed over. What is
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
        {"source": each.source, "outcome": "passed over", "reason": each.reason}
        for each in report.passed_over
    ]
    rows += [
        {"source": each.source, "outcome": "partial", "reason": each.reason}
        for each in report.partial
    ]
    rows.sort(key=lambda row: (row["source"], row["outcome"]))
    counts = Counter(row["outcome"] for row in rows)
    value = {"counts": dict(sorted(counts.items())), "notes": report.notes, "sources": rows}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
