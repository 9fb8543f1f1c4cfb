"""Extraction prompt: instructions, delimited texts, reply format.

The instructions are the same for every pack of a schema and language, so that a server can keep
them; what changes stands in the user's message, between lines with a mark that no document can
foresee, because it is a digest of the texts themselves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..asking import Prompt
from .model_packs import Pack
from .model_schema import ExtractionSchema, Language, prompt_text
from .segments import has_han

_TOKENS_A_HAN = 1.0
_TOKENS_A_CHARACTER = 0.27
_SPARE_TOKENS = 400
_TOKENS_OUT = 4
"""Upper bound of JSON tokens per token of dense prose."""
_MAX_OUTPUT_TOKENS = 8_000


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
        system=instructions(schema, language),
        user=_fenced(pack, said_before) + "\n" + " ".join(closing),
        max_output_tokens=_room(pack, roomier=correction is not None and correction.roomier),
        schema=reply_schema(schema),
    )


def instructions(schema: ExtractionSchema, language: Language) -> str:
    """Return the system message, about 350 tokens with default types."""
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
        lines += [f"[{mark} {number}]", _sendable(text)]
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
    """Return the strict JSON schema of a reply."""
    text = {"type": "string"}
    kind: dict[str, Any] = text
    predicate: dict[str, Any] = text
    if schema.strict:
        kind = {"type": "string", "enum": list(schema.entity_types)}
        if schema.relation_types:
            listed = dict.fromkeys(r.predicate for r in schema.relation_types)
            predicate = {"type": "string", "enum": list(listed)}
    relation = {
        **dict.fromkeys(("source", "target"), text),
        "predicate": predicate,
        "description": text,
        "strength": {"type": "number"},
    }
    chunk: dict[str, Any] = {
        "n": {"type": "integer"},
        "entities": _list_of({"name": text, "type": kind, "description": text}),
        "relations": _list_of(relation),
    }
    if schema.claims:
        fields = ("subject", "object", "type", "status", "start", "end", "text")
        status = {"type": "string", "enum": ["TRUE", "FALSE", "SUSPECTED"]}
        chunk["claims"] = _list_of({**dict.fromkeys(fields, text), "status": status})
    return _object({"chunks": _list_of(chunk)})


def _list_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
