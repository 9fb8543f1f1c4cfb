"""What every test may use: the local model server, and a guard against LlamaIndex's globals."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from openai_server import OpenAIServer
from postgres_server import PostgresServer, programs
from redis_server import RedisServer
from warm_process import warm_readers

_GLOBALS_MODULE = "llama_index.core.settings"

# Whatever the caller's shell says: modules are compiled once, not in each of hundreds of processes.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

EXAMPLES = int(os.environ.get("LOREGRAPH_EXAMPLES", "40"))
"""Examples of a property; set the variable to look at more of them."""

# What holds of every value holds on a busy machine, too.
settings.register_profile(
    "loregraph",
    parent=settings(),
    deadline=None,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("loregraph")


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A running `openai_server.OpenAIServer`; `from openai_server import Reply` scripts it."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    """A running `redis_server.RedisServer`."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    """A running `postgres_server.PostgresServer`."""
    pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install 'psycopg[binary]'")
    if programs() is None:
        pytest.skip("no PostgreSQL is installed: apt-get install postgresql")
    with PostgresServer() as server:
        yield server


def _bomb(name: str) -> property:
    def explode(*_: object) -> None:
        raise AssertionError(
            f"LlamaIndex's global Settings.{name} was touched: it turns to OpenAI behind our back;"
            " pass llm= and embed_model= instead"
        )

    return property(explode, explode)


def _arm(module: ModuleType) -> None:
    for name in ("llm", "embed_model"):
        setattr(module._Settings, name, _bomb(name))


class _ArmingFinder(importlib.abc.MetaPathFinder):
    """Arms the globals when a test first imports them, so that other tests do not pay for it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _GLOBALS_MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _ArmingLoader(fullname, spec.loader.path)
        return spec


class _ArmingLoader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _arm(module)


LONGEST_FIRST = (
    "test_docs.py",
    "test_reader_linearity.py",
    "test_wheel.py",
    "test_sync.py",
    "test_graph_page.py",
    "test_web_page.py",
    "test_same_library.py",
    "test_bad_models.py",
    "test_damaged_library.py",
    "test_web_page_trouble.py",
    "test_hostile_files.py",
)
"""Files of which one at the end of a run would have the other workers wait for it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first."""
    ranks = {name: rank for rank, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))


def pytest_collection_finish() -> None:
    """What was imported and collected lives until the end: no later collection looks at it."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Before the first test module is imported; xdist is to keep the order of files, too."""
    config.option.loadscopereorder = False
    warm_readers()
    if _GLOBALS_MODULE in sys.modules:
        _arm(sys.modules[_GLOBALS_MODULE])
    elif not any(isinstance(finder, _ArmingFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _ArmingFinder())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Where `CI=true`, a skipped test is a failed one: there, everything must be there."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, where everything must be there: {report.longrepr}"


@pytest.fixture(autouse=True)
def no_llama_index_globals() -> None:
    """Fails a test in whose process the guard is not in place."""
    module = sys.modules.get(_GLOBALS_MODULE)
    if module is not None:
        assert module._Settings.llm.fget.__name__ == "explode"
