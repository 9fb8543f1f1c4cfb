"""Web pages as Markdown: main text with headings, lists and tables, and the page's metadata.

The main text is the smallest element around what `trafilatura` finds, written out whole so that
tables, lists and code stay complete. Where that loses most of a short page, it is the body without
its frame (menus, banners, adverts, sharing). Any declaration and depth of nesting is read.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graph.text.cjk import count_han

from ...errors import SourceError
from ...types import MetaValue
from ..document import Content, iso_date, one_line, sanitise_text
from .html_footnotes import place_footnotes
from .html_markdown import as_markdown
from .text import decode_bytes

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?>")
_WITHOUT_END = re.compile(
    "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr", re.I
).fullmatch
_DEEPEST = 400
_TOO_DEEP = "ERR_RESOURCE_LIMIT"


def page_source(data: bytes) -> str:
    """Decode a page as declared, or as detected if that is wrong.

    Raises:
        SourceError: no text at all.
    """
    return _DECLARATION.sub("", _decoded(data))


def page_tree(source: str) -> HtmlElement:
    """Parse a page; tags nested too deeply are dropped, their text stays; signs for links go.

    Footnotes are put behind the paragraphs that they belong to.

    Raises:
        SourceError: nothing in it.
    """
    from lxml import etree, html

    for text in (source, None):
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        shown = "".join(_shallow(source)) if text is None else text
        try:
            tree = html.document_fromstring(shown.encode("utf-8"), parser=parser)
        except (etree.ParserError, etree.XMLSyntaxError) as error:
            if "unknown error" in str(error):  # libxml2's word for no memory left
                raise SourceError("is too large for one HTML page: split it") from error
            raise SourceError("is empty: there is no text in this page") from error
        if not any(entry.type_name == _TOO_DEEP for entry in parser.error_log):
            break
    place_footnotes(tree)
    for link in [*tree.iter("a")]:
        if isinstance(link, html.HtmlElement) and _is_permalink(link):
            link.drop_tree()
    return tree


def _is_permalink(link: HtmlElement) -> bool:
    """Check for a link to a place of its own page: a sign, as "¶", or that place's own number."""
    target = link.get("href") or ""
    if not target.startswith("#"):
        return False
    text = "".join(link.itertext()).strip()
    above = link.getparent()
    is_alone = above is not None and above.text_content().strip() == text
    is_number = is_alone and text.isdecimal() and target == f"#{text}"
    return is_number or (bool(text) and not any(map(str.isalnum, text)))


def _shallow(source: str) -> Iterator[str]:
    """Remove tags beyond the nesting limit."""
    depth = left_out = at = 0
    for found in _TAG.finditer(source):
        yield source[at : found.start()]
        at = found.end()
        closes, name = found.groups()
        keep = True
        if closes:
            keep = not left_out
            left_out, depth = max(0, left_out - 1), depth - (not left_out)
        elif not _WITHOUT_END(name):
            keep = depth < _DEEPEST
            depth, left_out = depth + keep, left_out + (not keep)
        yield found.group() if keep else " "
    yield source[at:]


def _decoded(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    if declared and not data.startswith(
        (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    ):
        try:
            name = codecs.lookup(declared.group(1).decode("ascii")).name
            return sanitise_text(data.decode(_WIDER.get(name, name)))
        except (LookupError, UnicodeError):
            return decode_bytes(data)  # an unknown or a wrong declaration: the bytes decide
    return decode_bytes(data)


_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "head", "select", "button"})
_FRAME_ROLES = re.compile(
    "navigation|banner|contentinfo|search|(?:alert)?dialog|menu(?:bar)?|toolbar|tooltip"
)
_NEVER_TEXT = re.compile(
    "cookies?|consent|gdpr|onetrust|adverts?|advertisement|advertising|ads|adsbygoogle|adsense|adslot"
    "|sponsor(?:s|ed)?|newsletter|breadcrumbs?|pagination|navbox|catlinks|editsection|noprint"
    "|jumplink|paywall|popup"
)
_SELDOM_TEXT = re.compile(
    "ad|[a-z]*nav|nav(?:bar|igation|header|footer|links?)|menu|sidebar|related|recommended"
    "|recommendations|shar(?:e|ing)|social"
    "|subscribe|subscription|signup|promo|promotion|toolbar|modal|overlay|skip|toc|masthead|topbar"
    "|footer|widgets?|login|banner|tags|pager|portlet|dropdown|langs?|languages|interlanguage"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PROTECTED = frozenset({"html", "body", "main", "article"})
_LINKED = 0.4
_OF_LINKS = 0.5
"""Share of its text in links from which a page is one of links."""
_LITTLE = 150
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")
_CLOSERS = " \t\r\n)]\"'”’）」』"
_LEAST_LINKS = 5
_NOTHING_BUT_LINKS = 0.9


class Sizes:
    """Letter counts of page elements, in total and in links; a Chinese character counts thrice."""

    def __init__(self, tree: HtmlElement, *, skip: Iterable[HtmlElement] = ()) -> None:
        self.text: dict[HtmlElement, int] = {}
        self.linked: dict[HtmlElement, int] = {}
        left_out = set(skip)
        for element in reversed(list(tree.iter())):
            if not isinstance(element.tag, str) or element.tag in _NO_TEXT or element in left_out:
                continue
            tails = sum(_letters(child.tail) for child in element)
            own = _letters(element.text) + tails
            total = own + sum(self.text.get(child, 0) for child in element)
            self.text[element] = total
            inner = sum(self.linked.get(child, 0) for child in element)
            self.linked[element] = total if element.tag == "a" else inner

    def link_share(self, element: HtmlElement) -> float:
        """Return the share of text in links; 1 without text."""
        total = self.text.get(element, 0)
        return self.linked.get(element, 0) / total if total else 1.0


def _letters(text: str | None) -> int:
    return sum(map(len, text.split())) + 2 * count_han(text) if text else 0


def hidden_elements(tree: HtmlElement) -> set[HtmlElement]:
    """Return the HTML elements that no reader of the page sees."""
    return {
        element
        for element in tree.iter()
        if isinstance(element.tag, str)
        and (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or _HIDDEN.search(element.get("style") or "") is not None
        )
        and element.tag not in _PROTECTED
    }


def frame_elements(tree: HtmlElement, sizes: Sizes) -> set[HtmlElement]:
    """Return frame elements by tag, role, class or id, unless they hold most of the text.

    On a page of links, the first one of a book, tables of contents are its text.
    """
    body = tree.find("body")
    page = tree if body is None else body
    most = 0.5 * sizes.text.get(page, 0)
    frames = {
        element
        for element in tree.iter()
        if isinstance(element.tag, str)
        and element.tag not in _PROTECTED
        and sizes.text.get(element, 0) <= most
        and _is_frame(element, sizes)
    }
    if sizes.link_share(page) < _OF_LINKS:
        return frames
    return {element for element in frames if "toc" not in _named(element)}


def _named(element: HtmlElement) -> list[str]:
    """Return the words of an element's class and id."""
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return [word.lower() for word in _WORDS.findall(names)]


def _is_frame(element: HtmlElement, sizes: Sizes) -> bool:
    tag = element.tag
    if tag == "nav" or _FRAME_ROLES.fullmatch(element.get("role") or ""):
        return True
    if tag in ("header", "footer") and not _is_inside_text(element):
        return True
    if tag == "sup" and "reference" in (element.get("class") or ""):
        return True
    seldom, words = tag == "aside", list[str]()
    if tag not in _HEADING_TAGS:
        words = _named(element)
        if any(map(_NEVER_TEXT.fullmatch, words)):
            return True
        seldom = seldom or any(map(_SELDOM_TEXT.fullmatch, words))
    if not seldom:
        return False
    if sizes.link_share(element) >= _LINKED:
        return True
    is_box = {word for word in words if _SELDOM_TEXT.fullmatch(word)} <= {"sidebar"}
    return sizes.text.get(element, 0) < _LITTLE and not (is_box and _is_note(element))


def _is_note(element: HtmlElement) -> bool:
    """Check for a box that stands beside paragraphs and ends with a sentence."""
    parent = element.getparent()
    said = element.xpath(".//text()[not(ancestor::script or ancestor::style)]")
    text = "".join(map(str, said)).rstrip(_CLOSERS)
    return parent is not None and text.endswith(_SENTENCE_ENDS) and any(map(_is_paragraph, parent))


def _is_paragraph(element: HtmlElement) -> bool:
    """Check for running text without blocks in it."""
    if element.tag == "p":
        return True
    text = "".join((element.text or "", *(child.tail or "" for child in element)))
    inner = any(isinstance(child.tag, str) and _PARAGRAPH(child.tag) for child in element)
    return element.tag == "div" and _letters(text) >= _LEAST_SIBLING and not inner


_HEADING_TAGS = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "title", "p", "pre", "code", "td", "th"}
)


def _is_inside_text(element: HtmlElement) -> bool:
    return any(parent.tag in ("article", "main", "section") for parent in element.iterancestors())


def link_blocks(element: HtmlElement, sizes: Sizes) -> set[HtmlElement]:
    """Return link-only lists and boxes in a mostly textual page."""
    if sizes.link_share(element) > _LINKED:
        return set()
    return {
        block
        for block in element.iter("ul", "ol", "div", "section", "aside", "table")
        if block is not element
        and sizes.text.get(block, 0) > 0
        and sizes.link_share(block) >= _NOTHING_BUT_LINKS
        and sum(1 for _ in block.iter("a")) >= _LEAST_LINKS
    }


_DEEPEST_MAIN = 200
_LONGEST_SOURCE = 5_000_000
_MOST_ELEMENTS = 30_000
_MOST_BLOCKS = 1_000
_BLOCKS = frozenset({"table", "ul", "ol", "dl"})
"""Maximum elements for trafilatura (0.4 ms each, more with tables and lists)."""
_PARAGRAPH = re.compile(
    "article|aside|blockquote|body|br|caption|center|col|d[dlt]|div|fieldset|form|h[1-6]|legend|li"
    "|opt(?:ion|group)|p|pre|t(?:able|body|d|extarea|foot|h|head|r)|ul"
).fullmatch
_SHORT = 150
_MOST_PAIRS = 4_000_000
"""Of short paragraphs without a longer one between them.

Each looks for one past all the others.
"""
_LEAST_PIECE = 20
_COVERED = 0.9
_MOST = 0.6
_LEAST_SIBLING = 60
_GAPS = re.compile(r"\W+")


def main_element(source: str, tree: HtmlElement, sizes: Sizes) -> HtmlElement | None:
    """Return the main element; None if none stands out."""
    named = [
        found[0]
        for path in ("//article", "//main | //*[@role='main']")
        if len(found := tree.xpath(path)) == 1
    ]
    for element in named:
        if sizes.text.get(element, 0) >= _MOST * sizes.text.get(tree, 0):
            return element  # the author's own word on what is the main text
    if len(source) > _LONGEST_SOURCE or _is_dense(tree) or _depth(tree) > _DEEPEST_MAIN:
        return None
    found = _found_text(source)
    inner = _smallest_around(found, tree) if found else None
    if inner is None:
        return named[0] if named else None
    kept = [element for element in named if _holds(element, inner, sizes)]
    return kept[0] if kept else _with_siblings(inner, sizes)


def _is_dense(tree: HtmlElement) -> bool:
    """Check for too much markup to search."""
    elements = tables_and_lists = length = run = pairs = 0
    for element in tree.iter():
        elements += 1
        tables_and_lists += element.tag in _BLOCKS
        if isinstance(element.tag, str) and _PARAGRAPH(element.tag):
            run = 0 if length > _SHORT else run + 1
            pairs, length = pairs + run, 0
        length += len((element.text or "").strip()) + len((element.tail or "").strip())
    return elements > _MOST_ELEMENTS or tables_and_lists > _MOST_BLOCKS or pairs > _MOST_PAIRS


def _depth(tree: HtmlElement) -> int:
    depths: dict[HtmlElement, int] = {}
    deepest = 0
    for element in tree.iter():
        parent = element.getparent()
        depths[element] = depths.get(parent, 0) + 1 if parent is not None else 0
        deepest = max(deepest, depths[element])
    return deepest


def _found_text(source: str) -> str:
    from trafilatura import extract

    found = extract(
        source, output_format="txt", include_comments=True, favor_recall=True, deduplicate=False
    )
    return _GAPS.sub("", found or "")


def _smallest_around(found: str, tree: HtmlElement) -> HtmlElement | None:
    """Return the deepest element around nearly all of the `found` text."""
    covered: dict[HtmlElement, int] = {}
    for element in reversed(list(tree.iter())):
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "head"):
            continue
        texts = [element.text, *(child.tail for child in element)]
        own = sum(_covered(text, found) for text in texts)
        covered[element] = own + sum(covered.get(child, 0) for child in element)
    whole = covered.get(tree, 0)
    if not whole:
        return None
    element = tree
    while inner := [one for one in element if covered.get(one, 0) >= _COVERED * whole]:
        before = sum(covered.get(one, 0) for one in inner[0].itersiblings(preceding=True))
        if before >= _LEAST_SIBLING:
            break  # it leads the text in
        element = inner[0]
    return element


def _covered(text: str | None, found: str) -> int:
    letters = _GAPS.sub("", text or "")
    size = _letters(letters)
    return size if size >= _LEAST_PIECE and letters in found else 0


def _holds(named: HtmlElement, inner: HtmlElement, sizes: Sizes) -> bool:
    if named is inner or any(parent is named for parent in inner.iterancestors()):
        return True
    return sizes.text.get(named, 0) >= _COVERED * sizes.text.get(inner, 0)


def _with_siblings(element: HtmlElement, sizes: Sizes) -> HtmlElement:
    """Extend a thread's post to its siblings."""
    for candidate in (element, *list(element.iterancestors())[:2]):
        parent, kind = candidate.getparent(), candidate.get("class")
        if parent is None or not kind or candidate.tag in ("body", "html"):
            continue
        alike = [
            each
            for each in parent
            if each.tag == candidate.tag
            and each.get("class") == kind
            and sizes.text.get(each, 0) >= _LEAST_SIBLING
        ]
        if len(alike) > 1:
            return parent
    return element


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
    """Return the first words of an element, bounded in length."""
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


_SITE_NAME = re.compile(r"\s+[|·»«]\s.*")
_SHORT_PAGE_CHARACTERS = 5_000
_LEAST_LEFT = 0.15
_LEAST_SHARE = 0.1
_LEAST_SHORT_SHARE = 0.8
_LETTER = re.compile(r"[^\W_]")


def read_web_page(data: bytes) -> Content:
    """Read the main text of a web page as Markdown.

    Titled by the first `h1` if the `title` repeats it, else the `title`. Metadata: `date`,
    `author`, `language`, `tags`.

    Raises:
        SourceError: no text in it, or not text at all.
    """
    source = page_source(data)
    tree = page_tree(source)
    title, heading = _site_names(tree)
    text = sanitise_text(_main_text(source, tree))
    if heading and text and heading not in text.replace("\\", ""):
        text = f"# {heading}\n\n{text}"
    return Content(text=text, title=title, shape="markdown", metadata=web_metadata(tree))


def _site_names(tree: HtmlElement) -> tuple[str | None, str | None]:
    """Return the page's title and first top-level heading.

    Where the first of several such headings ends the `title` as a site's name, the title is the one
    with the words in front of it.
    """
    titles = [
        one_line(found.text_content())
        for found in tree.xpath("//head/title | //body//title[not(ancestor::svg)]")
    ]
    headings = [*filter(None, (one_line(found.text_content()) for found in tree.xpath("//h1")))]
    title = _SITE_NAME.sub("", next(filter(None, titles), "")) or None
    if title is None and not headings:  # a part of a page
        framed = "nav or ancestor::aside or ancestor::header or ancestor::footer"
        inner = (
            one_line(found.text_content())
            for found in tree.xpath(f"(//h2 | //h3)[not(ancestor::{framed})]")
        )
        return next(filter(None, inner), None), None
    heading = next(iter(headings), None)
    if title is None or heading is None or heading.casefold() not in title.casefold():
        return title or heading, heading
    if title.casefold().endswith(f" - {heading.casefold()}"):  # maybe the site's name
        own = _words(title[: -len(heading)])
        return next((each for each in headings[1:] if own <= _words(each)), heading), heading
    return heading, heading


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _main_text(source: str, tree: HtmlElement) -> str:
    hidden = hidden_elements(tree)
    sizes = Sizes(tree, skip=hidden)
    framed = hidden | frame_elements(tree, sizes)
    body = as_markdown(tree, skip=framed)
    if _size(body) < _LEAST_LEFT * sum(sizes.text.get(child, 0) for child in tree.iter("body")):
        framed = hidden  # the page calls its own text a menu or an advert
        body = as_markdown(tree, skip=framed)
    element = main_element(source, tree, sizes)
    if element is None or element.tag in ("html", "body"):
        return body
    main = as_markdown(element, skip=(framed | link_blocks(element, sizes)) - {element})
    return body if _loses_too_much(main, body) else main


def _loses_too_much(main: str, body: str) -> bool:
    """Check whether the main text loses too much of the body."""
    share = _size(main) / max(1, _size(body))
    return share < _LEAST_SHARE or (
        share < _LEAST_SHORT_SHARE and len(body) < _SHORT_PAGE_CHARACTERS
    )


def _size(text: str) -> int:
    """Count letters and digits."""
    return len(_LETTER.findall(text))


def read_web_archive(data: bytes) -> Content:
    """Read the first HTML page of a web archive (MHTML).

    Raises:
        SourceError: there is no page of HTML in it, or no text in that.
    """
    from .mail import parse_message

    for part in parse_message(data).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes) and payload.strip():
                return read_web_page(payload)
    raise SourceError("contains no web page: save the page again as HTML")
