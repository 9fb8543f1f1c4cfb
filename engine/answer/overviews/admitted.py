"""Community reports as a reader may see them who may not see every document.

A report rests on many documents. For such a reader it says only what the documents that he may see
say, under a title that names nothing else. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...index.door import Report


def filter_reports_by_access(
    reports: Sequence[Report],
    *,
    documents: Collection[str],
    document_of: Mapping[str, str],
    title_of: Mapping[str, str],
) -> list[Report]:
    """Return the reports in order, with findings whose evidence is all visible.

    A title stays where nothing is left out and the findings hold every name in it: it could be that
    of a thing that only hidden documents speak of.

    Args:
        reports: as stored.
        documents: the ids of the documents that may be seen.
        document_of: chunk id → document id.
        title_of: document id → its title.
    """
    result: list[Report] = []
    for report in reports:
        kept = [
            finding
            for finding in report.findings
            if all(document_of.get(e.chunk_id) in documents for e in finding.evidences)
        ]
        if len(kept) == len(report.findings) and _names_only_what_is_said(report):
            result.append(report)
        elif kept:
            first = document_of[kept[0].evidences[0].chunk_id]
            result.append(
                replace(
                    report,
                    title=title_of.get(first, ""),
                    summary=" ".join(finding.text for finding in kept),
                    findings=tuple(kept),
                )
            )
    return result


def _names_only_what_is_said(report: Report) -> bool:
    said = " ".join(finding.text for finding in report.findings).casefold()
    return all(name.casefold() in said for name in _BETWEEN_NAMES.split(report.title))


_BETWEEN_NAMES = re.compile(r", | and |、|与")
