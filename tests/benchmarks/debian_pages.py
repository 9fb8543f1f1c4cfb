"""Sections of Debian's FAQ and pages of its handbook, each in one language only.

Read from the folder that holds what the packages `debian-faq`, `debian-faq-zh-cn` and
`debian-handbook` (Debian 12) install: `/usr/share/doc`, or wherever they were unpacked. Nothing of
their text lies in this project.

A document's key is `faq/PAGE#SECTION` or `handbook/PAGE`. A hash of the key says in which of the
two languages the document is read, so that a library of all of them holds each once: the page that
answers a question in one language is there in the other language alone, among pages on the same
subject in the language of the question. A page of the handbook of which less than three fifths is
translated is always read in English; of a Chinese one, paragraphs left in English are dropped.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lxml import html
from lxml.html import HtmlElement

Language = Literal["en", "zh"]
FOLDER_VARIABLE = "LOREGRAPH_DEBIAN_DOCS"
INSTALLED = Path("/usr/share/doc")
TRANSLATED = 0.6
"""Least share of Chinese characters among Chinese characters and Latin words of a Chinese page."""
CHINESE_PARAGRAPH = 0.4
"""Least such share of a paragraph that counts as translated."""

_BLOCKS = {"p", "div", "li", "dt", "dd", "tr", "h1", "h2", "h3", "h4", "h5", "ul", "ol", "dl"}
_LEFT_OUT = (
    './/script|.//style|.//pre|.//*[@class="toc" or @class="docnav" or @class="navheader"'
    ' or @class="navfooter" or @class="footnotes" or @id="banner" or @id="title"]'
)
_BETWEEN_HAN = re.compile(r"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]) +(?=[\u3000-\u9fff])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as it goes into a library."""

    key: str
    language: Language
    title: str
    text: str


def folder_of(given: str | None) -> Path:
    """Return the folder to read, or leave the program with what is missing."""
    folder = Path(given or os.environ.get(FOLDER_VARIABLE) or INSTALLED)
    wanted = (
        folder / "debian" / "FAQ" / "index.en.html",
        folder / "debian" / "FAQ" / "zh-cn" / "index.zh-cn.html",
        folder / "debian-handbook" / "html" / "zh-CN" / "index.html",
    )
    for each in wanted:
        if not each.exists():
            sys.exit(
                f"no Debian documents: {each} is missing; install debian-faq, debian-faq-zh-cn "
                f"and debian-handbook, or unpack them and name their usr/share/doc by --debian "
                f"or {FOLDER_VARIABLE}"
            )
    return folder


def pages(folder: Path) -> list[Page]:
    """Return every section and page, each in the one language that its key decides."""
    english = dict(_all(folder, "en"))
    chinese = dict(_all(folder, "zh"))
    found = []
    for key, (title, paragraphs) in english.items():
        language: Language = "en"
        there = chinese.get(key)
        if there and zlib.crc32(key.encode()) % 2 and _share(" ".join(there[1])) >= TRANSLATED:
            language = "zh"
            title, paragraphs = there
            paragraphs = [one for one in paragraphs if _share(one) >= CHINESE_PARAGRAPH]
        text = "\n\n".join(paragraphs)
        if text:
            found.append(Page(key=key, language=language, title=title, text=text))
    return found


def _all(folder: Path, language: Language) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    faq = folder / "debian" / "FAQ"
    ending = "en"
    if language == "zh":
        faq, ending = faq / "zh-cn", "zh-cn"
    for path in sorted(faq.glob(f"*.{ending}.html")):
        for section in html.fromstring(path.read_bytes()).xpath('//div[@class="section"]'):
            name = section.xpath(".//a[@id]/@id")[0]
            yield f"faq/{path.name.split('.')[0]}#{name}", _read(section)
    handbook = folder / "debian-handbook" / "html" / ("zh-CN" if language == "zh" else "en-US")
    for path in sorted(handbook.glob("sect.*.html")):
        section = html.fromstring(path.read_bytes()).xpath('//div[@class="section"]')[0]
        yield f"handbook/{path.stem}", _read(section, whole=True)


def _read(section: HtmlElement, *, whole: bool = False) -> tuple[str, list[str]]:
    """Return title and paragraphs; without sections inside, unless it is read whole."""
    section = deepcopy(section)
    heads = section.xpath('(.//*[self::h1 or self::h2 or self::h3 or self::h4][@class="title"])[1]')
    title = " ".join(heads[0].text_content().split())
    heads[0].drop_tree()
    inner = [] if whole else section.xpath('.//div[@class="section"]')
    for left_out in [*section.xpath(_LEFT_OUT), *inner]:
        if left_out.getparent() is not None:
            left_out.drop_tree()
    pieces: list[str] = []
    _pieces(section, pieces)
    lines = ("".join(pieces)).split("\n\n")
    clean = (_BETWEEN_HAN.sub("", " ".join(line.split())) for line in lines)
    return title, [line for line in clean if line]


def _pieces(element: HtmlElement, into: list[str]) -> None:
    """Append the text of an element, blocks parted by an empty line."""
    if not isinstance(element.tag, str):
        return
    mark = "\n\n" if element.tag in _BLOCKS else ""
    into.append(mark + " ".join((element.text or "").split("\n")))
    for child in element:
        _pieces(child, into)
        into.append(" ".join((child.tail or "").split("\n")))
    into.append(mark)


def _share(text: str) -> float:
    """Return the share of Chinese characters among these and Latin words."""
    han = len(re.findall("[\u4e00-\u9fff]", text))
    return han / (han + len(re.findall("[A-Za-z]+", text)) + 1)
