"""Blocks of passages: contiguous, in the document's own form, never parted from their captions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answering.extractive.blocks import (
    LONGEST_WORDS,
    code_end,
    count_words,
    cut_long,
    entry_term,
    is_contents,
    is_of_term,
    split_blocks,
)
from engine.types import Passage

KERNEL = """## 10.2. Building a kernel

Users who must build a kernel are helped by the kernel's own target. After configuring it, run:

```
make deb-pkg
```

. The package will lie one level above the source tree.

It may be signed.

- Sign it with a key.

  ```
  sbsign key
  ```
- Enrol the key.

| Key | Place |
|---|---|
| MOK | /var/lib |
"""


def passage(text: str, *, document_id: str = "kernel.html") -> Passage:
    return Passage(
        text=text, score=1.0, relevance=0.9, document_id=document_id, chunk_id="c", title="Kernel",
        start=7, end=7 + len(text), headings=("Kernel",),
    )  # fmt: skip


def test_code_stands_with_its_caption_and_with_the_tail_of_its_sentence() -> None:
    first = split_blocks([passage(KERNEL)])[0]

    assert first.form == "code"
    assert first.text.startswith("Users who must build")
    assert first.text.endswith("above the source tree.")
    assert first.heading == "10.2. Building a kernel"


def test_a_list_holds_its_items_and_the_code_inside_them() -> None:
    found = next(each for each in split_blocks([passage(KERNEL)]) if each.form == "list")

    assert found.text.startswith("- Sign it")
    assert "sbsign key" in found.text
    assert found.text.endswith("- Enrol the key.")


def test_a_table_is_one_block() -> None:
    assert [each.text.count("\n") for each in split_blocks([passage(KERNEL)])][-1] == 2


def test_a_list_longer_than_an_excerpt_is_split_into_items_and_keeps_its_caption() -> None:
    items = "\n".join(f"- RAID-{n} stores " + "data on many disks " * 20 for n in range(5))
    found = split_blocks([passage(f"# Levels\n\nThe levels are:\n\n{items}\n")])

    assert len(found) == 5
    assert found[0].text.startswith("The levels are:\n\n- RAID-0")
    assert found[3].text.startswith("- RAID-3")


SAID = "It is said of the thing at some length, so that nobody has to ask for it again. " * 2


def test_a_list_that_explains_terms_is_split_into_entries() -> None:
    items = "\n".join(f"- -{n}\n- --long-{n}\n  - {SAID}\n\n    And more." for n in "abcd")
    found = split_blocks([passage(f"# Options\n\nThese are known:\n\n{items}\n")])

    assert [each.form for each in found] == ["entry"] * 4
    assert found[0].text.startswith("These are known:\n\n- -a\n- --long-a\n  - It is")
    assert found[2].text.startswith("- -c\n- --long-c\n")
    assert found[2].text.endswith("And more.")


def test_entries_below_letters_stand_by_themselves() -> None:
    rest = f"    - {SAID}\n"
    groups = (
        f"- {one}\n" + "".join(f"  - {one}{n}\n    - {SAID}\n" for n in range(5)) for one in "ABC"
    )
    found = split_blocks([passage(f"{rest}{''.join(groups)}")])

    assert [each.form for each in found] == ["list", *["entry"] * 15]
    assert found[1].text.startswith("- A\n  - A0\n    - It is")
    assert found[5].text.startswith("- A4\n    - It is")


@pytest.mark.parametrize(
    "items",
    [
        pytest.param("- Tide\n  - rise\n- Ebb\n  - fall\n- Neap\n  - low", id="few words"),
        pytest.param(
            "".join(f"{n}. Do\n   - {SAID[:82]}\n   - It is.\n" for n in "1234"), id="steps"
        ),
    ],
)
def test_other_lists_stay_whole(items: str) -> None:
    assert [each.form for each in split_blocks([passage(f"# Tides\n\n{items}")])] == ["list"]


def test_a_table_of_contents_is_no_block() -> None:
    contents = "- 7.1. Packages\n- 7.2. Formats\n- 7.3. Names"

    assert is_contents(contents)
    assert split_blocks([passage(contents)]) == []
    assert not is_contents("- one package\n- another package\n- a third")


def test_a_place_that_two_passages_share_is_one_block() -> None:
    assert len(split_blocks([passage(KERNEL), passage(KERNEL)])) == len(
        split_blocks([passage(KERNEL)])
    )


def test_a_numbered_heading_of_plain_text_is_a_heading() -> None:
    text = "1. SUMMARY\n\nNo lives were lost.\n\n2. CAUSE\n\nAn anchor parted the cable.\n"
    found = split_blocks([passage(text, document_id="report.txt")])

    assert [each.heading for each in found] == ["1. SUMMARY", "2. CAUSE"]


def test_a_long_text_is_cut_behind_a_sentence() -> None:
    text = "This sentence has six words here. " * 100

    end = cut_long(text.strip())

    assert text[:end].endswith("here.")
    assert count_words(text[:end]) <= LONGEST_WORDS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Two steps:\n   1. Stop it.\n   2. Start it again.", "Two steps:\n   1. Stop it."),
        ("It is so. It was.\n\n### Later\n\nIt will be so again.", "It is so. It was."),
        ("- One thing is told. It is so.\n- Another one", "- One thing is told. It is so."),
    ],
)
def test_a_cut_leaves_no_mark_of_an_item_nor_a_heading_behind(text: str, shown: str) -> None:
    words = count_words(shown)

    assert text[: cut_long(text, words=words)].rstrip() == shown
    assert text[: cut_long(text, words=words + 1)].rstrip() == shown


PARTS = ("# A", "- b c", "word one two.", "```\nx\n```", "| a | b |", "", "1. d:")


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_blocks_are_spans_of_their_passage_in_order(lines: list[str]) -> None:
    source = passage("\n\n".join(lines))
    found = split_blocks([source])

    assert all(source.text[each.start : each.end] == each.text for each in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_of_passages_that_overlap_the_whole_block_is_kept() -> None:
    text = "# Levels\n\nThe first level mirrors. It loses no block when a disk fails.\n\nAn end.\n"
    begin = text.index("It loses")
    torn = replace(passage(text[begin:]), start=7 + begin, end=7 + len(text))

    blocks = split_blocks([torn, passage(text)])

    assert [(each.passage, each.text) for each in blocks] == [
        (0, "An end."),
        (1, "The first level mirrors. It loses no block when a disk fails."),
    ]


def test_two_terms_are_entries_where_the_list_has_no_other_items() -> None:
    said = " ".join(f"word{n}" for n in range(50))
    text = (
        f"# Levels\n\n- RAID-4\n  - It keeps {said}.\n- RAID-5\n  - It spreads {said}.\n- RAID-6\n"
    )

    blocks = [each for each in split_blocks([passage(text)]) if each.form == "entry"]

    assert [each.text.split("\n")[0] for each in blocks] == ["- RAID-4", "- RAID-5", "- RAID-6"]
    assert [is_of_term(each, "Does RAID 5 mirror?") for each in blocks] == [False, True, False]


def test_what_stands_behind_the_code_in_which_a_passage_begins_is_no_code() -> None:
    text = "host = harbour\nport = 25\n```\n\nA warning stands here.\n\n```\nport = 26\n```\n"

    blocks = split_blocks([passage(text)])

    assert [(each.form, each.text.split("\n")[0]) for each in blocks] == [
        ("code", "host = harbour"),
        ("code", "A warning stands here."),  # the caption of the code below it
    ]
    assert all(text[each.start : each.end] == each.text for each in blocks)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("port = 25\n```\n\nText.\n", "port = 25\n```"),
        ("port = 25\n```", "port = 25\n```"),
        ("Type this:\n\n```\nport\n```\n", ""),
        ("- Type this:\n  ```\n  port\n  ```\n", ""),
        ("```\nport\n```\n\nText.\n", ""),
        ("Text alone.\n", ""),
    ],
)
def test_code_that_began_before_a_text_ends_with_its_mark(text: str, end: str) -> None:
    assert text[: code_end(text)] == end


GLOSSARY = """## Glossary

**hawser.** A thick rope for mooring.

**kedge.** A small anchor. With it a ship is warped off a shoal.

It is carried out in the boat.

**lazaret.** The store below the after deck.
"""


def test_the_terms_of_a_glossary_stand_apart_each_with_what_follows_it() -> None:
    found = split_blocks([passage(GLOSSARY)])

    assert [each.form for each in found] == ["titled"] * 3
    assert [entry_term(each) for each in found] == ["hawser", "kedge", "lazaret"]
    assert found[1].text.endswith("It is carried out in the boat.")
    assert [is_of_term(each, "What is a kedge?") for each in found] == [False, True, False]


def test_the_years_of_a_chronicle_stand_apart() -> None:
    years = "\n\n".join(f"**{year}.** The pier is mended." for year in (1903, 1911, 1928))

    assert [entry_term(each) for each in split_blocks([passage(years)])] == ["1903", "1911", "1928"]


@pytest.mark.parametrize(
    "text",
    [
        "**Asker:** Was it cold?\n\n**Pell:** It was.\n\n**Asker:** How cold?\n\n**Pell:** Very.",
        "**One term.** Said of it.\n\n**Another term.** Said of that.\n\nThe rest of the text.",
        "**Step 1.** Load it.\n\n**Step 2.** Unpack it.\n\n**Step 3.** Run it.",
        "**第一步：** 下载。\n\n**第二步：** 解开。\n\n**第三步：** 运行。",
        "**Ann** rowed.\n\n**Bob** slept.\n\n**Cy** kept the log.",
        "**Oil.** Hot.\n\nA.\n\nB.\n\n**Gas.** Light.\n\nC.\n\nD.\n\n**Coal.** Black.\n\nE.",
    ],
)
def test_speakers_and_few_terms_do_not_stand_apart(text: str) -> None:
    assert "titled" not in {each.form for each in split_blocks([passage(text)])}


def test_a_question_in_bold_type_stands_with_what_is_answered_below_it() -> None:
    asked = "\n\n".join(f"**Is there {each}?**\n\nThere is some {each}." for each in "abc")

    found = split_blocks([passage(asked)])

    assert [each.text for each in found] == asked.split("\n\n**")[:1] + [
        f"**{each}" for each in asked.split("\n\n**")[1:]
    ]


def test_what_stands_behind_the_last_term_is_no_part_of_it() -> None:
    found = split_blocks([passage(f"{GLOSSARY}\nA hawser is thicker than the rope of a kedge.")])

    assert [each.form for each in found] == ["titled"] * 3 + ["prose"]


def test_a_long_paragraph_that_begins_with_a_term_is_parted_as_others_are() -> None:
    long = "It was mended by the men of the yard in the spring. " * 40
    text = "\n\n".join(f"**{name}.** {long}" for name in ("Hull", "Mast", "Keel"))

    assert max(count_words(each.text) for each in split_blocks([passage(text)])) <= LONGEST_WORDS
