"""Questions about the whole: choose community reports, score what they say, keep what differs.

    select_reports ─→ map_points ─→ reduce_points

The pattern is the map-reduce over community reports of "From Local to Global" (Edge et al. 2024,
section 3.1), here with a score that needs no language model. Everything is a function of values:
how a text is tokenised, counted or compared comes by argument. Knows nothing of databases,
documents' texts or answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .model import Chunk, Community, Evidence, Finding, Report
from .passages import quality
from .sentences import sentence_spans

Tokens = Callable[[str], list[str]]
Scores = NDArray[np.float64]
_Draft = tuple[Report, int, Finding]
"""A finding with its report and its place in it."""

OTHER_LANGUAGE = 0.4
"""What a point in another script than the question's keeps of its score: nobody translates it."""

LIKENESS = 0.7
DOCUMENT_AGAIN = 0.6
COMMUNITY_AGAIN = 0.8
"""What is taken from a point for likeness to a chosen one, and what is left of its value for every
chosen point of the same document, or of the same community."""

WELL_READ = 0.5
"""The least `passages.quality` of a sentence that is added to a report."""

_CANDIDATES = 300
"""Only so many points, the best by score, are compared with one another."""

_FLOOR = 0.15
"""A finding that matches less than this share of the best match says nothing to the question."""

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The reports to read. `level` is None where no whole level fits and the best rated were taken.

    `left_out` counts reports of the coarsest level that found no room.
    """

    reports: tuple[Report, ...] = ()
    level: int | None = None
    tokens: int = 0
    left_out: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One statement that bears on a question, `score` 0–100, with the places that say it."""

    text: str
    score: float
    evidences: tuple[Evidence, ...]
    community_id: str


def report_text(report: Report) -> str:
    """A report as it is read and counted: title, summary, then a line for each finding."""
    findings = (finding.text for finding in report.findings)
    return "\n".join((report.title, report.summary, *findings))


def select_reports(
    communities: Sequence[Community],
    reports: Sequence[Report],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Selection:
    """The finest level whose reports all fit the budget; else the best rated of the coarsest.

    A community that is not divided further may be missing from finer levels; its report then
    stands in for it there. Sorted by rating, best first, then by id.
    """
    by_community = {report.community_id: report for report in reports}
    sizes = {key: count(report_text(report)) for key, report in sorted(by_community.items())}
    levels = sorted({community.level for community in communities})
    for level in reversed(levels):
        chosen = [by_community[key] for key in cover(communities, level) if key in by_community]
        total = sum(sizes[report.community_id] for report in chosen)
        if chosen and total <= budget_tokens:
            detail = f"{len(chosen)} report(s) of level {level}"
            return Selection(reports=_by_rating(chosen), level=level, tokens=total, detail=detail)
    coarsest = [
        by_community[key]
        for key in (cover(communities, levels[0]) if levels else [])
        if key in by_community
    ]
    return _best_rated(coarsest, sizes, budget_tokens=budget_tokens)


def cover(communities: Sequence[Community], level: int) -> list[str]:
    """Ids of the communities that cover all entities at `level`: its own, and coarser leaves."""
    parents = {community.parent_id for community in communities if community.level <= level}
    return sorted(
        community.id
        for community in communities
        if community.level == level or (community.level < level and community.id not in parents)
    )


def focus_reports(reports: Sequence[Report], chunks: Sequence[Chunk]) -> list[Report]:
    """The reports with what the given chunks say besides, for a question with a subject.

    Findings are chosen without a question in sight; `chunks` are those that one has found. Each of
    their sentences that reads well alone joins, behind the findings, the report that rests most on
    its chunk, else on its document; what no report rests on is left out. The more central reports
    win ties. The reports come back in their order.
    """
    owners_by_chunk: dict[str, Counter[str]] = {}
    owners_by_document: dict[str, Counter[str]] = {}
    document_of = {chunk.id: chunk.document_id for chunk in chunks}
    for report in reports:
        for finding in report.findings:
            for place in finding.evidences:
                key = report.community_id
                owners_by_chunk.setdefault(place.chunk_id, Counter())[key] += 1
                if document := document_of.get(place.chunk_id):
                    owners_by_document.setdefault(document, Counter())[key] += 1
    ratings = {report.community_id: report.rating for report in reports}
    known = {finding.text for report in reports for finding in report.findings}
    extra: dict[str, list[Finding]] = {}
    for chunk in sorted(chunks, key=lambda one: (one.document_id, one.start, one.id)):
        owners = owners_by_chunk.get(chunk.id) or owners_by_document.get(chunk.document_id)
        if not owners:
            continue
        owner = min(owners, key=lambda key: (-owners[key], -ratings[key], key))
        for start, end in sentence_spans(chunk.text):
            text = " ".join(chunk.text[start:end].split())
            if text not in known and quality(text) >= WELL_READ:
                known.add(text)
                place = Evidence(chunk_id=chunk.id, start=start, end=end)
                extra.setdefault(owner, []).append(Finding(text=text, evidences=(place,)))
    return [
        replace(report, findings=(*report.findings, *extra.get(report.community_id, ())))
        for report in reports
    ]


def content_terms(question: str, *, tokens: Tokens) -> list[str]:
    """What a question asks about once the words that only ask about "the whole" are gone.

    Empty for a generic question ("What are the main themes across these documents?").
    """
    return list(dict.fromkeys(tokens(_SCOPE_ZH.sub(" ", _SCOPE_EN.sub(" ", question)))))


def map_points(
    question: str,
    reports: Sequence[Report],
    *,
    match: Callable[[str, Sequence[str]], Scores],
    tokens: Tokens,
    document_of: Mapping[str, str],
) -> list[Point]:
    """Every finding that bears on the question as a point, best first; zeros are dropped.

    `match(question, texts)` gives the likeness of each text to the question, 0–1 (lexical, dense
    and names together, as the caller can). `document_of` maps chunk ids to document ids. A generic
    question is scored by the rating of a report, by how many documents a finding rests on, by its
    place in the report and by how much it says. The same statement in two reports is one point.
    """
    drafts = [
        (report, place, finding)
        for report in reports
        for place, finding in enumerate(report.findings)
    ]
    if not drafts:
        return []
    generic = not content_terms(question, tokens=tokens)
    own = np.ones(len(drafts)) if generic else _matched(drafts, question, match)
    own = (own / max(float(own.max()), 1e-9)) ** POW
    own *= [
        1.0 if _mostly_han(f.text) == _asks_in_han(question) else OTHER_LANGUAGE
        for _, _, f in drafts
    ]
    topical = salience(
        [finding.text for _, _, finding in drafts],
        own,
        groups=[_group(finding, document_of) for _, _, finding in drafts],
        tokens=tokens,
    )
    weights = _weights(drafts)
    values = [
        relevance
        * (
            S_W * weight
            + S_I * informativeness(finding.text)
            + S_T * says
            + S_Q * quality(finding.text)
        )
        for relevance, weight, says, (_, _, finding) in zip(
            own.tolist(), weights, topical, drafts, strict=True
        )
    ]
    best: dict[str, Point] = {}
    for (report, _, finding), value in zip(drafts, values, strict=True):
        point = Point(
            text=finding.text,
            score=round(100 * min(max(value, 0.0), 1.0), 3),
            evidences=finding.evidences,
            community_id=report.community_id,
        )
        known = best.get(finding.text)
        if point.score > 0 and (known is None or _rank(point) < _rank(known)):
            best[finding.text] = point
    return sorted(best.values(), key=_rank)


def informativeness(text: str) -> float:
    """0–1: how many names, numbers and words of substance a statement holds for its length.

    Statements too short to stand alone and very long ones get less.
    """
    han = _HAN.findall(text)
    words = re.findall(r"[^\W\d_]{2,}", _HAN.sub(" ", text))
    names = [word for word in words if word[0].isupper()]
    facts = len(set(names)) + 1.5 * len(re.findall(r"\d[\d.,:/]*", text))
    facts += len(re.findall(r"《[^》]+》|“[^”]+”|「[^」]+」", text))
    length = len(words) + len(han) / 1.7
    if length < 1:
        return 0.0
    density = min(1.0, (facts + 0.12 * length) / 8)
    fits = min(1.0, length / 10) * min(1.0, 45 / length)
    return density * fits


def reduce_points(
    points: Sequence[Point],
    *,
    limit: int,
    budget_tokens: int,
    count: Callable[[str], int],
    similarity: Callable[[Sequence[str]], Scores],
    document_of: Mapping[str, str],
) -> list[Point]:
    """Points that are relevant, unlike one another, and from many documents and communities.

    Greedy, in the order chosen: a point's score is lowered by its likeness to those chosen
    (maximal marginal relevance, Carbonell & Goldstein 1998) and by how often its documents and its
    community were used. `similarity(texts)` gives an (n, n) matrix, 0–1. A point that does not fit
    what is left of the budget is passed over.
    """
    candidates = sorted(points, key=_rank)[:_CANDIDATES]
    if not candidates:
        return []
    likeness = np.clip(similarity([point.text for point in candidates]), 0.0, 1.0)
    nearest = np.zeros(len(candidates))
    used_documents: Counter[str] = Counter()
    used_communities: Counter[str] = Counter()
    open_places = list(range(len(candidates)))
    chosen: list[Point] = []
    left = budget_tokens
    while open_places and len(chosen) < limit:
        best = max(
            open_places,
            key=lambda place: (
                candidates[place].score
                * (1 - LIKENESS * nearest[place])
                * DOCUMENT_AGAIN ** _uses(candidates[place], used_documents, document_of)
                * COMMUNITY_AGAIN ** used_communities[candidates[place].community_id],
                -place,
            ),
        )
        open_places.remove(best)
        size = count(candidates[best].text)
        if size > left:
            continue
        left -= size
        chosen.append(candidates[best])
        nearest = np.maximum(nearest, likeness[best])
        used_documents.update(_documents(candidates[best], document_of))
        used_communities[candidates[best].community_id] += 1
    return chosen


def token_similarity(tokens: Tokens) -> Callable[[Sequence[str]], Scores]:
    """A `similarity` for `reduce_points` out of shared tokens: overlap over the smaller set."""

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
    """Likeness to the question, mostly the finding's, a little its report's; 0 below `_FLOOR`."""
    own = np.asarray(match(question, [finding.text for _, _, finding in drafts]), np.float64)
    reports = list({report.community_id: report for report, _, _ in drafts}.values())
    about = match(question, [f"{report.title}. {report.summary}" for report in reports])
    of_report = {
        report.community_id: value
        for report, value in zip(reports, np.asarray(about).tolist(), strict=True)
    }
    context = np.array([of_report[report.community_id] for report, _, _ in drafts])
    heard = (own > 0) & (own >= _FLOOR * own.max(initial=0.0))
    return np.where(heard, 0.85 * own + 0.15 * context, 0.0)


def _group(finding, document_of):
    return min((document_of.get(e.chunk_id, e.chunk_id) for e in finding.evidences), default="")


def _asks_in_han(question: str) -> bool:
    return bool(_HAN.search(question))


def salience(texts, relevance, *, groups, tokens):
    bags = [Counter(tokens(t)) for t in texts]
    by_doc = {}
    total = Counter()
    for bag, rel, group in zip(bags, relevance, groups):
        d = by_doc.setdefault(group, {})
        for t, n in bag.items():
            d[t] = max(d.get(t, 0.0), rel)
            total[t] += 1
    n = len(by_doc)
    df = Counter()
    mass = Counter()
    for d in by_doc.values():
        for t, r in d.items():
            df[t] += 1
            mass[t] += r
    weight = {
        t: mass[t] * math.log((n + 1) / df[t]) * (total[t] / df[t]) ** S_B for t in df if df[t] >= 2
    }
    raw = [sum(weight.get(t, 0.0) for t in bag) / (len(bag) + 4) ** S_P for bag in bags]
    top = max(raw, default=0.0) or 1.0
    return [r / top for r in raw]


POW = 2.0
S_W, S_I, S_T, S_Q, S_B, S_P = 0.1, 0.2, 0.4, 0.3, 1.0, 0.7


def _weights(drafts: Sequence[_Draft]) -> list[float]:
    top = max(report.rating for report, _, _ in drafts) or 1.0
    return [report.rating / top for report, _, _ in drafts]


def _mostly_han(text: str) -> bool:
    return len(_HAN.findall(text)) > len(re.findall(r"[A-Za-z]+", text))


def _rank(point: Point) -> tuple[float, str, str]:
    return (-point.score, point.text, point.community_id)


def _documents(point: Point, document_of: Mapping[str, str]) -> set[str]:
    return {document_of.get(evidence.chunk_id, evidence.chunk_id) for evidence in point.evidences}


def _uses(point: Point, used: Counter[str], document_of: Mapping[str, str]) -> int:
    """How often the least used of a point's documents was used: one new document makes it new."""
    return min((used[document] for document in sorted(_documents(point, document_of))), default=0)
