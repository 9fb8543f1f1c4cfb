"""Compression of a conversation by a model: a summary, topics, and facts that quote the user."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..llm.client import LLMClient
from ..prompts import language_of, stage_prompt
from ..verification.llm_judge import read_object
from .facts import FACT_KINDS, quoted_fact
from .records import Fact
from .topics import MAX_SUMMARY_CHARACTERS, MAX_TOPICS
from .transcript import Line, parse

_log = logging.getLogger("loregraph")
_MAX_SHOWN, _MAX_REPLY, _MAX_FACTS, _MAX_TOPIC = 24_000, 20_000, 20, 40
_SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "topics": {"type": "array", "items": {"type": "string"}},
        "facts": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["summary"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """A conversation as a model sums it up; every fact stands in a turn of the user."""

    summary: str
    topics: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()

    def besides(self, ruled: Sequence[Fact]) -> list[Fact]:
        """Return the facts that share no words with those found by rules."""
        return [
            fact
            for fact in self.facts
            if not any(fact.start < other.end and other.start < fact.end for other in ruled)
        ]


Compress = Callable[[str, str], Compressed | None]
"""Compresses a conversation document, by id and text; None where that failed."""


def compress_by_model(client: LLMClient) -> Compress:
    """Return compression by a model, through the gateway."""

    def compress(document_id: str, text: str) -> Compressed | None:
        prompt = stage_prompt(
            "remember",
            language=language_of(text),
            context=text[:_MAX_SHOWN],
            question="",
            max_output_tokens=700,
            schema=_SCHEMA,
        )
        try:
            reply = client.ask(prompt, stage="memory", keep=False).text
        except ModelError as error:
            _log.warning("memory: compressed by rules: %s", " ".join(str(error).split())[:200])
            return None
        return read_compressed(reply, document_id, text)

    return compress


def read_compressed(reply: str, document_id: str, text: str) -> Compressed | None:
    """Parse a model's reply; None without a summary. Facts that quote no user turn are dropped."""
    found = read_object(reply) if len(reply) <= _MAX_REPLY else {}
    summary = _line(found.get("summary"))[:MAX_SUMMARY_CHARACTERS].strip()
    if not summary:
        return None
    topics = found.get("topics")
    named = [_line(each)[:_MAX_TOPIC] for each in topics] if isinstance(topics, list) else []
    given = found.get("facts")
    lines = [line for line in parse(text) if line.role == "user"]
    facts = [
        _fact(each, document_id, lines)
        for each in (given[:_MAX_FACTS] if isinstance(given, list) else [])
    ]
    return Compressed(
        summary=summary,
        topics=tuple(dict.fromkeys(filter(None, named)))[:MAX_TOPICS],
        facts=tuple(fact for fact in facts if fact is not None),
    )


def _fact(given: object, document_id: str, lines: list[Line]) -> Fact | None:
    if not isinstance(given, Mapping):
        return None
    quote, kind = _line(given.get("quote")), given.get("kind")
    if len(quote) < _MIN_QUOTE or kind not in FACT_KINDS:
        return None
    for line in lines:
        place = line.text.find(quote)
        if place >= 0:
            return quoted_fact(document_id, line, line.start + place, quote, kind)
    return None


_MIN_QUOTE = 4


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
