"""One reader a kind of source, each in a file named after its kind and found by that name.

A reader module has three names::

    SUMMARY: str                     one line for ``factseek index --help``
    SPLIT: bool                      whether its documents are split into passages by default
    def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]

``read`` streams: it holds one document at a time, whatever the size of the collection. It yields documents in
an order that depends on the sources alone, so that an interrupted build can go on where it stopped. What it
cannot read it reports with ``options.bad_lines.report(place, reason)``, which raises unless bad lines are
tolerated; what it leaves out on purpose it counts with ``options.skipped``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from ...retrieval.domain import Document, Span
from ...retrieval.errors import SourceError
from ...retrieval.plugins import Plugins


class Record(NamedTuple):
    """A document as it was read, with its place (``file:line`` or ``file``) for messages.

    ``spans`` is given by kinds whose passages are fixed by the source (a FEVER page's sentences);
    ``None`` leaves the splitting to the indexer.
    """

    document: Document
    place: str
    spans: tuple[Span, ...] | None = None


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
                "mend it, or tolerate some with --skip-bad-lines N"
                if self.limit == 0
                else f"it is bad line {self.count}, --skip-bad-lines allows {self.limit}"
            )
            raise SourceError(f"{message}; {remedy}")


@dataclass(slots=True)
class ReadOptions:
    """What every reader is given.

    ``language`` is set on documents whose source does not say (``""``: unknown); ``max_line_bytes`` bounds a
    line of text and ``max_file_bytes`` a file that has to be read whole (an HTML page, a JSON parse).
    ``skipped`` counts, by reason, what a reader left out on purpose.
    """

    language: str = ""
    max_line_bytes: int = 10_000_000
    max_file_bytes: int = 50_000_000
    bad_lines: BadLines = field(default_factory=BadLines)
    skipped: Counter[str] = field(default_factory=Counter)


class Reader(Protocol):
    """What a module of this package offers."""

    SUMMARY: str
    SPLIT: bool

    def read(self, sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
        """Yield the documents of ``sources`` in a fixed order."""
        ...


READERS = Plugins[Reader](__name__, SourceError, "kind of source", "the kinds are")
kinds, reader = READERS.names, READERS.load
