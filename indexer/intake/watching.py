"""Watch feeds: fetch them again and again, and index what is new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...core.errors import UserError
from ...retrieval.store.manifest import NAME
from ..build import BuildReport, BuildRequest, build
from ..settings import Config
from .run import IntakeRequest, fetch_sources


@dataclass(frozen=True, slots=True)
class FeedOutcome:
    """What one look at a feed gave: the report of its build, if there was anything new, and lines
    about what failed.
    """

    feed: str
    report: BuildReport | None
    failures: tuple[str, ...] = ()


class FeedWatch:
    """Looks at feeds every so many seconds; the first look is at once."""

    def __init__(
        self,
        request: BuildRequest,
        intake: IntakeRequest,
        config: Config,
        every: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the request for a build, and for the feeds, its sources, that are fetched for it."""
        self._request, self._intake = request, intake
        self._config, self._every, self._clock = config, every, clock
        self._next_look = clock()

    def look(self) -> Iterator[FeedOutcome]:
        """Look at every feed, if it is time to; yield what was new or failed, a feed at a time."""
        if self._clock() < self._next_look:
            return
        self._next_look = self._clock() + self._every
        for feed in self._intake.sources:
            outcome = self._look_at(feed)
            if outcome.report is not None or outcome.failures:
                yield outcome

    def _look_at(self, feed: str) -> FeedOutcome:
        folder: Path = self._request.folder
        is_there = (folder / NAME).is_file()
        intake = replace(self._intake, sources=(feed,), fresh=not is_there)
        try:
            with fetch_sources(intake, self._config) as fetched:
                report = None
                if fetched.sources:
                    request = replace(
                        self._request,
                        kind=fetched.kind,
                        sources=fetched.sources,
                        places=fetched.places,
                        verb="update" if is_there else "",
                    )
                    report = build(request, self._config)
        except UserError as error:  # it may be another one the next time
            return FeedOutcome(feed, None, (error.line,))
        return FeedOutcome(feed, report, tuple(fetched.failures))
