"""Answers from memory alone: a current fact, else the sentence that answers, with its date."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..prompts import language_of
from ..storage.tokenization import tokens
from ..types import Answer, Citation, Passage, TraceStep
from . import transcript
from .facts import about, sentences_in
from .recall import MIN_OVERLAP, OWN
from .records import Fact

_SAID = {
    ("en", "user"): "You said on {date}: “{text}” [1]",
    ("en", "assistant"): "I answered on {date}: “{text}” [1]",
    ("zh", "user"): "您在{date}说过：“{text}” [1]",
    ("zh", "assistant"): "我在{date}回答过：“{text}” [1]",
}
_NAME_OF = re.compile(
    r"\bmy (?P<thing>[\w -]+?)(?:['’]s name| (?:(?:is|was|are|were) )?(?:called|named))\b"
    r"|\bnames? of my (?P<of>[\w -]+)"
    r"|我(?:家|养|有)?的?(?P<zh>[^的叫是，。？?]{1,6}?)(?:的名字)?叫(?:什么|啥)",
    re.IGNORECASE,
)
"""Question for the name of a thing: a message that does not speak of it cannot answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Memory of one user: facts, texts of conversation documents, and an answer from them."""

    facts: Sequence[Fact]
    text_of: Callable[[str], str]
    ask: Callable[[], Answer | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quote:
    """Sentence of a message, `[start, end)` of its document."""

    passage: Passage
    line: transcript.Line
    start: int
    end: int
    evidence: float | None = None

    @property
    def text(self) -> str:
        return self.line.text[self.start - self.line.start : self.end - self.line.start]


def answer_from_memory(question: str, passages: Sequence[Passage], source: Source) -> Answer | None:
    """Answer from what was said, citing it with its date; None where it does not say."""
    quote = _quote(question, passages, source)
    if quote is None:
        return None
    passage = quote.passage
    citation = Citation(
        number=1,
        document_id=passage.document_id,
        chunk_id=passage.chunk_id,
        title=passage.title,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        origin="memory",
    )
    said = _SAID[language_of(question), quote.line.role]
    return Answer(
        question=question,
        text=said.format(date=quote.line.at[:10], text=quote.text),
        mode="local",
        citations=(citation,),
        memory=tuple(passages),
        evidence=quote.evidence,
        trace=(TraceStep(stage="memory", detail="answered from memory", seconds=0.0),),
    )


def _quote(question: str, passages: Sequence[Passage], source: Source) -> _Quote | None:
    fact = about(question, source.facts) if OWN.search(question) else None
    if fact is not None:
        return _of_fact(fact, source)
    if not passages:
        return None
    answer = source.ask()
    open_ones = [each for each in passages if each.scores.get("open")]
    if (answer is None or answer.abstained) and not open_ones:
        return None
    best = _best_sentence(question, open_ones or passages, answer)
    if best is None:
        return None
    later = _replacement(source.facts, best)
    evidence = answer.evidence if answer is not None else None
    found = _of_fact(later, source) if later is not None else best
    return replace(found, evidence=evidence) if found is not None else None


def _of_fact(fact: Fact, source: Source) -> _Quote | None:
    text = source.text_of(fact.document_id)
    lines = transcript.parse(text)
    line = next((one for one in lines if one.start <= fact.start < one.end), None)
    if line is None or text[fact.start : fact.end] != fact.text:
        return None
    passage = Passage(
        text=line.text,
        score=1.0,
        relevance=1.0,
        document_id=fact.document_id,
        chunk_id=f"{fact.document_id}#{fact.id}",
        title=fact.session,
        start=line.start,
        end=line.end,
        origin="memory",
    )
    return _Quote(passage=passage, line=line, start=fact.start, end=fact.end)


def _best_sentence(
    question: str, passages: Sequence[Passage], answer: Answer | None
) -> _Quote | None:
    """Return the sentence of a short answer, else the one with most words of the question."""
    asked = set(tokens(question))
    thing = named_thing(question)
    best: tuple[float, _Quote] | None = None
    for rank, passage in enumerate(passages):
        for line in _lines_of(passage):
            if not thing <= set(tokens(line.text)):
                continue
            for start, end in sentences_in(line.text, line.start):
                quote = _Quote(passage=passage, line=line, start=start, end=end)
                value = _value(quote, asked, rank, answer)
                if value is not None and (best is None or value > best[0]):
                    best = (value, quote)
    return best[1] if best is not None else None


def named_thing(question: str) -> set[str]:
    """Return the tokens of the thing of whose name a question asks; empty without one."""
    found = _NAME_OF.search(question)
    if found is None:
        return set()
    if found["zh"]:
        return set(tokens(found["zh"]))
    words = (found["thing"] or found["of"]).split()
    return set(tokens(" ".join(words[-1:])))


def _value(quote: _Quote, asked: set[str], rank: int, answer: Answer | None) -> float | None:
    """Return how well a sentence answers; None where it asks, or shares too few words."""
    if quote.text[-1:] in "?？":
        return None
    short = answer.short if answer is not None else None
    if (
        short is not None
        and short.document_id == quote.passage.document_id
        and short.start is not None
        and quote.start <= short.start < quote.end
    ):
        return 2.0
    share = len(asked & set(tokens(quote.text))) / len(asked) if asked else 0.0
    if share < MIN_OVERLAP:
        return None
    return share - 0.05 * rank - (0.1 if quote.line.role == "assistant" else 0.0)


def _lines_of(passage: Passage) -> list[transcript.Line]:
    """Return the messages in a passage, at their places in its document."""
    return [
        replace(line, start=line.start + passage.start, end=line.end + passage.start)
        for line in transcript.parse(passage.text)
    ]


def _replacement(known: Sequence[Fact], quote: _Quote) -> Fact | None:
    """Return the current fact that replaces one stated in a sentence; None without one."""
    by_id = {fact.id: fact for fact in known}
    name = quote.passage.document_id
    for fact in known:
        if fact.document_id == name and fact.start < quote.end and quote.start < fact.end:
            while fact.superseded_by in by_id:
                fact = by_id[fact.superseded_by]
            return fact if fact.document_id != name or fact.start != quote.start else None
    return None
