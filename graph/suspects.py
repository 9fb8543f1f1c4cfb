"""Derivation that survives documents whose facts it cannot take.

Where deriving from all facts raises an unexpected error, the documents at fault are found by
leaving out ever fewer, and their facts are deleted; text and vectors stay, and each of their
chunks gets a fault. Which ones these are depends on the documents alone, not on their order of
arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from sqlalchemy import Connection, select

from .facts import batches, delete_facts_of
from .fault_store import DERIVE, FAILED, put_faults
from .isolation import Fault, isolated
from .schema import chunks

FEW = 8
"""Maximum number of documents that are left out, or a tenth of all where that is more: beyond it
the fault is taken for the derivation's own, and no facts are deleted."""

T = TypeVar("T")


def derived_without_suspects(connection: Connection, derive: Callable[[], T]) -> T:
    """Return what `derive` returns, if need be without the facts of some documents.

    Takes about log2(documents) attempts for each document at fault, none where nothing fails.

    Raises:
        Exception: what `derive` raised, where it does so without any document's facts, too, or
            where more than a few documents would have to be left out.
    """
    done = _attempt(connection, derive, without=())
    if not isinstance(done, Fault):
        return done
    fault, blamed = done, list[str]()
    suspects = list(connection.execute(select(chunks.c.document_id).distinct()).scalars())
    suspects.sort()
    most = max(FEW, len(suspects) // 10)
    while isinstance(done, Fault):
        count = 0
        if len(blamed) < most:
            count = _fewest(connection, derive, suspects=suspects, blamed=blamed)
        if count == 0:
            raise fault.error or RuntimeError(fault.reason)
        blamed.append(suspects[count - 1])
        suspects = suspects[: count - 1]
        done = _attempt(connection, derive, without=blamed, why=fault.reason)
    for document_id in blamed:
        fault.log(document_id)
    return done


def _fewest(
    connection: Connection,
    derive: Callable[[], object],
    *,
    suspects: Sequence[str],
    blamed: Sequence[str],
) -> int:
    """The smallest count of first suspects without which nothing fails.

    0 where none is enough.
    """

    def fails(count: int) -> bool:
        left_out = [*blamed, *suspects[:count]]
        return isinstance(_attempt(connection, derive, without=left_out, keep=False), Fault)

    if not suspects or fails(len(suspects)):
        return 0
    low, high = 0, len(suspects)  # it fails without the first `low`, not without the first `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


def _attempt(
    connection: Connection,
    derive: Callable[[], T],
    *,
    without: Collection[str],
    why: str = "",
    keep: bool = True,
) -> T | Fault:
    """Derive within a savepoint, which goes where that fails or is not to be kept."""
    with connection.begin_nested() as savepoint:
        _leave_out(connection, without, why=why)
        done = isolated(derive, stage=DERIVE)
        if isinstance(done, Fault) or not keep:
            savepoint.rollback()
    return done


def _leave_out(connection: Connection, documents: Collection[str], *, why: str) -> None:
    for batch in batches(documents):
        query = select(chunks.c.id).where(chunks.c.document_id.in_(batch))
        inside = connection.execute(query).scalars().all()
        delete_facts_of(connection, inside, extractor=f"{FAILED}{DERIVE}")
        put_faults(connection, dict.fromkeys(inside, why), stage=DERIVE)
