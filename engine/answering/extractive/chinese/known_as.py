"""Names of a Chinese question as its documents write them: 刘备 is 玄德 there, and 备 alone.

The graph knows which names mean the same. A text is read as if it named what the question names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from graph.text.cjk import HAN, simplified

from ....retrieval.passages import Sentence
from ....retrieval.query_expansion import ExpandedQuery, Expander, Expansion
from ....storage.graph_api import given_name
from ....storage.tokenization import tokens

SHORTEST, LONGEST = 2, 8
"""Characters of a name that is looked for in a question."""
OTHER_NAMES = 0.7
"""Weight of the search by other names beside the question's own."""
_MARKS = r"[，。！？；：、“”‘’「」『』\s]"
_BEHIND = (
    "曰见闻大怒喜笑叹泣哭惊遂乃自亦与引令使遣问答谓从之既已方正"
    "在入出拜叫急不至死骂斩杀射追走奔战降归回起领请受得知听看望将"
)
"""Behind a given name of one character at the beginning of a clause."""


def name_candidates(question: str) -> list[str]:
    """Return the parts of a question that may be names."""
    runs = re.findall(f"[{HAN}]{{{SHORTEST},}}", simplified(question))
    return list(
        dict.fromkeys(
            run[start : start + length]
            for run in runs
            for length in range(SHORTEST, LONGEST + 1)
            for start in range(len(run) - length + 1)
        )
    )


@dataclass(frozen=True, slots=True)
class KnownAs:
    """Names of a question, each with the others of the same thing; longest first."""

    names: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, question: str, others: Mapping[str, Sequence[str]]) -> KnownAs:
        """Return the names that stand in a question and overlap no longer one."""
        rest, found = simplified(question), []
        for name in sorted(others, key=lambda each: (-len(each), each)):
            if name in rest:
                rest = rest.replace(name, " ")
                found.append((name, tuple(others[name])))
        return cls(tuple(found))

    def rewritten(self, question: str) -> str:
        """Return the question by the other names, as words to search for; empty without any."""
        text = simplified(question)
        for name, others in self.names:
            text = text.replace(name, " ".join(others))
        return text if any(others for _, others in self.names) else ""

    def all_of(self, name: str) -> tuple[str, ...]:
        """Return a name with the others of the same thing."""
        return name, *dict(self.names).get(name, ())

    def read(self, text: str) -> str:
        """Return a text with the names that the question uses."""
        for name, others in self.names:
            text = _pattern(name, others).sub(name, text)
        return text

    def named(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return sentences that hold the question's names wherever they hold others of them."""
        if not self.names:
            return list(sentences)
        return [
            replace(each, terms=each.terms | frozenset(tokens(read)))
            if (read := self.read(each.text)) != each.text
            else each
            for each in sentences
        ]


@lru_cache(maxsize=64)
def _pattern(name: str, others: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression for the other names and a person's given name of one character."""
    forms = [re.escape(each) for each in sorted(others, key=lambda each: (-len(each), each))]
    for full in (name, *others):
        given = given_name(full)
        if len(given) == 1 and len(full) == 2:
            forms.append(rf"(?:(?<={_MARKS})|^){given}(?=[{_BEHIND}])")
            forms.append(rf"(?<=[杀斩擒害弑]){given}(?={_MARKS}|$)")
    return re.compile("|".join([re.escape(name), *forms]))


UNKNOWN = KnownAs()


def other_name_searches(question: str, known_as: KnownAs) -> Expander | None:
    """Return the expansion of a question by the other names of what it names; None without any."""
    renamed = known_as.rewritten(question)
    if not renamed:
        return None
    itself = Expansion(keyword=question, dense=question, weight=1.0, kind="question")
    other = Expansion(keyword=renamed, dense="", weight=OTHER_NAMES, kind="mqe")
    return lambda _question, _first: ExpandedQuery(expansions=(itself, other))
