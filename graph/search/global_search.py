"""Global search: select reports, score findings, reduce to diverse points.

    select_reports ─→ map_points ─→ reduce_points

The map-reduce over community reports of "From Local to Global" (Edge et al. 2024, section 3.1),
here with a score that needs no language model. A global question's topic is seldom stated in its
own words, so the chunk that a finding stands in counts more than the finding: by the share of the
question's words in it, and by vectors where an encoder reads both. Tokens, counts and vectors come
by argument.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model import Chunk, Community, Evidence, Finding, Report
from ..text.cjk import HAN_CHARACTER, count_han, has_han
from ..text.sentences import sentence_quality

Tokens = Callable[[str], list[str]]
Scores = NDArray[np.float64]

CHUNK, WORDS = 0.7, 0.3
"""Weights of a statement's chunk and of its own words."""

_SCOPE_EN = re.compile(
    r"\b(?:main|major|key|central|common|overall|general(?:ly)?|important|most|biggest|principal|whole"
    r"|entire|all|everything|across|throughout|themes?|topics?|subjects?|ideas?|points?|issues?"
    r"|matters?|findings?|takeaways?|conclusions?|trends?|patterns?|threads?|documents?|corpus"
    r"|collection|texts?|files?|library|archives?|sources?|papers?|articles?|material|records"
    r"|dataset|data|knowledge|summar\w+|overview|outline|describe|discuss\w*|about|contain\w*|cover\w*"
    r"|deal\w*|give|tell|list|what|which|who|how|why|where|when|is|are|was|were|do|does|did|the|these"
    r"|this|those|of|in|on|an?|and|to|for|from|me|us|please|can|you|there|be|here|it|its|they|together"
    r"|picture|big|gist|content|contents|recur\w*|run|shared?|says?|said|mention\w*|meetings?|books?|as|by)\b",
    re.IGNORECASE,
)
_SCOPE_ZH = re.compile(
    r"主要|总体|整体|所有|全部|整个|这些|这批|各个?|共同|核心|重要|主题|内容|话题|议题|问题|观点|要点|思想|结论"
    r"|趋势|线索|文档|文件|资料库?|材料|文章|文库|语料|来源|报告|总结|概括|概述|归纳|综述|介绍|说明|反映|涉及|讨论"
    r"|讲述?|说了?|谈|一?些|描述|包含|关于|什么|哪些|哪|如何|怎样?|请|一下|是|的|了|吗|呢|有|在|中|里|和|与|对|从|来看|上|出"
)


def content_terms(question: str, *, tokens: Tokens) -> list[str]:
    """Return the content terms of a question about the whole, without its generic words.

    Empty for a generic question ("What are the main themes across these documents?").
    """
    return list(dict.fromkeys(tokens(content_words(question))))


def content_words(question: str) -> str:
    """Return what a question about the whole asks about, without its generic words."""
    return " ".join(_SCOPE_ZH.sub(" ", _SCOPE_EN.sub(" ", question)).split())


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


OTHER_LANGUAGE = 0.3
"""Score factor of a point in another script than the question's."""

RATING, SPREAD, SUBSTANCE, READS_WELL = 0.2, 0.1, 0.3, 0.4
"""Score weights of report rating, document spread, substance and readability."""

LIKENESS = 0.5
DOCUMENT_AGAIN = 0.6
COMMUNITY_AGAIN = 0.95
"""Penalty for similarity to a chosen point, and discounts for its document and community."""

_CANDIDATES = 200
"""Only so many points, the best by score, are compared with one another."""

_FLOOR = 0.15
"""Minimum share of the best match for a finding to count."""

_LENGTH, _SHORT = 0.6, 4
"""A point's new concepts are shared among `(its tokens + _SHORT) ** _LENGTH`."""

_Draft = tuple[Report, Finding]
"""A finding with its report."""


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


def community_of_chunks(
    reports: Sequence[Report], chunks: Mapping[str, Chunk]
) -> Callable[[str], str]:
    """Map chunk ids to the community whose report rests most on them or their document.

    The empty string where no report does. More central reports win ties.
    """
    by_chunk: dict[str, Counter[str]] = {}
    by_document: dict[str, Counter[str]] = {}
    for report in reports:
        for finding in report.findings:
            for place in finding.evidences:
                key = report.community_id
                by_chunk.setdefault(place.chunk_id, Counter())[key] += 1
                if place.chunk_id in chunks:
                    document = chunks[place.chunk_id].document_id
                    by_document.setdefault(document, Counter())[key] += 1
    ratings = {report.community_id: report.rating for report in reports}

    def owner(chunk_id: str) -> str:
        document = chunks[chunk_id].document_id if chunk_id in chunks else ""
        found = by_chunk.get(chunk_id) or by_document.get(document) or Counter()
        return min(found, key=lambda key: (-found[key], -ratings[key], key), default="")

    return owner


def map_points(
    question: str,
    reports: Sequence[Report],
    *,
    match: Callable[[str, Sequence[str]], Scores],
    tokens: Tokens,
    document_of: Mapping[str, str],
) -> list[Point]:
    """Return relevant findings as points, best first; zeros are dropped.

    `match(question, texts)` gives the likeness of each text to the question, 0–1 (see
    `chunk_match`); a generic question matches everything alike and does not call it.
    What is alike is told apart by the report's rating, by how many documents say it, by how much it
    says and how well it reads. The same statement in two reports is one point.
    """
    drafts = [(report, finding) for report in reports for finding in report.findings]
    if not drafts:
        return []
    generic = not content_terms(question, tokens=tokens)
    own = np.ones(len(drafts)) if generic else _matched(drafts, question, match)
    top_rating = max(report.rating for report in reports) or 1.0
    in_han = has_han(question)
    best: dict[str, Point] = {}
    for (report, finding), relevance in zip(drafts, own.tolist(), strict=True):
        value = (
            RATING * report.rating / top_rating
            + SPREAD * min(len(_documents(finding.evidences, document_of)), 3) / 3
            + SUBSTANCE * informativeness(finding.text)
            + READS_WELL * sentence_quality(finding.text)
        )
        language = 1.0 if mostly_han(finding.text) == in_han else OTHER_LANGUAGE
        point = Point(
            text=finding.text,
            score=round(100 * min(max(relevance * value * language, 0.0), 1.0), 3),
            evidences=finding.evidences,
            community_id=report.community_id,
        )
        known = best.get(finding.text)
        if point.score > 0 and (known is None or _rank(point) < _rank(known)):
            best[finding.text] = point
    return sorted(best.values(), key=_rank)


def reduce_points(
    points: Sequence[Point],
    *,
    limit: int,
    budget_tokens: int,
    count: Callable[[str], int],
    similarity: Callable[[Sequence[str]], Scores],
    document_of: Mapping[str, str],
    concepts: Tokens | None = None,
    given: Sequence[Point] = (),
) -> list[Point]:
    """Select relevant, diverse points from many documents and communities.

    `given` points are taken first, in their order; the others are chosen beside them.

    Greedy, in the order chosen: a point's score is lowered by its likeness to those chosen
    (maximal marginal relevance, Carbonell & Goldstein 1998) and by how often its documents and its
    community were used. `similarity(texts)` gives an (n, n) matrix, 0–1. With `concepts`, which
    gives a text's terms, a score also counts for as much as the point adds of what recurs across
    the documents (concept coverage, Gillick & Favre 2009). A point that does not fit what is left
    of the budget is passed over.
    """
    known = {point.text for point in given}
    rest = [point for point in sorted(points, key=_rank) if point.text not in known]
    candidates = [*given, *rest[:_CANDIDATES]]
    if not candidates:
        return []
    likeness = np.clip(similarity([point.text for point in candidates]), 0.0, 1.0)
    news = _News(candidates, concepts, document_of)
    nearest = np.zeros(len(candidates))
    documents: Counter[str] = Counter()
    communities: Counter[str] = Counter()
    open_places = list(range(len(candidates)))
    chosen: list[Point] = []
    left = budget_tokens

    def value(place: int) -> float:
        point = candidates[place]
        again = float(DOCUMENT_AGAIN ** _uses(point, documents, document_of))
        again *= float(COMMUNITY_AGAIN ** communities[point.community_id])
        return point.score * (1 - LIKENESS * float(nearest[place])) * news.of(place) * again

    while open_places and len(chosen) < limit:
        best = open_places[0]
        if best >= len(given):
            best = max(open_places, key=lambda place: (value(place), -place))
        open_places.remove(best)
        size = count(candidates[best].text)
        if size > left:
            continue
        left -= size
        chosen.append(candidates[best])
        nearest = np.maximum(nearest, likeness[best])
        news.on_event(best)
        documents.update(_documents(candidates[best].evidences, document_of))
        communities[candidates[best].community_id] += 1
    return chosen


class _News:
    """Novelty of points: recurring concepts that are not covered yet."""

    def __init__(
        self, points: Sequence[Point], concepts: Tokens | None, document_of: Mapping[str, str]
    ) -> None:
        self._terms = [frozenset(concepts(point.text) if concepts else ()) for point in points]
        weights = _concept_weights(points, self._terms, document_of) if concepts else {}
        self._weights = weights or None  # in a single document nothing recurs across documents
        self._told: set[str] = set()

    def of(self, place: int) -> float:
        """Return the weight of a point's new concepts for its length; 1 without concepts."""
        if self._weights is None:
            return 1.0
        terms = self._terms[place]
        new = sum(self._weights.get(term, 0.0) for term in sorted(terms - self._told))
        return float(new / (len(terms) + _SHORT) ** _LENGTH)

    def on_event(self, place: int) -> None:
        """Mark a point's concepts as covered."""
        self._told |= self._terms[place]


def _concept_weights(
    points: Sequence[Point], terms: Sequence[frozenset[str]], document_of: Mapping[str, str]
) -> dict[str, float]:
    """Terms of at least two documents, by the scores of the points that hold them.

    What every document says weighs nothing, what many points of few documents say weighs more.
    """
    top = points[0].score or 1.0
    by_document: dict[str, dict[str, float]] = {}
    points_with: Counter[str] = Counter()
    for point, held in zip(points, terms, strict=True):
        points_with.update(held)
        for document in _documents(point.evidences, document_of)[:1]:
            best = by_document.setdefault(document, {})
            for term in held:
                best[term] = max(best.get(term, 0.0), point.score / top)
    mass: defaultdict[str, float] = defaultdict(float)
    documents_with: Counter[str] = Counter()
    for document in sorted(by_document):
        for term, score in by_document[document].items():
            mass[term] += score
            documents_with[term] += 1
    return {
        term: mass[term]
        * math.log((len(by_document) + 1) / found)
        * math.sqrt(points_with[term] / found)
        for term, found in documents_with.items()
        if found >= 2
    }


def token_similarity(tokens: Tokens) -> Callable[[Sequence[str]], Scores]:
    """Return token overlap over the smaller set, for `reduce_points`."""

    def similarity(texts: Sequence[str]) -> Scores:
        sets = [frozenset(tokens(text)) for text in texts]
        matrix = np.zeros((len(sets), len(sets)))
        for row, first in enumerate(sets):
            for column in range(row, len(sets)):
                smaller = min(len(first), len(sets[column])) or 1
                matrix[row, column] = len(first & sets[column]) / smaller
        return np.maximum(matrix, matrix.T)

    return similarity


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


def _matched(
    drafts: Sequence[_Draft], question: str, match: Callable[[str, Sequence[str]], Scores]
) -> Scores:
    """Likeness to the question, the best one made 1; 0 below `_FLOOR` of it."""
    own = np.asarray(match(question, [finding.text for _, finding in drafts]), np.float64)
    top = float(own.max(initial=0.0))
    return np.where(own >= _FLOOR * top, own / top, 0.0) if top > 0 else np.zeros(len(drafts))


def _rank(point: Point) -> tuple[float, str, str]:
    return (-point.score, point.text, point.community_id)


def _documents(evidences: Sequence[Evidence], document_of: Mapping[str, str]) -> list[str]:
    return sorted({document_of.get(one.chunk_id, one.chunk_id) for one in evidences})


def _uses(point: Point, used: Counter[str], document_of: Mapping[str, str]) -> int:
    """Return the use count of a point's least used document."""
    return min((used[key] for key in _documents(point.evidences, document_of)), default=0)
