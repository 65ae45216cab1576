"""Views: what a segment holds beside its documents, made from them. One file a kind, found by its name.

The manifest names the views of an index and describes each. ``vectors`` is a view of the kind ``vectors``, and so is
``vectors:multilingual``: what follows the colon tells several of a kind apart. A module of this package is a kind. It
has two functions::

    describe(name, config, encoders) -> dict | None   what the manifest is to say of it in a new index; None: not there
    view(name, manifest) -> View                      the view of this name in an index

The folder of a segment is written once: first the documents, with every view that is written passage by passage beside
them, then, when these are durable, the views that are made afterwards. Nothing else needs to know which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..config import Config
from ..dense.encoder import Encoder
from ..domain import Document, Span
from ..errors import IndexStateError
from ..plugins import Plugins
from ..store.documents import SegmentDocuments
from ..store.index_folder import IndexFolder
from ..store.manifest import DOCUMENTS, EncoderInfo, Manifest, SegmentInfo

Encoders = Callable[[str, EncoderInfo | None], Encoder]
"""Return the encoder of the view of this name, opened when it is first asked for: the one that made its vectors, if an
index has some, else the one that is to make them."""


class Tools(NamedTuple):
    """The tools that views are made with: the folder they are written into, the manifest that describes them."""

    folder: IndexFolder
    manifest: Manifest
    config: Config
    encoders: Encoders


class SegmentPlace(NamedTuple):
    """A segment as its views see it; the number of its passages is 0 while its documents are being written."""

    folder: Path
    name: str
    kind: str
    passages: int = 0

    def documents(self) -> SegmentDocuments:
        """Open all its documents, also those that a manifest says are deleted."""
        return SegmentDocuments(self.folder / DOCUMENTS)


class OpenSegment(NamedTuple):
    """A live segment that is searched: its folder, what the manifest says of it, and its documents."""

    folder: Path
    info: SegmentInfo
    documents: SegmentDocuments


class Merged(NamedTuple):
    """A segment of which some rows go, in their order, into a new one."""

    segment: SegmentPlace
    rows: NDArray[np.int64]


class PassageSink(Protocol):
    """Takes the documents of a segment while they are written; what a kind does not need, it inherits."""

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        """Take the next document with its passages."""
        ...

    def end(self) -> None:
        """Take note that no document comes any more: what :meth:`finish` waits for may begin, beside other sinks'."""
        return

    def finish(self) -> None:
        """Close; what was taken is complete and will be made durable."""
        ...

    def abandon(self) -> None:
        """Close without keeping anything."""
        ...


class Check(NamedTuple):
    """A check of a segment, under the name of a file: each fault in words."""

    file: str
    run: Callable[[], Iterator[str]]


class View(Protocol):
    """One view of an index; what a kind does not need, it inherits."""

    name: str

    @property
    def carried(self) -> tuple[str, ...]:
        """The files of a segment that :meth:`copy` reads: if one is damaged, a repair calls :meth:`complete`."""
        return ()

    def owns(self, file: str) -> bool:
        """Return whether a file, by its path in the segment, is this view's."""
        ...

    def prepare(self, tools: Tools) -> None:
        """Raise IndexStateError or MachineError, before any work, if what the view is made with is not there."""
        return

    def sink(self, segment: SegmentPlace, tools: Tools) -> PassageSink | None:
        """Return what takes the documents while they are written, or None if the view is made afterwards."""
        return None

    def complete(self, segment: SegmentPlace, tools: Tools) -> None:
        """Write, from the documents, what :meth:`sink` has not written; go on where an interrupted call stopped."""
        return

    def copy(self, parts: Sequence[Merged], segment: SegmentPlace, tools: Tools) -> None:
        """Write the view of a segment that rows of others were merged into."""
        self.complete(segment, tools)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        """Return what can be checked of the view of a segment beyond the checksums of its files."""
        return ()

    def open(self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config) -> Any:
        """Open the view over all segments of an index at once.

        Raises IndexStateError, naming the file, if it cannot be read.
        """
        ...


class ViewKind(Protocol):
    """The interface of a module of this package."""

    def describe(self, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        """Return what the manifest is to say of the view in a new index; None: it is not there."""
        ...

    def view(self, name: str, manifest: Manifest) -> View:
        """Return the view of this name in the index that ``manifest`` describes."""
        ...


_KINDS: Plugins[ViewKind] = Plugins(__name__, IndexStateError, "kind of view", "this factseek has")


def kinds() -> list[str]:
    """Return the names of the kinds of view."""
    return _KINDS.names()


def view(name: str, manifest: Manifest) -> View:
    """Return the view of this name in the index that ``manifest`` describes.

    Raises IndexStateError if this factseek does not know its kind.
    """
    return _kind(name).view(name, manifest)


def views(manifest: Manifest) -> list[View]:
    """Return all views of an index.

    Raises IndexStateError if this factseek does not know the kind of one.
    """
    return [view(name, manifest) for name in sorted(manifest.views)]


def descriptions(
    config: Config, encoders: Encoders, *, without: Sequence[str] = (), further: Sequence[str] = ()
) -> Mapping[str, dict[str, Any]]:
    """Return the views of a new index, each with its description: one of each kind but those ``without``.

    ``further`` names views in addition: ``vectors:multilingual``.
    Raises IndexStateError if there is no kind of the name of a further one, MachineError if an encoder is missing.
    """
    names = [kind for kind in kinds() if kind not in without] + list(further)
    described = {name: _kind(name).describe(name, config, encoders) for name in sorted(names)}
    return {name: description for name, description in described.items() if description is not None}


def _kind(name: str) -> ViewKind:
    return _KINDS.load(name.partition(":")[0])
