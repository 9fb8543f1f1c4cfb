"""One definition of a Chinese character, from extraction to questions."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from engine.answering.extractive.question_type import classify_question
from engine.prompts import detect_language, language_of
from engine.storage.tokenization import tokens, tokens_with
from graph.text.cjk import CJK, HAN, count_han, has_han, is_chinese, simplified
from graph.text.sentences import sentence_spans

ROOT = Path(__file__).parents[4]
RARE = "𠮷"
"""U+20BB7, of extension B, as in the name 𠮷野家."""


@pytest.mark.parametrize(
    "character", ["一", "龥", "㐀", "豈", RARE, "\U0002a700", "\U00030000", "\U00031350"]
)
def test_ideographs_of_every_block_are_han(character: str) -> None:
    assert has_han(character)
    assert count_han(f"a {character} b") == 1
    assert is_chinese(character)


@pytest.mark.parametrize("character", ["a", "é", "1", "、", "。", "䷀", " ", "あ", "한"])
def test_punctuation_kana_and_other_letters_are_not_han(character: str) -> None:
    assert not has_han(character)


def test_every_unified_ideograph_that_python_knows_is_han() -> None:
    named = (chr(point) for point in range(0x3400, 0x323B0))
    missing = [
        c
        for c in named
        if unicodedata.name(c, "").startswith("CJK UNIFIED IDEOGRAPH") and not has_han(c)
    ]
    assert missing == []


def test_kana_and_hangul_stand_without_spaces_like_han() -> None:
    assert re.fullmatch(f"[{CJK}]+", "東京タワーひらがな한국어" + RARE)
    assert not re.search(f"[{HAN}]", "タワーひらがな한국어")


def test_a_rare_character_is_chinese_for_questions_and_answers() -> None:
    question = f"{RARE}野家是谁创立的？"
    assert detect_language(RARE * 3) == "zh"
    assert language_of(question) == "zh"
    asked = classify_question(question)
    assert asked.kind == classify_question("吉野家是谁创立的？").kind


def test_a_rare_character_is_found_by_keyword_search() -> None:
    assert tokens(f"{RARE}野家") == [f"{RARE}野", "野家"]
    assert f"{RARE}野家" in tokens_with([f"{RARE}野家"])(f"在{RARE}野家吃饭")


def test_a_rare_character_ends_no_sentence_and_stays_in_simplified_text() -> None:
    text = f"他在{RARE}野家吃饭。后来他走了。"
    assert [text[a:b] for a, b in sentence_spans(text)] == [f"他在{RARE}野家吃饭。", "后来他走了。"]
    assert simplified(f"{RARE}劉備") == f"{RARE}刘备"


def test_no_module_writes_ranges_of_han_characters_of_its_own() -> None:
    """But for display widths, a tokeniser's own definition, and file formats."""
    own = {
        str(file.relative_to(ROOT))
        for package in ("engine", "graph")
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"\\u(?:3400|4e00|9fff)|一-", file.read_text(encoding="utf8"), re.IGNORECASE)
    }
    assert own == {
        "graph/text/cjk.py",
        "graph/export/image.py",
        "engine/embeddings/tokenizer.py",
        "engine/ingest/readers/transcripts.py",
    }
