"""User overrides of entity resolution: merge, split, rename and retype entities.

Decisions beat every rule, are kept in the library, and act again when names come back that were
gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..arguments import checks_types
from ..ingest.document import sanitise_text
from ..storage.graph_api import (
    NamedEntity,
    OverrideEffect,
    OverrideState,
    delete_curation,
    find_entities,
    graph_errors,
    plan_decision,
    plan_undo,
    put_curation,
    standing_decisions,
)
from ..storage.library import Library


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityName:
    """A name as it is looked up, and why it belongs to its entity."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRow:
    """An entity as it is listed; `aliases` are its other spellings in the documents."""

    id: str
    name: str
    type: str
    aliases: tuple[str, ...]
    names: tuple[EntityName, ...]
    mentions: int
    documents: int
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationChange:
    """A decision and what it changes: the entities that it touches, before and after.

    `written` is false for a plan.
    """

    number: int
    action: str
    names: tuple[str, ...]
    value: str
    before: tuple[EntityRow, ...]
    after: tuple[EntityRow, ...]
    written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """A stored override; `entities` are its targets, `waits_for` names not yet present."""

    number: int
    action: str
    names: tuple[str, ...]
    value: str
    entities: tuple[str, ...]
    waits_for: tuple[str, ...]


class EntityEditor:
    """Entities, and the decisions about them.

    Args:
        library: where decisions are kept.
        derive: brings all that is derived up to the library; called after each decision, under the
            writer's lock.
    """

    def __init__(self, library: Library, *, derive: Callable[[], object]) -> None:
        self._library = library
        self._derive = derive

    @checks_types
    def list(self, query: str = "", *, limit: int = 50) -> list[EntityRow]:
        """Entities one of whose names contains the query, the most mentioned first."""
        with graph_errors(), self._library.read() as connection:
            found = find_entities(connection, sanitise_text(query), limit=limit)
            return [_row(each) for each in found]

    @checks_types
    def merge(self, names: Sequence[str], *, dry_run: bool = False) -> CurationChange:
        """Merge the entities of these names; the first name's entity gives the label.

        A name is any name of an entity, or an entity's id.

        Raises:
            GraphStageError: a name that is unknown or means several things, or nothing to do.
            LibraryBusy: another process went on writing for too long.
        """
        return self._decide("merge", names, dry_run=dry_run)

    @checks_types
    def split(self, names: Sequence[str], *, dry_run: bool = False) -> CurationChange:
        """Split these names off their entity; no rule merges them again. Raises as `merge`."""
        return self._decide("split", names, dry_run=dry_run)

    @checks_types
    def rename(self, name: str, new_name: str, *, dry_run: bool = False) -> CurationChange:
        """Rename the entity of this name; raises as `merge`."""
        return self._decide("rename", [name], value=new_name, dry_run=dry_run)

    @checks_types
    def retype(self, name: str, new_type: str, *, dry_run: bool = False) -> CurationChange:
        """Change the entity type of this name; raises as `merge` and for an empty type."""
        return self._decide("retype", [name], value=new_type, dry_run=dry_run)

    def decisions(self) -> tuple[DecisionRow, ...]:
        """Every decision that stands, the earliest first."""
        with graph_errors(), self._library.read() as connection:
            return tuple(_decision(each) for each in standing_decisions(connection))

    @checks_types
    def undo(self, number: int, *, dry_run: bool = False) -> CurationChange:
        """Take a decision back; what rules and the other decisions say holds again.

        Raises:
            GraphStageError: no decision has this number.
            LibraryBusy: another process went on writing for too long.
        """
        if dry_run:
            with graph_errors(), self._library.read() as connection:
                return _change(plan_undo(connection, number), action="undo", written=False)
        with self._library.writer():
            with self._library.write() as connection, graph_errors():
                effect = plan_undo(connection, number)
                delete_curation(connection, number)
            self._derive()
        return _change(effect, action="undo", written=True)

    def _decide(
        self, action: str, names: Sequence[str], *, value: str = "", dry_run: bool
    ) -> CurationChange:
        if dry_run:
            with graph_errors(), self._library.read() as connection:
                effect = plan_decision(connection, action, names=names, value=value)
            return _change(effect, action=action, written=False)
        with self._library.writer():
            with self._library.write() as connection, graph_errors():
                effect = plan_decision(connection, action, names=names, value=value)
                put_curation(connection, effect.curation)
            self._derive()
        return _change(effect, action=action, written=True)


def _change(effect: OverrideEffect, *, action: str, written: bool) -> CurationChange:
    return CurationChange(
        number=effect.curation.number,
        action=action,
        names=effect.curation.names,
        value=effect.curation.value,
        before=_rows(effect.before),
        after=_rows(effect.after),
        written=written,
    )


def _rows(some: Iterable[NamedEntity]) -> tuple[EntityRow, ...]:
    return tuple(_row(each) for each in some)


def _row(named: NamedEntity) -> EntityRow:
    entity = named.entity
    return EntityRow(
        id=entity.id,
        name=entity.name,
        type=entity.type,
        aliases=entity.aliases,
        names=tuple(EntityName(key=key, reason=named.reasons[key]) for key in entity.keys),
        mentions=entity.mention_count,
        documents=entity.document_count,
        description=entity.description,
    )


def _decision(standing: OverrideState) -> DecisionRow:
    return DecisionRow(
        number=standing.curation.number,
        action=standing.curation.action,
        names=standing.curation.names,
        value=standing.curation.value,
        entities=tuple(entity.name for entity in standing.entities),
        waits_for=standing.missing,
    )
