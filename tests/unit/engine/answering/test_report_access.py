"""Community reports for whoever may not see every document."""

from __future__ import annotations

import pytest

from engine.answering.global_search.context import filter_reports_by_access
from graph.model import Evidence, Finding, Report


def report(title: str, *findings: tuple[str, str]) -> Report:
    return Report(
        community_id="c1",
        level=0,
        title=title,
        summary=" ".join(text for text, _ in findings),
        rating=5.0,
        findings=tuple(
            Finding(text=text, evidences=(Evidence(chunk_id=chunk, start=0, end=len(text)),))
            for text, chunk in findings
        ),
        fingerprint="f",
    )


def seen(one: Report) -> list[Report]:
    return filter_reports_by_access(
        [one],
        documents={"north"},
        document_of={"n1": "north", "s1": "south"},
        title_of={"north": "Day 1", "south": "The ledger"},
    )


def test_only_findings_of_seen_documents_are_left() -> None:
    whole = report("Vik and Oslo", ("Vik is in Oslo.", "n1"), ("Vik owes Morrow.", "s1"))
    (cut,) = seen(whole)
    assert [finding.text for finding in cut.findings] == ["Vik is in Oslo."]
    assert (cut.title, cut.summary) == ("Day 1", "Vik is in Oslo.")
    assert seen(report("Morrow", ("Vik owes Morrow.", "s1"))) == []


def test_what_is_seen_whole_is_left_as_it_is() -> None:
    whole = report("Vik, 奥斯陆 and Oslo", ("Vik is in Oslo, 奥斯陆.", "n1"))
    assert seen(whole) == [whole]


@pytest.mark.parametrize("title", ["Vik, Oslo and Morrow", "Morrow", "Vik、Morrow与Oslo"])
def test_a_title_with_a_name_that_no_finding_holds_is_replaced(title: str) -> None:
    (cut,) = seen(report(title, ("Vik is in Oslo.", "n1")))
    assert cut.title == "Day 1"
