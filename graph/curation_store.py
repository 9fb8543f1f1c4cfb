"""A user's decisions in the database: kept, taken back, and put in order.

Whatever changes them raises the generation, so that all that is derived is brought up to them.
What they come to stands in `curation`.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, delete, func, insert, select

from .curation import Curation
from .errors import GraphInputError
from .facts import raise_generation
from .schema import curations


def read_curations(connection: Connection) -> list[Curation]:
    """Every decision, the earliest first."""
    rows = connection.execute(select(curations).order_by(curations.c.number))
    return [
        Curation(
            number=row.number,
            action=row.action,
            keys=tuple(json.loads(row.keys)),
            names=tuple(json.loads(row.names)),
            value=row.value,
        )
        for row in rows
    ]


def next_number(connection: Connection) -> int:
    """Return the next override number."""
    highest = connection.execute(select(func.max(curations.c.number))).scalar()
    return int(highest or 0) + 1


def put_curation(connection: Connection, curation: Curation) -> None:
    """Keep a decision under its number, and let all that is derived follow it."""
    connection.execute(
        insert(curations).values(
            number=curation.number,
            action=curation.action,
            keys=json.dumps(curation.keys, ensure_ascii=False),
            names=json.dumps(curation.names, ensure_ascii=False),
            value=curation.value,
        )
    )
    raise_generation(connection)


def delete_curation(connection: Connection, number: int) -> None:
    """Take a decision back.

    Raises:
        GraphInputError: no decision has this number.
    """
    gone = connection.execute(delete(curations).where(curations.c.number == number))
    if not gone.rowcount:
        raise GraphInputError(f"there is no decision {number}")
    raise_generation(connection)
