"""Decisions about entities through the engine: they act at once and outlive their documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import KnowledgeEngine
from engine.config import Settings
from engine.errors import GraphStageError
from engine.knowledge_graph.entities import EntityRow

LAMP = "Captain Ada Brine lit the lamp at Gull Quay. Orrin Vale repaired it with Tomas Reed."
PETREL = "Orrin Vale owned the Petrel, and Tomas Reed was the mate of the Petrel until 1912."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[KnowledgeEngine]:
    plain = {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    settings = Settings.model_validate(plain)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as opened:
        add(opened)
        yield opened


def add(engine: KnowledgeEngine) -> None:
    engine.add_text(LAMP, document_id="lamp")
    engine.add_text(PETREL, document_id="petrel")


def one(engine: KnowledgeEngine, query: str) -> EntityRow:
    (row,) = engine.entities.list(query)
    return row


def test_a_decision_acts_at_once_and_outlives_its_documents(engine: KnowledgeEngine) -> None:
    before = engine.entities.list()
    engine.entities.merge(["Orrin Vale", "Tomas Reed"])
    merged = one(engine, "reed")
    assert merged.name == "Orrin Vale"
    engine.remove(["lamp", "petrel"])
    (decision,) = engine.entities.decisions()
    assert decision.entities == ()
    assert decision.waits_for == ("orrin vale", "tomas reed")
    add(engine)
    assert one(engine, "reed") == merged
    engine.entities.undo(1)
    assert engine.entities.list() == before
    assert engine.entities.decisions() == ()


def test_a_plan_writes_nothing(engine: KnowledgeEngine) -> None:
    before = engine.entities.list()
    plan = engine.entities.merge(["Orrin Vale", "Tomas Reed"], dry_run=True)
    assert not plan.written
    assert [row.name for row in plan.before] == ["Orrin Vale", "Tomas Reed"]
    assert [row.name for row in plan.after] == ["Orrin Vale"]
    assert engine.entities.list() == before
    assert engine.entities.decisions() == ()


def test_names_kinds_and_splits_are_decided_too(engine: KnowledgeEngine) -> None:
    engine.entities.merge(["Captain Ada Brine", "Gull Quay"])
    engine.entities.rename("Gull Quay", "The keeper")
    engine.entities.retype("the keeper", "event")
    row = one(engine, "keeper")
    assert (row.name, row.type) == ("The keeper", "EVENT")
    assert "Gull Quay" in row.aliases
    engine.entities.split(["Gull Quay"])
    assert [name.key for name in one(engine, "gull quay").names] == ["gull quay"]


def test_a_name_that_nobody_has_is_refused_with_what_comes_near(engine: KnowledgeEngine) -> None:
    with pytest.raises(GraphStageError, match="similar names are 'Orrin Vale'"):
        engine.entities.merge(["Orin Vale", "Tomas Reed"])
    assert engine.entities.decisions() == ()
