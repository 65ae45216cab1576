"""The folder of an index: the paths of its parts, and the opening of its documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ..store import manifest as manifests
from .documents import SegmentDocuments
from .integrity import check_own
from .lease import Lease, open_leased, take_segments
from .manifest import BUILD, DOCUMENTS, LOCK, NAME, SEGMENTS, Manifest, SegmentInfo


class IndexFolder:
    """The paths in an index directory; creating this object changes nothing on disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = self.path / NAME  # replacing it publishes a new state
        self.lock = self.path / LOCK  # the only writer holds it
        self.segments = self.path / SEGMENTS
        self.building = self.path / BUILD  # the segments of a running or interrupted build

    def __str__(self) -> str:
        return str(self.path)

    def segment(self, name: str) -> Path:
        """Return the folder of a finished segment."""
        return self.segments / name

    def unfinished(self, name: str) -> Path:
        """Return the folder of an unfinished segment."""
        return self.building / name

    def read(self) -> Manifest:
        """Return the manifest, as :func:`factseek.retrieval.store.manifest.read` does."""
        return manifests.read(self.path)

    def leased(self, manifest: Manifest | None = None) -> tuple[Manifest, Lease]:
        """Return the manifest and a lease of its segments; a given ``manifest`` (of a shard) is returned unchanged."""
        if manifest is None:
            return open_leased(self.path)
        lease = Lease()
        take_segments(lease, self.path, manifest)
        return manifest, lease

    def documents(self, segment: SegmentInfo) -> SegmentDocuments:
        """Open the documents of a published segment. Raises IndexStateError if they are not those of the manifest."""
        check_own(self.segment(segment.name), segment, DOCUMENTS.__eq__)
        return self.documents_as_found(segment)

    def documents_as_found(self, segment: SegmentInfo) -> SegmentDocuments:
        """Open the documents in a segment's folder, even those of another segment, to verify or repair them."""
        path, expected = self.segment(segment.name) / DOCUMENTS, (segment.documents, segment.passages)
        return SegmentDocuments(path, segment.deleted, expected)

    @contextmanager
    def opened(self, segments: Sequence[SegmentInfo]) -> Iterator[list[SegmentDocuments]]:
        """Open the documents of published segments, and close them after use."""
        with ExitStack() as closed_last:
            yield [closed_last.enter_context(closing(self.documents(segment))) for segment in segments]
