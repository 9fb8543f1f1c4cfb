"""Judging retrieval: figures against another implementation, files, and comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import ChunkSettings, RetrieveSettings, Settings
from engine.errors import SourceError
from engine.evaluation import (
    EvaluationQuery,
    GoldSpan,
    RetrievalReport,
    compare_evaluations,
    evaluate_retrieval,
    paired_bootstrap,
    read_judgements,
    read_queries,
)
from engine.evaluation.datasets import (
    add_corpus,
    check_corpus,
    index_stamp,
    library_for,
    read_corpus,
    resolve_gold_ids,
)
from engine.evaluation.retrieval import ablations, retrieval_measures
from engine.types import TraceStep

DOCUMENTS = [f"d{number}" for number in range(12)]
rankings = st.permutations(DOCUMENTS).flatmap(
    lambda order: st.integers(0, len(order)).map(lambda length: order[:length])
)
golds = st.sets(st.sampled_from([*DOCUMENTS, "elsewhere"]), min_size=1, max_size=5)


def _judge(ranking: list[str], gold: list[str]) -> list[frozenset[int]]:
    return [frozenset({gold.index(name)} if name in gold else ()) for name in ranking]


@given(rankings, golds)
def test_figures_are_those_of_another_implementation(ranking: list[str], gold: set[str]) -> None:
    measures = pytest.importorskip("ir_measures")
    names = {f"{name}@{at}": f"{name}@{at}" for name in ("R", "P", "nDCG") for at in (2, 5, 10)}
    names["MRR"] = "RR@10"
    scored = [
        measures.ScoredDoc("q", name, float(-place)) for place, name in enumerate(ranking)
    ] or [measures.ScoredDoc("q", "nothing of use", 0.0)]
    wanted = {name: measures.parse_measure(other) for name, other in names.items()}
    theirs = measures.calc_aggregate(
        wanted.values(), [measures.Qrel("q", name, 1) for name in gold], scored
    )
    ours = retrieval_measures(_judge(ranking, sorted(gold)), len(gold), cutoffs=(2, 5, 10))
    assert {name: theirs[m] for name, m in wanted.items()} == pytest.approx(
        {name: ours[name] for name in wanted}, abs=1e-9
    )


@given(rankings, golds, st.integers(1, 12))
def test_all_gold_is_found_exactly_where_recall_is_one(
    ranking: list[str], gold: set[str], at: int
) -> None:
    found = retrieval_measures(_judge(ranking, sorted(gold)), len(gold), cutoffs=(at,))
    assert (found[f"all@{at}"] == 1) == (found[f"R@{at}"] == 1)
    assert all(0 <= value <= 1 for value in found.values())


def test_a_passage_that_repeats_a_span_gains_nothing_more() -> None:
    once = retrieval_measures([frozenset({0}), frozenset()], 1, cutoffs=(2,))
    twice = retrieval_measures([frozenset({0}), frozenset({0})], 1, cutoffs=(2,))
    assert once["nDCG@2"] == twice["nDCG@2"] == 1
    assert (once["P@2"], twice["P@2"]) == (0.5, 1.0)


# --- files ----------------------------------------------------------------------------------------


def _write(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines), encoding="utf8")
    return path


def test_questions_are_read_with_either_kind_of_gold(tmp_path: Path) -> None:
    span = {"document_id": "b", "start": 3, "end": 9}
    path = _write(
        tmp_path / "queries.jsonl",
        {"id": 1, "text": "谁?", "gold_ids": ["b", "a", "b"], "answers": ["x"]},
        "",
        {"id": "2", "text": "Where?", "gold_spans": [span, span]},
        {"id": "3", "text": "Without gold", "gold_ids": []},
    )
    assert read_queries(path) == (
        EvaluationQuery(id="1", text="谁?", gold_ids=("a", "b")),
        EvaluationQuery(
            id="2", text="Where?", gold_spans=(GoldSpan(document_id="b", start=3, end=9),)
        ),
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(["{oops"], "line 1: not JSON", id="no JSON"),
        pytest.param(['["a"]'], "line 1: not an object", id="a list"),
        pytest.param([{"id": "a", "gold_ids": ["b"]}], "'text' must be", id="no text"),
        pytest.param([{"id": "a", "text": " ", "gold_ids": ["b"]}], "'text' must", id="blank"),
        pytest.param([{"id": "a", "text": "x", "gold_ids": "b"}], "must be a list", id="one gold"),
        pytest.param([{"id": "a", "text": "x", "gold_ids": [[1]]}], "must be a list", id="nested"),
        pytest.param(
            [{"id": "a", "text": "x", "gold_spans": [{"document_id": "b", "start": 9, "end": 9}]}],
            "span not usable",
            id="empty span",
        ),
        pytest.param(
            [{"id": "a", "text": "x", "gold_ids": ["b"], "gold_spans": [1]}],
            "not both",
            id="both",
        ),
        pytest.param([{"id": "a", "text": "x", "gold_ids": ["b"]}] * 2, "twice", id="twice"),
        pytest.param([{"id": "a", "text": "x"}], "no question with gold", id="no gold"),
        pytest.param([], "holds no question$", id="empty"),
        pytest.param([{"id": "a", "query": "x"}], "its keys are 'id', 'query'", id="other keys"),
    ],
)
def test_a_wrong_line_of_questions_is_refused_with_its_number(
    tmp_path: Path, rows: list[object], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read_queries(_write(tmp_path / "queries.jsonl", *rows))


def test_the_layout_of_beir_is_read(tmp_path: Path) -> None:
    queries = _write(
        tmp_path / "queries.jsonl",
        {"_id": "q1", "text": "Who?", "metadata": {}},
        {"_id": 2, "text": "Where?"},
        {"_id": "q3", "text": "Not judged"},
    )
    rows = ["query-id\tcorpus-id\tscore", "q1\td 2\t1", "q1\td1\t2", "2\td1\t1", "q3\td1\t0"]
    (tmp_path / "qrels").mkdir()
    judged = _write(tmp_path / "qrels" / "test.tsv", *rows)
    assert read_queries(queries, judgements=read_judgements(judged)) == (
        EvaluationQuery(id="q1", text="Who?", gold_ids=("d 2", "d1")),
        EvaluationQuery(id="2", text="Where?", gold_ids=("d1",)),
    )
    corpus = _write(tmp_path / "corpus.jsonl", {"_id": "d1", "title": "", "text": "A text."})
    assert [row.id for row in read_corpus(corpus)] == ["d1"]
    with pytest.raises(SourceError, match=r"name it with --qrels, such as '.*test.tsv'"):
        read_queries(queries)
    with pytest.raises(SourceError, match=r"no question of .* is judged"):
        read_queries(queries, judgements={"other": ("d1",)})


def test_the_layout_of_trec_is_read(tmp_path: Path) -> None:
    judged = _write(tmp_path / "qrels.txt", "1 0 a 1", "1 0 b 0", "", "2 Q0 c 2")
    assert read_judgements(judged) == {"1": ("a",), "2": ("c",)}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(["q d 1", "q d"], "line 2 of .* is not a judgement", id="two columns"),
        pytest.param(["q d 1", "q d much"], "line 2 of .* is not a judgement", id="no grade"),
        pytest.param(
            ["query-id corpus-id score"], "no document graded above zero", id="heading alone"
        ),
        pytest.param(["q d 0"], "no document graded above zero", id="nothing relevant"),
        pytest.param([], "no document graded above zero", id="empty"),
    ],
)
def test_what_is_no_judgement_is_refused(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_judgements(_write(tmp_path / "qrels.tsv", *rows))


def test_what_is_no_corpus_is_refused_before_a_library_is_made(tmp_path: Path) -> None:
    table = _write(tmp_path / "table.csv", "a,b")
    with pytest.raises(SourceError, match="not a corpus"):
        check_corpus(table)
    with pytest.raises(SourceError, match="no documents in the corpus"):
        check_corpus(_write(tmp_path / "empty.jsonl"))
    check_corpus(tmp_path)


def test_a_library_with_other_documents_is_left_alone(tmp_path: Path) -> None:
    class Engine:
        def documents(self) -> list[Any]:
            return [SimpleNamespace(id="a", path=None), SimpleNamespace(id="mine", path=None)]

    corpus = _write(tmp_path / "corpus.jsonl", {"id": "a", "text": "one"})
    with pytest.raises(SourceError, match=r"1 documents of another corpus than .*, such as 'mine'"):
        add_corpus(Engine(), corpus, progress=lambda *_: None)  # type: ignore[arg-type]


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file: "):
        read_queries(tmp_path / "nowhere.jsonl")
    with pytest.raises(SourceError, match="cannot read"):
        read_corpus(tmp_path)
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="cannot read"):
        read_corpus(tmp_path / "bytes.jsonl")
    with pytest.raises(SourceError, match="no documents in the corpus"):
        read_corpus(_write(tmp_path / "empty.jsonl"))


def test_a_library_is_known_by_the_corpus_and_by_what_is_indexed(tmp_path: Path) -> None:
    corpus = _write(tmp_path / "corpus.jsonl", {"id": "a", "text": "one"})
    plain = library_for(corpus, Settings())
    other_lists = Settings(retrieve=RetrieveSettings(dense=False))
    assert library_for(corpus, other_lists) == plain
    assert index_stamp(other_lists) == index_stamp(Settings())
    assert library_for(corpus, Settings(chunk=ChunkSettings(size_tokens=64))) != plain
    _write(corpus, {"id": "a", "text": "two"})
    assert library_for(corpus, Settings()) != plain
    with pytest.raises(SourceError, match="no corpus at"):
        library_for(tmp_path / "nowhere", Settings())


# --- asking ---------------------------------------------------------------------------------------


class _Engine:
    """Finds the same passages for every question, and remembers how many were asked for."""

    def __init__(self, passages: list[Any]) -> None:
        self._passages = passages
        self.asked: list[int] = []

    def documents(self) -> list[Any]:
        return [
            SimpleNamespace(id=name) for name in sorted({p.document_id for p in self._passages})
        ]

    def document_text(self, document_id: str) -> str:
        return "x" * max(p.end for p in self._passages if p.document_id == document_id)

    def stats(self) -> dict[str, int]:
        return {"chunks": len(self._passages)}

    def as_retriever(self) -> Any:
        return self

    def search(self, question: str, *, top_k: int) -> Any:
        self.asked.append(top_k)
        step = TraceStep(stage="keyword", detail="", seconds=0.25)
        return SimpleNamespace(passages=self._passages[:top_k], trace=[step, step])


def _passage(document_id: str, start: int = 0, end: int = 10) -> Any:
    return SimpleNamespace(document_id=document_id, start=start, end=end)


def test_documents_are_judged_where_their_best_passage_stands() -> None:
    engine = _Engine([_passage("long", start=n) for n in range(40)] + [_passage("gold")])
    query = EvaluationQuery(id="q", text="?", gold_ids=("gold", "missing"))
    report = evaluate_retrieval(engine, [query], top=2)  # type: ignore[arg-type]
    assert report.means["R@2"] == 0.5
    assert report.means["MRR"] == 0.5
    assert report.unknown == ("missing",)
    assert engine.asked[1:] == [6, 24, 96]  # more, until there are two documents
    assert [(s.stage, s.median_seconds) for s in report.stages] == [
        ("keyword", 0.5),
        ("in all", 0.5),
    ]


def test_spans_are_found_by_passages_that_hold_half_of_them() -> None:
    engine = _Engine([_passage("a", 0, 10), _passage("a", 10, 30), _passage("b", 0, 30)])
    spans = tuple(GoldSpan(document_id="a", start=start, end=start + 8) for start in (7, 20))
    query = EvaluationQuery(id="q", text="?", gold_spans=spans)
    report = evaluate_retrieval(engine, [query], top=3)  # type: ignore[arg-type]
    assert (report.means["R@3"], report.means["MRR"], report.means["all@3"]) == (1.0, 0.5, 1.0)
    assert engine.asked == [3, 3]


def test_gold_that_the_library_lacks_altogether_is_an_error() -> None:
    engine = _Engine([_passage("a")])
    query = EvaluationQuery(id="q", text="?", gold_ids=("elsewhere",))
    with pytest.raises(SourceError, match="none of the 1 gold documents, such as 'elsewhere'"):
        evaluate_retrieval(engine, [query])  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="no question"):
        evaluate_retrieval(engine, [])  # type: ignore[arg-type]


def test_gold_files_are_found_by_the_end_of_their_path() -> None:
    held = ["notes/a.md", "notes/old/a.md", "notes/b.md", "c"]
    query = EvaluationQuery(id="q", text="?", gold_ids=("./b.md", "a.md", "c", "old/a.md"))
    (found,) = resolve_gold_ids([query], held, length_of=len)
    assert found.gold_ids == ("a.md", "c", "notes/b.md", "notes/old/a.md")  # a.md: which of two?


def test_a_span_that_ends_after_its_document_is_refused() -> None:
    span = GoldSpan(document_id="a", start=0, end=11)
    query = EvaluationQuery(id="q", text="?", gold_spans=(span,))
    with pytest.raises(SourceError, match="0 to 11 of question 'q', but 'a' has 10"):
        resolve_gold_ids([query], ["a"], length_of=lambda _: 10)


def test_another_searcher_is_asked_in_place_of_the_engines_own() -> None:
    own, other = _Engine([_passage("a")]), _Engine([_passage("b"), _passage("a")])
    query = EvaluationQuery(id="q", text="?", gold_ids=("a",))
    report = evaluate_retrieval(own, [query], searcher=other)  # type: ignore[arg-type]
    assert (report.means["MRR"], own.asked) == (0.5, [])
    assert report.cpu_seconds >= 0


# --- comparing ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_the_interval_turns_with_its_sides_and_is_the_same_each_time(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    forth, back = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert forth == paired_bootstrap(a, b)
    assert (forth.mean, forth.low, forth.high) == pytest.approx((-back.mean, -back.high, -back.low))
    assert forth.low - 1e-9 <= forth.mean + 1e-9 or len(pairs) < 4
    assert paired_bootstrap(a, a).is_clear is False
    assert paired_bootstrap(a, a).is_nil


def test_the_interval_has_the_width_that_theory_gives() -> None:
    values = np.random.default_rng(3).normal(0.2, 0.5, 400)
    interval = paired_bootstrap(values.tolist(), [0.0] * 400)
    half = 1.96 * values.std() / np.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - half, abs=0.01)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.01)
    assert interval.is_clear


def test_values_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        paired_bootstrap([], [])
    with pytest.raises(SourceError, match="different questions"):
        compare_evaluations(_report("a", ("q1",)), _report("b", ("q2",)))


def test_a_comparison_gives_the_gain_in_each_figure() -> None:
    found = compare_evaluations(_report("b", ("q1", "q2"), 1.0), _report("a", ("q1", "q2"), 0.25))
    assert (found.label, found.against, found.gains["MRR"].mean) == ("b", "a", 0.75)


def _report(label: str, ids: tuple[str, ...], value: float = 0.0) -> RetrievalReport:
    values = (value,) * len(ids)
    return RetrievalReport(
        label=label,
        query_ids=ids,
        chunks=1,
        top=1,
        means={"MRR": value},
        by_query={"MRR": values},
        stages=(),
    )


def test_an_ablation_switches_off_each_list_that_is_on_and_tries_other_fusions() -> None:
    labels = [label for label, _ in ablations(Settings())]
    assert labels[:3] == ["without keyword", "without dense", "without walk"]
    assert "fusion rrf" in labels
    assert "fusion score" not in labels
    keyword_only = Settings(retrieve=RetrieveSettings(dense=False))
    tried = dict(ablations(keyword_only))
    assert "without keyword" not in tried
    assert "without dense" not in tried
    assert tried["without walk"].retrieve.walk is False
