"""Gold questions made of a library, and its answers measured, by rules and by a model's server."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import Reply

from engine import KnowledgeEngine
from engine.errors import SettingsError
from engine.evaluation.answers import compare_reports, evaluate_answers
from engine.evaluation.datasets import GoldSpan
from engine.evaluation.gold import GoldQuestion, gold_question
from engine.evaluation.questions.make import make_gold
from engine.evaluation.questions.reword import reword

NOTES = {
    "lamp": "# The lamp of Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901."
    " The lamp burned whale oil.\n\n## Is the lamp still lit?\n\nThe lamp was put out for good in"
    " 1931 and stands in the museum.\n\n## Parts\n\n- Wick\n- Glass dome\n- Brass foot\n",
    "ships": "# Ships of the bay\n\n| Ship | Length | Master |\n|---|---|---|\n"
    "| Petrel | 40 m | Orrin Vale |\n| Corvina | 62 m | Tomas Reed |\n",
    "zh": "# 维岛站\n\n维岛站位于东海北部的维岛。沈望舒出生于临澜市旧港区。",
}
Open = Callable[..., KnowledgeEngine]


def filled(engine: KnowledgeEngine) -> KnowledgeEngine:
    for name, text in NOTES.items():
        engine.add_text(text, document_id=name, title=text.split("\n")[0].lstrip("# "))
    return engine


def question(text: str, value: str, *, document: str, held: str, number: int = 1) -> GoldQuestion:
    start = NOTES[document].index(held)
    span = GoldSpan(document_id=document, start=start, end=start + len(held))
    return gold_question(
        text, kind="fact", language="en", spans=[span], answers=[value], question_id=f"q{number}"
    )


LIT = "Captain Ada Brine lit the lamp at Gull Quay in 1901."
WHO = question("Who lit the lamp at Gull Quay?", "Ada Brine", document="lamp", held=LIT)


def test_made_questions_have_exact_spans_and_are_the_same_again(
    open_engine: Open, tmp_path: Path
) -> None:
    with filled(open_engine(tmp_path / "library")) as engine:
        made, again = make_gold(engine, size=20), make_gold(engine, size=20)
        assert made == again
        kinds = {one.kind for one in made.questions}
        assert {"faq", "list", "comparison", "where"} <= kinds
        for one in made.questions:
            for span in one.query.gold_spans:
                text = engine.document_text(span.document_id)[span.start : span.end]
                assert text == text.strip() != ""


def test_a_right_answer_loses_nothing_and_equal_runs_are_equal(
    open_engine: Open, tmp_path: Path
) -> None:
    with filled(open_engine(tmp_path / "library")) as engine:
        report, again = (evaluate_answers(engine, [WHO]) for _ in range(2))
    (row,) = report.rows
    assert row["right"]
    assert row["lost"] == ""
    assert row["measures"]["context recall"] == 1.0
    assert row["measures"]["faithfulness"] == 1.0
    assert (report.summary, report.rows) == (again.summary, again.rows)
    compared = compare_reports(report, again.data())
    assert {one["difference"] for one in compared["differences"]} == {0.0}


def test_the_stage_at_which_gold_was_lost_is_named(open_engine: Open, tmp_path: Path) -> None:
    wrong = question("Who lit the lamp at Gull Quay?", "Zebedee Quill", document="lamp", held=LIT)
    gone = gold_question(
        "Who built the mill?", kind="fact", language="en", answers=["Zebedee Quill"],
        spans=[GoldSpan(document_id="mill", start=0, end=9)], question_id="q2",
    )  # fmt: skip
    with filled(open_engine(tmp_path / "library")) as engine:
        report = evaluate_answers(engine, [wrong, gone])
    assert [row["lost"] for row in report.rows] == ["not used", "not read"]
    assert report.summary["stages"] == {"not read": 1, "not used": 1}


def judged_by(server: Any, verdicts: str | Reply) -> None:
    def reply(request: Any) -> str | Reply:
        said = json.dumps(request.body, ensure_ascii=False)
        if "stays within the sources" in said:
            return verdicts
        if "You grade which passages" in said:
            return '{"grades": [{"passage": 1, "grade": "yes"}]}'
        return "Ada Brine lit the lamp in 1901 [1]. The lamp burned whale oil [1]."

    server.answer_with(reply)


@pytest.mark.parametrize(
    ("verdicts", "faithfulness", "unusable"),
    [
        pytest.param(
            '{"verdicts": [{"claim": 1, "verdict": "supported"}]}', 0.5, 1, id="one of two"
        ),
        pytest.param("I think all is well.", 0.0, 2, id="none"),
        pytest.param(
            json.dumps({"verdicts": [{"claim": n, "verdict": "supported"} for n in (1, 2)]}),
            1.0,
            0,
            id="both",
        ),
    ],
)
def test_a_verdict_that_is_not_given_counts_as_failure_and_is_shown(
    open_engine: Open,
    openai_server: Any,
    tmp_path: Path,
    verdicts: str,
    faithfulness: float,
    unusable: int,
) -> None:
    judged_by(openai_server, verdicts)
    llm = openai_server.settings(retries=0)
    with filled(open_engine(tmp_path / "library", llm=llm)) as engine:
        report = evaluate_answers(engine, [WHO], judge="both", mode="local")
        asked = len(openai_server.requests)
        again = evaluate_answers(engine, [WHO], judge="both", mode="local")
        judging = len(openai_server.requests) - asked
    measure = report.summary["measures"]["faithfulness (model)"]
    assert (measure["mean"], measure["n"], measure["unusable"]) == (faithfulness, 1, unusable)
    assert all(math.isfinite(value) for row in report.rows for value in row["measures"].values())
    assert judging <= 1  # the answer alone is written anew: verdicts are kept
    assert report.summary == again.summary


def test_a_judge_that_never_answers_counts_as_failure(
    open_engine: Open, openai_server: Any, tmp_path: Path
) -> None:
    judged_by(openai_server, Reply(stall=True))
    llm = openai_server.settings(retries=0, timeout_seconds=0.2)
    with filled(open_engine(tmp_path / "library", llm=llm)) as engine:
        report = evaluate_answers(engine, [WHO], judge="both", mode="local")
    measures = report.summary["measures"]
    measure = measures["faithfulness (model)"]
    assert (measure["mean"], measure["n"], measure["unusable"]) == (0.0, 1, 2)
    assert all(math.isfinite(one["mean"]) for one in measures.values())
    assert report.summary["calibration"][1]["unusable"] == 60


def test_a_model_that_fails_is_a_failed_question(
    open_engine: Open, openai_server: Any, tmp_path: Path
) -> None:
    openai_server.answer_with(lambda _: Reply(status=500))
    llm = openai_server.settings(retries=0)
    with filled(open_engine(tmp_path / "library", llm=llm)) as engine:
        report = evaluate_answers(engine, [WHO], mode="local")
    assert report.summary["failed"] == 1
    assert report.summary["stages"] == {"failed": 1}
    assert report.summary["measures"]["correctness"]["mean"] == 0.0


def test_a_model_must_be_there_to_judge(open_engine: Open, tmp_path: Path) -> None:
    with (
        filled(open_engine(tmp_path / "library")) as engine,
        pytest.raises(SettingsError, match="needs a language model"),
    ):
        evaluate_answers(engine, [WHO], judge="model")


def test_judges_are_llama_index_evaluators() -> None:
    from engine.evaluation.evaluators import CorrectnessJudge, FaithfulnessJudge

    said = "Ada Brine lit the lamp in 1901. Nero lit it in 64."
    found = FaithfulnessJudge().evaluate(query=WHO.text, response=said, contexts=[LIT])
    assert (found.score, found.passing) == (0.5, False)
    assert "Nero" in (found.feedback or "")
    right = CorrectnessJudge().evaluate(query=WHO.text, response=said, reference="Ada Brine")
    assert (right.score, right.passing) == (1.0, True)
    assert FaithfulnessJudge().evaluate(query="", response="", contexts=[]).invalid_result


def test_an_engine_evaluates_a_file_of_questions(open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(WHO.row()), encoding="utf8")
    with filled(open_engine(tmp_path / "library")) as engine:
        assert engine.evaluate(path).means["correctness"] == 1.0


def rewording_server(server: Any, question: str, answer: str) -> None:
    def reply(request: Any) -> str | Reply:
        said = json.dumps(request.body, ensure_ascii=False)
        key, value = ("question", question) if "You reword" in said else ("answer", answer)
        return Reply(status=500) if not value else json.dumps({key: value})

    server.answer_with(reply)


@pytest.mark.parametrize(
    ("said", "back", "why"),
    [
        pytest.param("Whose hand first kindled that beacon?", "Captain Ada Brine", "", id="taken"),
        pytest.param(
            "Who lit the lamp there?", "Ada Brine", "shares half of its words with the source",
            id="same words",
        ),
        pytest.param(
            "Did Brine, Ada Brine, kindle that beacon with her own hand?", "Ada Brine",
            "says the answer", id="says the answer",
        ),
        pytest.param(
            "Whose hand put the beacon out?", "Zebedee Quill", "answered back otherwise", id="back"
        ),
        pytest.param(
            "是谁点亮了灯？", "Ada Brine", "not a question in the language of the first", id="other"
        ),
        pytest.param("", "", "the model failed", id="fails"),
    ],
)  # fmt: skip
def test_a_rewording_is_taken_where_its_span_answers_it_and_it_shares_few_words(
    open_engine: Open, openai_server: Any, tmp_path: Path, said: str, back: str, why: str
) -> None:
    rewording_server(openai_server, said, back)
    with filled(open_engine(tmp_path / "library", llm=openai_server.settings(retries=0))) as engine:
        assert engine.answer_model is not None
        found = reword(engine.answer_model, [WHO], text_of=engine.document_text)
    assert found.refused == (((why, 1),) if why else ())
    assert found.questions[0].text == (WHO.text if why else said)
    assert found.questions[0].query.gold_spans == WHO.query.gold_spans


def test_an_outage_ends_the_rewording(
    open_engine: Open, openai_server: Any, tmp_path: Path
) -> None:
    rewording_server(openai_server, "", "")
    with filled(open_engine(tmp_path / "library", llm=openai_server.settings(retries=0))) as engine:
        made = make_gold(engine, size=12, reworded=True)
    assert made.questions == make_without_model(open_engine, tmp_path)
    assert any("not asked: the model failed" in note for note in made.notes)
    assert len(openai_server.requests) == 3


def make_without_model(open_engine: Open, tmp_path: Path) -> tuple[GoldQuestion, ...]:
    with open_engine(tmp_path / "library") as engine:
        return make_gold(engine, size=12).questions
