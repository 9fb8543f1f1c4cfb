"""Each sentence a chunk to be found, with the sentences around it to be read.

Knows nothing of retrieval: who reads takes `Span.read` in place of the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.bridge.pydantic import Field

from .atoms import SemanticUnit, semantic_units
from .blocks import sections
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser


class SentenceWindowNodeParser(SpanNodeParser):
    """A chunk is a sentence; `read` spans it and its neighbours, inside its section.

    A sentence of fewer than `sentence_tokens` ("Yes.") stands with the next; a table or a piece of
    code is one chunk while it fits. Chunks do not overlap.

    Attributes:
        window_sentences: how many on either side are read too; fewer where `size_tokens` would be
            exceeded.
        sentence_tokens: below this, a sentence says too little to be found alone.
    """

    window_sentences: int = Field(default=3, ge=0)
    sentence_tokens: int = Field(default=12, ge=1)

    def spans(self, subject: ContextSource) -> list[Span]:
        """Return the sentences in order, each with its window."""
        measure = Measure(subject.text, self.tokeniser)
        found: list[Span] = []
        for section in sections(subject.text, markdown=subject.shape == "markdown"):
            inside = semantic_units(
                subject.text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                atom_tokens=self.sentence_tokens,
            )
            for number, atom in enumerate(inside):
                read = self._window(inside, number, measure)
                found.append(Span(start=atom.start, end=atom.end, path=section.path, read=read))
        return found

    def _window(
        self, inside: Sequence[SemanticUnit], number: int, measure: Measure
    ) -> tuple[int, int]:
        """Return as many neighbours on both sides as fit; trailing ones are dropped first."""
        first = last = number
        for _ in range(self.window_sentences):
            if first and measure.tokens(inside[first - 1].start, inside[last].end) <= (
                self.size_tokens
            ):
                first -= 1
            if last + 1 < len(inside) and (
                measure.tokens(inside[first].start, inside[last + 1].end) <= self.size_tokens
            ):
                last += 1
        return inside[first].start, inside[last].end
