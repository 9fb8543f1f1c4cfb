"""Which names become one entity, which never do, and that order changes nothing."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.model import Entity, Name, content_id
from graph.resolution.name_parsing import initials_match, parts_of, singular
from graph.resolution.resolver import OWN_NAME, best_surface, majority_type, resolve_names


def name(key: str, kind: str = "PERSON", count: int = 3, documents: str = "d") -> Name:
    surface = key.upper() if kind == "ACRONYM" else key.title()
    kind = "ORGANISATION" if kind == "ACRONYM" else kind
    return Name(
        key=key,
        surfaces={surface: count},
        types={kind: count},
        documents=frozenset(documents.split()),
    )


def groups(names: list[Name], aliases: tuple[tuple[str, str], ...] = ()) -> set[tuple[str, ...]]:
    return {entity.keys for entity in resolve_names(names, aliases)[0] if len(entity.keys) > 1}


@pytest.mark.parametrize(
    ("names", "together"),
    [
        pytest.param(
            [name("sherlock holmes"), name("mr. holmes"), name("holmes")],
            ("holmes", "mr. holmes", "sherlock holmes"),
            id="surname-and-title",
        ),
        pytest.param([name("dr lin"), name("mei lin")], ("dr lin", "mei lin"), id="doctor"),
        pytest.param(
            [name("dr. maeve tolland"), name("maeve tolland")],
            ("dr. maeve tolland", "maeve tolland"),
            id="title-before-full-name",
        ),
        pytest.param(
            [name("john smith"), name("j. smith")], ("j. smith", "john smith"), id="initial"
        ),
        pytest.param(
            [name("john smith"), name("john q. smith")],
            ("john q. smith", "john smith"),
            id="middle-initial",
        ),
        pytest.param([name("dr. watson"), name("watson")], ("dr. watson", "watson"), id="no-full"),
        pytest.param(
            [name("bingley"), name("mr. bingley", count=9), name("miss bingley", count=9)],
            ("bingley", "mr. bingley"),
            id="the-surname-alone-is-his",
        ),
        pytest.param(
            [
                name("harville"),
                name("captain harville", count=40),
                name("mrs harville"),
                name("fanny harville"),
            ],
            ("captain harville", "harville"),
            id="the-surname-alone-is-the-captains",
        ),
        pytest.param(
            [
                name("sir walter", count=9),
                name("sir walter elliot", count=20),
                name("william elliot"),
            ],
            ("sir walter", "sir walter elliot"),
            id="a-given-name-with-its-title",
        ),
        pytest.param(
            [
                name("captain frederick wentworth"),
                name("captain wentworth"),
                name("lady wentworth"),
            ],
            ("captain frederick wentworth", "captain wentworth"),
            id="a-title-of-his-own",
        ),
        pytest.param(
            [name("anne", count=99), name("anne elliot", count=9), name("anne grierson", count=1)],
            ("anne", "anne elliot"),
            id="by-far-the-foremost",
        ),
        pytest.param(
            [name("captain ahab", count=9), name("ahab", count=30), name("enter ahab", count=1)],
            ("ahab", "captain ahab"),
            id="a-name-said-in-passing",
        ),
        pytest.param(
            [name("mr. scrooge", count=9), name("scrooge", count=30), name("tom scrooge", count=1)],
            ("mr. scrooge", "scrooge", "tom scrooge"),
            id="a-full-name-said-once",
        ),
        pytest.param(
            [name("kestrel marine institute", "ORGANISATION"), name("kmi", "ACRONYM")],
            ("kestrel marine institute", "kmi"),
            id="acronym",
        ),
        pytest.param(
            [name("the lantern cable", "PRODUCT"), name("lantern cable", "PRODUCT")],
            ("lantern cable", "the lantern cable"),
            id="article",
        ),
        pytest.param(
            [name("quillon ltd", "ORGANISATION"), name("quillon", "ORGANISATION")],
            ("quillon", "quillon ltd"),
            id="corporate-suffix",
        ),
        pytest.param(
            [name("红隼科技有限公司", "ORGANISATION"), name("红隼科技", "ORGANISATION")],
            ("红隼科技", "红隼科技有限公司"),
            id="chinese-corporate-suffix",
        ),
        pytest.param(
            [name("tidal turbine", "CONCEPT"), name("tidal turbines", "CONCEPT")],
            ("tidal turbine", "tidal turbines"),
            id="plural",
        ),
        pytest.param(
            [name("deep-sea cable", "CONCEPT"), name("deep sea cable", "CONCEPT")],
            ("deep sea cable", "deep-sea cable"),
            id="hyphen",
        ),
        pytest.param([name("林若溪"), name("林博士")], ("林博士", "林若溪"), id="chinese-title"),
        pytest.param([name("伯海"), name("伯海公", "NAME")], ("伯海", "伯海公"), id="honoured"),
        pytest.param(
            [name("林若溪"), name("林若溪教授")], ("林若溪", "林若溪教授"), id="full-name-and-title"
        ),
        pytest.param(
            [name("苏妮娃·布雷"), name("布雷")],
            ("布雷", "苏妮娃·布雷"),
            id="foreign-name-in-chinese",
        ),
    ],
)
def test_names_of_one_thing_are_merged(names: list[Name], together: tuple[str, ...]) -> None:
    assert groups(names) == {together}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([name("petrel 2", "PRODUCT"), name("petrel 3", "PRODUCT")], id="numbers"),
        pytest.param([name("henry viii"), name("henry vii")], id="roman-numbers"),
        pytest.param([name("mr darling"), name("mrs darling")], id="titles-of-two-genders"),
        pytest.param(
            [name("mr darling"), name("mrs darling"), name("george darling")], id="which-darling"
        ),
        pytest.param([name("jory pell"), name("mrs pell")], id="a-wife"),
        pytest.param([name("john smith"), name("mary smith"), name("smith")], id="two-smiths"),
        pytest.param([name("charles musgrove"), name("mrs charles musgrove")], id="his-wife"),
        pytest.param(
            [name("mrs musgrove"), name("mrs charles musgrove")], id="the-wife-of-another"
        ),
        pytest.param(
            [name("fanny harville"), name("captain harville"), name("mrs harville")],
            id="a-family-with-a-captain",
        ),
        pytest.param(
            [name("mr. darcy"), name("miss darcy"), name("lady anne darcy")], id="his-mother"
        ),
        pytest.param(
            [name("mr. knightley", count=90), name("mr. john knightley", count=30)],
            id="his-brother",
        ),
        pytest.param([name("tom bertram"), name("sir thomas bertram")], id="his-father"),
        pytest.param([name("kitty", count=9), name("mary and kitty")], id="two-sisters"),
        pytest.param(
            [name("miss elliot"), name("miss anne elliot"), name("elizabeth elliot")],
            id="the-eldest-miss",
        ),
        pytest.param(
            [name("john smith"), name("james smith"), name("j. smith")], id="two-initials"
        ),
        pytest.param(
            [name("george bush"), name("george w. bush"), name("george x. bush")],
            id="two-middle-names",
        ),
        pytest.param([name("george washington"), name("washington", "PLACE")], id="person-place"),
        pytest.param([name("john smith"), name("john")], id="common-given-name"),
        pytest.param(
            [name("sherlock holmes"), name("holmes", documents="e")], id="no-common-document"
        ),
        pytest.param(
            [name("general electric", "ORGANISATION"), name("electric", "CONCEPT")], id="namelike"
        ),
        pytest.param([name("prince of wales"), name("princess of wales")], id="title-with-of"),
        pytest.param(
            [
                replace(name("http", "CONCEPT"), surfaces={"HTTP": 9}),
                replace(name("https", "CONCEPT"), surfaces={"HTTPS": 8, "https": 2}),
            ],
            id="no-plural-of-an-acronym",
        ),
        pytest.param([name("林若溪"), name("林海"), name("林博士")], id="two-chinese-surnames"),
        pytest.param([name("林若溪"), name("林若溪夫人")], id="a-chinese-wife"),
        pytest.param([name("海鸥", "PRODUCT"), name("海鸥总", "PERSON")], id="no-person-titled"),
        pytest.param([name("雷小川"), name("雷公")], id="an-old-title"),
        pytest.param([name("林川", count=90), name("林海"), name("林丞相")], id="in-one-document"),
        pytest.param(
            [
                name("kestrel marine institute", "ORGANISATION"),
                name("kelp museum of iceland", "ORGANISATION"),
                name("kmi", "ACRONYM"),
            ],
            id="two-expansions",
        ),
    ],
)
def test_names_that_may_be_different_things_stay_apart(names: list[Name]) -> None:
    assert groups(names) == set()


def test_an_entity_is_called_by_the_full_name_as_sentences_write_it() -> None:
    full, short = name("elizabeth bennet"), name("eliza bennet", count=5)
    signed = replace(name("lydia van wickham ii"), surfaces={"LYDIA VAN WICKHAM II": 2})
    entities = resolve_names([full, short, signed])[0]
    assert {entity.name for entity in entities} == {"Elizabeth Bennet", "Lydia van Wickham II"}


SEVERAL = "a b c d e f"


@pytest.mark.parametrize(
    ("foremost", "other", "title", "expected"),
    [
        pytest.param(name("林川", count=50, documents=SEVERAL), 9, "林丞相", True, id="by far"),
        pytest.param(name("林川", count=50, documents=SEVERAL), 9, "林公", True, id="old title"),
        pytest.param(name("林川", count=50, documents=SEVERAL), 11, "林丞相", False, id="not so"),
        pytest.param(name("林川", count=50, documents="a b c"), 9, "林丞相", False, id="elsewhere"),
        pytest.param(name("林川", count=50, documents=SEVERAL), 9, "林夫人", False, id="a wife"),
    ],
)
def test_a_chinese_title_means_the_foremost_of_a_surname_alone(
    foremost: Name, other: int, title: str, expected: bool
) -> None:
    others = name("林海", count=other, documents=SEVERAL)
    merged = groups([foremost, others, name(title, documents="a b c d e")])
    assert merged == ({tuple(sorted(("林川", title)))} if expected else set())


@pytest.mark.parametrize(
    ("count", "other", "said", "expected"),
    [(40, 15, 60, True), (40, 15, 20, False), (40, 21, 80, False), (40, 15, 32, False)],
)
def test_a_chinese_title_that_is_said_often_means_the_foremost_in_one_document(
    count: int, other: int, said: int, *, expected: bool
) -> None:
    names = [name("林川", count=count), name("林海", count=other), name("林公", count=said)]
    assert groups(names) == ({("林公", "林川")} if expected else set())


def test_a_chinese_title_without_a_bearer_means_nobody() -> None:
    assert groups([name("林经理", count=60), name("方明", count=9)]) == set()
    few = [name("林强", count=4), name("林芳", count=2), name("林经理", count=99)]
    assert groups(few) == set()


def test_a_surname_shared_elsewhere_is_merged_only_where_its_owner_is_at_hand() -> None:
    smiths = [name("john smith", documents="a"), name("mary smith", documents="b")]
    assert groups([*smiths, name("smith", documents="a")]) == {("john smith", "smith")}
    assert groups([*smiths, name("smith", documents="a c")]) == set()


@pytest.mark.parametrize(
    ("other", "once", "beside", "expected"),
    [
        pytest.param("orrin otto brenner", 1, ["mia brenner", "ada brenner"], False, id="listed"),
        pytest.param("orrin otto brenner", 1, ["mia brenner"], True, id="beside-a-wife"),
        pytest.param("orrin otto brenner", 3, ["mia brenner", "ada brenner"], True, id="again"),
        pytest.param("orrin o. brenner", 1, ["mia brenner", "ada brenner"], True, id="initial"),
        pytest.param("orrin", 1, ["brenner"], False, id="given-name-beside-the-surname"),
        pytest.param("orrin", 1, ["tolland"], True, id="given-name-alone"),
        pytest.param("mr. brenner", 1, ["brenner"], True, id="the-surname-twice"),
    ],
)
def test_what_stands_once_and_among_relatives_is_another_person(
    other: str, once: int, beside: list[str], expected: bool
) -> None:
    names = [name("orrin brenner"), name(other, count=once), *map(name, beside)]
    neighbours = {other: set(beside), **{one: {other} for one in beside}}
    _, merges = resolve_names(names, neighbours=neighbours)
    entity_of = {merge.key: merge.entity_id for merge in merges}
    assert (entity_of[other] == entity_of["orrin brenner"]) is expected


def titled(one: Name, documents: str = "d") -> Name:
    return replace(one, titles=frozenset(documents.split()))


def a_title(key: str) -> Name:
    return Name(
        key=key,
        surfaces={key.title(): 1},
        types={},
        documents=frozenset("d"),
        titles=frozenset("d"),
    )


def test_a_bare_surname_is_the_person_of_the_title() -> None:
    """Where the life of one names relatives in full; elsewhere any of them may be meant."""
    family = [name("franck piccard"), name("ian piccard"), name("piccard")]
    assert groups(family) == set()
    assert groups([titled(family[0]), *family[1:]]) == {("franck piccard", "piccard")}
    assert groups([*family, name("mrs piccard")]) == set()
    elsewhere = name("piccard", documents="d e")
    assert groups([titled(family[0]), name("ian piccard", documents="d e"), elsewhere]) == set()


def test_the_title_may_leave_out_names_that_the_text_gives() -> None:
    family = [name("ross patterson alger"), name("harry alger"), name("alger")]
    together = ("alger", "ross alger", "ross patterson alger")
    assert groups([*family, a_title("ross alger")]) == {together}
    longer = [name("gregorio pacheco leyes"), name("pacheco")]
    assert groups([*longer, a_title("gregorio pacheco")]) == {
        ("gregorio pacheco", "gregorio pacheco leyes", "pacheco")
    }


@pytest.mark.parametrize(
    "key", ["adam smith prize", "adam smith jr", "adam smith iii", "adam smith & sons"]
)
def test_what_begins_with_a_name_may_be_another_thing(key: str) -> None:
    assert groups([titled(name("adam smith")), name(key)]) == set()


@pytest.mark.parametrize(
    ("long", "short", "rival"),
    [
        ("san antonio spurs", "spurs", "tottenham spurs"),
        ("interscope records", "interscope", "interscope publishing"),
        ("kestrel marine institute", "institute", "tide institute"),
        ("ministry of tides", "ministry", "ministry of war"),
        ("house of commons of merrow", "house of commons", "house of commons of kestrelia"),
    ],
)
def test_a_part_of_an_organisation_s_name_stands_for_it(long: str, short: str, rival: str) -> None:
    """Where the same documents name no other such organisation, and always the whole of it."""
    both = [name(long, "ORGANISATION"), name(short, "ORGANISATION")]
    assert groups(both) == {tuple(sorted((long, short)))}
    assert not any(short in some for some in groups([*both, name(rival, "ORGANISATION")]))
    alone = name(short, "ORGANISATION", documents="d e")
    assert groups([both[0], alone]) == set()


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("united nations", "nations"),
        ("tide research", "tide"),
        ("thirty-first congress", "congress"),
        ("bank of merrow", "merrow"),
        ("warner brothers", "brothers"),
    ],
)
def test_other_parts_of_an_organisation_s_name_are_something_else(long: str, short: str) -> None:
    assert groups([name(long, "ORGANISATION"), name(short, "ORGANISATION")]) == set()


def test_a_stated_alias_merges_and_an_ambiguous_one_does_not() -> None:
    names = [name("刘备"), name("玄德"), name("曹操")]
    assert groups(names, (("刘备", "玄德"),)) == {("刘备", "玄德")}
    assert groups(names, (("刘备", "玄德"), ("曹操", "玄德"))) == set()
    assert groups(names, (("刘备", "无人"),)) == set()


def test_a_stated_alias_does_not_join_different_numbers_or_kinds() -> None:
    numbers = [name("petrel 2", "PRODUCT"), name("petrel 3", "PRODUCT")]
    assert groups(numbers, (("petrel 2", "petrel 3"),)) == set()
    kinds = [name("lin"), name("oslo", "PLACE")]
    assert groups(kinds, (("lin", "oslo"),)) == set()


def test_an_entity_is_called_by_its_fullest_name() -> None:
    names = [
        name("sherlock holmes", count=5),
        name("holmes", count=90),
        name("mr. holmes", count=9),
    ]
    entities, merges = resolve_names(names)
    assert entities == [
        Entity(
            id=content_id("e", "sherlock holmes"),
            name="Sherlock Holmes",
            type="PERSON",
            keys=("holmes", "mr. holmes", "sherlock holmes"),
            aliases=("Holmes", "Mr. Holmes"),
            mention_count=104,
            document_count=1,
        )
    ]
    reasons = {merge.key: merge.reason for merge in merges}
    assert reasons["sherlock holmes"] == OWN_NAME
    assert "sherlock holmes" in reasons["holmes"]


def test_every_key_has_one_merge_with_a_reason() -> None:
    names = [name("a b"), name("b"), name("c", "PLACE")]
    entities, merges = resolve_names(names)
    assert [m.key for m in merges] == ["a b", "b", "c"]
    assert {m.entity_id for m in merges} == {e.id for e in entities}
    assert all(m.reason for m in merges)


def test_no_names_give_no_entities() -> None:
    assert resolve_names([]) == ([], [])


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        pytest.param({"NAME": 9, "PERSON": 2}, "PERSON", id="name-is-weakest"),
        pytest.param({"CONCEPT": 3, "ORGANISATION": 2}, "ORGANISATION", id="concept-yields"),
        pytest.param({"CONCEPT": 90, "ORGANISATION": 1}, "CONCEPT", id="unless-far-ahead"),
        pytest.param({"PLACE": 2, "PERSON": 2}, "PERSON", id="tie-in-the-order-of-types"),
        pytest.param({}, "NAME", id="nothing"),
    ],
)
def test_the_majority_type(types: dict[str, int], expected: str) -> None:
    assert majority_type(Counter(types)) == expected


def test_the_best_surface_is_the_most_frequent_with_plain_spaces() -> None:
    assert best_surface({"Port\nHaven": 2, "Port Haven": 2, "PORT HAVEN": 9}) == "Port Haven"
    assert best_surface({"KMI": 3, "Kmi": 2}) == "KMI"


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        pytest.param("KMI", "Kestrel Marine Institute", True, id="plain"),
        pytest.param("DoD", "Department of Defense", True, id="small-word-counts"),
        pytest.param("U.S.", "United States", True, id="dots"),
        pytest.param("KMI", "Kestrel Institute", False, id="too-few"),
        pytest.param("kmi", "kestrel marine institute", False, id="no-capitals"),
    ],
)
def test_initials(short: str, long: str, expected: bool) -> None:
    assert initials_match(short, long) is expected


def test_the_parts_of_names() -> None:
    assert parts_of("the rev. john smith").words == ("john", "smith")
    assert parts_of("prince of wales").titles == ()
    assert parts_of("petrel 3").numbers == ("3",)
    assert parts_of("欧阳教授").words == ("欧阳",)
    assert [singular(w) for w in ("bodies", "boxes", "cables", "class")] == [
        "body",
        "box",
        "cable",
        "class",
    ]


_WORDS = [
    "john",
    "mary",
    "smith",
    "holmes",
    "mr.",
    "mrs.",
    "dr",
    "q",
    "the",
    "ltd",
    "3",
    "ii",
    "kmi",
]
_KEYS = st.one_of(
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["林若溪", "林博士", "林", "若溪", "王先生", "王女士", "王海"]),
    st.text(min_size=1, max_size=6),
)
_NAMES = st.builds(
    lambda key, kind, count, documents: Name(
        key=key,
        surfaces={key.title(): count, key.upper(): 1},
        types={kind: count},
        documents=documents,
    ),
    _KEYS,
    st.sampled_from(["PERSON", "PLACE", "ORGANISATION", "CONCEPT", "NAME"]),
    st.integers(1, 5),
    st.frozensets(st.sampled_from("abc"), min_size=1),
)


@given(st.lists(_NAMES, max_size=14), st.randoms(use_true_random=False))
def test_the_order_of_names_and_aliases_changes_nothing(names: list[Name], random: object) -> None:
    aliases = list(zip([n.key for n in names[::2]], [n.key for n in names[1::2]], strict=False))
    expected = resolve_names(names, aliases)
    shuffled, mixed = list(names), list(aliases)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert resolve_names(shuffled, mixed) == expected


@given(st.lists(_NAMES, max_size=14))
def test_entities_partition_the_keys(names: list[Name]) -> None:
    entities, merges = resolve_names(names)
    keys = sorted(key for entity in entities for key in entity.keys)
    assert keys == sorted({n.key for n in names}) == [m.key for m in merges]
    assert sum(e.mention_count for e in entities) == sum(sum(n.surfaces.values()) for n in names)
    assert len({e.id for e in entities}) == len(entities)


@given(st.lists(_NAMES, max_size=12))
def test_an_unrelated_name_changes_no_other_entity(names: list[Name]) -> None:
    stranger = name("zanzibar zeppelin works", "ORGANISATION", documents="elsewhere")
    before = resolve_names(names)[0]
    after = [e for e in resolve_names([*names, stranger])[0] if stranger.key not in e.keys]
    assert after == before


def test_ten_thousand_names_take_a_moment() -> None:
    surnames = ["".join(letters) for letters in product("bdklmnrst", "aeiou", repeat=3)][:5_000]
    full = [name(f"gi{s[::-1]} {s}", documents=f"d{i % 500}") for i, s in enumerate(surnames)]
    names = [*full, *(name(s, documents=f"d{i % 500}") for i, s in enumerate(surnames))]
    started = time.process_time()
    entities, _ = resolve_names(names)
    assert len(entities) == 5_000
    assert time.process_time() - started < 15
