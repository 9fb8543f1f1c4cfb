"""Pages of the documentation: their code blocks, and what a page shows against what is printed.

In a shown output `…` stands for anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import httpx
from command_line import LONGEST_SECONDS, REPOSITORY

SERVER_ADDRESS = "http://127.0.0.1:8321"
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page; `reason` says why it is not run."""

    language: str
    text: str
    reason: str


def blocks_of(page: str) -> list[Block]:
    text = (REPOSITORY / page).read_text(encoding="utf8")
    return [
        Block(language=one["language"], text=one["text"], reason=one["reason"] or "")
        for one in _BLOCK.finditer(text)
    ]


def lines_of(block: Block) -> list[str]:
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def sent(arguments: list[str], server: str) -> str:
    """The body of the answer to a request as curl would send it."""
    options = dict(zip(arguments[:-1:2], arguments[1:-1:2], strict=True))
    address = arguments[-1].replace(SERVER_ADDRESS, server)
    assert server and address.startswith(server), f"no server of this page has {address}"
    headers = dict([options["-H"].split(": ", 1)]) if "-H" in options else {}
    files = {}
    if "-F" in options:
        field, _, name = options["-F"].partition("=@")
        files = {field: (Path(name).name, Path(name).read_bytes())}
    is_post = bool(files) or "-d" in options
    answer = httpx.request(
        "POST" if is_post else "GET",
        address,
        headers=headers,
        files=files or None,
        content=options.get("-d"),
        timeout=LONGEST_SECONDS,
    )
    assert answer.is_success, answer.text
    return answer.text


def assert_shows(printed: str, shown: str) -> None:
    """Every line that a page shows is printed, in this order."""
    rest = [" ".join(line.split()) for line in printed.splitlines()]
    for line in filter(str.strip, shown.splitlines()):
        wanted = " ".join(line.split())
        pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
        found = next((n for n, one in enumerate(rest) if re.fullmatch(pattern, one)), None)
        assert found is not None, f"not printed: {line!r}\n{printed}"
        rest = rest[found + 1 :]
