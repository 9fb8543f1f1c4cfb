"""The reader that compares a question and texts token by token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.embeddings import token_reader
from engine.embeddings.question_encoder import Encoder, Floats, load_encoder
from engine.embeddings.token_reader import FAR, TokenReader
from engine.errors import ModelUnavailable

KEEPER = "灯塔: 人\n灯塔高四十米。灯塔的守塔人叫王海。"


@pytest.mark.parametrize(
    ("question", "answers", "near"),
    [
        ("灯塔的守塔人是谁？", KEEPER, "灯塔: 人\n灯塔高四十米。每夜点灯的是王海。"),
        ("缆绳有多长？", "缆\n缆绳长二百一十二米。", "海缆: 概述\n海缆全长一百公里。"),
        ("怎么卸载一个程序？", "卸载\n请运行 apt remove。", "安装\n请运行 apt install。"),
        ("Who keeps the light?", "Light\nThe keeper is Ada Byron.", "Light\nIt is 40 m high."),
    ],
)
def test_a_text_that_answers_lies_above_one_that_is_near(
    question: str, answers: str, near: str
) -> None:
    right, wrong, other = TokenReader()(question, [answers, near, "面包\n面包在中午烤好。"])

    assert right > wrong > other
    assert right > 0.0 > other


def test_a_logit_depends_on_its_text_alone() -> None:
    read = TokenReader()

    together = read("灯塔的守塔人是谁？", [KEEPER, "面包在中午烤好。", ""])

    assert together[:1].tolist() == read("灯塔的守塔人是谁？", [KEEPER]).tolist()
    assert np.isfinite(together).all()
    assert read("灯塔？", []).shape == (0,)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    read = TokenReader({"LOREGRAPH_MODELS": str(tmp_path)})

    with pytest.raises(ModelUnavailable, match="loregraph models fetch"):
        read("灯塔？", [KEEPER])


class _Counted:
    """An encoder that notes the rows whose states it gives."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.rows: list[tuple[int, ...]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    def states(self, row: Sequence[int]) -> Floats:
        self.rows.append(tuple(row))
        return self._encoder.states(row)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> _Counted:
    found = _Counted(load_encoder(None, token_reader._changes()))
    monkeypatch.setattr(token_reader, "load_encoder", lambda *_: found)
    return found


def test_a_text_is_read_once_for_a_question(counted: _Counted) -> None:
    read, texts = TokenReader(), ["老舍写了这本书。", "老舍写了这本书。"]

    first = read("谁写了这本书？", texts)
    again = read("谁写了这本书？", texts[:1])

    assert first.tolist() == [again[0], again[0]]
    assert len(counted.rows) == 1 + 1
    read("谁读了这本书？", texts)
    assert len(counted.rows) == 1 + 1 + 1 + 1


def test_a_text_without_the_words_of_the_question_is_left_below_the_best(
    counted: _Counted,
) -> None:
    texts = ["老舍写了这本书。", "面包在中午烤好，然后切开。"]

    near, far = TokenReader()("谁写了这本书？", texts)

    assert len(counted.rows) == 1 + 1
    assert far <= near - FAR
    assert near == TokenReader()("谁写了这本书？", texts[:1])[0]


def test_a_logit_is_foretold_by_the_likeness_of_words() -> None:
    reader = TokenReader()

    near, logit = reader.early("谁写了这本书？", "老舍写了这本书。")
    other, lower = reader.early("谁写了这本书？", "面包在中午烤好，然后切开。")

    assert near > other
    assert logit == reader("谁写了这本书？", ["老舍写了这本书。"])[0]
    assert logit > lower
