"""Isolation, hygiene and prompt size of memory.

    python tests/benchmarks/memory_safety.py [probes]

`isolation`: users with words of their own are asked at random for those of others; a reply (recall,
answer, export, facts) that holds another's word counts. `hygiene`: 500 turns with system prompts,
tool output and recalled text; facts that stand in no turn of the user, that come twice, and
recalled texts that were stored. `compaction`: prompt tokens of ten turns with what memory shows of
them, against the last 20 messages whole, and follow-ups that are answered alike after both.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.config import Settings
from engine.embeddings.tokenizer import load_tokeniser
from engine.engine import KnowledgeEngine
from engine.memory.records import Memory
from engine.memory.transcript import parse
from engine.shipped import shipped
from engine.types import Turn

SEED, USERS, TURNS = 5, 20, 500
THREADS, PROBES_EACH = 4, 250
FAST = Settings.model_validate({"embedding": {"kind": "tfidf", "multilingual": False}})
THINGS = ["dog", "boat", "bank", "doctor", "keyword", "school", "garden", "street", "ring", "song"]
TALK = (
    ("Who founded the Tolland Marine Station?", "When was she born?"),
    ("Who built the lighthouse at Gannet Head?", "When did he build it?"),
    ("Who wrote the words of the Ballad of Jory Pell?", "What else did she do?"),
    ("How many islanders voted against the dam in October 2022?", "And how many voted for it?"),
    ("What is the Grey Protocol?", "When did it come to an end?"),
    ("What is LANTERN?", "How long is it?"),
    ("Who is Odile Bastienne?", "Which ship does she command?"),
    ("What is the Ropewalk?", "When was it built?"),
    ("Who founded the Foghorn Festival?", "When was it first held?"),
    ("Who is Shen Wangshu?", "Where did she study?"),
    ("What is the Open Tide Charter?", "Who signed it?"),
    ("What happened in the Candlemas Storm?", "What did it destroy?"),
    ("What is the Hallam-Reyes Institute?", "Who founded it?"),
    ("What was the glider Pilgrim?", "When was it lost?"),
    ("Who was Aurelio Bastienne?", "Where was he born?"),
    ("What is the Emberweed Accord?", "What does it settle?"),
    ("Who is Lionel Garrod-Pyke?", "What did he do with the repair fund?"),
    ("烬藻素是什么？", "它是谁发现的？"),
    ("沈望舒是谁？", "她在哪里工作？"),
    ("Who is Rosalind Achterberg?", "When did she become director?"),
)
TALKS = 10


def secret(user: int, thing: int) -> str:
    """Return the word of a user for a thing, which nobody else says."""
    letters = "bcdfghjklmnpqrstvwxz"
    return f"q{letters[user]}a{letters[thing]}ux{letters[(user * 7 + thing) % 20]}o"


def isolation(engine: KnowledgeEngine, probes: int) -> int:
    """Return the number of probes whose replies held a word of another user.

    Threads probe at the same time; more users than libraries are held open take turns.
    """
    for user in range(USERS):
        said = [
            ("user", f"My {thing} is called {secret(user, n)}.") for n, thing in enumerate(THINGS)
        ]
        engine.memory.remember(f"u{user}", said[:5], session="closed", at="2024-05-01T10:00")
        engine.memory.close_session(f"u{user}", "closed")
        engine.memory.remember(f"u{user}", said[5:], session="open")
    owned = {secret(user, n): user for user in range(USERS) for n in range(len(THINGS))}
    word = re.compile("|".join(owned))
    typed: defaultdict[int, set[str]] = defaultdict(set)

    def foreign(number: int) -> bool:
        random_ = random.Random(f"{SEED} {number}")  # noqa: S311
        # A thread stays with a few users for a while: opening a library costs fifty probes.
        user = (number // PROBES_EACH * 5 + random_.randrange(5)) % USERS
        other = random_.choice([each for each in range(USERS) if each != user])
        asked = secret(other, random_.randrange(len(THINGS)))
        if number % 100 == 0:
            typed[user].add(asked)  # a question to `ask` is the user's own until it is forgotten
        reply = probe(engine, number, user, asked)
        return any(owned[each] != user for each in {*word.findall(reply)} - typed[user])

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(foreign, range(probes)))


def probe(engine: KnowledgeEngine, number: int, user: int, foreign: str) -> str:
    """Return everything that one way of looking into a user's memory replies."""
    name, asked = f"u{user}", f"{THINGS[number % len(THINGS)]} called {foreign}"
    match number % 100:
        case 0:
            answer = engine.ask(f"What is my {asked}?", memory=Memory(name, f"p{number}"))
            engine.memory.forget(name, session=f"p{number}")
            return str((answer.text, answer.memory, answer.citations))
        case 1:
            return str(engine.memory.show(name, "closed"))
        case 2:
            return str(engine.memory.facts(name))
        case _:
            return str(engine.memory.search(name, asked))


def hygiene(engine: KnowledgeEngine) -> dict[str, float]:
    """Return the shares of 500 turns with what must not be stored."""
    random_ = random.Random(SEED)  # noqa: S311
    turns: list[str] = []
    for number in range(TURNS):
        thing = THINGS[number % len(THINGS)]
        turn = random_.choice(
            [
                f"My {thing} number {number} is called {secret(number % 20, number % 10)}.",
                f"I bought a {thing} for {number} pounds yesterday.",
                f"Please never mention the {thing} of {number}.",
                f"What is the price of a {thing}?",
                f"I live near the {thing} at {number} Mill Road.",
            ]
        )
        turns.append(turn)
        found = engine.memory.search("hy", f"What about my {thing}?")
        recalled = "\n".join(passage.text for passage in found)
        said = [
            ("system", f"You are a helpful assistant. My name is System {number}."),
            ("user", f"<recalled>\n{recalled}\n</recalled>\n{turn}" if found else turn),
            ("tool", f"I am a tool and I love result {number}."),
            ("assistant", f"I like that. My own {thing} is result {number}."),
        ]
        engine.memory.remember("hy", said, session=f"s{number // 20}")
    for session in engine.memory.sessions("hy"):
        engine.memory.close_session("hy", session)
    overview = engine.memory.show("hy")
    facts = overview.facts
    own = [any(fact.text in turn for turn in turns) for fact in facts]
    texts = Counter(fact.text.casefold() for fact in facts)
    lines = Counter(
        line.text
        for document in overview.documents
        for line in parse(document.text)
        if line.role == "user"
    )
    again = sum(
        count - turns.count(text) for text, count in lines.items() if count > turns.count(text)
    )
    return {
        "facts": len(facts),
        "in a user's turn": sum(own) / max(1, len(own)),
        "duplicates": sum(count - 1 for count in texts.values()),
        "recalled texts stored again": again + sum("<recalled>" in line for line in lines),
    }


def compaction(engine: KnowledgeEngine) -> dict[str, float]:
    """Return prompt tokens of ten turns, whole and as shown, and follow-ups answered alike."""
    count = load_tokeniser().count
    engine.add([shipped("data/corpus")])
    whole, shown, alike = 0, 0, 0
    for number in range(TALKS):
        before: list[Turn] = []
        memory = Memory("co", f"talk{number}")
        pairs = random.Random(f"{SEED} {number}").sample(TALK, 5)  # noqa: S311
        for asked, is_follow_up in ((pair[n], n == 1) for pair in pairs for n in (0, 1)):
            turns = engine.memory.recollect(memory, asked).turns
            whole += count("\n".join(f"{each.question}\n{each.answer}" for each in before[-10:]))
            shown += count("\n".join(f"{each.question}\n{each.answer}" for each in turns))
            if is_follow_up:
                texts = {
                    engine.ask(asked, history=history).text for history in (turns, before[-10:])
                }
                alike += len(texts) == 1
            answer = engine.ask(asked, memory=memory)
            before.append(Turn(asked, answer.text))
    return {"whole": whole, "shown": shown, "saved": 1 - shown / whole, "alike of 50": alike}


def main(probes: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        KnowledgeEngine.open(Path(folder) / "library", settings=FAST) as engine,
    ):
        engine.add_text("Ada Marsh founded the station in 1901.", document_id="note")
        if probes:
            print(f"{isolation(engine, probes)} of {probes:,} probes held a word of another user")
        for measured in (hygiene(engine), compaction(engine)):
            print(", ".join(f"{name} {value:.3g}" for name, value in measured.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
