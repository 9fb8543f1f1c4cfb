"""What others may import, what importing costs, and what a type checker sees of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine
import graph
import loregraph
from engine import EngineError
from engine.types import Answer, IngestReport, Route, ShortAnswer, SourceFailure, Usage

ROOT = Path(__file__).parents[2]
HEAVY = ("llama_index", "numpy", "pydantic", "sqlalchemy", "spacy", "onnxruntime")


def run(*arguments: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


# --- names ------------------------------------------------------------------------------------


def test_the_public_names_of_engine_are_these() -> None:
    assert sorted(engine.__all__) == [
        "Answer",
        "Citation",
        "EngineError",
        "IngestReport",
        "KnowledgeEngine",
        "Memory",
        "Passage",
        "Settings",
        "Turn",
        "WebResult",
    ]


def test_the_public_names_of_graph_are_these() -> None:
    assert sorted(graph.__all__) == [
        "Community",
        "Entity",
        "Evidence",
        "KnowledgeGraphIndex",
        "Relation",
        "Report",
        "SqlGraphStore",
    ]


def test_the_public_names_of_the_product_are_these() -> None:
    assert sorted(loregraph.__all__) == [
        *("AgenticNodeParser", "Answer", "AskClarification", "BudgetExceeded", "Citation"),
        *("CodeNodeParser", "Community", "ContextNodeParser", "DirectAnswer", "EngineError"),
        *("Entity", "Evidence"),
        "ExtractionTransform",
        *("FaqNodeParser", "FixedNodeParser", "GlossaryNodeParser", "GraphStageError"),
        "IngestReport",
        *("KnowledgeEngine", "KnowledgeGraphIndex", "LanguageExtractor"),
        *("LegalNodeParser", "LibraryBusy"),
        *("LibraryError", "LibraryNotFound", "LibraryUnusable", "LocalRetriever"),
        *("LoregraphMemory", "LoregraphMemoryBlock", "MarkdownNodeParser", "Memory"),
        *("MissingExtra", "ModelError", "ModelInputTooLong", "ModelOutputError"),
        *("ModelUnavailable", "NotAllowed", "PageNodeParser", "ParentChildNodeParser"),
        *("Passage", "QuestionError", "RecursiveNodeParser", "Relation", "Report"),
        *("RerankPostprocessor", "SearchKnowledge", "SearchWorkflow"),
        *("SemanticNodeParser", "SentenceNodeParser", "SentenceWindowNodeParser", "Settings"),
        *("SettingsError", "SourceError", "SpanNodeParser", "SqlGraphStore"),
        *(
            "TooManyRemovals",
            "TranscriptNodeParser",
            "Turn",
            "UnknownName",
            "VectorStoreUnavailable",
            "WebResult",
        ),
    ]


def test_the_product_exports_all_that_its_packages_do_and_every_error() -> None:
    for package in (engine, graph):
        for name in package.__all__:
            assert getattr(loregraph, name) is getattr(package, name)
    errors = [EngineError]
    while errors:
        error = errors.pop()
        assert getattr(loregraph, error.__name__) is error
        errors += [one for one in error.__subclasses__() if one.__module__ == error.__module__]


PACKAGES = pytest.mark.parametrize(
    "package", [engine, graph, loregraph], ids=["engine", "graph", "loregraph"]
)


@PACKAGES
def test_every_public_name_is_there_and_listed(package) -> None:
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="'nonsense'"):
        package.nonsense  # noqa: B018


@pytest.mark.parametrize("package", [engine, graph], ids=["engine", "graph"])
def test_the_packages_say_that_they_are_typed(package) -> None:
    assert (Path(package.__file__).parent / "py.typed").is_file()


# --- what importing costs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import engine, graph, loregraph", id="the packages"),
        pytest.param("from loregraph import Answer, Entity, LibraryBusy", id="values of both"),
        pytest.param("from engine import Answer, Citation, EngineError, Passage", id="values"),
        pytest.param("from graph import Community, Entity, Evidence, Relation", id="graph values"),
    ],
)
def test_importing_costs_none_of_the_heavy_libraries(code: str, tmp_path: Path) -> None:
    told = f"{code}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = run("-c", told, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & set(HEAVY) == set()


# --- names of the release before ---------------------------------------------------------------

ANSWER = Answer(question="And then?", text="", mode="local", rewritten_question="And in 1931?")
SHORT = ShortAnswer(text="1931", kind="year", confidence=0.9, citation_numbers=(1,))
FAILURE = SourceFailure(source="a.bin", reason="is no text")


@pytest.mark.parametrize(
    ("result", "old", "new"),
    [
        (ANSWER, "understood", "rewritten_question"),
        (Usage(cached_calls=2), "kept", "cached_calls"),
        (Route(mode="local", reason="", confidence=1.0, features={"a": 1.0}), "signs", "features"),
        (IngestReport(skipped=(FAILURE,)), "passed_over", "skipped"),
        (SHORT, "rests_on", "citation_numbers"),
        (SHORT, "is_likely", "is_confident"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_renamed_attribute_can_be_read_by_its_old_name(
    result: object, old: str, new: str
) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{old} is deprecated: use {new}$"):
        value = getattr(result, old)
    assert value == getattr(result, new)
    assert value


# --- somebody else's `graph` ------------------------------------------------------------------


@pytest.mark.parametrize("module", ["graph.py", "graph/__init__.py"])
def test_a_users_own_graph_module_is_named_not_taken(module: str, tmp_path: Path) -> None:
    own = tmp_path / module
    own.parent.mkdir(exist_ok=True)
    own.write_text("edges = []\n", encoding="utf8")
    script = tmp_path / "script.py"
    script.write_text("from engine import KnowledgeEngine\n", encoding="utf8")
    done = run(script, folder=tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: loregraph found another module named 'graph' at")
    assert str(own) in last
    assert "rename it" in last


def test_a_users_graph_module_one_folder_below_the_packages_is_named_too(tmp_path: Path) -> None:
    for package in ("engine", "graph"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "graph.py").write_text("edges = []\n", encoding="utf8")
    (scripts / "script.py").write_text("from engine import KnowledgeEngine\n", encoding="utf8")
    done = run(scripts / "script.py", folder=scripts, PYTHONPATH=str(tmp_path))
    assert "found another module named 'graph'" in done.stderr
