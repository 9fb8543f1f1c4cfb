"""Extraction prompts: schema, packs of chunks, instructions, delimited texts.

Instructions are the same for every pack of a schema and language, so servers can cache them, and
short chunks share a call, since instructions cost the same for one chunk as for ten. Texts stand
between delimiters that no document can foresee: a digest of the texts. `ExtractionSchema.identity`
names all that decides the result, so results of another schema are never taken for this one's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from ...errors import GraphInputError
from ...llm import Prompt, list_schema, load_prompt, object_schema
from ...model import content_id
from ...text.cjk import has_han, is_chinese
from ..protocol import normalised_type

RULES_VERSION = "2"
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
    return load_prompt("extraction", language)


MAX_CHUNKS = 12
"""Models lose count of more numbered texts than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Chunks read in one call: `keys[i]` is the id of `texts[i]`.

    `contexts` gives, by id, the document and section that a text belongs to, where known; the model
    reads it to understand the text and extracts nothing from it.
    """

    texts: tuple[str, ...]
    keys: tuple[str, ...]
    contexts: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def chinese(self) -> bool:
        """Check whether the pack is mostly Chinese."""
        return is_chinese("\n".join(self.texts))

    def only(self, keys: Iterable[str]) -> Pack:
        """Return the pack of these chunks alone, in order."""
        wanted = frozenset(keys)
        kept = [pair for pair in zip(self.keys, self.texts, strict=True) if pair[0] in wanted]
        return _pack(kept, self.contexts)

    def halves(self) -> tuple[Pack, Pack]:
        """Two packs of half the chunks each; the second is empty where there is one chunk."""
        middle = (len(self.keys) + 1) // 2
        return self.only(self.keys[:middle]), self.only(self.keys[middle:])


def pack_chunks(
    chunks: Sequence[tuple[str, str]],
    *,
    count: Callable[[str], int],
    target_tokens: int,
    contexts: Mapping[str, str] | None = None,
) -> list[Pack]:
    """Pack `(id, text)` pairs into extraction calls of at most `target_tokens` and 12 chunks.

    A chunk of `target_tokens` or more is a pack of its own. `count` gives a text's tokens; every id
    must be there once. `contexts` are those of `Pack`, and count for nothing.
    """
    known = contexts or {}
    done: list[Pack] = []
    open_chunks: list[tuple[str, str]] = []
    size = 0
    for key, text in chunks:
        tokens = count(text)
        if open_chunks and (size + tokens > target_tokens or len(open_chunks) == MAX_CHUNKS):
            done.append(_pack(open_chunks, known))
            open_chunks, size = [], 0
        open_chunks.append((key, text))
        size += tokens
    if open_chunks:
        done.append(_pack(open_chunks, known))
    return done


def _pack(chunks: Sequence[tuple[str, str]], contexts: Mapping[str, str]) -> Pack:
    keys = tuple(key for key, _ in chunks)
    return Pack(
        keys=keys,
        texts=tuple(text for _, text in chunks),
        contexts={key: contexts[key] for key in keys if key in contexts},
    )


def chunk_context(title: str, headings: Sequence[str], text: str) -> str:
    """Return "Title › Section", as far as the beginning of the text does not say it."""
    begin = " ".join(text[:_BEGINNING].split()).casefold()
    parts = (" ".join(part.split()) for part in (title, *headings))
    shown = dict.fromkeys(part for part in parts if part and part.casefold() not in begin)
    return " › ".join(shown)[:MAX_CONTEXT_CHARACTERS].strip()


MAX_CONTEXT_CHARACTERS = 160
_BEGINNING = 300


_TOKENS_A_HAN = 1.0
_TOKENS_A_CHARACTER = 0.27
_SPARE_TOKENS = 400
_TOKENS_OUT = 6
"""Upper bound of JSON tokens per token of dense prose."""
_MAX_OUTPUT_TOKENS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gleaning:
    """Names already listed by chunk id, for a gleaning request."""

    names: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Reason against the last reply; `roomier` if it was truncated."""

    reason: str
    roomier: bool = False


def prompt_of(
    pack: Pack,
    schema: ExtractionSchema,
    *,
    said_before: Gleaning | None = None,
    correction: Correction | None = None,
) -> Prompt:
    """Build the request for one pack; texts are numbered from 1 in pack order."""
    language: Language = "zh" if pack.chinese else "en"
    closing = [_part("order", language, numbers=_numbers(len(pack.keys)))]
    if said_before is not None:
        closing.append(_part("missed", language))
    if correction is not None:
        closing.append(_part("again", language, reason=correction.reason))
    return Prompt(
        system=extraction_instructions(schema, language),
        user=_fenced(pack, said_before) + "\n" + " ".join(closing),
        max_output_tokens=_room(pack, roomier=correction is not None and correction.roomier),
        schema=reply_schema(schema),
    )


def extraction_instructions(schema: ExtractionSchema, language: Language) -> str:
    """Return the system message of LLM extraction, about 350 tokens with default types."""
    types = ", ".join(schema.entity_types)
    relations = "; ".join(
        str(relation) if schema.strict else relation.predicate for relation in schema.relation_types
    )
    manner = "open" if not relations else "strict" if schema.strict else "listed"
    claims = _part("claims_example", language) if schema.claims else ""
    example = _part("example", language, claims_example=claims)
    text = _part(
        "extract",
        language,
        types=_part("strict_type" if schema.strict else "open_type", language, types=types),
        predicates=_part(f"{manner}_predicate", language, predicates=relations),
        claims=_part("claims", language) if schema.claims else "",
        example="\n".join((example, schema.examples)),
    )
    return re.sub(r"\n{2,}", "\n", text).strip()


_SECTION = re.compile(r"^== (\w+) ==\n", re.MULTILINE)


def _part(name: str, language: Language, **values: str) -> str:
    """Return a section of the prompt file with `{name}` placeholders filled in one pass."""
    pieces = _SECTION.split(prompt_text(language) + "\n")
    template = dict(zip(pieces[1::2], pieces[2::2], strict=True))[name].strip()
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match.group(1), match.group()), template)


def _fenced(pack: Pack, said_before: Gleaning | None) -> str:
    mark = hashlib.sha256("\x1f".join(pack.texts).encode("utf8", "surrogatepass")).hexdigest()[:8]
    lines = [f"<<<texts {mark}>>>"]
    for number, (key, text) in enumerate(zip(pack.keys, pack.texts, strict=True), start=1):
        context = _sendable(pack.contexts.get(key, "")).replace("]", ")")
        lines += [f"[{mark} {number}{context and f' | {context}'}]", _sendable(text)]
        if said_before is not None:
            lines += [f"[{mark} {number} listed]", "; ".join(said_before.names.get(key, ()))]
    return "\n".join([*lines, f"<<<end texts {mark}>>>"])


def _sendable(text: str) -> str:
    """Half surrogates cannot be sent; the rest of the text is as it is."""
    return text.strip().encode("utf8", "replace").decode("utf8")


def _numbers(count: int) -> str:
    return "1" if count == 1 else f"1–{count}"


def _room(pack: Pack, *, roomier: bool) -> int:
    tokens = sum(map(estimated_tokens, pack.texts))
    room = min(_SPARE_TOKENS + _TOKENS_OUT * tokens, _MAX_OUTPUT_TOKENS)
    return room * 2 if roomier else room


def estimated_tokens(text: str) -> int:
    """Estimate a text's tokens for a typical model."""
    han = sum(map(has_han, text))
    return round(_TOKENS_A_HAN * han + _TOKENS_A_CHARACTER * (len(text) - han))


def reply_schema(schema: ExtractionSchema) -> dict[str, Any]:
    """Return the JSON schema of a reply: records are arrays, whose keys would cost a third more."""
    text = {"type": "string"}
    records = {"type": "array", "items": {"type": "array", "items": text}}
    weighed = {"type": "array", "items": {"type": "array", "items": {"type": ["string", "number"]}}}
    chunk: dict[str, Any] = {"n": {"type": "integer"}, "entities": records, "relations": weighed}
    if schema.claims:
        chunk["claims"] = records
    return object_schema({"chunks": list_schema(chunk)})
