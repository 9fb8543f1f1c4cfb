"""Names whose form shows a person, register forms, and names in two languages."""

from __future__ import annotations

import pytest

from graph.model import SAME, Judgement, Name
from graph.resolution.resolver import resolve_names
from graph.resolution.rules import name_profile
from graph.resolution.similarity import similar_pairs
from graph.text.names import name_key


def name(
    key: str, kind: str = "PERSON", *, count: int = 2, documents: str = "d", titles: str = ""
) -> Name:
    return Name(
        key=key,
        surfaces={key.title(): count},
        types={kind: count} if kind else {},
        documents=frozenset(documents.split()),
        titles=frozenset(titles.split()),
    )


def entities(
    names: list[Name], aliases: tuple[tuple[str, str], ...] = ()
) -> dict[tuple[str, ...], str]:
    return {entity.keys: entity.type for entity in resolve_names(names, aliases)[0]}


def test_whoever_is_titled_once_is_a_person_whatever_a_tagger_says() -> None:
    names = [name("maeve tolland", "ORGANISATION", count=9), name("dr. maeve tolland", count=1)]
    assert entities(names) == {("dr. maeve tolland", "maeve tolland"): "PERSON"}


def test_what_is_named_after_a_person_is_none() -> None:
    names = [name("mrs. pell house", "PLACE"), name("pell house", "PLACE")]
    assert set(entities(names).values()) == {"PLACE"}


@pytest.mark.parametrize(
    "register",
    [
        "tolland, maeve",
        "maeve tolland, 1931–2009",
        "old maeve tolland",
    ],
)
def test_the_forms_of_registers_are_the_person(register: str) -> None:
    names = [name("maeve tolland"), name(register, "NAME")]
    assert len(entities(names)) == 1


@pytest.mark.parametrize(
    ("plain", "longer"),
    [
        ("united states", "united states, 1865–1900"),
        ("cold war", "cold war, 1939–1945"),
    ],
)
def test_years_behind_what_is_no_person_are_no_life(plain: str, longer: str) -> None:
    names = [name(plain, "PLACE"), name(longer, "NAME")]
    assert len(entities(names)) == 2


def test_the_full_name_of_a_document_s_person_is_the_shorter_title() -> None:
    names = [name("maeve tolland", titles="d"), name("ingrid maeve tolland", "NAME", count=1)]
    assert len(entities(names)) == 1
    names.append(name("ada maeve tolland", "NAME", count=1))
    assert len(entities(names)) == 3, "two may be meant"


def test_initials_join_another_document_only_where_both_are_about_the_same_things() -> None:
    full, short = name("maeve tolland", documents="a"), name("m. tolland", "NAME", documents="b")
    assert len(entities([name("dr. maeve tolland", documents="a"), full, short])) == 2
    shared = [
        name("brannock", "PLACE", documents="a b"),
        name("saltmeadow", "PLACE", documents="a b"),
    ]
    assert ("dr. maeve tolland", "m. tolland", "maeve tolland") in entities(
        [name("dr. maeve tolland", documents="a"), full, short, *shared]
    )


@pytest.mark.parametrize("short", ["mr garrod-pyke", "garrod-pyke", "mr. l. garrod-pyke"])
def test_a_double_surname_is_one_surname(short: str) -> None:
    assert len(entities([name("lionel garrod-pyke"), name(short)])) == 1


def test_a_surname_has_its_small_words() -> None:
    assert len(entities([name("zack de la rocha"), name("de la rocha")])) == 1


def test_a_surname_behind_a_title_is_the_one_with_that_title() -> None:
    names = [name("aurelio bastienne"), name("captain odile bastienne"), name("captain bastienne")]
    assert ("captain bastienne", "captain odile bastienne") in entities(names)


def test_a_diminutive_stands_for_the_given_name() -> None:
    assert len(entities([name("roz achterberg"), name("rosalind achterberg")])) == 1
    assert len(entities([name("roz achterberg"), name("edith achterberg")])) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("marley's ghost", "jacob marley"),
        ("ghost", "ghost of jacob marley"),
        ("scrooge's nephew", "ebenezer scrooge"),
        ("marozia's husband", "marozia"),
        ("kellie", "earl of kellie"),
        ("曹操之子", "曹操"),
    ],
)
def test_who_is_named_after_another_is_somebody_else(one: str, other: str) -> None:
    names = [
        Name(
            key=key.replace("'s", ""),
            surfaces={key: 2},
            types={"PERSON": 2},
            documents=frozenset("d"),
        )
        for key in (one, other)
    ]
    assert len(entities(names)) == 2


def relational(surface: str, kind: str = "PERSON", count: int = 2) -> Name:
    return Name(
        key=name_key(surface),
        surfaces={surface: count},
        types={kind: count},
        documents=frozenset("d"),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Scrooge's nephew", "Scrooge"),
        ("Scrooge's nephew", "Ebenezer Scrooge"),
        ("Mr. Scrooge’s nephew", "Scrooge"),
        ("Marley's Ghost", "Jacob Marley"),
        ("Marozia's husband", "Marozia"),
        ("husband of Marozia", "Marozia"),
        ("the Ghost of Jacob Marley", "Marley"),
        ("Cratchits' house", "Cratchits"),
        ("曹操之子", "曹操"),
        ("曹操的妻子", "曹操"),
    ],
)
def test_no_statement_and_no_judgement_joins_a_relational_name_and_its_owner(
    one: str, other: str
) -> None:
    names = [relational(one), relational(other)]
    first, second = sorted(n.key for n in names)
    judged = [
        Judgement(first_key=first, second_key=second, verdict=SAME, reason="short form", model="m")
    ]
    for aliases in ([(first, second)], [(second, first)]):
        found, _ = resolve_names(names, aliases, judgements=judged)
        assert len(found) == 2
    assert similar_pairs({n.key: name_profile(n) for n in names}) == []


def test_a_relational_name_stays_apart_from_all_names_of_its_owner() -> None:
    names = [relational(s) for s in ("Fred", "Scrooge's nephew", "Ebenezer Scrooge", "Ebenezer")]
    aliases = [("fred", "scrooge nephew"), ("ebenezer", "ebenezer scrooge"), ("ebenezer", "fred")]
    found, _ = resolve_names(names, aliases)
    of_key = {key: entity.id for entity in found for key in entity.keys}
    assert of_key["scrooge nephew"] != of_key["ebenezer scrooge"]


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("Scrooge's nephew", "Fred"),
        ("Lloyd's of London", "Lloyd's"),
        ("Fred, nephew of Scrooge", "Fred"),
        ("Ebenezer Scrooge's nephew", "Scrooge's nephew"),
    ],
)
def test_a_relational_name_keeps_its_stated_second_names(full: str, short: str) -> None:
    names = [relational(full), relational(short)]
    found, _ = resolve_names(names, [(name_key(full), name_key(short))])
    assert len(found) == 1


def test_a_ruler_s_number_joins_only_inside_a_document() -> None:
    names = [name("duke henry i", documents="a"), name("henry i", documents="b")]
    assert len(entities(names)) == 2


def test_the_father_is_not_the_son_whose_life_a_document_tells() -> None:
    names = [name("richard christian matheson", titles="d"), name("richard matheson", count=1)]
    assert len(entities(names)) == 2


def test_names_stated_to_be_one_in_two_scripts_are_whatever_a_tagger_says() -> None:
    names = [name("托兰海洋站", "PLACE"), name("tolland marine station", "ORGANISATION")]
    assert len(entities(names, (("托兰海洋站", "tolland marine station"),))) == 1


def test_a_text_shortens_a_transliterated_name_to_a_part_of_it() -> None:
    names = [name("加罗德-派克"), name("莱昂内尔·加罗德-派克"), name("lionel garrod-pyke")]
    stated = (("加罗德-派克", "lionel garrod-pyke"), ("莱昂内尔·加罗德-派克", "lionel garrod-pyke"))
    assert len(entities(names, stated)) == 1


def test_what_longer_names_begin_with_is_one_in_both_languages() -> None:
    stated = (("临澜海洋大学", "linlan ocean university"),)
    long = [name("临澜海洋大学", "ORGANISATION"), name("linlan ocean university", "ORGANISATION")]
    assert ("linlan", "临澜") in entities(
        [*long, name("临澜", "PLACE"), name("linlan", "PLACE")], stated
    )
    apart = entities([*long, name("临澜", "PLACE"), name("linlan", "PERSON")], stated)
    assert ("linlan",) in apart, "a place is no person"


def test_a_text_that_calls_one_by_a_usual_given_name_means_the_one_who_has_it() -> None:
    full = name("bob cratchit", count=5)
    assert len(entities([full, name("bob", count=48), name("poor bob", count=1)])) == 1
    assert len(entities([full, name("bob", count=1)])) == 2, "said once it may be anybody"
    rare = name("joe miller", count=1)
    assert len(entities([rare, name("joe", count=25)])) == 2, "a joke book's author"


def test_a_foreign_name_in_han_is_translated_whatever_a_tagger_says() -> None:
    trust = Name(
        key="brannock commons trust",
        surfaces={"Brannock Commons Trust": 3, "布兰诺克公共信托": 2},
        types={"ORGANISATION": 5},
        documents=frozenset({"d"}),
    )
    names = [trust, name("brannock", "PLACE", count=9), name("布兰诺克", count=3)]
    assert entities(names)["brannock", "布兰诺克"] == "PLACE"


def test_few_typed_mentions_do_not_decide_for_many_that_have_no_type() -> None:
    names = [name("vera moss", "NAME", count=40), name("vera moss inc", "PLACE", count=2)]
    assert set(entities(names).values()) == {"NAME"}


def test_a_place_is_the_same_without_the_word_of_its_rank() -> None:
    assert len(entities([name("临澜", "PLACE"), name("临澜市", "PLACE")])) == 1
    assert len(entities([name("临澜", "PLACE"), name("临澜港", "PLACE")])) == 2, "its harbour"


def test_a_company_s_name_in_two_scripts_is_no_person_of_that_surname() -> None:
    names = [name("verity quillon"), name("quillon"), name("奎伦公司", "ORGANISATION")]
    assert len(entities(names, (("奎伦公司", "quillon"),))) == 2
