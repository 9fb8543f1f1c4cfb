"""Graph export to a file; selection of the part and of the format."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ..errors import SettingsError, SourceError
from ..types import Answer
from .door import GraphExport, Quote, Subgraph

SUFFIXES = (".html", ".graphml", ".json", ".svg", ".png")
_log = logging.getLogger("loregraph")
_QUOTED = re.compile(r"'(.*)'", re.DOTALL)


def select_subgraph(
    export: GraphExport, *, focus: str, hops: int, community: str | int | None
) -> Subgraph:
    """Select the neighbourhood of an entity, a community, or the whole graph."""
    if focus:
        from .door import neighbourhood_subgraph

        return neighbourhood_subgraph(export, focus, hops=hops)
    if community is not None:
        from .door import part_of_community

        return part_of_community(export, community)
    return Subgraph(export=export)


def subgraph_of_answer(export: GraphExport, answer: Answer) -> Subgraph:
    """Return the subgraph behind an answer, with the answer."""
    from .door import part_of_answer

    quotes = [
        Quote(number=one.number, title=one.title, text=one.quote, chunk_id=one.chunk_id)
        for one in answer.citations
    ]
    steps = (_QUOTED.search(step) for passage in answer.passages for step in passage.path)
    return part_of_answer(
        export,
        question=answer.question,
        answer=answer.text,
        quotes=quotes,
        read=[passage.chunk_id for passage in answer.passages],
        names=[step.group(1) for step in steps if step],
    )


def write_graph(part: Subgraph, target: Path, *, max_nodes: int) -> Path:
    """Write the graph to `target`.

    Raises:
        SettingsError: a suffix that is none of `SUFFIXES`.
        SourceError: the file cannot be written there.
    """
    content = _content(part, target, max_nodes=max_nodes)
    temporary = target.with_name(f"{target.name}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as error:
        raise SourceError(f"cannot write {str(target)!r}: {error.strerror}") from error
    return target


def checked_suffix(target: Path) -> str:
    """Return the lower-case suffix, validated.

    Raises:
        SettingsError: it is none of `SUFFIXES`.
    """
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(
            f"cannot write a graph to {str(target)!r}: end it in {', '.join(SUFFIXES)}"
        )
    return suffix


def _content(part: Subgraph, target: Path, *, max_nodes: int) -> bytes:
    match checked_suffix(target):
        case ".html":
            from .door import to_html

            return to_html(part, max_nodes=max_nodes).encode("utf8")
        case ".graphml":
            from .door import to_graphml

            return to_graphml(part.export).encode("utf8")
        case ".svg":
            from .door import picture, to_svg

            return to_svg(picture(part)).encode("utf8")
        case ".png":
            from .door import picture, to_png

            drawn = to_png(picture(part))
            if drawn.note:
                _log.warning("%s", drawn.note)
            return drawn.content
        case _:
            from .door import to_json

            return to_json(part.export).encode("utf8")
