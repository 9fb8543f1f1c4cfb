"""What each part of retrieval buys on each set: points of recall at 5, and milliseconds of CPU.

    python tests/benchmarks/parts.py                                 # all plain sets
    python tests/benchmarks/parts.py hotpotqa_train100 untitled:musique_train100 alias_questions
    python tests/benchmarks/parts.py --no-rerank --json parts.json > parts.md

A set is a plain one (see `retrieval.py`), a hard one as `KIND:SET` or a kind that has no set of its
own (see `hard_sets.py`), or `alias_questions`. Every method searches one library with one model; a
part's gain is that of a method with it over the same method without it, question by question, with
a 95 % paired bootstrap interval. Milliseconds are processor time a question, all threads together,
the question's embedding included. Markdown goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import alias_questions
import corpora
import hard_sets
from corpora import KEPT
from rerankers import TokenEncoder, VectorReranker, late_interaction
from retrieval import LISTS, SETS

from engine import KnowledgeEngine, Settings
from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.wrappers import with_prefixes
from engine.evaluation import (
    EvaluationQuery,
    GoldSpan,
    Interval,
    RetrievalReport,
    evaluate_retrieval,
    paired_bootstrap,
)
from engine.retrieval.rerank import PassageReranker, rerank_passages
from engine.retrieval.retriever import SearchResult

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from engine.evaluation import Searcher

FIGURE = "R@5"
FIGURES = ("R@2", "R@5", "R@10", "all@5", "nDCG@10")
TOP = 10
WHOLE = "walk"
RERANKED = "walk, late interaction"
WITHOUT_ALIASES = "walk without aliases"
METHODS: Mapping[str, Mapping[str, object]] = {
    **LISTS,
    "weighted RRF": LISTS["fusion"] | {"fusion": "weighted_rrf"},
    "walk from RRF": LISTS[WHOLE] | {"fusion": "rrf"},
    "walk without BM25": LISTS[WHOLE] | {"keyword": False},
    "walk without dense": LISTS[WHOLE] | {"dense": False},
    "walk, feedback": LISTS[WHOLE] | {"expand": ("feedback",)},
    "walk, parts by grammar": LISTS[WHOLE] | {"expand": ("decompose",)},
}
"""What is searched with, by label: keys of the retrieve section."""
PARTS: Mapping[str, tuple[str, str]] = {
    "BM25 in the whole": (WHOLE, "walk without BM25"),
    "dense in the whole": (WHOLE, "walk without dense"),
    "fusion over BM25": ("fusion", "BM25"),
    "fusion over dense": ("fusion", "dense"),
    "score fusion over RRF": ("fusion", "fusion (RRF)"),
    "weighted RRF over RRF": ("weighted RRF", "fusion (RRF)"),
    "score fusion over RRF, with the walk": (WHOLE, "walk from RRF"),
    "walk alone": (WITHOUT_ALIASES, "fusion"),
    "search by aliases": (WHOLE, WITHOUT_ALIASES),
    "walk and aliases": (WHOLE, "fusion"),
    "feedback (off)": ("walk, feedback", WHOLE),
    "sub-questions by grammar (off)": ("walk, parts by grammar", WHOLE),
    "late interaction, half the say (off)": (RERANKED, WHOLE),
}
"""Each part, with the method that has it and the one that lacks it and is otherwise the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSet:
    """A set: its name, the folder of its library, and its questions."""

    name: str
    folder: Path
    queries: tuple[EvaluationQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a part adds on a set: points of 100 in the headline figure, milliseconds of CPU."""

    part: str
    points: Interval
    milliseconds: float


def main() -> None:
    """Print the tables of every set, and of all parts on all sets; write JSON where asked to."""
    arguments = read_arguments()
    model = with_prefixes(BundledEmbedding(threads=2))
    encoder = None if arguments.no_rerank else TokenEncoder()
    results: dict[str, dict[str, RetrievalReport]] = {}
    for asked in sets(arguments.sets, most=arguments.questions):
        found = searched(asked, model, encoder)
        results[asked.name] = found
        print(method_table(asked, found), flush=True)
    print(part_table({name: gains(found) for name, found in results.items()}))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(as_data(results), indent=1), encoding="utf8")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--questions", type=int, help="at most so many of each set")
    parser.add_argument("--no-rerank", action="store_true", help="leave out the slowest part")
    parser.add_argument("--json", type=Path, help="also write every figure there")
    return parser.parse_args()


# --- sets -----------------------------------------------------------------------------------------


def sets(names: Sequence[str], *, most: int | None) -> Iterator[AskedSet]:
    """The sets of these names, their libraries built where they are not yet."""
    for name in names:
        if name == "alias_questions":
            found = [alias_set()]
        elif ":" in name or name in hard_sets.ALL:
            found = hard_ones(*name.split(":", 1))
        else:
            found = [plain_set(name)]
        for each in found:
            yield replace(each, queries=each.queries[:most])


def plain_set(name: str) -> AskedSet:
    engine, _ = corpora.built(name, KnowledgeEngine.open)
    engine.close()
    queries = (
        EvaluationQuery(id=str(number), text=query.text, gold_ids=tuple(sorted(query.gold)))
        for number, query in enumerate(corpora.queries(name))
    )
    return AskedSet(name=name, folder=KEPT / name, queries=tuple(queries))


def hard_ones(kind: str, of: str = "") -> list[AskedSet]:
    """Those of a kind whose questions are asked of the whole library, not of one document."""
    hard = [each for each in hard_sets.hard_set(kind, of, subset=True) if is_of_the_whole(each)]
    size = "-subset" if of in hard_sets.SUBSET else ""
    folder = KEPT / (f"{kind}-{of}{size}" if of else kind)
    hard_sets.built(folder, hard[0].documents)
    return [
        AskedSet(
            name=each.name,
            folder=folder,
            queries=tuple(
                EvaluationQuery(
                    id=str(number),
                    text=asked.text,
                    gold_spans=tuple(
                        GoldSpan(document_id=s.document_id, start=s.start, end=s.end)
                        for s in asked.gold
                    ),
                )
                for number, asked in enumerate(each.asked)
            ),
        )
        for each in hard
    ]


def is_of_the_whole(hard: hard_sets.HardSet) -> bool:
    return all(asked.within is None for asked in hard.asked)


def alias_set() -> AskedSet:
    if not alias_questions.NOVEL.exists():
        sys.exit(f"no novel at {alias_questions.NOVEL}: this set reads it from beside the project")
    parts = alias_questions.chapters(alias_questions.NOVEL.read_text(encoding="utf8"))
    lines = alias_questions.QUESTIONS.read_text(encoding="utf8")
    alias_questions.build(parts)
    return AskedSet(
        name="alias_questions",
        folder=KEPT / alias_questions.LIBRARY,
        queries=tuple(
            EvaluationQuery(
                id=each.id,
                text=each.text,
                gold_spans=(
                    GoldSpan(document_id=each.document_id, start=each.start, end=each.end),
                ),
            )
            for each in alias_questions.questions(lines, parts)
        ),
    )


# --- searching ------------------------------------------------------------------------------------


def searched(
    asked: AskedSet, model: BaseEmbedding, encoder: TokenEncoder | None
) -> dict[str, RetrievalReport]:
    """What each method finds of a set, by label."""
    found = {}
    for label, settings in METHODS.items():
        with opened(asked, model, settings) as engine:
            found[label] = report(engine, asked, label)
    with opened(asked, model, METHODS[WHOLE]) as engine:
        if encoder is not None:
            judge = VectorReranker(encoder, late_interaction(asked.queries, encoder))
            searcher = Reranked(engine.as_retriever(), PassageReranker(reranker=judge, weight=0.5))
            found[RERANKED] = report(engine, asked, RERANKED, searcher)
        keyword = engine._whole.parts.keyword
        by_words = keyword.field_scores
        # No setting turns this off: things are then searched by the name in the question alone.
        keyword.field_scores = lambda question, _names=None: by_words(question)
        found[WITHOUT_ALIASES] = report(engine, asked, WITHOUT_ALIASES)
    return found


def opened(
    asked: AskedSet, model: BaseEmbedding, settings: Mapping[str, object]
) -> KnowledgeEngine:
    """The set's library, searched in this way; loading the model is what opening costs, once."""
    given = Settings.model_validate({"retrieve": settings})
    return KnowledgeEngine.open(asked.folder, settings=given, embed_model=model, create=False)


def report(
    engine: KnowledgeEngine, asked: AskedSet, label: str, searcher: Searcher | None = None
) -> RetrievalReport:
    """How a set is searched by an engine, or by what searches its library in place of it."""
    print(f"{asked.name}: {label}", file=sys.stderr)
    return evaluate_retrieval(engine, asked.queries, top=TOP, label=label, searcher=searcher)


class Reranked:
    """A searcher whose first passages a judge puts in another order."""

    def __init__(self, searcher: Searcher, judge: PassageReranker) -> None:
        self._searcher = searcher
        self._judge = judge

    def search(self, question: str, *, top_k: int | None = None) -> SearchResult:
        found = self._searcher.search(question, top_k=top_k)
        limit = len(found.passages)
        judged = rerank_passages(
            found.passages,
            question,
            reranker=self._judge.reranker,
            candidates=self._judge.candidates,
            top_k=limit,
            weight=self._judge.weight,
        )
        return SearchResult(judged, found.trace)


# --- tables ---------------------------------------------------------------------------------------


def gains(found: Mapping[str, RetrievalReport]) -> list[Gain]:
    """What each part adds; a part that was not tried is left out."""
    return [
        Gain(
            part=part,
            points=in_points(
                paired_bootstrap(found[has].by_query[FIGURE], found[lacks].by_query[FIGURE])
            ),
            milliseconds=1000 * (found[has].cpu_seconds - found[lacks].cpu_seconds),
        )
        for part, (has, lacks) in PARTS.items()
        if has in found and lacks in found
    ]


def in_points(share: Interval) -> Interval:
    return Interval(mean=100 * share.mean, low=100 * share.low, high=100 * share.high)


def method_table(asked: AskedSet, found: Mapping[str, RetrievalReport]) -> str:
    """Every method's figures on one set, in Markdown."""
    chunks = next(iter(found.values())).chunks
    lines = [
        f"\n### {asked.name}: {chunks:,} chunks, {len(asked.queries)} questions\n",
        "| method | " + " | ".join(FIGURES) + " | CPU ms |",
        "|---" + "|---:" * (len(FIGURES) + 1) + "|",
    ]
    for label, each in found.items():
        cells = " | ".join(f"{each.means[name]:.3f}" for name in FIGURES)
        lines.append(f"| {label} | {cells} | {1000 * each.cpu_seconds:.0f} |")
    return "\n".join(lines)


def part_table(found: Mapping[str, Sequence[Gain]]) -> str:
    """Every part's gain on every set, in Markdown; what is more than chance is in bold."""
    by_part = {part: {s: g for s, some in found.items() for g in some if g.part == part}
               for part in PARTS}  # fmt: skip
    lines = [
        f"\n### What each part buys: points of {FIGURE} [95 %], CPU ms\n",
        "| part | " + " | ".join(found) + " |",
        "|---" * (len(found) + 1) + "|",
    ]
    for part, by_set in by_part.items():
        if by_set:
            cells = " | ".join(gain_cell(by_set.get(name)) for name in found)
            lines.append(f"| {part} | {cells} |")
    return "\n".join(lines)


def gain_cell(gain: Gain | None) -> str:
    if gain is None:
        return ""
    points = f"{gain.points.mean:+.1f}"
    shown = f"**{points}**" if gain.points.is_clear else points
    return f"{shown} [{gain.points.low:+.1f}, {gain.points.high:+.1f}], {gain.milliseconds:+.0f} ms"


def as_data(results: Mapping[str, Mapping[str, RetrievalReport]]) -> dict[str, Any]:
    """What the tables are made of, for JSON."""
    return {
        name: {
            "methods": {label: asdict(each) for label, each in found.items()},
            "parts": [asdict(each) for each in gains(found)],
        }
        for name, found in results.items()
    }


if __name__ == "__main__":
    main()
