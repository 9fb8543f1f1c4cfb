"""Transcripts: subtitles (SubRip, WebVTT), timed speech, and dialogues in data.

Turns are paragraphs `Speaker: what was said`; pairs are a heading with the answer under it.
Captions that roll or grow say the same words several times; here they are written once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from ...errors import SourceError
from ..document import Content, one_line
from .markdown_writer import paragraphs, record_block
from .text import decode_bytes

_TOUCHING_SECONDS = 0.2
_PAUSE_SECONDS = 4.0
_FULL_PARAGRAPH = 400
_LONGEST_PARAGRAPH = 900
_SENTENCE_END = re.compile(r"[.!?…。！？♪][\"'”’」』)\]]*$")
_NAMED = re.compile(
    r"^(?:[A-Z][\w.'’-]*(?: [A-Z0-9][\w.'’-]*){0,3}(?: \([^)]{1,20}\))?:\s"
    r"|[\u4e00-\u9fff·]{1,8}(?:（[^）]{1,10}）)?[：:])"
)
_WIDE = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """Cue between two times in seconds; `speaker` may be empty."""

    start: float
    end: float
    text: str
    speaker: str = ""


@dataclass(slots=True)
class _Turn:
    start: float
    end: float
    speaker: str
    pieces: list[str] = field(default_factory=list)
    size: int = 0


def transcript_paragraphs(cues: Iterable[Cue]) -> str:
    """Return the cues of timed speech as paragraphs: `[00:01:02] Speaker: words`.

    A paragraph ends where the speaker changes, after a pause, or at a sentence's end once it is
    long. Cues in any order give the same text, if no two of them begin and end together.
    """
    ordered = sorted(cues, key=lambda cue: (cue.start, cue.end))
    return "\n\n".join(_written(turn) for turn in _spoken_turns(_said_once(ordered)))


def _said_once(cues: list[Cue]) -> Iterator[Cue]:
    """Without the lines that are still on the screen from the cue before."""
    shown: list[str] = []
    before: Cue | None = None
    for cue in cues:
        lines = [line for line in map(str.strip, cue.text.split("\n")) if line]
        if not lines:
            continue
        touching = before is not None and cue.start <= before.end + _TOUCHING_SECONDS
        same_speaker = before is not None and cue.speaker in ("", before.speaker)
        new = lines
        if touching and same_speaker and before is not None:
            new = _new_lines(shown, lines)
        before, shown = cue, lines
        if new:
            yield replace(cue, text="\n".join(new))


def _new_lines(shown: list[str], lines: list[str]) -> list[str]:
    for kept in range(min(len(shown), len(lines)), 0, -1):
        if shown[-kept:] == lines[:kept]:
            return lines[kept:]
    last, first = shown[-1], lines[0]
    if first.startswith(f"{last} "):  # a line that grows as it is spoken
        return [first[len(last) :].strip(), *lines[1:]]
    return lines


def _spoken_turns(cues: Iterable[Cue]) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for cue in cues:
        for text in _utterances(cue.text):
            if turn is None or _begins(turn, cue, text):
                if turn is not None:
                    yield turn
                turn = _Turn(start=cue.start, end=cue.end, speaker=cue.speaker)
            turn.pieces.append(text)
            turn.size += len(text)
            turn.end = max(turn.end, cue.end)
    if turn is not None:
        yield turn


def _begins(turn: _Turn, cue: Cue, text: str) -> bool:
    if cue.speaker != turn.speaker or _NAMED.match(text):
        return True
    ended = _SENTENCE_END.search(turn.pieces[-1]) is not None
    paused = cue.start - turn.end > _PAUSE_SECONDS
    full = turn.size >= _FULL_PARAGRAPH and ended
    return paused or full or turn.size >= _LONGEST_PARAGRAPH


def _utterances(text: str) -> Iterator[str]:
    """Join a cue's lines, except those a dash, `>>` or name assigns to another speaker."""
    said = ""
    for line in text.split("\n"):
        if said and (line.startswith((">>", "- ", "– ", "—")) or _NAMED.match(line)):
            yield said
            said = ""
        said = _joined(said, line.removeprefix(">>").strip())
    if said:
        yield said


def _joined(said: str, line: str) -> str:
    """With a space between, but after a Chinese or Japanese mark that ends a clause."""
    if not said or not line:
        return said or line
    closed = _WIDE.match(line) and said[-1] in "，。！？；：、…」』）》"
    return f"{said}{line}" if closed else f"{said} {line}"


def _written(turn: _Turn) -> str:
    said = ""
    for piece in turn.pieces:
        said = _joined(said, piece)
    seconds = int(turn.start)
    mark = f"[{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}]"
    return f"{mark} {turn.speaker}: {said}" if turn.speaker else f"{mark} {said}"


_TIME = r"(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[,.](\d{1,3}))?"
_TIMING = re.compile(rf"^[ \t]*{_TIME}[ \t]*-{{1,2}}>[ \t]*{_TIME}[^\n]*$", re.M)
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,100})?\s{1,9}([^<>\n]{0,200})>", re.I)
_TAG = re.compile(r"</?[A-Za-z][^>\n]{0,200}>|<[\d:.]+>|\{\\[^}\n]{0,500}\}")
_BLOCK_OF_NO_SPEECH = re.compile(r"^(?:NOTE|STYLE|REGION)\b")
_NOTHING_SEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")


def read_subtitles(data: bytes) -> Content:
    """Read SubRip or WebVTT as a transcript (`turns.transcript`).

    Raises:
        SourceError: no text, or no cue in it.
    """
    text = decode_bytes(data)
    title = None
    first = text.split("\n", 1)[0]
    if first.startswith("WEBVTT"):
        title = one_line(first[len("WEBVTT") :].strip(" \t-–:")) or None
    return _content(list(timed_cues(text)), title=title)


def _content(cues: list[Cue], *, title: str | None) -> Content:
    said = transcript_paragraphs(cues)
    if not said:
        raise SourceError("contains no readable subtitle: check its format")
    return Content(text=said, title=title, shape="transcript")


def timed_cues(text: str) -> Iterator[Cue]:
    """Return cues of SubRip or WebVTT in order."""
    timings = list(_TIMING.finditer(text))
    ends = [timing.start() for timing in timings[1:]] + [len(text)]
    for timing, end in zip(timings, ends, strict=False):
        lines = _speech(text[timing.end() : end], last=end == len(text))
        start, stop = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])
        yield from _voices(lines, start=start, end=max(start, stop))


def _speech(body: str, *, last: bool) -> str:
    """Return a cue's lines without the next cue's label and non-speech."""
    blocks = [block.strip("\n") for block in re.split(r"\n[ \t]*\n", body.removeprefix("\n"))]
    if not last:
        *before, final = blocks
        kept, _, heading = final.rpartition("\n")
        is_heading = (len(blocks) > 1 and "\n" not in final) or heading.strip().isdecimal()
        blocks = [*before, kept if is_heading else final]
    return "\n".join(block for block in blocks if block and not _BLOCK_OF_NO_SPEECH.match(block))


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def _voices(text: str, *, start: float, end: float) -> Iterator[Cue]:
    """One cue for each voice that a cue of WebVTT names."""
    speaker = ""
    at = 0
    for voice in _VOICE.finditer(text):
        yield Cue(start=start, end=end, text=_plain(text[at : voice.start()]), speaker=speaker)
        speaker, at = one_line(html.unescape(voice.group(1))), voice.end()
    yield Cue(start=start, end=end, text=_plain(text[at:]), speaker=speaker)


def _plain(text: str) -> str:
    said = html.unescape(_TAG.sub("", text)).replace("\xa0", " ")
    lines = (
        one_line(line, limit=len(line) + 1) for line in _NOTHING_SEEN.sub("", said).split("\n")
    )
    return "\n".join(line for line in lines if line)


_SPEAKERS = (
    "role",
    "speaker",
    "from",
    "sender",
    "author",
    "user",
    "username",
    "name",
    "说话人",
    "发言人",
    "发送者",
    "角色",
)
_WORDS = (
    "content",
    "text",
    "value",
    "message",
    "body",
    "utterance",
    "parts",
    "内容",
    "文本",
    "消息",
)
_TIMES = ("timestamp", "time", "date", "created_at", "start", "时间")
_TITLES = ("title", "headline", "标题")
_LISTS = (
    "messages",
    "conversations",
    "conversation",
    "turns",
    "dialogue",
    "dialog",
    "transcript",
    "chat",
    "utterances",
    "meeting_transcripts",
    "segments",
    "对话",
    "消息",
)
_QUESTIONS = ("question", "q", "query", "问题", "问", "提问")
_ANSWERS = ("answer", "a", "answers", "response", "accepted_answer", "答案", "答", "回答", "解答")
_SHARE = 0.9
_STAMP = re.compile(r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}:\d\d(?::\d\d)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Speaker turn; `time` is date and time, or empty."""

    speaker: str
    text: str
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns in order."""

    turns: tuple[Turn, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question, its answer, and what else its record says."""

    question: str
    answer: str
    others: tuple[tuple[str, str], ...] = ()


def find_conversations(value: object) -> list[Conversation]:
    """Return the conversations found in parsed JSON data.

    A list of turns, an object holding one, or a list of those. Empty otherwise.
    """
    talk = _conversation(value)
    if talk is not None:
        return [talk]
    if not _is_list(value) or not value:
        return []
    talks = [_conversation(item) for item in value if isinstance(item, Mapping)]
    found = [talk for talk in talks if talk is not None]
    return found if len(found) == len(value) else []


def turn_blocks(talk: Conversation) -> Iterator[str]:
    """Return a Markdown paragraph for each speaker turn of a dialogue, under the title."""
    if talk.title:
        yield f"# {talk.title}"
    for turn in talk.turns:
        words = "\n".join(line.rstrip() for line in turn.text.splitlines() if line.strip())
        yield f"[{turn.time}] {turn.speaker}: {words}" if turn.time else f"{turn.speaker}: {words}"


def questions_of(value: Sequence[object]) -> list[Pair] | None:
    """Return question–answer pairs if every item is one, else None."""
    pairs = [_pair(item) for item in value]
    found = [pair for pair in pairs if pair is not None]
    return found if found and len(found) == len(value) else None


def question_blocks(pair: Pair, *, level: int) -> Iterator[str]:
    """Return the question as heading, the answer, then other fields."""
    yield f"{'#' * min(level, 6)} {one_line(pair.question, limit=300)}"
    if len(pair.question) > 300:
        yield paragraphs(pair.question)
    yield paragraphs(pair.answer)
    rest = record_block(pair.others)
    if rest:
        yield rest


def _conversation(value: object) -> Conversation | None:
    if isinstance(value, Mapping):
        title = next((value[key] for key in _TITLES if isinstance(value.get(key), str)), "")
        held = (_turns(value[key]) for key in _LISTS if _is_list(value.get(key)))
        turns = next(filter(None, held), None) or _exported(value.get("mapping"))
        return None if turns is None else Conversation(turns=turns, title=one_line(title))
    turns = _turns(value) if _is_list(value) else None
    return None if turns is None else Conversation(turns=turns)


def _turns(value: object) -> tuple[Turn, ...] | None:
    if not _is_list(value) or len(value) < 2:
        return None
    turns = [turn for turn in map(_turn, value) if turn is not None]
    enough = len(turns) >= 2 and len(turns) >= _SHARE * len(value)
    return tuple(turn for turn in turns if turn.text) if enough else None


def _turn(item: object) -> Turn | None:
    if not isinstance(item, Mapping) or any(item.get(key) for key in _TITLES):
        return None
    speaker = next((name for key in _SPEAKERS if (name := _name(item.get(key)))), "")
    words = next((item[key] for key in _WORDS if item.get(key) is not None), None)
    text = _said(words)
    if not speaker or text is None:
        return None
    time = next((item[key] for key in _TIMES if isinstance(item.get(key), str)), "")
    return Turn(
        speaker=one_line(speaker[:1].upper() + speaker[1:], limit=80),
        text=text.strip(),
        time=_stamp(time),
    )


def _stamp(time: str) -> str:
    """Return date and time where given; counted seconds are dropped."""
    found = _STAMP.match(time)
    return " ".join(filter(None, found.groups())) if found else ""


def _name(value: object) -> str:
    """Return a speaker's name, as text or from an object."""
    if isinstance(value, Mapping):
        return next(
            (
                name
                for key in ("name", "role", "username", "display_name")
                if isinstance(name := value.get(key), str)
            ),
            "",
        )
    return value.strip() if isinstance(value, str) and len(value) <= 100 else ""


def _said(value: object) -> str | None:
    """Return a turn's words from text or parts; None without any."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _said(value.get("parts") or value.get("text") or value.get("content"))
    if not _is_list(value):
        return None
    parts = [
        part if isinstance(part, str) else part.get("text", "")
        for part in value
        if isinstance(part, str | Mapping)
    ]
    return "".join(part for part in parts if isinstance(part, str))


def _exported(mapping: object) -> tuple[Turn, ...] | None:
    """Return a conversation stored as a message tree, in stored order."""
    if not isinstance(mapping, Mapping):
        return None
    messages = [node.get("message") for node in mapping.values() if isinstance(node, Mapping)]
    turns = [_turn(message) for message in messages if isinstance(message, Mapping)]
    found = tuple(turn for turn in turns if turn is not None and turn.text)
    return found or None


def _pair(item: object) -> Pair | None:
    if not isinstance(item, Mapping):
        return None
    names = {str(key).lower(): key for key in item}
    question = next((names[key] for key in _QUESTIONS if key in names), None)
    answer = next((names[key] for key in _ANSWERS if key in names), None)
    if question is None or answer is None or not isinstance(item[question], str):
        return None
    text = _said(item[answer])
    if text is None or not item[question].strip():
        return None
    others = tuple(
        (str(key), value)
        for key, value in item.items()
        if key not in (question, answer) and isinstance(value, str)
    )
    return Pair(question=item[question].strip(), answer=text.strip(), others=others)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
