"""Page metadata from head, markup and linked data. Pure."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...types import MetaValue
from ..content import one_line, sanitise_text
from ..dates import iso_date

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_DATES = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "dc.date.issued",
    "citation_publication_date",
    "citation_date",
    "pubdate",
    "publishdate",
    "publish_date",
    "publication_date",
    "parsely-pub-date",
    "og:published_time",
    "article:modified_time",
    "og:updated_time",
    "last-modified",
    "datemodified",
)
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author")
_TAGS = ("article:tag", "keywords", "news_keywords")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_ADDRESS = re.compile(r"https?://|@")
_MOST_LINKED_DATA = 500_000
_MOST_TAGS = 30
_LONGEST_LINE = 500
_SPACES = re.compile(r"\s+")
_BYLINE = re.compile(r"^(?:by|von|par|作者[:：]?|文[/／])\s*", re.I)


def web_metadata(tree: HtmlElement) -> dict[str, MetaValue]:
    """Return `date` (ISO 8601), `author`, `language` and `tags` where given."""
    said = _meta(tree)
    linked = list(_linked_data(tree))
    found: dict[str, MetaValue] = {}
    date = _date(tree, said, linked)
    author = _author(tree, said, linked)
    language = _language(tree, said)
    tags = _tags(said)
    if author:
        found["author"] = author
    if date:
        found["date"] = date
    if language:
        found["language"] = language
    if tags:
        found["tags"] = tags
    return found


def _meta(tree: HtmlElement) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for element in tree.iter("meta"):
        content = one_line(sanitise_text(element.get("content") or ""), limit=500)
        for key in ("name", "property", "itemprop", "http-equiv"):
            name = (element.get(key) or "").lower()
            if name and content:
                said.setdefault(name, []).append(content)
    return said


def _linked_data(tree: HtmlElement) -> Iterator[dict[str, object]]:
    """Return JSON-LD objects, outermost first; invalid JSON is skipped."""
    for script in tree.xpath("//script[@type='application/ld+json']"):
        text = script.text or ""
        if len(text) > _MOST_LINKED_DATA:
            continue
        try:
            queue: deque[object] = deque([json.loads(text)])
        except (ValueError, RecursionError):
            continue  # many pages' own mistakes; the page's text does not depend on it
        while queue:
            item = queue.popleft()
            if isinstance(item, list):
                queue += item
            elif isinstance(item, dict):
                yield {str(key): value for key, value in item.items()}
                queue += [item["@graph"]] if "@graph" in item else []


def _date(
    tree: HtmlElement, said: dict[str, list[str]], linked: list[dict[str, object]]
) -> str | None:
    candidates = [said[name][0] for name in _DATES if name in said]
    for key in ("datePublished", "dateCreated", "dateModified"):
        candidates += [str(item[key]) for item in linked if isinstance(item.get(key), str)]
    times = tree.xpath(
        "//*[@itemprop='datePublished'] | //time[@pubdate] | //article//time | //time"
    )
    for element in times:
        candidates += [element.get("datetime") or element.get("content") or _start_of(element)]
    return next(filter(None, map(iso_date, candidates)), None)


def _author(tree: HtmlElement, said: dict[str, list[str]], linked: list[dict[str, object]]) -> str:
    candidates = [", ".join(said[name]) for name in _AUTHORS if name in said]
    candidates += [_names(item.get("author")) for item in linked]
    marked = tree.xpath(
        "//*[@itemprop='author'] | //a[@rel='author'] | //*[contains(@class,'byline')]"
    )
    candidates += [_start_of(element) for element in marked]
    for candidate in candidates:
        name = _BYLINE.sub("", one_line(sanitise_text(candidate)))
        if 1 < len(name) <= 120 and not _ADDRESS.search(name):
            return name
    return ""


def _start_of(element: HtmlElement) -> str:
    """The first words of an element: more than a name or a day has, less than a page."""
    start = ""
    for text in element.itertext():
        start += _SPACES.sub(" ", text)
        if len(start) >= _LONGEST_LINE:
            break
    return start


def _names(author: object) -> str:
    people = author if isinstance(author, list) else [author]
    names = [person.get("name") if isinstance(person, dict) else person for person in people]
    return ", ".join(name for name in names if isinstance(name, str))


def _language(tree: HtmlElement, said: dict[str, list[str]]) -> str:
    for candidate in (
        tree.get("lang"),
        tree.get("{http://www.w3.org/XML/1998/namespace}lang"),
        tree.get("xml:lang"),
        *said.get("content-language", []),
        *said.get("og:locale", []),
    ):
        if candidate and _LANGUAGE.fullmatch(candidate.strip()):
            return str(candidate).strip().replace("_", "-")
    return ""


def _tags(said: dict[str, list[str]]) -> tuple[str, ...]:
    for name in _TAGS:
        texts = said.get(name, [])
        tags = [tag.strip() for text in texts for tag in re.split("[,;，；、]", text)]
        if any(tags):
            return tuple(dict.fromkeys(filter(None, tags)))[:_MOST_TAGS]
    return ()
