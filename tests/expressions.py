"""The regular expressions of a package, the calls made of each, and texts that are hard on it.

The texts are made from an expression's own parts: what stands before a repetition once, what it
repeats many times, and an end that does not fit. A search that looks again at what it has seen
takes quadratic time on one of them.
"""

from __future__ import annotations

import ast
import importlib
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SEARCHING = ("search", "finditer", "findall", "sub", "subn", "split")
CALLS = (*SEARCHING, "match", "fullmatch")
_OTHERS = " \t\n\x00!x1汉"
"""Ends that many expressions do not take, and runs that many do."""
_MOST = 8
"""Parts and alternatives of which one expression's texts are made, at most."""


@dataclass(frozen=True, slots=True, order=True)
class Expression:
    """An expression, where it stands, and the calls that the package makes of it."""

    place: str
    pattern: str
    flags: int
    calls: tuple[str, ...]

    def compiled(self) -> re.Pattern[str]:
        """The expression, ready to be used."""
        return re.compile(self.pattern, self.flags)


def expressions_of(folder: str, *, without: Sequence[str] = ()) -> list[Expression]:
    """All expressions of the modules under `folder`: named ones, listed ones and written ones."""
    found: dict[tuple[str, int], tuple[str, set[str]]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if any(name.startswith(other) for other in without):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        uses = _uses(tree)
        for own, pattern in _named(name):
            _, calls = found.setdefault((pattern.pattern, pattern.flags), (f"{name}.{own}", set()))
            calls |= uses.get(own, set())
        for line, text, flags, call in _written(tree):
            _, calls = found.setdefault((text, flags), (f"{name}:{line}", set()))
            calls.add(call)
    return sorted(
        Expression(place, pattern, flags, tuple(sorted(calls or {"finditer"})))
        for (pattern, flags), (place, calls) in found.items()
    )


def _named(module: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The expressions among a module's values, and in its lists, tuples and tables."""
    for own, value in vars(importlib.import_module(module)).items():
        for each in _within(value):
            if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                yield own, each


def _within(value: object, depth: int = 3) -> Iterator[object]:
    if isinstance(value, re.Pattern) or depth == 0:
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _within(each, depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _within(each, depth - 1)
    elif hasattr(type(value), "__dataclass_fields__"):
        for field in type(value).__dataclass_fields__:
            yield from _within(getattr(value, field, None), depth - 1)


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Name → the calls that are made of it; one that is handed on may be searched for."""
    uses: dict[str, set[str]] = {}
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called.add(id(node.value))
            if node.attr in CALLS:
                uses.setdefault(node.value.id, set()).add(node.attr)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            uses.setdefault(node.id, set()).add("finditer")
    return uses


def _written(tree: ast.AST) -> Iterator[tuple[int, str, int, str]]:
    """Expressions written out in a call: `re.sub(r"…", …)`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in CALLS
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            flags = 0
            for each in ast.walk(node):
                if isinstance(each, ast.Attribute) and isinstance(
                    getattr(re, each.attr, 0), re.RegexFlag
                ):
                    flags |= int(getattr(re, each.attr))
            yield node.lineno, node.args[0].value, flags | re.UNICODE, node.func.attr


def hard_texts(expression: Expression) -> Iterator[tuple[str, str, str]]:
    """`(front, repeated, end)`: texts `front + repeated * n + end`, each once."""
    seen: set[tuple[str, str, str]] = set()
    tree = parser.parse(expression.pattern, expression.flags)
    characters = sorted({c for c in expression.pattern if not c.isalnum() and c.isprintable()})
    pumps = [("", each) for each in (*_OTHERS, *characters)]
    pumps += [("", each) for each in _samples(tree)]
    pumps += [("", each + " ") for each in _samples(tree)]
    pumps += _pumps(tree, "")
    pumps += [("", front + body) for front, body in pumps if front]
    for front, body in pumps:
        for end in ("", "\x00"):
            if body and (front, body, end) not in seen:
                seen.add((front, body, end))
                yield front, body, end


def _pumps(tree: Any, front: str) -> list[tuple[str, str]]:
    """What stands before each repetition, and what it repeats."""
    pumps: list[tuple[str, str]] = []
    fronts = [front]
    for op, value in tree:
        here = fronts[:2]
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, high, body = value
            for each in here:
                if high > 8:
                    pumps += [(each, sample) for sample in _samples(body)]
                pumps += _pumps(body, each)
        elif op is codes.SUBPATTERN:
            for each in here:
                pumps += _pumps(value[3], each)
        elif op is codes.BRANCH:
            for branch in value[1]:
                pumps += _pumps(branch, here[0])
        elif op is codes.ATOMIC_GROUP:
            pumps += _pumps(value, here[0])
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            pumps += _pumps(value[1], here[0])
        fronts = [each + more for each in fronts for more in _samples([(op, value)])[:2]][:_MOST]
    return pumps


def _samples(tree: Any) -> list[str]:
    """Some texts that the parts of an expression take, shortest repetitions."""
    found = [""]
    for op, value in tree:
        found = [each + more for each in found for more in _of_part(op, value)][:_MOST]
    return list(dict.fromkeys(found))


def _of_part(op: Any, value: Any) -> list[str]:
    if op is codes.LITERAL:
        return [chr(value)]
    if op is codes.NOT_LITERAL:
        return [_other({chr(value)})]
    if op is codes.ANY:
        return ["a"]
    if op is codes.IN:
        return _of_class(value)
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        low, high, body = value
        samples = [each * max(low, 1 if high else 0) for each in _samples(body)]
        return samples if low else [*samples, ""]
    if op is codes.SUBPATTERN:
        return _samples(value[3])
    if op is codes.ATOMIC_GROUP:
        return _samples(value)
    if op is codes.BRANCH:
        return [each for branch in value[1] for each in _samples(branch)][:_MOST]
    return [""]


_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: "-",
}


def _of_class(items: Any) -> list[str]:
    """A few characters of a class: the first of each of its ranges, or one that it lacks."""
    found: list[str] = []
    for op, value in items:
        if op is codes.LITERAL:
            found.append(chr(value))
        elif op is codes.RANGE:
            found.append(chr(value[0] if value[0] else value[1]))
        elif op is codes.CATEGORY:
            found.append(_CATEGORIES[value])
    if items and items[0][0] is codes.NEGATE:
        return [_other(set(found)), *([] if " " in found else [" "])]
    return found[:4]


def _other(without: set[str]) -> str:
    return next(c for c in "az1 汉-." if c not in without)


class TooLong(Exception):
    """A search was still going on when its time was over."""


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Ends a search that takes more of the processor's time than `seconds`."""

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def call_of(pattern: re.Pattern[str], call: str) -> Callable[[str], object]:
    """What drives a call to its end."""
    if call == "finditer" or call == "search":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    if call in ("sub", "subn"):
        return lambda text: pattern.sub("", text)
    return getattr(pattern, call)  # type: ignore[no-any-return]
