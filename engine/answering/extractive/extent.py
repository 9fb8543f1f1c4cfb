"""Extent of an excerpt: what is shown of the section in which a block was chosen, and its form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from ...types import Passage
from ..packing import TextAt
from .blocks import (
    APART,
    LONGEST_WORDS,
    WINDOW_WORDS,
    ExcerptBlock,
    count_words,
    cut_long,
    plain_excerpt,
    split_blocks,
)

SHORTEST_WORDS = 120
"""An excerpt below this goes on with the next block of its section."""
LEAST_WORDS = 10
"""A shorter first block of a section is a by-line or a date."""
WHOLE_DEFINITION, WHOLE_WORDS, WHOLE_STEPS = 120, 220, 260
"""A section is shown whole where it is no longer than this: for a definition, in general, for
steps, commands and comparisons."""
STANDS_ALONE = 90
"""Words from which on a block is not joined with what stands before it."""
LED_WORDS = 300
"""Most words of an excerpt that goes on with the list that it leads to."""
REST_WORDS = 60
"""Words of the rest of a paragraph that is told whole rather than cut, at most."""
ITEM_WORDS = 5
"""A beginning of an item with fewer words goes on with the next sentence."""
LISTED = ("list", "entry")
SIBLINGS = 3
"""From so many sections side by side on they are a list."""
_SPEECH = 130
"""Characters behind an excerpt in which the speech ends that it breaks off in."""
REACH, LIST_REACH = 2_000, 6_000
"""Characters of the document before and behind a passage, where a section may begin and go on,
and a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Excerpt `source.text[start:end]` below its heading; `source` holds a passage of the answer.

    `logit` is the reader's, of the part that it read; None without a reader. `lead` is the place
    in `source.text` of the sentence that answers by itself, where there is one. `likely` is the
    probability that it answers; None where the logit tells.
    """

    source: Passage
    start: int
    end: int
    heading: str
    text: str
    score: float
    logit: float | None
    lead: tuple[int, int] | None = None
    likely: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best block with its score, and what the reader gave it; None without one.

    `lead` is where the sentence that answers by itself stands in the block's passage; `likely` the
    probability that the block answers, None where the logit tells.
    """

    block: ExcerptBlock
    score: float
    logit: float | None
    lead: tuple[int, int] | None = None
    likely: float | None = None


def in_section(one: ExcerptBlock, other: ExcerptBlock) -> bool:
    """Check whether two blocks stand in the same section of the same passage."""
    return (one.passage, one.section) == (other.passage, other.section)


def is_said(block: ExcerptBlock) -> bool:
    """Check that a block is no mere by-line."""
    return count_words(block.text) >= LEAST_WORDS


def is_title(block: ExcerptBlock) -> bool:
    """Check for the title of a box inside a section: a few words that are no sentence."""
    return block.form == "prose" and not is_said(block) and not _ENDS.search(block.text)


_ENDS = re.compile(r"[.!?:;,。！？：；，][\W\d]*$|\W(?:https?|www\b)", re.I)


def listed_sections(
    best: Best, listed: Sequence[ExcerptBlock], passages: Sequence[Passage]
) -> Excerpt:
    """Return the sections side by side, with their headings."""
    block, source = best.block, passages[best.block.passage]
    text, start = source.text, listed[0].section_start
    end = start + cut_long(text[start : listed[-1].end])
    return Excerpt(
        source=source,
        start=start,
        end=end,
        heading=block.above,
        text=text[start:end],
        score=best.score,
        logit=best.logit,
        likely=best.likely,
    )


_LEANS = re.compile(
    r"\W*(?:then|next|after (?:this|that)|finally|now|this"
    r"|in (?:this|that|these|those|such) (?:case|example|situation|way|respect|event|mode|step)s?"
    r"|these|those|it|they|he|she|however|also|in addition|moreover|in other cases|similarly"
    r"|therefore|thus|instead|otherwise)\b"
    r"|\W*(?:然后|接着|此外|因此|但是|同样|这)",
    re.I,
)
"""Beginnings that lean on what stands in front of them."""


def leans(text: str) -> bool:
    """Check for a beginning that leans on what stands in front of it."""
    return _LEANS.match(text) is not None


def _standing_start(
    block: ExcerptBlock, blocks: Sequence[ExcerptBlock], *, longest: int = LONGEST_WORDS
) -> int:
    """Return where an excerpt begins that does not lean on what was left out."""
    start, leaning, words = block.start, block, count_words(block.text)
    for each in reversed(blocks):
        if not in_section(each, block) or each.end > start:
            continue
        words = words + count_words(each.text)
        if not _LEANS.match(leaning.text) or words > longest:
            break
        start, leaning = each.start, each
    return start


def _rest(block: ExcerptBlock, blocks: Sequence[ExcerptBlock]) -> list[ExcerptBlock]:
    """Return the blocks that follow in the same section, up to a box with a title of its own."""
    rest = [each for each in blocks if in_section(each, block) and each.start >= block.end]
    titles = (row for row, each in enumerate(rest) if is_title(each))
    return rest[: next(titles, len(rest))]


def extended(
    best: Best,
    passage: Passage,
    text_at: TextAt | None,
    *,
    whole: int = WHOLE_WORDS,
    longest: int = LONGEST_WORDS,
    has_steps: bool = False,
    may_cut: bool = False,
    opens: bool = False,
) -> Excerpt:
    """Show a short section whole; else continue a short block with the next, and cut a long one.

    `has_steps`: goes on to the last code that is to be typed within `LED_WORDS`. `may_cut`: cuts a
    paragraph of which at most `REST_WORDS` are left, too. `opens`: begins where the section does.
    """
    source, block = _around(best.block, passage, text_at)
    blocks = split_blocks([source])
    section = _section_start(block, blocks, source)
    if opens:
        block = next((each for each in blocks if each.start == section), block)
    text, start, end = source.text, block.start, block.end
    rest = _rest(block, blocks)
    last = rest[-1].end if rest else end
    if block.form in APART:
        pass  # one of many of its kind
    elif section is not None and count_words(text[section:last]) <= whole:
        start, end, longest = section, last, max(longest, whole)
    else:
        start = _standing_start(block, blocks, longest=longest)
        end, longest = _led_on(
            text, (start, end), blocks, rest, longest=longest, has_steps=has_steps
        )
    cut = start + cut_long(text[start:end], words=longest)
    cut = cut if may_cut else _paragraph_end(text, cut, end)
    end = speech_end(text, start, cut)
    lead = None
    if best.lead is not None:
        first, last = (place + passage.start - source.start for place in best.lead)
        lead = (first, last) if start <= first < last <= end else None
    return Excerpt(
        source=source,
        start=start,
        end=end,
        heading=block.heading,
        text=text[start:end],
        score=best.score,
        logit=best.logit,
        lead=lead,
        likely=best.likely,
    )


def _led_on(
    text: str,
    place: tuple[int, int],
    blocks: Sequence[ExcerptBlock],
    rest: Sequence[ExcerptBlock],
    *,
    longest: int,
    has_steps: bool,
) -> tuple[int, int]:
    """Return where an excerpt ends that goes on with the next blocks, and its most words."""
    start, end = place
    is_led = _begins_a_list(text, start, end, blocks, rest)
    typed = [each.end for each in rest if has_steps and each.form == "code"]
    typed = [each for each in typed if count_words(text[start:each]) <= LED_WORDS]
    for row, other in enumerate(rest):
        is_led = _announces(text[start:end], other) or (is_led and other.form in LISTED)
        is_led = is_led or _begins_a_list(text, start, other.end, blocks, rest[row + 1 :])
        gives_reason = _GIVES_REASON.match(other.text) is not None
        is_typed = other.end <= max(typed, default=start)
        is_enough = count_words(text[start:end]) >= SHORTEST_WORDS
        if is_enough and not (is_led or is_typed or gives_reason):
            break
        end = other.end
        is_longer = is_typed or (is_led and other.form in LISTED)
        if is_longer and longest == LONGEST_WORDS:
            longest = LED_WORDS
    return end, longest


def _begins_a_list(
    text: str,
    start: int,
    end: int,
    blocks: Sequence[ExcerptBlock],
    rest: Sequence[ExcerptBlock],
) -> bool:
    """Check for an excerpt that leads to a list and has some of it, where all is short enough."""
    own = next((each for each in blocks if each.end == end and each.form == "list"), None)
    if own is None or not _led_to(own.text)[0].endswith((":", "：")):
        return False
    last = end
    for each in rest:
        if each.form != "list":
            break
        last = each.end
    return count_words(text[start:last]) <= LED_WORDS


def _paragraph_end(text: str, cut: int, end: int) -> int:
    """Return where the prose ends that was cut, where that is near, and `end` at most."""
    rest = text[cut:end].partition("\n\n")[0]
    is_near = count_words(rest) <= REST_WORDS and not _ITEM_OR_ROW.search(rest)
    return cut + len(rest.rstrip()) if is_near else cut


_ITEM_OR_ROW = re.compile(r"^[ \t]*(?:[-*+•|]|\d{1,3}[.)]|```)", re.MULTILINE)


_ANNOUNCES = re.compile(
    r"(?:\b(?:the following|as follows|listed below)\b|如下|下列|(?<![岁元人米度])以下)"
    r"[^.!?。！？\n]{0,80}[.。]?\s*$",
    re.I,
)


_GIVES_REASON = re.compile(
    r"\W*(?:the (?:main |real )?reasons? (?:for this|is|are|behind)|(?:this|that) is because"
    r"|because)\b|\W*(?:这是因为|原因是|之所以)",
    re.I,
)
"""Beginnings that give the reason of what stands in front of them."""


def _announces(text: str, following: ExcerptBlock) -> bool:
    """Check for a text that ends before what it leads to (*The following steps explain it*)."""
    text = text.rstrip()
    if text.endswith((":", "：")):
        return True
    return following.form != "prose" and _ANNOUNCES.search(text) is not None


def speech_end(text: str, start: int, end: int) -> int:
    """Return the end of the speech that a part of a text breaks off in, where that is near."""
    if text.rfind("“", start, end) <= text.rfind("”", start, end):
        return end
    behind = text[end : end + _SPEECH].partition("\n\n")[0]
    closed = behind.find("”") + 1
    is_cut = not closed and end + len(behind) == len(text)  # the passage ends in it
    return end + (len(behind) if is_cut else closed)


def outlined(best: Best, passage: Passage, text_at: TextAt | None) -> Excerpt | None:
    """Return the list that a block is a part of, whole, or the block's items and how others begin.

    None where the block is no such part: it is shown as it stands.
    """
    if best.block.form == "entry":
        return None
    source, block = _around(best.block, passage, text_at, reach=LIST_REACH)
    blocks = [each for each in split_blocks([source]) if in_section(each, block)]
    place = next((row for row, each in enumerate(blocks) if each.end > block.start), 0)
    leading = blocks[place] if _leads_to_a_list(blocks[place : place + 2]) else None
    led: list[int] = []
    if leading is None and block.form == "prose":
        behind = sum(each.start <= block.end for each in blocks)  # the paragraph behind, too
        near = range(place, min(behind + 1, len(blocks) - 1))
        led = [row for row in near if _leads(blocks[row], blocks[row + 1])]
        if led:
            is_own = _announces(blocks[led[-1]].text, blocks[led[-1] + 1])
            place, leading = (led[-1], blocks[led[-1]]) if is_own else (led[-1] + 1, None)
    first = last = place + (leading is not None)
    while first > 0 and blocks[first - 1].form == blocks[first].form in LISTED:
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].form == blocks[last].form in LISTED:
        last += 1
    items = blocks[first : last + 1]
    start, end = (leading or items[0]).start, items[-1].end
    text = source.text[start:end]
    if len(items) >= SIBLINGS and count_words(text) > LONGEST_WORDS:
        lead, first_item = _led_to(items[0].text)
        lead = leading.text if leading else lead
        texts = (first_item, *(each.text for each in items[1:]))
        told = [_beginning(each) for each in texts]
        whole = [
            one if block.start <= each.start < block.end else short
            for one, short, each in zip(texts, told, items, strict=True)
        ]
        if count_words(" ".join((lead, *whole))) <= LONGEST_WORDS:
            told = whole
        text = "\n".join((*([lead] if lead else []), *told))
    elif items[0].form not in LISTED or (start >= block.start and not led):
        return None
    return Excerpt(
        source=source,
        start=start,
        end=end,
        heading=block.heading,
        text=text[: cut_long(text)],
        score=best.score,
        logit=best.logit,
        likely=best.likely,
    )


def _leads(block: ExcerptBlock, following: ExcerptBlock) -> bool:
    """Check for a paragraph before a list that it, or the list's own caption, announces."""
    if block.form != "prose" or following.form not in LISTED:
        return False
    return any(_announces(text, following) for text in (block.text, _led_to(following.text)[0]))


def _leads_to_a_list(blocks: Sequence[ExcerptBlock]) -> bool:
    """Check for a short paragraph before a list."""
    if len(blocks) < 2 or blocks[0].form != "prose" or blocks[1].form not in LISTED:
        return False
    return count_words(blocks[0].text) <= UNIT_WORDS


def _led_to(item: str) -> tuple[str, str]:
    """Part the first item of a list from what leads to it."""
    found = re.search(r"\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)、])[ \t])", item)
    if not found or _MARKED.match(item):
        return "", item
    return item[: found.start()].rstrip(), item[found.end() :]


def _beginning(item: str) -> str:
    """Return the first sentence of an item, with the next one where it is but a name."""
    end = 0
    for _, end in sentence_spans(item):
        if count_words(item[:end]) >= ITEM_WORDS:
            break
    return f"{item[:end].rstrip()} …" if item[end:].strip() else item[:end].rstrip()


UNIT_WORDS = 60
"""Most words of what is read and shown with a sentence."""
_MARKED = re.compile(r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")


def unit_of(
    place: int, passage: Passage, blocks: Sequence[ExcerptBlock] | None = None
) -> tuple[int, int] | None:
    """Return the section, the item of a list or the paragraph around a place, where it is short.

    What a parameter is for stands apart from its name above it, and from its default in a table.
    A heading whose words all stand below it is left out.
    `blocks` are those of the passage, if at hand.
    """
    text, blocks = passage.text, split_blocks([passage]) if blocks is None else blocks
    block = next((each for each in blocks if each.start <= place < each.end), None)
    if block is None:
        return None
    own = [each for each in blocks if in_section(each, block)]
    units = []
    begins, first, last = own[0].section_start, own[0].start, own[-1].end
    if begins < first and count_words(text[first:last]) <= UNIT_WORDS:
        is_said = {*tokens(text[begins:first])} <= {*tokens(text[first:last])}
        units.append((first if is_said else begins, last))
    if block.form in LISTED:
        starts = [block.start + match.start() for match in _MARKED.finditer(block.text)]
        above = [each for each in starts if each <= place] or [block.start]
        begun = above[-1] if len(above) < 2 or not _is_term(text, *above[-2:]) else above[-2]
        units.append((begun, min((each for each in starts if each > place), default=block.end)))
    elif block.form in ("prose", "titled"):
        before = text.rfind("\n\n", block.start, place)
        behind = text.find("\n\n", place, block.end)
        unit = (block.start if before < 0 else before + 2, block.end if behind < 0 else behind)
        units.append(_with_term(unit, own, text))
    return next((unit for unit in units if count_words(text[slice(*unit)]) <= UNIT_WORDS), None)


def with_led_list(unit: tuple[int, int], passage: Passage) -> tuple[int, int]:
    """Join what leads to a list with that list, where both are short enough."""
    start, end = unit
    block = next((each for each in split_blocks([passage]) if each.start == start), None)
    is_led = block is not None and block.form == "list" and block.end > end
    if block is None or not is_led or not passage.text[start:end].rstrip().endswith((":", "：")):
        return unit
    return (start, block.end) if count_words(block.text) <= LONGEST_WORDS else unit


def _with_term(unit: tuple[int, int], own: Sequence[ExcerptBlock], text: str) -> tuple[int, int]:
    """Join a paragraph with the line above it that names what it explains: *quotawarn: 90*."""
    start, end = unit
    if _names_a_term(text[start:end]):
        behind = next((each for each in own if each.start >= end and each.form == "prose"), None)
        if behind is None or text[end : behind.start].strip() or _names_a_term(behind.text):
            return unit
        return start, behind.end
    above = next((each for each in reversed(own) if each.end <= start), None)
    is_term = above and above.form == "prose" and _names_a_term(above.text)
    return (above.start, end) if above and is_term and not text[above.end : start].strip() else unit


def _names_a_term(paragraph: str) -> bool:
    bare = paragraph.rstrip(" \t\n\"'”’»」』)]*_")
    return count_words(paragraph) <= TERM_WORDS and not bare.endswith(_SENTENCE_ENDS)


_SENTENCE_ENDS = tuple(".!?:;,。！？：；，…")


def _is_term(text: str, item: int, next_one: int) -> bool:
    """Check for an item of a few words that the next, deeper one explains."""
    depths = [len(text[at:]) - len(text[at:].lstrip(" \t")) for at in (item, next_one)]
    return depths[0] < depths[1] and count_words(text[item:next_one]) <= TERM_WORDS


TERM_WORDS = 8
"""Most words of an item that is a term."""


def short_excerpt(best: Best, passage: Passage) -> Excerpt:
    """Show a block by itself."""
    block = best.block
    end = block.start + cut_long(block.text, words=WINDOW_WORDS)
    return Excerpt(
        source=passage,
        start=block.start,
        end=end,
        heading=block.heading,
        text=passage.text[block.start : end],
        score=best.score,
        logit=best.logit,
        likely=best.likely,
    )


def _around(
    block: ExcerptBlock, passage: Passage, text_at: TextAt | None, *, reach: int = REACH
) -> tuple[Passage, ExcerptBlock]:
    """Return a passage with what stands around it in its document, and a block whole in that."""
    before, behind = _before(passage, text_at, reach), _behind(passage, text_at, reach)
    wide = replace(
        passage,
        text=f"{before}{passage.text}{behind}",
        start=passage.start - len(before),
        end=passage.end + len(behind),
    )
    start, end = block.start + len(before), block.end + len(before)
    touched = [one for one in split_blocks([wide]) if one.start < end and start < one.end]
    if block.form == "entry":  # the item of a list stays apart from it
        touched = [one for one in touched if one.form == "entry"]
    if touched:
        end = max(end, touched[-1].end)
        if count_words(wide.text[touched[0].start : end]) <= LONGEST_WORDS:
            start = min(start, touched[0].start)
    section = touched[0].section if touched else block.section
    return wide, replace(block, passage=0, start=start, end=end, section=section)


def _before(passage: Passage, text_at: TextAt | None, reach: int) -> str:
    """Return whole paragraphs that lead to a passage, from its last code block on."""
    start = max(0, passage.start - reach)
    found = text_at(passage.document_id, start, passage.start) if text_at else ""
    if len(found) != passage.start - start:
        return ""
    if start:
        found = found.partition("\n\n")[2]
    return found if found.count("```") % 2 == 0 else found.rpartition("```")[2]


def _behind(passage: Passage, text_at: TextAt | None, reach: int) -> str:
    """Return whole paragraphs that follow a passage."""
    found = text_at(passage.document_id, passage.end, passage.end + reach) if text_at else ""
    return found if len(found) < reach else found.rpartition("\n\n")[0]


def _section_start(
    block: ExcerptBlock, blocks: Sequence[ExcerptBlock], source: Passage
) -> int | None:
    """Return where the text of a block's section begins; None where that is out of sight."""
    own = (each for each in blocks if each.section == block.section)
    first = min(own, key=lambda each: each.start, default=block)
    is_seen = first.section_start < first.start or source.start == 0
    return first.start if is_seen else None


def render_excerpt(excerpt: Excerpt, number: int) -> str:
    """Return an excerpt below its heading with the mark of its citation; its own `[3]` is `(3)`."""
    text = plain_excerpt(excerpt.text, 0, len(excerpt.text))
    gap = "\n" if text.endswith(("```", "|")) else " "
    return (
        f"### {excerpt.heading}\n\n{text}{gap}[{number}]"
        if excerpt.heading
        else f"{text}{gap}[{number}]"
    )


def with_adjoining_blocks(
    block: ExcerptBlock, near: Sequence[ExcerptBlock], passages: Sequence[Passage]
) -> ExcerptBlock:
    """Join a block with those of its section beside it that answer nearly as well.

    A long one is not joined with those before it: what answers would come late.
    """
    if block.form in APART:
        return block
    text = passages[block.passage].text
    is_long = count_words(block.text) >= STANDS_ALONE
    for other in near:
        if not in_section(other, block) or (is_long and other.start < block.start):
            continue
        start, end = min(block.start, other.start), max(block.end, other.end)
        between = text[min(block.end, other.end) : max(block.start, other.start)]
        if not between.strip() and count_words(text[start:end]) <= LONGEST_WORDS:
            place = min(block.place, other.place)
            block = replace(block, start=start, end=end, place=place, text=text[start:end])
    return block


def opens_section(block: ExcerptBlock, passages: Sequence[Passage]) -> bool:
    """Check for the first words of a section, no rest of it in a later passage."""
    is_seen = block.section_start < block.start or passages[block.passage].start == 0
    return block.place == 0 and is_seen and is_said(block)
