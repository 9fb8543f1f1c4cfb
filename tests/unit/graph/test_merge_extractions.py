from __future__ import annotations

from graph.model import (
    Claim,
    Description,
    Extraction,
    Mention,
    Statement,
    merge_extractions,
    shift_extraction,
)

ADA = Mention(start=0, end=3, surface="Ada", key="ada", type="PERSON")
BO = Mention(start=8, end=10, surface="Bo", key="bo", type="PERSON")
KNOWS = Statement(start=0, end=11, subject="ada", predicate="knows", object="bo")
CLAIM = Claim(
    start=0,
    end=11,
    subject="ada",
    object="bo",
    type="acquaintance",
    status="TRUE",
    start_date="",
    end_date="",
    text="Ada knows Bo.",
)


def _with(**changes: str | float | bool) -> Statement:
    values = {name: getattr(KNOWS, name) for name in KNOWS.__dataclass_fields__}
    return Statement(**{**values, **changes})  # type: ignore[arg-type]


def test_what_both_say_stands_once_and_in_order() -> None:
    first = Extraction(mentions=(ADA, BO), statements=(KNOWS,))
    second = Extraction(mentions=(ADA,), claims=(CLAIM,))
    assert merge_extractions([second, first]) == Extraction(
        mentions=(ADA, BO), statements=(KNOWS,), claims=(CLAIM,)
    )
    assert merge_extractions([first, second]) == merge_extractions([second, first])


def test_of_two_equal_statements_the_one_that_says_more_stays() -> None:
    told = _with(description="They met in Kiel.", strength=0.4)
    guessed = _with(description="They may have met in Kiel at some time.", inferred=True)
    for order in ([KNOWS, told, guessed], [guessed, told, KNOWS]):
        found = merge_extractions(Extraction(statements=(one,)) for one in order)
        assert found.statements == (told,)


def test_the_longer_description_of_a_name_stays() -> None:
    short, long = Description(key="ada", text="a pilot"), Description(key="ada", text="a sea pilot")
    assert merge_extractions(
        [Extraction(descriptions=(long,)), Extraction(descriptions=(short,))]
    ).descriptions == (long,)


def test_the_second_half_of_a_text_keeps_its_places() -> None:
    text = "A storm came. Ada met Bo there."
    cut = text.index("Ada")
    start = text[cut:].index("Bo")
    half = Extraction(
        mentions=(Mention(start=start, end=start + 2, surface="Bo", key="bo", type="PERSON"),),
        statements=(_with(start=0, end=len(text) - cut),),
    )
    moved = shift_extraction(half, cut)
    mention = moved.mentions[0]
    assert text[mention.start : mention.end] == "Bo"
    statement = moved.statements[0]
    assert text[statement.start : statement.end] == "Ada met Bo there."
