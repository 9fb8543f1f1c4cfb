from __future__ import annotations

import pytest

from graph.text.short_names import is_short_for, shorter_names


@pytest.mark.parametrize(
    ("shorter", "longer", "expected"),
    [
        pytest.param("clarence brown", "clarence leon brown", True, id="without a middle name"),
        pytest.param("olof palme", "sven olof joachim palme", True, id="by the second name"),
        pytest.param("robert n. bradbury", "robert north bradbury", True, id="an initial"),
        pytest.param("robert adolf stemmle", "robert a. stemmle", True, id="an initial of it"),
        pytest.param("j. smith", "john quentin smith", True, id="an initial and no middle name"),
        pytest.param("clarence leon brown", "clarence brown", False, id="the other way round"),
        pytest.param("leon clarence brown", "clarence leon brown", False, id="another order"),
        pytest.param("clarence brown", "clarence leon browning", False, id="another surname"),
        pytest.param("john brown", "clarence leon brown", False, id="another given name"),
        pytest.param("clarence brown", "clarence brown", False, id="the same name"),
    ],
)
def test_a_name_is_short_for_one_that_has_all_its_words_in_order(
    shorter: str, longer: str, expected: bool
) -> None:
    plain = [tuple(name.replace(".", "").split()) for name in (shorter, longer)]
    assert is_short_for(plain[0], plain[1]) is expected
    assert (longer in shorter_names([shorter], [longer])) is expected


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        pytest.param("hong kong", "beer in hong kong", id="a phrase with a preposition"),
        pytest.param("brown", "clarence leon brown", id="a surname alone"),
        pytest.param("apollo 13", "apollo mission 13", id="a number"),
        pytest.param("刘备", "大汉 刘备", id="one word of Chinese"),
    ],
)
def test_what_only_looks_like_a_fuller_name_is_none(shorter: str, longer: str) -> None:
    assert shorter_names([shorter], [longer]) == {}


def test_each_name_has_those_that_may_be_short_for_it() -> None:
    introduced = ["clarence leon brown", "clarence p. brown", "ada brown"]
    known = ["clarence brown", "ada brown", "clarence leon brown", "eve stone"]
    assert shorter_names(known, introduced) == {
        "clarence leon brown": {"clarence brown"},
        "clarence p. brown": {"clarence brown"},
    }
