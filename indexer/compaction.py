"""Compaction: merge segments into fewer ones, without their deleted documents.

Documents and vectors are copied. Lucene's index of the passages is built again from the documents.
The result is the same as a new build of the remaining documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..core.errors import UsageError
from ..core.files import os_errors_reported
from ..retrieval.config import IndexSettings
from ..retrieval.encoders.given import GivenVectors
from ..retrieval.lucene.analysis import ANALYSIS
from ..retrieval.store import manifest as manifests
from ..retrieval.store.manifest import (
    ANALYSIS_VERSION,
    LUCENE,
    VECTORS,
    VIEW_NAME,
    Manifest,
    SegmentInfo,
)
from ..retrieval.views import Tools, descriptions, is_optional, kinds
from . import journal as journals
from .deletion import with_segments
from .encoders import Encoders, further_views
from .lock import locked
from .segment import Merge, merged_segments
from .settings import Config

Group = list[SegmentInfo]


class Compacted(NamedTuple):
    """The result of a compaction: the new manifest, the former number of segments, the number of
    dropped documents.
    """

    manifest: Manifest
    before: int
    dropped: int


def compact(
    folder: Path,
    config: Config,
    *,
    add: Sequence[str] = (),
    models: Sequence[str] = (),
    vectors: GivenVectors | None = None,
    wait: float = 0.0,
) -> Compacted:
    """Merge the segments of an index, separately for each kind of source, and drop deleted
    documents.

    The result has as few segments as ``index.segment_passages`` allows. ``add`` names views to add
    to the index, such as ``signatures``; each of the encoders ``models`` adds its vectors.
    ``vectors`` are those of the one view of vectors that ``add`` names, such as ``vectors:mine``. A
    new view, or an analysis of an earlier version, makes every segment be written again. Raises
    UsageError if ``add`` names an unknown or disabled view, IndexStateError if there is no index,
    another process writes it, or a file to copy is damaged. After an error, the index keeps what
    was published before.
    """
    manifests.read(folder)
    with locked(folder, wait), os_errors_reported(folder):
        base = manifests.read(folder)
        journals.sweep(folder)
        given = _given_view(add, vectors, base)
        known = {*kinds(), *given, *filter(is_optional, add)}
        if unknown := [name for name in add if name not in known]:
            what = f"--add {unknown[0][:80]}: there is no such view"
            raise UsageError(what, remedy=f"the views are {', '.join(kinds())}")
        if base.encoder and models:
            models = (base.encoder.model or base.encoder.name, *models)
        wanted = (*add, *([VECTORS, *further_views(models)] if models else ()))
        lacking = [name for name in wanted if name not in base.views]
        is_outdated = base.analysis.version != ANALYSIS
        groups = (
            _by_kind(base.segments)
            if lacking or is_outdated
            else worth_merging(base.segments, config.index.segment_passages)
        )
        return _merge_and_publish(
            folder,
            base,
            groups,
            config,
            lacking=lacking,
            models=models,
            given=given,
            renews_analysis=is_outdated,
        )


def _given_view(
    add: Sequence[str], vectors: GivenVectors | None, base: Manifest
) -> dict[str, GivenVectors]:
    """Return the view that takes the user's vectors, with them; none if there are none.

    Raises UsageError if ``add`` names no such view, or one that the index has.
    """
    if vectors is None:
        for name in add:
            if name.startswith(f"{VECTORS}:") and name not in base.views:
                raise UsageError(
                    f"--add {name} needs --vectors FILE", remedy="name the file of the vectors"
                )
        return {}
    views = [name for name in add if name.partition(":")[0] == VECTORS]
    if len(views) != 1:
        raise UsageError(
            "--vectors needs the name of their view", remedy="give --add vectors or vectors:NAME"
        )
    if views[0] in base.views:
        raise UsageError(
            f"--add {views[0]}: the index has this view", remedy="choose another name: vectors:NAME"
        )
    if not VIEW_NAME.fullmatch(views[0]):
        raise UsageError(
            f"--add {views[0][:80]}: no name of a view",
            remedy="use lower-case letters, digits, - and _ after the colon",
        )
    return {views[0]: vectors}


def merge_surplus(folder: Path, config: Config) -> Compacted:
    """Merge segments of the index if it has more than ``index.max_segments``.

    The caller holds the index's lock.
    """
    with os_errors_reported(folder):
        base = manifests.read(folder)
        return _merge_and_publish(folder, base, surplus(base.segments, config.index), config)


def worth_merging(segments: Sequence[SegmentInfo], most: int) -> list[Group]:
    """Return the segments that a compaction rewrites, in groups of one kind of source to merge.

    It leaves a segment that has at least ``most`` passages and no deleted document, and a group if
    merging would neither drop a document nor reduce the number of segments.
    """
    worth = [segment for segment in segments if segment.deleted or segment.passages < most]
    return [group for group in _by_kind(worth) if _gains(group, most)]


def surplus(segments: Sequence[SegmentInfo], settings: IndexSettings) -> list[Group]:
    """Return the segments to merge if there are more than ``index.max_segments``, else an empty
    list.

    Small segments are merged first: see :func:`_smallest`. In this way, appended documents are not
    copied again and again. If too many segments would still be left, all groups of
    :func:`worth_merging` are returned.
    """
    if len(segments) <= settings.max_segments:
        return []
    most = settings.segment_passages
    everything = worth_merging(segments, most)
    small = [group for group in map(_smallest, everything) if _gains(group, most)]
    left = len(segments) - sum(len(group) - _segments(group, most) for group in small)
    return small if left <= settings.max_segments else everything


def _by_kind(segments: Sequence[SegmentInfo]) -> list[Group]:
    groups: dict[tuple[str, bool], Group] = {}
    for segment in segments:
        groups.setdefault((segment.kind, segment.split), []).append(segment)
    return list(groups.values())


def _smallest(group: Group) -> Group:
    """Return the two or more smallest segments of a group, in the order of the group.

    The first segment that has more passages than all smaller ones together is left out, and so are
    all larger ones.
    """
    chosen: Group = []
    for segment in sorted(group, key=lambda segment: segment.passages):
        if len(chosen) > 1 and segment.passages > sum(part.passages for part in chosen):
            break
        chosen.append(segment)
    return [segment for segment in group if segment in chosen]


def _gains(group: Group, most: int) -> bool:
    return any(segment.deleted for segment in group) or _segments(group, most) < len(group)


def _segments(group: Group, most: int) -> int:
    return -(-sum(segment.passages for segment in group) // most)


def _merge_and_publish(
    folder: Path,
    base: Manifest,
    groups: Sequence[Group],
    config: Config,
    *,
    lacking: Sequence[str] = (),
    models: Sequence[str] = (),
    given: Mapping[str, GivenVectors] | None = None,
    renews_analysis: bool = False,
) -> Compacted:
    before = len(base.segments)
    if not groups and not lacking and not renews_analysis:
        return Compacted(base, before, 0)
    journals.clean(folder)
    with closing(Encoders(config, language=base.language, models=models, given=given)) as encoders:
        described = descriptions(config, encoders, without=kinds(), further=lacking)
        if disabled := [name for name in lacking if name not in described]:
            what, remedy = (
                "the configuration disables this view",
                f"set index.{disabled[0]} to true",
            )
            raise UsageError(f"--add {disabled[0]}: {what}", remedy=remedy)
        views = {**base.views, **described}
        if renews_analysis and LUCENE in views:
            views[LUCENE] = {**views[LUCENE], ANALYSIS_VERSION: ANALYSIS}
        shape = msgspec.structs.replace(base, views=views)
        tools = Tools(folder, shape, config, encoders)
        merges = [
            Merge([(folder, each) for each in group], tools, rebuild=frozenset(lacking))
            for group in groups
        ]
        manifest = with_segments(shape, merged_segments(base.segments, merges, folder), folder)
    manifests.publish(folder, manifest)
    journals.clean(folder)
    return Compacted(
        manifest, before, sum(len(segment.deleted) for group in groups for segment in group)
    )
