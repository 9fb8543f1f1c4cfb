"""Presentation of an extractive answer: sentences and excerpts with their citations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...plain_text import strip_markdown
from ...retrieval.passages import Sentence, with_neighbours
from ...types import Citation, Passage, ShortAnswer
from ..packing import Draft, cite_span
from .analysis import Analysis
from .answer_spans import holds_form
from .blocks import count_words, plain_excerpt
from .comparison import TwoSidedComparison
from .extent import Excerpt, render_excerpt, unit_of, with_led_list
from .sentence_selection import join_adjoining

LATE = 25
"""From so many words before it on, the sentence that answers is shown before its excerpt, too."""
SHORT_FROM = 0.25
"""A short answer that is likely to be right by less is not given."""


def tell_excerpts(excerpts: Sequence[Excerpt], *, figures: Mapping[str, float]) -> Draft:
    """Present excerpts below their headings, each cited as a whole.

    Before the first comes the sentence that answers by itself, where that stands late in it.
    """
    parts: list[str] = []
    citations: list[Citation] = []
    first = excerpts[0]
    if (
        first.lead is not None
        and count_words(first.source.text[first.start : first.lead[0]]) >= LATE
    ):
        said = first.source.text[slice(*first.lead)]
        parts.append(f"{plain_excerpt(said, 0, len(said))} [1]")
        citations.append(cite_span(first.source, *first.lead, number=1))
    for number, each in enumerate(excerpts, start=1 + len(citations)):
        parts.append(render_excerpt(each, number))
        citations.append(cite_span(each.source, each.start, each.end, number=number))
    best = max(each.score for each in excerpts)
    return Draft(
        text="\n\n".join(parts),
        citations=tuple(citations),
        evidence=figures["evidence"],
        detail=f"{len(excerpts)} excerpt(s), score {best:.2f}, evidence {figures['evidence']:.2f}",
        figures=figures,
    )


def tell_sentences(
    read: Analysis, context: Excerpt | None, *, figures: Mapping[str, float]
) -> Draft:
    """Present sentences, the first within the block around it, others in a short one of theirs."""
    lines, citations = _present(read.sentences, read.passages)
    if context is not None:
        lines, citations = _in_units(lines, citations, read)
        lines, citations = _with_context(lines, citations, context)
        lines, citations = _below_heading(lines, citations, context, read)
    text = "\n".join(f"{line} [{number}]" for number, line in enumerate(lines, start=1))
    strength, of = figures["evidence"], len(read.weighed)
    return Draft(
        text=text,
        citations=tuple(citations),
        evidence=strength,
        short=_short(read, citations),
        detail=f"{len(citations)} sentence(s) of {of}, evidence {strength:.2f}",
        figures=figures,
    )


_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+•|]|\d{1,3}[.)])[ \t]")
SHORT_BLOCK, PRECEDES = 60, 40
"""A block of so many words, and any list, is shown whole, and one with so few words before the
sentence; else from the sentence on, and what stands before it below."""
WHOLE_ITEM = 8
"""Least words of a list item that is understood without the others."""


def _with_context(
    lines: list[str], citations: list[Citation], context: Excerpt
) -> tuple[list[str], list[Citation]]:
    """Show the first sentence within the block around it, nothing of it twice.

    Of a list its item is shown. A short block, or one in which it stands near the beginning, is
    shown whole; a long one from the sentence on, and below what stands before it, which is where
    the answer is that this sentence leads on from.
    """
    source, text = context.source, context.source.text
    first, last = (each - source.start for each in (citations[0].start, citations[0].end))
    is_inside = citations[0].document_id == source.document_id
    if not (is_inside and context.start <= first < last <= context.end):
        return lines, citations
    is_short = count_words(context.text) <= SHORT_BLOCK or _ITEM.search(context.text)
    is_code = text[context.start : first].count("```") % 2 == 1
    item = None if is_code else _item_of(context, first, last)
    if item is not None:
        shown = [item]
    elif is_short or is_code or count_words(text[context.start : first]) <= PRECEDES:
        shown = [(context.start, context.end)]
    else:
        shown = [(first, context.end), (context.start, first)]
    told = [(start, start + len(text[start:end].rstrip())) for start, end in shown if end > start]
    parts = [lines[0] if place == (first, last) else plain_excerpt(text, *place) for place in told]
    cited = [cite_span(source, *place, number=1) for place in told]
    return (
        [*parts[:1], *lines[1:], *parts[1:]],
        [
            replace(each, number=number)
            for number, each in enumerate([*cited[:1], *citations[1:], *cited[1:]], start=1)
        ],
    )


_IN_HEADINGS = ("time", "amount", "money", "code")
"""Kinds of answers that a heading may hold."""


def _below_heading(
    lines: list[str], citations: list[Citation], context: Excerpt, read: Analysis
) -> tuple[list[str], list[Citation]]:
    """Put above the first line the heading that says what is asked: the date of an entry.

    It is cited with what stands below it.
    """
    heading, asked, first = context.heading, read.asked, citations[0]
    if asked.kind not in _IN_HEADINGS or first.document_id != context.source.document_id:
        return lines, citations
    if not holds_form(heading, asked) or holds_form(lines[0], asked):
        return lines, citations
    text, start = context.source.text, first.start - context.source.start
    place = text.rfind(heading, 0, start)
    if place >= 0 and not text[place + len(heading) : start].strip(" \n#*_"):
        first = cite_span(context.source, place, first.end - context.source.start, number=1)
    return [f"### {heading}\n\n{lines[0]}", *lines[1:]], [first, *citations[1:]]


def _in_units(
    lines: list[str], citations: list[Citation], read: Analysis
) -> tuple[list[str], list[Citation]]:
    """Show each further sentence with what belongs to it, where that is short; once."""
    told: list[tuple[str, Citation]] = [(lines[0], citations[0])]
    for sentence, line, citation in zip(read.sentences[1:], lines[1:], citations[1:], strict=True):
        passage = read.passages[sentence.passage]
        unit = None if sentence.columns else unit_of(sentence.start, passage)
        if unit is not None:
            unit = with_led_list(unit, passage)
            line = plain_excerpt(passage.text, *unit)
            citation = cite_span(passage, *unit, number=citation.number)
        place = (citation.document_id, citation.start, citation.end)
        if not any(_holds(one, place) for _, one in told):
            told.append((line, citation))
    return [line for line, _ in told], [
        replace(one, number=number) for number, (_, one) in enumerate(told, start=1)
    ]


def _holds(citation: Citation, place: tuple[str, int, int]) -> bool:
    document_id, start, end = place
    return citation.document_id == document_id and citation.start <= start < end <= citation.end


def _item_of(context: Excerpt, first: int, last: int) -> tuple[int, int] | None:
    """Return the item of a list that holds a sentence and says enough to stand alone."""
    items = [
        match
        for match in _ITEM.finditer(context.text)
        if "|" not in match.group() and context.text[: match.start()].count("```") % 2 == 0
    ]
    starts = [context.start + match.start() for match in items]
    start = max((each for each in starts if each <= first), default=None)
    ends = [*(each for each in starts if each >= last), context.end]
    end, *further = ends
    while further and context.source.text[first:end].rstrip().endswith((":", "：")):
        end, *further = further  # it leads to the next item
    if start is None or count_words(context.source.text[start:end]) < WHOLE_ITEM:
        return None
    return start, end


def _present(
    chosen: Sequence[Sentence], passages: Sequence[Passage]
) -> tuple[list[str], list[Citation]]:
    """Return a line and a citation of each sentence; of adjoining ones together."""
    lines, citations = [], []
    for number, sentence in enumerate(join_adjoining(chosen, passages), start=1):
        passage = passages[sentence.passage]
        line = with_neighbours(
            strip_markdown(sentence.text, columns=sentence.columns), title=passage.title
        )
        lines.append(line)
        citations.append(cite_span(passage, sentence.start, sentence.end, number=number))
    return lines, citations


def _short(read: Analysis, citations: Sequence[Citation]) -> ShortAnswer | None:
    if read.compared is not None and read.compared.verdict is not None:
        return _verdict(read, read.compared, citations)
    if read.span is None or read.asked.twofold or read.span.confidence < SHORT_FROM:
        return None
    sentence = read.weighed[read.span.row].sentence
    passage = read.passages[sentence.passage]
    start = passage.start + sentence.start + read.span.span.start
    citation = next(
        each
        for each in citations
        if each.chunk_id == passage.chunk_id and each.start <= start < each.end
    )
    return ShortAnswer(
        text=read.span.text,
        kind=read.asked.kind,
        confidence=read.span.confidence,
        citation_numbers=(citation.number,),
        document_id=citation.document_id,
        start=start,
        end=start + len(read.span.text),
    )


_SAID = {"en": {"yes": "Yes", "no": "No"}, "zh": {"yes": "是", "no": "否"}}


def _verdict(
    read: Analysis, compared: TwoSidedComparison, citations: Sequence[Citation]
) -> ShortAnswer:
    """Yes or no, or the side, as it stands in a cited sentence where one names it."""
    numbers = tuple(citation.number for citation in citations)
    confidence = compared.confidence
    if compared.verdict in ("yes", "no"):
        said = _SAID[read.asked.language][compared.verdict]
        return ShortAnswer(
            text=said, kind="verdict", confidence=confidence, citation_numbers=numbers
        )
    side = compared.sides[0 if compared.verdict == "first side" else 1]
    name = read.question[side.start : side.end]
    for citation in citations:
        place = citation.quote.casefold().find(name.casefold())
        if place >= 0 and len(citation.quote) == len(citation.quote.casefold()):
            return ShortAnswer(
                text=citation.quote[place : place + len(name)],
                kind="side",
                confidence=confidence,
                citation_numbers=numbers,
                document_id=citation.document_id,
                start=citation.start + place,
                end=citation.start + place + len(name),
            )
    return ShortAnswer(text=name, kind="side", confidence=confidence, citation_numbers=numbers)
