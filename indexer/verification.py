"""Verify an index: compare every file with the manifest and every view with the documents.

Repair damaged segments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..core.errors import FactseekError
from ..core.files import os_errors_reported
from ..core.progress import bar
from ..retrieval.store import manifest as manifests
from ..retrieval.store.documents import StoredDocument, checksum
from ..retrieval.store.index_folder import open_documents, open_leased
from ..retrieval.store.integrity import Fault, file_faults
from ..retrieval.store.manifest import DOCUMENTS, SEGMENTS, Manifest, SegmentInfo
from ..retrieval.views import SegmentPlace, Tools, views
from . import journal as journals
from .deletion import with_segments
from .encoders import Encoders
from .lock import locked
from .segment import Merge, merged_segments
from .settings import Config

MOST = 100
"""The maximum number of faults of one kind that are listed for a segment; the others are only
counted.
"""


class Verified(NamedTuple):
    """The result of a verification: the manifest, and the faults of its segments, then of the index
    as a whole.

    ``docids`` counts the undamaged copies of each document. ``intact`` names the segments without a
    damaged document.
    """

    manifest: Manifest
    faults: list[Fault]
    docids: Counter[str]
    intact: frozenset[str]

    @property
    def documents(self) -> int:
        """The number of undamaged documents."""
        return self.docids.total()


class Repaired(NamedTuple):
    """The result of a repair: the verification before it, the rebuilt segments, and the faults that
    are left.
    """

    verified: Verified
    segments: tuple[str, ...]
    left: list[Fault]


def verify(folder: Path, config: Config) -> Verified:
    """Check every segment of an index: its files against the manifest, and its views against the
    documents.
    """
    manifest, lease = open_leased(folder)
    with closing(lease):
        return verified_state(folder, manifest, config)


def verified_state(folder: Path, manifest: Manifest, config: Config) -> Verified:
    """Verify one state of an index. The caller makes sure that nobody removes a segment."""
    tools = Tools(folder, manifest, config, Encoders(config))
    seen: Counter[str] = Counter()
    faults: list[Fault] = []
    intact = set()
    with closing(
        bar("verifying", "passage", sum(segment.passages for segment in manifest.segments))
    ) as progress:
        for segment in manifest.segments:
            name = segment.name
            place = SegmentPlace(folder / SEGMENTS / name, name, segment.kind, segment.passages)
            document_faults = _faults(
                place.folder / DOCUMENTS, name, partial(_check_documents, tools, segment, seen)
            )
            if not document_faults:
                intact.add(name)
            of_segment = [*file_faults(place.folder, segment), *document_faults]
            for view in views(manifest):
                for check in view.checks(place, tools):
                    of_segment += _faults(place.folder / check.file, name, check.run)
            faults += dict.fromkeys(of_segment)  # several views read the documents
            progress.update(segment.passages)
    if len(intact) == len(manifest.segments):
        twice = [docid for docid, count in seen.items() if count > 1][:MOST]
        faults += [
            Fault(folder, f"document {docid!r} is in the index {seen[docid]} times", "")
            for docid in twice
        ]
        faults += [
            Fault(folder, what, "")
            for what in _differs("documents", seen.total(), manifest.documents)
        ]
    return Verified(manifest, faults, seen, frozenset(intact))


def repair(folder: Path, config: Config, *, wait: float = 0.0) -> Repaired:
    """Verify an index, rebuild its damaged segments from their documents, publish them, and verify
    the index again.

    Undamaged vectors are kept. A segment with damaged documents stays unchanged. Raises
    IndexStateError if there is no index, another process writes it, or damaged vectors come from an
    encoder other than the available one.
    """
    manifests.read(folder)
    with locked(folder, wait), os_errors_reported(folder):
        journals.sweep(folder)
        base = manifests.read(folder)
        verified = verified_state(folder, base, config)
        named = {fault.segment for fault in verified.faults}
        damaged = [segment for segment in base.segments if segment.name in named]
        repairable = [segment for segment in damaged if segment.name in verified.intact]
        if not repairable and (damaged or not verified.faults):
            return Repaired(verified, (), verified.faults)
        journals.clean(folder)
        segments = _made_again(folder, verified, repairable, config)
        if len(repairable) == len(damaged):
            manifest = with_segments(base, segments, folder)
        else:  # unreadable documents cannot be counted
            manifest = msgspec.structs.replace(base, segments=segments, created=manifests.now())
        manifests.publish(folder, manifest)
        journals.clean(folder)
        return Repaired(
            verified, tuple(segment.name for segment in repairable), verify(folder, config).faults
        )


def _made_again(
    folder: Path, verified: Verified, intact: list[SegmentInfo], config: Config
) -> tuple[SegmentInfo, ...]:
    base = verified.manifest
    with closing(Encoders(config)) as encoders:
        tools = Tools(folder, base, config, encoders)
        merges = []
        for segment in intact:  # a view with a damaged file cannot be copied
            damaged = {
                fault.path.name for fault in verified.faults if fault.segment == segment.name
            }
            rebuild = frozenset(view.name for view in views(base) if damaged & set(view.carried))
            merges.append(Merge([(folder, segment)], tools, mend=True, rebuild=rebuild))
        for view in views(base):
            if any(view.name in merge.rebuild for merge in merges):
                view.prepare(tools)
        return merged_segments(base.segments, merges, folder)


def _faults(path: Path, segment: str, check: Callable[[], Iterator[str]]) -> list[Fault]:
    faults, count = list[Fault](), 0
    try:
        for what in check():
            count += 1
            if count <= MOST:
                faults.append(Fault(path, what, segment))
    # Leave out its remedy, which the command prints once for all faults.
    except FactseekError as error:
        faults.append(
            Fault(Path(error.place) if error.place else path, " ".join(error.what.split()), segment)
        )
    if count > MOST:
        faults.append(Fault(path, f"and {count - MOST} more", segment))
    return faults


def _check_documents(tools: Tools, segment: SegmentInfo, seen: Counter[str]) -> Iterator[str]:
    """Yield the faults of a segment's documents; count each undamaged document in ``seen``."""
    with closing(open_documents(tools.folder, segment, check=False)) as documents:
        yield from _differs("documents", documents.counts[0], segment.documents)
        yield from _differs("passages", documents.counts[1], segment.passages)
        if outside := [row for row in segment.deleted if not 0 <= row < segment.documents]:
            yield f"has no document in row {outside[0]}, but the manifest lists it as deleted"
        for stored in documents.each_stored():
            document = stored.document
            if checksum(document) != stored.checksum:
                yield f"document {document.docid!r} does not match its checksum"
            elif not _fits(stored):
                yield f"document {document.docid!r} has passages that do not fit its text"
            else:
                seen[document.docid] += 1


def _differs(what: str, there: int, expected: int) -> Iterator[str]:
    if there != expected:
        yield f"contains {there} {what}, expected {expected}"


def _fits(stored: StoredDocument) -> bool:
    spans, size = stored.spans, len(stored.document.text)
    if any(not 0 <= span.start <= span.end <= size for span in spans):
        return False
    return all(
        span.number < after.number and span.start <= after.start for span, after in pairwise(spans)
    )
