from __future__ import annotations

import pytest
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from engine.errors import QuestionError
from engine.storage.schema import document_filter, matches_filters, narrowed_to, parse_condition

METADATA = {
    "title": "Tide tables",
    "type": "pdf",
    "namespace": "",
    "tags": ("red", "tide"),
    "date": "2024-05-01",
    "year": "2024",
    "pages": 12,
    "draft": False,
}


def holds(key: str, operator: FilterOperator, value: object) -> bool:
    wanted = MetadataFilter.model_construct(key=key, value=value, operator=operator)
    return matches_filters(MetadataFilters(filters=[wanted]), METADATA)


@pytest.mark.parametrize(
    ("key", "operator", "value", "expected"),
    [
        pytest.param("type", FilterOperator.EQ, "pdf", True, id="equal"),
        pytest.param("type", FilterOperator.EQ, "html", False, id="not equal"),
        pytest.param("tags", FilterOperator.EQ, "red", True, id="a list equals what it holds"),
        pytest.param("tags", FilterOperator.NE, "red", False, id="and is not what it does not"),
        pytest.param("tags", FilterOperator.CONTAINS, "tide", True, id="contains"),
        pytest.param("tags", FilterOperator.ANY, ["blue", "red"], True, id="any"),
        pytest.param("tags", FilterOperator.ALL, ["blue", "red"], False, id="all"),
        pytest.param("tags", FilterOperator.ALL, ["tide", "red"], True, id="really all"),
        pytest.param("type", FilterOperator.IN, ["pdf", "html"], True, id="in"),
        pytest.param("type", FilterOperator.NIN, ["pdf"], False, id="not in"),
        pytest.param("pages", FilterOperator.GT, 9, True, id="a number above"),
        pytest.param("pages", FilterOperator.GT, "9", True, id="a number as text"),
        pytest.param("year", FilterOperator.LTE, 2024, True, id="a text as number"),
        pytest.param("date", FilterOperator.GTE, "2024-04-30", True, id="a date after"),
        pytest.param("date", FilterOperator.LT, "2024", False, id="a date before a year"),
        pytest.param("title", FilterOperator.TEXT_MATCH, "Tide", True, id="text"),
        pytest.param("title", FilterOperator.TEXT_MATCH, "tide", False, id="text, case counts"),
        pytest.param(
            "title", FilterOperator.TEXT_MATCH_INSENSITIVE, "TABLES", True, id="text in any case"
        ),
        pytest.param("owner", FilterOperator.EQ, "Dorcas", False, id="a key that is not there"),
        pytest.param("owner", FilterOperator.NE, "Dorcas", True, id="is not, without the key"),
        pytest.param("owner", FilterOperator.IS_EMPTY, None, True, id="is empty"),
        pytest.param("title", FilterOperator.IS_EMPTY, None, False, id="is not empty"),
    ],
)
def test_an_operator_judges_as_it_says(
    key: str, operator: FilterOperator, value: object, expected: bool
) -> None:
    assert holds(key, operator, value) is expected


def test_every_operator_of_llama_index_is_offered() -> None:
    for operator in FilterOperator:
        assert holds("tags", operator, ["red"]) in (True, False)


def test_conditions_nest() -> None:
    red = MetadataFilter(key="tags", value="red")
    html = MetadataFilter(key="type", value="html")
    either = MetadataFilters(filters=[red, html], condition=FilterCondition.OR)
    both = MetadataFilters(filters=[either, html], condition=FilterCondition.AND)
    neither = MetadataFilters(filters=[html], condition=FilterCondition.NOT)
    assert [matches_filters(each, METADATA) for each in (either, both, neither)] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("tags=red", True, id="="),
        pytest.param("type!=pdf", False, id="!="),
        pytest.param("date >= 2024-05-01", True, id=">="),
        pytest.param("pages<12", False, id="<"),
        pytest.param("title~TIDE", True, id="~"),
        pytest.param("owner=", False, id="nothing after it"),
    ],
)
def test_a_condition_can_be_written(text: str, expected: bool) -> None:
    assert matches_filters(MetadataFilters(filters=[parse_condition(text)]), METADATA) is expected


@pytest.mark.parametrize("text", ["red", "=red", "a b=c", ""])
def test_what_is_no_condition_says_so(text: str) -> None:
    with pytest.raises(QuestionError, match=r"filter not usable: .*; write key=value"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["date>=notadate", "date<05/2024", "date > 1 May 2024", "date<="])
def test_what_is_no_date_is_not_compared_with_dates(text: str) -> None:
    with pytest.raises(QuestionError, match=r"date not usable: .*; write 2024"):
        document_filter([text])
    nested = MetadataFilters(filters=[MetadataFilters(filters=[parse_condition(text)])])
    with pytest.raises(QuestionError, match="date not usable"):
        document_filter(nested)


@pytest.mark.parametrize("text", ["date>2024", "date>=2024-04", "date<2024-05-01T10:30:00Z"])
def test_a_year_a_month_and_a_time_are_dates(text: str) -> None:
    admitted = document_filter([text])
    assert admitted is not None
    assert admitted.admits(METADATA)


def test_a_mapping_means_that_all_must_hold_and_a_list_any_of_it() -> None:
    admitted = document_filter({"tags": ["red", "blue"], "type": "pdf"})
    refused = document_filter({"tags": ["blue"], "type": "pdf"})
    assert admitted is not None
    assert refused is not None
    assert admitted.admits(METADATA)
    assert not refused.admits(METADATA)


def test_nothing_said_is_no_filter_and_equal_filters_have_one_key() -> None:
    assert document_filter(None) is None
    assert document_filter([]) is None
    first, second = document_filter(["b=1", "a=2"]), document_filter(["a=2", "b=1"])
    assert first is not None
    assert second is not None
    assert first.key == second.key


def test_a_namespace_admits_its_own_only() -> None:
    mine = document_filter(None, namespace="north")
    default = document_filter(None, namespace="")
    assert mine is not None
    assert default is not None
    assert not mine.admits(METADATA)
    assert mine.admits({**METADATA, "namespace": "north"})
    assert default.admits(METADATA)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"draft": True}, True, id="true"),
        pytest.param({"draft": False}, False, id="false"),
        pytest.param({"draft": "true"}, True, id="in words"),
        pytest.param({"draft": [False, True]}, True, id="any of them"),
        pytest.param({"pages": ["many", 12, 3.5]}, True, id="kinds mixed"),
        pytest.param({" \x00": True}, False, id="a key that nobody has"),
    ],
)
def test_a_mapping_takes_every_kind_of_value(wanted: dict[str, object], expected: bool) -> None:
    judged = document_filter(wanted)
    assert judged is not None
    assert judged.admits({"draft": True, "pages": 12}) is expected


def test_a_filter_is_narrowed_to_documents_of_those_it_admits() -> None:
    within = document_filter({"type": "pdf"}, namespace="tides")
    narrowed = narrowed_to(within, ["b", "a"])

    def admits(document: str, **metadata: str) -> bool:
        return narrowed.admits(
            {"document_id": document, "type": "pdf", "namespace": "tides", **metadata}
        )

    assert admits("a")
    assert not admits("c")
    assert not admits("a", type="html")
    assert not admits("a", namespace="other")
    assert within is not None
    assert narrowed.key not in (within.key, narrowed_to(within, ["a"]).key)
    assert narrowed_to(None, ["a"]).admits({"document_id": "a"})
