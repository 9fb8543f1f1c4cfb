"""Shared state of an application's routes: engine, limiters, jobs, tokens, metrics."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from ...facade import KnowledgeEngine
from ...settings import Settings
from .jobs import Jobs
from .lanes import ThreadLimiter
from .metrics import LibraryFigures, Metrics
from .principal import Principal
from .problems import Problem
from .rate import RateLimit
from .tokens import TokenStore, tokens_file
from .uploads import UploadFolder

_LOOKING_AT_ONCE = 4


class Service:
    """One library as it is served.

    Args:
        engine: open; closed by whoever opened it.
        settings: all sections.
        place: the library's folder.
    """

    def __init__(self, engine: KnowledgeEngine, *, settings: Settings, place: Path) -> None:
        serve = settings.serve
        self.engine = engine
        self.settings = settings
        self.tokens = TokenStore(tokens_file(settings, place))
        self.rate = RateLimit(serve.requests_per_minute, clock=time.monotonic)
        self.asking = ThreadLimiter("asking", at_once=serve.concurrency, waiting=serve.max_waiting)
        self.looking = ThreadLimiter("looking", at_once=_LOOKING_AT_ONCE, waiting=serve.max_waiting)
        self.incoming = UploadFolder(place / "incoming")
        self.incoming.open()
        self.jobs = Jobs(
            self.incoming.jobs_file,
            most_waiting=serve.max_jobs,
            elsewhere=self.incoming.jobs_of_others,
        )
        self.metrics = Metrics()
        self.metrics.registry.register(
            LibraryFigures(stats=engine.stats, usage=engine.usage, jobs=self.jobs.counts)
        )

    @property
    def is_busy(self) -> bool:
        """Check whether a thread is still working."""
        return self.jobs.is_busy or self.asking.is_busy or self.looking.is_busy

    def close(self) -> None:
        """End what goes on; a job in hand gets a moment."""
        self.jobs.close()
        self.asking.close()
        self.looking.close()
        self.incoming.close()


def _service(request: Request) -> Service:
    found = request.app.state.service
    if not isinstance(found, Service):
        raise Problem(503, "starting", "the library is not open yet", headers={"Retry-After": "2"})
    return found


def _principal(request: Request) -> Principal:
    found = request.state.principal
    if not isinstance(found, Principal):  # the gate puts one there, always
        raise Problem(401, "unauthorised", "nobody")
    return found


ServiceHere = Annotated[Service, Depends(_service)]
Caller = Annotated[Principal, Depends(_principal)]
