from __future__ import annotations

from collections import Counter

import pytest

from graph.extraction.aliases import Candidate, mentions_of
from graph.extraction.type_evidence import type_statements
from graph.model import COMMON, DETERMINED, LOCATED, OF_TYPE, ORDINARY, PHRASE
from graph.resolution.entity_types import (
    decide_types,
    head_type,
    is_namelike,
    settle_types,
    title_type,
)
from graph.text.sentences import lay_out


def cues(text: str, name: str) -> dict[str, float]:
    """What the words around one mention of a name speak for."""
    layout = lay_out(text)
    start = text.index(name)
    mentions = mentions_of(layout, [Candidate(start, start + len(name), "NAME")])
    found = list(type_statements(layout, mentions))
    assert all(one.predicate == OF_TYPE for one in found)
    return {one.object: one.strength for one in found}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("In fog Gannet Rise is a steep island off Port Haven.", "Gannet Rise", "PLACE"),
        ("They heard the fiddler Tam Gillebrand on the quay.", "Tam Gillebrand", "PERSON"),
        ("He sailed to Orrin Hope, a village in the north.", "Orrin Hope", "PLACE"),
        ("All of them went aboard the Silent Petrel at noon.", "Silent Petrel", "PRODUCT"),
        ("On that day Orrin Vale married her.", "Orrin Vale", "PERSON"),
        ("Orrin Vale is a 2000 British dance drama film about a boy.", "Orrin Vale", "WORK"),
        ("The report was read. Author: Orrin Vale", "Orrin Vale", "PERSON"),
        ("昨天诗人李白来了。", "李白", "PERSON"),
        ("大家抵达白鹭湾以后休息。", "白鹭湾", "PLACE"),
    ],
)
def test_the_words_around_a_name_tell_its_type(text: str, name: str, kind: str) -> None:
    told = cues(text, name)
    assert max(told, key=lambda one: told[one]) == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("On board was the Dauphin of Orrinland (1661–1711), who was the eldest son.", "Orrinland"),
        ("Here Princess Una of Vale and Orrinland is an actress.", "Orrinland"),
        ("Then the king of Orrinland married her.", "Orrinland"),
        ("He met Otto, Duke of Orrinland, a poet.", "Orrinland"),
    ],
)
def test_what_is_said_of_another_tells_nothing_of_a_name_inside_a_phrase(
    text: str, name: str
) -> None:
    assert "PERSON" not in cues(text, name)


def test_a_definition_outweighs_what_a_tagger_takes_a_name_for() -> None:
    assert decide_types(Counter(PERSON=16), {"PLACE": 5.0}) == Counter(PLACE=16)
    assert decide_types(Counter(PERSON=16), {"PLACE": 4.0}) == Counter(NAME=16)


def test_few_cues_outweigh_no_chinese_tags_that_are_many() -> None:
    types = {"荆洲": Counter(PLACE=254), "韩玄": Counter(PERSON=2), "梁兵": Counter(PERSON=40)}
    told = {"荆洲": {"PERSON": 8.0}, "韩玄": {"PLACE": 8.0}}
    settled = settle_types(types, told, {key: [key] for key in types})
    assert settled["荆洲"] == Counter(PLACE=254)
    assert settled["韩玄"] == Counter(PLACE=2)
    assert settled["梁兵"] == Counter(CONCEPT=40)


@pytest.mark.parametrize(("kind", "is_person"), [("PLACE", False), ("PERSON", True)])
def test_an_office_in_a_place_makes_no_person_of_it(kind: str, *, is_person: bool) -> None:
    layout = lay_out("朝廷以长沙太守为先锋。")
    mentions = mentions_of(layout, [Candidate(3, 5, kind)])
    assert any(one.object == "PERSON" for one in type_statements(layout, mentions)) is is_person


def test_what_speaks_against_a_person_needs_no_article_beside_it() -> None:
    assert decide_types(Counter(PLACE=3), {"PERSON": -2.0}) == Counter(PLACE=3)


def test_without_a_clear_winner_a_name_has_no_type() -> None:
    assert decide_types(Counter(PERSON=2, PLACE=2), {}) == Counter(NAME=4)


def test_a_word_that_only_begins_things_is_no_name() -> None:
    assert cues("# Failure of the winch\n\nIt was slow.", "Failure") == {ORDINARY: 1.0}
    assert decide_types(Counter(ORGANISATION=1), {ORDINARY: 1.0}) == Counter()
    assert decide_types(Counter(ORGANISATION=2), {ORDINARY: 1.0}) == Counter(ORGANISATION=2)


def test_a_word_that_is_always_of_the_dictionary_is_a_name_from_six_mentions_on() -> None:
    assert decide_types(Counter(NAME=2), {COMMON: 2.0}) == Counter()
    assert decide_types(Counter(NAME=5), {COMMON: 3.0}) == Counter()
    assert decide_types(Counter(NAME=5), {COMMON: 2.0}) == Counter(NAME=5)
    assert decide_types(Counter(NAME=6), {COMMON: 6.0}) == Counter(NAME=6)
    assert decide_types(Counter(NAME=9), {COMMON: 9.0, ORDINARY: 5.0}) == Counter()
    assert decide_types(Counter(NAME=1), {COMMON: 1.0, "PLACE": 2.0}) == Counter(PLACE=1)


def test_a_title_is_no_part_of_a_persons_name() -> None:
    types = {"captain tolland": Counter(PERSON=3), "captain": Counter(PERSON=2)}
    told = {"captain tolland": {"PERSON": 8.0}}
    surfaces = {"captain tolland": ["Captain Tolland"], "captain": ["Captain"]}
    assert not settle_types(types, told, surfaces)["captain"]


def test_a_surname_is_a_persons() -> None:
    types = {"maeve tolland": Counter(PERSON=3), "tolland": Counter(ORGANISATION=17)}
    told = {"maeve tolland": {"PERSON": 8.0}, "tolland": {"PERSON": 2.0}}
    surfaces = {"maeve tolland": ["Maeve Tolland"], "tolland": ["Tolland"]}
    assert settle_types(types, told, surfaces)["tolland"] == Counter(PERSON=17)


def test_a_single_word_that_only_a_tagger_gives_a_type_has_none() -> None:
    types = {"bash": Counter(PERSON=3), "captain": Counter(PERSON=2)}
    found = settle_types(types, {}, {"bash": ["Bash"], "captain": ["Captain"]})
    assert found["bash"] == Counter(NAME=3)
    assert not found["captain"]


def test_a_name_that_is_said_often_needs_more_than_one_sentence_that_tells_its_type() -> None:
    types = {"mpd": Counter(PERSON=100), "ahab": Counter(PERSON=100), "魏延": Counter(PERSON=99)}
    told = {"mpd": {"PERSON": 4.0}, "ahab": {"PERSON": 40.0, ORDINARY: 5.0}, "魏延": {}}
    surfaces = {"mpd": ["Mpd"], "ahab": ["Ahab"], "魏延": ["魏延"]}
    found = settle_types(types, told, surfaces)
    assert found["mpd"] == Counter(NAME=100)
    assert found["ahab"] == Counter(PERSON=100)
    assert found["魏延"] == Counter(NAME=99)  # transliterates, and nothing at all tells its type


def test_a_word_of_the_dictionary_needs_more_to_be_a_person() -> None:
    types, told = {"nations": Counter(PERSON=14)}, {"nations": {"PERSON": 4.0, COMMON: 14.0}}
    assert settle_types(types, told, {"nations": ["Nations"]})["nations"] == Counter(NAME=14)
    often = {"mutt": Counter(PRODUCT=200)}
    found = settle_types(often, {"mutt": {"PRODUCT": 2.0}}, {"mutt": ["Mutt"]})
    assert found["mutt"] == Counter(PRODUCT=200)  # of products texts say least what they are


def test_a_given_name_before_a_word_that_firms_have_is_a_persons() -> None:
    types = {
        "fanny price": Counter(ORGANISATION=14, PERSON=3),
        "charles price": Counter(ORGANISATION=14, PERSON=3),
        "fanny museum": Counter(ORGANISATION=5, PERSON=1),
        "helm price": Counter(ORGANISATION=14, PERSON=3),
    }
    surfaces = {key: [key.title()] for key in types}
    found = settle_types(types, {"charles price": {"ORGANISATION": 4.0}}, surfaces)
    assert found["fanny price"] == Counter(PERSON=17)
    assert all(not found[key]["PERSON"] for key in types if key != "fanny price")


def test_what_stands_in_capitals_alone_is_a_heading() -> None:
    types = {"limited warranty": Counter(NAME=1), "kmi": Counter(NAME=1)}
    found = settle_types(types, {}, {"limited warranty": ["LIMITED WARRANTY"], "kmi": ["KMI"]})
    assert not found["limited warranty"]
    assert found["kmi"] == Counter(NAME=1)


def test_a_names_own_words_tell_its_type() -> None:
    assert head_type("gannet head") == "PLACE"
    assert head_type("count of nassau") == "PERSON"
    assert head_type("open tide charter") == "WORK"
    assert title_type("Dark River (2017 film)") == "WORK"
    assert title_type("Dark River") == ""


def is_mention(surface: str) -> bool:
    """Whether rules take a surface for a name."""
    return bool(mentions_of(lay_out(surface), [Candidate(0, len(surface), "NAME")]))


def test_a_person_may_be_called_like_a_place() -> None:
    surfaces = {"tobias rock": ["Tobias Rock"], "m. tolland": ["M. TOLLAND"]}
    types = {"tobias rock": Counter(PERSON=1), "m. tolland": Counter(NAME=1)}
    found = settle_types(types, {}, surfaces)
    assert found["tobias rock"] == Counter(NAME=1)
    assert found["m. tolland"] == Counter(NAME=1)  # no heading


@pytest.mark.parametrize(
    "surface",
    [
        "EUR 88,000",
        "EUR",
        "MM-2018-1",
        "Rule 4",
        "7 May 2019",
        "a=b",
        "UT 84116",
        "Nodes 5",
        "STAVE TWO",
        "Song Sheet No",
        "Ubuntu/Mint/",
        "usr/src/Linux",
        "Orrin, Vale, Merrow",
        "Mrs. Orrin          54",
    ],
)
def test_amounts_codes_lists_dates_and_numbered_parts_are_no_names(surface: str) -> None:
    assert not is_mention(surface)


@pytest.mark.parametrize(
    "surface", ["HYDRA-6", "Apollo 11", "ISO/IEC 27001", "MH-60", "Node One Choir"]
)
def test_names_with_numbers_remain(surface: str) -> None:
    assert is_mention(surface)


def test_a_headline_is_no_name_of_a_thing() -> None:
    assert is_namelike(["Theodred II (Bishop of Elmham)"])
    assert is_namelike(["Juan Alfonso Pérez de Guzmán, 3rd Duke of Medina Sidonia"])
    assert is_namelike(["Do You Believe?"])
    assert not is_namelike(["What is Debian?"])
    assert not is_namelike(["Sound stays open by eighty-seven votes"])
    assert not is_namelike(["Chapter 10. Debian and the kernel"])


def test_a_ship_s_prefix_tells_a_ship() -> None:
    assert head_type("rv marguerite dunne") == "PRODUCT"


def test_initials_and_single_foreign_words_have_no_type_from_a_tagger_alone() -> None:
    types = {"m.d": Counter(PLACE=3), "布兰诺克": Counter(PERSON=10)}
    settled = settle_types(types, {}, {"m.d": ["M.D."], "布兰诺克": ["布兰诺克"]})
    assert settled == {"m.d": Counter(NAME=3), "布兰诺克": Counter(NAME=10)}


def test_what_is_said_often_may_be_a_substance() -> None:
    assert settle_types({"烬藻": Counter(PERSON=8)}, {}, {"烬藻": ["烬藻"]})["烬藻"] == {
        "CONCEPT": 8
    }


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("lantern cable", "PRODUCT"),
        ("orrin trophy", "EVENT"),
        ("christmas", "EVENT"),
        ("phantom", "PERSON"),
        ("orrin library", ""),
        ("leader of the council", "PERSON"),
        ("town of vale", "PLACE"),
        ("orrin cable of vale", ""),
    ],
)
def test_a_head_word_tells_a_type(key: str, kind: str) -> None:
    assert head_type(key) == kind


def test_a_feast_is_an_event_whatever_a_tagger_takes_it_for() -> None:
    types = {"christmas": Counter(WORK=4, NAME=8)}
    assert settle_types(types, {}, {"christmas": ["Christmas"]})["christmas"] == Counter(EVENT=12)


def test_an_article_speaks_against_a_person_who_does_little() -> None:
    assert decide_types(Counter(PERSON=4), {DETERMINED: 2.0}) == Counter(NAME=4)
    acting = {DETERMINED: 30.0, "PERSON": 32.0}
    assert decide_types(Counter(ORGANISATION=90), acting) == Counter(PERSON=90)


def test_rulers_are_named_after_places() -> None:
    types = {"duke of vale": Counter(PERSON=2), "vale": Counter(PERSON=4)}
    surfaces = {"duke of vale": ["Duke of Vale"], "vale": ["Vale"]}
    assert settle_types(types, {}, surfaces)["vale"] == Counter(PLACE=4)


def test_what_systems_are_called_after_is_a_product_unless_it_has_a_type() -> None:
    surfaces = {"kestrel": ["Kestrel"], "kestrel system": ["Kestrel system"]}
    system = Counter(CONCEPT=9)
    untyped = {"kestrel": Counter(NAME=9), "kestrel system": system}
    assert settle_types(untyped, {}, surfaces)["kestrel"] == Counter(PRODUCT=9)
    place = {"kestrel": Counter(PLACE=9), "kestrel system": system}
    assert settle_types(place, {}, surfaces)["kestrel"] == Counter(PLACE=9)


def test_a_usual_given_name_that_a_tagger_takes_for_a_person_is_one() -> None:
    types = {"adam": Counter(PERSON=9), "octave": Counter(PERSON=9)}
    settled = settle_types(types, {}, {"adam": ["Adam"], "octave": ["Octave"]})
    assert settled == {"adam": Counter(PERSON=9), "octave": Counter(NAME=9)}


def test_who_speaks_in_a_transcript_is_a_person() -> None:
    text = "User Interface: Mm.\nAda Vale: Excellent.\nUser Interface: The remote is red."
    assert cues(text, "User Interface") == {"PERSON": 4.0}
    assert cues(text, "Excellent") == {ORDINARY: 1.0}


def test_a_word_that_is_as_often_a_noun_is_no_name_where_it_is_seldom_one() -> None:
    assert decide_types(Counter(PLACE=2, CONCEPT=2), {}) == Counter(CONCEPT=2)
    assert decide_types(Counter(PLACE=2, CONCEPT=2), {"PLACE": 2.0})["PLACE"] == 2
    assert decide_types(Counter(PERSON=9, CONCEPT=9), {})["PERSON"] == 9


def test_a_chinese_phrase_that_is_named_once_needs_more_than_its_quotation_marks() -> None:
    types = {key: Counter(NAME=1) for key in ("全面开放", "斯特罗恩", "布兰湾")}
    surfaces = {key: [key] for key in types}
    settled = settle_types(types, {"布兰湾": {"PLACE": 2.0}}, surfaces)
    assert settled["全面开放"] == Counter()
    assert settled["斯特罗恩"] == Counter(NAME=1)
    assert settled["布兰湾"] == Counter(PLACE=1)


@pytest.mark.parametrize(
    ("named", "tagged", "located", "kind"),
    [(450, 0, 20, "NAME"), (20, 0, 4, "NAME"), (20, 4, 4, "PLACE"), (8, 0, 3, "PLACE")],
    ids=["a program", "seldom and never tagged", "seldom and tagged", "often"],
)
def test_in_and_at_speak_for_a_place_by_their_share_of_the_mentions(
    named: int, tagged: int, located: int, kind: str
) -> None:
    counts = +Counter(NAME=named - tagged, PLACE=tagged)
    settled = settle_types({"orrin": counts}, {"orrin": {LOCATED: located}}, {"orrin": ["Orrin"]})
    assert settled["orrin"] == Counter({kind: named})


def test_words_of_the_dictionary_are_no_person_that_only_a_tagger_sees() -> None:
    counts = {"scrub account": Counter(PERSON=4)}
    surfaces = {"scrub account": ["Scrub Account"]}
    cued = {"scrub account": {PHRASE: 4.0}}
    assert settle_types(counts, cued, surfaces)["scrub account"] == Counter(NAME=4)
    told = {"scrub account": {PHRASE: 4.0, "PERSON": 5.0}}
    assert settle_types(counts, told, surfaces)["scrub account"] == Counter(PERSON=4)
    assert settle_types(counts, {}, surfaces)["scrub account"] == Counter(PERSON=4)


def test_a_single_words_type_needs_words_that_speak_for_it_and_not_for_another() -> None:
    counts = {"orrin": Counter(PERSON=280, ORGANISATION=100)}
    told = {"orrin": {"PRODUCT": 1.5}}
    assert settle_types(counts, told, {"orrin": ["Orrin"]})["orrin"] == Counter(NAME=380)


def test_soldiers_are_no_person_unless_they_speak() -> None:
    counts = {"魏兵": Counter(PERSON=20)}
    surfaces = {"魏兵": ["魏兵"]}
    assert not settle_types(counts, {}, surfaces)["魏兵"]["PERSON"]
    said = {"魏兵": {"PERSON": 10.0}}
    assert settle_types(counts, said, surfaces)["魏兵"] == Counter(PERSON=20)
