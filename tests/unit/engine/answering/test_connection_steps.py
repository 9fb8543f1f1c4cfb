"""Passages that say what two names have to do with each other."""

from __future__ import annotations

import re

from engine.answering.connection_steps import first_naming, steps_of_chunk
from engine.storage.graph_api import Chunk


def told(text: str, *names: str) -> list[str]:
    patterns = [re.compile(re.escape(name)) for name in names]
    chunk = Chunk(id="c", document_id="a.md", title="Notes", text=text, end=len(text))
    return [step.quote.quote for step in steps_of_chunk(chunk, patterns, (False, False))]


def test_a_sentence_that_leans_on_the_one_before_is_quoted_with_it() -> None:
    before = "The winch was built by the engineer Aurelio Bast."
    text = f"{before} His granddaughter Odile told Maeve so."
    assert told(text, "Odile", "Maeve") == [text]
    assert told(f"{before}\n\nHis granddaughter Odile told Maeve so.", "Odile", "Maeve") == [
        "His granddaughter Odile told Maeve so."
    ]


def test_a_sentence_that_stands_by_itself_is_quoted_alone() -> None:
    own = "Odile sailed with Maeve to the northern islands in the summer."
    assert told(f"The winch was built of oak. {own}", "Odile", "Maeve") == [own]


def test_a_short_chinese_sentence_is_quoted_with_what_follows() -> None:
    text = (
        "田续赶至绵竹，正遇邓艾父子放出槛车。艾不作准备，被田续一刀斩之。"
        + "众军皆散，各自回营歇息去了。" * 9
    )
    quote, *_ = told(text, "田续", "邓艾父子")
    assert quote.startswith("田续赶至绵竹，正遇邓艾父子放出槛车。艾不作准备，被田续一刀斩之。")
    assert len(quote) < 120


def test_what_follows_under_a_heading_or_as_an_item_is_not_joined() -> None:
    text = "陆听澜见过沈望舒。\n## 婚事\n王安石娶了李氏为妻。"
    assert told(text, "陆听澜", "沈望舒") == ["陆听澜见过沈望舒。"]
    items = "- The winch is old.\nHis son Odile met Maeve."
    assert told(items, "Odile", "Maeve") == ["His son Odile met Maeve."]


def test_the_sentence_that_says_so_is_known_within_what_is_quoted() -> None:
    text = "陆听澜是沈望舒的父亲。两人都住在城里，常在一起。"
    chunk = Chunk(id="c", document_id="a.md", title="Notes", text=text, end=len(text))
    patterns = [re.compile("陆听澜"), re.compile("沈望舒")]
    (step,) = steps_of_chunk(chunk, patterns, (False, False))
    assert step.own.quote == "陆听澜是沈望舒的父亲。"
    assert step.quote.quote == text


def test_a_table_of_contents_connects_nothing() -> None:
    text = "- 3.7. Customizing Odile, a winch\n- 3.8. The Maeve system, a lamp\n- 3.9. Ends"
    assert told(text, "Odile", "Maeve") == []
    assert told(text.replace("3.", "").replace("- ", "and "), "Odile", "Maeve")


def test_what_goes_on_from_a_sentence_is_told_with_it() -> None:
    text = "Maeve gave Odile the study. It found the winch sound. The kettle boiled."
    assert told(text, "Odile", "Maeve") == ["Maeve gave Odile the study. It found the winch sound."]


def test_a_line_of_its_own_is_told_without_the_line_above() -> None:
    text = "Fezz, a merchant.\nFred, the nephew of Maeve and of Odile."
    assert told(text, "Odile", "Maeve") == ["Fred, the nephew of Maeve and of Odile."]


def test_a_heading_is_no_part_of_the_sentence_below_it() -> None:
    text = "第五回 陆听澜设宴\n\n却说沈望舒走了。"
    assert told(text, "陆听澜", "沈望舒") == []


def test_a_message_is_told_from_its_header_on_with_its_first_words() -> None:
    text = "From: Odile Stone\nTo: Maeve Lund\nSubj: the file\n\nIt is on the file. I made one."
    assert told(text, "Odile", "Maeve") == [text]


def test_a_message_ends_where_the_next_one_begins() -> None:
    text = (
        "From: Odile Stone\nTo: Maeve Lund\n\nIt is on the file.\n\nFrom: Bo\nTo: Carl\n\n"
        "The boat sank."
    )
    assert told(text, "Odile", "Maeve") == [text[: text.index("\n\nFrom: Bo")]]


def test_what_one_is_to_the_other_is_no_list_of_names() -> None:
    patterns = [re.compile("Fred"), re.compile("Scrooge")]
    for text in ("Fred, a merchant, a widower, the nephew of Scrooge.", "Fred, nephew of Scrooge."):
        chunk = Chunk(id="c", document_id="a.md", title="Notes", text=text, end=len(text))
        (step,) = steps_of_chunk(chunk, patterns, (False, False))
        assert step.length < 1.2


def test_names_in_a_list_of_several_say_less_than_a_sentence_that_joins_two() -> None:
    patterns = [re.compile("Odile"), re.compile("Maeve")]

    def length(text: str) -> float:
        chunk = Chunk(id="c", document_id="a.md", title="Notes", text=text, end=len(text))
        return next(step.length for step in steps_of_chunk(chunk, patterns, (False, False)))

    assert length("The signers were Odile, Ada, Bo and Maeve.") > length("Odile sailed with Maeve.")


def test_what_a_document_says_of_one_name_is_its_first_plain_sentence() -> None:
    text = (
        'From: Odile\nTo: Bo\n\n**ODILE:** From 1987 to 1990, yes.\n\n"I am here," said Odile.'
        "\n\n- Odile was asked for the keys of the old harbour.\n\n"
        "Odile Stone asked for the audit in the spring of 2012. She got none."
    )
    chunk = Chunk(id="c", document_id="a.md", title="Notes", text=text, end=len(text))
    found = first_naming(chunk, re.compile("Odile", re.IGNORECASE))
    assert found is not None
    assert found.quote.endswith("audit in the spring of 2012. She got none.")
    assert found.quote.startswith("Odile Stone")
    assert first_naming(chunk, re.compile("Maeve")) is None
