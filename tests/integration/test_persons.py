"""Where a person is named, and with whom, below the answer to *Who is X?*."""

from __future__ import annotations

import pytest

from engine import Answer, KnowledgeEngine

SEA = "The sea was grey and the wind came from the north. "
DEEDS = ("A New Boat", "The Long Voyage", "A Wall", "The Torn Net", "Home Again")


def check(engine: KnowledgeEngine, answer: Answer) -> None:
    assert [each.number for each in answer.citations] == list(range(1, len(answer.citations) + 1))
    for citation in answer.citations:
        text = engine.document_text(citation.document_id)
        assert text[citation.start : citation.end] == citation.quote
        assert f"[{citation.number}]" in answer.text


@pytest.mark.parametrize("is_titled", [True, False])
def test_the_chapters_of_a_book_that_name_a_person_are_told(
    open_engine, tmp_path_factory: pytest.TempPathFactory, is_titled: bool
) -> None:
    chapters = [
        f"CHAPTER {number}.{f' {deed}.' if is_titled else ''}\n\n"
        f"{'Mr. Hale, the harbour master, rose early. ' if number == 1 else ''}"
        "Mrs. Reed laughed at Mr. Hale that day.\n\n" + SEA * 40
        for number, deed in enumerate(DEEDS, 1)
    ]
    folder = tmp_path_factory.mktemp("book")
    (folder / "book.txt").write_text("\n\n".join(chapters), "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("Who is Mr. Hale?")
        unknown = engine.ask("Who is Mr. Quist?")
        check(engine, answer)

    assert answer.text.startswith("Mr. Hale, the harbour master, rose early.")
    assert "Named in 5 chapters, mostly with Mrs. Reed; above all in:" in answer.text
    for number, deed in enumerate(DEEDS, 1):
        told = f"- CHAPTER {number}. {deed} [" if is_titled else f"CHAPTER {number} ["
        assert told in answer.text
    assert "Named in" not in unknown.text


def test_the_documents_that_name_a_person_are_told_but_of_one_who_has_a_text(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("papers")
    texts = {
        "Horn": "The horn was sounded by the fiddler Mr. Gill in 1996.",
        "Storm": "In the storm Mr. Gill broke a wrist.",
        "Vote": "Mr. Gill asked for a vote of all islanders with Mrs. Reed.",
        "Mrs. Reed": "Mrs. Reed was the mayor of the island. She met Mr. Gill.",
        "Boat": "Mrs. Reed owned a boat.",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("Who is Mr. Gill?")
        own = engine.ask("Who is Mrs. Reed?")
        check(engine, answer)
        check(engine, own)

    assert "Named in 4 documents, mostly with Mrs. Reed; above all in:" in answer.text
    assert "- Storm: In the storm Mr. Gill broke a wrist. [" in answer.text
    assert "Named in" not in own.text


def test_chapters_of_one_number_in_two_volumes_are_told_apart(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chapters = [
        f"# Volume {volume}\n\n"
        + "\n\n".join(
            f"## Chapter {n}\n\nMrs. Reed laughed at Mr. Hale. {SEA * 40}" for n in (1, 2)
        )
        for volume in ("One", "Two")
    ]
    folder = tmp_path_factory.mktemp("volumes")
    (folder / "book.md").write_text("\n\n".join(chapters), "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("Who is Mr. Hale?")
        check(engine, answer)

    assert "Named in 4 chapters, mostly with Mrs. Reed; above all in:" in answer.text
    for volume in ("One", "Two"):
        assert f"Volume {volume} – Chapter 1 [" in answer.text


def test_a_verb_before_a_name_is_no_title(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("miss")
    (folder / "a.md").write_text(
        '# Letters\n\n"I miss Jane Gray," said Mr. Reed, her husband.\n\nJane Gray had a boat. '
        "Mr. Reed had a cart.\n",
        "utf8",
    )
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("How are Jane Gray and Mr. Reed connected?")

    assert "I miss Jane Gray" in answer.text
