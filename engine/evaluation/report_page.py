"""Evaluation report as one offline HTML page without any script.

A content security policy forbids every request and every script; the style is allowed by its hash.
All text is escaped. Questions open by `<details>`; bars and the scatter are drawn as SVG. Equal
reports give equal pages but for the block of times.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

MAX_TEXT_CHARACTERS = 6_000
"""Characters of an answer or source on the page; the rest is cut, and says so."""
MAX_DOCUMENTS = 100
_BAR = 220

Data = Mapping[str, Any]


def report_page(report: Data, *, comparison: Data | None = None, gates: Sequence[Data] = ()) -> str:
    """Return the page of a report's data, with its comparison and gates where there are any."""
    summary = report["summary"]
    parts = [
        _head(report),
        _gates(gates),
        _measures(summary["measures"]),
        _comparison(comparison) if comparison else "",
        _counts("Losses by stage", "stage", summary["stages"], summary["judged"]),
        _shares("By kind", "kind", summary["kinds"]),
        _shares("By document", "document", summary["documents"]),
        _abstention(summary),
        _questions(report["rows"]),
        _times(report["times"]),
    ]
    style = (resources.files(__package__) / "page" / "report.css").read_text(encoding="utf8")
    style = style.replace("\r\n", "\n")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Evaluation: {_text(report['label'])}</title>\n<style>{style}</style>\n</head>\n"
        "<body>\n" + "\n".join(part for part in parts if part) + "\n</body>\n</html>\n"
    )


def _text(value: object) -> str:
    """Return a text escaped, without control characters, cut to its limit."""
    text = str(value)
    plain = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    if len(plain) > MAX_TEXT_CHARACTERS:
        plain = f"{plain[:MAX_TEXT_CHARACTERS]}… ({len(plain):,} characters)"
    return escape(plain)


def _head(report: Data) -> str:
    summary = report["summary"]
    right, judged = summary["right"], summary["judged"]
    lines = [
        "<h1>Evaluation of answers</h1>",
        f'<p class="soft">{_text(report["label"])}: {summary["questions"]} questions, judged by '
        f"{_text(summary['judge'])}</p>",
        f"<p><strong>{right} of {judged}</strong> answers right; {summary['failed']} questions "
        "failed with an error and count as wrong.</p>",
    ]
    lines += [
        f"<p>The judge “{_text(one['judge'])}” agrees with {one['claims']} known verdicts: "
        f"κ {one['kappa']:.2f}, balanced accuracy {one['balanced_accuracy']:.2f}, "
        f"{one['unusable']} unusable.</p>"
        for one in summary["calibration"]
    ]
    twice = summary["judged_twice"]
    if twice["claims"]:
        lines.append(
            f"<p>{twice['claims']} claims were judged twice: {twice['agreement']:.0%} alike, "
            f"κ {twice['kappa']:.2f}.</p>"
        )
    return "\n".join(lines)


def _gates(gates: Sequence[Data]) -> str:
    rows = [
        f'<li class="{"good" if one["met"] else "bad"}">{"met" if one["met"] else "missed"}: '
        f"{_text(one['text'])}</li>"
        for one in gates
    ]
    return "<h2>Gates</h2>\n<ul>" + "".join(rows) + "</ul>" if rows else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "\n".join("<tr>" + "".join(row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>\n<tr>{heads}</tr>\n{body}\n</table></div>'


def _cell(value: object, *, number: bool = False) -> str:
    return f"<td{' class=n' if number else ''}>{_text(value)}</td>"


def _bar(mean: float, low: float, high: float) -> str:
    """Return a bar of a mean in [0, 1] with its interval as a line."""
    x, a, b = (round(_BAR * min(1.0, max(0.0, one)), 1) for one in (mean, low, high))
    return (
        f'<td><svg width="{_BAR}" height="14" role="img" aria-label="{mean:.3f}">'
        f'<rect class="track" width="{_BAR}" height="8" y="3"/>'
        f'<rect class="bar" width="{x}" height="8" y="3"/>'
        f'<line class="gap" x1="{a}" x2="{b}" y1="7" y2="7" stroke-width="2"/></svg></td>'
    )


def _measures(measures: Data) -> str:
    rows = [
        (
            _cell(name),
            _cell(f"{one['mean']:.3f}", number=True),
            _bar(one["mean"], one["low"], one["high"]),
            _cell(f"[{one['low']:.3f}, {one['high']:.3f}]", number=True),
            _cell(one["n"], number=True),
            _cell(one["unusable"] or "", number=True),
        )
        for name, one in measures.items()
    ]
    return "<h2>Measures</h2>\n" + _table(
        ("measure", "mean", "", "95 % interval", "questions", "unusable"), rows
    )


def _comparison(comparison: Data) -> str:
    rows = [
        (
            _cell(one["measure"]),
            _cell(f"{one['difference']:+.3f}", number=True),
            _cell(f"[{one['low']:+.3f}, {one['high']:+.3f}]", number=True),
            _cell("" if one["p_holm"] is None else f"{one['p_holm']:.3f}", number=True),
            _cell(f"±{one['detectable']:.3f} at n = {one['n']}", number=True),
            _cell(_verdict_of(one)),
        )
        for one in comparison["differences"]
    ]
    table = _table(
        ("measure", "difference", "95 % interval", "p (Holm)", "could have been seen", ""), rows
    )
    changed = len(comparison["changed"])
    return (
        f"<h2>Against {_text(comparison['against'])}</h2>\n{_scatter(comparison['points'])}\n"
        f"<p>{changed} of {comparison['questions']} questions changed between right and wrong."
        f"</p>\n{table}"
    )


def _verdict_of(difference: Data) -> str:
    if difference["p_holm"] is None:
        return ""
    return "clear" if difference["clear"] else "may be chance"


def _scatter(points: Data) -> str:
    """Return the correctness of each question before (across) and after (up)."""
    size, edge = 220, 28
    dots = "".join(
        f'<circle class="dot" r="4" cx="{edge + size * before:.1f}" '
        f'cy="{edge + size * (1 - after):.1f}"><title>{_text(name)}</title></circle>'
        for name, (before, after) in points.items()
    )
    far = edge + size
    return (
        f'<svg width="{far + edge}" height="{far + edge}" role="img" aria-label="before and after">'
        f'<rect class="axis" x="{edge}" y="{edge}" width="{size}" height="{size}" fill="none"/>'
        f'<line class="axis" x1="{edge}" y1="{far}" x2="{far}" y2="{edge}"/>{dots}'
        f'<text x="{edge}" y="{far + 18}">before →</text>'
        f'<text x="{edge}" y="{edge - 10}">after ↑ (correctness)</text></svg>'
    )


def _counts(title: str, name: str, counts: Data, total: int) -> str:
    rows = [
        (_cell(key), _cell(count, number=True), _bar(count / max(1, total), 0, 0))
        for key, count in counts.items()
    ]
    body = _table((name, "questions", ""), rows) if rows else "<p>No answer was lost.</p>"
    return f"<h2>{escape(title)}</h2>\n{body}"


def _shares(title: str, name: str, groups: Data) -> str:
    ranked = sorted(groups.items(), key=lambda one: (one[1]["right"] / one[1]["n"], one[0]))
    rows = [
        (
            _cell(key),
            _cell(f"{one['right']} of {one['n']}", number=True),
            _bar(one["right"] / one["n"], 0, 0),
        )
        for key, one in ranked[:MAX_DOCUMENTS]
    ]
    more = len(ranked) - MAX_DOCUMENTS
    rest = f'<p class="soft">and {more} more</p>' if more > 0 else ""
    return f"<h2>{escape(title)}</h2>\n{_table((name, 'right', ''), rows)}{rest}"


def _abstention(summary: Data) -> str:
    one = summary["abstention"]
    return (
        f"<h2>Declining</h2>\n<p>{one['declined']} declined, {one['unanswerable']} unanswerable: "
        f"precision {one['precision']:.2f}, recall {one['recall']:.2f}; area under risk–coverage "
        f"{one['risk_coverage']:.3f} (lower is better).</p>"
    )


def _questions(rows: Sequence[Data]) -> str:
    ordered = sorted(rows, key=lambda row: (bool(row["right"]), row["lost"], row["id"]))
    return "<h2>Questions</h2>\n" + "\n".join(_question(row) for row in ordered)


def _question(row: Data) -> str:
    state = "right" if row["right"] else row["lost"] or "not judged"
    if row["right"] and row["lost"]:
        state = row["lost"]
    colour = "good" if state == "right" else "bad"
    gold = row["gold"] or row["points"]
    measures = ", ".join(f"{name} {value:.2f}" for name, value in row["measures"].items())
    body = [
        f'<p class="soft">{_text(row["id"])} · {_text(row["kind"])} · {_text(row["mode"])}</p>',
        _listed("Expected", gold or ["to decline"]),
        f"<h3>Answer</h3><pre>{_text(row['error'] or row['answer'])}</pre>",
        _listed("Verdicts", [_verdict(one) for one in row["verdicts"]]),
        _listed("Citations", [_source(one) for one in row["citations"]]),
        _listed("Sources read", [_source(one) for one in row["passages"]]),
        _listed("Trace", row["trace"]),
        f"<h3>Measures</h3><p>{_text(measures)}</p>",
    ]
    return (
        f'<details id="{_text(row["id"])}"><summary>'
        f'<span class="tag {colour}">{_text(state)}</span> '
        f"{_text(row['text'])}</summary><div>{''.join(body)}</div></details>"
    )


def _verdict(one: Data) -> str:
    said = "supported" if one["supported"] else "not supported"
    why = f" – unusable: {one['unusable']}" if one["unusable"] else ""
    return f"{said} ({one['by']}){why}: {one['claim']}"


def _source(one: Data) -> str:
    return f"{one['document']}:{one['start']}–{one['end']}: {one['text']}"


def _listed(title: str, items: Sequence[object]) -> str:
    if not items:
        return ""
    return f"<h3>{title}</h3><ul>" + "".join(f"<li>{_text(one)}</li>" for one in items) + "</ul>"


def _times(times: Data) -> str:
    return (
        "<!-- times -->\n<h2>Times and cost</h2>\n"
        f"<p>p50 {times['p50_seconds']:.2f} s, p95 {times['p95_seconds']:.2f} s a question; "
        f"{times['tokens']:,} tokens, cost {times['cost']:.4f}.</p>"
    )
