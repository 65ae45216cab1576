"""The documents of a bulk job: checked one by one, divided into slices that are published one after the other."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval.files import read_regular
from ..retrieval.store.documents import checksum
from .document_line import Refused, exported, read_line
from .jobs import Job, payload
from .publishing import Held

SLICE = 200
"""Documents that are published together: who changes a single document waits for no more than these."""


class BulkItem(NamedTuple):
    """A document of a job: its line as it is exported, or why it is refused.

    ``repeated`` says that an item before it is the same.
    """

    number: int
    docid: str = ""
    line: str = ""
    checksum: str = ""
    refused: str = ""
    repeated: bool = False


class Bulk:
    """A job with its documents."""

    def __init__(self, folder: Path, job: Job, language: str) -> None:
        """Read and check the documents of a job; ``language`` is that of documents that do not say."""
        self.job = job
        self._items = checked(read_regular(payload(folder, job.id)).split(b"\n")[:-1], language)

    @property
    def done(self) -> bool:
        """Whether nothing is left to be written."""
        return self.job.handled >= len(self._items)

    def next(self, live: Held, overtaken: Container[str] = ()) -> tuple[Job, list[str]]:
        """Return the lines to be put next, and the job as it is when they have been published.

        Documents that were ``overtaken`` by single changes are left as they are.
        """
        after = msgspec.structs.replace(self.job, refusals=[*self.job.refusals], skips=[*self.job.skips])
        lines = []
        for item in self._items[self.job.handled : self.job.handled + SLICE]:
            after.handled += 1
            if item.docid in overtaken and not item.refused:
                after.skip(item.number, item.docid)
            elif _counted(after, item, live):
                lines.append(item.line)
        return after, lines


def _counted(job: Job, item: BulkItem, live: Held) -> bool:
    """Count an item by what becomes of it; return whether it is to be written."""
    there = None if item.refused else live.state_of_document(item.docid)
    other = there is not None and there.checksum != item.checksum
    if item.refused:
        job.refuse(item.number, item.docid, item.refused)
    elif other and job.mode == "append" and not item.repeated:
        reason = f"docid {item.docid!r} is there already, with other content; send it with mode=update to replace it"
        job.refuse(item.number, item.docid, reason)
    elif item.repeated or (there and not other):
        job.unchanged += 1
    else:
        job.replaced += other
        job.added += not other
        return True
    return False


def checked(lines: Sequence[bytes], language: str) -> list[BulkItem]:
    """Return documents, a line of JSON each, checked by themselves and against each other, numbered from 1.

    Of two with the same docid and other content the first counts and the second is refused.
    """
    items: list[BulkItem] = []
    first: dict[str, BulkItem] = {}
    for number, line in enumerate(lines, 1):
        item = _item(number, line, language)
        before = None if item.refused else first.setdefault(item.docid, item)
        if before is not None and before is not item:
            if before.checksum == item.checksum:
                item = item._replace(repeated=True)
            else:
                reason = f"docid {item.docid!r} stands at item {before.number} already, with other content"
                item = item._replace(refused=reason)
        items.append(item)
    return items


def _item(number: int, line: bytes, language: str) -> BulkItem:
    document = read_line(line.decode("utf-8", "replace"), language)
    if isinstance(document, Refused):
        return BulkItem(number, refused=document.reason)
    try:
        return BulkItem(number, document.docid, exported(document), checksum(document))
    except RecursionError:
        return BulkItem(number, document.docid, refused="is nested too deeply")
