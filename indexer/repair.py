"""Repair: what is derived is made again from the documents of a segment, if these are whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval import manifest as manifests
from ..retrieval.config import Config
from ..retrieval.encoder import Encoder
from ..retrieval.encoders.runtime import open_encoder
from ..retrieval.files import told
from ..retrieval.integrity import Fault
from ..retrieval.manifest import VECTORS, EncoderInfo, Manifest, SegmentInfo
from . import journal as journals
from .compaction import replaced
from .deletion import with_segments
from .lock import locked
from .merge import Merge, write_all
from .verification import Verified, verify


class Repaired(NamedTuple):
    """What a repair did: what it found, the segments that it made again, and the faults that stay."""

    verified: Verified
    segments: tuple[str, ...]
    left: list[Fault]


def repair(folder: Path, config: Config, *, wait: float = 0.0) -> Repaired:
    """Verify an index, make its damaged segments again from their documents, publish that, and verify it again.

    Vectors that are whole are kept, others are encoded anew. A segment whose documents are damaged is left, a quantizer
    that cannot be read is removed.
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
        if not sound and (damaged or not verified.faults):
            return Repaired(verified, (), verified.all_faults)
        journals.clean(folder)
        _drop_quantizer(folder, verified)
        segments = _mended(folder, verified, sound, config)
        manifests.publish(folder, _manifest(folder, base, segments, counted=len(sound) == len(damaged)))
        journals.clean(folder)
        return Repaired(verified, tuple(segment.name for segment in sound), verify(folder, config).all_faults)


def _drop_quantizer(folder: Path, verified: Verified) -> None:
    """Remove a quantizer that cannot be read: the next segment that is large enough trains one."""
    name = verified.manifest.quantizer
    if name and any(fault.path == folder / name for fault in verified.faults.get("", ())):
        (folder / name).unlink()


def _mended(folder: Path, verified: Verified, sound: Sequence[SegmentInfo], config: Config) -> tuple[SegmentInfo, ...]:
    """Return the segments of the index, those of ``sound`` made again."""
    base, unencoded = verified.manifest, set()
    for segment in sound if base.encoder is not None else ():
        if any(fault.path.name == VECTORS for fault in verified.faults[segment.name]):
            unencoded.add(segment.name)
    with ExitStack() as closing_last:
        encoder = None
        if unencoded:
            encoder = closing_last.enter_context(closing(_encoder_of(folder, base, config)))
        merges = [
            Merge(folder, folder, base, [one], config, encoder if one.name in unencoded else None, mend=True)
            for one in sound
        ]
        made = write_all(merges, journals.first_segment(folder))
    return replaced(base.segments, [[segment] for segment in sound], made)


def _encoder_of(folder: Path, base: Manifest, config: Config) -> Encoder:
    encoder = open_encoder(config.encoder)
    if base.encoder is not None:
        base.encoder.check(EncoderInfo.of(encoder), folder, " to make them again")
    return encoder


def _manifest(folder: Path, base: Manifest, segments: tuple[SegmentInfo, ...], *, counted: bool) -> Manifest:
    if counted:
        return with_segments(base, segments, folder)
    # What cannot be read cannot be counted either.
    return msgspec.structs.replace(base, segments=segments, created=manifests.now())
