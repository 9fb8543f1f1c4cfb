"""Every command as a newcomer types it: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
COMMANDS = (
    "add",
    "ask",
    "search",
    "remove",
    "stats",
    "doctor",
    "demo",
    "graph export",
    "config show",
    "serve",
    "token create",
)
FIRST_LINE = "3 added, 3 chunks"
TOO_MUCH_FOR_A_MOMENT = "Captain Ada Brine met Orrin Vale at Gull Quay on day {}. It rained.\n\n"


@pytest.fixture(scope="module")
def filled(notes: Path, loregraph) -> Path:
    """The folder of the notes with a library beside them, that no test may change."""
    done = loregraph(notes, "add", "docs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(FIRST_LINE)
    return notes


# --- help ---------------------------------------------------------------------------------------


def test_help_names_every_command_and_comes_before_anything_heavy(
    loregraph, tmp_path: Path
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = loregraph(tmp_path, "--help", env={"PYTHONPROFILEIMPORTTIME": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert {name.split()[0] for name in COMMANDS} <= set(
        re.findall(r"^  (\w+)  ", done.stdout, re.M)
    )
    assert "..." not in done.stdout.partition("Commands:")[2]  # nothing is cut
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"llama_index", "pydantic", "numpy", "spacy", "sqlalchemy", "rich"}
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_every_option(
    loregraph, tmp_path: Path, name: str
) -> None:
    done = loregraph(tmp_path, *name.split(), "--help", env={"COLUMNS": "120"})
    assert done.returncode == 0
    usage, rest = done.stdout.split("\n\n", 1)
    assert usage.startswith("Usage: ")
    assert re.match(r"  [A-Z].+\.\n", rest), "a sentence on what it does"
    entries = re.findall(r"^  (-.+|\S+ <.+)$", rest, re.M)
    assert entries
    assert all(re.search(r"\S  +\S", entry) for entry in entries), "each with a word on it"
    assert "..." not in re.sub(r"\w\.\.\.", "", rest), "nothing is cut off"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_docs_show_every_command(name: str) -> None:
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs" / "content").rglob("*.md")]
    texts = [page.read_text(encoding="utf8") for page in pages]
    assert any(re.search(rf"(loregraph |`){re.escape(name)}\b", text) for text in texts)


def test_the_version_is_that_of_the_package(loregraph, tmp_path: Path) -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf8")
    version = re.search(r'^version = "(.+)"$', project, re.M)
    assert version is not None
    assert loregraph(tmp_path, "--version").stdout == f"loregraph {version[1]}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["serach", "x"], "Did you mean 'search'?", id="a wrong command"),
        pytest.param(["ask", "x", "--nosuch"], "No such option: --nosuch", id="a wrong option"),
        pytest.param(
            ["ask", "x", "--mode", "sideways"],
            "'sideways' is not one of 'auto', 'local', 'global', 'both', 'agent'",
            id="a wrong mode",
        ),
        pytest.param(["search", "x", "--top", "0"], "--top", id="a number out of range"),
        pytest.param(["add"], "Missing argument", id="nothing to add"),
        pytest.param(["ask"], "Missing argument", id="nothing to ask"),
    ],
)
def test_a_command_that_cannot_be_understood_ends_with_2(
    loregraph, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = loregraph(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr.splitlines()[-1]
    assert "--help" in done.stderr or "-h" in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- adding and removing ------------------------------------------------------------------------


def test_adding_again_finds_all_unchanged_and_progress_stays_off_standard_output(
    loregraph, filled: Path
) -> None:
    done = loregraph(filled, "add", "docs")
    assert (done.returncode, done.stdout) == (0, "3 unchanged\n")
    assert len(re.findall("Reading files .* 3/3 ", done.stderr)) == 1
    assert "\x1b" not in done.stderr


def test_where_some_of_many_fail_the_rest_is_added_and_the_exit_code_is_3(
    loregraph, tmp_path: Path
) -> None:
    (tmp_path / "empty.md").touch()
    (tmp_path / "good.md").write_text("Ada Brine wrote this note.", encoding="utf8")
    done = loregraph(tmp_path, "add", "good.md", "empty.md", "missing.md", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert report["added"] == ["good.md"]
    assert [failure["source"] for failure in report["failed"]] == ["empty.md", "missing.md"]
    done = loregraph(tmp_path, "add", ".", "missing.md")
    assert done.returncode == 3
    assert done.stdout.startswith("1 unchanged, 1 empty, 1 failed")
    *bars, first, second = done.stderr.splitlines()
    assert [line.split()[0] for line in bars] == ["Reading"]
    assert first == "  empty empty.md: there is nothing to read in it"
    assert second == "  failed missing.md: does not exist: check the path"
    done = loregraph(tmp_path, "add", ".")  # a package's empty files are no failure
    assert (done.returncode, done.stdout.startswith("1 unchanged, 1 empty")) == (0, True)


def test_a_removed_document_is_gone_and_an_unknown_id_is_a_failure(
    loregraph, filled: Path, tmp_path: Path
) -> None:
    shutil.copytree(filled / "library", tmp_path / "library")
    done = loregraph(tmp_path, "remove", "docs/lamp.md", "lamp.md")
    assert done.returncode == 3
    assert done.stdout.startswith("1 removed, 1 failed")
    assert "  failed lamp.md: is not in the library: `loregraph stats --documents`" in done.stderr
    done = loregraph(tmp_path, "stats", "--documents", "--json")
    held = [document["id"] for document in json.loads(done.stdout)["documents_listed"]]
    assert held == ["docs/petrel.txt", "docs/灯塔.md"]


def test_ctrl_c_says_what_is_kept_and_a_terminal_sees_bars(
    loregraph, start, filled: Path, tmp_path: Path
) -> None:
    shutil.copytree(filled / "library", tmp_path / "library")
    days = "".join(TOO_MUCH_FOR_A_MOMENT.format(day) for day in range(20_000))
    (tmp_path / "diary.md").write_text(days, encoding="utf8")
    terminal, end = pty.openpty()
    output = tmp_path / "output"
    with output.open("wb") as out, os.fdopen(end, "wb") as errors:
        process = start(tmp_path, "add", "diary.md", stdout=out, stderr=errors)
    shown = read_until(terminal, b"Reading files")
    process.send_signal(signal.SIGINT)
    shown += read_until(terminal, b"from there")
    assert process.wait(timeout=60) == 130, shown.decode()
    os.close(terminal)
    assert output.read_bytes() == b""
    assert "Traceback" not in shown.decode()
    assert "interrupted; what was stored is kept" in shown.decode()
    counts = json.loads(loregraph(tmp_path, "stats", "--json").stdout)
    assert (counts["documents"], counts["up_to_date"]) == (3, True)


def read_until(terminal: int, wanted: bytes) -> bytes:
    """What is written to a terminal up to these bytes, or to its end."""
    seen = b""
    while wanted not in seen:
        assert select.select([terminal], [], [], 120)[0], f"{wanted!r} never came: {seen!r}"
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        seen += piece
    return seen


# --- questions ----------------------------------------------------------------------------------


def test_an_answer_comes_with_its_sources_its_route_and_how_it_was_found(
    loregraph, filled: Path
) -> None:
    done = loregraph(filled, "ask", 'Who lit the "lamp" at Gull Quay?', "--explain")
    assert (done.returncode, done.stderr) == (0, "")
    text, *_around, sources, trace, _passages = done.stdout.split("\n\n")
    assert "Captain Ada Brine lit the lamp at Gull Quay in 1901." in f"{text}\n{_around}"
    heading, first, *_, route = sources.splitlines()
    assert heading == "Sources"
    assert re.fullmatch(r"  \[1\] The lamp at Gull Quay \(docs/lamp\.md:\d+-\d+\)", first)
    assert route.startswith("local: ")
    heading, *stages = trace.splitlines()
    assert heading == "How it was found"
    assert all(re.match(r"  \S.+ \d+ ms  \S| {28}(in:  |out: |     )\S", line) for line in stages)
    assert route in stages[0]
    assert sum(" ms  " in line for line in stages) >= 8
    assert any("out: " in line and "lamp" in line for line in stages)


def test_a_library_of_one_short_note_finds_and_answers(loregraph, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Ada Brine lit the lamp in 1901.", encoding="utf8")
    assert loregraph(tmp_path, "add", "note.md").returncode == 0
    assert "1901. [1]" in loregraph(tmp_path, "ask", "When did Ada Brine light the lamp?").stdout
    assert loregraph(tmp_path, "search", "lamp").stdout.startswith("1. note (note.md:0-31)")


def test_a_question_without_quotes_is_understood(loregraph, filled: Path) -> None:
    done = loregraph(filled, "ask", "Who", "owned", "the", "Vale", "Line", "--mode", "local")
    assert "Orrin Vale owned the Vale Line" in done.stdout
    assert done.stdout.splitlines()[-1] == "local: asked for"


def test_a_terminal_without_chinese_shows_question_marks_and_json_stays_whole(
    loregraph, filled: Path
) -> None:
    done = loregraph(filled, "search", "鸥港灯塔", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "1. ???? (docs/??.md:" in done.stdout
    done = loregraph(filled, "search", "鸥港灯塔", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(done.stdout)[0]["document_id"] == "docs/灯塔.md"


def test_a_global_answer_as_json_cites_what_stands_in_the_files(loregraph, filled: Path) -> None:
    done = loregraph(filled, "ask", "--mode", "global", "What is this about?", "--json")
    answer = json.loads(done.stdout)
    assert (answer["mode"], answer["abstained"]) == ("global", False)
    assert answer["citations"]
    for citation in answer["citations"]:
        text = (filled / citation["document_id"]).read_text(encoding="utf8")
        assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_both_ways_show_the_answer_then_the_overview_with_all_sources(
    loregraph, filled: Path
) -> None:
    done = loregraph(filled, "ask", "--mode", "both", "Who brought oil to Gull Quay?", "--explain")
    local, overview = done.stdout.split("\nOn the whole:\n", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The Petrel brought oil to Gull Quay" in local
    assert "both: asked for" in overview
    assert "merge" in overview


def test_explaining_a_search_shows_what_each_list_gave(loregraph, filled: Path) -> None:
    done = loregraph(filled, "search", "oil", "--top", "1", "--explain")
    headline, excerpt, lists, path = done.stdout.splitlines()
    assert re.fullmatch(r"1\. .+ \(docs/.+:\d+-\d+\)  relevance [01]\.\d\d", headline)
    assert "oil" in excerpt
    assert re.search(r"keyword \d\.\d+", lists)
    assert path.strip()


def test_a_reader_that_closes_the_pipe_sees_no_error(start, filled: Path, tmp_path: Path) -> None:
    reader, end = os.pipe()
    with os.fdopen(end, "wb") as out, (tmp_path / "errors").open("wb") as errors:
        process = start(filled, "search", "oil", stdout=out, stderr=errors)
    os.close(reader)
    assert process.wait(timeout=60) in (0, 1)
    assert (tmp_path / "errors").read_bytes() == b""


# --- looking in ---------------------------------------------------------------------------------


def test_stats_count_and_list(loregraph, filled: Path) -> None:
    done = loregraph(filled, "stats", "--documents")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"documents +3", lines[0])
    assert "  docs/lamp.md  The lamp at Gull Quay" in lines
    assert re.search(r"^up to date +yes$", done.stdout, re.M)


def test_the_graph_is_written_where_it_was_asked_for(
    loregraph, filled: Path, tmp_path: Path
) -> None:
    target = tmp_path / "a graph.json"
    done = loregraph(filled, "graph", "export", target)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".*a graph\.json written \([1-9][0-9]* kB\)\n", done.stdout)
    assert "Gull Quay" in json.dumps(json.loads(target.read_text(encoding="utf8")))
    assert list(tmp_path.iterdir()) == [target]


def test_hops_without_a_focus_are_refused_and_nothing_is_written(
    loregraph, filled: Path, tmp_path: Path
) -> None:
    done = loregraph(filled, "graph", "export", tmp_path / "all.svg", "--hops", "2")
    assert done.returncode == 2
    assert "--focus" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_part_of_the_graph_that_is_not_there_is_refused_with_what_comes_near(
    loregraph, filled: Path
) -> None:
    done = loregraph(filled, "graph", "export", "part.svg", "--focus", "Ada Brien")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no document has the name 'Ada Brien'; similar names are" in done.stderr
    assert not (filled / "part.svg").exists()


def test_doctor_finds_a_sound_library_and_says_what_is_lacking(loregraph, filled: Path) -> None:
    done = loregraph(filled, "doctor")
    assert done.returncode == 0
    assert "! embedding: none (keyword and graph only)\n" in done.stdout
    assert "✓ library 'library': 3 documents, 3 chunks\n" in done.stdout


def test_config_shows_every_setting_in_force(loregraph, tmp_path: Path) -> None:
    import yaml

    from engine import Settings

    secret = {"OPENAI_API_KEY": "sk-not-to-be-shown", "LOREGRAPH_CHUNK__SIZE_TOKENS": "99"}
    done = loregraph(tmp_path, "config", "show", models=True, env=secret)
    shown = yaml.safe_load(done.stdout)
    settings = Settings.load(environment={"LOREGRAPH_CHUNK__SIZE_TOKENS": "99"})
    assert shown == settings.model_dump(mode="json")
    assert "sk-not-to-be-shown" not in done.stdout


# --- odd names and the whole, with models -------------------------------------------------------


def test_names_and_texts_that_look_like_markup_are_shown_as_they_are(
    loregraph, tmp_path: Path
) -> None:
    name = "[x] [bold]小 记 [bold] :key:.md"
    body = "Ada Brine said [red]stop[/red] at 10:cat:20 [/] and \x1b[31mleft\x1b[0m C:\\dir\\"
    (tmp_path / name).write_text(f"# [link=x]Note[/link]\n\n{body}\n", encoding="utf8")
    (tmp_path / "other.md").write_text("The Petrel brought oil.", encoding="utf8")
    (tmp_path / "[red].md").touch()
    done = loregraph(tmp_path, "add", ".", env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert "[red].md: there is nothing to read in it" in done.stderr
    done = loregraph(tmp_path, "search", "Ada Brine's cat")
    headline, excerpt = done.stdout.splitlines()
    assert headline.startswith(f"1. [link=x]Note[/link] ({name}:0-")
    assert excerpt == f"   # [link=x]Note[/link] {body.replace(chr(0x1B), chr(0xFFFD))}"


@pytest.fixture(scope="module")
def with_models(
    notes: Path, tmp_path_factory: pytest.TempPathFactory, loregraph
) -> Callable[..., str]:
    """The default profile: what a command on its library prints, when all goes well."""
    library = tmp_path_factory.mktemp("with-models") / "library"

    def run(*arguments: str) -> str:
        done = loregraph(notes, *arguments, "--library", library, models=True)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert run("add", "docs").startswith(FIRST_LINE)
    return run


def test_the_default_profile_embeds_extracts_and_answers(with_models) -> None:
    counts = json.loads(with_models("stats", "--json"))
    assert counts["vectors"] >= counts["chunks"] == 3
    assert min(counts["entities"], counts["relations"], counts["communities"]) > 0
    answer = json.loads(with_models("ask", "Who repaired the lamp at Gull Quay?", "--json"))
    assert "Orrin Vale repaired it with Tomas Reed" in answer["text"]
    assert any("dense" in passage["scores"] for passage in answer["passages"])


def test_python_m_engine_serve_is_the_same_program_as_the_console_script(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("loregraph")
    if not script.exists():
        pytest.skip("the package is not installed in this environment: pip install -e .")
    done = subprocess.run([script, "--help"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.startswith(b"Usage: loregraph ")


def test_the_demo_leads_on_to_the_tutorial_and_the_sample_corpus_is_copied_once(
    loregraph, tmp_path: Path
) -> None:
    demo = loregraph(tmp_path, "demo")
    assert demo.returncode == 0, demo.stderr
    assert demo.stdout.startswith("36 added")
    assert (tmp_path / "graph.html").exists()
    (asked,) = re.findall(r'loregraph ask "(.+)" (--library \S+)', demo.stdout)
    question, *there = asked[0], *asked[1].split()
    assert "Foghorn Festival (data/corpus/" in loregraph(tmp_path, "ask", question, *there).stdout
    assert loregraph(tmp_path, "add", "data/corpus", *there).stdout.startswith("36 unchanged")
    shutil.rmtree(tmp_path / "data" / "corpus" / "zh")
    again = loregraph(tmp_path, "add", "data/corpus", *there)
    assert "copied" not in again.stderr
    assert not (tmp_path / "data" / "corpus" / "zh").exists()
    other = loregraph(tmp_path, "add", "data/other", *there)
    assert "data/other: does not exist" in other.stderr + other.stdout
    assert not (tmp_path / "data" / "other").exists()
