"""Repair of an index: the views of a damaged segment are made again from its documents, if these are whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval import manifest as manifests
from ..retrieval.files import os_errors_reported
from ..retrieval.index_folder import IndexFolder
from ..retrieval.integrity import Fault
from ..retrieval.manifest import Manifest, SegmentInfo
from ..retrieval.views import Tools, views
from . import generation as generations
from . import journal as journals
from .compaction import replaced
from .deletion import with_segments
from .encoders import Encoders
from .generation import IndexPart
from .lock import locked
from .merge import Merge, in_part, write_all
from .settings import Config
from .verification import Verified, in_shard, verified_parts, verify, whole


class Repaired(NamedTuple):
    """The result of a repair: the verification before it, the segments made again, and the faults that are left."""

    verified: Verified
    segments: tuple[str, ...]
    left: list[Fault]


def repair(folder: Path, config: Config, *, wait: float = 0.0) -> Repaired:
    """Verify an index, make its damaged segments again from their documents, publish them, and verify the index again.

    Whole files that can be copied, vectors for example, are kept; the rest is made anew. A segment whose documents are
    damaged is left as it is.
    Raises IndexStateError if there is no index, another process writes it, or vectors are needed of another encoder
    than the configured one.
    """
    generations.read(folder)
    with locked(folder, wait), os_errors_reported(folder):
        base = generations.current(folder)
        base.sweep()
        parts = verified_parts(base, config)
        mended = [
            _mended_part(part, verified.verified, config) for part, verified in zip(base.parts, parts, strict=True)
        ]
        verified = whole(base, parts)
        if not any(mended):
            return Repaired(verified, (), verified.all_faults)
        base.publish([part.manifest if part else old.published for part, old in zip(mended, base.parts, strict=True)])
        names = [
            in_shard(path, name)
            for path, part in zip(base.paths, mended, strict=True)
            if part
            for name in part.segments
        ]
        return Repaired(verified, tuple(names), verify(folder, config).all_faults)


class _MendedPart(NamedTuple):
    """A part with what was made again: its state, not yet published, and the names of those segments."""

    manifest: Manifest
    segments: tuple[str, ...]


def _mended_part(part: IndexPart, verified: Verified, config: Config) -> _MendedPart | None:
    """Make the damaged segments of a part again; None if nothing can be done, or need be."""
    base = part.published
    damaged = [segment for segment in base.segments if segment.name in verified.faults]
    mendable = [segment for segment in damaged if segment.name in verified.intact]
    if not mendable and (damaged or not verified.faults):
        return None
    journals.clean(part.folder)
    segments = _mended(part.folder, verified, mendable, config)
    manifest = _manifest(part.folder, base, segments, counted=len(mendable) == len(damaged))
    return _MendedPart(manifest, tuple(segment.name for segment in mendable))


def _mended(folder: Path, verified: Verified, intact: Sequence[SegmentInfo], config: Config) -> tuple[SegmentInfo, ...]:
    """Return the segments of the index, after making those that are ``intact`` again from their whole documents."""
    base = verified.manifest
    with closing(Encoders(config)) as encoders:
        tools = Tools(IndexFolder(folder), base, config, encoders)
        anew = {segment.name: _damaged_views(verified, segment) for segment in intact}
        for view in views(base):
            if any(view.name in names for names in anew.values()):
                view.prepare(tools)
        merges = [Merge(in_part(folder, [segment]), tools, mend=True, anew=anew[segment.name]) for segment in intact]
        made = write_all(merges, journals.first_segment(folder))
    return replaced(base.segments, [[segment] for segment in intact], made)


def _damaged_views(verified: Verified, segment: SegmentInfo) -> frozenset[str]:
    """Return the names of a segment's views that cannot be copied, because a file of theirs is damaged."""
    damaged = {fault.path.name for fault in verified.faults[segment.name]}
    return frozenset(view.name for view in views(verified.manifest) if damaged & set(view.carried))


def _manifest(folder: Path, base: Manifest, segments: tuple[SegmentInfo, ...], *, counted: bool) -> Manifest:
    if counted:
        return with_segments(base, segments, folder)
    # What cannot be read cannot be counted either.
    return msgspec.structs.replace(base, segments=segments, created=manifests.now())
