"""LaTeX commands to Markdown in one pass with an explicit stack.

Knows a body without comments and without commands of the author's own (`latex_macros`). What a
command that is not in `latex_names` does is not guessed: its arguments are text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..content import one_line
from ..structured.records import table_or_records
from .latex_macros import argument_at, partners
from .latex_names import (
    ACCENTS,
    DRAWINGS,
    DROPPED,
    ENVIRONMENT_ARGUMENTS,
    HEADINGS,
    LISTINGS,
    MATHEMATICS,
    SYMBOLS,
    TABLES,
)
from .notebook import fenced

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
        self.closing = partners(self.text)
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
            self._block(fenced(content.strip("\n"), language=language.strip()))

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
