"""LLM judgement of whether two similar names mean one thing.

Only for pairs that spelling leaves in doubt. Several pairs share one call, each name with a context
line. Of the answer only a verdict and one of a few set reasons are taken, so no document text is
stored in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..extraction.llm.json_repair import find_json, number_of, rows_with
from ..llm import Ask, Prompt, fence, list_schema, load_prompt, object_schema
from ..model import DIFFERENT, SAME, UNKNOWN, Judgement
from ..text.cjk import has_han

PAIRS_A_CALL = 12
CONTEXT_CHARACTERS = 200
NAME_CHARACTERS = 120
OUTPUT_TOKENS = 30
"""Answer tokens for one pair."""

REASONS = (
    "spelling", "short form", "abbreviation", "translation", "title", "nickname", "former name",
)  # fmt: skip

_VERDICT = {
    "n": {"type": "integer"},
    "verdict": {"type": "string", "enum": [SAME, DIFFERENT, UNKNOWN]},
    "why": {"type": "string", "enum": [*REASONS, "other"]},
}
SCHEMA = object_schema({"pairs": list_schema(_VERDICT)})

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdicts:
    """Verdicts of one call, sorted, and reasons for missing ones, by keys."""

    judgements: tuple[Judgement, ...]
    unusable: Mapping[tuple[str, str], str]


def batch_questions(questions: Sequence[PairQuestion]) -> Iterator[tuple[PairQuestion, ...]]:
    """Batch the pairs into calls, in order."""
    for start in range(0, len(questions), PAIRS_A_CALL):
        yield tuple(questions[start : start + PAIRS_A_CALL])


def judge_pairs(questions: Sequence[PairQuestion], ask: Ask, *, model: str) -> PairVerdicts:
    """Ask the model once about some pairs of names; what `ask` raises passes through."""
    return read_verdicts(ask(judge_prompt(questions)), questions, model=model)


def judge_prompt(questions: Sequence[PairQuestion]) -> Prompt:
    """Build the prompt that judges pairs of names; Chinese if most names are."""
    lines = []
    for number, question in enumerate(questions, start=1):
        first, second = _shown(question.first), _shown(question.second)
        lines += [f"{number}.", f"  A: {first}", f"  B: {second}"]
    body = "\n".join(lines)
    chinese = sum(1 for q in questions if has_han(q.first.name + q.second.name))
    mark = fence(body)
    return Prompt(
        system=load_prompt("judge_names", "zh" if 2 * chinese > len(questions) else "en"),
        user=f"<{mark}>\n{body}\n</{mark}>",
        max_output_tokens=OUTPUT_TOKENS * len(questions) + 50,
        schema=SCHEMA,
    )


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
    for row in rows_with("verdict", object, found.values):
        number, verdict, reason = _read(row)
        if number in rows and rows[number][0] != verdict:
            verdict = UNKNOWN
        rows[number] = (verdict, reason)
    judgements: list[Judgement] = []
    unusable: dict[tuple[str, str], str] = {}
    for number, question in enumerate(questions, start=1):
        if number not in rows:
            unusable[question.keys] = found.problem or "missing in the reply of the model"
            continue
        verdict, reason = rows[number]
        first, second = question.keys
        judgements.append(
            Judgement(
                first_key=first, second_key=second, verdict=verdict, reason=reason, model=model
            )
        )
    return PairVerdicts(judgements=tuple(sorted(judgements)), unusable=unusable)


def _read(row: Mapping[str, Any]) -> tuple[int, str, str]:
    said = _plain(str(row["verdict"])).casefold().strip(".。!\"'")
    reason = _plain(str(row.get("why", ""))).casefold()
    return (
        number_of(row),
        _VERDICTS.get(said, UNKNOWN),
        reason if reason in REASONS else "",
    )
