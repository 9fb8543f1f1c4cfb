"""Promise of passages and blocks, before a reader takes them in.

Passages by how near they are to the question by themselves; blocks by their words, their headings
and their passage. Their weights are fitted to SQuAD 2.0 by `tests/benchmarks/fit_blocks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants
from ...storage.tokenization import tokens
from ...types import Passage
from .blocks import ExcerptBlock, is_contents, join_blocks, split_blocks, split_prose
from .intent import is_defined_by, question_intent, shows_intent
from .sentence_scoring import ScoredSentence

DEFINES = 0.5
"""Bonus of a passage that defines what is asked about; its nearness is 2 at most."""
DIRECT_PASSAGES = 4
"""Passages that are nearest by themselves and take turns with those of the walk."""
HEADING = 3.0
"""Logits for a heading that carries the whole question, where nothing reads."""
BLOCK_FEATURES = ("best sentence", "words", "words with headings", "nearness", "direct rank")
BLOCK_WEIGHTS = (0.49, 2.94, 2.86, 1.21, 0.60)
"""Weights of what a block promises, in the order of `BLOCK_FEATURES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisingBlock:
    """A block with the rows of its sentences, its features and what they promise."""

    block: ExcerptBlock
    rows: tuple[int, ...]
    features: tuple[float, ...]
    promise: float


def direct_first(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Order passages by how near they are to the question by themselves."""
    return [passages[row] for row in direct_order(question, passages)]


def direct_order(question: str, passages: Sequence[Passage]) -> list[int]:
    """Return the order of passages by their nearness to the question, without the graph.

    What an excerpt answers is said in one place: a passage that many others lead to is not it, and
    a table of contents is last. A question in Chinese is near by the vectors that read it.
    """
    names = ("fused", "multilingual" if language_of(question) == "zh" else "dense")
    intent = question_intent(question)

    def key(row: int) -> tuple[bool, float, int]:
        passage = passages[row]
        defines = intent == "definition" and (
            is_defined_by(" ".join(passage.headings[-1:]) or passage.title, intent, question)
            or shows_intent(intent, passage.text, question)
        )
        return is_contents(passage.text), -nearness(passages, row, names) - DEFINES * defines, row

    return sorted(range(len(passages)), key=key)


def with_direct(question: str, passages: Sequence[Passage], *, count: int) -> list[Passage]:
    """Take turns of the first passages of the walk and those nearest by themselves.

    The walk finds the last passage of a chain, and puts others before one that answers alone.
    """
    near = direct_first(question, passages)[:DIRECT_PASSAGES]
    linked = passages[:count]
    turns = (each for pair in zip_longest(linked, near) for each in pair if each is not None)
    return list({each.chunk_id: each for each in turns}.values())


def nearness(passages: Sequence[Passage], row: int, names: Sequence[str]) -> float:
    """Return the sum of a passage's scores in the named lists, each 0–1 over the passages."""
    lists = ([each.scores.get(name, 0.0) for each in passages] for name in names)
    return sum(
        (some[row] - min(some)) / (max(some) - min(some)) for some in lists if max(some) > min(some)
    )


def promising_blocks(
    question: str,
    weighed: Sequence[ScoredSentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
) -> list[PromisingBlock]:
    """Return the blocks that hold sentences, most promising first."""
    direct = {row: place for place, row in enumerate(direct_order(question, passages))}
    near = [nearness(passages, row, ("fused",)) for row in range(len(passages))]
    found = []
    for block in split_prose(join_blocks(split_blocks(passages), passages)):
        rows = tuple(
            row
            for row, each in enumerate(weighed)
            if each.sentence.passage == block.passage
            and block.start <= each.sentence.start < block.end
        )
        if not rows:
            continue
        features = (
            max(weighed[row].score for row in rows) + HEADING * agreement(block.heading, wanted),
            weight_of(set(tokens(block.text)), wanted),
            max(weighed[row].covered for row in rows),
            near[block.passage],
            1.0 / (1 + direct[block.passage]),
        )
        promise = sum(w * value for w, value in zip(BLOCK_WEIGHTS, features, strict=True))
        found.append(PromisingBlock(block=block, rows=rows, features=features, promise=promise))
    return sorted(found, key=lambda one: -one.promise)


def agreement(heading: str, wanted: Mapping[str, float]) -> float:
    """Return the harmonic mean of the question's share in a heading and the heading's in it."""
    terms = {term for term in tokens(heading) if not term.isdigit()}
    share = weight_of(terms, wanted)
    known = frozenset[str]().union(*(frozenset(lexical_variants(term)) for term in wanted))
    precision = len(terms & known) / max(1, len(terms))
    return 2 * share * precision / (share + precision) if share and precision else 0.0


def weight_of(terms: set[str], wanted: Mapping[str, float]) -> float:
    """Return the share of the question's weight that some terms hold."""
    held = (w for term, w in wanted.items() if not terms.isdisjoint(lexical_variants(term)))
    return sum(held) / sum(wanted.values())
