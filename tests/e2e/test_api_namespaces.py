"""A token that is limited to namespaces is told the same whatever other namespaces hold.

`tenants` says what the servers hold and asks; `tests/benchmarks/namespaces.py` asks more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tenants import Tenants

PROBES, MODEL_PROBES = 80, 40


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    with Tenants(tmp_path_factory.mktemp("tenants")) as found:
        yield found


def test_every_reply_to_a_limited_token_is_the_same_whatever_others_hold(
    tenants: Tenants,
) -> None:
    assert tenants.compare(count=PROBES, seed=1) == []


def test_a_model_reads_and_answers_the_same_whatever_others_hold(tmp_path: Path) -> None:
    with Tenants(tmp_path, with_models=True) as tenants:
        assert tenants.compare(count=MODEL_PROBES, seed=1) == []
        first, *others = tenants.prompts()
    assert len(first) >= MODEL_PROBES // 10
    assert all(other == first for other in others)


def test_a_limited_token_is_told_of_no_figure_that_others_change(tenants: Tenants) -> None:
    """The difference that is looked for is there: an admin's replies differ."""
    stats = {client.get("/v1/stats").text for client in tenants.admins}
    assert len(stats) == len(tenants.admins)
    for client in tenants.clients["north"]:
        assert client.get("/v1/usage").status_code == client.get("/v1/settings").status_code == 403
