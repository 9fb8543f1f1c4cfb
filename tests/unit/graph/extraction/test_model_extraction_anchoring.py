"""What a model says of a text is kept as far as it stands there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.extraction.llm.grounding import FoldedText, anchor_records
from graph.extraction.llm.parsing import (
    RawClaim,
    RawEntity,
    RawExtraction,
    RawRelation,
    claim_status_of,
    date_of,
    scale_of,
    strength_of,
)
from graph.extraction.llm.prompts import ExtractionSchema
from graph.model import Claim, Description, Extraction, Statement

OPEN = ExtractionSchema.of()


def said(*names: str | tuple[str, str], **lists: object) -> RawExtraction:
    entities = tuple(
        RawEntity(name=name) if isinstance(name, str) else RawEntity(name=name[0], type=name[1])
        for name in names
    )
    return RawExtraction(entities=entities, **lists)  # type: ignore[arg-type]


def surfaces(text: str, name: str) -> list[str]:
    return [text[start:end] for start, end in FoldedText(text).places(name)]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        pytest.param("Ada saw Ada.", "Ada", ["Ada", "Ada"], id="every place"),
        pytest.param("ADA saw ada.", "Ada", ["ADA", "ada"], id="any case"),
        pytest.param("Adam saw Canada.", "Ada", [], id="whole words"),
        pytest.param("Ada\n  Brine", "Ada Brine", ["Ada\n  Brine"], id="white space"),
        pytest.param("Ada\u00a0Brine", "Ada  Brine", ["Ada\u00a0Brine"], id="hard space"),
        pytest.param("Ada's lamp", "Ada", ["Ada"], id="possessive in the text"),
        pytest.param("Ada lit it", "Ada's", ["Ada"], id="possessive in the name"),
        pytest.param("the ghosts came", "Ghost", ["ghosts"], id="plural in the text"),
        pytest.param("a ghost came", "ghosts", ["ghost"], id="plural in the name"),
        pytest.param("Tom O’Brien", "Tom O'Brien", ["Tom O’Brien"], id="curly apostrophe"),
        pytest.param("Sea–Gull", "sea-gull", ["Sea–Gull"], id="dash"),
        pytest.param("Gdan\u0301sk.", "Gdansk", ["Gdan\u0301sk"], id="accent apart"),
        pytest.param("at Straße 5", "STRASSE", ["Straße"], id="one character, two letters"),
        pytest.param("ＡＤＡ社", "Ada", ["ＡＤＡ"], id="full width"),
        pytest.param("½ cup", "1", [], id="part of a character"),
        pytest.param("在London的Ada", "London", ["London"], id="Latin inside Chinese"),
        pytest.param("劉備與刘备", "刘备", ["劉備", "刘备"], id="both scripts"),
        pytest.param("海鸥\n码头开放", "海鸥码头", ["海鸥\n码头"], id="line break inside Chinese"),
        pytest.param("读红楼梦", "《红楼梦》", ["红楼梦"], id="title marks"),
        pytest.param("of Kestrel", "Kestrel (company)", ["Kestrel"], id="brackets"),
        pytest.param(
            "埃比尼泽•斯克鲁奇", "埃比尼泽·斯克鲁奇", ["埃比尼泽•斯克鲁奇"], id="middle dot"
        ),
        pytest.param("Ada Brine", "Brine, Ada", ["Ada Brine"], id="surname first"),
        pytest.param("the UN met", "United Nations (UN)", ["UN"], id="short form in brackets"),
        pytest.param("a Hispano - Suiza .", "Hispano-Suiza", ["Hispano - Suiza"], id="split marks"),
        pytest.param("People's Daily", "People 's Daily", ["People's Daily"], id="joined marks"),
        pytest.param("Ada", "", [], id="no name"),
        pytest.param("Ada", "...", [], id="marks alone"),
        pytest.param("", "Ada", [], id="no text"),
    ],
)
def test_a_name_is_found_as_the_text_writes_it(text: str, name: str, expected: list[str]) -> None:
    assert surfaces(text, name) == expected


@given(st.text(max_size=60), st.text(max_size=8))
def test_places_lie_in_the_text_and_a_part_of_it_is_always_found(text: str, name: str) -> None:
    folded = FoldedText(text)
    for start, end in folded.places(name):
        assert 0 <= start < end <= len(text)
    assert folded.places(name) == folded.places(name)
    alone = f"。{name}。"
    assert bool(FoldedText(alone).places(name)) == bool(FoldedText(name).folded.strip())


def test_names_that_do_not_stand_in_the_text_are_dropped_and_counted() -> None:
    found = anchor_records(said("Ada Brine", "Zed Null", "zed null"), "Ada Brine left.", OPEN)
    assert [mention.surface for mention in found.extraction.mentions] == ["Ada Brine"]
    assert found.dropped == {"name that is not in the text": 1}
    assert (found.named, found.placed) == (2, 1)


@pytest.mark.parametrize("word", ["she", "1843", "May", "他", "the", "Introduction"])
def test_words_that_name_nothing_are_dropped(word: str) -> None:
    found = anchor_records(said(word), f"Then, {word} , 他 came.", OPEN)
    assert found.extraction == Extraction()
    assert found.dropped == {"word that names nothing": 1}


@pytest.mark.parametrize(
    ("label", "listed", "expected"),
    [
        pytest.param("person", (), "PERSON", id="small letters"),
        pytest.param("Organization", (), "ORGANISATION", id="other spelling"),
        pytest.param("city", (), "PLACE", id="narrower"),
        pytest.param("人物", (), "PERSON", id="Chinese"),
        pytest.param("space ship", (), "SPACE_SHIP", id="a type nobody lists"),
        pytest.param("City", ("PERSON", "CITY"), "CITY", id="listed"),
        pytest.param("", (), "NAME", id="none"),
        pytest.param("x" * 100, (), "X" * 40, id="too long"),
    ],
)
def test_types_are_ours_or_those_of_the_schema(
    label: str, listed: tuple[str, ...], expected: str
) -> None:
    found = anchor_records(said(("Ada", label)), "Ada left.", ExtractionSchema.of(listed))
    assert [mention.type for mention in found.extraction.mentions] == [expected]


def test_a_name_given_twice_has_one_type_and_its_longest_description() -> None:
    entities = (
        RawEntity(name="Ada", type="", description="short"),
        RawEntity(name="ADA", type="PERSON", description="a longer one"),
        RawEntity(name="Ada's", type="WORK"),
    )
    found = anchor_records(
        RawExtraction(entities=entities), "Ada and ADA and Ada.", OPEN
    ).extraction
    assert {mention.type for mention in found.mentions} == {"PERSON"}
    assert found.descriptions == (Description(key="ada", text="a longer one"),)


def test_a_name_inside_a_longer_one_is_mentioned_where_it_stands_alone() -> None:
    text = "The University of Oslo is in Oslo. Tromso University is not."
    found = anchor_records(
        said("University of Oslo", "Oslo", "Tromso University", "Tromso"), text, OPEN
    )
    assert [(m.start, m.surface) for m in found.extraction.mentions] == [
        (4, "University of Oslo"),
        (29, "Oslo"),
        (35, "Tromso"),
        (35, "Tromso University"),
    ]


def test_articles_are_no_part_of_a_name_unless_nothing_else_is() -> None:
    text = "The Kestrel sails. He heard The X."
    found = anchor_records(said("The Kestrel", "The X"), text, OPEN).extraction
    assert [mention.key for mention in found.mentions] == ["kestrel", "the x"]


def test_a_person_completed_from_another_text_is_found_by_the_surname() -> None:
    text = "Brine lit the lamp. The brine froze."
    found = anchor_records(said(("Ada Brine", "PERSON"), ("Ann Lamp", "PERSON")), text, OPEN)
    assert [(m.start, m.surface) for m in found.extraction.mentions] == [(0, "Brine")]
    assert found.dropped == {"name that is not in the text": 1}


TEXT = "Ada Brine met Tom Reed. The Kestrel sank. Tom Reed rebuilt it for Ada Brine."


def relation(source: str, target: str, predicate: str = "knows", **more: str) -> RawRelation:
    return RawRelation(source=source, target=target, predicate=predicate, **more)


def statements(
    *relations: RawRelation, schema: ExtractionSchema = OPEN, text: str = TEXT
) -> list[Statement]:
    names = said(("Ada Brine", "PERSON"), ("Tom Reed", "PERSON"), ("Kestrel", "PRODUCT"))
    whole = RawExtraction(entities=names.entities, relations=relations)
    return list(anchor_records(whole, text, schema).extraction.statements)


def test_a_relation_rests_on_the_first_sentence_with_both_ends() -> None:
    (statement,) = statements(relation("ADA BRINE", "tom reed", "MET_WITH"))
    assert TEXT[statement.start : statement.end] == "Ada Brine met Tom Reed."
    assert (statement.subject, statement.predicate, statement.object) == (
        "ada brine",
        "met with",
        "tom reed",
    )
    assert not statement.inferred


def test_the_sentence_that_speaks_of_the_relation_goes_before_the_first() -> None:
    (statement,) = statements(relation("Tom Reed", "Ada Brine", "rebuilt", description="for her"))
    assert TEXT[statement.start : statement.end] == "Tom Reed rebuilt it for Ada Brine."


APART = "Ada Brine met Tom Reed. The Kestrel sank. Rain fell on the quay."


def test_a_relation_no_sentence_states_is_inferred_from_the_nearest_two() -> None:
    (statement,) = statements(relation("Ada Brine", "Kestrel", "owns"), text=APART)
    assert statement.inferred
    assert APART[statement.start : statement.end] == "Ada Brine met Tom Reed. The Kestrel sank."
    drop = ExtractionSchema.of(inferred="drop")
    assert statements(relation("Ada Brine", "Kestrel"), schema=drop, text=APART) == []


@pytest.mark.parametrize(
    ("text", "inferred"),
    [
        ("Ada Brine grew up here. She owned the Kestrel.", False),
        ("The Kestrel sank. Its owner was Ada Brine.", False),
        ("Ada Brine grew up here. It rained on the Kestrel.", True),
        ("Ada Brine grew up here. Years passed. She owned the Kestrel.", True),
        ("Ada Brine grew up here. The Kestrel sank.", True),
        ("Ada Brine在此长大。她拥有Kestrel号。", False),
        ("Ada Brine在此长大。其中Kestrel号沉没。", True),
    ],
)
def test_a_relation_is_stated_by_adjoining_sentences_where_a_pronoun_stands_for_an_end(
    text: str, inferred: bool
) -> None:
    (statement,) = statements(relation("Ada Brine", "Kestrel", "owns"), text=text)
    assert statement.inferred is inferred
    assert (statement.subject, statement.object) == ("ada brine", "kestrel")


def test_that_two_names_are_one_is_not_believed_of_sentences_without_a_pronoun() -> None:
    (stated,) = statements(relation("Ada Brine", "Tom Reed", "also known as"), text=APART)
    (inferred,) = statements(relation("Ada Brine", "Kestrel", "also known as"), text=APART)
    assert (stated.predicate, inferred.predicate) == ("also known as", "related to")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("also known as", ("ada brine", "also known as", "tom reed")),
        ("HAS_PEN_NAME", ("ada brine", "also known as", "tom reed")),
        ("is the pen name of", ("tom reed", "also known as", "ada brine")),
        ("abbreviation for", ("tom reed", "also known as", "ada brine")),
        ("笔名", ("ada brine", "also known as", "tom reed")),
        ("known for", ("ada brine", "known for", "tom reed")),
        ("called", ("ada brine", "called", "tom reed")),
    ],
)
def test_a_relation_that_names_a_second_name_is_an_alias(
    predicate: str, expected: tuple[str, str, str]
) -> None:
    (found,) = statements(relation("Ada Brine", "Tom Reed", predicate))
    assert (found.subject, found.predicate, found.object) == expected


def test_a_predicate_that_the_schema_lists_stays_a_relation() -> None:
    schema = ExtractionSchema.of([], ["pen name"], strict=True)
    (found,) = statements(relation("Ada Brine", "Tom Reed", "pen name"), schema=schema)
    assert found.predicate == "pen name"


def aliased(text: str, name: str, *aliases: str, kind: str = "PERSON") -> Extraction:
    entity = RawEntity(name=name, type=kind, aliases=aliases)
    return anchor_records(RawExtraction(entities=(entity,)), text, OPEN).extraction


@pytest.mark.parametrize(
    ("text", "name", "alias", "pair"),
    [
        pytest.param(
            "Samuel Clemens wrote it. The cover says Mark Twain.",
            "Samuel Clemens",
            "Mark Twain",
            ("samuel clemens", "mark twain"),
            id="pen name",
        ),
        pytest.param(
            "林若溪（Lin Ruoxi）任站长。",
            "林若溪",
            "Lin Ruoxi",
            ("林若溪", "lin ruoxi"),
            id="scripts",
        ),
        pytest.param(
            "The Kestrel Marine Institute opened. KMI grew.",
            "Kestrel Marine Institute",
            "KMI",
            ("kestrel marine institute", "kmi"),
            id="abbreviation",
        ),
        pytest.param("Ada met Ada Brine.", "Ada Brine", "Ada", ("ada brine", "ada"), id="short"),
        pytest.param("Ada Brine came.", "Ada Brine", "Ada", None, id="only inside the name"),
        pytest.param("Ada Brine came.", "Ada Brine", "Beacon", None, id="not in the text"),
        pytest.param(
            "Ada Brine, the Director, came.", "Ada Brine", "the Director", None, id="title"
        ),
        pytest.param("Ada Brine, a keeper, came.", "Ada Brine", "keeper", None, id="no name"),
    ],
)
def test_second_names_that_stand_in_the_text_are_stated_aliases(
    text: str, name: str, alias: str, pair: tuple[str, str] | None
) -> None:
    found = aliased(text, name, alias)
    stated = [(s.subject, s.object) for s in found.statements if s.predicate == "also known as"]
    assert stated == ([] if pair is None else [pair])
    assert {key for pair in stated for key in pair} <= {mention.key for mention in found.mentions}


def test_a_second_name_stands_for_a_first_that_is_not_in_the_text() -> None:
    found = aliased("Mark Twain wrote it.", "Samuel Clemens", "Mark Twain")
    assert [(mention.key, mention.type) for mention in found.mentions] == [("mark twain", "PERSON")]


@pytest.mark.parametrize(
    ("given_relation", "why"),
    [
        pytest.param(
            relation("Ada Brine", "Zed"), "relation without both ends in the text", id="no end"
        ),
        pytest.param(
            relation("Ada Brine", "it"), "relation without both ends in the text", id="a pronoun"
        ),
        pytest.param(
            relation("Ada Brine", "ada brine"), "relation of a name to itself", id="itself"
        ),
    ],
)
def test_relations_without_two_ends_are_dropped_and_counted(
    given_relation: RawRelation, why: str
) -> None:
    whole = RawExtraction(entities=said("Ada Brine").entities, relations=(given_relation,))
    found = anchor_records(whole, TEXT, OPEN)
    assert found.extraction.statements == ()
    assert found.dropped == {why: 1}


def test_an_end_that_is_no_listed_entity_counts_where_it_stands_as_a_name() -> None:
    whole = RawExtraction(
        entities=said("Ada Brine").entities, relations=(relation("Ada Brine", "Tom Reed"),)
    )
    found = anchor_records(whole, TEXT, OPEN).extraction
    assert {(mention.key, mention.type) for mention in found.mentions} == {
        ("ada brine", "NAME"),
        ("tom reed", "NAME"),
    }
    assert len(found.statements) == 1


STRICT = ExtractionSchema.of(["PERSON", "PRODUCT"], ["PERSON - rebuilt - PRODUCT"], strict=True)


@pytest.mark.parametrize(
    ("given_relation", "kept"),
    [
        pytest.param(relation("Tom Reed", "Kestrel", "rebuilt"), True, id="as listed"),
        pytest.param(relation("Tom Reed", "Kestrel", "REBUILT"), True, id="in capitals"),
        pytest.param(relation("Kestrel", "Tom Reed", "rebuilt"), False, id="the wrong way"),
        pytest.param(relation("Tom Reed", "Ada Brine", "rebuilt"), False, id="the wrong range"),
        pytest.param(relation("Tom Reed", "Kestrel", "owns"), False, id="another predicate"),
    ],
)
def test_a_strict_schema_checks_predicate_domain_and_range(
    given_relation: RawRelation, kept: bool
) -> None:
    assert bool(statements(given_relation, schema=STRICT)) == kept


def test_a_strict_schema_keeps_no_other_type() -> None:
    found = anchor_records(said(("Ada Brine", "PERSON"), ("Kestrel", "SHIP")), TEXT, STRICT)
    assert {mention.key for mention in found.extraction.mentions} == {"ada brine"}
    assert found.dropped == {"type outside the schema": 1}


def test_a_relation_said_twice_is_one_with_the_longer_description() -> None:
    found = statements(
        relation("Ada Brine", "Tom Reed", "met", description="once"),
        relation("Ada Brine", "Tom Reed", "MET", description="met once"),
    )
    assert [statement.description for statement in found] == ["met once"]


def test_claims_rest_on_the_sentence_that_they_speak_of() -> None:
    text = "Ada Brine was born in 1850. In 1871 Ada Brine built the Kestrel."
    claims = (
        RawClaim(
            subject="Ada Brine",
            object="Kestrel",
            type="construction work",
            status="confirmed",
            start="1871-02-30",
            end="1999",
            text="She built it in 1871.",
        ),
        RawClaim(subject="Zed", text="He was there."),
        RawClaim(subject="Ada Brine", object="Zed", status="?", text="Born in 1850."),
    )
    found = anchor_records(
        RawExtraction(entities=said("Ada Brine", "Kestrel").entities, claims=claims), text, OPEN
    )
    assert found.extraction.claims == (
        Claim(
            start=0,
            end=27,
            subject="ada brine",
            object="",
            type="CLAIM",
            status="SUSPECTED",
            start_date="",
            end_date="",
            text="Born in 1850.",
        ),
        Claim(
            start=28,
            end=64,
            subject="ada brine",
            object="kestrel",
            type="CONSTRUCTION_WORK",
            status="TRUE",
            start_date="1871-02",
            end_date="",
            text="She built it in 1871.",
        ),
    )
    assert found.dropped == {
        "claim about a name that is not in the text": 1,
        "date that is not in the text": 1,
    }


def test_a_schema_without_claims_keeps_none() -> None:
    claim = RawClaim(subject="Ada Brine", text="x")
    whole = RawExtraction(entities=said("Ada Brine").entities, claims=(claim,))
    assert anchor_records(whole, TEXT, ExtractionSchema.of(claims=False)).extraction.claims == ()


def test_mixed_text_gives_mentions_in_both_languages() -> None:
    text = "刘备（Liu Bei）字玄德，与Cao Cao为敌。劉備死于白帝城。"
    whole = said(
        ("刘备", "人物"),
        ("Liu Bei", "PERSON"),
        ("玄德", "人物"),
        ("曹操", "人物"),
        ("白帝城", "地点"),
        relations=(relation("刘备", "玄德", "also known as"), relation("刘备", "Cao Cao", "敌人")),
    )
    found = anchor_records(whole, text, OPEN)
    assert {(m.surface, m.type) for m in found.extraction.mentions} == {
        ("刘备", "PERSON"),
        ("劉備", "PERSON"),
        ("Liu Bei", "PERSON"),
        ("玄德", "PERSON"),
        ("Cao Cao", "NAME"),
        ("白帝城", "PLACE"),
    }
    assert {(s.subject, s.predicate, s.object) for s in found.extraction.statements} == {
        ("刘备", "also known as", "玄德"),
        ("刘备", "敌人", "cao cao"),
    }
    assert found.dropped == {"name that is not in the text": 1}


@pytest.mark.parametrize(
    ("given_strength", "scale", "expected"),
    [
        pytest.param("7", 10.0, 0.7, id="of ten"),
        pytest.param("0.7", 1.0, 0.7, id="of one"),
        pytest.param("70", 100.0, 0.7, id="of a hundred"),
        pytest.param("7/10", 1.0, 0.7, id="written out"),
        pytest.param("70%", 10.0, 0.7, id="per cent"),
        pytest.param("High", 10.0, 0.9, id="a word"),
        pytest.param("强", 10.0, 0.9, id="a Chinese word"),
        pytest.param("", 10.0, 1.0, id="none"),
        pytest.param("-3", 10.0, 0.0, id="below"),
        pytest.param("9e999", 10.0, 1.0, id="beyond all numbers"),
        pytest.param("1/0", 10.0, 1.0, id="no fraction"),
    ],
)
def test_strengths_of_any_scale_lie_between_0_and_1(
    given_strength: str, scale: float, expected: float
) -> None:
    assert strength_of(given_strength, scale=scale) == expected


@pytest.mark.parametrize(
    ("given_strengths", "expected"),
    [([], 1.0), (["1", "0.4"], 1.0), (["1", "9"], 10.0), (["80", "9"], 100.0), (["high"], 1.0)],
)
def test_the_scale_is_read_off_all_strengths_together(
    given_strengths: list[str], expected: float
) -> None:
    assert scale_of(given_strengths) == expected


@pytest.mark.parametrize(
    ("given_date", "expected"),
    [
        ("2019", "2019"),
        ("2019-05", "2019-05"),
        ("2019-5-1", "2019-05-01"),
        ("2019-05-01T00:00:00Z", "2019-05-01"),
        ("2019年5月1日", "2019-05-01"),
        ("2019年5月", "2019-05"),
        ("二〇一九年", "2019"),
        ("2019-13-01", "2019"),
        ("0000", ""),
        ("875", "0875"),
        ("0875-03", "0875-03"),
        ("八七五年", "0875"),
        ("87", ""),
        ("May 2019", ""),
        ("none", ""),
    ],
)
def test_dates_are_as_exact_as_they_were_given(given_date: str, expected: str) -> None:
    assert date_of(given_date) == expected


@given(st.text(max_size=30))
def test_no_value_of_a_reply_raises(text: str) -> None:
    assert 0 <= strength_of(text, scale=scale_of([text])) <= 1
    assert claim_status_of(text) in {"TRUE", "FALSE", "SUSPECTED"}
    assert len(date_of(text)) in {0, 4, 7, 10}


@pytest.mark.parametrize(
    "name", ["husband of Marozia", "Ghost of Jacob Marley", "Marley's Scrooge"]
)
def test_a_relational_name_that_is_not_in_the_text_is_not_its_owner(name: str) -> None:
    text = "Marozia spoke. Marley and Scrooge were partners."
    assert anchor_records(said((name, "PERSON")), text, OPEN).extraction.mentions == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Brine reigned from 875.", "0875"),
        ("Ada Brine reigned from 0875.", "0875"),
        ("Ada Brine reigned from 1875.", ""),
        ("Ada Brine reigned from 8750.", ""),
    ],
)
def test_a_date_before_the_year_1000_stands_in_the_text_with_or_without_zeros(
    text: str, expected: str
) -> None:
    whole = RawExtraction(
        entities=(RawEntity(name="Ada Brine"),),
        claims=(RawClaim(subject="Ada Brine", text="reigned", start="0875"),),
    )
    (claim,) = anchor_records(whole, text, OPEN).extraction.claims
    assert claim.start_date == expected
