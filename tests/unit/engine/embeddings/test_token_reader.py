"""The reader that compares a question and texts token by token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.embeddings.token_reader import TokenReader
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
