"""Replay answers over the sample corpus that a capable model wrote, and print what was judged.

    python tests/benchmarks/recorded.py [--show]

`recorded/replies.jsonl` holds replies by the digest of their prompts; a prompt that has changed
since has none, is counted, and its question is left out. `recorded/verdicts.jsonl` holds the
questions, the answer (`baseline`) that the same model wrote from LlamaIndex's vector retrieval with
as many prompt tokens, and which of the two was preferred, one verdict a pair; a tie counts half.
The model that wrote them judged them too, knew the arms, and did not read every prompt of the
baseline whole: a blind reading says more.

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
        return engine.ask(row["question"], mode=row["mode"], effort=row.get("effort"))
    except ModelError:
        return None


def preferred(judged: Sequence[Mapping[str, Any]], on: str) -> float:
    votes = [WORTH[row[on]] for row in judged]
    return sum(votes) / len(votes)


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
    questions = (ROOT / "data" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    expected = {row["id"]: row for row in map(json.loads, questions) if row["type"] == "global"}
    changed = 0
    with OpenAIServer() as server, tempfile.TemporaryDirectory() as folder:
        server.answer_with(lambda request: answered_by(replies, request))
        llm = {**server.settings(retries=0), "context_window_tokens": WINDOW_TOKENS}
        settings = Settings.model_validate({"llm": llm})
        with KnowledgeEngine.open(Path(folder) / "library", settings=settings) as engine:
            engine.add(ROOT / "data" / "corpus")
            for row in verdicts:
                answer = asked(engine, row)
                if answer is None:
                    changed += 1
                    print(f"{row['id']:12}its prompt has changed")
                    continue
                print(tell(row, answer, expected.get(row["id"].removesuffix("-high"))))
                if arguments.show:
                    print(answer.text, end="\n\n")
    print(f"{changed} of {len(verdicts)} prompts have changed since they were recorded")
    for mode in ("global", "local"):
        judged = [row for row in verdicts if row["mode"] == mode and "baseline" in row]
        shares = ", ".join(f"{on} {preferred(judged, on):.2f}" for on in JUDGED)
        print(f"{mode}: preferred to vector retrieval on {shares} of {len(judged)} questions")


if __name__ == "__main__":
    main()
