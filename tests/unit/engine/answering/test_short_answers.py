"""The short answer is a span of the source, of the kind asked for; comparisons come out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answering.extractive.answer import extractive_answer
from engine.answering.extractive.answer_spans import MAX_SPANS, spans_of
from engine.answering.extractive.evidence import evidence_features
from engine.answering.extractive.question_type import (
    Event,
    classify_question,
    countries_in,
    date_of,
    dates_in,
    is_before,
    is_dateline,
)
from engine.answering.packing import Draft
from engine.plain_text import strip_markdown
from engine.retrieval.lexical_variants import lexical_variants
from engine.retrieval.passages import split_passages
from engine.storage.tokenization import tokens
from engine.types import Passage

STATION = {
    "Maren Holt": "Maren Holt (3 May 1931 – 12 March 2009) was a Norwegian botanist. She founded "
    "the Vey Station with Jon Abara.",
    "Jon Abara": "Jon Abara (born 7 July 1928 in Trieste; died 1990) was an Italian engineer.",
    "Vey Station": "The Vey Station opened on 1 June 1974. It keeps 61 notebooks. Running it "
    "cost €740,000 a year. Its glider has the serial number GL-PIL-02.",
    "The Gull": "The Gull is a 1961 film directed by Maren Holt.",
    "The Tern": "The Tern is a 1946 film directed by Jon Abara.",
}
CHINESE = {
    "维岛站": "维岛站建于1974年，位于北角镇。站长是沈望舒，毕业于临澜大学。"
    "该站又名北角观测所，共有61本笔记。",
    "灯塔站": "灯塔站建于1951年，由王若水创办。",
}


def ask(question: str, texts: Mapping[str, str], **options: float) -> Draft:
    found = [
        Passage(
            text=text, score=1 / place, relevance=0.9, document_id=title, chunk_id=title,
            title=title, start=0, end=len(text),
        )
        for place, (title, text) in enumerate(texts.items(), start=1)
    ]  # fmt: skip
    whole = [set(tokens(f"{title} {text}")) for title, text in texts.items()]

    def weight(term: str) -> float:
        held = sum(term in some for some in whole)
        return math.log(1 + (len(whole) - held + 0.5) / (held + 0.5))

    return extractive_answer(
        question, found, weight=weight,
        min_evidence=0.0, **options,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "texts", "expected", "kind"),
    [
        pytest.param("Who directed The Gull in 1961?", STATION, "Maren Holt", "person", id="who"),
        pytest.param("When did the Vey Station open?", STATION, "1 June 1974", "time", id="when"),
        pytest.param(
            "How many notebooks does the Vey Station keep?", STATION, "61", "amount", id="how-many"
        ),
        pytest.param(
            "How much did it cost to run the Vey Station?",
            STATION,
            "€740,000",
            "money",
            id="how-much",
        ),
        pytest.param("Where was Jon Abara born?", STATION, "Trieste", "place", id="where"),
        pytest.param(
            "What is the serial number of the Vey Station's glider?",
            STATION,
            "GL-PIL-02",
            "code",
            id="code",
        ),
        pytest.param("When was Maren Holt born?", STATION, "3 May 1931", "time", id="born"),
        pytest.param("When did Maren Holt die?", STATION, "12 March 2009", "time", id="died"),
        pytest.param(
            "What nationality is Jon Abara?", STATION, "Italian", "nationality", id="nationality"
        ),
        pytest.param("维岛站的站长是谁？", CHINESE, "沈望舒", "person", id="who-chinese"),
        pytest.param("维岛站建于哪一年？", CHINESE, "1974年", "time", id="when-chinese"),
        pytest.param("维岛站位于哪里？", CHINESE, "北角镇", "place", id="where-chinese"),
        pytest.param("灯塔站由谁创办？", CHINESE, "王若水", "person", id="by-whom-chinese"),
        pytest.param("维岛站又名什么？", CHINESE, "北角观测所", "thing", id="called-chinese"),
    ],
)
def test_the_short_answer_is_the_span_of_the_kind_that_was_asked_for(
    question: str, texts: Mapping[str, str], expected: str, kind: str
) -> None:
    short = ask(question, texts).short

    assert short is not None
    assert (short.text, short.kind) == (expected, kind)
    assert 0 < short.confidence < 1


@pytest.mark.parametrize("texts", [STATION, CHINESE], ids=["english", "chinese"])
def test_a_short_answer_stands_in_its_document_inside_a_cited_quote(
    texts: Mapping[str, str],
) -> None:
    asked = ("When did it open?", "Who founded the Vey Station?", "站长是谁？", "建于哪一年？")
    drafts = [ask(question, texts) for question in asked]
    given_ = [(draft, draft.short) for draft in drafts if draft.short is not None]

    assert given_
    for draft, short in given_:
        assert short.document_id is not None
        assert texts[short.document_id][short.start : short.end] == short.text
        (cited,) = [c for c in draft.citations if c.number in short.citation_numbers]
        assert short.text in cited.quote


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param(
            "Which film was released first, The Gull or The Tern?", "The Tern", id="first"
        ),
        pytest.param(
            "Which film came out more recently, The Gull or The Tern?", "The Gull", id="recent"
        ),
        pytest.param("Who was born first, Maren Holt or Jon Abara?", "Jon Abara", id="born"),
        pytest.param("Who is younger, Maren Holt or Jon Abara?", "Maren Holt", id="younger"),
        pytest.param(
            "Which film has the director who was born later, The Gull or The Tern?",
            "The Gull",
            id="by-their-directors",
        ),
        pytest.param(
            "Do Maren Holt and Jon Abara have the same nationality?", "No", id="nationality"
        ),
        pytest.param("Are The Gull and The Tern both films?", "Yes", id="both"),
        pytest.param("Are Maren Holt and Jon Abara both Italian?", "No", id="not-both"),
    ],
)
def test_a_comparison_is_worked_out_from_both_sides(question: str, expected: str) -> None:
    draft = ask(question, STATION)

    assert draft.short is not None
    assert draft.short.text == expected
    assert {c.title for c in draft.citations} >= (
        {"The Gull", "The Tern"} if "The Gull" in question else {"Maren Holt", "Jon Abara"}
    ) - ({"The Gull", "The Tern"} if "director" in question else set())
    if expected in ("Yes", "No"):
        assert (draft.short.document_id, draft.short.start, draft.short.end) == (None, None, None)
    else:
        assert draft.short.citation_numbers == tuple(c.number for c in draft.citations)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("It cost €740,000.", "€740,000"), ("At an estimated cost of EUR 88,000.", "EUR 88,000")],
)
def test_an_amount_ends_before_the_full_stop(text: str, amount: str) -> None:
    spans = spans_of(text, classify_question("How much did it cost?"))

    assert amount in [text[each.start : each.end] for each in spans]
    assert f"{amount}." not in [text[each.start : each.end] for each in spans]


def test_a_chinese_comparison_is_worked_out_too() -> None:
    short = ask("维岛站和灯塔站哪个建立得更早？", CHINESE).short

    assert short is not None
    assert short.text == "灯塔站"


def test_what_was_found_does_not_decide_so_both_sides_are_shown_and_nothing_is_claimed() -> None:
    texts = {"Arno Vale": "Arno Vale is a painter.", "Ida Roe": "Ida Roe is a painter too."}
    draft = ask("Who was born first, Arno Vale or Ida Roe?", texts)

    assert draft.short is None
    assert {c.title for c in draft.citations} == set(texts)


def test_the_answer_stands_in_front_of_the_sentence_that_leads_to_it() -> None:
    texts = {
        "The Gull": "The Gull is a 1961 film directed by Maren Holt.",
        "Maren Holt": "Maren Holt was a botanist born in Bergen.",
        "Bergen line": "The Bergen line is a railway.",
    }
    draft = ask("Where was the director of the film The Gull born?", texts)

    assert [c.title for c in draft.citations][:2] == ["Maren Holt", "The Gull"]
    assert draft.short is not None
    assert draft.short.text == "Bergen"


def test_what_the_question_says_itself_is_no_answer() -> None:
    short = ask("Who founded the Vey Station with Jon Abara?", STATION).short

    assert short is None or short.text != "Jon Abara"


def test_two_questions_in_one_have_no_short_answer() -> None:
    draft = ask("Who founded the Vey Station, and when did it open?", STATION)

    assert draft.short is None
    assert draft.citations


def test_one_sentence_is_enough_where_it_is_sure() -> None:
    texts = {
        "Vey Station": "The Vey Station keeps 61 notebooks in a dry room. Gulls nest on the roof "
        "in spring. Tea is served at four.",
        "Tern": "A tern is a bird.",
    }
    draft = ask("How many notebooks does the Vey Station keep in a dry room?", texts, sure=0.5)

    assert len(draft.citations) == 1
    assert draft.text.startswith("The Vey Station keeps 61 notebooks")


def test_a_row_of_a_table_is_told_by_its_columns_and_quoted_as_it_stands() -> None:
    table = (
        "| Name | Serial | Year |\n|---|---|---|\n| Old Bess | TG-1907-03 | 1907 |\n"
        "| Abbess | QX-55018 | 2013 |"
    )
    draft = ask("What is the serial of Abbess?", {"Instruments": table})

    assert "Name: Abbess · Serial: QX-55018 · Year: 2013 [1]" in draft.text
    assert draft.citations[0].quote == "| Abbess | QX-55018 | 2013 |"
    assert draft.short is not None
    assert draft.short.text == "QX-55018"


def test_cells_without_as_many_headings_stand_without_them() -> None:
    assert strip_markdown("| a | b |", columns=("x",)) == "a · b"
    assert strip_markdown("| a | b |", columns=("x", "")) == "x: a · b"


@pytest.mark.parametrize(
    ("text", "event", "date"),
    [
        pytest.param("A (3 May 1931 – 12 March 2009) was", "birth", (1931, 5, 3), id="birth"),
        pytest.param("A (3 May 1931 – 12 March 2009) was", "death", (2009, 3, 12), id="death"),
        pytest.param("A (born May 3, 1931) is", "birth", (1931, 5, 3), id="born"),
        pytest.param("A (born May 3, 1931) is", "death", None, id="alive"),
        pytest.param(
            "A（1931年5月3日－2009年），植物学家", "death", (2009, 0, 0), id="chinese-life"
        ),
        pytest.param("The Gull is a 1961 film", "made", (1961, 0, 0), id="made"),
        pytest.param(
            "Shot in 1960, it was released in May 1961.", "made", (1961, 5, 0), id="released"
        ),
        pytest.param("No date at all (1, 2).", "birth", None, id="none"),
    ],
)
def test_the_date_of_an_event_is_read_off_a_sentence(
    text: str, event: Event, date: tuple[int, int, int] | None
) -> None:
    assert date_of(text, event) == date


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("The Ansgar Beacon, 11 October 2022.", True, id="newspaper"),
        pytest.param("临澜，2019年8月5日", True, id="letter"),
        pytest.param("The Beacon burnt down on 11 October 2022.", False, id="sentence"),
        pytest.param("2019年8月5日，苏晚晴弹了验潮仪组曲。", False, id="chinese-sentence"),
        pytest.param("| Abbess | QX-55018 | 2013 |", False, id="row"),
        pytest.param("Port Ansgar", False, id="no-date"),
    ],
)
def test_a_line_of_a_place_and_a_date_says_nothing(text: str, is_one: bool) -> None:
    assert is_dateline(text) == is_one


def test_a_dateline_with_the_year_asked_for_is_not_the_answer() -> None:
    texts = {
        "来信": "临澜，2019年8月5日\n\n我在音乐节上听了苏晚晴弹的验潮仪组曲。",
        "Letter": "Port Ansgar, 5 August 2019\n\nI heard Wanqing play the Tide Gauge Suite.",
    }
    for question, held in (
        ("苏晚晴2019年在音乐节上弹的是什么曲子？", "验潮仪组曲"),
        ("What did Wanqing play in 2019?", "Tide Gauge Suite"),
    ):
        assert held in ask(question, texts).text.splitlines()[0]


def test_dates_compare_as_far_as_both_are_said() -> None:
    assert is_before((1961, 0, 0), (1962, 5, 1)) is True
    assert is_before((1961, 0, 0), (1961, 5, 1)) is None
    assert is_before((1961, 6, 2), (1961, 6, 1)) is False
    assert is_before((1961, 6, 1), (1961, 6, 1)) is None


def test_countries_and_their_people_are_one() -> None:
    found = [country for _, _, country in countries_in("A Dutch-born American of Taiwan, 德国")]
    assert found == ["Netherlands", "United States", "Taiwan", "Germany"]


def test_a_word_for_who_did_it_stands_for_the_deed() -> None:
    assert "direct" in lexical_variants("director")
    assert "son" in lexical_variants("father")
    assert lexical_variants("灯塔") == ("灯塔",)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        pytest.param("In which city was he born?", "place", id="city"),
        pytest.param("The band was founded by whom?", "person", id="whom-at-the-end"),
        pytest.param("How long is the river?", "amount", id="how-long"),
        pytest.param("Why did it close?", "reason", id="why"),
        pytest.param("Is it open?", "verdict", id="yes-no"),
        pytest.param("What song did she sing?", "thing", id="thing"),
        pytest.param("协议的编号是多少？", "code", id="code-chinese"),
        pytest.param("它后来改名为什么？", "thing", id="not-why-chinese"),
        pytest.param("为什么关闭？", "reason", id="why-chinese"),
    ],
)
def test_the_kind_of_answer_is_read_off_the_question(question: str, kind: str) -> None:
    assert classify_question(question).kind == kind


@given(st.text(max_size=300), st.sampled_from(["Who is it?", "它在哪里？", "How many?", "何时？"]))
def test_spans_are_few_lie_in_the_text_and_come_in_order(text: str, question: str) -> None:
    asked = classify_question(question)
    spans = spans_of(text, asked, held=question)

    assert len(spans) <= MAX_SPANS
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert spans == sorted(spans)
    assert all(a < b for a, b in [(d[0], d[1]) for d in dates_in(text)])


def evidence_of(question: str, text: str, relevance: float) -> float:
    passage = Passage(
        text=text, score=1.0, relevance=relevance, document_id="a", chunk_id="a", title="", start=0,
        end=len(text),
    )  # fmt: skip
    chosen = split_passages([passage])
    asked = partial(evidence_features, question, chosen, [passage], decided=False, bound=None)
    return asked(wanted=dict.fromkeys(tokens(question), 1.0))["evidence"]


def test_evidence_is_a_probability_that_grows_with_relevance_and_words() -> None:
    question = "glider of Pilgrim"
    strong = evidence_of(question, "The glider of Pilgrim is red.", 0.9)
    irrelevant = evidence_of(question, "The glider of Pilgrim is red.", 0.02)
    beside = evidence_of(question, "The Pilgrim sails on Monday.", 0.9)
    nothing = evidence_of(question, "Tea is served at four.", 0.9)

    assert 0 < irrelevant < 0.2 < strong < 1
    assert nothing < beside < strong
    assert nothing < 0.2
