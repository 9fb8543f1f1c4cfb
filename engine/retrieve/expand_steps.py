"""Step-wise retrieval for multi-hop questions with a language model.

"Where was the mother of the director of A born?" cannot be found before it is known who directed A.
The model names the steps; what a later step needs of an earlier one it reads in the passages found
for that one (after Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning", ACL
2023). One call for the steps and one for each answer that a later step needs. Answers only go into
searches: none is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .expand_with_model import Complete, lines_of, prompt, single_line

FirstPassages = Callable[[str, int], Sequence[str]]
"""Search function: query and count → title and text of the first passages."""
PASSAGES_READ = 3
MAX_PASSAGE_CHARACTERS = 2_000
MAX_ANSWER_CHARACTERS = 120
_REFERENCE = re.compile(r"#(\d)")
_UNKNOWN = re.compile(
    r"^\W*(?:unknown|not (?:stated|known|given|mentioned)|未知|不知道|无法)", re.I
)


def steps(
    question: str, *, complete: Complete, first_passages: FirstPassages, count: int = 4
) -> list[str]:
    """Return the searches in order, each including earlier findings.

    [] of a question that needs one step. A step whose answer was not found is searched for as far
    as it is known.

    Raises what `complete` raises.
    """
    planned = lines_of(complete(prompt("steps", question, count=count)), question, count=count)
    if len(planned) < 2:
        return []
    wanted = {int(number) for step in planned for number in _REFERENCE.findall(step)}
    answers: dict[int, str] = {}
    found: list[str] = []
    for number, step in enumerate(planned, 1):
        text = _filled(step, answers)
        found.append(text)
        if number in wanted and number < len(planned):
            passages = first_passages(text, PASSAGES_READ)
            answers[number] = _answer(text, passages, complete) if passages else ""
    return list(dict.fromkeys(text for text in found if text))


def _filled(step: str, answers: dict[int, str]) -> str:
    # One pass: a "#2" inside an answer is never filled.
    text = _REFERENCE.sub(lambda match: answers.get(int(match[1]), ""), step)
    return " ".join(text.split())


def _answer(step: str, passages: Sequence[str], complete: Complete) -> str:
    """Extract a short answer to the step from the passages; "" if absent."""
    shown = "\n\n".join(passage[:MAX_PASSAGE_CHARACTERS] for passage in passages)
    asked = prompt("step", step, fenced=f"{step}\x1f{shown}", passages=shown)
    said = single_line(complete(asked))
    return "" if _UNKNOWN.match(said) or len(said) > MAX_ANSWER_CHARACTERS else said.rstrip(".。")
