"""Progress on standard error: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from .terminal import format_count, plural

SECONDS_BETWEEN_LINES = 10.0


class Bar(Protocol):
    """A display of the progress of one activity."""

    def update(self, n: int = 1) -> object:
        """Add ``n`` to the number of finished items."""

    def close(self) -> None:
        """End the display."""


Progress = Callable[[str, str, int | None], Bar]
"""A function that starts a display of an activity, with the unit in the singular and the total,
None if unknown.
"""


def bar(doing: str, unit: str, total: int | None = None) -> Bar:
    """Start a display that becomes visible after two seconds on a terminal, and after ten seconds
    elsewhere.
    """
    if not sys.stderr.isatty():
        return Lines(doing, unit, total)
    from tqdm import tqdm

    running: Bar = tqdm(
        desc=doing, unit=f" {plural(unit)}", total=total, delay=2, dynamic_ncols=True
    )
    return running


class Lines:
    """Progress as lines for a log: at most one every ten seconds."""

    def __init__(
        self,
        doing: str,
        unit: str,
        total: int | None = None,
        *,
        clock: Callable[[], float] = monotonic,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._doing = doing
        self._unit = unit
        self._total = total
        self._clock = clock
        self._write = write or sys.stderr.write
        self._done = 0
        self._began = self._last = clock()

    def update(self, n: int = 1) -> None:
        """Add ``n`` to the number of finished items, and write a line if the last line is ten
        seconds old.
        """
        self._done += n
        now = self._clock()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            of = "" if self._total is None else f"{self._done:,} of "
            what = format_count(self._done if self._total is None else self._total, self._unit)
            self._write(f"{self._doing}: {of}{what} in {now - self._began:.0f} s\n")

    def close(self) -> None:
        """Write nothing, because the command reports its result."""


def silent(doing: str, unit: str, total: int | None) -> Bar:
    """Start a display that shows nothing."""
    return Lines(doing, unit, total, write=lambda _: None)
