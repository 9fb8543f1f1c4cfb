"""Walk snapshots that follow what derivations noted are those that are read as a whole."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.model import Chunk, Extraction, Mention
from graph.pipeline import DeriveOptions, derive_graph
from graph.search.snapshot import WalkSnapshot, read_view
from graph.search.view_changes import follow_changes, follow_kept
from graph.storage.database import Database
from graph.storage.facts import (
    delete_document,
    derived_stamp,
    lineage,
    put_chunks,
    put_extractions,
)
from graph.storage.packed_arrays import STATE, follow_saved, load_view, save_state, save_view
from graph.storage.schema import metadata
from graph.text.names import name_key

NAMES = ("Clarence Leon Brown", "Clarence Brown", "C. Brown", "Ada Brine", "Gull Quay", "Brine")
WORDS = [f"z{one}{other}l" for one in "abcdefgh" for other in "aeiou"]
documents = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.lists(st.lists(st.sampled_from(NAMES), max_size=3), max_size=2),
    min_size=1,
    max_size=2,
)


def _put(database: Database, texts: dict[str, list[list[str]]]) -> None:
    """Replace documents: names by paragraph, the first one of each its title."""
    values, found = list[Chunk](), dict[str, Extraction]()
    for document_id, paragraphs in texts.items():
        for position, some in enumerate(paragraphs):
            text = ". ".join(some) or "Nothing."
            chunk = Chunk(
                id=f"{document_id}{position} {text}",
                document_id=document_id,
                position=position,
                title=some[0] if some else "",
                text=text,
                start=0,
                end=len(text),
            )
            mentions = {
                Mention(start=at, end=at + len(name), key=name_key(name), surface=name, type="NAME")
                for name in some
                for at in [text.index(name)]
            }
            values.append(chunk)
            found[chunk.id] = Extraction(mentions=tuple(sorted(mentions)), statements=())
    with database.write() as connection:
        for document_id in texts:
            delete_document(connection, document_id)
        put_chunks(connection, values)
        put_extractions(connection, found, extractor="test")


def _filled() -> Database:
    """Return a library of so many names and documents that a change concerns few of them."""
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
    others = {word: [[f"{word.title()} Harbour"]] for word in WORDS}
    _put(database, {"y": [["Ada Brine", "Clarence Brown"]], **others})
    return database


def _read(database: Database) -> tuple[WalkSnapshot, str]:
    derive_graph(database, options=DeriveOptions())
    with database.read() as connection:
        return read_view(connection), derived_stamp(connection)


@settings(max_examples=8, deadline=None)
@given(st.lists(documents, min_size=1, max_size=4), st.booleans())
def test_a_view_that_follows_changes_is_the_one_that_is_read(
    changes: list[dict[str, list[list[str]]]], at_once: bool
) -> None:
    database = _filled()
    view, stamp = _read(database)
    for change in changes:
        _put(database, change)
        now, at = _read(database)
        if at_once and change is not changes[-1]:
            continue
        with database.read() as connection:
            followed = follow_changes(connection, view, since=stamp)
        if followed is None:  # too much of so small a library changed
            view, stamp = now, at
            continue
        for field in ("chunk_ids", "documents", "titles", "labels", "introduced", "shortened"):
            assert list(getattr(followed, field)) == list(getattr(now, field)), field
        labels = {label for row in now.labels for label in row}
        assert {one: followed.display[one] for one in labels} == {
            one: now.display[one] for one in labels
        }
        graphs = (followed.walk_graph, now.walk_graph)
        for part in ("links", "mentions", "homes_of"):
            one, other = (getattr(graph, part).toarray() for graph in graphs)
            assert one.tobytes() == other.tobytes()
        view, stamp = followed, at
    database.close()


def test_a_view_in_a_file_is_led_on_where_nothing_was_removed(tmp_path: Path) -> None:
    database = _filled()
    view, _ = _read(database)
    with database.read() as connection:
        save_view(view, tmp_path)
        save_state(connection, tmp_path)
    _put(database, {"a": [["Gull Quay", "Clarence Leon Brown"], ["C. Brown"]]})
    now, _ = _read(database)
    with database.read() as connection:
        followed = follow_saved(connection, tmp_path)
    assert followed is not None
    for field in ("chunk_ids", "documents", "titles", "labels", "introduced", "shortened"):
        assert list(getattr(followed, field)) == list(getattr(now, field)), field
    again = tmp_path / "again"
    again.mkdir()
    save_view(followed, again)
    loaded = load_view(again)
    assert dict(loaded.display) == dict(followed.display)
    assert [*loaded.labels] == [*now.labels]
    told = json.loads((tmp_path / STATE).read_text())
    with database.read() as connection:
        assert follow_kept(connection, view, since=told["stamp"], lineage=told["lineage"])
        assert follow_kept(connection, view, since=told["stamp"], lineage="") is None
        assert follow_kept(connection, view, since=told["stamp"], lineage="0" * 32) is None
    _put(database, {"a": [["Brine"]]})
    _read(database)
    with database.read() as connection:
        assert follow_saved(connection, tmp_path) is None  # some text is gone
    database.close()


def test_libraries_of_other_content_have_another_lineage() -> None:
    found = set()
    for change in ({"a": [["Gull Quay"]]}, {"a": [["C. Brown"]]}, {"b": [["Gull Quay"]]}):
        database = _filled()
        _read(database)
        _put(database, change)
        with database.read() as connection:
            assert lineage(connection) == ""  # not derived yet
        _read(database)
        with database.read() as connection:
            found.add(lineage(connection))
        database.close()
    assert len(found) == 3
    assert "" not in found


def test_a_view_of_another_history_is_read_as_a_whole() -> None:
    database = _filled()
    view, _ = _read(database)
    _put(database, {"a": [["Gull Quay"]]})
    _, now = _read(database)
    with database.read() as connection:
        assert follow_changes(connection, view, since="3.3") is None
        assert follow_changes(connection, view, since="3.2") is None
        assert follow_changes(connection, view, since=now) is not None
    database.close()
