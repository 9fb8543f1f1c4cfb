"""Introductions of persons in Chinese, and what resolution makes of them."""

from __future__ import annotations

import pytest

from graph.extraction.aliases import stated_aliases
from graph.extraction.chinese_aliases import name_introductions, short_name_aliases
from graph.extraction.rule_based import LanguageExtractor, introduction_statements
from graph.model import ALSO_KNOWN_AS, Mention, Name
from graph.resolution.resolver import resolve_names
from graph.text.sentences import lay_out


def introduced(text: str, *names: str) -> list[tuple[str, str]]:
    """`(full name, second name)` of the introductions of a text."""
    found = [i for segment in lay_out(text).segments for i in name_introductions(segment, names)]
    return [(i.key, i.second_key) for i in sorted(found, key=lambda i: i.second)]


def a_name(key: str, kind: str, documents: str) -> Name:
    return Name(key=key, surfaces={key: 5}, types={kind: 5}, documents=frozenset(documents))


def entities(names: list[Name], *aliases: tuple[str, str]) -> set[tuple[str, ...]]:
    return {entity.keys for entity in resolve_names(names, aliases)[0]}


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        pytest.param("其人姓林名川，字伯海。", (), [("林川", "伯海")], id="surname and given"),
        pytest.param("覆姓欧阳，名川，字伯海，海东人。", (), [("欧阳川", "伯海")], id="compound"),
        pytest.param(
            "吾姓林名川，字长生，后改伯海，海东人也。",
            (),
            [("林川", "长生"), ("林川", "伯海")],
            id="changed later",
        ),
        pytest.param(
            "林川（1037年1月8日—1101年8月），字伯海，又字子平，号“白鹭居士”，世称林白鹭。",
            ("林川",),
            [("林川", "伯海"), ("林川", "子平"), ("林川", "白鹭居士"), ("林川", "林白鹭")],
            id="a chain behind the years of a life",
        ),
        pytest.param(
            "姓林，名川，字伯海：道号潮生先生。",
            (),
            [("林川", "伯海"), ("林川", "潮生")],
            id="an honorific is no part of the name",
        ),
        pytest.param(
            "林海有四子：长子名川，字伯海；次子名涛，字仲海。",
            (),
            [("林川", "伯海"), ("林涛", "仲海")],
            id="sons take the surname of their father",
        ),
        pytest.param(
            "夏侯海有二子：次名川，字伯海。", (), [("夏侯川", "伯海")], id="a father's, compound"
        ),
        pytest.param(
            "林川来了。川字伯海，海东人。", ("林川",), [("林川", "伯海")], id="given only"
        ),
        pytest.param(
            "欧阳川为书记。川字伯海，海东人。", (), [("欧阳川", "伯海")], id="compound, untagged"
        ),
        pytest.param("有颍川林川，字伯海。", (), [("林川", "伯海")], id="behind a place"),
        pytest.param("林川江，字伯海。", (), [("林川江", "伯海")], id="a whole clause"),
        pytest.param(
            "司徒林海之子：名川，字伯海。", (), [("林川", "伯海")], id="a father in office"
        ),
        pytest.param(
            "先见友人法川。川字伯海，海东人。",
            ("法川",),
            [("法川", "伯海")],
            id="named just before, a rare surname",
        ),
        pytest.param(
            "先见友人法川。川字伯海，海东人。",
            (),
            [("法川", "伯海")],
            id="a friend named just before",
        ),
        pytest.param(
            "海东林氏，兄弟二人：幼者名川，字伯海；其长者，有须，名涛，字仲海。",
            (),
            [("林川", "伯海"), ("林涛", "仲海")],
            id="brothers of a family",
        ),
        pytest.param(
            "林川，字伯海；为因逃难，更名单涛。",
            ("林川",),
            [("林川", "伯海"), ("林川", "单涛")],
            id="a new name, and why",
        ),
        pytest.param("其姓林，單名川，表字伯海。", (), [("林川", "伯海")], id="traditional"),
        pytest.param("却说林川字伯海，海东人。", ("林川",), [("林川", "伯海")], id="no comma"),
        pytest.param(
            "林川（小名阿潮）字伯海號白鷺居士。",
            ("林川",),
            [("林川", "伯海"), ("林川", "白鹭居士")],
            id="no comma, traditional, behind brackets",
        ),
        pytest.param(
            "林川，号白鹭居士，世称林白鹭。",
            ("林川",),
            [("林川", "白鹭居士"), ("林川", "林白鹭")],
            id="a pen name alone",
        ),
    ],
)
def test_second_names_belong_to_the_full_name(
    text: str, names: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert expected == introduced(text, *names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("川字伯海，海东人。", ("林川", "陈川"), id="two persons of that given name"),
        pytest.param("川字伯海，海东人。", (), id="nobody of that given name"),
        pytest.param("他写了一行字，字迹潦草，不好看。", (), id="handwriting"),
        pytest.param("那个汉字，字形复杂，字义多样。", (), id="a character"),
        pytest.param("他的名字，号码，都不对。", (), id="a number"),
        pytest.param("林川字迹好，字写得快。", ("林川",), id="a hand"),
        pytest.param("方块字笔画，很多。", (), id="a script"),
        pytest.param("林川号召群众，大家都来。", ("林川",), id="a call"),
        pytest.param("乌程吾粲，字孔休。", (), id="unknown where the name begins"),
    ],
)
def test_nothing_is_introduced_where_it_is_not_sure(text: str, names: tuple[str, ...]) -> None:
    assert introduced(text, *names) == []


def test_offsets_slice_back_to_the_names() -> None:
    text = "却说林川，字伯海。其弟姓林名涛，字仲海。"
    (segment,) = lay_out(text).segments
    found = name_introductions(segment, ("林川",))
    assert [(text[slice(*i.person)], text[slice(*i.second)]) for i in found] == [
        ("林川", "伯海"),
        ("涛", "仲海"),
    ]
    statements = list(introduction_statements(lay_out(text), found))
    assert [text[s.start : s.end] for s in statements] == [
        "却说林川，字伯海。",
        "其弟姓林名涛，字仲海。",
    ]


def test_the_extractor_states_them_with_both_names_as_persons() -> None:
    extractor = LanguageExtractor()
    text = "却说孙坚有四子：长子名策，字伯符；次子名权，字仲谋。"
    extraction = extractor.extract([text])[0]
    stated = {(s.subject, s.object) for s in extraction.statements if s.predicate == ALSO_KNOWN_AS}
    types = {m.key: m.type for m in extraction.mentions}
    assert {("孙策", "伯符"), ("孙权", "仲谋")} == stated
    assert {"PERSON"} == {types[key] for pair in stated for key in pair}


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        pytest.param("林若溪（1900—1980），原名林川。", True, id="the years of a life between"),
        pytest.param("林若溪（即林川）来了。", True, id="that is, in brackets"),
        pytest.param("夫人林若溪，即林川次子之妇。", False, id="that is, of somebody else"),
    ],
)
def test_a_second_name_in_a_sentence(text: str, stated: bool) -> None:
    mentions = [
        Mention(start=at, end=at + len(name), surface=name, key=name, type="PERSON")
        for name in ("林若溪", "林川")
        for at in [text.index(name)]
    ]
    assert stated == bool(list(stated_aliases(lay_out(text), mentions)))


def things(text: str, **types: str) -> list[tuple[str, str]]:
    """`(name, other name)` of what a text calls its things."""
    found = [i for segment in lay_out(text).segments for i in short_name_aliases(segment, types)]
    return [(i.key, i.second_key) for i in sorted(found, key=lambda i: i.second)]


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        pytest.param(
            "世界潮汐组织（世潮组织）在海东。",
            {"世界潮汐组织": "ORGANISATION"},
            [("世界潮汐组织", "世潮组织")],
            id="brackets alone",
        ),
        pytest.param(
            "世界潮汐組織（以下簡稱「世潮」）在海東。",
            {},
            [("世界潮汐组织", "世潮")],
            id="traditional, unknown to the tagger",
        ),
        pytest.param(
            "其后与海东潮汐发电有限公司（World Tide Ltd，简称海东公司）签约。",
            {},
            [("海东潮汐发电有限公司", "海东公司")],
            id="begins where the short form does",
        ),
        pytest.param("海东大学，简称海大，很大。", {}, [("海东大学", "海大")], id="behind a comma"),
        pytest.param(
            "潮汐草又名海韭菜、潮汐韭，可食。",
            {},
            [("潮汐草", "海韭菜"), ("潮汐草", "潮汐韭")],
            id="several, of what a paragraph begins with",
        ),
        pytest.param(
            "他到了海东城（旧称海陵）。",
            {"海东城": "PLACE", "海陵": "PERSON"},
            [],
            id="not where the tagged name begins",
        ),
        pytest.param(
            "他说，海东城（旧称海陵）很美。",
            {"海东城": "PLACE", "海陵": "PERSON"},
            [("海东城", "海陵")],
            id="whatever the tagger took the other name for",
        ),
        pytest.param(
            "《潮汐志》，又名《海东志》，是书。",
            {"潮汐志": "WORK"},
            [("潮汐志", "海东志")],
            id="titles of books",
        ),
        pytest.param(
            "白鹭，原名林若溪，诗人。", {}, [("白鹭", "林若溪")], id="a person's own name"
        ),
    ],
)
def test_things_have_short_and_other_names(
    text: str, types: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert expected == things(text, **types)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        pytest.param(
            "海东大学（海东）。", {"海东大学": "ORGANISATION", "海东": "PLACE"}, id="where"
        ),
        pytest.param("海东大学（新校区）很大。", {"海东大学": "ORGANISATION"}, id="no short form"),
        pytest.param("海东大学（以下简称甲方）签约。", {"海东大学": "ORGANISATION"}, id="a role"),
        pytest.param("潮汐草在海东亦被称为海韭菜。", {"海东": "PLACE"}, id="a place between"),
        pytest.param("林川又称病不出。", {"林川": "PERSON"}, id="calls in sick"),
        pytest.param("该草又名海韭菜。", {}, id="whatever it is"),
        pytest.param("学校原名海东大学。", {}, id="no name"),
    ],
)
def test_no_other_name_where_it_is_not_sure(text: str, types: dict[str, str]) -> None:
    assert things(text, **types) == []


def test_the_extractor_gives_short_forms_the_type_of_the_full_name() -> None:
    extraction = LanguageExtractor().extract(["世界卫生组织（世卫组织）总部在日内瓦。"])[0]
    stated = {(s.subject, s.object) for s in extraction.statements if s.predicate == ALSO_KNOWN_AS}
    types = {m.key: m.type for m in extraction.mentions}
    assert stated == {("世界卫生组织", "世卫组织")}
    assert types["世卫组织"] == types["世界卫生组织"] == "ORGANISATION"


def test_a_second_name_counts_whatever_the_tagger_took_it_for() -> None:
    names = [a_name("林川", "PERSON", "ab"), a_name("伯海", "PLACE", "ab")]
    names[1].types["PERSON"] = 1
    assert {("伯海", "林川")} == entities(names, ("林川", "伯海"))


def test_a_second_name_that_is_a_common_word_elsewhere_stays_apart() -> None:
    names = [a_name("林川", "PERSON", "a"), a_name("公路", "CONCEPT", "abcdef")]
    names[1].types["PERSON"] = 1
    assert {("公路",), ("林川",)} == entities(names, ("林川", "公路"))


def test_surname_and_second_name_are_the_same_person() -> None:
    names = [a_name(key, "PERSON", "a") for key in ("林川", "伯海", "林伯海", "陈伯海")]
    merged = entities(names, ("林川", "伯海"))
    assert ("伯海", "林伯海", "林川") in merged
    assert ("陈伯海",) in merged


def test_surname_and_second_name_tell_two_owners_apart() -> None:
    names = [a_name(key, "PERSON", "ab") for key in ("林川", "陈涛", "伯海", "林伯海")]
    merged = entities(names, ("林川", "伯海"), ("陈涛", "伯海"))
    assert {("林伯海", "林川"), ("陈涛",)} <= {
        tuple(k for k in some if k != "伯海") for some in merged
    }


def test_two_names_of_one_person_may_both_have_a_third() -> None:
    names = [a_name(key, "PERSON", "ab") for key in ("林川", "伯海", "白鹭")]
    stated = (("林川", "伯海"), ("林川", "白鹭"), ("伯海", "白鹭"))
    assert {("伯海", "林川", "白鹭")} == entities(names, *stated)


def test_two_persons_of_one_surname_and_second_name_stay_apart() -> None:
    names = [a_name(key, "PERSON", "ab") for key in ("林川", "林涛", "伯海", "林伯海")]
    merged = entities(names, ("林川", "伯海"), ("林涛", "伯海"))
    assert not any({"林川", "林涛"} <= set(some) for some in merged)
