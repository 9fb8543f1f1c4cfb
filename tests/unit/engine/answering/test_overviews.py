"""What an overview is about, and the sentences chosen for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.answering.global_search import named_things
from engine.answering.global_search.about import (
    _of_kind,
    _possible_words,
    asks_where_to_begin,
    is_titled,
    outline,
    parts_about,
)
from engine.answering.global_search.asked import Asked, Found, asks_to_sum_up, without_closing
from engine.answering.global_search.page_writer import without_lines
from engine.answering.global_search.people import introduce, is_person, tell_pairs
from engine.answering.global_search.sentences import (
    Said,
    Telling,
    central_words,
    dated,
    early_first,
    is_of_rights,
    is_spoken,
    opening_of,
    openings_of,
    sentences_of,
    told_in_order,
    year_span,
)
from engine.answering.global_search.standalone import introduces
from engine.answering.global_search.topics import Unit, reading_order
from engine.answering.global_search.windows import best_windows, widened
from engine.answering.introductions import introduction
from engine.answering.named_documents import (
    asked_of_document,
    document_asked,
    is_title_of,
    is_whole_named,
)
from engine.storage.graph_api import Chunk
from engine.types import Passage


def asked(question: str) -> Asked:
    return Asked.read(question, lambda _word: 1.0)


def chunk(text: str, document: str = "a.md", title: str = "Notes") -> Chunk:
    return Chunk(
        id=f"chunk-{document}", document_id=document, title=title, text=text, end=len(text)
    )


@pytest.mark.parametrize(
    "question",
    [
        "What are these documents about?",
        "tl;dr of the whole lot please",
        "I'm new here. What do these documents deal with, and which one would I open first?",
        "What are the main storylines of these papers, and who are the key people in each?",
        "请概括一下这一整套资料的主要内容。",
        "What is this manual about, who is it for, and which topics does it go through?",
        "这本手册讲什么，适合谁看？",
        "这些章回主要讲了什么？",
        "这部分故事大概讲了些什么？",
        "这个文件夹里都有哪些种类的文件？中文的和英文的分别讲什么？",
        "没读过三国，先给我讲讲这二十五回大概是怎么回事？",
    ],
)
def test_a_clause_that_asks_for_the_contents_makes_a_question_about_the_whole(
    question: str,
) -> None:
    assert not asked(question).subject


@pytest.mark.parametrize(
    "question",
    [
        "What do these documents say about printing?",
        "In this book, who owns the mill?",
        "Give me an overview of package management in this handbook",
    ],
)
def test_a_subject_in_the_same_clause_stays_one(question: str) -> None:
    assert asked(question).subject
    assert asked(question).subject


def test_a_clause_that_names_a_subject_is_one_beside_a_clause_on_the_contents() -> None:
    assert asked("关于打补丁，这些文档有什么内容？").subject == ("打补", "补丁")
    assert asked("On printing: what do these documents contain?").subject == ("print",)


@pytest.mark.parametrize(
    ("title", "is_about"),
    [
        ("9.10. Backup", True),
        ("Backing Up with rsync", False),
        ("Backup and Restore", True),
        ("Accounts, Networks, Printers and Backup", False),
    ],
)
def test_a_title_is_about_a_subject_where_it_names_it_and_little_else(
    title: str, is_about: bool
) -> None:
    assert is_titled(title, Found({}, {}, {"backup": 2.0})) == is_about


def test_a_part_about_a_subject_is_read_whole() -> None:
    found = placed("Tapes are kept dry.", 1, ("2. Backup", "2.1. Tapes"))
    others = [placed("A lamp.", 0, ("1. Light",)), found, placed("Disks.", 2, ("2. Backup",))]
    known = Found({found.id: found}, {found.id: 1.0}, {"backup": 2.0})
    (part,) = parts_about(known, [found], lambda _name: others)
    assert part.headings == ("2. Backup",)
    assert [one.text for one in part.chunks] == ["Tapes are kept dry.", "Disks."]


def placed(text: str, position: int, headings: tuple[str, ...]) -> Chunk:
    key = f"chunk-{position}"
    return Chunk(
        id=key, document_id="a.md", title="Notes", text=text, position=position, headings=headings
    )


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Give me an overview of reports in GnuCash.", {"report", "gnucash"}),
        ("What do these reports say about printing?", {"print"}),
        ("What do the reports say?", set()),
        ("What do residents report about noise?", {"resid", "nois"}),
        ("What problems do people report?", set()),
    ],
)
def test_reports_are_a_subject_where_they_are_not_the_documents(
    question: str, subject: set[str]
) -> None:
    found = asked(question)
    assert {*found.subject} == subject
    assert bool(found.subject) == bool(subject)


def test_the_parts_that_people_play_are_no_subject() -> None:
    question = asked("Who are the main people here and what part does each of them play?")
    assert question.aspect is not None
    assert question.aspect.name == "people"
    assert not question.subject


def test_a_document_is_told_by_what_it_speaks_of_throughout_not_by_its_first_line() -> None:
    mill = chunk(
        "Parking is free on Sundays for visitors who arrive by bicycle from the station."
        " The old mill of Oxley grinds rye for the bakers of the valley. The mill was rebuilt after"
        " the flood and grinds rye again. The mill and its wheel belong to the bakers of Oxley."
    )
    pond = chunk("The pond of Oxley freezes in January and the children skate there.", "b.md")
    weights, _ = central_words([[mill], [pond]])
    found = early_first(sentences_of([mill], chinese=False))
    told = Telling(weights).choose(found, 1)
    assert "mill" in told[0].text
    assert weights["mill"] > weights["sunday"]


def test_a_person_is_introduced_by_the_whole_name_before_a_part_that_others_share() -> None:
    text = chunk(
        "Our founder, Osric Quill, was born the son of a miner. Verity Quill, great-granddaughter"
        " of the founder, has chaired the board since 2010."
    )
    person = introduce(
        "Verity Quill", ["Verity Quill", "Quill"], [text], chinese=False, is_person=True
    )
    assert person is not None
    assert person.said.text.startswith("Verity Quill, great-granddaughter")


def test_a_person_is_introduced_by_a_document_of_their_own() -> None:
    fair = chunk("Verity Quill, founder of the mill, sounded the horn at the age of 75.", "a.md")
    own = chunk("Verity Quill (1931–2009) was a botanist who lived in Oxley for years.", "b.md")
    of_her = replace(own, title="Verity Quill, 1931–2009")
    person = introduce(
        "Verity Quill", ["Verity Quill"], [fair, of_her], chinese=False, is_person=True
    )
    assert person is not None
    assert "botanist" in person.said.text


def test_a_person_is_introduced_by_a_line_of_commas_without_a_verb() -> None:
    line = "Verity Quill, a tall, silent, patient woman, the founder of the mill of Oxley."
    listed = "Verity Quill, Ann Reed, Tom Vale, the miller of Oxley."
    told = [
        introduce("Verity Quill", ["Verity Quill"], [chunk(text)], chinese=False, is_person=True)
        for text in (line, listed)
    ]
    assert told[0] is not None
    assert told[0].said.text == line
    assert told[1] is None


@pytest.mark.parametrize(
    ("question", "kinds", "relates"),
    [
        ("Who are the main characters?", ["people"], False),
        ("Who are the main characters and how are they related?", ["people"], True),
        ("List the characters in this novella.", ["people"], False),
        (
            "Which organisations appear in the collection and what do they do?",
            ["organisations"],
            False,
        ),
        ("Which people and places are mentioned?", ["people", "places"], False),
        ("Which programs do these documents describe?", ["products"], False),
        ("书里有哪些主要人物，他们之间是什么关系？", ["people"], True),
        ("谁是这本书里最重要的人？", ["people"], False),
        ("资料里出现了哪些机构？", ["organisations"], False),
        ("故事里出现了哪些地方？", ["places"], False),
        ("这些文档涉及哪些软件？", ["products"], False),
    ],
)
def test_a_question_for_all_things_of_a_kind_has_no_subject(
    question: str, kinds: list[str], relates: bool
) -> None:
    found = asked(question)
    assert [one.name for one in found.kinds] == kinds
    assert not found.subject
    assert found.relates == relates


@pytest.mark.parametrize(
    "question",
    [
        "Which tools does the Packet use for billing?",
        "What cities did Tolland visit?",
        "Which companies insured the cable?",
        "哪些机构参与了灯笼海缆的维修？",
    ],
)
def test_a_question_for_some_things_of_a_kind_has_a_subject(question: str) -> None:
    found = asked(question)
    assert found.subject
    assert not found.kinds


@pytest.mark.parametrize(
    "question",
    ["手册分哪几个部分？", "这本书分为几个部分？", "How is the handbook structured?"],
)
def test_the_parts_of_a_book_are_no_subject(question: str) -> None:
    assert not asked(question).subject


def test_an_institution_is_told_by_what_it_is_and_by_no_ones_part_beside_it() -> None:
    text = chunk(
        "The grant came from the Oxley Mill Trust, whose treasurer had signed it in the spring."
        " The Oxley Mill Trust is a charity of the valley that owns two mills and a pond."
    )
    found = introduce(
        "Oxley Mill Trust", ["Oxley Mill Trust"], [text], chinese=False, is_person=False
    )
    assert found is not None
    assert found.is_told
    assert found.said.text.startswith("The Oxley Mill Trust is a charity")


def test_a_person_is_no_less_introduced_where_the_title_before_the_name_is_left_out() -> None:
    text = chunk(
        "Nobody at the fair knew what to make of what Mr. Quill had said to them that day."
        " Quill, the miller of the valley, kept the books of the mill and the pond."
    )
    found = introduce("Mr. Quill", ["Mr. Quill", "Quill"], [text], chinese=False, is_person=True)
    assert found is not None
    assert found.is_told
    assert found.said.text.startswith("Quill, the miller")


def test_two_people_are_told_of_where_one_plays_a_part_for_the_other() -> None:
    text = chunk(
        "Verity Quill met Tam Vale at the fair and went home with her basket full of plums."
        " Tam Vale, the nephew of Verity Quill, kept the mill of Oxley for eleven years."
    )
    some = [
        found
        for name in ("Verity Quill", "Tam Vale")
        if (found := introduce(name, [name], [text], chinese=False, is_person=True))
    ]
    assert [one.text for one in tell_pairs(some, [text], chinese=False)] == [
        "Tam Vale, the nephew of Verity Quill, kept the mill of Oxley for eleven years."
    ]


def test_two_chinese_names_are_told_of_where_a_part_alone_stands_between_them() -> None:
    text = chunk("周明以女衣辱李青众人大笑。李青只是不出营门半步。次日周明之子周安领兵前来攻城。")
    some = [
        found
        for name in ("周明", "李青", "周安")
        if (found := introduce(name, [name], [text], chinese=True, is_person=True))
    ]
    assert len(some) == 3
    told = tell_pairs(some, [text], chinese=True)
    assert [one.text for one in told] == ["次日周明之子周安领兵前来攻城。"]


def test_a_sentence_that_begins_with_a_pronoun_tells_little_of_a_person() -> None:
    text = chunk(
        "He was the uncle of Verity Quill, as all of the valley knew well enough."
        " In those years Verity Quill kept the books of the mill and the pond."
    )
    found = introduce("Verity Quill", ["Verity Quill"], [text], chinese=False, is_person=True)
    assert found is None or not found.is_told


@pytest.mark.parametrize(
    ("name", "is_named"),
    [
        ("Verity Quill", True),
        ("Verity", False),
        ("沈望舒", True),
        ("梅芙·托兰", True),
        ("网关", False),
        ("何故", False),
        ("于马下", False),
        ("于禁", True),
        ("Linux Mint", False),
    ],
)
def test_a_person_has_the_form_of_a_name(name: str, is_named: bool) -> None:
    assert is_person(name, things=frozenset({"linux"})) == is_named


def test_a_name_with_an_initial_overlaps_the_one_without() -> None:
    assert named_things._overlap("Jo B. Vale", "Jo Vale")
    assert not named_things._overlap("Jo B. Vale", "Vale Jo")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What do these documents say about the Candlemas Storm?", "the Candlemas Storm"),
        ("Give me a short overview of music on the island.", "music on the island"),
        ("Summarise what the inquiry found.", "the inquiry found"),
        ("Which lessons were drawn from the fire?", "Which lessons were drawn from the fire"),
        ("请总结一下2022年公投和拦潮坝之争。", "2022年公投和拦潮坝之争"),
        ("这些文件关于打印说了些什么？", "打印"),
        ("What does Marlow say about Kurtz?", "What does Marlow say about Kurtz"),
        ("What is the known bug in the engine?", "What is the known bug in the engine"),
        ("文件系统有哪些主要类型？", "文件系统有哪些主要类型"),
        ("介绍信是谁写的？", "介绍信是谁写的"),
    ],
)
def test_the_topic_is_the_question_without_the_words_for_an_overview(
    question: str, topic: str
) -> None:
    assert asked(question).topic == topic


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("How is the Gull steered? Give me an overview.", "How is the Gull steered?"),
        ("Who owns the Gull? Summarise what the documents say.", "Who owns the Gull?"),
        ("Who owns the Gull? Give me an overview of what is said.", "Who owns the Gull?"),
        ("海鸥号是怎么驾驶的？请概括一下。", "海鸥号是怎么驾驶的？"),
        ("海鸥号是怎么驾驶的？请作概述。", "海鸥号是怎么驾驶的？"),
        ("Hi! Summarise what the documents say.", "Hi! Summarise what the documents say."),
        ("I have just added texts. Give me an overview.",) * 2,
        ("你好！请总结一下。",) * 2,
        ("Summarise what the documents say.", "Summarise what the documents say."),
        ("Give me an overview of the Gull.", "Give me an overview of the Gull."),
    ],
)
def test_a_last_sentence_that_asks_for_an_overview_of_the_first_is_no_subject(
    question: str, rest: str
) -> None:
    assert without_closing(question) == rest
    assert asked(question).subject == asked(rest).subject


def test_windows_are_shared_among_documents_and_told_once() -> None:
    long = chunk("The Gull sails. It is red. The Gull was sold to Ned. Tam paints it.", "a.md")
    other = chunk("Ida Vane wrote of the Gull in 1902. Nobody read her book.", "b.md")
    spans = [(0, 26), (16, 52), (27, 52), (53, 67)]
    found = [Said(long, start, end, worth=9.0 - at) for at, (start, end) in enumerate(spans)]
    found.append(Said(other, 0, len(other.text), worth=1.0))

    chosen = best_windows(found, 4)

    assert [one.text for one in chosen] == [
        "The Gull sails. It is red.",
        "The Gull was sold to Ned.",
        other.text,
    ]


def test_a_part_is_told_by_its_sections_each_with_what_was_read_of_it() -> None:
    title, engine = ("Gull",), "The engine of the Gull was built of iron in Vey. It burns coal."
    chunks = (
        placed("The Gull is a ferry that carries mail to the island of Vey.", 0, title),
        placed(engine, 1, (*title, "Engine")),
        placed("The crew of the Gull has six members, who live in Vey.", 2, (*title, "Crew")),
    )
    unit = Unit("a.md", title, chunks)
    read = [Said(chunks[1], engine.index("It"), len(engine), worth=4.0)]

    told = outline(unit, read, chinese=False)

    assert [(name, said.text) for name, said in told] == [
        ("", chunks[0].text),
        ("Engine", "It burns coal."),
        ("Crew", chunks[2].text),
    ]
    assert outline(Unit("a.md", title, chunks[:2]), read, chinese=False) == []


def test_a_part_of_few_sections_is_told_by_those_below_them() -> None:
    told = {
        ("Ship", "Hull"): "The hull of the Gull was made of oak by Tam Reed in 1901.",
        ("Ship", "Mast"): "Two masts carry red sails, which were sewn in Port Marlow.",
        ("Ship", "Engine"): "Ida Vane built the engine, which burns coal from the northern mines.",
        ("Men", "Crew"): "Six members of one family have sailed her since the war ended.",
    }
    chunks = [placed(text, at, ("Gull", *path)) for at, (path, text) in enumerate(told.items())]

    sections = outline(Unit("a.md", ("Gull",), tuple(chunks)), [], chinese=False)

    assert [name for name, _ in sections] == ["Hull", "Mast", "Engine", "Crew"]


def test_sections_without_a_new_sentence_are_listed_by_name() -> None:
    told = "Tam Reed built the hull of the Gull of oak in the yard of Vey."
    chunks = (
        placed(told, 0, ("Gull", "Hull")),
        placed(told, 1, ("Gull", "Mast", "Notes")),
        placed("| Port | Fare |", 2, ("Gull", "Prices")),
        placed("Ida Vane sewed the sails in Port Marlow.", 3, ("Gull", "Sails")),
    )

    sections = outline(Unit("a.md", ("Gull",), chunks), [], chinese=False)

    assert [(name, said is not None) for name, said in sections] == [
        ("Hull", True),
        ("Mast", False),
        ("Prices", False),
        ("Sails", True),
    ]


def test_a_window_ends_where_a_list_or_a_heading_begins() -> None:
    text = "Tam Reed built the Gull in 1901. Ned Gale sold it.\n- It burns coal.\n\n## Crew\n\nSix."
    window = widened(Said(chunk(text), 0, text.index(" Ned")))

    assert window.text == "Tam Reed built the Gull in 1901. Ned Gale sold it."


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What does the tide manual cover?", "tide manual"),
        ("What topics does Tides of the Sound cover?", "Tides of the Sound"),
        ("Please give me a short overview of the keepers' guide.", "keepers' guide"),
        ("What’s in the handbook?", "handbook"),
        ("whats the plot of Grey Tide in short", "Grey Tide"),
        ("summarise the tide manual for me", "tide manual"),
        ("What is the policy manual about?", "policy manual"),
        ("Could you describe in brief what the tide manual deals with?", "tide manual"),
        ("Please walk me through the chapters of the tide manual.", "tide manual"),
        ("灯塔手册主要讲什么？", "灯塔手册"),
        ("帮我总结一下灯塔手册", "灯塔手册"),
        ("请总结一下会议纪要的主要内容", "会议纪要"),
        ("《三国演义》的主要情节是什么，请从头到尾说一遍。", "《三国演义》"),
        ("What is this about?", ""),
        ("What do these documents say about backups?", ""),
        ("What does the insurance contract cover?", ""),
        ("What is a keeper?", ""),
        ("How does the manual describe fog?", ""),
    ],
)
def test_a_document_may_be_asked_for_by_its_title(question: str, name: str) -> None:
    assert document_asked(question) == name


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What does the tide manual say about fog?", " fog?"),
        ("Summarise what the tide manual tells us about fog signals.", " fog signals."),
        ("What does the tide manual have to say on fog?", " fog?"),
        ("Tell me about the tide manual.", ""),
        ("What does the tide manual cover?", ""),
        ("What does Marlow say about Kurtz?", ""),
    ],
)
def test_a_document_may_be_asked_about_a_subject(question: str, subject: str) -> None:
    expected = f"What do the documents say about{subject}" if subject else ""
    assert asked_of_document(question) == expected
    assert document_asked(question) == ("tide manual" if "cover" in question else "")


@pytest.mark.parametrize(
    ("name", "title", "is_title"),
    [
        ("policy manual", "Debian Policy Manual", True),
        ("manual", "Manual of Tides and Other Movements of the Sea", False),
        ("tide manual", "Debian Policy Manual", False),
        ("灯塔手册", "《灯塔手册》", True),
        ("《三国演义》", "《三国演义》罗贯中", True),
        ("", "Manual", False),
        ("backups", "Backups", False),
        ("the keepers of the sound", "Keepers of the Sound", True),
    ],
)
def test_a_title_is_named_by_a_good_part_of_its_words(
    name: str, title: str, is_title: bool
) -> None:
    assert is_title_of(name, title) is is_title


def test_numbers_long_before_the_years_are_no_years() -> None:
    years = [f"Built in {year}." for year in (1990, 1995, 1999, 2004, 2010, 2011)]

    assert year_span([*years, "Users from 1000 on.", "Groups from 1000 to 1012."]) == (1990, 2011)
    assert year_span([f"Built in {year}." for year in (1066, 1087, 1100, 1337, 1500, 1600)]) == (
        1066, 1600,
    )  # fmt: skip
    assert year_span([*years, "The disk grew (1536 extents)."]) == (1990, 2011)
    assert year_span(["Ann Eck (1931–2009) and Tom Vale (1925)."]) == (1925, 2009)
    assert year_span(["Built in 1400 and in 1450, since 1460; then in 1800."]) == (1400, 1800)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("这本书关于安全讲了什么？", ("安全",)),
        ("关于打印，这本手册都讲了些什么？", ("打印",)),
        ("手册里对打印是怎么介绍的？", ("打印",)),
        ("这些文件对打印有什么说法？", ("打印",)),
    ],
)
def test_a_topic_is_read_off_a_chinese_question_for_an_overview(
    question: str, subject: tuple[str, ...]
) -> None:
    assert asks_to_sum_up(question) or "有什么说法" in question
    assert Asked.read(question, lambda _word: 1.0).subject == subject


@pytest.mark.parametrize(
    "question",
    [
        "A short portrait of the festival, please",
        "How do tides work, just the broad picture",
        "Could you run me through what these manuals say on fog?",
        "防火墙这块的内容帮我梳理一下",
        "short summary of the e-mails about fog pls",
        "what does it say about fog",
        "What do they say about fog?",
    ],
)
def test_words_for_a_broad_answer_ask_to_sum_up_wherever_they_stand(question: str) -> None:
    assert asks_to_sum_up(question)


@pytest.mark.parametrize(
    ("question", "subject", "aspect"),
    [
        ("书里对港口归谁这个问题都讲了哪些事？", "港口", None),
        ("罢工跟涨价是怎么一步步发展的", "罢工", None),
        ("这里有哪些问题？", "", "problem"),
        ("总结一下书里关于茶的内容", "茶", None),
    ],
)
def test_words_behind_a_chinese_subject_are_none_of_it(
    question: str, subject: str, aspect: str | None
) -> None:
    asked = Asked.read(question, lambda _word: 3.0)
    assert not {"问题", "发展", "步步"} & set(asked.subject)
    assert not subject or subject in asked.subject
    assert (asked.aspect and asked.aspect.name) == aspect


def test_a_chinese_pair_across_two_words_does_not_make_a_subject_unknown() -> None:
    weights = {"港口": 1.0, "口归": 4.0, "罢工": 4.0, "fog": 4.0}
    assert set(_possible_words(weights, ["港口"])) == {"港口", "罢工", "fog"}
    assert _possible_words(weights, ["g"]) == weights


@pytest.mark.parametrize(("called", "is_few"), [(1, True), (3, False)])
def test_passages_of_a_kind_of_document_are_those_of_few(called: int, is_few: bool) -> None:
    names = ["diary"] * called + ["log"] * (6 - called)
    found = [
        Passage(
            text="", score=1.0, relevance=1.0, document_id=f"{row}/{name}.md", chunk_id=str(row),
            title="Notes", start=0, end=0,
        )
        for row, name in enumerate(names)
    ]  # fmt: skip
    kept = _of_kind(frozenset({"diari"}), found, of=6)
    assert [one.chunk_id for one in kept] == (["0"] if is_few else [])


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Summarise the e-mails about fog", {"email", "mail"}),
        ("Overview of the stock exchange", set()),
        ("Summarise the diary of the expedition", {"diari"}),
        ("summary of the letters about fog, please", {"letter"}),
        ("Summarise the chapter on fog", set()),
        ("What do the documents say about fog?", set()),
    ],
)
def test_a_part_may_be_called_by_its_kind_of_document(question: str, kinds: set[str]) -> None:
    assert Asked.read(question, lambda _word: 3.0).kinds_of_document == kinds


@pytest.mark.parametrize(
    "question",
    ["关于赤壁之战，曹操说了什么？", "关于这件事，张三怎么说？", "文件对用户做了什么？"],
)
def test_what_somebody_said_of_a_thing_is_not_summed_up(question: str) -> None:
    assert not asks_to_sum_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which manuals are in this collection and what is each of them for?",
        "What can I learn from all these files taken together?",
        "Tell me in a few sentences what this library holds.",
        "What kind of information do these documents contain?",
        "Can you sum up the plot of the novel from start to finish?",
        "Who should read these documents, and what will they learn?",
        "给我概括一下这本书的内容。",
        "这个文件里写了些什么？",
        "用几句话介绍一下这整套文档。",
        "看完这些资料我能学到什么，适合什么样的人看？",
        "能不能用一段话说说这些文件是干什么的？",
        "能不能用几句话告诉我整部书说了什么？",
    ],
)
def test_words_for_the_manner_of_an_overview_are_no_subject(question: str) -> None:
    assert not Asked.read(question, lambda _word: 1.0).subject


@pytest.mark.parametrize(
    ("question", "aspect"),
    [
        ("What happens in The Lamp Guide?", None),
        ("What has happened in the story so far?", None),
        ("What happened in this novel?", None),
        ("What happened and when?", "time"),
        ("Which events took place, in what order?", "time"),
    ],
)
def test_a_story_is_not_told_by_its_dates(question: str, aspect: str | None) -> None:
    found = Asked.read(question, lambda _word: 1.0).aspect
    assert (found.name if found else None) == aspect


def test_what_happens_in_a_book_asks_for_that_book() -> None:
    assert document_asked("What happens in The Lamp Guide?") == "Lamp Guide"
    assert document_asked("What has happened in the story so far?") == "story so far"
    assert is_whole_named("story so far", ["The Lamp Guide"])
    assert document_asked("What happens if the lamp goes out?") == ""


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What can I find in these files about printing?", ("print",)),
        ("Tell me in a few words what these documents say about fog.", ("fog",)),
        ("给我概括一下这本书里关于打印的内容。", ("打印",)),
    ],
)
def test_a_topic_stays_beside_words_for_the_manner(question: str, subject: tuple[str, ...]) -> None:
    assert Asked.read(question, lambda _word: 1.0).subject == subject


@pytest.mark.parametrize(
    ("question", "is_named"),
    [
        ("Give me a rundown of the printing options.", True),
        ("What do these say about fog?", True),
        ("Tell me about the harbour, and who built it.", True),
        ("Give me a rundown of the main subjects in this folder, and who would enjoy it", False),
        ("Summarize the collection for a newcomer", False),
        ("这个文件夹里的资料是讲什么的，适合哪些人看？", False),
    ],
)
def test_a_subject_stands_in_the_clause_that_asks_for_an_account(
    question: str, *, is_named: bool
) -> None:
    assert asked(question).names_subject is is_named


def test_a_section_that_says_what_its_heading_is_is_told_so() -> None:
    title, engine = ("Gull",), "The engine is a diesel of six cylinders. Rust eats it in winter."
    chunks = (
        placed("The Gull is a ferry that carries mail to the island of Vey.", 0, title),
        placed(engine, 1, (*title, "Engine")),
        placed("The crew of the Gull has six members, who live in Vey.", 2, (*title, "Crew")),
    )
    read = [
        Said(chunks[1], engine.index("Rust"), len(engine), worth=4.0),
        Said(chunks[0], 0, 10, worth=5.0),
    ]

    told = dict(outline(Unit("a.md", title, chunks), read, chinese=False, is_own=True))

    assert told["Engine"].text.startswith("The engine is a diesel")
    assert told[""].text == chunks[0].text


def test_a_person_is_introduced_by_the_sentence_that_a_reader_finds() -> None:
    bare = "In 1901 the men of Vey heard Ada Quill sing on the long quay."
    told = "The bells of Vey were cast by Ada Quill in the yard behind the church."
    chunks = [chunk(f"{bare} {told}")]

    def read(question: str, texts: list[str]) -> np.ndarray:
        assert question == "Who is Ada Quill?"
        return np.array([6.0 if "cast" in each else -1.0 for each in texts])

    known = introduce("Ada Quill", ["Ada Quill"], chunks, chinese=False, is_person=True, read=read)

    assert known is not None
    assert known.is_told
    assert known.said.text == told
    alone = introduce("Ada Quill", ["Ada Quill"], chunks, chinese=False, is_person=True)
    assert alone is None
    thing = [chunk("Bells of Vey are made for the Ada Quill family of ships in the yard.")]
    assert introduce("Ada Quill", ["Ada Quill"], thing, chinese=False, is_person=True,
                     read=lambda *_: np.array([6.0])) is None  # fmt: skip


def test_a_picture_names_nobody() -> None:
    chunks = [
        chunk("![](Ada Quill.jpg)\n\n[](#Ada Quill)\n\nAda Quill is a baker who lives in Vey.")
    ]
    known = introduce("Ada Quill", ["Ada Quill"], chunks, chinese=False, is_person=True)
    assert known is not None
    assert known.said.text == "Ada Quill is a baker who lives in Vey."


def test_a_section_that_is_not_the_subjects_own_is_told_by_what_was_read_of_it() -> None:
    title, mill = (
        ("Vey",),
        "The mill is a building of stone. Smugglers kept brandy below its floor.",
    )
    chunks = (
        placed("Vey is a town on the coast that has two schools.", 0, title),
        placed(mill, 1, (*title, "Mill")),
        placed("The bank is a house of brick in the main street.", 2, (*title, "Bank")),
    )
    read = [Said(chunks[1], mill.index("Smug"), len(mill), worth=4.0)]

    told = dict(outline(Unit("a.md", title, chunks), read, chinese=False))

    assert told["Mill"].text.startswith("Smugglers kept")


def test_what_is_spoken_tells_less_of_a_story_than_what_is_narrated() -> None:
    narrated = "黄忠领兵出城，斩了敌将，得胜回寨，次日又往定军山去。"
    spoken = "军士曰：“城中粮草已尽，黄忠将军明日出城去。”"
    within = "明日出城去寻敌将黄忠，后日回寨领粮。"
    text = chunk(f"{narrated}\n\n{spoken}\n\n有人答曰：“今日不出。{within}”")

    worth = {each.text: each.worth for each in sentences_of([text], chinese=True)}

    assert len(worth) > 1
    assert worth[narrated] > max(value for text, value in worth.items() if text != narrated)


def test_a_chapter_is_told_by_its_beginning_its_paragraphs_and_its_end() -> None:
    rest = "She was glad of the fire, and of the soup in the pot, and of her coat."
    days = [f"On day {n} Anna Rudd walked to mill {n}; there she ate. {rest}" for n in range(1, 9)]
    spoken = '"Anna Rudd is a friend of mine," said the miller to the whole house.'
    begun = f"Chapter 1\n\n{spoken}\n\nIt was winter, and the roads were full of snow and ice."
    text = chunk("\n\n".join((begun, *days, f"{rest} So Anna Rudd went home to her own mill.")))

    told = [each.text for each in told_in_order([text], {"anna"}, 4, chinese=False)]

    assert told == [
        "On day 1 Anna Rudd walked to mill 1; there she ate.",
        "On day 2 Anna Rudd walked to mill 2; there she ate.",
        "On day 5 Anna Rudd walked to mill 5; there she ate.",
        "So Anna Rudd went home to her own mill.",
    ]
    assert told_in_order([], {"anna"}, 4, chinese=False) == []
    unnamed = [each.text for each in told_in_order([text], {"bo"}, 4, chinese=False)]
    assert unnamed == ["It was winter, and the roads were full of snow and ice."]


def test_a_long_sentence_of_a_story_is_told_to_its_first_break() -> None:
    long = "Anna Rudd walked over the hill to the mill in the snow; " + "and on, " * 40 + "home."

    (told,) = openings_of([[chunk(long)]], {"anna"}, chinese=False)

    assert told.text == "Anna Rudd walked over the hill to the mill in the snow"


@pytest.mark.parametrize(
    "begun",
    [
        "It was not true that Anna Rudd had burned the mill: it was the miller, ",
        "If Anna Rudd had walked over the hill to the mill; if she had seen it, ",
    ],
)
def test_a_long_sentence_that_its_end_may_turn_round_is_not_cut(begun: str) -> None:
    follows = "Anna Rudd went home to her own mill and slept."

    (told,) = openings_of(
        [[chunk(begun + "and on, " * 40 + f"home. {follows}")]], {"anna"}, chinese=False
    )

    assert told.text == follows


@pytest.mark.parametrize(
    ("before", "begun"),
    [
        ("She saw the soldiers' horses.", "Then Anna Rudd walked home to her mill."),
        ("She gave 'em the goin' price.", "Then Anna Rudd walked home to her mill."),
        ("", "Anna Rudd of B——shire, a miller, walked home."),
    ],
)
def test_apostrophes_and_dashes_do_not_silence_a_story(before: str, begun: str) -> None:
    (told,) = openings_of([[chunk(f"{before} {begun}".strip())]], {"anna"}, chinese=False)

    assert told.text == begun


def test_a_story_ends_before_what_the_library_of_its_file_says() -> None:
    text = (
        "Anna Rudd went home to her own mill.\n\nEnd of the Project Gutenberg EBook of Anna Rudd."
    )

    told = openings_of([[chunk(text)]], {"anna"}, chinese=False, ends=True)

    assert [each.text for each in told] == ["Anna Rudd went home to her own mill."]


def test_a_word_that_is_also_a_name_needs_its_capital() -> None:
    text = "The snow had left its mark on all the roofs.\n\nThen Mark walked home to his own mill."

    (told,) = openings_of([[chunk(text)]], {"mark"}, chinese=False)

    assert told.text == "Then Mark walked home to his own mill."


def test_chapters_that_begin_alike_are_told_by_what_differs() -> None:
    rows = [
        chunk(f"Anna Rudd rose at six and lit the fire. Anna Rudd walked to mill {n} in the snow.")
        for n in (1, 2)
    ]

    told = openings_of([[row] for row in rows], {"anna"}, chinese=False)

    assert [each.text for each in told] == [
        "Anna Rudd rose at six and lit the fire.",
        "Anna Rudd walked to mill 2 in the snow.",
    ]


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("To Elinor, the observation of the latter was particularly grateful.", 0),
        ("Elinor was one of the few who did not choose to move.", 0),
        ("Elinor was one of the Dashwoods of Norland.", 2),
        ("Elinor, the eldest of them, was clever.", 2),
        ("Mr. Rudd, his son, Elinor, and Harriet, only remained.", 0),
        ("The bursar, Elinor, and the director of the mill were there.", 2),
    ],
)
def test_what_stands_behind_a_name_by_chance_does_not_introduce_a_person(
    text: str, worth: int
) -> None:
    assert introduction(text, "Elinor") == worth


def test_a_person_is_introduced_with_or_without_the_dot_of_a_title() -> None:
    text = "He had been at the pains of asking Mr. Quill, the apothecary, on the subject."

    assert introduction(text, "Mr. Quill") == introduction(text, "Mr Quill") == 2
    assert introduction(text.replace("Mr.", "Mr"), "Mr. Quill") == 2


def test_speech_that_says_no_role_introduces_nobody() -> None:
    spoken = chunk("黄忠曰：“小将愿往城中走一遭，明日便回来见将军。”")

    assert introduce("黄忠", ["黄忠"], [spoken], chinese=True, is_person=True) is None


def test_a_person_who_says_a_name_of_their_own_is_introduced_by_it() -> None:
    spoken = chunk("先主问其姓名。其人曰：“吾姓顾，名舟，河东海门人也。”")
    met = chunk("众人进视之，乃典军都尉顾舟也。众人大喜，设宴相待。", "b.md")

    (own, named) = (
        introduce("顾舟", ["顾舟"], some, chinese=True, is_person=True)
        for some in ([met, spoken], [met])
    )

    assert own is not None
    assert "姓顾" in own.said.text
    assert named is not None
    assert named.said.text == "众人进视之，乃典军都尉顾舟也。"


def test_a_chapter_is_told_by_a_sentence_that_leans_on_none_before_it() -> None:
    text = "She had never seen Anna Rudd before. Then Anna Rudd walked home to her own mill."

    (told,) = openings_of([[chunk(text)]], {"anna"}, chinese=False)

    assert told.text == "Then Anna Rudd walked home to her own mill."


def test_quoted_names_are_no_speech() -> None:
    named = chunk("The mill, “Old Tom”, was built on the hill by the river in the year 1820.")

    (said,) = sentences_of([named], chinese=False)

    assert not is_spoken(said)


def test_what_an_overview_begins_with_is_not_told_again() -> None:
    told = ["- The mill is a tower. [1]"]

    assert without_lines(
        "Mill (2 documents):\n- The mill is a tower. [1]\n- It burnt. [11]", told
    ) == ("Mill (2 documents):\n- It burnt. [11]")
    assert without_lines("Mill:\n- Notes: The mill is a tower. [1]\n- It burnt. [2]", told) == (
        "Mill:\n- Notes [1]\n- It burnt. [2]"
    )
    assert without_lines("Mill:\n- The mill is a tower. [1]", told).endswith("[1]")
    assert without_lines("Mill:\n- It burnt. [2]", []) == "Mill:\n- It burnt. [2]"


def test_who_heads_an_institution_is_introduced_by_that() -> None:
    text = "Nothing was lost, said Ann Reed, who chairs the company and had filled sandbags."
    said = introduce("Ann Reed", {"Ann Reed"}, [chunk(text)], chinese=False, is_person=True)
    assert said is not None
    assert said.is_told


def test_who_ran_or_led_something_else_is_not_introduced_by_that() -> None:
    assert introduction("Ann Reed, who led the way, came back.", "Ann Reed") == 0
    assert introduction("Ann Reed, who owned nothing, came back.", "Ann Reed") == 0
    assert introduction("Ann Reed, a clever - and kind - teacher, was there.", "Ann Reed") == 3


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("The light of the quay was first lit on 14 October 1887 by Ann Eck.", (1887, 10, 14)),
        ("The horn of the quay was sold to a museum in May 1931 by the board.", (1931, 5, 0)),
        ("Ann Eck was elected mayor of the town of Kelder in 1902 by a few votes.", (1902, 0, 0)),
        ("The march of the keepers of the northern lights began in 1914.", (1914, 0, 0)),
        ("海岛灯塔的管理所于1950年3月2日正式成立。", (1950, 3, 2)),
        ("灯塔始建于1949年，次年5月完工，由海军管理。", (1949, 0, 0)),
    ],
)
def test_an_event_has_the_month_that_stands_at_its_year(
    text: str, date: tuple[int, int, int]
) -> None:
    said = Said(chunk(text), 0, len(text))
    assert dated([said]) == {said: date}


@pytest.mark.parametrize(
    ("text", "is_introducing"),
    [
        ("The purpose of this document is to describe the lamps of the coast.", True),
        ("This handbook explains how lamps are kept.", True),
        ("The purpose of this lamp is to warn ships.", False),
        ("This report will then be sent by the post of the harbour.", False),
        ("This guide will show how lamps are kept.", True),
    ],
)
def test_what_a_document_is_for_introduces_it(text: str, is_introducing: bool) -> None:
    assert introduces(text) is is_introducing


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Summarise the chapter on what to do after a break-in.", "what to do after a break-in"),
        ("What was discussed at the 2016 council meeting?", "the 2016 council meeting"),
        ("Summarise the findings of the report on the fund.", "findings of the report on the fund"),
        ("2012年双方的会谈主要谈了些什么？", "2012年双方的会谈"),
        ("简单概括一下曹操和马超在渭水对阵那一回", "曹操和马超在渭水对阵那一回"),
        ("What do these documents say about the meeting?", ""),
        ("Summarise the part on lamps.", "lamps"),
        ("What does the report say about the invoices?", ""),
        ("What is emberweed?", ""),
        ("总结一下曹操召回的事", ""),
    ],
)
def test_a_part_is_described_by_what_stands_beside_the_word_for_it(
    question: str, part: str
) -> None:
    reading = asked(question)

    assert (reading.part if reading.names_part else "") == part
    assert reading.describes_part is bool(part)


@pytest.mark.parametrize(
    ("question", "name", "is_whole"),
    [
        ("What does the Developer's Reference cover?", "Developer's Reference", True),
        ("Give me an overview of the handbook and how it is organised", "handbook", True),
        ("What does the warranty guide cover?", "warranty guide", False),
        ("What does the council report cover?", "council report", False),
        ("这本手册主要讲什么？", "手册", True),
    ],
)
def test_a_manual_may_be_the_whole_library(question: str, name: str, is_whole: bool) -> None:
    titles = ["1. Scope", "3. A Developer's Duties", "4. The council"]

    assert document_asked(question) == name
    assert is_whole_named(name, titles) is is_whole


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        (
            "## 5.9 Orphaning\n\nIf you can no longer keep a package, you need to say so, and see"
            " that it is marked.\n\nMore is told elsewhere.",
            "If you can no longer keep a package, you need to say so, and see that it is marked.",
        ),
        (
            "Updated, again.\n\nLast revised by Ann.\n\nThe gate opens at noon.",
            "The gate opens at noon.",
        ),
        ("- one\n- two\n\n| a | b |\n| --- | --- |\n| c | d |", None),
        ("这里讨论加密。", None),
    ],
)
def test_a_section_is_opened_by_its_first_whole_sentence(text: str, opening: str | None) -> None:
    said = opening_of([chunk(text)], chinese=False)

    assert (said.text if said else None) == opening


def test_what_was_said_at_a_meeting_is_summed_up() -> None:
    assert asks_to_sum_up("What was discussed and decided at the town council meeting on the dam?")
    assert asks_to_sum_up("诸葛亮去世的那一回讲了些什么？")
    assert not asks_to_sum_up("What was said in reply?")


def test_a_last_sentence_that_only_asks_for_brevity_and_people_who_act_are_no_subject() -> None:
    question = "What is the backup strategy in the book? A short summary, please."
    assert without_closing(question) == "What is the backup strategy in the book?"
    assert asked("Why do people argue about free software?").aspect is None
    assert asked("Give me an overview of what the book has to say on locks.").topic == "locks"


def test_a_document_that_is_only_called_so_is_described_by_nothing() -> None:
    assert not asked("Give me a short tour of this document: who is it for?").describes_part
    assert not asked("Summarise the whole handbook.").describes_part
    assert not asked("请概述一下这本手册").describes_part
    assert not asked("手册里关于雾号(foghorn)都说了哪些").part


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        (
            "There is a section on how the lamps are lit. Sum it up for me.",
            "Summarise the section about how the lamps are lit",
        ),
        (
            "Somewhere it explains how wicks are cut, and why. What does that part say?",
            "Summarise the section about how wicks are cut and why",
        ),
        (
            "What does the report on the missing oil conclude?",
            "Summarise the report about the missing oil",
        ),
        (
            "Please sum up what the harbour board decided in May 1912.",
            "Summarise the meeting about the harbour board decided in May 1912",
        ),
        ("灯被吹灭的那一回，内容是什么？", "概括一下灯被吹灭的那一回"),
        ("灯被吹灭的那一回写了什么？", "概括一下灯被吹灭的那一回"),
    ],
)
def test_a_part_that_a_sentence_describes_is_summed_up(question: str, plain: str) -> None:
    assert without_closing(question) == plain


@pytest.mark.parametrize(
    "question",
    [
        "The contract has a section on termination. What is the main notice period?",
        "There was a report about the fire in 1912. How many people does it say died?",
        "There is a letter about the rent. What sum is owed?",
        "The museum has a page on opening hours. Tell me when it closes on Sunday?",
        "What does the letter of 3 May say?",
        "Summarise what the documents agreed on about lamps.",
        "Summarise what was decided",
        "Summarise what happened before the board voted",
        "What did the article on page 3 report?",
        "What does the document on fire safety say (and who signed it)?",
        "合同里关于违约金的那一节写了什么金额？",
        "宋江喝醉酒的那一回，写了什么诗？",
        "我上次问的那一段，你写了什么？",
    ],
)
def test_a_fact_beside_a_part_that_is_described_is_asked_for(question: str) -> None:
    assert without_closing(question) == question


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Where should a complete beginner begin, and which bits can wait?", True),
        ("where do I start?", True),
        ("What should a newcomer read first?", True),
        ("Which chapter should I read first?", True),
        ("新手该先看哪部分？", True),
        ("这套资料该从哪里看起？", True),
        ("Where does the installer start?", False),
        ("Where do I start the installer?", False),
        ("Where should I click to start?", False),
        ("Where do I begin if the pump leaks?", False),
        ("What do processes read first?", False),
        ("战争从哪里开始？", False),
        ("他从哪年开始学医？", False),
        ("警方从哪里入手调查此案？", False),
        ("故障时先看哪个日志？", False),
        ("医生先看什么？", False),
        ("调试网络问题从哪里入手？", False),
        ("Which page should I start with to install a package?", False),
        ("应该先读哪些文档？", True),
        ("先看哪本书？", True),
        ("What should I read first if I am new?", True),
    ],
)
def test_what_to_read_first_is_asked_by_readers_of_the_whole(question: str, asks: bool) -> None:
    assert asks_where_to_begin(question) is asks


def _units(*names: str, document: str = "") -> list[Unit]:
    return [
        Unit(name, (name,) if document else (), (chunk("Text.", name, document or name),))
        for name in names
    ]


def test_introductions_are_read_first_and_appendices_can_wait() -> None:
    units = _units("Rigging", "Getting started", "Appendix A. Knots", "Sails", "License")
    first, wait = reading_order(units)

    assert [each.title for each in first] == ["Getting started"]
    assert [each.title for each in wait] == ["Appendix A. Knots", "License"]
    assert reading_order(units[3:])[0] == units[3:4]
    assert reading_order(units[3:], is_ordered=False)[0] == []


def test_a_section_is_no_reference_because_its_document_is() -> None:
    units = _units("Branches", "Merging", "Glossary", document="Git Reference Manual")
    first, wait = reading_order(units)

    assert [each.title for each in (*first, *wait)] == ["Branches", "Glossary"]


def test_a_topic_of_one_character_introduces_nothing() -> None:
    text = chunk("The harbour, a deep bay, was closed by ice in winter.")

    assert introduce("C", ["C"], [text], chinese=False, is_person=False) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "The following practices concern the lamp. They supplement the rules. The lamp is lit "
            "by the keeper at dusk every day.",
            "The lamp is lit by the keeper at dusk every day.",
        ),
        ("Here are the rules of the lamp.\n\n- Dusk\n- Dawn", "Here are the rules of the lamp."),
        ("The lamp is lit at dusk. The following days are dark.", "The lamp is lit at dusk."),
        (
            "下面是一些点灯的重要命令。灯塔的灯每天黄昏由守塔人点亮，一直烧到第二天早上天亮为止。",
            "灯塔的灯每天黄昏由守塔人点亮，一直烧到第二天早上天亮为止。",
        ),
    ],
)
def test_a_section_is_told_by_what_it_says_not_by_what_it_announces(text: str, told: str) -> None:
    chunk = Chunk(id="c", document_id="a.md", title="Lamps", text=text, end=len(text))
    said = opening_of([chunk], chinese="灯" in text)
    assert said is not None
    assert said.text == told


@pytest.mark.parametrize(
    ("sentence", "is_about"),
    [
        ("本指南中的所有商标均属于其合法所有者。", True),
        ("译者注：英文双引号包含的中文为软件的功能操作。", True),
        ("All trademarks within this guide belong to their owners.", True),
        ("Gerber 浏览器是一个查看器，最多可以显示32个文件。", False),
        ("《水经注》是一部讲河流的书。", False),
        ("译者注意到原文有两处错误。", False),
        ("公司在1958年注册了商标“海狮”，并开了三家店。", False),
    ],
)
def test_a_sentence_about_rights_or_the_translation_is_known(
    sentence: str, *, is_about: bool
) -> None:
    assert is_of_rights(sentence) is is_about
