"""The same documents make the same library, by whatever way it came to hold them."""

from __future__ import annotations

import hashlib
import itertools
import os
import pkgutil
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from engine import KnowledgeEngine
from engine.storage.graph_api import metadata
from graph.export.subgraph import to_json

VERSIONS = {
    "harbour.md": (
        "# Harbour log\n\nCaptain Ada Brine moored the Petrel at Gull Quay. Ada Brine founded "
        "the Gull Quay Society with Dr. Tomas Reed.\n\nThe Petrel sailed on Monday.",
        "# Harbour log\n\nCaptain Ada Brine sold the Petrel to Orrin Vale.\n\n"
        "Gull Quay was rebuilt.",
    ),
    "society.md": (
        "# Gull Quay Society\n\nThe Gull Quay Society meets in Port Merrow. Tomas Reed chairs the "
        "Gull Quay Society (GQS). Brine resigned.",
        "# Gull Quay Society\n\nOrrin Vale chairs the GQS. Port Merrow pays for it.",
    ),
    "reed.txt": (
        "Tomas Reed was born in Port Merrow.\n\nDr. Reed wrote Tides of Merrow in 1931.",
        "Tomas Reed died at sea aboard the Petrel.",
    ),
    "zh.md": (
        "# 港务记录\n\n林若溪（Lin Ruoxi）在海鸥码头工作。"
        "林若溪认识托马斯·里德。《潮汐志》由林若溪撰写。",
        "# 港务记录\n\n林若溪离开了海鸥码头。",
    ),
}

Step = tuple[str, int]
"""A file's name, and the version it gets; −1 removes it."""

steps = st.lists(
    st.tuples(st.sampled_from(sorted(VERSIONS)), st.sampled_from([-1, 0, 1])), max_size=8
)


def contents(engine: KnowledgeEngine) -> tuple[str, dict[str, list[tuple[object, ...]]]]:
    """The graph's export, and every row of every table that is not a counter."""
    rows = {}
    with engine._library.read() as connection:
        for table in metadata.sorted_tables:
            if table.name != "state":
                found = connection.execute(text(f"SELECT * FROM {table.name}")).all()  # noqa: S608
                rows[table.name] = sorted(tuple(row) for row in found)
    return to_json(engine.graph_index.export()), rows


def apply(engine: KnowledgeEngine, taken: Sequence[Step]) -> dict[str, int]:
    held: dict[str, int] = {}
    for name, version in taken:
        if version < 0:
            engine.remove(name)
            held.pop(name, None)
        else:
            engine.add_text(VERSIONS[name][version], document_id=name)
            held[name] = version
    return held


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(taken=steps)
def test_any_sequence_of_add_change_and_remove_ends_as_a_fresh_build(
    open_engine, taken: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open_engine(Path(folder) / "walked") as walked:
            held = apply(walked, taken)
            after = contents(walked)
        with open_engine(Path(folder) / "fresh") as fresh:
            apply(fresh, sorted(held.items()))
            assert contents(fresh) == after


@pytest.mark.parametrize(
    "place",
    ["graph.extraction.rule_based.LanguageExtractor._read", "graph.linking.introduced_names"],
)
@settings(
    max_examples=5,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(taken=steps)
def test_so_does_any_sequence_in_which_some_texts_cannot_be_read_or_linked(
    open_engine, place: str, taken: list[Step]
) -> None:
    owner, _, name = place.rpartition(".")
    whole = getattr(pkgutil.resolve_name(owner), name)

    def fails(*args: Any, **more: Any) -> Any:
        if any("Orrin Vale" in str(getattr(each, "text", each)) for each in args):
            raise ValueError("no way through")
        return whole(*args, **more)

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(place, fails)
        with open_engine(Path(folder) / "walked") as walked:
            held = apply(walked, taken)
            after = contents(walked)
            partial = {one.source for one in walked.partial()}
        with open_engine(Path(folder) / "fresh") as fresh:
            apply(fresh, sorted(held.items()))
            assert contents(fresh) == after
    assert partial == {name for name, n in held.items() if "Orrin Vale" in VERSIONS[name][n]}


def test_the_order_of_arrival_does_not_matter(open_engine, tmp_path: Path) -> None:
    seen = []
    for number, order in enumerate(itertools.islice(itertools.permutations(VERSIONS), 0, 24, 7)):
        with open_engine(tmp_path / str(number)) as engine:
            apply(engine, [(name, 0) for name in order])
            seen.append(contents(engine))
    assert all(one == seen[0] for one in seen)


def test_one_call_and_many_calls_make_the_same_library(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, versions in VERSIONS.items():
        (folder / name).write_text(versions[0], encoding="utf8")
    monkeypatch.chdir(tmp_path)
    with open_engine(tmp_path / "at-once") as engine:
        engine.add("docs")
        at_once = contents(engine)
    with open_engine(tmp_path / "one-by-one") as engine:
        for name in VERSIONS:
            engine.add(f"docs/{name}")
        assert contents(engine) == at_once


def test_adding_the_same_again_embeds_extracts_and_writes_nothing(
    open_engine, tmp_path: Path, corpus: Path
) -> None:
    folder = tmp_path / "docs"
    shutil.copytree(corpus / "zh", folder)
    path = tmp_path / "library"
    with open_engine(path) as engine:
        first = engine.add(folder)
    before = hashlib.sha256((path / "library.db").read_bytes()).hexdigest()
    with open_engine(path) as engine:
        again = engine.add(folder)
    after = hashlib.sha256((path / "library.db").read_bytes()).hexdigest()
    assert len(first.added) == len(again.unchanged) == 9
    assert (again.added, again.changed, again.embedded, again.extracted) == ((), (), 0, 0)
    assert before == after


def test_a_changed_document_embeds_only_what_changed(open_engine, tmp_path: Path) -> None:
    parts = [f"## Part {n}\n\n" + f"The {n}th lamp of Gull Quay burns. " * 30 for n in range(6)]
    with open_engine(
        tmp_path / "library", chunk={"size_tokens": 128, "overlap_tokens": 0}
    ) as engine:
        first = engine.add_text("# Lamps\n\n" + "\n\n".join(parts), document_id="lamps")
        parts[3] = parts[3].replace("burns", "is dark")
        second = engine.add_text("# Lamps\n\n" + "\n\n".join(parts), document_id="lamps")
    assert second.changed == ("lamps",)
    assert 0 < second.embedded < first.embedded / 3
    assert 0 < second.extracted < first.extracted / 3


def test_other_settings_make_a_document_count_as_changed(open_engine, tmp_path: Path) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(VERSIONS["reed.txt"][0], document_id="reed")
    with open_engine(
        tmp_path / "library", chunk={"size_tokens": 64, "overlap_tokens": 0}
    ) as engine:
        report = engine.add_text(VERSIONS["reed.txt"][0], document_id="reed")
    assert report.changed == ("reed",)


def test_two_builds_give_the_same_answers(open_engine, tmp_path: Path) -> None:
    questions = ["Who chairs the Gull Quay Society?", "What are the main themes?", "林若溪是谁？"]
    answers = []
    for order in (sorted(VERSIONS), sorted(VERSIONS, reverse=True)):
        with open_engine(tmp_path / order[0]) as engine:
            apply(engine, [(name, 0) for name in order])
            found = [engine.ask(question) for question in questions]
            answers.append([(a.text, a.mode, a.citations, a.abstained) for a in found])
    assert answers[0] == answers[1]
    assert any(citations for _, _, citations, _ in answers[0])


# --- files that are emptied, break, move and come back ------------------------------------------

FILES = ("harbour.md", "reed.txt", "society.md")
DEEDS = ("first", "second", "emptied", "binary", "fifo", "folder", "deleted", "other case")
deeds = st.lists(
    st.lists(st.tuples(st.sampled_from(FILES), st.sampled_from(DEEDS)), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


class Folder:
    """A folder to which things happen, and what a library in step with it holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.path.mkdir()
        (self.path / "always.md").write_text("# Always\n\nEdda Vik stays.\n")

    def do(self, name: str, deed: str) -> None:
        place = self.path / self._now(name)
        if deed == "other case":
            other = place.with_name(
                place.name.swapcase().replace(".MD", ".md").replace(".TXT", ".txt")
            )
            if place.exists():
                place.rename(other)
                self.states[other.name] = self.states.pop(place.name)
            return
        if place.is_dir():
            place.rmdir()
        place.unlink(missing_ok=True)
        self.states.pop(place.name, None)
        match deed:
            case "first" | "second":
                place.write_text(VERSIONS[name][deed == "second"], encoding="utf8")
            case "emptied":
                place.write_bytes(b"")
            case "binary":
                place.write_bytes(bytes(range(256)) * 9)
            case "fifo":
                os.mkfifo(place)
            case "folder":
                place.mkdir()
        if deed != "deleted":
            self.states[place.name] = deed

    def synchronised(self) -> dict[str, bool]:
        """By name what a library holds after a round, and whether that is outdated."""
        for name in [name for name in self.texts if name not in self.states]:
            del self.texts[name]
        for name, state in self.states.items():
            if state in ("first", "second"):
                self.texts[name] = (self.path / name).read_text(encoding="utf8")
            elif state in ("emptied", "folder"):
                self.texts.pop(name, None)
        return {name: self.states[name] in ("binary", "fifo") for name in self.texts}

    def mend(self) -> None:
        """Make every file what the library has of it, and nothing else."""
        for place in [*self.path.iterdir()]:
            if place.name != "always.md":
                place.rmdir() if place.is_dir() else place.unlink()
        for name, said in self.texts.items():
            (self.path / name).write_text(said, encoding="utf8")

    def _now(self, name: str) -> str:
        return next((held for held in self.states if held.casefold() == name), name)


@settings(
    max_examples=5,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
    deadline=None,
)
@example(rounds=[[("reed.txt", "first")], [("reed.txt", "emptied")]])
@example(rounds=[[("reed.txt", "first")], [("reed.txt", "binary")], [("reed.txt", "other case")]])
@example(rounds=[[("reed.txt", "first")], [("reed.txt", "fifo")], [("reed.txt", "second")]])
@example(rounds=[[("reed.txt", "first")], [("reed.txt", "folder")], [("reed.txt", "first")]])
@given(rounds=deeds)
def test_whatever_happens_to_files_a_library_holds_what_they_hold_or_says_that_it_is_outdated(
    open_engine, monkeypatch: pytest.MonkeyPatch, rounds: list[list[tuple[str, str]]]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        monkeypatch.chdir(place)
        folder = Folder(Path("docs"))
        with open_engine(Path("walked")) as walked:
            for events in rounds:
                for name, deed in events:
                    folder.do(name, deed)
                planned = walked.sync("docs", dry_run=True)
                report = walked.sync("docs")
                expected = folder.synchronised() | {"always.md": False}
                held = {row.id: row.outdated is not None for row in walked.documents()}
                assert held == {f"docs/{name}": state for name, state in expected.items()}
                for word in ("added", "changed", "unchanged", "removed", "failed", "outdated"):
                    assert getattr(planned, word) == getattr(report, word), word
                assert {row.source for row in report.outdated} == {k for k, v in held.items() if v}
                for name, said in folder.texts.items():
                    assert walked.document_text(f"docs/{name}") == said
            folder.mend()
            walked.sync("docs")
            after = contents(walked)
        with open_engine(Path("fresh")) as fresh:
            fresh.sync("docs")
            assert contents(fresh) == after
