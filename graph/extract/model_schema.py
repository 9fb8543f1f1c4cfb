"""Extraction schema: entity types, relations between them, claims.

Made from plain settings, and a value from then on: `identity` names all that decides what comes
out, so that results of another schema are never taken for this one's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ..errors import GraphInputError
from ..model import content_id
from .labels import normalised_type

RULES_VERSION = "1"
"""Raised whenever the same reply would be read differently."""
DEFAULT_TYPES = ("PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK", "PRODUCT", "CONCEPT")
MAX_PREDICATE_CHARACTERS = 60
_ANY = frozenset({"", "*", "ANY"})
_DASH = re.compile(r"(?<!\s)\s+(?:[-–—]+>?|[→⟶])\s+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RelationType:
    """A predicate and the types of its two ends; an empty type is any."""

    source: str
    predicate: str
    target: str

    def __str__(self) -> str:
        return f"{self.source or '*'} - {self.predicate} - {self.target or '*'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSchema:
    """Requested types. With `strict` anything else is dropped.

    `examples` stand below the example of the prompt; `gleanings` is how often a pack is asked again
    for what was missed; `inferred` says what happens to relations whose ends no sentence names
    together.
    """

    entity_types: tuple[str, ...] = DEFAULT_TYPES
    relation_types: tuple[RelationType, ...] = ()
    strict: bool = False
    claims: bool = True
    inferred: Literal["keep", "drop"] = "keep"
    examples: str = ""
    gleanings: int = 0

    @classmethod
    def of(
        cls,
        entity_types: Iterable[str] = (),
        relation_types: Iterable[str] = (),
        *,
        strict: bool = False,
        claims: bool = True,
        inferred: Literal["keep", "drop"] = "keep",
        examples: str = "",
        gleanings: int = 0,
    ) -> ExtractionSchema:
        """Build a schema from settings such as `PERSON - founded - ORGANISATION`.

        `*` for a type is any; a line with a predicate alone leaves both ends open. Without entity
        types there are the usual ones and those of the relations.

        Raises:
            GraphInputError: a line that is no relation, or one between types that are not listed.
        """
        relations = tuple(dict.fromkeys(_relation_type(line) for line in relation_types))
        types = tuple(dict.fromkeys(filter(None, map(normalised_type, entity_types))))
        for relation in relations if types else ():
            for kind in (relation.source, relation.target):
                if kind and kind not in types:
                    raise GraphInputError(
                        f"relation type {str(relation)!r}: {kind!r} is none of the entity types "
                        f"({', '.join(types)}); list it there, or write * for any"
                    )
        ends = (kind for r in relations for kind in (r.source, r.target) if kind)
        return cls(
            entity_types=types or tuple(dict.fromkeys((*DEFAULT_TYPES, *ends))),
            relation_types=relations,
            strict=strict,
            claims=claims,
            inferred=inferred,
            examples=examples.strip(),
            gleanings=gleanings,
        )

    @property
    def identity(self) -> str:
        """Digest (12 hex digits) of all that decides results: fields, prompts, rules."""
        parts = (
            RULES_VERSION,
            *self.entity_types,
            "relations",
            *map(str, self.relation_types),
            f"{self.strict} {self.claims} {self.inferred} {self.gleanings}",
            self.examples,
            *map(prompt_text, LANGUAGES),
        )
        return content_id("", *parts)[:12]

    def allows(self, source: str, predicate: str, target: str) -> bool:
        """Check whether a relation between these types is listed; without a list all are."""
        return not self.relation_types or any(
            fold_predicate(r.predicate) == fold_predicate(predicate)
            and r.source in ("", source)
            and r.target in ("", target)
            for r in self.relation_types
        )


def _relation_type(line: str) -> RelationType:
    parts = [part.strip() for part in _DASH.split(line.strip())]
    if len(parts) == 1:
        parts = ["*", parts[0], "*"]
    predicate = normalised_predicate(parts[1]) if len(parts) == 3 else ""
    if not predicate or not parts[0] or not parts[2]:
        raise GraphInputError(
            f"relation type {line!r} is not of the form 'PERSON - founded - ORGANISATION'"
        )
    source, target = ("" if p.upper() in _ANY else normalised_type(p) for p in parts[::2])
    return RelationType(source=source, predicate=predicate, target=target)


def normalised_predicate(predicate: str) -> str:
    """Normalise a predicate: lower case, spaced, cut between words at 60 characters."""
    words = re.sub(r"[\s_\-]+", " ", _HUMP.sub(" ", predicate)).casefold().strip(" .,;:!?\"'`。，")
    if len(words) <= MAX_PREDICATE_CHARACTERS:
        return words
    cut = words.rfind(" ", 0, MAX_PREDICATE_CHARACTERS + 1)
    return words[: cut if cut > 0 else MAX_PREDICATE_CHARACTERS].strip()


def fold_predicate(predicate: str) -> str:
    """Fold spelling variants of a predicate: no spaces, no leading auxiliary."""
    return re.sub(r"^(?:is|are|was|were|has|had|be) ", "", predicate).replace(" ", "")


Language = Literal["en", "zh"]
LANGUAGES: Sequence[Language] = ("en", "zh")


@cache
def prompt_text(language: Language) -> str:
    """Return `prompts/extraction.<language>.txt` by its `== name ==` sections."""
    path = files(__package__) / "prompts" / f"extraction.{language}.txt"
    return path.read_text(encoding="utf8").strip()
