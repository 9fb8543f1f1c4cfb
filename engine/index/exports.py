"""The graph as a file: one offline page, GraphML or JSON, by the suffix; written whole or not."""

from __future__ import annotations

from pathlib import Path

from ..errors import SettingsError, SourceError
from .door import GraphExport

SUFFIXES = (".html", ".graphml", ".json")


def write_graph(export: GraphExport, target: Path, *, max_nodes: int) -> Path:
    """Write the graph to `target`.

    Raises:
        SettingsError: a suffix that is none of `SUFFIXES`.
        SourceError: the file cannot be written there.
    """
    match target.suffix.lower():
        case ".html":
            from .door import to_html

            content = to_html(export, max_nodes=max_nodes)
        case ".graphml":
            from .door import to_graphml

            content = to_graphml(export)
        case ".json":
            from .door import to_json

            content = to_json(export)
        case _:
            raise SettingsError(
                f"cannot write a graph to {str(target)!r}: end it in {', '.join(SUFFIXES)}"
            )
    temporary = target.with_name(f"{target.name}.part")
    try:
        temporary.write_text(content, encoding="utf8")
        temporary.replace(target)
    except OSError as error:
        raise SourceError(f"cannot write {str(target)!r}: {error.strerror}") from error
    return target
