"""Merging of extractions of one chunk: of two extractors, or of two halves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model import Claim, Description, Extraction, Statement


def shifted(extraction: Extraction, offset: int) -> Extraction:
    """Shift an extraction to a text that begins `offset` characters earlier."""
    return replace(
        extraction,
        mentions=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.mentions
        ),
        statements=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.statements
        ),
        claims=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.claims
        ),
    )


def joined(extractions: Iterable[Extraction]) -> Extraction:
    """Merge extractions without repeats; the longer description and statement win."""
    found = list(extractions)
    statements: dict[tuple[int, int, str, str, str], Statement] = {}
    for statement in (one for each in found for one in each.statements):
        key = (
            statement.start,
            statement.end,
            statement.subject,
            statement.predicate,
            statement.object,
        )
        known = statements.get(key)
        if known is None or _says(statement) > _says(known):
            statements[key] = statement
    texts: dict[str, str] = {}
    for description in (one for each in found for one in each.descriptions):
        other = texts.get(description.key, "")
        texts[description.key] = max(description.text, other, key=lambda text: (len(text), text))
    claims: dict[tuple[int, int, str, str, str], Claim] = {}
    for claim in sorted(one for each in found for one in each.claims):
        claims.setdefault((claim.start, claim.end, claim.subject, claim.object, claim.type), claim)
    return Extraction(
        mentions=tuple(sorted({one for each in found for one in each.mentions})),
        statements=tuple(sorted(statements.values())),
        descriptions=tuple(Description(key=key, text=texts[key]) for key in sorted(texts)),
        claims=tuple(sorted(claims.values())),
    )


def _says(statement: Statement) -> tuple[bool, int, float, str]:
    return (
        not statement.inferred,
        len(statement.description),
        statement.strength,
        statement.description,
    )
