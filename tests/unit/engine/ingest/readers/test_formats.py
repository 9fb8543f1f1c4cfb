"""What can be read is known by suffix and name, without any reader being imported."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from engine.ingest.document import ReadOptions
from engine.ingest.load import read_parts
from engine.ingest.registry import FORMATS, NAMES, SUFFIXES, LazyReader, format_of_name, is_known

READERS = sorted(
    {str(entry.read): entry.read for entry in (*FORMATS.values(), *NAMES.values())}.items()
)


@pytest.mark.parametrize("reader", [pytest.param(found, id=place) for place, found in READERS])
def test_every_reader_is_where_the_table_says_and_takes_what_it_is_given(
    reader: LazyReader,
) -> None:
    signature = inspect.signature(reader.function())
    signature.bind(*((b"", ReadOptions()) if reader.takes_options else (b"",)), **reader.arguments)
    assert signature.return_annotation == "Content"


def test_to_know_the_formats_imports_no_reader() -> None:
    program = (
        "import sys; from engine.ingest.registry import SUFFIXES; assert '.pdf' in SUFFIXES;"
        "print(*sorted(name for name in sys.modules if name.startswith('engine.')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [
        "engine.ingest",
        "engine.ingest.registry",
    ]


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        pytest.param("Dockerfile", "configuration", id="Dockerfile"),
        pytest.param("src/Makefile", "configuration", id="in a folder"),
        pytest.param("README", "text", id="README"),
        pytest.param("license", "text", id="small letters"),
        pytest.param("Rakefile", "code", id="code"),
        pytest.param("README.md", "markdown", id="the suffix comes first"),
        pytest.param("a.PDF", "pdf", id="capitals"),
    ],
)
def test_files_are_known_by_suffix_or_name(name: str, type_: str) -> None:
    assert is_known(name)
    assert format_of_name(name).type == type_


@pytest.mark.parametrize("name", ["page.css", "page.scss", "page.less"])
def test_a_style_sheet_in_a_folder_is_passed_over_since_it_has_no_prose(name: str) -> None:
    assert not is_known(name)


@pytest.mark.parametrize("name", ["thing", "README.xyz", ".pdf", "", "README/thing"])
def test_other_names_are_not_known_and_tried_as_text(name: str) -> None:
    assert not is_known(name)
    assert format_of_name(name).type == "text"


def test_a_named_file_is_read_as_what_its_name_says() -> None:
    (part,) = read_parts(b"def build(): pass\n", name="SConstruct", options=ReadOptions())
    assert part.content is not None
    assert (part.type, part.content.metadata["language"]) == ("code", "python")


@pytest.mark.parametrize("suffix", [".txt", ".md", ".json", ".jsonl", ".csv", ".py", ".tex"])
def test_text_that_no_document_could_hold_is_refused_before_it_is_read(suffix: str) -> None:
    options = ReadOptions(max_characters=1_000)
    (part,) = read_parts(b"[1]" * 2_000, name=f"a{suffix}", options=options)
    assert "is too large: 6,000 bytes of text, the limit is 1,000 characters" in part.failure


def test_how_much_text_is_in_a_page_or_a_picture_is_not_told_by_its_size() -> None:
    limited = {suffix for suffix in SUFFIXES if FORMATS[suffix].bytes_a_character}
    assert not limited & {
        ".html",
        ".pdf",
        ".docx",
        ".zip",
        ".png",
        ".xml",
        ".rtf",
        ".ipynb",
        ".eml",
    }
