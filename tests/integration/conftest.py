"""Fixtures of the library: one to open, and one of two owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hashed_embedding import open_light
from two_owners import NORTH, SOUTH, fill

from engine import KnowledgeEngine

OpenEngine = Callable[..., KnowledgeEngine]


@pytest.fixture(scope="session")
def open_engine() -> OpenEngine:
    """`open_engine(path, **settings sections)`."""

    return open_light


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine
) -> Iterator[KnowledgeEngine]:
    """A library of two owners, that no test may change."""
    with open_engine(tmp_path_factory.mktemp("shared") / "library") as engine:
        fill(engine, NORTH, "north")
        fill(engine, SOUTH, "south")
        yield engine


@pytest.fixture(scope="module")
def alone(
    tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine
) -> Iterator[KnowledgeEngine]:
    """What one of them has, in a library of its own."""
    with open_engine(tmp_path_factory.mktemp("alone") / "library") as engine:
        fill(engine, NORTH, "north")
        yield engine


@pytest.fixture(scope="session")
def corpus() -> Path:
    return Path(__file__).parents[2] / "data" / "corpus"


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries grow from a hundredth of a second."""
    monkeypatch.setattr("engine.llm.retry._FIRST_WAIT_SECONDS", 0.01)
