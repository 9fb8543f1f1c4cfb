"""The graph, or a part of it, as a file: which part, and which kind by the suffix; whole or not."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ..errors import SettingsError, SourceError
from ..types import Answer
from .door import GraphExport, Part, Quote

SUFFIXES = (".html", ".graphml", ".json", ".svg", ".png")
_log = logging.getLogger("loregraph")
_QUOTED = re.compile(r"'(.*)'", re.DOTALL)


def chosen_part(export: GraphExport, *, focus: str, hops: int, community: str | int | None) -> Part:
    """What is around an entity, or inside a community, or else the whole."""
    if focus:
        from .door import part_around

        return part_around(export, focus, hops=hops)
    if community is not None:
        from .door import part_of_community

        return part_of_community(export, community)
    return Part(export=export)


def part_behind(export: GraphExport, answer: Answer) -> Part:
    """The part of the graph that an answer rests on, with the answer itself."""
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


def write_graph(part: Part, target: Path, *, max_nodes: int) -> Path:
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
    """The suffix in small letters.

    Raises:
        SettingsError: it is none of `SUFFIXES`.
    """
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(
            f"cannot write a graph to {str(target)!r}: end it in {', '.join(SUFFIXES)}"
        )
    return suffix


def _content(part: Part, target: Path, *, max_nodes: int) -> bytes:
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
