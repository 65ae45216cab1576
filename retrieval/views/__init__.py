"""Views: the data of a segment that is derived from its documents.

One file per kind, found by its name.

The manifest names the views of an index and describes each. ``vectors`` is a view of the kind
``vectors``, and so is ``vectors:multilingual``: the part after the colon distinguishes views of one
kind. Each module of this package is a kind, and its class :class:`View` is called ``view``.

The folder of a segment is written once. The documents are written first, together with every view
that is written passage by passage. When these are durable, the other views follow. No other code
needs to distinguish these two groups of views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Document, Span
from ...core.errors import IndexStateError
from ...core.plugins import Plugins
from ..config import Config
from ..store.documents import SegmentDocuments
from ..store.manifest import DOCUMENTS, VIEW_NAME, EncoderInfo, Manifest, SegmentInfo

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

Encoders = Callable[[str, EncoderInfo | None], "Encoder"]
"""A function that returns a view's encoder, opened on first use: the one that made its vectors,
else the configured.
"""


class Tools(NamedTuple):
    """The tools that make views: the folder to write to, its manifest, the configuration and the
    encoders.
    """

    folder: Path
    manifest: Manifest
    config: Config
    encoders: Encoders


class SegmentPlace(NamedTuple):
    """What a view needs to know about a segment; ``passages`` is 0 while the documents are being
    written.
    """

    folder: Path
    name: str
    kind: str
    passages: int = 0

    def documents(self) -> SegmentDocuments:
        """Open all documents of the segment, including the deleted ones."""
        return SegmentDocuments(self.folder / DOCUMENTS)


class OpenSegment(NamedTuple):
    """A live segment, open for searching; ``base`` is the number of its first row among all rows of
    the index.
    """

    folder: Path
    info: SegmentInfo
    documents: SegmentDocuments
    base: int = 0


class Merged(NamedTuple):
    """A segment and the rows, in order, that a merge copies into a new segment."""

    segment: SegmentPlace
    rows: NDArray[np.int64]


class PassageSink(Protocol):
    """Receives the documents of a segment while they are written.

    A kind of view overrides only what it needs.
    """

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        """Add the next document with its passages."""

    def end(self) -> None:
        """Learn that all documents have been added.

        A sink may now start its last work, in parallel with other sinks; :meth:`finish` waits for
        this work.
        """
        return

    def finish(self) -> None:
        """Close the sink: all data has been added, and the caller makes it durable."""

    def abandon(self) -> None:
        """Close without keeping anything."""
        return


class Check(NamedTuple):
    """A check of a segment, named after a file; it yields each fault in words."""

    file: str
    run: Callable[[], Iterator[str]]


class View(Protocol):
    """One view of an index. A kind of view overrides only what it needs."""

    name: str
    optional: bool = False
    """Whether a new index has such a view only if the user asks for it."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        self.name = name

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        """Return the description of the view in the manifest of a new index; None if the index has
        no such view.
        """
        return {}

    @property
    def carried(self) -> tuple[str, ...]:
        """The files of a segment that :meth:`copy` reads.

        If one is damaged, a repair calls :meth:`complete`.
        """
        return ()

    def owns(self, file: str) -> bool:
        """Return whether a file, by its path in the segment, belongs to this view."""

    def prepare(self, tools: Tools) -> None:
        """Raise IndexStateError or MachineError, before any work, if a tool that the view needs is
        missing.
        """
        return

    def sink(self, segment: SegmentPlace, tools: Tools) -> PassageSink | None:
        """Return a sink for the documents while they are written, or None if the view is made
        afterwards.
        """
        return None

    def complete(self, segment: SegmentPlace, tools: Tools) -> None:
        """Write, from the documents, what :meth:`sink` did not write; continue where an interrupted
        call stopped.
        """
        return

    def copy(self, parts: Sequence[Merged], segment: SegmentPlace, tools: Tools) -> None:
        """Write the view of a segment that was merged from rows of other segments."""
        self.complete(segment, tools)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        """Return the checks of the view of a segment beyond the checksums of its files."""
        return ()

    def open(self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config) -> Any:
        """Open the view over all segments at once.

        Raises IndexStateError, naming the file, if it cannot be read.
        """


class ViewKind(Protocol):
    """The interface of a module of this package."""

    view: type[View]


_KINDS: Plugins[ViewKind] = Plugins(__name__, IndexStateError, "kind of view", "this factseek has")


kinds = _KINDS.names


def view(name: str, manifest: Manifest) -> View:
    """Return the view of this name in an index.

    Raises IndexStateError if this version does not know its kind.
    """
    return _kind(name).view(name, manifest)


def views(manifest: Manifest) -> list[View]:
    """Return all views of an index."""
    return [view(name, manifest) for name in sorted(manifest.views)]


def descriptions(
    config: Config, encoders: Encoders, *, without: Sequence[str] = (), further: Sequence[str] = ()
) -> Mapping[str, dict[str, Any]]:
    """Return the descriptions of a new index's views by name: each kind that is neither optional
    nor in ``without``, and ``further``.
    """
    usual = [kind for kind in kinds() if not _kind(kind).view.optional]
    names = set(usual).difference(without).union(further)
    described = {name: _kind(name).view.describe(name, config, encoders) for name in sorted(names)}
    return {name: description for name, description in described.items() if description is not None}


def is_optional(name: str) -> bool:
    """Return whether a view of this name is one that an index has only if the user asks for it,
    such as ``impacts:NAME``.
    """
    kind = name.partition(":")[0]
    return bool(VIEW_NAME.fullmatch(name)) and kind in kinds() and _kind(kind).view.optional


def _kind(name: str) -> ViewKind:
    return _KINDS.load(name.partition(":")[0])
