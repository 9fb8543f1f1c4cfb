"""Gold questions of a library, made by rules from its own documents.

    documents ─→ structure (headings, tables, lists, labelled lines)
              └→ sentences ─→ English by parse, Chinese in place ─→ combined
    candidates ─→ filters ─→ at most 60 % that BM25 finds first ─→ spread over kinds and documents

Everything is made from raw stored text; of what the library extracted only names of people and of
the most widespread things are used. The same library, size and seed give the same questions.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graph.text.cjk import has_han

from ...errors import SettingsError, SourceError
from ...plain_text import strip_markdown
from ...prompts import Language, detect_language, is_injection
from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from ..datasets import GoldSpan
from ..gold import OVERVIEWS, TWO_FACTS, TWO_SECTIONS, UNANSWERABLE, GoldQuestion, gold_question
from . import chinese, english
from .combined import (
    Designation,
    PlacedFact,
    absent,
    bridges,
    comparisons,
    definitions_of,
    events,
    two_facts,
    two_hops,
    unanswerables,
)
from .entries import entry_questions, makers
from .reword import reword
from .structure import (
    GENERIC_TITLE,
    MAX_TITLE_CHARACTERS,
    SourceDocument,
    bare_title,
    structure_questions,
)

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

    from ...engine import KnowledgeEngine

MAX_DOCUMENTS = 2_000
"""Maximum number of documents that are read; of more a fixed sample is taken."""
SENTENCES_A_QUESTION = 30
"""Sentences examined for each question that is wanted, at least `MIN_SENTENCES`."""
MIN_SENTENCES = 1_500
CHINESE_TIMES = 5
"""Chinese sentences need no parse, so as many times more of them are examined."""
CANDIDATES_A_QUESTION = 8
EASY_SHARE = 0.6
"""Maximum share of the questions with gold spans that BM25 finds at rank 1."""
FEWEST = 20
"""Questions that a set holds even where BM25 finds more of them first, as in a small library."""
UNANSWERABLE_SHARE = 0.1
SEVERAL_PLACES = {
    "two hops": 0.22,
    "superlative": 0.12,
    "comparison": 0.08,
    TWO_FACTS: 0.08,
    TWO_SECTIONS: 0.08,
}
"""Shares of the kinds that need several places, which are chosen first."""
SEVERAL_SHARE = 1 / 3
"""Share that they fill together where one of them lacks."""
MOST_TIMES = 3
"""Maximum part of that third that one kind fills, in times of its own share."""
KIND_SHARE = 0.15
"""Maximum share of one kind."""
_WIDESPREAD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSet:
    """Questions in order, how many of those with spans BM25 finds first, and what lacks."""

    questions: tuple[GoldQuestion, ...]
    easy: int
    candidates: int
    notes: tuple[str, ...] = ()


def make_gold(
    engine: KnowledgeEngine,
    *,
    size: int = 80,
    seed: int = 20240601,
    reworded: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> GoldSet:
    """Make at most `size` gold questions from a library's documents, by rules.

    With `reworded` the model that writes answers rewords them (see `reword`).

    Raises:
        SettingsError: a model is to reword and none is configured.
        SourceError: the library holds no text that a question could be made of.
    """
    tell = progress or (lambda _stage, _done, _total: None)
    model = engine.answer_model if reworded else None
    if reworded and model is None:
        raise SettingsError("--reword needs a language model: configure `llm` in the profile")
    documents = _documents(engine, seed)
    tell("read", len(documents), len(documents))
    notes = []
    if english.english_pipeline() is None and any(one.language == "en" for one in documents):
        notes.append("English model not installed: no questions from English sentences")
    people = frozenset(each.name for each in engine.graph.entities(type="PERSON", limit=200).items)
    wanted = max(MIN_SENTENCES, SENTENCES_A_QUESTION * size)
    pool = list(_candidates(engine, documents, people, wanted=wanted, seed=seed, tell=tell))
    pool = _filtered(pool, {one.id: one for one in documents})
    if not pool:
        raise SourceError(
            "no question could be made: the library holds no usable text; add documents first"
        )
    chosen = _chosen(pool, size=size * CANDIDATES_A_QUESTION, seed=seed)
    easy = _easy(engine, chosen, tell)
    questions, count = _spread(chosen, easy, size=size)
    if len(questions) < size:
        notes.append(f"{len(questions)} questions instead of {size}: no more could be made")
    with_spans = sum(bool(one.query.gold_spans) for one in questions)
    if count > EASY_SHARE * with_spans:
        notes.append(f"BM25 finds {count} of {with_spans} first: the library is small")
    if model is not None:
        rewording = reword(model, questions, text_of=engine.document_text, progress=tell)
        questions = list(rewording.questions)
        notes.append(f"{rewording.reworded} of {len(questions)} reworded by a model")
        notes += [f"  {count} not: {why}" for why, count in rewording.refused]
    numbered = (
        replace(one, query=replace(one.query, id=f"q{number:03}"))
        for number, one in enumerate(questions, start=1)
    )
    return GoldSet(questions=tuple(numbered), easy=count, candidates=len(pool), notes=tuple(notes))


def _order(seed: int, *parts: str) -> str:
    return hashlib.sha256("\x1f".join((str(seed), *parts)).encode("utf8", "replace")).hexdigest()


def _documents(engine: KnowledgeEngine, seed: int) -> list[SourceDocument]:
    """Return the documents questions are made of: English and Chinese, at most the maximum."""
    rows = sorted(engine.documents(), key=lambda row: _order(seed, row.id))[:MAX_DOCUMENTS]
    titles = Counter(bare_title(row.title) for row in rows)
    found = []
    for row in sorted(rows, key=lambda row: row.id):
        text, title = engine.document_text(row.id), bare_title(row.title)
        language: Language = detect_language(text[:20_000])
        named = titles[title] == 1 and 2 <= len(title) <= MAX_TITLE_CHARACTERS
        named = named and re.search(r"[<>{}\n“”]|\.\w{2,4}$", title) is None
        named = named and (language == "zh" or not has_han(title))
        named = named and GENERIC_TITLE.match(title) is None
        found.append(
            SourceDocument(id=row.id, title=title, text=text, language=language, is_named=named)
        )
    return found


def _candidates(
    engine: KnowledgeEngine,
    documents: Sequence[SourceDocument],
    people: frozenset[str],
    *,
    wanted: int,
    seed: int,
    tell: Callable[[str, int, int], None],
) -> Iterator[GoldQuestion]:
    structured = [one for document in documents for one in structure_questions(document)]
    entries = [one for document in documents for one in entry_questions(document)]
    single, facts = _from_sentences(_sentences(documents, wanted=wanted, seed=seed), people)
    tell("ask", 1, 2)
    single += entries
    yield from structured
    yield from single
    yield from comparisons(events(facts, entries))
    yield from two_facts([*single, *structured])
    named: list[Designation] = [
        *makers(documents),
        *definitions_of(one for one in single if one.kind == "what is"),
        *bridges([*single, *structured], people),
    ]
    yield from two_hops(named, [*single, *structured])
    subjects = {
        one.fact.subject: "person"
        for one in facts
        if one.fact.is_person and " " in one.fact.subject and one.fact.subject in people
    }
    # What a Chinese name is the name of shows in its last character.
    subjects |= {one.name: one.name[-1] for one in named if one.language == "zh"}
    texts = [document.text for document in documents]
    yield from unanswerables(single, subjects, says=_saying(texts))
    yield from absent(structured, documents)
    yield from _collections(engine, documents)
    tell("ask", 2, 2)


def _saying(texts: Sequence[str]) -> Callable[[str, Sequence[str]], bool]:
    """Return a check whether half of the words stand near a name (or its last word)."""

    def says(name: str, words: Sequence[str]) -> bool:
        wanted = set(words)
        for text in texts:
            for match in re.finditer(re.escape(name if has_han(name) else name.split()[-1]), text):
                around = text[max(0, match.start() - 600) : match.end() + 600]
                if 2 * len(wanted & set(tokens(around))) >= len(wanted):
                    return True
        return False

    return says


@dataclass(frozen=True, slots=True)
class _Sentence:
    document: SourceDocument
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.document.text[self.start : self.end]


def _sentences(documents: Sequence[SourceDocument], *, wanted: int, seed: int) -> list[_Sentence]:
    """Return usable sentences, from every document alike, those with figures and names first."""
    by_document: list[list[_Sentence]] = []
    for document in documents:
        usable = chinese.is_usable if document.language == "zh" else english.is_usable
        some = [
            _Sentence(document, start, end)
            for start, end in sentence_spans(document.text)
            if usable(document.text[start:end]) and not is_injection(document.text[start:end])
        ]
        some.sort(key=lambda one: (not _promising(one.text), _order(seed, one.text)))
        by_document.append(some)
    by_document.sort(key=lambda some: _order(seed, some[0].document.id) if some else "")
    most = {"en": wanted, "zh": wanted * CHINESE_TIMES}
    found: list[_Sentence] = []
    for turn in range(max(map(len, by_document), default=0)):
        for some in by_document:
            if turn < len(some) and most[some[turn].document.language] > 0:
                most[some[turn].document.language] -= 1
                found.append(some[turn])
    return found


def _promising(text: str) -> bool:
    return bool(re.search(r"\d|\bbecause\b|\b(?:is|was) an? |因为|由于|是一|位于|出生", text))


def _from_sentences(
    sentences: Sequence[_Sentence], people: frozenset[str]
) -> tuple[list[GoldQuestion], list[PlacedFact]]:
    found: list[GoldQuestion] = []
    facts: list[PlacedFact] = []
    for one in sentences:
        if one.document.language == "zh":
            for asked in chinese.clause_questions(one.text, people=people):
                found += _placed(asked, one)
    latin = [one for one in sentences if one.document.language == "en"]
    plain = [" ".join(strip_markdown(one.text).split()) for one in latin]
    for one, doc in zip(latin, english.parse_english(plain), strict=False):
        clause = english.Clause(doc, title=one.document.title, people=people)
        if clause.is_usable:
            for asked in clause.questions():
                found += _placed(asked, one)
            if clause.names_itself:
                span = one.document.span(one.start, one.end)
                facts.append(PlacedFact(fact=clause.fact(), span=span))
    return found, facts


def _placed(asked: english.SentenceQuestion, one: _Sentence) -> list[GoldQuestion]:
    """Return a sentence's question with its gold; named by its document where it needs that."""
    text = asked.text if asked.alone else one.document.qualified(asked.text)
    if not text:
        return []
    return [
        gold_question(
            text,
            kind=asked.kind,
            language=one.document.language,
            spans=[one.document.span(one.start, one.end)],
            answers=[asked.value.strip()],
            made="one sentence",
        )
    ]


def _collections(
    engine: KnowledgeEngine, documents: Sequence[SourceDocument]
) -> Iterator[GoldQuestion]:
    """Yield a question about the whole collection, its points the most widespread names."""
    items = engine.graph.entities(limit=_WIDESPREAD).items
    if len(documents) < _WIDESPREAD or len(items) < _WIDESPREAD:
        return
    languages = Counter(one.language for one in documents)
    wordings: tuple[tuple[Language, str], ...] = (
        ("en", "What are these documents about, taken as a whole?"),
        ("zh", "这些文档整体上讲的是什么？"),
    )
    for language, text in wordings:
        if languages[language] >= len(documents) / 2:  # names are spelt as most documents do
            yield gold_question(
                text,
                kind="collection",
                language=language,
                points=[each.name for each in items],
                hops=len(documents),
                made="most mentioned names (extracted)",
            )


def _filtered(
    pool: Iterable[GoldQuestion], documents: dict[str, SourceDocument]
) -> list[GoldQuestion]:
    """Drop questions that answer themselves, that no span answers, or that have two answers."""
    by_text: dict[str, list[GoldQuestion]] = defaultdict(list)
    for one in pool:
        by_text[one.text.casefold()].append(one)
    found = []
    for same in by_text.values():
        one = same[0]
        if len({each.answers for each in same}) > 1 or not 6 <= len(one.text) <= 300:
            continue
        if one.kind not in (
            "comparison",
            "superlative",
            *OVERVIEWS,
            UNANSWERABLE,
        ) and not _is_sound(one, documents):
            continue
        found.append(one)
    return found


def _is_sound(question: GoldQuestion, documents: dict[str, SourceDocument]) -> bool:
    """Check that the value stands in the spans and not in the question."""
    held = " ".join(
        documents[span.document_id].text[span.start : span.end]
        for span in question.query.gold_spans
    )
    plain, asked = set(tokens(strip_markdown(held))), set(tokens(question.text))
    for value in (*question.answers, *question.points):
        words = set(tokens(value))
        if not words or words - plain or not words - asked:
            return False
    return bool(question.answers or question.points)


def _chosen(pool: Sequence[GoldQuestion], *, size: int, seed: int) -> list[GoldQuestion]:
    """Return a sample by turns over kinds and languages, documents by turns within each."""
    strata: dict[tuple[str, str], list[GoldQuestion]] = defaultdict(list)
    for one in sorted(pool, key=lambda one: _order(seed, one.text)):
        strata[one.kind, one.language].append(one)
    for key, some in strata.items():
        uses: Counter[str] = Counter()
        turns: list[tuple[int, int, GoldQuestion]] = []
        for one in some:
            name = one.query.documents[0] if one.query.documents else ""
            turns.append((uses[name], len(turns), one))
            uses[name] += 1
        strata[key] = [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]
    found: list[GoldQuestion] = []
    for turn in range(max(map(len, strata.values()), default=0)):
        found += [strata[key][turn] for key in sorted(strata) if turn < len(strata[key])]
    return found[:size]


def _easy(
    engine: KnowledgeEngine,
    questions: Sequence[GoldQuestion],
    tell: Callable[[str, int, int], None],
) -> frozenset[str]:
    """Return the texts of questions whose gold span BM25 finds at rank 1."""
    from llama_index.core.schema import TextNode

    retriever = engine.keyword_index
    found = set()
    for number, one in enumerate(questions, start=1):
        spans = one.query.gold_spans
        if spans and one.kind not in OVERVIEWS:
            first = next((hit.node for hit in retriever.retrieve(one.text)), None)
            if isinstance(first, TextNode) and all(_holds(first, span) for span in spans):
                found.add(one.text)
        tell("search", number, len(questions))
    return frozenset(found)


def _holds(node: TextNode, span: GoldSpan) -> bool:
    start, end = node.start_char_idx or 0, node.end_char_idx or 0
    return node.ref_doc_id == span.document_id and start <= span.start < end


def _spread(
    candidates: Sequence[GoldQuestion], easy: frozenset[str], *, size: int
) -> tuple[list[GoldQuestion], int]:
    """Return the first questions that keep easy and unanswerable ones within their shares."""
    answerable = int(size * (1 - UNANSWERABLE_SHARE))
    most = {one.kind: max(1, int(KIND_SHARE * size)) for one in candidates}
    most |= {kind: round(share * size) for kind, share in SEVERAL_PLACES.items()}
    most[UNANSWERABLE] = max(1, size - answerable)
    several = [one for one in candidates if one.kind in SEVERAL_PLACES and one.hops > 1]
    kinds: Counter[str] = Counter()
    chosen: list[GoldQuestion] = []
    seen: set[tuple[str, int]] = set()
    count = 0
    # Several places first; then by kinds; last, what one kind leaves free is given to the others.
    turns = [(several, 1, size), (several, MOST_TIMES, round(SEVERAL_SHARE * size))]
    for some, limit, whole in (*turns, (candidates, 1, size), (candidates, size, size)):
        for one in some:
            bound = most[one.kind] * (1 if one.kind in (UNANSWERABLE, *OVERVIEWS) else limit)
            places = {(span.document_id, span.start) for span in one.query.gold_spans}
            if len(chosen) >= whole or one in chosen or kinds[one.kind] >= bound:
                continue
            if places and places <= seen and one.kind not in OVERVIEWS:
                continue
            most_easy = max(FEWEST, int(EASY_SHARE * answerable))
            if one.text in easy and count >= most_easy:
                continue
            kinds[one.kind] += 1
            count += one.text in easy
            seen |= places
            chosen.append(one)
    while len(chosen) > FEWEST and count > EASY_SHARE * sum(
        bool(one.query.gold_spans) for one in chosen
    ):
        last = next(one for one in reversed(chosen) if one.text in easy)
        chosen.remove(last)
        count -= 1
    return chosen, count
