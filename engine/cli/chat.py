"""`loregraph chat`: a conversation in the terminal, and conversations kept in files.

A conversation file is JSON, a list of `{"question": …, "answer": …}`, oldest first: `/save` writes
one, `chat --history` and `ask --history` go on from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import EngineError, SourceError
from ..types import Answer, Turn
from .session import (
    DEFAULT_LIBRARY,
    FiltersOption,
    LibraryOption,
    ModeOption,
    ProfileOption,
    WithinOption,
    reading,
)

if TYPE_CHECKING:
    from ..engine import KnowledgeEngine

HELP = "/sources  the sources of the last answer\n/save FILE  keep the conversation\n/quit  leave"
LONGEST_FILE = 10_000_000
"""Bytes of a conversation file that is read."""

HistoryOption = Annotated[
    Path | None, typer.Option("--history", help="A conversation file to go on from.")
]


def read_turns(file: Path) -> list[Turn]:
    """Read a conversation file, oldest turn first; none where there is no such file.

    Raises:
        SourceError: it is too large, or no list of questions and answers.
    """
    if not file.exists():
        return []
    wrong = f"cannot read conversation: {str(file)!r}"
    if file.stat().st_size > LONGEST_FILE:
        raise SourceError(f"{wrong}; it has more than {LONGEST_FILE:,} bytes: give another file")
    try:
        said = json.loads(file.read_text(encoding="utf8"))
        return [Turn(question=str(each["question"]), answer=str(each["answer"])) for each in said]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(
            f"{wrong}; write a JSON list of objects with `question` and `answer`"
        ) from error


def write_turns(file: Path, turns: list[Turn]) -> None:
    """Write a conversation file."""
    said = [{"question": turn.question, "answer": turn.answer} for turn in turns]
    text = json.dumps(said, ensure_ascii=False, indent=2)
    file.write_text(text + "\n", encoding="utf8", errors="replace")


def turn_of(answer: Answer) -> Turn:
    """Return the turn that an answer adds to a conversation."""
    return Turn(question=answer.rewritten_question or answer.question, answer=answer.text)


def chat(
    mode: ModeOption = "auto",
    history: HistoryOption = None,
    filters: FiltersOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Talk with the library; each question is understood from those before."""
    from .rendering import print_line, show_failure

    turns = read_turns(history) if history else []
    with reading(library, profile) as engine:
        if sys.stdin.isatty():
            print_line("Ask; /help lists the commands, Ctrl-D leaves.")
        last: Answer | None = None
        for said in _lines():
            if said.startswith("/"):
                if _obeyed(said, turns, last):
                    continue
                break
            try:
                last = _asked(engine, said, turns, mode, filters, namespace)
            except EngineError as error:
                show_failure(error, then="the conversation goes on")
                continue
            turns.append(turn_of(last))
            if history:
                write_turns(history, turns)


def _lines() -> Iterator[str]:
    """Yield what is typed, with line editing and recall on a terminal, until its end."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):  # Windows has none
            import readline  # noqa: F401 - importing it gives `input` its arrow keys
    while True:
        try:
            line = input("> " if is_terminal else "")
        except EOFError:
            return
        if line.strip():
            yield line.strip()


def _obeyed(said: str, turns: list[Turn], last: Answer | None) -> bool:
    """Carry out a command; False ends the conversation."""
    from ..plain_text import source_lines
    from .rendering import print_line, show_error

    command, _, rest = said.partition(" ")
    match command:
        case "/quit" | "/exit":
            return False
        case "/sources":
            lines = source_lines(last.citations) if last else ["no answer yet"]
            for line in lines or ["the last answer has no sources"]:
                print_line(line)
        case "/save" if rest.strip():
            try:
                write_turns(Path(rest.strip()), turns)
            except OSError as error:
                show_error(f"cannot write {rest.strip()!r}: {error.strerror}; give another file")
            else:
                print_line(f"{len(turns)} turns written to {rest.strip()}")
        case "/help":
            print_line(HELP, lines=True)
        case _:
            show_error(f"{said!r} is no command, or lacks its file:")
            print_line(HELP, lines=True)
    return True


def _asked(
    engine: KnowledgeEngine,
    said: str,
    turns: list[Turn],
    mode: str,
    filters: list[str] | None,
    namespace: str | None,
) -> Answer:
    from .rendering import print_line, render_stream, show_reply, stderr_is_tty

    events = engine.stream(said, mode=mode, filters=filters, namespace=namespace, history=turns)
    answer = render_stream(events, visible=stderr_is_tty())
    if answer.rewritten_question:
        print_line((f"({answer.rewritten_question})", "dim"))
    show_reply(answer)
    print_line("")
    return answer
