"""Books of Project Gutenberg: the work alone, its header as metadata."""

from __future__ import annotations

import pytest

from engine.ingest.readers.text import read_plain

START = "*** START OF THE PROJECT GUTENBERG EBOOK THE SHIP ***"
END = "*** END OF THE PROJECT GUTENBERG EBOOK THE SHIP ***"
BOOK = f"""The Project Gutenberg eBook of The Ship

This ebook is for the use of anyone anywhere.

Title: The Ship
        and the Lamp

Author: Ada Roe

Release date: December 24, 2007 [eBook #24022]

{START}

Produced by Several People and the
Proofreading Team

CHAPTER I

The ship left Bergen.

{END}

Updated editions will replace the previous one. Royalties are due.
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_book_is_read_without_what_is_said_about_its_file(newline: str) -> None:
    content = read_plain(BOOK.replace("\n", newline).encode())

    assert content.text.split() == ["CHAPTER", "I", "The", "ship", "left", "Bergen."]
    assert content.title == "The Ship and the Lamp"
    assert content.metadata == {"author": "Ada Roe", "publisher": "Project Gutenberg"}


@pytest.mark.parametrize(
    "text",
    [
        BOOK.replace(START, ""),
        BOOK.replace(END, ""),
        f"{START}\n{END}\n",
        f"{END}\nThe ship left.\n{START}\n",
        f"Notes\n\n{'x' * 30_000}\n{START}\nThe ship left.\n{END}\n",
    ],
)
def test_a_text_without_both_marks_is_kept_whole(text: str) -> None:
    assert read_plain(text.encode()).text == text
