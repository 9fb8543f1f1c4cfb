"""Selections of a global answer: reports of a level, rated reports, or whole passages.

The lazy selection reads reports only where a question names no subject; every other question is
answered from whole passages. What one call holds is read by the call that writes the answer; more
is mapped to points first, in one round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...embeddings.tokenizer import TokenCount
from ...errors import ModelError
from ...prompts import language_of, stage_prompt
from ...retrieval.passages import Tracer
from ...storage.graph_api import (
    Chunk,
    Report,
    Selection,
    SelectionLimits,
    passage_report,
    report_match,
    report_text,
    select_dynamic,
    select_reports,
)
from ...storage.tokenization import tokens
from ...types import Usage
from .about import parts_referred
from .context import BatchLLM, CandidatePoints, GlobalContext, best_of, call_batch
from .map_reduce import (
    MAP_OUTPUT_TOKENS,
    RATINGS_SCHEMA,
    REDUCE_OUTPUT_TOKENS,
    map_batches,
    map_reports,
    read_ratings,
    sheet_of_batch,
)

RELEVANT = 0.4
"""Least rating of a report whose parts are rated in their turn."""

_RATED_TOKENS = 120
"""Of a report, at most so much is shown for a rating."""

RATE_OUTPUT_TOKENS = 500


def from_one_level(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Select points from the finest level that fits, else from the best rated reports.

    Extractive reports decide the level, so that it stays while a model's take their places.
    """
    selection = select_reports(
        scene.shelf.communities,
        scene.shelf.extractive if scene.within is None else scene.reports,
        budget_tokens=scene.plan.map_tokens,
        count=scene.report_size,
    )
    _tell_selection(watch, selection, rated=0)
    chosen = [scene.report_of[one.community_id] for one in selection.reports]
    return points_of(scene, chosen, watch)


def from_rated_reports(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Select points from relevant reports, descending the hierarchy from its root.

    Where no model rates, a question that names no subject tells no community from another: it is
    answered from one level.
    """
    if scene.generic and not scene.plan.rate_tokens:
        return from_one_level(scene, watch)
    plan = scene.plan
    prior = _by_match(scene)
    judge = _Judge(scene, scene.model, prior=prior) if plan.rate_tokens else None
    descent = select_dynamic(
        scene.shelf.tree,
        scene.report_of,
        prior=prior,
        rate=prior if judge is None else judge.rate,
        depth=SelectionLimits(
            levels=plan.levels,
            per_level=plan.per_level,
            relevant=RELEVANT,
        ),
        budget_tokens=plan.map_tokens - plan.rate_tokens,
        count=scene.report_size,
    )
    usage = Usage() if judge is None else judge.usage
    for level, (rated, relevant) in enumerate(descent.rounds):
        watch.record("rate", f"level {level}: {relevant} of {rated} report(s) relevant",
                  rated=rated, relevant=relevant)  # fmt: skip
    if judge is not None and judge.troubles:
        watch.record("rate", "; ".join(judge.troubles), failed=len(judge.troubles))
    _tell_selection(watch, descent.selection, rated=len(descent.ratings))
    return points_of(scene, descent.selection.reports, watch, usage=usage)


def points_of(
    scene: GlobalContext,
    reports: Sequence[Report],
    watch: Tracer,
    *,
    usage: Usage | None = None,
) -> CandidatePoints:
    """Map reports to points."""
    usage = usage or Usage()
    shown = shorten_reports(
        scene.written(reports), budget_tokens=scene.plan.map_tokens, count=scene.report_size
    )
    by_model = sum(1 for report in shown if report.written_by)
    watch.record("read", f"{len(shown)} report(s), {by_model} by a model",
              "; ".join(report.title for report in shown), by_model=by_model)  # fmt: skip
    return _read(scene, shown, scene.chunks_of(shown), watch, usage=usage)


def _read(
    scene: GlobalContext,
    reports: Sequence[Report],
    chunks: Mapping[str, Chunk],
    watch: Tracer,
    *,
    usage: Usage,
) -> CandidatePoints:
    """Gather from reports: whole where one call holds them all, else the points of a map round."""
    whole = map_batches(
        reports,
        budget_tokens=scene.whole_tokens(output_tokens=REDUCE_OUTPUT_TOKENS),
        count=scene.count,
    )
    if len(whole) == 1:
        return CandidatePoints(sheet=sheet_of_batch(whole[0]), chunks=chunks, usage=usage)
    batches = map_batches(
        reports,
        budget_tokens=scene.call_tokens(output_tokens=MAP_OUTPUT_TOKENS),
        count=scene.count,
    )
    mapped = map_reports(scene.question, batches, ask_many=scene.model)
    watch.record("map", mapped.detail, best_of(mapped.points), **mapped.figures)
    return CandidatePoints(points=mapped.points, chunks=chunks, usage=usage + mapped.usage)


FEWEST_FINDINGS = 2
"""Findings of a report that are shown however many reports there are."""


def shorten_reports(
    reports: Sequence[Report], *, budget_tokens: int, count: TokenCount
) -> list[Report]:
    """Return the reports that fit the token budget, cut to as many findings as let all of them fit.

    What a model writes is longer than the sentences that it stands for: so all are still heard.
    """
    most = max((len(report.findings) for report in reports), default=0)
    kept = list(reports)
    while most > FEWEST_FINDINGS and sum(count(report_text(one)) for one in kept) > budget_tokens:
        most -= 1
        kept = [replace(one, findings=one.findings[:most]) for one in kept]
    return fit_reports(kept, budget_tokens=budget_tokens, count=count)


def fit_reports(
    reports: Sequence[Report], *, budget_tokens: int, count: TokenCount
) -> list[Report]:
    """Return the leading community reports that fit the token budget, at least one."""
    kept: list[Report] = []
    left = budget_tokens
    for report in reports:
        left -= count(report_text(report))
        if left < 0 and kept:
            break
        kept.append(report)
    return kept


def best_reports(scene: GlobalContext, *, limit: int) -> list[Report]:
    """Return the best matching reports of any level, without ancestors or descendants."""
    tree, fits = scene.shelf.tree, _by_match(scene)(scene.reports)
    ordered = sorted(
        (report for report in scene.reports if fits.get(report.community_id, 0.0) > 0),
        key=lambda one: (-fits[one.community_id], -one.rating, one.community_id),
    )
    kept: list[Report] = []
    taken: set[str] = set()
    above: set[str] = set()
    for report in ordered:
        line = tree.line(report.community_id)
        if report.community_id not in above and taken.isdisjoint(line) and len(kept) < limit:
            kept.append(report)
            taken.add(report.community_id)
            above.update(line)
    return kept


def _by_match(scene: GlobalContext) -> Callable[[Sequence[Report]], Mapping[str, float]]:
    """Rate reports by words and chunks; by weight for generic questions."""

    def rate(reports: Sequence[Report]) -> Mapping[str, float]:
        if scene.generic:
            top = max((report.rating for report in reports), default=0.0) or 1.0
            return {report.community_id: report.rating / top for report in reports}
        places = {
            report.community_id: [
                place.chunk_id for finding in report.findings for place in finding.evidences
            ]
            for report in reports
        }
        return report_match(
            scene.question,
            words={report.community_id: scene.shelf.words_of(report) for report in reports},
            places=places,
            near=scene.near(key for keys in places.values() for key in keys),
            tokens=tokens,
            weight=scene.weight,
        )

    return rate


def _tell_selection(watch: Tracer, selection: Selection, *, rated: int) -> None:
    watch.record(
        "select",
        selection.detail,
        "; ".join(report.title for report in selection.reports),
        reports=len(selection.reports),
        tokens=selection.tokens,
        left_out=selection.left_out,
        rated=rated,
    )


@dataclass(slots=True)
class _Judge:
    """A model that rates reports by titles and summaries, a level in one call.

    Where a deeper level's call fails, its reports count as not relevant, so that those above them
    are read instead; where a reply cannot be read, the match decides. Both are told.
    """

    scene: GlobalContext
    ask_many: BatchLLM
    prior: Callable[[Sequence[Report]], Mapping[str, float]]
    usage: Usage = field(default_factory=Usage)
    troubles: list[str] = field(default_factory=list)
    _asked: int = 0

    def rate(self, reports: Sequence[Report]) -> Mapping[str, float]:
        """Ratings 0–1 by community id."""
        plan = self.scene.plan
        share = plan.rate_tokens // plan.levels // max(1, len(reports))
        lines = [
            f"[{number}] {_shown(report, min(share, _RATED_TOKENS), self.scene.count)}"
            for number, report in enumerate(reports, start=1)
        ]
        prompt = stage_prompt(
            "rate",
            language=language_of(self.scene.question),
            context="\n".join(lines),
            question=self.scene.question,
            max_output_tokens=RATE_OUTPUT_TOKENS,
            schema=RATINGS_SCHEMA,
        )
        self._asked += 1
        try:
            answered = call_batch(self.ask_many, "map", [prompt])
        except ModelError as error:
            if self._asked == 1:
                raise
            self.troubles.append(f"level {self._asked - 1} not rated: {error}")
            return {}
        self.usage = self.usage + answered.usage
        ratings = read_ratings(answered.texts[0] or "", count=len(reports))
        if ratings is None:
            self.troubles.append(f"level {self._asked - 1}: ratings could not be read")
            return self.prior(reports)
        return {reports[number - 1].community_id: value for number, value in ratings.items()}


def _shown(report: Report, limit: int, count: TokenCount) -> str:
    """Return title and summary on one line, truncated to a token count."""
    text = " ".join(f"{report.title}: {report.summary}".split())
    for _ in range(4):
        size = count(text)
        if size <= limit:
            break
        text = text[: max(20, int(len(text) * limit / size))].rstrip()
    return text


def from_passages(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Gather the most promising passages, whole and below their document's title.

    They are those of the parts that a question names, *chapter 7*, in their order. A question that
    names no subject tells no passage from another: it is answered from one level's reports, those
    that are missing written first, and from the passages that bring most names together where there
    are none.
    """
    part = dict.fromkeys(chunk.id for _, some in parts_referred(scene) for chunk in some)
    if not part and scene.generic and scene.reports:
        return from_one_level(scene, watch)
    promising = {key: 1.0 / (1 + at) for at, key in enumerate(part)} or _promising(scene)
    chunks = scene.chunks(promising)
    scores = {key: value for key, value in promising.items() if key in chunks}
    order = sorted(scores, key=lambda key: (-scores[key], key))
    best = (chunks[key].title for key in order[:3])
    watch.record("rank", f"{len(scores)} passage(s)", "; ".join(best),
              scene.question, chunks=len(scores))  # fmt: skip
    titles, homes = scene.headings(chunks.values()), scene.places.homes
    told = (
        passage_report(
            chunks[key], title=titles[key], community_id=homes.get(key, ""), tokens=tokens
        )
        for key in order
    )
    shown = fit_reports(
        [report for report in told if report is not None],
        budget_tokens=scene.plan.map_tokens,
        count=scene.count,
    )
    watch.record("read", f"{len(shown)} passage(s)",
              "; ".join(dict.fromkeys(report.title for report in shown)))  # fmt: skip
    return _read(scene, shown, chunks, watch, usage=Usage())


def _promising(scene: GlobalContext) -> dict[str, float]:
    """Rank chunks by search score, or by the number of names they connect.

    Of a community's chunks the n-th best counts an n-th where nothing is asked for, so that all
    communities are heard.
    """
    pool = scene.plan.pool
    if not scene.generic:
        whole = scene.retriever.adjusted(walk=False)
        found = whole.search(scene.question, top_k=pool, within=scene.within)
        top = max((passage.score for passage in found.passages), default=0.0) or 1.0
        return {passage.chunk_id: passage.score / top for passage in found.passages}
    places = scene.places
    weights = {
        key: value
        for key, value in places.weights.items()
        if scene.admitted is None or places.document_of[key] in scene.admitted
    }
    heard: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for key in sorted(weights, key=lambda key: (-weights[key], key)):
        home = places.homes.get(key, "")
        heard[home] += 1
        scores[key] = (1.0 + weights[key]) / heard[home]
    best = sorted(scores, key=lambda key: (-scores[key], key))[:pool]
    return {key: scores[key] for key in best}
