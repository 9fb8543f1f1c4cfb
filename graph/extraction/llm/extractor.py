"""LLM extraction: one call per pack, and the validation of replies.

The model comes by argument, results are values. A reply that names nothing is checked against
names found by rules in the text's prose (not in headings, lists or tables).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from ...llm import Ask
from ...model import Extraction
from ...text.sentences import sentence_quality, sentence_spans
from ..rule_based import LanguageExtractor
from .grounding import anchor_records
from .parsing import CUT_OFF, DAMAGED, ParsedReply, RawExtraction, parse_reply
from .prompts import (
    DEFAULT_TYPES,
    Correction,
    ExtractionSchema,
    Gleaning,
    Pack,
    prompt_of,
)

PROSE = 0.5
"""Minimum sentence quality that counts as prose (see `sentences.quality`)."""


def plain_names(text: str) -> set[str]:
    """Return the keys of names in `text`; thread-safe."""
    spans = sentence_spans(text)
    prose = [sentence_quality(" ".join(text[start:end].split())) >= PROSE for start, end in spans]
    if not any(prose):
        return set()
    starts = [start for start, _ in spans]
    (found,) = _by_rules().extract([text])
    return {
        mention.key
        for mention in found.mentions
        if prose[max(0, bisect_right(starts, mention.start) - 1)]
    }


@cache
def _by_rules() -> LanguageExtractor:
    """Find names by capitals and the Chinese dictionary, without statistical models."""
    return LanguageExtractor(spacy_model="none", concepts=False)


MIN_INVENTED = 2
"""Number of absent names from which a reply is about another text."""
PLAIN_NAMES = 2
NAMELESS = "the reply has no entities, but the text has names"
"""Limits below which an empty reply is accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackResult:
    """Extractions of a pack by chunk id, and the reasons for unusable ones.

    Every chunk is in exactly one of the two. `dropped` counts what was left out of the answers.
    """

    found: Mapping[str, Extraction] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def without(self, keys: Collection[str]) -> PackResult:
        """Return the result without these chunks."""
        return PackResult(
            found={key: held for key, held in self.found.items() if key not in keys},
            unusable={key: why for key, why in self.unusable.items() if key not in keys},
            dropped=self.dropped,
        )


def extract_pack(
    pack: Pack, schema: ExtractionSchema, ask: Ask, *, ask_again: Ask | None = None
) -> PackResult:
    """One call, and one more for the chunks of which the answer could not be used.

    A reply that was cut off is gone on with as long as each call brings whole chunks. With
    gleanings, chunks that were read are asked about again until nothing new comes.

    Args:
        pack: the chunks.
        schema: what is looked for.
        ask: answers; what it raises passes through unchanged, and nothing is found.
        ask_again: answers the further calls instead; empty text from it ends them, and what was
            found before stands.
    """
    further = ask_again or ask
    parsed = parse_reply(ask(prompt_of(pack, schema)), pack)
    result = _result(parsed, pack, schema)
    doubts = {**dict.fromkeys(parsed.doubtful, DAMAGED), **result.unusable}
    while doubts:
        found = len(result.found)
        parsed, result = _corrected(parsed, result, pack, doubts, schema=schema, ask=further)
        more = len(result.found) > found
        doubts = {key: why for key, why in result.unusable.items() if more and why == CUT_OFF}
    for _ in range(schema.gleanings):
        said = _gleaned(parsed, result, pack, schema=schema, ask=further)
        parsed = ParsedReply(said=said, unusable=parsed.unusable, dropped=parsed.dropped)
        before, result = result, _result(parsed, pack, schema)
        if _size(result) == _size(before):
            break
    return result


def _result(parsed: ParsedReply, pack: Pack, schema: ExtractionSchema) -> PackResult:
    found: dict[str, Extraction] = {}
    unusable = dict(parsed.unusable)
    dropped = Counter(parsed.dropped)
    for key, text in zip(pack.keys, pack.texts, strict=True):
        if key not in parsed.said:
            continue
        held = anchor_records(parsed.said[key], text, schema)
        dropped.update(held.dropped)
        if held.named >= MIN_INVENTED and not held.placed:
            unusable[key] = f"none of the {held.named} names in the reply occurs in the text"
        elif not held.placed and _names_are_asked_for(schema) and _has_names(text):
            unusable[key] = NAMELESS
        else:
            found[key] = held.extraction
    return PackResult(found=found, unusable=unusable, dropped=dropped)


def _names_are_asked_for(schema: ExtractionSchema) -> bool:
    return {*DEFAULT_TYPES} <= {*schema.entity_types}


def _has_names(text: str) -> bool:
    return len(plain_names(text)) >= PLAIN_NAMES


def _size(result: PackResult) -> int:
    """Count mentions, relations and claims."""
    return sum(
        len(found.mentions) + len(found.statements) + len(found.claims)
        for found in result.found.values()
    )


def _corrected(
    parsed: ParsedReply,
    result: PackResult,
    pack: Pack,
    doubts: Mapping[str, str],
    *,
    schema: ExtractionSchema,
    ask: Ask,
) -> tuple[ParsedReply, PackResult]:
    """Merge a corrected reply for the doubtful chunks.

    A doubtful answer stands where the other reply has none.
    """
    failed = pack.only(doubts)
    counts = Counter(doubts.values())
    correction = Correction(
        reason=min(counts, key=lambda reason: (-counts[reason], reason)),
        roomier=parsed.cut_off,
    )
    reply = ask(prompt_of(failed, schema, correction=correction))
    if not reply.strip():
        return parsed, result
    second = parse_reply(reply, failed)
    kept = {key: said for key, said in parsed.said.items() if key in result.found}
    both = ParsedReply(
        said={**kept, **second.said},
        unusable={
            **{key: why for key, why in result.unusable.items() if key not in doubts},
            **{key: why for key, why in second.unusable.items() if key not in kept},
        },
        dropped=parsed.dropped + second.dropped,
        cut_off=second.cut_off,
    )
    return both, _result(both, pack, schema)


def _gleaned(
    parsed: ParsedReply, result: PackResult, pack: Pack, *, schema: ExtractionSchema, ask: Ask
) -> Mapping[str, RawExtraction]:
    """Merge a gleaning reply into the records."""
    read = pack.only(result.found)
    if not read.keys:
        return parsed.said
    names = {
        key: tuple(dict.fromkeys(mention.surface for mention in found.mentions))
        for key, found in result.found.items()
    }
    more = parse_reply(ask(prompt_of(read, schema, said_before=Gleaning(names=names))), read)
    return {
        key: said.with_more(more.said[key]) if key in more.said else said
        for key, said in parsed.said.items()
    }
