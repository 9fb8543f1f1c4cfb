"""The options that several commands share, and what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SourceError
from ..types import MetaValue

DEFAULT_LIBRARY = Path("library")
MODES = ("auto", "local", "global", "both")
EFFORTS = ("low", "medium", "high")
LibraryOption = Annotated[Path, typer.Option("--library", "-l", help="The library's folder.")]
ProfileOption = Annotated[
    Path | None,
    typer.Option("--profile", "-p", help="A YAML profile, such as configs/openai.yaml."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(help="Of folders only what matches, as in .gitignore."),
]
TableOption = Annotated[list[str] | None, typer.Option(help="Of databases only these tables.")]
ExcludeOption = Annotated[list[str] | None, typer.Option(help="Pass over what matches.")]
TagOption = Annotated[list[str] | None, typer.Option(help="A tag for these documents.")]
MetaOption = Annotated[
    list[str] | None, typer.Option(help="Metadata for these documents, such as date=2024-05-01.")
]
NamespaceOption = Annotated[str, typer.Option(help="Keeps documents apart from others.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Remove documents whose file can no longer be read.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Agree to remove more than a fifth of the documents.")
]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Write what came of every file, as JSON.")
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only documents that fit: tags=red, date>=2024-01-01, title~plan, type!=pdf."
    ),
]
WithinOption = Annotated[
    str | None, typer.Option("--namespace", help="Only documents of this namespace.")
]


def metadata_of(tags: list[str] | None, pairs: list[str] | None) -> dict[str, MetaValue] | None:
    """Parse `--tag` and `--meta`; None without either."""
    if tags is None and pairs is None:
        return None
    metadata: dict[str, MetaValue] = {}
    for pair in pairs or ():
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise SourceError(f"--meta {pair!r}: write key=value")
        metadata[key.strip()] = value.strip()
    if tags:
        metadata["tags"] = tuple(sorted(set(tags)))
    return metadata


def pattern_of(report: Path | None, sources: Sequence[str]) -> list[str]:
    """Return a pattern that excludes the report's own file."""
    if report is None:
        return []
    place = report.resolve()
    folders = sorted({Path(source).resolve() for source in sources})
    inside = [place.relative_to(each) for each in folders if place.is_relative_to(each)]
    return ["/" + re.sub(r"([\\*?\[\] !#])", r"\\\1", each.as_posix()) for each in inside]


def mode_of(given: str) -> str:
    """Validate the mode option."""
    if given not in MODES:
        raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, MODES))}.")
    return given


def effort_of(given: str | None) -> str | None:
    """Validate the effort option; None leaves it to the settings."""
    if given is not None and given not in EFFORTS:
        raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, EFFORTS))}.")
    return given
