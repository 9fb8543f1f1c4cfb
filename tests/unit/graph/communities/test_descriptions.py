"""What several chunks say of one thing becomes one text, without a model and with one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.communities.descriptions import (
    MAX_CHARACTERS,
    THINGS_A_CALL,
    Described,
    distinct_sentences,
    is_too_much,
    join_descriptions,
    read_summaries,
    summarise_descriptions,
    summary_prompt,
    to_summarise,
)
from graph.llm import Prompt

KEEPER = "Ada Brine keeps the lamp at Gull Quay."
BORN = "She was born in 1871."


def test_what_more_descriptions_say_goes_first() -> None:
    assert join_descriptions([f"{BORN} {KEEPER}", BORN]) == f"{BORN} {KEEPER}"
    assert join_descriptions(["keeper of the lamp", "born at Gull Quay in 1871"]) == (
        "born at Gull Quay in 1871; keeper of the lamp"
    )
    assert join_descriptions([KEEPER, BORN]) == f"{KEEPER} {BORN}"


def test_near_duplicates_are_said_once() -> None:
    assert (
        join_descriptions([KEEPER, "Ada Brine keeps the lamp at the Gull Quay."]).count("lamp") == 1
    )


def test_sentences_of_two_languages_stand_together() -> None:
    assert set(distinct_sentences([KEEPER, "她出生于1871年。她守着灯塔。"])) == {
        KEEPER,
        "她出生于1871年。",
        "她守着灯塔。",
    }


def test_nothing_said_is_nothing() -> None:
    assert join_descriptions([]) == join_descriptions(["", "  \n "]) == ""


@pytest.mark.parametrize("word", ["lantern ", "灯"], ids=["words", "characters"])
def test_a_sentence_that_is_too_long_is_cut(word: str) -> None:
    text = join_descriptions([word * 700])
    assert 0 < len(text) <= MAX_CHARACTERS
    assert text.endswith("…")


_TEXTS = st.lists(
    st.lists(st.sampled_from([KEEPER, BORN, "The Petrel brings oil.", "海燕号运来灯油。"]))
    .map(" ".join)
    .filter(bool),
    max_size=8,
)


@given(_TEXTS, st.randoms(use_true_random=False))
def test_the_order_of_chunks_changes_nothing(texts: list[str], random: object) -> None:
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert join_descriptions(shuffled) == join_descriptions(texts)


@given(st.lists(st.text(max_size=300), max_size=12))
def test_a_description_is_never_too_long(texts: list[str]) -> None:
    assert len(join_descriptions(texts)) <= MAX_CHARACTERS


# --- with a model -------------------------------------------------------------------------------


def thing(number: int, *texts: str) -> Described:
    return Described(id=f"e{number}", name=f"Thing {number}", texts=texts)


def many_sentences(count: int) -> tuple[str, ...]:
    colours = ("red", "green", "blue", "white", "black", "grey", "brown", "pink", "gold", "teal")
    return tuple(
        f"In 19{n:02} the {colours[n % 10]} ship number{n} brought cargo{n} over sea{n} to port{n}."
        for n in range(count)
    )


def test_only_what_does_not_fit_is_summarised() -> None:
    long, short = thing(1, *many_sentences(20)), thing(2, KEEPER)
    assert is_too_much(long.texts)
    assert to_summarise([short, long]) == [long]


def test_every_thing_gets_the_text_written_for_it() -> None:
    prompts: list[Prompt] = []

    def ask(prompt: Prompt) -> str:
        prompts.append(prompt)
        numbers = [line.split()[1:4] for line in prompt.user.splitlines() if line.startswith("# ")]
        rows = [{"n": int(n[0]), "text": f"About {' '.join(n[1:])}."} for n in numbers]
        return json.dumps({"descriptions": rows})

    things = [thing(n, KEEPER, BORN) for n in range(THINGS_A_CALL + 2)]
    found = summarise_descriptions(things, ask)
    assert found.texts == {f"e{n}": f"About Thing {n}." for n in range(THINGS_A_CALL + 2)}
    assert found.unusable == {}
    assert len(prompts) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('```json\n[{"n":"1","text":" A  quay. "}]\n```', "A quay.", id="fenced"),
        pytest.param('{"descriptions":[{"n":1,"text":"A quay."},{"n":2', "A quay.", id="cut"),
        pytest.param('{"n":1,"text":"A quay."}', "A quay.", id="bare"),
        pytest.param(
            json.dumps({"n": 1, "text": "A quay. " * 100}), ("A quay. " * 75).strip(), id="too long"
        ),
    ],
)
def test_replies_are_read_however_they_are_wrapped(reply: str, expected: str) -> None:
    found = read_summaries(reply, [thing(1, KEEPER), thing(2, BORN)])
    assert found.texts == {"e1": expected}
    assert list(found.unusable) == ["e2"]


@given(st.text(max_size=80))
def test_no_reply_raises(reply: str) -> None:
    found = read_summaries(reply, [thing(1, KEEPER)])
    assert len(found.texts) + len(found.unusable) == 1


def test_the_prompt_is_in_the_language_of_what_is_said() -> None:
    assert (
        "描述" in summary_prompt([thing(1, "她出生于1871年。她守着灯塔，直到一九二〇年。")]).system
    )
    assert summary_prompt([thing(1, KEEPER)]).system.startswith("You turn")


def test_a_fingerprint_does_not_depend_on_order() -> None:
    assert thing(1, KEEPER, BORN).fingerprint == thing(1, BORN, KEEPER).fingerprint
    assert thing(1, KEEPER).fingerprint != thing(1, BORN).fingerprint
