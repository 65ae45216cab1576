"""Publish documents while holding the index's lock; check bulks and cut them into slices."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval.store import manifest as manifests
from ..retrieval.store.documents import checksum, state_of
from ..retrieval.store.index_folder import IndexFolder
from ..retrieval.store.manifest import SourceInfo
from . import journal as journals
from .build import BuildRequest, build_locked
from .collections.jsonl import Refused, exported, read_line, unread_date
from .encoders import Encoders
from .queue import JOBS, Job
from .settings import Config

SOURCE = SourceInfo(name="http", bytes=0, sha256="")
"""Every document that arrives over HTTP has this one source, so that the list of sources does not grow."""
SLICE = 200
"""The most documents of a bulk to publish together: a change to a single document waits for no more than these."""


class DocumentState(NamedTuple):
    """A published document: the checksum of its content and the name of its state."""

    checksum: str
    state: str


StateOfDocument = Callable[[str], DocumentState | None]
"""Return the state of the document with a docid, or None if the index does not contain it."""


@contextmanager
def published_documents(folder: Path) -> Iterator[StateOfDocument]:
    """Yield a function that looks up published documents of an index. The caller holds the index's lock."""
    with IndexFolder(folder).opened(manifests.read(folder).segments) as segments:

        def state_of_document(docid: str) -> DocumentState | None:
            for documents in segments:
                if seen := documents.seen(docid):
                    return DocumentState(seen[0], state_of(seen[0], documents.spans(docid)))
            return None

        yield state_of_document


def put(folder: Path, lines: Sequence[str], config: Config, encoders: Encoders | None = None) -> None:
    """Publish documents. Each replaces the published document with the same docid.

    ``lines`` come from :func:`factseek.indexer.collections.jsonl.exported`; no docid occurs twice. The caller holds the
    index's lock. Raises the same errors as a build; what was published before the error stays.
    """
    source = folder / JOBS / "batch"
    journals.clean(folder)  # all batches have the same fingerprint: none may resume another
    try:
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        request = BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb="update")
        # The index keeps its own analyzer; the configured one applies only to new indexes.
        index = msgspec.structs.replace(config.index, analyzer="")
        build_locked(request, msgspec.structs.replace(config, index=index), (SOURCE,), encoders)
    finally:
        source.unlink(missing_ok=True)


class _Item(NamedTuple):
    """A document of a job: its exported line, or the reason why it is refused.

    ``repeated`` means that an earlier item is the same. ``unread_date`` is the document's date if it was not
    understood.
    """

    number: int
    docid: str = ""
    line: str = ""
    checksum: str = ""
    refused: str = ""
    repeated: bool = False
    unread_date: str = ""


class Bulk:
    """A job with its documents."""

    def __init__(self, job: Job, lines: Sequence[bytes], language: str) -> None:
        """Check the documents of a job, each a line of JSON. ``language`` is that of documents that give none."""
        self.job = job
        self._items: list[_Item] = []
        first: dict[str, _Item] = {}
        for number, line in enumerate(lines, 1):
            item = _item(number, line, language)
            if not item.refused and (before := first.setdefault(item.docid, item)) is not item:
                reason = f"docid {item.docid!r} is already item {before.number}, with different content"
                same = before.checksum == item.checksum
                item = item._replace(repeated=True) if same else item._replace(refused=reason)
            self._items.append(item)

    @property
    def done(self) -> bool:
        """Whether all documents are handled."""
        return self.job.handled >= len(self._items)

    def next(self, live: StateOfDocument, newer: Container[str] = ()) -> tuple[Job, list[str]]:
        """Return the state of the job after its next documents are published, and the lines of these documents.

        ``newer`` contains the docids of documents changed after the job was accepted. The job skips these documents.
        """
        after = msgspec.structs.replace(self.job, refusals=[*self.job.refusals], skips=[*self.job.skips])
        lines = []
        for item in self._items[self.job.handled : self.job.handled + SLICE]:
            after.handled += 1
            if item.docid in newer and not item.refused:
                after.skip(item.number, item.docid)
            elif _counted(after, item, live):
                lines.append(item.line)
        return after, lines


def _counted(job: Job, item: _Item, live: StateOfDocument) -> bool:
    """Count an item by its result, and return whether to write it."""
    if item.refused:
        job.refuse(item.number, item.docid, item.refused)
        return False
    if item.unread_date:
        job.unread_dates += 1
        job.unread_date = job.unread_date or f"{item.unread_date[:40]!r} (item {item.number})"
    there = live(item.docid)
    other = there is not None and there.checksum != item.checksum
    if other and job.mode == "append" and not item.repeated:
        reason = f"docid {item.docid!r} already exists with different content; send it with mode=update to replace it"
        job.refuse(item.number, item.docid, reason)
    elif item.repeated or (there and not other):
        job.unchanged += 1
    else:
        job.replaced += other
        job.added += not other
        return True
    return False


def _item(number: int, line: bytes, language: str) -> _Item:
    document = read_line(line.decode("utf-8", "replace"), language)
    if isinstance(document, Refused):
        return _Item(number, refused=document.reason)
    try:
        digest = checksum(document)
        return _Item(number, document.docid, exported(document, digest), digest, unread_date=unread_date(document))
    except RecursionError:
        return _Item(number, document.docid, refused="is nested too deeply")
