"""Lazy search: chunks tested for relevance by community, best first.

The idea is LazyGraphRAG's (Edge, Trinh & Larson 2024): no reports, a budget of relevance tests
spent where the question's own ranking of chunks points to, deeper where tests succeed. What a test
is comes by argument: a language model reading several chunks at once, or a match. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .community_tree import CommunityTree

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
