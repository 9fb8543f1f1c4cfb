"""Prompts and reply parsing of the LLM judge: verdicts on claims, grades of passages, language.

A reply is JSON as models send it, wrapped, cut off or half wrong; what cannot be used is left out,
and a reply without anything usable says why. `in_other_language` tells English and Chinese apart;
an answer of names and figures alone is in either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from graph.text.cjk import count_han

from ..answering.packing import source_label
from ..errors import BudgetExceeded, ModelError
from ..llm.client import LLMClient
from ..prompts import Language, prompt_text, stage_prompt
from ..storage.graph_api import find_json
from ..types import Passage

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..storage.graph_api import Prompt

_FUNCTION_EN = re.compile(
    r"\b(?:the|an?|of|is|are|was|were|in|on|to|and|for|by|has|have|had|with|that|it|from|at|as"
    r"|which|who|not)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"\n]*\"|《[^《》]*》|「[^「」]*」|\([^()]*\)|（[^（）]*）")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_MOST_FOREIGN = 0.2
"""Maximum share of words in the other language (Chinese: half of the characters)."""
_FEWEST_ENGLISH = 3
_FEWEST_HAN = 6


def in_other_language(answer: str, language: Language) -> bool:
    """Check whether an answer is in the other language, ignoring quotations and brackets."""
    said = _QUOTED.sub(" ", answer)
    chinese = count_han(said)
    latin = len(_LATIN_WORD.findall(said))
    if language == "zh":
        words = chinese / 2 + latin
        return (
            len(_FUNCTION_EN.findall(said)) >= _FEWEST_ENGLISH
            and chinese / 2 < _MOST_FOREIGN * words
        )
    words = chinese / 2 + latin
    return chinese >= _FEWEST_HAN and latin < _MOST_FOREIGN * words


def retry_in_language(
    messages: Sequence[ChatMessage], reply: str, language: Language
) -> tuple[ChatMessage, ...]:
    """Return the conversation extended by the answer and a request for the language.

    What came before is unchanged, so that a provider's prompt cache holds.
    """
    from llama_index.core.llms import ChatMessage, MessageRole

    return (
        *messages,
        ChatMessage(role=MessageRole.ASSISTANT, content=reply),
        ChatMessage(role=MessageRole.USER, content=prompt_text("answering/again", language)),
    )


"""LLM call of the judge.

A stage (`verify`, `ground`, `grade`, `decide`, `rewrite`) and a prompt to its reply.

Raises `ModelError`.
"""

Grade = Literal["yes", "partly", "no"]

MAX_CLAIMS = 60
MAX_LINE_CHARACTERS = 700
MAX_PASSAGE_CHARACTERS = 1_500
_OUTPUT_TOKENS_EACH, _OUTPUT_TOKENS = 30, 60

_Value = TypeVar("_Value")
_YES = re.compile(r"^(?:supported|yes|true|entailed|correct|支持|是|正确)$", re.IGNORECASE)
_NO = re.compile(
    r"^(?:unsupported|not[ _-]supported|no|false|contradicted|refuted|partly|partially|partial"
    r"|partially[ _]supported|neutral|不支持|否|错误|矛盾)",
    re.IGNORECASE,
)
_GRADES: Mapping[str, Grade] = {
    "yes": "yes", "relevant": "yes", "correct": "yes", "true": "yes", "是": "yes", "相关": "yes",
    "partly": "partly", "partial": "partly", "partially": "partly", "ambiguous": "partly",
    "maybe": "partly", "部分": "partly", "部分相关": "partly",
    "no": "no", "irrelevant": "no", "incorrect": "no", "false": "no", "wrong": "no", "否": "no",
    "不相关": "no", "无关": "no",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimJudgement(Generic[_Value]):
    """Parsed judgement by claim or passage number; empty with a `problem`."""

    values: Mapping[int, _Value]
    problem: str = ""


def _rows_schema(key: str, of: str, value: str, values: Sequence[str]) -> dict[str, Any]:
    row = {
        "type": "object",
        "properties": {of: {"type": "integer"}, value: {"type": "string", "enum": list(values)}},
        "required": [of, value],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": row}},
        "required": [key],
        "additionalProperties": False,
    }


_VERDICTS = _rows_schema(
    "verdicts", "claim", "verdict", ["supported", "unsupported", "contradicted"]
)
_GRADED = _rows_schema("grades", "passage", "grade", ["yes", "partly", "no"])


def verify_prompt(
    question: str, claims: Sequence[tuple[str, Sequence[str]]], *, language: Language
) -> Prompt:
    """Each claim with the sentences that it rests on; numbered from 1."""
    lines = [
        f"[{n}] {_line(claim)} <= {_line(' / '.join(sentences))}"
        for n, (claim, sentences) in enumerate(claims[:MAX_CLAIMS], start=1)
    ]
    return stage_prompt(
        "verify",
        language=language,
        context="\n".join(lines),
        question=question,
        max_output_tokens=_OUTPUT_TOKENS + _OUTPUT_TOKENS_EACH * len(lines),
        schema=_VERDICTS,
    )


def ground_prompt(
    question: str, claims: Sequence[str], *, context: str, language: Language
) -> Prompt:
    """All claims under all that the answer was written from."""
    lines = [f"({n}) {_line(claim)}" for n, claim in enumerate(claims[:MAX_CLAIMS], start=1)]
    return stage_prompt(
        "ground",
        language=language,
        context=f"{context}\n\nClaims:\n" + "\n".join(lines),
        question=question,
        max_output_tokens=_OUTPUT_TOKENS + _OUTPUT_TOKENS_EACH * len(lines),
        schema=_VERDICTS,
    )


def grade_prompt(question: str, passages: Sequence[Passage], *, language: Language) -> Prompt:
    """Build the grading prompt: passages with titles, each cut to a readable length."""
    blocks = [
        f"{source_label(passage, n)}\n{passage.text[:MAX_PASSAGE_CHARACTERS]}"
        for n, passage in enumerate(passages, start=1)
    ]
    return stage_prompt(
        "grade",
        language=language,
        context="\n\n".join(blocks),
        question=question,
        max_output_tokens=_OUTPUT_TOKENS + _OUTPUT_TOKENS_EACH * len(blocks),
        schema=_GRADED,
    )


def read_verdicts(reply: str, *, count: int) -> ClaimJudgement[bool]:
    """Numbers of claims (1 to `count`) to whether they are supported."""
    return _read(reply, "claim", "verdict", _verdict, count=count)


def read_grades(reply: str, *, count: int) -> ClaimJudgement[Grade]:
    """Numbers of passages (1 to `count`) to their grades."""
    return _read(reply, "passage", "grade", lambda said: _GRADES.get(said.casefold()), count=count)


def _verdict(said: str) -> bool | None:
    if _YES.match(said):
        return True
    return False if _NO.match(said) else None


def _read(
    reply: str, of: str, value: str, meaning: Callable[[str], _Value | None], *, count: int
) -> ClaimJudgement[_Value]:
    found = find_json(reply)
    if found.problem:
        return ClaimJudgement(values={}, problem=found.problem)
    values: dict[int, _Value] = {}
    for row in _rows(found.values):
        number = re.search(r"\d{1,4}", str(row.get(of, row.get("number", row.get("id", "")))))
        meant = meaning(str(row.get(value, row.get("label", ""))).strip(" .*`\"'"))
        if number is not None and meant is not None and 1 <= int(number.group()) <= count:
            values.setdefault(int(number.group()), meant)
    return ClaimJudgement(values=values, problem="" if values else f"no {value} in the reply")


def _rows(values: Sequence[object], depth: int = 0) -> list[Mapping[str, object]]:
    """All objects in a reply that hold no list of others."""
    rows: list[Mapping[str, object]] = []
    for value in values:
        if isinstance(value, dict):
            lists = [each for each in value.values() if isinstance(each, list)]
            rows += _rows([one for each in lists for one in each], depth + 1) if lists else [value]
        elif isinstance(value, list) and depth < 3:
            rows += _rows(value, depth + 1)
    return rows


def read_object(reply: str) -> Mapping[str, object]:
    """Return the first JSON object of a reply; empty without one."""
    return next((value for value in find_json(reply).values if isinstance(value, dict)), {})


def call_judge(
    client: LLMClient, stage: str, prompt: Prompt, read: Callable[[str], ClaimJudgement[_Value]]
) -> ClaimJudgement[_Value]:
    """Call the judge; return its verdicts, or why there are none.

    A budget that is used up is a problem like any other: what is there already is not lost.
    """
    try:
        return read(client.ask(prompt, stage=stage, keep=True).text)
    except BudgetExceeded as error:
        return ClaimJudgement(values={}, problem=f"the budget is used up: {error}")
    except ModelError as error:
        return ClaimJudgement(values={}, problem=str(error))


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_LINE_CHARACTERS]
