"""The folder of an index: where its parts lie, and what of it may be opened."""

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
    """The places in an index directory; making one touches nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def manifest(self) -> Path:
        """The file whose replacement is publishing."""
        return self.path / NAME

    @property
    def lock(self) -> Path:
        """The file that the one writer holds."""
        return self.path / LOCK

    @property
    def segments(self) -> Path:
        """The folder of the finished segments."""
        return self.path / SEGMENTS

    @property
    def building(self) -> Path:
        """The folder of a build at work, or of one that was interrupted."""
        return self.path / BUILD

    def segment(self, name: str) -> Path:
        """Return the folder of a finished segment."""
        return self.segments / name

    def unfinished(self, name: str) -> Path:
        """Return the folder of a segment that is being written."""
        return self.building / name

    def read(self) -> Manifest:
        """Return the manifest.

        Raises IndexStateError, saying what the folder is instead, if there is no index that this version can read.
        """
        return manifests.read(self.path)

    def publish(self, manifest: Manifest) -> None:
        """Make ``manifest`` the state of the index, in one atomic step."""
        manifests.publish(self.path, manifest)

    def leased(self, manifest: Manifest | None = None) -> tuple[Manifest, Lease]:
        """Return the manifest and a hold on the segments that it names, as :func:`open_leased` does.

        A ``manifest`` that is given, that of a shard in a generation, is returned as it is; a segment of it that is
        missing is left for its reader to refuse.
        """
        if manifest is None:
            return open_leased(self.path)
        lease = Lease()
        take_segments(lease, self.path, manifest)
        return manifest, lease

    def documents(self, segment: SegmentInfo) -> SegmentDocuments:
        """Open the documents of a published segment, without those that are deleted.

        Raises IndexStateError if they are missing, damaged, not as many as the manifest says, or another segment's.
        """
        check_own(self.segment(segment.name), segment, DOCUMENTS.__eq__)
        return self.documents_as_found(segment)

    def documents_as_found(self, segment: SegmentInfo) -> SegmentDocuments:
        """Open the documents that lie in the place of a segment's, whichever they are, to verify or to mend them.

        Raises IndexStateError if they are missing, damaged, or not as many as the manifest says.
        """
        path, expected = self.segment(segment.name) / DOCUMENTS, (segment.documents, segment.passages)
        return SegmentDocuments(path, segment.deleted, expected)

    @contextmanager
    def opened(self, segments: Sequence[SegmentInfo]) -> Iterator[list[SegmentDocuments]]:
        """Open the documents of published segments, and close them after use.

        Raises IndexStateError as :meth:`documents` does.
        """
        with ExitStack() as closed_last:
            yield [closed_last.enter_context(closing(self.documents(segment))) for segment in segments]
