"""Effort presets: what a global question may read, ask and test.

With a language model the numbers bound what one question costs: prompt tokens of a `medium`
question stay below 13,000 (drift: 60,000). Without one they bound how much is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Selection = Literal["fixed", "dynamic", "lazy", "drift"]
Effort = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortPreset:
    """Limits of an effort; tokens are those of sources, without instructions.

    Attributes:
        map_tokens: shown to the model in the map round, all calls together.
        call_tokens: shown in one call, where the model's window holds as much.
        reduce_tokens: of the points that the answer is written from.
        rate_tokens: of `map_tokens`, shown for ratings, all levels together; with none the match of
            words and vectors rates (dynamic).
        levels: how deep communities are rated, from the root (dynamic).
        per_level: so many reports of a level are rated at most (dynamic).
        tests: how many chunks are tested (lazy).
        test_tokens: shown of a chunk that a model tests (lazy).
        pool: how many chunks the search hands to the tests (lazy).
        primer_reports: reports that give the first points (drift).
        primer_tokens: shown of them to a model (drift).
        follow_ups: further searches a round (drift).
        depth: rounds of them (drift).
        follow_tokens: shown of one search's passages to a model (drift).
    """

    map_tokens: int
    call_tokens: int
    reduce_tokens: int
    rate_tokens: int
    levels: int
    per_level: int
    tests: int
    test_tokens: int
    pool: int
    primer_reports: int
    primer_tokens: int
    follow_ups: int
    depth: int
    follow_tokens: int


PLANS: dict[Effort, EffortPreset] = {
    "low": EffortPreset(
        map_tokens=3_500,
        call_tokens=3_500,
        reduce_tokens=1_200,
        rate_tokens=0,
        levels=2,
        per_level=12,
        tests=20,
        test_tokens=90,
        pool=100,
        primer_reports=4,
        primer_tokens=2_000,
        follow_ups=2,
        depth=1,
        follow_tokens=2_000,
    ),
    "medium": EffortPreset(
        map_tokens=8_000,
        call_tokens=4_000,
        reduce_tokens=2_000,
        rate_tokens=2_400,
        levels=3,
        per_level=20,
        tests=100,
        test_tokens=80,
        pool=300,
        primer_reports=12,
        primer_tokens=4_000,
        follow_ups=4,
        depth=2,
        follow_tokens=3_000,
    ),
    "high": EffortPreset(
        map_tokens=30_000,
        call_tokens=6_000,
        reduce_tokens=5_000,
        rate_tokens=8_000,
        levels=4,
        per_level=60,
        tests=500,
        test_tokens=80,
        pool=1_000,
        primer_reports=40,
        primer_tokens=10_000,
        follow_ups=6,
        depth=3,
        follow_tokens=4_000,
    ),
}
