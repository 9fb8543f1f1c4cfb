"""Extraction in a process of its own: the same library, and what a death of the process costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document

from engine import KnowledgeEngine
from engine.concurrency import WorkCancelled
from engine.config import Settings
from engine.ingest.child_process import ChildProcess, ProcessDied
from engine.storage import extraction_process
from engine.storage.extraction_process import ExtractionProcess
from graph.extraction.rule_based import LanguageExtractor

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
TEXTS = [
    f"Captain Moss{n} met Ida Brandt in Port Ellery. 艾达·布莱恩船长点亮了鸥港灯塔。"
    for n in range(70)
]
POISON = "Anders Vik poisoned the Gannet in Oslo."
ODD = "Anders Vik wrote an odd letter to Oslo."

# A process like the real one, whose rules do the worst to some texts.
HOSTILE = """
import os, time
from engine.storage import extraction_process
from graph.extraction.rule_based import LanguageExtractor

def extract(self, texts, own=LanguageExtractor.extract):
    if any("poisoned" in text for text in texts): os._exit(9)
    if any("odd" in text for text in texts): raise ValueError("odd")
    if any("asleep" in text for text in texts): time.sleep(600)
    return own(self, texts)

LanguageExtractor.extract = extract
main = extraction_process.main
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hostile_rules.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(extraction_process, "ENTRY", "hostile_rules")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Process ids of all that is started."""
    pids: list[int] = []
    own = ChildProcess

    def start(*args: Any, **options: Any) -> Any:
        process = own(*args, **options)
        pids.append(process._process.pid)
        return process

    monkeypatch.setattr(extraction_process, "ChildProcess", start)
    return pids


def _extractor() -> ExtractionProcess:
    local = LanguageExtractor(spacy_model="none")
    return ExtractionProcess(spacy_model="none", concepts=True, local=local)


def _library(path: Path, texts: Sequence[str], *, workers: int) -> tuple[Any, ...]:
    """What a new library of these texts holds, and which documents are partial."""
    sections = {
        "ingest": {"workers": workers},
        "embedding": {"kind": "tfidf", "multilingual": False},
        "graph": {"spacy_model": "none"},
    }
    settings = Settings.model_validate(sections)
    with KnowledgeEngine.open(path, settings=settings) as engine:
        report = engine.add([Document(id_=f"d{n:02}", text=text) for n, text in enumerate(texts)])
        assert report.failed == ()
        with engine._library.read() as connection:
            rows = [
                sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {table}")))  # noqa: S608
                for table in ("chunks", "vectors", "mentions", "statements", "entities", "links")
            ]
        return rows, report.partial


def _gone(pids: Sequence[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_process_gives_the_same_library_as_one_thread(tmp_path: Path, started: list[int]) -> None:
    alone = _library(tmp_path / "alone", TEXTS, workers=1)
    assert started == []
    assert _library(tmp_path / "process", TEXTS, workers=2) == alone
    assert len(started) == 1
    assert _gone(started)
    assert all(alone[0])


def test_a_small_batch_starts_no_process(tmp_path: Path, started: list[int]) -> None:
    _library(tmp_path / "small", TEXTS[:60], workers=2)
    assert started == []


@POSIX
def test_a_text_that_kills_the_process_costs_its_own_chunk(
    hostile: None, tmp_path: Path, started: list[int]
) -> None:
    rows, partial = _library(tmp_path / "process", [*TEXTS, POISON], workers=2)
    clean, _ = _library(tmp_path / "clean", TEXTS, workers=1)
    assert [each.source for each in partial] == [f"d{len(TEXTS)}"]
    assert "ProcessDied" in partial[0].reason
    assert rows[2:4] == clean[2:4]
    assert _gone(started)


@POSIX
def test_a_process_that_is_killed_is_replaced(started: list[int]) -> None:
    extractor = _extractor()
    expected = LanguageExtractor(spacy_model="none").extract(TEXTS)
    with extractor.open():
        assert extractor.extract(TEXTS) == expected
        os.kill(started[0], signal.SIGKILL)
        assert extractor.extract(TEXTS) == expected
    assert len(started) == 2
    assert _gone(started)


def test_an_exception_of_the_rules_is_raised_as_it_is_here(
    hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = _extractor()

    def extract(texts: Sequence[str]) -> Any:
        raise ValueError(texts[0])

    monkeypatch.setattr(extractor._local, "extract", extract)
    with extractor.open():
        assert len(extractor.extract(TEXTS[:2])) == 2
        with pytest.raises(ValueError, match="odd letter"):
            extractor.extract([ODD])


def test_where_no_process_starts_texts_are_read_here(
    monkeypatch: pytest.MonkeyPatch, started: list[int]
) -> None:
    monkeypatch.setattr(extraction_process, "ENTRY", "no_such_module")
    extractor = _extractor()
    expected = LanguageExtractor(spacy_model="none").extract(TEXTS[:3])
    with extractor.open():
        assert extractor.extract(TEXTS[:3]) == expected
        assert extractor.extract(TEXTS[:3]) == expected
    assert len(started) == 1


@POSIX
def test_what_kills_every_process_is_given_up(hostile: None) -> None:
    extractor = _extractor()
    with extractor.open(), pytest.raises(ProcessDied, match="exit code 9"):
        extractor.extract([POISON])


def test_stopping_ends_the_process_in_mid_work(hostile: None, started: list[int]) -> None:
    extractor, ends = _extractor(), list[BaseException]()

    def wait(call: Callable[[], object]) -> None:
        try:
            call()
        except WorkCancelled as error:
            ends.append(error)

    with extractor.open():
        extractor.extract(TEXTS[:1])
        asleep = threading.Thread(target=wait, args=(lambda: extractor.extract(["asleep"]),))
        asleep.start()
        extractor.stop()
        asleep.join()
    assert len(ends) == 1
    assert _gone(started)


@POSIX
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_with_the_one_that_started_it(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "hostile_rules.py").write_text(HOSTILE)
    program = textwrap.dedent(f"""
        import signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
        sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]
        from engine.storage import extraction_process
        from graph.extraction.rule_based import LanguageExtractor
        extraction_process.ENTRY = "hostile_rules"
        local = LanguageExtractor(spacy_model="none")
        process = extraction_process.ExtractionProcess
        extractor = process(spacy_model="none", concepts=True, local=local)
        with extractor.open():
            extractor.extract(["Ida Brandt"])
            print(extractor._process._process.pid, flush=True)
            extractor.extract(["asleep"])
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        state = _state(pid)
        if state in ("", "Z"):
            break
        os.sched_yield()
        threading.Event().wait(0.05)
    assert _state(pid) in ("", "Z")


def _state(pid: int) -> str:
    """State of a process; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
