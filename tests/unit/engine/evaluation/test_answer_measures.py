"""Measures, statistics and exchange of answer evaluation, on values known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import SettingsError, SourceError
from engine.evaluation.exchange import export_report, import_questions
from engine.evaluation.gate import check_gates, read_gates
from engine.evaluation.gold import read_gold, write_gold
from engine.evaluation.judges import claims_of
from engine.evaluation.measures import (
    completeness,
    context_precision,
    correctness,
    exact_match,
    holds_value,
    token_f1,
)
from engine.evaluation.report_page import report_page
from engine.evaluation.statistics import (
    balanced_accuracy,
    compare_measures,
    holm,
    kappa,
    mcnemar,
    risk_coverage,
)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        pytest.param("It was lit by Ada Brine.", "Ada Brine", 1.0, id="words in a row"),
        pytest.param("Ada met Tom Brine.", "Ada Brine", 0.0, id="words apart"),
        pytest.param("On March 3, 1907 it broke.", "3 March 1907", 1.0, id="date in another form"),
        pytest.param("On 4 March 1907 it broke.", "3 March 1907", 0.0, id="another day"),
        pytest.param("It cost 1,200 euros.", "1200 euros", 1.0, id="figure in another form"),
        pytest.param("In 1908.", "1907", 0.0, id="years have no tolerance"),
        pytest.param("灯塔建于1907年3月3日。", "1907年3月3日", 1.0, id="Chinese date"),
        pytest.param("", "Ada Brine", 0.0, id="no answer"),
    ],
)
def test_a_value_is_held_in_any_form(text: str, value: str, expected: float) -> None:
    assert holds_value(text, value) == expected


def test_a_value_that_the_question_names_counts_only_as_short_answer() -> None:
    question, gold = "Which is older, the Lamp or the Mill?", ["the Mill"]
    said = "The Lamp was built in 1901. The Mill was built in 1880."
    assert correctness(said, "", gold, question=question) == 0.0
    assert correctness(said, "the Mill", gold, question=question) == 1.0


def test_short_answers_are_compared_as_squad_does() -> None:
    assert exact_match("the Gull Quay", "Gull Quay.") == 1.0
    assert token_f1("old Gull Quay", "Gull Quay") == pytest.approx(0.8)
    assert exact_match("", "") == 0.0


def test_completeness_counts_points_that_are_made() -> None:
    assert completeness("We cover storms and lamps.", ["Storms", "Lamps", "Whales"]) == 2 / 3


def test_context_precision_falls_with_the_place_of_what_is_relevant() -> None:
    assert context_precision([True, False]) == 1.0
    assert context_precision([False, True]) == 0.5
    assert context_precision([False, False]) == 0.0


def test_a_mark_covers_the_claims_before_it() -> None:
    found = claims_of("Ada lit it. Tom saw the lamp. [1]\n\nNobody else came there.", "Who?")
    assert [numbers for _, numbers in found] == [(1,), (1,), ()]


def test_mcnemar_and_holm_agree_with_their_definitions() -> None:
    assert mcnemar([1.0] * 6, [0.0] * 6) == pytest.approx(2 / 64)
    assert mcnemar([1.0, 0.0], [0.0, 1.0]) == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_agreement_has_no_value_that_is_not_a_number() -> None:
    assert kappa([True, False], [True, False]) == 1.0
    assert kappa([True, True], [True, True]) == 1.0
    assert kappa([], []) == 0.0
    assert balanced_accuracy([True, True, False], [True, False, False]) == 0.75
    assert risk_coverage([(0.9, True), (0.1, False)]) == 0.25
    assert risk_coverage([]) == 0.0


def test_equal_runs_are_no_difference_and_a_planted_one_is_clear() -> None:
    same = [1.0, 0.0] * 20
    worse = [0.0] * 40
    equal, planted, other = compare_measures(
        {"right": (same, same), "faithfulness": (worse, same), "P@5": (worse, same)},
        family=("right", "faithfulness"),
    )
    assert (equal.p, equal.is_clear) == (1.0, False)
    assert planted.is_clear
    assert planted.interval.mean == -0.5
    assert other.p_holm is None


def test_gates_are_met_or_missed_and_unknown_measures_refused(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text("correctness: 0.7\nfaithfulness: {max_drop: 0.02}\n", encoding="utf8")
    gates = read_gates(path)
    means = {"correctness": 0.71, "faithfulness": 0.9}
    drops = {"differences": [{"measure": "faithfulness", "difference": -0.03}]}
    assert [one.met for one in check_gates(gates, means, comparison=drops)] == [True, False]
    with pytest.raises(SettingsError, match="needs a report to compare with"):
        check_gates(gates, means, comparison=None)
    with pytest.raises(SettingsError, match="unknown measure"):
        check_gates({"speed": {"min": 0.1}}, means, comparison=None)
    path.write_text("correctness: high\n", encoding="utf8")
    with pytest.raises(SettingsError, match="gate not usable"):
        read_gates(path)


SQUAD = {
    "data": [
        {
            "title": "Lamp",
            "paragraphs": [
                {
                    "context": "Ada Brine lit the lamp.",
                    "qas": [
                        {
                            "id": "1",
                            "question": "Who lit the lamp?",
                            "answers": [{"text": "Ada Brine", "answer_start": 0}],
                        },
                        {"id": "2", "question": "Who sank?", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ]
}
HOTPOT = [
    {
        "_id": "h1",
        "question": "Who lit the lamp of Gull Quay?",
        "answer": "Ada",
        "type": "bridge",
        "context": [["Lamp", ["The lamp is at Gull Quay. ", "Ada lit it."]], ["Mill", ["Flour."]]],
        "supporting_facts": [["Lamp", 1]],
    }
]


def test_squad_and_hotpotqa_are_read_with_exact_spans(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(SQUAD), encoding="utf8")
    squad = import_questions(path)
    (span,) = squad.questions[0].query.gold_spans
    assert squad.corpus[0].text[span.start : span.end] == "Ada Brine"
    assert not squad.questions[1].answerable
    path.write_text(json.dumps(HOTPOT), encoding="utf8")
    hotpot = import_questions(path)
    (span,) = hotpot.questions[0].query.gold_spans
    assert hotpot.corpus[0].text[span.start : span.end] == "Ada lit it."


def test_ragas_csv_and_a_beir_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text("user_input,reference\nWho lit it?,Ada\n", encoding="utf8")
    assert import_questions(tmp_path / "set.csv").questions[0].answers == ("Ada",)
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "Who lit it?"}\n', encoding="utf8")
    rows = "query-id\tcorpus-id\tscore\n1\td1\t1\n"
    (beir / "qrels" / "test.tsv").write_text(rows, encoding="utf8")
    assert import_questions(beir).questions[0].query.gold_ids == ("d1",)


@pytest.mark.parametrize("text", ["{", "3", '{"data": 1}', "[1]", "[]", '[{"question": 3}]'])
def test_files_of_no_known_form_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(text, encoding="utf8")
    with pytest.raises(SourceError):
        import_questions(path)


def test_gold_questions_survive_their_file(tmp_path: Path) -> None:
    source = tmp_path / "set.json"
    source.write_text(json.dumps(SQUAD), encoding="utf8")
    questions = import_questions(source).questions
    write_gold(tmp_path / "gold.jsonl", questions)
    assert read_gold(tmp_path / "gold.jsonl") == questions


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
ROW = {
    "id": HOSTILE, "text": HOSTILE, "kind": HOSTILE, "mode": "local", "gold": [HOSTILE],
    "points": [], "answer": HOSTILE, "error": "", "right": False, "lost": "not used",
    "measures": {HOSTILE: 0.5}, "documents": [HOSTILE], "trace": [HOSTILE],
    "verdicts": [{"claim": HOSTILE, "supported": True, "by": "rules", "unusable": HOSTILE}],
    "citations": [], "passages": [{"document": HOSTILE, "start": 0, "end": 1, "text": HOSTILE}],
}  # fmt: skip
SUMMARY = {
    "questions": 1, "failed": 0, "right": 0, "judged": 1, "judge": "rules", "calibration": [],
    "measures": {HOSTILE: {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 1, "unusable": 0}},
    "stages": {"not used": 1}, "kinds": {HOSTILE: {"n": 1, "right": 0}},
    "documents": {HOSTILE: {"n": 1, "right": 0}}, "judged_twice": {"claims": 0},
    "abstention": {
        "declined": 0, "unanswerable": 0, "precision": 0.0, "recall": 0.0, "risk_coverage": 0.0
    },
}  # fmt: skip
REPORT = {
    "label": HOSTILE, "summary": SUMMARY, "rows": [ROW],
    "times": {"p50_seconds": 0.1, "p95_seconds": 0.1, "tokens": 0, "cost": 0.0},
}  # fmt: skip


def test_the_page_shows_hostile_text_as_text_and_runs_no_script() -> None:
    page = report_page(REPORT)
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#x27;none&#x27;" in page


@pytest.mark.parametrize("form", ["ragas", "deepeval", "llamaindex"])
def test_reports_are_written_as_other_tools_read_them(form: str) -> None:
    written = export_report(REPORT, form)  # type: ignore[arg-type]
    values = json.loads(written)
    first = values["examples"][0] if form == "llamaindex" else values
    first = first[0] if form == "deepeval" else first
    assert HOSTILE in first.values()
