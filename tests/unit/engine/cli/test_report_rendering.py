from __future__ import annotations

import pytest

from engine.cli.rendering import show_report
from engine.types import IngestReport, SourceFailure


def test_many_sources_that_fail_for_one_reason_are_shown_on_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = {f"icon-{number}.png": "needs a reader" for number in range(5)} | {"a.zip": "damaged"}
    report = IngestReport(
        failed=tuple(SourceFailure(source=name, reason=why) for name, why in failed.items())
    )
    show_report(report, as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "  failed 5 sources: needs a reader: icon-0.png, icon-1.png, icon-2.png and 2 more"
        " (--json lists all)",
        "  failed a.zip: damaged",
    ]
