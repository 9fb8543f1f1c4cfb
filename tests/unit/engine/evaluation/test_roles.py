"""Claims that join parts of several sentences, or put one thing in the place of another."""

from __future__ import annotations

import pytest

from engine.evaluation.roles import misplaced

LAMP = (
    "Ada Brine lit the lamp in 1901. Orrin Vale repaired the lamp in 1934. The keeper's boat was"
    " lent by the harbour office, which had bought it for 900 crowns. The valve is closed before"
    " the filter is removed."
)
BRIDGE = (
    "该桥北起临澜路，南接旧港街。林若梅于2011年接替何启明出任所长。"
    "第一期于1998年完工；第二期于2004年完工。"
)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        pytest.param("Ada Brine lit the lamp in 1934.", LAMP, id="figure of another sentence"),
        pytest.param("The keeper lent the boat to the harbour office.", LAMP, id="another doer"),
        pytest.param("The filter is removed before the valve is closed.", LAMP, id="order"),
        pytest.param("该桥北起旧港街，南接临澜路。", BRIDGE, id="Chinese places"),
        pytest.param("何启明于2011年接替林若梅出任所长。", BRIDGE, id="Chinese doers"),
        pytest.param("第一期于2004年完工。", BRIDGE, id="Chinese figure of another clause"),
    ],
)
def test_a_claim_with_misplaced_parts_is_recognised(claim: str, text: str) -> None:
    assert misplaced(claim, [text], lambda _: 1.0)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        pytest.param("The lamp was lit by Ada Brine in 1901.", LAMP, id="passive"),
        pytest.param("In 1934 the lamp was repaired by Orrin Vale.", LAMP, id="order of words"),
        pytest.param("The harbour office lent a boat to the keeper.", LAMP, id="active"),
        pytest.param("桥的南端接旧港街。", BRIDGE, id="Chinese"),
        pytest.param("2011年，林若梅接替了何启明。", BRIDGE, id="Chinese order"),
    ],
)
def test_another_wording_of_the_source_is_not_misplaced(claim: str, text: str) -> None:
    assert not misplaced(claim, [text], lambda _: 1.0)
