"""A model's text, whatever is in it, becomes claims and citations that hold."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.types import Passage
from engine.verification.claims import read_claims
from engine.verification.entailment import EntailmentScorer
from engine.verification.pipeline import Policy, VerifiedAnswer, rebuild_answer

DOCUMENTS = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp. Orrin Vale repaired it in 1908.",
    "zh": "站长是沈望舒。维岛站建于1974年，有三座灯塔。",
}
BEFORE = "\n\n" * 50
"""Passages begin somewhere inside of their documents."""
PASSAGES = tuple(
    Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id=name,
        chunk_id=name,
        title=name,
        start=len(BEFORE),
        end=len(BEFORE) + len(text),
    )
    for name, text in DOCUMENTS.items()
)


def checked(text: str, policy: Policy = "flag", *, min_support: float = 0.4) -> VerifiedAnswer:
    reader = EntailmentScorer(weight=lambda _: 2.0, question="Who lit the lamp?")
    reading = read_claims(text, PASSAGES, reader=reader, min_support=min_support)
    return rebuild_answer(reading, PASSAGES, policy=policy, language="en")


LIT = "Ada Brine lit the lamp in 1901"
MENDED = "Orrin Vale repaired it in 1908"


@pytest.mark.parametrize(
    ("said", "flagged", "dropped"),
    [
        pytest.param(f"{LIT} [1].", f"{LIT} [1].", f"{LIT} [1].", id="right"),
        pytest.param(f"{LIT} [2].", f"{LIT} [1].", f"{LIT} [1].", id="the wrong passage"),
        pytest.param(f"{LIT} [77].", f"{LIT} [1].", f"{LIT} [1].", id="no such passage"),
        pytest.param(f"{LIT}.", f"{LIT} [1].", f"{LIT} [1].", id="no mark"),
        pytest.param(f"{LIT}. [1]", f"{LIT}. [1]", f"{LIT}. [1]", id="behind the stop"),
        pytest.param(
            f"[1] {LIT}.\n[2] {MENDED}.",
            f"{LIT} [1].\n{MENDED} [2].",
            f"{LIT} [1].\n{MENDED} [2].",
            id="at line starts",
        ),
        pytest.param(
            f"{LIT} [1]. Nero lit it in 64 [1].",
            f"{LIT} [1]. Nero lit it in 64 [1] [unsupported].",
            f"{LIT} [1].",
            id="another made up",
        ),
        pytest.param(
            f"{LIT} [1], and in 1950 it fell into the sea near Rome [2].",
            f"{LIT} [1], and in 1950 it fell into the sea near Rome [2] [unsupported].",
            f"{LIT} [1].",
            id="half of a sentence",
        ),
        pytest.param(
            f"In short:\n\n1. {LIT} [1].\n2. It sank in 1999 [1].\n3. {MENDED} [2].",
            f"In short:\n\n1. {LIT} [1].\n2. It sank in 1999 [1] [unsupported].\n3. {MENDED} [2].",
            f"In short:\n\n1. {LIT} [1].\n2. {MENDED} [2].",
            id="a list closes up",
        ),
        pytest.param(
            f"## Then\n\nIt sank in 1999 [1].\n\n## Later\n\n{MENDED} [2].",
            f"## Then\n\nIt sank in 1999 [1] [unsupported].\n\n## Later\n\n{MENDED} [2].",
            f"## Later\n\n{MENDED} [1].",
            id="a heading without anything under it",
        ),
        pytest.param(
            f"{LIT} [1].\n\nSources:\n[1] lamp\n[2] storm\n",
            f"{LIT} [1].",
            f"{LIT} [1].",
            id="a list of sources",
        ),
        pytest.param(
            "站长是沈望舒【３】。维岛站建于１９７５年［3］。",
            "站长是沈望舒[1]。维岛站建于1975年[2][unsupported]。",
            "站长是沈望舒[1]。",
            id="Chinese",
        ),
        pytest.param(
            f"{LIT} [[1]] [source 1] [1-2, 9999].",
            f"{LIT} [1].",
            f"{LIT} [1].",
            id="nested, named, ranges",
        ),
        pytest.param("", "", "", id="nothing"),
        pytest.param("[1] [2]\n[3]", "", "", id="marks alone"),
    ],
)
def test_what_becomes_of_an_answer(said: str, flagged: str, dropped: str) -> None:
    assert checked(said, "flag").text == flagged
    assert checked(said, "drop").text == dropped


def test_keeping_leaves_the_text_and_tells_in_the_claims() -> None:
    found = checked("Nero lit it in 64 [1].", "keep")
    assert found.text == "Nero lit it in 64 [1]."
    (claim,) = found.claims
    assert not claim.supported
    assert claim.support is not None
    assert claim.support < 0.4


def test_where_all_is_dropped_nothing_is_left() -> None:
    found = checked("Nero lit it in 64 [1]. It sank in 1999.", "drop")
    assert (found.text, found.nothing_left, found.dropped) == ("", True, 2)


def test_a_mark_in_code_is_code() -> None:
    text = "```\nlamp[1] = 1901\n```\n\nAda Brine lit the lamp in 1901 [1]."
    found = checked(text)
    assert "lamp[1] = 1901" in found.text
    assert len(found.citations) == 1


def test_what_says_nothing_needs_no_source() -> None:
    found = checked("## Who lit it?\n\nHere is what is known:\n\nThe sources do not say.")
    assert found.claims == ()
    assert "unsupported" not in found.text


def test_an_excuse_with_a_figure_is_a_claim() -> None:
    found = checked("The sources do not say it, but Nero lit it in 64.")
    assert found.text.endswith("[unsupported].")


def test_two_claims_on_one_sentence_share_a_number_and_the_better_support() -> None:
    found = checked(f"{LIT} [1]. The lamp at Gull Quay was lit by Brine [1].")
    assert len(found.citations) == 1
    assert found.citations[0].support == max(claim.support or 0 for claim in found.claims)


def test_a_claim_of_two_sources_keeps_both_marks() -> None:
    found = checked("Ada Brine lit the lamp in 1901 and Orrin Vale repaired it in 1908 [1][2].")
    assert {citation.document_id for citation in found.citations} == {"lamp", "storm"}


def test_a_mark_that_adds_nothing_goes() -> None:
    found = checked("The lamp burned whale oil [1][2].")
    assert [citation.document_id for citation in found.citations] == ["lamp"]


def test_a_claim_in_another_language_that_rules_cannot_judge_is_unchecked() -> None:
    found = checked("The station was built in 1974 [3].")
    (claim,) = found.claims
    assert (claim.supported, claim.unchecked, claim.support) == (False, True, None)
    assert "[unsupported]" not in found.text
    (wrong,) = checked("The station was built in 1975 [3].").claims
    assert (wrong.supported, wrong.unchecked) == (False, False)


PIECES = [
    LIT,
    MENDED,
    "Nero lit it in 64",
    "站长是沈望舒",
    "维岛站建于1975年",
    "[1]",
    "[2, 7]",
    "【３】",
    "[1-3]",
    "[1–9999]",
    "[[2]]",
    "[^1]",
    "[0]",
    "[",
    "]",
    "[1](http://a.b)",
    "`x[1]`",
    "```\na[2]\n",
    "```",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "## ",
    "| a | b |",
    ". ",
    "。",
    ", and ",
    "Sources:\n[1] x\n",
    "\ue000",
    "\ue001",
    "\u200b",
    "\ud800",
    "１２",
    "not ",
    "The sources do not say",
    "**",
    "\t \t",
]


@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14),
    st.sampled_from(["keep", "flag", "drop"]),
)
def test_whatever_a_model_says_marks_and_quotes_and_claims_hold(
    pieces: list[str], policy: Policy
) -> None:
    found = checked("".join(pieces), policy)
    for citation in found.citations:
        document = BEFORE + DOCUMENTS[citation.document_id]
        assert document[citation.start : citation.end] == citation.quote
        assert citation.quote
    for claim in found.claims:
        assert found.text[claim.start : claim.end] == claim.text
        assert policy != "drop" or claim.supported or claim.unchecked
    numbers = {citation.number for citation in found.citations}
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert {n for claim in found.claims for n in claim.citations} <= numbers
    starts = [claim.start for claim in found.claims]
    assert starts == sorted(starts)
    assert found.text == found.text.strip()
    assert checked("".join(pieces), policy) == found


@given(
    st.lists(st.sampled_from([p for p in PIECES if "`" not in p and p not in "[]"]), max_size=12)
)
def test_outside_of_code_every_mark_left_has_its_citation(pieces: list[str]) -> None:
    found = checked(" ".join(pieces))
    left = [int(n) for n in re.findall(r"(?<!\[)\[(\d{1,4})\](?!\()", found.text)]
    assert set(left) == {citation.number for citation in found.citations}
    assert list(dict.fromkeys(left)) == sorted(set(left))


@pytest.mark.parametrize("part", [" ", "[1", "[1]", "[1,1", "``` ", "\n- ", "source ", "1. "])
def test_a_long_answer_takes_time_by_its_length(part: str) -> None:
    text = (part * 8_000)[:8_000]
    started = time.process_time()
    checked(text)
    assert time.process_time() - started < 12  # quadratic would take longer
