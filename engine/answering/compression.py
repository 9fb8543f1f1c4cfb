"""Context compression: only sentences relevant to the question.

By words and, where an encoder is given, by meaning; or a language model names their numbers. What
is kept keeps its place: a passage stays whole, and with it its offsets; only what is shown of it
shrinks. A gap shows as `…`. By words it loses supporting sentences (`tests/benchmarks/packing.py`:
of HotpotQA's at any size of context; of MuSiQue's from 1,000 tokens on, where 500 hold a few more),
so it is off by default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..prompts import language_of, stage_prompt
from ..retrieval.passages import Embed, Sentence, split_passages
from ..storage.graph_api import Prompt, find_json
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    "required": ["keep"],
    "additionalProperties": False,
}
NEAR_BEST = 0.35
"""A sentence is kept from this share of the best one's score on."""

_MEANING_WEIGHT = 0.5
_ABOVE_WEIGHT = 0.5
"""Credit of a question word present only in title or headings."""
_MAX_OUTPUT_TOKENS = 512
_MAX_PROSE = 10_000
_GAP = "…"


@dataclass(frozen=True, slots=True)
class SentenceSelection:
    """Selected sentence spans by passage index, sorted."""

    spans: Mapping[int, tuple[tuple[int, int], ...]]
    detail: str


def select_key_sentences(
    question: str,
    passages: Sequence[Passage],
    *,
    weight: TokenWeight,
    embed: Embed | None = None,
    near_best: float = NEAR_BEST,
) -> SentenceSelection:
    """Select sentences near the best score, and the best of each passage.

    A sentence's score is the share of the question's words in it, by weight (idf), words of its
    title and headings counting half, and half its likeness where an encoder is given. With one that
    is kept goes the sentence before it where it leans on that.
    """
    sentences = split_passages(passages)
    scores = _scores(question, sentences, weight=weight, embed=embed)
    best_of: dict[int, Sentence] = {}
    for sentence, score in zip(sentences, scores, strict=True):
        best = best_of.get(sentence.passage)
        if best is None or score > scores[best.order]:
            best_of[sentence.passage] = sentence
    bar = near_best * max(scores, default=0.0)
    kept = {each.order for each in best_of.values()}
    kept |= {each.order for each, score in zip(sentences, scores, strict=True) if score >= bar > 0}
    kept |= {each.order - 1 for each in sentences if each.order in kept and _leans(each)}
    return SentenceSelection(
        _by_passage(sentences, kept), f"{len(kept)} of {len(sentences)} sentences"
    )


def sentences_by_model(
    question: str, passages: Sequence[Passage], *, ask: Callable[[Prompt], str]
) -> tuple[SentenceSelection | None, str]:
    """Select sentences by a model; None with a reason if unusable."""
    sentences = split_passages(passages)
    lines = [f"[{each.order + 1}] {' '.join(each.text.split())}" for each in sentences]
    prompt = stage_prompt(
        "compress",
        language=language_of(question),
        context="\n".join(lines),
        question=question,
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        schema=SCHEMA,
    )
    try:
        reply = ask(prompt)
    except ModelError as error:
        return None, f"the model failed: {error}"
    kept = {number - 1 for number in read_numbers(reply) if 1 <= number <= len(sentences)}
    if not kept:
        return None, "the model selected no sentence"
    told = f"{len(kept)} of {len(sentences)} sentences, by the model"
    return SentenceSelection(_by_passage(sentences, kept), told), ""


def read_numbers(reply: str) -> list[int]:
    """Return the numbers under `keep` in a reply, or those in brackets."""
    for value in find_json(reply).values:
        rows = value.get("keep") if isinstance(value, dict) else value
        if isinstance(rows, list):
            found = (re.search(r"-?\d{1,5}", str(row)) for row in rows)
            return [int(match.group()) for match in found if match]
    bracketed = " ".join(re.findall(r"\[([\d,，、\s]+)\]", reply[:_MAX_PROSE]))
    return [int(digits) for digits in re.findall(r"\d{1,5}", bracketed)]


def render_selection(
    key: SentenceSelection, passages: Sequence[Passage]
) -> Callable[[Passage], str]:
    """Return a function from a passage, or merged span, to its selected text."""
    spans: dict[str, set[tuple[int, int]]] = {}
    for index, kept in key.spans.items():
        passage = passages[index]
        spans.setdefault(passage.document_id, set()).update(
            (passage.start + start, passage.start + end) for start, end in kept
        )

    def excerpt(passage: Passage) -> str:
        inside = [
            (start - passage.start, end - passage.start)
            for start, end in sorted(spans.get(passage.document_id, ()))
            if passage.start <= start and end <= passage.end
        ]
        return _excerpt(passage.text, inside) if inside else passage.text

    return excerpt


def _excerpt(text: str, spans: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        if start < done:  # two chunks share a sentence
            continue
        between = text[done:start]
        pieces.append(between if not between.strip() else f" {_GAP} " if pieces else f"{_GAP} ")
        pieces.append(text[start:end])
        done = end
    return "".join(pieces).strip() + (f" {_GAP}" if text[done:].strip() else "")


def _scores(
    question: str, sentences: Sequence[Sentence], *, weight: TokenWeight, embed: Embed | None
) -> list[float]:
    wanted = {term: weight(term) for term in set(tokens(question))}
    whole = sum(wanted.values()) or 1.0
    scores = []
    for sentence in sentences:
        own = sum(worth for term, worth in wanted.items() if term in sentence.terms)
        above = sum(
            worth
            for term, worth in wanted.items()
            if term in sentence.context and term not in sentence.terms
        )
        scores.append((own + _ABOVE_WEIGHT * above) / whole)
    if embed is not None and sentences:
        vectors = embed([question, *(sentence.text for sentence in sentences)])
        likeness = vectors[1:] @ vectors[0]
        scores = [
            score + _MEANING_WEIGHT * max(0.0, float(near))
            for score, near in zip(scores, likeness, strict=True)
        ]
    return scores


_LEANS = re.compile(
    r"^(?:He|She|It|They|His|Her|Its|Their|This|These|Those|That|Such|However|But|Then|There)\b"
    r"|^(?:他|她|它|其|该|此|这|那|但|然而|因此)"
)


def _leans(sentence: Sentence) -> bool:
    """Check whether a sentence depends on the previous one."""
    return not sentence.opens and _LEANS.match(sentence.text) is not None


def _by_passage(
    sentences: Sequence[Sentence], kept: set[int]
) -> dict[int, tuple[tuple[int, int], ...]]:
    spans: dict[int, list[tuple[int, int]]] = {}
    for order in sorted(kept):
        sentence = sentences[order]
        spans.setdefault(sentence.passage, []).append((sentence.start, sentence.end))
    return {passage: tuple(found) for passage, found in spans.items()}
