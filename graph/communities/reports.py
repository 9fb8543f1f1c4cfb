"""Extractive community reports: central sentences with their places.

Findings are sentences that name many central members of the community; the summary is the first few
of them. Reports of large communities are composed from those of their parts, so a change costs the
small communities that it touches and a look at the parts of those above. The inputs of a report are
hashed into its fingerprint; a report with a known fingerprint is reused.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import (
    OCCURS_WITH,
    Chunk,
    Community,
    Entity,
    Evidence,
    Finding,
    Relation,
    Report,
    content_id,
)
from ..text.sentences import Sentence, is_near_duplicate, sentence_words, sentences_with_entities
from .titles import Phrase, Saying, joined_title, title_of

LARGE = 40
"""Size above which a divided community is reported from its children."""

LEADING = 50
"""Number of most mentioned members that may name a large community."""

ORDER_COUNTS = 0.8
"""Discount of each further finding of one child."""

SPOKEN_COUNTS = 0.6
"""Discount of a child each time it contributed."""


def parts_of(communities: Iterable[Community]) -> dict[str, tuple[str, ...]]:
    """For every large community that is divided further the ids of its parts, sorted."""
    found: dict[str, list[str]] = {}
    every = tuple(communities)
    for community in every:
        if community.parent_id is not None:
            found.setdefault(community.parent_id, []).append(community.id)
    return {
        community.id: tuple(sorted(found[community.id]))
        for community in every
        if len(community.entity_ids) > LARGE and community.id in found
    }


def child_findings(parts: Sequence[Report], *, mass: Mapping[str, float]) -> tuple[Finding, ...]:
    """Select the children's best findings, in turns by weight.

    `mass` is each part's weight by community id. A finding in nearly the same words as one that
    was taken is passed over.
    """
    waiting = {
        part.community_id: list(part.findings)
        for part in sorted(parts, key=lambda one: one.community_id)
        if part.findings
    }
    spoken = dict.fromkeys(waiting, 0)
    place = dict.fromkeys(waiting, 0)
    taken: list[tuple[Finding, frozenset[str]]] = []
    while waiting and len(taken) < MAX_FINDINGS:
        best = max(
            waiting,
            key=lambda one: (
                mass[one] * ORDER_COUNTS ** place[one] * SPOKEN_COUNTS ** spoken[one],
                one,
            ),
        )
        finding = waiting[best].pop(0)
        place[best] += 1
        if not waiting[best]:
            del waiting[best]
        words = sentence_words(finding.text)
        if not any(is_near_duplicate(words, other) for _, other in taken):
            taken.append((finding, words))
            spoken[best] += 1
    return tuple(finding for finding, _ in taken)


def most_mentioned(entities: Iterable[Entity]) -> list[Entity]:
    """Return entities, most mentioned first; a noun phrase counts half."""
    return sorted(
        entities,
        key=lambda e: (-e.mention_count * (0.5 if e.type == "CONCEPT" else 1.0), e.name, e.id),
    )


FREQUENT = 100
"""Number of mentions above which a member is heard only beside others.

What names no other member of the community says nothing of it: "France" stands everywhere.
"""

TELLING = 100
"""Number of the most mentioned other members that tell an undivided community."""


def chosen_members(counts: Mapping[str, int]) -> tuple[set[str], set[str]]:
    """Return the members that tell a community, and those that are heard beside these.

    `counts` are mentions by entity id. Of frequent members alone the rarest one tells.
    """
    ranked = sorted(counts, key=lambda one: (-counts[one], one))
    telling = [one for one in ranked if counts[one] <= FREQUENT][:TELLING] or ranked[-1:]
    beside = {one for one in ranked if counts[one] > FREQUENT}
    return {*telling}, beside.difference(telling)


FORMAT = "reports/4"
"""Format version in every fingerprint; a change regenerates all reports.

So it is to be raised with any change in how sentences are found, too: reports that no change of the
facts touches are not looked at again.
"""

MAX_FINDINGS = 8
MAX_SUMMARY_SENTENCES = 3
MIN_SENTENCES_ALONE = 3
"""Minimum sentences for a single-entity community to be reported."""

CANDIDATES = 120
"""Number of best sentences that compete for findings."""

HALF_RATING = 20.0
"""The mass (see `rating`) that is worth 5 of 10 points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """Mention of an entity in a chunk: `chunk.text[start:end]`."""

    chunk_id: str
    start: int
    end: int
    entity_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """All that reports rest on. No order is asked of any collection.

    `parts` gives the ids of the communities that a large one is told from (see `parts_of`), `told`
    the reports of those that are not among `communities`. Of a large one's members only the
    `leading` ones are asked for (by default all), of the others' those chosen (`chosen_members`),
    and of what is said of those heard beside others only what stands there. A chunk that `chunks`
    does not hold is an error of the caller and raises `KeyError`.
    """

    communities: tuple[Community, ...] = ()
    entities: Mapping[str, Entity]
    relations: tuple[Relation, ...] = ()
    chunks: Mapping[str, Chunk]
    mentions: tuple[EntityMention, ...] = ()
    phrases: Mapping[str, tuple[Phrase, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    told: Mapping[str, Report] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """One community with what is said inside it.

    `sentences` pairs each sentence that names a member with the members it names; `centrality`
    is 1 for the member with most relation weight inside the community, less for the others.
    """

    community: Community
    members: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    sentences: tuple[tuple[Sentence, tuple[str, ...]], ...]
    sayings: tuple[Saying, ...]
    centrality: Mapping[str, float]


def write_reports(graph: ReportInput, *, previous: Mapping[str, Report]) -> list[Report]:
    """Write a report for every community that deserves one, by level and id.

    `previous` maps fingerprints to reports; a report found there is returned as that very object.
    Communities of one entity that fewer than `MIN_SENTENCES_ALONE` sentences name have no report.
    A report without findings (nothing in the chunks names its members) has an empty summary.
    """
    reports: dict[str, Report] = {}
    for basis in _bases(graph):
        fingerprint = _fingerprint(basis)
        known = previous.get(fingerprint)
        reports[basis.community.id] = known or _report(basis, fingerprint)
    large = [community for community in graph.communities if community.id in graph.parts]
    for community in sorted(large, key=lambda one: (-one.level, one.id)):  # parts first
        parts = [
            report
            for part in graph.parts[community.id]
            if (report := reports.get(part) or graph.told.get(part)) is not None
        ]
        leading = graph.leading.get(community.id, community.entity_ids)
        ranked = most_mentioned(graph.entities[one] for one in leading if one in graph.entities)
        reports[community.id] = _composed(community, parts, ranked[:LEADING], previous)
    return sorted(reports.values(), key=lambda report: (report.level, report.community_id))


def _composed(
    community: Community,
    parts: list[Report],
    leading: list[Entity],
    previous: Mapping[str, Report],
) -> Report:
    told = [(part.title, _mass(part.rating)) for part in parts]
    title = joined_title(told, leading)
    rests_on = sorted(part.fingerprint for part in parts)
    fingerprint = content_id("f", FORMAT, community.id, str(community.level), title, *rests_on)
    if fingerprint in previous:
        return previous[fingerprint]
    mass = {part.community_id: _mass(part.rating) for part in parts}
    findings = child_findings(parts, mass=mass)
    return Report(
        community_id=community.id,
        level=community.level,
        title=title,
        summary=_joined([finding.text for finding in findings[:MAX_SUMMARY_SENTENCES]]),
        rating=_rating_of(sum(mass[key] for key in sorted(mass))),
        findings=findings,
        fingerprint=fingerprint,
    )


def report_rating(weight: float, *, documents: int) -> float:
    """Return a community report's rating, 0–10, growing with weight and number of documents.

    The mass is the root of their product, the rating `10 · mass / (mass + 20)`. It is absolute, not
    a share of the library's total, so that a document elsewhere does not touch it; the order of
    communities is the same as by share.
    """
    return _rating_of(math.sqrt(weight * documents))


def _rating_of(mass: float) -> float:
    return round(10 * mass / (mass + HALF_RATING), 4)


def _mass(stars: float) -> float:
    """Return the mass behind a rating; that of a parent is at least its parts' sum."""
    return HALF_RATING * stars / max(10 - stars, 1e-4)


def _bases(graph: ReportInput) -> Iterator[_Basis]:
    sentences = sentences_with_entities(
        graph.chunks.values(),
        spans=[(m.chunk_id, m.start, (m.entity_id,)) for m in graph.mentions],
        statements=[
            (evidence.chunk_id, evidence.start, relation.source_id, relation.target_id, typed)
            for relation in graph.relations
            for typed in (relation.predicate != OCCURS_WITH,)
            for evidence in relation.evidences
        ],
    )
    naming: dict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        for entity_id in sentence.entity_ids:
            naming[entity_id].append(number)
    chosen = _chosen(graph)
    inner = _inner_relations(graph, chosen)
    for community in graph.communities:
        if community.id in graph.parts:
            continue
        telling, beside = chosen[community.id]
        heard = sorted({number for one in telling for number in naming.get(one, ())})
        if len(community.entity_ids) == 1 and len(heard) < MIN_SENTENCES_ALONE:
            continue
        named = (
            tuple(one for one in sentences[n].entity_ids if one in telling or one in beside)
            for n in heard
        )
        yield _basis(
            graph,
            community,
            members=tuple(graph.entities[one] for one in sorted(telling | beside)),
            relations=tuple(inner[community.id]),
            sentences=tuple(zip((sentences[n] for n in heard), named, strict=True)),
        )


def _chosen(graph: ReportInput) -> dict[str, tuple[set[str], set[str]]]:
    """Return the chosen members of each community that is not told from parts."""
    counts = {key: entity.mention_count for key, entity in graph.entities.items()}
    return {
        community.id: chosen_members({k: counts[k] for k in community.entity_ids if k in counts})
        for community in graph.communities
        if community.id not in graph.parts
    }


def _basis(
    graph: ReportInput,
    community: Community,
    *,
    members: tuple[Entity, ...],
    relations: tuple[Relation, ...],
    sentences: tuple[tuple[Sentence, tuple[str, ...]], ...],
) -> _Basis:
    strength: Counter[str] = Counter()
    for relation in relations:
        strength[relation.source_id] += relation.weight  # type: ignore[assignment]
        strength[relation.target_id] += relation.weight  # type: ignore[assignment]
    if not strength:
        strength.update(entity_id for _, named in sentences for entity_id in named)
    top = max(strength.values(), default=0) or 1
    return _Basis(
        community=community,
        members=members,
        relations=relations,
        sentences=sentences,
        sayings=tuple(_saying(graph, sentence) for sentence, _ in sentences),
        centrality={member.id: strength[member.id] / top for member in members},
    )


def _saying(graph: ReportInput, sentence: Sentence) -> Saying:
    """Return a sentence with the noun phrases of its chunk that stand in it, and its headings."""
    nearby = graph.phrases.get(sentence.chunk_id, ())
    inside = (phrase for phrase in nearby if phrase[1] in sentence.text)
    return Saying(
        text=sentence.text,
        phrases=tuple(sorted(inside, key=lambda phrase: sentence.text.index(phrase[1]))),
        nearby=nearby,
        headings=graph.chunks[sentence.chunk_id].headings,
    )


def _inner_relations(
    graph: ReportInput, chosen: Mapping[str, tuple[set[str], set[str]]]
) -> dict[str, list[Relation]]:
    """For each community the relations between chosen members, by relation id.

    One end tells the community.
    """
    by_level: dict[int, dict[str, str]] = defaultdict(dict)
    for community in (one for one in graph.communities if one.id in chosen):
        by_level[community.level].update(dict.fromkeys(community.entity_ids, community.id))
    inner: dict[str, list[Relation]] = defaultdict(list)
    ordered = sorted(graph.relations, key=lambda relation: relation.id)
    for home in by_level.values():
        for relation in ordered:
            where = home.get(relation.source_id)
            if where is None or where != home.get(relation.target_id):
                continue
            telling, beside = chosen[where]
            ends = {relation.source_id, relation.target_id}
            if ends <= telling | beside and not ends.isdisjoint(telling):
                inner[where].append(relation)
    return inner


def _fingerprint(basis: _Basis) -> str:
    def parts() -> Iterator[str]:
        yield FORMAT
        yield basis.community.id
        yield str(basis.community.level)
        yield from (repr((saying.nearby, saying.headings)) for saying in basis.sayings)
        for entity in basis.members:
            yield "\x1e".join((entity.id, entity.name, entity.type, *_if_any(entity.description)))
        for relation in basis.relations:
            told = _if_any(relation.description)
            yield "\x1e".join((relation.id, relation.predicate, repr(relation.weight), *told))
        for sentence, named in basis.sentences:
            typed = _stated_inside(sentence, named)
            yield "\x1e".join((sentence.digest, str(typed), *named))

    return content_id("f", *parts())


def _if_any(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _report(basis: _Basis, fingerprint: str) -> Report:
    findings = tuple(_findings(basis))
    weight = sum(relation.weight for relation in basis.relations) + len(basis.sentences)
    documents = {sentence.document_id for sentence, _ in basis.sentences}
    return Report(
        community_id=basis.community.id,
        level=basis.community.level,
        title=_title(basis),
        summary=_joined([finding.text for finding in findings[:MAX_SUMMARY_SENTENCES]]),
        rating=report_rating(weight, documents=len(documents)),
        findings=findings,
        fingerprint=fingerprint,
    )


def _findings(basis: _Basis) -> Iterator[Finding]:
    """Select findings greedily by novelty.

    An entity counts half each time it has been named, a document three quarters each time it has
    spoken. Near-duplicates of a chosen sentence are dropped; one in the same words adds its place.
    """
    waiting = [
        (sentence, named, sentence_words(sentence.text)) for sentence, named in _candidates(basis)
    ]
    named_before: Counter[str] = Counter()
    heard_before: Counter[str] = Counter()
    for _ in range(MAX_FINDINGS):
        if not waiting:
            return
        gains = [
            _score(sentence, named, basis=basis, named_before=named_before)
            * 0.75 ** heard_before[sentence.document_id]
            for sentence, named, _ in waiting
        ]
        best = max(range(len(waiting)), key=lambda number: (gains[number], -number))
        sentence, named, words = waiting[best]
        same = [other for other, _, others in waiting if others == words]
        yield Finding(text=sentence.text, evidences=_evidences(sentence, same))
        waiting = [one for one in waiting if not is_near_duplicate(words, one[2])]
        named_before.update(named)
        heard_before[sentence.document_id] += 1


def _candidates(basis: _Basis) -> list[tuple[Sentence, tuple[str, ...]]]:
    """Return the community's best sentences, best first, ties by place."""
    nothing: Counter[str] = Counter()
    scored = [
        (_score(sentence, named, basis=basis, named_before=nothing), number)
        for number, (sentence, named) in enumerate(basis.sentences)
    ]
    best = sorted((-score, number) for score, number in scored if score > 0)[:CANDIDATES]
    return [basis.sentences[number] for _, number in best]


def _score(
    sentence: Sentence, named: tuple[str, ...], *, basis: _Basis, named_before: Counter[str]
) -> float:
    """Score how much a sentence says about the community.

    Its members' centralities, the n-th greatest divided by n (a long list of names is not a good
    sentence), half a point more for each of up to two relations stated in it, times its quality.
    """
    shares = sorted(
        ((0.1 + basis.centrality[one]) * 0.5 ** named_before[one] for one in named), reverse=True
    )
    said = sum(share / (place + 1) for place, share in enumerate(shares))
    return (said + 0.5 * min(2, _stated_inside(sentence, named))) * sentence.quality


def _stated_inside(sentence: Sentence, named: tuple[str, ...]) -> int:
    return sum(source in named and target in named for source, target in sentence.stated)


def _evidences(sentence: Sentence, alike: Iterable[Sentence]) -> tuple[Evidence, ...]:
    """Return the sentence's place, then up to three duplicates in other documents."""
    places = [sentence]
    for other in alike:
        if len(places) < 4 and all(other.document_id != place.document_id for place in places):
            places.append(other)
    return tuple(Evidence(chunk_id=p.chunk_id, start=p.start, end=p.end) for p in places)


def _title(basis: _Basis) -> str:
    """Return key phrases and central names as title; a noun phrase counts half as a name."""
    named = Counter(entity_id for _, entity_ids in basis.sentences for entity_id in entity_ids)
    ranked = sorted(
        basis.members,
        key=lambda e: (
            -basis.centrality[e.id] * (0.5 if e.type == "CONCEPT" else 1.0),
            -named[e.id],
            e.name,
            e.id,
        ),
    )
    return title_of(ranked, basis.sayings, basis.centrality)


def _joined(sentences: list[str]) -> str:
    """Sentences as one text; no space between a full Chinese mark and what follows."""
    text = ""
    for sentence in sentences:
        text += sentence if not text or text[-1] in "。！？；…」』”》" else f" {sentence}"
    return text
