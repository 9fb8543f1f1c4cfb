"""Blocks that may answer a question: what their words promise, and their sentences.

Sentences lie where their blocks do, and one that answers by itself leads its block.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import is_chinese

from ...plain_text import table_cells
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import led_by
from ...storage.graph_api import bare_heading, sentence_spans
from ...storage.tokenization import tokens
from ...types import Passage
from ..openings import read_title
from .blocks import APART, WINDOW_WORDS, ExcerptBlock, count_words, entry_term, split_blocks
from .extent import Best, Excerpt, extended, in_section, is_title, short_excerpt
from .sentence_scoring import ScoredSentence

Reader = Callable[[str, Sequence[str]], NDArray[np.float64]]
"""A question and texts to a logit for each, higher for one that answers."""


@runtime_checkable
class FullReader(Protocol):
    """Reader that leaves texts far below the best, unless all are to be read."""

    def fully(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order; all are read to the end."""
        ...


@runtime_checkable
class WholeReader(Protocol):
    """Reader that also reads texts by their vectors."""

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order."""
        ...

    def whole(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how near each text is as a whole, in input order."""
        ...


def to_the_end(reader: Reader) -> Reader:
    """Return a reader that reads all texts to the end: several of them count, not the best."""
    return reader.fully if isinstance(reader, FullReader) else reader


READ_PASSAGES = 10
"""Passages, best first, whose blocks are candidates."""
HEADING = 3.0
"""Logits for a heading that carries the whole question, where nothing reads."""
FOUND_BY, FURTHER = 20.0, 2.0
"""Weight of a passage's fused score beside what the words of a block promise, and what each further
block of a passage loses: of 95 questions on five sets of documents the block that answers is among
the first six in .86, the first eight in .93 (by words, the best of six passages first, .77, .91).
"""
OF_DOCUMENT = 6.0
"""Weight of the best fused score of a document's passages: of 99 questions on three sets of
documents the block that answers is among the first seven in .95 (.94 without it), and the first
twelve in 1.0 (.98)."""
WORDS = {"en": 0.2, "zh": 0.15}
"""Weight of the best sentence's score and the heading beside the reader's logit."""
FUSED, LATER = 4.5, 0.2
"""Logits that a block gains, times the fused score of its passage (in its place, of passages that
were not searched for: 1 less the logarithm of its rank, times `LATER`)."""
READ, BOUNDS = 0.6, (-8.0, 11.0)
"""Weight and bounds of a reader's logit beside what words promise."""
PLACES, FARTHEST = 6, -8.0
"""Blocks that are read to tell how likely their sentences are, and how far sentences of blocks that
were not read lie below the best."""
LEAD_SENTENCES = 3
"""Sentences of a block that are read, those with most of the question's words."""
LEAST_WORDS = 4
"""Words of a sentence that is read."""
_ENDS = re.compile(r"[.!?。！？][\W\d]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedBlock:
    """A block and what its words promise."""

    block: ExcerptBlock
    prior: float


def join_windows(blocks: Sequence[ExcerptBlock], passages: Sequence[Passage]) -> list[ExcerptBlock]:
    """Join the blocks of a section, or of a box, up to what a reader takes in at once."""
    found: list[ExcerptBlock] = []
    for block in blocks:
        last = found[-1] if found else None
        if last is not None and (last.passage, last.section) == (block.passage, block.section):
            text = passages[block.passage].text[last.start : block.end]
            is_entry = last.form in APART or block.form in APART
            if count_words(text) <= WINDOW_WORDS and not is_entry and not is_title(block):
                found[-1] = replace(last, end=block.end, text=text)
                continue
        found.append(block)
    return found


def weigh_blocks(
    blocks: Sequence[ExcerptBlock],
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    wanted: Mapping[str, float],
) -> list[WeighedBlock]:
    """Return the blocks that hold a sentence, those that promise most first.

    A block promises what its best sentence, its heading, its passage and its document do, each
    further one of a passage less.
    """
    found = []
    for block in blocks:
        inside = [
            each.score
            for each in weighed
            if each.sentence.passage == block.passage
            and block.start <= each.sentence.start < block.end
        ]
        if inside:
            headings = [block.heading, entry_term(block)]
            agreement = max(_agreement(each, wanted) for each in headings)
            prior = max(inside) + HEADING * agreement
            found.append(WeighedBlock(block=block, prior=prior))

    best: defaultdict[str, float] = defaultdict(float)
    for one in found:
        document = passages[one.block.passage].document_id
        best[document] = max(best[document], fused_score(one.block, passages))

    def promise(one: WeighedBlock) -> float:
        of_document = OF_DOCUMENT * best[passages[one.block.passage].document_id]
        return one.prior + FOUND_BY * fused_score(one.block, passages) + of_document

    before: defaultdict[int, int] = defaultdict(int)
    scored: list[tuple[float, WeighedBlock]] = []
    for one in sorted(found, key=lambda one: (-promise(one), one.block.passage, one.block.start)):
        scored.append((promise(one) - FURTHER * before[one.block.passage], one))
        before[one.block.passage] += 1
    return [one for _, one in sorted(scored, key=lambda each: -each[0])]


def _agreement(heading: str, wanted: Mapping[str, float]) -> float:
    """Return the harmonic mean of the question's share in a heading and the heading's in it."""
    terms = {term for term in tokens(heading) if not term.isdigit()}
    share = _share(terms, wanted)
    known = frozenset[str]().union(*(frozenset(lexical_variants(term)) for term in wanted))
    precision = len(terms & known) / max(1, len(terms))
    return 2 * share * precision / (share + precision) if share and precision else 0.0


def _share(terms: set[str], wanted: Mapping[str, float]) -> float:
    """Return the share of the question's weight that some terms hold."""
    held = (w for term, w in wanted.items() if not terms.isdisjoint(lexical_variants(term)))
    return sum(held) / sum(wanted.values())


def read_places(
    question: str,
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    read: Reader,
) -> NDArray[np.float64]:
    """Return for each sentence how far its block lies below the best one, in logits from 0 down.

    The page and its heading tell more about where a fact stands than the sentence itself. Those in
    blocks that were not read lie `FARTHEST` below; the last of a chain lies where its first does.
    """
    blocks = join_windows(split_blocks(passages[:READ_PASSAGES]), passages)
    candidates = weigh_blocks(blocks, passages, weighed, wanted)[:PLACES]
    below = np.full(len(weighed), FARTHEST)
    if not candidates:
        return below
    logits = read(question, [read_text(one.block, passages) for one in candidates])
    scores = promised(candidates, passages) + READ * np.clip(logits, *BOUNDS)
    for one, score in zip(candidates, scores - scores.max(), strict=True):
        for row, each in enumerate(weighed):
            sentence, block = each.sentence, one.block
            if sentence.passage == block.passage and block.start <= sentence.start < block.end:
                below[row] = max(below[row], score)
    led = [row if each.hop is None else each.hop for row, each in enumerate(weighed)]
    return np.asarray(np.maximum(below, below[led]))


def promised(
    candidates: Sequence[WeighedBlock], passages: Sequence[Passage]
) -> NDArray[np.float64]:
    """Return what the words and the passages of English blocks promise, in logits."""
    found = np.array([fused_score(one.block, passages) for one in candidates])
    return WORDS["en"] * np.array([one.prior for one in candidates]) + FUSED * found


def fused_score(block: ExcerptBlock, passages: Sequence[Passage]) -> float:
    """Return the fused score of a block's passage, or one by its rank where it was not searched."""
    unknown = 1.0 - LATER * float(np.log1p(block.passage))
    return passages[block.passage].scores.get("fused", unknown)


def read_text(block: ExcerptBlock, passages: Sequence[Passage]) -> str:
    """Return a block below its title and heading, as a reader reads it."""
    return f"{read_heading(block, passages)}\n{told_text(block)}"


def told_text(block: ExcerptBlock) -> str:
    """Return the text of a block, rows of tables told with the names of their columns.

    A reader of sentences makes more of *Ship: Corncrake; Built: 1988.* than of bars.
    """
    return _with_told_rows(block.text)


_COLUMNS = 2
"""Least columns with a name of a table whose rows are told."""
_OF_RULE = frozenset("|-: \t")


def _with_told_rows(text: str) -> str:
    """Return a text with the rows of its Markdown tables as sentences."""
    lines = text.split("\n")
    told: list[str] = []
    names: tuple[str, ...] = ()
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if not line.lstrip().startswith("|"):
            names = ()
            told.append(line)
        elif names and _OF_RULE.issuperset(line):
            continue
        elif names:
            named = zip(names, table_cells(line), strict=False)
            row = (f"{name}: {cell}" if name else cell for name, cell in named if cell)
            told.append(f"{'; '.join(row)}.")
        else:
            head = table_cells(line) if "---" in below and _OF_RULE.issuperset(below) else ()
            if sum(map(bool, head)) >= _COLUMNS:  # fewer are the layout of a page
                names = head
            else:
                told.append(line)
    return "\n".join(told)


def read_heading(block: ExcerptBlock, passages: Sequence[Passage]) -> str:
    """Return the title and the heading above a block."""
    passage = passages[block.passage]
    shown = f"{passage.title} {block.heading} {block.text}"
    title = read_title(passage, block.start, shown)
    heading = "" if block.heading == passage.title else block.heading
    names = (title, heading, led_by(passage.text, block.start))
    return ": ".join(filter(None, names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Sentence `block.text[start:end]` with the logit that a reader gave it."""

    start: int
    end: int
    logit: float


def read_leads(
    question: str,
    blocks: Sequence[ExcerptBlock],
    *,
    above: Callable[[ExcerptBlock], str],
    wanted: Mapping[str, float],
    read: Reader,
) -> list[Lead | None]:
    """Return the best sentence of each block; None where it has no whole sentence.

    A long block is read as what it is mostly about; one of its sentences may say what is asked.

    `above` is what a reader reads before a text of the block: its title and heading.
    """
    places = [
        (number, start, end)
        for number, block in enumerate(blocks)
        for start, end in _sentences(block.text, wanted)
    ]
    found: list[Lead | None] = [None] * len(blocks)
    if not places:
        return found
    texts = [f"{above(blocks[n])}\n{blocks[n].text[start:end]}" for n, start, end in places]
    for (number, start, end), logit in zip(places, read(question, texts), strict=True):
        best = found[number]
        if best is None or logit > best.logit:
            found[number] = Lead(start=start, end=end, logit=float(logit))
    return found


def _sentences(text: str, wanted: Mapping[str, float]) -> list[tuple[int, int]]:
    """Return the whole sentences that hold most of what is wanted, in no order."""
    places = ((_behind_title(text, start, end), end) for start, end in sentence_spans(text))
    whole = [
        (start, end)
        for start, end in places
        if count_words(text[start:end]) >= LEAST_WORDS and _ENDS.search(text[start:end])
    ]

    def share(place: tuple[int, int]) -> float:
        held = set(tokens(text[slice(*place)]))
        return sum(w for term, w in wanted.items() if not held.isdisjoint(lexical_variants(term)))

    return sorted(whole, key=lambda place: (-share(place), place))[:LEAD_SENTENCES]


_BOX_TITLE = re.compile(r"\W*[A-Z]{3,}[^\n.!?:;,]{0,60}\n\s*(?=[A-Z“\"'`])")


def _behind_title(text: str, start: int, end: int) -> int:
    """Return where a sentence begins behind the title of a box: *TIP Backups*, on a line."""
    title = _BOX_TITLE.match(text, start, end)
    return title.end() if title else start


_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)、])[ \t]+(.*)")
_BELOW = re.compile(r"\n[ \t]*\n(?=\S)")
"""Between an item and a paragraph that is none of it."""
_TERM = re.compile(r"[*`_ ]*((?:(?!\s-\s|\.\s)[^:：—–(（，*`\n]){0,80})")
"""Beginning of an item, in which the term that it explains stands."""
_SHARED = re.compile(
    r"\sin\s.*"
    r"|\sof\s(?:the|my|our|your|this)\s(?-i:[a-z]).*"
    r"|\s(?:for|on|within|inside|under|from)\s(?:(?:the|an?|my|our|your|this)\s)?(?-i:[a-z]).*",
    re.I | re.S,
)


def bare_sides(sides: Sequence[str]) -> tuple[str, ...]:
    """Return the sides without what the last one says of all: *Back and Close in a window*."""
    last = _SHARED.sub("", sides[-1])
    own = set(tokens(last))
    is_within = any(own <= set(tokens(side)) for side in sides[:-1])
    if any(map(_SHARED.search, sides[:-1])) or is_within:
        return tuple(sides)
    return (*sides[:-1], last)


def items_of_sides(
    sides: Sequence[str],
    blocks: Sequence[ExcerptBlock],
    passages: Sequence[Passage],
    beside: ExcerptBlock | None = None,
) -> list[ExcerptBlock]:
    """Return the items of a section that explain a side each, in the order of the sides.

    Their term is the side, or in the section of the block `beside` they begin with it. They are
    those of the first section that has one for each side; none where none has.
    """
    wanted = [tokens(side) for side in sides]
    found: defaultdict[tuple[int, int], dict[int, ExcerptBlock]] = defaultdict(dict)
    for block in blocks:
        is_near = beside is None or in_section(block, beside)
        if block.form not in ("list", *APART) or not all(wanted) or not is_near:
            continue
        of_section = found[block.passage, block.section]
        for term, item in list_items(block, passages[block.passage].text):
            for row, words in enumerate(wanted):
                is_told = row in of_section or item in of_section.values()
                if not is_told and words == (term if beside is None else term[: len(words)]):
                    of_section[row] = item
    for _, told in sorted(found.items(), key=lambda each: each[0]):
        if len(told) == len(wanted):
            return [told[row] for row in range(len(wanted))]
    return []


def _items_naming(
    sides: Sequence[str], blocks: Sequence[ExcerptBlock], passages: Sequence[Passage]
) -> list[ExcerptBlock]:
    """Return the items of a section of which each begins with a clause that names one side alone.

    *Package A recommends B if …* beside *Package A suggests B if …*: in the order of the sides,
    those of the first section with just one for each; none where none has.
    """
    wanted = [_plain_words(side) for side in sides]
    found: defaultdict[tuple[int, int], list[dict[str, ExcerptBlock]]] = defaultdict(
        lambda: [{} for _ in wanted]
    )
    for block in blocks if all(wanted) else ():
        if block.form in ("list", *APART):
            for _, item in list_items(block, passages[block.passage].text):
                begun = _plain_words(_CLAUSE.findall(item.text)[0])
                named = [row for row, each in enumerate(wanted) if each <= begun]
                if len(named) == 1:
                    found[block.passage, block.section][named[0]][item.text] = item
    for _, told in sorted(found.items(), key=lambda each: each[0]):
        if all(len(each) == 1 for each in told):
            return [item for each in told for item in each.values()]
    return []


def _items_quoting(
    sides: Sequence[str], blocks: Sequence[ExcerptBlock], passages: Sequence[Passage]
) -> list[ExcerptBlock]:
    """Return the items of a list that have the words of one side alone, in their order there.

    Sides of several words: *To upgrade all packages, run `apt upgrade`* beside *… `apt
    full-upgrade`*. None where no list has just one such item for each.
    """
    if any(len(side.split()) == 1 for side in sides):
        return []
    quoted = [re.compile(rf"(?<![\w-]){re.escape(side)}(?![\w-])", re.I) for side in sides]
    for block in blocks:
        if block.form != "list":
            continue
        told: list[list[ExcerptBlock]] = [[] for _ in sides]
        for _, item in list_items(block, passages[block.passage].text):
            named = [row for row, each in enumerate(quoted) if each.search(item.text)]
            if len(named) == 1:
                told[named[0]].append(item)
        if all(len(items) == 1 for items in told):
            return [item for (item,) in told]
    return []


def _plain_words(text: str) -> frozenset[str]:
    """Return the words of a text, of one that is joined by marks its parts (*non-free*)."""
    return frozenset(tokens(" ".join(re.findall(r"\w+", text))))


_CLAUSE = re.compile(r"[^:：,，.;；\n]{0,80}(?!\w)")
"""Beginning of an item, in which it names what it is about."""


def list_items(
    block: ExcerptBlock, source: str, *, least: int = LEAST_WORDS
) -> Iterator[tuple[list[str], ExcerptBlock]]:
    """Give the items of a list: the words of its term, and the item with what is below it.

    Those that say less than `least` words are left out. A paragraph that begins with a term is an
    item by itself.
    """
    if block.form == "titled":
        yield tokens(entry_term(block)), block
    lines = block.text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    marks = [_ITEM.match(line) for line in lines]
    depths = [len(mark[1]) if mark else None for mark in marks]
    if depths and depths[0] is not None:  # a block begins behind the spaces of its first line
        depths[0] = block.start - (source.rfind("\n", 0, block.start) + 1)
    for row, (mark, depth) in enumerate(zip(marks, depths, strict=True)):
        if mark is None or depth is None:
            continue
        below = range(row + 1, len(lines))
        last = next((each for each in below if (depths[each] or 0) <= depth and marks[each]), None)
        text = block.text[starts[row] : starts[len(lines) if last is None else last]]
        text = _BELOW.split(text, maxsplit=1)[0].rstrip()
        told = text.partition("\n")[2] or mark[2]
        term = _TERM.match(mark[2])
        if term is not None and count_words(told) >= least:
            start = block.start + starts[row]
            item = replace(block, form="entry", start=start, end=start + len(text), text=text)
            yield tokens(term[1]), item


def told_by_items(
    question: str,
    names: Sequence[str],
    blocks: Sequence[ExcerptBlock],
    passages: Sequence[Passage],
    read: Reader | None,
) -> list[Excerpt]:
    """Return the items of a list, or the sections, that explain the sides, read as one.

    Behind items comes the paragraph below them that speaks of all sides, where there is one.
    """
    items = items_of_sides(names, blocks, passages)
    for own in _own_words(names) if not items else ():
        items = items or items_of_sides(own, blocks, passages)
    items = items or _items_naming(names, blocks, passages)
    if not items and len(names[0].split()) == 1:  # the *contrib* and *non-free* areas
        items = _items_naming([name.split()[0] for name in names], blocks, passages)
    items = items or _items_quoting(names, blocks, passages)
    sections = [] if items else _sections_of_sides(names, blocks)
    items = items or sections
    if not items:
        return []
    logit = None
    if read is not None:
        text = "\n".join(item.text for item in items)
        logit = float(read(question, [f"{read_heading(items[0], passages)}\n{text}"])[0])
    told = [Best(block=item, score=logit or 0.0, logit=logit) for item in items]
    if not sections:
        end = max(item.end for item in items)
        below = (each for each in blocks if in_section(each, items[0]) and each.start >= end)
        said = [each for each in below if each.form == "prose" and _names_all(each, names)]
        told += [replace(told[0], block=each) for each in said[:1]]
        return [short_excerpt(one, passages[one.block.passage]) for one in told]
    return [
        extended(one, passages[one.block.passage], None, whole=WINDOW_WORDS, longest=WINDOW_WORDS)
        for one in told
    ]


def _own_words(names: Sequence[str]) -> Iterator[list[str]]:
    """Give what each of several names has for itself: *upgrade* and *dist-upgrade* of apt-get.

    Their last words, and the beginnings of Chinese ones that end alike: 推挤模式 and 绕走模式.
    """
    last = [name.split()[-1] for name in names]
    if len({*last}) == len(names):
        yield last
    ends = zip(*(reversed(name) for name in names), strict=False)
    alike = len(list(takewhile(lambda each: len({*each}) == 1, ends)))
    if alike and all(len(name) - alike >= LEAST_OWN and is_chinese(name) for name in names):
        yield [name[:-alike] for name in names]


LEAST_OWN = 2
"""Characters that names which end alike have before that, at least."""


def _sections_of_sides(sides: Sequence[str], blocks: Sequence[ExcerptBlock]) -> list[ExcerptBlock]:
    """Return the first block of the section on each side; none without all.

    Their headings are the sides, or differ in them alone: *The contrib area*, *The main area*.
    """
    words = [frozenset(tokens(side)) for side in sides]
    shared = frozenset.intersection(*words)  # *symbols files* and *shlibs files*
    own = [each - shared or each for each in words]
    found: list[dict[frozenset[str], ExcerptBlock]] = [{} for _ in sides]
    for block in blocks:
        head = frozenset(tokens(bare_heading(block.heading)))
        named = [row for row, each in enumerate(own) if each <= head]
        if block.place == 0 and block.form == "prose" and len(named) == 1:
            found[named[0]].setdefault(head - own[named[0]] - shared, block)
    alike = frozenset.intersection(*map(frozenset, found))
    rest = min(alike, key=lambda each: (len(each), sorted(each)), default=None)
    return [] if rest is None or len(rest) > BESIDE_SIDE else [each[rest] for each in found]


BESIDE_SIDE = 4
"""Words beside a side in the heading of a section on it, at most."""


def is_of_all(block: ExcerptBlock, sides: Sequence[str]) -> bool:
    """Check for a block about all sides, which does not name one of them below a heading of all."""
    said = set(tokens(block.text))
    named = sum(set(tokens(side)) <= said for side in sides)
    return named in {0, len(sides)} and all(names_side(block, side) for side in sides)


def _names_all(block: ExcerptBlock, sides: Sequence[str]) -> bool:
    said = set(tokens(block.text))
    return all(set(tokens(side)) <= said for side in sides)


def names_side(block: ExcerptBlock, side: str) -> bool:
    """Check for a block that names a side of a comparison, or stands below its heading."""
    words = set(tokens(side))
    return words <= set(tokens(f"{block.heading} {block.text}"))
