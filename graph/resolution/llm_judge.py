"""LLM judgement of whether two similar names mean one thing.

Only for pairs that spelling leaves in doubt (see `similar_names`). Several pairs go into one call,
each name with a line about it. Of the answer only a verdict and one of a few set words for the
reason are believed, so nothing that a document says is kept in it.

Storage of name-pair verdicts.

A judgement goes when one of its names goes. What it comes to stands in `resolve`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select

from ..extraction.llm.json_repair import find_json
from ..llm import Ask, Prompt, fence, load
from ..storage.schema import judgements
from ..text.cjk import has_han
from .rules import Link, Profiles

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
PAIRS_A_CALL = 12
CONTEXT_CHARACTERS = 200
NAME_CHARACTERS = 120
OUTPUT_TOKENS = 30
"""Answer tokens for one pair."""

REASONS = (
    "spelling", "short form", "abbreviation", "translation", "title", "nickname", "former name",
)  # fmt: skip

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "verdict": {"type": "string", "enum": [SAME, DIFFERENT, UNKNOWN]},
                    "why": {"type": "string", "enum": [*REASONS, "other"]},
                },
                "required": ["n", "verdict", "why"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pairs"],
    "additionalProperties": False,
}

_VERDICTS = {
    SAME: SAME, "yes": SAME, "true": SAME, "identical": SAME, "相同": SAME, "同一": SAME,
    "是": SAME, DIFFERENT: DIFFERENT, "no": DIFFERENT, "false": DIFFERENT, "distinct": DIFFERENT,
    "not the same": DIFFERENT, "不同": DIFFERENT, "否": DIFFERENT, "不是": DIFFERENT,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NamedThing:
    """Side of a pair: the name as written, its type and a context line."""

    key: str
    name: str
    type: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PairQuestion:
    """Pair of names to judge; keys in sorted order."""

    first: NamedThing
    second: NamedThing

    @property
    def keys(self) -> tuple[str, str]:
        """The two keys."""
        return self.first.key, self.second.key


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Judgement:
    """Verdict on two sorted keys; `reason` is one of `REASONS` or empty."""

    first_key: str
    second_key: str
    verdict: str
    reason: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdicts:
    """Verdicts of one call, sorted, and reasons for missing ones, by keys."""

    judgements: tuple[Judgement, ...]
    unusable: Mapping[tuple[str, str], str]


def batch_questions(questions: Sequence[PairQuestion]) -> Iterator[tuple[PairQuestion, ...]]:
    """Batch the pairs into calls, in order."""
    for start in range(0, len(questions), PAIRS_A_CALL):
        yield tuple(questions[start : start + PAIRS_A_CALL])


def judge(questions: Sequence[PairQuestion], ask: Ask, *, model: str) -> PairVerdicts:
    """Ask once about some pairs; what `ask` raises passes through."""
    return read_verdicts(ask(judge_prompt(questions)), questions, model=model)


def judge_prompt(questions: Sequence[PairQuestion]) -> Prompt:
    """Build the request; Chinese if most names are."""
    lines = []
    for number, question in enumerate(questions, start=1):
        lines.append(f"{number}.")
        lines += [f"  {mark}: {_shown(side)}" for mark, side in _sides(question)]
    body = "\n".join(lines)
    chinese = sum(1 for q in questions if has_han(q.first.name + q.second.name))
    mark = fence(body)
    return Prompt(
        system=load("judge_names", "zh" if 2 * chinese > len(questions) else "en"),
        user=f"<{mark}>\n{body}\n</{mark}>",
        max_output_tokens=OUTPUT_TOKENS * len(questions) + 50,
        schema=SCHEMA,
    )


def _sides(question: PairQuestion) -> tuple[tuple[str, NamedThing], tuple[str, NamedThing]]:
    return ("A", question.first), ("B", question.second)


def _shown(side: NamedThing) -> str:
    kind = f" ({_plain(side.type)})" if side.type else ""
    about = _plain(side.context)[:CONTEXT_CHARACTERS]
    return f"{_plain(side.name)[:NAME_CHARACTERS]}{kind}{f' – {about}' if about else ''}"


def _plain(text: str) -> str:
    return " ".join(text.split())


def read_verdicts(reply: str, questions: Sequence[PairQuestion], *, model: str) -> PairVerdicts:
    """Parse the usable verdicts of a reply; never raises.

    A pair that two answers contradict each other about is unknown.
    """
    found = find_json(reply)
    rows: dict[int, tuple[str, str]] = {}
    for row in _rows(found.values):
        number, verdict, reason = _read(row)
        if number in rows and rows[number][0] != verdict:
            verdict = UNKNOWN
        rows[number] = (verdict, reason)
    judgements: list[Judgement] = []
    unusable: dict[tuple[str, str], str] = {}
    for number, question in enumerate(questions, start=1):
        if number not in rows:
            unusable[question.keys] = found.problem or "the model left it out"
            continue
        verdict, reason = rows[number]
        first, second = question.keys
        judgements.append(
            Judgement(
                first_key=first, second_key=second, verdict=verdict, reason=reason, model=model
            )
        )
    return PairVerdicts(judgements=tuple(sorted(judgements)), unusable=unusable)


def _rows(values: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    """Return the rows about single pairs anywhere in the JSON."""
    for value in values:
        if isinstance(value, list):
            yield from _rows(value)
        elif isinstance(value, dict) and "verdict" in value:
            yield value
        elif isinstance(value, dict):
            yield from _rows([inner for inner in value.values() if isinstance(inner, list | dict)])


def _read(row: Mapping[str, Any]) -> tuple[int, str, str]:
    digits = re.search(r"\d{1,6}", str(row.get("n", "")))
    said = _plain(str(row["verdict"])).casefold().strip(".。!\"'")
    reason = _plain(str(row.get("why", ""))).casefold()
    return (
        int(digits.group()) if digits else 0,
        _VERDICTS.get(said, UNKNOWN),
        reason if reason in REASONS else "",
    )


def judged_links(judgements: Iterable[Judgement], profiles: Profiles) -> Iterator[Link]:
    """Return positive verdicts as links; unknown keys are skipped."""
    for value in sorted(judgements):
        keys = (value.first_key, value.second_key)
        if value.verdict == SAME and all(key in profiles for key in keys):
            shorter = value.reason in {"short form", "abbreviation", "nickname"}
            because = f" ({value.reason})" if value.reason else ""
            yield Link(
                key=value.first_key,
                other=value.second_key,
                reason=f"{value.model} judged that both names mean one thing{because}",
                lesser=min(keys, key=lambda key: (len(key), key)) if shorter else "",
            )


def read_judgements(connection: Connection) -> list[Judgement]:
    """Every judgement, sorted by its two keys."""
    query = select(judgements).order_by(judgements.c.first_key, judgements.c.second_key)
    return [
        Judgement(
            first_key=row.first_key,
            second_key=row.second_key,
            verdict=row.verdict,
            reason=row.reason,
            model=row.model,
        )
        for row in connection.execute(query)
    ]


def put_judgements(connection: Connection, values: Iterable[Judgement]) -> None:
    """Keep judgements; one of the same pair replaces another."""
    for value in sorted(values):
        delete_judgement(connection, value.first_key, value.second_key)
        connection.execute(
            insert(judgements).values(
                first_key=value.first_key,
                second_key=value.second_key,
                verdict=value.verdict,
                reason=value.reason,
                model=value.model,
            )
        )


def delete_judgement(connection: Connection, first_key: str, second_key: str) -> None:
    """Forget what was said of a pair."""
    pair = and_(judgements.c.first_key == first_key, judgements.c.second_key == second_key)
    connection.execute(delete(judgements).where(pair))


def forget_judgements(connection: Connection, known_keys: Collection[str]) -> int:
    """Delete verdicts whose names no longer exist; return their number."""
    gone = [
        value
        for value in read_judgements(connection)
        if value.first_key not in known_keys or value.second_key not in known_keys
    ]
    for value in gone:
        delete_judgement(connection, value.first_key, value.second_key)
    return len(gone)
