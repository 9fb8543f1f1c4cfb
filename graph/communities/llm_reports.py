"""Community reports by a language model: prompts, validation, storage.

Several communities share one call. Every source is numbered, and a finding counts only if it names
numbers that were shown, so every finding has places in the corpus. A written report replaces the
extractive one of its fingerprint, and is deleted with it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from ..extraction.llm.json_repair import find_json, number_of
from ..llm import Prompt, fence, list_schema, load_prompt, object_schema
from ..model import OCCURS_WITH, Community, Entity, Evidence, Finding, Relation, Report
from ..storage.database import (
    derived_reports,
    read_communities,
    read_entities,
    read_relations,
    read_reports,
    write_findings,
)
from ..storage.facts import WRITTEN, in_batches, read_state, write_state
from ..storage.schema import members, reports, written_reports
from ..text.cjk import is_chinese

MAX_FINDINGS = 10
MAX_EVIDENCES = 4
MAX_ENTITIES = 20
TITLE_CHARACTERS, SUMMARY_CHARACTERS, FINDING_CHARACTERS = 120, 1_500, 800
MAX_QUOTES, QUOTE_CHARACTERS = 40, 500
MAX_OF_PART = 6
"""Findings shown of a part of a large community."""
OUTPUT_TOKENS = 900
"""Answer tokens for one report."""

_TEXT = {"type": "string"}
_SOURCES = {"type": "array", "items": {"type": "integer"}}
_REPORT = {
    "n": {"type": "integer"},
    "title": _TEXT,
    "summary": _TEXT,
    "rating": {"type": "number"},
    "reason": _TEXT,
    "findings": list_schema({"text": _TEXT, "sources": _SOURCES}),
}
SCHEMA = object_schema({"reports": list_schema(_REPORT)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBasis:
    """Input of a community report.

    `derived` is the extractive report that the written one will stand for. Where there are
    `children` (reports of the communities that this one is made of), they are what is shown.
    """

    community: Community
    derived: Report
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    children: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuote:
    """Sentence of a document, with the document's title and date; the date may be ""."""

    text: str
    title: str
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportMaterial:
    """One community as it is shown: the text, and the places behind each number in it."""

    basis: ReportBasis
    text: str
    places: Mapping[int, tuple[Evidence, ...]]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """Validated report of a model; `rating` is 0–10."""

    title: str
    summary: str
    rating: float
    rating_reason: str
    findings: tuple[Finding, ...]


def evidences_of(basis: ReportBasis) -> list[Evidence]:
    """Return the places of sentences to be shown: central ones, then those of relations by weight.

    The first place of each relation, up to `MAX_QUOTES` in all. Where parts are shown, the places
    of their findings.
    """
    if basis.children:
        return [
            finding.evidences[0]
            for report in basis.children
            for finding in report.findings[:MAX_OF_PART]
        ]
    central = [place for finding in basis.derived.findings for place in finding.evidences]
    told = [
        relation.evidences[0]
        for relation in sorted(basis.relations, key=lambda one: (-one.weight, one.id))
        if relation.evidences
    ]
    return list(dict.fromkeys([*central, *told]))[:MAX_QUOTES]


def report_material(
    basis: ReportBasis,
    *,
    quotes: Mapping[Evidence, ReportQuote] | None = None,
    budget_tokens: int,
    count: Callable[[str], int],
    first: int = 1,
) -> ReportMaterial:
    """Render a community for its report prompt within about `budget_tokens`.

    `quotes` are the sentences at `evidences_of` the community, shown below their document's title.
    """
    lines: list[str] = []
    places: dict[int, tuple[Evidence, ...]] = {}
    left = budget_tokens
    for text, evidences in (_children if basis.children else _own)(basis, quotes or {}):
        number = first + len(places)
        line = f"[{number}] {text}" if evidences else text
        size = count(line)
        if size > left:
            continue
        left -= size
        lines.append(line)
        if evidences:
            places[number] = evidences
    return ReportMaterial(
        basis=basis, text="\n".join(lines), places=places, tokens=budget_tokens - left
    )


def _children(
    basis: ReportBasis, quotes: Mapping[Evidence, ReportQuote]
) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Render child communities by weight: title, then findings."""
    lines: list[tuple[str, tuple[Evidence, ...]]] = []
    for report in sorted(basis.children, key=lambda one: (-one.rating, one.community_id)):
        lines.append((f"* {_plain(report.title)}", ()))
        for finding in report.findings[:MAX_OF_PART]:
            quote = None if report.written_by else quotes.get(finding.evidences[0])
            lines.append((_placed(finding.text, quote), finding.evidences))
    return lines


def _own(
    basis: ReportBasis, quotes: Mapping[Evidence, ReportQuote]
) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Central sentences first: they are what must not be lost to a budget; further ones last."""
    names = {entity.id: entity.name for entity in basis.entities}
    lines = [
        (_placed(finding.text, quotes.get(finding.evidences[0])), finding.evidences)
        for finding in basis.derived.findings
    ]
    central = {place for finding in basis.derived.findings for place in finding.evidences}
    ranked = sorted(basis.entities, key=lambda one: (-one.mention_count, one.name, one.id))
    lines += [
        (f"- {_plain(entity.name)} ({entity.type}){_said(entity.description)}", ())
        for entity in ranked[:MAX_ENTITIES]
    ]
    lines += [
        (
            f"{_plain(names[relation.source_id])} – {relation.predicate} – "
            f"{_plain(names[relation.target_id])}{_said(relation.description)}",
            relation.evidences[:MAX_EVIDENCES],
        )
        for relation in sorted(basis.relations, key=lambda one: (-one.weight, one.id))
        if relation.predicate != OCCURS_WITH
    ]
    seen = {_plain(finding.text) for finding in basis.derived.findings}
    for place, quote in quotes.items():
        text = _plain(quote.text)[:QUOTE_CHARACTERS]
        if place not in central and text not in seen:
            seen.add(text)
            lines.append((_placed(text, quote), (place,)))
    return lines


def _placed(text: str, quote: ReportQuote | None) -> str:
    """Return a sentence behind its document's title and date."""
    above = ", ".join(filter(None, (quote.title, quote.date))) if quote else ""
    return f"({_plain(above)}) {_plain(text)}" if above else _plain(text)


def _said(description: str) -> str:
    return f": {_plain(description)}" if description else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


def report_prompt(materials: Sequence[ReportMaterial]) -> Prompt:
    """Build the request for reports of these communities, in their main language."""
    texts = [f"# {n}\n{one.text}" for n, one in enumerate(materials, start=1)]
    body = "\n\n".join(texts)
    language = "zh" if is_chinese(body) else "en"
    mark = fence(body)
    return Prompt(
        system=load_prompt("report", language),
        user=f"<{mark}>\n{body}\n</{mark}>",
        max_output_tokens=OUTPUT_TOKENS * len(materials) + 100,
        schema=SCHEMA,
    )


def read_written(
    reply: str, materials: Sequence[ReportMaterial]
) -> tuple[dict[str, WrittenReport], dict[str, str]]:
    """By community id: the reports that can be used, and why others cannot.

    A report needs a title, a summary and one finding whose numbers were shown for its community.
    """
    read = find_json(reply)
    rows = _rows(read.values)
    found: dict[str, WrittenReport] = {}
    unusable: dict[str, str] = {}
    for number, one in enumerate(materials, start=1):
        name = one.basis.community.id
        row = rows.get(number)
        if row is None and len(materials) == len(rows) == 1:
            row = next(iter(rows.values()))  # it numbered its only report in a way of its own
        if row is None:
            unusable[name] = read.problem or "missing in the reply of the model"
            continue
        report = _checked(row, one)
        if isinstance(report, str):
            unusable[name] = report
        else:
            found[name] = report
    return found, unusable


def _rows(values: Sequence[object]) -> dict[int, Mapping[str, Any]]:
    """Parse reports by number; the first of a number counts."""
    listed: list[object] = []
    for value in values:
        inner = value.get("reports", value) if isinstance(value, dict) else value
        listed += inner if isinstance(inner, list) else [inner]
    rows: dict[int, Mapping[str, Any]] = {}
    for place, row in enumerate(listed, start=1):
        if isinstance(row, dict) and "title" in row:
            rows.setdefault(number_of(row, default=place), row)
    return rows


def _checked(row: Mapping[str, Any], one: ReportMaterial) -> WrittenReport | str:
    title, summary = (
        _text(row.get("title"), TITLE_CHARACTERS),
        _text(row.get("summary"), SUMMARY_CHARACTERS),
    )
    if not title or not summary:
        return "the model gave no title or no summary"
    listed = row.get("findings")
    findings = [
        finding
        for each in (listed if isinstance(listed, list) else [])[: 2 * MAX_FINDINGS]
        if (finding := _finding(each, one)) is not None
    ][:MAX_FINDINGS]
    if not findings:
        return "no finding of the model names its evidence"
    return WrittenReport(
        title=title,
        summary=summary,
        rating=_rating(row.get("rating"), otherwise=one.basis.derived.rating),
        rating_reason=_text(row.get("reason"), TITLE_CHARACTERS * 2),
        findings=tuple(findings),
    )


def _finding(row: object, one: ReportMaterial) -> Finding | None:
    if not isinstance(row, dict):
        return None
    text = re.sub(r"\s*\[\d+(?:\s*,\s*\d+)*\]", "", _text(row.get("text"), FINDING_CHARACTERS))
    numbers = [int(digits) for digits in re.findall(r"\d{1,6}", str(row.get("sources"))[:200])]
    places = [place for n in dict.fromkeys(numbers) for place in one.places.get(n, ())]
    if not text or not places:
        return None
    return Finding(text=text, evidences=tuple(dict.fromkeys(places))[:MAX_EVIDENCES])


def _text(value: object, limit: int) -> str:
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""


def _rating(value: object, *, otherwise: float) -> float:
    try:
        rating = float(str(value).strip().split("/")[0])
    except ValueError:
        return otherwise
    return otherwise if math.isnan(rating) else round(min(10.0, max(0.0, rating)), 4)


class ReportQueue:
    """Inputs of reports, read once.

    Only communities of at least `min_entities` are worth a model's report.
    """

    def __init__(self, connection: Connection, *, min_entities: int) -> None:
        self._communities = {one.id: one for one in read_communities(connection)}
        self._derived = {one.community_id: one for one in derived_reports(connection)}
        self._now = {one.community_id: one for one in read_reports(connection)}
        self._entities = {one.id: one for one in read_entities(connection)}
        self._relations = _by_source(read_relations(connection))
        self._parts = _parts(self._communities.values())
        self._min_entities = min_entities

    def unwritten(self, community_ids: Collection[str] | None = None) -> list[list[str]]:
        """Return communities without a model's report, of all or these, finest first.

        Each list holds the communities of one level, sorted: those of a finer one are to be written
        before, since the report of a large community is made of its parts'.
        """
        levels: dict[int, list[str]] = defaultdict(list)
        for key in sorted(self._now):
            community = self._communities[key]
            large = len(community.entity_ids) >= self._min_entities
            wanted = community_ids is None or key in community_ids
            if large and wanted and not self._now[key].written_by:
                levels[community.level].append(key)
        return [levels[level] for level in sorted(levels, reverse=True)]

    def basis(self, community_id: str) -> ReportBasis:
        """Return the input of one report."""
        community = self._communities[community_id]
        inside = frozenset(community.entity_ids)
        return ReportBasis(
            community=community,
            derived=self._derived[community_id],
            entities=tuple(self._entities[key] for key in community.entity_ids),
            relations=tuple(
                relation
                for key in community.entity_ids
                for relation in self._relations.get(key, ())
                if relation.target_id in inside
            ),
            children=tuple(
                self._now[part] for part in self._parts[community_id] if part in self._now
            ),
        )

    def note(self, community_id: str, written: Report) -> None:
        """Record a new report, since larger communities build on it."""
        self._now[community_id] = written

    def fingerprint(self, community_id: str) -> str:
        """Under which a community's written report is kept."""
        return self._derived[community_id].fingerprint


def unwritten_among(
    connection: Connection, community_ids: Collection[str], *, min_entities: int
) -> list[str]:
    """Return those of these communities that deserve and lack a model's report, sorted."""
    found: list[str] = []
    for batch in in_batches(community_ids):
        sizes = (
            select(members.c.community_id)
            .where(members.c.community_id.in_(batch))
            .group_by(members.c.community_id)
            .having(func.count() >= min_entities)
        )
        query = select(reports.c.community_id).where(
            reports.c.community_id.in_(sizes),
            reports.c.dirty.is_(False),
            reports.c.fingerprint.not_in(select(written_reports.c.fingerprint)),
        )
        found += connection.execute(query).scalars()
    return sorted(found)


def put_written(
    connection: Connection, found: Mapping[str, WrittenReport], *, model: str
) -> list[str]:
    """Store reports by fingerprint; return the fingerprints still in use.

    A report whose documents changed meanwhile is dropped: nothing may outlive what it rests on.
    """
    wanted = sorted(found)
    query = select(reports.c.fingerprint).where(reports.c.fingerprint.in_(wanted))
    held = sorted(set(connection.execute(query).scalars()))
    connection.execute(delete(written_reports).where(written_reports.c.fingerprint.in_(held)))
    rows = [
        {
            "fingerprint": fingerprint,
            "model": model,
            "title": found[fingerprint].title,
            "summary": found[fingerprint].summary,
            "rating": found[fingerprint].rating,
            "rating_reason": found[fingerprint].rating_reason,
            "findings": write_findings(found[fingerprint].findings),
        }
        for fingerprint in held
    ]
    if rows:
        connection.execute(insert(written_reports), rows)
        write_state(connection, WRITTEN, str(int(read_state(connection, WRITTEN) or 0) + 1))
    return held


def _by_source(found: Sequence[Relation]) -> dict[str, list[Relation]]:
    by_source: dict[str, list[Relation]] = defaultdict(list)
    for relation in found:
        by_source[relation.source_id].append(relation)
    return by_source


def _parts(communities: Collection[Community]) -> dict[str, list[str]]:
    """Return the children of each community, sorted; empty for a single one."""
    parts: dict[str, list[str]] = defaultdict(list)
    for community in sorted(communities, key=lambda one: one.id):
        if community.parent_id is not None:
            parts[community.parent_id].append(community.id)
    return defaultdict(list, {key: some for key, some in parts.items() if len(some) > 1})
