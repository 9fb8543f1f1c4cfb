"""XML as Markdown: articles as prose, feeds as entries, data as named records.

Vocabularies are known by element names that many of them share (`title`, `para`, `table`, …);
unknown ones are written as data. Entities are never expanded, nothing is fetched, and broken input
is read as far as possible.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..document import Content, ReadOptions, one_line, sanitise_text
from .html import read_web_page
from .html_markdown import as_markdown
from .markdown_writer import join_paragraphs, paragraphs, record_block, table_or_records
from .text import decode_bytes, front_matter_values

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DEEPEST = 200
_ENCODINGS = ("iso", "latin", "windows", "cp", "gb", "big5", "shift", "euc", "koi", "mac", "tis")


def parse_xml(data: bytes) -> _Element:
    """Parse an untrusted XML document to its root, broken input as far as possible.

    Raises:
        SourceError: no XML, too large for the memory there is, or elements deeper than 200 inside
            each other.
    """
    from lxml import etree

    text = _DECLARATION.sub("", decode_bytes(_as_declared(data)), count=1).lstrip()
    encoded = text.encode("utf-8", "replace")
    root: _Element | None = None
    problem = "no root element"
    for recover in (False, True):
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_pis=True,
            remove_comments=True,
            recover=recover,
            encoding="utf-8",
        )
        try:
            root = etree.fromstring(encoded, parser)
            break
        except etree.XMLSyntaxError as error:
            problem = str(error)
            if "depth" in problem.lower():
                raise SourceError("is nested too deeply to be read: flatten it") from error
            if "huge" in problem.lower() or "too long" in problem.lower():
                raise SourceError(f"is too large for one XML tree ({problem}); split it") from error
    if root is None and "unknown error" in problem:  # libxml2's word for no memory left
        raise SourceError("is too large for the memory as one XML tree: split it")
    if root is None:
        raise SourceError(f"is not well-formed XML ({problem}): check the file")
    if _depth(root) > _DEEPEST:
        raise SourceError("is nested too deeply to be read: flatten it")
    return root


def _as_declared(data: bytes) -> bytes:
    """Re-encode the bytes as UTF-8 if the declaration names another fitting encoding."""
    found = re.match(rb"\A\s*<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']", data[:200])
    if found is None:
        return data
    name = found.group(1).decode("ascii").lower()
    if not name.startswith(_ENCODINGS):
        return data
    name = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}.get(name, name)
    try:
        return data.decode(name).encode("utf-8")
    except (LookupError, UnicodeError):
        return data


def _depth(root: _Element) -> int:
    from lxml import etree

    depth = deepest = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def tag_of(element: _Element) -> str:
    """Return an element's name without namespace; empty for entities."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def own_text(element: _Element) -> str:
    """Return the text before the first child; a known entity is its character."""
    if not isinstance(element.tag, str):
        return html.unescape(element.text or "")
    return element.text or ""


def all_text(element: _Element) -> str:
    """Return every character inside an XML element, on one line."""
    return " ".join("".join(element_texts(element)).split())


def element_texts(element: _Element) -> Iterator[str]:
    """Return every text inside an XML element, in order, without recursion."""
    stack: list[tuple[_Element, bool]] = [(element, True)]
    while stack:
        node, opening = stack.pop()
        if not opening:
            yield node.tail or ""
            continue
        yield own_text(node)
        if node is not element:
            stack.append((node, False))
        stack.extend((child, True) for child in reversed(node))


def is_mixed(element: _Element) -> bool:
    """Check an XML element for mixed content, as in prose."""
    if len(element) == 0:
        return False
    texts = (own_text(element), *(child.tail or "" for child in element))
    return any(text and not text.isspace() for text in texts)


_TITLES = re.compile("title|article-title|head|heading|h|h[1-6]|bridgehead|label-title").fullmatch
_PARAGRAPHS = re.compile(
    "p|para|simpara|paragraph|ab|l|ptext|stext|btext|claim-text|verse|line|quote|disp-quote"
    "|blockquote|caption|note|def|term|disp-formula|programlisting|code|pre|screen|abstract-text"
).fullmatch
_CODE = re.compile("programlisting|code|pre|screen|preformat").fullmatch
_TABLE = re.compile("table|informaltable").fullmatch
_TABLE_ROW = re.compile("tr|row").fullmatch
_LISTS = re.compile("list|ul|ol|itemizedlist|orderedlist|variablelist|def-list|ref-list").fullmatch
_BLOCKS = re.compile("table-wrap|fig|fig-group|boxed-text|table|informaltable|list|ul|ol").fullmatch
_NO_TEXT = re.compile(
    "journal-meta|article-categories|counts|custom-meta-group|history|contrib-id|object-id"
    "|graphic|inline-graphic|media|style|script|elocation-id|alternatives-image|processing-meta"
).fullmatch
_ENTRIES = re.compile("item|entry").fullmatch
_ENTRY_TEXTS = ("encoded", "content", "description", "summary")
_ENTRY_FIELDS = {"pubdate": "date", "published": "date", "updated": "date", "date": "date"} | {
    "creator": "author",
    "author": "author",
    "link": "link",
    "category": "tags",
}
_MARKS = re.compile(r"<[a-zA-Z/!][^>]*>")
_HEADS = re.compile("info|(?:book|article)info|head|titlestmt|metadata|prolog").fullmatch
_DEEPEST_HEADING = 5


def read_xml(data: bytes, options: ReadOptions) -> Content:
    """Read the elements' text as Markdown, titled by the article or feed.

    Raises:
        SourceError: no XML, nested too deeply, or too large.
    """
    root = parse_xml(data)
    kind = tag_of(root).lower()
    if kind == "html":
        return read_web_page(data)
    if kind in ("rss", "feed", "rdf") and next(_entries(root), None) is not None:
        title, metadata, blocks = _feed(root)
    else:
        title, metadata = _title(root), _about(root)
        blocks = _outline(root, title=title)
    head = [f"# {title}"] if title else []
    text = join_paragraphs(map(sanitise_text, (*head, *blocks)), limit=options.max_characters)
    return Content(text=text, title=title, shape="markdown", metadata=front_matter_values(metadata))


def _title(root: _Element) -> str | None:
    """Return the article's title, or the first one above all else."""
    for name in ("article-title", "title-of-invention", "B540", "title"):
        for element in root.iter("{*}" + name):
            if name != "title" or _names_the_whole(element, root):
                return one_line(all_text(element)) or None
    return None


def _names_the_whole(title: _Element, root: _Element) -> bool:
    parent = title.getparent()
    return parent is root or (parent is not None and _HEADS(tag_of(parent).lower()) is not None)


def _about(root: _Element) -> dict[str, object]:
    """Return authors, date and keywords of an article; empty for other vocabularies."""
    meta = next(root.iter("{*}article-meta"), None)
    if meta is None:
        return {}
    people = [_person(each) for each in meta.iter("{*}contrib")]
    dates = (_published(each) for each in meta.iter("{*}pub-date"))
    return {
        "authors": [person for person in people if person],
        "date": next(filter(None, dates), None),
        "keywords": [all_text(each) for each in meta.iter("{*}kwd")],
        "doi": meta.findtext("{*}article-id[@pub-id-type='doi']"),
    }


def _person(contributor: _Element) -> str:
    parts = (contributor.find(".//{*}given-names"), contributor.find(".//{*}surname"))
    return " ".join(all_text(part) for part in parts if part is not None)


def _published(date: _Element) -> str | None:
    parts = [date.findtext("{*}" + name) or "" for name in ("year", "month", "day")]
    numbers = [part.zfill(2) for part in parts if part.strip().isdigit()]
    return "-".join(numbers) if len(numbers) > 1 else None


def _feed(root: _Element) -> tuple[str | None, dict[str, object], list[str]]:
    named = (each for each in root.iter() if tag_of(each).lower() in ("channel", "feed"))
    own = {tag_of(each).lower(): all_text(each) for each in reversed(next(named, root))}
    summary = _from_html(own.get("description") or own.get("subtitle") or "")
    entries = [block for entry in _entries(root) for block in _entry(entry)]
    metadata: dict[str, object] = {
        "language": own.get("language"),
        "date": own.get("lastbuilddate") or own.get("updated"),
    }
    title = one_line(own.get("title", "")) or None
    return title, metadata, list(filter(None, (summary, *entries)))


def _entries(root: _Element) -> Iterator[_Element]:
    return (each for each in root.iter() if _ENTRIES(tag_of(each).lower()))


def _entry(entry: _Element) -> Iterator[str]:
    found: dict[str, str] = {}
    fields: list[tuple[str, str]] = []
    for child in entry:
        name = tag_of(child).lower()
        text = all_text(child) or child.get("href", "") or child.get("term", "")
        found.setdefault(
            name, "".join(element_texts(child)).strip() if name in _ENTRY_TEXTS else text
        )
        if name in _ENTRY_FIELDS and text:
            fields.append((_ENTRY_FIELDS[name], text))
    yield f"## {one_line(_from_html(found.get('title', '')), limit=300) or 'Untitled'}"
    yield record_block(fields)
    yield next((_from_html(found[name]) for name in _ENTRY_TEXTS if found.get(name)), "")


def _from_html(text: str) -> str:
    """Convert a feed's text, which may be escaped HTML."""
    if not _MARKS.search(text):
        return paragraphs(text)
    from lxml import html

    return as_markdown(html.fromstring(f"<div>{text}</div>"))


def _outline(root: _Element, *, title: str | None) -> list[str]:
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    flowing = sum(1 for each in elements if _PARAGRAPHS(tag_of(each).lower()) or is_mixed(each))
    prose = flowing >= max(2, 0.02 * len(elements))
    blocks: list[str] = []
    _write(root, blocks, level=1, prose=prose)
    again = next((block for block in blocks if title and block.lstrip("# ") == title), None)
    return [block for block in blocks if block and block is not again]


def _write(element: _Element, blocks: list[str], *, level: int, prose: bool) -> None:
    """Append the blocks of an element; recursion is bounded by the tree's depth."""
    tag = tag_of(element).lower()
    if not tag or _NO_TEXT(tag):
        return
    if _TABLE(tag) and _rows(element):
        rows = _rows(element)
        blocks.extend(table_or_records(rows[0], rows[1:]))
    elif tag == "contrib-group":
        people = filter(None, map(_person, element.iter("{*}contrib")))
        blocks.append("Authors: " + ", ".join(people))
    elif _CODE(tag):
        blocks.append("```\n" + "".join(element_texts(element)).strip("\n") + "\n```")
    elif _TITLES(tag):
        blocks.append(_heading(all_text(element), level))
    elif _PARAGRAPHS(tag) or is_mixed(element):
        _write_paragraph(element, blocks, level=level, prose=prose)
    elif len(element) == 0:
        blocks.append(_leaf(element, prose=prose))
    elif _LISTS(tag):
        _write_list(element, blocks, level=level)
    else:
        _write_parts(element, blocks, level=level, prose=prose)


def _heading(text: str, level: int) -> str:
    return f"{'#' * min(level + 1, _DEEPEST_HEADING)} {one_line(text, limit=300)}" if text else ""


def _write_paragraph(element: _Element, blocks: list[str], *, level: int, prose: bool) -> None:
    """Write a paragraph; tables, figures and lists inside become blocks."""
    pieces = [own_text(element)]
    for child in element:
        if _BLOCKS(tag_of(child).lower()):
            blocks.append(" ".join("".join(pieces).split()))
            _write(child, blocks, level=level, prose=prose)
            pieces = []
        elif not _NO_TEXT(tag_of(child).lower()):
            pieces.extend(element_texts(child))
        pieces.append(child.tail or "")
    blocks.append(" ".join("".join(pieces).split()))


def _write_list(element: _Element, blocks: list[str], *, level: int) -> None:
    items: list[str] = []
    for child in element:
        text = " ".join(" ".join(element_texts(child)).split()) if len(child) else all_text(child)
        if _TITLES(tag_of(child).lower()):
            blocks.append(_heading(text, level))
        elif text:
            items.append(f"- {text}")
    blocks.append("\n".join(items))


def _write_parts(element: _Element, blocks: list[str], *, level: int, prose: bool) -> None:
    """Write a structured element: title, plain fields as one record, then parts."""
    children = [child for child in element if tag_of(child)]
    fields = [] if prose else _attributes(element)
    ends = [_field_end(child, prose=prose) for child in children]
    branching = {tag_of(each) for each, end in zip(children, ends, strict=True) if end is None}
    parts: list[_Element] = []
    for child, end in zip(children, ends, strict=True):
        if end is None or tag_of(child) in branching:  # what has parts once is no field elsewhere
            parts.append(child)
        else:
            fields += [(tag_of(child), all_text(end)), *([] if prose else _attributes(end))]
    titled = next((part for part in parts if _TITLES(tag_of(part).lower())), None)
    said = record_block([("" if name == "label" else name, text) for name, text in _merged(fields)])
    name = tag_of(element)
    if titled is not None:
        blocks.append(_heading(all_text(titled), level))
        parts.remove(titled)
    elif "abstract" in name.lower():
        blocks.append(_heading("Abstract", level))
    elif not prose and len(parts) > 1:
        blocks.append(_heading(name, level))
    elif said and not prose:
        said = f"{name} — {said}"
    blocks.append(said)
    deeper = level + 1 if titled is not None or (not prose and len(parts) > 1) else level
    for part in parts:
        _write(part, blocks, level=deeper, prose=prose)


def _field_end(element: _Element, *, prose: bool) -> _Element | None:
    """Return the element with a plain field's value; None for structured parts."""
    alone = _is_block(element) or (not prose and len(element.attrib) > 1)
    return None if alone else _chain_end(element)


def _is_block(element: _Element) -> bool:
    tag = tag_of(element).lower()
    known = (_TITLES, _PARAGRAPHS, _TABLE, _LISTS, _NO_TEXT)
    return any(matches(tag) for matches in known) or is_mixed(element)


def _chain_end(element: _Element) -> _Element | None:
    """Return the leaf of a chain of only children; None if it branches or holds prose."""
    while len(element) == 1:
        element = element[0]
        if _is_block(element) and tag_of(element).lower() not in ("stext", "ptext"):
            return None
    return element if len(element) == 0 else None


def _leaf(element: _Element, *, prose: bool) -> str:
    text, tag = all_text(element), tag_of(element)
    others = "" if prose else record_block(_attributes(element))
    if prose and tag.lower() in ("label", "tex-math"):
        return text
    return record_block([(tag, text), ("" if text else tag, others)])


def _attributes(element: _Element) -> list[tuple[str, str]]:
    named = ((str(key), str(value)) for key, value in element.attrib.items())
    return [(key.rpartition("}")[2], value) for key, value in sorted(named)]


def _merged(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Fields of one name as one, in the order in which the names come."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        if value:
            values.setdefault(name, []).append(value)
    return [(name, ", ".join(each)) for name, each in values.items()]


def _rows(table: _Element) -> list[list[str]]:
    rows = (each for each in table.iter() if _TABLE_ROW(tag_of(each).lower()))
    return [cells for row in rows if any(cells := [all_text(cell) for cell in row])]
