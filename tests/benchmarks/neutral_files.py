"""Small files written by other programs than the readers': words, table rows, headings kept.

The files of `neutral/` were written with odfpy and xlwt; pandoc writes those of `neutral/text.md`
when the benchmark runs. No free program without LibreOffice writes .doc and .ppt.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.ingest.document import ReadOptions
from engine.ingest.load import read_parts

NEUTRAL = Path(__file__).with_name("neutral")
WRITTEN_BY_PANDOC = ("rtf", "odt", "epub", "docx")
_RULE = re.compile(r"[\s|:-]+")
Words = Callable[[str], Counter[str]]


def print_neutral(words: Words) -> None:
    """Print what is kept of each file by the readers, and by anydoc's own Markdown alone."""
    if shutil.which("pandoc") is None:
        raise SystemExit("pandoc is missing: install it (apt-get install pandoc) and try again")
    print("\n| file | reader | words kept | table rows | headings |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for path, expected in neutral_files(Path(folder)):
            data = path.read_bytes()
            parts = read_parts(data, name=path.name, options=ReadOptions())
            text = "\n".join(part.content.text for part in parts if part.content)
            _print(path.name, "loregraph", text, expected, words=words)
            _print(path.name, "anydoc alone", _by_anydoc(data), expected, words=words)


def neutral_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file and the Markdown of what it says; pandoc's are written to `folder`."""
    for source in sorted(NEUTRAL.glob("*.*.md")):
        yield source.with_suffix(""), source.read_text(encoding="utf-8")
    source = NEUTRAL / "text.md"
    for suffix in WRITTEN_BY_PANDOC:
        target = folder / f"text.{suffix}"
        command = ["pandoc", "-s", "-M", "title= ", str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        yield target, source.read_text(encoding="utf-8")


def _by_anydoc(data: bytes) -> str:
    import anydoc

    try:
        return anydoc.to_markdown_bytes(data)
    except anydoc.ConvertError as error:
        print(f"anydoc: {error}")
        return ""


def _print(name: str, reader: str, text: str, expected: str, *, words: Words) -> None:
    columns = []
    for count in (words, lambda each: _rows(each, words), lambda each: _headings(each, words)):
        wanted = count(expected)
        kept = wanted.total() - (wanted - count(text)).total()
        columns.append(f"{kept} of {wanted.total()}")
    print(f"| {name} | {reader} | {' | '.join(columns)} |")


def _rows(text: str, words: Words) -> Counter[str]:
    """The rows of pipe tables, each by its words."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return Counter(" ".join(words(line).elements()) for line in lines if not _RULE.fullmatch(line))


def _headings(text: str, words: Words) -> Counter[str]:
    lines = (line for line in text.splitlines() if re.match(r"#{1,6} ", line))
    return Counter(" ".join(words(line).elements()) for line in lines)
