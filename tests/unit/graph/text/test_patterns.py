"""Regular expressions that are compiled when first used."""

from __future__ import annotations

import copy
import re
from importlib import import_module
from pathlib import Path

import pytest

from graph.text import patterns
from graph.text.patterns import lazy_regex

ROOT = Path(__file__).parents[4]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("engine", "graph")
    for path in (ROOT / package).rglob("*.py")
    if "= lazy_regex(" in path.read_text(encoding="utf8")
)


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_regex(r"(?P<word>\w+)", re.IGNORECASE), re.compile(r"(?P<word>\w+)", re.I)
    assert lazy.findall("two words") == compiled.findall("two words")
    assert lazy.sub("x", "two words") == "x x"
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, 1)
    assert lazy_regex(rb"\d").findall(b"1 2") == [b"1", b"2"]
    assert re.sub(lazy, "x", "two words") == "x x"
    assert isinstance(lazy, re.Pattern)
    assert copy.copy(lazy).findall("two words") == ["two", "words"]


def test_nothing_is_compiled_before_the_first_use_and_then_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    real = re.compile
    monkeypatch.setattr(patterns.re, "compile", lambda *how: made.append(how) or real(*how))
    lazy = lazy_regex("a+")
    assert lazy.pattern == "a+"
    assert made == []
    assert [lazy.findall("aab"), lazy.findall("ba")] == [["aa"], ["a"]]
    assert len(made) == 1


@pytest.mark.parametrize("name", MODULES)
def test_every_pattern_of_a_module_compiles(name: str) -> None:
    lazy = [v for v in vars(import_module(name)).values() if type(v) is patterns._LazyPattern]
    assert lazy
    for pattern in lazy:
        assert re.compile(pattern.pattern, pattern._flags)
