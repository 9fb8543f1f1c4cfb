"""Storage of name-pair verdicts.

A judgement goes when one of its names goes. What it comes to stands in `resolve`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, and_, delete, insert, select

from .judge_names import Judgement
from .schema import judgements


def read_judgements(connection: Connection) -> list[Judgement]:
    """Every judgement, sorted by its two keys."""
    query = select(judgements).order_by(judgements.c.first_key, judgements.c.second_key)
    return [
        Judgement(
            first_key=row.first_key,
            second_key=row.second_key,
            verdict=row.verdict,
            reason=row.reason,
            model=row.model,
        )
        for row in connection.execute(query)
    ]


def put_judgements(connection: Connection, values: Iterable[Judgement]) -> None:
    """Keep judgements; one of the same pair replaces another."""
    for value in sorted(values):
        delete_judgement(connection, value.first_key, value.second_key)
        connection.execute(
            insert(judgements).values(
                first_key=value.first_key,
                second_key=value.second_key,
                verdict=value.verdict,
                reason=value.reason,
                model=value.model,
            )
        )


def delete_judgement(connection: Connection, first_key: str, second_key: str) -> None:
    """Forget what was said of a pair."""
    pair = and_(judgements.c.first_key == first_key, judgements.c.second_key == second_key)
    connection.execute(delete(judgements).where(pair))


def forget_judgements(connection: Connection, known_keys: Collection[str]) -> int:
    """Delete verdicts whose names no longer exist; return their number."""
    gone = [
        value
        for value in read_judgements(connection)
        if value.first_key not in known_keys or value.second_key not in known_keys
    ]
    for value in gone:
        delete_judgement(connection, value.first_key, value.second_key)
    return len(gone)
