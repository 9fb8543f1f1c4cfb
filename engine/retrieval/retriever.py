"""Local hybrid retrieval: fused BM25 and vector scores, then a graph walk.

Lexical and dense scores are rescaled and added, the dense ones weighted by how much of question and
passage the encoder can read, then a short random walk goes from the best over the graph. Small
chunks are found best and large ones read best: a found chunk is read as its parent where it has
one, and of chunks that lie in what is read already only the first counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from ..config import RetrieveSettings
from ..errors import QuestionError
from ..events import Listener, null_listener
from ..observability import node_of, retrieval_span
from ..storage.bm25_index import KeywordIndex
from ..storage.graph_api import (
    Chunk,
    NamedPlace,
    QuestionNames,
    WalkSnapshot,
    read_chunks,
)
from ..storage.library import Library, unit_length
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight, tokens
from ..storage.vectors.spaces import LEAST_WEIGHT, VectorSpace, beside_weight, space_weights
from ..types import Passage, TraceStep
from .fusion import (
    ExtraRetriever,
    Ranking,
    RelevanceFeatures,
    Scores,
    calibrated_cosine,
    further_scores,
    question_tokens,
    rank_passages,
    relevance_probability,
    token_coverage,
)
from .lexical_variants import told_in_chinese
from .parents import ReadSpan, expand_to_parents
from .passages import FilteredView, Tracer, preview_top_passages
from .query_expansion import Expander, Expansion, rank_expanded
from .read_passages import Explain, explain_by_paths, passages_read
from .rerank import ORDER_KEPT, PassageReranker, rerank_passages
from .second_look import (
    LOOKED_AT,
    links_between,
    name_forms,
    relation_words,
    relations_asked,
    second_look,
    words_held,
)
from .views import FilteredViewCache

if TYPE_CHECKING:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

DENSE_LISTS = ("dense", "multilingual")
"""Names of the lists of the first and the second vector space."""
SAID = 0.25
"""Share of the summed idf of a question's words that a passage has as its BM25 score that says what
is asked in these words. For Chinese questions nothing is gained."""
DENSE_DEPTH = 400
"""Number of nearest chunks with a dense score; rescaling uses the first hundred."""


@dataclass(slots=True)
class SearchResult:
    """Search result: passages best first, and a step for each stage."""

    passages: list[Passage]
    trace: list[TraceStep] = field(default_factory=list)


Rescore = Callable[[Sequence[str], Scores], Scores]
"""Document id and fused score of each passage, in rows, to new scores: `(n,)` to `(n,)`."""
Keep = Callable[[list[Passage]], list[Passage]]
"""Passages found, best first, to those that are returned, in their order; none has a path yet."""
QueryVectors = Mapping[str, NDArray[np.float32]]
"""Vectors of a question by the identity of their model; empty where none can read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question as the lists see it."""

    text: str
    vectors: QueryVectors
    names: QuestionNames


class HybridRetriever:
    """Retriever over one library; `llamaindex.LocalRetriever` is LlamaIndex's face of it.

    Args:
        library: what is searched.
        keyword: its BM25 side.
        spaces: its vector side, in order; none for BM25 and the walk alone.
        readable: how much of a text an English model can read, 0–1.
        settings: which lists take part, and how they are fused.
        within: the documents that any search of this retriever may see; None means all.
        extra: further lists as `(name, retriever, weight)`: any LlamaIndex retriever whose nodes
            have the ids of chunks. Weights count in the weighted fusions.
        expander: makes several searches of a question; None leaves it one.
        judge: judges the first passages once more; None leaves their order.
    """

    def __init__(
        self,
        library: Library,
        *,
        keyword: KeywordIndex,
        spaces: Sequence[VectorSpace],
        readable: Callable[[str], float],
        settings: RetrieveSettings,
        within: DocumentFilter | None = None,
        extra: Sequence[tuple[str, BaseRetriever, float]] = (),
        expander: Expander | None = None,
        judge: PassageReranker | None = None,
    ) -> None:
        self._library = library
        self._keyword = keyword
        self._spaces = tuple(spaces) if settings.dense else ()
        self._readable = readable
        self._settings = settings
        self._within = within
        self._further = [ExtraRetriever(*each) for each in extra]
        self._weights = {
            "keyword": settings.keyword_weight,
            "dense": settings.dense_weight,
            "multilingual": settings.dense_weight,
            "beside": settings.dense_weight,
            **{name: weight for name, _, weight in extra},
        }
        self._expander = expander
        self._judge = judge
        self._postprocessors: tuple[BaseNodePostprocessor, ...] = ()
        self._home: Callable[[], AbstractContextManager[HybridRetriever]] | None = None
        self._views = FilteredViewCache(library, half_life_days=settings.half_life_days)

    def only(self, within: DocumentFilter | None) -> HybridRetriever:
        """Return the same retriever restricted to some documents."""
        return self.adjusted(within=within)

    def adjusted(
        self,
        *,
        within: DocumentFilter | None = None,
        top_k: int | None = None,
        walk: bool = True,
        postprocessors: Sequence[BaseNodePostprocessor] = (),
        home: Callable[[], AbstractContextManager[HybridRetriever]] | None = None,
    ) -> HybridRetriever:
        """Return the same retriever restricted to some documents, with other last steps.

        Args:
            within: which documents it sees; None leaves that to each search.
            top_k: how many passages it returns; None as the settings say.
            walk: False leaves out the walk over titles and names.
            postprocessors: LlamaIndex's, in order, on what was found: they leave out and reorder.
            home: opens the retriever of the library's part that each search is made in.

        Raises:
            QuestionError: a `top_k` below 1.
        """
        check_top_k(top_k)
        other = copy(self)
        other._home = home
        other._within = within
        other._postprocessors = tuple(postprocessors)
        if top_k is not None:
            other._settings = other._settings.model_copy(update={"top_k": top_k})
        if not walk:
            other._settings = other._settings.model_copy(update={"walk": False})
        return other

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        within: DocumentFilter | None = None,
        expander: Expander | None = None,
        rescore: Rescore | None = None,
        keep: Keep | None = None,
        on_event: Listener = null_listener,
    ) -> SearchResult:
        """Search passages, best first, each with its list scores and walk path.

        With `within`, every list and the walk see only the documents that it admits.
        `on_event` hears of each stage as it ends. `expander` makes the searches of this one instead
        of the retriever's own; `rescore` changes the scores before passages are read. `keep`
        chooses among what was found: only what it returns is explained by a path.

        Raises:
            QuestionError: a `top_k` below 1.
        """
        with retrieval_span(question) as found, self._at_home() as retriever:
            search = retriever._search(
                question,
                top_k=top_k,
                min_relevance=min_relevance,
                within=within,
                expander=expander,
                rescore=rescore,
                keep=keep,
                on_event=on_event,
            )
            found(search.passages)
        return search

    def scored_chunks(self, question: str) -> list[tuple[Chunk, float]]:
        """Return the chunks of the passages found with their scores; LlamaIndex is not told."""
        with self._at_home() as retriever:
            found = retriever._search(question).passages
        with self._library.read() as connection:
            held = read_chunks(connection, [passage.chunk_id for passage in found])
        return [(held[p.chunk_id], p.score) for p in found if p.chunk_id in held]

    @property
    def top_k(self) -> int:
        """The number of passages that it returns where none is asked for."""
        return self._settings.top_k

    @contextmanager
    def _at_home(self) -> Iterator[HybridRetriever]:
        """Yield this retriever over the part of the library that it searches."""
        if self._home is None:
            yield self
            return
        with self._home() as inside:
            yield inside.adjusted(
                within=self._within,
                top_k=self._settings.top_k,
                postprocessors=self._postprocessors,
            )

    def _search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        within: DocumentFilter | None = None,
        expander: Expander | None = None,
        rescore: Rescore | None = None,
        keep: Keep | None = None,
        on_event: Listener = null_listener,
    ) -> SearchResult:
        wanted = self._settings.top_k if top_k is None else top_k
        check_top_k(wanted)
        within, steps = within or self._within, Tracer(on_event)
        searches = self._searches(question, within, steps, expander or self._expander)
        pool = wanted if self._judge is None else max(wanted, self._judge.candidates)
        passages, explain = self._found(
            question, searches, within=within, limit=pool, rescore=rescore, steps=steps
        )
        if self._judge is not None:
            told: list[str] = []
            passages = rerank_passages(
                passages,
                question,
                reranker=self._judge.reranker,
                candidates=self._judge.candidates,
                top_k=wanted,
                weight=self._judge.weight,
                on_event=told.append,
            )
            failed = sum(line.startswith(ORDER_KEPT) for line in told)
            steps.record("rerank", "; ".join(told), preview_top_passages(passages), failed=failed)
        passages = [each for each in passages if each.relevance >= min_relevance]
        if self._postprocessors:
            passages = self._postprocessed(question, passages)
            steps.record("postprocess", f"{len(passages)} left", preview_top_passages(passages))
        if keep is not None:
            passages = keep(passages)
        return SearchResult([explain(each) for each in passages], steps.steps)

    def _postprocessed(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return what LlamaIndex's node postprocessors leave, in their order."""
        known = {passage.chunk_id: passage for passage in passages}
        nodes = [node_of(passage) for passage in passages]
        for each in self._postprocessors:
            nodes = each.postprocess_nodes(nodes, query_str=question)
        return [known[node.node_id] for node in nodes if node.node_id in known]

    def _searches(
        self,
        question: str,
        within: DocumentFilter | None,
        steps: Tracer,
        expander: Expander | None,
    ) -> Sequence[Expansion]:
        """Expand the question into searches, itself first."""
        itself = Expansion(keyword=question, dense=question, weight=1.0, kind="question")
        if expander is None:
            return (itself,)

        def first(text: str, count: int) -> list[str]:
            one = Expansion(keyword=text, dense=text, weight=1.0, kind="question")
            found, _ = self._found(text, (one,), within=within, limit=count, steps=Tracer())
            return [f"{passage.title}\n{passage.text}" for passage in found]

        made = expander(question, first)
        steps.record(
            "expand",
            "; ".join((f"{len(made.expansions)} searches", *made.failed)),
            "; ".join(each.keyword or each.dense for each in made.expansions[1:]),
            question,
            calls=made.asked,
            failed=len(made.failed),
        )
        return made.expansions

    def _found(
        self,
        question: str,
        searches: Sequence[Expansion],
        *,
        within: DocumentFilter | None,
        limit: int,
        steps: Tracer,
        rescore: Rescore | None = None,
    ) -> tuple[list[Passage], Explain]:
        """Return the passages that the searches find, and what explains one of them by its path."""
        with self._library.read() as connection:
            shares = self._views.current(connection, within).of(self._keyword.readable)
        english = shares[[shares.argmin(), shares.argmax()]] if shares.size else shares
        vectors = [self._embed(each.dense, english) for each in searches]
        sizes = " and ".join(str(vector.size) for vector in vectors[0].values())
        said = f"{sizes} dimensions" if sizes else "no embedding"
        steps.record("embed", said, "", "; ".join(each.dense for each in searches if each.dense))
        with self._library.read() as connection:  # one view of the library for all lists
            shown = self._views.current(connection, within)
            names = shown.view.names_in(connection, question)
            asked = _Asked(text=question, vectors=vectors[0], names=names)
            known = sorted(shown.view.display.get(label, label) for label in names.labels)
            chunks = len(shown.view.chunk_ids)
            steps.record("view", f"{chunks} chunks", "; ".join(known), names=len(known))
            ranking = self._rank(asked, searches, vectors, shown, steps)
            if rescore is not None:
                scores = rescore(shown.view.documents, ranking.scores)
                ranking = replace(ranking, scores=scores, walk_order=None)
            if self._settings.walk and self._settings.second_look:
                ranking = self._look_again(connection, asked, ranking, shown)
                first = f"the first {LOOKED_AT} as a set"
                steps.record("second look", first, shown.leading(ranking.scores))
            found = self._read(connection, shown.view, ranking, limit=limit)
            judged = self._relevances(connection, asked, shown, ranking, found)
        passages = passages_read(ranking, found, judged)
        best = max((passage.relevance for passage in passages), default=0.0)
        gave = preview_top_passages(passages)
        steps.record("read", f"{len(passages)} passages", gave, relevance=best)
        return passages, explain_by_paths(shown.view, ranking, found)

    def cosines(self, question: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return cosines of chunks to a question by id; empty if unreadable by the encoder."""
        for space in self._spaces:
            if space.reads(self._readable(question)):
                return space.dense.cosines(self._vector(space, question), chunk_ids)
        return {}

    def text_vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Return unit vectors of texts, a row each, by the first model that reads them all."""
        share = min(map(self._readable, texts), default=0.0)
        for space in self._spaces:
            if not space.english_only or share >= LEAST_WEIGHT:
                rows = space.embed_model.get_text_embedding_batch(list(texts))
                return np.stack([unit_length(np.asarray(row, dtype=np.float32)) for row in rows])
        return None

    def find_entities(
        self, text: str, within: DocumentFilter | None = None
    ) -> tuple[NamedPlace, ...]:
        """Find entity names of visible documents in a text, in order."""
        with self._library.read() as connection:
            view = self._views.current(connection, within or self._within).view
            return view.find_entities(connection, text)

    def titles(self, within: DocumentFilter | None = None) -> Mapping[str, int]:
        """Return how many visible documents have each title."""
        with self._library.read() as connection:
            return self._views.titles(connection, within or self._within)

    def other_names(
        self, keys: Sequence[str], within: DocumentFilter | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the other names in visible documents of what each known name means."""
        with self._library.read() as connection:
            view = self._views.current(connection, within or self._within).view
            return view.other_names(connection, keys)

    def idf(self, within: DocumentFilter | None = None) -> TokenWeight:
        """Return idf of tokens within the question's namespaces; see `KeywordIndex.idf`."""
        with self._library.read() as connection:
            counted = self._views.current(connection, within or self._within).counted
        return self._keyword.idf(counted)

    def documents(self, within: DocumentFilter) -> frozenset[str]:
        """Return ids of non-empty documents that a filter admits."""
        with self._library.read() as connection:
            return frozenset(self._views.current(connection, within).view.documents)

    def _embed(self, question: str, english: NDArray[np.float32]) -> QueryVectors:
        """Embed a question in every space that reads it and some of the passages.

        `english` are the least and the greatest English share of the passages: weights of two
        spaces only rise or only fall with it.
        """
        if not question or not self._spaces:
            return {}
        weights = space_weights(self._spaces, self._readable(question), english)
        beside = np.asarray(beside_weight(self._spaces, weights[0]))
        weights[1:2] = [np.maximum(weight, beside) for weight in weights[1:2]]
        return {
            space.identity: self._vector(space, question)
            for space, weight in zip(self._spaces, weights, strict=True)
            if weight.max(initial=0.0) > (0.0 if space is self._spaces[0] else LEAST_WEIGHT)
        }

    @staticmethod
    def _vector(space: VectorSpace, question: str) -> NDArray[np.float32]:
        return np.asarray(space.embed_model.get_query_embedding(question), dtype=np.float32)

    def _rank(
        self,
        asked: _Asked,
        searches: Sequence[Expansion],
        vectors: Sequence[QueryVectors],
        shown: FilteredView,
        steps: Tracer,
    ) -> Ranking:
        fusion, walks = f"{self._settings.fusion} fusion", self._settings.walk
        names = {asked.text: asked.names} if walks else {}  # the graph's part, too
        rankings: list[tuple[Expansion, Ranking]] = []
        for each, vector in zip(searches, vectors, strict=True):
            ranking = self._fused(each.keyword, vector, shown, steps, names.get(each.keyword))
            took = each.keyword if len(searches) > 1 or not walks else ""
            steps.record("fuse", fusion, shown.leading(ranking.scores), took)
            rankings.append((each, ranking))
        ranking = rankings[0][1]
        if len(rankings) > 1:
            ranking = rank_expanded(rankings, pool=self._settings.pool)
        if walks:
            if len(searches) > 1:
                steps.record("merge", f"{len(searches)} searches", shown.leading(ranking.scores))
            ranking = ranking.walked(shown.view.rank(ranking.scores, asked.names.labels))
            seeds = "; ".join(dict.fromkeys(map(shown.name, ranking.seeds.tolist())))
            steps.record("walk", "titles and names", shown.leading(ranking.scores), seeds)
        return ranking

    def _look_again(
        self, connection: Connection, asked: _Asked, ranking: Ranking, shown: FilteredView
    ) -> Ranking:
        """Order the first passages by what of the question the others leave open."""
        count = min(LOOKED_AT, int(np.count_nonzero(ranking.scores > 0)))
        first = ranking.order[:count].tolist()
        words, idf = question_tokens(asked.text), self._keyword.idf(shown.counted)
        weights = [idf(word) for word in words]
        links = links_between(
            shown.view.walk_graph,
            first,
            asked.names.labels,
            in_long_document=shown.view.in_long_document[first].tolist(),
        )
        texts = self._keyword.read_tokens(connection, [shown.view.chunk_ids[row] for row in first])
        relations = relations_asked(
            links.mentions,
            texts,
            {label: name_forms(shown.view.display[label]) for _, _, label in links.mentions},
            relation_words(asked.text, words, weights),
        )
        order = second_look(
            ranking.order,
            ranking.scores,
            closeness=links.closeness,
            relations=relations,
            held=words_held(asked.text, asked.names, words, texts),
            weights=weights,
        )
        return ranking.reordered(order)

    def _fused(
        self,
        text: str,
        vectors: QueryVectors,
        shown: FilteredView,
        steps: Tracer,
        names: QuestionNames | None,
    ) -> Ranking:
        """Rank one search: by `text` unless empty, and by its vectors.

        `names` are those of `text`, where things shall be searched by all their names.
        """
        keyword = self._by_words(text, names, shown, steps)
        dense = self._by_vectors(vectors, shown, steps)
        weights = self._row_weights(text, shown, lists=[*dense])
        further = self._by_others(text, shown, steps)
        nothing = None if dense or further else np.zeros(len(shown.view.chunk_ids))
        return rank_passages(
            keyword[0] if keyword else nothing,
            keyword[1] if keyword else None,
            reachable=self._reachable(text, shown, dense),
            dense=dense.get("dense"),
            dense_weight=weights.get("dense", 0.0),
            multilingual=dense.get("multilingual"),
            multilingual_weight=weights.get("multilingual", 0.0),
            beside_weight=beside_weight(self._spaces, weights["dense"]) if dense else 0.0,
            apart=self._apart(text, shown) if "multilingual" in dense else 0.0,
            further=further,
            fusion=self._settings.fusion,
            weights=self._weights,
            decay=shown.decay,
        )

    def _by_words(
        self, text: str, names: QuestionNames | None, shown: FilteredView, steps: Tracer
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Score text and title of each row by BM25; None without a text query."""
        if not self._settings.keyword or not text:
            steps.record("keyword", "off")
            return None
        words = f"{text} {told_in_chinese(text)}"
        fields = self._keyword.field_scores(words, names, counted=shown.counted)
        body, title = shown.of(fields["body"]), shown.of(fields["title"])
        steps.record("keyword", "BM25 of title and text", shown.leading(body), words.rstrip())
        return body, title

    def _row_weights(
        self,
        text: str,
        shown: FilteredView,
        *,
        lists: Collection[str] = DENSE_LISTS,
        rows: Sequence[int] | slice = slice(None),
    ) -> dict[str, NDArray[np.float64]]:
        """Return the weight of rows by list, for a question (an English one where empty)."""
        share = self._readable(text) if text else 1.0
        asked = max((DENSE_LISTS.index(name) + 1 for name in lists), default=0)
        shares = shown.of(self._keyword.readable)[rows]
        weights = space_weights(self._spaces[:asked], share, shares)
        return dict(zip(DENSE_LISTS, weights, strict=False))

    def _reachable(self, text: str, shown: FilteredView, lists: Collection[str]) -> float:
        """Return the BM25 score of a passage that says all of an English text; 0 of words alone."""
        spaces = zip(DENSE_LISTS, self._spaces, strict=False)
        if not text or not any(name in lists and one.worth >= 1.0 for name, one in spaces):
            return 0.0
        idf = self._keyword.idf(shown.counted)
        return SAID * self._readable(text) * sum(map(idf, question_tokens(text)))

    def _apart(self, text: str, shown: FilteredView) -> NDArray[np.float64]:
        """Return how far each row differs from the question in language, 0–1, `(n,)`."""
        share = self._readable(text) if text else 1.0
        return np.abs(share - shown.of(self._keyword.readable).astype(np.float64))

    def _by_vectors(
        self, vectors: QueryVectors, shown: FilteredView, steps: Tracer
    ) -> dict[str, NDArray[np.float64]]:
        """Return the cosine of each row by list, of the spaces that have vectors."""
        found = dict[str, NDArray[np.float64]]()
        for name, space in zip(DENSE_LISTS, self._spaces, strict=False):
            vector = vectors.get(space.identity)
            if vector is None:
                continue
            cosines = space.dense.array(vector, shown.view.chunk_ids, depth=DENSE_DEPTH)
            if cosines is None:
                steps.record(name, "no vectors")
                continue
            steps.record(name, f"cosine by {space.identity}", shown.leading(cosines))
            found[name] = cosines
        if not vectors:
            steps.record("dense", "off")
        return found

    def _by_others(
        self, text: str, shown: FilteredView, steps: Tracer
    ) -> Mapping[str, NDArray[np.float64]]:
        if not self._further or not text:
            return {}
        found = further_scores(self._further, text, row_of=shown.row_of)
        leaders = (f"{name}: {shown.leading(scores)}" for name, scores in found.items())
        steps.record("further lists", ", ".join(found), " | ".join(leaders))
        return found

    def _read(
        self, connection: Connection, view: WalkSnapshot, ranking: Ranking, *, limit: int
    ) -> list[ReadSpan]:
        def chunks(rows: Sequence[int]) -> dict[int, Chunk]:
            held = read_chunks(connection, [view.chunk_ids[row] for row in rows])
            return {row: held[view.chunk_ids[row]] for row in rows if view.chunk_ids[row] in held}

        count = int(np.count_nonzero(ranking.scores > 0))
        return expand_to_parents(
            ranking.order[:count], limit=limit, chunks=chunks, text=self._library.text_at
        )

    def _relevances(
        self,
        connection: Connection,
        asked: _Asked,
        shown: FilteredView,
        ranking: Ranking,
        found: Sequence[ReadSpan],
    ) -> list[float]:
        """Return the calibrated relevance of each read span over the list (see `relevance`)."""
        if not found:
            return []
        covered = token_coverage(
            question_tokens(asked.text),
            self._read_tokens(connection, found),
            document_frequency=self._keyword.document_frequency(shown.counted),
            passage_count=self._keyword.passage_count(shown.counted),
        )
        likeness = self._likeness(asked, shown, found)
        best = float(ranking.scores.max()) or 1.0
        view = shown.view
        return list(
            relevance_probability(
                [
                    RelevanceFeatures(
                        covered=float(covered[place]),
                        share=float(ranking.scores[each.row]) / best,
                        cosine=cosine,
                        readable=readable,
                        names=_share(asked.names, {view.titles[each.row], *view.labels[each.row]}),
                    )
                    for place, (each, (cosine, readable)) in enumerate(
                        zip(found, likeness, strict=True)
                    )
                ]
            )
        )

    def _read_tokens(
        self, connection: Connection, found: Sequence[ReadSpan]
    ) -> list[Sequence[str]]:
        """Return the tokens of title and text of each read span, from the index where it has them.

        They are made again where a parent is read, or the chunk is not indexed.
        """
        stored = self._keyword.read_tokens(connection, [each.chunk.id for each in found])
        return [
            kept
            if kept and each.chunk.read is None
            else tokens(f"{each.chunk.title}\n{each.chunk.context}\n{each.text}")
            for each, kept in zip(found, stored, strict=True)
        ]

    def _likeness(
        self, asked: _Asked, shown: FilteredView, found: Sequence[ReadSpan]
    ) -> list[tuple[float | None, float]]:
        """Return the cosine of each read span, and how much of the pair the models read, 0–1.

        Of several spaces the mean, each by its weight for that passage.
        """
        weights = self._row_weights(asked.text, shown, rows=[each.row for each in found])
        ids = [each.chunk.id for each in found]
        sums = [(0.0, 0.0)] * len(found)
        for name, space in zip(DENSE_LISTS, self._spaces, strict=False):
            vector = asked.vectors.get(space.identity)
            cosines = space.dense.cosines(vector, ids) if vector is not None else {}
            for place, each in enumerate(found):
                cosine, weight = cosines.get(each.chunk.id), float(weights[name][place])
                if cosine is not None:
                    like = calibrated_cosine(cosine, floor=space.floor)
                    sums[place] = (sums[place][0] + weight * like, sums[place][1] + weight)
        return [(like / weight if weight else None, weight) for like, weight in sums]


def check_top_k(top_k: object) -> None:
    """Refuse a `top_k` below 1, or none that is a whole number; raises `QuestionError`."""
    if top_k is None:
        return
    if not isinstance(top_k, int):
        raise QuestionError(f"top_k is not a whole number: {top_k!r}; give 1 or more")
    if top_k < 1:
        raise QuestionError(f"top_k: {top_k} is too small; give 1 or more")


def _share(asked: QuestionNames, present: set[str]) -> float | None:
    """Return the share of the question's names a passage has; None without names."""
    count = len(asked.labels) + len(asked.unknown)
    return len(asked.labels & present) / count if count else None
