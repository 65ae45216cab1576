"""Verification of an index: every file against the manifest, every part against the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..retrieval.documents import StoredDocument, checksum
from ..retrieval.errors import FactseekError
from ..retrieval.index_folder import IndexFolder
from ..retrieval.integrity import Fault, file_faults
from ..retrieval.manifest import DOCUMENTS, Manifest, SegmentInfo
from ..retrieval.progress import bar
from ..retrieval.shards.layout import owner
from ..retrieval.views import SegmentPlace, Tools, views
from . import generation as generations
from .encoders import Encoders
from .generation import Generation
from .settings import Config

MOST = 100
"""Faults of a kind that are named in a segment; the rest is counted."""


class Verified(NamedTuple):
    """The result of a verification: the manifest, and the faults by segment; those of the whole index stand at ``""``.

    ``documents`` counts those that are whole, ``intact`` names the segments whose documents all are.
    """

    manifest: Manifest
    faults: dict[str, list[Fault]]
    documents: int
    intact: frozenset[str]

    @property
    def all_faults(self) -> list[Fault]:
        """The faults of all segments."""
        return [fault for faults in self.faults.values() for fault in faults]


class VerifiedPart(NamedTuple):
    """The verification of one part of an index, and how often each whole document of it was seen."""

    verified: Verified
    seen: Counter[str]


def verify(folder: Path, config: Config) -> Verified:
    """Check every segment of an index: its files against the manifest, its parts against each other.

    Of a sharded index, the segments are named with the shards that they are in.
    Raises IndexStateError if there is no index that can be read, or a shard is missing.
    """
    with generations.leased(folder) as state:
        return whole(state, verified_parts(state, config))


def verified_parts(state: Generation, config: Config) -> list[VerifiedPart]:
    """Verify each part of an index by itself; the caller sees to it that nobody removes a segment."""
    return [_verified(part.folder, part.published, config) for part in state.parts]


def whole(state: Generation, parts: Sequence[VerifiedPart]) -> Verified:
    """Return the verification of an index whose parts were verified: that of the one, or of all and their routing."""
    if not state.is_sharded:
        return parts[0].verified
    faults: dict[str, list[Fault]] = {}
    for path, (verified, _) in zip(state.paths, parts, strict=True):
        faults |= {in_shard(path, name): _named(path, of_segment) for name, of_segment in verified.faults.items()}
    if routed := list(_routing_faults(state, [part.seen for part in parts])):
        faults[""] = routed
    intact = (
        in_shard(path, name) for path, part in zip(state.paths, parts, strict=True) for name in part.verified.intact
    )
    return Verified(state.manifest, faults, sum(part.verified.documents for part in parts), frozenset(intact))


def in_shard(path: str, segment: str) -> str:
    """Return the name of a segment of a part with the path of its shard, if the part is one."""
    return f"{path}/{segment}".rstrip("/") if path else segment


def _named(path: str, faults: Sequence[Fault]) -> list[Fault]:
    return [fault._replace(segment=in_shard(path, fault.segment)) for fault in faults]


def _routing_faults(state: Generation, seen: Sequence[Counter[str]]) -> Iterator[Fault]:
    """Yield the documents that are in a shard which does not own them: where they are, and where they belong."""
    count = 0
    for path, part, docids in zip(state.paths, state.parts, seen, strict=True):
        for docid in docids:
            its = state.paths[owner(docid, len(state.parts))]
            if its == path:
                continue
            count += 1
            twice = docid in seen[state.paths.index(its)]
            other = f"in shard {its} too, which owns it" if twice else f"owned by shard {its}, where it is not"
            if count <= MOST:
                yield Fault(part.folder, f"document {docid!r} is {other}", "")
    if count > MOST:
        yield Fault(state.folder, f"and {count - MOST} more", "")


def _verified(folder: Path, manifest: Manifest, config: Config) -> VerifiedPart:
    tools = Tools(IndexFolder(folder), manifest, config, Encoders(config))
    seen: Counter[str] = Counter()
    faults: dict[str, list[Fault]] = {}
    whole_documents = set()
    passages = sum(segment.passages for segment in manifest.segments)
    with closing(bar("verifying", "passages", passages)) as progress:
        for segment in manifest.segments:
            checks = Checks(tools, segment, seen)
            document_faults = list(checks.document_faults())
            if not document_faults:
                whole_documents.add(segment.name)
            if segment_faults := [*file_faults(folder, segment), *document_faults, *checks.view_faults()]:
                faults[segment.name] = segment_faults
            progress.update(segment.passages)
    if len(whole_documents) == len(manifest.segments) and (of_all := list(_index_faults(folder, manifest, seen))):
        faults[""] = of_all
    return VerifiedPart(Verified(manifest, faults, seen.total(), frozenset(whole_documents)), seen)


def _index_faults(folder: Path, manifest: Manifest, seen: Counter[str]) -> Iterator[Fault]:
    """Yield the faults of the index as a whole: documents that occur twice, counts that do not fit."""
    for docid in [docid for docid, count in seen.items() if count > 1][:MOST]:
        yield Fault(folder, f"document {docid!r} is there {seen[docid]} times", "")
    for what in _differs("documents", seen.total(), manifest.documents):
        yield Fault(folder, what, "")


class Checks(NamedTuple):
    """The checks of one segment; ``seen`` counts the documents of all."""

    tools: Tools
    segment: SegmentInfo
    seen: Counter[str]

    @property
    def place(self) -> SegmentPlace:
        """The segment as its views see it."""
        segment = self.segment
        return SegmentPlace(self.tools.folder.segment(segment.name), segment.name, segment.kind, segment.passages)

    def document_faults(self) -> Iterator[Fault]:
        """Yield the faults of the documents, whatever the checksum of their file says."""
        yield from self._faults(DOCUMENTS, self._documents)

    def view_faults(self) -> Iterator[Fault]:
        """Yield the faults of the views that were made from the documents."""
        for each in views(self.tools.manifest):
            for check in each.checks(self.place, self.tools):
                yield from self._faults(check.file, check.run)

    def _faults(self, file: str, check: Callable[[], Iterator[str]]) -> Iterator[Fault]:
        """Yield the faults that a check finds; a file that cannot be opened is a fault too."""
        path, count = self.place.folder / file, 0
        try:
            for what in check():
                count += 1
                if count <= MOST:
                    yield Fault(path, what, self.segment.name)
        except FactseekError as error:
            yield _fault(error, path, self.segment.name)
        if count > MOST:
            yield Fault(path, f"and {count - MOST} more", self.segment.name)

    def _documents(self) -> Iterator[str]:
        """Check each document against its checksum and its passages against its text."""
        with closing(self.tools.folder.documents_as_found(self.segment)) as documents:
            yield from _differs("documents", documents.counts()[0], self.segment.documents)
            yield from _differs("passages", documents.counts()[1], self.segment.passages)
            if outside := [row for row in self.segment.deleted if not 0 <= row < self.segment.documents]:
                yield f"has no document of row {outside[0]}, which the manifest says is deleted"
            for stored in documents.each_stored():
                document = stored.document
                if checksum(document) != stored.checksum:
                    yield f"document {document.docid!r} is not what its checksum says"
                elif not _fits(stored):
                    yield f"document {document.docid!r} has passages that do not fit its text"
                else:
                    self.seen[document.docid] += 1


def _fault(error: FactseekError, path: Path, segment: str) -> Fault:
    """Return an error as a fault, without its remedy, which is printed once for all faults."""
    return Fault(Path(error.place) if error.place else path, " ".join(error.what.split()), segment)


def _differs(what: str, there: int, expected: int) -> Iterator[str]:
    if there != expected:
        yield f"holds {there} {what}, expected {expected}"


def _fits(stored: StoredDocument) -> bool:
    """Return whether passages lie in the text of their document, numbered in their order."""
    spans, size = stored.spans, len(stored.document.text)
    if any(not 0 <= span.start <= span.end <= size for span in spans):
        return False
    return all(span.number < after.number and span.start <= after.start for span, after in pairwise(spans))
