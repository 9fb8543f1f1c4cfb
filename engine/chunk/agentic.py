"""Agentic chunking: a language model proposes boundaries over numbered parts.

A proposal is read tolerantly, trusted in nothing, asked for once more if it cannot be used, and
then refused: the stretch is cut as the default strategy cuts.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from llama_index.core.bridge.pydantic import Field, PrivateAttr

from ..errors import ModelError
from .atoms import SemanticUnit, clipped, semantic_units, spans_between
from .blocks import Section, sections
from .measure import Measure
from .pack import merge_small, pack
from .parser import ContextSource, Span, SpanNodeParser
from .prompts import language_of, prompt

_LOGGER = logging.getLogger("loregraph.chunk")
_OBJECT = re.compile(r"\{[^{}]*\}|\[[^\[\]{}]*\]")
_ONLY_NUMBERS = re.compile(r"[\s\[\](]*\d+(?:\s*[,，、;\s]\s*\d+)*[\s\])。.]*")
_SMALLEST_SHARE = 4
_GIVE_UP_AFTER = 3
"""Consecutive failed calls after which the rest is chunked without the model."""

Complete = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryProposals:
    """Stretches a model was to cut, was asked about once more, and did not cut."""

    asked: int = 0
    retried: int = 0
    refused: int = 0


class AgenticNodeParser(SpanNodeParser):
    """Sections that do not fit in one chunk are cut where `complete` says.

    Attributes:
        complete: a prompt to a model's answer; may raise `ModelError`. None: the default strategy.
        atom_tokens: how many tokens of whole sentences stand under one number.
        prompt_tokens: how many tokens of text one prompt shows; two chunks at the least.
    """

    complete: Complete | None = Field(default=None, exclude=True)
    atom_tokens: int = Field(default=64, ge=1)
    prompt_tokens: int = Field(default=3_000, ge=1)
    _proposals: BoundaryProposals = PrivateAttr(default_factory=BoundaryProposals)
    _failures: int = PrivateAttr(default=0)

    @property
    def proposals(self) -> BoundaryProposals:
        """Statistics of the proposals over all documents of this parser."""
        return self._proposals

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; what is too small is joined with its neighbour."""
        measure = Measure(subject.text, self.tokeniser)
        before, self._failures = self._proposals, 0
        found = [
            span
            for section in sections(subject.text, markdown=subject.shape == "markdown")
            for span in self._section(subject.text, section, measure)
        ]
        refused = self._proposals.refused - before.refused
        if refused:
            _LOGGER.warning(
                "%d of %d stretches of %r are cut without the model: its proposals were refused",
                refused,
                self._proposals.asked - before.asked,
                subject.title,
            )
        return merge_small(found, measure=measure, size_tokens=self.size_tokens)

    def _section(self, text: str, section: Section, measure: Measure) -> list[Span]:
        whole = measure.tokens(section.blocks[0].start, section.blocks[-1].end)
        if self.complete is None or whole <= self.size_tokens:
            return self._packed(text, section, measure)
        parts = semantic_units(
            text,
            section,
            measure=measure,
            size_tokens=self.size_tokens,
            atom_tokens=min(self.atom_tokens, self.size_tokens),
        )
        found: list[Span] = []
        first = 0
        while first < len(parts):
            after = self._shown(parts, first)
            stretch = parts[first:after]
            starts = self._proposed(text, stretch, self.complete)
            if starts and after < len(parts):
                # What the last passage goes on with has not been seen: it opens the next prompt.
                after = first + starts.pop()
                stretch = parts[first:after]
            found += self._cut(text, section, stretch, starts, measure)
            first = after
        return found

    def _shown(self, parts: Sequence[SemanticUnit], first: int) -> int:
        """After which atom a prompt that begins with `first` is full."""
        limit = max(self.prompt_tokens, 2 * self.size_tokens)
        tokens, after = parts[first].tokens, first + 1
        while after < len(parts) and tokens + parts[after].tokens <= limit:
            tokens += parts[after].tokens
            after += 1
        return after

    def _cut(
        self,
        text: str,
        section: Section,
        stretch: Sequence[SemanticUnit],
        starts: list[int] | None,
        measure: Measure,
    ) -> list[Span]:
        if starts is None:
            inside = clipped(section, stretch[0].start, stretch[-1].end)
            return self._packed(text, inside, measure)
        return spans_between(
            text,
            section,
            stretch,
            starts,
            measure=measure,
            size_tokens=self.size_tokens,
            overlap_tokens=0,
        )

    def _packed(self, text: str, section: Section, measure: Measure) -> list[Span]:
        return pack(
            text,
            section,
            measure=measure,
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
        )

    def _proposed(
        self, text: str, stretch: Sequence[SemanticUnit], complete: Complete
    ) -> list[int] | None:
        """Return the units that begin a chunk, counted from the window's first.

        None if refused.
        """
        if sum(atom.tokens for atom in stretch) <= self.size_tokens:
            return []
        sizes = [atom.tokens for atom in stretch]
        self._count(asked=1)
        reason = ""
        for attempt in range(2):
            if self._failures >= _GIVE_UP_AFTER:
                break
            self._count(retried=attempt)
            try:
                answer = complete(self._request(text, stretch, reason))
            except ModelError as error:
                _LOGGER.info("no boundaries proposed: %s", error)
                self._failures += 1
                break
            self._failures = 0
            numbers = read_numbers(answer)
            reason = validation_error(numbers, sizes, size_tokens=self.size_tokens)
            if not reason and numbers is not None:
                return [number - 1 for number in numbers]
        self._count(refused=1)
        return None

    def _request(self, text: str, stretch: Sequence[SemanticUnit], reason: str) -> str:
        parts = "\n".join(
            f"[{number}] ({atom.tokens}) {' '.join(text[atom.start : atom.end].split())}"
            for number, atom in enumerate(stretch, start=1)
        )
        language = language_of(text[stretch[0].start : stretch[-1].end])
        problem = prompt("problem", language=language, reason=reason) if reason else ""
        return prompt(
            "boundaries",
            language=language,
            smallest=str(self.size_tokens // _SMALLEST_SHARE),
            largest=str(self.size_tokens),
            example="4, 9",
            problem=f"\n{problem}\n" if problem else "",
            fenced=parts,
            parts=parts,
        )

    def _count(self, *, asked: int = 0, retried: int = 0, refused: int = 0) -> None:
        had = self._proposals
        self._proposals = replace(
            had,
            asked=had.asked + asked,
            retried=had.retried + retried,
            refused=had.refused + refused,
        )


def read_numbers(answer: str) -> list[int] | None:
    """Return the numbers of a reply's last JSON list or object, or a bare list.

    None without.

    An object's numbers are those of its one list, whatever its key.
    """
    for candidate in reversed(_OBJECT.findall(answer)):
        numbers = _numbers(candidate)
        if numbers is not None:
            return numbers
    lines = [line for line in answer.splitlines() if line.strip()]
    if lines and _ONLY_NUMBERS.fullmatch(lines[-1]):
        return [int(number) for number in re.findall(r"\d+", lines[-1])]
    return None


def _numbers(candidate: str) -> list[int] | None:
    try:
        value = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    texts = [str(each).strip() for each in value]
    return [int(each) for each in texts] if all(map(str.isdecimal, texts)) else None


def validation_error(
    numbers: Sequence[int] | None, sizes: Sequence[int], *, size_tokens: int
) -> str:
    """Why a proposal cannot be used, for the model to read; empty where it can.

    `numbers` are 1-based and begin a passage each; `sizes` are the tokens of each part.
    """
    if numbers is None:
        return 'no JSON of the form {"starts": [...]} was found'
    if any(not 2 <= number <= len(sizes) for number in numbers):
        return f"every number must be between 2 and {len(sizes)}"
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        return "the numbers must ascend"
    for first, after in pairwise([1, *numbers, len(sizes) + 1]):
        tokens = sum(sizes[first - 1 : after - 1])
        if tokens > size_tokens and after - first > 1:
            return (
                f"parts {first} to {after - 1} have {tokens} tokens together, "
                f"more than {size_tokens}"
            )
    return ""
