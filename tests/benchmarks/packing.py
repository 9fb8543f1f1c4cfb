"""How much of what was found stays in the context: by merging, by compression, by budget.

    LOREGRAPH_BENCH=folder python tests/benchmarks/packing.py [--limit N] [--sets NAME …]

Each question is searched for 50 passages; they are packed into 1,500 and 3,000 tokens in every way
that settings know. A gold answer is kept where its text stands in the context (case, width and
white space aside): an upper bound of what a model could say from it, and by luck true of short
answers such as "yes", which are left out. The order of passages changes nothing of that, which the
last column checks: it counts questions in which another order takes other passages. Reads
`../shared/data` and the sample corpus.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).parent))

import corpora  # noqa: E402

from engine import KnowledgeEngine, Settings  # noqa: E402
from engine.answer.language import language_of  # noqa: E402
from engine.answer.packing.compress import key_sentences, shown  # noqa: E402
from engine.answer.packing.pack import Packed, pack  # noqa: E402
from engine.answer.parts import embedder  # noqa: E402
from engine.index.door import sentence_spans  # noqa: E402
from engine.models.tokeniser import load_tokeniser  # noqa: E402
from engine.retrieve.tokens import tokens  # noqa: E402
from engine.types import Passage  # noqa: E402

BUDGETS = (1_500, 3_000)
ORDERS = ("relevance_first", "edges_first", "document_order")
FOUND = 50
SAMPLE = "sample"
SETS = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "cmrc2018_zh", SAMPLE)
_SHORTEST_ANSWER = 4

Way = Callable[[str, Sequence[Passage], int], Packed]


@dataclass
class Tally:
    """Sums over questions."""

    asked: int = 0
    kept: int = 0
    tokens: int = 0
    seconds: float = 0.0


def questions(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A set's questions with their answers."""
    if name != SAMPLE:
        yield from ((query.text, query.answers) for query in corpora.queries(name))
        return
    for line in (ROOT / "data" / "questions.jsonl").open(encoding="utf8"):
        row = json.loads(line)
        if row.get("answers"):
            yield row["text"], tuple(row["answers"])


def opened(name: str) -> KnowledgeEngine:
    """The library of a set, built when it is not there; one that is there is taken as it is."""
    if (corpora.KEPT / name / "library.db").exists():
        return KnowledgeEngine.open(corpora.KEPT / name, settings=Settings())
    if name != SAMPLE:
        engine, _ = corpora.built(
            name, lambda path: KnowledgeEngine.open(path, settings=Settings())
        )
        return engine  # type: ignore[return-value]
    corpora.KEPT.mkdir(parents=True, exist_ok=True)
    engine = KnowledgeEngine.open(corpora.KEPT / SAMPLE, settings=Settings())
    engine.add(ROOT / "data" / "corpus")
    return engine


def ways(engine: KnowledgeEngine, *, embedding: bool) -> dict[str, Way]:
    """Every way to pack, by name."""
    count = load_tokeniser().count
    weight = engine._keyword.idf()
    text = engine._library.text_at
    embed = embedder(engine._vectors._embed_model) if embedding and engine._vectors else None

    def plain(question: str, found: Sequence[Passage], budget: int) -> Packed:
        return pack(found, budget_tokens=budget, count=count)

    def merging(question: str, found: Sequence[Passage], budget: int) -> Packed:
        return pack(found, budget_tokens=budget, count=count, text=text)

    def compressing(near_best: float, meaning: bool) -> Way:
        def packed(question: str, found: Sequence[Passage], budget: int) -> Packed:
            key = key_sentences(
                question,
                found,
                tokens=tokens,
                weight=weight,
                sentence_spans=sentence_spans,
                embed=embed if meaning else None,
                near_best=near_best,
            )
            excerpt = shown(key, found)
            return pack(found, budget_tokens=budget, count=count, text=text, shown=excerpt)

        return packed

    made: dict[str, Way] = {"whole": plain, "merged": merging}
    for share in (0.2, 0.35, 0.5):
        made[f"merged, sentences from {share}"] = compressing(share, meaning=False)
        if embed is not None:
            made[f"merged, sentences from {share}, by meaning too"] = compressing(share, True)
    return made


def plain_text(text: str) -> str:
    """Without case, width and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def measure(name: str, *, limit: int, found: int, embedding: bool) -> None:
    """Print one set's table."""
    engine = opened(name)
    tried = ways(engine, embedding=embedding)
    tallies = {(way, budget): Tally() for way in tried for budget in BUDGETS}
    count, text = load_tokeniser().count, engine._library.text_at
    asked = reachable = moved = 0
    for question, answers in list(questions(name))[:limit]:
        shortest = 2 if language_of(question) == "zh" else _SHORTEST_ANSWER
        wanted = [plain_text(one) for one in answers if len(one) >= shortest]
        if not wanted:
            continue
        passages = engine.retrieve(question, top_k=found)
        asked += 1
        everything = plain_text("\n".join(passage.text for passage in passages))
        reachable += any(one in everything for one in wanted)
        taken = [
            {one.chunk_id for span in packed.spans for one in span.parts}
            for packed in (
                pack(passages, budget_tokens=BUDGETS[0], count=count, text=text, order=order)
                for order in ORDERS
            )
        ]
        moved += any(one != taken[0] for one in taken)
        for (way, budget), tally in tallies.items():
            started = time.process_time()
            packed = tried[way](question, passages, budget)
            tally.seconds += time.process_time() - started
            context = plain_text(packed.text)
            tally.kept += any(one in context for one in wanted)
            tally.tokens += packed.tokens
    engine.close()
    held = reachable / asked
    print(f"\n{name}: {asked} questions, {held:.3f} hold the answer in {found} passages")
    print(f"  {moved} take others in another order")
    for (way, budget), tally in tallies.items():
        kept, used = tally.kept / asked, tally.tokens / asked
        each = 1000 * tally.seconds / asked
        print(f"  {budget:>5}  {way:<46} kept {kept:.3f}  tokens {used:6.0f}  {each:6.1f} ms")


def main() -> None:
    """Parse arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--found", type=int, default=FOUND)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--embedding", action="store_true", help="compress by meaning too (slow)")
    arguments = parser.parse_args()
    for name in arguments.sets:
        measure(
            name,
            limit=arguments.limit,
            found=arguments.found,
            embedding=arguments.embedding,
        )


if __name__ == "__main__":
    main()
