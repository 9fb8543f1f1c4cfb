"""Chunking with a language model: agentic boundaries, and contextual chunks.

Agentic: the model proposes boundaries over numbered parts; a proposal that is not valid is asked
for once more, then the stretch is cut by the default strategy. Contextual (Anthropic, "Introducing
Contextual Retrieval", 2024): each chunk is embedded and indexed with a line of context, which is
never cited; without a model the line is title, heading path and lead sentence. Works behind any
strategy.
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
from ..prompts import filled_prompt, language_of_document
from .merging import (
    SemanticUnit,
    clip_section,
    merge_small,
    pack_section,
    semantic_units,
    spans_between,
)
from .span_parser import ContextSource, Measure, Span, SpanNodeParser, Tokeniser
from .structure import Section, sections, sentence_starts

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
            across_paragraphs=False,
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
            inside = clip_section(section, stretch[0].start, stretch[-1].end)
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
        return pack_section(
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
        language = language_of_document(text[stretch[0].start : stretch[-1].end])
        problem = ""
        if reason:
            problem = filled_prompt("chunking/problem", language=language, reason=reason)
        return filled_prompt(
            "chunking/boundaries",
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


_SENTENCES_READ = 2_000
"""Characters of a block in which its first sentence is looked for."""
_SHORTEST_LEAD_TOKENS = 16
"""A lead sentence that has to be cut shorter than this says nothing."""
_LABEL = re.compile(
    r"^(?:one sentence|context|sentence|answer|一句话|上下文|答)\s*[:：]\s*", re.IGNORECASE
)
_QUOTES = "\"'“”‘’「」『』`*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualChunk:
    """Spans with contexts, the number requested from a model, and the number of failures."""

    spans: tuple[Span, ...]
    asked: int = 0
    refused: int = 0


def context_spans(
    subject: ContextSource,
    spans: Sequence[Span],
    *,
    complete: Complete | None = None,
    budget_tokens: int = 64,
    tokeniser: Tokeniser,
    document_tokens: int = 6_000,
) -> list[Span]:
    """Return spans of contextual chunks with their context lines; log the model's failures."""
    result = add_context(
        subject,
        spans,
        complete=complete,
        budget_tokens=budget_tokens,
        tokeniser=tokeniser,
        document_tokens=document_tokens,
    )
    if result.refused:
        _LOGGER.warning(
            "%d of %d chunks of %r have a context without a model: it failed or said nothing",
            result.refused,
            result.asked,
            subject.title,
        )
    return list(result.spans)


def add_context(
    subject: ContextSource,
    spans: Sequence[Span],
    *,
    complete: Complete | None,
    budget_tokens: int,
    tokeniser: Tokeniser,
    document_tokens: int = 6_000,
) -> ContextualChunk:
    """Prefix every span's context with a line of at most `budget_tokens`.

    Without `complete`: title › headings, then the document's lead sentence, or for a chunk that
    holds that one already, nothing more. With it, one call a span, which shows the whole document
    where it has at most `document_tokens`, else as much of it around the span; where the call fails
    or answers nothing, the context is made as without. A chunk alone in its document needs none
    from a model.
    """
    measure = Measure(subject.text, tokeniser)
    start, end = _lead(subject)
    lead = _within(_one_line(subject.text[start:end]), budget=budget_tokens, by=tokeniser)
    plain = []
    for span in spans:
        fresh = lead if span.start >= end else ""
        context = _plain(subject, span, lead=fresh, budget=budget_tokens, by=tokeniser)
        plain.append(_put_before(span, context))
    if complete is None or len(spans) < 2:
        return ContextualChunk(spans=tuple(plain))
    return _with_model(
        subject,
        spans,
        plain,
        complete=complete,
        budget=budget_tokens,
        by=tokeniser,
        shown=lambda span: _around(subject.text, span, measure=measure, tokens=document_tokens),
    )


def _with_model(
    subject: ContextSource,
    spans: Sequence[Span],
    plain: Sequence[Span],
    *,
    complete: Complete,
    budget: int,
    by: Tokeniser,
    shown: Callable[[Span], str],
) -> ContextualChunk:
    """Return a model's line for every span, or the plain one.

    Stops calling after repeated failures.
    """
    found: list[Span] = []
    refused = failures = 0
    for span, fallback in zip(spans, plain, strict=True):
        line: str | None = None
        if failures < _GIVE_UP_AFTER:
            line = _asked(subject, span, shown=shown(span), complete=complete, budget=budget)
        failures = failures + 1 if line is None else 0
        context = _within(line or "", budget=budget, by=by)
        refused += not context
        found.append(_put_before(span, context) if context else fallback)
    return ContextualChunk(spans=tuple(found), asked=len(spans), refused=refused)


def _put_before(span: Span, context: str) -> Span:
    """Prepend a line to the strategy's own context (a table header, a speaker)."""
    return replace(span, context=". ".join(part for part in (context, span.context) if part))


def _plain(subject: ContextSource, span: Span, *, lead: str, budget: int, by: Tokeniser) -> str:
    """Title and headings, each once; then the lead sentence where enough of it fits."""
    names = dict.fromkeys(_one_line(name) for name in (subject.title, *span.path))
    place = _within(" › ".join(name for name in names if name), budget=budget, by=by)
    room = budget - by.count(place) - 1
    if by.count(lead) > room and room < _SHORTEST_LEAD_TOKENS:
        return place
    parts = (place, _within(lead, budget=room, by=by))
    return _within(". ".join(part for part in parts if part), budget=budget, by=by)


def _lead(subject: ContextSource) -> tuple[int, int]:
    """Return the first sentence of the first prose block; empty without one."""
    for section in sections(subject.text, markdown=subject.shape == "markdown"):
        found = _first_sentence(subject.text, section)
        if found is not None:
            return found
    return 0, 0


def _first_sentence(text: str, section: Section) -> tuple[int, int] | None:
    for block in section.blocks:
        if block.kind == "text":
            limit = min(block.end, block.start + _SENTENCES_READ)
            starts = sentence_starts(text, block.start, limit)
            return block.start, starts[0] if starts else limit
    return None


def _around(text: str, span: Span, *, measure: Measure, tokens: int) -> str:
    """Return the whole text if it fits, else its beginning and the span's surroundings."""
    if measure.tokens(0, len(text)) <= tokens:
        return text
    head = measure.forward(0, tokens // 4)
    room = max(0, tokens - tokens // 4 - measure.tokens(span.start, span.end))
    start = max(head, measure.backward(span.start, room // 2))
    end = measure.forward(span.end, room // 2)
    return text[:end] if start <= head else f"{text[:head]}\n[…]\n{text[start:end]}"


def _asked(
    subject: ContextSource, span: Span, *, shown: str, complete: Complete, budget: int
) -> str | None:
    """Ask the model for a line; empty if it gave none, None on failure."""
    passage = subject.text[span.start : span.end]
    request = filled_prompt(
        "chunking/context",
        language=language_of_document(passage),
        fenced=shown,
        words=str(max(10, budget // 2)),
        title=_one_line(subject.title),
        headings=" › ".join(span.path),
        document=shown,
        passage=passage,
    )
    try:
        answer = complete(request)
    except ModelError as error:
        _LOGGER.info("no context for characters %d–%d: %s", span.start, span.end, error)
        return None
    lines = (_LABEL.sub("", line.strip()) for line in answer.splitlines())
    return next((line for line in (_one_line(line).strip(_QUOTES) for line in lines) if line), "")


def _within(line: str, *, budget: int, by: Tokeniser) -> str:
    """Truncate the line to the token budget."""
    tokens = by.spans(line)
    if len(tokens) <= budget:
        return line
    return line[: tokens[budget - 1][1]].rstrip() if budget > 0 else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


class ContextNodeParser(SpanNodeParser):
    """The spans of `inner`, each with a context of at most `context_tokens`
    (`contextual.contexts`).

    `complete` writes the contexts where it is given; else title, headings and lead sentence do.
    """

    inner: SpanNodeParser
    context_tokens: int = Field(default=64, ge=1)
    complete: Callable[[str], str] | None = Field(default=None, exclude=True)

    def spans(self, subject: ContextSource) -> list[Span]:
        """Return the same spans with contexts, in the same order."""
        return context_spans(
            subject,
            self.inner.spans(subject),
            complete=self.complete,
            budget_tokens=self.context_tokens,
            tokeniser=self.tokeniser,
        )
