"""One reader a kind of source, each in a file named after its kind and found by that name.

A reader module says itself what others need to know of its kind::

    SUMMARY: str                     one line for ``factseek index --help``
    SPLIT: bool                      whether its documents are split into passages by default
    SENTENCES: bool                  whether its passages are sentences already, each named by its number
    WHOLE_FOLDER: bool               whether a document takes its name or parts from other files of its folder
    FILES: Sequence[Files]           the forms of file that it reads, with columns that such a file has: for messages
    def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]

``read`` streams: it holds one document at a time, whatever the size of the collection. It yields documents in
an order that depends on the sources alone, so that an interrupted build can go on where it stopped. What it
cannot read it reports with ``options.bad_lines.report(place, reason)``, which raises unless bad lines are
tolerated; what it leaves out on purpose it names with ``options.leave_out(place, reason)``, or counts in
``options.skipped`` where names would be without number. It reads regular files only, and refuses a source that is
empty. A module of this shape, put into this folder, is a kind of source everywhere: nothing else names kinds.
A reader of tables or of lines is decorated with :func:`dated`, which lets a whole file tell how its dates are written.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import NamedTuple, Protocol

from ...retrieval.domain import Document, Span
from ...retrieval.errors import SourceError
from ...retrieval.plugins import Plugins
from ...retrieval.records.dates import clean_date, order_of
from ...retrieval.records.table_shape import Form

Files = tuple[Form, frozenset[str]]
"""A form of file, and names of columns or keys (in small letters) by which one of a kind is known."""

MOST_NAMED = 100_000
"""Names of things left out that are kept; the rest is counted: a bound on memory."""


class Record(NamedTuple):
    """A document as it was read, with its place (``file:line`` or ``file``) for messages.

    ``spans`` is given by kinds whose passages are fixed by the source (a FEVER page's sentences);
    ``None`` leaves the splitting to the indexer.
    """

    document: Document
    place: str
    spans: tuple[Span, ...] | None = None


class LeftOut(NamedTuple):
    """A file, or a place in one, that a reader left out on purpose, and why."""

    place: str
    reason: str


@dataclass(slots=True)
class BadLines:
    """The lines that could not be read: tolerated and counted up to ``limit``, then an error."""

    limit: int = 0
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def report(self, place: str, reason: str) -> None:
        """Count one bad line.

        Raises SourceError, naming place and reason, when more than ``limit`` were reported.
        """
        self.count += 1
        message = f"{place}: {reason}"
        if len(self.examples) < 20:
            self.examples.append(message)
        if self.count > self.limit:
            remedy = (
                "fix it, or skip bad lines with --skip-bad-lines N"
                if self.limit == 0
                else f"this is bad line {self.count}; --skip-bad-lines allows {self.limit}"
            )
            raise SourceError(reason, place=place, remedy=remedy)


@dataclass(slots=True)
class UnreadDates:
    """How many dates could not be read, ``either`` of them for want of an order, with the first and its place."""

    count: int = 0
    either: int = 0
    example: str = ""


@dataclass(slots=True)
class ReadOptions:
    """The options of every reader.

    ``language`` is set on documents whose source does not say (``""``: unknown); ``max_line_bytes`` bounds a
    line of text and ``max_file_bytes`` a file that has to be read whole (an HTML page, a JSON parse). ``dates`` is the
    order of a date such as 3/5/2020 (``day-first`` or ``month-first``) where its file does not tell it;
    ``columns`` names the column of a field of a table. ``notes`` says what was guessed.
    ``skipped`` counts, by reason, what a reader left out on purpose, ``left_out`` names the first ``MOST_NAMED`` of it.
    ``unread_dates`` counts the dates that are kept as they were written, and by which nothing can be filtered.
    """

    language: str = ""
    max_line_bytes: int = 10_000_000
    max_file_bytes: int = 50_000_000
    dates: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bad_lines: BadLines = field(default_factory=BadLines)
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: list[LeftOut] = field(default_factory=list)
    unread_dates: UnreadDates = field(default_factory=UnreadDates)
    look_ahead: Callable[[ReadOptions], Iterator[Record]] | None = None
    orders: dict[str, set[str]] = field(default_factory=dict)

    def date(self, place: object, written: str) -> str:
        """Return a date as ISO 8601, or count it as unread and return ``""``.

        Where it may be read in two ways, the other dates of its file decide, if they agree, else ``dates``.
        """
        order: str = order_of(written)
        file = re.sub(r"[:#]\d+$", "", str(place))
        if order == "either":
            if self.look_ahead is not None:
                look, self.look_ahead = self.look_ahead, None
                ahead = replace(self.silent(), orders={})
                try:
                    for _ in look(ahead):
                        pass
                except SourceError:  # the reading itself comes to it
                    pass
                self.orders = ahead.orders
            known = self.orders.get(file, set())
            order = next(iter(known)) if len(known) == 1 else self.dates
        elif order:
            self.orders.setdefault(file, set()).add(order)
        date = clean_date(written, order)
        if written and not date:
            self.unread_dates.count += 1
            self.unread_dates.either += order_of(written) == "either"
            self.unread_dates.example = self.unread_dates.example or f"{written[:40]!r} ({place})"
        return date

    def note(self, what: str) -> None:
        """Keep what was guessed, once."""
        if what not in self.notes:
            self.notes.append(what)

    def leave_out(self, place: object, reason: str) -> None:
        """Count a thing that is left out on purpose, and keep its name."""
        self.skipped[reason] += 1
        if len(self.left_out) < MOST_NAMED:
            self.left_out.append(LeftOut(str(place), reason))

    def silent(self) -> ReadOptions:
        """Return the same limits for a first look, which reports nothing and tolerates all."""
        lines, dates = BadLines(limit=sys.maxsize), UnreadDates()
        return replace(self, bad_lines=lines, skipped=Counter(), left_out=[], unread_dates=dates, notes=[])


Read = Callable[[Sequence[Path], ReadOptions], Iterator[Record]]
"""What reads the documents of sources in a fixed order."""


def dated(read: Read) -> Read:
    """Let the first date that may be read in two ways make a reader look through its sources for what decides."""

    @wraps(read)
    def reading(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
        options.look_ahead, options.orders = partial(read, sources), {}
        yield from read(sources, options)

    return reading


class Reader(Protocol):
    """The interface of a module of this package."""

    SUMMARY: str
    SPLIT: bool
    SENTENCES: bool
    WHOLE_FOLDER: bool
    FILES: Sequence[Files]

    def read(self, sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
        """Yield the documents of ``sources`` in a fixed order."""
        ...


READERS = Plugins[Reader](__name__, SourceError, "kind of source", "the kinds are")
kinds, reader = READERS.names, READERS.load
