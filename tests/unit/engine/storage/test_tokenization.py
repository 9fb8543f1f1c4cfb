"""Tokens of English, Chinese, codes and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.storage.tokenization import dictionary_words, tokens, tokens_with


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("The queens of Lotharingia", ["queen", "lotharingia"], id="stem-and-stop"),
        pytest.param("Café CAFE", ["cafe", "cafe"], id="accents-and-case"),
        pytest.param("ＡＢＣ ﬁne", ["abc", "fine"], id="width-and-ligature"),
        pytest.param("U.S. law", ["us", "law"], id="dots-between-letters"),
        pytest.param("O'Brien's", ["o", "brien", "obrien"], id="possessive"),
        pytest.param("3.5", ["3.5"], id="decimal"),
        pytest.param("战国无双", ["战国", "国无", "无双"], id="pairs"),
        pytest.param("字", ["字"], id="one-character"),
        pytest.param("由Google开发", ["由", "开发", "googl"], id="mixed"),
        pytest.param(
            "dpkg --force-all", ["dpkg", "forc", "all", "forceal", "--force-all"], id="option"
        ),
        pytest.param("用-i选项", ["用", "选项", "-i"], id="option-in-chinese"),
        pytest.param(
            "well-read --- or e-mail",
            ["well", "read", "wellread", "e", "mail", "email"],
            id="dashes",
        ),
        pytest.param("", [], id="empty"),
        pytest.param("—…!?", [], id="marks-only"),
    ],
)
def test_tokens_of_a_text(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("question", "text"),
    [
        pytest.param("ISO 27001", "certified by ISO27001", id="code-written-apart"),
        pytest.param("ISO27001", "certified by ISO 27001", id="code-written-together"),
        pytest.param("27001", "certified by ISO 27001", id="number-alone"),
        pytest.param("KMI-2031/7", "see KMI-2031/7.", id="whole-code"),
        pytest.param("2031", "see KMI-2031/7.", id="part-of-a-code"),
        pytest.param("email", "by e-mail", id="hyphen-or-none"),
        pytest.param("spider man", "Spider-Man", id="parts-of-a-compound"),
        pytest.param("战国无双3", "《战国无双３》", id="full-width-digit"),
    ],
)
def test_another_spelling_is_found(question: str, text: str) -> None:
    assert set(tokens(question)) & set(tokens(text))


def test_the_whole_of_a_code_is_one_token() -> None:
    assert "kmi20317" in tokens("KMI-2031/7")
    assert "iso27001" in tokens("ISO 27001") and "iso27001" in tokens("ISO27001")


@given(st.text(max_size=80))
def test_tokens_are_never_empty_nor_hold_spaces(text: str) -> None:
    for token in tokens(text):
        assert token and token == token.strip() and " " not in token


@given(st.text(alphabet="aB é战国1-./'", max_size=40))
def test_case_and_neighbouring_texts_mean_nothing(text: str) -> None:
    assert sorted(tokens(text + "\n\n" + text)) == sorted(2 * tokens(text))


# Scripts and dictionaries


def test_traditional_and_simplified_characters_give_the_same_tokens() -> None:
    assert tokens("劉備與關羽於臺灣") == tokens("刘备与关羽于台湾")


def test_words_of_a_dictionary_are_kept_whole_in_either_script() -> None:
    found = tokens_with(["諸葛孔明", "赤壁", "烬藻素", "Port Ansgar"])
    assert found("诸葛孔明在赤壁") == [*tokens("诸葛孔明在赤壁"), "诸葛孔明"]
    assert found("用烬藻素和烬藻素") == [*tokens("用烬藻素和烬藻素"), "烬藻素", "烬藻素"]
    assert found("Port Ansgar") == tokens("Port Ansgar")


def test_without_longer_words_nothing_changes() -> None:
    assert tokens_with(["赤壁", "x"]) is tokens


def test_a_dictionary_is_read_as_jieba_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeff诸葛孔明 10 nr\n\n烬藻素\n", encoding="utf8")
    assert dictionary_words(path) == ["诸葛孔明", "烬藻素"]


def test_a_dictionary_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read retrieve\.dictionary"):
        dictionary_words(tmp_path / "none.txt")
