"""Replay answers over the sample corpus that a capable model wrote, and print what was judged.

    python tests/benchmarks/recorded.py [--show]

`recorded/replies.jsonl` holds replies by the digest of their prompts; a prompt that has changed
since has none, is counted, and its question is left out. `recorded/verdicts.jsonl` holds the
questions. For 36 of them (18 over Debian's handbook, whose answers are not replayed) it has what
two judges said, who saw this answer and one that the same model wrote from LlamaIndex's vector
retrieval with as many prompt tokens (`baseline`), unmarked and in both orders: which tells more,
which is more correct (a tie counts half), and how many of the points expected each holds. They
judged g9 and g10 by earlier answers than those replayed. `held` is how many points an answer of
`global-02` to `-06` and `-08` holds, read strictly by the one who wrote it.

Printed: how many of the expected points the answers hold, claims flagged, prompt tokens a question,
and the preferences.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from global_answers import held_points  # noqa: E402
from llama_index.core.utils import get_tokenizer  # noqa: E402
from openai_server import OpenAIServer, Reply, Request  # noqa: E402

from engine import KnowledgeEngine, Settings  # noqa: E402
from engine.errors import ModelError  # noqa: E402
from engine.types import Answer  # noqa: E402

RECORDED = Path(__file__).with_name("recorded")
WINDOW_TOKENS = 128_000
JUDGED = ("comprehensiveness", "correctness")
WORTH = {"ours": 1.0, "tie": 0.5, "baseline": 0.0}


def digest(messages: Sequence[Mapping[str, Any]]) -> str:
    said = [[message["role"], message["content"]] for message in messages]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()


def rows(name: str) -> list[dict[str, Any]]:
    text = (RECORDED / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def answered_by(replies: Mapping[str, str], request: Request) -> Reply:
    """The reply recorded for a prompt, its tokens counted as OpenAI's models count them."""
    text = replies.get(digest(request.body["messages"]))
    if text is None:
        return Reply("no such prompt was recorded", status=400)
    encode = get_tokenizer()
    prompt = "".join(str(message["content"]) for message in request.body["messages"])
    return Reply(text, tokens=(len(encode(prompt)), len(encode(text))))


def asked(engine: KnowledgeEngine, row: Mapping[str, Any]) -> Answer | None:
    try:
        return engine.ask(row["question"], mode=row["mode"])
    except ModelError:
        return None


def tell_verdicts(mode: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print what the judges preferred, and the expected points that both answers hold."""
    votes = [vote for row in rows for vote in row["verdicts"]]
    asked_for = sum(row["points"] * len(row["verdicts"]) for row in rows)
    shares = ", ".join(f"{on} {sum(WORTH[v[on]] for v in votes) / len(votes):.2f}" for on in JUDGED)
    held = {arm: sum(vote["held"][arm] for vote in votes) for arm in ("ours", "baseline")}
    print(f"{mode}: preferred to vector retrieval on {shares} of {len(rows)} questions")
    print(f"  points held {held['ours']} and {held['baseline']} of {asked_for}, two judges")


def tell(row: Mapping[str, Any], answer: Answer, expected: Mapping[str, Any] | None) -> str:
    flagged = sum(not claim.supported and not claim.unchecked for claim in answer.claims)
    line = f"{row['id']:12}{answer.usage.prompt_tokens:7} tokens, {len(answer.claims)} claims"
    line += f", {flagged} flagged, {len(answer.citations)} citations"
    if expected is not None:
        line += f", {held_points(dict(expected), answer.text)} of {len(expected['points'])} points"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print the answers")
    arguments = parser.parse_args()
    replies = {row["prompt"]: row["reply"] for row in rows("replies.jsonl")}
    verdicts = rows("verdicts.jsonl")
    replayed = [row for row in verdicts if row.get("library", "sample") == "sample"]
    questions = (ROOT / "data" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    expected = {row["id"]: row for row in map(json.loads, questions) if row["type"] == "global"}
    changed = 0
    with OpenAIServer() as server, tempfile.TemporaryDirectory() as folder:
        server.answer_with(lambda request: answered_by(replies, request))
        for window in sorted({row.get("window_tokens", WINDOW_TOKENS) for row in replayed}):
            llm = {**server.settings(retries=0), "context_window_tokens": window}
            settings = Settings.model_validate({"llm": llm})
            with KnowledgeEngine.open(Path(folder) / str(window), settings=settings) as engine:
                engine.add(ROOT / "data" / "corpus")
                for row in replayed:
                    if row.get("window_tokens", WINDOW_TOKENS) != window:
                        continue
                    answer = asked(engine, row)
                    if answer is None:
                        changed += 1
                        print(f"{row['id']:12}its prompt has changed")
                        continue
                    print(tell(row, answer, expected.get(row["id"])))
                    if arguments.show:
                        print(answer.text, end="\n\n")
    print(f"{changed} of {len(replayed)} prompts have changed since they were recorded")
    for mode in ("global", "local"):
        tell_verdicts(mode, [r for r in verdicts if r["mode"] == mode and "verdicts" in r])


if __name__ == "__main__":
    main()
