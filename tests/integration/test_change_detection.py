from __future__ import annotations

import io
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document, MetadataMode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from engine import KnowledgeEngine, pipeline
from engine.errors import QuestionError, SourceError, TooManyRemovals
from engine.storage.library import DocumentRow, Library

OpenEngine = Callable[..., KnowledgeEngine]
LONG_AGO = 1_600_000_000
TIDE = "# Tide\n\nThe Port Ansgar tide gauge was built by Edda Vik in 1921.\n"
BARN = "# Barn\n\nThe Skellhaven barn was painted by Edda Vik in 1934.\n"


@pytest.fixture
def engine(tmp_path: Path, open_engine: OpenEngine) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path / "library") as engine:
        yield engine


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tide.md").write_text(TIDE)
    (folder / "barn.md").write_text(BARN)
    return folder


def ids(engine: KnowledgeEngine) -> list[str]:
    return [row.id for row in engine.documents()]


def found(engine: KnowledgeEngine, question: str, **options: object) -> set[str]:
    return {passage.document_id for passage in engine.retrieve(question, **options)}  # type: ignore[arg-type]


def archive(path: Path, **members: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in members.items():
            file.writestr(name.replace("_", "."), text)
    path.write_bytes(data.getvalue())


# Folders


def test_sync_adds_changes_and_removes(engine: KnowledgeEngine, docs: Path) -> None:
    assert engine.sync("docs").added == ("docs/barn.md", "docs/tide.md")
    (docs / "barn.md").unlink()
    (docs / "tide.md").write_text(TIDE + "\nIt is read at noon.\n")
    (docs / "new.md").write_text("# New\n\nA new pier.\n")
    report = engine.sync("docs")
    assert report.added == ("docs/new.md",)
    assert report.changed == ("docs/tide.md",)
    assert report.removed == ("docs/barn.md",)
    assert ids(engine) == ["docs/new.md", "docs/tide.md"]
    assert found(engine, "barn") <= {"docs/new.md", "docs/tide.md"}


def test_named_files_look_at_their_own_documents_alone(
    engine: KnowledgeEngine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(docs / "a.zip", pier_md="# Pier\n\nA pier.\n", quay_md="# Quay\n\nA quay.\n")
    engine.sync("docs")
    read, seen = Library.documents, list[set[str]]()

    def documents(*given: Any) -> dict[str, DocumentRow]:
        rows = read(*given)
        seen.append({*rows})
        return rows

    monkeypatch.setattr(Library, "documents", documents)
    archive(docs / "a.zip", pier_md="# Pier\n\nA new pier.\n")
    report = engine.add([docs / "a.zip", docs / "barn.md"])
    assert (report.changed, report.removed) == (("docs/a.zip!/pier.md",), ("docs/a.zip!/quay.md",))
    assert report.unchanged == ("docs/barn.md",)
    engine.add([Document(id_="docs/tide.md", text=BARN)])
    engine.add_files({"docs": docs / "tide.md"})
    members = {"docs/a.zip!/pier.md", "docs/a.zip!/quay.md"}
    rest = {"docs/a.zip!/pier.md", "docs/barn.md", "docs/tide.md"}
    assert seen == [members | {"docs/barn.md"}, {"docs/tide.md"}, rest]
    seen.clear()
    engine.add(docs)
    monkeypatch.setattr(pipeline, "MOST_NAMED", 1)
    engine.add([docs / "tide.md", docs / "barn.md"])
    assert seen == [rest | {"docs"}] * 2


def test_a_dry_run_tells_and_does_nothing(engine: KnowledgeEngine, docs: Path) -> None:
    engine.sync("docs")
    (docs / "barn.md").unlink()
    (docs / "tide.md").write_text("# Tide\n\nOther.\n")
    (docs / "new.md").write_text("# New\n")
    before = engine.stats()
    plan = engine.sync("docs", dry_run=True)
    assert (plan.added, plan.changed, plan.removed) == (
        ("docs/new.md",),
        ("docs/tide.md",),
        ("docs/barn.md",),
    )
    assert engine.stats() == before
    done = engine.sync("docs")
    assert (done.added, done.changed, done.removed) == (plan.added, plan.changed, plan.removed)


def test_sync_leaves_alone_what_is_not_of_the_folder(engine: KnowledgeEngine, docs: Path) -> None:
    other = docs.parent / "docs2"
    other.mkdir()
    (other / "pier.md").write_text("# Pier\n\nA pier.\n")
    engine.add(["docs", "docs2"])
    engine.add_text("A note in hand.", document_id="docs/note")
    (docs / "barn.md").unlink()
    assert engine.sync("docs").removed == ("docs/barn.md",)
    assert ids(engine) == ["docs/note", "docs/tide.md", "docs2/pier.md"]


def test_the_current_folder_can_be_synchronised(engine: KnowledgeEngine, docs: Path) -> None:
    engine.sync(".")
    (docs / "barn.md").unlink()
    assert engine.sync(".").removed == ("docs/barn.md",)


def test_a_folder_that_lost_everything_is_spared_and_said(
    engine: KnowledgeEngine, docs: Path
) -> None:
    engine.sync("docs")
    shutil.rmtree(docs)
    docs.mkdir()
    planned = engine.sync("docs", dry_run=True)
    report = engine.sync("docs")
    assert report.removed == ()
    assert [failure.source for failure in report.failed] == ["docs"]
    assert report.notes == planned.notes
    assert "of it 2 documents are kept" in report.notes[-1]
    assert ids(engine) == ["docs/barn.md", "docs/tide.md"]


def test_a_document_is_removed_as_its_file_is_named(engine: KnowledgeEngine, docs: Path) -> None:
    odd = docs / os.fsdecode(b"caf\xe9.md")  # no UTF-8
    odd.write_text("Remy Blanc ran the cafe.", encoding="utf8")
    engine.add("docs")
    engine.add(docs / "tide.md", namespace="north")
    assert engine.remove("./docs/barn.md").removed == ("docs/barn.md",)
    assert engine.remove(str(docs / "tide.md")).removed == ("docs/tide.md",)
    assert engine.remove(f"docs/{odd.name}").removed == ("docs/caf\ufffd.md",)
    assert [failure.source for failure in engine.remove("elsewhere/tide.md").failed] == [
        "elsewhere/tide.md"
    ]
    assert engine.remove("./docs/tide.md", namespace="north").removed == ("north::docs/tide.md",)


def test_half_characters_of_a_terminal_of_another_encoding_are_read_or_refused_in_a_line(
    engine: KnowledgeEngine, docs: Path
) -> None:
    half = os.fsdecode(b"caf\xe9")
    engine.add("docs")
    assert engine.ask(f"Who built the tide gauge, {half}?").text
    assert engine.retrieve(f"tide gauge {half}")
    assert engine.retrieve("tide gauge", filters=[f"tags={half}"]) == []
    assert engine.entities.list(half) == []
    assert engine.describe(half, {"tags": ("red",)}).failed
    (refused,) = engine.add_text("The cafe is shut.", document_id=half).failed
    assert "contains invalid characters" in refused.reason


def test_a_file_that_broke_keeps_what_it_was(engine: KnowledgeEngine, docs: Path) -> None:
    engine.sync("docs")
    (docs / "tide.md").write_bytes(b"\x00\x01\x02\x03" * 99)
    report = engine.sync("docs")
    assert report.removed == ()
    assert [failure.source for failure in report.failed] == ["docs/tide.md"]
    assert engine.document_text("docs/tide.md") == TIDE


# What is gone, emptied or broken


def outdated(engine: KnowledgeEngine) -> dict[str, str | None]:
    return {row.id: row.outdated for row in engine.documents() if row.outdated is not None}


def make_binary(path: Path) -> None:
    path.write_bytes(b"\x00\x01\x02\x03" * 99)


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere.md"))


BREAKS = {"binary": make_binary, "fifo": make_fifo, "link": make_link_to_nothing}


@pytest.mark.parametrize("named", ["docs", "docs/tide.md"])
@pytest.mark.parametrize("way", ["sync", "add"])
@pytest.mark.parametrize("text", ["", " \n\t\n"], ids=["no byte", "white space"])
def test_an_emptied_file_takes_its_document_with_it(
    engine: KnowledgeEngine, docs: Path, text: str, way: str, named: str
) -> None:
    engine.sync("docs")
    (docs / "tide.md").write_text(text)
    planned = engine.sync(named, dry_run=True)
    report = getattr(engine, way)(named)
    assert report.removed == planned.removed == ("docs/tide.md",)
    assert report.outdated == planned.outdated == ()
    assert ids(engine) == ["docs/barn.md"]
    assert engine.ask("Who built the tide gauge?", mode="local").abstained


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("way", ["sync", "add"])
def test_a_file_that_cannot_be_read_any_more_leaves_its_document_outdated_until_it_can(
    engine: KnowledgeEngine, docs: Path, breaks: Callable[[Path], None], way: str
) -> None:
    engine.sync("docs")
    breaks(docs / "tide.md")
    planned = engine.sync("docs", dry_run=True)
    for _ in range(2):
        report = getattr(engine, way)("docs")
        assert (report.removed, report.unchanged) == ((), ("docs/barn.md",))
        assert [row.source for row in report.outdated] == ["docs/tide.md"]
        assert "keeps the text of its last readable state" in report.outdated[0].reason
        assert report.outdated == planned.outdated
        assert outdated(engine).keys() == {"docs/tide.md"}
        assert engine.stats()["outdated"] == 1
    page = engine.catalogue.page().items
    assert [bool(one.outdated) for one in page] == [False, True]
    assert engine.problems() == []
    (docs / "tide.md").unlink()
    (docs / "tide.md").write_text(TIDE)
    assert getattr(engine, way)("docs").unchanged == ("docs/barn.md", "docs/tide.md")
    assert outdated(engine) == {}


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("way", ["sync", "add"])
def test_strictly_a_file_that_cannot_be_read_takes_its_document_with_it(
    engine: KnowledgeEngine, docs: Path, breaks: Callable[[Path], None], way: str
) -> None:
    engine.sync("docs")
    breaks(docs / "tide.md")
    planned = engine.sync("docs", dry_run=True, strict=True)
    report = getattr(engine, way)("docs", strict=True)
    assert report.removed == planned.removed == ("docs/tide.md",)
    assert report.outdated == ()
    assert ids(engine) == ["docs/barn.md"]


def test_a_document_that_changes_again_is_no_longer_outdated(
    engine: KnowledgeEngine, docs: Path
) -> None:
    engine.sync("docs")
    make_binary(docs / "tide.md")
    engine.sync("docs")
    (docs / "tide.md").write_text(TIDE + "It was moved.\n")
    assert engine.sync("docs").changed == ("docs/tide.md",)
    assert outdated(engine) == {}


def test_a_folder_in_place_of_a_file_takes_its_document_with_it(
    engine: KnowledgeEngine, docs: Path
) -> None:
    engine.sync("docs")
    (docs / "tide.md").unlink()
    (docs / "tide.md").mkdir()
    assert engine.sync("docs").removed == ("docs/tide.md",)


def test_a_folder_inside_that_cannot_be_listed_keeps_its_documents_outdated(
    engine: KnowledgeEngine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "sub").mkdir()
    (docs / "sub" / "pier.md").write_text("# Pier\n\nA pier.\n")
    engine.sync("docs")
    listed = os.scandir

    def refuse(path: Path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr("engine.ingest.discovery.os.scandir", refuse)
    report = engine.sync("docs")
    assert report.removed == ()
    assert outdated(engine).keys() == {"docs/sub/pier.md"}
    monkeypatch.setattr("engine.ingest.discovery.os.scandir", listed)
    assert "docs/sub/pier.md" in engine.sync("docs").unchanged
    assert outdated(engine) == {}


def test_a_broken_archive_and_a_broken_member_keep_what_they_held(
    engine: KnowledgeEngine, docs: Path
) -> None:
    archive(docs / "inner.zip", pier_md="# Pier\n\nA pier.\n", quay_md="# Quay\n\nA quay.\n")
    inner = (docs / "inner.zip").read_bytes()
    (docs / "inner.zip").unlink()

    def write(data: bytes) -> None:
        with zipfile.ZipFile(docs / "a.zip", "w") as file:
            file.writestr("inner.zip", data)
            file.writestr("tide.md", TIDE)

    write(inner)
    engine.sync("docs")
    members = {"docs/a.zip!/inner.zip!/pier.md", "docs/a.zip!/inner.zip!/quay.md"}
    assert members < set(ids(engine))
    write(inner[:40])
    assert engine.sync("docs").removed == ()
    assert outdated(engine).keys() == members
    (docs / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    assert engine.sync("docs").removed == ()
    assert outdated(engine).keys() == members | {"docs/a.zip!/tide.md"}
    write(b"")
    assert set(engine.sync("docs").removed) == members
    assert outdated(engine) == {}


def test_an_upload_that_cannot_be_read_changes_nothing(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add_files({"tide": docs / "tide.md"})
    for data in (b"", b"\x00\x01\x02\x03" * 99):
        (docs / "tide.md").write_bytes(data)
        report = engine.add_files({"tide": docs / "tide.md"})
        assert (report.removed, report.outdated, len(report.failed)) == ((), (), 1)
    assert outdated(engine) == {}
    assert engine.document_text("tide") == TIDE


def many_notes(docs: Path, count: int) -> list[Path]:
    paths = [docs / f"note{number:03}.md" for number in range(count)]
    for path in paths:
        path.write_text(f"# {path.stem}\n\nEdda Vik wrote {path.stem}.\n")
    return paths


def removed_by(kind: str, paths: list[Path]) -> None:
    for path in paths:
        match kind:
            case "unlinked":
                path.unlink()
            case "emptied":
                path.write_bytes(b"")
            case "white space":
                path.write_text("\n\n")
            case _:
                make_binary(path)


@pytest.mark.parametrize("kind", ["unlinked", "emptied", "white space", "binary"])
def test_a_sync_that_would_remove_more_than_a_fifth_stops_and_wants_a_yes(
    engine: KnowledgeEngine, docs: Path, kind: str
) -> None:
    notes = many_notes(docs, 60)
    engine.sync("docs")
    removed_by(kind, notes[:21])
    strict = kind == "binary"
    (planned,) = [
        note for note in engine.sync("docs", dry_run=True, strict=strict).notes if "--yes" in note
    ]
    with pytest.raises(TooManyRemovals, match=r"21 of 62 documents .* --yes") as stopped:
        engine.sync("docs", strict=strict)
    assert str(stopped.value) in planned
    assert len(ids(engine)) == 62
    report = engine.sync("docs", strict=strict, remove_many=True)
    assert len(report.removed) == 21
    assert len(ids(engine)) == 41


def test_twenty_and_a_fifth_may_go_without_a_yes(engine: KnowledgeEngine, docs: Path) -> None:
    notes = many_notes(docs, 103)
    engine.sync("docs")
    removed_by("unlinked", notes[:21])
    assert len(engine.sync("docs").removed) == 21
    removed_by("unlinked", notes[21:41])
    assert len(engine.sync("docs").removed) == 20


def test_what_the_patterns_leave_out_goes(engine: KnowledgeEngine, docs: Path) -> None:
    engine.sync("docs")
    assert engine.sync("docs", exclude=["barn*"]).removed == ("docs/barn.md",)


def test_an_unchanged_file_is_not_even_opened(
    engine: KnowledgeEngine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync("docs")
    monkeypatch.setattr("engine.ingest.change_detection._RACY_NANOSECONDS", 0)
    engine.sync("docs")  # hashed once more, since they had only just been written
    opened: list[Path] = []
    monkeypatch.setattr(
        "engine.ingest.change_detection.sha256_of", lambda path, **_: opened.append(path)
    )
    report = engine.sync("docs")
    assert report.unchanged == ("docs/barn.md", "docs/tide.md")
    assert report.failed == ()
    assert opened == []


def test_a_change_that_keeps_size_and_time_is_seen(engine: KnowledgeEngine, docs: Path) -> None:
    path = docs / "tide.md"
    os.utime(path, (LONG_AGO, LONG_AGO))
    engine.sync("docs")
    path.write_text(TIDE.replace("1921", "1922"))
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert engine.sync("docs").changed == ("docs/tide.md",)


# Archives


def test_members_of_an_archive_come_change_and_go_by_themselves(
    engine: KnowledgeEngine, docs: Path
) -> None:
    archive(docs / "a.zip", tide_md=TIDE, barn_md=BARN)
    (docs / "tide.md").unlink()
    (docs / "barn.md").unlink()
    assert engine.sync("docs").added == ("docs/a.zip!/barn.md", "docs/a.zip!/tide.md")
    archive(docs / "a.zip", tide_md=TIDE, pier_md="# Pier\n\nA pier.\n")
    report = engine.sync("docs")
    assert report.added == ("docs/a.zip!/pier.md",)
    assert report.unchanged == ("docs/a.zip!/tide.md",)
    assert report.removed == ("docs/a.zip!/barn.md",)
    again = engine.sync("docs")
    assert again.unchanged == ("docs/a.zip!/pier.md", "docs/a.zip!/tide.md")
    assert again.chunks == 0


def test_an_archive_goes_with_its_file_and_by_its_id(engine: KnowledgeEngine, docs: Path) -> None:
    archive(docs / "a.zip", tide_md=TIDE, barn_md=BARN)
    engine.sync("docs")
    removed = ("docs/a.zip!/barn.md", "docs/a.zip!/tide.md")
    assert engine.remove("docs/a.zip").removed == removed
    engine.sync("docs")
    (docs / "a.zip").unlink()
    assert engine.sync("docs").removed == removed


# Only what changed


def test_a_changed_paragraph_costs_the_chunks_it_touches(
    engine: KnowledgeEngine, docs: Path
) -> None:
    parts = [
        f"## Part {n}\n\n" + " ".join(f"Sentence {n} number {i} says a thing." for i in range(60))
        for n in range(40)
    ]
    path = docs / "long.md"
    path.write_text("# Long\n\n" + "\n\n".join(parts))
    first = engine.sync("docs")
    parts[20] = parts[20].replace("Sentence 20 number 30 says", "Quite another sentence says")
    path.write_text("# Long\n\n" + "\n\n".join(parts))
    second = engine.sync("docs")
    assert second.changed == ("docs/long.md",)
    assert first.embedded > 40
    assert 0 < second.embedded <= 2
    assert 0 < second.extracted <= 2


def test_other_metadata_alone_embeds_nothing_again(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add("docs")
    report = engine.add("docs", metadata={"tags": ("red",)})
    assert report.changed == ("docs/barn.md", "docs/tide.md")
    assert report.embedded == 0
    assert report.extracted == 0


# Metadata, filters, namespaces


def test_metadata_stay_until_others_are_given(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add("docs/tide.md", metadata={"tags": ("red",)})
    assert engine.add("docs").unchanged == ("docs/tide.md",)
    assert found(engine, "Edda Vik", filters={"tags": "red"}) == {"docs/tide.md"}
    engine.add("docs/tide.md", metadata={})
    assert found(engine, "Edda Vik", filters={"tags": "red"}) == set()


def test_a_filter_confines_every_way_to_ask(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add("docs/tide.md", metadata={"tags": ("red",), "date": "2024-05-01"})
    engine.add("docs/barn.md", metadata={"tags": ("blue",), "date": "2023-05-01"})
    question = "What did Edda Vik do?"
    filters = MetadataFilters(filters=[MetadataFilter(key="tags", value="red")])
    assert found(engine, question) == {"docs/barn.md", "docs/tide.md"}
    assert found(engine, question, filters=filters) == {"docs/tide.md"}
    assert found(engine, question, filters=["date<2024"]) == {"docs/barn.md"}
    for mode in ("auto", "local", "global"):
        answer = engine.ask(question, mode=mode, filters=filters)
        assert {citation.document_id for citation in answer.citations} == {"docs/tide.md"}, mode
        assert "Skellhaven" not in answer.text
    nodes = engine.as_retriever(filters=filters).retrieve(question)
    assert [node.node.ref_doc_id for node in nodes] == ["docs/tide.md"]
    index = engine.vector_index
    assert index is not None
    vector_nodes = index.as_retriever(filters=filters).retrieve(question)
    assert [node.node.ref_doc_id for node in vector_nodes] == ["docs/tide.md"]


def test_vectors_can_be_asked_for_and_deleted_by_nodes_and_by_filters(
    engine: KnowledgeEngine, docs: Path
) -> None:
    engine.add("docs/tide.md", metadata={"tags": ("red",)})
    engine.add("docs/barn.md", metadata={"tags": ("blue",)})
    index = engine.vector_index
    assert index is not None

    def near(**options: object) -> dict[str, str]:
        found = index.as_retriever(similarity_top_k=9, **options).retrieve("Edda Vik")
        return {str(node.node.ref_doc_id): node.node.node_id for node in found}

    ids_of = near()
    assert ids_of.keys() == {"docs/tide.md", "docs/barn.md"}
    assert near(doc_ids=["docs/barn.md"]).keys() == {"docs/barn.md"}
    blue = MetadataFilters(filters=[MetadataFilter(key="tags", value="blue")])
    index.store.delete_nodes([ids_of["docs/tide.md"]], filters=blue)
    assert near() == ids_of
    index.store.delete_nodes(filters=blue)
    assert near().keys() == {"docs/tide.md"}


def test_a_filter_that_admits_nothing_finds_nothing(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add("docs")
    for mode in ("local", "global"):
        answer = engine.ask("What did Edda Vik do?", mode=mode, filters=["tags=green"])
        assert answer.abstained
        assert answer.citations == ()


def test_what_is_filtered_out_does_not_push_anything_out_of_the_list(
    engine: KnowledgeEngine, docs: Path
) -> None:
    for number in range(30):
        engine.add_text(
            f"Edda Vik Edda Vik Edda Vik wrote letter {number}.", document_id=f"letter-{number:02}"
        )
    engine.add("docs/tide.md", metadata={"tags": ("red",)})
    assert found(engine, "Edda Vik", top_k=1, filters=["tags=red"]) == {"docs/tide.md"}


def test_front_matter_can_be_asked_for(engine: KnowledgeEngine, docs: Path) -> None:
    front = "---\ndate: 2024-05-01\ntags: [tide, gauge]\n---\n"
    (docs / "tide.md").write_text(front + TIDE)
    engine.add("docs")
    assert found(engine, "Edda Vik", filters=["tags=gauge", "date>=2024"]) == {"docs/tide.md"}


def test_namespaces_keep_two_of_one_name_apart(engine: KnowledgeEngine, docs: Path) -> None:
    engine.add("docs/tide.md", namespace="north")
    (docs / "tide.md").write_text(TIDE.replace("Edda Vik", "Bjorn Aske"))
    engine.add("docs/tide.md", namespace="south")
    assert ids(engine) == ["north::docs/tide.md", "south::docs/tide.md"]
    assert found(engine, "Who built the tide gauge?", namespace="north") == {"north::docs/tide.md"}
    answer = engine.ask("Who built the tide gauge?", mode="local", namespace="south")
    assert "Bjorn Aske" in answer.text
    assert "Edda Vik" not in answer.text
    overview = engine.ask("What are the main themes?", mode="global", namespace="north")
    assert "Bjorn" not in overview.text
    assert engine.remove("docs/tide.md", namespace="north").removed == ("north::docs/tide.md",)
    assert ids(engine) == ["south::docs/tide.md"]


def test_sync_of_a_namespace_leaves_the_others(engine: KnowledgeEngine, docs: Path) -> None:
    for namespace in ("", "north", "south"):
        engine.sync("docs", namespace=namespace)
    (docs / "barn.md").unlink()
    assert engine.sync("docs", namespace="north").removed == ("north::docs/barn.md",)
    assert engine.sync("docs").removed == ("docs/barn.md",)
    assert "south::docs/barn.md" in ids(engine)


@pytest.mark.parametrize("namespace", ["a::b", "a/b", "x" * 65, "ü"])
def test_a_namespace_that_cannot_be_is_refused(engine: KnowledgeEngine, namespace: str) -> None:
    with pytest.raises(SourceError, match="namespace"):
        engine.add_text("x", document_id="d", namespace=namespace)


def test_a_condition_that_is_none_is_refused(engine: KnowledgeEngine) -> None:
    with pytest.raises(QuestionError, match="filter not usable: "):
        engine.retrieve("x", filters=["red"])


# Older libraries


FIRST_TABLES = {
    "chunks",
    "communities",
    "documents",
    "entities",
    "keywords",
    "links",
    "members",
    "mentions",
    "names",
    "relations",
    "reports",
    "state",
    "statements",
    "vectors",
}


def test_a_library_of_the_first_schema_opens_and_goes_on(
    tmp_path: Path, open_engine: OpenEngine, docs: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add("docs")
        answer = engine.ask("Who built the tide gauge?", mode="local")
    with sqlite3.connect(tmp_path / "library" / "library.db") as database:
        database.execute("DROP INDEX ix_documents_source")
        database.execute("DROP INDEX ix_documents_namespace")
        for kind in ("subjects", "objects", "entities", "relations"):
            database.execute(f"DROP INDEX described_{kind}")
        database.execute("DROP INDEX dirty_communities")
        database.execute("DROP INDEX entities_by_mentions")
        for table, columns in (
            ("chunks", ("context", "read_start", "read_end")),
            ("documents", ("namespace", "source", "source_sha256", "given", "outdated")),
            ("statements", ("description", "strength", "inferred")),
            ("entities", ("description",)),
            ("relations", ("description",)),
            ("keywords", ("heading", "stamp")),
        ):
            for column in columns:
                database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        held = {
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
        for table in sorted(held - FIRST_TABLES):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version = 1")
    database.close()
    with open_engine(tmp_path / "library") as engine:
        assert engine.usage() == []
        assert engine.ask("Who built the tide gauge?", mode="local").text == answer.text
        assert engine.sync("docs").unchanged == ("docs/barn.md", "docs/tide.md")
        (docs / "barn.md").unlink()
        assert engine.sync("docs").removed == ("docs/barn.md",)
        assert engine.problems() == []


def test_what_stands_beside_a_chunk_never_enters_its_text(
    engine: KnowledgeEngine, docs: Path
) -> None:
    engine.add("docs")
    for node in engine.as_retriever().retrieve("Edda Vik"):
        text = engine.document_text(str(node.node.ref_doc_id))
        assert node.node.get_content(MetadataMode.NONE) in text
