"""Second names that front matter states."""

from __future__ import annotations

import pytest

from graph.extraction.front_matter import front_matter_aliases
from graph.extraction.rule_based import LanguageExtractor
from graph.model import ALSO_KNOWN_AS

NOTE = """---
title: Tolland Marine Station
aliases: [TMS, "the Station", Gannet Head Marine Laboratory, 托兰海洋站]
tags: [research]
---

# Tolland Marine Station
"""


def stated(text: str) -> list[str]:
    return [one.object for one in front_matter_aliases(text)[1]]


def test_aliases_are_stated_of_the_title() -> None:
    mentions, statements = front_matter_aliases(NOTE)
    assert {one.subject for one in statements} == {"tolland marine station"}
    assert stated(NOTE) == ["tms", "gannet head marine laboratory", "托兰海洋站"]
    assert all(NOTE[one.start : one.end] == one.surface for one in mentions)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Ada Brine\naliases:\n  - Lady Brine\n  - 'A. Brine'\n---\n",
        '+++\ntitle = "Ada Brine"\naliases = ["Lady Brine", "A. Brine"]\n+++\n',
    ],
)
def test_lists_are_read_as_yaml_and_toml_write_them(text: str) -> None:
    assert stated(text) == ["lady brine", "a. brine"]


@pytest.mark.parametrize(
    "text",
    [
        "---\naliases: [TMS]\n---\n",
        "---\ntitle: Tolland\n---\n",
        "A line.\n---\ntitle: Tolland\naliases: [TMS]\n---\n",
        "---\n\nA rule across the page.\n",
    ],
)
def test_nothing_is_stated_without_title_or_aliases_or_front_matter(text: str) -> None:
    assert stated(text) == []


def test_the_extractor_reads_them() -> None:
    (found,) = LanguageExtractor(spacy_model="none").extract([NOTE])
    said = {(s.subject, s.object) for s in found.statements if s.predicate == ALSO_KNOWN_AS}
    assert ("tolland marine station", "gannet head marine laboratory") in said
    assert "gannet head marine laboratory" in {one.key for one in found.mentions}
