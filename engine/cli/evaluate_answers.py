"""`loregraph eval make`, `answers`, `export` and `import`: answers on one's own documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .session import LibraryOption, ModeOption, ProfileOption, opened

if TYPE_CHECKING:
    from ..evaluation.answers import AnswerReport, Judge
    from ..evaluation.gold import GoldQuestion


def make(
    out: Annotated[Path, typer.Option(help="The .jsonl file to write.")],
    size: Annotated[int, typer.Option(help="How many questions.", min=1, max=2_000)] = 80,
    seed: Annotated[int, typer.Option(help="Another seed draws other questions.")] = 20240601,
    reworded: Annotated[
        bool, typer.Option("--reword", help="Have the model reword them, and answer back.")
    ] = False,
    library: LibraryOption = Path("library"),
    profile: ProfileOption = None,
) -> None:
    """Make questions with exact gold spans from the library's own documents, by rules."""
    from ..evaluation.gold import write_gold
    from ..evaluation.questions.make import make_gold
    from .rendering import progress_bars

    with opened(library, profile, asks_models=reworded) as engine, progress_bars() as progress:
        made = make_gold(engine, size=size, seed=seed, reworded=reworded, progress=progress)
    write_gold(out, made.questions)
    with_spans = sum(bool(one.query.gold_spans) for one in made.questions)
    typer.echo(
        f"{len(made.questions)} questions in {out} (of {made.candidates} candidates); BM25 finds "
        f"{made.easy} of {with_spans} with gold at rank 1"
    )
    kinds = Counter((one.kind, one.language) for one in made.questions)
    for (kind, language), count in sorted(kinds.items()):
        typer.echo(f"  {kind:14}{language:4}{count:4}")
    for note in made.notes:
        typer.echo(note, err=True)


GATE_MISSED = 4
"""Exit code where a gate is missed."""
QueriesOption = Annotated[Path, typer.Option(help="A .jsonl file of gold questions.")]


def answers(
    queries: QueriesOption,
    judge: Annotated[
        Literal["rules", "model", "both"],
        typer.Option(metavar="<judge>", help="rules, model, or both."),
    ] = "rules",
    against: Annotated[
        Path | None, typer.Option(help="An earlier report (.json), or a second profile (.yaml).")
    ] = None,
    gate: Annotated[
        Path | None, typer.Option(help="A .yaml file of measures and the least they must reach.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML page.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON.")
    ] = None,
    mode: ModeOption = "auto",
    library: LibraryOption = Path("library"),
    profile: ProfileOption = None,
) -> None:
    """Measure answers to gold questions, and the stage at which each wrong one was lost.

    Exits with 4 where a gate is missed.
    """
    from ..evaluation.answers import compare_reports
    from ..evaluation.exchange import read_report
    from ..evaluation.gate import check_gates, read_gates
    from ..evaluation.gold import read_gold

    questions = read_gold(queries)
    gates = read_gates(gate) if gate is not None else {}
    is_report = against is not None and against.suffix.lower() == ".json"
    before = read_report(against) if against is not None and is_report else None
    if against is not None and not is_report:
        before = _evaluated(library, against, questions, judge, mode, label=str(against)).data()
    report = _evaluated(library, profile, questions, judge, mode, label="as set")
    comparison = compare_reports(report, before) if before is not None else None
    checked = check_gates(gates, report.means, comparison=comparison)
    data = report.data()
    if comparison is not None:
        data["comparison"] = {key: one for key, one in comparison.items() if key != "points"}
    if checked:
        data["gates"] = [asdict(one) for one in checked]
    if json_file is not None:
        text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
        json_file.write_text(text + "\n", encoding="utf8")
    if html is not None:
        from ..evaluation.report_page import report_page

        page = report_page(data, comparison=comparison, gates=data.get("gates", ()))
        html.write_text(page, encoding="utf8")
    _show(data, comparison)
    if not all(one.met for one in checked):
        raise typer.Exit(GATE_MISSED)


def _evaluated(
    library: Path,
    profile: Path | None,
    questions: Sequence[GoldQuestion],
    judge: Judge,
    mode: str,
    *,
    label: str,
) -> AnswerReport:
    from ..evaluation.answers import evaluate_answers
    from .rendering import progress_bars

    with opened(library, profile) as engine, progress_bars() as progress:
        return evaluate_answers(
            engine, questions, judge=judge, mode=mode, label=label, progress=progress
        )


def _show(data: Mapping[str, Any], comparison: Mapping[str, Any] | None) -> None:
    """Print the table of a report, its losses, comparison and gates."""
    from .rendering import safe_text

    summary = data["summary"]
    for one in summary["calibration"]:
        typer.echo(
            f"judge {one['judge']}: κ {one['kappa']:.2f}, balanced accuracy "
            f"{one['balanced_accuracy']:.2f} on {one['claims']} claims with known verdicts"
        )
    twice = summary["judged_twice"]
    if twice["claims"]:
        typer.echo(f"{twice['claims']} claims judged twice: {twice['agreement']:.0%} alike")
    typer.echo(
        f"{summary['right']} of {summary['judged']} answers right, {summary['failed']} failed "
        f"({summary['questions']} questions)"
    )
    typer.echo(f"\n{'':28}{'mean':>8}{'95 %':>18}{'n':>6}{'unusable':>10}")
    for name, one in summary["measures"].items():
        interval = f"[{one['low']:.3f}, {one['high']:.3f}]"
        typer.echo(
            f"{name:28}{one['mean']:8.3f}{interval:>18}{one['n']:6}{one['unusable'] or '':>10}"
        )
    if summary["stages"]:
        lost = ", ".join(f"{stage} {count}" for stage, count in summary["stages"].items())
        typer.echo(f"\nlost at: {lost}")
    one = summary["abstention"]
    typer.echo(
        f"declined {one['declined']} ({one['unanswerable']} unanswerable): precision "
        f"{one['precision']:.2f}, recall {one['recall']:.2f}"
    )
    times = data["times"]
    typer.echo(
        f"p50 {times['p50_seconds']:.2f} s, p95 {times['p95_seconds']:.2f} s; "
        f"{times['tokens']:,} tokens, cost {times['cost']:.4f}"
    )
    if comparison is not None:
        _show_comparison(comparison)
    for one in data.get("gates", ()):
        typer.echo(safe_text(f"gate {'met' if one['met'] else 'MISSED'}: {one['text']}"))


def _show_comparison(comparison: Mapping[str, Any]) -> None:
    typer.echo(f"\nagainst {comparison['against']}, {comparison['questions']} questions in common")
    for one in comparison["differences"]:
        interval = f"[{one['low']:+.3f}, {one['high']:+.3f}]"
        note = ""
        if one["p_holm"] is not None:
            note = f"  p {one['p_holm']:.3f}" + ("" if one["clear"] else "   may be chance")
        typer.echo(f"{one['measure']:28}{one['difference']:+8.3f}{interval:>18}{note}")
    first = next(iter(comparison["differences"]), None)
    for one in comparison["differences"]:
        first = one if one["measure"] == "answer score" else first
    if first is not None:
        typer.echo(
            f"with {first['n']} questions a difference of ±{first['detectable']:.3f} of "
            f"{first['measure']!r} could have been seen"
        )


def export_gold(
    report: Annotated[Path, typer.Argument(help="A report of `eval answers --json`.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    form: Annotated[
        Literal["ragas", "deepeval", "llamaindex"],
        typer.Option("--format", metavar="<format>", help="ragas, deepeval or llamaindex."),
    ] = "ragas",
) -> None:
    """Write a report's questions, answers and contexts as other tools read them."""
    from ..evaluation.exchange import export_report, read_report

    data = read_report(report)
    out.write_text(export_report(data, form), encoding="utf8")
    typer.echo(f"{len(data['rows'])} questions in {out}")


def import_gold(
    source: Annotated[Path, typer.Argument(help="A BEIR folder, or a .json, .jsonl or .csv file.")],
    out: Annotated[Path, typer.Option(help="The .jsonl file of gold questions to write.")],
    corpus: Annotated[
        Path | None, typer.Option(help="Also write the documents, as JSON Lines.")
    ] = None,
) -> None:
    """Read questions of BEIR, SQuAD, HotpotQA or RAGAS files as gold questions."""
    from ..evaluation.exchange import import_questions, write_corpus
    from ..evaluation.gold import write_gold

    found = import_questions(source)
    write_gold(out, found.questions)
    typer.echo(f"{len(found.questions)} questions of {found.form} in {out}")
    if corpus is not None:
        write_corpus(corpus, found.corpus)
        typer.echo(f"{len(found.corpus)} documents in {corpus}")


def review(
    queries: Annotated[Path, typer.Argument(help="A .jsonl file of gold questions; it is edited.")],
    port: Annotated[int, typer.Option(help="A port of this machine; 0: any free one.")] = 0,
    library: LibraryOption = Path("library"),
    profile: ProfileOption = None,
) -> None:
    """Accept, edit or drop questions beside their sources, on a local page by keyboard."""
    from ..errors import UnknownName
    from ..evaluation.gold import read_gold
    from ..evaluation.review import Review, review_server

    questions = read_gold(queries)
    with opened(library, profile, asks_models=False) as engine:
        held = {row.id for row in engine.documents()}

        def text_of(name: str) -> str:
            if name not in held:
                raise KeyError(name)
            try:
                return engine.document_text(name)
            except UnknownName as error:
                raise KeyError(name) from error

        reviewed = Review(queries, questions, text_of=text_of)
        server, address = review_server(reviewed, port=port)
        typer.echo(f"open {address} in a browser; end with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            accepted, dropped, left = reviewed.counts()
            typer.echo(f"\n{accepted} accepted, {dropped} dropped, {left} open in {queries}")
        finally:
            server.server_close()
