"""Strategies of global search: lazy, dynamic selection, follow-up. Pure.

- Lazy (LazyGraphRAG; Edge, Trinh & Larson 2024): no reports, but a budget of relevance tests, spent
  by community where the question's ranking of chunks points to, deeper where tests succeed.
- Dynamic community selection (microsoft/graphrag, 2024): communities are rated from the roots down;
  one whose children say it more exactly gives way to them.
- Follow-up (after DRIFT, microsoft/graphrag 2024): names and terms that the best points hold and
  the question does not are searched next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..communities.leiden import CommunityTree
from ..model import Chunk, Evidence, Finding, Report
from ..text.sentences import sentence_spans
from .global_search import Selection, Tokens, report_text

Rate = Callable[[Sequence[Report]], Mapping[str, float]]
"""Rating function: reports to relevance, 0–1, by community id; missing is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionLimits:
    """Limits of a selection: levels, reports rated on each, and the relevance threshold.

    `relevant` is the least rating, 0–1, from which a community is taken and its children looked at.
    """

    levels: int
    per_level: int
    relevant: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Selected reports, best first, with ratings; rated numbers by level.

    `rounds` holds pairs of how many reports were rated and how many of them were relevant.
    """

    selection: Selection
    ratings: Mapping[str, float]
    rounds: tuple[tuple[int, int], ...]


def select_dynamic(
    tree: CommunityTree,
    reports: Mapping[str, Report],
    *,
    prior: Rate,
    rate: Rate,
    depth: SelectionLimits,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Descent:
    """Select relevant reports from the coarsest level down.

    Args:
        tree: the hierarchy; communities without a report are passed through to their children.
        reports: by community id.
        prior: a cheap rating that says which reports of a level are rated at all.
        rate: the rating that decides.
        depth: how deep, how many, and from which rating.
        budget_tokens: of all chosen reports together, by `count` of `report_text`.
        count: how long a text is.
    """
    ratings: dict[str, float] = {}
    rounds: list[tuple[int, int]] = []
    level = _reported(tree, tree.roots, reports)
    while level and len(rounds) < depth.levels:
        expected = prior([reports[key] for key in level])
        rated = sorted(level, key=lambda key: (-expected.get(key, 0.0), key))[: depth.per_level]
        found = rate([reports[key] for key in rated])
        ratings.update({key: found.get(key, 0.0) for key in rated})
        relevant = [key for key in rated if ratings[key] >= depth.relevant]
        rounds.append((len(rated), len(relevant)))
        below = [child for key in relevant for child in tree.children.get(key, ())]
        level = _reported(tree, below, reports)
    selection = _chosen(tree, reports, ratings, depth, budget_tokens=budget_tokens, count=count)
    return Descent(selection=selection, ratings=ratings, rounds=tuple(rounds))


def _reported(tree: CommunityTree, ids: Sequence[str], reports: Mapping[str, Report]) -> list[str]:
    """Return communities with a report; for others those below."""
    found: list[str] = []
    waiting = sorted(ids)
    while waiting:
        key = waiting.pop(0)
        if key in reports:
            found.append(key)
        else:
            waiting.extend(tree.children.get(key, ()))
    return sorted(found)


def _chosen(
    tree: CommunityTree,
    reports: Mapping[str, Report],
    ratings: Mapping[str, float],
    depth: SelectionLimits,
    *,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Selection:
    relevant = {key for key in ratings if ratings[key] >= depth.relevant}
    above = {parent for key in relevant for parent in tree.line(key)[1:]}
    leaves = [reports[key] for key in sorted(relevant - above)]
    ordered = sorted(leaves, key=lambda r: (-ratings[r.community_id], -r.rating, r.community_id))
    chosen: list[Report] = []
    total = 0
    for report in ordered:
        size = count(report_text(report))
        if total + size <= budget_tokens:
            chosen.append(report)
            total += size
    return Selection(
        reports=tuple(chosen),
        tokens=total,
        left_out=len(ordered) - len(chosen),
        detail=f"{len(chosen)} report(s) of {len(ratings)} rated",
    )


Test = Callable[[Sequence[str]], Mapping[str, float]]
"""Chunk ids to how relevant each is, above 0; what is missing is not."""

_RANKED_BY = 3
"""Number of best untested chunks whose mean ranks a community."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestBudget:
    """Test budget: chunks in total, per community, and at once.

    `patience`: after so many irrelevant chunks in a row a community is left.
    """

    chunks: int
    of_community: int = 3
    at_once: int = 12
    patience: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """Community under test: untested chunks, best first."""

    id: str
    chunks: list[str]
    misses: int = 0


@dataclass(slots=True)
class RelevanceTest:
    """Relevant chunks with their scores in the order found; figures for a trace.

    `rounds` holds for each round how many chunks were tested and how many of them were relevant;
    `left` counts the communities that were given up before their last chunk.
    """

    relevant: dict[str, float] = field(default_factory=dict)
    tested: int = 0
    left: int = 0
    rounds: list[tuple[int, int]] = field(default_factory=list)


def relevant_chunks(
    tree: CommunityTree,
    homes: Mapping[str, str],
    scores: Mapping[str, float],
    *,
    test: Test,
    allowed: TestBudget,
) -> RelevanceTest:
    """Yield relevant chunks until the budget or the candidates are exhausted.

    `homes` gives each chunk's finest community (see `CommunityTree.homes`), `scores` how promising
    each chunk is; only chunks with a score are looked at. A chunk without a home stands for itself,
    as if it were a community of its own. Every chunk is tested once at most.
    """
    result = RelevanceTest()
    seen: set[str] = set()
    inside = tree.chunks_inside({key: homes[key] for key in scores if key in homes})
    waiting = [_opened(key, inside[key], scores) for key in tree.roots if key in inside]
    waiting += [_Open(id=key, chunks=[key]) for key in sorted(scores) if key not in homes]
    while waiting and result.tested < allowed.chunks:
        waiting.sort(key=lambda one: (-_promise(one, scores), one.id))
        batch, waiting = waiting[: allowed.at_once], waiting[allowed.at_once :]
        parts = _next_parts(batch, limit=allowed.chunks - result.tested, allowed=allowed)
        asked = [key for part in parts for key in part]
        seen.update(asked)
        found = {key: value for key, value in test(asked).items() if value > 0}
        result.relevant.update({key: found[key] for key in asked if key in found})
        result.tested += len(asked)
        result.rounds.append((len(asked), len(result.relevant.keys() & set(asked))))
        for one, part in zip(batch, parts, strict=True):
            further = _after(one, part, found, tree=tree, inside=inside, allowed=allowed)
            result.left += not further and len(part) < len(one.chunks)
            waiting += [
                _opened(key, [chunk for chunk in chunks if chunk not in seen], scores, misses)
                for key, chunks, misses in further
            ]
        waiting = [one for one in waiting if one.chunks]
    return result


def _next_parts(batch: Sequence[_Open], *, limit: int, allowed: TestBudget) -> list[list[str]]:
    parts: list[list[str]] = []
    for one in batch:
        part = one.chunks[: min(allowed.of_community, limit)]
        limit -= len(part)
        parts.append(part)
    return parts


def _after(
    one: _Open,
    part: Sequence[str],
    found: Mapping[str, float],
    *,
    tree: CommunityTree,
    inside: Mapping[str, tuple[str, ...]],
    allowed: TestBudget,
) -> list[tuple[str, Sequence[str], int]]:
    """Return the next (community, chunks, misses): below, further on, or none."""
    misses = one.misses
    for key in part:
        misses = 0 if key in found else misses + 1
    below = [key for key in tree.children.get(one.id, ()) if key in inside]
    if below and any(key in found for key in part):
        return [(key, inside[key], 0) for key in below]
    return [] if misses >= allowed.patience else [(one.id, one.chunks, misses)]


def _opened(
    community_id: str, chunk_ids: Sequence[str], scores: Mapping[str, float], misses: int = 0
) -> _Open:
    ranked = sorted(chunk_ids, key=lambda key: (-scores[key], key))
    return _Open(id=community_id, chunks=ranked, misses=misses)


def _promise(one: _Open, scores: Mapping[str, float]) -> float:
    best = [scores[key] for key in one.chunks[:_RANKED_BY]]
    return sum(best) / len(best) if best else 0.0


def by_community(chunk_ids: Sequence[str], homes: Mapping[str, str]) -> dict[str, list[str]]:
    """Group chunks by community in first-seen order; "" for those without."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for key in chunk_ids:
        grouped[homes.get(key, "")].append(key)
    return dict(grouped)


_LEAST_TERMS = 3
"""A sentence of fewer tokens says nothing that could be cited."""


def chunk_reports(
    grouped: Mapping[str, Sequence[str]],
    chunks: Mapping[str, Chunk],
    *,
    titles: Mapping[str, str],
    tokens: Tokens,
    choose: Callable[[Sequence[Finding]], Sequence[Finding]] | None = None,
) -> list[Report]:
    """Convert chunks to reports: one per community, with sentences as findings.

    Args:
        grouped: community id → chunk ids; the sheets come in its order.
        chunks: by id; ids that are missing are left out.
        titles: what communities are called; others take the title of their first chunk.
        tokens: of a sentence; one of few tokens is left out, and so are headings.
        choose: which sentences of a chunk are kept; all of them without it.
    """
    found: list[Report] = []
    for key, ids in grouped.items():
        held = [chunks[one] for one in ids if one in chunks]
        findings: list[Finding] = []
        for chunk in held:
            said = _sentences(chunk, tokens)
            findings.extend(choose(said) if choose is not None else said)
        if findings:
            found.append(
                Report(
                    community_id=key,
                    level=0,
                    title=titles.get(key, "") or held[0].title,
                    summary="",
                    rating=1.0,
                    findings=tuple(findings),
                    fingerprint="",
                )
            )
    return found


def _sentences(chunk: Chunk, tokens: Tokens) -> list[Finding]:
    found: list[Finding] = []
    for start, end in sentence_spans(chunk.text):
        text = " ".join(chunk.text[start:end].split())
        if len(tokens(text)) >= _LEAST_TERMS and not text.startswith("#"):
            place = Evidence(chunk_id=chunk.id, start=start, end=end)
            found.append(Finding(text=text, evidences=(place,)))
    return found
