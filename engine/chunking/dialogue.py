"""Chunking by entry, by speaker turn, and by question and answer.

In a glossary neighbouring entries have nothing to do with each other, so each is a chunk of its
own. In meetings, interviews, chats, plays and subtitles nobody's words are parted from who said
them. In a FAQ (`Q:`, an asking heading, a bold or numbered question) a question stays with its
answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Literal

from graph.text.cjk import CJK, HAN

from .merging import Limits, Unit, line_spans, merge_short, pack_units, split_at
from .span_parser import ContextSource, Measure, Span, SpanNodeParser
from .structure import Block, Section, atx_heading, sections, stripped_spans

_CLOCK = r"\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[-/.年]\d{1,2}(?:[-/.月]\d{1,4}日?)?"
_STAMP = rf"(?:{_DATE},?[ T]+)?{_CLOCK}"
_SPEAKER_WORD = r"(?:[^\W\d_a-z][\w.'’&-]*|\d{1,3}|de|van|von|der|del|la|du|of|the)"
_LATIN = rf"[^\W\d_a-z][\w.'’&-]*(?:[ \t]{_SPEAKER_WORD}){{0,4}}(?:[ \t]?\([^()\n]{{1,30}}\))?"
_CJK = (
    rf"[{CJK}·•]{{1,8}}[A-Za-z\d]{{0,3}}"
    r"(?:[（(][^（）()\n]{1,15}[）)])?"
)
_SPEAKER_NAME = rf"(?:{_CJK}|{_LATIN})"
_TURNS = (
    # [00:01] Name: …, [12/03/2021, 10:15:02] Name: …, [10:15] <nick> …, or a time alone
    rf"[ \t]*(?:>[ \t]*)?[\[(]{_STAMP}[\])][ \t]*(?:[-–—][ \t]*)?"
    rf"(?:<(?P<nick>[^<>\s]{{1,30}})>|\*{{0,2}}(?P<stamped>{_SPEAKER_NAME})\*{{0,2}}[:：]\*{{0,2}})?",
    # 12/03/2021, 10:15 - Name: …, 10:15 <nick> …
    rf"{_STAMP}[ \t]+(?:[-–—][ \t]+)?"
    rf"(?:<(?P<nick2>[^<>\s]{{1,30}})>|(?P<stamped2>{_SPEAKER_NAME})[:：])",
    r"<(?P<nick3>[^<>\s/!?][^<>\s]{0,29})>(?=[ \t]+\S)",
    rf"\*\*(?P<bold>{_SPEAKER_NAME})(?:[:：]\*\*|\*\*[ \t]?[:：])",
    rf"(?P<plain>{_SPEAKER_NAME})[ \t]?(?::(?=[ \t]|$)|：)",
    # Name 00:01:02, the words on the next line
    rf"(?P<before>{_SPEAKER_NAME})[ \t]+[\[(]?{_STAMP}[\])]?[ \t]*$",
)
_TURN = re.compile("|".join(f"(?:{pattern})" for pattern in _TURNS))
_FIELD_NAMES = """
    from to cc bcc date subject title author authors abstract note notes warning example source
    sources tags keywords summary re sent reply-to time place location present apologies attendees
    attending chair agenda figure table version status phone tel fax email e-mail address url doi
    isbn issn name type id category price total info debug error warn fatal trace critical notice
    input output returns args raises parameters see copyright licence license published updated
    important tip caution todo fixme answer question q a p.s ps nb result results conclusion
    conclusions background methods objective objectives purpose setting design
    时间 地点 日期 主题 标题 作者 摘要 关键词 注 备注 说明 来源 出处 附件 电话 地址 邮箱
    主持 记录 出席 参加 发件人 收件人 抄送 价格 名称 类型 编号 问 答 例 如下 例如
    结论 目的 方法 背景 结果 图 表 中方 外方
"""
_FIELDS = frozenset(_FIELD_NAMES.split())
"""Field labels before a colon that are not speakers."""
_ENDS_A_SENTENCE = re.compile(r"[.?!。？！…—-][\"'”’」』）)\]}*_ ]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Turn beginning at `start`.

    Its words begin at `said`. `speaker` is empty if only a time is given.
    """

    start: int
    said: int
    speaker: str
    stamped: bool


def speaker_turns(text: str, start: int, end: int) -> list[Turn]:
    """Find the speaker turns that begin in `text[start:end]`, in order."""
    found: list[Turn] = []
    for first, last in line_spans(text, start, end):
        match = _TURN.match(text, first, min(last, first + 200))
        if match is None:
            continue
        groups = {key: value for key, value in match.groupdict().items() if value}
        speaker = next(iter(groups.values()), "").strip()
        if speaker.lower() in _FIELDS:
            continue
        begin = first + len(match.group()) - len(match.group().lstrip())
        stamped = not ("plain" in groups or "bold" in groups or "nick3" in groups)
        found.append(Turn(start=begin, said=match.end(), speaker=speaker, stamped=stamped))
    return found


def ends_like_speech(text: str, turn: Turn) -> bool:
    """Check whether a turn's first line ends like a sentence."""
    line = next((text[first:last] for first, last in line_spans(text, turn.said, len(text))), "")
    return _ENDS_A_SENTENCE.search(line[-20:].rstrip()) is not None


class TranscriptNodeParser(SpanNodeParser):
    """Node parser of whole turns up to `size_tokens`.

    Overlapping by turns up to `overlap_tokens`.

    A turn that does not fit is cut at its sentences into chunks that hold nothing else, and its
    later pieces have the speaker for their context. Headings of Markdown begin a new chunk; what
    stands before the first turn is a unit of its own.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other, turn by turn."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=True) if markdown else [Section(path=(), blocks=())]
        return [
            span
            for section, (start, end) in zip(found, _bounds(text, found), strict=True)
            for span in pack_units(text, _units(text, start, end, section=section), limits)
        ]


def _bounds(text: str, found: list[Section]) -> list[tuple[int, int]]:
    starts = [0, *(section.blocks[0].start for section in found[1:])]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if found else []


def _units(text: str, start: int, end: int, *, section: Section) -> list[Unit]:
    begun = {turn.start: turn.speaker for turn in speaker_turns(text, start, end)}
    starts = list(begun)
    first_turn = starts[0] if starts else end
    if starts and not text[_headings_end(section, start) : first_turn].strip():
        starts = starts[1:]  # the first turn's unit begins with the headings above it
        begun[start] = begun[first_turn]
    result: list[Unit] = []
    for first, last in split_at(text, start, end, starts):
        speaker = merge_short(begun.get(start if first < first_turn else first, ""))
        carried = f"{speaker}:" if speaker else ""
        result.append(Unit(start=first, end=last, path=section.path, carried=carried))
    return result


def _headings_end(section: Section, start: int) -> int:
    """Return the end of a section's leading headings; `start` without any."""
    end = start
    for block in section.blocks:
        if block.kind != "heading":
            break
        end = block.end
    return end


Style = Literal["label", "heading", "bold", "number"]

_LEAD = r"[ \t]*(?:[-*+>][ \t]+)?(?:\*\*|__)?"
_LABEL = re.compile(
    _LEAD
    + r"(?:Q(?:uestion)?[ \t]?\d{0,3}|问(?:题)?[ \t]?[\d一二三四五六七八九十]{0,3}|Pregunta|Frage)"
    r"[ \t]*(?:[:：]|[.)、](?=[ \t]|\D))",
    re.I,
)
_ANSWER = re.compile(
    _LEAD + r"(?:A(?:nswer)?|答(?:案)?|Respuesta|Antwort)[ \t]?\d{0,3}[ \t]*[:：.]", re.I
)
_BOLD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)、][ \t]*)?(?:\*\*|__)(.+[?？])(?:\*\*|__)[ \t]*$"
)
_NUMBER = re.compile(r"[ \t]*(?:\d{1,3}[.)、．]|[（(]\d{1,3}[）)])[ \t]*\S.*[?？][ \t]*$")
_ASKS = re.compile(r"[?？][\"'”’」』）)\]*_ ]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question begins at `start`; `asked` is its first line without marks."""

    start: int
    asked: str
    style: Style


def faq_questions(text: str, found: Sequence[Section]) -> list[Question]:
    """Find the FAQ's questions of the most frequent style, in order; `found` are the sections."""
    by_style: dict[Style, list[Question]] = {
        "label": [],
        "heading": _asking_headings(found),
        "bold": [],
        "number": [],
    }
    for first, last in line_spans(text, 0, len(text)):
        line = text[first : min(last, first + 400)]
        style = _style_of(line)
        if style is not None:
            begin = first + len(line) - len(line.lstrip())
            by_style[style].append(Question(start=begin, asked=line.strip(" \t*_-+>"), style=style))
    return max(by_style.values(), key=len)


def count_faq_answers(text: str) -> int:
    """Count the lines of a FAQ that begin with an answer mark (`A:`, 答：)."""
    return sum(
        _ANSWER.match(text, first, last) is not None
        for first, last in line_spans(text, 0, len(text))
    )


def _asking_headings(found: Sequence[Section]) -> list[Question]:
    return [
        Question(start=block.start, asked=block.heading.text, style="heading")
        for section in found
        for block in section.blocks
        if block.heading is not None and _ASKS.search(block.heading.text)
    ]


def _style_of(line: str) -> Style | None:
    if not line.strip() or atx_heading(line) is not None:
        return None
    if _LABEL.match(line):
        return "label"
    if _BOLD.match(line):
        return "bold"
    return "number" if _NUMBER.match(line) else None


class FaqNodeParser(SpanNodeParser):
    """Node parser of question–answer pairs, one for each chunk.

    A long answer is split with its question as context.

    A pair ends where the next begins or a heading that is not below its own. Headings without text
    stand with the first question under them; what is no pair is gathered.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Pair by pair, and what lies between them."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        return pack_units(text, qa_pairs(text, markdown=markdown), limits)


def qa_pairs(text: str, *, markdown: bool) -> list[Unit]:
    """Split a text into units: pairs stand alone, other text does not."""
    found = sections(text, markdown=markdown)
    asked = {question.start: question for question in faq_questions(text, found)}
    starts = sorted({*asked, *_closing_headings(found, asked)})
    starts = _without_bare_headings(text, starts, found)
    paths = {block.start: section.path for section in found for block in section.blocks}
    result: list[Unit] = []
    path: tuple[str, ...] = ()
    inside = sorted({*asked})
    at = 0
    for start, end in split_at(text, 0, len(text), starts):
        path = paths.get(start, path)
        question = None
        while at < len(inside) and inside[at] < end:
            question = question or asked[inside[at]]
            path = paths.get(inside[at], path)
            at += 1
        carried = merge_short(question.asked) if question else ""
        unit = Unit(start=start, end=end, path=path, carried=carried, alone=question is not None)
        result.append(unit)
    return result


def _closing_headings(found: Sequence[Section], asked: dict[int, Question]) -> list[int]:
    """Headings that end a pair: all that are not below the heading that asks."""
    level = 0
    closing: list[int] = []
    for block in _headings(found):
        depth = block.heading.level if block.heading else 0
        if block.start in asked:
            level = depth
        elif depth <= level or level == 0:
            level = 0
            closing.append(block.start)
    return closing


def _headings(found: Sequence[Section]) -> list[Block]:
    return [block for block in chain(*(each.blocks for each in found)) if block.heading]


def _without_bare_headings(text: str, starts: list[int], found: Sequence[Section]) -> list[int]:
    """Drop starts that have only headings since the previous start."""
    ends = {block.start: block.end for block in _headings(found)}
    kept: list[int] = []
    bare_until: int | None = None
    for start in starts:
        stands_under = bare_until is not None and not text[bare_until:start].strip()
        if not stands_under:
            kept.append(start)
        bare_until = ends.get(start)
    return kept


MIN_ENTRIES = 6
OPENING_SHARE = 1 / 3
"""Minimum share of paragraphs that open with a name and define it."""
COHESION = 0.05
"""Maximum cohesion of an entry text.

Extra word overlap of neighbours over distant paragraphs.
"""
_SEEN_CHARACTERS = 200_000
_SHORT = 40
"""Characters below which a paragraph without a name joins the previous one."""
_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_CAPITAL = r"[A-Z\u00c0-\u00de\d][^\W_]*(?:['’.&-][^\W_]+)*\.?"
_NAME = re.compile(
    r"[\"“‘'(]?(?:The |An? )?[\"“‘']?"
    rf"({_CAPITAL}(?:,? (?:(?:of|the|de|la|von|van|and|del|der|di|in|for|&) )*{_CAPITAL}){{0,7}})"
    r"[\"”’']?(?=\s*(?:[(（,，]|[^.:;\n(]{0,30}?\b(?:is|was|are|were|refers)\b))"
    rf"|([{HAN}·]{{2,12}}?)(?:是|（|\()"
)
_NO_NAME = re.compile(
    r"(?:In|On|At|It|He|She|They|We|You|This|That|These|Those|There|Here|As|When|While|After|Before"
    r"|During|For|From|By|With|However|Although|His|Her|Its|Their|If|But|And|Most|Many|Some)\b"
)
_WORD = re.compile(rf"[^\W\d_{HAN}]{{4,}}|[{HAN}]{{2}}")
_COMMON_SHARE = 0.2


class GlossaryNodeParser(SpanNodeParser):
    """Node parser with a chunk for each entry.

    `read` is the run of entries that fits `size_tokens`.

    An entry that does not fit is cut at its sentences, without overlap.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Entry by entry, in order."""
        text = subject.text
        measure = Measure(text, self.tokeniser)
        units = [Unit(start=start, end=end, alone=True) for start, end in glossary_entries(text)]
        limits = Limits(measure=measure, size_tokens=self.size_tokens)
        return _with_readings(pack_units(text, units, limits), measure, self.size_tokens)


def looks_like_entries(text: str, *, markdown: bool = False) -> bool:
    """Detect an entry text: many paragraphs, a third opening with names, low cohesion."""
    seen = text[:_SEEN_CHARACTERS]
    found = [seen[start:end] for start, end in glossary_entries(seen)]
    if len(found) < MIN_ENTRIES or len(sections(seen, markdown=markdown)) > 2:
        return False
    names = {entry_name(entry) for entry in found} - {""}
    return len(names) >= OPENING_SHARE * len(found) and _cohesion(found) <= COHESION


def glossary_entries(text: str) -> list[tuple[int, int]]:
    """Split a text into paragraph spans; short ones without a name join the previous."""
    cuts = [match.end() for match in _BLANK.finditer(text)]
    joined: list[tuple[int, int]] = []
    for start, end in stripped_spans(text, 0, len(text), cuts):
        if joined and end - start < _SHORT and not entry_name(text[start:end]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def entry_name(entry: str) -> str:
    """Return the name that a glossary entry defines at its beginning, or ""."""
    match = _NAME.match(entry)
    name = (match[1] or match[2]) if match else ""
    return "" if not name or _NO_NAME.match(name) else name


def _cohesion(found: Sequence[str]) -> float:
    """Return the extra word overlap of neighbours over paragraphs half a text apart, −1–1.

    Words that a fifth of the paragraphs have tell nothing.
    """
    words = [frozenset(_WORD.findall(entry.casefold())) for entry in found]
    counts = Counter(word for some in words for word in some)
    common = {word for word, n in counts.items() if n > max(2, _COMMON_SHARE * len(found))}
    told = [some - common for some in words]
    half = len(told) // 2
    near = [_shared(one, other) for one, other in pairwise(told)]
    far = [_shared(told[place], told[place - half]) for place in range(len(told))]
    return sum(near) / len(near) - sum(far) / len(far)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _with_readings(spans: Sequence[Span], measure: Measure, size_tokens: int) -> list[Span]:
    runs: list[list[Span]] = []
    for span in spans:
        if runs and measure.tokens(runs[-1][0].start, span.end) <= size_tokens:
            runs[-1].append(span)
        else:
            runs.append([span])
    return [
        replace(span, read=(run[0].start, run[-1].end)) if len(run) > 1 else span
        for run in runs
        for span in run
    ]
