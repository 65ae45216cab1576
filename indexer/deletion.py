"""Deletion of documents: the manifest lists the deleted documents of each segment, and readers
leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..core.domain import Filter
from ..core.files import os_errors_reported
from ..retrieval.filters import matches
from ..retrieval.store import manifest as manifests
from ..retrieval.store.documents import SegmentDocuments, state_of
from ..retrieval.store.index_folder import all_documents
from ..retrieval.store.manifest import Manifest, SegmentInfo
from . import journal as journals
from .lock import locked
from .queue import record_command


class Deleted(NamedTuple):
    """The result of a deletion: the number of deleted documents, and the docids that the index did
    not contain.
    """

    documents: int
    unknown: tuple[str, ...]


def delete(
    folder: Path, docids: Sequence[str], *, where: Filter | None = None, wait: float = 0.0
) -> Deleted:
    """Delete from an index the documents with these docids and those that match ``where``, and
    publish the rest.

    Raises IndexStateError if there is no index, or if another process writes it for longer than
    ``wait`` seconds.
    """
    manifests.read(folder)
    with locked(folder, wait), os_errors_reported(folder):
        before = manifests.read(folder)
        with all_documents(folder, before.segments) as opened:
            there = {
                docid
                for docid in docids
                if any(documents.row(docid) is not None for documents in opened)
            }
            going = [*there]
            for segment, documents in zip(before.segments, opened, strict=True):
                passing = (
                    each
                    for each in documents.each()
                    if where and matches(where, each, segment.kind)
                )
                going += [document.docid for document in passing]
        gone = publish_without(folder, before, going)
        # A waiting bulk must add none of these documents.
        record_command(folder, dict.fromkeys([*docids, *going]))
    return Deleted(gone, tuple(docid for docid in dict.fromkeys(docids) if docid not in there))


def publish_without(folder: Path, before: Manifest, docids: Iterable[str]) -> int:
    """Publish the index without these documents; return how many were deleted.

    The caller holds the index's lock.
    """
    segments = without(folder, before.segments, docids)
    if segments == before.segments:
        journals.sweep(folder)
        return 0
    after = with_segments(before, segments, folder)
    manifests.publish(folder, after)
    journals.clean(folder)
    return before.documents - after.documents


def deleted_version(
    opened: Sequence[SegmentDocuments], docid: str, state: str
) -> tuple[int, int] | None:
    """Return the number of the newest segment that has a deleted version of a document in this
    state, and its row there, or None if a compaction dropped it.
    """
    for number in reversed(range(len(opened))):
        version = opened[number].look_up_deleted(docid)
        if version and state_of(version[1], opened[number].spans(docid)) == state:
            return number, version[0]
    return None


def publish_restored(folder: Path, before: Manifest, versions: Iterable[tuple[str, str]]) -> None:
    """Publish the index with deleted versions of documents, each a docid with its state, in place
    of the published ones.

    The caller holds the index's lock, and has seen with :func:`deleted_version` that the index has
    them.
    """
    versions = list(versions)
    segments = list(without(folder, before.segments, [docid for docid, _ in versions]))
    with all_documents(folder, before.segments) as opened:
        for docid, state in versions:
            found = deleted_version(opened, docid, state)
            if found is None:
                continue
            number, row = found
            kept = tuple(deleted for deleted in segments[number].deleted if deleted != row)
            segments[number] = msgspec.structs.replace(segments[number], deleted=kept)
    manifests.publish(folder, with_segments(before, tuple(segments), folder))
    journals.clean(folder)


def without(
    folder: Path, segments: Sequence[SegmentInfo], docids: Iterable[str]
) -> tuple[SegmentInfo, ...]:
    """Return the segments with these documents marked as deleted."""
    rows: list[set[int]] = [set(segment.deleted) for segment in segments]
    with all_documents(folder, segments) as opened:
        for docid in docids:
            for documents, deleted in zip(opened, rows, strict=True):
                if (row := documents.row(docid)) is not None:
                    deleted.add(row)
    return tuple(
        msgspec.structs.replace(segment, deleted=tuple(sorted(deleted)))
        for segment, deleted in zip(segments, rows, strict=True)
    )


def with_segments(shape: Manifest, segments: tuple[SegmentInfo, ...], folder: Path) -> Manifest:
    """Return the manifest ``shape`` with these segments, their numbers of documents and passages,
    and the time.
    """
    with all_documents(folder, [segment for segment in segments if segment.deleted]) as opened:
        gone = sum(len(documents.deleted_rows()) for documents in opened)
    return msgspec.structs.replace(
        shape,
        created=manifests.now(),
        versions=manifests.versions(),
        documents=live_documents(segments),
        passages=sum(segment.passages for segment in segments) - gone,
        segments=segments,
    )


def live_documents(segments: Sequence[SegmentInfo]) -> int:
    """Return the number of documents that are not deleted."""
    return sum(segment.documents - len(segment.deleted) for segment in segments)
