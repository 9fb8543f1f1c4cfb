"""The library: one writer, consistent views, and derived files that may go at any time."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import select, text

from engine import KnowledgeEngine
from engine.errors import LibraryBusy, LibraryUnusable
from engine.storage import bm25_index
from engine.storage import files as derived
from engine.storage.bm25_index import KeywordIndex
from engine.storage.graph_api import Chunk, chunk_table, put_chunks, write_state
from engine.storage.library import Library, WindowVector, unit_length
from engine.storage.schema import documents
from engine.storage.usage_log import UsageLog
from engine.storage.vectors import cache as vector_cache
from engine.storage.vectors import index as vector_index
from engine.storage.vectors.index import DenseIndex
from engine.types import Usage

OpenEngine = Callable[..., KnowledgeEngine]
NOTES = {
    f"note-{number}": f"# Lamp {number}\n\nCaptain Ada Brine lit Lamp {number} at Gull Quay. "
    f"Orrin Vale{number} repaired it. The number is word{number}."
    for number in range(6)
}


@pytest.fixture
def library(tmp_path: Path):
    held = Library(tmp_path / "library")
    yield held
    held.close()


@pytest.fixture
def engine(open_engine: OpenEngine, tmp_path: Path):
    with open_engine(tmp_path / "library") as opened:
        for name, content in NOTES.items():
            opened.add_text(content, document_id=name)
        yield opened


@pytest.mark.parametrize(
    ("schema", "said"),
    [(1, "do not match its schema .*duplicate column"), (-1, "a database of another program")],
)
def test_a_library_that_says_another_schema_than_it_has_is_refused_in_a_line(
    tmp_path: Path, schema: int, said: str
) -> None:
    with closing(Library(tmp_path / "library")) as held, held.write() as connection:
        connection.exec_driver_sql(f"PRAGMA user_version = {schema:d}")
    with pytest.raises(LibraryUnusable, match=said):
        Library(tmp_path / "library")


def test_what_was_booked_before_cached_tokens_were_is_kept(tmp_path: Path) -> None:
    with closing(Library(tmp_path / "library")) as held, closing(UsageLog(held)) as ledger:
        ledger.add(day="2026-01-01", stage="map", model="m", usage=Usage(calls=1, cost=0.5))
        (before,) = ledger.rows()
        with held.write() as connection:
            connection.exec_driver_sql("ALTER TABLE usage DROP COLUMN cached_tokens")
            connection.exec_driver_sql("ALTER TABLE documents DROP COLUMN outdated")
            connection.exec_driver_sql("ALTER TABLE keywords DROP COLUMN heading")
            connection.exec_driver_sql("ALTER TABLE keywords DROP COLUMN stamp")
            connection.exec_driver_sql("PRAGMA user_version = 4")
    with closing(Library(tmp_path / "library")) as held, closing(UsageLog(held)) as ledger:
        assert ledger.rows() == [before]


def test_an_upgrade_leaves_no_file_with_words_of_texts(tmp_path: Path) -> None:
    with closing(Library(tmp_path / "library")) as held, held.write() as connection:
        connection.exec_driver_sql("ALTER TABLE keywords DROP COLUMN stamp")
        connection.exec_driver_sql("PRAGMA user_version = 8")
    vocabulary = tmp_path / "library" / "derived" / "bm25-0123" / "body" / "vocab.index.json"
    vocabulary.parent.mkdir(parents=True)
    vocabulary.write_text('{"lantern": 0}')
    with closing(Library(tmp_path / "library")):
        assert not list((tmp_path / "library" / "derived").glob("bm25-*"))


# --- one writer, consistent views -------------------------------------------------------------


def test_the_writers_lock_is_taken_again_by_who_holds_it(library: Library) -> None:
    with library.writer(), library.writer(), library.write() as outer, library.write() as inner:
        assert inner is outer


def test_who_waits_too_long_for_the_writer_is_told_what_to_do(tmp_path: Path) -> None:
    first = Library(tmp_path / "library")
    second = Library(tmp_path / "library", lock_timeout_seconds=0.1)
    waited = pytest.raises(LibraryBusy, match=r"waited 0\.1 s\); try again")
    with first.writer(), waited, second.writer():
        pass
    with second.writer():
        pass


def test_another_thread_waits_for_the_writer_too(library: Library) -> None:
    order: list[str] = []
    inside = threading.Event()

    def late() -> None:
        inside.wait()
        with library.writer():
            order.append("late")

    thread = threading.Thread(target=late)
    thread.start()
    with library.writer():
        inside.set()
        thread.join(timeout=0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "late"]


def test_a_repair_blocks_no_writer_while_it_waits_for_its_turn(
    open_engine: OpenEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(tmp_path / "library") as first, open_engine(tmp_path / "library") as second:
        first.add_text("Ada Brine built the pier.", document_id="a")
        turn = second._library.writer

        def wait_for_turn() -> AbstractContextManager[None]:
            with first._library.write() as connection:  # as the one that has its turn does
                write_state(connection, "turn", "taken")
            return turn()

        monkeypatch.setattr(second._library, "writer", wait_for_turn)
        second.repair()
        assert second.stats()["up_to_date"]


def test_a_failed_transaction_leaves_nothing(library: Library) -> None:
    with pytest.raises(KeyError), library.write() as connection:
        put_chunks(connection, [_chunk(1)])
        with library.write() as joined:
            put_chunks(joined, [_chunk(2)])
        raise KeyError
    assert library.counts()["chunks"] == 0
    with library.write() as connection:
        put_chunks(connection, [_chunk(3)])
    assert library.counts()["chunks"] == 1


def test_a_view_stays_one_picture_while_another_thread_commits(engine: KnowledgeEngine) -> None:
    library = engine._library

    def titles() -> list[str]:
        with library.read() as connection:
            return sorted(connection.execute(select(documents.c.title)).scalars())

    with library.read():
        before = titles()
        adding = threading.Thread(
            target=lambda: engine.add_text("Text.", document_id="new", title="A new one")
        )
        adding.start()
        adding.join()
        assert titles() == before
    assert titles() == sorted([*before, "A new one"])


def test_threads_retrieve_while_another_adds(engine: KnowledgeEngine) -> None:
    errors: list[BaseException] = []
    done = threading.Event()
    answered = [0] * 8

    def ask(number: int) -> None:
        try:
            while not done.is_set() or not answered[number]:
                found = engine.as_retriever().search(f"Who lit Lamp {number % 6}?").passages
                assert found
                for p in (p for p in found if p.document_id != "note-1"):  # that one changes
                    assert engine.document_text(p.document_id)[p.start : p.end] == p.text
                assert [n.score for n in engine.keyword_index.retrieve("Lamp")]
                answered[number] += 1
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for number in range(6):
        engine.add_text(f"Lamp {number} went out at Port{number}.", document_id=f"late-{number}")
        engine.add_text(NOTES["note-1"] + f" Changed {number}.", document_id="note-1")
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert min(answered) > 0
    assert engine.problems() == []


# --- what is wrong is told --------------------------------------------------------------------


def test_a_sound_library_has_no_problems(engine: KnowledgeEngine) -> None:
    assert engine.problems() == []


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE chunks SET text = replace(text, 'Brine', 'Bryne')", id="a chunk"),
        pytest.param("UPDATE chunks SET text = substr(text, 1, 10)", id="a chunk cut short"),
        pytest.param("UPDATE chunks SET start = start + 1", id="an offset"),
        pytest.param("UPDATE documents SET text = upper(text)", id="a document"),
        pytest.param("DELETE FROM documents", id="no document"),
    ],
)
def test_tampering_with_what_is_cited_is_noticed(engine: KnowledgeEngine, statement: str) -> None:
    with engine._library.write() as connection:
        connection.execute(text(statement))
    found = engine.problems()
    assert len(found) >= len(NOTES)
    assert all("does not stand in its document" in line for line in found)


def test_rows_without_their_chunk_are_noticed(engine: KnowledgeEngine) -> None:
    raw = engine._library.database._engine.raw_connection()
    raw.execute("PRAGMA foreign_keys = OFF")
    raw.execute("DELETE FROM chunks WHERE document_id = 'note-1'")
    raw.commit()
    raw.execute("PRAGMA foreign_keys = ON")
    raw.close()
    assert any("has lost what it belongs to" in line for line in engine.problems())


def test_a_damaged_database_is_named(engine: KnowledgeEngine, tmp_path: Path) -> None:
    engine.close()
    (tmp_path / "library" / "library.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LibraryUnusable, match=r"library is damaged: .*library\.db"):
        Library(tmp_path / "library")


# --- keyword arrays in files ------------------------------------------------------------------


def kept(engine: KnowledgeEngine) -> list[Path]:
    return sorted((engine._library.path / "derived").glob("bm25-*"))


def ranked(engine: KnowledgeEngine) -> list[tuple[str, float | None]]:
    """By a retriever that has nothing in memory yet."""
    tokens = engine._whole.parts.keyword._tokens
    keyword = KeywordIndex(engine._library, tokens=tokens, readable=lambda _: 1.0)
    return [(each.id, score) for each, score in keyword.scored_chunks("word3 Lamp", top_k=10)]


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)


def _cut(folder: Path) -> None:
    path = folder / "body" / "counts.npy"
    path.write_bytes(path.read_bytes()[:-8])


def _flip(folder: Path) -> None:
    path = folder / "body" / "counts.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 0xFF
    path.write_bytes(content)


def _empty(folder: Path) -> None:
    (folder / "title" / "tokens.npy").write_text("")


def _lose(folder: Path) -> None:
    (folder / "marks.npy").unlink()


def _add(folder: Path) -> None:
    (folder / "title" / "more.npy").write_bytes(b"1")


def _unlist(folder: Path) -> None:
    (folder / derived.MANIFEST).write_text("{")


@pytest.mark.parametrize("damage", [_remove, _cut, _flip, _empty, _lose, _add, _unlist])
def test_damaged_keyword_files_are_written_anew(
    engine: KnowledgeEngine, damage: Callable[[Path], None]
) -> None:
    expected = ranked(engine)
    assert expected
    (folder,) = kept(engine)
    damage(folder)
    assert not derived.is_valid_artifact(folder)
    assert ranked(engine) == expected
    assert kept(engine) == [folder]
    assert derived.is_valid_artifact(folder)


def test_codes_of_a_removed_document_are_overwritten_before_anybody_asks(
    open_engine: OpenEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "KEPT_FROM", 1)
    with open_engine(tmp_path / "library") as engine:
        for name, content in NOTES.items():
            engine.add_text(content, document_id=name)
        engine.retrieve("Who repaired Lamp 3?")
    own = select(chunk_table.c.id).where(chunk_table.c.document_id == "note-3")
    with closing(Library(tmp_path / "library")) as library, library.read() as connection:
        marks = [vector_cache._hashed(c) for c in connection.execute(own).scalars()]

    def rows() -> list[int]:
        places = (tmp_path / "library" / "derived").glob("vectors*-*")
        blocks = [vector_cache.VectorBlock.load(place) for place in places]
        return [int(np.isin(block.owners, marks).sum()) for block in blocks]

    assert any(rows())
    with open_engine(tmp_path / "library") as engine:
        engine.remove("note-3")
    assert not any(rows())


def test_sound_keyword_files_are_taken_as_they_are(engine: KnowledgeEngine) -> None:
    expected = ranked(engine)
    (folder,) = kept(engine)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert ranked(engine) == expected
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_keyword_files_outlive_a_change_and_hold_no_word(engine: KnowledgeEngine) -> None:
    for number in range(30):
        engine.add_text(f"A note about lantern{number}.", document_id=f"other-{number}")
    engine.retrieve("word3")
    (old,) = kept(engine)
    engine.add_text("A lamp called Zanzibar.", document_id="more")
    engine.remove("other-3")
    assert [p.document_id for p in engine.retrieve("Zanzibar", top_k=1)] == ["more"]
    assert "other-3" not in [p.document_id for p in engine.retrieve("lantern3", top_k=20)]
    assert kept(engine) == [old], "the base goes on, with a tail in memory"
    held = b"".join(path.read_bytes() for path in old.rglob("*") if path.is_file())
    assert b"lantern" not in held
    assert b"other" not in held


def test_keyword_scores_after_changes_are_those_of_a_fresh_index(
    engine: KnowledgeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25_index, "WORN_ABOVE", 2.0)
    for number in range(12):
        engine.add_text(f"A lamp and note number{number} word3.", document_id=f"other-{number}")
    engine.retrieve("word3")
    engine.add_text("A lamp called Zanzibar, word3 and word3.", document_id="more")
    engine.add_text("A lamp that was changed, word3.", document_id="other-4")
    engine.remove("other-3")
    changed = engine._whole.parts.keyword
    for number in (5, 5, 6, 4):  # each is followed from the one before
        changed.field_scores("word3")
        engine.add_text(f"A lamp changed again, number{number}.", document_id=f"other-{number}")
    with engine._library.read() as connection:
        assert changed._followed(connection), "only what changed is read"
    after_changes = changed.field_scores("word3 lamp number4 Zanzibar")
    assert len(changed._current().held.segments) > 1
    shutil.rmtree(engine._library.path / "derived")
    fresh = KeywordIndex(engine._library, tokens=changed._tokens, readable=lambda _: 1.0)
    scores = fresh.field_scores("word3 lamp number4 Zanzibar")
    assert len(fresh._current().held.segments) == 1
    assert fresh.chunk_ids == changed.chunk_ids
    assert fresh.readable.tolist() == changed.readable.tolist()
    assert {name: some.tolist() for name, some in scores.items()} == {
        name: some.tolist() for name, some in after_changes.items()
    }


def test_keyword_search_works_where_nothing_can_be_kept(
    engine: KnowledgeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    expected = ranked(engine)
    shutil.rmtree(engine._library.path / "derived")
    (engine._library.path / "derived").write_text("in the way")
    assert ranked(engine) == expected
    assert "built in memory" in caplog.text


def test_two_engines_may_build_the_same_files_at_once(
    open_engine: OpenEngine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as first, open_engine(tmp_path / "library") as second:
        for name, content in NOTES.items():
            first.add_text(content, document_id=name)
        found: list[list[str]] = []
        start = threading.Barrier(2)

        def ask(engine: KnowledgeEngine) -> None:
            start.wait()
            found.append([p.chunk_id for p in engine.retrieve("word3 Lamp")])

        threads = [threading.Thread(target=ask, args=(engine,)) for engine in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 2
        assert found[0] == found[1]


def test_a_passages_nearest_heading_counts_like_its_title(open_engine, tmp_path: Path) -> None:
    with open_engine(tmp_path / "library") as engine:
        said = "A slipway and a crane stand here. " * 40
        (tmp_path / "yard.md").write_text(f"# Yard\n\n## Slipways\n\n{said}\n\n## Cranes\n\n{said}")
        engine.add(tmp_path / "yard.md")
        passages = {p.chunk_id: p.headings[-1] for p in engine.retrieve("slipway crane", top_k=9)}
        keyword = engine._whole.parts.keyword
        scores = keyword.field_scores("the slipways")["title"].tolist()
        found = {passages[one]: score for one, score in zip(keyword.chunk_ids, scores, strict=True)}
        assert found["Slipways"] > 0 == found["Cranes"]


def test_a_token_of_every_chunk_weighs_least(engine: KnowledgeEngine) -> None:
    keyword = engine._whole.parts.keyword
    idf = keyword.idf()
    frequency = keyword.document_frequency()
    assert frequency("lamp") == len(keyword.chunk_ids) == len(NOTES)
    assert frequency("word3") == 1
    assert 0 < idf("lamp") < idf("word3") < idf("nowhere")


# --- vectors ----------------------------------------------------------------------------------


def _chunk(number: int) -> Chunk:
    name = f"{number:06d}"
    return Chunk(id=name, document_id="d", title="", text=name, end=6, position=number)


def _clustered(count: int, dimension: int = 48) -> NDArray[np.float32]:
    """Unit vectors around 200 centres, as texts on the same subjects lie; always the same."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((200, dimension))
    around = centres[random.integers(200, size=count)]
    points = around + 0.7 * random.standard_normal((count, dimension))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def _fill(library: Library, matrix: NDArray[np.float32], *, windows: int = 1) -> None:
    """Chunk 000000, 000001 …, each with `windows` of the vectors."""
    values = [
        WindowVector(
            chunk_id=f"{row // windows:06d}",
            window=row % windows,
            input_sha=str(row),
            vector=vector,
        )
        for row, vector in enumerate(matrix)
    ]
    with library.write() as connection:
        put_chunks(connection, [_chunk(number) for number in range(len(matrix) // windows)])
        library.put_vectors(values, model="m")


def _recall(index: DenseIndex, matrix: NDArray[np.float32], questions: range) -> float:
    """The share of the ten nearest, by brute force, that the index finds."""
    hits = 0
    for number in questions:
        query = unit_length(matrix[number] + np.float32(0.05))
        truth = np.argsort(-(matrix @ query), kind="stable")[:10]
        found = {int(chunk_id) for chunk_id, _ in index.search(query, top_k=10)}
        hits += len(found & set(truth.tolist()))
    return hits / (10 * len(questions))


def test_exact_search_is_brute_force(library: Library) -> None:
    matrix = _clustered(600)
    _fill(library, matrix, windows=3)
    index = DenseIndex(library, model="m")
    for query in _clustered(20)[:20] * np.float32(1.3):
        cosines = (matrix @ unit_length(query)).reshape(-1, 3).max(axis=1)
        order = np.lexsort((np.arange(200), -cosines))
        found = index.search(query, top_k=15)
        assert [int(chunk_id) for chunk_id, _ in found] == order[:15].tolist()
        np.testing.assert_allclose([s for _, s in found], cosines[order[:15]], atol=1e-5)
        some = {f"{row:06d}": cosines[row] for row in order[-5:]}
        assert index.cosines(query, sorted(some)) == pytest.approx(some, abs=1e-5)


def test_vectors_that_come_and_go_without_their_chunks_are_seen(library: Library) -> None:
    matrix = _clustered(30)
    _fill(library, matrix[:20])
    index = DenseIndex(library, model="m")
    assert index.search(matrix[3], top_k=1)[0][0] == "000003"
    library.put_vectors(
        [WindowVector(chunk_id="000005", window=0, input_sha="new", vector=matrix[25])], model="m"
    )
    assert index.search(matrix[25], top_k=1)[0][0] == "000005"
    library.delete_vectors(["000003"])
    assert "000003" not in dict(index.search(matrix[3], top_k=20))


def test_a_chunk_of_many_windows_does_not_fill_the_list_alone(library: Library) -> None:
    near = _clustered(1)[0]
    with library.write() as connection:
        put_chunks(connection, [_chunk(1), _chunk(2)])
        windows = [
            WindowVector(chunk_id="000001", window=n, input_sha=f"w{n}", vector=near)
            for n in range(50)
        ]
        far = WindowVector(chunk_id="000002", window=0, input_sha="far", vector=-near)
        library.put_vectors([*windows, far], model="m")
    index = DenseIndex(library, model="m")
    assert [chunk_id for chunk_id, _ in index.search(near, top_k=2)] == ["000001", "000002"]


def test_vectors_are_kept_at_unit_length_and_come_back_bit_for_bit(library: Library) -> None:
    with library.write() as connection:
        put_chunks(connection, [_chunk(1), _chunk(2)])
    long = WindowVector(
        chunk_id="000001", window=0, input_sha="a", vector=np.array([3, 4], np.float32)
    )
    library.put_vectors([long], model="m")
    stored = library.vectors_by_input(["a"], model="m")["a"]
    np.testing.assert_allclose(stored, [0.6, 0.8], rtol=1e-6)
    again = WindowVector(chunk_id="000002", window=0, input_sha="b", vector=stored)
    library.put_vectors([again], model="m")
    assert library.vectors_by_input(["b"], model="m")["b"].tobytes() == stored.tobytes()


def test_another_models_vectors_are_not_compared(library: Library) -> None:
    _fill(library, _clustered(5))
    assert DenseIndex(library, model="other").search(_clustered(1)[0], top_k=3) == []


# --- derived files themselves -----------------------------------------------------------------


def test_what_a_killed_writer_left_behind_is_cleared_away(tmp_path: Path) -> None:
    parent = tmp_path / "derived"
    (parent / "kind-0.1-1.part").mkdir(parents=True)
    (parent / "kind-old").mkdir()
    (parent / "other-1").mkdir()
    found = derived.load_artifact(
        parent / "kind-new",
        write=lambda folder: (folder / "x").write_text("1") and None,
        load=lambda folder: (folder / "x").read_text(),
    )
    assert found == "1"
    assert sorted(path.name for path in parent.iterdir()) == ["kind-new", "other-1"]
    assert list(json.loads((parent / "kind-new" / derived.MANIFEST).read_text())) == ["x"]


def test_a_write_that_fails_leaves_nothing_half_done(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "x").write_text("1")
        raise OSError(28, "No space left on device")

    assert (
        derived.load_artifact(tmp_path / "derived" / "kind-1", write=fail, load=lambda _: 1) is None
    )
    assert list((tmp_path / "derived").iterdir()) == []


def test_a_passage_is_found_by_its_nearest_sentence_where_sentences_are_embedded(
    open_engine: OpenEngine, tmp_path: Path
) -> None:
    told = "Captain Ada Brine lit the lamp. " + "The oil came with the Petrel in spring. " * 8
    near = {}
    for name, embedding in (("plain", {}), ("sentences", {"embedding": {"sentences": True}})):
        with open_engine(tmp_path / name, **embedding) as engine:
            engine.add_text(told, document_id="log", title="")
            (found,) = engine.retrieve("Captain Ada Brine lit the lamp.")
            near[name] = found.scores["dense"]
            assert engine.add_text(told, document_id="log", title="").embedded == 0
    with open_engine(tmp_path / "plain", embedding={"sentences": True}) as engine:
        assert engine.add_text(told, document_id="log", title="").changed == ("log",)
        near["later"] = engine.retrieve("Captain Ada Brine lit the lamp.")[0].scores["dense"]
    assert near["sentences"] == near["later"] > near["plain"] + 0.3


# --- odd texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The lamp \ud800 of Gull Quay was lit by Ada Brine.", id="half a surrogate"),
        pytest.param("\udc80\udfff Ada Brine lit the lamp of Gull Quay. \ud83d", id="at both ends"),
        pytest.param("Ada Brine lit the lamp\x00 of Gull Quay.", id="NUL"),
        pytest.param("Ada Brine lit the lamp. 世界卫生组织（世卫", id="a bracket that opens"),
    ],
)
def test_an_odd_text_is_stored_and_found(open_engine, tmp_path: Path, text: str) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(text, document_id="odd")
        passages = engine.ask("Who lit the lamp?").passages
    assert [passage.document_id for passage in passages] == ["odd"]
    passages[0].text.encode()
