"""Answer evaluation: a library asked gold questions, each answer measured, each loss located.

    gold ─→ search 50 ─→ ask ─→ measures by rules (and by a model) ─→ stage at which gold was lost
    rows ─→ means with intervals, by kind, by document, by stage; abstention; comparison; gates

A row is plain data, so that a report is written as JSON, read again and compared. Means are over
the questions that a measure applies to; what failed or could not be judged counts 0 and is counted
as `unusable`. The same library, questions and settings give the same report but for `times`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..answering.extractive.question_type import strip_question_words
from ..errors import EngineError, SettingsError, SourceError
from ..storage.tokenization import tokens
from ..types import Answer, Citation, Passage
from .datasets import GoldSpan, resolve_gold_ids
from .gold import TWO_FACTS, GoldQuestion
from .judges import (
    Calibration,
    ClaimJudge,
    ClaimVerdict,
    ModelJudge,
    RulesJudge,
    calibrate,
    claims_of,
)
from .measures import (
    completeness,
    context_density,
    context_precision,
    correctness,
    covers,
    exact_match,
    holds_value,
    relevancy,
    token_f1,
)
from .retrieval import Judged, retrieval_measures
from .statistics import compare_measures, kappa, mean_interval, risk_coverage

if TYPE_CHECKING:
    from ..engine import KnowledgeEngine

Judge = Literal["rules", "model", "both"]
Row = dict[str, Any]
DEPTH = 50
"""Passages searched to tell "not found" from "below the cut"."""
CUTOFFS = (5, 10)
CORRECT = 0.5
"""Least correctness (of an overview: completeness) of an answer that counts as right."""
TWICE_EACH = 10
"""One question in so many is judged twice by the model, its claims in reverse order."""
STAGES = (
    "not read",
    "cut apart",
    "not found",
    "below the cut",
    "not packed",
    "declined",
    "not used",
    "miscited",
    "not declined",
    "failed",
)
"""Stages at which gold can be lost, in order; `failed` is an error."""
DECIDING = (
    "answer score",
    "nDCG@10",
    "context recall",
    "context density",
    "faithfulness",
    "citation precision",
)
"""Measures on which a comparison decides, one a stage; Holm's correction is over these."""
PRECISION = 6
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """Report of an evaluation as plain data.

    `summary` holds everything but the rows: `measures` by name with `mean`, `low`, `high`, `n` and
    `unusable`; `stages`, `kinds`, `documents`, `abstention`, `calibration`, `judged_twice`.
    `rows` has one object a question, in order. `times` alone varies between equal runs.
    """

    label: str
    summary: Mapping[str, Any]
    rows: tuple[Row, ...]
    times: Mapping[str, Any] = field(default_factory=dict)

    def data(self) -> Row:
        """Return the report as JSON-able data."""
        return {
            "version": _VERSION,
            "label": self.label,
            "summary": dict(self.summary),
            "rows": list(self.rows),
            "times": dict(self.times),
        }

    @property
    def means(self) -> Mapping[str, float]:
        """The mean of each measure."""
        return {name: one["mean"] for name, one in self.summary["measures"].items()}


def evaluate_answers(
    engine: KnowledgeEngine,
    questions: Sequence[GoldQuestion],
    *,
    judge: Judge = "rules",
    mode: str = "auto",
    label: str = "as set",
    progress: Callable[[str, int, int], None] | None = None,
) -> AnswerReport:
    """Ask every question once and measure the answers.

    Args:
        engine: an open library.
        questions: with their gold; at least one.
        judge: who judges claims: rules, the model that writes answers, or both.
        mode: mode of the answers, as for `ask`.
        label: name of the run in reports.
        progress: called with a stage, questions done and questions in all.

    Raises:
        SourceError: no question, or no gold of any is in the library.
        SettingsError: a model is to judge and none is configured.
    """
    if not questions:
        raise SourceError("no questions to evaluate; make some with `loregraph eval make`")
    evaluation = _Evaluation(engine, judge=judge, mode=mode)
    questions = _resolved(engine, questions)
    calibration = [asdict(one) for one in evaluation.calibrations()]
    rows = []
    for number, question in enumerate(questions, start=1):
        rows.append(evaluation.row(question, twice=number % TWICE_EACH == 1))
        if progress is not None:
            progress("ask", number, len(questions))
    times = _times(rows)
    summary = summarise(rows) | {
        "judge": judge, "calibration": calibration, "judged_twice": evaluation.agreement(),
    }  # fmt: skip
    return AnswerReport(label=label, summary=summary, rows=tuple(rows), times=times)


def _resolved(
    engine: KnowledgeEngine, questions: Sequence[GoldQuestion]
) -> tuple[GoldQuestion, ...]:
    """Return the questions with gold ids as the library spells them."""
    queries = [one.query for one in questions]
    held = {row.id for row in engine.documents()}
    if any(one.documents for one in queries):
        queries = list(
            resolve_gold_ids(queries, held, length_of=lambda name: len(engine.document_text(name)))
        )
    return tuple(replace(one, query=query) for one, query in zip(questions, queries, strict=True))


class _Evaluation:
    """Asks and measures the questions of one run."""

    def __init__(self, engine: KnowledgeEngine, *, judge: Judge, mode: str) -> None:
        self._engine = engine
        self._mode = mode
        self._weight = engine.as_retriever().idf()
        self._held = {row.id for row in engine.documents()}
        self._top_k = engine.settings.retrieve.top_k
        self._rules = RulesJudge(weight=self._weight, min_support=engine.settings.check.min_support)
        self._model: ModelJudge | None = None
        if judge != "rules":
            if engine.answer_model is None:
                raise SettingsError(
                    f"judge {judge!r} needs a language model: configure `llm` in the profile, "
                    "or use --judge rules"
                )
            self._model = ModelJudge(engine.answer_model)
        self._by_rules = judge != "model"
        self._first: list[bool] = []
        self._second: list[bool] = []

    def calibrations(self) -> list[Calibration]:
        """Return how far each judge of this run can be trusted."""
        judges: list[ClaimJudge] = [self._rules] if self._by_rules else []
        if self._model is not None:
            judges.append(self._model)
        return [calibrate(one) for one in judges]

    def agreement(self) -> Mapping[str, float]:
        """Return how often the model judged the same claim the same way twice."""
        same = [a == b for a, b in zip(self._first, self._second, strict=True)]
        share = sum(same) / len(same) if same else 0.0
        return {
            "claims": len(same),
            "agreement": round(share, PRECISION),
            "kappa": round(kappa(self._first, self._second), PRECISION),
        }

    def row(self, question: GoldQuestion, *, twice: bool) -> Row:
        """Ask one question and return its row; an engine error is a failed row."""
        started = time.perf_counter()
        error, answer = "", Answer(question=question.text, text="", mode="local", abstained=True)
        try:
            found = self._engine.retrieve(question.text, top_k=DEPTH)
            started = time.perf_counter()
            answer = self._engine.ask(question.text, mode=self._mode)
        except EngineError as raised:
            found, error = [], f"{type(raised).__name__}: {raised}"
        seconds = time.perf_counter() - started
        short = answer.short.text if answer.short else ""
        measures = self._measures(question, answer, found, short, failed=bool(error))
        verdicts, unusable = self._judged(question, answer, measures, twice=twice)
        right = _is_right(question, measures)
        stage = "" if right is None else self._stage(question, answer, found, right, error)
        return {
            "id": question.id, "text": question.text, "kind": question.kind,
            "language": question.language, "hops": question.hops,
            "documents": list(question.query.documents), "gold": list(question.answers),
            "points": list(question.points), "answer": answer.text, "short": short,
            "abstained": answer.abstained, "evidence": _rounded(answer.evidence or 0.0),
            "mode": answer.mode, "error": error, "right": right, "lost": stage,
            "measures": {name: _rounded(value) for name, value in measures.items()},
            "unusable": unusable,
            "verdicts": [asdict(one) for one in verdicts],
            "citations": [_place(one, one.quote) for one in answer.citations],
            "passages": [_place(one, one.text) for one in answer.passages],
            "trace": [f"{step.stage}: {step.detail}" for step in answer.trace],
            "time": {
                "seconds": seconds, "tokens": answer.usage.prompt_tokens
                + answer.usage.completion_tokens, "cost": answer.usage.cost,
            },
        }  # fmt: skip

    # --- measures ---------------------------------------------------------------------------

    def _measures(
        self,
        question: GoldQuestion,
        answer: Answer,
        found: Sequence[Passage],
        short: str,
        *,
        failed: bool,
    ) -> dict[str, float]:
        """Return the measures by rules that apply; all of a failed question are 0."""
        said = "" if answer.abstained else answer.text
        measures: dict[str, float] = {}
        if not question.answerable:
            return {"correctness": float(answer.abstained and not failed)}
        gold = _gold_items(question)
        if gold:
            judged: Judged = [_gold_in(one, gold) for one in found]
            measures |= retrieval_measures(judged, len(gold), cutoffs=CUTOFFS)
            packed = [_gold_in(one, gold) for one in answer.passages]
            measures["context recall"] = len(frozenset().union(*packed)) / len(gold)
            measures["context precision"] = context_precision([bool(one) for one in packed])
            measures["context density"] = context_density(answer.passages, gold)
            cited = [_gold_in(one, gold) for one in answer.citations]
            measures["gold cited"] = len(frozenset().union(*cited)) / len(gold)
        if question.points:
            measures["completeness"] = completeness(said, question.points)
        if question.answers:
            measures["correctness"] = correctness(
                said, short, question.answers, question=question.text
            )
            measures["exact match"] = max(exact_match(short, one) for one in question.answers)
            measures["F1"] = max(token_f1(short or said, one) for one in question.answers)
        words = sorted(set(_content(question.text)))
        weight = [(word, self._weight(word)) for word in words]
        measures["answer relevancy"] = relevancy(said, question.text, weight)
        return measures

    def _judged(
        self, question: GoldQuestion, answer: Answer, measures: dict[str, float], *, twice: bool
    ) -> tuple[list[ClaimVerdict], dict[str, int]]:
        """Add faithfulness and the citation measures; return verdicts and unusable ones."""
        claims = [] if answer.abstained else claims_of(answer.text, question.text)
        verdicts: list[ClaimVerdict] = []
        unusable: dict[str, int] = {}
        texts = [text for text, _ in claims]
        if claims and self._by_rules:
            verdicts = self._rules.verdicts(question.text, texts, _sources(answer))
            measures["faithfulness"] = _share(verdicts)
        if claims:
            measures |= self._citations(question, answer, claims)
        if self._model is not None:
            more = self._by_model(question, answer, texts, measures, unusable, twice=twice)
            verdicts += more
        return verdicts, unusable

    def _citations(
        self, question: GoldQuestion, answer: Answer, claims: Sequence[tuple[str, tuple[int, ...]]]
    ) -> dict[str, float]:
        """Return citation recall and precision (ALCE, Gao et al. 2023) on the cited spans.

        Recall is the share of claims that their citations support together, precision the share of
        citations that support their claim alone.
        """
        by_number = {one.number: _quoted(one) for one in answer.citations}
        supported, good, marks = 0, 0, 0
        for text, numbers in claims:
            quotes = [by_number[n] for n in numbers if n in by_number]
            marks += len(numbers)
            alone = [
                self._rules.verdicts(question.text, [text], [quote])[0].supported
                for quote in quotes
            ]
            good += sum(alone)
            together = any(alone) or (
                len(quotes) > 1 and self._rules.verdicts(question.text, [text], quotes)[0].supported
            )
            supported += together
        return {
            "citation recall": supported / len(claims),
            "citation precision": good / marks if marks else 0.0,
        }

    def _by_model(
        self,
        question: GoldQuestion,
        answer: Answer,
        claims: Sequence[str],
        measures: dict[str, float],
        unusable: dict[str, int],
        *,
        twice: bool,
    ) -> list[ClaimVerdict]:
        """Add the model's measures, and return its verdicts.

        Faithfulness over all that was packed, correctness as whether the answer bears out the
        value, answer relevancy as whether it answers, context precision by its grades.
        """
        model = self._model
        if model is None or answer.abstained or not claims:
            return []
        sources = _sources(answer)
        verdicts = model.verdicts(question.text, claims, sources)
        _note(unusable, "faithfulness (model)", verdicts)
        measures["faithfulness (model)"] = _share(verdicts)
        if twice:
            again = model.verdicts(question.text, claims[::-1], sources)[::-1]
            self._first += [one.supported for one in verdicts]
            self._second += [one.supported for one in again]
        if question.answers:
            own = _own_text(answer)
            asked = [f"{question.text} {' / '.join(question.answers)}"]
            borne = model.verdicts(question.text, asked, [own])
            _note(unusable, "correctness (model)", borne)
            measures["correctness (model)"] = _share(borne)
        graded = model.relevant(question.text, [_own_text(answer), *answer.passages])
        lacking = sum(bool(why) for _, why in graded)
        if lacking:
            unusable["context precision (model)"] = lacking
        measures["answer relevancy (model)"] = float(graded[0][0])
        measures["context precision (model)"] = context_precision([yes for yes, _ in graded[1:]])
        return verdicts

    # --- losses -----------------------------------------------------------------------------

    def _stage(
        self,
        question: GoldQuestion,
        answer: Answer,
        found: Sequence[Passage],
        right: bool,
        error: str,
    ) -> str:
        """Return the first stage at which gold was lost; empty where the answer is right."""
        if error:
            return "failed"
        if not question.answerable:
            return "" if right else "not declined"
        spans = _gold_items(question)
        if right:
            held = any(covers(cite, span) for cite in answer.citations for span in spans)
            says = any(
                holds_value(cite.quote, value) == 1
                for cite in answer.citations
                for value in question.answers
            )
            return "" if held or says or not spans or question.points else "miscited"
        lost = [self._lost(span, answer, found) for span in spans]
        first = min((STAGES.index(stage) for stage in lost if stage), default=None)
        if first is not None:
            return STAGES[first]
        return "declined" if answer.abstained else "not used"

    def _lost(self, span: GoldSpan, answer: Answer, found: Sequence[Passage]) -> str:
        if span.document_id not in self._held:
            return "not read"
        rank = next((n for n, one in enumerate(found, start=1) if covers(one, span)), None)
        if any(covers(one, span) for one in answer.passages):
            return ""
        if rank is None:
            parts = [one for one in found if _touches(one, span)]
            return "cut apart" if parts else "not found"
        return "below the cut" if rank > self._top_k else "not packed"


def _touches(passage: Passage, span: GoldSpan) -> bool:
    return passage.document_id == span.document_id and min(passage.end, span.end) > max(
        passage.start, span.start
    )


WHOLE_DOCUMENT = 1 << 40
"""End of the span that stands for a whole gold document."""


def _gold_items(question: GoldQuestion) -> tuple[GoldSpan, ...]:
    """Return gold spans; a gold document is a span that any passage of it lies within."""
    documents = question.query.gold_ids
    return question.query.gold_spans or tuple(
        GoldSpan(document_id=name, start=0, end=WHOLE_DOCUMENT) for name in documents
    )


def _gold_in(place: Passage | Citation, gold: Sequence[GoldSpan]) -> frozenset[int]:
    return frozenset(number for number, span in enumerate(gold) if covers(place, span))


def _content(text: str) -> list[str]:
    return tokens(strip_question_words(text))


def _is_right(question: GoldQuestion, measures: Mapping[str, float]) -> bool | None:
    """Return whether the answer is right; None where nothing says what a right one holds.

    Of a question for two facts both must be given, of an overview or a list half of the points.
    """
    if "correctness" in measures:
        return measures["correctness"] >= CORRECT
    least = 1.0 if question.kind == TWO_FACTS else CORRECT
    return measures["completeness"] >= least if "completeness" in measures else None


def _sources(answer: Answer) -> list[Passage]:
    """Return the passages an answer rests on; the quotes where an overview shows no passages."""
    return [*answer.passages, *(_quoted(one) for one in answer.citations)]


def _quoted(citation: Citation) -> Passage:
    return Passage(
        text=citation.quote, score=1.0, relevance=1.0, document_id=citation.document_id,
        chunk_id=citation.chunk_id, title=citation.title, start=citation.start, end=citation.end,
    )  # fmt: skip


def _own_text(answer: Answer) -> Passage:
    return Passage(
        text=answer.text, score=1.0, relevance=1.0, document_id="answer", chunk_id="answer",
        title="", start=0, end=len(answer.text),
    )  # fmt: skip


def _share(verdicts: Sequence[ClaimVerdict]) -> float:
    return sum(one.supported for one in verdicts) / len(verdicts)


def _note(unusable: dict[str, int], measure: str, verdicts: Sequence[ClaimVerdict]) -> None:
    count = sum(bool(one.unusable) for one in verdicts)
    if count:
        unusable[measure] = count


def _place(place: Passage | Citation, text: str) -> Row:
    return {
        "document": place.document_id,
        "start": place.start,
        "end": place.end,
        "title": place.title,
        "text": text,
    }


def _rounded(value: float) -> float:
    return round(float(value), PRECISION)


def _times(rows: Iterable[Row]) -> Row:
    """Take the times out of the rows: they alone vary between equal runs."""
    each = [row.pop("time") for row in rows]
    middle, late = np.percentile([one["seconds"] for one in each], [50, 95])
    return {
        "p50_seconds": _rounded(float(middle)),
        "p95_seconds": _rounded(float(late)),
        "tokens": sum(one["tokens"] for one in each),
        "cost": sum(one["cost"] for one in each),
    }


def summarise(rows: Sequence[Row]) -> Row:
    """Return means with intervals, losses, kinds, documents and abstention of rows."""
    names = dict.fromkeys(name for row in rows for name in row["measures"])
    measures = {}
    for name in names:
        values = [row["measures"][name] for row in rows if name in row["measures"]]
        interval = mean_interval(values)
        measures[name] = {
            "mean": _rounded(interval.mean),
            "low": _rounded(interval.low),
            "high": _rounded(interval.high),
            "n": len(values),
            "unusable": sum(row["unusable"].get(name, 0) for row in rows),
        }
    judged = [row for row in rows if row["right"] is not None]
    lost = Counter(row["lost"] for row in rows if row["lost"])
    return {
        "questions": len(rows),
        "failed": sum(bool(row["error"]) for row in rows),
        "right": sum(bool(row["right"]) for row in judged),
        "judged": len(judged),
        "measures": measures,
        "stages": {stage: lost[stage] for stage in STAGES if lost[stage]},
        "kinds": _grouped(judged, lambda row: [row["kind"]]),
        "documents": _grouped(judged, lambda row: row["documents"]),
        "abstention": _abstention(judged),
    }


def _grouped(rows: Sequence[Row], keys: Callable[[Row], list[str]]) -> Row:
    groups: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        for key in keys(row):
            groups[key].append(bool(row["right"]))
    return {key: {"n": len(some), "right": sum(some)} for key, some in sorted(groups.items())}


def _abstention(rows: Sequence[Row]) -> Row:
    """Return precision and recall of declining, and the area under risk–coverage."""
    declined = [row for row in rows if row["abstained"]]
    unanswerable = [row for row in rows if row["kind"] == "unanswerable"]
    both = sum(row["kind"] == "unanswerable" for row in declined)
    cases = [(row["evidence"], bool(row["right"])) for row in rows if not row["abstained"]]
    return {
        "declined": len(declined),
        "unanswerable": len(unanswerable),
        "precision": _rounded(both / len(declined)) if declined else 0.0,
        "recall": _rounded(both / len(unanswerable)) if unanswerable else 0.0,
        "risk_coverage": _rounded(risk_coverage(cases)),
    }


def compare_reports(report: AnswerReport, against: Mapping[str, Any]) -> Row:
    """Compare a report with an earlier one's data in every measure, paired by question id.

    Raises:
        SourceError: no question is in both.
    """
    before = {row["id"]: row for row in against["rows"]}
    pairs = [(row, before[row["id"]]) for row in report.rows if row["id"] in before]
    pairs = [(row, old) for row, old in pairs if row["text"] == old["text"]]
    if not pairs:
        raise SourceError(
            f"no question in common with {against.get('label', '')!r}; compare reports of one set"
        )
    differences = [
        {
            "measure": one.measure, "n": one.n, "difference": _rounded(one.interval.mean),
            "low": _rounded(one.interval.low), "high": _rounded(one.interval.high),
            "p": _rounded(one.p),
            "p_holm": None if one.p_holm is None else _rounded(one.p_holm),
            "detectable": _rounded(one.detectable), "clear": one.is_clear,
        }
        for one in compare_measures(paired_values(pairs), family=DECIDING)
    ]  # fmt: skip
    changed = [
        {"id": row["id"], "before": bool(old["right"]), "after": bool(row["right"])}
        for row, old in pairs
        if row["right"] != old["right"]
    ]
    return {
        "against": str(against.get("label", "")),
        "questions": len(pairs),
        "differences": differences,
        "changed": changed,
        "points": {
            row["id"]: [_score(old["measures"]), _score(row["measures"])] for row, old in pairs
        },
    }


def paired_values(
    pairs: Iterable[tuple[Row, Row]],
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the values of each measure in both rows of a question, of what both have."""
    values: dict[str, tuple[list[float], list[float]]] = {}
    for row, old in pairs:
        one, other = dict(row["measures"]), dict(old["measures"])
        if None not in (row["right"], old["right"]):
            for measures, each in ((one, row), (other, old)):
                measures |= {"answer score": _score(measures), "right": float(each["right"])}
        for name in one:
            if name in other:
                now, then = values.setdefault(name, ([], []))
                now.append(one[name])
                then.append(other[name])
    return values


def _score(measures: Mapping[str, float]) -> float:
    """Return the answer score: correctness, or completeness where there are only points."""
    return measures.get("correctness", measures.get("completeness", 0.0))
