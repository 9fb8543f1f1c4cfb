"""Strategies of global search: passages as reports, dynamic selection, follow-up. Pure.

- Dynamic community selection (microsoft/graphrag, 2024): communities are rated from the roots down;
  one whose children say it more exactly gives way to them.
- Follow-up (after DRIFT, microsoft/graphrag 2024): names and terms that the best points hold and
  the question does not are searched next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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


_LEAST_TERMS = 3
"""A sentence of fewer tokens says nothing that could be cited."""


def passage_report(chunk: Chunk, *, title: str, community_id: str, tokens: Tokens) -> Report | None:
    """Convert a chunk to a report whose findings are its sentences; None where it says nothing.

    Args:
        chunk: the passage.
        title: what stands above it, as its document's title and date.
        community_id: the community that it is counted for.
        tokens: of a sentence; one of few tokens is left out, and so are headings.
    """
    findings = _sentences(chunk, tokens)
    if not findings:
        return None
    return Report(
        community_id=community_id,
        level=0,
        title=title,
        summary="",
        rating=1.0,
        findings=tuple(findings),
        fingerprint="",
    )


def _sentences(chunk: Chunk, tokens: Tokens) -> list[Finding]:
    found: list[Finding] = []
    for start, end in sentence_spans(chunk.text):
        text = " ".join(chunk.text[start:end].split())
        if len(tokens(text)) >= _LEAST_TERMS and not text.startswith("#"):
            place = Evidence(chunk_id=chunk.id, start=start, end=end)
            found.append(Finding(text=text, evidences=(place,)))
    return found
