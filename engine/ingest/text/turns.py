"""Timed speech as a transcript with speakers and times.

Captions that roll or grow say the same words several times; here they are said once. Pure; knows
neither subtitle formats nor sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

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


def transcript(cues: Iterable[Cue]) -> str:
    """Return cue paragraphs: `[00:01:02] Speaker: words`.

    A paragraph ends where the speaker changes, after a pause, or at a sentence's end once it is
    long. Cues in any order give the same text, if no two of them begin and end together.
    """
    ordered = sorted(cues, key=lambda cue: (cue.start, cue.end))
    return "\n\n".join(_written(turn) for turn in _turns(_said_once(ordered)))


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


def _turns(cues: Iterable[Cue]) -> Iterator[_Turn]:
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
