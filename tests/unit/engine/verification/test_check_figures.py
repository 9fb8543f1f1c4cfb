"""Numbers, dates and codes in one form, however they are written."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.verification.entities_and_numbers import extract_quantities, missing_quantities


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("1,200 men", "twelve hundred men", id="thousands"),
        pytest.param("1.2 thousand", "一千二百人", id="scales"),
        pytest.param("about 3.5 million", "约350万", id="millions"),
        pytest.param("twenty-three lamps", "23 lamps", id="words"),
        pytest.param("３座灯塔", "three lamps", id="full-width"),
        pytest.param("两座", "two", id="liang"),
        pytest.param("3 March 1907", "1907-03-03", id="iso"),
        pytest.param("March 3rd, 1907", "1907年3月3日", id="chinese date"),
        pytest.param("一九七四年十二月", "December 1974", id="digits in Chinese"),
        pytest.param("a dozen ships", "12 ships", id="dozen"),
        pytest.param("the KMI-2031/7 report", "report KMI 2031/7 KMI20317", id="codes"),
    ],
)
def test_what_means_the_same_is_the_same(one: str, other: str) -> None:
    assert missing_quantities(extract_quantities(one), extract_quantities(other)) == frozenset()


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        pytest.param("in 1902", "in 1901", {"1902"}, id="year"),
        pytest.param("in May 1901", "in June 1901", {"May"}, id="month"),
        pytest.param("GL-PIL-02", "GL-PIL-03", {"glpil02"}, id="code"),
        pytest.param("1918", "the war of 1914–18", set(), id="a range's end"),
        pytest.param("about 1,200", "1,187 men", set(), id="approximate"),
        pytest.param("1,200", "1,187 men", {"1200"}, id="exact"),
        pytest.param("三国演义", "a novel", set(), id="a numeral in a name"),
        pytest.param("one of them", "a lamp", set(), id="one counts nothing"),
        pytest.param("You may go", "go", set(), id="may is no month"),
    ],
)
def test_what_the_evidence_lacks_is_named(claim: str, evidence: str, missing: set[str]) -> None:
    assert missing_quantities(extract_quantities(claim), extract_quantities(evidence)) == missing


@given(
    st.text(alphabet="0123456789.,-/ 一二十百千万亿年月日第kmMarchtwenty hundred～约", max_size=80)
)
def test_any_text_has_its_own_figures(text: str) -> None:
    found = extract_quantities(text)
    assert missing_quantities(found, found) == frozenset()


@pytest.mark.parametrize("part", ["1", "1,", "万", "twenty-", "A1-", "Mar ", "1.", "约"])
def test_the_time_grows_with_the_text_alone(part: str) -> None:
    extract_quantities(part * 10)
    started = time.process_time()
    extract_quantities(part * 5_000)
    assert time.process_time() - started < 5  # quadratic would take longer
