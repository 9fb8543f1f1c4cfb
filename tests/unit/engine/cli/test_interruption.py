"""What Ctrl-C is taken for, wherever it strikes."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from engine.cli.session import INTERRUPTED, writing


@pytest.fixture(autouse=True)
def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGRAPH_EMBEDDING__KIND", "none")
    monkeypatch.setenv("LOREGRAPH_GRAPH__SPACY_MODEL", "none")


def test_a_lock_that_breaks_under_it_is_an_interruption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, writing(tmp_path / "library", None, create=True):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")
    assert ended.value.exit_code == INTERRUPTED
    assert "interrupted; what was stored is kept" in capsys.readouterr().err


def test_another_error_of_the_same_kind_is_not(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="of its own"),
        writing(tmp_path / "library", None, create=True),
    ):
        raise RuntimeError("of its own")
