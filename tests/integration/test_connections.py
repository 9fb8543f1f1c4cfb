"""How two things are connected, and overviews, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import Answer, KnowledgeEngine
from engine.answering.connection_questions import connection_pairs

TEXTS = {
    "Ada": "# Ada Quill\n\nAda Quill founded the Harbour Press in 1902. "
    "She was born in Port Ansgar.",
    "Press": "# Harbour Press\n\nThe Harbour Press printed the Island Gazette. "
    "Bo Lund bought the Harbour Press in 1931.",
    "Lund": "# Bo Lund\n\nBo Lund was the richest banker of the port of Vesterhamn. "
    "He was the uncle of Ada Stone.",
    "Stone": "# Ada Stone\n\nAda Stone wrote the history of the islands in twelve volumes.",
    "Zoo": "# Zebra House\n\nThe Zebra House in Kelder keeps nine zebras.",
}


@pytest.fixture(scope="module")
def engine(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    folder = tmp_path_factory.mktemp("connections")
    for name, text in TEXTS.items():
        (folder / f"{name}.md").write_text(text, encoding="utf8")
    with open_engine(folder / "library") as engine:
        assert engine.add(folder).failed == ()
        yield engine


def check(engine: KnowledgeEngine, answer: Answer) -> None:
    for citation in answer.citations:
        text = engine.document_text(citation.document_id)
        assert text[citation.start : citation.end] == citation.quote
        assert f"[{citation.number}]" in answer.text


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("How are Ada Quill and Bo Lund connected?", ("Ada Quill", "Bo Lund")),
        ("How is Ada Quill related to the Harbour Press?", ("Ada Quill", "the Harbour Press")),
        ("What links Ada Quill to Bo Lund?", ("Ada Quill", "Bo Lund")),
        ("What is the connection between Ada and Bo?", ("Ada", "Bo")),
        ("What does Ada have to do with Bo?", ("Ada", "Bo")),
        ("How did Ada and Bo know each other?", ("Ada", "Bo")),
        ("How did Ada first meet Bo?", ("Ada", "Bo")),
        ("What's Ada's relationship with the Harbour Press?", ("Ada", "the Harbour Press")),
        ("Is there some kind of link between Ada and Bo?", ("Ada", "Bo")),
        ("陆听澜与沈望舒有什么关系？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒之间的关系是什么？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒两个人是什么关系？", ("陆听澜", "沈望舒")),
        ("说说陆听澜和沈望舒俩人的关系。", ("陆听澜", "沈望舒")),
        ("陆听澜跟沈望舒怎么认识的，两人之间有什么瓜葛", ("陆听澜", "沈望舒")),
        ("陆听澜是怎么跟沈望舒扯上关系的", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒，两人是什么关系？", ("陆听澜", "沈望舒")),
        ("陆听澜与沈望舒，后来有什么关系？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒之间发生过什么？这俩人什么关系", ("陆听澜", "沈望舒")),
        ("陆听澜跟沈望舒什么联系", ("陆听澜", "沈望舒")),
        ("陆听澜 沈望舒 这俩人啥关系", ("陆听澜", "沈望舒")),
        ("陆听澜与沈望舒有什么恩怨，最后怎么样了？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒有没有交情", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒是怎么走到一起的？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒有什么样的关系？", ("陆听澜", "沈望舒")),
        ("陆听澜和沈望舒之间发生过哪些恩怨", ("陆听澜", "沈望舒")),
        ("What's going on between Ada and Bo?", ("Ada", "Bo")),
        ("What is Ada to Bo? She turns up once.", ("Ada", "Bo")),
        ("Is there a link between Ada and Bo, apart from the press?", ("Ada", "Bo")),
        ("Ada and Bo: what have they got to do with each other?", ("Ada", "Bo")),
        ("Ada and Bo, how are they related?", ("Ada", "Bo")),
        ("What's the deal between Ada and Bo?", ("Ada", "Bo")),
        ("Are Ada and Bo related?", ("Ada", "Bo")),
        ("Is Ada somehow related to Bo?", ("Ada", "Bo")),
        ("Does Ada have any connection with Bo?", ("Ada", "Bo")),
        ("What relation is Ada to Bo?", ("Ada", "Bo")),
        ("Are Ada and Bo connected?", ("Ada", "Bo")),
        ("Does Ada have ties to the Harbour Press?", ("Ada", "the Harbour Press")),
        ("How is IT related to HR?", ("IT", "HR")),
        ("Is systemd related to udev?", ("systemd", "udev")),
        ("ada and bo: how are they related?", ("ada", "bo")),
        ("Is Émile related to Zola?", ("Émile", "Zola")),
        ("connection between the pump and the tank", ("the pump", "the tank")),
        ("Who was Ada to Bo?", ("Ada", "Bo")),
        ("What connects I Corps and V Corps?", ("I Corps", "V Corps")),
        ("What does my config have to do with dpkg?", ("my config", "dpkg")),
        ("Tell me about the relationship of Ada and Bo", ("Ada", "Bo")),
        ("connection between Ada and Bo", ("Ada", "Bo")),
        ("Explain how Ada and Bo are related", ("Ada", "Bo")),
        ("Who are Ada and Bo to each other?", ("Ada", "Bo")),
        ("What do the Gull and the Tern have to do with each other?", ("the Gull", "the Tern")),
        ("In The Quay, what is the relationship between Ada and Bo?", ("Ada", "Bo")),
        ("Is Ada related to Bo, and how?", ("Ada", "Bo")),
        ("What is the family connection between Ada and Bo?", ("Ada", "Bo")),
        ("《渔歌》里陆听澜同沈望舒是什么关系？", ("陆听澜", "沈望舒")),
        ("陆听澜与沈望舒之间有什么亲戚关系？", ("陆听澜", "沈望舒")),
        ("陆听澜跟沈望舒原来是什么关系？", ("陆听澜", "沈望舒")),
        ("陆听澜怎么会认识沈望舒？", ("陆听澜", "沈望舒")),
        ("“吕静条款”跟吕静这个人是怎么联系起来的？", ("吕静条款", "吕静")),
        ("《渔歌》和《潮汐》有什么联系？", ("《渔歌》", "《潮汐》")),
        ("《渔歌》的作者和陆听澜是什么关系？", ("《渔歌》的作者", "陆听澜")),
    ],
)
def test_a_question_for_a_connection_names_its_two_ends(
    question: str, pair: tuple[str, str]
) -> None:
    assert pair in connection_pairs(question)


@pytest.mark.parametrize(
    "question",
    [
        "Who founded the Harbour Press?",
        "What is the difference between testing and unstable?",
        "How do I connect to the network?",
        "How do I know which version is installed?",
        "How did they know when to stop?",
        "What is Debian? And how does it relate to Linux?",
        "2018年和2019年之间发生了什么？",
        "我怎么跟客服联系？",
        "请问如何与管理员联系？",
        "陆听澜干嘛非要打陶启，跟青屿有啥仇",
        "陆听澜和谁有仇？",
        "我应该如何与上游维护者联系？",
        "陆听澜是谁？他和沈望舒有什么关系？",
        "What is between the galley and the engine room?",
        "What is Introduction to Algorithms?",
        "Who was the Ambassador to France?",
        "Who is Ambassador to France?",
        "Is my package related to security?",
        "Is it related to the kernel?",
        "Is anyone related to Fitzwilliam Darcy?",
        "How is it connected to the Harbour Press?",
        "How are they connected to each other?",
        "What do I have to do with a lost Yale Key?",
        "What links this to Scrooge?",
        "How do you and the client meet?",
        "What is Ambassador to France?",
        "Was any character related to Georgiana Darcy?",
        "Do users have a link to the mirrors?",
        "In Pride and Prejudice, how did they meet?",
        "Who is Special Envoy to Syria?",
        "What link is used to download Debian?",
        "What was the deal between Microsoft and Nokia worth?",
        "Is there anything related to backups?",
        "Do packages have any relations with each other?",
        "Which packages are related to apt?",
        "What is the history between 1993 and 1996?",
        "How did Holmes know Watson had been in Afghanistan?",
        "How does Debian meet FIPS requirements?",
        "他怎么认识她的",
        "小孩子怎么认识字？",
        "应该如何认识曹操？",
        "人们是怎么认识到地球是圆的？",
        "大家怎么认识彼此的？",
        "Tell me how many servers and clients are connected",
        "Explain how to check that A and B are connected",
        "In 1993, what is the link between them?",
        "岛上和船上有什么？",
        "沈望舒是谁？",
        'What does "" have to do with Ada Quill?',
    ],
)
def test_other_questions_ask_for_no_connection(question: str) -> None:
    assert connection_pairs(question) == []


def test_a_way_through_a_third_thing_has_a_sentence_for_each_step(engine: KnowledgeEngine) -> None:
    answer = engine.ask("How are Ada Quill and Bo Lund connected?")

    check(engine, answer)
    assert not answer.abstained
    assert "through Harbour Press" in answer.text
    assert "Ada Quill founded the Harbour Press in 1902." in answer.text
    assert "Bo Lund bought the Harbour Press in 1931." in answer.text


def test_a_sentence_on_the_page_of_one_that_names_the_other_connects_them(
    engine: KnowledgeEngine,
) -> None:
    answer = engine.ask("How are Bo Lund and Ada Stone related?")

    check(engine, answer)
    assert answer.text == (
        "Bo Lund and Ada Stone are directly connected: [Bo Lund] was the uncle of Ada Stone. [1]"
    )


def test_a_story_tells_a_connection_in_its_order_from_its_beginning_to_its_end(
    open_engine, tmp_path: Path
) -> None:
    deeds = ["met", "fought", "sued", "cheated", "robbed", "missed", "visited", "married"]
    text = "\n\n".join(f"In the end Anna Rudd {deed} Tom Vale in the old mill." for deed in deeds)
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(f"# The Mill\n\n{text}\n", document_id="mill", title="The Mill")
        answer = engine.ask("How are Anna Rudd and Tom Vale connected?")

    told = [deed for line in answer.text.splitlines() for deed in deeds if f" {deed} " in line]
    assert len(told) >= 4
    assert told[1:] == sorted(told[1:], key=deeds.index)
    assert {deeds[0], deeds[-1]} <= {*told}


def test_what_is_not_connected_is_said_to_be_so_with_what_is_nearest(
    engine: KnowledgeEngine,
) -> None:
    apart = engine.ask("How are Ada Quill and the Zebra House connected?")
    unknown = engine.ask("How are Ada Quill and Napoleon connected?")

    assert apart.abstained
    assert "No statement in these documents connects" in apart.text
    assert unknown.abstained
    assert "Napoleon is not among the names known from these documents." in unknown.text
    assert "Ada Quill founded the Harbour Press in 1902." in unknown.text
    check(engine, apart)
    check(engine, unknown)


def test_a_thing_that_is_described_by_words_of_the_documents_is_searched_for(
    engine: KnowledgeEngine,
) -> None:
    answer = engine.ask("What has Ada Quill to do with whoever founded a press of harbours?")

    assert "among the names known" not in answer.text
    assert "Ada Quill founded the Harbour Press in 1902." in answer.text
    check(engine, answer)


def test_an_overview_lists_topics_with_sentences_that_stand_in_their_documents(
    engine: KnowledgeEngine,
) -> None:
    answer = engine.ask("What are the main topics of these documents?", mode="global")

    check(engine, answer)
    assert answer.text.startswith("5 documents, one by one.")
    assert len({citation.document_id for citation in answer.citations}) >= 4


def test_an_overview_of_a_subject_tells_of_it_alone(engine: KnowledgeEngine) -> None:
    answer = engine.ask("What do these documents say about the Harbour Press?", mode="global")

    check(engine, answer)
    assert answer.citations
    assert "zebra" not in answer.text.lower()


def test_a_book_of_many_chapters_is_told_by_their_titles_in_order(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("book")
    numbers = "一二三四五六七八九"
    deeds = ("借箭", "渡江", "烧营", "问路", "守城", "求医", "还书", "赠马", "归乡")
    chapters = [
        f"第{number}回 赵明{deed}\n\n"
        + "".join(f"却说赵明第{day}日在城中{deed}，众人都来看他，热闹了半天。" for day in range(40))
        + "\n"
        for number, deed in zip(numbers, deeds, strict=True)
    ]
    (folder / "book.txt").write_text("\n".join(chapters), encoding="utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("这本书主要讲了什么？")
        check(engine, answer)

    told = [line for line in answer.text.splitlines() if re.match(r"(?:- )?第.回", line)]
    assert answer.text.startswith("《book》，一份文档，分为 9 个部分。")
    assert [deed in line for deed, line in zip(deeds, told, strict=True)] == [True] * 9
    assert not answer.abstained


@pytest.mark.parametrize(
    ("question", "is_of_book"),
    [
        ("What does the lighthouse handbook cover?", True),
        ("Summarize the Lighthouse Handbook.", True),
        ("What is in the lighthouse handbook?", True),
        ("What does the harbour handbook cover?", False),
    ],
)
def test_what_a_book_of_the_library_covers_is_told_by_its_chapters(
    open_engine, tmp_path_factory: pytest.TempPathFactory, question: str, is_of_book: bool
) -> None:
    folder = tmp_path_factory.mktemp("shelf")
    book, other = folder / "lamps", folder / "sea"
    for home, name, parts in (
        (book, "The Lighthouse Handbook", ("Oil", "Glass", "Fog", "Wages")),
        (other, "Tides of the Sound", ("Spring", "Neap", "Storm", "Slack")),
    ):
        home.mkdir()
        (home / "index.md").write_text(f"# {name}\n\nThis book is for keepers.\n", "utf8")
        for number, part in enumerate(parts, 1):
            text = f"# Chapter {number}. {part}\n\nThe keeper reads of {part.lower()} every day.\n"
            (home / f"{number}.md").write_text(text, "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask(question)
        check(engine, answer)

    told = {citation.document_id.split("/")[-2] for citation in answer.citations}
    is_told = answer.mode == "global" and told == {"lamps"}
    assert is_told is is_of_book
    if is_of_book:
        assert "- Oil [" in answer.text
        assert "Wages" in answer.text


def test_what_is_said_about_a_topic_comes_from_all_documents_and_lists_a_chapters_pages(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Not from the one document alone that is called as the topic is."""
    folder = tmp_path_factory.mktemp("topic")
    pages = {
        "1": ("Chapter 1. Oil", "Oil is dear on every coast of the north."),
        "2": (
            "Chapter 2. Storms",
            "Storms come from the west, and storms last for days.",
        ),
        "2b": ("2.2. Shutters", "Shutters are closed by the keeper."),
        "2c": ("2.10. Sandbags", "Sandbags are laid before the door."),
        "3": ("Chapter 3. Pay", "Pay is low, and after storms the keeper is paid twice."),
    }
    for name, (title, text) in pages.items():
        (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n", "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What do these documents say about storms?")
        check(engine, answer)

    assert answer.mode == "global"
    assert {citation.title for citation in answer.citations} >= {
        "Chapter 2. Storms", "Chapter 3. Pay",
    }  # fmt: skip
    assert "Further sections: Shutters; Sandbags" in answer.text


@pytest.mark.parametrize("deed", [" {name} Buys a Boat.", ""])
def test_a_long_book_is_told_by_groups_of_chapters_and_the_names_that_stand_out(
    open_engine, tmp_path_factory: pytest.TempPathFactory, deed: str
) -> None:
    """Written with the line ends of Windows; with titles of chapters, and with bare numbers."""
    people = ("Mr. Brine", "Mrs. Reed", "Captain Vale", "Dr. Marsh")
    cargo = "apples barley candles dulse eggs flour ginger honey ivory jars kelp lamps maps nails "
    cargo += "oats paper quills rope salt tin umbrellas vinegar wool yeast"
    goods = cargo.split()
    chapters = []
    for number in range(1, 25):
        name = people[(number - 1) // 6]
        day = (
            f"{name} bought {goods[number - 1]} for the long voyage from Mr. Hale at the harbour. "
        )
        title = f"CHAPTER {number}.{deed.format(name=name)}\n\n"
        chapters.append(title + "\n\n".join([day * 4, f"{name} sailed on the evening tide."] * 6))
    folder = tmp_path_factory.mktemp("long")
    (folder / "book.txt").write_bytes("\n\n\n".join(chapters).replace("\n", "\r\n").encode())
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What is this book about?")
        check(engine, answer)

    heads = [line for line in answer.text.splitlines() if line.startswith("Chapter ")]
    assert "one document in 24 parts" in answer.text
    assert len(heads) == 8
    assert [name for head in heads for name in people if name in head] == [
        people[0], people[0], people[1], people[1], people[2], people[2], people[3], people[3],
    ]  # fmt: skip
    assert heads[-1].startswith("Chapter 22 – Chapter 24 (")
    assert answer.text.count("Buys a Boat") == (24 if deed else 0)


def test_a_story_about_a_person_is_told_part_by_part(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("story")
    deeds = ("left the harbour in a storm", "lost the mast", "met the captain", "came home")
    chapters = [
        f"Chapter {number}\n\nIt rained on the quay all day long. "
        + f"Mrs. Finch {deed} on that long morning of the voyage. "
        + "The gulls sat on the wall and waited for fish. " * 4
        + "Mr. Reed sold rope to Mrs. Finch beside the old mill."
        for number, deed in enumerate(deeds, start=1)
    ]
    (folder / "voyage.txt").write_text("The Voyage\n\n" + "\n\n\n".join(chapters), "utf8")
    with open_engine(folder / "library", graph={}) as engine:
        engine.add(folder / "voyage.txt")
        answer = engine.ask("Tell me the story of Mrs. Finch.", mode="global")
        fate = engine.ask("What happens to Mrs. Finch in this book?")
        check(engine, answer)

    assert answer.text.startswith("The Voyage, on Mrs. Finch, part by part:")
    assert [deed for deed in deeds if deed in answer.text] == list(deeds)
    assert fate.mode == "global"
    assert fate.text.startswith("The Voyage, on Mrs. Finch, part by part:")


def test_what_one_is_to_the_other_is_told_before_sentences_that_only_name_both(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cast")
    (folder / "play.md").write_text(
        "# The Quay\n\nOrla Finch and Tam Reed walked along the quay on Sunday.\n\n"
        "“Come in, Tam Reed!” said Orla Finch’s cook.\n\n"
        "The cast:\n\n- Tam Reed, Orla Finch's nephew.\n- Ned Gale, a clerk to Tam Reed.\n",
        encoding="utf8",
    )
    with open_engine(folder / "library") as engine:
        engine.add(folder / "play.md")
        kin = engine.ask("How are Orla Finch and Tam Reed connected?")
        work = engine.ask("How is Ned Gale related to Tam Reed?")

    assert kin.text.splitlines()[0].endswith("connected: Tam Reed, Orla Finch's nephew. [1]")
    assert "cook" not in kin.text
    assert work.text.splitlines()[0].endswith("connected: Ned Gale, a clerk to Tam Reed. [1]")


def test_a_sentence_beside_one_that_tells_of_a_tie_comes_first(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tie")
    (folder / "tale.md").write_text(
        "# 渔歌\n\n次日，李远先行，引周海入城去见县令。县令待他们以上宾之礼，留在馆中。\n\n"
        "李远守南门，令周海守北门，各带二百人马。原来周海有一妹，嫁与他为妻。\n",
        encoding="utf8",
    )
    with open_engine(folder / "library") as engine:
        engine.add(folder / "tale.md")
        told = engine.ask("李远和周海是什么关系？").text

    assert "有一妹" in told.splitlines()[0]


def test_what_the_question_finds_and_names_in_other_letters_are_read_for_a_connection(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tools")
    texts = {
        "tools": "# Packages\n\nThe FOB tool and the KRG tool are on each machine. FOB is old.",
        "which": "# Which one\n\n`krg` is the backend, and `fob` is a tool closer to the user.",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What is the relationship between FOB and KRG?")
        check(engine, answer)

    assert "is the backend" in answer.text


def test_words_that_no_entity_is_called_by_are_connected_through_what_is_named_beside_them(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("words")
    texts = {
        "song": "# Lark Hour\n\nLark Hour is a slow air that was written by Mara Quince.",
        "quince": "# Mara Quince\n\nMara Quince was born beside the old lime kilns. She sang.",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("How are Lark Hour and the old lime kilns connected?")
        check(engine, answer)

    assert answer.text.splitlines()[0].endswith("are connected through Mara Quince:")
    assert "2. Mara Quince – old lime kilns: Mara Quince was born beside" in answer.text


def test_numbered_documents_of_a_folder_are_told_as_a_book_with_its_chapters(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("books") / "keeping"
    folder.mkdir()
    texts = {
        "index": "# The Keeper's Handbook\n\nThis handbook explains how bees are kept on islands.",
        "hives": "# Chapter 1. Hives\n\nA hive is a box in which bees live through the winter.",
        "frames": "# 1.2. Frames\n\nA frame is a piece of wood that holds a comb of wax.",
        "honey": "# Chapter 2. Honey\n\nHoney is the food that bees make of nectar in summer.",
        "swarms": "# Chapter 10. Swarms\n\nA swarm is a queen with half of the bees of a hive.",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf8")
    with open_engine(folder.parent / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What are the main topics of these documents?")
        check(engine, answer)

    assert answer.text.startswith("5 documents, in one book.")
    assert "The Keeper's Handbook (5 documents):\n- This handbook explains" in answer.text
    assert re.search(r"- Hives \[\d\]: Frames\n- Honey \[\d\]\n- Swarms \[\d\]", answer.text)


def test_chapters_of_a_book_are_told_with_their_sections_and_not_by_its_licence(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("manual") / "lamps"
    folder.mkdir()
    (folder / "1.md").write_text(
        "# 1. Scope\n\nThis manual is free software under the terms of a public licence.\n\n"
        "The purpose of this manual is to describe how lamps are kept on the northern islands.\n"
        "\n```sh\n## wipe the lens first\n```\n",
        "utf8",
    )
    for number, (title, sections) in enumerate(
        (("Oil", ("Buying oil", "Storing oil")), ("Glass", ("Cleaning", "Cutting glass"))), 2
    ):
        told = "".join(f"## {each}\n\nThe keeper does this each day.\n\n" for each in sections)
        (folder / f"{number}.md").write_text(f"# {number}. {title}\n\n{told}", "utf8")
    with open_engine(folder.parent / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What are the main topics of these documents?")
        check(engine, answer)

    assert "- The purpose of this manual is to describe how lamps" in answer.text
    assert "free software" not in answer.text
    assert re.search(r"- Oil \[\d\]: Buying oil; Storing oil\n", answer.text)
    assert "wipe the lens" not in answer.text


def test_the_parts_of_a_book_stand_above_their_chapters(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("parts") / "lamps"
    folder.mkdir()
    listed = (
        "# Contents\n\n### Part I: Using Lamps\n\n- Chapter 1: Oil\n- Chapter 2: Wicks\n\n"
        "### Part II: Making Lamps\n\n- Chapter 3: Glass\n- Chapter 4: Brass\n\n## How to order\n"
    )
    (folder / "index.md").write_text(listed, "utf8")
    for name in ("Oil", "Wicks", "Glass"):
        text = f"# {name}\n\nThe keeper of the light reads of {name.lower()} in the evening.\n"
        (folder / f"{name.lower()}.md").write_text(text, "utf8")
    with open_engine(folder.parent / "library") as engine:
        engine.add(folder)
        answer = engine.ask("What are the main topics of these documents?")
        check(engine, answer)

    assert re.search(
        r"Part I: Using Lamps:\n- Oil \[\d\]\n- Wicks \[\d\]\n"
        r"Part II: Making Lamps:\n- Glass \[\d\]\n- Brass \[\d\]",
        answer.text,
    )


def test_dated_events_of_both_languages_are_told_in_order_with_their_dates(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("dates")
    texts = {
        "light": "# Light\n\nThe light of Quay Head was first lit on 14 October 1887 by Ann Eck.",
        "horn": "# Horn\n\nThe horn of Quay Head was sold to a museum of the mainland in May 1931.",
        "fire": "# Fire\n\nThe oil store of Quay Head was burnt down by lightning in 1902.",
        "zh": "# 灯塔\n\n海岛灯塔的管理所于1950年3月2日正式成立，负责全岛的灯光。",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, "utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        answer = engine.ask("请按时间顺序列出这些文件里的大事。")
        check(engine, answer)

    dates = re.findall(r"^- (\d{4}年[\d月日]*)：", answer.text, re.M)
    assert dates == ["1887年10月14日", "1902年", "1931年5月", "1950年3月2日"]


def test_a_shortened_name_and_one_with_its_class_are_what_is_usually_called_so(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("names")
    texts = {
        "bank": "# Bank of Vey\n\nThe Bank of Vey was founded by Tam Reed. The Bank of Vey lends.",
        "old": "# Bank of Old Vey\n\n" + "The Bank of Old Vey was robbed by Ned Gale. " * 9,
        "line": "# Marlow Steam Packet Company\n\nThe Marlow Steam Packet Company was founded by "
        "Tam Reed. The Marlow Steam Packet Company carried coal. The old Marlow company is gone.",
        "gull": "# Grey Gull\n\nThe Grey Gull was built for Tam Reed. The Grey Gull was a barge. "
        "In May the barge Grey Gull sank. The Grey Gull was raised.",
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf8")
    with open_engine(folder / "library") as engine:
        engine.add(folder)
        company = engine.ask("How are the Marlow company and Tam Reed connected?")
        barge = engine.ask("How are the barge Grey Gull and Tam Reed connected?")
        bank = engine.ask("How are the Bank of Vey and Tam Reed connected?")

    assert company.text.startswith("Marlow Steam Packet Company and Tam Reed are directly")
    assert barge.text.startswith("Grey Gull and Tam Reed are directly connected")
    assert bank.text.startswith("Bank of Vey and Tam Reed are directly connected")


def test_sentences_near_each_other_connect_what_each_of_them_names(
    open_engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("near")
    (folder / "fund.md").write_text(
        "# The audit\n\nOrla Finch kept the accounts of the harbour. She counted the ships every "
        "May. One of them was never there. So the fraud of Ned Gale came to light.\n",
        encoding="utf8",
    )
    with open_engine(folder / "library") as engine:
        engine.add(folder / "fund.md")
        answer = engine.ask("How are Orla Finch and Ned Gale connected?")

    assert answer.text.startswith("Orla Finch and Ned Gale are directly connected: Orla Finch kept")
    assert "So the fraud of Ned Gale came to light. [1]" in answer.text


LETTERS = {
    "Vey": "# Vey\n\nAda Quill and Bo Lund both came to Vey in May. The Vey mail is slow.\n",
    "Mail": "# Mail\n\n----------------------------\nFrom: Ada Quill\nTo: Bo Lund\n"
    "Date: 5 May\n\nThe boat is late again this week.\n",
    "Kin": "# Boats\n\nThe boat belongs to Bo Lund, the uncle of Ada Quill.\n",
}


def test_the_header_of_a_letter_comes_behind_what_a_sentence_says(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in LETTERS.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("How are Ada Quill and Bo Lund connected?", mode="local")

    first, *others = answer.text.splitlines()
    assert "the uncle of Ada Quill" in first
    assert all("From:" not in each for each in others[:1])
    assert "----" not in answer.text


APART = {
    "Finch": "# Orla Finch\n\nOrla Finch keeps the lamp of the harbour. The lamp burns oil. The "
    "oil comes by boat. The boat comes on Fridays. The song Grey Tide was put into Dutch by its "
    "keeper in 1912.\n",
    "Tide": "# Songs\n\nGrey Tide is the oldest song of the island. Ned Gale sings Grey Tide.\n",
    "Vey": "# Vey\n\nOrla Finch went to Vey. Kit Moss was the baker of Kelder.\n",
}


def test_what_no_sentence_connects_is_searched_for_where_a_passage_names_both(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in APART.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        told = engine.ask("How are Orla Finch and Grey Tide connected?", mode="local")
        apart = engine.ask("How are Kit Moss and Grey Tide connected?", mode="local")

    assert not told.abstained
    assert "was put into Dutch by its keeper" in told.text
    assert {each.document_id for each in told.citations} == {"Finch"}
    assert apart.abstained
    assert apart.text.startswith("No statement in these documents connects")


ROUNDABOUT = {
    "Finch": "# Orla Finch\n\nOrla Finch is the sister of Ned Gale.\n",
    "Gale": "# Ned Gale\n\nNed Gale is the captain of the Grey Gull.\n",
    "Winter": "# The winter\n\nThe loss of the Grey Gull in the storm was the work of the lamp. "
    "The lamp had gone out. The oil had frozen. The wick had not been cut. The door stood open. "
    "The key of the lamp hung with Orla Finch, who had left and is connected to the loss.\n",
}


def test_a_passage_that_names_both_is_told_in_place_of_a_way_through_others(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in ROUNDABOUT.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("How are Orla Finch and the Grey Gull connected?", mode="local")
        check(engine, answer)

    (step,) = [step for step in answer.trace if step.stage == "connect"]
    assert "search names both" in step.detail
    assert answer.citations[0].document_id == "Winter"


FAR = {
    "Finch": "# Orla Finch\n\nOrla Finch is the sister of Ned Gale.\n",
    "Gale": "# Ned Gale\n\nNed Gale is the captain of the Grey Gull.\n",
    "Gull": "# The Grey Gull\n\nThe Grey Gull was built by Kit Moss in 1912.\n",
    "Fever": "# The fever\n\nFinch and Moss were connected by the fever of that winter, which "
    "both of them survived on the island.\n",
}


def test_search_answers_where_a_connection_leads_through_several_others(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in FAR.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("How are Orla Finch and Kit Moss connected?", mode="local")
        check(engine, answer)

    (step,) = [step for step in answer.trace if step.stage == "connect"]
    assert "by 2 other(s); search is told" in step.detail
    assert "the fever of that winter" in answer.text


def test_documents_that_name_both_apart_say_what_they_tell_of_the_rarer(
    open_engine, tmp_path: Path
) -> None:
    pages = {
        "Kin": "# Boats\n\nOrla Finch is the sister of Ned Gale. Ned Gale sails.\n",
        "Strike": "# The strike\n\nOrla Finch asked for the books of the harbour to be opened. "
        "She was refused.\n\n## Later\n\nThe men went home. Years passed. The harbour was sold. "
        "The lamp went out. Ned Gale was mayor by then.\n",
        "Mayor": "# Mayors\n\nNed Gale was mayor of the island for nine years.\n",
    }
    with open_engine(tmp_path / "library") as engine:
        for name, text in pages.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("How are Orla Finch and Ned Gale connected?", mode="local")
        check(engine, answer)

    assert "the sister of Ned Gale" in answer.text.splitlines()[0]
    assert "- The strike: Orla Finch asked for the books" in answer.text


FESTIVAL = {
    "festival": "# The Foghorn Festival\n\n## Origins\n\nThe festival was founded by a fiddler in "
    "the summer of 1996.\n\n## Money\n\nThe festival owns a kettle and pays no act more than "
    "twenty crowns.\n",
    "inquiry": "# The inquiry\n\nThe inquiry found that the festival was robbed by its clerk.\n",
    "harbour": "# The harbour\n\nThe harbour was built of oak and stone by men of the island.\n",
}


@pytest.mark.parametrize(
    ("question", "is_of_one"),
    [
        ("Give me a summary of how the foghorn festival began.", True),
        ("What do these documents say about the foghorn festival?", False),
        ("Summarise what is told of robbery.", False),
    ],
)
def test_what_is_to_be_summed_up_is_told_by_the_document_called_so(
    open_engine, tmp_path: Path, question: str, is_of_one: bool
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in FESTIVAL.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask(question)
        check(engine, answer)

    assert answer.text.startswith("The Foghorn Festival, one document in 2 parts") is is_of_one
    if is_of_one:
        assert {citation.document_id for citation in answer.citations} == {"festival"}
        assert answer.text.index("Origins:") < answer.text.index("Money:")
