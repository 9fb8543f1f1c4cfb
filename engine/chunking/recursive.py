"""Chunking by structure: the default strategy, fixed, sentence, section, page, small-to-big.

The default goes from headings to paragraphs to sentences and packs them. Small-to-big retrieves
small chunks and reads their parents; sentence-window retrieves one sentence and reads those around
it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from llama_index.core.bridge.pydantic import Field

from .merging import (
    Limits,
    SemanticUnit,
    Unit,
    clip_section,
    cut_unit,
    merge_small,
    pack_section,
    pack_units,
    semantic_units,
    split_at,
)
from .span_parser import ContextSource, Measure, Span, SpanNodeParser
from .structure import Section, safe_cut, sections, sentence_starts


class RecursiveNodeParser(SpanNodeParser):
    """Node parser of chunks up to `size_tokens`, overlapping by sentences inside a section.

    Headings are found by Markdown's marks where the text is Markdown, else only where it is clear.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; what is too small is joined with its neighbour."""
        measure = Measure(subject.text, self.tokeniser)
        packed = [
            span
            for section in sections(subject.text, markdown=subject.shape == "markdown")
            for span in pack_section(
                subject.text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            )
        ]
        return merge_small(packed, measure=measure, size_tokens=self.size_tokens)


class FixedNodeParser(SpanNodeParser):
    """Node parser of `size_tokens` windows overlapping by `overlap_tokens`.

    Cut between tokens and never inside a character of several code points.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One window after the other, without white space at its ends."""
        measure = Measure(subject.text, self.tokeniser)
        overlap = min(self.overlap_tokens, self.size_tokens // 2)
        return list(_windows(subject.text, measure, size_tokens=self.size_tokens, overlap=overlap))


def _windows(text: str, measure: Measure, *, size_tokens: int, overlap: int) -> Iterator[Span]:
    start = _past_space(text, 0)
    while start < len(text):
        cut = _window_end(text, measure, start, size_tokens)
        end = start + len(text[start:cut].rstrip())
        yield Span(start=start, end=end)
        if cut >= len(text) or _past_space(text, cut) >= len(text):
            return
        back = safe_cut(text, measure.backward(cut, overlap)) if overlap else cut
        start = _past_space(text, back if start < back < cut else cut)


def _window_end(text: str, measure: Measure, start: int, size_tokens: int) -> int:
    limit = measure.forward(start, size_tokens)
    if measure.tokens(start, limit) > size_tokens:  # it begins inside a token, which counts too
        limit = measure.forward(start, size_tokens - 1)
    cut = safe_cut(text, limit)
    return cut if cut > start else limit


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


class SentenceNodeParser(SpanNodeParser):
    """Node parser of sentences packed up to `size_tokens` across paragraphs.

    Overlapping by sentences up to `overlap_tokens`. A heading stays with the following
    sentence.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Return chunks of sentences; a path names the headings common to the whole chunk."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=markdown)
        return pack_units(text, [unit for each in found for unit in _sentences(text, each)], limits)


def _sentences(text: str, section: Section) -> Iterator[Unit]:
    heading: int | None = None
    for number, block in enumerate(section.blocks):
        start = block.start if heading is None else heading
        if block.kind == "heading" and number + 1 < len(section.blocks):
            heading = start
            continue
        heading = None
        prose = block.kind in ("text", "front")
        cuts = sentence_starts(text, block.start, block.end) if prose else []
        for first, last in split_at(text, start, block.end, cuts):
            yield Unit(start=first, end=last, path=section.path, kind=block.kind)


class MarkdownNodeParser(SpanNodeParser):
    """Each section with text of its own is a chunk, cut only where it does not fit.

    Two things set it apart from `RecursiveNodeParser`: small sections stay chunks of their own
    instead of joining their neighbours, and Markdown's marks count whatever the file was. Tables
    and code are kept whole while they fit; a table that does not is cut between rows, and its later
    pieces have the header row for their context.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; headings without text stand with the next section."""
        measure = Measure(subject.text, self.tokeniser)
        return [
            span
            for section in sections(subject.text, markdown=True)
            for span in pack_section(
                subject.text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            )
        ]


class PageNodeParser(SpanNodeParser):
    """Node parser with a chunk for each page.

    Oversized pages are split at blocks and overlap only within the page. Without pages it
    works like `RecursiveNodeParser`. The path is the headings in force at the page's start,
    or the page's own first heading.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One page after the other."""
        text, starts = subject.text, subject.page_starts
        if not starts:
            return RecursiveNodeParser(
                size_tokens=self.size_tokens,
                overlap_tokens=self.overlap_tokens,
                tokeniser=self.tokeniser,
            ).spans(subject)
        markdown = subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=markdown)
        begins = [section.blocks[0].start for section in found]
        result: list[Span] = []
        for start, end in split_at(text, 0, len(text), sorted(starts)):
            at = bisect_right(begins, start) - 1
            unit = Unit(start=start, end=end, path=found[at].path if at >= 0 else ())
            if limits.fits(start, end):
                result.append(Span(start=start, end=end, path=unit.path))
            else:
                result.extend(cut_unit(text, unit, limits=limits))
        return result


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
                for child in pack_section(
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
            for span in pack_section(
                text, section, measure=measure, size_tokens=self.size_tokens, overlap_tokens=0
            )
        ]
        return merge_small(packed, measure=measure, size_tokens=self.size_tokens)


def _inside(parts: Sequence[Section], parent: Span) -> list[Section]:
    """Return the sections, clipped to the parent."""
    first = max(0, bisect_right(parts, parent.start, key=_start) - 1)
    after = bisect_left(parts, parent.end, key=_start)
    found = [clip_section(section, parent.start, parent.end) for section in parts[first:after]]
    return [section for section in found if section.blocks]


def _start(section: Section) -> int:
    return section.blocks[0].start


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
