"""Readers, one for each kind of source. A reader's file has the name of its kind.

A reader module defines these names::

    SUMMARY: str                     one line for ``factseek index --help``
    FILES: Sequence[Files]           the forms of file that it reads, each with the columns that
                                     identify this kind of source; it may be empty
    def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]

and, where they differ from the default::

    SPLIT = True                     the indexer splits its documents into passages; it has no
                                     effect on a record with ``spans``
    SENTENCES = True                 its passages are numbered sentences: evidence shows each whole,
                                     and a document cannot be changed over HTTP
    WHOLE_FOLDER = True              reading a document needs other files of its folder, so
                                     ``watch`` reads the whole folder again after each change
    COLUMNS = True                   it reads tables, and takes the names of columns, the sheet and
                                     the header row from its options
    FILTER_FIELDS: Sequence[str]     the metadata fields to filter by, unless others are configured

``read`` streams: it keeps one document at a time in memory. The order of its documents depends only
on the sources, so that an interrupted build can resume. It reports lines that it cannot read with
``options.bad_lines.report(place, reason)``, which raises an error if too many lines are bad. It
names what it leaves out on purpose with ``options.leave_out(place, reason)``, or counts it in
``options.skipped`` if there would be too many names. It reads only regular files, and refuses an
empty source. To add a kind of source, add such a module to this folder. Decorate a reader of tables
or lines with :func:`dated`: the whole file then decides the order of its dates. Find files with
``_files.expand``, read lines with ``_lines.read_lines`` and make documents with
``_documents.make_record``: they fulfil most of this contract. A reader of tables starts from
``claims.py``: ``_documents.table_columns`` says which columns to look for, ``_tables.each_sheet``
and ``_tables.read_whole_rows`` check the header and yield the rows of every dialect, and
``_documents.kept_columns`` gives the metadata.

The page shows the name of a kind as it is, unless ``NAMES`` in ``server/page/rankings.py`` has a
label for it, which ``server/page/texts`` translates.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from ...core.domain import Document, Span
from ...core.errors import SourceError
from ...core.plugins import Plugins
from ...core.records.dates import clean_date, order_of
from ...core.records.table_shape import Form

Files = tuple[Form, frozenset[str]]
"""A form of file, and column names or keys (in lower case) that identify a kind of source in this
form.
"""
RECORDS: tuple[Form, ...] = ("tabs", "commas", "JSON lines")
"""The usual forms of a file of records with names."""

ALL_SHEETS = "all"
"""The name that stands for all sheets of a workbook."""
MOST_NAMED = 100_000
"""The maximum number of names of left-out things in memory; the others are only counted."""


class Record(NamedTuple):
    """A document as it was read, with its place (``file:line`` or ``file``) for messages.

    ``spans`` is given if the source fixes the passages (a FEVER page's sentences); passages have no
    metadata of their own. ``known_by`` is given if other documents may share the docid. An update
    then replaces only a document of the same file or, for ``text``, with the same text.
    """

    document: Document
    place: str
    spans: tuple[Span, ...] | None = None
    known_by: Literal["", "text", "file"] = ""


class LeftOut(NamedTuple):
    """A file, or a place in a file, that a reader left out on purpose, and the reason."""

    place: str
    reason: str


@dataclass(slots=True)
class BadLines:
    """The lines that could not be read. More than ``limit`` bad lines raise an error.

    ``places`` has other names of places, such as the addresses of pages in a temporary file.
    """

    limit: int = 0
    count: int = 0
    places: Mapping[str, str] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def report(self, place: str, reason: str, remedy: str = "fix it") -> None:
        """Count one bad line.

        Raises SourceError, with place and reason, if more than ``limit`` lines were reported.
        """
        self.count += 1
        place = self.places.get(place, place)
        message = f"{place}: {reason}"
        if len(self.examples) < 20:
            self.examples.append(message)
        if self.count > self.limit:
            remedy = (
                f"{remedy}, or skip bad lines with --skip-bad-lines N"
                if self.limit == 0
                else f"{remedy} (it is bad line {self.count}), or allow more than {self.limit} "
                "with --skip-bad-lines"
            )
            raise SourceError(reason, place=place, remedy=remedy)


@dataclass(slots=True)
class UnreadDates:
    """The number of dates that could not be read, the first of them with its place, and how many
    are ambiguous.
    """

    count: int = 0
    either: int = 0
    example: str = ""


@dataclass(slots=True)
class ReadOptions:
    """The options of every reader.

    ``language`` is the language of documents whose source gives none (``""``: unknown).
    ``archive`` is the file that keeps the archived pages, if the documents are to name it.
    ``max_line_bytes`` limits the length of a line of text, ``max_file_bytes`` the length of a file
    that is read whole (a web page, a JSON file). ``dates`` is the order of a date such as 3/5/2020
    (``day-first`` or ``month-first``) if its file does not show the order. ``columns`` maps fields
    to the names of table columns. ``sheet`` names the sheet of a workbook (``""``: the first with
    content, ``ALL_SHEETS``: every one), and ``header_row`` is the number of the row with the names
    of the columns (0: to be found). ``notes`` lists the reader's guesses and hints. ``skipped``
    counts, by reason, the things that a reader left out on purpose; ``left_out`` lists those that
    the reader named, at most ``MOST_NAMED``. ``unread_dates`` counts the dates that are kept as
    written and cannot be used to filter.
    """

    language: str = ""
    archive: str = ""
    max_line_bytes: int = 10_000_000
    max_file_bytes: int = 50_000_000
    dates: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str = ""
    header_row: int = 0
    notes: list[str] = field(default_factory=list)
    bad_lines: BadLines = field(default_factory=BadLines)
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: list[LeftOut] = field(default_factory=list)
    unread_dates: UnreadDates = field(default_factory=UnreadDates)
    look_ahead: Callable[[ReadOptions], Iterator[Record]] | None = None
    orders: dict[str, set[str]] = field(default_factory=dict)

    def date(self, place: object, written: str) -> str:
        """Return a date as ISO 8601, or count it as unread and return ``""``.

        The order of an ambiguous date is that of the other dates of its file. If these have no
        order in common, the order is ``dates``.
        """
        if not written:
            return ""
        order: str = order_of(written)
        file = re.sub(r"[:#]\d+$", "", str(place))
        if order == "either":
            if self.look_ahead is not None:
                look, self.look_ahead = self.look_ahead, None
                ahead = replace(self.silent(), orders={})
                with suppress(SourceError):  # the real read reports this error
                    deque(look(ahead), maxlen=0)
                self.orders = ahead.orders
            known = self.orders.get(file, set())
            order = next(iter(known)) if len(known) == 1 else self.dates
        elif order:
            self.orders.setdefault(file, set()).add(order)
        date = clean_date(written, order)
        if not date:
            self.unread_dates.count += 1
            self.unread_dates.either += order_of(written) == "either"
            self.unread_dates.example = self.unread_dates.example or f"{written[:40]!r} ({place})"
        return date

    def named(self, path: Path) -> str:
        """Return a file as a place for messages, with the sheet that is read if one was chosen."""
        return f"{path}[{self.sheet}]" if self.sheet and self.sheet != ALL_SHEETS else str(path)

    def note(self, what: str) -> None:
        """Keep a note for the user, unless the same note was kept before."""
        if what not in self.notes:
            self.notes.append(what)

    def leave_out(self, place: object, reason: str) -> None:
        """Count a thing that is left out on purpose, and keep its name."""
        self.skipped[reason] += 1
        if len(self.left_out) < MOST_NAMED:
            name = self.bad_lines.places.get(str(place), str(place))
            self.left_out.append(LeftOut(name, reason))

    def silent(self) -> ReadOptions:
        """Return a copy for a first pass: it has the same limits, but reports nothing and accepts
        all bad lines.
        """
        lines, dates = BadLines(limit=sys.maxsize), UnreadDates()
        return replace(
            self, bad_lines=lines, skipped=Counter(), left_out=[], unread_dates=dates, notes=[]
        )


Read = Callable[[Sequence[Path], ReadOptions], Iterator[Record]]
"""A function that reads the documents of sources in a fixed order."""


def dated(read: Read) -> Read:
    """Decorate a reader: at the first ambiguous date, the reader searches its sources for the order
    of their dates.
    """

    @wraps(read)
    def reading(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
        options.look_ahead, options.orders = partial(read, sources), {}
        yield from read(sources, options)

    return reading


class Reader(Protocol):
    """The interface of a reader module."""

    SUMMARY: str
    FILES: Sequence[Files]

    def read(self, sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
        """Yield the documents of ``sources`` in a fixed order."""
        ...


READERS = Plugins[Reader](__name__, SourceError, "kind of source", "the kinds are")
kinds, reader = READERS.names, READERS.load
