"""Extractor protocol for users' own extractors, and types of foreign labels."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Protocol, runtime_checkable

from ..model import ENTITY_TYPES, Extraction
from ..text.cjk import has_han


@runtime_checkable
class Extractor(Protocol):
    """Reads chunks and says which names and facts stand in them."""

    @property
    def identity(self) -> str:
        """Digest of models, versions and rules; changes when results may change."""
        ...

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """One extraction a text, in the texts' order; each depends on its own text alone."""
        ...


MAX_TYPE_CHARACTERS = 40
_SAME = {
    "PEOPLE": "PERSON",
    "HUMAN": "PERSON",
    "ORGANIZATION": "ORGANISATION",
    "ORG": "ORGANISATION",
    "LOCATION": "PLACE",
    "LOC": "PLACE",
    "GPE": "PLACE",
    "WORK_OF_ART": "WORK",
    "人": "PERSON",
    "人物": "PERSON",
    "人名": "PERSON",
    "组织": "ORGANISATION",
    "機構": "ORGANISATION",
    "机构": "ORGANISATION",
    "組織": "ORGANISATION",
    "地点": "PLACE",
    "地點": "PLACE",
    "地名": "PLACE",
    "事件": "EVENT",
    "作品": "WORK",
    "产品": "PRODUCT",
    "產品": "PRODUCT",
    "概念": "CONCEPT",
    "名称": "NAME",
}
"""Other words for exactly these types."""
_NARROWER = {
    "CHARACTER": "PERSON",
    "COMPANY": "ORGANISATION",
    "INSTITUTION": "ORGANISATION",
    "公司": "ORGANISATION",
    "CITY": "PLACE",
    "COUNTRY": "PLACE",
    "城市": "PLACE",
    "国家": "PLACE",
    "BOOK": "WORK",
    "TECHNOLOGY": "CONCEPT",
    "TOPIC": "CONCEPT",
    "技术": "CONCEPT",
}
"""Types inside one of these, for a graph that does not tell them apart."""


def normalised_type(label: str) -> str:
    """Return a label in capitals with `_`; synonyms become the known type."""
    words = re.sub(r"[\s_-]+", "_", label.strip()).strip("_").upper()[:MAX_TYPE_CHARACTERS]
    return _SAME.get(words, words)


def type_of_label(label: str, name: str) -> str:
    """Return the known type of a label.

    Else NAME for name-like, CONCEPT for other surfaces.
    """
    kind = normalised_type(label)
    if kind in ENTITY_TYPES:
        return kind
    return _NARROWER.get(kind) or looks_like(name)


def open_type(label: str, name: str, *, listed: Container[str]) -> str:
    """Map like `type_of_label`, keeping `listed` and unknown types."""
    kind = normalised_type(label)
    if kind in listed or kind in ENTITY_TYPES:
        return kind
    return _NARROWER.get(kind) or kind or looks_like(name)


def looks_like(name: str) -> str:
    """NAME for what is written like a proper name, else CONCEPT."""
    return "NAME" if name[:1].isupper() or has_han(name) else "CONCEPT"
