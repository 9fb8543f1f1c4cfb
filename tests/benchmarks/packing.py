"""How much of what was found stays in the context: by merging, by compression, by budget, by order.

    LOREGRAPH_BENCH=folder python tests/benchmarks/packing.py [--limit N] [--sets NAME …]

Each question is searched for 50 passages; they are packed into 500 to 3,000 tokens in every way
that settings know. `answer`: how often a gold answer's text stands in the context (case, width and
white space aside): an upper bound of what a model could say from it, and by luck true of short
answers such as "yes", which are left out. `gold`: the share of the supporting sentences
(`corpora.gold_queries`) that stand in it whole, `all`: how often all of a question do; `each 1,000`
is how many of them 1,000 tokens of context hold. What an order does without a model to read it is
move them: `edges` is the share of those kept that stand in the first or the last quarter of the
context, where models read best. It takes the same passages: the last line counts where it did
not. Reads `../shared/data` and the sample corpus.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).parent))

import corpora  # noqa: E402

from engine import KnowledgeEngine, Settings  # noqa: E402
from engine.answering.compression import render_selection, select_key_sentences  # noqa: E402
from engine.answering.packing import Order, PackedContext, pack_context  # noqa: E402
from engine.embeddings.tokenizer import load_tokeniser  # noqa: E402
from engine.prompts import language_of  # noqa: E402
from engine.retrieval.passages import embedder  # noqa: E402
from engine.types import Passage  # noqa: E402

BUDGETS = (500, 1_000, 2_000, 3_000)
EDGE = 0.25
"""So much of a context at each end is its edge."""
ORDERS: tuple[Order, ...] = ("relevance_first", "edges_first", "document_order")
FOUND = 50
SAMPLE = "sample"
SETS = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "cmrc2018_zh", SAMPLE)
_SHORTEST_ANSWER = 4

Way = Callable[[str, Sequence[Passage], int], PackedContext]


@dataclass
class Tally:
    """Sums over questions; of those with supporting sentences where it is about these."""

    asked: int = 0
    kept: int = 0
    tokens: int = 0
    seconds: float = 0.0
    gold: int = 0
    of_gold: int = 0
    whole: int = 0
    with_gold: int = 0
    at_edges: int = 0

    def line(self, label: str, budget: int) -> str:
        """The figures as a row."""
        row = f"  {budget:>5}  {label:<46}"
        if self.asked:
            row += f" answer {self.kept / self.asked:.3f}"
        if self.of_gold:
            row += f"  gold {self.gold / self.of_gold:.3f}  all {self.whole / self.with_gold:.3f}"
            row += f"  each 1,000 {1000 * self.gold / max(1, self.tokens):.2f}"
            row += f"  edges {self.at_edges / max(1, self.gold):.3f}"
        questions = max(self.asked, self.with_gold, 1)
        each = 1000 * self.seconds / questions
        return f"{row}  tokens {self.tokens / questions:6.0f}  {each:6.1f} ms"


def questions(name: str) -> Iterator[corpora.GoldQuery]:
    """A set's questions with their answers."""
    if name != SAMPLE:
        yield from corpora.gold_queries(name)
        return
    for line in (ROOT / "data" / "questions.jsonl").open(encoding="utf8"):
        row = json.loads(line)
        if row.get("answers"):
            yield corpora.GoldQuery(row["text"], tuple(row["answers"]), ())


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
    weight = engine._whole.parts.keyword.idf()
    text = engine._library.text_at
    spaces = engine._whole.parts.spaces if embedding else ()
    embed = embedder(spaces[0].embed_model) if spaces else None

    def plain(question: str, found: Sequence[Passage], budget: int) -> PackedContext:
        return pack_context(found, budget_tokens=budget, count=count)

    def merging(order: Order) -> Way:
        def packed(question: str, found: Sequence[Passage], budget: int) -> PackedContext:
            return pack_context(found, budget_tokens=budget, count=count, text=text, order=order)

        return packed

    def compressing(near_best: float, meaning: bool) -> Way:
        def packed(question: str, found: Sequence[Passage], budget: int) -> PackedContext:
            key = select_key_sentences(
                question,
                found,
                weight=weight,
                embed=embed if meaning else None,
                near_best=near_best,
            )
            excerpt = render_selection(key, found)
            return pack_context(found, budget_tokens=budget, count=count, text=text, shown=excerpt)

        return packed

    made: dict[str, Way] = {"whole": plain, "merged": merging(ORDERS[0])}
    made |= {f"merged {order}": merging(order) for order in ORDERS[1:]}
    for share in (0.2, 0.35, 0.5):
        made[f"merged, sentences from {share}"] = compressing(share, meaning=False)
        if embed is not None:
            made[f"merged, sentences from {share}, by meaning too"] = compressing(share, True)
    return made


def plain_text(text: str) -> str:
    """Without case, width and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def judge(tally: Tally, packed: PackedContext, query: corpora.GoldQuery) -> None:
    """Add one question's context to the sums."""
    context = plain_text(packed.text)
    wanted = answers_of(query)
    if wanted:
        tally.asked += 1
        tally.kept += any(one in context for one in wanted)
    if query.sentences:
        places = [context.find(plain_text(sentence)) for _, sentence in query.sentences]
        edge = EDGE * len(context)
        tally.with_gold += 1
        tally.of_gold += len(places)
        tally.gold += sum(place >= 0 for place in places)
        tally.whole += all(place >= 0 for place in places)
        tally.at_edges += sum(0 <= at < edge or at > len(context) - edge for at in places)
    if wanted or query.sentences:
        tally.tokens += packed.tokens


def answers_of(query: corpora.GoldQuery) -> list[str]:
    """The answers long enough not to stand somewhere by luck."""
    shortest = 2 if language_of(query.text) == "zh" else _SHORTEST_ANSWER
    return [plain_text(one) for one in query.answers if len(one) >= shortest]


def measure(name: str, *, limit: int, found: int, embedding: bool) -> None:
    """Print one set's table."""
    engine = opened(name)
    tried = ways(engine, embedding=embedding)
    tallies = {(way, budget): Tally() for budget in BUDGETS for way in tried}
    reachable, moved, of = Tally(), 0, 0
    for query in list(questions(name))[:limit]:
        if not answers_of(query) and not query.sentences:
            continue
        of += 1
        passages = engine.retrieve(query.text, top_k=found)
        everything = "\n".join(passage.text for passage in passages)
        judge(reachable, PackedContext(text=everything), query)
        taken: dict[int, set[frozenset[str]]] = defaultdict(set)
        for (way, budget), tally in tallies.items():
            started = time.process_time()
            packed = tried[way](query.text, passages, budget)
            tally.seconds += time.process_time() - started
            judge(tally, packed, query)
            if way.startswith("merged") and "," not in way:
                ids = (one.chunk_id for span in packed.spans for one in span.parts)
                taken[budget].add(frozenset(ids))
        moved += any(len(each) > 1 for each in taken.values())
    engine.close()
    print(f"\n{name}: {of} questions; of {found} passages all text")
    print(reachable.line("everything found", 0))
    for (way, budget), tally in tallies.items():
        print(tally.line(way, budget))
    print(f"  {moved} take others in another order")


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
