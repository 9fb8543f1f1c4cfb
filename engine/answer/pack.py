"""Passages into a context that fits a token budget: whole ones only, best first, none twice.

Knows nothing of tokenisers (`count` comes by argument) and of prompts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..types import Passage

NEAR_DUPLICATE = 0.9
"""Share of common character 5-grams from which two passages with the same numbers are one."""

_SEPARATOR = "\n\n"
_SHINGLE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """What fits. Passage `n` of a mark `[n]` is `passages[n - 1]`.

    `text` is the context as a prompt would hold it, `tokens` its count. `left_out` passages found
    no room, `duplicates` said nothing new.
    """

    passages: tuple[Passage, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: int = 0
    duplicates: int = 0


def pack(passages: Sequence[Passage], *, budget_tokens: int, count: Callable[[str], int]) -> Packed:
    """As many whole passages as the budget holds, in the order given (best first).

    A passage that does not fit is left out and smaller ones behind it are still tried. The count
    is taken of the whole rendered context, labels included, so it holds for any tokeniser.
    """
    unique = drop_duplicates(passages)
    chosen: list[Passage] = []
    blocks: list[str] = []
    parts = 0  # the sum over blocks: exact for word pieces, at most one off a block for others
    for passage in unique:
        block = f"{label(passage, len(chosen) + 1)}\n{passage.text}"
        size = count(_SEPARATOR + block)
        if parts + size <= budget_tokens:
            chosen.append(passage)
            blocks.append(block)
            parts += size
    tokens = count(_SEPARATOR.join(blocks))
    while tokens > budget_tokens:
        chosen.pop()
        blocks.pop()
        tokens = count(_SEPARATOR.join(blocks))
    return Packed(
        passages=tuple(chosen),
        text=_SEPARATOR.join(blocks),
        tokens=tokens,
        left_out=len(unique) - len(chosen),
        duplicates=len(passages) - len(unique),
    )


def label(passage: Passage, number: int) -> str:
    """Where a passage is from, in one line: `[1] Title › Heading (p. 3)`."""
    parts = [_one_line(part) for part in (passage.title, *passage.headings)]
    kept: list[str] = []
    for part in parts:
        if part and (not kept or part.casefold() != kept[-1].casefold()):
            kept.append(part)
    page = f" (p. {passage.page})" if passage.page is not None else ""
    return f"[{number}] {' › '.join(kept) or passage.document_id}{page}"


def drop_duplicates(passages: Sequence[Passage]) -> list[Passage]:
    """The passages without those that repeat an earlier one.

    A repeat is the same text but for case and white space, a span inside an earlier one of the same
    document, or a near copy. Near copies must hold the same numbers: rows and notices that differ
    in a figure alone are different facts.
    """
    kept: list[tuple[Passage, str, set[str], list[str]]] = []
    for passage in passages:
        text = " ".join(unicodedata.normalize("NFKC", passage.text).casefold().split())
        shingles = {text[i : i + _SHINGLE] for i in range(max(1, len(text) - _SHINGLE + 1))}
        numbers = re.findall(r"\d+", text)
        repeats = any(
            text == other_text
            or _inside(passage, other)
            or (numbers == other_numbers and _jaccard(shingles, other_shingles) >= NEAR_DUPLICATE)
            for other, other_text, other_shingles, other_numbers in kept
        )
        if not repeats:
            kept.append((passage, text, shingles, numbers))
    return [passage for passage, _, _, _ in kept]


def _inside(passage: Passage, other: Passage) -> bool:
    return (
        passage.document_id == other.document_id
        and other.start <= passage.start
        and passage.end <= other.end
    )


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / max(1, len(first | second))


def _one_line(text: str) -> str:
    return " ".join(text.split())
