"""Four ways through a library for a question about the whole, without a model and with one."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Reply, Request

from engine import Answer, KnowledgeEngine
from engine.answering.global_search.context import Effort, Selection
from engine.answering.global_search.search import GlobalAnswerer
from engine.embeddings.tokenizer import load_tokeniser
from engine.errors import ModelOutputError, ModelUnavailable, QuestionError
from engine.events import TokensEvent
from engine.storage.graph_api import Report, read_reports
from engine.storage.schema import document_filter

WAYS: tuple[Selection, ...] = ("fixed", "dynamic", "lazy", "drift")
QUESTION = "What conflicts were there over the cable and its repair fund?"
GENERIC = "What are the main themes across these documents?"
CHINESE_GENERIC = "这些文件的主要主题是什么？"
CHINESE = "这些文件反映了海底电缆的哪些主要问题？"

EveryWay = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def library(open_engine, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("global") / "library"
    with open_engine(path) as engine:
        assert engine.add(corpus).failed == ()
    return path


@pytest.fixture(scope="module")
def free(open_engine, library: Path) -> Iterator[KnowledgeEngine]:
    with open_engine(library) as engine:
        yield engine


@pytest.fixture
def written(open_engine, openai_server, library: Path, tmp_path: Path) -> Iterator[KnowledgeEngine]:
    """On a copy of the library: what a model answered is kept in it."""
    own = Path(shutil.copytree(library, tmp_path / "library"))
    llm = openai_server.settings(retries=0)
    with open_engine(own, llm=llm, graph={"spacy_model": "none", "reports": "extractive"}) as e:
        openai_server.answer_with(Model())
        yield e


def overview(engine: KnowledgeEngine, way: Selection, effort: Effort = "medium") -> GlobalAnswerer:
    return engine._whole.queries._components.overview.with_selection(way, effort=effort)


def check_quotes(engine: KnowledgeEngine, answer: Answer) -> None:
    assert answer.citations
    for citation in answer.citations:
        text = engine.document_text(citation.document_id)
        assert text[citation.start : citation.end] == citation.quote


class Model:
    """Plays every part: rates reports, makes points of lines, asks further, writes the overview.

    `fails` says which requests are answered with an error.
    """

    def __init__(self, fails: Callable[[str, int], bool] = lambda stage, number: False) -> None:
        self.fails = fails
        self.stages: Counter[str] = Counter()

    def __call__(self, request: Request) -> Reply:
        system, user = (str(message["content"]) for message in request.body["messages"])
        stage = next(
            (
                name
                for name, mark in (
                    ("rate", '{"ratings"'), ("explore", '"questions":'), ("map", '{"points"'),
                    ("report", '{"reports"'),
                )
                if mark in system
            ),
            "reduce",
        )  # fmt: skip
        self.stages[stage] += 1
        if self.fails(stage, self.stages[stage]):
            return Reply(status=500)
        numbers = [int(digits) for digits in re.findall(r"^\[(\d+)\]", user, re.MULTILINE)]
        return Reply(self.reply(stage, numbers, user))

    def reply(self, stage: str, numbers: list[int], user: str) -> str:
        if stage == "rate":
            rows = [{"report": n, "rating": 90 if n % 2 else 10} for n in numbers]
            return json.dumps({"ratings": rows})
        if stage == "report":
            return json.dumps({"reports": [_written_report(user, n) for n in _groups(user)]})
        if stage == "reduce":
            return " ".join(f"Point {n} matters. [{n}]" for n in numbers[:6])
        rows = [
            {"text": f"What line {n} says.", "score": 90 - n % 50, "sources": [n]}
            for n in numbers[::3]
        ]
        questions = ["Who is Rosalind Achterberg?", "What is the Open Tide Charter?"]
        return json.dumps({"points": rows, "questions": questions})


def _groups(user: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"^# (\d+)$", user, re.MULTILINE)]


def _written_report(user: str, number: int) -> dict[str, object]:
    own = re.split(r"^# \d+$", user, flags=re.MULTILINE)[number]
    lines = re.findall(r"^\[(\d+)\] (.*)$", own, re.MULTILINE)[:5]
    found = [{"text": f"Finding: {text}", "sources": [int(n)]} for n, text in lines]
    return {"n": number, "title": f"Written topic {number}", "summary": "A summary by the model.",
            "rating": 5, "reason": "", "findings": found}  # fmt: skip


def shown_tokens(server: OpenAIServer) -> int:
    count = load_tokeniser().count
    messages = [message for request in server.requests for message in request.body["messages"]]
    return sum(count(str(message["content"])) for message in messages)


@EveryWay
@pytest.mark.parametrize(
    "question", [QUESTION, GENERIC, CHINESE_GENERIC], ids=["en", "generic", "zh"]
)
def test_without_a_model_every_way_answers_with_quotes_at_their_places(
    free: KnowledgeEngine, way: Selection, question: str
) -> None:
    answer = overview(free, way).answer(question)

    check_quotes(free, answer)
    assert len({citation.document_id for citation in answer.citations}) >= 4
    assert answer.usage.calls == 0
    assert answer.trace[-1].stage == "reduce"
    assert answer == _without_times(answer, overview(free, way).answer(question))


def _without_times(first: Answer, second: Answer) -> Answer:
    steps = tuple(
        replace(step, seconds=before.seconds)
        for step, before in zip(second.trace, first.trace, strict=True)
    )
    return replace(second, trace=steps)


@EveryWay
def test_nothing_is_told_of_documents_that_the_asker_may_not_see(
    free: KnowledgeEngine, way: Selection
) -> None:
    # A title also names documents in other folders: only the citations' own ids are compared.
    within = document_filter({"title": ["Open Tide Charter", "Emberweed", "Ballad of Jory Pell"]})
    for question in (QUESTION, GENERIC):
        answer = overview(free, way).answer(question, within=within)
        titles = {citation.title for citation in answer.citations}
        assert titles <= {"Open Tide Charter", "Emberweed", "Ballad of Jory Pell"}


@EveryWay
def test_an_empty_library_abstains(open_engine, tmp_path: Path, way: Selection) -> None:
    with open_engine(tmp_path / "library") as engine:
        assert overview(engine, way).answer(GENERIC).abstained
        assert overview(engine, way).answer(QUESTION).abstained


def test_documents_of_one_title_are_all_listed(open_engine, tmp_path: Path) -> None:
    texts = ("The harbour was built in 1901 by the engineer Anna Reed.",
             "The bakery of Milltown sells forty loaves of rye bread every day.")  # fmt: skip
    with open_engine(tmp_path / "library") as engine:
        for number, text in enumerate(texts):
            engine.add_text(text, title="Notes", document_id=f"notes-{number}")
        answer = engine.ask("What are these documents about?")

    assert "Notes:" in answer.text
    assert "Notes (notes-1)" in answer.text


def test_what_is_about_a_subject_is_told_first_with_its_sections(free: KnowledgeEngine) -> None:
    answer = free.ask("What do these documents say about the Averill Inquiry?", mode="global")
    first, *others = answer.text.split("\n\n")[1:]
    assert first.splitlines()[0] == "The Averill Inquiry:"
    assert len(first.splitlines()) > 4
    assert {"The fund", "The invoices", "The discovery"} <= {
        line[2:].partition(":")[0] for line in first.splitlines()
    }
    assert any("Averill Inquiry" in each for each in others)


@pytest.mark.parametrize(
    ("subject", "said", "left_out"),
    [("money", "EUR", "Recommendation"), ("the invoices", "seventeen invoices", "chandelier")],
)
def test_a_document_is_asked_what_it_says_of_a_subject(
    free: KnowledgeEngine, subject: str, said: str, left_out: str
) -> None:
    """Of an aspect as of a subject; nothing of other documents, and not all that it tells."""
    question = f"What does the Averill inquiry report say about {subject}?"
    answer = free.ask(question, mode="global")
    assert {each.document_id.rpartition("/")[2] for each in answer.citations} == {
        "averill-inquiry-report.pdf"
    }
    assert said in answer.text
    assert left_out not in answer.text


TOLD = {
    "ferry": "# Ferry\n\nThe Grey Gull is a ferry that crosses the sound twice a day. "
    "It was built in 1901 for the mail.\n",
    "harbour": "# Harbour\n\nThe harbour of Vey was dug in 1880. Its quay is of stone.\n\n"
    "The Grey Gull has a berth of its own at the long quay. A lamp hangs over it at night.\n",
    "gulls": "# Gulls\n\nA gull eats fish and bread. The grey ones nest on the cliffs of Vey.\n",
    "school": "# School\n\nThe school of Vey has two rooms. Sixty children are taught there.\n",
}


@pytest.mark.parametrize(
    "question",
    ["What do these documents say about the ferry Grey Gull?", "请概述一下渡轮Grey Gull。"],
)
def test_a_subject_is_told_by_sentences_that_belong_together(
    open_engine, tmp_path: Path, question: str
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in TOLD.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask(question, mode="global")

    quotes = {each.document_id: each.quote for each in answer.citations}
    assert {"ferry", "harbour"} == set(quotes)
    assert "crosses the sound twice a day. It was built in 1901" in quotes["ferry"]
    assert "berth of its own at the long quay. A lamp hangs over it" in quotes["harbour"]


HANDBOOK = {
    "fire": "# Fire\n\nTo put out a fire, you need to close the doors first.\n\n"
    "## Alarm\n\nIf you see smoke, you should ring the bell at the stairs.\n\n"
    "## Way out\n\nUse the stairs on the north side, and see that no child is left.\n\n"
    "## Afterwards\n\nWhen all have left, you need to count them in the yard.\n",
    "lessons": "# Lessons\n\nThe first lesson begins at eight.\n\n"
    "## Reading\n\nThe children read aloud from the grey book.\n\n"
    "## Sums\n\nThe children write sums on slates.\n",
}


def test_a_chapter_that_is_described_is_told_section_by_section(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for name, text in HANDBOOK.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("Summarise the chapter on how to leave when there is smoke.")
        absent = engine.ask("Summarise the chapter on quantum cryptography.")

    assert "Alarm" not in absent.text
    heads = [block.partition(":\n")[0] for block in answer.text.split("\n\n")]
    assert {each.document_id for each in answer.citations} == {"fire"}
    assert [one for one in heads if one in ("Alarm", "Way out", "Afterwards")] == [
        "Alarm", "Way out", "Afterwards",
    ]  # fmt: skip
    assert "If you see smoke, you should ring the bell at the stairs." in answer.text


def test_a_chapter_is_told_by_its_number_of_the_book_that_is_named(
    open_engine, tmp_path: Path
) -> None:
    books = {"lamps": ("Oil", "Wicks", "Fog"), "sails": ("Ropes", "Masts", "Wind")}
    for book, things in books.items():
        (tmp_path / book).mkdir()
        (tmp_path / book / "index.md").write_text(f"# The {book.title()} Guide\n\nOn {book}.\n")
        for number, thing in enumerate(things, 1):
            (tmp_path / book / f"{number}.md").write_text(
                f"# Chapter {number}. {thing}\n\n{thing} are kept dry in the loft.\n\n"
                f"## {number}.1. Care of {thing}\n\nThe keeper counts them every week.\n\n"
                f"## {number}.2. Price of {thing}\n\nThe harbour pays for them in spring.\n"
            )
    with open_engine(tmp_path / "library") as engine:
        engine.add([tmp_path / "lamps", tmp_path / "sails"])
        numbered = engine.ask("What does chapter 2 of the Sails Guide say?")
        section = engine.ask("Summarise section 3.2 of the lamps guide.")
        titled = engine.ask('Summarise the part called "Care of Wicks".')
        several = engine.ask("Summarise chapters 1 and 2 of the Sails Guide.")
        absent = engine.ask("Summarise chapters 2 to 9 of the Sails Guide.")
        first = engine.ask("Where should a beginner begin?")
        other = engine.ask("What happens in chapter 2 of Moby Dick?")
        (tmp_path / "sails" / "index.md").write_text("# How to cut canvas\n\nOn sails.\n")
        engine.add([tmp_path / "sails"])
        folder = engine.ask("Give me a summary of the sails manual, please.")

    assert several.text.startswith("Ropes")
    assert "\nMasts" in several.text
    assert {each.document_id for each in several.citations} == {"sails/1.md", "sails/2.md"}
    assert [each.number for each in several.citations] == list(range(1, len(several.citations) + 1))
    assert not absent.text.startswith("Masts")
    assert "To begin with (The Lamps Guide): Oil" in first.text
    assert {each.document_id for each in numbered.citations} == {"sails/2.md"}
    assert numbered.mode == "global"
    assert numbered.text.startswith("Masts")
    assert section.text.startswith("Price of Fog")
    assert titled.text.startswith("Care of Wicks")
    assert not other.text.startswith(("Wicks", "Masts"))
    assert {each.document_id.partition("/")[0] for each in folder.citations} == {"sails"}


def test_a_document_of_few_parts_is_told_by_the_beginnings_of_their_sections(
    open_engine, tmp_path: Path
) -> None:
    articles = {
        "Data": "All readings shall be public within a day.",
        "Money": "Every payment shall carry two signatures.",
        "Names": "Those who taught us shall be named.",
    }
    inner = "".join(f"### {name}\n\n{told}\n\n" for name, told in articles.items())
    others = {
        "Preamble": "We owe them what we know.",
        "Board": "A board of seven meets in a shed.",
        "Review": "The charter is read again every year.",
    }
    outer = "".join(f"## {name}\n\n{told}\n\n" for name, told in others.items())
    text = f"# Charter\n\n## Articles\n\n{inner}{outer}"
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(text, document_id="charter", title="Charter")
        engine.add_text(HANDBOOK["fire"], document_id="fire", title="Fire")
        answer = engine.ask("Summarise the charter.")

    for name, told in articles.items():
        assert f"- {name}: {told}" in answer.text
    assert all(told in answer.text for told in others.values())


def test_a_section_that_is_called_as_it_is_described_is_told_whole(
    open_engine, tmp_path: Path
) -> None:
    kinds = {
        "Oil": "Oil locks open with a wet key.",
        "Spring": "A spring holds locks of brass shut.",
        "Rope": "Rope locks are tied on the quay.",
        "LXC": "LXC locks need no key of brass at all.",
    }
    text = "# House\n\n## Locks\n\nLocks keep a door shut.\n\n" + "".join(
        f"### {kind}\n\n" + f"{told} " * (60 if kind == "Oil" else 30) + "\n\n"
        for kind, told in kinds.items()
    )
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(text, document_id="house", title="House")
        engine.add_text(HANDBOOK["fire"], document_id="fire", title="Fire")
        answer = engine.ask("Summarise the section on locks.", mode="global")

    assert answer.text.startswith("Locks (House)")
    heads = [block.partition(":")[0] for block in answer.text.split("\n\n")]
    assert [one for one in heads if one in kinds] == list(kinds)


def test_a_chapter_of_a_book_is_described_by_what_happens_in_it(
    open_engine, tmp_path: Path
) -> None:
    deeds = {"One": "sold the mill", "Two": "crossed the frozen lake", "Three": "wed in the barn"}
    text = "".join(
        f"## Chapter {name}\n\n" + f"In the end Anna Rudd {deed} on a cold day. " * 30 + "\n\n"
        for name, deed in deeds.items()
    )
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(f"# Anna\n\n{text}", document_id="anna", title="Anna")
        question = "Summarise the chapter in which she crosses the frozen lake."
        answer = engine.ask(question, mode="global")

    assert answer.text.startswith("Chapter Two")
    assert {"crossed the frozen lake"} == {
        deed for deed in deeds.values() for each in answer.citations if deed in each.quote
    }


def test_a_story_in_chapters_is_told_by_how_each_begins_and_what_it_alone_tells(
    open_engine, tmp_path: Path
) -> None:
    """Anna stands in every chapter; what she does there stands in no other."""
    deeds = {
        "The Mill": "Anna Rudd sold the mill. The miller of the mill paid Anna Rudd for the mill.",
        "The Lake": "Anna Rudd crossed the lake. On the lake the ice of the lake bore Anna Rudd.",
        "The Barn": "Anna Rudd wed in the barn. To the barn Anna Rudd rode, and the barn was lit.",
        "The Boat": "Anna Rudd built a boat. In the boat Anna Rudd rowed the boat to sea.",
        "The Bell": "Anna Rudd cast a bell. To the bell Anna Rudd gave the voice of a bell.",
    }
    often = "On a cold day Anna Rudd walked home, and the wind blew, and she was glad of her coat. "
    with open_engine(tmp_path / "library") as engine:
        for number, (name, deed) in enumerate(deeds.items(), 1):
            title = f"Chapter {number}. {name}"
            text = f"# {title}\n\n{often * 9}\n\n{deed}\n\n{often * 9}\n"
            engine.add_text(text, document_id=f"anna/{number}.md", title=title)
        answer = engine.ask("What happens in this novel?")

    assert answer.mode == "global"
    blocks = dict(block.partition(":\n")[::2] for block in answer.text.split("\n\n"))
    for name, deed in deeds.items():
        told = next(text for head, text in blocks.items() if name in head)
        assert any(sentence in told for sentence in deed.split(". "))
        assert told.count("cold day") == 1


def test_a_story_of_many_chapters_is_told_by_how_they_begin_and_how_it_ends(
    open_engine, tmp_path: Path
) -> None:
    often = "She was glad of her coat, and of the fire, and of the soup in the pot. " * 16
    text = "".join(
        f'Chapter {number}\n\n"It is cold, it is winter," said the miller.\n\nOn day {number} Anna '
        f"Rudd walked to mill {number}; there she ate. {often}\n\nAt night {number} Anna Rudd "
        f"slept in mill {number} by the fire.\n\n"
        for number in range(1, 25)
    )
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(f"The Mills\n\nby Ada Quill\n\n{text}", document_id="mills.txt")
        answer = engine.ask("What happens in this novel?")

    assert answer.mode == "global"
    for number in (1, 2, 3, 24):
        assert f"- On day {number} Anna Rudd walked to mill {number}" in answer.text
    assert "At night 24 Anna Rudd slept in mill 24 by the fire." in answer.text
    assert "At night 1 " not in answer.text
    assert "It is cold" not in answer.text


def test_a_story_of_chapters_whose_titles_tell_is_told_by_them(open_engine, tmp_path: Path) -> None:
    often = "On a cold day Anna Rudd walked home, and the wind blew, and she was glad of her coat. "
    titles = [f"Anna Rudd Wins Prize {n} and Loses It" for n in range(1, 25)]
    with open_engine(tmp_path / "library") as engine:
        for number, title in enumerate(titles, 1):
            head = f"Chapter {number}. {title}"
            text = f"# {head}\n\n{often * 9}\n"
            engine.add_text(text, document_id=f"anna/{number:02}.md", title=head)
        answer = engine.ask("What happens in this novel?")

    assert answer.mode == "global"
    lines = [line for line in answer.text.splitlines() if line.startswith("- ")]
    assert [title for title in titles if any(title in line for line in lines)] == titles
    assert "cold day" not in answer.text.partition("\n\nPeople:")[0]


def test_a_single_document_is_not_what_is_described_and_a_guide_that_is_not_there_no_library(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add_text(HANDBOOK["fire"], document_id="fire", title="Fire")
        described = engine.ask("Summarise the report on tax evasion.")
        guide = engine.ask("What does the warranty guide cover?")

    assert "Way out" not in described.text
    assert guide.mode == "local"


def test_a_subject_of_a_sentence_or_two_is_answered_from_passages(
    open_engine, tmp_path: Path
) -> None:
    question = "Summarise how rye bread is baked in Milltown."
    with open_engine(tmp_path / "library") as engine:
        engine.add_text("# Bread\n\nIn Milltown rye bread is baked over beech wood:\n\n"
                        "1. Heat the oven.\n2. Bake the loaves for an hour.\n",
                        document_id="bread", title="Bread")  # fmt: skip
        engine.add_text(HANDBOOK["lessons"], document_id="lessons", title="Lessons")
        events = list(engine.stream(question))
        answer, overview = engine.ask(question), engine.ask(question, mode="global")

    assert (answer.mode, overview.mode) == ("local", "global")
    assert "".join(e.text for e in events if isinstance(e, TokensEvent)) == answer.text
    assert "Bake the loaves for an hour." in answer.text
    assert {each.document_id for each in answer.citations} == {"bread"}


def test_a_source_that_a_question_names_is_asked_before_all_others(
    open_engine, tmp_path: Path
) -> None:
    question = "When was the mail boat lost, according to the keeper's diary?"
    with open_engine(tmp_path / "library") as engine:
        engine.add_text("# The mail boat\n\nThe mail boat was lost on 3 May 1911 off the point.\n",
                        document_id="boat", title="The mail boat")  # fmt: skip
        engine.add_text("# Diary of the keeper\n\nThe mail boat was lost on 4 May 1911 in fog.\n",
                        document_id="diary", title="Diary of the keeper")  # fmt: skip
        engine.add_text("# Bread\n\nRye bread is baked over beech wood in Milltown.\n",
                        document_id="bread", title="Bread")  # fmt: skip
        events = list(engine.stream(question))
        answer = engine.ask(question)
        elsewhere = engine.ask("According to the keeper's diary, what is rye bread baked over?")
        hidden = engine.ask(question, filters={"document_id": ["boat", "bread"]})

    assert {each.document_id for each in answer.citations} == {"diary"}
    assert "4 May 1911" in answer.text
    assert answer.question == question
    assert "".join(e.text for e in events if isinstance(e, TokensEvent)) == answer.text
    assert {each.document_id for each in elsewhere.citations} == {"bread"}
    assert "diary" not in {each.document_id for each in hidden.citations}


def test_a_question_about_the_whole_has_no_subject_for_how_it_is_worded(
    free: KnowledgeEngine,
) -> None:
    whole = free.ask("这些文件主要讲什么？", mode="global")
    for question in ("这批网页大体上讲了些什么？", "这一大堆资料从头到尾主要讲了些什么？"):
        answer = free.ask(question)
        assert answer.mode == "global"
        assert answer.text == whole.text


def test_more_effort_tells_of_more_topics(free: KnowledgeEngine) -> None:
    def topics(effort: Effort) -> float:
        steps = overview(free, "lazy", effort).answer(GENERIC).trace
        return next(step.figures["topics"] for step in steps if step.stage == "topics")

    assert 5 == topics("low") < topics("medium") == 8


@pytest.mark.parametrize("mode", ["auto", "global", "both"])
def test_a_question_says_how_much_its_overview_may_cost(free: KnowledgeEngine, mode: str) -> None:
    def allowed(effort: Effort | None) -> int:
        steps = free.ask(GENERIC, mode=mode, effort=effort).trace
        return max(int(step.figures.get("topics", 0)) for step in steps)

    spent = {effort: allowed(effort) for effort in (None, "low", "medium")}
    assert 0 < spent["low"] < spent["medium"]
    assert spent["low"] <= spent[None] <= spent["medium"]


def test_an_effort_of_another_name_is_refused(free: KnowledgeEngine) -> None:
    with pytest.raises(QuestionError, match="unknown effort: 'utmost'; choose low or medium"):
        free.ask(QUESTION, effort="utmost")


@EveryWay
@pytest.mark.parametrize("question", [QUESTION, GENERIC, CHINESE], ids=["en", "generic", "zh"])
def test_a_written_answer_cites_and_keeps_its_prompts_short(
    written: KnowledgeEngine, openai_server, way: Selection, question: str
) -> None:
    answer = overview(written, way).answer(question)

    check_quotes(written, answer)
    assert answer.usage.calls == len(openai_server.requests) >= 1
    limit = 60_000 if way == "drift" else 13_000
    spent = shown_tokens(openai_server)
    print(f"\n{way}: {spent} prompt tokens in {len(openai_server.requests)} calls")
    assert 500 < spent <= limit


@EveryWay
def test_effort_bounds_what_is_shown(
    written: KnowledgeEngine, openai_server, way: Selection
) -> None:
    spent = {}
    for effort in ("low", "medium"):
        openai_server.requests.clear()
        overview(written, way, effort).answer(QUESTION)
        spent[effort] = shown_tokens(openai_server)

    assert spent["low"] < spent["medium"]
    assert spent["low"] <= 7_000


def test_ratings_go_from_the_root_down_and_show_in_the_trace(
    written: KnowledgeEngine,
) -> None:
    answer = overview(written, "dynamic").answer(QUESTION)
    rounds = [step for step in answer.trace if step.stage == "rate"]

    assert len(rounds) >= 2
    assert all(0 < step.figures["relevant"] <= step.figures["rated"] for step in rounds)


def test_drift_looks_up_what_the_model_asks_for(written: KnowledgeEngine, openai_server) -> None:
    answer = overview(written, "drift").answer(QUESTION)
    asked = [request.question for request in openai_server.requests]

    assert any("Now look for: Who is Rosalind Achterberg?" in question for question in asked)
    assert [step.stage for step in answer.trace].count("follow") == 2


@pytest.mark.parametrize(
    ("way", "stage", "said"),
    [
        pytest.param("dynamic", "rate", "level 1 not rated: ", id="dynamic"),
        pytest.param("drift", "explore", "1 failed: ", id="drift"),
    ],
)
def test_one_failed_call_of_several_is_named_and_the_others_count(
    written: KnowledgeEngine, openai_server, way: Selection, stage: str, said: str
) -> None:
    openai_server.answer_with(Model(lambda asked, number: asked == stage and number == 2))
    answer = overview(written, way).answer(QUESTION)

    check_quotes(written, answer)
    assert sum(step.figures.get("failed", 0.0) for step in answer.trace) == 1
    assert any(said in step.detail for step in answer.trace)


@EveryWay
def test_where_every_call_fails_the_error_says_so(
    written: KnowledgeEngine, openai_server, way: Selection
) -> None:
    openai_server.answer_with(lambda request: Reply(status=500))
    with pytest.raises(ModelUnavailable):
        overview(written, way).answer(QUESTION)


@pytest.mark.parametrize(
    ("way", "bad"),
    [
        pytest.param("fixed", "I cannot.", id="fixed-refusal"),
        pytest.param("dynamic", "I cannot.", id="dynamic-refusal"),
        pytest.param("drift", "I cannot.", id="drift-refusal"),
        pytest.param("lazy", "I cannot.", id="lazy-refusal"),
        pytest.param("lazy", "", id="lazy-empty"),
        pytest.param("lazy", "<think>hm</think>", id="lazy-only-thoughts"),
        pytest.param("dynamic", "{" * 50, id="dynamic-repeated"),
    ],
)
def test_useless_replies_are_said_and_the_answer_is_made_without_them(
    written: KnowledgeEngine, openai_server, way: Selection, bad: str
) -> None:
    openai_server.answer_with(lambda request: bad)
    try:
        answer = overview(written, way).answer(QUESTION)
    except ModelOutputError as error:
        assert bad in ("", "<think>hm</think>"), error
    else:
        (step,) = [step for step in answer.trace if step.stage == "fall back"]
        assert "no usable reply of the model" in step.detail
        check_quotes(written, answer)
        assert bad not in answer.text


def test_reports_are_written_when_a_question_needs_them(
    written: KnowledgeEngine, openai_server
) -> None:
    asked: list[str] = []

    def reports_for(community_ids: Sequence[str]) -> dict[str, Report]:
        asked.extend(community_ids)
        with written._library.read() as connection:
            held = {report.community_id: report for report in read_reports(connection)}
        first = community_ids[0]
        return {first: replace(held[first], title="A rewritten title", written_by="m")}

    answers = overview(written, "dynamic")
    answers._reports_for = reports_for
    answer = answers.answer(QUESTION)
    shown = [request.question for request in openai_server.requests]

    assert asked
    assert any("# A rewritten title" in text for text in shown)
    assert sum(step.figures.get("by_model", 0.0) for step in answer.trace) == 1
    check_quotes(written, answer)


@pytest.fixture
def by_default(
    open_engine, openai_server, library: Path, tmp_path: Path
) -> Iterator[KnowledgeEngine]:
    own = Path(shutil.copytree(library, tmp_path / "library"))
    llm = openai_server.settings(retries=0)
    with open_engine(own, llm=llm, graph={"spacy_model": "none"}) as engine:
        openai_server.answer_with(Model())
        yield engine


def is_report(request: Request) -> bool:
    return '{"reports"' in str(request.body["messages"][0]["content"])


def test_a_question_without_a_subject_reads_reports_that_a_model_wrote(
    by_default: KnowledgeEngine, openai_server
) -> None:
    answer = by_default.ask(GENERIC, mode="global")

    (read,) = (step for step in answer.trace if step.stage == "read")
    written = by_default.stats()["written_reports"]
    assert 0 < read.figures["by_model"] <= written <= 24_000 // 1_800
    shown = [one.question for one in openai_server.requests if not is_report(one)]
    assert any("A summary by the model." in text for text in shown)
    assert len(shown) <= 6
    check_quotes(by_default, answer)

    openai_server.requests.clear()
    by_default.ask("Summarise all of these documents.", mode="global")
    assert not any(map(is_report, openai_server.requests))


def test_a_report_is_written_from_sentences_below_their_documents_title(
    by_default: KnowledgeEngine, openai_server
) -> None:
    by_default.ask(GENERIC, mode="global")

    count = load_tokeniser().count
    titles = {row.title for row in by_default.documents()}
    for request in filter(is_report, openai_server.requests):
        groups = _groups(request.question)
        assert count(request.question) <= 3_600 + 200
        placed = re.findall(
            r"^\[\d+\] \((.+?)(?:, \d{4}[\d-]*)?\) ", request.question, re.MULTILINE
        )
        assert len(placed) >= len(groups)
        assert {*placed} & titles


def test_no_more_reports_are_written_than_a_question_may_pay_for(
    open_engine, openai_server, library: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(library, tmp_path / "library"))
    llm = openai_server.settings(retries=0)
    graph = {"spacy_model": "none", "report_budget_tokens": 4_000}
    with open_engine(own, llm=llm, graph=graph) as engine:
        openai_server.answer_with(Model())
        engine.ask(GENERIC, mode="global")
        assert engine.stats()["written_reports"] == 2


def test_a_question_about_something_is_answered_from_whole_passages_in_one_call(
    by_default: KnowledgeEngine, openai_server
) -> None:
    answer = by_default.ask(QUESTION, mode="global")

    shown = [request.question for request in openai_server.requests]
    assert not any(map(is_report, openai_server.requests))
    assert len(shown) == 1
    stages = [step.stage for step in answer.trace if step.stage in {"read", "map", "reduce"}]
    assert stages == ["read", "reduce"]
    titles = {row.title for row in by_default.documents()}
    above = re.findall(r"^# (.+?)(?: · [\d-]+)?$", shown[0], re.MULTILINE)
    assert len(above) >= 10
    assert {*above} <= titles


def test_a_model_is_shown_the_part_that_a_question_names(
    written: KnowledgeEngine, openai_server
) -> None:
    answer = written.ask('Summarise the section "The missing clause".', mode="global")

    (ranked,) = (step for step in answer.trace if step.stage == "rank")
    assert ranked.figures["chunks"] == 1
    assert {one.document_id for one in answer.citations} == {
        "data/corpus/events/averill-inquiry-report.pdf"
    }
    check_quotes(written, answer)

    several = written.ask("Summarise sections 2.3 and 3.1 of the Averill Inquiry", mode="global")
    (ranked,) = (step for step in several.trace if step.stage == "rank")
    assert ranked.figures["chunks"] == 2


def test_no_report_is_written_for_somebody_who_may_not_see_every_document(
    written: KnowledgeEngine,
) -> None:
    def refuse(community_ids: Sequence[str]) -> dict[str, Report]:
        raise AssertionError(f"reports of {community_ids} were asked for")

    answers = overview(written, "fixed")
    answers._reports_for = refuse
    answer = answers.answer(QUESTION, within=document_filter({"title": "Open Tide Charter"}))
    assert {citation.title for citation in answer.citations} <= {"Open Tide Charter"}


def test_a_small_window_is_not_overrun(
    open_engine, openai_server, library: Path, tmp_path: Path
) -> None:
    window = 3_000
    llm = openai_server.settings(retries=0, context_window_tokens=window)
    own = Path(shutil.copytree(library, tmp_path / "library"))
    openai_server.answer_with(Model())
    count = load_tokeniser().count
    graph = {"spacy_model": "none", "reports": "extractive"}
    with open_engine(own, llm=llm, graph=graph) as engine:
        for way in WAYS:
            answer = overview(engine, way).answer(QUESTION)
            check_quotes(engine, answer)
            assert {step.stage for step in answer.trace} & {"map", "primer"}
    for request in openai_server.requests:
        shown = sum(count(str(message["content"])) for message in request.body["messages"])
        assert shown + 1_000 <= window


SECTIONS = {
    "Ferry": "The ferry was a flat boat of oak that crossed the river twice a day.",
    "Mill": "The smuggling of brandy was done by day from the mill through a tunnel.",
    "Bank": "The bank was a house of brick that stood in the main street.",
    "Quay": "The smuggling of tobacco was done at night from the quay in small boats.",
    "Inn": "The smuggling of rum was done by the landlord from the cellar of the inn.",
}
REST = " ".join(
    f"Its {thing} was mended in {year} by the carpenters of the town and painted green."
    for year, thing in enumerate(("roof", "door", "floor", "gate", "wall", "stair") * 4, 1870)
)
"""So much that no section shares a chunk with another."""


def test_a_topic_of_which_one_document_tells_most_is_told_by_those_of_its_sections(
    tmp_path: Path,
) -> None:
    told = (f"## {name}\n\n{said}\n\n{REST}\n" for name, said in SECTIONS.items())
    chronicle = "\n".join(("# Chronicle of Vey\n", *told))
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        engine.add_text(chronicle, document_id="chronicle.md", title="Chronicle of Vey")
        for name, text in TOLD.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("What do these documents say about smuggling?", mode="global")

    lines = answer.text.splitlines()
    assert lines[2] == "Chronicle of Vey:"
    assert [line[2:].partition(":")[0] for line in lines if line.startswith("- ")] == [
        "Mill",
        "Quay",
        "Inn",
        "Further sections",
    ]
    assert {"Ferry", "Bank"} <= set(lines[-1].partition(": ")[2].split("; "))
    assert "oak" not in answer.text


def test_each_of_a_few_documents_is_told_with_its_sections(tmp_path: Path) -> None:
    told = (f"## {name}\n\n{said}\n\n{REST}\n" for name, said in SECTIONS.items())
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        chronicle = "\n".join(("# Chronicle of Vey\n", *told))
        engine.add_text(chronicle, document_id="chronicle.md", title="Chronicle of Vey")
        for name, text in TOLD.items():
            engine.add_text(text, document_id=name, title=text[2 : text.index("\n")])
        answer = engine.ask("What are these documents about?", mode="global")

    blocks = answer.text.split("\n\n")
    chronicle_told = next(each for each in blocks if each.startswith("Chronicle of Vey"))
    assert chronicle_told.splitlines()[-1].startswith("- Sections: ")
    assert set(chronicle_told.splitlines()[-1].removeprefix("- Sections: ").split("; ")) <= {
        *SECTIONS
    }
    assert not any("Sections:" in each for each in blocks if "Chronicle" not in each)
