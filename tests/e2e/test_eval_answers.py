"""`loregraph eval make`, `review`, `answers`, `export` and `import` as a user runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import httpx
import pytest

from engine.evaluation.gold import read_gold
from engine.evaluation.review import Review, review_server

Run = Callable[..., "CompletedProcess[str]"]
TEXTS = {
    "lamp.md": "# The lamp of Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901.\n\n"
    "## Is the lamp still lit?\n\nThe lamp was put out for good in 1931 and stands in a museum.\n\n"
    "## Parts of the lamp\n\n- Wick\n- Glass dome\n- Brass foot\n",
    "ships.md": "# Ships of the bay\n\n| Ship | Length | Master |\n|---|---|---|\n"
    "| Petrel | 40 m | Orrin Vale |\n| Corvina | 62 m | Tomas Reed |\n| Auk | 12 m | Ida Sand |\n",
}


@pytest.fixture
def folder(loregraph: Run, tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf8")
    assert loregraph(tmp_path, "add", "docs").returncode == 0
    return tmp_path


def test_questions_are_made_answered_compared_gated_and_exported(
    loregraph: Run, folder: Path
) -> None:
    made = loregraph(folder, "eval", "make", "--size", "12", "--out", "gold.jsonl")
    assert made.returncode == 0, made.stderr
    assert "questions in gold.jsonl" in made.stdout
    run = ("eval", "answers", "--queries", "gold.jsonl")
    first = loregraph(folder, *run, "--json", "first.json")
    assert first.returncode == 0, first.stderr
    assert "known verdicts" in first.stdout
    (folder / "gate.yaml").write_text("correctness: 1.0\ncontext recall: 0.5\n", encoding="utf8")
    more = (
        "--against",
        "first.json",
        "--gate",
        "gate.yaml",
        "--html",
        "r.html",
        "--json",
        "2.json",
    )
    second = loregraph(folder, *run, *more, "--json", "2.json")
    assert "gate MISSED: correctness" in second.stdout or second.returncode == 0
    assert second.returncode in (0, 4)
    assert "could have been seen" in second.stdout
    one, two = (json.loads((folder / n).read_text("utf8")) for n in ("first.json", "2.json"))
    assert one["rows"] == two["rows"]
    assert one["summary"] == two["summary"]
    assert "<script" not in (folder / "r.html").read_text("utf8")
    done = loregraph(folder, "eval", "export", "first.json", "--out", "r.jsonl")
    assert done.returncode == 0, done.stderr
    again = loregraph(folder, "eval", "import", "r.jsonl", "--out", "back.jsonl")
    assert f"{len(one['rows'])} questions of RAGAS" in again.stdout, again.stderr


def test_a_missed_gate_exits_with_four(loregraph: Run, folder: Path) -> None:
    row = {"id": "1", "text": "Who lit the lamp at Gull Quay?", "answers": ["Zebedee Quill"]}
    (folder / "gold.jsonl").write_text(json.dumps(row), encoding="utf8")
    (folder / "gate.yaml").write_text("correctness: 0.9\n", encoding="utf8")
    run = ("eval", "answers", "--queries", "gold.jsonl", "--gate", "gate.yaml")
    done = loregraph(folder, *run)
    assert done.returncode == 4, done.stderr
    assert "gate MISSED: correctness 0.000, at least 0.900" in done.stdout


@pytest.fixture
def review(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    path = tmp_path / "gold.jsonl"
    span = {"document_id": "lamp", "start": 4, "end": 8}
    rows: list[dict[str, Any]] = [
        {"id": str(n), "text": f"Who lit lamp {n}?", "answers": ["Ada"], "gold_spans": [span]}
        for n in (1, 2, 3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    held = Review(path, read_gold(path), text_of={"lamp": "The lamp <b>burns</b>."}.__getitem__)
    server, address = review_server(held)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield path, address
    server.shutdown()
    thread.join()
    server.server_close()


def test_questions_are_reviewed_by_keyboard(review: tuple[Path, str], browser: Any) -> None:
    path, address = review
    page = browser.new_page()
    page.goto(address)
    page.get_by_text("1 of 3, 0 decided").wait_for()
    assert page.locator("mark").inner_text() == "lamp"
    page.keyboard.press("a")
    page.get_by_text("2 of 3, 1 decided").wait_for()
    page.keyboard.press("d")
    page.get_by_text("3 of 3, 2 decided").wait_for()
    page.keyboard.press("e")
    page.keyboard.type(" Really?")
    page.keyboard.press("Enter")
    page.get_by_text("3 of 3, 3 decided").wait_for()
    found = read_gold(path)
    assert [(one.id, one.accepted) for one in found] == [("1", True), ("3", True)]
    assert found[1].text == "Who lit lamp 3? Really?"
    page.close()


def test_no_other_page_can_read_or_decide(review: tuple[Path, str]) -> None:
    _, address = review
    base, _, query = address.partition("?")
    token = query.removeprefix("token=")
    assert httpx.get(base).status_code == 403
    assert httpx.get(f"{base}rows").status_code == 403
    ours = {"X-Review-Token": token}
    assert httpx.get(f"{base}rows", headers=ours).status_code == 200
    other = {**ours, "Host": "evil.example:80"}
    assert httpx.get(f"{base}rows", headers=other).status_code == 403
    wrong = {"id": "9", "decision": "drop", "text": "x", "lines": []}
    assert httpx.post(f"{base}decide", headers=ours, json=wrong).status_code == 400
    assert httpx.post(f"{base}decide", headers=ours, content=b"[1]").status_code == 400
