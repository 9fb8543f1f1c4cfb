"""What age leaves of a score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.fusion import time_decay


def test_a_half_life_before_the_newest_counts_half() -> None:
    dates = ["2024-01-31", "2024-01-01", "2023-12-02"]
    assert time_decay(dates, half_life_days=30).tolist() == pytest.approx([1.0, 0.5, 0.25])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("2024", "2024-01-01", id="a year is its first day"),
        pytest.param("2024-03", "2024-03-01", id="a month is its first day"),
        pytest.param(2024, "2024-01-01", id="a year as a number"),
        pytest.param("2024-03-05T00:00:00Z", "2024-03-05", id="no zone is UTC"),
        pytest.param("2024-03-05T02:00:00+02:00", "2024-03-05", id="zones are heeded"),
    ],
)
def test_dates_are_read_as_they_are_written(one: object, other: str) -> None:
    dates = [one, other, "2025-01-01"]
    decay = time_decay(dates, half_life_days=100)
    assert decay[0] == pytest.approx(decay[1])
    assert decay[0] < 1


def test_what_has_no_date_counts_as_the_oldest() -> None:
    dates = ["2024-01-31", None, "2024-01-01", "soon"]
    assert time_decay(dates, half_life_days=30).tolist() == pytest.approx([1, 0.5, 0.5, 0.5])


def test_without_any_date_age_says_nothing() -> None:
    assert time_decay([None, "", "x"], half_life_days=1).tolist() == [1, 1, 1]
    assert time_decay([], half_life_days=1).size == 0


def test_a_half_life_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="half_life_days"):
        time_decay([], half_life_days=0)


@given(st.lists(st.dates().map(str), min_size=1, max_size=8), st.floats(0.1, 1e5))
def test_the_newest_counts_whole_and_older_ones_never_more(
    dates: list[str], half_life: float
) -> None:
    decay = time_decay(dates, half_life_days=half_life)
    assert decay.max() == 1.0
    by_age = [value for _, value in sorted(zip(dates, decay.tolist(), strict=True), reverse=True)]
    assert by_age == sorted(by_age, reverse=True)
