"""Any strategy's chunks with a context put before each, as one node parser."""

from __future__ import annotations

from collections.abc import Callable

from llama_index.core.bridge.pydantic import Field

from .contextual import contexts
from .parser import ContextSource, Span, SpanNodeParser


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
        return contexts(
            subject,
            self.inner.spans(subject),
            complete=self.complete,
            budget_tokens=self.context_tokens,
            tokeniser=self.tokeniser,
        )
