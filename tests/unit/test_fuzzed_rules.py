"""No text ends a rule: cut anywhere, unbalanced, mixed, of odd characters."""

from __future__ import annotations

import time
from collections.abc import Callable

import fuzzing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FAILED = {
    "a bracket that opens at the text's end": "世界卫生组织（世卫",
    "a bracket that opens, and no more": "）委员会（世卫",
    "a number before Chinese": "4海听音",
    "a name whose beginning ends the text": " 一、海缆项一、海缆# 一、海缆项目",
}
"""Texts that ended a rule, or of which it said what cannot be, made as short as they can be."""


@pytest.mark.parametrize("name", fuzzing.RULES)
@pytest.mark.parametrize("text", FAILED.values(), ids=FAILED)
def test_what_once_failed_holds(text: str, name: str) -> None:
    fuzzing.RULES[name](text)


@pytest.mark.parametrize("name", fuzzing.RULES)
def test_every_rule_reads_every_odd_text(name: str) -> None:
    for text in fuzzing.FIXED[::3]:
        fuzzing.RULES[name](text)


@pytest.mark.parametrize("name", ["sentences", "extraction", "names"])
@pytest.mark.parametrize("sentence", fuzzing.TRICKY[:8])
def test_a_sentence_is_read_wherever_it_is_cut(sentence: str, name: str) -> None:
    for text in fuzzing.cuts(sentence)[::2]:
        fuzzing.RULES[name](text)


PIECES = st.one_of(
    st.sampled_from(fuzzing.sentences()).flatmap(
        lambda text: st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(
            lambda places: text[min(places) : max(places)]
        )
    ),
    st.sampled_from([*fuzzing.MARKS, *fuzzing.ODD]),
    st.text(max_size=9),
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.parametrize("rule", fuzzing.RULES.values(), ids=fuzzing.RULES)
@settings(max_examples=25)
@given(text=TEXTS)
def test_pieces_of_sentences_and_marks_end_no_rule(rule: Callable[[str], None], text: str) -> None:
    rule(text)


def test_english_that_is_parsed_is_read_wherever_it_is_cut() -> None:
    texts = [*fuzzing.texts(len(fuzzing.FIXED) + 120, seed=3)[-120:], *fuzzing.ODD]
    extractor = fuzzing.extractor("en_core_web_sm")
    for text, found in zip(texts, extractor.extract(texts), strict=True):
        fuzzing.sound(text, found)


HARD = {
    "brackets": "(((",
    "brackets that close": ")))",
    "wide brackets": "（（（",
    "angles": "<<",
    "quotation marks": '"""',
    "nested quotation marks": "“‘",
    "titles": "《",
    "apostrophes": "’",
    "possessives": "'s 's",
    "labels of names": "又名又名",
    "short names": "（简称",
    "called": "人称号名",
    "initials": "a.a.a.",
    "capital initials": "A.A.",
    "capitals": "A B A B ",
    "names with marks": "Ada’s ",
    "one name": "Ada",
    "rules": "- - -",
    "spaces": " ",
    "tabs": "\t",
    "lines": "\n",
    "digits": "1",
    "numbers": "1.1,",
    "Chinese numbers": "三十",
    "particles": "的的的",
    "and so on": "等",
    "Chinese without an end": "汉",
    "letters without an end": "a",
    "links": "[a](",
    "marks of sources": "[1",
    "code": "`",
    "stress": "*a",
    "cells": "| a ",
    "labels of lines": "a: ",
    "underscores": "_",
    "accents": "\u0301",
    "half surrogates": "\ud800",
}
MOST_GROWTH = 9.0
"""Times four the text: linear time is four times as much, quadratic time sixteen times."""
FREE_SECONDS = 0.5
"""What is done as fast as this is not looked at."""


def spent(rule: Callable[[str], None], text: str) -> float:
    started = time.thread_time()
    rule(text)
    return time.thread_time() - started


@pytest.mark.parametrize(
    "name", ["sentences", "extraction", "names", "answers", "checks", "choice"]
)
@pytest.mark.parametrize("piece", HARD.values(), ids=HARD)
def test_a_rule_takes_time_that_grows_with_the_text(name: str, piece: str) -> None:
    rule, size = fuzzing.RULES[name], 1_500
    text = piece * (size // len(piece) + 1)
    if (whole := spent(rule, text * 4)) > FREE_SECONDS:
        part = min(spent(rule, text) for _ in range(2))
        assert min(whole, spent(rule, text * 4)) < MOST_GROWTH * part
