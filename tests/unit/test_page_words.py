"""The graph page's own words: each of them is there in Chinese, too."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import graph.export.html

PAGE = Path(graph.export.html.__file__).parent / "page"
TOLD = ("aria-label", "aria-roledescription", "placeholder", "title")


def chinese() -> set[str]:
    text = (PAGE / "words.js").read_text(encoding="utf8")
    return set(re.findall(r'^  "((?:[^"\\]|\\.)+)":', text, re.M))


class Words(HTMLParser):
    """What the page's file says to a reader, before anything of a document is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.found |= {value for name, value in attrs if name in TOLD and value}

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self.inside not in ("script", "style", "noscript", "title") and "{{" not in text:
            self.found |= {text} if re.search("[a-z]{2}", text) else set()


@pytest.mark.parametrize("name", [one for one in graph.export.html.SCRIPTS if one != "words"])
def test_every_text_of_a_script_is_there_in_chinese(name: str) -> None:
    script = (PAGE / f"{name}.js").read_text(encoding="utf8")
    said = set(re.findall(r'\bt\("([^"]+)"', script))
    said |= set(re.findall(r'\bcount\([^"`]+"[^"]+", "([^"]+)"\)', script))
    plain = re.findall(r'(?:textContent: |heading\(|say\()"([^"]+)"', script)
    assert (said - chinese(), plain) == (set(), [])


def test_every_text_of_the_file_is_there_in_chinese() -> None:
    words = Words()
    words.feed((PAGE / "page.html").read_text(encoding="utf8"))
    keys = {"Enter", "Esc"}
    assert len(words.found) > 20
    assert words.found - chinese() - keys == set()
