"""Passages that say what two names have to do with each other, and how much each says.

A sentence that names both, or one beside the title's name, or two near each other, with what it
leans on or what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph.text.cjk import is_chinese

from ..plain_text import strip_markdown
from ..storage.graph_api import Chunk, SourceQuote, sentence_spans
from .extractive.blocks import count_words, is_contents
from .global_search.standalone import is_listing, stands_alone
from .introductions import ROLE

_UNSTATED = 1.5
"""Length of a step by which two names stand in one sentence."""
_TOLD = 0.6
"""Length taken off where a role stands between the names."""
_FAR, _WIDE = 0.4, 200
"""Length added where the names stand so many characters apart, less where they stand nearer."""
_POOR, _SPOKEN, _NEXT, _BARE = 2.0, 0.3, 0.1, 0.3
"""Length added for a list, for speech, for a sentence that leans on another, and for one that does
not say what its title names."""
_MAX_QUOTE, _SHORT, _BRIEF = 400, 60, 24
"""Maximum length of a sentence in characters, of a Chinese one that is told with the next, and of
one that is told with the one before it."""
_APART = 3
"""Sentences between two that name one each, at most, in a passage that names both."""
_SPEECH = re.compile(r"[“\"‘「：]\s*\S")
PRONOUN = re.compile(r"^(?:He|She|It|They)\b|^[他她它](?!们)")
_BETWEEN, _BEHIND = 60, 40
"""Characters between two names, and behind the second, in which a role stands."""
_APPOSED = re.compile(r"\W{0,3}")
_OWNED = re.compile(r"['’]s?\s+(?:[\w-]+\s+){0,2}")
_ITEM = re.compile(r"\s*(?:[-*+•|#>]|\d{1,3}[.)])")
_FULL_LINE = 60
"""Characters of a line of wrapped text, at least."""
_ABOUT = 12_000
"""Greatest offset in a document at which its title still names what a sentence is about."""
_ENUMERATED = 0.6
"""Length added for two names in a list of several."""
_MAX_PASSAGE = 330
"""Maximum length of a sentence with those that go on from it, in characters."""
_LEANS = re.compile(r"(?:He|She|It|They|This|These|His|Her|Its|Their)\b")
_FEWEST = 6
"""Least words of a sentence that says something of what it names."""
_REPLY = re.compile(r"\s*(?:[\"'“‘「]|(?:yes|no|well)[,.!;])", re.IGNORECASE)
_SPEAKER = re.compile(r"^[A-Z][\w .'’-]{1,40}: +")
_COMMA = re.compile(r"[,，、]")
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|who|which|that|when|while|because)\b|[。；;]|[是了]", re.I
)
_MESSAGE = re.compile(r"(?:^|\s)From:\s.*\sTo:\s", re.DOTALL)
_HEADER = re.compile(r"-{4,}|(?:^|\s)(?:From|To|Cc|Date|Subj(?:ect)?):\s|(?:^|\s)[b-h]\)\s")
"""Header of a letter, and points of minutes."""


@dataclass(frozen=True)
class PassageStep:
    """A passage that says what one has to do with the other, and how long a step it makes.

    `own` is the sentence of the passage that says so; `pronoun` is the name of what the first word
    of it stands for; `predicate` is what the graph takes from it, empty where that is only that
    both are named.
    """

    quote: SourceQuote
    length: float
    own: SourceQuote
    pronoun: str = ""
    predicate: str = ""


def disjoint_steps(steps: Iterable[PassageStep]) -> list[PassageStep]:
    """Return the steps of which no better one holds a part."""
    told: list[PassageStep] = []
    for step in steps:
        quote = step.quote
        inside = (
            quote.quote == each.quote.quote
            or (
                quote.document_id == each.quote.document_id
                and quote.start < each.quote.end
                and each.quote.start < quote.end
            )
            for each in told
        )
        if not any(inside):
            told.append(step)
    return told


def _is_poor(text: str) -> bool:
    return len(text) > _MAX_QUOTE or is_listing(text) or _HEADER.search(text) is not None


def steps_of_chunk(
    chunk: Chunk, names: Sequence[re.Pattern[str]], titled: Sequence[bool]
) -> Iterator[PassageStep]:
    """Yield passages of a chunk that name both, or one where the title is the other's name.

    None of a table of contents, whose lines stand beside each other for no other reason.
    """
    if is_contents(chunk.text):
        return
    if chunk.start > _ABOUT:
        titled = (False, False)
    spans = _sentences(chunk.text)
    named = [[name.search(chunk.text, *span) is not None for name in names] for span in spans]
    for at, (span, held) in enumerate(zip(spans, named, strict=True)):
        pronoun = ""
        if all(held):
            length = _UNSTATED + _FAR * _distance(chunk.text[slice(*span)], names)
        elif (held[0] and titled[1]) or (held[1] and titled[0]):
            length, pronoun = _UNSTATED + _NEXT, chunk.title
            length += 0.0 if PRONOUN.match(chunk.text[slice(*span)]) else _BARE
        elif any(held) and (gap := _sentences_back(at, named)):
            if _is_heading(chunk.text[slice(*spans[at - gap])]):
                continue
            length, span = _UNSTATED + _BARE + _FAR * gap, (spans[at - gap][0], span[1])
        else:
            continue
        text = chunk.text[slice(*span)]
        if _is_heading(text) or _is_listed(
            chunk.text, [s for s in spans if span[0] <= s[0] < span[1]]
        ):
            continue
        length += _POOR if _is_poor(text) else 0.0
        own = _quote_of(chunk, *span)
        span = _quoted_span(chunk.text, spans, span, names)
        length += 0.0 if stands_alone(text) or pronoun else _NEXT
        length += _SPOKEN if _SPEECH.search(text) else 0.0
        if (all(held) or pronoun) and _tells_role(text, names, pronoun):
            length -= _TOLD
        elif _is_enumerated(text, names):
            length += _ENUMERATED
        yield PassageStep(_quote_of(chunk, *span), round(length, 6), own, pronoun)


def _quoted_span(
    text: str,
    spans: Sequence[tuple[int, int]],
    span: tuple[int, int],
    names: Sequence[re.Pattern[str]],
) -> tuple[int, int]:
    """Return a sentence's span with what it leans on, and what goes on from it."""
    said = text[slice(*span)]
    if _MESSAGE.search(said):
        return span[0], _first_words(text, spans, span)
    if is_chinese(said):
        span = (_start_with_lead(text, spans, span), span[1])
    elif not stands_alone(said) and not PRONOUN.match(said):
        span = (_antecedent(text, spans, span), span[1])
    return span[0], _continued(text, spans, span, names)


def _sentences(text: str) -> list[tuple[int, int]]:
    return [span for span in sentence_spans(text) if span[1] - span[0] <= _MAX_QUOTE]


def first_naming(chunk: Chunk, name: re.Pattern[str]) -> SourceQuote | None:
    """Return the first sentence that says something of what it names, with what goes on from it.

    Headers, headings, lists and quoted speech tell nothing by themselves, nor does what leans on
    others; what is said in an interview stands with its speaker.
    """
    if is_contents(chunk.text):
        return None
    spans = _sentences(chunk.text)
    for span in spans:
        said = strip_markdown(chunk.text[slice(*span)])
        text = _SPEAKER.sub("", said)
        if name.search(text) is None or count_words(text) < _FEWEST or _is_heading(text):
            continue
        is_item = _ITEM.match(chunk.text, span[0]) and not chunk.text.startswith("**", span[0])
        if not (is_item or _is_poor(text) or _LEANS.match(text) or _REPLY.match(text)):
            return _quote_of(chunk, span[0], _continued(chunk.text, spans, span, (name,)))
    return None


def _continued(
    text: str,
    spans: Sequence[tuple[int, int]],
    span: tuple[int, int],
    names: Sequence[re.Pattern[str]],
) -> int:
    """Return where a passage ends with what follows it, up to a readable length.

    *Tian met Deng at Mianzhu.* What happens there stands behind. An English sentence is told with
    those behind it that begin with a pronoun or name one of the two.
    """
    start, end = span
    is_short = is_chinese(text[start:end])
    for begins, ends in spans:
        is_next = begins >= end and not text[end:begins].strip() and "\n\n" not in text[end:begins]
        is_next = is_next and not _ITEM.match(text, begins)
        if not is_next:
            continue
        if is_short and end - start < _SHORT and ends - start <= 2 * _SHORT:
            end = ends
        elif not is_short and ends - start <= _MAX_PASSAGE:
            said = text[begins:ends]
            if not (_LEANS.match(said) or any(name.search(said) for name in names)):
                break
            end = ends
    return end


def _start_with_lead(text: str, spans: Sequence[tuple[int, int]], span: tuple[int, int]) -> int:
    """Return where a Chinese passage begins, before a short sentence with the one before it."""
    before = [each for each in spans if each[1] <= span[0] and not text[each[1] : span[0]].strip()]
    if not before or span[1] - span[0] >= _BRIEF:
        return span[0]
    start = before[-1][0]
    is_near = "\n" not in text[start : span[0]] and span[1] - start <= _SHORT
    return start if is_near and not _ITEM.match(text, start) else span[0]


def _first_words(text: str, spans: Sequence[tuple[int, int]], span: tuple[int, int]) -> int:
    """Return where a message ends that begins with a header, after its first sentences."""
    start, end = span
    for begins, ends in spans:
        if begins < end:
            continue
        if ends - start > _MAX_QUOTE or _HEADER.search(text[begins:ends]):
            break
        end = ends
    return end


def _is_enumerated(text: str, names: Sequence[re.Pattern[str]]) -> bool:
    """Check for two names in a list of several, which says no more than that both are in it."""
    first, second = (name.search(text) for name in names)
    if first is None or second is None:
        return False
    between = text[min(first.end(), second.end()) : max(first.start(), second.start())]
    return len(_COMMA.findall(between)) > 1 and not _CLAUSE.search(between)


def _antecedent(text: str, spans: Sequence[tuple[int, int]], span: tuple[int, int]) -> int:
    """Return where a passage begins with the sentence before, which it leans on, if that is near.

    *His granddaughter said so* means nothing without whose.
    """
    before = [start for start, end in spans if end <= span[0] and not text[end : span[0]].strip()]
    start = before[-1] if before else span[0]
    is_near = "\n\n" not in text[start : span[1]] and span[1] - start <= _MAX_QUOTE
    is_item = _ITEM.match(text, start) or _ITEM.match(text, span[0])
    is_said = text[start] in "\"'“‘" or text[start].isupper()
    is_apart = is_item or not is_said or _is_line(text, span[0])
    is_apart = is_apart or _is_heading(text[start : span[0]])
    return start if is_near and not is_apart else span[0]


def _is_line(text: str, start: int) -> bool:
    """Check for a sentence on a line of its own, behind a line that ends early."""
    before = text[:start].rstrip(" \t")
    last = before[:-1].rpartition("\n")[2]
    return before.endswith("\n") and len(last) < _FULL_LINE


def _is_listed(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Check for several sentences on lines of their own, or across paragraphs."""
    between = [text[first[1] : second[0]] for first, second in pairwise(spans)]
    has_break = any(each.count("\n") > 1 for each in between)
    return len(spans) > 2 and (has_break or all("\n" in each for each in between))


def _sentences_back(at: int, named: Sequence[Sequence[bool]]) -> int:
    """Return how many sentences before one the name stands that it lacks; 0 for none near."""
    for gap in range(1, min(at, 1 + _APART) + 1):
        if all(map(any, zip(named[at], named[at - gap], strict=True))):
            return gap
    return 0


def _distance(text: str, names: Sequence[re.Pattern[str]]) -> float:
    """Return how far apart two names stand, 0 to 1, a hundred characters counting as 1."""
    first, second = ([match.span() for match in name.finditer(text)] for name in names)
    between = [max(other[0] - one[1], one[0] - other[1], 0) for one in first for other in second]
    return min(min(between, default=_WIDE) / _WIDE, 1.0)


def _tells_role(text: str, names: Sequence[re.Pattern[str]], pronoun: str) -> bool:
    """Check that a sentence says what one is to the other: "Fred, Scrooge's nephew"."""
    if pronoun:
        found = (name.search(text) for name in names)
        return any(ROLE.search(text[max(0, m.start() - _BETWEEN) : m.start()]) for m in found if m)
    for one, other in (names, names[::-1]):
        for first in one.finditer(text):
            second = other.search(text, first.end(), first.end() + 2 * _BETWEEN)
            if second is None or second.start() - first.end() > _BETWEEN:
                continue
            between = text[first.end() : second.start()]
            if re.search(r"[.!?;。！？；]\s", between):
                continue
            behind = text[second.end() : second.end() + _BEHIND]
            owned = _OWNED.match(behind) if _APPOSED.fullmatch(between) else None
            if ROLE.search(between) or (owned and ROLE.match(behind, owned.end())):
                return True
    return False


def _is_heading(text: str) -> bool:
    text = strip_markdown(text)
    is_unmarked = not (re.search(r"[.!?。！？;；,，]", text) or _HEADER.search(text))
    return is_unmarked or text.lstrip().startswith("#")


def _quote_of(chunk: Chunk, start: int, end: int) -> SourceQuote:
    return SourceQuote(
        document_id=chunk.document_id,
        title=chunk.title,
        chunk_id=chunk.id,
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
    )


def place_of(quote: SourceQuote) -> tuple[str, int, int]:
    """Return the document of a quotation, its start and its end."""
    return quote.document_id, quote.start, quote.end
