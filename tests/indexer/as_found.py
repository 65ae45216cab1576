"""Manifests that name the files of an index as they are found, as one might that somebody else
wrote.
"""

from pathlib import Path

import msgspec

from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.manifest import SEGMENTS, FileInfo, SegmentInfo


def name_files_as_found(folder: Path) -> None:
    """Publish the sizes of the files that there are, and no samples: each part has to find by
    itself what is wrong.
    """
    manifest = manifests.read(folder)
    segments = tuple(
        _as_found(folder / SEGMENTS / segment.name, segment) for segment in manifest.segments
    )
    manifests.publish(folder, msgspec.structs.replace(manifest, segments=segments))


def _as_found(place: Path, segment: SegmentInfo) -> SegmentInfo:
    there = {
        name: (place / name, info)
        for name, info in segment.files.items()
        if (place / name).exists()
    }
    files = {
        name: FileInfo(bytes=path.stat().st_size, sha256=info.sha256)
        for name, (path, info) in there.items()
    }
    return msgspec.structs.replace(segment, files={**segment.files, **files})
