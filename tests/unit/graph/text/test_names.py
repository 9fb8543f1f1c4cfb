"""Names: found by their capitals, found by a dictionary, and told from headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.text.names import (
    NameMatch,
    NameMatcher,
    capitalised_names,
    introduced_names,
    is_generic,
    name_key,
)

TEUTBERGA = (
    "Teutberga( died 11 November 875) was a queen of Lotharingia by marriage to Lothair II. She "
    "was a daughter of Bosonid Boso the Elder and sister of Hucbert, the lay- abbot of St. "
    "Maurice's Abbey."
)


def surfaces(text: str) -> list[str]:
    return [text[start:end] for start, end in capitalised_names(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            TEUTBERGA,
            [
                "Teutberga", "Lotharingia", "Lothair II", "Bosonid Boso the Elder", "Hucbert",
                "St. Maurice's Abbey",
            ],
            id="abbreviation-epithet-numeral-inner-possessive",
        ),
        pytest.param("The Lord of the Rings sold.", ["Lord of the Rings"], id="joined-over-of-the"),
        pytest.param("In Rio de Janeiro", ["Rio de Janeiro"], id="joined-over-de"),
        pytest.param("However, in May 1998 they left.", [], id="function-words-and-dates"),
        pytest.param("by J. R. R. Tolkien.", ["J. R. R. Tolkien"], id="initials"),
        pytest.param("the U.S. Army and an iPhone", ["U.S. Army", "iPhone"], id="dots-and-inner"),
        pytest.param("ISO 27001, KMI-2031/7", ["ISO 27001", "KMI-2031/7"], id="codes"),
        pytest.param("Mary O’Brien’s mother", ["Mary O’Brien"], id="possessive-off"),
        pytest.param("Overview\nThe Beatles\nJohn Lennon", ["Overview", "Beatles", "John Lennon"],
                     id="short-lines-are-apart"),
        pytest.param("由Google开发的Android系统", ["Google", "Android"], id="latin-in-chinese"),
        pytest.param("Émile Zola à Łódź", ["Émile Zola", "Łódź"], id="accented-capitals"),
        pytest.param("", [], id="empty"),
    ],
)  # fmt: skip
def test_capitalised_runs_are_names(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


def test_a_name_goes_on_over_a_wrapped_line() -> None:
    text = "A long line of prose that was wrapped behind the word New\nYork City and goes on."
    assert surfaces(text)[-1] == "New\nYork City"


@given(st.text(alphabet="AbÉé .,'’-\nof战国1", max_size=60))
def test_spans_are_in_order_apart_and_not_empty(text: str) -> None:
    end_before = 0
    for start, end in capitalised_names(text):
        assert end_before <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]
        end_before = end


@pytest.mark.parametrize(
    "heading",
    ["Introduction", "1. Overview", "Table of Contents", "Chapter IV", "3.2 Results", "引言",
     "目录", "第三章", "一、背景", "Section 4", "X"],
)  # fmt: skip
def test_headings_of_any_document_are_generic(heading: str) -> None:
    assert is_generic(name_key(heading))


@pytest.mark.parametrize(
    "name", ["Mars", "Teutberga", "Civil War", "Chapter House", "三国演义", "Mix"]
)
def test_names_are_not_generic(name: str) -> None:
    assert not is_generic(name_key(name))


def test_a_title_is_found_inside_a_longer_name() -> None:
    matcher = NameMatcher(["leo fong"], ["leo fong and george nicholas"])
    assert matcher.match("Leo Fong and George Nicholas") == [
        NameMatch(0, 8, "leo fong"),
        NameMatch(0, 28, "leo fong and george nicholas"),
    ]


def test_among_names_the_longest_wins() -> None:
    matcher = NameMatcher([], ["new york", "new york city"])
    assert [m.key for m in matcher.match("New York City")] == ["new york city"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        pytest.param("Apple", "an apple a day", False, id="lower-case-word"),
        pytest.param("Apple", "Apple and pear", True, id="capitalised-word"),
        pytest.param("Common law", "under common law it is", True, id="two-words-in-lower-case"),
        pytest.param("However", "However, he left", False, id="function-word"),
        pytest.param("Bo", "Bo came", False, id="two-letters"),
        pytest.param("Introduction", "Introduction to it", False, id="generic"),
        pytest.param("Paris Hilton", "in Paris. Hilton was", False, id="across-sentences"),
        pytest.param("St. Louis", "to St Louis by boat", True, id="dot-or-none"),
        pytest.param("Zoë", "zu Zoe's Haus", True, id="accents-and-possessive"),
        pytest.param("Straße", "die Strasse", True, id="sharp-s"),
        pytest.param("Theodred II (Bishop)", "with Theodred II.", True, id="brackets-off"),
        pytest.param("Mamma Mia! Here We Go", "saw Mamma Mia! Here We Go.", True, id="mark-inside"),
        pytest.param("战国无双3", "《战国无双３》是", True, id="chinese-full-width-digit"),
        pytest.param("光荣", "由光荣和ω-force开发", True, id="chinese-substring"),
        pytest.param("ω-force", "由光荣和ω-Force开发", True, id="latin-name-in-chinese"),
        pytest.param("我们", "我们走", False, id="chinese-function-word"),
        pytest.param("引言", "引言如下", False, id="chinese-heading"),
        pytest.param("QQ音乐", "用QQ音乐听", True, id="mixed-name"),
        pytest.param("Q音乐", "用QQ音乐听", False, id="mixed-name-cuts-no-word"),
    ],
)
def test_a_known_name_in_a_text(name: str, text: str, found: bool) -> None:
    assert bool(NameMatcher([name_key(name)]).match(text)) is found


@pytest.mark.parametrize("name", ["who? when", "march | april", "トヨタ", "トヨタ グループ"])
def test_what_holds_no_word_of_its_own_is_found_nowhere(name: str) -> None:
    matcher = NameMatcher([name], [name])
    assert matcher.match("Who; when it rains? March | April! あい うえ トヨタ グループ") == []


def test_any_case_finds_words_in_lower_case() -> None:
    matcher = NameMatcher(["teutberga"])
    assert [m.key for m in matcher.match("who was teutberga?", any_case=True)] == ["teutberga"]


def test_the_longest_chinese_name_wins_and_titles_have_their_own_pass() -> None:
    matcher = NameMatcher(["三国"], ["三国演义", "演义"])
    assert [m.key for m in matcher.match("《三国演义》")] == ["三国", "三国演义"]


def test_a_name_is_not_repeated_where_title_and_name_agree() -> None:
    assert len(NameMatcher(["leo fong"], ["leo fong"]).match("Leo Fong")) == 1


def test_spans_slice_back_to_the_surface() -> None:
    matcher = NameMatcher(["lothair ii", "st. maurice abbey", "teutberga"])
    found = [(TEUTBERGA[m.start : m.end], m.key) for m in matcher.match(TEUTBERGA)]
    assert found == [
        ("Teutberga", "teutberga"),
        ("Lothair II", "lothair ii"),
        ("St. Maurice's Abbey", "st. maurice abbey"),
    ]


NAMES = st.lists(
    st.sampled_from(["leo fong", "leo", "fong hall", "hall", "george", "三国", "三国演义", "国演"]),
    unique=True,
)
TEXTS = st.lists(st.sampled_from(["Leo", "Fong", "Hall", "George", "and", "三国演义", "."])).map(
    " ".join
)


@given(NAMES, NAMES, TEXTS)
def test_order_of_names_means_nothing(titles: list[str], names: list[str], text: str) -> None:
    expected = NameMatcher(titles, names).match(text)
    assert NameMatcher(titles[::-1], names[::-1]).match(text) == expected
    assert expected == sorted(set(expected))


@given(NAMES, NAMES, NAMES, TEXTS)
def test_matches_change_only_where_a_changed_name_occurs(
    titles: list[str], before: list[str], added: list[str], text: str
) -> None:
    changed = set(added) - set(before)
    if NameMatcher(titles, before).match(text) != NameMatcher(titles, [*before, *added]).match(
        text
    ):
        assert NameMatcher([], changed).occurs_in(text)


def test_a_name_in_traditional_characters_is_the_same_name() -> None:
    assert name_key("劉備") == name_key("刘备")
    (match,) = NameMatcher(titles=[name_key("刘备")]).match("話說劉備入川")
    assert (match.start, match.end) == (2, 4)


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        pytest.param("Ada Brine (1815) wrote.", "", {"ada brine"}, id="what a text begins with"),
        pytest.param("Of tides.\n\nAda Brine was old.", "", {"ada brine"}, id="a paragraph"),
        pytest.param("The Ada Brine is a ship.", "File 7", {"ada brine"}, id="an article before"),
        pytest.param("Ada Brine went home.", "", set(), id="nothing said of what it is"),
        pytest.param("Of Ada Brine (1815).", "", set(), id="inside a sentence"),
        pytest.param("Ada Brine (1815) sailed.", "Who sailed", set(), id="a title that fits"),
        pytest.param("Ada Brine: it is late.", "", set(), id="a speaker"),
    ],
)
def test_a_paragraph_introduces_the_name_it_opens_with(
    text: str, title: str, expected: set[str]
) -> None:
    matches = NameMatcher([], ["ada brine"]).match(text)
    assert introduced_names(text, matches, title=title) == expected
