"""Docstrings and error messages are plain technical English of a fixed form."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    *sorted((ROOT / "engine").rglob("*.py")),
    *sorted((ROOT / "graph").rglob("*.py")),
    ROOT / "loregraph.py",
]
_BEGINS = re.compile(
    r"(?:What|Whether|How|Which|Where|Who|Whom|Whose|Whoever|Whatever|So many|Up to so many)\b"
)
_SAYS = re.compile(r"\bknows? nothing\b|\bnone of ours\b|\bsomebody\b", re.IGNORECASE)
_MESSAGE = re.compile(
    r"\bnone of ours\b|\bthere is nobody\b|\bsomebody\b|\bbelow nil\b|(?<!there )\bis no\b|\bmend\b"
    r"|\bmeans? something\b|\bwhole\b(?= library)",
    re.IGNORECASE,
)
_VALUE = "\0"
"""Stands for an interpolated value in the text of a message."""


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and text of docstrings, and of strings below assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for place, each in enumerate(body):
            match each:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                    owner = owner or isinstance(node, ast.AsyncFunctionDef)
                    above = body[place - 1] if place else None
                    if (place == 0 and owner) or isinstance(above, ast.Assign | ast.AnnAssign):
                        yield each.lineno, inspect.cleandoc(text)


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and text of strings in what is raised."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for each in ast.walk(node.exc):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.lineno, each.value


def error_classes() -> set[str]:
    """The names of the engine's own errors, whose messages are shown to users."""
    tree = ast.parse((ROOT / "engine" / "errors.py").read_text(encoding="utf8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


ERRORS = error_classes()


def written(node: ast.expr) -> str | None:
    """The text of a string or f-string with its values left out; None for any other expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                each.value if isinstance(each, ast.Constant) else _VALUE for each in values
            )
    return None


def unclear_errors(tree: ast.AST) -> Iterator[str]:
    """Errors that begin with a quoted value, or do not part failure, value and advice."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ERRORS:
                text = written(first)
            case ast.Call(func=ast.Name(id="Problem"), args=[_, _, first, *_]):
                text = written(first)
            case _:
                continue
        if text is None or not text.strip(_VALUE):
            continue
        begins = first.values[0] if isinstance(first, ast.JoinedStr) else None
        if isinstance(begins, ast.FormattedValue) and begins.conversion == ord("r"):
            yield f"{node.lineno}: error begins with a quoted value: {text!r}"
        if not re.search("[:;]", text):
            yield f"{node.lineno}: error says nothing after ':' or ';': {text!r}"


def faults(source: str) -> list[str]:
    """Everything in a module that breaks the rules, a line each."""
    tree = ast.parse(source)
    found = []
    for line, text in docstrings(tree):
        first = text.partition("\n")[0]
        if _BEGINS.match(first):
            found.append(f"{line}: begins with {first.split()[0]!r}")
        if said := _SAYS.search(text):
            found.append(f"{line}: says {said.group()!r}")
    found += [
        f"{line}: error says {text!r}" for line, text in messages(tree) if _MESSAGE.search(text)
    ]
    found += unclear_errors(tree)
    return found


def test_docstrings_and_errors_are_plain_english() -> None:
    broken = {
        path.relative_to(ROOT).as_posix(): found
        for path in MODULES
        if (found := faults(path.read_text(encoding="utf8")))
    }
    assert broken == {}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('"""What goes on."""', id="module"),
        pytest.param('def f():\n    """Whether it is so."""', id="function"),
        pytest.param('class A:\n    """Knows nothing of files."""', id="class"),
        pytest.param('LIMIT = 3\n"""How many there are."""', id="constant"),
        pytest.param('raise ValueError("none of ours")', id="error"),
        pytest.param('raise SourceError(f"{path!r} is empty: fill it")', id="begins with a value"),
        pytest.param('raise SourceError("cannot be read")', id="no advice"),
        pytest.param('return Problem(404, "gone", "not here")', id="no advice over HTTP"),
    ],
)
def test_the_rules_find_what_breaks_them(source: str) -> None:
    assert len(faults(source)) == 1
