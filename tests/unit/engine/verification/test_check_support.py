"""Whether sentences bear out a claim."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from engine.storage.tokenization import tokens
from engine.types import Passage
from engine.verification.computed import computed_figures
from engine.verification.entailment import EntailmentScorer, SupportScore
from engine.verification.entities_and_numbers import (
    Beside,
    contradicts,
    extract_quantities,
    missing_names,
    missing_quantities,
    names_in,
)
from engine.verification.swaps import count_swapped_entities, exchanged

LAMP = (
    "Ada Brine was born on the island of Skerra. She lit the lamp at Gull Quay in 1901. "
    "The lamp burned whale oil and was never electrified. Orrin Vale repaired it after the storm "
    "of 1907, together with Ada Brine. It was painted by Mary Holt in 1912."
)
STATION = "维岛站建于1974年，位于北岬。站长是沈望舒，副站长是王建国。该站有三座灯塔，从未关闭。"
THRESHOLD = 0.4


def passage(text: str, title: str = "", identity: str = "p") -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id=identity,
        chunk_id=identity,
        title=title,
        start=0,
        end=len(text),
    )


def support(claim: str, *passages: Passage, question: str = "") -> SupportScore:
    reader = EntailmentScorer(weight=lambda _: 2.0, question=question)
    given = passages or (passage(LAMP, "Ada Brine"), passage(STATION, "维岛站", "s"))
    return reader.support(reader.statement(claim), [reader.source(each) for each in given])


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("She lit the lamp at Gull Quay in 1901.", id="as it stands"),
        pytest.param("Ada Brine lit the lamp in 1901", id="the title names her"),
        pytest.param("In 1901 the lamp at Gull Quay was lit by Brine.", id="turned round"),
        pytest.param("Orrin Vale repaired the lamp after the 1907 storm.", id="in other words"),
        pytest.param("The lamp was never electrified.", id="denied in both"),
        pytest.param("站长是沈望舒。", id="Chinese"),
        pytest.param("该站共有3座灯塔。", id="Chinese numeral"),
        pytest.param("維島站建於1974年。", id="traditional characters"),
    ],
)
def test_what_the_source_says_is_supported(claim: str) -> None:
    assert support(claim).score >= THRESHOLD


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("She lit the lamp at Gull Quay in 1902.", id="another year"),
        pytest.param("She lit three lamps at Gull Quay in 1901.", id="a number more"),
        pytest.param("Nero Vale repaired it after the storm of 1907.", id="another name"),
        pytest.param("It was painted by Orrin Vale in 1912.", id="a name of the same text"),
        pytest.param("She lit the lamp at Skerra in 1901.", id="a place of the same text"),
        pytest.param("She did not light the lamp at Gull Quay in 1901.", id="denied"),
        pytest.param("The lamp was electrified.", id="the denial left out"),
        pytest.param("Whales are protected by law in most countries.", id="something else"),
        pytest.param("站长是李建国。", id="Chinese: another name"),
        pytest.param("维岛站建于1975年。", id="Chinese: another year"),
        pytest.param("维岛站不位于北岬。", id="Chinese: denied"),
        pytest.param("该站有五座灯塔。", id="Chinese: another number"),
    ],
)
def test_what_the_source_does_not_say_is_not(claim: str) -> None:
    assert support(claim).score < THRESHOLD


def test_a_figure_that_no_cited_sentence_holds_refutes_whatever_else_is_alike() -> None:
    found = support("She lit the lamp at Gull Quay in March 1901, at the age of 23.")
    assert set(found.missing) == {"23", "March"}
    assert found.score <= 0.25


def test_a_claim_that_needs_two_neighbours_rests_on_one_span_over_both() -> None:
    claim = "Ada Brine, who was born on Skerra, lit the lamp at Gull Quay in 1901."
    found = support(claim, passage(LAMP))
    assert found.score >= THRESHOLD
    (span,) = found.spans
    assert LAMP[span[1] : span[2]].startswith("Ada Brine was born")
    assert LAMP[span[1] : span[2]].endswith("in 1901.")


def test_a_claim_that_needs_sentences_far_apart_rests_on_both() -> None:
    claim = "The lamp burned whale oil and was painted by Mary Holt in 1912."
    quotes = [LAMP[start:end] for _, start, end in support(claim, passage(LAMP)).spans]
    assert len(quotes) == 2
    assert any("whale oil" in quote for quote in quotes)
    assert any("Mary Holt" in quote for quote in quotes)


def test_a_figure_that_only_the_source_of_another_language_holds_is_no_false_one() -> None:
    english = passage("A part of the fund was diverted by the bursar.")
    chinese = passage("报纸最早报道为290万欧元。", identity="c")
    claim = "The paper first reported that €2.9 million of the fund was diverted."
    found = support(claim, english, chinese)

    assert found.missing == ()
    assert {place for place, _, _ in found.spans} == {1}
    assert support(claim.replace("2.9", "3.9"), english, chinese).missing == ("3900000",)


def test_across_languages_only_figures_compare() -> None:
    station = passage(STATION)
    assert support("The station was built in 1974.", station).unjudged
    wrong = support("The station was built in 1975.", station)
    assert not wrong.unjudged
    assert wrong.missing == ("1975",)


NAMES = {"lu tinglan": ("陆听澜",), "陆听澜": ("lu tinglan",), "shen wangshu": ("沈望舒",)}


def across(claim: str, text: str) -> SupportScore:
    """Support where every two texts mean alike, and the library knows three names."""
    reader = EntailmentScorer(
        weight=lambda _: 2.0,
        across=lambda _, others: [0.9] * len(others),
        other_names=lambda keys: {key: NAMES[key] for key in keys if key in NAMES},
    )
    return reader.support(reader.statement(claim), [reader.source(passage(text))])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        pytest.param("In 2016 the ballad was translated by Lu Tinglan.",
                     "中文词是陆听澜2016年译的。", id="a name by its other script"),
        pytest.param("民谣由陆听澜于2016年译成中文。",
                     "Lu Tinglan translated the ballad in 2016.", id="a Chinese name"),
        pytest.param("压缩机由Aurelio Bastienne于1991年重修。",
                     "The compressor was rebuilt by Aurelio Bastienne in 1991.",
                     id="a Latin name among Chinese words"),
        pytest.param("The line opened in July 2008.",
                     "机场线于2008年7月开通。", id="months are no names"),
        pytest.param("她是第二任站长，1998年就任。",
                     "She became the second director in 1998.", id="an ordinal"),
    ],
)  # fmt: skip
def test_across_languages_a_claim_is_borne_out_by_figures_and_any_of_a_name(
    claim: str, text: str
) -> None:
    found = across(claim, text)

    assert not found.unjudged
    assert found.score >= THRESHOLD


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        pytest.param("In 2016 the ballad was translated by Shen Wangshu.",
                     "中文词是陆听澜2016年译的。", id="another's name"),
        pytest.param("民谣由陆听澜于2016年译成中文。",
                     "Mara Quill translated the ballad in 2016.", id="another's Latin name"),
        pytest.param("研究所付给Brannock Power 74万欧元。",
                     "Brannock Power paid the institute €740,000.", id="who pays is not named"),
    ],
)  # fmt: skip
def test_across_languages_no_other_name_or_side_is_borne_out(claim: str, text: str) -> None:
    assert across(claim, text).unjudged


def test_a_name_may_stand_in_short_unless_another_has_that_word() -> None:
    claim = "Wangshu Shenai dried seaweed in the oven."
    diary = "Shenai dried seaweed in the oven. Cook has forbidden it."

    assert support(claim, passage(diary)).missing == ()
    other = f"{diary} We met Orrin Shenai there."
    assert support(claim, passage(other)).missing == ("Wangshu Shenai",)


def test_doubt_alone_asks_for_the_cosine() -> None:
    asked: list[str] = []

    def alike(one: str, _: str) -> float:
        asked.append(one)
        return 1.0

    def score(claim: str, compare: bool) -> float:
        reader = EntailmentScorer(weight=lambda _: 2.0, alike=alike if compare else None)
        return reader.support(reader.statement(claim), [reader.source(passage(LAMP))]).score

    clear = "She lit the lamp at Gull Quay in 1901."
    doubtful = "The lamp burned whale oil for many years of service."
    assert score(clear, True) == score(clear, False)
    assert asked == []
    odds = math.log(score(doubtful, False) / (1 - score(doubtful, False)))
    assert abs(odds) < 1.0
    assert score(doubtful, True) > score(doubtful, False)
    assert asked == [doubtful]


@pytest.mark.parametrize(
    ("names", "evidence", "missing"),
    [
        pytest.param(["Ada Brine"], "Brine lit it", (), id="shortened"),
        pytest.param(["John Brine"], "Brine lit it", ("John Brine",), id="another first name"),
        pytest.param(["United Kingdom"], "the UK", (), id="initials"),
        pytest.param(["WHO"], "the World Health Organization", (), id="written out"),
        pytest.param(["American"], "in America", (), id="same root"),
        pytest.param(["Émile Zola"], "emile zola", (), id="accents"),
        pytest.param(["Hawkswell"], "在Hawkswell剧院", (), id="Latin in Chinese"),
        pytest.param(
            ["FSF's GNU"], "the Free Software Foundation's GNU project", (), id="initials in a name"
        ),
        pytest.param(
            ["FSF's GNU"], "the Fine Art Foundation's GNU project", ("FSF's GNU",), id="others"
        ),
        pytest.param(["王建国"], "王建军", ("王建国",), id="Chinese, one character off"),
        pytest.param(["尚恩有"], "尚恩喜欢骑马", (), id="Chinese, a verb clings"),
    ],
)
def test_names_are_found_however_they_are_shortened(
    names: Sequence[str], evidence: str, missing: tuple[str, ...]
) -> None:
    beside = Beside(passages="Ada Brine was a keeper. " + evidence)
    assert missing_names(names, evidence, beside) == missing


def test_a_name_put_for_another_shows_by_its_place() -> None:
    source = "Ada Brine lit the lamp and Orrin Vale repaired the lamp at Gull Quay."
    assert count_swapped_entities("Orrin Vale lit the lamp at Gull Quay.", source) == 0
    wrong = "Ada Brine lit the lamp and Mary Holt repaired the lamp at Gull Quay."
    assert count_swapped_entities(wrong, source) == 1
    assert count_swapped_entities(source, source) == 0


@pytest.mark.parametrize(
    ("claim", "sentence", "denied"),
    [
        ("It was not lit.", "It was lit.", True),
        ("It was lit.", "It was lit, and nobody was hurt.", False),
        ("Prices rose.", "Prices fell.", True),
        ("该站没有关闭。", "该站已关闭。", True),
        ("不仅是灯塔。", "是灯塔。", False),
    ],
)
def test_yes_and_no_are_told_apart(claim: str, sentence: str, denied: bool) -> None:
    def shared(clause: str, other: str) -> float:
        words = set(tokens(clause))
        return len(words & set(tokens(other))) / len(words) if words else 0.0

    assert contradicts(claim, sentence, sentence, shared=shared) is denied


@pytest.mark.parametrize(
    ("claim", "told", "figure"),
    [
        ("The gauge is older by 15 years: 1988 against 2003.", "built in 1988, then 2003", "15"),
        ("It lost by 1,214 to 1,127, a margin of 87.", "1,214 against, 1,127 in favour", "87"),
        ("58 % against 31 %, a difference of 27 points.", "58 per cent; 31 per cent", "27"),
        ("最早报道290万，比234万高出56万。", "先是290万，后来234万", "560000"),
    ],
)
def test_a_figure_that_computes_from_cited_ones_is_right(
    claim: str, told: str, figure: str
) -> None:
    said, known = extract_quantities(claim).numbers, extract_quantities(told).numbers
    assert figure in said - known
    assert figure in computed_figures(said - known, said=said, told=known, claim=claim)
    assert not computed_figures(["88"], said=said, told=known, claim=claim)


@pytest.mark.parametrize(
    "text", ["About a third of it.", "The first and the second lamp.", "约三分之一。"]
)
def test_parts_and_places_in_a_row_are_no_figures(text: str) -> None:
    assert extract_quantities(text).numbers == frozenset()


def test_two_things_that_change_places_are_told_from_the_same_things_in_another_order() -> None:
    source = "58 per cent of patients given emberin improved, against 31 per cent given placebo."
    assert exchanged("31 % improved on emberin and 58 % on placebo.", source)
    assert not exchanged("31 % improved on placebo and 58 % on emberin.", source)


def test_a_year_further_up_in_the_passage_counts_where_sentences_say_the_rest() -> None:
    log = (
        "Voyage of 2011. We left Gull Quay at dawn with six hands. The sea was calm until noon. "
        "Then the winch dragged the mate overboard beside the reef."
    )
    claim = "The winch dragged the mate overboard beside the reef in {year}."

    assert support(claim.format(year=2011), passage(log)).missing == ()
    assert support(claim.format(year=2014), passage(log)).missing == ("2014",)


def test_a_denial_beside_other_words_is_left_open() -> None:
    source = "RAID-4 has no noticeable impact on read performance, but writes are slowed down."
    close = "RAID-4 has noticeable impact on read performance."
    free = "Identical to RAID-4 in that slow writes wear out one disk of many arrays."

    assert support(close, passage(source)).contradicted
    assert not support(free, passage(source)).contradicted


def test_a_number_that_points_back_is_no_figure() -> None:
    assert extract_quantities("The two later issued a statement.").numbers == frozenset()
    assert extract_quantities("The two ships met two others.").numbers == {"2"}


def test_an_owner_and_what_it_owns_are_two_names() -> None:
    assert names_in("Tolland's Gull Quay was closed.") == ("Tolland", "Gull Quay")


@pytest.mark.parametrize(
    ("claim", "sentence", "denied"),
    [
        ("A soft limit can never be exceeded.", "A soft limit can be exceeded for a while.", True),
        ("A hard limit can never be exceeded.", "A hard limit can never be exceeded.", False),
        ("The organisers accepted €20,000.", "The organisers declined €20,000.", True),
        ("It stays shut, and the shop will open.", "The shop will close in May.", True),
    ],
)
def test_each_clause_is_held_to_its_counterpart(claim: str, sentence: str, denied: bool) -> None:
    def shared(one: str, other: str) -> float:
        words, held = set(tokens(one)), set(tokens(other))
        return len(words & held) / len(words) if words else 0.0

    assert contradicts(claim, sentence, sentence, shared=shared) is denied


@pytest.mark.parametrize(
    ("claim", "evidence", "other"),
    [
        ("on 4 July", "4 June; notes of July 2011", ["4 July"]),
        ("on 18 May", "held on 17 and 18 May 2002", []),
        ("on 29 June", "1999年6月28日至29日", []),
        ("六月二十一日", "on 21 June", []),
    ],
)
def test_a_day_belongs_to_its_month(claim: str, evidence: str, other: list[str]) -> None:
    missing = missing_quantities(extract_quantities(claim), extract_quantities(evidence))
    assert sorted(missing) == other
