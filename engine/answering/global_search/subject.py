"""Documents and sections that tell of what a question about the whole asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from graph.text.cjk import has_han, is_chinese

from ...storage.graph_api import Chunk, content_terms, content_words
from ...storage.tokenization import tokens
from ...types import Passage
from .context import GlobalContext
from .topics import Unit

_FOUND = 40
"""Number of passages that are looked at."""
_HELD = 0.5
"""A passage tells of the subject that has this share of the words that the best one has."""
_TITLED = 0.99
"""A document whose title has this share of the subject is about it as a whole."""
_KNOWN = 0.25
"""Least share of the subject in passages; vectors alone decide below it."""
_LEAST_WEIGHT = 0.1
"""Weight of a word that most documents have."""
_LEAST_RELEVANCE, _UNWORDED = 0.5, 0.3
"""Least relevance of a passage that has no word of the question, and what its sentences count."""
_NEAREST = 12
"""Number of the nearest passages that tell of it where no word can: in another script."""
_STEM = 4
"""Least length of a word that longer ones are akin to."""
_OF_DOCUMENT = 3
"""Maximum sections of one document, where several documents tell of the subject."""


@dataclass(frozen=True)
class Subject:
    """The words that a question asks about, by weight, and the least share that tells of it.

    No words tell of it in passages of another script than the question's, nor where the documents
    have none of them: there everything found does.
    """

    words: Mapping[str, float]
    least: float = 0.0
    is_chinese: bool = False

    def share(self, held: Set[str]) -> float:
        """Return the share of the words, by weight, that is among these."""
        total = sum(self.words.values()) or 1.0
        return sum(value for word, value in self.words.items() if word in held) / total

    def akin(self, held: Set[str]) -> frozenset[str]:
        """Return the subject's words that one of these begins with: "print" for "printer"."""
        return frozenset(
            word
            for word in self.words
            if word in held
            or (len(word) >= _STEM and any(other.startswith(word) for other in held))
        )

    def is_foreign(self, chunk: Chunk) -> bool:
        """Check whether words of the question cannot stand in a passage."""
        return is_chinese(chunk.text) != self.is_chinese

    def told_by(self, words: Set[str], chunk: Chunk) -> float:
        """Return how far a sentence tells of the subject; 0 where it does not."""
        if not self.words or self.is_foreign(chunk):
            return _UNWORDED
        share = self.share(words)
        is_headed = self.share(_tokens_of(chunk.title, *chunk.headings)) >= _TITLED
        return share if share >= self.least or (share > 0 and is_headed) else 0.0


def search_subject(scene: GlobalContext) -> tuple[Subject, list[Unit]]:
    """Return what is asked about, and the documents and sections that tell of it, best first."""
    terms = content_terms(scene.question, tokens=tokens)
    weights = {term: max(scene.weight(term), _LEAST_WEIGHT) for term in terms}
    asked = content_words(scene.question)
    found = scene.retriever.search(asked, top_k=_FOUND, within=scene.within).passages
    chunks = scene.chunks(passage.chunk_id for passage in found)
    held = {key: _tokens_of(one.title, *one.headings, one.text) for key, one in chunks.items()}
    known = frozenset[str]().union(*held.values())
    words = {term: weight for term, weight in weights.items() if term in known}
    if sum(words.values()) < _KNOWN * sum(weights.values()):
        words = {}
    plain = Subject(words, is_chinese=has_han(scene.question))
    shares = {key: plain.share(some) for key, some in held.items()}
    subject = replace(plain, least=max(_HELD * max(shares.values(), default=0.0), 1e-9))
    near = {one.chunk_id for one in found[:_NEAREST]}

    def tells(passage: Passage) -> bool:
        if subject.is_foreign(chunks[passage.chunk_id]):
            return passage.chunk_id in near
        if not words:
            return passage.relevance >= _LEAST_RELEVANCE
        return shares[passage.chunk_id] >= subject.least

    about = [one for one in found if one.chunk_id in chunks and tells(one)]
    return subject, _units(subject, about, chunks)


def _units(subject: Subject, about: Sequence[Passage], chunks: Mapping[str, Chunk]) -> list[Unit]:
    """Return documents whose title names the subject, and sections of others, best first."""
    several = len({passage.document_id for passage in about}) > 1
    top = max((passage.score for passage in about), default=0.0) or 1.0
    held: defaultdict[tuple[str, tuple[str, ...]], list[Chunk]] = defaultdict(list)
    worth: dict[tuple[str, tuple[str, ...]], float] = {}
    for passage in about:
        chunk = chunks[passage.chunk_id]
        is_titled = several and subject.share(_tokens_of(chunk.title)) >= _TITLED
        key = (chunk.document_id, () if is_titled else chunk.headings)
        heads = subject.share(subject.akin(_tokens_of(chunk.title, *chunk.headings)))
        held[key].append(chunk)
        worth[key] = max(worth.get(key, 0.0), round(passage.score / top + heads, 6))
    taken: Counter[str] = Counter()
    kept: list[Unit] = []
    for key in sorted(worth, key=lambda key: (-worth[key], key)):
        taken[key[0]] += 1
        if not several or taken[key[0]] <= _OF_DOCUMENT:
            kept.append(Unit(*key, tuple(held[key])))
    return kept


def _tokens_of(*texts: str) -> frozenset[str]:
    return frozenset(tokens(" ".join(texts)))
