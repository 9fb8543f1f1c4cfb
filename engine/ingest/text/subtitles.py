"""Subtitles (SubRip, WebVTT, SubStation Alpha) as transcripts.

Read as leniently as players do: a missing number, empty line or hour is no reason to lose speech.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ...errors import SourceError
from ..content import Content, one_line
from .plain import decode
from .turns import Cue, transcript

_TIME = r"(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[,.](\d{1,3}))?"
_TIMING = re.compile(rf"^[ \t]*{_TIME}[ \t]*-{{1,2}}>[ \t]*{_TIME}[^\n]*$", re.M)
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,100})?\s{1,9}([^<>\n]{0,200})>", re.I)
_TAG = re.compile(r"</?[A-Za-z][^>\n]{0,200}>|<[\d:.]+>|\{\\[^}\n]{0,500}\}")
_BLOCK_OF_NO_SPEECH = re.compile(r"^(?:NOTE|STYLE|REGION)\b")
_NOTHING_SEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
_ASS_DIALOGUE = re.compile(r"^Dialogue:[ \t]*(.*)$", re.M)
_ASS_FORMAT = re.compile(r"^Format:[ \t]*(.*)$", re.M | re.I)
_ASS_FIELDS = ("layer", "start", "end", "style", "name", *["margin"] * 3, "effect", "text")
_ASS_TITLE = re.compile(r"^Title:[ \t]*(\S.*)$", re.M)
_ASS_OVERRIDE = re.compile(r"\{[^}\n]*+(\}?)")
_ASS_DRAWING = re.compile(r"\{(?:[^{}\n\\]++|\\(?!p[1-9]))*+\\p[1-9][^{}\n]*+\}[^{\n]*")
_ASS_NO_TITLES = frozenset({"untitled", "default aegisub file"})


def read_subtitles(data: bytes) -> Content:
    """Read SubRip or WebVTT as a transcript (`turns.transcript`).

    Raises:
        SourceError: no text, or no cue in it.
    """
    text = _unix(decode(data))
    title = None
    first = text.split("\n", 1)[0]
    if first.startswith("WEBVTT"):
        title = one_line(first[len("WEBVTT") :].strip(" \t-–:")) or None
    return _content(list(timed_cues(text)), title=title)


def read_substation(data: bytes) -> Content:
    """Read SubStation Alpha like `read_subtitles`, without comments and drawings."""
    text = _unix(decode(data))
    found = _ASS_TITLE.search(text)
    title = one_line(found.group(1)) if found else None
    if title and title.casefold() in _ASS_NO_TITLES:
        title = None
    return _content(list(dialogue_cues(text)), title=title)


def _content(cues: list[Cue], *, title: str | None) -> Content:
    said = transcript(cues)
    if not said:
        raise SourceError("holds no subtitle that could be read: is it another kind of file?")
    return Content(text=said, title=title, shape="transcript")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


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


def dialogue_cues(text: str) -> Iterator[Cue]:
    """Return SubStation Alpha dialogue in order."""
    found = _ASS_FORMAT.search(text, max(0, text.lower().find("[events]")))
    named = tuple(name.strip().lower() for name in found.group(1).split(",")) if found else ()
    fields = named if {"start", "end", "text"} <= set(named) else _ASS_FIELDS
    for line in _ASS_DIALOGUE.finditer(text):
        values = line.group(1).split(",", len(fields) - 1)
        if len(values) < len(fields):
            continue  # cut off before its text begins
        event: dict[str, str] = dict(zip(fields, values, strict=True))
        start, end = (re.fullmatch(_TIME, event[key].strip()) for key in ("start", "end"))
        if start is None or end is None:
            continue
        said = _ASS_OVERRIDE.sub(_unclosed, _ASS_DRAWING.sub("", event["text"]))
        said = said.replace("\\N", "\n").replace("\\n", " ").replace("\\h", " ")
        begins = _ass_seconds(start)
        yield Cue(
            start=begins,
            end=max(begins, _ass_seconds(end)),
            text=_plain(said),
            speaker=one_line(event.get("name") or event.get("actor") or ""),
        )


def _unclosed(override: re.Match[str]) -> str:
    """Nothing, but for a brace that no other one closes: that is text."""
    return "" if override.group(1) else override.group()


def _ass_seconds(time: re.Match[str]) -> float:
    """Hundredths where SubRip has thousandths; the same reading fits both."""
    return _seconds(time.groups())
