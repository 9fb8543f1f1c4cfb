"""LaTeX as Markdown: headings, lists, tables, statements; formulas keep LaTeX.

Knows what a document says of itself and where its body is; files that it takes in are not
followed.
"""

from __future__ import annotations

import re

from ...errors import SourceError
from ..content import Content, ReadOptions, one_line
from ..dates import iso_date
from ..structured.records import joined
from .latex_macros import argument_at, definitions, expanded, partners, uncommented
from .latex_names import STATEMENTS
from .latex_writer import MARKS, LatexWriter
from .markdown import described
from .plain import decode

_ABOUT = re.compile(r"\\(?:icml)?(title|author|date|keywords)\s*+(?:\[[^\]]{0,1000}+\]\s*+)?(?=\{)")
_THEOREM = re.compile(r"\\newtheorem\*?\s*\{([^{}]+)\}\s*+(?:\[[^\]]{0,1000}+\]\s*+)?\{([^{}]+)\}")
_BEGIN, _END = r"\begin{document}", r"\end{document}"
_WORD = re.compile(r"\w\w")


def read_latex(data: bytes, options: ReadOptions) -> Content:
    """Read a LaTeX document, fragment or bibliography (`.bbl`).

    Authors, date and keywords are metadata.

    Raises:
        SourceError: not text, or too large.
    """
    text = decode(data)
    if len(text) > 2 * options.max_characters:
        raise SourceError(
            f"is too large: {len(text):,} characters of LaTeX; split it, "
            "or raise ingest.max_document_characters"
        )
    text = MARKS.sub(" ", text).replace("\r\n", "\n").replace("\r", "\n")
    text = uncommented(text)
    statements = {**STATEMENTS, **dict(_THEOREM.findall(text))}
    text, macros = definitions(text)
    text, about = _about(expanded(text, macros), statements)
    written = LatexWriter(
        text=_body(text), statements=statements, chapters=r"\chapter" in text
    ).run()
    if macros and not _WORD.search(written):
        written = ""  # nothing but definitions
    title = about.get("title")
    head = [f"# {title}" if title else "", about.get("authors", "")]
    metadata = described(
        {
            "author": about.get("author"),
            "date": iso_date(about.get("date")),
            "tags": about.get("keywords"),
        }
    )
    return Content(
        text=joined(filter(None, [*head, written]), limit=options.max_characters),
        title=title,
        shape="markdown",
        metadata=metadata,
    )


def _body(text: str) -> str:
    begin, end = text.find(_BEGIN), text.find(_END)
    return text[begin + len(_BEGIN) if begin >= 0 else 0 : end if end > begin else len(text)]


def _about(text: str, statements: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Extract title, authors and date as plain lines.

    `author` is names, `authors` includes notes.
    """
    found: dict[str, str] = {}
    pieces: list[str] = []
    at = 0
    closing = partners(text)
    for match in _ABOUT.finditer(text):
        if match.start() < at:
            continue
        argument, end = argument_at(text, match.end(), closing)
        name = match.group(1)
        if name == "author":
            found.setdefault("authors", _line(argument, statements, notes=True))
        found.setdefault(name, _line(argument, statements, notes=False))
        pieces.append(text[at : match.start()])
        at = end
    return "".join([*pieces, text[at:]]), {name: said for name, said in found.items() if said}


def _line(argument: str, statements: dict[str, str], *, notes: bool) -> str:
    said = LatexWriter(text=argument, statements=statements, notes=notes, depth=1).run()
    return one_line(re.sub(r"(?<!\s)\s*+,[\s,]*+", ", ", said).strip(" ,"), limit=5_000)
