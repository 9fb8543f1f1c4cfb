"""Contextual chunking: a context line for each chunk, used for retrieval only.

After Anthropic, "Introducing Contextual Retrieval" (2024): the context is embedded and indexed with
the chunk and never cited. With a model it is one line of the model's; without, title, heading path
and lead sentence. Works behind any strategy.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import ModelError
from .blocks import Section, sections
from .cuts import sentence_starts
from .measure import Measure, Tokeniser
from .parser import ContextSource, Span
from .prompts import language_of, prompt

_LOGGER = logging.getLogger("loregraph.chunk")
_SENTENCES_READ = 2_000
"""Characters of a block in which its first sentence is looked for."""
_SHORTEST_LEAD_TOKENS = 16
"""A lead sentence that has to be cut shorter than this says nothing."""
_GIVE_UP_AFTER = 3
"""Consecutive failed calls after which the rest is done without the model."""
_LABEL = re.compile(
    r"^(?:one sentence|context|sentence|answer|一句话|上下文|答)\s*[:：]\s*", re.IGNORECASE
)
_QUOTES = "\"'“”‘’「」『』`*"

Complete = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualChunk:
    """Spans with contexts, the number requested from a model, and the number of failures."""

    spans: tuple[Span, ...]
    asked: int = 0
    refused: int = 0


def contexts(
    subject: ContextSource,
    spans: Sequence[Span],
    *,
    complete: Complete | None = None,
    budget_tokens: int = 64,
    tokeniser: Tokeniser,
    document_tokens: int = 6_000,
) -> list[Span]:
    """Return spans of `contextualised` with contexts; log the model's failures."""
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
    request = prompt(
        "context",
        language=language_of(passage),
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
