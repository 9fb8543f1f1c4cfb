"""Keeping a library in step with its sources from the command line, as a process of its own."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from warm_process import Forked

SECONDS = 120
QUIET_SECONDS = 2.5
"""Longer than what happens in a folder is gathered for before it is looked at."""
ODD_NAMES = (
    "a name with spaces.md",
    "灯塔 笔记.md",
    "🌊 waves 🚢.md",
    "-dash.md",
    "--help.md",
    "[x]!*.md",
    "long" * 60 + ".md",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `docs/`: two notes."""
    (tmp_path / "docs").mkdir()
    note(tmp_path, "barn.md", "The Skellhaven barn was painted by Edda Vik.")
    note(tmp_path, "tide.md", "The Port Ansgar tide gauge was built by Edda Vik.")
    return tmp_path


def note(place: Path, name: str, text: str) -> None:
    (place / "docs" / name).write_text(f"# {Path(name).stem}\n\n{text}\n", encoding="utf8")


def held(loregraph, place: Path, *options: str) -> list[str]:
    done = loregraph(place, "stats", "--documents", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [document["id"] for document in json.loads(done.stdout)["documents_listed"]]


# --- sync ---------------------------------------------------------------------------------------


def test_a_dry_run_says_what_sync_then_does(loregraph, place: Path) -> None:
    loregraph(place, "sync", "docs")
    (place / "docs" / "barn.md").unlink()
    note(place, "tide.md", "It was built anew.")
    note(place, "new.md", "A new pier.")
    planned = loregraph(place, "sync", "docs", "--dry-run")
    assert planned.returncode == 0
    assert planned.stdout == (
        "would be: 1 added, 1 changed, 1 removed\n"
        "  added docs/new.md\n  changed docs/tide.md\n  removed docs/barn.md\n"
    )
    assert held(loregraph, place) == ["docs/barn.md", "docs/tide.md"]
    done = loregraph(place, "sync", "docs")
    assert done.returncode == 0
    assert done.stdout.startswith("1 added, 1 changed, 1 removed")
    assert held(loregraph, place) == ["docs/new.md", "docs/tide.md"]


def test_a_dry_run_makes_no_library_and_says_what_it_leaves_out(loregraph, place: Path) -> None:
    sqlite3.connect(place / "a.db").close()
    done = loregraph(place, "sync", "docs", "sqlite:///a.db", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("would be: 2 added\n")
    assert "databases are left out" in done.stdout
    assert sorted(path.name for path in place.iterdir()) == ["a.db", "docs"]


def test_names_of_every_kind_go_in_change_and_go(loregraph, place: Path) -> None:
    for name in ODD_NAMES:
        note(place, name, "Captain Ada Brine lit the lamp.")
    added = json.loads(loregraph(place, "sync", "docs", "--json").stdout)
    assert set(added["added"]) == {f"docs/{name}" for name in (*ODD_NAMES, "barn.md", "tide.md")}
    for name in ODD_NAMES:
        (place / "docs" / name).unlink()
    done = loregraph(place, "sync", "docs", "--json")
    assert set(json.loads(done.stdout)["removed"]) == {f"docs/{name}" for name in ODD_NAMES}
    done = loregraph(place / "docs", "add", "--library", "../other", "--", "tide.md", "barn.md")
    assert done.returncode == 0


def test_a_killed_sync_loses_nothing_and_goes_on(loregraph, start, place: Path) -> None:
    for number in range(100):
        note(place, f"n{number:03}.md", f"Captain Ada Brine met Orrin Vale on day {number}. " * 40)
    with Path(os.devnull).open("wb") as nowhere:
        process = start(place, "sync", "docs", stdout=nowhere, stderr=nowhere)
    until(lambda: stored(place) > 5, of=process)
    process.kill()
    process.wait(timeout=SECONDS)
    assert 5 < stored(place) < 102
    done = loregraph(place, "sync", "docs", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["added"]) + len(report["unchanged"]) + len(report["changed"]) == 102
    assert len(held(loregraph, place)) == 102
    assert re.search(r"^up to date +yes$", loregraph(place, "stats").stdout, re.M)


def stored(place: Path) -> int:
    """How many documents a library holds, as another process sees it."""
    path = place / "library" / "library.db"
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=10)
    try:
        return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are not there yet
        return 0
    finally:
        connection.close()


def until(wanted: Callable[[], bool], *, of: Forked) -> None:
    end = time.monotonic() + SECONDS
    while not wanted():
        assert of.poll() is None, f"ended with {of.returncode}"
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.02)


# --- reports and words of the owner -------------------------------------------------------------


def test_a_report_lists_every_file_with_what_came_of_it(loregraph, place: Path) -> None:
    loregraph(place, "add", "docs/barn.md")
    (place / "docs" / "empty.md").touch()
    (place / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (place / "docs" / "data.bin").write_bytes(b"\0\1\2")
    done = loregraph(place, "add", "docs", "--report", "out/report.json")
    assert done.returncode == 3
    report = json.loads((place / "out" / "report.json").read_text(encoding="utf8"))
    outcomes = {row["source"]: row["outcome"] for row in report["sources"]}
    assert outcomes == {
        "docs/barn.md": "unchanged",
        "docs/broken.pdf": "failed",
        "docs/data.bin": "skipped",
        "docs/empty.md": "empty",
        "docs/tide.md": "added",
    }
    assert sum(report["counts"].values()) == 5
    assert all(row.get("reason") or row["outcome"] in DONE for row in report["sources"])


DONE = ("added", "unchanged")


def test_a_file_that_breaks_is_said_to_be_outdated_and_goes_where_that_is_asked_for(
    loregraph, place: Path
) -> None:
    loregraph(place, "sync", "docs")
    (place / "docs" / "tide.md").write_bytes(b"\0\1\2" * 99)
    planned = loregraph(place, "sync", "docs", "--dry-run")
    assert planned.stdout.startswith("would be: 1 unchanged, 1 failed, 1 outdated")
    done = loregraph(place, "sync", "docs", "--report", "report.json")
    assert done.returncode == 3
    assert done.stdout.startswith("1 unchanged, 1 failed, 1 outdated")
    assert "outdated docs/tide.md: keeps the text of its last readable state" in done.stderr
    assert "--strict" in done.stderr
    report = json.loads((place / "report.json").read_text(encoding="utf8"))
    assert report["counts"] == {"outdated": 1, "unchanged": 1}
    stats = loregraph(place, "stats", "--documents").stdout
    assert re.search(r"^outdated +1$", stats, re.M)
    assert re.search(r"docs/tide\.md .*outdated$", stats, re.M)
    done = loregraph(place, "sync", "docs", "--strict")
    assert done.stdout.startswith("1 unchanged, 1 removed")
    assert held(loregraph, place) == ["docs/barn.md"]


def test_a_sync_that_would_remove_many_stops_until_it_is_agreed_to(loregraph, place: Path) -> None:
    for number in range(40):
        note(place, f"n{number:02}.md", f"Note {number}.")
    loregraph(place, "sync", "docs")
    for number in range(30):
        (place / "docs" / f"n{number:02}.md").write_bytes(b"")
    stopped = loregraph(place, "sync", "docs")
    assert (stopped.returncode, stopped.stdout) == (1, "")
    (line,) = stopped.stderr.splitlines()
    assert line.startswith("loregraph: 30 of 42 documents would be removed, more than a fifth")
    assert "--yes" in line
    planned = loregraph(place, "sync", "docs", "--dry-run")
    assert "it would stop: 30 of 42 documents" in planned.stdout
    assert len(held(loregraph, place)) == 42
    assert loregraph(place, "sync", "docs", "--yes").stdout.startswith("12 unchanged, 30 removed")


def test_a_disk_that_goes_away_while_it_is_watched_takes_nothing_though_yes_was_said(
    loregraph, watching, place: Path, tmp_path: Path
) -> None:
    for number in range(30):
        note(place, f"n{number:02}.md", f"Note {number}.")
    with watching(place, "docs", "--yes") as watch:
        watch.report()
        until(lambda: "watching" in (tmp_path / "said").read_text(), of=watch.process)
        for path in (place / "docs").glob("n*.md"):
            path.unlink()
        until(lambda: "would be removed" in (tmp_path / "said").read_text(), of=watch.process)
        assert watch.interrupt() == 0
    assert len(held(loregraph, place)) == 32


def test_a_report_inside_the_folder_is_no_document(loregraph, place: Path) -> None:
    for _ in range(2):
        done = loregraph(place, "sync", "docs", "--report", "docs/a report [1].json")
        assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 unchanged")
    assert held(loregraph, place) == ["docs/barn.md", "docs/tide.md"]


def test_tags_metadata_and_namespaces_confine_a_question(loregraph, place: Path) -> None:
    loregraph(place, "add", "docs/barn.md", "--tag", "red", "--meta", "year=1934")
    loregraph(place, "add", "docs/tide.md", "--tag", "blue", "--meta", "year=900")
    loregraph(place, "add", "docs/tide.md", "--namespace", "north")

    def found(*options: str) -> set[str]:
        done = loregraph(place, "search", "Edda Vik", "--json", *options)
        assert done.returncode == 0, done.stderr
        return {passage["document_id"] for passage in json.loads(done.stdout)}

    assert found("--where", "tags=red") == {"docs/barn.md"}
    assert found("--where", "year<1000") == {"docs/tide.md"}
    assert found("--where", "tags=red", "--where", "year<1000") == set()
    assert found("--namespace", "north") == {"north::docs/tide.md"}
    asked = loregraph(place, "ask", "Who painted the barn?", "--where", "tags=blue", "--json")
    assert "Skellhaven" not in json.loads(asked.stdout)["text"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["add", "docs", "--meta", "year"], "--meta 'year': write", id="--meta"),
        pytest.param(["sync", "docs", "--meta", "=1"], "--meta '=1': write", id="--meta of sync"),
    ],
)
def test_words_that_cannot_be_understood_make_no_library(
    loregraph, place: Path, arguments: list[str], said: str
) -> None:
    done = loregraph(place, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (place / "library").exists()


def test_a_condition_that_is_none_is_one_line(loregraph, place: Path) -> None:
    loregraph(place, "add", "docs")
    done = loregraph(place, "search", "Edda", "--where", "red")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("loregraph: filter not usable: 'red'; write key=value")


# --- addresses and databases --------------------------------------------------------------------


def test_a_database_is_named_like_a_file(loregraph, place: Path) -> None:
    connection = sqlite3.connect(place / "ships.db")
    connection.execute("CREATE TABLE ships (id INTEGER PRIMARY KEY, name TEXT, owner TEXT)")
    connection.execute("INSERT INTO ships VALUES (1, 'Petrel', 'Orrin Vale')")
    connection.commit()
    done = loregraph(place, "add", "sqlite:///ships.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 added")
    connection.execute("DELETE FROM ships")
    connection.commit()
    connection.close()
    done = loregraph(place, "sync", "sqlite:///ships.db", "--json")
    assert json.loads(done.stdout)["removed"] == ["sqlite:///ships.db/ships/1"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("http://127.0.0.1:9/x", "allow_private_addresses", id="this machine"),
        pytest.param("https://ada:hunter2@example.org/", "user name or password", id="a password"),
        pytest.param("sqlite:///none.db", "none.db", id="no database"),
        pytest.param("postgresql://ada:hunter2@h:x/d", "is not a database URL", id="no address"),
        pytest.param("none.md", "does not exist", id="no file"),
    ],
)
def test_a_source_that_cannot_be_had_fails_in_one_line_without_a_password(
    loregraph, place: Path, source: str, said: str
) -> None:
    done = loregraph(place, "add", source)
    assert done.returncode == 1
    assert done.stdout.startswith("1 failed")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


# --- watching -----------------------------------------------------------------------------------


class Watching:
    """A running `sync --watch --json`: each report as it comes, and what is said beside them."""

    def __init__(self, process: Forked, reports: int) -> None:
        self.process = process
        self._reports = reports
        self._read = ""

    def report(self, *, seconds: float = SECONDS) -> dict[str, Any] | None:
        """The next report; None if none comes in time."""
        end = time.monotonic() + seconds
        while "\n}\n" not in self._read:
            wait = max(0.0, end - time.monotonic())
            if not select.select([self._reports], [], [], wait)[0]:
                return None
            piece = os.read(self._reports, 65536)
            assert piece, "it ended"
            self._read += piece.decode()
        text, _, self._read = self._read.partition("\n}\n")
        found: dict[str, Any] = json.loads(text + "\n}")
        return found

    def until(self, word: str, name: str) -> None:
        """Read on to the report in which this happened to this document."""
        while (found := self.report()) is not None:
            if name in found[word]:
                return
        raise AssertionError(f"{name!r} was never {word}")

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=SECONDS)


@pytest.fixture
def watching(start, tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def run(place: Path, *arguments: str) -> Iterator[Watching]:
        said = tmp_path / "said"
        reports, end = os.pipe()
        command = ("sync", *arguments, "--watch", "--json")
        with said.open("wb") as errors, os.fdopen(end, "wb") as out:
            process = start(place, *command, stdout=out, stderr=errors)
        try:
            yield Watching(process, reports)
        finally:
            process.kill()
            process.wait(timeout=SECONDS)
            os.close(reports)

    return run


def test_what_happens_in_a_watched_folder_is_followed_until_ctrl_c(
    loregraph, watching, place: Path, tmp_path: Path
) -> None:
    with watching(place, "docs") as watch:
        assert watch.report()["added"] == ["docs/barn.md", "docs/tide.md"]
        note(place, "new.md", "A new pier.")
        watch.until("added", "docs/new.md")
        note(place, "new.md", "A pier that is older now.")
        watch.until("changed", "docs/new.md")
        (place / "docs" / "new.md").unlink()
        watch.until("removed", "docs/new.md")
        (place / "docs" / "sub").mkdir()
        note(place, "sub/deep.md", "A deep note.")
        watch.until("added", "docs/sub/deep.md")
        assert watch.interrupt() == 0
    said = (tmp_path / "said").read_text(encoding="utf8")
    assert "watching docs (Ctrl-C ends)" in said
    assert "Traceback" not in said
    assert held(loregraph, place) == ["docs/barn.md", "docs/sub/deep.md", "docs/tide.md"]


def test_a_burst_of_changes_is_followed_whole(loregraph, watching, place: Path) -> None:
    with watching(place, "docs") as watch:
        watch.report()
        for number in range(60):
            note(place, f"n{number:02}.md", f"Note {number}.")
        there: set[str] = set()
        rounds = 0
        while len(there) < 60:
            there |= set(watch.report()["added"])
            rounds += 1
        assert rounds <= 4
        assert watch.interrupt() == 0
    assert len(held(loregraph, place)) == 62


def test_library_and_report_inside_the_watched_folder_trigger_nothing(
    watching, place: Path
) -> None:
    options = ("--library", "docs/library", "--report", "docs/report.json")
    with watching(place, "docs", *options) as watch:
        assert watch.report()["added"] == ["docs/barn.md", "docs/tide.md"]
        assert watch.report(seconds=QUIET_SECONDS) is None
        note(place, "new.md", "A new pier.")
        assert watch.report()["added"] == ["docs/new.md"]
        assert watch.report(seconds=QUIET_SECONDS) is None


def test_a_change_during_the_first_round_is_not_missed(watching, place: Path) -> None:
    with watching(place, "docs") as watch:
        until((place / "library").exists, of=watch.process)
        note(place, "late.md", "A note that came late.")
        watch.until("added", "docs/late.md")


def test_a_busy_library_is_said_and_the_watching_goes_on(
    loregraph, watching, place: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text("library: {lock_timeout_seconds: 0.2}\n", encoding="utf8")
    with watching(place, "docs", "--profile", str(profile)) as watch:
        watch.report()
        until(lambda: "watching" in (tmp_path / "said").read_text(), of=watch.process)
        with held_by_another(place):
            note(place, "new.md", "A new pier.")
            until(
                lambda: "the watching goes on" in (tmp_path / "said").read_text(), of=watch.process
            )
        assert watch.report()["added"] == ["docs/new.md"], "it is tried again without a change"
        assert watch.interrupt() == 0
    assert len((tmp_path / "said").read_text().split("the watching goes on")) == 2


@contextmanager
def held_by_another(place: Path) -> Iterator[None]:
    from engine.storage.library import Library

    library = Library(place / "library", create=False)
    try:
        with library.writer():
            yield
    finally:
        library.close()


def test_nothing_to_watch_is_an_error(loregraph, place: Path) -> None:
    done = loregraph(place, "sync", "none", "--watch")
    assert done.returncode == 1
    assert "--watch: not a folder" in done.stderr
    assert not (place / "library").exists()
