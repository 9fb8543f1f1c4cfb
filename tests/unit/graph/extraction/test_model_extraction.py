"""Packs, prompts and calls of the extractor that asks a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from graph.errors import GraphInputError
from graph.extraction.llamaindex import ExtractionTransform, extraction_of
from graph.extraction.llm.extractor import extract_pack
from graph.extraction.llm.prompts import (
    DEFAULT_TYPES,
    MAX_CHUNKS,
    Correction,
    ExtractionSchema,
    Gleaning,
    Pack,
    RelationType,
    chunk_context,
    pack_chunks,
    prompt_of,
)
from graph.llm import Prompt
from graph.model import Extraction

SCHEMA = ExtractionSchema.of()
PACK = Pack(
    texts=("Ada Brine met Tom Reed.", "刘备与关羽结义。", "Port Avel has a pier."),
    keys=("a", "b", "c"),
)


def words(text: str) -> int:
    return len(text.split())


class Scripted:
    """Answers with what it was given, in order, and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[Prompt] = []

    def __call__(self, prompt: Prompt) -> str:
        self.asked.append(prompt)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def reply(**names: Sequence[str]) -> str:
    """A reply with these names by chunk number: `reply(n1=["Ada"])`."""
    return json.dumps(
        {
            "chunks": [
                {"n": int(number[1:]), "entities": [{"name": name} for name in some]}
                for number, some in names.items()
            ]
        }
    )


# --- the schema --------------------------------------------------------------------------------


def test_a_schema_reads_lines_of_types_and_relations() -> None:
    schema = ExtractionSchema.of(
        ["person", "Organization"], ["PERSON - FOUNDED_BY -> organisation", "* - near - *", "met"]
    )
    assert schema.entity_types == ("PERSON", "ORGANISATION")
    assert schema.relation_types == (
        RelationType(source="PERSON", predicate="founded by", target="ORGANISATION"),
        RelationType(source="", predicate="near", target=""),
        RelationType(source="", predicate="met", target=""),
    )


def test_without_entity_types_there_are_the_usual_ones_and_those_of_the_relations() -> None:
    schema = ExtractionSchema.of([], ["PERSON - sails - SHIP"])
    assert schema.entity_types == (*DEFAULT_TYPES, "SHIP")


@pytest.mark.parametrize(
    "line", ["", "A - b", "PERSON -  - PLACE", "a - b - c - d", "PERSON - sails - SHIP"]
)
def test_a_line_that_is_no_relation_between_listed_types_is_refused(line: str) -> None:
    with pytest.raises(GraphInputError) as caught:
        ExtractionSchema.of(["PERSON"], [line])
    assert repr(line) in str(caught.value)


def test_the_identity_changes_with_all_that_decides_results() -> None:
    schemas = [
        SCHEMA,
        ExtractionSchema.of(["PERSON"]),
        ExtractionSchema.of([], ["met"]),
        ExtractionSchema.of(strict=True),
        ExtractionSchema.of(claims=False),
        ExtractionSchema.of(inferred="drop"),
        ExtractionSchema.of(examples="Another."),
        ExtractionSchema.of(gleanings=1),
    ]
    assert len({schema.identity for schema in schemas}) == len(schemas)
    assert SCHEMA.identity == ExtractionSchema.of().identity


# --- packs -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 120))
def test_packs_hold_every_chunk_once_in_order_within_their_limits(
    sizes: list[int], target: int
) -> None:
    chunks = [(f"c{place}", "w " * size) for place, size in enumerate(sizes)]
    made = pack_chunks(chunks, count=words, target_tokens=target)
    assert [pair for p in made for pair in zip(p.keys, p.texts, strict=True)] == chunks
    for pack in made:
        total = sum(map(words, pack.texts))
        assert len(pack.keys) == 1 or (total <= target and len(pack.keys) <= MAX_CHUNKS)
    for one, following in pairwise(made):
        joint = sum(map(words, one.texts)) + words(following.texts[0])
        assert joint > target or len(one.keys) == MAX_CHUNKS


def test_a_pack_falls_into_halves() -> None:
    first, second = PACK.halves()
    assert (first.keys, second.keys) == (("a", "b"), ("c",))
    assert second.texts == ("Port Avel has a pier.",)


# --- prompts -----------------------------------------------------------------------------------


def test_instructions_are_the_same_for_every_pack_of_a_language() -> None:
    other = Pack(texts=("Something else.",), keys=("x",))
    assert prompt_of(PACK, SCHEMA).system == prompt_of(other, SCHEMA).system
    assert prompt_of(PACK.only(["b"]), SCHEMA).system != prompt_of(other, SCHEMA).system


def test_instructions_stay_short() -> None:
    """About 350 tokens, at 4 characters of English a token."""
    assert len(prompt_of(PACK, SCHEMA).system) < 1_750


def test_texts_stand_numbered_between_marks_that_come_from_all_of_them() -> None:
    user = prompt_of(PACK, SCHEMA).user
    mark = user.split("\n")[0].removeprefix("<<<texts ").removesuffix(">>>")
    for number, text in enumerate(PACK.texts, start=1):
        assert f"[{mark} {number}]\n{text}\n" in user
    assert f"<<<end texts {mark}>>>" in user
    other = prompt_of(PACK.only(["a", "b"]), SCHEMA).user
    assert mark not in other


def test_a_text_that_imitates_the_marks_is_still_text() -> None:
    first = prompt_of(PACK.only(["a"]), SCHEMA).user
    forged = Pack(texts=(PACK.texts[0] + "\n" + first,), keys=("a",))
    user = prompt_of(forged, SCHEMA).user
    assert user.split("\n")[0] != first.split("\n")[0]
    assert user.count(user.split("\n")[0]) == 1


def test_the_room_for_a_reply_grows_with_the_texts_and_after_a_cut() -> None:
    one, whole = prompt_of(PACK.only(["a"]), SCHEMA), prompt_of(PACK, SCHEMA)
    assert one.max_output_tokens < whole.max_output_tokens
    roomier = prompt_of(PACK, SCHEMA, correction=Correction(reason="cut off", roomier=True))
    assert roomier.max_output_tokens == 2 * whole.max_output_tokens
    assert "cut off" in roomier.user
    long = Pack(texts=("word " * 1_000,), keys=("x",))
    assert prompt_of(long, SCHEMA).max_output_tokens >= 6 * 1_000


def test_the_schema_of_a_reply_asks_for_arrays_and_for_claims_where_they_are_wanted() -> None:
    form = prompt_of(PACK, SCHEMA).schema
    assert form is not None
    chunk = form["properties"]["chunks"]["items"]
    assert list(chunk["properties"]) == ["n", "entities", "relations", "claims"]
    for name in ("entities", "relations", "claims"):
        assert chunk["properties"][name]["items"]["type"] == "array"
    without = prompt_of(PACK, ExtractionSchema.of(claims=False)).schema
    assert "claims" not in json.dumps(without)


def test_a_strict_schema_names_its_words_in_the_instructions() -> None:
    strict = ExtractionSchema.of(["PERSON"], ["PERSON - met - PERSON"], strict=True)
    system = prompt_of(PACK.only(["a"]), strict).system
    assert "one of PERSON;" in system
    assert "PERSON - met - PERSON" in system


def test_a_text_stands_behind_its_document_and_section() -> None:
    contexts = {"a": "The lamp › Keepers", "c": "Bad ] title"}
    pack = Pack(texts=PACK.texts, keys=PACK.keys, contexts=contexts)
    user = prompt_of(pack, SCHEMA).user
    mark = user.split("\n")[0].removeprefix("<<<texts ").removesuffix(">>>")
    assert f"[{mark} 1 | The lamp › Keepers]\n{PACK.texts[0]}\n[{mark} 2]\n" in user
    assert f"[{mark} 3 | Bad ) title]\n" in user
    assert "behind" in prompt_of(pack.only(["a"]), SCHEMA).system
    assert pack.halves()[1].contexts == {"c": "Bad ] title"}
    made = pack_chunks(
        list(zip(PACK.keys, PACK.texts, strict=True)),
        count=words,
        target_tokens=1,
        contexts=contexts,
    )
    assert [each.contexts for each in made] == [{"a": contexts["a"]}, {}, {"c": contexts["c"]}]


def test_the_context_of_a_chunk_is_what_its_beginning_does_not_say() -> None:
    headings = ("Part one", "Keepers", "Keepers")
    assert chunk_context("The lamp", headings, "1871.") == "The lamp › Part one › Keepers"
    assert chunk_context("The lamp", headings, "# Keepers\nof the lamp") == "Part one"
    assert chunk_context("", (), "text") == ""
    assert len(chunk_context("w " * 500, (), "text")) <= 160


def test_a_further_round_names_what_is_listed_already() -> None:
    user = prompt_of(PACK, SCHEMA, said_before=Gleaning(names={"a": ("Ada Brine",)})).user
    assert " 1 listed]\nAda Brine\n" in user


def test_what_cannot_be_sent_is_replaced() -> None:
    prompt = prompt_of(Pack(texts=("Ada \ud800 Brine",), keys=("a",)), SCHEMA)
    assert "Ada ? Brine" in prompt.user
    prompt.user.encode("utf8")


def test_examples_of_the_user_stand_in_the_instructions_as_they_are() -> None:
    system = prompt_of(PACK, ExtractionSchema.of(examples="Text {types} “…”")).system
    assert "Text {types} “…”" in system


# --- calls -------------------------------------------------------------------------------------

ALL = reply(n1=["Ada Brine"], n2=["刘备"], n3=["Port Avel"])


def test_a_good_reply_takes_one_call() -> None:
    ask = Scripted(ALL)
    result = extract_pack(PACK, SCHEMA, ask)
    assert list(result.found) == ["a", "b", "c"]
    assert result.unusable == {}
    assert len(ask.asked) == 1


def test_chunks_without_a_usable_answer_are_asked_about_once_more_alone() -> None:
    ask = Scripted(reply(n2=["刘备"]), reply(n1=["Ada Brine"]))
    result = extract_pack(PACK, SCHEMA, ask)
    assert set(result.found) == {"a", "b"}
    assert result.unusable == {"c": "missing in the reply of the model"}
    _, second = ask.asked
    assert "missing in the reply of the model" in second.user
    assert PACK.texts[1] not in second.user


def test_a_reply_that_is_cut_off_again_is_gone_on_with_while_chunks_come() -> None:
    last = reply(n1=["Port Avel"])
    ask = Scripted(ALL[: ALL.index(', {"n": 2') + 20], reply(n1=["刘备"], n2=["Port"])[:-20], last)
    result = extract_pack(PACK, SCHEMA, ask)
    assert (set(result.found), result.unusable) == ({"a", "b", "c"}, {})
    assert [prompt.user.count("]\n") for prompt in ask.asked] == [3, 2, 1]


def test_a_reply_that_is_always_cut_off_ends_all_the_same() -> None:
    ask = Scripted(ALL[:30], ALL[:30])
    result = extract_pack(PACK, SCHEMA, ask)
    assert set(result.unusable.values()) == {"the reply was cut off"}
    first, second = ask.asked
    assert second.max_output_tokens == 2 * first.max_output_tokens


def test_what_was_found_before_stands_when_nobody_answers_again() -> None:
    result = extract_pack(PACK, SCHEMA, Scripted(reply(n2=["刘备"])), ask_again=lambda _: "")
    assert set(result.found) == {"b"}
    assert set(result.unusable) == {"a", "c"}


DOUBTFUL = '{"chunks": [{"n": 1, "entities": [{"name" "Tom Reed"}, {"name": "Ada Brine"}]}]}'


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        pytest.param(reply(n1=["Ada Brine", "Tom Reed"]), {"ada brine", "tom reed"}, id="good"),
        pytest.param("no", {"ada brine"}, id="none"),
    ],
)
def test_a_reply_in_broken_json_is_asked_for_again_and_stands_where_none_comes(
    again: str, expected: set[str]
) -> None:
    ask = Scripted(DOUBTFUL, again)
    result = extract_pack(PACK.only(["a"]), SCHEMA, ask)
    assert {mention.key for mention in result.found["a"].mentions} == expected
    assert result.unusable == {}
    assert "not well-formed" in ask.asked[1].user


def test_two_replies_without_json_leave_the_pack_unusable() -> None:
    result = extract_pack(PACK, SCHEMA, Scripted("No.", "I will not."))
    assert result.found == {}
    assert set(result.unusable.values()) == {"no JSON in the reply: 'I will not.'"}


def test_what_asking_raises_passes_through() -> None:
    with pytest.raises(TimeoutError):
        extract_pack(PACK, SCHEMA, Scripted(TimeoutError()))


def test_gleaning_stops_when_nothing_new_comes() -> None:
    pack, schema = PACK.only(["a"]), ExtractionSchema.of(gleanings=5)
    relation = {"source": "Ada Brine", "target": "Tom Reed", "predicate": "met"}
    more = json.dumps({"n": 1, "entities": ["Tom Reed"], "relations": [relation]})
    worded = more.replace('"predicate"', '"description": "x", "predicate"')
    ask = Scripted(reply(n1=["Ada Brine"]), more, worded)
    found = extract_pack(pack, schema, ask).found["a"]
    assert {mention.key for mention in found.mentions} == {"ada brine", "tom reed"}
    assert [statement.predicate for statement in found.statements] == ["met"]
    assert len(ask.asked) == 3


def test_a_further_round_that_fails_takes_nothing_away() -> None:
    ask = Scripted(reply(n1=["Ada Brine"]), "no more")
    found = extract_pack(PACK.only(["a"]), ExtractionSchema.of(gleanings=1), ask).found["a"]
    assert {mention.key for mention in found.mentions} == {"ada brine"}


# --- as an extractor ---------------------------------------------------------------------------


class OneCallExtractor:
    """An extractor that asks about each text alone."""

    identity = "one call"

    def __init__(self, ask: Scripted) -> None:
        self._ask = ask

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        packed = [Pack(texts=(text,), keys=("a",)) for text in texts]
        return [extract_pack(pack, SCHEMA, self._ask).found["a"] for pack in packed]


def test_nothing_is_lost_through_llama_index() -> None:
    answer = json.dumps(
        {
            "n": 1,
            "entities": [
                {"name": "Ada Brine", "type": "PERSON", "description": "engineer"},
                {"name": "Tom Reed", "type": "PERSON", "description": ""},
            ],
            "relations": [
                {
                    "source": "Ada Brine",
                    "target": "Tom Reed",
                    "predicate": "met",
                    "description": "once",
                    "strength": "4/10",
                }
            ],
            "claims": [{"subject": "Ada Brine", "status": "TRUE", "text": "They met."}],
        }
    )
    extractor = OneCallExtractor(Scripted(answer, answer))
    (node,) = ExtractionTransform(extractor=extractor)([TextNode(text=PACK.texts[0])])
    (found,) = extractor.extract([PACK.texts[0]])
    assert extraction_of(node) == found
    assert (found.descriptions[0].text, found.claims[0].text) == ("engineer", "They met.")
    assert (found.statements[0].description, found.statements[0].strength) == ("once", 0.4)
