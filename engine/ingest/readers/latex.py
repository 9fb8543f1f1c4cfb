"""LaTeX as Markdown: headings, lists, tables, statements; formulas stay LaTeX.

Comments are removed, the author's macros expanded up to a bound, and commands written in one pass
with an explicit stack. Arguments of unknown commands are text. Files that are included are not
followed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ...errors import SourceError
from ..document import Content, ReadOptions, iso_date, one_line
from .latex_commands import (
    ACCENTS,
    DRAWINGS,
    DROPPED,
    ENVIRONMENT_ARGUMENTS,
    HEADINGS,
    LISTINGS,
    MATHEMATICS,
    STATEMENTS,
    SYMBOLS,
    TABLES,
)
from .markdown_writer import join_paragraphs, table_or_records
from .text import decode_bytes, fence_code, front_matter_values

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(\n[ \t]*)?")
_VERBATIM = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|Verbatim|alltt)\}")
_COMMENTED = re.compile(r"\\begin\{comment\}|\\iffalse\b")
_END_OF_COMMENTED = re.compile(r"\\end\{comment\}"), re.compile(r"\\fi\b")
_DEFINITION = re.compile(
    r"\\(?:(?:re|provide)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)\*?\s*"
    r"(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]++))\s*+(?:\[(\d)\]\s*+)?"
    r"(?:\[([^\]]{0,1000}+)\]\s*+)?(?=\{)"
    r"|\\def\s*\\([A-Za-z@]+)((?:#\d)*)\s*(?=\{)"
)
_COMMAND = re.compile(r"\\([A-Za-z@]+)(\*?)")
_ROUNDS = 6
_GROWTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """User macro. `default` is the optional first argument."""

    body: str
    arguments: int = 0
    default: str | None = None


def strip_latex_comments(text: str) -> str:
    """Return LaTeX without its comments, except in listings."""
    pieces: list[str] = []
    at = 0
    for start, end in _spans(text, _VERBATIM, _end_of_listing):
        pieces += [_without_comments(text[at:start]), text[start:end]]
        at = end
    return "".join([*pieces, _without_comments(text[at:])])


def _spans(
    text: str, opening: re.Pattern[str], closing: Callable[[re.Match[str]], re.Pattern[str]]
) -> Iterator[tuple[int, int]]:
    """From each opening mark to the end of the next one that closes it; an end that did not come
    once is not looked for again."""
    at = 0
    missing: set[re.Pattern[str]] = set()
    for found in opening.finditer(text):
        closed_by = closing(found)
        if found.start() < at or closed_by in missing:
            continue
        closed = closed_by.search(text, found.end())
        if closed is None:
            missing.add(closed_by)
        else:
            at = closed.end()
            yield found.start(), at


def _end_of_listing(opening: re.Match[str]) -> re.Pattern[str]:
    return re.compile(re.escape(f"\\end{{{opening.group(1)}}}"))


def _end_of_commented(opening: re.Match[str]) -> re.Pattern[str]:
    return _END_OF_COMMENTED[opening.group() == r"\iffalse"]


def _without_comments(text: str) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in _spans(text, _COMMENTED, _end_of_commented):
        pieces.append(text[at:start])
        at = end
    return _COMMENT.sub(_uncommented_line, "".join([*pieces, text[at:]]))


def _uncommented_line(found: re.Match[str]) -> str:
    """Strip a line's comment; a comment-only line disappears."""
    return found.group(1)


def extract_macros(text: str) -> tuple[str, dict[str, Macro]]:
    """Remove LaTeX macro definitions from a text; return them by name."""
    macros: dict[str, Macro] = {}
    closing = match_braces(text)
    pieces: list[str] = []
    at = 0
    for found in _DEFINITION.finditer(text):
        if found.start() < at:
            continue
        body, end = argument_at(text, found.end(), closing)
        name = found.group(1) or found.group(2) or found.group(5)
        parameters = int(found.group(3) or 0) or (found.group(6) or "").count("#")
        macros[name] = Macro(body=body, arguments=parameters, default=found.group(4))
        pieces.append(text[at : found.start()])
        at = end
    return "".join([*pieces, text[at:]]), macros


def expand_macros(text: str, macros: dict[str, Macro]) -> str:
    """Expand a LaTeX author's macros in rounds, bounded."""
    usable = {name: macro for name, macro in macros.items() if _is_short(name, macro)}
    limit = _GROWTH * len(text) + 1_000_000
    for _ in range(_ROUNDS if usable else 0):
        written = _expanded_once(text, usable, limit)
        if written is None or written == text:
            break
        text = written
    return text


def _is_short(name: str, macro: Macro) -> bool:
    """Check for a macro of words or maths, not layout or recursion."""
    inner = {found.group(1) for found in _COMMAND.finditer(macro.body)}
    plumbing = {"begingroup", "expandafter", "csname", "relax", "vskip", "hbox", "vbox", "ifx"}
    return "@" not in name and name not in inner and not inner & plumbing


def _expanded_once(text: str, macros: dict[str, Macro], limit: int) -> str | None:
    closing = match_braces(text)
    pieces: list[str] = []
    at = size = 0
    for found in _COMMAND.finditer(text):
        macro = macros.get(found.group(1))
        if macro is None or found.start() < at:
            continue
        end = found.end(1)
        given, end = _arguments(text, end, macro, closing)
        body = macro.body
        for number, argument in enumerate(given, start=1):
            body = body.replace(f"#{number}", argument)
        if body[-1:].isalpha() and text[end : end + 1].isalpha() and "\\" in body:
            body += "{}"
        pieces += [text[at : found.start()], body]
        size += found.start() - at + len(body)
        at = end
        if size > limit:
            return None
    return "".join([*pieces, text[at:]])


def _arguments(
    text: str, at: int, macro: Macro, closing: Mapping[int, int]
) -> tuple[list[str], int]:
    given: list[str] = []
    if macro.default is not None:
        optional = re.compile(r"\s*\[([^\]]{0,500})\]").match(text, at)
        given.append(optional.group(1) if optional else macro.default)
        at = optional.end() if optional else at
    while len(given) < macro.arguments:
        argument, at = argument_at(text, at, closing)
        given.append(argument)
    return given, at


_BRACE = re.compile(r"\\.|[{}]", re.S)


def match_braces(text: str) -> dict[int, int]:
    """Map each opening brace of LaTeX to its end; unclosed ones are absent."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace.group() == "{":
            open_.append(brace.start())
        elif brace.group() == "}" and open_:
            found[open_.pop()] = brace.start()
    return found


def argument_at(text: str, at: int, closing: Mapping[int, int]) -> tuple[str, int]:
    """Return a command's next argument (group, command or character) and its end.

    A group that does not close is empty, and ends behind its brace. `closing` as `partners`.
    """
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] == "{":
        end = closing.get(at)
        return ("", at + 1) if end is None else (text[at + 1 : end], end + 1)
    command = _COMMAND.match(text, at)
    end = command.end() if command else min(at + 1, len(text))
    return text[at:end], end


_TOKEN = re.compile(
    r"\\(?P<name>[A-Za-z@]+)\*?|\\(?P<mark>.)|(?P<sign>[{}&~]|\$\$?|---?|``|'')"
    r"|(?P<blank>\s*\n\s*\n\s*)|(?P<space>\s+)|(?P<text>[^\\{}&~$`'\s-]+|.)",
    re.S,
)
_ENVIRONMENT = re.compile(r"\s*\{([^{}]{1,40})\}")
_OPTION = re.compile(r"\s{0,3}\[((?:[^\[\]{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\]")
_INLINE = re.compile(r"\$((?:[^$\\]|\\.){1,4000}?)\$", re.S)
_LABEL = re.compile(r"\\(?:label|tag)\{[^{}]*\}|\\nonumber\b|\\notag\b")
_KEPT = re.compile("\x02(\\d+)\x03")
_CELL, _ROW = "\x1f", "\x1e"
MARKS = re.compile("[\x02\x03\x1e\x1f]")
"""Characters that the writer uses for itself; a text must not hold any."""
_SPACED = {",": " ", ";": " ", ":": " ", " ": " ", "\n": " ", "!": "", "/": "", "-": "", "@": ""}
_DEEPEST_INLINE = 8


@dataclass(slots=True)
class _Open:
    """A group or an environment (`name`) that is open: what to write when it closes.

    A table's text goes into `cells`, and is taken from there when it closes.
    """

    name: str = ""
    closing: str = ""
    items: int | None = None
    cells: list[str] | None = None


@dataclass(slots=True, kw_only=True)
class LatexWriter:
    """Markdown writer of one LaTeX text. `statements` names theorem environments.

    `chapters` makes them outermost; without `notes` footnotes are dropped.
    """

    text: str
    statements: dict[str, str]
    chapters: bool = False
    notes: bool = True
    depth: int = 0
    at: int = 0
    written: list[str] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    open_names: dict[str, int] = field(default_factory=dict)
    tables: list[_Open] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unclosed: set[str] = field(default_factory=set)
    closing: Mapping[int, int] = field(default_factory=dict)

    def run(self) -> str:
        """Return the text as Markdown; call once."""
        self.closing = match_braces(self.text)
        while self.at < len(self.text):
            token = _TOKEN.match(self.text, self.at)
            if token is None:  # every character is some token
                break
            self.at = token.end()
            self._take(token)
        while self.stack:
            self._close()
        lines = re.sub(r"[ \t]*\n[ \t]*", "\n", re.sub(r"[ \t]+", " ", "".join(self.written)))
        folded = re.sub(r"\n{3,}", "\n\n", lines).strip()
        return _KEPT.sub(lambda found: self.kept[int(found.group(1))], folded)

    def _take(self, token: re.Match[str]) -> None:
        if token["name"]:
            self._command(token["name"])
        elif token["mark"]:
            self._marked(token["mark"])
        elif token["sign"]:
            self._sign(token["sign"])
        else:
            self._put("\n\n" if token["blank"] else " " if token["space"] else token["text"])

    def _put(self, text: str) -> None:
        cells = self.tables[-1].cells if self.tables else None
        (self.written if cells is None else cells).append(text)

    def _keep(self, text: str) -> str:
        """Return a placeholder for verbatim text."""
        self.kept.append(text)
        return f"\x02{len(self.kept) - 1}\x03"

    def _block(self, text: str) -> None:
        self._put(f"\n\n{self._keep(text)}\n\n")

    def _argument(self) -> str:
        """Return the next argument as written."""
        value, self.at = argument_at(self.text, self.at, self.closing)
        return value

    def _option(self) -> str | None:
        found = _OPTION.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group(1)

    def _inline(self, text: str) -> str:
        """Return an argument's text on one line."""
        if self.depth >= _DEEPEST_INLINE:
            return one_line(text, limit=1_000)
        inner = LatexWriter(text=text, statements=self.statements, depth=self.depth + 1)
        return " ".join(inner.run().split())

    def _sign(self, sign: str) -> None:
        match sign:
            case "{":
                self.stack.append(_Open())
            case "}":
                if self.stack and not self.stack[-1].name:
                    self._close()
            case "&":
                self._put(_CELL if self.tables else " ")
            case "$" | "$$":
                self._mathematics(sign)
            case _:
                self._put({"~": " ", "--": "–", "---": "—", "``": "“", "''": "”"}.get(sign, sign))

    def _mathematics(self, sign: str) -> None:
        if sign == "$$":
            self._displayed("$$")
            return
        found = _INLINE.match(self.text, self.at - 1)
        if found is None or "\n\n" in found.group(1):
            self._put(sign)
            return
        self.at = found.end()
        self._put(f"${' '.join(found.group(1).split())}$")

    def _displayed(self, end: str) -> None:
        """Return a formula up to `end`; only the mark if unterminated."""
        formula = self._until(end)
        if formula is None:
            self._put(" ")
            return
        lines = (line.strip() for line in _LABEL.sub("", formula).strip().splitlines())
        formula = "\n".join(filter(None, lines))
        if self.tables:
            self._put(f"${' '.join(formula.split())}$")
        elif formula:
            self._block(f"$$\n{formula}\n$$")

    def _until(self, end: str) -> str | None:
        """Return text up to `end` and skip it; None if absent."""
        found = -1 if end in self.unclosed else self.text.find(end, self.at)
        if found < 0:
            self.unclosed.add(end)
            return None
        start, self.at = self.at, found + len(end)
        return self.text[start:found]

    def _marked(self, mark: str) -> None:
        if mark == "\\":
            self.at += self.text[self.at : self.at + 1] == "*"
            self._option()
            self._put(_ROW if self.tables and self.stack[-1].name else " ")
        elif mark in "([":
            self._displayed("\\]") if mark == "[" else self._parenthesised()
        elif mark in ACCENTS:
            self._accented(mark)
        else:
            self._put(_SPACED.get(mark, mark if mark in "%&_#${}|" else ""))

    def _parenthesised(self) -> None:
        formula = self._until("\\)")
        self._put(f"${' '.join(formula.split())}$" if formula is not None else " ")

    def _accented(self, mark: str) -> None:
        base = self._argument().lstrip("\\").strip("{}\\ ")
        accent = ACCENTS[mark] if base[:1].isalpha() else ""
        self._put(unicodedata.normalize("NFC", base[:1] + accent) + base[1:])

    def _command(self, name: str) -> None:
        if name in ("begin", "end"):
            self._environment(name)
        elif name in HEADINGS:
            self._heading(name)
        elif name in SYMBOLS:
            self._put(SYMBOLS[name])
        elif name in ACCENTS and not self.text[self.at : self.at + 1].isalpha():
            self._accented(name)
        elif name.lower().startswith(("cite", "parencite", "textcite", "autocite", "footcite")):
            self._citation()
        elif name in ("ref", "eqref", "autoref", "cref", "Cref", "pageref", "nameref", "secref"):
            self._put(self._argument())
        elif name in DROPPED:
            self._option()
            for _ in range(DROPPED[name]):
                self._option()
                self._argument()
        else:
            self._worded(name)

    def _worded(self, name: str) -> None:
        """Commands whose arguments are read, each in its own way."""
        match name:
            case "item":
                self._item()
            case "bibitem":
                self._option()
                self._put(f"\n\n[{self._argument().strip()}] ")
            case "caption" | "captionof":
                self._option()
                if name == "captionof":
                    self._argument()
                self._put(f"\n\n{self._captioned()}: {self._inline(self._argument())}\n\n")
            case "footnote" | "footnotetext" | "thanks":
                self._option()
                note = self._argument()
                self._put(f" ({self._inline(note)})" if self.notes else "")
            case "href":
                address = self._argument()
                self._put(f"{self._inline(self._argument())} ({address})")
            case "url" | "path" | "nolinkurl":
                self._put(self._argument())
            case "multicolumn":
                self._spanning()
            case "verb":
                self._verbatim()
            case _:
                self._option()

    def _captioned(self) -> str:
        tables = self.open_names.get("table", 0) + self.open_names.get("table*", 0)
        return "Table" if tables or self.open_names.get("longtable") else "Figure"

    def _citation(self) -> None:
        note = ", ".join(filter(None, (self._option(), self._option())))
        keys = ", ".join(key.strip() for key in self._argument().split(","))
        self._put(f"[{keys}{', ' if note else ''}{note}]")

    def _heading(self, name: str) -> None:
        self._option()
        said = self._inline(self._argument())
        levels = HEADINGS if self.chapters else ("part", *HEADINGS[2:])
        level = max(2, levels.index(name) + 1) if name in levels else 2
        if said:
            self._put(f"\n\n{self._keep('#' * min(level, 6) + ' ' + said)}\n\n")

    def _item(self) -> None:
        name = self._option()
        lists = (each for each in reversed(self.stack[-20:]) if each.items is not None)
        counted = next(lists, None)
        mark = "-"
        if counted is not None and counted.name == "enumerate":
            counted.items = (counted.items or 0) + 1
            mark = f"{counted.items}."
        self._put(f"\n{mark} {self._inline(name) + ': ' if name else ''}")

    def _spanning(self) -> None:
        """Write a spanning cell and empty ones."""
        width, _ = self._argument().strip(), self._argument()
        cells = int(width) if width.isdecimal() and len(width) < 3 else 1
        self._put(self._inline(self._argument()) + (_CELL * (cells - 1) if self.tables else ""))

    def _verbatim(self) -> None:
        mark = self.text[self.at : self.at + 1]
        end = self.text.find(mark, self.at + 1, self.at + 500) if mark else -1
        if end > 0:
            self._put(f"`{self.text[self.at + 1 : end]}`")
            self.at = end + 1

    def _environment(self, which: str) -> None:
        found = _ENVIRONMENT.match(self.text, self.at)
        if found is None:
            return
        self.at = found.end()
        name = found.group(1).strip()
        if which == "end":
            self._end(name)
        elif name.rstrip("*") in MATHEMATICS:
            self._displayed(f"\\end{{{name}}}")
        elif name.rstrip("*") in LISTINGS or name.rstrip("*") in DRAWINGS:
            self._listing(name)
        else:
            self._begin(name)

    def _until_entries(self) -> None:
        """Skip text before a bibliography's first entry."""
        if self._until("\\bibitem") is not None:
            self.at -= len("\\bibitem")

    def _listing(self, name: str) -> None:
        self._option()
        language = self._argument() if name.startswith("minted") else ""
        content = self._until(f"\\end{{{name}}}")
        if content and content.strip() and name.rstrip("*") in LISTINGS:
            self._block(fence_code(content.strip("\n"), language=language.strip()))

    def _begin(self, name: str) -> None:
        note = self._option()
        opened = _Open(name=name, closing="\n\n")
        for _ in range(TABLES.get(name, ENVIRONMENT_ARGUMENTS.get(name, 0))):
            self._argument()
            self._option()
        if name in TABLES and len(self.tables) < _DEEPEST_INLINE:
            opened.cells = []
            self.tables.append(opened)
        elif name in ("itemize", "enumerate", "description"):
            opened.items = 0
            self._put("\n\n")
        elif name in ("abstract", "thebibliography"):
            title = "Abstract" if name == "abstract" else "References"
            if name != "abstract":
                self._until_entries()
            self._put(f"\n\n{self._keep(f'## {title}')}\n\n")
        elif name.rstrip("*") in self.statements:
            said = self.statements[name.rstrip("*")]
            self._put(f"\n\n**{said}{f' ({self._inline(note)})' if note else ''}.** ")
        else:
            self._put("\n\n")
        self.stack.append(opened)
        self.open_names[name] = self.open_names.get(name, 0) + 1

    def _end(self, name: str) -> None:
        if not self.open_names.get(name):
            return
        while self._close() != name:
            pass

    def _close(self) -> str:
        """Close what was opened last; its name."""
        closed = self.stack.pop()
        if closed.name:
            self.open_names[closed.name] -= 1
        if closed.cells is None:
            self._put(closed.closing)
            return closed.name
        self.tables.remove(closed)
        rows = [
            [" ".join(cell.split()) for cell in row.split(_CELL)]
            for row in "".join(closed.cells).split(_ROW)
        ]
        filled = [row for row in rows if any(row)]
        if self.tables:
            self._put(" ".join(filter(None, (cell for row in filled for cell in row))))
        elif filled:
            self._block("\n\n".join(table_or_records(filled[0], filled[1:])))
        return closed.name


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
    text = decode_bytes(data)
    if len(text) > 2 * options.max_characters:
        raise SourceError(
            f"is too large: {len(text):,} characters of LaTeX; split it, "
            "or raise ingest.max_document_characters"
        )
    text = MARKS.sub(" ", text)
    text = strip_latex_comments(text)
    statements = {**STATEMENTS, **dict(_THEOREM.findall(text))}
    text, macros = extract_macros(text)
    text, about = _about(expand_macros(text, macros), statements)
    written = LatexWriter(
        text=_body(text), statements=statements, chapters=r"\chapter" in text
    ).run()
    if macros and not _WORD.search(written):
        written = ""  # nothing but definitions
    title = about.get("title")
    head = [f"# {title}" if title else "", about.get("authors", "")]
    metadata = front_matter_values(
        {
            "author": about.get("author"),
            "date": iso_date(about.get("date")),
            "tags": about.get("keywords"),
        }
    )
    return Content(
        text=join_paragraphs(filter(None, [*head, written]), limit=options.max_characters),
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
    closing = match_braces(text)
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
