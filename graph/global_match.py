"""Relevance of statements to a global question: by chunk, words and substance.

What a question about the whole asks for is seldom said in its words, so the chunk that a statement
stands in counts more than the statement's own words: by the share of the question's words in the
chunk, and by its likeness in an encoder where one can read both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .model import Chunk

Tokens = Callable[[str], list[str]]
Scores = NDArray[np.float64]

CHUNK, WORDS = 0.7, 0.3
"""Weights of a statement's chunk and of its own words."""

HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_SCOPE_EN = re.compile(
    r"\b(?:main|major|key|central|common|overall|general(?:ly)?|important|most|biggest|principal|whole"
    r"|entire|all|everything|across|throughout|themes?|topics?|subjects?|ideas?|points?|issues?"
    r"|matters?|findings?|takeaways?|conclusions?|trends?|patterns?|threads?|documents?|corpus"
    r"|collection|texts?|files?|library|archives?|sources?|papers?|articles?|material|records"
    r"|dataset|data|knowledge|summar\w+|overview|outline|describe|discuss\w*|about|contain\w*|cover\w*"
    r"|deal\w*|give|tell|list|what|which|who|how|why|where|when|is|are|was|were|do|does|did|the|these"
    r"|this|those|of|in|on|an?|and|to|for|from|me|us|please|can|you|there|be|here|it|its|they|together"
    r"|picture|big|gist|content|contents|recur\w*|run|shared?|as|by)\b",
    re.IGNORECASE,
)
_SCOPE_ZH = re.compile(
    r"主要|总体|整体|所有|全部|整个|这些|这批|各个?|共同|核心|重要|主题|内容|话题|议题|问题|观点|要点|思想|结论"
    r"|趋势|线索|文档|文件|资料库?|材料|文章|文库|语料|来源|报告|总结|概括|概述|归纳|综述|介绍|说明|反映|涉及|讨论"
    r"|讲述?|描述|包含|关于|什么|哪些|哪|如何|怎样?|请|一下|是|的|了|吗|呢|有|在|中|里|和|与|对|从|来看|上|出"
)


def content_terms(question: str, *, tokens: Tokens) -> list[str]:
    """Return the content terms of a question, without words about "the whole".

    Empty for a generic question ("What are the main themes across these documents?").
    """
    return list(dict.fromkeys(tokens(_SCOPE_ZH.sub(" ", _SCOPE_EN.sub(" ", question)))))


def chunk_match(
    question: str,
    *,
    places: Mapping[str, Sequence[str]],
    chunks: Mapping[str, Chunk],
    near: Mapping[str, float],
    tokens: Tokens,
    weight: Callable[[str], float],
) -> Callable[[str, Sequence[str]], Scores]:
    """Return the `match` function of this question for `map_points`.

    Args:
        question: what is asked.
        places: statement text → ids of the chunks that it stands in.
        chunks: the chunks in play, by id; what is near is measured against them.
        near: chunk id → cosine with the question; empty where no encoder can read it.
        tokens: the keyword index's tokens.
        weight: a token's idf.

    A chunk's likeness is stretched from the median of all to the best, so that what is merely no
    worse than most counts for nothing.
    """
    wanted = {term: max(weight(term), 0.0) for term in content_terms(question, tokens=tokens)}
    total = sum(wanted.values()) or 1.0

    def held(text: str) -> float:
        terms = set(tokens(text))
        return sum(value for term, value in wanted.items() if term in terms) / total

    by_words = _stretched(
        {
            key: held(" ".join((chunk.title, *chunk.headings, chunk.text)))
            for key, chunk in sorted(chunks.items())
        }
    )
    by_vector = _stretched({key: near[key] for key in sorted(near) if key in chunks})

    def of_chunk(key: str) -> float:
        words = by_words.get(key, 0.0)
        return (words + by_vector.get(key, 0.0)) / 2 if by_vector else words

    def match(_question: str, texts: Sequence[str]) -> Scores:
        return np.array(
            [
                max((of_chunk(key) for key in places.get(text, ())), default=0.0)
                * (CHUNK + WORDS * held(text))
                for text in texts
            ],
            dtype=np.float64,
        )

    return match


def report_match(
    question: str,
    *,
    words: Mapping[str, frozenset[str]],
    places: Mapping[str, Sequence[str]],
    near: Mapping[str, float],
    tokens: Tokens,
    weight: Callable[[str], float],
) -> dict[str, float]:
    """Return how well reports fit a question, the best 1, by community id.

    Args:
        question: what is asked; one without a subject fits all alike.
        words: community id → the tokens of its report.
        places: community id → the chunks that its findings rest on.
        near: chunk id → cosine with the question; empty where no encoder can read it.
        tokens: the keyword index's tokens.
        weight: a token's idf.

    By the share of the question's words that a report holds and by its nearest chunk, each
    stretched from the median report to the best, as chunks are in `chunk_match`.
    """
    wanted = {term: max(weight(term), 0.0) for term in content_terms(question, tokens=tokens)}
    if not sum(wanted.values()):
        return dict.fromkeys(sorted(words), 1.0)
    held = {
        key: sum(value for term, value in wanted.items() if term in words[key])
        for key in sorted(words)
    }
    by_words = _stretched(held)
    by_vector = _stretched(
        {
            key: max(near[chunk] for chunk in places[key] if chunk in near)
            for key in sorted(words)
            if any(chunk in near for chunk in places.get(key, ()))
        }
    )
    fits = {key: by_words[key] + by_vector.get(key, 0.0) for key in sorted(words)}
    top = max(fits.values(), default=0.0)
    return {key: value / top if top else 0.0 for key, value in fits.items()}


def _stretched(values: Mapping[str, float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values.values())
    low, high = ordered[len(ordered) // 2], ordered[-1]
    width = (high - low) or 1.0
    return {key: max(0.0, (value - low) / width) for key, value in values.items()}


def informativeness(text: str) -> float:
    """Return the density of names, numbers and content words, 0–1.

    Statements too short to stand alone and very long ones get less.
    """
    han = HAN.findall(text)
    words = re.findall(r"[^\W\d_]{2,}", HAN.sub(" ", text))
    names = [word for word in words if word[0].isupper()]
    facts = len(set(names)) + 1.5 * len(re.findall(r"\d[\d.,:/]*", text))
    facts += len(re.findall(r"《[^》]+》|“[^”]+”|「[^」]+」", text))
    length = len(words) + len(han) / 1.7
    if length < 1:
        return 0.0
    density = min(1.0, (facts + 0.12 * length) / 8)
    fits = min(1.0, length / 10) * min(1.0, 45 / length)
    return density * fits


def mostly_han(text: str) -> bool:
    """Check whether a text is mostly Han characters."""
    return len(HAN.findall(text)) > len(re.findall(r"[A-Za-z]+", text))
