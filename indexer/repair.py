"""Repair: what is derived is made again from the documents of a segment, if these are whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from indexer import journal as journals
from indexer.compaction import replaced
from indexer.deletion import with_segments
from indexer.lock import locked
from indexer.merge import Merge, write_all
from indexer.verification import Verified, verify
from retrieval import manifest as manifests
from retrieval.config import Config
from retrieval.encoder import Encoder, open_encoder
from retrieval.errors import IndexStateError
from retrieval.files import told
from retrieval.integrity import Fault, file_faults
from retrieval.manifest import VECTORS, EncoderInfo, Manifest, SegmentInfo


class Repaired(NamedTuple):
    """What a repair did: what it found, the segments that it made again, and the faults that stay."""

    verified: Verified
    segments: tuple[str, ...]
    left: list[Fault]


def repair(folder: Path, config: Config, *, wait: float = 0.0) -> Repaired:
    """Verify an index and make its damaged segments again from their documents; publish what came of it.

    Vectors that are whole are kept, others are encoded anew. A segment whose documents are damaged is left.
    Raises IndexStateError if there is no index, another process writes it, or vectors are needed of another encoder
    than the configured one.
    """
    manifests.read(folder)
    with locked(folder, wait), told(folder):
        journals.sweep(folder)
        verified = verify(folder, config)
        base = verified.manifest
        damaged = [segment for segment in base.segments if segment.name in verified.faults]
        sound = [segment for segment in damaged if segment.name in verified.sound]
        left = [fault for fault in verified.all_faults if fault.segment not in verified.sound]
        if sound or (verified.faults and not damaged):
            journals.clean(folder)
            made = write_all(list(_merges(folder, base, sound, config)), journals.first_segment(folder))
            segments = replaced(base.segments, [[segment] for segment in sound], made)
            manifests.publish(folder, _manifest(folder, base, segments, counted=len(sound) == len(damaged)))
            journals.clean(folder)
    return Repaired(verified, tuple(segment.name for segment in sound), left)


def _merges(folder: Path, base: Manifest, sound: Sequence[SegmentInfo], config: Config) -> Iterator[Merge]:
    """Yield the work to do: each segment by itself, with its own vectors if they are whole."""
    for segment in sound:
        encoder = None
        if base.encoder is not None and any(file_faults(folder, segment, (VECTORS,))):
            encoder = _encoder_of(folder, base, config)
        yield Merge(folder, folder, base, [segment], config, encoder, mend=True)


def _encoder_of(folder: Path, base: Manifest, config: Config) -> Encoder:
    encoder = open_encoder(config.encoder)
    configured = EncoderInfo.of(encoder)
    if configured != base.encoder:
        raise IndexStateError(
            f"{folder}: its vectors were made by {base.encoder}, the configured encoder is {configured}; "
            "set encoder.model and encoder.precision to the former to make them again"
        )
    return encoder


def _manifest(folder: Path, base: Manifest, segments: tuple[SegmentInfo, ...], *, counted: bool) -> Manifest:
    if counted:
        return with_segments(base, segments, folder)
    # What cannot be read cannot be counted either.
    return msgspec.structs.replace(base, segments=segments, created=manifests.now())
