"""Ablation settings: each list disabled, and every other fusion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from ..settings import RetrieveSettings, Settings

LISTS = ("keyword", "dense", "walk")


def variations(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Yield labels and settings in a fixed order; empty searches are skipped."""
    retrieve = settings.retrieve
    on = [name for name in LISTS if getattr(retrieve, name)]
    for name in on:
        if set(on) - {name, "walk"}:
            yield f"without {name}", _with(settings, {name: False})
    for fusion in get_args(RetrieveSettings.model_fields["fusion"].annotation):
        if fusion != retrieve.fusion:
            yield f"fusion {fusion}", _with(settings, {"fusion": fusion})


def _with(settings: Settings, changes: dict[str, object]) -> Settings:
    return settings.model_copy(update={"retrieve": settings.retrieve.model_copy(update=changes)})
