"""`loregraph eval`: retrieval over a corpus, as a table or JSON; its other commands beside it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import LibraryNotFound, SourceError
from .evaluate_answers import answers, export_gold, import_gold, make, review
from .session import JsonOption, ProfileOption, command_group

if TYPE_CHECKING:
    from ..config import Settings
    from ..engine import KnowledgeEngine
    from ..evaluation import Comparison, EvaluationQuery, RetrievalReport, StageTime
    from ..types import IngestReport

    Progress = Callable[[str, int, int], None]

eval_app = command_group()

LABEL_WIDTH = 18


@eval_app.callback()
def root() -> None:
    """Measure retrieval and answers (`loregraph eval`)."""


@eval_app.command()
def retrieval(
    queries: Annotated[
        Path,
        typer.Option(help="A .jsonl file of {id, text, gold_ids} or {id, text, gold_spans}."),
    ],
    corpus: Annotated[
        Path | None, typer.Option(help="A .jsonl file of {id, title, text}, or a folder.")
    ] = None,
    library: Annotated[
        Path | None,
        typer.Option(
            "--library", "-l", help="A library to search, or to make; none: a temporary one, kept."
        ),
    ] = None,
    profile: ProfileOption = None,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Gold by question: a file of judgements, as BEIR's or TREC's."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="A second profile to compare with, paired by question.")
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also without each list, and by other fusions.")
    ] = False,
    top: Annotated[int, typer.Option(help="How many results are judged.", min=1, max=100)] = 10,
    json_output: JsonOption = False,
) -> None:
    """Evaluate recall, precision, MRR, nDCG and stage times on questions with gold."""
    from ..config import Settings
    from ..evaluation import compare_evaluations, evaluate_retrieval, read_judgements, read_queries
    from .rendering import print_json, progress_bars

    asked = read_queries(queries, judgements=None if qrels is None else read_judgements(qrels))
    settings = Settings.load(profile)
    tried = [("as set", settings), *_tried(settings, against=against, ablate=ablate)]
    places = [_place(corpus, library, each, like=settings) for _, each in tried]
    filled: dict[Path, IngestReport] = {}
    reports: list[RetrievalReport] = []
    with progress_bars() as progress:

        def asking(stage: str, done: int, total: int) -> None:
            progress(stage, len(reports) * total + done, len(tried) * total)

        for place, (label, each) in zip(places, tried, strict=True):
            with _opened(place, corpus, each, filled=filled, progress=progress) as engine:
                reports.append(
                    evaluate_retrieval(engine, asked, top=top, label=label, progress=asking)
                )
    comparisons = [compare_evaluations(report, reports[0]) for report in reports[1:]]
    _tell_failures(filled.values())
    if json_output:
        print_json({"reports": reports, "comparisons": comparisons})
        return
    _show(asked, reports, comparisons)


def _tried(
    settings: Settings, *, against: Path | None, ablate: bool
) -> Iterator[tuple[str, Settings]]:
    from ..config import Settings
    from ..evaluation.retrieval import ablations

    if against is not None:
        yield str(against), Settings.load(against)
    if ablate:
        yield from ablations(settings)


def _place(
    corpus: Path | None, library: Path | None, settings: Settings, *, like: Settings
) -> Path:
    from ..evaluation.datasets import check_corpus, index_stamp, library_for

    if library is not None:
        if index_stamp(settings) != index_stamp(like):
            raise SourceError(
                "the two profiles index in different ways: one library cannot serve both; "
                "leave --library out and name a --corpus"
            )
        if corpus is not None:
            check_corpus(corpus)
        return library
    if corpus is None:
        raise SourceError("no corpus to search: name a --corpus, or an existing --library")
    return library_for(corpus, settings)


@contextmanager
def _opened(
    place: Path,
    corpus: Path | None,
    settings: Settings,
    *,
    filled: dict[Path, IngestReport],
    progress: Progress,
) -> Iterator[KnowledgeEngine]:
    """Open an engine over the corpus, adding missing documents once."""
    from ..engine import KnowledgeEngine
    from ..evaluation.datasets import add_corpus

    with KnowledgeEngine.open(place, settings=settings, create=corpus is not None) as engine:
        if corpus is not None and place not in filled:
            filled[place] = add_corpus(engine, corpus, progress=progress)
        if not engine.stats()["documents"]:
            raise LibraryNotFound(f"library is empty: {str(place)!r}; name a --corpus")
        yield engine


def _show(
    asked: tuple[EvaluationQuery, ...],
    reports: list[RetrievalReport],
    comparisons: list[Comparison],
) -> None:
    first = reports[0]
    typer.echo(f"{len(asked)} questions over {first.chunks:,} chunks, the first {first.top} judged")
    if first.unknown:
        typer.echo(
            f"gold documents that are not in the library, and count as not found: "
            f"{len(first.unknown)}, such as {first.unknown[0]!r}"
        )
    names = sorted(first.means, key=_figure_order)
    width = _label_width(reports)
    for some in _rows_that_fit(names, width):
        typer.echo("\n" + " " * width + "".join(f"{name:>9}" for name in some))
        for report in reports:
            cells = "".join(f"{report.means[name]:9.3f}" for name in some)
            typer.echo(f"{_short(report.label, width)}{cells}")
    _show_gains(comparisons, names=_headline(first), width=width)
    typer.echo(f"\n{'milliseconds':{width}}{'median':>9}{'p95':>9}{'CPU':>9}")
    for time in first.stages[:-1]:
        _show_time(time, time.stage, width)
    _show_time(first.stages[-1], first.stages[-1].stage, width, cpu_seconds=first.cpu_seconds)
    for report in reports[1:]:
        _show_time(report.stages[-1], report.label, width, cpu_seconds=report.cpu_seconds)


def _tell_failures(reports: Iterable[IngestReport]) -> None:
    """Print unreadable corpus documents to stderr; their gold cannot be found."""
    for report in reports:
        for failure in report.failed:
            typer.echo(f"not in the library: {failure.source}: {failure.reason}", err=True)


def _figure_order(name: str) -> tuple[int, int]:
    kind, _, at = name.partition("@")
    return ("R", "all", "nDCG", "P", "MRR").index(kind), int(at or 0)


def _show_time(
    time: StageTime, label: str, width: int, *, cpu_seconds: float | None = None
) -> None:
    middle, late = 1000 * time.median_seconds, 1000 * time.p95_seconds
    mean = "" if cpu_seconds is None else f"{1000 * cpu_seconds:9.1f}"
    typer.echo(f"{_short(label, width)}{middle:9.1f}{late:9.1f}{mean}")


def _show_gains(comparisons: list[Comparison], *, names: list[str], width: int) -> None:
    for comparison in comparisons:
        typer.echo(f"\n{comparison.label} − {comparison.against}")
        if all(gain.is_nil for gain in comparison.gains.values()):
            typer.echo(f"{'':{width}}  the same in every figure")
            continue
        for name in names:
            gain = comparison.gains[name]
            note = "" if gain.is_clear else "   may be chance"
            typer.echo(
                f"{name:>{width}}{gain.mean:+9.3f}  95 % [{gain.low:+.3f}, {gain.high:+.3f}]{note}"
            )


def _headline(report: RetrievalReport) -> list[str]:
    at = sorted({min(5, report.top), report.top})
    return [*(f"R@{k}" for k in at), f"nDCG@{report.top}", f"all@{at[0]}", "MRR"]


def _rows_that_fit(names: list[str], width: int) -> Iterator[list[str]]:
    fit = max(4, (shutil.get_terminal_size().columns - width) // 9)
    for start in range(0, len(names), fit):
        yield names[start : start + fit]


def _label_width(reports: list[RetrievalReport]) -> int:
    return max(LABEL_WIDTH, *(min(32, len(report.label) + 2) for report in reports))


def _short(label: str, width: int) -> str:
    kept = label if len(label) < width else f"…{label[-width + 2 :]}"
    return f"{kept:{width}}"


eval_app.command("make")(make)
eval_app.command("review")(review)
eval_app.command("answers")(answers)
eval_app.command("export")(export_gold)
eval_app.command("import")(import_gold)
