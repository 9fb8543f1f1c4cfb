"""Recall over long dated conversations: gold sessions in five, evidence turns by tokens.

    python tests/benchmarks/memory_recall.py [--misses] [folder]

The folder holds the library between runs.

`memory_conversations.jsonl` holds hand-written statements of six conversations (two assistants in
English, two pairs of friends, one in Chinese, one mixed), 114 questions about them in other words
with the statements that answer each, and small talk. Each conversation has 32 sessions of 8 to 20
messages; small talk names the same people and topics. A turn counts as read within a budget where
the passages, best first, reach its end before the budget is spent.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from engine.config import Settings
from engine.embeddings.tokenizer import load_tokeniser
from engine.engine import KnowledgeEngine
from engine.memory.transcript import storable_messages
from engine.types import Passage

SESSIONS = 32
SEED = 11
BUDGETS = (750, 2_000)
_SLOT = re.compile(r"\{(\w+)\}")
_FILE = Path(__file__).parent / "memory_conversations.jsonl"


@dataclass
class Conversation:
    """Conversation with its statements and questions, as the file gives them."""

    name: str
    style: str
    language: str
    start: date
    days: int
    names: list[str] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)

    def day(self, session: int) -> date:
        """Return the date of a session, counted from 1."""
        return self.start + timedelta(days=self.days * (session - 1))


@dataclass
class Talk:
    """Small talk: exchanges by style and language, and the parts that others are made of."""

    said: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, text: str, one: Conversation, random_: random.Random) -> str:
        """Return a text with its slots filled."""
        language = one.language
        if language == "mixed":
            language = random_.choice(("en", "zh"))

        def part(match: re.Match[str]) -> str:
            name = match[1]
            values = one.names if name == "name" else self.slots[f"{name} {language}"]
            return _SLOT.sub(part, random_.choice(values))

        return _SLOT.sub(part, text)


def read() -> tuple[list[Conversation], Talk]:
    """Return the conversations and small talk."""
    held: dict[str, Conversation] = {}
    talk = Talk()
    for row in map(json.loads, _FILE.read_text(encoding="utf8").splitlines()):
        if "talk" in row:
            talk.said[row["talk"]].append(row["said"])
        elif "slot" in row:
            talk.slots[row["slot"]] = row["values"]
        elif "start" in row:
            held[row["conversation"]] = Conversation(
                row["conversation"],
                row["style"],
                row["language"],
                date.fromisoformat(row["start"]),
                row["days"],
            )
        else:
            kind = next(key for key in ("names", "fact", "question") if key in row)
            one = held[row["conversation"]]
            if kind == "names":
                one.names = row["names"]
            else:
                (one.facts if kind == "fact" else one.questions).append(row)
    return list(held.values()), talk


def sessions(one: Conversation, talk: Talk) -> Iterator[tuple[str, date, list[tuple[str, str]]]]:
    """Yield name, date and messages of each session."""
    random_ = random.Random(f"{SEED} {one.name}")  # noqa: S311
    whole = [*talk.said[f"{one.style} {one.language}"]]
    if one.language == "mixed":
        whole += talk.said["assistant zh"][:8] + talk.said["assistant en"][:8]
    random_.shuffle(whole)
    for number in range(1, SESSIONS + 1):
        exchanges = [
            whole.pop() if whole and random_.random() < 1 / 5 else _made(one, talk, random_)
            for _ in range(random_.randint(4, 9))
        ]
        exchanges = [[talk.filled(each, one, random_) for each in said] for said in exchanges]
        for fact in (each for each in one.facts if each["session"] == number):
            exchanges.insert(random_.randint(0, len(exchanges)), fact["said"])
        roles = ("user", "assistant")
        messages: list[tuple[str, str]] = []
        for exchange in exchanges:
            spoken = _spoken(exchange, one.name, random_) if one.style == "pair" else exchange
            messages += [(roles[place % 2], said) for place, said in enumerate(spoken)]
        yield f"talk-{number}", one.day(number), messages


def _made(one: Conversation, talk: Talk, random_: random.Random) -> list[str]:
    """Return the frame of an exchange put together from parts."""
    if one.style == "pair":
        words = ["{word}"] * random_.randint(1, 2)
        return ["A: {who} {did} {time}.", "B: " + " ".join(words)]
    return ["{lead}", " ".join(["{tip}"] * random_.randint(2, 5))]


def _spoken(exchange: Sequence[str], pair: str, random_: random.Random) -> list[str]:
    """Return small talk of two people with their names."""
    people = [name.capitalize() for name in pair.split("-")]
    random_.shuffle(people)
    return [
        f"{people[place % 2]}: {said[3:]}" if said[:3] in ("A: ", "B: ") else said
        for place, said in enumerate(exchange)
    ]


def store(engine: KnowledgeEngine, conversations: Sequence[Conversation], talk: Talk) -> None:
    """Store every conversation as a user of its own."""
    memory = engine.memory
    for number, one in enumerate(conversations):
        for name, day, messages in sessions(one, talk):
            said = storable_messages(messages, at=f"{day}T10:00:00.000000")
            memory._store.append(f"user{number}", name, said)
    memory.close_idle()


def measure(
    passages: Sequence[Passage], turns: Sequence[str], gold: set[str], count: Any
) -> dict[str, float]:
    """Return the measures of one question."""
    seen = list(dict.fromkeys(passage.title for passage in passages))[:5]
    found = {"any": float(bool(gold & set(seen))), "all": float(gold <= set(seen))}
    read = dict.fromkeys(turns, 10**9)
    spent = 0
    for passage in passages:
        for turn in turns:
            place = passage.text.find(turn)
            if place >= 0:
                end = spent + count(passage.text[: place + len(turn)])
                read[turn] = min(read[turn], end)
        spent += count(passage.text)
    for budget in BUDGETS:
        found[str(budget)] = sum(end <= budget for end in read.values()) / len(turns)
    found["tokens"] = spent
    return found


def main(folder: Path, *, shows: bool) -> None:
    conversations, talk = read()
    count = load_tokeniser().count
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    settings = Settings.model_validate({"memory": {"max_tokens": BUDGETS[-1]}})
    is_new = not (folder / "library").exists()
    with KnowledgeEngine.open(folder / "library", settings=settings) as engine:
        if is_new:
            store(engine, conversations, talk)
        for number, one in enumerate(conversations):
            facts = {fact["fact"]: fact for fact in one.facts}
            for asked in (each for each in one.questions if each["gold"]):
                gold = [facts[name] for name in asked["gold"]]
                turns = [each["said"][0].removeprefix("U: ") for each in gold]
                found = engine.memory.search(f"user{number}", asked["question"], top_k=50)
                row = measure(found, turns, {f"talk-{each['session']}" for each in gold}, count)
                for group in ("in all", asked["kind"], one.language, f"{asked['wording']} wording"):
                    rows[group].append(row)
                if shows and (row["all"] < 1 or row["750"] < 1):
                    print(asked["kind"], row, asked["question"], "←", turns)
                    for passage in found[:5]:
                        print("    ", passage.title, round(passage.score, 3), passage.text[:150])
    for group, some in rows.items():
        means = {key: sum(row[key] for row in some) / len(some) for key in some[0]}
        told = ", ".join(f"{key} {value:.3f}" for key, value in means.items() if key != "tokens")
        print(f"{group:>12} {len(some):4} questions: {told}; {means['tokens']:.0f} tokens")


if __name__ == "__main__":
    places = [each for each in sys.argv[1:] if each != "--misses"]
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(places[0] if places else scratch), shows="--misses" in sys.argv)
