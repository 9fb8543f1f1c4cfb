"""An answer as text for people: plain for a terminal or a log, Markdown for a notebook."""

from __future__ import annotations

from ..types import Answer, Citation, Passage
from .nearest import nearest_lines

_FENCE = "```"


def place_of(source: Citation | Passage) -> str:
    """Return where a source stands: its document, page and characters."""
    page = f", p. {source.page}" if source.page else ""
    outside = "web: " if source.origin == "web" else ""
    return f"{outside}{source.document_id}{page}:{source.start}-{source.end}"


def source_lines(answer: Answer) -> list[str]:
    """Return one line a citation: its number, title and place."""
    return [f"[{each.number}] {each.title} ({place_of(each)})" for each in answer.citations]


def answer_text(answer: Answer) -> str:
    """Return the short answer where there is one, the answer, what is nearest, and the sources."""
    lines = [answer.short.text] if answer.short and answer.short.is_confident else []
    lines.append(answer.text)
    if answer.nearest:
        lines += ["", *nearest_lines(answer)]
    if answer.citations:
        lines += ["", "Sources", *(f"  {line}" for line in source_lines(answer))]
    return "\n".join(lines)


def answer_markdown(answer: Answer) -> str:
    """Return an answer as Markdown in which no HTML of a document is any."""
    parts = (
        [f"**{_plain(answer.short.text)}**"] if answer.short and answer.short.is_confident else []
    )
    parts.append(_plain(answer.text))
    if answer.nearest:
        heading, *nearest = nearest_lines(answer)
        parts.append("\n".join([_plain(heading), "", *map(_plain, nearest)]))
    if answer.citations:
        sources = "\n".join(f"- {_plain(line)}" for line in source_lines(answer))
        parts.append(f"**Sources**\n\n{sources}")
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Escape HTML outside of code blocks, in which none is read."""
    lines, in_code = [], False
    for line in text.split("\n"):
        in_code ^= line.lstrip().startswith(_FENCE)
        lines.append(line if in_code else line.replace("&", "&amp;").replace("<", "&lt;"))
    return "\n".join(lines)
