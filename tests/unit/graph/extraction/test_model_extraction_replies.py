"""What is made of a language model's reply, however it looks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.extraction.llm.extractor import NAMELESS, PackResult, extract_pack
from graph.extraction.llm.json_repair import find_json
from graph.extraction.llm.parsing import CUT_OFF, LEFT_OUT, parse_reply
from graph.extraction.llm.prompts import ExtractionSchema, Pack
from graph.model import Extraction

BRINE = "Ada Brine designed the Kestrel lighthouse in 1871. It still stands."
AVEL = "Port Avel is where Tom Reed keeps the ferry."
PACK = Pack(texts=(BRINE, AVEL), keys=("a", "b"))
ONE = PACK.only(["a"])
SCHEMA = ExtractionSchema.of()


def chunk(number: object, *names: str) -> dict[str, object]:
    return {
        "n": number,
        "entities": [{"name": name, "type": "PERSON", "description": "d"} for name in names],
        "relations": [],
        "claims": [],
    }


BOTH = [chunk(1, "Ada Brine", "Kestrel"), chunk(2, "Tom Reed", "Port Avel")]
GOOD = json.dumps({"chunks": BOTH})
FOUND = {"a": {"ada brine", "kestrel"}, "b": {"tom reed", "port avel"}}


def read_reply(reply: str, pack: Pack, schema: ExtractionSchema) -> PackResult:
    """The result of one call, without a second one."""
    return extract_pack(pack, schema, lambda _: reply, ask_again=lambda _: "")


def keys_of(result: PackResult) -> dict[str, set[str]]:
    return {key: {m.key for m in found.mentions} for key, found in result.found.items()}


ENTITIES = [
    ["Ada Brine", "PERSON", "Ada Brine designed the lighthouse.", "A. B.", "Beacon Ada"],
    ["Kestrel lighthouse", "PLACE", "The lighthouse was designed in 1871."],
]
RELATIONS = [["Ada Brine", "designed", "Kestrel lighthouse", "She designed it.", 9]]
CLAIMS = [["Ada Brine", "Kestrel lighthouse", "DESIGN", "TRUE", "1871", "", "She designed it."]]
ARRAYS = {"n": 1, "entities": ENTITIES, "relations": RELATIONS, "claims": CLAIMS}
OBJECTS = {
    "n": 1,
    "entities": [
        {"name": name, "type": kind, "description": said, "aliases": others}
        for name, kind, said, *others in ENTITIES
    ],
    "relations": [
        dict(zip(("source", "predicate", "target", "description", "strength"), one, strict=True))
        for one in RELATIONS
    ],
    "claims": [
        dict(zip(("subject", "object", "type", "status", "start", "end", "text"), one, strict=True))
        for one in CLAIMS
    ],
}
NESTED = {**ARRAYS, "entities": [[*one[:3], one[3:]] for one in ENTITIES]}
JOINED = {
    **OBJECTS,
    "entities": [
        {"name": one[0], "type": one[1], "description": one[2], "aliases": "; ".join(one[3:])}
        for one in ENTITIES
    ],
}


@pytest.mark.parametrize("form", [OBJECTS, NESTED, JOINED], ids=["objects", "nested", "joined"])
def test_arrays_and_objects_say_the_same(form: Mapping[str, object]) -> None:
    expected = parse_reply(json.dumps({"chunks": [ARRAYS]}), ONE).said["a"]
    assert parse_reply(json.dumps({"chunks": [form]}), ONE).said["a"] == expected
    assert expected.entities[0].aliases == ("A. B.", "Beacon Ada")
    assert (expected.relations[0].target, expected.relations[0].strength) == (
        "Kestrel lighthouse",
        "9",
    )
    assert (expected.claims[0].type, expected.claims[0].start) == ("DESIGN", "1871")


def test_arrays_take_a_third_less_than_objects() -> None:
    arrays, objects = (
        len(json.dumps({k: form[k] for k in ("entities", "relations", "claims")}))
        for form in (ARRAYS, OBJECTS)
    )
    assert arrays < 0.72 * objects


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (["Ada Brine", "Kestrel", "designed"], ("Kestrel", "designed", "", "")),
        (["Ada Brine", "designed", "Kestrel"], ("Kestrel", "designed", "", "")),
        (["Ada Brine", "designed", "Kestrel", 7], ("Kestrel", "designed", "", "7")),
        (
            ["Ada Brine", "designed", "Kestrel", "It shone."],
            ("Kestrel", "designed", "It shone.", ""),
        ),
    ],
)
def test_a_relation_as_an_array_may_lack_its_end_or_turn_its_middle(
    record: list[object], expected: tuple[str, ...]
) -> None:
    reply = {"n": 1, "entities": [["Ada Brine"], ["Kestrel"]], "relations": [record]}
    (found,) = parse_reply(json.dumps({"chunks": [reply]}), ONE).said["a"].relations
    assert (found.target, found.predicate, found.description, found.strength) == expected


def test_of_arrays_that_were_cut_off_the_whole_chunks_are_kept() -> None:
    reply = json.dumps({"chunks": [ARRAYS, {"n": 2, "entities": [["Tom Reed", "PERSON", "He"]]}]})
    parsed = parse_reply(reply[: reply.index('"He"')], PACK)
    assert set(parsed.said) == {"a"}
    assert parsed.unusable == {"b": CUT_OFF}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(GOOD, id="compact"),
        pytest.param(json.dumps({"chunks": BOTH}, indent=2), id="indented"),
        pytest.param(f"Sure! Here it is:\n```json\n{GOOD}\n```\nAnything else?", id="fenced"),
        pytest.param(f"I read [1] and [2]. {GOOD} Done {{ok}}.", id="prose around"),
        pytest.param(f"<think>{{'chunks': maybe}}</think>\n{GOOD}", id="thinking"),
        pytest.param("\ufeff" + GOOD, id="byte order mark"),
        pytest.param(json.dumps(BOTH), id="bare list"),
        pytest.param("\n".join(map(json.dumps, BOTH)), id="a line each"),
        pytest.param(json.dumps({"data": {"texts": BOTH}}), id="other wrappers"),
        pytest.param(
            json.dumps({"1": {"entities": BOTH[0]["entities"]}, "2": BOTH[1]}), id="by number"
        ),
        pytest.param(
            json.dumps({"text 1": {"entities": ["Ada Brine", "Kestrel"]}, "text 2": BOTH[1]}),
            id="by words",
        ),
        pytest.param(
            json.dumps([{"entities": one["entities"]} for one in BOTH]), id="no numbers at all"
        ),
        pytest.param(json.dumps([{**one, "n": f"[{one['n']}]"} for one in BOTH]), id="bracketed"),
        pytest.param(
            json.dumps([{**one, "n": f"[ad9dbeda {one['n']}]"} for one in BOTH]), id="with the mark"
        ),
        pytest.param(json.dumps([{**one, "n": f"text{one['n']}"} for one in BOTH]), id="joined"),
        pytest.param(json.dumps([{**one, "n": one["n"] - 1} for one in BOTH]), id="from zero"),
        pytest.param(GOOD.replace('"', "'"), id="single quotes"),
        pytest.param(GOOD.replace("]", ",]").replace("}", ",}"), id="trailing commas"),
        pytest.param(GOOD.replace('"n"', "n").replace('"name"', "name"), id="bare keys"),
        pytest.param(
            re.sub('"([^"]*)"', "“\\1”", GOOD).replace(": ", "：").replace(", ", "，"),
            id="Chinese punctuation",
        ),
        pytest.param(GOOD.replace('"d"', '"the "old" one"'), id="quotes in strings"),
        pytest.param(GOOD.replace('"d"', '"one\nline"'), id="line breaks in strings"),
        pytest.param(GOOD[:-2], id="closing brackets missing"),
        pytest.param(GOOD.replace('"d"', "null"), id="nulls"),
        pytest.param(GOOD.replace('"PERSON"', '["PERSON", 7]'), id="lists for text"),
        pytest.param(GOOD.replace('"n"', '"id"').replace("entities", "Nodes"), id="other fields"),
        pytest.param(
            json.dumps(
                [
                    {"n": 1, "entities": {"Ada Brine": "PERSON", "Kestrel": {"type": "WORK"}}},
                    {"n": 2, "entities": {"PERSON": ["Tom Reed"], "PLACE": ["Port Avel"]}},
                ]
            ),
            id="mappings for lists",
        ),
        pytest.param(
            json.dumps(
                [chunk(1, "Ada Brine"), chunk(2, "Tom Reed", "Port Avel"), chunk(1, "Kestrel")]
            ),
            id="a chunk twice",
        ),
    ],
)
def test_a_reply_is_read_however_it_is_written(reply: str) -> None:
    result = read_reply(reply, PACK, SCHEMA)
    assert (keys_of(result), result.unusable) == (FOUND, {})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("", "the reply is empty", id="empty"),
        pytest.param(" \n", "the reply is empty", id="white space"),
        pytest.param("<think>hmm, {", "the reply is empty", id="thinking alone"),
        pytest.param(
            "I'm sorry, but I can't help with that.",
            "no JSON in the reply: \"I'm sorry, but I can't help with that.\"",
            id="refusal",
        ),
        pytest.param("the pier " * 300, "the reply repeats itself", id="repeated words"),
        pytest.param(
            "[" * 5_000, "the JSON of the reply is nested too deeply", id="nested brackets"
        ),
        pytest.param(
            '{"a":' * 5_000, "the JSON of the reply is nested too deeply", id="nested objects"
        ),
        pytest.param("{}", LEFT_OUT, id="an empty object"),
        pytest.param('{"chunks": []}', LEFT_OUT, id="no chunks"),
        pytest.param('{"chunks": [{"n": 1, "entities": [{"name": "Ada', CUT_OFF, id="cut off"),
        pytest.param('{"n": 1}', "the reply has no lists for this chunk", id="number alone"),
        pytest.param(
            '{"n": 1, "entities": 5}', "its entities are a number, not a list", id="a number"
        ),
        pytest.param(
            '{"n": 1, "entities": "many names"}', "its entities are text, not a list", id="text"
        ),
        pytest.param('{"n": 7, "entities": []}', LEFT_OUT, id="a number nobody gave"),
        pytest.param('{"n": 1e999, "entities": ["Ada Brine"]}', None, id="an infinite number"),
        pytest.param(
            json.dumps({"chunks": [chunk(1, "艾达", "红隼灯塔")]}),
            "none of the 2 names in the reply occurs in the text",
            id="another language",
        ),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(reply: str, reason: str | None) -> None:
    result = read_reply(reply, ONE, SCHEMA)
    assert result.unusable == ({} if reason is None else {"a": reason})


@pytest.mark.parametrize(
    ("text", "types", "reason"),
    [
        pytest.param("The sea was calm, and nothing at all happened.", (), None, id="no names"),
        pytest.param("# Ada Brine\n\n- Tom Reed\n- Port Avel", (), None, id="headings and lists"),
        pytest.param("The lamp was lit by Ada Brine that same night.", (), None, id="a name"),
        pytest.param(
            "The lamp of Port Avel was lit by Ada Brine.", ("DISEASE",), None, id="other types"
        ),
        pytest.param(
            "The lamp of Port Avel was lit by Ada Brine.", (), NAMELESS, id="names in a sentence"
        ),
        pytest.param("林若溪于一九六一年在岛上创建了海燕站。", (), NAMELESS, id="Chinese names"),
    ],
)
def test_empty_lists_are_an_answer_unless_the_text_plainly_has_names(
    text: str, types: tuple[str, ...], reason: str | None
) -> None:
    reply = '{"chunks":[{"n":1,"entities":[],"relations":[]}]}'
    result = read_reply(reply, Pack(keys=("a",), texts=(text,)), ExtractionSchema.of(types))
    assert result.found == ({"a": Extraction()} if reason is None else {})
    assert result.unusable == ({} if reason is None else {"a": reason})


def test_of_a_reply_that_was_cut_off_the_whole_chunks_are_kept() -> None:
    """Wherever it stops, a chunk is either as in the whole reply or unusable."""
    whole = read_reply(GOOD, PACK, SCHEMA)
    second = GOOD.index(', {"n": 2')
    for end in range(1, len(GOOD)):
        result = read_reply(GOOD[:end], PACK, SCHEMA)
        assert set(result.found) | set(result.unusable) == {"a", "b"}
        assert all(found == whole.found[key] for key, found in result.found.items())
        assert ("a" in result.found) == (end >= second)


HARMLESS = [
    pytest.param(GOOD, id="compact"),
    pytest.param(f"```json\n{GOOD}\n```", id="fenced"),
    pytest.param(GOOD.replace('"', "'"), id="single quotes"),
    pytest.param(GOOD.replace("]", ",]").replace("}", ", }"), id="trailing commas"),
    pytest.param(GOOD.replace('"n"', "n").replace('"name"', "name"), id="bare keys"),
    pytest.param(GOOD.replace("[", "[ // a list\n"), id="comments"),
    pytest.param(
        re.sub('"([^"]*)"', "“\\1”", GOOD).replace(": ", "：").replace(", ", "，"), id="Chinese"
    ),
    pytest.param(GOOD[:-2], id="closing brackets missing"),
]


@pytest.mark.parametrize("answer", HARMLESS)
def test_another_dialect_is_no_damage(answer: str) -> None:
    parsed = parse_reply(answer, PACK)
    assert (set(parsed.said), parsed.doubtful) == ({"a", "b"}, frozenset())


def test_whatever_is_missing_from_the_form_of_a_reply_is_noticed() -> None:
    """A smaller graph is never taken for the whole one because a bracket or a quote was lost."""
    whole = parse_reply(GOOD, PACK).said
    inside = False
    for place, character in enumerate(GOOD):
        inside ^= character == '"'
        if inside and character != '"':
            continue
        for damage in ("", " oops " if not inside and character != '"' else ""):
            parsed = parse_reply(GOOD[:place] + damage + GOOD[place + 1 :], PACK)
            sure = {key: said for key, said in parsed.said.items() if key not in parsed.doubtful}
            assert all(said == whole[key] for key, said in sure.items()), GOOD[
                place - 9 : place + 9
            ]


def test_numbers_nobody_gave_and_records_that_are_none_are_counted() -> None:
    reply = json.dumps(
        [
            chunk(1, "Ada Brine"),
            chunk(9, "Kestrel"),
            {"n": 2, "entities": [{"type": "PERSON"}, 5, "Tom Reed"], "relations": "none"},
        ]
    )
    result = read_reply(reply, PACK, SCHEMA)
    assert keys_of(result) == {"a": {"ada brine"}, "b": {"tom reed"}}
    assert result.dropped == {"chunk outside the batch": 1, "malformed record": 2}


def test_no_list_grows_beyond_its_limit() -> None:
    names = [f"Kestrel {number}" for number in range(150)]
    reply = json.dumps([chunk(1, *names)])
    text = " ".join(f"Kestrel {number}." for number in range(150))
    result = read_reply(reply, Pack(texts=(text,), keys=("a",)), SCHEMA)
    assert len(result.found["a"].mentions) == 100
    assert result.dropped == {"over the limit": 50}


def test_a_description_is_cut_behind_a_sentence_and_a_long_name_is_none() -> None:
    reply = json.dumps(
        {
            "n": 1,
            "entities": [
                {"name": "Ada Brine", "description": "She built it. " * 100},
                {"name": "Kestrel" * 100},
            ],
        }
    )
    found = read_reply(reply, ONE, SCHEMA).found["a"]
    (description,) = found.descriptions
    assert len(description.text) <= 600
    assert description.text.endswith("She built it.")
    assert {mention.key for mention in found.mentions} == {"ada brine"}


def test_half_surrogates_and_control_characters_never_come_through() -> None:
    reply = (
        '{"n":1,"entities":[{"name":"Ada Brine","description":"a\\ud800b\\u0000c \\ud83d\\ude00"}]}'
    )
    (description,) = read_reply(reply, ONE, SCHEMA).found["a"].descriptions
    assert description.text == "abc \U0001f600"


def test_an_escape_that_is_none_spoils_nothing() -> None:
    found = find_json('{"a": "x \\q \\u4e2d",}')
    assert found.values == ({"a": "x \\q 中"},)


FIELDS = (
    *("n", "chunks", "entities", "relations", "claims", "name", "type", "source", "target"),
    *("predicate", "subject", "object", "text", "strength", "start"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner
            | st.sampled_from(["Ada Brine", "kestrel", "KESTREL lighthouse", "Tom", "1", "1871"]),
            max_size=5,
        )
    ),
    max_leaves=30,
)


def assert_sound(result: PackResult, pack: Pack) -> None:
    assert set(result.found) | set(result.unusable) == set(pack.keys)
    assert not set(result.found) & set(result.unusable)
    texts: Mapping[str, str] = dict(zip(pack.keys, pack.texts, strict=True))
    for key, found in result.found.items():
        text = texts[key]
        named = {mention.key for mention in found.mentions}
        assert all(text[m.start : m.end] == m.surface for m in found.mentions)
        assert all(
            0 <= s.start < s.end <= len(text) and {s.subject, s.object} <= named | {""}
            for s in (*found.statements, *found.claims)
        )
        assert all(description.key in named for description in found.descriptions)
        for values in (found.mentions, found.statements, found.descriptions, found.claims):
            assert list(values) == sorted(set(values))


@given(st.text(max_size=300) | JSON.map(json.dumps))
def test_no_reply_raises_and_every_span_is_its_surface(reply: str) -> None:
    result = read_reply(reply, PACK, SCHEMA)
    assert_sound(result, PACK)
    assert result == read_reply(reply, PACK, SCHEMA)


@given(st.text("Aa éß Ｂ½刘劉备備.。'’s-\n\u0301\u200b", max_size=40), st.data())
def test_whatever_the_text_its_names_lie_where_they_are_said_to(
    text: str, data: st.DataObject
) -> None:
    names = [
        text[start : start + data.draw(st.integers(1, 6))]
        for start in data.draw(st.lists(st.integers(0, len(text)), max_size=5))
    ]
    relations = [{"source": one, "target": other} for one in names for other in names]
    claims = [{"subject": one, "text": "x"} for one in names]
    answer = json.dumps({"n": 1, "entities": names, "relations": relations, "claims": claims})
    pack = Pack(texts=(text,), keys=("a",))
    assert_sound(read_reply(answer, pack, SCHEMA), pack)


@given(st.data())
def test_a_good_reply_that_is_damaged_raises_nothing(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 20)))
    damaged = GOOD[:start] + data.draw(st.text(max_size=5)) + GOOD[end:]
    assert_sound(read_reply(damaged, PACK, SCHEMA), PACK)


def test_broken_brackets_and_quotes_cost_no_more_time_than_length() -> None:
    """A parser that tries everything takes minutes for any of these."""
    for piece in ('{"a" ', "'a\"", '"', "{'", '"\\', "[{", '{"n":1,"entities":["'):
        result = parse_reply("{" + piece * (100_000 // len(piece)), ONE)
        assert set(result.unusable) | set(result.said) == {"a"}
