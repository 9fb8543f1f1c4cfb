"""Which regular expressions of the readers take more than linear time, and on which text.

    python tests/benchmarks/expressions.py               # a minute or two
    python tests/benchmarks/expressions.py latex mail    # of modules with these in their name

Every pattern compiled in a module of `engine.ingest` is driven with texts of its own characters:
each of its pieces and each pair of them again and again, behind each other piece, with an end that
fits and one that does not. It is searched for or matched as the module does. Printed is the worst
text of each that takes more than 2.9 times as long when it is twice as long. Not each of these can
be reached: some patterns only ever meet short texts.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import engine.ingest

SIZE = 2_000
LIMIT = 1.0
ENOUGH = 3.0
"""Seconds for all texts of one pattern."""
LEAST = 0.004
MOST = 2.9
_SEARCHES = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
_MATCHES = frozenset({"match", "fullmatch"})
_KINDS = {
    "CATEGORY_SPACE": " ",
    "CATEGORY_DIGIT": "1",
    "CATEGORY_NOT_WORD": "-",
}


class TooSlow(Exception):
    """One text took longer than the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A pattern, where it is from, and the methods that its module calls."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def seconds(self, text: str) -> float:
        """What the module's use of it costs on this text."""
        given = (
            text.encode("latin-1", "replace") if isinstance(self.pattern.pattern, bytes) else text
        )
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        started = time.thread_time()
        try:
            if self.methods & _SEARCHES or not self.methods:
                for _ in self.pattern.finditer(given):
                    pass
            if "match" in self.methods or not self.methods:
                self.pattern.match(given)
            if "fullmatch" in self.methods or not self.methods:
                self.pattern.fullmatch(given)
        except TooSlow:
            return LIMIT
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return time.thread_time() - started


def expressions(wanted: Sequence[str]) -> Iterator[Expression]:
    """Every pattern that a module holds under a name."""
    for found in pkgutil.walk_packages(engine.ingest.__path__, "engine.ingest."):
        if wanted and not any(word in found.name for word in wanted):
            continue
        module = importlib.import_module(found.name)
        used: dict[str, set[str]] = defaultdict(set)
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used[node.value.id].add(node.attr)
        for name, value in vars(module).items():
            bound = getattr(value, "__self__", None)
            place = f"{found.name}.{name}"
            if isinstance(value, re.Pattern):
                methods = frozenset(used[name] & (_SEARCHES | _MATCHES))
                yield Expression(place=place, pattern=value, methods=methods)
            elif isinstance(bound, re.Pattern):
                method = frozenset({value.__name__})
                yield Expression(place=place, pattern=bound, methods=method)


def pieces(pattern: re.Pattern[Any]) -> list[str]:
    """The literal runs of a pattern, and a character or two of each class."""
    flags = pattern.flags & ~re.U if isinstance(pattern.pattern, bytes) else pattern.flags
    found = [*_pieces(parser.parse(pattern.pattern, flags)), " ", "a", "\n"]
    return list(dict.fromkeys(found))[:16]


def _pieces(sequence: Any) -> Iterator[str]:
    run = ""
    for code, value in sequence:
        if code is codes.LITERAL:
            run += chr(value)
            continue
        if run:
            yield run
            run = ""
        if code is codes.IN:
            yield from _of_class(value)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _pieces(value[2])
        elif code is codes.SUBPATTERN:
            yield from _pieces(value[3])
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _pieces(branch)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _pieces(value[1])
        elif code is codes.ATOMIC_GROUP:
            yield from _pieces(value)
    if run:
        yield run


def _of_class(items: Any) -> list[str]:
    found = []
    for code, value in items:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            found.append(chr(value[0]))
        elif code is codes.CATEGORY:
            found.append(_KINDS.get(str(value), "a"))
    return found[:4]


def worst(expression: Expression) -> tuple[float, str, str, str]:
    """The dearest text: its seconds, what it begins with, what is repeated, and how it ends."""
    own = pieces(expression.pattern)
    repeated = [*own, *(a + b for a in own for b in own if a != b)]
    before = ["", *own[:6], f"{own[0]} a", "".join(own[:3])]
    found, spent = (0.0, "", "", ""), 0.0
    for unit in repeated:
        for start in before:
            for end in ("", "\x00"):
                seconds = expression.seconds(start + unit * (SIZE // len(unit)) + end)
                found = max(found, (seconds, start, unit, end))
                spent += seconds
        if spent > ENOUGH:
            break
    return found


def main(arguments: Sequence[str]) -> None:
    def stop(*_: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, stop)
    count = 0
    for count, expression in enumerate(expressions(arguments), start=1):  # noqa: B007
        seconds, start, unit, end = worst(expression)
        if seconds < LEAST:
            continue
        texts = [start + unit * (times * SIZE // len(unit)) + end for times in (1, 2)]
        once, twice = (min(expression.seconds(text) for _ in range(2)) for text in texts)
        if twice > MOST * once or twice >= LIMIT:
            uses = ", ".join(sorted(expression.methods)) or "unknown use"
            print(f"- {twice:.3f} s, ×{twice / once:.1f}: {expression.place} ({uses})")
            print(f"  {start!r} + {unit!r} × n + {end!r}", flush=True)
    print(f"{count} patterns")


if __name__ == "__main__":
    main(sys.argv[1:])
