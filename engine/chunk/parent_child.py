"""Small-to-big chunking: small chunks to retrieve, larger parents to read.

Knows nothing of retrieval: who reads takes `Span.read` in place of the chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from llama_index.core.bridge.pydantic import Field

from .atoms import clipped
from .blocks import Section, sections
from .measure import Measure
from .pack import merge_small, pack
from .parser import ContextSource, Span, SpanNodeParser


class ParentChildNodeParser(SpanNodeParser):
    """Node parser of parent and child chunks.

    Parents are recursive, at most `size_tokens`, without overlap.

    Their children are the chunks: blocks, paragraphs and sentences of at most `child_tokens`, with
    the parent's span in `read`.

    Attributes:
        child_tokens: the size of what is found; no more than `size_tokens` in effect.
    """

    child_tokens: int = Field(default=128, ge=16)

    def spans(self, subject: ContextSource) -> list[Span]:
        """Return the children in order; those of one parent share one `read`."""
        text = subject.text
        measure = Measure(text, self.tokeniser)
        parts = sections(text, markdown=subject.shape == "markdown")
        found: list[Span] = []
        for parent in self._parents(text, parts, measure):
            packed = [
                child
                for section in _inside(parts, parent)
                for child in pack(
                    text,
                    section,
                    measure=measure,
                    size_tokens=self._child_tokens,
                    overlap_tokens=0,
                )
            ]
            children = merge_small(packed, measure=measure, size_tokens=self._child_tokens)
            read = (parent.start, parent.end)
            found += [replace(child, read=read) for child in children]
        return found

    @property
    def _child_tokens(self) -> int:
        return min(self.child_tokens, self.size_tokens)

    def _parents(self, text: str, parts: Sequence[Section], measure: Measure) -> list[Span]:
        packed = [
            span
            for section in parts
            for span in pack(
                text, section, measure=measure, size_tokens=self.size_tokens, overlap_tokens=0
            )
        ]
        return merge_small(packed, measure=measure, size_tokens=self.size_tokens)


def _inside(parts: Sequence[Section], parent: Span) -> list[Section]:
    """Return the sections, clipped to the parent."""
    first = max(0, bisect_right(parts, parent.start, key=_start) - 1)
    after = bisect_left(parts, parent.end, key=_start)
    found = [clipped(section, parent.start, parent.end) for section in parts[first:after]]
    return [section for section in found if section.blocks]


def _start(section: Section) -> int:
    return section.blocks[0].start
