"""A language model as reranker: it reads numbered passages and answers an order.

Listwise, in windows that slide from the end of the list to its front where it is long (Sun et al.,
"Is ChatGPT Good at Search?", EMNLP 2023, section 3). Answers are read tolerantly, trusted in
nothing, and asked for once more if they cannot be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from ..errors import ModelOutputError
from ..prompt_texts import detect_language
from ..types import Passage
from .prompts import prompt
from .rerank import rerank_text, with_rerank_score

_JSON = re.compile(r"\{[^{}]*\}|\[[^\[\]{}]*\]")
_CHAIN = re.compile(r"\[\d{1,4}\](?:\s*(?:>|,|、|≥)\s*\[\d{1,4}\])+")
_ONLY_NUMBERS = re.compile(r"[\[(]?\d+[\])]?(?:\s*[,，、;>\s]\s*[\[(]?\d+[\])]?)*\s*[。.]?")
_NUMBER = re.compile(r"\[?(\d{1,4})\]?")
_SHOWN_CHARACTERS = 20_000
_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


class LanguageReranker:
    """Listwise reranker by a language model; stateless, thread-safe.

    Args:
        complete: a prompt to the model's answer; raises `ModelError` where it cannot.
        window: how many passages one prompt shows. Longer lists take a call for each half window.
        passage_words: how many words (or Chinese characters) of a passage are shown.
    """

    def __init__(
        self, complete: Callable[[str], str], *, window: int = 20, passage_words: int = 300
    ) -> None:
        if window < 2:
            raise ValueError(f"window must be 2 or more, not {window}")
        self._complete = complete
        self._window = window
        self._passage_words = passage_words

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Rerank by the model's order; omitted passages follow in theirs.

        `scores["rerank"]` falls evenly from 1 by rank, and is 0 where the model saw no help. In a
        list longer than one window, help is what any of its windows said last of a passage.

        Raises:
            ModelError: `complete` failed, or two answers in a row cannot be used.
        """
        order = list(range(len(passages)))
        helpful: set[int] = set()
        for first, after in window_bounds(len(order), self._window):
            shown = order[first:after]
            chosen = self._chosen(question, [passages[place] for place in shown])
            best = [shown[number] for number in chosen]
            others = [place for place in shown if place not in set(best)]
            helpful = (helpful - set(shown)) | set(best)
            order[first:after] = best + others
        order.sort(key=lambda place: place not in helpful)
        return [
            with_rerank_score(passages[place], 1 - rank / len(order) if place in helpful else 0.0)
            for rank, place in enumerate(order)
        ]

    def _chosen(self, question: str, passages: Sequence[Passage]) -> list[int]:
        """Return the chosen positions from 0, best first, with one corrective retry."""
        reason = ""
        for _ in range(2):
            numbers = read_order(self._complete(self._request(question, passages, reason)))
            reason = ranking_error(numbers, len(passages))
            if numbers is not None and not reason:
                return [number - 1 for number in dict.fromkeys(numbers)]
        raise ModelOutputError(f"the language model gave no order of the passages: {reason}")

    def _request(self, question: str, passages: Sequence[Passage], reason: str) -> str:
        language = detect_language(question)
        lines = "\n".join(
            f"[{number}] {_on_one_line(passage, self._passage_words)}"
            for number, passage in enumerate(passages, start=1)
        )
        asked = " ".join(question.split())
        problem = prompt("rerank_problem", language=language, reason=reason) if reason else ""
        return prompt(
            "rerank",
            language=language,
            count=str(len(passages)),
            example="2, 1",
            problem=f"\n{problem}\n" if problem else "",
            fenced=f"{lines}\n{asked}",
            passages=lines,
            question=asked,
        )


def window_bounds(count: int, window: int) -> list[tuple[int, int]]:
    """Return half-overlapping windows `[first, after)` of a list, last first."""
    if count < 2:
        return []
    step = window // 2
    bounds = [(max(count - window, 0), count)]
    while bounds[-1][0] > 0:
        first = max(bounds[-1][0] - step, 0)
        bounds.append((first, min(first + window, count)))
    return bounds


def read_order(answer: str) -> list[int] | None:
    """Parse the numbers of an answer in order; None for an unknown form.

    Known are JSON (a list, or an object with one list), `[2] > [1]`, and a last line of numbers
    alone. Of several the last counts: models repeat the question's example first.
    """
    for candidate in reversed(_JSON.findall(answer)):
        numbers = _from_json(candidate)
        if numbers is not None and (len(numbers) > 1 or _stands_alone(candidate, answer)):
            return numbers
    chains = _CHAIN.findall(answer)
    if chains:
        return [int(number) for number in _NUMBER.findall(chains[-1])]
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if lines and _ONLY_NUMBERS.fullmatch(lines[-1]):
        return [int(number) for number in _NUMBER.findall(lines[-1])]
    return None


def ranking_error(numbers: Sequence[int] | None, count: int) -> str:
    """Return why an order of `count` passages is unusable, for the model; empty if fine.

    Numbers twice or left out are no objection.
    """
    if numbers is None:
        return 'no JSON of the form {"order": [...]} was found'
    strange = sorted({number for number in numbers if not 1 <= number <= count})
    if strange:
        return f"there is no passage {strange[0]}, the numbers go from 1 to {count}"
    return ""


def _stands_alone(candidate: str, said: str) -> bool:
    """Check whether a short list is the answer; `[3]` inside a sentence is a mention."""
    return candidate.startswith("{") or candidate in map(str.strip, said.splitlines())


def _from_json(candidate: str) -> list[int] | None:
    try:
        value = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    found = [_NUMBER.fullmatch(str(each).strip()) for each in value]
    return [int(match[1]) for match in found if match] if all(found) else None


def _on_one_line(passage: Passage, words: int) -> str:
    """Flatten a passage so that it cannot imitate another numbered one."""
    line = " ".join(rerank_text(passage, limit_characters=_SHOWN_CHARACTERS).split())
    for count, match in enumerate(_PIECE.finditer(line), start=1):
        if count > words:
            return f"{line[: match.start()].rstrip()} …"
    return line
