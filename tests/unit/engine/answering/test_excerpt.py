"""One good excerpt: the block that answers, below its heading, cited as it stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.answering.extractive.answer import HESITANT, LIKE, TOLD, UNLIKE, extractive_answer
from engine.answering.extractive.best_block import UNSURE as UNSURE_BLOCK
from engine.answering.extractive.best_block import is_labelled
from engine.answering.extractive.block_candidates import (
    FARTHEST,
    Reader,
    _sections_of_sides,
    bare_sides,
    read_leads,
    read_places,
    read_text,
    weigh_blocks,
)
from engine.answering.extractive.blocks import (
    WINDOW_WORDS,
    count_words,
    plain_excerpt,
    split_blocks,
)
from engine.answering.extractive.chinese.known_as import KnownAs
from engine.answering.extractive.evidence import MOST_UNSAID, answers_probability
from engine.answering.extractive.extent import (
    Best,
    Excerpt,
    extended,
    render_excerpt,
    speech_end,
    unit_of,
    with_led_list,
)
from engine.answering.extractive.intent import (
    asked_person,
    compared_sides,
    compares_in_respect,
    definition_subject,
    is_defined_by,
    plainly_asked,
    question_intent,
    shows_intent,
    spells_out,
    strip_intent_words,
)
from engine.answering.extractive.question_type import answer_types, asking_part
from engine.answering.extractive.sentence_scoring import (
    ScoredSentence,
    amount_bonus,
    numbered_things,
    score_sentences,
)
from engine.answering.extractive.sentence_selection import sentence_units, unit_text
from engine.answering.introductions import introduction
from engine.answering.packing import Draft
from engine.answering.passage_order import (
    direct_first,
    in_own_language,
    with_nearest,
    with_sides,
)
from engine.embeddings.span_reading import Reading
from engine.prompts import HESITATION, UNSURE, is_abstention
from engine.retrieval.passages import Sentence, split_passages
from engine.storage.tokenization import tokens
from engine.types import Passage

TEXTS = {
    "Packages": (
        "# Packages\n\n## What is a virtual package?\n\nA virtual package is a generic name for"
        " packages with the same function. Several packages may provide one.\n\n"
        "## How do I search for a package?\n\nTo search for a package by its name, run\n\n"
        "```\napt search word\n```\n"
    ),
    "Branches": (
        "# Branches\n\n## Why is the stable branch old?\n\nThe stable branch is old because it is"
        " only released every two years, after long tests.\n\n## Names\n\nThe stable branch has a"
        " code name from a film.\n"
    ),
    "Gull": "The Gull is a mail boat. It was built in Bergen in 1961 and sails on Mondays.",
    "Petrel": "The Petrel is a tug. It was built in Bergen in 1970 and sails on Sundays.",
    "Deck": (
        "# Work on deck\n\n## The rules on deck\n\n### Rule 1\n\nRead the rules first.\n\n"
        "### Rule 2\n\nWear a line on deck.\n\n### Rule 3\n\nAnyone on deck may say stop.\n"
    ),
}


def passages() -> list[Passage]:
    return [
        Passage(
            text=text, score=1.0, relevance=0.9, document_id=title, chunk_id=title, title=title,
            start=3, end=3 + len(text),
        )
        for title, text in TEXTS.items()
    ]  # fmt: skip


def weight(term: str) -> float:
    held = sum(term in tokens(f"{title} {text}") for title, text in TEXTS.items())
    return math.log(1 + (len(TEXTS) - held + 0.5) / (held + 0.5))


def ask(question: str, **options: object) -> Draft:
    return extractive_answer(
        question, passages(), weight=weight, min_evidence=0.0, one_excerpt=True, **options  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is a virtual package?", "definition"),
        ("What does unstable mean?", "definition"),
        ("Who is Maeve Tolland?", "definition"),
        ("What is Pell's rule?", "definition"),
        ("Why is stable out of date?", "cause"),
        ("How do I install a package?", "steps"),
        ("List the branches.", "list"),
        ("Which architectures does it run on?", "list"),
        ("Which mail programs in Debian can sign mail?", "list"),
        ("Give me the command to search for a package.", "command"),
        ("What is the difference between testing and unstable?", "comparison"),
        ("Can I sell the CDs?", "explanation"),
        ("Does a hook stop a push?", "explanation"),
        ("Commits of the last two weeks", "explanation"),
        ("I lost a branch by mistake, how do I get it back?", "steps"),
        ("如何安装软件包？", "steps"),
        ("什么是虚拟软件包？", "definition"),
        ("稳定版和测试版有什么区别？", "comparison"),
        ("结义的是哪三个人？", "list"),
        ("必须重新启动吗？", "explanation"),
        ("这个名字是怎么来的？", "explanation"),
        ("Who founded Debian?", None),
        ("When was the Gull built?", None),
        ("How many nodes are there?", None),
        ("What is Ada Roe's date of birth?", None),
        ("What is the nationality of the director of The Gull?", None),
        ("What genus does the plant belong to?", None),
        ("那项专利的申请号是什么？", None),
        ("周仓是谁？", "definition"),
        ("那条船的船长是谁？", None),
        ("锣鼓经的节奏型称为什么？", None),
        ("应该选哪个分支？", "comparison"),
        ("A lock file is left over. How do I remove it?", "steps"),
        ("I want to keep one package as it is. How?", "steps"),
        ("The data stayed behind. Why was it left there?", "cause"),
        ("What must I type to list the files?", "command"),
        ("Which tool rewrites the old rules?", "command"),
        ("How can I switch on a module from the shell?", "command"),
        ("Gull or Petrel, what do they do differently?", "comparison"),
        ("What is the foghorn good for?", "explanation"),
        ("Who founded St. Mary's? And when?", None),
        ("If I lock the cabin, why should the hold be locked too?", "cause"),
        ("Two ropes are tied. Why isn't that enough?", "cause"),
        ("Which people have led the club, and when?", "list"),
        ("Name every harbour that the letters mention.", "list"),
        ("章程里的承诺都列一下", "list"),
        ("海洋大学最近三任校长是谁", "list"),
        ("第二任总统是谁？", "definition"),
        ("两位作者的老师是谁？", None),
        ("In what order are the boats of the harbour called out?", "steps"),
        ("各条船按什么顺序出港？", "steps"),
        ("他一路上都见了谁？", "list"),
        ("东吴的大都督是谁？", None),
        ("成都的市长是谁？", None),
        ("Listed buildings are protected by whom?", None),
    ],
)
def test_a_question_for_a_fact_has_no_intent_of_an_excerpt(
    question: str, intent: str | None
) -> None:
    assert question_intent(question) == intent


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ('The setup asks about a "smarthost". What is that?', "smarthost"),
        ("The setup asks about it. What is that?", ""),
    ],
)
def test_that_is_what_a_question_quoted_before(question: str, subject: str) -> None:
    assert definition_subject(question) == subject


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Gulls and terns look the same to me. What sets them apart?", ("Gulls", "terns")),
        ("I keep mixing up gulls and terns; how do they differ?", ("gulls", "terns")),
        ("What tells a gull and a tern apart?", ("gull", "tern")),
        ("Gulls and terns nest here. What do they eat?", ()),
        ("Ada and Bo are here. What is the difference in height?", ()),
    ],
)
def test_what_sets_two_things_apart_is_their_difference(
    question: str, sides: tuple[str, ...]
) -> None:
    plain = plainly_asked(question)

    assert (plain != question) is bool(sides)
    assert not sides or compared_sides(plain) == sides


def test_where_a_thing_is_kept_is_said_by_a_path() -> None:
    question = "Where do I write down the name servers?"

    assert shows_intent("steps", "They stand in `/etc/resolv.conf`, one a line.", question)
    assert not shows_intent("steps", "Use the name servers of the provider.", question)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_block_of_an_earlier_passage_is_shown_before_one_that_is_read_as_well(
    language: str,
) -> None:
    texts = {
        "en": ("How do I moor the boat?", "To moor the boat, tie the line {}."),
        "zh": ("如何系住小船？", "要系住小船，请把绳子系在{}上。"),
    }
    question, text = texts[language]
    sources = [
        _passage(f"## {name}\n\n{text.format(word)}\n", name=name)
        for name, word in (("Bow", "bow"), ("Stern", "stern"))
    ]
    read = _reads(bow=5.0, stern=5.3)

    draft = _asked(question, sources, read=read, likeness=read)

    assert draft.citations[0].title == "Bow"


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("I have a stray lock file. How do I remove it?", "How do I remove it?"),
        ("Who is Mrs. Allen?", "Who is Mrs. Allen?"),
        ("I met her there. What did Prof. Lin say?", "What did Prof. Lin say?"),
    ],
)
def test_the_sentence_that_asks_does_not_end_with_a_title(question: str, asks: str) -> None:
    assert asking_part(question) == asks


@pytest.mark.parametrize(
    ("text", "question", "is_said"),
    [
        ("Please file an ITP (Intent To Package) report.", "What is an ITP?", True),
        ("It is a bug tracking system (BTS) of old.", "What does BTS stand for?", True),
        ("Please file an ITP (see below).", "What is an ITP?", False),
        ("An ITP (old) or an ITP (Intent To Package) is filed.", "What is an ITP?", True),
        ("A list of things (BTS) is kept.", "What is the BTS?", False),
        ("Please file an ITP (Intent To Package) report.", "What is a report?", False),
    ],
)
def test_an_abbreviation_is_spelt_out_beside_brackets(
    text: str, question: str, is_said: bool
) -> None:
    assert spells_out(text, question) is is_said


def test_an_abbreviation_that_nothing_else_defines_is_told_where_it_is_spelt_out() -> None:
    told = _passage("Nobody likes the wait. Please file an ITP (Intent To Package) report first.")

    draft = extractive_answer(
        "What is an ITP?",
        [told],
        weight=weight,
        min_evidence=0.75,
        one_excerpt=True,
        read=lambda _question, texts: np.full(len(texts), -9.0),
    )

    assert not draft.abstained
    assert draft.text == "Please file an ITP (Intent To Package) report first. [1]"


@pytest.mark.parametrize(
    ("question", "person"),
    [
        ("Who is Lady Anne de Burgh?", "Lady Anne de Burgh"),
        ("Who’s Mr. Hale?", "Mr. Hale"),
        ("Who was Ada Brine", "Ada Brine"),
        ("Who is the mother of Ada Brine?", ""),
        ("Who is the CEO of Acme?", ""),
        ("Who is the Director of the Tide Station?", ""),
        ("Who was Alfred the Great?", "Alfred the Great"),
        ("姜维是什么来历？", "姜维"),
        ("徐庶是何许人也", "徐庶"),
        ("徐庶是谁，就是骗曹操的那个", "徐庶"),
        ("给刘备当军师的那个徐庶是谁？", "徐庶"),
        ("蜀国那个马邈是什么人，干了什么？", "马邈"),
        ("把他领出来的那个老人是谁？", ""),
        ("写这个软件的那个程序员是谁？", ""),
        ("修钟的那个石匠是谁？", ""),
        ("这个漏洞是什么来历？", ""),
        ("dpkg 是什么来历？", ""),
    ],
)
def test_a_person_is_asked_for_by_a_name_with_small_words_in_it(question: str, person: str) -> None:
    assert asked_person(question) == person


def test_the_subject_of_a_definition_is_a_name_not_an_attribute() -> None:
    assert definition_subject("What is the Debian Social Contract?") == "Debian Social Contract"
    assert definition_subject("What was D'olier's first name?") == ""
    assert definition_subject("What is France a region of?") == ""


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Compare the Gull and the Petrel.", ("Gull", "Petrel")),
        ("What is the difference between RAID 1 and RAID 5?", ("RAID 1", "RAID 5")),
        ("How do A, B and C differ?", ("A", "B", "C")),
        ("Gull vs. Petrel", ("Gull", "Petrel")),
        ("Is a gull the same thing as a petrel? Explain.", ("gull", "petrel")),
        ("Is an inn the same as a hotel?", ("inn", "hotel")),
        ("Is it the same as last year?", ()),
        ("Is a deposit the same as a year ago?", ()),
        ("I am new. Is a gull the same as a petrel?", ("gull", "petrel")),
        ("What is the difference?", ()),
        ("Gull or Petrel: what does each one do?", ("Gull", "Petrel")),
        ("Should my crew use Oars or Sails, and what is the difference?", ("Oars", "Sails")),
        ("Gull or Petrel for my harbour - how do they compare?", ("Gull", "Petrel")),
        ("How did the Gull and the Petrel differ in the storm?", ("Gull", "Petrel")),
        ("Compare Gull and Petrel: which is faster?", ("Gull", "Petrel")),
        ("Gull versus Petrel: how did they fare?", ("Gull", "Petrel")),
        ("How does the Gull differ from the Petrel?", ("Gull", "Petrel")),
        ("Which is better, the Gull or the Petrel?", ("Gull", "Petrel")),
        ("Should I take the Gull or the Petrel?", ("Gull", "Petrel")),
        ("Compare the Gull to the Petrel", ("Gull", "Petrel")),
        ("Difference between Gull to Come and Petrel to Go", ("Gull to Come", "Petrel to Go")),
        ("Gull versus Petrel on dealing with storms", ("Gull", "Petrel")),
        ("RAID-0 和 RAID-1 有什么不一样？", ("RAID-0", "RAID-1")),
        ("Compare std::list and std::deque", ("std::list", "std::deque")),
        ("The Gull and the Petrel are boats. How do Gull and Petrel relate?", ("Gull", "Petrel")),
        ("stable 和 testing 有什么区别？", ("stable", "testing")),
        ("关羽与张飞的性格有何不同？", ("关羽", "张飞")),
        ("对普通人来说，apt 跟老的 dpkg 到底差在哪？", ("apt", "dpkg")),
        ("稳定版和测试版哪个更新？", ("稳定版", "测试版")),
        ("比较海鸥号、海燕号", ("海鸥号", "海燕号")),
        ("有什么区别？", ()),
        ("How do the Gull and the Petrel differ from each other?", ("Gull", "Petrel")),
        ("同样是落到水里，于安和庞华的表现和下场有什么不同？", ("于安", "庞华")),
        ("林冲和杨志都上了山，两人的性格有什么差别？", ("林冲", "杨志")),
        ("周六和诸葛明争着出城，双方的做法有何异同？", ("周六", "诸葛明")),
        ("RAID 5 和 RAID 6 相比各有什么优缺点？", ("RAID 5", "RAID 6")),
        ("两人的性格有什么差别？", ()),
        ("How do Ann's and Bo's views of the dam differ?", ("Ann", "Bo")),
        ("Gull versus Petrel, how do they compare?", ("Gull", "Petrel")),
        ("Is it better to use a lug or a gaff?", ("lug", "gaff")),
        ("How does the lug differ from the gaff when it blows?", ("lug", "gaff")),
        ("What is the difference between main and develop?", ("main", "develop")),
        ("gull step compared with petrel step?", ("gull step", "petrel step")),
        ("Gull compared to the Petrel: which is faster?", ("Gull", "Petrel")),
        ("gull vs petrel - what is the difference", ("gull", "petrel")),
        ("gull vs petrel, which one should I take?", ("gull", "petrel")),
        ("gull or petrel? What does each of them eat?", ("gull", "petrel")),
        ("Was the boat red or blue? And who owned it?", ()),
        ("How do I install or upgrade? Step by step please", ()),
        ("软raid 里 RAID0 跟 RAID1 有啥区别", ("RAID0", "RAID1")),
        ("帆船和汽船相比，各有什么好坏？", ("帆船", "汽船")),
        ("How much did the nets cost compared to last year?", ()),
        ("When did the price fall as opposed to rise?", ()),
        ("参与社区有什么好处？", ()),
        ("gull versus petrel differences", ("gull", "petrel")),
        ("For old boats, how do gulls compare with petrels?", ("gulls", "petrels")),
        ("The race: how did the Gull fare compared with the Petrel?", ("Gull", "Petrel")),
        ("For old boats, how do sails and oars compare?", ("sails", "oars")),
        ("How does remote work compare with office work?", ("remote work", "office work")),
        ("磁盘配额的软限制和硬限制有什么不同？", ("软限制", "硬限制")),
        ("Linux的软链接和硬链接的区别是什么？", ("软链接", "硬链接")),
        ("绿色的按钮和红色按钮有什么区别？", ("绿色", "红色按钮")),
        ("苹果的手机和华为有什么区别？", ("苹果", "华为")),
        ("港口的 gull 和 petrel 区别", ("gull", "petrel")),
        ("关羽的看法跟张飞的有什么区别？", ("关羽", "张飞")),
        ("小说中的人物和电影中的人物有什么区别？", ("小说中", "电影中")),
        ("Compare Ann's and Bo's and Cy's nets", ("Ann's", "Bo's", "Cy's nets")),
    ],
)
def test_the_sides_of_a_comparison_are_read_off_the_question(
    question: str, sides: tuple[str, ...]
) -> None:
    assert compared_sides(question) == sides


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Gull or Petrel: which should I take?", "comparison"),
        ("Which is better, the Gull or the Petrel?", "comparison"),
        ("Which boat was built first, the Gull or the Petrel?", None),
        ("Give me the names of all boats.", "list"),
    ],
)
def test_a_choice_is_a_comparison_and_names_are_a_list(question: str, intent: str | None) -> None:
    assert question_intent(question) == intent


def test_a_comparison_in_one_respect_is_told_from_one_of_things() -> None:
    assert compares_in_respect("Gull versus Petrel on dealing with storms: who was right?")
    assert not compares_in_respect("How do the Gull and the Petrel differ?")


def test_what_is_found_for_each_side_stands_behind_the_first_passages_once() -> None:
    first, own = passages(), [replace(passages()[3], chunk_id="own")]
    ordered = with_sides([*first, *own], [[own[0], first[1]]])

    assert [each.chunk_id for each in ordered] == [
        *(each.chunk_id for each in first[:4]), "own", *(each.chunk_id for each in first[4:]),
    ]  # fmt: skip


def test_a_reader_reads_the_rows_of_a_table_with_the_names_of_their_columns() -> None:
    table = "| Ship | Built |\n|---|---|\n| Gull | 1961 |\n| Petrel | |\n\nBoth sail."
    layout = "| A guide: to ships |  |\n| --- | --- |\n| Prev | Next |"
    page = replace(passages()[0], title="Ships", text=f"{table}\n\n{layout}")
    read = "\n".join(read_text(block, [page]) for block in split_blocks([page]))

    assert "Ship: Gull; Built: 1961.\nShip: Petrel." in read
    assert "| Prev | Next |" in read


def test_words_for_the_form_of_an_answer_are_not_searched_for() -> None:
    assert "command" not in strip_intent_words("Give me the command to search for a package.")
    assert strip_intent_words("Compare") == "Compare"


@pytest.mark.parametrize(
    ("question", "heading", "said"),
    [
        pytest.param(
            "What is a virtual package?",
            "What is a virtual package?",
            "is a generic name",
            id="what",
        ),
        pytest.param(
            "Why is the stable branch old?", "Why is the stable branch old?", "because", id="why"
        ),
        pytest.param(
            "Give me the command to search for a package.",
            "How do I search for a package?",
            "apt search word",
            id="command",
        ),
    ],
)  # fmt: skip
def test_an_excerpt_stands_below_its_heading_without_a_reader(
    question: str, heading: str, said: str
) -> None:
    draft = ask(question)

    assert draft.text.startswith(f"### {heading}\n\n")
    assert said in draft.text
    assert draft.short is None


def test_an_excerpt_is_an_exact_span_of_its_document() -> None:
    draft = ask("Give me the command to search for a package.")
    source = TEXTS["Packages"]

    for citation in draft.citations:
        assert source[citation.start - 3 : citation.end - 3] == citation.quote
        assert all(line in draft.text for line in citation.quote.splitlines())


def test_both_sides_of_a_comparison_stand_beside_each_other() -> None:
    draft = ask("Compare the Gull and the Petrel.")

    assert [citation.title for citation in draft.citations] == ["Gull", "Petrel"]


@pytest.mark.parametrize("mark", ["\n  - ", "\n  ", ": ", " - "])
def test_items_of_a_list_that_explain_the_sides_are_shown_alone(mark: str) -> None:
    kinds = {"Gull": "is a boat for mail.", "Petrel": "is one for towing.", "Tern": "is a ferry."}
    items = "\n".join(f"- `{name}`{mark}The {name} {told}" for name, told in kinds.items())
    both = "A Gull and a Petrel are painted white each spring by those who sail on them."
    source = _passage(f"## Boats\n\n{both}\n\nThere are three:\n\n{items}\n")

    draft = _asked("What is the difference between Gull and Petrel in the fleet?", [source])

    assert [each.quote.rpartition("The ")[2] for each in draft.citations] == [
        "Gull is a boat for mail.", "Petrel is one for towing.",
    ]  # fmt: skip


def test_steps_go_on_to_the_last_command_that_has_room() -> None:
    told = "It is best to do so in the morning, before the wind rises and the crew is tired. " * 3
    commands = ["boat config", "boat build", "boat paint"]
    steps = "\n\n".join(f"{told.strip()}\n\n```\n{each}\n```" for each in commands)
    source = _passage(f"## Building a boat\n\n{steps}\n\n{told * 4}\n\n```\nboat sink\n```\n")

    draft = _asked("How do I build a boat?", [source])

    assert [each for each in (*commands, "boat sink") if each in draft.text] == commands


def test_the_reason_behind_what_is_told_is_shown_with_it() -> None:
    told = "The boats of the harbour are kept in the shed from autumn to spring each year. " * 9
    reason = "The reason for this is that the ice of the bay breaks their planks."
    source = _passage(
        f"## Winter\n\n{told.strip()}\n\n{reason}\n\nThe shed is of oak. {'It is old. ' * 60}\n"
    )

    draft = _asked("Why are the boats of the harbour kept in the shed?", [source])

    assert reason in draft.text
    assert "oak" not in draft.text


def test_sections_side_by_side_are_the_list_that_is_asked_for_in_parts() -> None:
    lists = "\n\n".join(
        f"### {name}\n\n- The list boats-{name.lower()} of the harbour\n- The channel of {name}"
        for name in ("English", "Norse", "Frisian")
    )
    source = _passage(f"## Help with boats\n\n{lists}\n")

    draft = _asked("List the lists of the harbour by language", [source])

    assert all(f"boats-{name}" in draft.text for name in ("english", "norse", "frisian"))


def test_a_person_is_introduced_with_the_sentence_that_says_whose_name_it_is() -> None:
    source = _passage(
        "童子引客至庄前。童子答道：“吾师姓林，名远，字子山，海州人也。道号观潮先生。”客人大喜。",
        name="渔歌",
    )

    draft = _asked("观潮先生是谁？", [source])

    assert draft.text.index("姓林") < draft.text.index("道号观潮先生")


def test_items_are_read_below_what_leads_to_their_list() -> None:
    source = _passage(
        "## Boats\n\nThese carry mail:\n\n- the Gull, which is white and old and slow\n"
        "- the Petrel, which is grey and new and fast\n"
    )
    blocks = split_blocks([source])
    item = replace(blocks[-1], start=source.text.index("the Petrel"))

    assert read_text(item, [source]).startswith("Manual: Boats: These carry mail:\n")


@pytest.mark.parametrize("is_own", [True, False])
def test_a_list_that_the_best_paragraph_leads_to_is_shown_in_its_place(is_own: bool) -> None:
    about = (
        "Each boat of the harbour has one of several colours, and no boat may have two of them. "
    )
    lead = "The following colours are known." if is_own else "Here is more. It is long."
    caption = "" if is_own else "The colours are:\n"
    items = "\n".join(f"- {name}\n  - It is {name}." for name in ("white", "grey", "red", "green"))
    source = _passage(f"## Colours\n\n{about * 3}\n\n{lead}\n\n{caption}{items}\n")

    draft = _asked(
        "Which colours does a boat of the harbour have?", [source], read=_reads(several=9.0)
    )

    assert all(f"- {name}" in draft.text for name in ("white", "grey", "red", "green"))
    assert "no boat may have two" not in draft.text


def test_the_items_of_two_commands_are_called_by_their_last_words() -> None:
    kinds = {"Gull": "loads the boat.", "gull-dry": "lists what is loaded.", "Tern": "is a ferry."}
    items = "\n".join(f"- `{name}`: The command {told}" for name, told in kinds.items())

    draft = _asked(
        "boat Gull compared with gull-dry?", [_passage(f"## Commands\n\nThree:\n\n{items}\n")]
    )

    assert [each.quote.rpartition("command ")[2] for each in draft.citations] == [
        "loads the boat.", "lists what is loaded.",
    ]  # fmt: skip


def test_sections_that_are_called_as_the_sides_stand_beside_each_other() -> None:
    both = _passage(
        "## Boats\n\nA gull is painted white, as is a petrel, by those who sail them.\n"
    )
    kinds = _passage(
        "### 2.1. Gulls\n\nThese boats carry mail to all the islands.\n\n"
        "### 2.2. Petrels\n\nThese boats tow the others into port.\n"
    )

    draft = _asked("gull vs petrel - what is the difference", [both, kinds])

    assert [each.quote.split()[2] for each in draft.citations] == ["carry", "tow"]


@pytest.mark.parametrize(
    ("question", "headings", "is_told"),
    [
        ("How do gulls and petrels differ?", ("The gull boats", "The petrel boats"), True),
        ("gull files or petrel files, what is the difference", ("Gulls", "Petrels"), True),
        ("How do gulls and petrels differ?", ("The gull boats", "Care of petrels"), False),
        ("How do gulls and petrels differ?", ("Gulls and petrels", "Petrels and gulls"), False),
    ],
)
def test_sections_whose_headings_differ_in_the_sides_alone_stand_beside_each_other(
    question: str, headings: tuple[str, str], is_told: bool
) -> None:
    one, two = headings
    blocks = split_blocks(
        [_passage(f"## {one}\n\nThey carry mail to all islands.\n\n## {two}\n\nThey tow boats.\n")]
    )
    found = _sections_of_sides(compared_sides(question), blocks)
    assert [block.heading for block in found] == (list(headings) if is_told else [])


def test_the_item_of_a_side_is_not_that_of_a_longer_name() -> None:
    source = _passage(
        "## Boats\n\n- Mail boat: one that sails each day.\n- Mail: letters that are sent by sea.\n"
    )

    draft = _asked("What is the difference between mail and mail boat?", [source])

    assert [each.quote.partition(":")[0] for each in draft.citations] == ["- Mail", "- Mail boat"]


def test_items_behind_an_indent_are_shown_one_by_one() -> None:
    kinds = {"Gull": "for the mail", "Petrel": "for towing", "Tern": "a ferry"}
    items = "\n".join(f"  - {name}: one that is {said}." for name, said in kinds.items())
    source = _passage(f"## Boats\n\nThere are three kinds of boats here.\n\n{items}\n")

    draft = _asked("What is the difference between Gull and Petrel?", [source])

    assert [each.quote.count("one that is") for each in draft.citations] == [1, 1]


def test_sides_that_are_compared_in_one_respect_are_told_where_that_is_said() -> None:
    rest = "It is used where the water is deep and the wind is strong for days. " * 20
    text = "".join(
        f"## {name}\n\nThe {name} is a rope.\n\n{rest}\n\nThe {name} is {kept} in winter.\n\n"
        for name, kept in (("hawser", "kept dry"), ("kedge", "kept oiled"))
    )
    question = "How do the hawser and the kedge differ in how they are kept in winter?"

    draft = _asked(question, [_passage(text)], read=_reads(dry=5.0, oiled=5.0))

    assert "kept dry" in draft.text
    assert "kept oiled" in draft.text


@pytest.mark.parametrize(("title", "is_told"), [("Chronicle", False), ("Pier", True)])
def test_beside_a_fact_stands_what_its_own_page_says_of_its_subject_alone(
    title: str, is_told: bool
) -> None:
    crane = _passage("The crane of the pier was lost in a storm in 1911.", name="Log")
    pier = _passage("The pier was lost in a storm in 1928.", name=title)

    draft = _asked("When was the crane of the pier lost?", [crane, pier], read=_reads(The=4.0))

    assert "1911" in draft.text
    assert ("1928" in draft.text) is is_told


def test_what_is_said_of_both_terms_below_their_list_stands_behind_them() -> None:
    text = ITEMS + "\nA hawser is thicker than the rope of a kedge.\n\nBoth are bought in Bergen."

    draft = _asked("What is the difference between hawser and kedge?", [_passage(text)])

    quotes = [each.quote for each in draft.citations]
    assert [each[:9] for each in quotes] == ["- *Hawser", "- *Kedge*", "A hawser "]
    assert quotes[-1] == "A hawser is thicker than the rope of a kedge."


def test_a_section_called_as_a_side_is_told_from_its_beginning() -> None:
    rest = "It is used where the water is deep and the wind is strong for days. " * 10
    text = "".join(
        f"## {name}\n\nThe {name} holds {what}.\n\n{rest}\n\n{rest}\n\nThe {name} is {kept}.\n\n"
        for name, what, kept in (
            ("hawser", "a ship at the quay", "kept dry"),
            ("kedge", "a ship off a shoal", "kept oiled"),
        )
    )

    draft = _asked(
        "What is the difference between hawser and kedge?",
        [_passage(text)],
        read=_reads(dry=5.0, oiled=5.0),
    )

    first, second = draft.citations
    assert first.quote.startswith("The hawser holds a ship at the quay.")
    assert second.quote.startswith("The kedge holds a ship off a shoal.")


def test_a_list_that_is_begun_is_told_to_its_end() -> None:
    items = "".join(
        f"- The {name} {'is kept in the locker of the boat ' * 8}.\n" for name in "abcd"
    )
    text = f"# Rules\n\nThese are the things of the boat:\n\n{items}\nSeen.\n\n" + "More. " * 300
    passage = _passage(text)
    block = split_blocks([passage])[0]

    told = extended(Best(block=block, score=1.0, logit=None), passage, None)

    assert block.form == "list"
    assert all(f"- The {name} is kept" in told.text for name in "abcd")
    assert "Seen" not in told.text


def test_a_block_that_compares_is_shown_before_items_that_only_name_the_sides() -> None:
    compares = _passage("## Rigs\n\nA Gull has one mast, where a Petrel has two of them.\n")
    notes = _passage(
        "## To do\n\n- Gull: call the owners before noon.\n- Petrel: paint the hull again.\n",
        name="Notes",
    )

    draft = _asked(
        "What is the difference between Gull and Petrel?", [notes, compares], read=_reads(mast=9.0)
    )

    assert [each.title for each in draft.citations] == ["Manual"]


@pytest.mark.parametrize(("other", "doubted"), [("puffin", True), ("petrel", False)])
def test_a_comparison_with_what_no_passage_names_is_doubted(other: str, doubted: bool) -> None:
    draft = ask(f"What is the difference between the gull and the {other}?")

    assert draft.text.startswith(HESITATION["en"]) is doubted


def test_items_that_a_reader_rejects_stand_behind_what_each_side_is() -> None:
    notes = _passage(
        "## To do\n\n- Gull: call the owners before noon.\n- Petrel: paint the hull.\n"
    )
    kinds = [_passage("The Gull is a mail boat of the port.", name="Gull"),
             _passage("The Petrel is a tug of the port.", name="Petrel")]  # fmt: skip

    draft = _asked(
        "What is the difference between Gull and Petrel?", [notes, *kinds],
        read=_reads(mail=6.0, tug=6.0),
    )  # fmt: skip

    assert [each.title for each in draft.citations] == ["Gull", "Petrel"]


@pytest.mark.parametrize(
    ("sides", "bare"),
    [
        (("Recommends", "Suggests in a control file"), ("Recommends", "Suggests")),
        (("Chase", "Bank of America"), ("Chase", "Bank of America")),
        (("Hull", "Stoke on Trent"), ("Hull", "Stoke on Trent")),
        (("a tax", "a tax on income"), ("a tax", "a tax on income")),
        (("sick leave", "leave for training"), ("sick leave", "leave for training")),
        (("TCP", "UDP in Linux"), ("TCP", "UDP")),
    ],
)
def test_what_is_said_of_all_sides_is_no_part_of_the_last(
    sides: tuple[str, str], bare: tuple[str, str]
) -> None:
    assert bare_sides(sides) == bare


def test_an_item_that_is_asked_about_is_shown_whole_among_the_beginnings_of_others() -> None:
    items = [f"- {name}: {FILLER} It comes last." for name in ("Gull", "Petrel")]
    kinds = f"- Tern: {FILLER} It knows red, green and blue."
    source = _passage("## Colours\n\n" + "\n".join((items[0], kinds, items[1])) + "\n")

    draft = _asked(
        "Which colours does Tern list?", [source],
        read=lambda _question, texts: np.array([4.0 if "red, green" in each else -4.0
                                                for each in texts]),
    )  # fmt: skip

    assert "red, green and blue" in draft.text
    assert "It comes last" not in draft.text


@pytest.mark.parametrize("lead", ["These steps follow:", "The following steps explain it."])
def test_what_leads_to_a_list_is_shown_with_it(lead: str) -> None:
    said = f"A line is set up before a ship sails. {FILLER}"
    steps = "\n".join(f"- Knot number {count} is tied by hand." for count in range(4))
    source = _passage(f"## A line\n\n{said}\n\n{lead}\n\n{steps}\n")

    draft = _asked("How is a line set up?", [source])

    assert "Knot number 3" in draft.text


def test_a_block_about_one_side_below_a_heading_of_both_does_not_compare_them() -> None:
    text = (
        f"## Gull and Petrel\n\nWhat is a Gull? A Gull is held. {' '.join([FILLER] * 9)}\n\n"
        "A Gull is one that is held. A Petrel is one that is free.\n\nA Petrel is seldom seen.\n"
    )

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([9.0 if "What is" in each else 6.0 for each in texts])

    draft = _asked(
        "What is the difference between a Gull and a Petrel?", [_passage(text)], read=read
    )

    assert "A Petrel is one that is free." in draft.text


def test_sections_side_by_side_are_a_list() -> None:
    draft = ask("List the rules on deck.")

    assert draft.text.startswith("### The rules on deck\n\n### Rule 1")
    assert "### Rule 3" in draft.text


def test_the_reader_chooses_among_the_blocks() -> None:
    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([9.0 if "code name" in text else -9.0 for text in texts])

    assert "code name from a film" in ask("Why is the stable branch old?", read=read).text


def test_the_reader_sees_a_sentence_behind_the_one_that_leads_to_it() -> None:
    seen: list[str] = []

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        seen.extend(texts)
        return np.zeros(len(texts))

    ask("When was the mail boat Gull built?", read=read)

    assert any(text.startswith("Gull: ") and "1961" in text for text in seen)


def test_an_excerpt_does_not_begin_with_what_leans_on_the_block_before_it() -> None:
    text = "## Hold\n\nWrite the selections to a file.\n\nThen edit the file and set it to hold.\n"
    source = replace(passages()[0], text=text)

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([9.0 if "Then edit" in each else -9.0 for each in texts])

    draft = extractive_answer(
        "How do I hold the file selections?", [source], weight=weight, min_evidence=0.0,
        one_excerpt=True, read=read,
    )  # fmt: skip

    assert draft.text.startswith("### Hold\n\nWrite the selections")


def _passage(text: str, *, name: str = "Manual", start: int = 0) -> Passage:
    return Passage(
        text=text, score=1.0, relevance=0.9, document_id=name, chunk_id=f"{name} {start}",
        title=name, start=start, end=start + len(text),
    )  # fmt: skip


def _reads(**logits: float) -> Callable[[str, Sequence[str]], NDArray[np.float64]]:
    """Read a text as high as the word in it says, of several the highest."""

    def read(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array(
            [max((z for word, z in logits.items() if word in text), default=-9.0) for text in texts]
        )

    return read


def _asked(question: str, sources: Sequence[Passage], **options: object) -> Draft:
    return extractive_answer(
        question, sources, weight=weight, one_excerpt=True, **{"min_evidence": 0.0, **options}  # type: ignore[arg-type]
    )  # fmt: skip


ITEMS = """# Rigging terms

- *Hawser*: a thick rope by which a ship is moored to the quay.
- *Kedge*: a small anchor by which a ship is warped off a shoal.
- *RS*: riding sail.
"""


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("What is a kedge?", "*Kedge*: a small anchor by which a ship is warped off a shoal."),
        ("What does RS stand for?", "*RS*: riding sail."),
    ],
)
def test_a_term_of_a_list_is_defined_by_its_own_item(question: str, item: str) -> None:
    draft = _asked(question, [_passage(ITEMS)], read=_reads(Hawser=1.0))

    assert [each.quote for each in draft.citations] == [f"- {item}"]


def test_a_name_without_a_word_on_it_defines_nothing() -> None:
    names = "We have these aboard:\n\n- hawser\n- kedge\n- lazaret\n"

    draft = _asked("What is a kedge?", [_passage(names)], read=_reads(kedge=1.0))

    assert all(term in draft.text for term in ("hawser", "kedge", "lazaret"))


def test_what_no_item_is_named_by_is_told_by_the_whole_list() -> None:
    draft = _asked("What is a hawser rope?", [_passage(ITEMS)], read=_reads(Hawser=4.0))

    assert all(term in draft.text for term in ("Hawser", "Kedge", "RS"))


def test_a_year_of_a_chronicle_is_told_without_the_others() -> None:
    years = {1903: "The pier is built.", 1911: "A storm takes the crane.", 1928: "Gas is laid."}
    text = "# Chronicle\n\n" + "\n\n".join(f"**{year}.** {what}" for year, what in years.items())

    draft = _asked("Why is there no crane?", [_passage(text)], read=_reads(crane=4.0, pier=1.0))

    assert "takes the crane" in draft.text
    assert "pier" not in draft.text
    assert "Gas" not in draft.text


def test_the_items_that_begin_with_the_sides_stand_beside_each_other() -> None:
    rest = "It is loved by those who sail alone in narrow waters between the islands. " * 6
    source = _passage(
        "## Rigs\n\nThis part presents three rigs: lug, gaff and sprit. Each has its friends.\n\n"
        f"1. Lug rigs have a short yard. {rest}\n\n2. Gaff rigs have a spar. {rest}\n\n"
        f"3. Sprit rigs have a pole. {rest}\n"
    )

    draft = _asked(
        "What is the difference between lug, gaff and sprit rigs?",
        [source],
        read=_reads(presents=9.0, short=5.0),
    )

    told = [draft.text.index(each) for each in ("1. Lug", "2. Gaff", "3. Sprit")]
    assert told == sorted(told)
    assert all(draft.text.count(each) == 1 for each in ("1. Lug", "2. Gaff", "3. Sprit"))


def test_an_excerpt_goes_on_beyond_the_border_of_its_passage_and_is_cited_as_it_stands() -> None:
    document = (
        "## Mooring\n\nTo moor a boat, do this:\n\n- tie the bow line;\n\n- tie the stern line;\n\n"
        "- stop the engine.\n\n## Sails\n\nSails are white.\n"
    )
    source = _passage(document[: document.index("- tie the stern")].rstrip())

    draft = _asked(
        "How do I moor a boat?", [source], text_at=lambda _, start, end: document[start:end]
    )

    (citation,) = draft.citations
    assert draft.text.startswith("### Mooring\n\nTo moor a boat")
    assert "- stop the engine." in draft.text
    assert "Sails" not in draft.text
    assert document[citation.start : citation.end] == citation.quote


def test_a_box_is_shown_with_its_title_or_not_at_all() -> None:
    section = "## Groups\n\nTo add a user to a group, run adduser user group.\n\n"
    source = _passage(section + "BASICS Devices\n\nEach device is a file below a folder.\n")

    plain = _asked("How do I add a user to a group?", [source], read=_reads(adduser=5.0))
    boxed = _asked("What is a device of a user?", [source], read=_reads(device=5.0))

    assert "BASICS" not in plain.text
    assert "BASICS Devices\n\nEach device" in boxed.text


@pytest.mark.parametrize(("logit", "count"), [(4.8, 2), (1.0, 1)])
def test_two_sections_are_shown_only_where_the_reader_is_not_sure(logit: float, count: int) -> None:
    sources = [
        _passage(f"## {name}\n\nTo install a package from a file, run {word} it.\n", name=name)
        for name, word in (("Source", "unpack"), ("Binary", "dpkg"))
    ]  # fmt: skip

    draft = _asked(
        "How do I install a package from a file?", sources, read=_reads(dpkg=6.0, unpack=logit)
    )

    assert draft.text.startswith("### Binary")
    assert [citation.title for citation in draft.citations] == ["Binary", "Source"][:count]


class _WithVectors:
    """Reader by one table of logits for words, and by another for the nearness of whole texts."""

    def __init__(self, logits: dict[str, float], near: dict[str, float]) -> None:
        self._read = _reads(**logits)
        self._near = _reads(**near)

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return self._read(question, texts)

    def whole(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return self._near(question, texts)


@pytest.mark.parametrize(("near", "count"), [(0.9, 2), (0.7, 1)])
def test_a_block_that_vectors_find_nearer_is_shown_below_the_one_that_is_read_better(
    near: float, count: int
) -> None:
    sources = [
        _passage(f"## {name}\n\nTo set who owns a file, run {word} on the file.\n", name=name)
        for name, word in (("Modes", "chmod"), ("Owners", "chown"))
    ]
    read = _WithVectors({"chmod": 4.0, "chown": 3.5}, {"chmod": 0.8, "chown": near})

    draft = _asked("How do I set who owns a file?", sources, read=read)

    assert [citation.title for citation in draft.citations] == ["Modes", "Owners"][:count]


NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


def test_a_block_that_leads_to_a_list_is_shown_with_it_below_the_best_one() -> None:
    where = "in the folder of the programs that came with the first release " * 6
    sources = [
        _passage("## Modes\n\nTo set who owns a file, run chmod on the file.\n", name="Modes"),
        _passage(
            f"## Owners\n\nTo set who owns a file, {where}run one of these as chown:\n\n"
            + "\n\n".join(
                f"- {name}, which came with the second of all releases;" for name in NAMES
            ),
            name="Owners",
        ),
    ]
    read = _WithVectors({"chmod": 4.0, "chown": 3.5}, {"chmod": 0.8, "chown": 0.9})

    draft = _asked("How do I set who owns a file?", sources, read=read)

    assert [citation.title for citation in draft.citations] == ["Modes", "Owners"]
    assert "- alpha" in draft.citations[1].quote


STORY = [
    "船长站在甲板上看着远处的海面，天色渐渐暗了下来，风也越来越大，水手们都不说话。",
    "夜里三更时分，暗礁撞破了船底，海水很快涌进了货舱，大家一齐动手堵住漏洞。",
    "天亮以后，他们把小船放下水，带着干粮和淡水，向东面的小岛划去，划了整整一天。",
    "岛上只有几棵树和一口井，井水很甜，大家喝足了水，又在树下睡了一夜。",
    "第二天，一艘过路的渔船看见了烟火，靠过来把他们全部接走，送回了家乡。",
    "回家以后，船长写了一封长信，把这次航行的经过一五一十地告诉了船主。",
    "船主读完了信，马上派人到港口去，给每个水手都发了三个月的工钱，又买了一条新船。",
    "新船下水那天，港口里挤满了人，大家都来看热闹，孩子们在码头上跑来跑去。",
]


def test_of_a_long_chinese_paragraph_the_nearest_part_is_shown() -> None:
    source = _passage("# 航行\n\n" + "".join(STORY) + "\n", name="航行")
    likeness = _WithVectors({"井水": 9.0, "工钱": 1.0}, {})

    draft = _asked("水手们为什么喜欢岛上的井水？", [source], likeness=likeness)

    assert "井水很甜" in draft.text
    assert STORY[0] not in draft.text
    assert count_words(draft.citations[0].quote) < count_words("".join(STORY)) * 2 / 3


def test_of_a_long_chinese_paragraph_the_sentences_are_shown_that_tell_a_fact() -> None:
    source = _passage("# 航行\n\n" + "".join(STORY) + "\n", name="航行")
    likeness = _WithVectors({"工钱": 9.0, "井水": 1.0}, {})

    draft = _asked("船主发了几个月的工钱？", [source], likeness=likeness)

    told = next(row for row, said in enumerate(STORY) if "工钱" in said)
    shown = [row for row, said in enumerate(STORY) if said in draft.text]
    assert shown[0] < told < shown[-1]
    assert shown == list(range(shown[0], shown[-1] + 1))
    assert sum(len(STORY[row]) for row in shown) < len("".join(STORY)) * 2 / 3


def test_a_sentence_that_says_how_old_somebody_is_leads_what_is_shown_of_an_age() -> None:
    story = [*STORY, "船长的儿子站在码头上，年方十六岁。", *STORY[:4]]
    source = _passage("# 航行\n\n" + "".join(story) + "\n", name="航行")
    likeness = _WithVectors({"船长": 3.0, "甲板": 4.0}, {})

    shown = _asked("船长的儿子几岁？", [source], likeness=likeness).text

    assert "年方十六岁" in shown
    assert STORY[3] not in shown


@pytest.mark.parametrize(
    ("tie", "shows_opening"), [("李海乃王船之弟也，王船大笑。", False), ("李海大笑。", True)]
)
def test_of_a_connection_the_sentences_are_shown_that_name_both(
    tie: str, *, shows_opening: bool
) -> None:
    story = ["王船在港口。", *STORY[:5], tie, *STORY[5:]]
    source = _passage("# 航行\n\n" + "".join(story), name="航行")
    likeness = _WithVectors({"李海": 9.0, "王船": 5.0, "港口": 1.0}, {})

    shown = _asked("李海和王船是什么关系？", [source], likeness=likeness).text

    assert tie in shown
    assert (story[0] in shown) is shows_opening


def test_a_list_in_a_long_chinese_paragraph_is_shown_whole() -> None:
    source = _passage("# 航行\n\n" + "".join(STORY) + "\n", name="航行")
    likeness = _WithVectors({"井水": 9.0, "工钱": 1.0}, {})

    shown = _asked("岛上有哪些东西？列出来。", [source], likeness=likeness).text

    assert all(said in shown for said in STORY)


def test_the_sentence_in_front_of_the_one_that_is_read_best_is_shown() -> None:
    told = (
        "董事会从各项收入里拨出六百八十万克朗用来修理被风暴毁坏的海缆" + "和港口的设备" * 8 + "。"
    )
    story = [*STORY[:3], told, "修理海缆的这笔钱不算多。", *STORY[3:]]
    source = _passage("# 航行\n\n" + "".join(story) + "\n", name="航行")
    likeness = _WithVectors({"不算多": 9.0, "海缆": 4.0}, {})

    assert told in _asked("修理海缆花多少钱？", [source], likeness=likeness).text


def test_what_takes_a_fact_back_is_shown_with_it() -> None:
    story = [*STORY[:5], "船主答应发三个月的工钱。", "大家很高兴。", "有人唱起歌来。"]
    turned = "然而他后来反悔，一文也没有给。"
    source = _passage("# 航行\n\n" + "".join([*story, turned, *STORY[:3]]) + "\n", name="航行")
    likeness = _WithVectors({"工钱": 9.0, "井水": 1.0}, {})

    assert turned in _asked("船主发了几个月的工钱？", [source], likeness=likeness).text


@pytest.mark.parametrize(
    ("logit", "above", "is_doubted"), [(5.0, 1.0, False), (2.0, 0.8, True), (2.0, 3.0, False)]
)
def test_a_chinese_block_that_is_read_as_hardly_answering_is_doubted(
    logit: float, above: float, *, is_doubted: bool
) -> None:
    texts = ("灯塔用铜灯照明，灯塔高四十米。", "灯塔的门是红的，灯塔建在岛上。")
    sources = [
        replace(_passage(text, name=text[:4] + text[-3:]), scores={"fused": 1.0}) for text in texts
    ]
    likeness = _WithVectors({"铜灯": logit, "红的": logit - above}, {})

    draft = _asked("灯塔用什么东西照明呢？", sources, likeness=likeness)

    assert ("不一定" in draft.text) is is_doubted
    assert "铜灯" in draft.text


def test_a_chinese_block_is_read_without_its_heading() -> None:
    """A heading has the words of the question, whatever the block below it says."""
    sources = [
        replace(_passage(text, name=name), scores={"fused": 1.0})
        for name, text in (
            ("灯塔为什么一直亮着", "## 灯塔为什么一直亮着\n\n灯塔建在岛上，门是红的。\n"),
            ("灯塔", "## 看守\n\n因为渔船夜里要进港，灯塔整夜亮着。\n"),
        )
    ]
    likeness = _WithVectors({"一直亮着": 9.0, "渔船": 5.0}, {})

    draft = _asked("灯塔为什么夜里一直亮着？", sources, likeness=likeness)

    assert "渔船" in draft.text.split("\n\n")[1]


@pytest.mark.parametrize(("logit", "is_told"), [(6.0, False), (1.0, True)])
def test_below_a_chinese_block_that_hardly_answers_the_next_one_is_shown(
    logit: float, *, is_told: bool
) -> None:
    texts = ("灯塔用铜灯照明，灯塔高四十米。", "灯塔的灯油由渔船运来，灯塔建在岛上。")
    sources = [
        replace(_passage(text, name=text[:4] + text[-3:]), scores={"fused": 1.0}) for text in texts
    ]
    likeness = _WithVectors({"铜灯": logit, "灯油": logit - 1.0}, {})

    draft = _asked("灯塔为什么夜里一直亮着？", sources, likeness=likeness)

    assert "铜灯" in draft.text
    assert ("灯油" in draft.text) is is_told


@pytest.mark.parametrize(
    ("block", "sentences", "is_block"),
    [(6.0, 1.0, True), (6.0, 5.5, False), (1.5, 1.0, False), (0.5, -1.0, False)],
)
def test_a_fact_is_told_by_the_block_that_is_plainly_better_than_its_sentences(
    block: float, sentences: float, *, is_block: bool
) -> None:
    text = (
        "## The Gull\n\nThe Gull was built in Bergen.\n\n"
        f"## The yard\n\nIt lay still in 1961 and works on Mondays.\n\n{OTHERS}\n\nNobody sings.\n"
    )

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        whole = ("Mondays" in each and "sings" in each for each in texts)
        return np.array([block if is_whole else sentences for is_whole in whole])

    draft = _asked("When was the Gull built in Bergen?", [_passage(text)], read=read)

    assert draft.text.startswith("### The yard") == is_block


class _WindowReader:
    """Reader whom a text answers only if it is no longer than a window."""

    def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([5.0 if count_words(each) < WINDOW_WORDS else -5.0 for each in texts])

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        nowhere, never = np.empty(0, dtype=np.int64), np.empty(0)
        return [
            Reading(logit=each, starts=nowhere, stops=nowhere, begins=never, ends=never)
            for each in self(question, texts).tolist()
        ]


class _SentenceReader(_WindowReader):
    """Reader whom a text answers by the word in it, and a single sentence plainly."""

    def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([(6.0 if OTHERS not in each else 5.0) * ("-S" in each) for each in texts])


GULL = "The Gull was built in Bergen in 1961."
YARD = "Its slip was laid by the men of the yard in 1959."


def _yard(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Read as one who finds that what names the yard answers."""
    return np.array([6.0 if "yard" in each else -6.0 for each in texts])


def _places(texts: Sequence[str], read: Reader) -> list[float]:
    """Return the place of each sentence of passages, one a text, all of them with words asked."""
    found = [replace(_passage(text), document_id=str(row)) for row, text in enumerate(texts)]
    wanted = {"gull": 1.0, "bergen": 1.0}
    weighed = score_sentences(
        split_passages(found), found, wanted=wanted, kinds=answer_types("When was the Gull built?"),
        weight=lambda _term: 1.0, language="en", numbered=numbered_things(""),
        amount=amount_bonus(""),
    )  # fmt: skip
    return read_places("?", found, weighed, wanted=wanted, read=read).tolist()


def test_a_sentence_lies_as_far_below_the_best_block_as_its_own_block() -> None:
    texts = ["The Gull is of Bergen. It has a yard.", "The Gull left Bergen.", *["Gull."] * 20]

    best, beside, other, *_, unread = _places(texts, _yard)

    assert best == beside == 0.0 > other > FARTHEST == unread


def test_what_a_parameter_is_for_is_read_and_shown_with_its_name_and_default() -> None:
    text = (
        "## MaxSessions\n\n| type | default |\n| --- | --- |\n| integer | 200 |\n\n"
        "Sets how many sessions are taken.\n\n"
        f"## PermitPlain\n\n{OTHERS}\n\nSessions of the server are taken in plain text, too.\n"
    )

    def read(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([6.0 if "200" in each and "taken" in each else 1.0 for each in texts])

    draft = _asked("How many sessions are taken by the server?", [_passage(text)], read=read)

    assert "| integer | 200 |" in draft.text
    assert "Sets how many sessions are taken." in draft.text


def test_a_short_item_is_shown_with_the_term_that_it_explains() -> None:
    text = (
        f"{OTHERS}\n\n- Auto\n  - The best filter is tried.\n- FIR\n"
        "  - An impulse response. Good for photographs.\n"
    )
    start, end = unit_of(text.index("Good for"), _passage(text)) or (0, 0)
    assert text[start:end].strip() == "- FIR\n  - An impulse response. Good for photographs."


@pytest.mark.parametrize("place", ["quotawarn: 90", "The percent", "server warns"])
def test_a_paragraph_is_shown_with_the_line_above_that_names_what_it_explains(place: str) -> None:
    unit = "quotawarn: 90\n\nThe percent of use over which the server warns."
    text = f"## Settings\n\n{OTHERS}\n\n{unit}\n\nquotakb: 0\n\nThe least free space.\n"
    start, end = unit_of(text.index(place), _passage(text)) or (0, 0)
    assert text[start:end] == unit


def test_a_sentence_is_no_name_of_what_the_next_paragraph_explains() -> None:
    text = f"## Rain\n\n{OTHERS}\n\nIt rained.\n\nThe server warns.\n"
    start, end = unit_of(text.index("The server"), _passage(text)) or (0, 0)
    assert text[start:end] == "The server warns."


def test_a_long_section_is_no_unit_of_its_sentences() -> None:
    text = "## The yard\n\n" + " ".join(["The men of the yard rest."] * 15)
    assert unit_of(text.index("rest"), _passage(text)) is None


def test_code_keeps_its_numbers_in_brackets() -> None:
    text = "Open it [2]:\n\n```\nopen(argv[1])\n```\n\nSee [3]."
    shown = plain_excerpt(text, 0, len(text))
    assert shown == "Open it (2):\n\n```\nopen(argv[1])\n```\n\nSee (3)."


def test_the_sentence_that_answers_stands_first_where_its_excerpt_says_it_late() -> None:
    answer = "To find the package of a file, use dpkg -S with its name."
    text = f"## Files\n\n{OTHERS} {answer}\n"

    draft = _asked(
        "Which command finds the package of a file?", [_passage(text)], read=_SentenceReader()
    )

    lead, heading, block = draft.text.split("\n\n")
    assert (lead, heading) == (f"{answer} [1]", "### Files")
    assert block == f"{OTHERS} {answer} [2]"
    assert [each.quote for each in draft.citations] == [answer, f"{OTHERS} {answer}"]


def test_a_sentence_that_leans_on_the_one_before_it_does_not_stand_first() -> None:
    text = f"## Files\n\n{OTHERS} In this case, use dpkg -S with its name.\n"

    draft = _asked(
        "Which command finds the package of a file?", [_passage(text)], read=_SentenceReader()
    )

    assert draft.text.startswith("### Files")


def test_a_long_block_does_not_begin_with_what_stands_before_it() -> None:
    told = " ".join(
        f"Because of storm {n} the Gull lay still in the yard for weeks." for n in range(22)
    )
    source = _passage(f"## The Gull\n\n{OTHERS}\n\n{told}\n")

    draft = _asked("Why did the Gull lie still?", [source], read=_reads(storm=6.0, herring=5.0))

    assert draft.text.removeprefix("### The Gull\n\n").startswith("Because of storm 0")


def test_a_heading_is_no_answer() -> None:
    text = "## 7.2. Mooring by Night\n\nThe keeper moors the boats at the quay.\n"

    source = replace(_passage(text), headings=("7.2. Mooring by Night",))

    draft = _asked("Who moors by night?", [source], read=_reads(Mooring=6.0, keeper=5.0))

    assert "The keeper moors the boats at the quay. [1]" in draft.text


def test_a_comparison_with_something_unknown_is_doubted() -> None:
    text = "## Gull\n\nThe Gull is a boat with two masts that was built in Bergen.\n"

    draft = _asked(
        "What is the difference between the Gull and the Kestrel?",
        [_passage(text)],
        read=_WindowReader(),
    )

    assert draft.text.startswith("This may not answer the question:")


def test_evidence_of_an_excerpt_is_by_the_part_for_which_it_was_chosen() -> None:
    why = "Why is the Gull old?"
    parts = ["The Gull is old because of long tests.", OTHERS, OTHERS]
    text = "## The Gull\n\n" + "\n\n".join(parts) + "\n"

    draft = _asked(why, [_passage(text)], read=_WindowReader())

    assert count_words(draft.text) > WINDOW_WORDS
    assert draft.figures["logit"] == 5.0


BUILT = "She was built in Bergen in 1961."
OTHERS = " ".join(f"Her mate number {n} sang of herring and rain all night." for n in range(7))


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        pytest.param(
            f"She is a mail boat. {BUILT} She sails on Mondays.",
            [f"She is a mail boat. {BUILT} She sails on Mondays."],
            id="a short block whole",
        ),
        pytest.param(
            f"She is a mail boat. {BUILT} {OTHERS}",
            [f"She is a mail boat. {BUILT} {OTHERS}"],
            id="with the little that stands before it",
        ),
        pytest.param(
            f"{OTHERS} {BUILT} {OTHERS[:107]}",
            [f"{BUILT} {OTHERS[:107]}", OTHERS],
            id="what stands before it below",
        ),
        pytest.param(f"{OTHERS} {BUILT}", [BUILT, OTHERS], id="nothing behind it"),
    ],
)
def test_a_fact_is_shown_within_its_block_and_nothing_twice(block: str, shown: list[str]) -> None:
    text = f"## The Gull\n\n{block}\n"
    draft = _asked("When was the Gull built in Bergen?", [_passage(text)])

    assert [citation.quote for citation in draft.citations] == shown
    for number, quote in enumerate(shown, start=1):
        assert f"{quote} [{number}]" in draft.text
    assert draft.text.count(BUILT) == 1
    for citation in draft.citations:
        assert text[citation.start : citation.end] == citation.quote


def test_lines_of_a_wrapped_block_are_joined_from_its_middle_on() -> None:
    text = f"## The Gull\n\n{OTHERS} {BUILT[:7]}\n{BUILT[8:]} {OTHERS[:107]}\n"
    draft = _asked("When was the Gull built in Bergen?", [_passage(text)])

    assert f"{BUILT} {OTHERS[:107]}" in draft.text


def test_sentences_that_are_hardly_likely_to_answer_stand_below_a_word_of_doubt() -> None:
    doubted = set[bool]()
    for said in (BUILT, "The Gull was built in Bergen in 1961.", "Bergen built no gull in spring."):
        draft = _asked("When was the Gull built in Bergen?", [_passage(f"{said} {OTHERS}\n")])
        if not draft.abstained:
            is_doubted = draft.text.startswith(HESITATION["en"])
            assert draft.evidence is not None
            assert is_doubted == (draft.evidence < HESITANT)
            doubted.add(is_doubted)
    assert doubted == {False, True}


def test_a_sentence_from_elsewhere_that_says_nothing_more_is_left_out() -> None:
    sources = [
        _passage("## The Gull\n\nThe Gull was built in Bergen in 1961.\n", name="Gull"),
        _passage("## The bay\n\nThe Gull was not built for the bay of Bergen.\n", name="Bay"),
    ]

    def titles(logit: float) -> list[str]:
        read = _reads(**{"in 1961": 5.0, "the bay": logit})
        draft = _asked("When was the Gull built in Bergen?", sources, read=read)
        return [each.title for each in draft.citations]

    assert titles(-5.0) == ["Gull"]


def test_sentences_of_every_passage_are_read_where_none_that_was_read_says_it() -> None:
    found = "The Gull can be found at the quay of Bergen."
    sources = [
        _passage(f"## Part {number}\n\n{found} {OTHERS}\n", name=f"Part {number}")
        for number in range(12)
    ]
    told = _passage("## Old boats\n\nIn 1961 a yard laid her down.\n", name="Old boats")

    def titles(logit: float) -> list[str]:
        read = _reads(**{"laid her": 6.0, "the quay": logit})
        draft = _asked("When was the Gull found?", [*sources, told], read=read)
        return [each.title for each in draft.citations]

    assert titles(-6.0)[0] == "Old boats"
    assert titles(5.0)[0] == "Part 0"


def test_a_sentence_is_read_behind_one_that_leads_to_it_from_another_document() -> None:
    sources = [
        _passage("The Gull is a boat of the bay.\n\nAda Brine named her in 1961.\n", name="Gull"),
        _passage("Ada Brine was a pupil of the school of Bergen.\n", name="Ada Brine"),
    ]
    sentences = split_passages(sources)
    units = sentence_units([_scored(each, hop=None) for each in sentences], sources)

    def read_with(row: int, hop: int) -> str:
        weighed = [_scored(each, hop=hop) for each in sentences]
        return unit_text(weighed, row, sources, units)

    assert [each.passage for each in sentences] == [0, 0, 1]
    assert read_with(1, hop=2) == (
        "Ada Brine: Ada Brine was a pupil of the school of Bergen.\n"
        "Gull: Ada Brine named her in 1961."
    )
    assert read_with(1, hop=0) == "Gull: Ada Brine named her in 1961."


def _scored(sentence: Sentence, *, hop: int | None) -> ScoredSentence:
    return ScoredSentence(sentence=sentence, score=0.0, kind=0.0, covered=0.0, hop=hop)


def test_a_unit_that_leads_to_a_list_is_shown_with_it() -> None:
    lead = "A notice of a storm holds what was seen:"
    source = _passage(f"{lead}\n\n- the hour.\n- the wind.\n\nIt hangs at the quay.\n")
    unit = unit_of(0, source)
    assert unit is not None
    assert source.text[slice(*unit)].strip() == lead
    assert source.text[slice(*with_led_list(unit, source))].endswith("- the wind.")

    other = _passage(f"{lead}\n\nIt hangs at the quay.\n")
    assert with_led_list((0, len(lead)), other) == (0, len(lead))


@pytest.mark.parametrize(("logit", "is_declined"), [(5.0, False), (-12.0, True)])
def test_what_is_read_as_an_answer_is_doubted_and_not_declined(
    logit: float, *, is_declined: bool
) -> None:
    source = _passage("## The Gull\n\nThe Gull is old because she was built in 1961.\n")

    draft = _asked("Why is the Gull old?", [source], read=_AlikeReader(logit), min_evidence=1.0)

    assert draft.abstained is is_declined
    assert draft.text.startswith(HESITATION["en"]) is not is_declined


class _AlikeReader(_WindowReader):
    """Reader of one logit for all texts."""

    def __init__(self, logit: float) -> None:
        self._logit = logit

    def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.full(len(texts), self._logit)


def test_what_lacks_of_the_subject_is_doubted() -> None:
    figures = {"logit": 2.0}

    for is_excerpt in (True, False):
        likely = [
            answers_probability({**figures, "unsaid": each}, is_excerpt=is_excerpt)
            for each in (0.0, 0.3, MOST_UNSAID, 3.0)
        ]
        assert likely[0] > TOLD[is_excerpt] > likely[2]
        assert likely[0] > likely[1] > likely[2] == likely[3]


def test_what_may_be_the_answer_is_shown_below_a_word_of_doubt() -> None:
    question = "When was the Gull built in Bergen?"
    draft = _asked(
        question, [_passage("## The Gull\n\nBuilt in Bergen in 1961.\n")], min_evidence=1.0
    )

    assert draft.abstained
    assert draft.short is None
    assert draft.text.startswith(UNSURE["en"])
    assert is_abstention(draft.text)
    assert "1961" in draft.text
    assert draft.citations


def test_no_block_is_read_behind_one_that_plainly_answers() -> None:
    sources = [
        _passage(f"## Part {number}\n\nTo install a file, see part {number}.\n", name=f"{number}")
        for number in range(6)
    ]

    def texts_read(best: float) -> int:
        seen: set[str] = set()

        def read(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
            seen.update(texts)
            return _reads(**{"part 1": best})(question, texts)

        assert "see part 1." in _asked("How do I install a file?", sources, read=read).text
        return len(seen)

    assert (texts_read(9.5), texts_read(1.0)) == (4, 6)


def test_sides_stand_apart_where_no_block_compares_them() -> None:
    sources = [
        _passage("## Bridges\n\nBoth Ketch and Yawl may pass below them at noon.\n", name="a"),
        _passage("## Ketch\n\nA Ketch is a boat with two masts, the first one higher.\n", name="b"),
        _passage("## Yawl\n\nA Yawl is a boat whose second mast is behind the rudder.\n", name="c"),
    ]  # fmt: skip

    apart = _asked("Compare Ketch and Yawl.", sources, read=_reads(masts=6.0, rudder=6.0, noon=1.0))
    beside = _asked("Compare Ketch and Yawl.", sources, read=_reads(noon=6.0, masts=2.0))

    assert [citation.title for citation in apart.citations] == ["b", "c"]
    assert [citation.title for citation in beside.citations] == ["a"]


def test_what_an_excerpt_leans_on_is_not_shown_at_the_cost_of_its_own_end() -> None:
    before = "\n\n".join(
        f"This is filler number {n}. " + "Old words stand here. " * 20 for n in range(3)
    )
    own = (
        "This is why to hold a boat, "
        + "tie each of the lines well. " * 20
        + "Stop the engine last."
    )
    source = _passage(f"## Holding\n\n{before}\n\n{own}\n")

    draft = _asked("How do I hold a boat?", [source], read=_reads(engine=6.0))

    assert "Stop the engine last." in draft.text


def test_wrapped_lines_are_joined_and_code_columns_and_verses_stay() -> None:
    wrapped = "The probable cause is that the dragging anchor of the\nbarge parted the cable."
    code = "```\nmake a-long-target-name with-its-arguments and-more\nmake install\n```"
    columns = "Met mast and instruments             EUR   210,000\nBoathouse            EUR   1"

    def rendered(text: str) -> str:
        excerpt = Excerpt(
            source=passages()[0],
            start=0,
            end=len(text),
            heading="",
            text=text,
            score=1.0,
            logit=None,
        )
        return render_excerpt(excerpt, 1)

    assert rendered(wrapped) == f"{wrapped.replace(chr(10), ' ')} [1]"
    assert rendered(code) == f"{code}\n[1]"
    assert rendered(columns) == f"{columns} [1]"
    assert rendered("see [3]") == "see (3) [1]"


def test_the_nearest_passages_come_before_those_that_many_others_lead_to() -> None:
    hub, near = passages()[:2]
    scored = [
        replace(hub, scores={"fused": 0.1, "walk": 0.9}),
        replace(near, scores={"fused": 0.9, "walk": 0.1}),
    ]

    assert [each.title for each in direct_first("What is it?", scored)] == [near.title, hub.title]


def test_the_nearest_passage_is_looked_at_wherever_the_walk_puts_it() -> None:
    one, two = passages()[:2]
    walked = [replace(one, scores={"fused": 0.1 * row}) for row in range(5)]
    far = replace(two, scores={"fused": 0.05})
    near = replace(two, scores={"fused": 0.9})

    found = with_nearest("Who built it?", [*walked, far, near], first=5)

    assert found == [*walked, near]
    assert with_nearest("Who built it?", [*walked, far, near], first=7) == [*walked, far, near]
    assert with_nearest("Who built it?", [], first=5) == []


def test_a_table_of_contents_comes_after_what_it_lists() -> None:
    first, other = passages()[:2]
    contents = "- 1.1. Nodes\n- 1.2. Cables\n- 1.3. Ships"
    scored = [
        replace(first, text=contents, scores={"fused": 0.9, "dense": 0.9}),
        replace(other, scores={"fused": 0.1, "dense": 0.1}),
    ]

    assert [each.title for each in direct_first("What?", scored)] == [other.title, first.title]


def test_a_chinese_definition_says_of_its_subject_what_it_is() -> None:
    asked = "什么是 Debian？"

    assert shows_intent("definition", "Debian GNU/Linux 是一个发行版。", asked)
    assert not shows_intent("definition", "它们都不是 Debian；它们是发行版。", asked)


def test_a_heading_that_asks_for_the_same_thing_is_a_sign_of_its_definition() -> None:
    assert is_defined_by(
        "7.8. What is a Virtual Package?", "definition", "What is a virtual package?"
    )
    assert is_defined_by("12.1.2. LVM（逻辑卷管理）", "definition", "LVM 是什么？")
    assert is_defined_by("什么是虚拟软件包？", "definition", "虚拟软件包是什么？")
    assert not is_defined_by("RAID 还是 LVM？", "definition", "LVM 是什么？")
    assert not is_defined_by("LVM", "steps", "怎么建立 LVM？")


@pytest.mark.parametrize(
    ("text", "person", "is_introduced"),
    [
        ("山上有一人，姓周，名仓，两臂有千斤之力", "周仓", True),
        ("某本颍川徐庶，字元直", "徐庶", True),
        ("廖化者，襄阳人也", "廖化", True),
        ("赵云是谨细之人，不肯造次", "赵云", False),
        ("周仓顿首告曰", "周仓", False),
        ("孔明乃复坐。", "孔明", False),
        ("此人乃孔明也。孔明乃诸葛家之子。", "孔明", True),
        ("吾非孔明，乃孔明之友也", "孔明", False),
        ("允窥之，乃府中歌伎貂蝉也", "貂蝉", True),
        ("获视之，乃妻祝融夫人也", "祝融夫人", True),
        ("操乃杀杨修也", "杨修", False),
        ("视之，乃云长、翼德也", "翼德", False),
        ("乃遣使往见刘备也", "刘备", False),
        ("名字李华写错了，学号李华也不对", "李华", False),
        ("亮字孔明，道号卧龙", "孔明", True),
        ("有一国，名乌戈国。国主兀突骨，身长丈二", "兀突骨", True),
        ("兀突骨身上有鳞甲", "兀突骨", False),
        ("公司创始人、总经理周海是本校校友", "周海", True),
        ("总经理周海道：不可", "周海", False),
        ("总经理周海大笑道：不可", "周海", False),
        ("他不是总经理周海", "周海", False),
        ("总经理周海波是校友", "周海", False),
        ("有人问周海，年已几何", "周海", False),
    ],
)
def test_a_chinese_person_is_introduced_by_name_style_or_place(
    text: str, person: str, is_introduced: bool
) -> None:
    assert bool(introduction(text, person)) is is_introduced


def test_a_name_that_is_told_introduces_a_chinese_person_better_than_a_title() -> None:
    assert introduction("贼亦知仲康乃虎侯也", "仲康") < introduction("姓许，名褚，字仲康", "仲康")


def test_who_a_chinese_person_is_is_told_from_the_sentence_that_introduces_it() -> None:
    told = _passage(
        "周仓顿首拜谢。周仓大喜。山上有一关西人，姓周，名仓，两臂有千斤之力。原在张宝部下为将。"
    )

    draft = _asked("周仓是谁？", [told])

    assert draft.text == "山上有一关西人，姓周，名仓，两臂有千斤之力。原在张宝部下为将。 [1]"


def test_a_chinese_person_is_introduced_by_another_name() -> None:
    told = _passage("孔明复坐。有一贤士，复姓诸葛，名亮，隐于隆中。")

    draft = _asked("孔明是谁？", [told], known_as=KnownAs((("孔明", ("诸葛亮",)),)))

    assert draft.text.startswith("有一贤士，复姓诸葛，名亮")


KEEPER = "灯塔高四十米。灯塔的守塔人叫王海。"


@pytest.mark.parametrize(
    ("text", "logit", "is_declined"),
    [
        pytest.param("灯塔高四十米。每夜点灯的是王海。", UNLIKE - 0.1, True, id="unlike"),
        pytest.param(KEEPER, LIKE, False, id="like"),
    ],
)
def test_a_chinese_fact_is_declined_where_no_sentence_is_like_the_question(
    text: str, logit: float, is_declined: bool
) -> None:
    told = _passage(text)

    draft = extractive_answer(
        "灯塔的守塔人是谁？",
        [told],
        weight=weight,
        one_excerpt=True,
        likeness=lambda _question, texts: np.full(len(texts), logit),
    )

    assert draft.abstained is is_declined
    assert draft.figures["logit"] == pytest.approx(logit)


@pytest.mark.parametrize(
    ("text", "person", "worth"),
    [
        ('Tim Cratchit ("Tiny Tim"), a cripple, youngest son of Bob Cratchit.', "Tiny Tim", 3),
        ("Fred, Scrooge's nephew.", "Fred", 3),
        ("Ada Byron was an English mathematician.", "Ada Byron", 3),
        ("We spoke to Ada Byron, the station's data manager, at noon.", "Ada Byron", 2),
        ("The bursar, Mr Ada Byron, has opened a fund.", "Ada Byron", 2),
        ("The director of the Royal School, Dr. Ada Byron, resigned.", "Ada Byron", 2),
        ("A word with Ada Byron, the chief mate.", "Ada Byron", 2),
        ("My poor companion, and fast bosom-friend, Ada Byron, fell ill.", "Ada Byron", 2),
        ("It was founded by the fiddler Ada Byron.", "Ada Byron", 1),
        ("Warden Ada Byron gives a tour each morning.", "Ada Byron", 1),
        ("Captain Byron gives a tour each morning.", "Byron", 0),
        ("**Ada Byron**, a physical oceanographer, became director.", "Ada Byron", 3),
        ("Byron was one of the great mathematicians of his time.", "Byron", 2),
        ("Ada Byron, who was chief clerk of the office, resigned.", "Ada Byron", 3),
        ("Ada Byron, 52, the head of the office, said so.", "Ada Byron", 2),
        ("Ada Byron has been the treasurer since 2005.", "Ada Byron", 3),
        ("Her sister, Annabel Lee, came.", "Ann", 0),
        ("And then, Ann, the glory of winning him!", "Ann", 0),
        ("Ann, the many sleepless nights I have had on your account!", "Ann", 0),
        ("Dear Ann, we are to part.", "Ann", 0),
        ("On leaving to call her sister, Ann took the opportunity.", "Ann", 0),
        ("Ann, a Scot, had a boat.", "Ann", 2),
        ("Ann was a long way off.", "Ann", 0),
        ("There is a Mrs. Byron, who was some time ago governess to Ann.", "Mrs. Byron", 2),
        ("Ann, who was younger than Bet,\nwas an amiable, intelligent aunt.", "Ann", 3),
        ("Ann is a proud, silly woman.", "Ann", 2),
        ("We saw that Ann was a proud, silly woman.", "Ann", 1),
        ("They sat down with Ann, her son, and daughter.", "Ann", 0),
        ("Ann is our chief engineer and co-founder.", "Ann", 3),
        ("Ann, our chief engineer and co-founder, left.", "Ann", 3),
        ("Ann is his sister and lives with him.", "Ann", 3),
        ("Ann is the Director of Sales, and lives here.", "Ann", 3),
        ("Ann, his two sisters, the husband of the eldest, and a clerk came.", "Ann", 0),
        ("They called on Ann, the Lucases, and all their neighbours.", "Ann", 0),
        ("It is Ann, my aunt.", "Ann", 2),
        ("For my part, Ann, I keep servants.", "Ann", 0),
        ("It was clear,\nAnn was the real cause of it.", "Ann", 0),
        ("They stared at the swart Ada Byron.", "Ada Byron", 0),
        ("Do not keep that cheese down in the hold, Mr. Ada Byron; it spoils.", "Ada Byron", 0),
        ("For you too have a boy, Ada Byron, at home.", "Ada Byron", 0),
        ("Ada Byron was greatly pleased to hear it.", "Ada Byron", 0),
        ("'God bless us!' said Tiny Tim, the last of all.", "Tiny Tim", 0),
        ("Tiny Tim, his arm in a sling, has promised it.", "Tiny Tim", 0),
        ("Tiny Tim was early at the office.", "Tiny Tim", 0),
    ],
)
def test_an_english_person_is_introduced_by_a_role(text: str, person: str, worth: int) -> None:
    assert introduction(text, person) == worth


def test_who_a_person_is_is_told_by_the_sentence_that_gives_a_role_best_first() -> None:
    told = _passage(
        "Tam Gill laughed at the fiddler Tam Gill. Nobody saw Tam Gill. "
        "Tam Gill, leader of the band, was late."
    )

    draft = _asked("Who is Tam Gill?", [told])

    assert draft.text.splitlines()[0].startswith("Tam Gill, leader of the band")
    assert "Nobody saw" not in draft.text


def test_the_source_of_a_page_is_no_sentence_that_answers() -> None:
    source = _passage(
        "<P>Which colour has the <B>board outline</B>: </P> <IMG SRC=x>", name="Source"
    )
    told = _passage("The outline of the board is drawn in yellow.", name="Colours")

    draft = _asked("Which colour has the board outline?", [source, told])

    assert "yellow" in draft.text.splitlines()[0]
    assert "<P>" not in draft.text


def test_a_long_sentence_that_ends_in_a_question_is_told() -> None:
    told = _passage(
        "The only thing that she had was an amber cross that Tam had brought her from Sicily, "
        f"{'and a bit of ribbon to tie it with, ' * 6}but would it do?"
    )
    other = _passage("Tam sailed to Sicily in the spring.", name="Log")

    draft = _asked("Which cross did Tam bring from Sicily?", [other, told])

    assert "an amber cross" in draft.text.splitlines()[0]


def test_a_person_of_whom_nothing_says_who_that_is_is_told_with_a_word_of_doubt() -> None:
    told = _passage("Nobody saw Tam Gill on the island, and Tam Gill saw nobody there.")

    draft = _asked("Who is Tam Gill?", [told])

    assert draft.text.startswith(HESITATION["en"])
    assert "Nobody saw Tam Gill" in draft.text


def test_the_passage_that_introduces_a_person_by_any_name_is_read_first() -> None:
    near, far = passages()[:2]
    scored = [
        replace(near, text="Captain Gill shouted.", scores={"fused": 0.9, "dense": 0.9}),
        replace(far, text="Gill, the miller of Oxley, left.", scores={"fused": 0.1, "dense": 0.1}),
    ]
    known_as = KnownAs((("Captain Gill", ("gill",)),))

    found = direct_first("Who is Captain Gill?", scored, known_as)

    assert [each.title for each in found] == [far.title, near.title]


def test_a_list_longer_than_an_excerpt_is_shown_by_the_beginnings_of_its_items() -> None:
    items = [
        f"- Level {n}\n  - Level {n} keeps {n} copies of a block. {FILLER} {FILLER}"
        for n in range(1, 5)
    ]
    document = "## The levels\n\nThere are four levels.\n\n" + "\n".join(items) + "\n"
    start = document.index("- Level 3")

    draft = _asked(
        "List the levels.",
        [_passage(document[start:], start=start)],
        text_at=lambda _, begin, end: document[begin:end],
    )

    (citation,) = draft.citations
    assert [f"Level {n} keeps {n} copies of a block. …" in draft.text for n in range(1, 5)] == [
        True
    ] * 4
    assert "wheelhouse" not in draft.text
    assert document[citation.start : citation.end] == citation.quote


def test_a_list_of_which_a_passage_holds_the_end_is_shown_from_its_beginning() -> None:
    document = "## Boats\n\nThe boats are:\n\n- the Gull;\n- the Petrel;\n- the Tern.\n"
    start = document.index("- the Tern")

    draft = _asked(
        "List the boats.",
        [_passage(document[start:], start=start)],
        text_at=lambda _, begin, end: document[begin:end],
    )

    assert "- the Gull;\n- the Petrel;\n- the Tern." in draft.text


def test_a_long_paragraph_is_cut_into_windows_of_whole_sentences() -> None:
    sentences = [f"Bell {n} rings when the fog comes in over the outer harbour." for n in range(40)]
    blocks = split_blocks([_passage(" ".join(sentences))])

    assert len(blocks) > 2
    assert all(count_words(each.text) <= WINDOW_WORDS for each in blocks)
    assert " ".join(each.text for each in blocks) == " ".join(sentences)


FILLER = " ".join(["The mate writes the log of the day in the wheelhouse."] * 9)


def manual(*paragraphs: str) -> list[Passage]:
    text = "# Manual\n\n## The winch\n\n" + "\n\n".join(paragraphs) + "\n"
    return [
        Passage(
            text=text, score=1.0, relevance=0.9, document_id="m", chunk_id="m", title="Manual",
            start=0, end=len(text),
        )
    ]  # fmt: skip


def excerpt_of(some: list[Passage], question: str, read: dict[str, float] | None = None) -> str:
    def reader(_question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        logits = read or {}
        return np.array(
            [max((logits[part] for part in logits if part in text), default=-5.0) for text in texts]
        )

    draft = extractive_answer(
        question, some, weight=weight, min_evidence=0.0, one_excerpt=True, read=reader
    )
    return draft.text


def test_a_short_section_is_shown_whole() -> None:
    some = manual("Yes. Two hands are needed.", "The mate tells them how to start the winch.")
    text = excerpt_of(some, "How do I start the winch?", {"winch": 5.0})
    assert "Yes. Two hands are needed." in text
    assert "start the winch" in text


def test_what_adjoins_the_best_part_and_answers_nearly_as_well_is_shown_with_it() -> None:
    some = manual(
        f"Make the key first. {FILLER}", f"Then start the winch. {FILLER}", f"Rest. {FILLER}"
    )
    both = excerpt_of(some, "How do I start the winch?", {"key first": 4.0, "Then start": 5.0})
    assert "Make the key first." in both
    assert "Rest." not in both
    alone = excerpt_of(some, "How do I start the winch?", {"key first": -4.0, "Then start": 5.0})
    assert "Make the key first." in alone, "its beginning leans on it"
    apart = manual(f"Make the key first. {FILLER}", f"The winch: start it. {FILLER}", FILLER)
    only = excerpt_of(apart, "How do I start the winch?", {"key first": -4.0, "start it": 5.0})
    assert "Make the key first." not in only


def test_a_fact_of_a_list_is_shown_as_its_item() -> None:
    minutes = _passage(
        "1. The club bought a greenhouse for 340 pounds from the farm by the mill.\n"
        "2. The seed swap is on Sunday 26 April in the village hall, from ten to one.\n"
        "3. Nobody waters with a hose between 9 and 18 o'clock in July and August.\n"
    )
    prices = _passage(
        "- swap: Sunday\n- hose: July\n- greenhouse: 340 pounds, bought by the club\n"
    )

    assert _asked("When is the seed swap?", [minutes]).text == (
        "2. The seed swap is on Sunday 26 April in the village hall, from ten to one. [1]"
    )
    assert "hose: July" in _asked("When is the swap?", [prices]).text


def test_a_sentence_is_shown_without_the_title_of_its_box() -> None:
    text = "- Rigging is an art.\n  TIP Knots at sea\n  The bowline holds the Gull best.\n"
    block = split_blocks([_passage(f"## The Gull\n\n{text}")])[-1]

    (lead,) = read_leads(
        "Which knot holds the Gull?", [block], above=lambda _: "", wanted={"gull": 1.0},
        read=lambda _, texts: np.array([float("bowline" in each) for each in texts]),
    )  # fmt: skip

    assert lead is not None
    assert block.text[lead.start : lead.end] == "The bowline holds the Gull best."


def test_a_passage_with_a_paragraph_in_the_language_of_the_question_is_in_it() -> None:
    half = _passage(
        f"## 什么是海鸥号？\n\n海鸥号是一艘双桅的船，用来运送邮件。\n\n{OTHERS}\n", name="half"
    )
    titled = _passage(f"## 什么是海鸥号？\n\n{OTHERS}\n", name="titled")

    assert in_own_language("什么是海鸥号？", [half, titled]) == [half]
    assert in_own_language("What is the Gull?", [half, titled]) == [half, titled]


def test_a_block_that_is_read_plainly_better_is_shown_in_the_place_of_a_chain() -> None:
    yard = _passage("## Yard\n\nThe Gull was moored by Tam Reed at the long quay.\n", name="Yard")
    reed = _passage("## Tam Reed\n\nTam Reed came to the quay from Vey.\n", name="Tam Reed")
    rules = _passage("## Rules\n\nA hawser of six fathoms holds a boat.\n", name="Rules")
    asked = "What was used at the quay by the man who moored the Gull?"

    told = {
        best: _asked(
            asked, [yard, reed, rules], read=_reads(hawser=best, Reed=1.0), max_sentences=1
        ).text
        for best in (6.0, 1.5)
    }

    assert "A hawser of six fathoms holds a boat." in told[6.0]
    assert "Tam Reed" not in told[6.0]
    assert "hawser" not in told[1.5]


def test_an_excerpt_begins_with_the_paragraph_that_answers() -> None:
    ladder = (
        "NOTE Ladder and hook\n\nThe ladder is for those who climb aboard from the water below."
    )
    hook = "The hook is for those who pull a boat to the quay, and hangs beside the ladder."
    some = manual(ladder, hook)

    told = excerpt_of(some, "What is the hook?", {"climb": 1.0, "pull": 5.0})
    both = excerpt_of(some, "What is the hook?", {"climb": 4.0, "pull": 5.0})
    way = excerpt_of(some, "How do I use the hook?", {"climb": 1.0, "pull": 5.0})
    water = excerpt_of(some, "What does the hook do in water?", {"climb": 1.0, "pull": 5.0})

    assert "The hook is for those" in told
    assert "climb aboard" not in told
    assert "climb aboard" in both, "it may answer, too"
    assert "climb aboard" in way, "a first step may stand there"
    assert "climb aboard" in water, "nothing else has a word of the question"
    assert water.index("pull a boat") < water.index("climb aboard")
    assert way.index("pull a boat") < way.index("climb aboard")
    assert water.count("climb aboard") == water.count("pull a boat") == 1


def test_an_excerpt_begins_with_the_list_that_answers_and_what_leads_to_it() -> None:
    held = "The hut stands at the point, and nobody has lived in it for years."
    items = "- ropes for the quay\n- lamps for the mast"
    logits = {"lamps": 5.0, "nobody": 1.0}

    bare = excerpt_of(manual(held, items), "How do I use the hut?", logits)
    led = excerpt_of(manual(held, "The mate keeps there:", items), "How do I use the hut?", logits)

    assert bare.index("ropes for the quay") < bare.index("nobody has lived")
    assert led.index("The mate keeps there:") < led.index("ropes for the quay")
    assert led.index("ropes for the quay") < led.index("nobody has lived")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1. ", "2. "),
        ("- ", "- "),
        ("Step 1: ", "Step 2: "),
        ("a) ", "b) "),
        ("**1.** ", "**2.** "),
        ("1. ", "On this model "),
    ],
)
def test_a_later_step_stands_behind_the_ones_before_it(first: str, second: str) -> None:
    steps = [f"{first}Take the key of the hut.", f"{second}Turn the key twice in the lock."]
    logits = {"Turn": 5.0, "Take": 1.0}

    for some in (
        manual(*steps, "Lift the bar."),
        manual("The hut is old.", *steps),
        manual("Opening the hut", *steps),
    ):
        told = excerpt_of(some, "How do I open the hut?", logits)
        assert told.index("Take the key") < told.index("Turn the key")


def test_a_warning_before_what_answers_is_not_left_out() -> None:
    some = manual(
        "WARNING: this erases the whole disk, so make a copy of it first on another one.",
        "To format the disk of the winch you run the program that the mate has written.",
    )

    told = excerpt_of(some, "Explain how to format the disk.", {"run": 5.0, "erases": 0.0})

    assert "this erases the whole disk" in told


def test_what_stands_behind_the_answer_and_says_nothing_of_it_is_left_out() -> None:
    asked = "Explain what the key of the hut opens."
    told = "The key of the hut opens the lock of its door and nothing else in the harbour."
    more = "It was cut by the smith of the town."
    other = "Bread is baked in the town each morning, and eggs are sold there on Fridays."
    logits = {"opens": 5.0, "Bread": -4.0, "smith": -4.0, "steel": 3.0}

    alone = excerpt_of(manual(told, other), asked, logits)
    leans = excerpt_of(manual(told, more, other), asked, logits)
    near = excerpt_of(
        manual(told, other, "It is made of steel and hangs on a nail."), asked, logits
    )

    assert "Bread" not in alone
    assert "cut by the smith" in leans
    assert "Bread" not in leans
    assert "Bread" in near


def test_a_warning_behind_a_command_is_not_left_out() -> None:
    some = manual(
        "To empty the winch, run `winch empty` on the machine of the harbour master.",
        "Warning: the rope that lies on the drum falls into the sea and is lost.",
    )

    told = excerpt_of(some, "Which command empties the winch?", {"run": 5.0, "rope": -5.0})

    assert "falls into the sea" in told


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Which command empties the winch?", "```\nwinch empty --all\n```"),
        ("Can I empty the winch?", "Warning: never stand below the drum, which may fall."),
        ("Explain what empties the winch and when it is painted.", "The paint comes in May."),
    ],
)
def test_what_an_answer_needs_behind_it_is_not_left_out(question: str, rest: str) -> None:
    some = manual(
        "The winch is emptied by a program of its own on the machine of the harbour.",
        "Only people in the group of the harbour may go near that machine at night.",
        rest,
    )

    assert rest in excerpt_of(some, question, {"emptied": 5.0, "Only": -5.0, rest[:8]: -5.0})


def test_the_last_side_of_a_comparison_keeps_what_belongs_to_its_name() -> None:
    assert bare_sides(("warrant", "letter of credit")) == ("warrant", "letter of credit")
    assert bare_sides(("contrib", "areas of the archive")) == ("contrib", "areas")


def test_a_fact_is_shown_to_the_end_of_its_paragraph() -> None:
    built = "The Gull was built in Bergen in 1961 by the men of the old yard."
    page = manual(built, "Bread is baked in the town each morning, and eggs are sold there.")

    draft = _asked("When was the Gull built in Bergen?", page, read=_WindowReader())

    assert built in draft.text
    assert "Bread" not in draft.text


def test_a_command_stands_first_with_its_caption() -> None:
    page = _passage(
        "## Updates\n\nThere are two archives of the boat, which bring new sails and new lines in "
        "spring.\n\nList both of them in the book of the boat, as the master of it does every day."
        "\n\nTo hoist a single sail you use the following command from the deck of the boat:\n\n"
        "```\n$ hoist -s sail\n```\n\nThe crew is told of it by the bell that hangs there.\n"
    )

    draft = _asked(
        "Give me the command to hoist a single sail.", [page], read=_reads(**{"hoist -s": 6.0})
    )

    shown = draft.text
    assert shown.index("To hoist a single sail") < shown.index("$ hoist -s sail")
    assert "two archives" not in shown[: shown.index("$ hoist -s sail")]


def test_a_sentence_that_points_to_what_stands_below_it_does_not_stand_first_alone() -> None:
    lead = "To hoist a single sail you use the following command from the deck of the boat."
    page = _passage(
        "## Sails\n\nThere are two archives of the boat, which bring sails and lines in spring, "
        "and the crew is told of it by the bell that hangs there, as the master tells them.\n"
        f"{lead}\n\n```\n$ hoist -s sail\n```\n"
    )

    class Reader(_WindowReader):
        def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
            return np.array([6.0 if "following command" in text else -3.0 for text in texts])

    draft = _asked("Give me the command to hoist a single sail.", [page], read=Reader())
    assert draft.text.count(lead) == 1


def test_what_stands_before_the_paragraph_that_answers_is_told_below_it() -> None:
    held = "- ropes for the quay\n- lamps for the mast"
    twin = "A second hut, called the Twin, has stood at the point since 1922."
    some = manual(held, twin)

    told = excerpt_of(some, "What is the Twin?", {"ropes": 1.0, "Twin": 5.0})
    listed = excerpt_of(some, "List what the Twin holds.", {"ropes": 1.0, "Twin": 5.0})

    assert told.index(twin) < told.index("ropes for the quay")
    assert listed.index("ropes for the quay") < listed.index(twin), "a list is asked for"


def test_an_excerpt_goes_on_behind_a_colon() -> None:
    some = manual(f"Start the winch so. {FILLER} Then type:", "```\nwinch --start\n```")

    assert "winch --start" in excerpt_of(some, "How do I start the winch?", {"winch": 5.0})


def test_the_outline_of_a_list_has_its_first_item() -> None:
    items = "\n\n".join(
        f"{n}. Rule {n} binds the {n} mates. {FILLER} {FILLER}" for n in range(1, 5)
    )
    document = f"## The rules\n\nThere are four rules for all mates.\n\n{items}\n"

    draft = _asked(
        "List the rules.", [_passage(document)], text_at=lambda _, begin, end: document[begin:end]
    )

    assert [draft.text.count(f"{n}. Rule {n} binds the {n} mates. …") for n in range(1, 5)] == [
        1
    ] * 4
    assert "There are four rules" in draft.text


def test_a_table_among_sections_is_shown_by_itself() -> None:
    document = (
        "## Board\n\nIt has two seats.\n\n| Seat | Holder |\n|---|---|\n| Chair | Ada Roe |\n"
        "| Staff | Bo Lund |\n\n## Dissent\n\nTwo voted against the board in the shed.\n\n"
        "## Costs\n\nThe board costs nothing at all, since it sits in a shed.\n"
    )

    draft = _asked(
        "Name all the holders of the board.", [_passage(document)], read=_reads(Chair=6.0)
    )

    assert "| Staff | Bo Lund |" in draft.text
    assert "Dissent" not in draft.text


def test_two_terms_of_one_list_are_compared_by_what_is_said_of_each() -> None:
    document = "## Rigs\n\n" + "\n".join(
        f"- {name}\n  - {said} {FILLER}"
        for name, said in (
            ("Gaff", "A gaff rig has a spar."),
            ("Lug", "A lug rig has a yard, other than a gaff rig."),
            ("Sprit", "A sprit rig has a pole."),
        )
    )

    draft = _asked(
        "What is the difference between gaff and lug?", [_passage(document)],
        read=_reads(yard=6.0, spar=3.0),
    )  # fmt: skip

    assert draft.text.index("has a spar") < draft.text.index("has a yard")
    assert "pole" not in draft.text


def test_items_that_name_a_side_in_their_first_clause_are_compared() -> None:
    document = "## What is meant by Needs, Prefers, Mentions and Sup-plies?\n\n" + "\n".join(
        f"- A package {verb} another one {said} {FILLER}"
        for verb, said in (
            ("needs", "if it cannot run alone, which it says."),
            ("prefers", "if most people want both."),
            ("mentions", "if the other one may help."),
            ("sup-plies", "if it holds all of its files, or prefers to."),
        )
    )

    draft = _asked("difference between Prefers and Mentions?", [_passage(document)],
                   read=_reads(most=1.0, files=-9.0))  # fmt: skip

    assert draft.text.index("most people want both") < draft.text.index("may help")
    assert "cannot run alone" not in draft.text
    joined = _asked("Sup-plies versus Needs: how do they differ?", [_passage(document)],
                    read=_reads(files=1.0, most=-9.0))  # fmt: skip
    assert joined.text.index("all of its files") < joined.text.index("cannot run alone")


@pytest.mark.parametrize(
    ("question", "items"),
    [
        (
            "harbour pull vs harbour full-pull",
            (
                "To take in the boats that are near, run `harbour pull` at noon of each day.",
                "To take in all boats of the bay, run `harbour full-pull` at noon of each day.",
            ),
        ),
        (
            "What is the difference between the guarded and half-closed parts of the old harbour?",
            (
                "harbour/guarded/: holds the boats that nobody may enter before the spring.",
                "harbour/half-closed/: holds the boats that only their owners may enter then.",
            ),
        ),
        (
            "港口的推拉方式和牵引方式有什么区别？",
            (
                "推拉：船由两条小船在后面推着离开码头，人都留在岸上。",
                "牵引：船由一条大船在前面拉着离开码头，人都留在船上。",
            ),
        ),
    ],
)
def test_the_items_that_tell_of_one_side_each_are_compared(
    question: str, items: tuple[str, str]
) -> None:
    other = "To paint the boats, wait for the first dry days of the spring and then begin."
    document = "## Boats\n\nThere are these:\n\n" + "\n".join(
        f"- {item}" for item in (*items, other)
    )

    draft = _asked(question, [_passage(document)])

    assert [each.quote for each in draft.citations] == [f"- {item}" for item in items]


class _QuestionReader(_WindowReader):
    """Reader whom a text answers for the question whole, not for one on a side of it."""

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.full(len(texts), 4.0 if "compared" in question else -4.0)


def test_what_answers_a_comparison_as_a_whole_counts_as_it_answers_that() -> None:
    said = "Of the crew that had oars nine came home, against four of those that had paddles."

    draft = _asked(
        "The storm: how did the oars do compared with the sculls?",
        [_passage(f"## The race\n\n{said} {FILLER}\n")],
        read=_QuestionReader(),
    )

    assert said in draft.text
    assert draft.figures["logit"] == 4.0


def test_a_chinese_list_of_names_is_read_with_its_heading() -> None:
    texts: list[str] = []

    def read(_question: str, some: Sequence[str]) -> NDArray[np.float64]:
        texts.extend(some)
        return np.zeros(len(some))

    names = "1. 郑伯安，1999—2008年\n2. 方祖文，2008—2017年\n3. 顾明江，2017年起"
    told = "学校建在海边，有教师一千一百人，学生一万四千人，每年春天开学。"
    document = f"## 历任校长\n\n{names}\n\n## 学校\n\n{told}\n"

    _asked("学校历任校长有哪些？", [_passage(document)], likeness=read)

    assert any("历任校长" in text for text in texts if names in text)
    assert all("## 学校" not in text for text in texts if text.startswith(told))


def test_labels_without_a_sentence_are_read_with_their_heading_and_compare_nothing() -> None:
    labels = "**时间：** 9月17日\n**中方：** 顾明、陆澜\n**外方：** 文森、派克"
    document = f"## 海洋大学与海洋站会谈\n\n{labels}\n\n## 海缆\n\n海洋站想铺一条海缆。\n"
    block = next(
        each for each in split_blocks([_passage(document)]) if each.text.startswith("**时间")
    )

    assert is_labelled(block)
    assert not is_labelled(replace(block, text=f"{labels}\n会谈开始。"))
    assert not is_labelled(replace(block, text="\n" * 100_000))  # in linear time
    told = "Speed: A is faster.\nCost: A costs more.\nSize: A is larger."
    assert not is_labelled(replace(block, text=told))
    assert not is_labelled(replace(block, form="code"))
    texts: list[str] = []

    def read(_question: str, some: Sequence[str]) -> NDArray[np.float64]:
        texts.extend(some)
        return np.zeros(len(some))

    _asked("会谈双方有哪些人参加？", [_passage(document)], likeness=read)

    assert any("会谈" in text for text in texts if labels in text)


def test_a_side_of_a_comparison_may_be_a_clause() -> None:
    found = [
        _passage(f"## {name}\n\n{name} is old.\n\n{name} {does}. {FILLER}\n", name=name)
        for name, does in (("Gullwork", "repairs boats"), ("Ternhall", "teaches children to sail"))
    ]
    asked: list[str] = []

    def read(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        asked.append(question)
        return np.zeros(len(texts))

    _asked("What is the difference between what Gullwork does and what Ternhall does?", found,
           read=read)  # fmt: skip

    assert {"what Gullwork does?", "what Ternhall does?"} <= set(asked)


class _PeakReader(_WindowReader):
    """Reader of two blocks, of which the one that is read a little lower has a plain answer."""

    def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([5.0 * ("sail" in each) + 4.5 * ("paid" in each) for each in texts])

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        place, end = np.array([0]), np.array([3])
        return [
            Reading(
                logit=logit, starts=place, stops=end,
                begins=np.array([-0.05 if "paid" in text else -2.0]), ends=np.array([-0.05]),
            )
            for text, logit in zip(texts, self(question, texts).tolist(), strict=True)
        ]  # fmt: skip


def test_a_fact_is_told_by_the_block_in_which_its_answer_is_plain() -> None:
    sail = f"## Study\n\nThe study of sails was ordered by the club.\n\n{OTHERS}\n"
    paid = f"## Talk\n\nThe club paid 700 pounds for that.\n\n{OTHERS}\n"
    found = [
        replace(_passage(text, name=name), scores={"fused": 1.0})
        for name, text in (("a", sail), ("b", paid))
    ]

    draft = _asked("How much did the study of the club cost?", found, read=_PeakReader())

    assert draft.text.startswith("The club paid 700 pounds")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("他说：“来。去吧。”后来他走了。", "他说：“来。去吧。”"),
        ("“早。”他说：“来。去", "“早。”他说：“来。去"),
        ("他说：“来。\n\n去吧。”", "他说：“来。"),
        ("他来了。去吧。", "他来了。"),
    ],
)
def test_a_part_goes_on_to_the_end_of_the_speech_that_it_breaks_off_in(
    text: str, told: str
) -> None:
    first = "来。" if "来。" in text else "来了。"
    assert text[: speech_end(text, 0, text.index(first) + len(first))] == told


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("They mention 'the hook'. What is that?", "What is the hook?"),
        (
            "Which kinds of rope are described in the book? Give me all of them",
            "Which kinds of rope are described?",
        ),
        ("What is in the book?", "What is in the book?"),
        ("Who wrote the book on ropes?", "Who wrote the book on ropes?"),
        (
            "How many people were hired by the library?",
            "How many people were hired by the library?",
        ),
        ("They say 'run it' and 'the dogs’ home'. What is that?", "What is the dogs’ home?"),
        ('They mention "the dogs\' home". What is that?', "What is the dogs' home?"),
        ("书里说的钩子是什么？", "书里说的钩子是什么？"),
    ],
)
def test_a_question_is_read_without_what_says_nothing_of_what_is_asked(
    question: str, plain: str
) -> None:
    assert plainly_asked(question) == plain


def test_of_a_glossary_all_terms_are_listed_unless_one_is_named() -> None:
    document = "## Rigs\n\n" + "\n".join(
        f"- {name}\n  - It is used for {use}. {FILLER}"
        for name, use in (("Gaff", "mail"), ("Lug", "fish"), ("Sprit", "salt"))
    )
    read = _reads(salt=6.0)

    every = _asked("List the rigs that are used.", [_passage(document)], read=read,
                   text_at=lambda _, start, end: document[start:end])  # fmt: skip

    assert [name in every.text for name in ("Gaff", "Lug", "Sprit")] == [True] * 3


@pytest.mark.parametrize(
    ("question", "logit", "is_declined"),
    [
        ("List the people who sing aloud.", 0.0, False),
        ("List the people who sing aloud.", -6.0, True),
        ("List the people whom Zebedee Kworl heard sing.", 0.0, True),
    ],
)
def test_an_excerpt_is_declined_by_how_it_is_read_and_by_names_that_nothing_knows(
    question: str, logit: float, *, is_declined: bool
) -> None:
    text = f"## Choir\n\n- Ada Roe: alto\n- Bo Lund: bass\n\n{OTHERS}\n"
    found = [replace(_passage(text), relevance=0.1)]

    draft = _asked(question, found, read=_SpanLess(logit), min_evidence=0.25)

    assert draft.abstained is is_declined


class _SpanLess(_WindowReader):
    """Reader to whom every text is as likely to answer."""

    def __init__(self, logit: float) -> None:
        self._logit = logit

    def __call__(self, _question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.full(len(texts), self._logit)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Of the [station](../bodies/station.md#top) at Vey.", "Of the station at Vey."),
        (
            "See [the site](https://vey.example/a) and [3].",
            "See [the site](https://vey.example/a) and (3).",
        ),
        ("Call `f` as table[0](x.y) there.", "Call `f` as table(0)(x.y) there."),
        ("```\n[a](b.md)\n```", "```\n[a](b.md)\n```"),
    ],
)
def test_a_link_to_another_file_is_shown_by_its_words(text: str, shown: str) -> None:
    assert plain_excerpt(text, 0, len(text)) == shown


@pytest.mark.parametrize(
    ("logit", "other", "shown"),
    [(UNSURE_BLOCK - 0.1, 1.0, 2), (UNSURE_BLOCK - 0.1, -2.5, 1), (UNSURE_BLOCK + 2.0, 0.0, 1)],
    ids=["unsure", "far", "sure"],
)
def test_below_an_unsure_block_stands_another_that_is_read_nearly_as_well(
    logit: float, other: float, shown: int
) -> None:
    rest = "It is kept by the crew of the boat through the winter and looked at in spring. " * 4
    pump = _passage(f"## Pumps\n\nThe pump lifts the water from the hull. {rest}\n", name="Pump")
    bail = _passage(f"## Bailers\n\nA bailer throws the water out. {rest}\n", name="Bail")

    draft = _asked(
        "How does the water leave the hull?", [pump, bail], read=_reads(pump=logit, bailer=other)
    )

    assert len(draft.citations) == shown
    assert "The pump lifts" in draft.citations[0].quote


def test_a_block_of_a_passage_that_is_found_better_is_read_before_others_of_one_passage() -> None:
    texts = {"a": "Oil is dear.\n\nOil is kept dry.", "b": "Oil is bought in May."}
    passages = [
        replace(_passage(text), chunk_id=key, document_id=key, scores={"fused": fused})
        for (key, text), fused in zip(texts.items(), (0.5, 0.55), strict=True)
    ]
    wanted = {"oil": 1.0}
    weighed = score_sentences(
        split_passages(passages), passages, wanted=wanted, kinds=(), weight=len, language="en",
        numbered=frozenset(), amount=None,
    )  # fmt: skip
    blocks = split_blocks(passages)
    found = weigh_blocks(blocks, passages, weighed, wanted)
    assert [one.block.passage for one in found] == [1, 0, 0]


LONG = " ".join(["The winch pulls the net over the side in calm water."] * 20)


@pytest.mark.parametrize(
    ("rest", "is_whole"),
    [
        pytest.param(" ".join(["It has a brake of oak."] * 4), True, id="near"),
        pytest.param(" ".join(["It has a brake of oak."] * 15), False, id="far"),
        pytest.param("It has\n- a brake of oak\n- a pawl", False, id="a-list"),
    ],
)
def test_a_paragraph_that_ends_near_the_cut_is_told_whole(rest: str, *, is_whole: bool) -> None:
    text = f"{LONG} {rest} So the winch is slow."
    passage = _passage(text)
    *_, last = split_blocks([passage])
    block = replace(last, start=0, text=text)

    told = extended(Best(block=block, score=0.0, logit=None), passage, None)

    assert told.text.endswith("So the winch is slow.") is is_whole
