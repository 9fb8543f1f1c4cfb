"""Reading in processes: what a hostile file costs, and what it does not."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EngineError, SourceError
from engine.ingest import child_process
from engine.ingest import sandbox as worker_handle
from engine.ingest.document import Content, Member, ReadOptions
from engine.ingest.load import Part, read_parts
from engine.ingest.sandbox import Job, ReaderPool, Reading
from engine.ingest.worker import (
    BrokenFrame,
    options_as_json,
    options_from_json,
    pack_frame,
    part_as_json,
    part_from_json,
    read_frame,
    write_frame,
)

ROOT = Path(__file__).parents[4]
MEBIBYTE = 1 << 20
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")

# A process like the real one, with readers that do the worst that a parser can do.
HOSTILE = """
import ctypes, os, subprocess, sys, time
from engine.ingest import registry as formats
from engine.ingest import worker as worker_process
from engine.ingest.document import Content
from engine.errors import SourceError

calls = []

class Panic(BaseException):
    pass

def act(data, options):
    calls.append(data)
    word, _, rest = data.decode().partition(" ")
    if word == "sleep": time.sleep(float(rest))
    if word == "spin":
        ctypes.PyDLL(None).usleep(int(rest) * 1_000_000)  # keeps the interpreter lock
    if word == "segfault": ctypes.string_at(0)
    if word == "abort":
        os.write(2, b"free(): invalid pointer\\n")
        os.abort()
    if word == "exit": os._exit(int(rest))
    if word == "sysexit": sys.exit(1)
    if word == "value": raise ValueError("no such\\nthing")
    if word == "wrapped":
        try: raise MemoryError
        except MemoryError as error: raise ValueError("bad file") from error
    if word == "panic": raise Panic("rust")
    if word == "source": raise SourceError("is encrypted: decrypt it")
    if word == "eat":
        held = []
        while True: held.append(bytearray(16 << 20))
    if word == "bad_alloc":
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\\n")
        os.abort()
    if word == "noise":
        for _ in range(2000):
            print("x" * 500)
            os.write(1, b"y" * 500)
            os.write(2, b"z" * 500)
    if word == "stdin": return Content(text=repr(sys.stdin.read()))
    if word == "second":
        if len(calls) > 1: ctypes.string_at(0)
    if word == "child":
        held = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open(rest, "w").write(str(held.pid))
        time.sleep(60)
    if word == "many": return Content(text="x" * int(rest))
    if word == "odd": return Content(text="x", metadata={"date": object()})
    return Content(text=f"{os.getpid()} read {word}", metadata={"tags": ("a", "b")}, pages=(0, 2))

formats.FORMATS[".bad"] = formats.Format("bad", act)
main = worker_process.main
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes in which `*.bad` is read by what its first word says."""
    (tmp_path / "hostile_process.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(worker_handle, "ENTRY", "hostile_process")


def _pool(
    *,
    workers: int = 1,
    timeout_seconds: float = 30,
    max_bytes: int = MEBIBYTE,
    memory_bytes: int = 2 << 30,
    options: ReadOptions | None = None,
) -> ReaderPool:
    return ReaderPool(
        options=options or ReadOptions(),
        max_bytes=max_bytes,
        workers=workers,
        timeout_seconds=timeout_seconds,
        memory_bytes=memory_bytes,
    )


def _bad(word: str) -> Job:
    return Job(name=f"{word.split()[0]}.bad", data=word.encode())


def _outcome(pool: ReaderPool, word: str) -> Reading | SourceError:
    return next(iter(pool.read([(0, _bad(word))])))[1]


def _text(reading: Reading | SourceError) -> str:
    assert isinstance(reading, Reading), reading
    content = reading.parts[0].content
    assert content is not None
    return content.text


def _gone(pid: int, *, seconds: float = 60) -> bool:
    """Whether the process ends in time; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if sys.platform == "linux":
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_a_file_reads_in_a_process_as_it_reads_here(tmp_path: Path) -> None:
    data = "# Größe 大小\r\n\r\ntext \U0001f600\r\n".encode()
    path = tmp_path / "größe 大小.md"
    path.write_bytes(data)
    here = read_parts(data, name=path.name, options=ReadOptions())
    with _pool() as pool:
        (_, by_path), (_, by_data) = pool.read(
            [(1, Job(name=path.name, path=path)), (2, Job(name=path.name, data=data))]
        )
    expected = Reading(sha256=sha256(data).hexdigest(), parts=tuple(here))
    assert by_path == expected
    assert by_data == expected


def test_results_come_in_the_order_of_the_jobs(hostile: None) -> None:
    words = ["sleep 0.3", "one", "two", "exit 3", "sleep 0.1", "three", "value", "four"]
    with _pool(workers=3) as pool:
        keys = [key for key, _ in pool.read((word, _bad(word)) for word in words)]
    assert keys == words


FATES = {
    "exit 3": "crashed its reader (exit code 3)",
    "value": "failed in its reader (ValueError: no such thing)",
    "panic": "failed in its reader (Panic: rust)",
    "sysexit": "failed in its reader (SystemExit: 1)",
    "odd": "failed in its reader (TypeError",
    "bad_alloc": "ingest.read_memory_bytes",
    "wrapped": "ingest.read_memory_bytes",
}
SIGNALS = {
    "segfault": "crashed its reader (SIGSEGV)",
    "abort": "crashed its reader (SIGABRT, free(): invalid pointer)",
}


def test_what_happens_to_one_file_is_its_own_reason_and_no_other_is_lost(hostile: None) -> None:
    fates = FATES if sys.platform == "win32" else {**FATES, **SIGNALS}
    words = [word for fate in fates for word in (fate, f"after {fate}")]
    with _pool(workers=2) as pool:
        results = dict(pool.read((word, _bad(word)) for word in words))
    for word, reason in fates.items():
        failure = results[word]
        assert isinstance(failure, SourceError)
        assert reason in str(failure)
        assert "\n" not in str(failure)
        assert "read after" in _text(results[f"after {word}"])


@LINUX
def test_a_file_that_asks_for_all_memory_is_refused_it(hostile: None) -> None:
    with _pool(memory_bytes=300 * MEBIBYTE) as pool:
        failure = _outcome(pool, "eat")
        assert "read fine" in _text(_outcome(pool, "fine"))
    assert str(failure) == (
        "needs more than 314,572,800 bytes of memory to be read: "
        "split it, or raise ingest.read_memory_bytes"
    )


@pytest.mark.parametrize("word", ["sleep 60", pytest.param("spin 60", marks=POSIX)])
def test_a_file_that_takes_too_long_is_given_up_once(
    hostile: None, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "loregraph.ingest"), _pool(timeout_seconds=1) as pool:
        assert "read used" in _text(_outcome(pool, "used"))
        before = time.monotonic()
        failure = _outcome(pool, word)
        assert time.monotonic() - before < 10
        assert "read fine" in _text(_outcome(pool, "fine"))
    assert str(failure) == (
        "took longer than 1 s to read: split it, or raise ingest.read_timeout_seconds"
    )
    assert caplog.text.count("a reading process died") == 1


def test_a_process_is_kept_from_job_to_job(hostile: None) -> None:
    with _pool() as pool:
        pids = {_text(_outcome(pool, "fine")).split()[0] for _ in range(5)}
    assert len(pids) == 1


def test_a_broken_file_does_not_cost_its_process(hostile: None) -> None:
    with _pool() as pool:
        first = _text(_outcome(pool, "fine"))
        assert isinstance(_outcome(pool, "value"), SourceError)
        assert _text(_outcome(pool, "fine")) == first


def test_a_file_that_crashes_a_used_process_is_read_in_a_fresh_one(hostile: None) -> None:
    with _pool() as pool:
        assert "read fine" in _text(_outcome(pool, "fine"))
        assert "read second" in _text(_outcome(pool, "second"))


@POSIX
def test_a_process_that_is_killed_while_idle_costs_no_file(hostile: None) -> None:
    with _pool() as pool:
        pid = int(_text(_outcome(pool, "fine")).split()[0])
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        assert "read fine" in _text(_outcome(pool, "fine"))


def test_jobs_are_pulled_only_a_few_ahead(hostile: None) -> None:
    pulled: list[int] = []

    def jobs() -> Iterator[tuple[int, Job]]:
        for number in range(100):
            pulled.append(number)
            yield number, _bad("fine")

    with _pool(workers=2) as pool:
        results = pool.read(jobs())
        next(results)
        assert len(pulled) <= 5
        for _ in range(10):
            next(results)
        assert len(pulled) <= 15


def test_nothing_is_started_before_the_first_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_handle, "ENTRY", "there_is_no_such_module")
    with _pool() as pool:
        assert list(pool.read([])) == []


def test_a_process_that_does_not_start_is_an_error_that_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_handle, "ENTRY", "there_is_no_such_module")
    with _pool() as pool, pytest.raises(EngineError, match="there_is_no_such_module"):
        list(pool.read([(0, _bad("fine"))]))


def test_a_frozen_program_does_not_start_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(child_process, "_started", child_process._started.__wrapped__)
    with _pool() as pool, pytest.raises(EngineError, match="no Python interpreter"):
        list(pool.read([(0, _bad("fine"))]))


def test_what_parsers_print_reaches_nobody_and_stops_nothing(
    hostile: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with _pool() as pool:
        assert "read noise" in _text(_outcome(pool, "noise"))
        assert _text(_outcome(pool, "stdin")) == "''"
    assert capfd.readouterr() == ("", "")


def test_the_traceback_of_a_broken_reader_is_in_the_log(
    hostile: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "loregraph.ingest"), _pool() as pool:
        _outcome(pool, "value")
    assert 'raise ValueError("no such' in caplog.text


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        pytest.param(Job(name="a.txt", path=Path("gone.txt")), "vanished", id="gone"),
        pytest.param(Job(name="a.txt", data=b"x" * 2_000), "too large: 2,000 bytes", id="data"),
        pytest.param(Job(name="a.txt", path=ROOT / "pyproject.toml"), "too large", id="path"),
        pytest.param(Job(name="a.txt", path=ROOT), "cannot be read", id="folder"),
    ],
)
def test_what_cannot_be_read_at_all_has_a_reason(job: Job, reason: str) -> None:
    with _pool(max_bytes=1_000) as pool:
        (_, failure), *_ = pool.read([(0, job)])
    assert isinstance(failure, SourceError)
    assert reason in str(failure)


def test_an_empty_source_is_a_reading_with_a_failure_in_it() -> None:
    with _pool() as pool:
        (_, reading), *_ = pool.read([(0, Job(name="a.txt", data=b""))])
    assert isinstance(reading, Reading)
    assert [part.content for part in reading.parts] == [None]


def test_text_past_the_frame_limit_is_a_failure(hostile: None) -> None:
    options = ReadOptions(max_unpacked_bytes=0, max_characters=1_000)
    with _pool(options=options) as pool:
        (_, reading), *_ = pool.read([(0, _bad("many 2000"))])
        assert isinstance(reading, Reading)
        assert "1,000" in reading.parts[0].failure
        limit = 16 * MEBIBYTE + 4 * 1_000
    with pytest.raises(BrokenFrame, match=f"the limit is {limit:,}"):
        pack_frame({"text": "x" * limit}, limit=limit)


@POSIX
def test_what_a_reader_started_ends_with_it(hostile: None, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with _pool(timeout_seconds=2) as pool:
        assert isinstance(_outcome(pool, f"child {note}"), SourceError)
    assert _gone(int(note.read_text()))


def _open_files() -> set[tuple[str, str]]:
    """Return the numbers of this process's open files, and what each is."""
    found = set()
    for each in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(FileNotFoundError):  # the list itself
            found.add((each, str(Path(f"/proc/self/fd/{each}").readlink())))
    return found


@LINUX
def test_a_closed_pool_leaves_no_process_and_no_open_file(hostile: None) -> None:
    with _pool(workers=2) as pool:  # whatever opens files once for good has done so after this
        list(pool.read([(0, _bad("fine")), (1, _bad("exit 1"))]))
    before = _open_files()
    with _pool(workers=2, timeout_seconds=1) as pool:
        words = ["fine", "exit 1", "sleep 9", "segfault", "fine"]
        results = [result for _, result in pool.read((word, _bad(word)) for word in words)]
        pids = [int(_text(result).split()[0]) for result in (results[0], results[-1])]
    assert _open_files() <= before  # a server of an earlier test may close a connection meanwhile
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_closing_in_mid_job_ends_it_at_once(hostile: None) -> None:
    before = time.monotonic()
    with _pool(workers=2) as pool:
        results = pool.read([(0, _bad("fine")), *((n, _bad("sleep 60")) for n in range(1, 9))])
        assert "read fine" in _text(next(results)[1])
    assert time.monotonic() - before < 10


@POSIX
@pytest.mark.parametrize("word", ["sleep 60", "fine"])
def test_a_process_goes_when_the_one_that_started_it_is_killed(
    hostile: None, tmp_path: Path, word: str
) -> None:
    program = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]
        from engine.ingest import sandbox as worker_handle
        worker_handle.ENTRY = "hostile_process"
        from engine.ingest.document import ReadOptions
        from engine.ingest.sandbox import Job, ReaderPool
        pool = ReaderPool(options=ReadOptions(), max_bytes=1000, workers=1)
        words = (b"fine", {word.encode()!r}, b"fine")
        results = pool.read((word, Job(name="a.bad", data=word)) for word in words)
        print(next(results)[1].parts[0].content.text.split()[0], flush=True)
        next(results)
        time.sleep(60)
    """)
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert _gone(pid)


@POSIX
def test_an_interrupt_from_the_terminal_is_not_for_the_processes(hostile: None) -> None:
    with _pool() as pool:
        pid = int(_text(_outcome(pool, "fine")).split()[0])
        assert os.getpgid(pid) != os.getpgid(0)
        os.kill(pid, signal.SIGINT)
        assert _text(_outcome(pool, "fine")).split()[0] == str(pid)


@pytest.mark.parametrize("how", ["-c", "stdin", "file without a main guard"])
def test_it_works_however_the_program_was_started(tmp_path: Path, how: str) -> None:
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from engine.ingest.document import ReadOptions
        from engine.ingest.sandbox import Job, ReaderPool
        with ReaderPool(options=ReadOptions(), max_bytes=1000) as pool:
            (_, reading), = pool.read([(0, Job(name="a.txt", data=b"a text"))])
        print(reading.parts[0].content.text)
    """)
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong json')")
    arguments = {"-c": ["-c", program], "stdin": ["-"]}.get(how, ["-P", "program.py"])
    result = subprocess.run(
        [sys.executable, "-P", *arguments],
        input=program if how == "stdin" else "",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert (result.stdout, result.stderr) == ("a text\n", "")


def test_a_job_has_either_a_path_or_data() -> None:
    with pytest.raises(ValueError, match="either"):
        Job(name="a.txt")
    with pytest.raises(ValueError, match="either"):
        Job(name="a.txt", data=b"", path=Path("a.txt"))


TEXTS = st.text(st.characters(), max_size=20)


@given(
    text=TEXTS,
    title=st.none() | TEXTS,
    pages=st.lists(st.integers(0, 1 << 40)).map(tuple),
    metadata=st.dictionaries(
        TEXTS, TEXTS | st.integers() | st.booleans() | st.lists(TEXTS).map(tuple)
    ),
)
def test_a_part_comes_over_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    title: str | None,
    pages: tuple[int, ...],
    metadata: dict[str, str | int | bool | tuple[str, ...]],
) -> None:
    content = Content(text=text, title=title, pages=pages, metadata=metadata)
    part = Part(name="a!/b", type="t", sha256="0", content=content)
    path = tmp_path_factory.getbasetemp() / "frame"
    with path.open("wb") as file:
        write_frame(file, pack_frame(part_as_json(part), limit=MEBIBYTE), data=b"raw")
    with path.open("rb") as file:
        frame = read_frame(file, limit=MEBIBYTE)
        assert read_frame(file, limit=MEBIBYTE) is None
    assert frame is not None
    assert frame.data == b"raw"
    assert part_from_json(frame.message) == part


def test_members_stay_behind() -> None:
    content = Content(text="x", members=(Member(name="a", data=b"b"),))
    part = part_from_json(
        part_as_json(Part(name="", type="zip", sha256="0", content=content, failure=""))
    )
    assert part.content == Content(text="x")


def test_options_come_over_as_they_were() -> None:
    options = ReadOptions(max_members=7, ocr=False)
    assert options_from_json(options_as_json(options)) == options


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\0" * 5, id="lengths cut off"),
        pytest.param(b"\xff" * 16, id="more than was agreed"),
        pytest.param(b"\0" * 7 + b"\x09" + b"\0" * 8 + b"{}", id="message cut off"),
        pytest.param(b"\0" * 7 + b"\x02" + b"\0" * 8 + b"{]", id="no JSON"),
        pytest.param(b"\0" * 7 + b"\x02" + b"\0" * 8 + b"[]", id="no object"),
    ],
)
def test_bytes_that_are_no_frame_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "frame"
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises(BrokenFrame):
        read_frame(file, limit=1_000)


def test_an_abort_inside_the_pdf_library_is_want_of_memory() -> None:
    inside = "Fatal Python error: Aborted\n\nCurrent thread 0x01 (most recent call first):\n"
    frame = '  File "/lib/pypdfium2/_helpers/page.py", line 195 in get_textpage\n'
    other = '  File "/lib/other.py", line 5 in read\n'
    terms = worker_handle.WorkerLimits(
        options=ReadOptions(), max_bytes=1, timeout_seconds=1, memory_bytes=1_000_000
    )
    abort = -signal.SIGABRT
    reason = worker_handle._cause_of_end(abort, words=inside + frame + other, terms=terms)
    assert "1,000,000 bytes of memory" in reason
    assert "ingest.read_memory_bytes" in reason
    crash = worker_handle._cause_of_end(abort, words=inside + other + frame, terms=terms)
    assert crash.startswith("crashed its reader")


def test_what_a_reader_breaks_on_inside_a_source_is_in_the_log(
    hostile: None, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "first")
        archive.writestr("b.bad", "value")
        archive.writestr("c.txt", "last")
    job = Job(name="all.zip", data=buffer.getvalue())
    with caplog.at_level(logging.INFO, logger="loregraph.ingest"), _pool() as pool:
        ((_, reading),) = pool.read([(0, job)])
    assert isinstance(reading, Reading)
    assert [part.content.text for part in reading.parts if part.content] == ["first", "last"]
    assert "failed in its reader (ValueError: no such thing)" in reading.parts[1].failure
    assert "Traceback" in caplog.text
    assert "'all.zip'" in caplog.text
