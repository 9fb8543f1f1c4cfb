"""`loregraph demo`: the sample corpus indexed, asked and drawn."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SourceError
from .options import LibraryOption
from .session import reading, writing

DEMO_QUESTIONS = (
    "Which ship laid the LANTERN cable, and when?",
    "What conflicts run through these documents, and over what?",
)


def demo(
    corpus: Annotated[Path, typer.Option(help="The documents to index.")] = Path("data/corpus"),
    library: LibraryOption = Path("demo-library"),
    page: Annotated[Path, typer.Option(help="Where the graph page goes.")] = Path("graph.html"),
) -> None:
    """Index the sample corpus, ask two questions, draw the graph."""
    from .draw import show_answer, show_question
    from .draw_adding import show_report

    if not corpus.exists():
        raise SourceError(
            f"no sample corpus at {str(corpus)!r}: run it in the folder of the loregraph sources, "
            "or name a folder with --corpus"
        )
    with writing(library, None, create=True) as (engine, progress):
        report = engine.add([corpus], progress=progress)
    show_report(report, as_json=False, planned=False)
    with reading(library, None) as engine:
        for question in DEMO_QUESTIONS:
            show_question(question)
            show_answer(engine.ask(question), explain=False, as_json=False)
        engine.export_graph(page)
    command = "loregraph" if shutil.which("loregraph") else sys.argv[0]
    typer.echo(f"\nThe graph of the sample corpus: {page.resolve()} (open it in a browser)")
    typer.echo(f'Ask more: {command} ask "…" --library {library}')
