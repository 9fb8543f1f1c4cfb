"""What each way of chunking does for retrieval, and what it costs.

    python tests/benchmarks/chunkers.py                 # all sets, table in Markdown
    python tests/benchmarks/chunkers.py qmsum hotpot    # some
    python tests/benchmarks/chunkers.py --with=context  # the baseline and what has this in its name

Chunks are ranked by BM25 and vectors, fused as in the engine. Then text is read in that order until
a budget of tokens is full: what a chunk names to be read in its place (`Span.read`), no character
twice, the last one cut at the budget. Measured is the share of the gold evidence's tokens in what
was read (of a budget's worth of them, where there are more), so that neither small chunks nor large
ones have an advantage of their own. The interval is of the gain over `recursive 512`, paired by
question (95 %, 2,000 resamples, fixed seed). Vectors are kept in the system's temporary folder.

- qmsum: 35 meetings, each searched by itself; gold are the turns that answer a question. (Of a
  third of them any two ways of cutting differ by ±.06 by luck alone.)
- hotpot: 500 paragraphs in documents of 30, each under a heading; gold are the paragraphs needed.
- hotpot-bare: the same run together, without headings or breaks.
- cmrc: 300 Chinese paragraphs in documents of 30; gold is the sentence that holds the answer.

Paragraphs are shuffled first (fixed seed): the sets hold the two that a question needs side by
side, which would favour whatever cuts the largest chunks.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, documents, queries

from engine.chunking.dialogue import TranscriptNodeParser
from engine.chunking.llm import context_spans
from engine.chunking.recursive import (
    FixedNodeParser,
    ParentChildNodeParser,
    RecursiveNodeParser,
    SentenceNodeParser,
    SentenceWindowNodeParser,
)
from engine.chunking.semantic import SemanticNodeParser, term_vectors
from engine.chunking.span_parser import ContextSource, Measure, Span, SpanNodeParser
from engine.chunking.structure import sentence_starts
from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.tokenizer import load_tokeniser
from engine.embeddings.tokenizer import split_windows as cut_windows
from engine.retrieval.fusion import rank_passages
from engine.storage.tokenization import tokens

BUDGETS = (750, 1_500, 3_000)
BASELINE = "recursive 512"
PARAGRAPHS_A_DOCUMENT = 30
SPEED_CHARACTERS = 60_000
CONTEXT_TOKENS = 64
LEAST_READABLE = 0.05
TOKENISER = load_tokeniser()
Gold = tuple[int, int, int]
"""Document number, start, end."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[Gold, ...]
    group: int
    """Which of the set's collections is searched."""


@dataclass(frozen=True, slots=True)
class Set:
    """Documents, the collection that each belongs to, and questions."""

    subjects: list[ContextSource]
    groups: list[int]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Strategy:
    parser: SpanNodeParser
    contextual: bool = False
    only: str = ""
    """The set that it is meant for; empty for all."""


class KeptVectors:
    """Unit vectors by text, embedded once and kept between runs."""

    def __init__(self) -> None:
        self.model = BundledEmbedding(threads=2)
        name = hashlib.sha256(self.model.identity.encode()).hexdigest()[:12]
        self.path = Path(tempfile.gettempdir()) / "loregraph-bench" / f"chunkers-{name}.npz"
        self.by_sha: dict[str, np.ndarray] = {}
        if self.path.exists():
            with np.load(self.path) as kept:
                self.by_sha = dict(zip(kept["sha"].tolist(), kept["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        shas = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {sha: text for sha, text in zip(shas, texts, strict=True) if sha not in self.by_sha}
        if new:
            self.by_sha.update(zip(new, self.model.embed(list(new.values())), strict=True))
        return np.stack([self.by_sha[sha] for sha in shas])

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            self.path, sha=np.array(list(self.by_sha)), vectors=np.stack(list(self.by_sha.values()))
        )


def strategies(embed: Callable[[Sequence[str]], np.ndarray]) -> dict[str, Strategy]:
    def sized(size: int) -> dict[str, object]:
        return {"size_tokens": size, "overlap_tokens": size // 8, "tokeniser": TOKENISER}

    def vectors(texts: Sequence[str]) -> list[list[float]]:
        return embed(texts).tolist()

    return {
        BASELINE: Strategy(RecursiveNodeParser(**sized(512))),
        "recursive 256": Strategy(RecursiveNodeParser(**sized(256))),
        "recursive 1024": Strategy(RecursiveNodeParser(**sized(1024))),
        "recursive 512, no overlap": Strategy(
            RecursiveNodeParser(size_tokens=512, overlap_tokens=0, tokeniser=TOKENISER)
        ),
        "fixed 512": Strategy(FixedNodeParser(**sized(512))),
        "sentence 512": Strategy(SentenceNodeParser(**sized(512))),
        "transcript 512": Strategy(TranscriptNodeParser(**sized(512)), only="qmsum"),
        "transcript 256": Strategy(TranscriptNodeParser(**sized(256)), only="qmsum"),
        "semantic 512, model": Strategy(SemanticNodeParser(**sized(512), embed=vectors)),
        "semantic 256, model": Strategy(SemanticNodeParser(**sized(256), embed=vectors)),
        "semantic 512, terms": Strategy(
            SemanticNodeParser(**sized(512), embed=term_vectors(tokens))
        ),
        "parent 512, child 128": Strategy(ParentChildNodeParser(**sized(512))),
        "sentence window 3": Strategy(SentenceWindowNodeParser(**sized(512))),
        "recursive 512 + context": Strategy(RecursiveNodeParser(**sized(512)), contextual=True),
        "recursive 256 + context": Strategy(RecursiveNodeParser(**sized(256)), contextual=True),
        "parent 512, child 128 + context": Strategy(
            ParentChildNodeParser(**sized(512)), contextual=True
        ),
    }


# Sets


def qmsum() -> Set:
    folder = DATA / "qmsum_val"
    documents("qmsum_val")  # leaves with a message where the data are missing
    rows = [json.loads(x) for x in (folder / "corpus.jsonl").read_text("utf8").splitlines()]
    number = {row["id"]: place for place, row in enumerate(rows)}
    starts = [_turn_starts(row["turns"]) for row in rows]
    questions = []
    for line in (folder / "queries.jsonl").read_text("utf8").splitlines():
        row = json.loads(line)
        place = number.get(row["gold_ids"][0])
        if row["type"] == "specific" and place is not None:
            gold = tuple(
                (place, starts[place][first], starts[place][last + 1] - 1)
                for first, last in row["turn_spans"]
            )
            questions.append(Question(row["text"], gold, place))
    subjects = [ContextSource(text=r["text"], title=r["title"], shape="transcript") for r in rows]
    return Set(subjects, list(range(len(rows))), questions)


def _turn_starts(turns: Sequence[Sequence[str]]) -> list[int]:
    starts = [0]
    for speaker, said in turns:
        starts.append(starts[-1] + len(f"{speaker}: {said}\n"))
    return starts


def hotpot() -> Set:
    return _joined("hotpotqa_train100", between="\n\n", heading="## {title}\n\n", limit=500)


def hotpot_bare() -> Set:
    return _joined("hotpotqa_train100", between=" ", heading="", limit=500)


def cmrc() -> Set:
    return _joined("cmrc2018_zh", between="\n\n", heading="", limit=300, only_answer=True)


def _joined(name: str, *, between: str, heading: str, limit: int, only_answer: bool = False) -> Set:
    """The first `limit` paragraphs of a set, shuffled and run together to documents."""
    rows = documents(name)[:limit]
    random.Random(7).shuffle(rows)  # noqa: S311 - an order, not a secret
    texts: list[str] = []
    place: dict[str, Gold] = {}
    for first in range(0, len(rows), PARAGRAPHS_A_DOCUMENT):
        text = ""
        for row in rows[first : first + PARAGRAPHS_A_DOCUMENT]:
            text += heading.format(title=row["title"])
            place[row["id"]] = (len(texts), len(text), len(text) + len(row["text"]))
            text += row["text"] + between
        texts.append(text)
    questions = []
    for query in queries(name):
        gold = tuple(place[each] for each in sorted(query.gold) if each in place)
        if only_answer:
            gold = tuple(_sentence_with(texts, each, query.answers) for each in gold)
        if len(gold) == len(query.gold):
            questions.append(Question(query.text, gold, 0))
    shape = "markdown" if heading else "text"
    subjects = [
        ContextSource(text=text, title=f"Collection {number}", shape=shape)
        for number, text in enumerate(texts, start=1)
    ]
    return Set(subjects, [0] * len(texts), questions)


def _sentence_with(texts: Sequence[str], gold: Gold, answers: Sequence[str]) -> Gold:
    """The first sentence with an answer in it; the whole paragraph where there is none."""
    number, start, end = gold
    edges = [start, *sentence_starts(texts[number], start, end), end]
    for first, after in pairwise(edges):
        if any(answer and answer in texts[number][first:after] for answer in answers):
            return number, first, after
    return gold


SETS: dict[str, Callable[[], Set]] = {
    "qmsum": qmsum,
    "hotpot": hotpot,
    "hotpot-bare": hotpot_bare,
    "cmrc": cmrc,
}


# Retrieval


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is found; `prefix` stands before its text to be embedded and indexed."""

    document: int
    span: Span
    prefix: str
    body: str


class Index:
    """BM25 and vectors over the chunks of one collection."""

    def __init__(self, chunks: Sequence[Chunk], embed: KeptVectors) -> None:
        import bm25s

        self.chunks = chunks
        self.embed = embed
        self.bm25 = bm25s.BM25(k1=1.2, b=0.75)
        bodies = [tokens(f"{chunk.prefix}\n{chunk.body}") for chunk in chunks]
        self.bm25.index(bodies, show_progress=False, create_empty_token=False)
        self.weights = np.array([TOKENISER.readable(chunk.body) for chunk in chunks])
        self.weights[self.weights < LEAST_READABLE] = 0
        pieces: list[str] = []
        owner: list[int] = []
        for number in np.flatnonzero(self.weights).tolist():
            new = windows(chunks[number].prefix, chunks[number].body)
            pieces += new
            owner += [number] * len(new)
        self.owner = np.array(owner, dtype=int)
        self.vectors = embed(pieces) if pieces else np.zeros((0, 384))

    def ranked(self, question: str) -> list[int]:
        """All chunks, best first."""
        known = [token for token in tokens(question) if token in self.bm25.vocab_dict]
        lexical = self.bm25.get_scores(known) if known else np.zeros(len(self.chunks))
        dense = np.full(len(self.chunks), -1.0)
        if len(self.vectors):
            np.maximum.at(dense, self.owner, self.vectors @ self.embed([question])[0])
        weight = self.weights * TOKENISER.readable(question)
        return rank_passages(lexical, dense=dense, dense_weight=weight).order.tolist()


def windows(prefix: str, text: str) -> list[str]:
    """As the engine embeds a chunk: in windows, each with what stands before it."""
    return cut_windows(text, prefix=f"{prefix}. " if prefix else "", limit=254, tokeniser=TOKENISER)


def coverage(
    question: Question, read: Iterator[tuple[int, int, int]], measures: Sequence[Measure]
) -> list[float]:
    """The share of the gold's tokens among the first tokens read, for each budget."""
    taken: dict[int, list[tuple[int, int]]] = {}
    total = sum(measures[number].tokens(start, end) for number, start, end in question.gold)
    used = 0
    shares = []
    budgets = list(BUDGETS)
    for number, start, end in read:
        for first, after in _fresh(taken.get(number, []), start, end):
            begin = first
            while budgets and begin < after:
                room = budgets[0] - used
                cost = measures[number].tokens(begin, after)
                stop = after if cost <= room else min(after, measures[number].forward(begin, room))
                taken.setdefault(number, []).append((begin, stop))
                used += min(cost, room)
                begin = stop if cost > room else after
                if used >= budgets[0]:
                    shares.append(_covered(question, taken, measures) / min(total, budgets.pop(0)))
        if not budgets:
            break
    rest = [_covered(question, taken, measures) / min(total, budget) for budget in budgets]
    return [min(1.0, share) for share in shares + rest]


def _fresh(taken: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """What of `[start, end)` has not been read yet."""
    found = []
    for first, after in sorted(taken):
        if after > start and first < end:
            if first > start:
                found.append((start, first))
            start = max(start, after)
    return [*found, (start, end)] if start < end else found


def _covered(
    question: Question,
    taken: dict[int, list[tuple[int, int]]],
    measures: Sequence[Measure],
) -> int:
    return sum(
        measures[number].tokens(max(start, first), min(end, after))
        for number, start, end in question.gold
        for first, after in taken.get(number, [])
        if max(start, first) < min(end, after)
    )


# Figures


def run(given: Set, strategy: Strategy, embed: KeptVectors) -> tuple[np.ndarray, list[int]]:
    """Coverage `(questions, budgets)` and the tokens of every chunk (found, not read)."""
    groups: dict[int, list[Chunk]] = {}
    measures = [Measure(subject.text, TOKENISER) for subject in given.subjects]
    sizes: list[int] = []
    for number, subject in enumerate(given.subjects):
        mine = strategy.parser.spans(subject)
        if strategy.contextual:
            mine = context_spans(subject, mine, budget_tokens=CONTEXT_TOKENS, tokeniser=TOKENISER)
        sizes += [measures[number].tokens(span.start, span.end) for span in mine]
        groups.setdefault(given.groups[number], []).extend(
            Chunk(
                number,
                span,
                span.context if strategy.contextual else with_title(subject, span),
                subject.text[span.start : span.end],
            )
            for span in mine
        )
    indexes = {group: Index(chunks, embed) for group, chunks in sorted(groups.items())}
    found = []
    for question in given.questions:
        index = indexes[question.group]
        ranked = (index.chunks[row] for row in index.ranked(question.text))
        read = ((c.document, *(c.span.read or (c.span.start, c.span.end))) for c in ranked)
        found.append(coverage(question, read, measures))
    return np.array(found), sizes


def with_title(subject: ContextSource, span: Span) -> str:
    return f"{subject.title}. {span.context}" if span.context else subject.title


def speed(given: Set, strategy: Strategy) -> float:
    """Megabytes of UTF-8 a second of CPU, over the beginning of the set's first document."""
    subject = given.subjects[0]
    text = subject.text[:SPEED_CHARACTERS]
    part = ContextSource(text=text, title=subject.title, shape=subject.shape)
    started = time.process_time()
    spans = strategy.parser.spans(part)
    if strategy.contextual:
        context_spans(part, spans, budget_tokens=CONTEXT_TOKENS, tokeniser=TOKENISER)
    return len(text.encode()) / 1e6 / (time.process_time() - started)


def bootstrap(gain: np.ndarray) -> tuple[float, float]:
    rng = np.random.default_rng(7)
    means = gain[rng.integers(0, gain.size, (2_000, gain.size))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def table_row(label: str, found: np.ndarray, baseline: np.ndarray, last: Sequence[str]) -> str:
    cells = [label]
    for column in range(len(BUDGETS)):
        gain = found[:, column] - baseline[:, column]
        low, high = bootstrap(gain)
        cells.append(f"{found[:, column].mean():.3f}")
        cells.append("" if label == BASELINE else f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    return f"| {' | '.join([*cells, *last])} |"


def main(arguments: Sequence[str]) -> None:
    given_parts = [each for each in arguments if each.startswith("--with=")]
    part = given_parts[-1].removeprefix("--with=") if given_parts else ""
    embed = KeptVectors()
    embed.model.embed(["warm up"])
    TOKENISER.count("warm up")
    fresh = strategies(embed.model.embed)  # vectors that are kept would make them look quick
    for name in [each for each in arguments if not each.startswith("--")] or list(SETS):
        given = SETS[name]()
        print(f"\n### {name}: {len(given.subjects)} documents, {len(given.questions)} questions\n")
        heads = " | ".join(f"read {budget:,} | gain [95 %]" for budget in BUDGETS)
        print(f"| strategy | {heads} | chunks | mean tokens | MB/CPU s |")
        print("|---" * (2 * len(BUDGETS) + 4) + "|")
        baseline: np.ndarray | None = None
        for label, strategy in strategies(embed).items():
            wanted = label == BASELINE or part in label
            if not wanted or strategy.only not in ("", name):
                continue
            rate = speed(given, fresh[label])
            found, sizes = run(given, strategy, embed)
            baseline = found if baseline is None else baseline
            last = [str(len(sizes)), f"{np.mean(sizes):.0f}", f"{rate:.3f}"]
            print(table_row(label, found, baseline, last), flush=True)
            embed.save()


if __name__ == "__main__":
    main(sys.argv[1:])
