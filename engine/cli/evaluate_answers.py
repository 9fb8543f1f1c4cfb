"""`loregraph eval make`: questions with gold from the library's own documents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from .session import LibraryOption, ProfileOption, opened


def make(
    out: Annotated[Path, typer.Option(help="The .jsonl file to write.")],
    size: Annotated[int, typer.Option(help="How many questions.", min=1, max=2_000)] = 80,
    seed: Annotated[int, typer.Option(help="Another seed draws other questions.")] = 20240601,
    library: LibraryOption = Path("library"),
    profile: ProfileOption = None,
) -> None:
    """Make questions with exact gold spans from the library's own documents, by rules."""
    from ..evaluation.gold import write_gold
    from ..evaluation.questions.make import make_gold
    from .rendering import progress_bars

    with opened(library, profile, asks_models=False) as engine, progress_bars() as progress:
        made = make_gold(engine, size=size, seed=seed, progress=progress)
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
