"""The footprint of a retriever: the bytes of the files that it reads, and the seconds that they took to build."""

from __future__ import annotations

from collections.abc import Sequence

from ..manifest import DOCUMENTS, VECTORS, Manifest
from ..searcher import Footprint
from ..views import view


def footprint(manifest: Manifest, names: Sequence[str]) -> Footprint:
    """Return the bytes and the seconds of the documents and of the views of these names."""
    read = [view(name, manifest) for name in names]
    files = [(name, file.bytes) for segment in manifest.segments for name, file in segment.files.items()]
    seconds = sum(segment.text_seconds for segment in manifest.segments)
    if any(name.startswith(VECTORS) for name in names):
        seconds += sum(segment.vector_seconds for segment in manifest.segments)
    taken = (size for file, size in files if file == DOCUMENTS or any(each.owns(file) for each in read))
    return Footprint(sum(taken), seconds)
