from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.text.boilerplate import boilerplate_spans, is_licence
from graph.text.sentences import strip_markup

TERMS = (
    "If you charge a fee for copies of an electronic work, pay a royalty to the trademark owner "
    "and comply with the terms of this agreement. The work is provided as-is, without warranty; "
    "you may request a refund. Redistribution without permission of the copyright holder is an "
    "infringement. The Foundation disclaims liability for damages; donations are accepted."
)
CONTRACT = (
    "The Contractor shall comply with the terms of this agreement. Liability for damages, fees and "
    "taxes is borne by the Contractor. An invalid provision leaves the other provisions untouched, "
    "and the warranty of the winch lasts for two years from the day on which it was delivered."
)
FAQ = (
    "Kestrel Linux may be distributed by anyone. Its licence lets you sell copies on discs that "
    "you have made, and the Kestrel Project asks for no fee. Most buyers look for a shop in Port "
    "Haven, which has had discs since the days of the first release and answers its telephone."
)


def test_terms_of_use_are_no_part_of_a_work() -> None:
    assert is_licence(TERMS)
    assert not strip_markup(TERMS).strip()


@pytest.mark.parametrize("text", [CONTRACT, FAQ, "", "Copyright 1915"])
def test_a_text_that_speaks_of_terms_is_kept(text: str) -> None:
    assert not is_licence(text)
    assert strip_markup(text).split() == text.split()


def test_what_stands_outside_of_the_marks_of_a_work_is_left_out_but_for_its_maker() -> None:
    text = (
        "The Grand Archive eBook of Tides\nTitle: Tides\nAuthor: Orrin Vale\nRelease date: May\n"
        "*** START OF THE GRAND ARCHIVE EBOOK TIDES ***\nIt was low water.\n"
        "*** END OF THE GRAND ARCHIVE EBOOK TIDES ***\nDonate to the Archive."
    )
    left = strip_markup(text)
    assert len(left) == len(text)
    assert " ".join(left.split()) == "Title: Tides Author: Orrin Vale It was low water."


@given(st.text(alphabet="*START OFEND\n:Titlea ", max_size=80))
def test_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    spans = [*boilerplate_spans(text)]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
