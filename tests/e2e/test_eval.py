"""`loregraph eval retrieval` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., "CompletedProcess[str]"]
ROWS = {
    "lamp": ("The lamp", "Captain Ada Brine lit the lamp at Gull Quay in 1901."),
    "petrel": ("The Petrel", "The Petrel brought oil to Gull Quay. Orrin Vale owned her."),
    "storm": ("Storm", "In 1907 a storm broke the glass. Tomas Reed mended it."),
    "灯塔": ("鸥港灯塔", "艾达·布莱恩船长于1901年点亮了鸥港灯塔。"),
}
QUESTIONS = [
    {"id": "1", "text": "Who lit the lamp at Gull Quay?", "gold_ids": ["lamp"]},
    {"id": "2", "text": "Who owned the ship that brought oil?", "gold_ids": ["petrel"]},
    {"id": "3", "text": "谁点亮了鸥港灯塔?", "gold_ids": ["灯塔"]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"id": i, "title": title, "text": text} for i, (title, text) in ROWS.items()]
    _write(tmp_path / "corpus.jsonl", rows)
    _write(tmp_path / "queries.jsonl", QUESTIONS)
    return tmp_path


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines), encoding="utf8")


def _run(loregraph: Run, folder: Path, *more: str) -> CompletedProcess[str]:
    return loregraph(
        folder,
        *("eval", "retrieval", "--queries", "queries.jsonl", *more),
        env={"TMPDIR": str(folder / "temporary")},
    )


def test_a_corpus_is_evaluated_and_its_library_kept(loregraph: Run, folder: Path) -> None:
    (folder / "temporary").mkdir()
    more = ("--corpus", "corpus.jsonl", "--top", "2", "--json", "--ablate")
    done = _run(loregraph, folder, *more)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first = found["reports"][0]
    assert first["means"]["R@2"] == 1.0
    assert first["query_ids"] == ["1", "2", "3"]
    assert {stage["stage"] for stage in first["stages"]} >= {"keyword", "in all"}
    labels = [report["label"] for report in found["reports"]]
    assert {"as set", "without walk", "fusion rrf"} <= set(labels)
    assert [c["label"] for c in found["comparisons"]] == labels[1:]
    (library,) = (folder / "temporary" / "loregraph-eval").iterdir()
    written = (library / "library.db").stat().st_mtime_ns
    again = _run(loregraph, folder, *more)
    assert json.loads(again.stdout)["reports"][0]["by_query"] == first["by_query"]
    assert (library / "library.db").stat().st_mtime_ns == written


def test_a_table_names_figures_stages_and_gains(loregraph: Run, folder: Path) -> None:
    # Without keywords the bundled encoder, which reads no Chinese, finds nothing for one of three.
    (folder / "other.yaml").write_text("retrieve: {keyword: false}\n", encoding="utf8")
    more = ("--corpus", "corpus.jsonl", "--library", "lib", "--against", "other.yaml")
    done = _run(loregraph, folder, *more)
    assert done.returncode == 0, done.stderr
    for text in ("3 questions over 4 chunks", "R@5", "nDCG@10", "MRR", "keyword", "p95"):
        assert text in done.stdout
    assert "other.yaml − as set" in done.stdout
    assert "95 % [" in done.stdout


def test_beirs_layout_and_files_without_their_folder_are_evaluated(
    loregraph: Run, folder: Path
) -> None:
    _write(folder / "queries.jsonl", [{"_id": row["id"], "text": row["text"]} for row in QUESTIONS])
    judged = "".join(f"{row['id']}\t{row['gold_ids'][0]}.txt\t1\n" for row in QUESTIONS)
    (folder / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged, encoding="utf8")
    (folder / "docs").mkdir()
    for name, (_, text) in ROWS.items():
        (folder / "docs" / f"{name}.txt").write_text(text, encoding="utf8")
    (folder / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7 nothing of use")
    more = ("--qrels", "test.tsv", "--corpus", "docs", "--library", "lib")
    done = _run(loregraph, folder, *more)
    assert done.returncode == 0, done.stderr
    assert "3 questions over 4 chunks" in done.stdout
    assert "not in the library: docs/broken.pdf: " in done.stderr
    other = _run(loregraph, folder, "--corpus", "corpus.jsonl", "--library", "lib")
    assert other.returncode == 1
    assert "holds no question with gold_ids" in other.stderr
    other = _run(loregraph, folder, *more[:2], "--corpus", "corpus.jsonl", "--library", "lib")
    assert "library holds 4 documents of another corpus than 'corpus.jsonl'" in other.stderr


def test_a_folder_and_spans_are_evaluated(loregraph: Run, folder: Path) -> None:
    (folder / "docs").mkdir()
    text = ROWS["lamp"][1]
    (folder / "docs" / "lamp.txt").write_text(text, encoding="utf8")
    span = {"document_id": "docs/lamp.txt", "start": 0, "end": len(text)}
    _write(folder / "queries.jsonl", [{"id": "1", "text": "Who lit it?", "gold_spans": [span]}])
    done = _run(loregraph, folder, "--corpus", "docs", "--library", "lib", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reports"][0]["means"]["MRR"] == 1.0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param((), "name a --corpus", id="nothing to search"),
        pytest.param(("--corpus", "nowhere"), "no corpus at 'nowhere'", id="no such corpus"),
        pytest.param(("--library", "nowhere"), "no library", id="no such library"),
        pytest.param(("--corpus", "notes.txt", "-l", "lib"), "not a corpus", id="not a corpus"),
        pytest.param(("--corpus", "queries.jsonl", "-l", "lib"), "none of the", id="other gold"),
        pytest.param(
            ("--corpus", "corpus.jsonl", "-l", "lib", "--against", "cut.yaml"),
            "one library cannot serve both",
            id="indexed otherwise",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_said(
    loregraph: Run, folder: Path, more: tuple[str, ...], message: str
) -> None:
    (folder / "notes.txt").write_text("Notes.", encoding="utf8")
    (folder / "cut.yaml").write_text("chunk: {size_tokens: 64}\n", encoding="utf8")
    done = _run(loregraph, folder, *more)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("loregraph: ")
    assert "Traceback" not in done.stderr
