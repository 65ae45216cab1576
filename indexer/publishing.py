"""Publishing for the holder of an index's lock: its documents looked up, put and removed in one step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval.store import manifest as manifests
from ..retrieval.store.documents import state_of
from ..retrieval.store.index_folder import IndexFolder
from ..retrieval.store.manifest import SourceInfo
from . import journal as journals
from .build import BuildRequest, build_locked
from .deletion import publish_without
from .document_line import KIND
from .encoders import Encoders
from .jobs import JOBS
from .settings import Config

SOURCE = SourceInfo(name="http", bytes=0, sha256="")
"""Every document that comes this way has the same source, so that the list of sources does not grow."""


class DocumentState(NamedTuple):
    """A published document: the checksum of its content and the name of its state."""

    checksum: str
    state: str


class Held:
    """The published documents of an index, for the holder of its lock."""

    def __init__(self, folder: Path) -> None:
        """Open the published documents.

        Raises IndexStateError if there is no index any more.
        """
        self._segments = [IndexFolder(folder).documents(info) for info in manifests.read(folder).segments]

    def state_of_document(self, docid: str) -> DocumentState | None:
        """Return checksum and state of a document, or None if the index does not hold it."""
        for documents in self._segments:
            seen = documents.seen(docid)
            if seen:
                return DocumentState(seen[0], state_of(seen[0], documents.spans(docid)))
        return None

    def close(self) -> None:
        """Close the documents."""
        for documents in self._segments:
            documents.close()


def put(folder: Path, lines: Sequence[str], config: Config, encoders: Encoders | None = None) -> None:
    """Publish documents; each replaces the published one of its docid.

    ``lines`` are those of :func:`factseek.indexer.document_line.exported`, each docid once. The caller holds the
    index's lock. Raises what a build raises; what was published before stays then.
    """
    source = folder / JOBS / "batch"
    journals.clean(folder)  # two batches look alike: none may go on from the other
    try:
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        request = BuildRequest(kind=KIND, sources=(source,), folder=folder, verb="update")
        # The index has its analyzer, whatever is configured for new ones.
        index = msgspec.structs.replace(config.index, analyzer="")
        build_locked(request, msgspec.structs.replace(config, index=index), (SOURCE,), encoders)
    finally:
        if source.is_file():
            source.unlink()


def remove(folder: Path, docids: Sequence[str]) -> None:
    """Publish that documents are no longer there; the caller holds the index's lock."""
    publish_without(folder, manifests.read(folder), docids)


def held(folder: Path) -> closing[Held]:
    """Open the published documents of an index, and close them after use."""
    return closing(Held(folder))
