"""An answer with a language model: packed sources in, a text with resolved citations out.

Two pure halves, `synthesis_messages` and `read_synthesis`, with the call between them, so that a
streaming or asynchronous caller can make the call itself. Knows no model: `complete` comes by
argument, takes chat messages and gives the reply with what it cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..types import Usage
from .cite import Embed, resolve_marks
from .draft import Draft, abstain
from .language import ABSTENTION, language_of
from .pack import Packed
from .prompts import chat_messages
from .sentences import SentenceSpans, Tokens

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

Complete = Callable[[Sequence["ChatMessage"]], tuple[str, Usage]]


def synthesise(
    question: str,
    packed: Packed,
    *,
    complete: Complete,
    tokens: Tokens,
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
) -> Draft:
    """The model's answer from the packed sources; without sources it abstains and asks nobody.

    Errors of `complete` pass through unchanged.
    """
    if not packed.passages:
        return abstain(language_of(question), detail="no sources")
    reply, usage = complete(synthesis_messages(question, packed))
    return read_synthesis(
        question,
        packed,
        reply=reply,
        usage=usage,
        tokens=tokens,
        sentence_spans=sentence_spans,
        embed=embed,
    )


def synthesis_messages(question: str, packed: Packed) -> tuple[ChatMessage, ...]:
    """What the model is shown: the standing instructions, then sources and question."""
    return chat_messages(
        "answer", language=language_of(question), context=packed.text, question=question
    )


def read_synthesis(
    question: str,
    packed: Packed,
    *,
    reply: str,
    usage: Usage,
    tokens: Tokens,
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
) -> Draft:
    """The draft that a reply makes: marks resolved, an abstention recognised, figures counted."""
    language = language_of(question)
    if not reply.strip():
        return abstain(language, detail="the model replied nothing", usage=usage)
    if is_abstention(reply):
        return abstain(language, detail="the model found no answer in the sources", usage=usage)
    cited = resolve_marks(
        reply, packed.passages, tokens=tokens, sentence_spans=sentence_spans, embed=embed
    )
    figures = {
        "citations": float(len(cited.citations)),
        "unknown_marks": float(cited.unknown),
        "unmarked_statements": float(cited.unmarked),
        "weak_citations": float(cited.weak),
    }
    detail = (
        f"{len(cited.citations)} citation(s), {cited.unmarked} statement(s) without a mark,"
        f" {cited.unknown} mark(s) removed"
    )
    return Draft(
        text=cited.text, citations=cited.citations, detail=detail, figures=figures, usage=usage
    )


def is_abstention(reply: str) -> bool:
    """Is the reply the abstention sentence, give or take marks and white space, and no more?"""
    said = _letters(reply)
    return any(_letters(sentence) == said for sentence in ABSTENTION.values())


def _letters(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", text).casefold()
