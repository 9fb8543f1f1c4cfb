"""XML trees and their text.

Entities are never expanded, nothing is fetched, and broken input is read as far as
possible.

Knows no vocabulary.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..text.plain import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DEEPEST = 200
_ENCODINGS = ("iso", "latin", "windows", "cp", "gb", "big5", "shift", "euc", "koi", "mac", "tis")


def xml_root(data: bytes) -> _Element:
    """Parse the root of the tree.

    Raises:
        SourceError: no XML, too large for the memory there is, or elements deeper than 200 inside
            each other.
    """
    from lxml import etree

    text = _DECLARATION.sub("", decode(_as_declared(data)), count=1).lstrip()
    encoded = text.encode("utf-8", "replace")
    root: _Element | None = None
    problem = "it has no element"
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
        raise SourceError("is too large for one XML tree in the memory there is: split it")
    if root is None:
        raise SourceError(f"is no XML that can be read ({problem}); check the file")
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
    """Every character inside the element, on one line."""
    return " ".join("".join(texts(element)).split())


def texts(element: _Element) -> Iterator[str]:
    """Every text inside the element, in order, without recursion."""
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
    """Check for mixed content, as in prose."""
    if len(element) == 0:
        return False
    texts = (own_text(element), *(child.tail or "" for child in element))
    return any(text and not text.isspace() for text in texts)
