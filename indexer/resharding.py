"""Resharding: the documents of an index copied into another number of parts, their vectors with them.

Nothing is encoded anew. Documents that were deleted are dropped, as a compaction drops them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval.errors import IndexStateError, UsageError
from ..retrieval.files import os_errors_reported
from ..retrieval.index_folder import IndexFolder
from ..retrieval.integrity import check_files
from ..retrieval.manifest import DOCUMENTS, Manifest, SegmentInfo
from ..retrieval.shards.layout import MOST_SHARDS, owner, shard_path
from ..retrieval.views import Tools, views
from . import generation as generations
from . import journal as journals
from .deletion import with_segments
from .encoders import Encoders
from .generation import Generation, IndexPart
from .lock import locked
from .merge import Merge, PlacedSegment
from .settings import Config


class Resharded(NamedTuple):
    """The result of resharding: the index afterwards as one, and how many shards it had before; 0: none."""

    manifest: Manifest
    before: int


def reshard(folder: Path, shards: int, config: Config, *, wait: float = 0.0) -> Resharded:
    """Copy the documents of a sharded index into so many shards; readers keep what they have opened.

    Raises IndexStateError if there is no index, it has no shards, or a file to be copied is damaged; UsageError if
    there cannot be so many; MachineError if the disk is full. What was published before stays until all is there.
    """
    check_number("--shards", shards)
    _check_sharded(generations.read(folder), wanted=True)
    with locked(folder, wait), os_errors_reported(folder):
        base = generations.current(folder)
        return _copied(base, _with_shards(base, shards), config)


def shard(folder: Path, shards: int, config: Config, *, wait: float = 0.0) -> Resharded:
    """Copy the documents of an index without shards into so many.

    Raises what :func:`reshard` raises, IndexStateError if it has shards already.
    """
    check_number("--into", shards)
    _check_sharded(generations.read(folder), wanted=False)
    with locked(folder, wait), os_errors_reported(folder):
        return _copied(generations.current(folder), generations.new(folder, shards), config)


def unshard(folder: Path, config: Config, *, wait: float = 0.0) -> Resharded:
    """Copy the documents of a sharded index into one without shards.

    Raises what :func:`reshard` raises.
    """
    _check_sharded(generations.read(folder), wanted=True)
    with locked(folder, wait), os_errors_reported(folder):
        return _copied(generations.current(folder), generations.new(folder), config)


def check_number(option: str, shards: int) -> None:
    """Raise UsageError if an index cannot have so many shards."""
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"{option} {shards}: give a number of shards from 1 to {MOST_SHARDS}")


def _check_sharded(state: Generation, *, wanted: bool) -> None:
    if wanted and not state.is_sharded:
        raise IndexStateError("has no shards", place=state.folder, remedy="factseek shard makes some of it")
    if not wanted and state.is_sharded:
        there = f"has {len(state.parts)} shards already"
        raise IndexStateError(there, place=state.folder, remedy="factseek reshard makes another number of them")


def _with_shards(base: Generation, shards: int) -> Generation:
    """Return so many shards, the first of them in the folders of those that are there."""
    further = (path for path in map(shard_path, count()) if path not in base.paths)
    paths = (*base.paths[:shards], *(next(further) for _ in range(shards - len(base.paths))))
    return Generation(base.folder, tuple(IndexPart(base.folder / path, None) for path in paths), paths)


def _copied(base: Generation, target: Generation, config: Config) -> Resharded:
    """Copy what is in the parts of ``base`` into those of ``target`` and publish them in its place."""
    base.sweep()
    before = len(base.parts) if base.is_sharded else 0
    if target.paths == base.paths:
        return Resharded(base.manifest, before)
    carried = [file for each in views(base.manifest) for file in each.carried]
    for part, segment in base.segments:
        check_files(part.folder, segment, (DOCUMENTS, *carried))
    origins = [PlacedSegment(part.folder, segment) for part, segment in base.segments]
    generations.claim(target)
    target.clean()
    with closing(Encoders(config, language=base.manifest.language)) as encoders:
        tools = [_tools(base, part, config, encoders) for part in target.parts]
        states = [_filled(origins, number, tools) for number in range(len(tools))]
    return Resharded(target.publish(states), before)


def _tools(base: Generation, part: IndexPart, config: Config, encoders: Encoders) -> Tools:
    """Return what a part is written with: a manifest like those of ``base``, without segments."""
    shape = base.parts[0].published
    return Tools(IndexFolder(part.folder), msgspec.structs.replace(shape, segments=()), config, encoders)


def _filled(origins: Sequence[PlacedSegment], number: int, tools: Sequence[Tools]) -> Manifest:
    """Write the documents that the part of this number owns; return its state, not yet published."""
    own, folder = tools[number], tools[number].folder.path
    wanted = partial(_owns, number, len(tools)) if len(tools) > 1 else None
    made: list[SegmentInfo] = []
    for group in _by_kind(origins):
        # What is copied was compared with its checksum before.
        merge = Merge(group, own, mend=True, wanted=wanted)
        made += merge.segments(journals.first_segment(folder))
    return with_segments(own.manifest, tuple(made), folder)


def _by_kind(origins: Sequence[PlacedSegment]) -> Iterable[list[PlacedSegment]]:
    """Return segments in groups that can be merged: those of a kind."""
    groups: dict[tuple[str, bool], list[PlacedSegment]] = {}
    for origin in origins:
        groups.setdefault((origin.segment.kind, origin.segment.split), []).append(origin)
    return groups.values()


def _owns(number: int, shards: int, docid: str) -> bool:
    return owner(docid, shards) == number
