"""Layered memory in the library: recall, isolation, forgetting, kill −9 while a session closes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.errors import LibraryNotFound, QuestionError, UnknownName
from engine.memory.records import Memory
from engine.memory.transcript import storable_messages
from engine.types import Answer

NOTE = "Ada Marsh founded the station at Gull Quay in 1901. She was born in Oslo in 1870."
_SAFETY = spec_from_file_location(
    "memory_safety", Path(__file__).parents[1] / "benchmarks" / "memory_safety.py"
)
assert _SAFETY is not None
assert _SAFETY.loader is not None
memory_safety = module_from_spec(_SAFETY)
_SAFETY.loader.exec_module(memory_safety)
SETTINGS = Settings.model_validate({"embedding": {"kind": "tfidf", "multilingual": False}})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[KnowledgeEngine]:
    with KnowledgeEngine.open(tmp_path / "library", settings=SETTINGS) as opened:
        opened.add_text(NOTE, document_id="note", title="Station")
        yield opened


def say(engine: KnowledgeEngine, user: str, *texts: str, session: str = "s", at: str = "") -> None:
    engine.memory.remember(
        user, [("user", text) for text in texts], session=session, at=at or "2024-05-01T10:00"
    )
    engine.memory.close_session(user, session)


def origins(answer: Answer) -> set[str]:
    return {citation.origin for citation in answer.citations}


def files_with(folder: Path, word: str) -> list[str]:
    """Files below a folder that hold a word in any of its writings."""
    spellings = {word.encode(), word.casefold().encode(), word.capitalize().encode()}
    spellings |= {each.decode().encode("utf-16-le") for each in set(spellings)}
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if any(one in path.read_bytes() for one in spellings)]


def test_what_was_said_in_one_session_is_cited_in_another(engine: KnowledgeEngine) -> None:
    first = engine.ask(
        "My favourite colour is teal. Who founded the station?", memory=Memory("ann")
    )
    assert "Ada Marsh" in first.text
    assert origins(first) == {"library"}
    same = engine.ask("What is my favourite colour?", memory=Memory("ann"))
    assert "“My favourite colour is teal.”" in same.text
    engine.memory.close_session("ann")
    later = engine.ask("What is my favourite colour?", memory=Memory("ann", "later"))
    (citation,) = later.citations
    (document,) = engine.memory.show("ann", "default").documents
    assert citation.origin == "memory"
    assert citation.document_id == document.id
    assert document.text[citation.start : citation.end] == citation.quote
    assert later.text == f"You said on {document.date}: “{citation.quote}” [1]"


def test_a_later_statement_is_the_answer(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "I live in Oslo.", session="a", at="2024-05-01T10:00")
    say(engine, "ann", "I moved to Bergen.", session="b", at="2024-06-01T10:00")
    answer = engine.ask("Where do I live?", memory=Memory("ann"))
    assert answer.text == "You said on 2024-06-01: “I moved to Bergen.” [1]"


def test_earlier_turns_help_to_understand_a_question(engine: KnowledgeEngine) -> None:
    engine.ask("Who founded the station?", memory=Memory("ann"))
    answer = engine.ask("And when was she born?", memory=Memory("ann"))
    assert "Ada Marsh" in answer.rewritten_question
    assert "1870" in answer.text


def test_chinese_is_remembered_and_recalled(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "我最喜欢的水果是芒果。")
    answer = engine.ask("我最喜欢的水果是什么？", memory=Memory("ann"))
    assert answer.text == "您在2024-05-01说过：“我最喜欢的水果是芒果。” [1]"


def test_no_other_things_name_is_the_answer(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "My dog is called Biscuit.", "我家的狗叫豆包。")
    assert "Biscuit" in engine.ask("What is my dog called?", memory=Memory("ann")).text
    for question in ("What is my cat called?", "What is the name of my cat?", "我的猫叫什么？"):
        answer = engine.ask(question, memory=Memory("ann", "later"))
        assert origins(answer) != {"memory"}, answer.text


def test_no_user_reads_another_and_no_question_reads_memory(
    engine: KnowledgeEngine, tmp_path: Path
) -> None:
    say(engine, "ann", "My dog is called Biscuit.", "The Zanzibar invoice is unpaid.")
    other = engine.ask("What is my dog called?", memory=Memory("Ann"))
    assert other.memory == ()
    assert "Biscuit" not in str(other)
    assert engine.memory.search("bob", "Zanzibar invoice") == []
    plain = engine.ask("What is the dog called? Biscuit?")
    assert all("Biscuit" not in passage.text for passage in plain.passages)
    assert [row.id for row in engine.documents()] == ["note"]
    assert engine.stats()["documents"] == 1
    assert engine.catalogue.page().total == 1
    assert engine.retrieve("Zanzibar invoice") == []
    with pytest.raises(LibraryNotFound):
        engine.document_text(engine.memory.show("ann").documents[0].id)
    page = engine.export_graph(tmp_path / "graph.json")
    assert "Zanzibar" not in page.read_text(encoding="utf8")


def test_recalled_text_is_never_stored_again(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "My favourite colour is teal.")
    for session in ("a", "b", "c"):
        engine.ask("What is my favourite colour?", memory=Memory("ann", session))
        engine.memory.close_session("ann", session)
    overview = engine.memory.show("ann")
    assert sum("teal" in document.text for document in overview.documents) == 1
    assert [fact.text for fact in overview.facts] == ["My favourite colour is teal."]


def test_a_full_session_is_compressed_and_goes_on(engine: KnowledgeEngine) -> None:
    said = [(role, f"{role} {n}") for n in range(25) for role in ("user", "assistant")]
    for start in range(0, len(said), 2):
        engine.memory.remember("ann", said[start : start + 2])
    overview = engine.memory.show("ann")
    assert len(overview.open["default"]) == 10
    assert len(overview.documents) == len(overview.summaries) == 2
    lines = [line for document in overview.documents for line in document.text.split("\n") if line]
    assert [line.partition("): ")[2] for line in lines] == [text for _, text in said[:40]]


def test_forgetting_a_fact_leaves_no_byte_of_it(engine: KnowledgeEngine) -> None:
    engine.ask("My favourite colour is zyxquartz. Who founded the station?", memory=Memory("ann"))
    engine.memory.close_session("ann")
    engine.ask("What is my favourite colour?", memory=Memory("ann", "b"))
    say(
        engine,
        "ann",
        "As I told you, my favourite colour is zyxquartz. My dog is old.",
        session="c",
    )
    engine.memory.search("ann", "colour")
    (fact,) = [each for each in engine.memory.facts("ann") if "zyxquartz" in each.text][:1]
    assert files_with(engine.path, "zyxquartz")
    engine.memory.forget("ann", fact=fact.id)
    assert files_with(engine.path, "zyxquartz") == []
    assert [each.text for each in engine.memory.facts("ann")] == ["My dog is old."]
    answer = engine.ask("What is my favourite colour?", memory=Memory("ann", "d"))
    assert "zyxquartz" not in str(answer)
    with pytest.raises(UnknownName):
        engine.memory.forget("ann", fact=fact.id)


@pytest.mark.parametrize("what", ["session", "user"])
def test_forgetting_a_session_or_a_user_leaves_no_byte(engine: KnowledgeEngine, what: str) -> None:
    say(engine, "ann", "My keyword is zyxquartz.", session="a")
    say(engine, "ann", "My dog is old.", session="b")
    say(engine, "bob", "My cat is young.")
    engine.ask("What is my keyword? I mean zyxquartz.", memory=Memory("ann", "a"))
    engine.memory.forget("ann", session="a" if what == "session" else None)
    assert files_with(engine.path, "zyxquartz") == []
    assert engine.memory.sessions("ann") == (["b"] if what == "session" else [])
    assert engine.memory.sessions("bob") == ["s"]
    assert engine.memory.search("ann", "keyword zyxquartz") == [] or what == "session"


def test_summaries_expire_without_a_byte(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "Please order zyxquartz again.")
    engine.memory.forget("ann", session="s")
    say(engine, "ann", "My dog is old.", session="b")
    assert len(engine.memory.summaries("ann")) == 1
    service = engine.memory
    service._settings = service._settings.model_copy(update={"summary_days": 0.0})
    assert engine.memory.summaries("ann") == []


def test_an_answer_with_memory_is_not_cached(engine: KnowledgeEngine) -> None:
    for _ in range(2):
        answer = engine.ask("Who founded the station?", memory=Memory("ann"))
        assert "cache" not in {step.stage for step in answer.trace}
    engine.ask("Who founded the station?")
    assert engine.ask("Who founded the station?").trace[0].stage == "cache"


def test_topics_boost_and_narrow(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "The printer on my floor is broken.", session="a")
    say(engine, "ann", "My floor has a printer invoice to be paid by the budget.", session="b")
    say(engine, "ann", "The weather is fine, and nothing else is new.", session="c")
    found = engine.memory.search("ann", "printer", topic="finance")
    assert {passage.title for passage in found} == {"b"}
    assert {passage.title for passage in engine.memory.search("ann", "broken printer invoice")} >= {
        "a",
        "b",
    }


def test_a_name_that_only_the_user_spoke_of_is_answered_from_memory(
    engine: KnowledgeEngine,
) -> None:
    say(engine, "ann", "Biscuit the terrier is nine years old and I bought him a red collar.")
    answer = engine.ask("How old is Biscuit the terrier?", memory=Memory("ann"))
    assert origins(answer) == {"memory"}
    assert "nine years old" in answer.text
    other = engine.ask("When did Ada Marsh found the station?", memory=Memory("ann"))
    assert origins(other) == {"library"}


def test_a_session_is_called_by_its_first_words_until_it_is_named(engine: KnowledgeEngine) -> None:
    memory = engine.memory
    memory.remember("ann", [("user", "My dog is old."), ("user", "He sleeps.")], session="a")
    say(engine, "ann", "My cat is young.", session="b", at="2030-01-01T10:00")
    assert [each.name for each in memory.conversations("ann")] == [
        "My cat is young.",
        "My dog is old.",
    ]
    memory.name_session("ann", "a", "Of dogs")
    memory.name_session("ann", "b", "Of cats")
    assert {each.session: each.name for each in memory.conversations("ann")} == {
        "a": "Of dogs",
        "b": "Of cats",
    }
    with pytest.raises(UnknownName):
        memory.name_session("ann", "c", "Of birds")
    with pytest.raises(QuestionError):
        memory.name_session("ann", "a", " ")
    memory.forget("ann", session="a")
    assert [each.session for each in memory.conversations("ann")] == ["b"]


def test_forgetting_a_fact_takes_it_out_of_a_name(engine: KnowledgeEngine) -> None:
    say(engine, "ann", "My keyword is zyxquartz.")
    (fact,) = engine.memory.facts("ann")
    engine.memory.forget("ann", fact=fact.id)
    assert [each.name for each in engine.memory.conversations("ann")] in ([], [""])
    assert files_with(engine.path, "zyxquartz") == []


def test_an_idle_session_is_closed_without_its_user(engine: KnowledgeEngine) -> None:
    said = [("user", "My dog is called Biscuit.")]
    engine.memory._store.append("ann", "s", storable_messages(said, at="2024-05-01T10:00:00"))
    engine.watch_memory()
    for _ in range(200):
        if engine.memory.summaries("ann"):
            break
        time.sleep(0.05)
    assert engine.memory.show("ann").open == {}
    assert [fact.text for fact in engine.memory.facts("ann")] == ["My dog is called Biscuit."]


REPLY = {
    "summary": "The user has a dog called Biscuit. " + "x" * 600,
    "topics": ["dogs", "names", "pets", "more"],
    "facts": [
        {"kind": "knowledge", "quote": "Biscuit limps since Monday"},
        {"kind": "knowledge", "quote": "Biscuit is a cat"},
        {"kind": "knowledge", "quote": "A vet can help"},
        {"kind": "secret", "quote": "Biscuit limps"},
    ],
}


class Scripted(CustomLLM):
    """Gives one reply to every prompt; counts those that close a session."""

    reply: str
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.reply)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        yield self.complete(prompt)


@pytest.mark.parametrize(
    ("reply", "topics", "facts"),
    [
        pytest.param(
            json.dumps(REPLY),
            ("dogs", "names", "pets"),
            ["Biscuit limps since Monday", "My dog is called Biscuit."],
            id="good",
        ),
        pytest.param("no JSON", ("general",), ["My dog is called Biscuit."], id="bad"),
    ],
)
def test_a_model_sums_up_a_session_and_its_facts_quote_the_user(
    tmp_path: Path, reply: str, topics: tuple[str, ...], facts: list[str]
) -> None:
    model = Scripted(reply=reply)
    with KnowledgeEngine.open(tmp_path / "library", settings=SETTINGS, llm=model) as engine:
        said = [
            ("user", "My dog is called Biscuit. Biscuit limps since Monday, poor thing!"),
            ("assistant", "A vet can help."),
        ]
        engine.memory.remember("ann", said)
        engine.memory.close_session("ann")
        (summary,) = engine.memory.summaries("ann")
        found = engine.memory.facts("ann")
        text = engine.memory.show("ann").documents[0].text
    assert len(model.prompts) == 1
    assert summary.topics == topics
    assert len(summary.summary) <= 500
    assert ("has a dog" in summary.summary) == (reply != "no JSON")
    assert sorted(fact.text for fact in found) == facts
    assert all(text[fact.start : fact.end] == fact.text for fact in found)


def test_whoever_decides_and_answers_is_shown_what_the_user_prefers(tmp_path: Path) -> None:
    model = Scripted(reply=json.dumps({"action": "direct_answer", "params": {}}))
    with KnowledgeEngine.open(tmp_path / "library", settings=SETTINGS, llm=model) as engine:
        engine.add_text(NOTE, document_id="note", title="Station")
        engine.memory.remember("ann", [("user", "I prefer short answers in French.")])
        engine.memory.close_session("ann")
        model.prompts.clear()
        engine.ask("Who founded the station?", memory=Memory("ann", "b"), mode="agent")
    deciding = [each for each in model.prompts if "search_memory" in each]
    assert deciding
    assert all("I prefer short answers in French." in each for each in model.prompts)


def test_random_probes_meet_no_word_of_another_user(engine: KnowledgeEngine) -> None:
    assert memory_safety.isolation(engine, 12) == 0


def test_what_is_stored_of_hostile_turns_is_the_users_alone(
    engine: KnowledgeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_safety, "TURNS", 60)
    found = memory_safety.hygiene(engine)
    assert found["facts"] > 20
    assert found["in a user's turn"] == 1.0
    assert found["duplicates"] == found["recalled texts stored again"] == 0


_CLOSE = """
import os, signal, sys
from pathlib import Path
from engine.config import Settings
from engine.engine import KnowledgeEngine
import engine.memory.service as service
import engine.memory.store as store
settings = Settings.model_validate({"embedding": {"kind": "tfidf", "multilingual": False}})
place, when = sys.argv[1:]
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
with KnowledgeEngine.open(place, settings=settings) as engine:
    engine.memory.remember("ann", [("user", "My dog is called Biscuit."), ("assistant", "Good.")])
    if when == "before the document":
        service.LongTermMemory.put = die
    elif when == "before the summary":
        store.SessionStore.finish = die
    elif when == "within the transaction":
        store._write_facts = die
    engine.memory.close_session("ann")
    die()
"""


@pytest.mark.parametrize(
    "when",
    ["before the document", "before the summary", "within the transaction", "after it"],
)
def test_a_session_killed_while_it_is_closed_is_open_or_closed(tmp_path: Path, when: str) -> None:
    with KnowledgeEngine.open(tmp_path / "library", settings=SETTINGS):
        pass
    command = [sys.executable, "-c", _CLOSE, str(tmp_path / "library"), when]
    done = subprocess.run(command, check=False, env=os.environ, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with KnowledgeEngine.open(tmp_path / "library", settings=SETTINGS) as engine:
        before = engine.memory.show("ann")
        assert len(before.open) + len(before.summaries) == 1
        engine.memory.close_session("ann")
        after = engine.memory.show("ann")
        assert (len(after.open), len(after.summaries), len(after.facts)) == (0, 1, 1)
        assert [document.text.count("Biscuit") for document in after.documents] == [1]


def test_an_answer_with_memory_is_json(engine: KnowledgeEngine) -> None:
    from pydantic import TypeAdapter

    say(engine, "ann", "My dog is called Biscuit.")
    answer = engine.ask("What is my dog called?", memory=Memory("ann"))
    data = json.loads(TypeAdapter(Answer).dump_json(answer))
    assert data["citations"][0]["origin"] == "memory"
