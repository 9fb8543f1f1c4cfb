"""Requests that a model could not answer, recorded so that they are not repeated.

The line between what passes and what is final is drawn here, for all stages. Asked again by the
next run is whatever another hour may mend: nobody answered, too many requests, a budget that is
used up, a key or an account, a server that does not speak its protocol, an interruption. Final is
what the same model would say again of the same text: an answer that cannot be used after it was
asked once more, one that is too long even for half a text, a text that does not fit, and a refusal
of this request by a server that answered others in the same run. Final holds until what was asked
about, the model or its settings are others, or until `--retry` asks again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, insert, select

from ..errors import BudgetExceeded, ModelError, ModelInputTooLong, ModelOutputError
from ..llm.retry import status_of
from ..storage.graph_api import in_batches, write_state
from ..storage.library import Library
from ..storage.schema import unanswered

_REFUSALS = frozenset({400, 413, 415, 422, 451})
_FILTERS = ("content_filter", "content filter", "content_policy", "content management policy")
_ACCOUNT = ("credit", "billing", "balance", "quota", "api key", "api_key", "payment")


def is_final(error: ModelError, *, heard: bool) -> bool:
    """Check whether repeating the request would fail in the same way.

    Args:
        error: why a call came to nothing.
        heard: whether the model answered anything in this run: its settings then hold, and a
            refusal is about what was asked.
    """
    if isinstance(error, BudgetExceeded):
        return False
    if isinstance(error, ModelInputTooLong):
        return True
    if isinstance(error, ModelOutputError):
        return error.__cause__ is None  # else a server that does not speak its protocol
    cause = error.__cause__
    if cause is None or status_of(cause) not in _REFUSALS:
        return False
    said = f"{error} {cause}".casefold()
    if any(word in said for word in _ACCOUNT):
        return False
    return heard or any(word in said for word in _FILTERS)


JUDGED = "judged"
"""Key of the state table: the generation in which no pair of names was left to be judged."""


class Unanswered:
    """Of one stage, and of one model with its settings.

    Args:
        library: where it is kept.
        stage: what calls are booked under.
        asker: the model with all that decides its answers.
    """

    def __init__(self, library: Library, *, stage: str, asker: str) -> None:
        self._library = library
        self._stage = stage
        self._asker = asker

    def reasons(self, keys: Collection[str] | None = None) -> dict[str, str]:
        """Why the model is not asked about these things any more, by key; None is about all."""
        with self._library.read() as connection:
            rows = connection.execute(
                select(unanswered.c.key, unanswered.c.reason)
                .where(unanswered.c.stage == self._stage, unanswered.c.asker == self._asker)
                .order_by(unanswered.c.key)
            )
            return {key: reason for key, reason in rows if keys is None or key in keys}

    def keep(self, reasons: Mapping[str, str], *, asked: Collection[str]) -> None:
        """Keep these, and nothing about what is no longer `asked` about."""
        held = self.reasons()
        wanted = {key: why for key, why in {**held, **reasons}.items() if key in asked}
        if wanted == held:
            return
        with self._library.write() as connection:
            self._drop(connection, held.keys() - wanted.keys())
            fresh = {key: why for key, why in wanted.items() if held.get(key) != why}
            self._drop(connection, held.keys() & fresh.keys())
            if fresh:
                connection.execute(
                    insert(unanswered),
                    [
                        {"stage": self._stage, "asker": self._asker, "key": key, "reason": why}
                        for key, why in sorted(fresh.items())
                    ],
                )

    def _drop(self, connection: Connection, keys: Collection[str]) -> None:
        for batch in in_batches(keys):
            connection.execute(
                delete(unanswered).where(
                    unanswered.c.stage == self._stage,
                    unanswered.c.asker == self._asker,
                    unanswered.c.key.in_(batch),
                )
            )


def forget_unanswered(library: Library) -> None:
    """Let the next run ask about everything again."""
    with library.write() as connection:
        connection.execute(delete(unanswered))
        write_state(connection, JUDGED, "")
