"""Texts that no database holds as they are, or that end in the middle of something, are stored."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The lamp \ud800 of Gull Quay was lit by Ada Brine.", id="half a surrogate"),
        pytest.param("\udc80\udfff Ada Brine lit the lamp of Gull Quay. \ud83d", id="at both ends"),
        pytest.param("Ada Brine lit the lamp\x00 of Gull Quay.", id="NUL"),
        pytest.param("Ada Brine lit the lamp. 世界卫生组织（世卫", id="a bracket that opens"),
    ],
)
def test_an_odd_text_is_stored_and_found(open_engine, tmp_path: Path, text: str) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(text, document_id="odd")
        passages = engine.ask("Who lit the lamp?").passages
    assert [passage.document_id for passage in passages] == ["odd"]
    passages[0].text.encode()
