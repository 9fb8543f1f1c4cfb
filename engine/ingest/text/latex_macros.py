"""LaTeX preprocessing: comments removed, user macros expanded.

Knows definitions and their use, nothing of what standard commands mean. Commands that unfold
without end stop at a bound; what is left then stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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


def uncommented(text: str) -> str:
    """Return the text without comments, except in listings."""
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


def definitions(text: str) -> tuple[str, dict[str, Macro]]:
    """Remove macro definitions; return them by name."""
    macros: dict[str, Macro] = {}
    closing = partners(text)
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


def expanded(text: str, macros: dict[str, Macro]) -> str:
    """Expand user macros in rounds, bounded."""
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
    closing = partners(text)
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


def partners(text: str) -> dict[int, int]:
    """Map each opening brace to its end; unclosed ones are absent."""
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
