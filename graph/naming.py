"""Names in the reader's language: which of an entity's names is shown.

An entity keeps its names best first: `name` is the one most used, and among its other names the
first of a script is the best in that script. A reader of Chinese is shown the first with Chinese
characters, a reader of any other language the first without; where none is known, the name that
there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .model import Entity, GraphExport
from .text.cjk import has_han

CHINESE, ENGLISH = "zh", "en"


def name_in(entity: Entity, language: str) -> str:
    """Return the name to show to a reader of a language ("en", "zh-Hant")."""
    chinese = language.casefold().startswith(CHINESE)
    names = (entity.name, *entity.aliases)
    return next((name for name in names if has_han(name) == chinese), entity.name)


def named_in(entity: Entity, language: str) -> Entity:
    """Return an entity under its name in a language; what it was called is its first alias."""
    name = name_in(entity, language)
    if name == entity.name:
        return entity
    others = (other for other in entity.aliases if other != name)
    return replace(entity, name=name, aliases=(entity.name, *others))


def main_language(entities: Iterable[Entity]) -> str:
    """Return the language of most mentions of names."""
    counts = {CHINESE: 0, ENGLISH: 0}
    for entity in entities:
        counts[CHINESE if has_han(entity.name) else ENGLISH] += entity.mention_count
    return CHINESE if counts[CHINESE] > counts[ENGLISH] else ENGLISH


def export_in(export: GraphExport, language: str = "") -> GraphExport:
    """Return an export with names in one language; by default the main one."""
    spoken = language or main_language(export.entities)
    return replace(export, entities=tuple(named_in(one, spoken) for one in export.entities))
