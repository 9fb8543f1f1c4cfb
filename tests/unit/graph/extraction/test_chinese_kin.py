"""Relations between Chinese names for kin and offices."""

from __future__ import annotations

import pytest

from graph.extraction.chinese_kin import kin_relations
from graph.model import Mention
from graph.text.names import name_key


def _read(text: str, *names: str) -> list[tuple[str, str, str]]:
    mentions = [
        Mention(
            start=start,
            end=start + len(surface),
            surface=surface,
            key=name_key(key or surface),
            type=kind,
        )
        for surface, key, kind in (_named(name) for name in names)
        if (start := text.index(surface)) >= 0
    ]
    return [(r.subject.key, r.predicate, r.object.key) for r in kin_relations(text, mentions)]


def _named(name: str) -> tuple[str, str, str]:
    surface, _, rest = name.partition("/")
    key, _, kind = rest.partition("/")
    return surface, key, kind or "PERSON"


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("马腾之子马超出战。", ("马腾", "马超"), ("马超", "是…的子", "马腾")),
        ("操弟曹仁领兵。", ("操/曹操", "曹仁"), ("曹仁", "是…的弟", "曹操")),
        ("陈明的母亲李氏年老。", ("陈明", "李氏"), ("李氏", "是…的母亲", "陈明")),
        ("邹氏乃张济之妻也。", ("邹氏", "张济"), ("邹氏", "是…的妻", "张济")),
        ("周兰嫁给陈明。", ("周兰", "陈明"), ("周兰", "嫁给", "陈明")),
        ("封刘虞为幽州牧。", ("刘虞", "幽州牧//NAME"), ("刘虞", "被封为", "幽州牧")),
    ],
)
def test_kin_and_offices_are_relations(
    text: str, names: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    assert _read(text, *names) == [expected]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("进视之，乃袁逢之子，袁隗之侄。", ("袁逢", "袁隗")),
        ("方祭侄曹安民。", ("方祭", "曹安民")),
        ("吕布女为东宫妃。", ("吕布", "东宫妃")),
        ("刘备、关羽同行。", ("刘备", "关羽")),
    ],
)
def test_two_things_of_a_third_and_other_families_are_no_kin(
    text: str, names: tuple[str, ...]
) -> None:
    assert _read(text, *names) == []
