"""Selection of community reports for a question about the whole.

The reports of one level that fit a budget, and how well reports fit a question, without a language
model, by their words and by the chunks that they rest on; after "From Local to Global" (Edge et al.
2024, section 3.1). Tokens, counts and vectors come by argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model import Community, Evidence, Report
from ..text.cjk import HAN_CHARACTER, count_han
from ..text.patterns import lazy_regex

Tokens = Callable[[str], list[str]]
Scores = NDArray[np.float64]


_SCOPE_EN = lazy_regex(
    r"\b(?:main|major|key|central|common|overall|general(?:ly)?|important|most|biggest|principal|whole"
    r"|entire|all|everything|across|throughout|themes?|topics?|subjects?|ideas?|points?|issues?"
    r"|matters?|findings?|takeaways?|conclusions?|trends?|patterns?|threads?|documents?|corpus"
    r"|collection|texts?|files?|library|archives?|sources?|papers?|articles?|material|records"
    r"|dataset|data|knowledge|summar\w+|overview|outline|describe|discuss\w*|about|contain\w*|cover\w*"
    r"|deal\w*|give|tells?|told|list|what|which|who|how|why|where|when|is|are|was|were|do|does|did|the|these"
    r"|this|those|of|in|on|an?|and|to|for|from|me|us|please|can|you|there|be|here|it|its|they|together"
    r"|picture|big|gist|content|contents|recur\w*|run|shared?|says?|said|mention\w*|meetings?|books?|as|by"
    r"|novels?|novellas?|tales?|stor(?:y|ies)|plots?|chapters?|parts|manuals?|handbooks?|guides?|characters?|happen\w*)\b",
    re.IGNORECASE,
)
_SCOPE_ZH = lazy_regex(
    r"这?几?[本部份篇册章回节](?=书|小说|手册|指南|故事)|这[一几]?[本部份篇册章回节]|[全本该]书|(?<![图证文秘诏])书(?=[中里的主讲写说]|$)|小说|手册|指南|章节|故事|情节|人物|梗概|大意"
    r"|章回|主要|总体|整体|所有|全部|整个|这些|这批|各个?|共同|核心|重要|主题|内容|话题|议题|问题|观点|要点|思想|结论"
    r"|趋势|线索|文档|文件|资料库?|材料|文章|文库|语料|来源|报告|总结|概括|概述|归纳|综述|介绍|说明|反映|涉及|讨论"
    r"|讲述?|写|说了?|谈|一?些|描述|包含|关于|什么|哪些|哪|如何|怎样?|请|一下|是|的|了|吗|呢|有|在|中|里|和|与|对|从|来看|上|出"
)


def content_terms(question: str, *, tokens: Tokens) -> list[str]:
    """Return the content terms of a question about the whole, without its generic words.

    Empty for a generic question ("What are the main themes across these documents?").
    """
    return list(dict.fromkeys(tokens(content_words(question))))


def content_words(question: str) -> str:
    """Return what a question about the whole asks about, without its generic words."""
    return " ".join(_SCOPE_ZH.sub(" ", _SCOPE_EN.sub(" ", question)).split())


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
    stretched from the median report to the best.
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
    han = HAN_CHARACTER.findall(text)
    words = re.findall(r"[^\W\d_]{2,}", HAN_CHARACTER.sub(" ", text))
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
    return count_han(text) > len(re.findall(r"[A-Za-z]+", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selected reports. `level` is None if no level fits and the best rated were taken.

    `left_out` counts reports of the coarsest level that found no room.
    """

    reports: tuple[Report, ...] = ()
    level: int | None = None
    tokens: int = 0
    left_out: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Point of an answer, `score` 0–100, with its evidence."""

    text: str
    score: float
    evidences: tuple[Evidence, ...]
    community_id: str


def report_text(report: Report) -> str:
    """Return a report's text: title, summary, a line per finding."""
    findings = (finding.text for finding in report.findings)
    return "\n".join((report.title, report.summary, *findings))


def select_reports(
    communities: Sequence[Community],
    reports: Sequence[Report],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Selection:
    """Select the finest level that fits the budget; else the best rated of the coarsest.

    A community that is not divided further may be missing from finer levels; its report then
    stands in for it there. Sorted by rating, best first, then by id.
    """
    by_community = {report.community_id: report for report in reports}
    sizes = {key: count(report_text(report)) for key, report in sorted(by_community.items())}
    levels = sorted({community.level for community in communities})
    for level in reversed(levels):
        chosen = [
            by_community[key] for key in greedy_cover(communities, level) if key in by_community
        ]
        total = sum(sizes[report.community_id] for report in chosen)
        if chosen and total <= budget_tokens:
            detail = f"{len(chosen)} report(s) of level {level}"
            return Selection(reports=_by_rating(chosen), level=level, tokens=total, detail=detail)
    coarsest = [
        by_community[key]
        for key in (greedy_cover(communities, levels[0]) if levels else [])
        if key in by_community
    ]
    return _best_rated(coarsest, sizes, budget_tokens=budget_tokens)


def greedy_cover(communities: Sequence[Community], level: int) -> list[str]:
    """Return communities covering all entities at `level`: its own, and coarser leaves."""
    parents = {community.parent_id for community in communities if community.level <= level}
    return sorted(
        community.id
        for community in communities
        if community.level == level or (community.level < level and community.id not in parents)
    )


def _best_rated(
    reports: Sequence[Report], sizes: Mapping[str, int], *, budget_tokens: int
) -> Selection:
    chosen: list[Report] = []
    total = 0
    for report in _by_rating(reports):
        if total + sizes[report.community_id] <= budget_tokens:
            chosen.append(report)
            total += sizes[report.community_id]
    left_out = len(reports) - len(chosen)
    detail = f"the {len(chosen)} best rated report(s) that fit, {left_out} left out"
    return Selection(reports=tuple(chosen), tokens=total, left_out=left_out, detail=detail)


def _by_rating(reports: Sequence[Report]) -> tuple[Report, ...]:
    return tuple(sorted(reports, key=lambda report: (-report.rating, report.community_id)))
