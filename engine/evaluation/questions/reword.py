"""Gold questions reworded by a language model and verified by answering back.

A rewording is taken where it shares less than half of its words with its gold spans, does not say
the answer, and a second call that sees the spans alone answers it with the gold value. Any other
question stays as the rules made it, and the reason is counted. The client keeps replies by hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...errors import BudgetExceeded, ModelError
from ...llm.client import LLMClient
from ...prompts import language_of, stage_prompt
from ...storage.tokenization import tokens
from ...verification.llm_judge import read_object
from ..gold import OVERVIEWS, GoldQuestion
from ..measures import holds_value, token_f1

SHARED = 0.5
"""A rewording shares less than this part of its words with its gold spans."""
SAME_ANSWER = 0.6
"""Least F1 with the gold value of an answer that does not hold it whole."""
MOST_FAILURES = 3
"""Calls in a row that may fail before no more are made."""
_FAILED = "the model failed"
_OUTPUT_TOKENS = 160
_MAX_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """Questions in the same order, how many are reworded, and why others are not."""

    questions: tuple[GoldQuestion, ...]
    reworded: int
    refused: tuple[tuple[str, int], ...]


def reword(
    client: LLMClient,
    questions: Sequence[GoldQuestion],
    *,
    text_of: Callable[[str], str],
    progress: Callable[[str, int, int], None] | None = None,
) -> Rewording:
    """Reword every question that has an answer in a span; `text_of` gives a document's text."""
    found: list[GoldQuestion] = []
    reasons: Counter[str] = Counter()
    failures = 0
    for number, one in enumerate(questions, start=1):
        text, why = one.text, "no single answer"
        if failures == MOST_FAILURES:
            why = "not asked: the model failed several times in a row"
        elif one.answers and one.query.gold_spans and one.kind not in OVERVIEWS:
            source = "\n\n".join(
                text_of(span.document_id)[span.start : span.end] for span in one.query.gold_spans
            )
            text, why = _reworded(client, one, source)
            failures = failures + 1 if why == _FAILED else 0
        if why:
            reasons[why] += 1
            found.append(one)
        else:
            query = replace(one.query, text=text)
            found.append(replace(one, query=query, made=f"{one.made}; reworded by a model"))
        if progress is not None:
            progress("reword", number, len(questions))
    return Rewording(
        questions=tuple(found),
        reworded=len(questions) - reasons.total(),
        refused=tuple(sorted(reasons.items())),
    )


def _reworded(client: LLMClient, question: GoldQuestion, source: str) -> tuple[str, str]:
    """Return the rewording, and why there is none that can be used."""
    said, problem = _asked(client, "reword", "question", question.text, source)
    if problem:
        return "", problem
    words = set(tokens(said))
    if not words or len(said) > _MAX_CHARACTERS or language_of(said) != question.language:
        return "", "not a question in the language of the first"
    if len(words & set(tokens(source))) >= SHARED * len(words):
        return "", "shares half of its words with the source"
    if any(
        holds_value(said, value) == 1 > holds_value(question.text, value)
        for value in question.answers
    ):
        return "", "says the answer"
    back, problem = _asked(client, "answer_back", "answer", said, source)
    same = any(
        holds_value(back, value) == 1 or token_f1(back, value) >= SAME_ANSWER
        for value in question.answers
    )
    return said, problem or ("" if same else "answered back otherwise")


def _asked(client: LLMClient, stage: str, key: str, question: str, source: str) -> tuple[str, str]:
    """Return one text of a reply, and why there is none."""
    prompt = stage_prompt(
        stage, language=language_of(question), context=source, question=question,
        max_output_tokens=_OUTPUT_TOKENS, schema=_schema(key),
    )  # fmt: skip
    try:
        reply = client.ask(prompt, stage="questions", keep=True).text
    except BudgetExceeded:
        return "", "the budget is used up"
    except ModelError:
        return "", _FAILED
    value = read_object(reply).get(key)
    if not isinstance(value, str):
        return "", "reply not usable"
    return " ".join(value.split()), ""


def _schema(key: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {key: {"type": "string"}},
        "required": [key],
        "additionalProperties": False,
    }
