"""Building and changing an index in shards: the ordinary command runs for each shard, then all
shards are published.

Until ``shards.json`` names the new states, readers see the old ones, whose segments are kept
meanwhile. If a change is interrupted, the next change undoes it first: every shard returns to its
published state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

import msgspec

from ..core.domain import Filter
from ..core.errors import IndexStateError, UsageError
from ..core.files import os_errors_reported, read_regular, sync_folder
from ..core.terminal import format_count
from ..indexer import compaction, deletion, verification
from ..indexer import journal as journals
from ..indexer.build import (
    BuildReport,
    BuildRequest,
    already_there,
    build,
    check_apart,
    describe,
    encoders_of,
)
from ..indexer.collections import reader
from ..indexer.compaction import Compacted
from ..indexer.deletion import Deleted, with_segments
from ..indexer.encoders import Encoders
from ..indexer.lock import locked, writing_parts
from ..indexer.queue import waiting
from ..indexer.segment import Merge, Origin
from ..indexer.settings import Config
from ..indexer.verification import Repaired, Verified
from ..retrieval.encoders.given import GivenVectors
from ..retrieval.search.opening import leased
from ..retrieval.store import manifest as manifests
from ..retrieval.store.integrity import Fault, check_files
from ..retrieval.store.manifest import DOCUMENTS, PART, SEGMENTS, SHARDS, Manifest, SegmentInfo
from ..retrieval.views import Tools, views
from . import layout
from .layout import MOST_SHARDS, Shards, owner

Run = Callable[[Sequence[BuildRequest], Config], list[BuildReport]]
"""A function that runs ordinary builds, one for each shard, and returns their reports in order."""


@dataclass(frozen=True, slots=True)
class OwnedShare:
    """The documents that shard ``number`` owns in an index of ``shards`` shards."""

    number: int
    shards: int

    def __call__(self, docid: str) -> bool:
        """Return whether the shard owns a docid."""
        return owner(docid, self.shards) == self.number


def check_number(option: str, shards: int) -> None:
    """Raise UsageError if an index cannot have this number of shards."""
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"{option} {shards}: give a number of shards from 1 to {MOST_SHARDS}")


def build_here(requests: Sequence[BuildRequest], config: Config) -> list[BuildReport]:
    """Run builds one after the other in this process, with the same encoders."""
    with closing(encoders_of(requests[0], config)) as encoders:
        return [build(request, config, encoders) for request in requests]


def build_shards(
    request: BuildRequest, shards: int, config: Config, run: Run = build_here
) -> BuildReport:
    """Read the sources into ``shards`` shards; 0 means the existing number, or 1 for a new index.

    The same call continues an interrupted new build from its finished shards. A change of an index
    starts again.

    Raises what :func:`factseek.indexer.build.build` raises, IndexStateError if there is an index
    with another number of shards or without shards, UsageError if the number is out of range.
    """
    if shards:
        check_number("--shards", shards)
    folder = request.folder
    reader(request.kind)  # raises UsageError if there is no such kind
    check_apart(folder, request.sources)
    _check_request(request, shards)
    if layout.is_sharded(folder) and request.verb != "overwrite":
        with _changing(folder, request.wait) as before:
            requests = _requests(request, [shard.folder(folder) for shard in before.shards])
            reports = run(requests, config)
        return _join_reports(layout.read(folder), reports)
    reports = []
    sources = describe(request.sources)
    with locked(folder, request.wait), os_errors_reported(folder):
        old = _readable(folder)
        count_ = shards or (len(old.shards) if old else 1)
        what = (
            request.kind,
            sources,
            request.language,
            request.dense,
            request.views,
            request.encoders,
        )
        # The views that a request names have a model of the configuration, if any.
        models = [config.impact] if request.views else []
        shape = (layout.routing(count_), config.index, config.passages)
        note = journals.fingerprint(*what, *shape, *models)

        def fill(parts: Sequence[Path]) -> None:
            fresh = replace(request, verb="")
            # If an interrupted build of the same sources finished a shard, an update skips the
            # documents in it.
            requests = [
                replace(each, verb="update") if (each.folder / manifests.NAME).is_file() else each
                for each in _requests(fresh, parts)
            ]
            reports.extend(run(requests, config))
            if not any(report.documents or report.duplicates for report in reports):
                # Raise the same error as for an index without shards, with the documents that were
                # left out.
                build(replace(fresh, folder=parts[0], verb="overwrite", share=None), config)

        made = _replace_shards(folder, old, count_, fill, note)
        _sweep(folder, made, old)
    return _join_reports(made, reports)


def delete(
    folder: Path, docids: Sequence[str], *, where: Filter | None = None, wait: float = 0.0
) -> Deleted:
    """Delete documents from an index in shards; see :func:`factseek.indexer.deletion.delete`."""
    with _changing(folder, wait) as before:
        deleted = []
        for number, shard in enumerate(before.shards):
            own = list(filter(OwnedShare(number, len(before.shards)), docids))
            deleted.append(deletion.delete(shard.folder(folder), own, where=where))
    unknown = {docid for of_shard in deleted for docid in of_shard.unknown}
    left = tuple(docid for docid in dict.fromkeys(docids) if docid in unknown)
    return Deleted(sum(each.documents for each in deleted), left)


def compact(
    folder: Path,
    config: Config,
    *,
    add: Sequence[str] = (),
    vectors: GivenVectors | None = None,
    wait: float = 0.0,
) -> Compacted:
    """Merge the segments of every shard; see :func:`factseek.indexer.compaction.compact`."""
    with _changing(folder, wait) as before:
        parts = [
            compaction.compact(shard.folder(folder), config, add=add, vectors=vectors)
            for shard in before.shards
        ]
    merged = layout.read(folder).merged
    return Compacted(
        merged, sum(part.before for part in parts), sum(part.dropped for part in parts)
    )


def verify(folder: Path, config: Config) -> Verified:
    """Check each shard, and check that it owns its documents.

    In the result, a segment's name begins with its shard.
    """
    shards, lease = layout.open_leased(folder)
    with closing(lease):
        return _verify_shards(folder, shards, config)


def repair(folder: Path, config: Config, *, wait: float = 0.0) -> Repaired:
    """Rebuild the damaged segments of every shard; see
    :func:`factseek.indexer.verification.repair`.
    """
    made: list[str] = []
    with _changing(folder, wait) as before:
        verified = _verify_shards(folder, before, config)
        for shard in before.shards:
            done = verification.repair(shard.folder(folder), config)
            made += [f"{shard.path}/{name}" for name in done.segments]
    return Repaired(verified, tuple(made), verify(folder, config).faults)


def divide(
    folder: Path, shards: int, config: Config, *, sharded: bool, wait: float = 0.0
) -> tuple[Manifest, int]:
    """Copy the documents of an index, with their vectors, into ``shards`` shards (0: an index
    without shards).

    Return the new index as one manifest, and its former number of shards (0: none). ``sharded``
    says whether the index must have shards now. Deleted documents are dropped. Raises
    IndexStateError if there is no such index, or a file to be copied is damaged.
    """
    _check_form(folder, sharded=sharded)
    with locked(folder, wait), os_errors_reported(folder):
        # Another process may have divided it while this one waited for the lock.
        _check_form(folder, sharded=sharded)
        with leased(folder) as parts:
            old, made = layout.read(folder) if layout.is_sharded(folder) else None, None
            before = len(old.shards) if old else 0
            if before == shards:
                return old.merged if old else parts[0][1], before
            if not old:
                _refuse_waiting(folder)
            origins = [(part, segment) for part, manifest in parts for segment in manifest.segments]
            copied = partial(_copy_share, origins=origins, shape=parts[0][1], config=config)
            if shards:

                def fill(places: Sequence[Path]) -> None:
                    for number, place in enumerate(places):
                        manifests.publish(place, copied(place, share=OwnedShare(number, shards)))
                        journals.clean(place)

                made = _replace_shards(folder, old, shards, fill)
            else:
                journals.remove_build(folder)
                manifests.publish(folder, copied(folder, share=None))
                _remember(folder, old)
                (folder / SHARDS).unlink()
                sync_folder(folder)
        _sweep(folder, made, old)
        if not shards:
            journals.clean(folder)
        return made.merged if made else manifests.read(folder), before


def _check_form(folder: Path, *, sharded: bool) -> None:
    if not layout.is_sharded(folder):
        manifests.read(folder)
        if sharded:
            raise IndexStateError(
                "has no shards", place=folder, remedy="divide it into shards with factseek shard"
            )
    elif not sharded:
        there = f"already has {len(layout.read(folder).shards)} shards"
        raise IndexStateError(
            there, place=folder, remedy="change their number with factseek reshard"
        )


def _check_request(request: BuildRequest, shards: int) -> None:
    folder, sharded = request.folder, layout.is_sharded(request.folder)
    whole = not sharded and (folder / manifests.NAME).is_file()
    if (sharded or whole) and not request.verb:
        raise already_there(folder)
    old = _readable(folder)
    if whole or (old and shards and shards != len(old.shards)):
        there = f"has {len(old.shards)} shards" if old else "has no shards"
        verb = f"divide the index first with factseek {'reshard' if old else 'shard'}"
        raise IndexStateError(there, place=folder, remedy=f"leave out --shards {shards}, or {verb}")


def _readable(folder: Path) -> Shards | None:
    try:
        return layout.read(folder) if layout.is_sharded(folder) else None
    except IndexStateError:
        return None


def _requests(request: BuildRequest, parts: Sequence[Path]) -> list[BuildRequest]:
    return [
        replace(
            request, folder=part, share=OwnedShare(number, len(parts)), quiet=number > 0, wait=0.0
        )
        for number, part in enumerate(parts)
    ]


def _join_reports(shards: Shards, reports: Sequence[BuildReport]) -> BuildReport:
    """Return the reports of all shards as one; the first report has the messages of the readers."""
    bad_lines = reports[0].bad_lines
    for report in reports[1:]:
        bad_lines.count += report.bad_lines.count
        bad_lines.examples += report.bad_lines.examples
    added = ("documents", "passages", "replaced", "duplicates", "merged")
    return replace(
        reports[0],
        manifest=shards.merged,
        resumed=any(report.resumed for report in reports),
        unmerged=next((report.unmerged for report in reports if report.unmerged), ""),
        **{name: sum(getattr(report, name) for report in reports) for name in added},
    )


@contextmanager
def _changing(folder: Path, wait: float) -> Iterator[Shards]:
    """Keep the published states of all shards during a change; then publish the new states or, if
    it fails, go back.
    """
    layout.read(folder)
    with locked(folder, wait), os_errors_reported(folder):
        shards, lease = layout.open_leased(folder)
        parts = [shard.folder(folder) for shard in shards.shards]
        with closing(lease), ExitStack() as writing:
            _go_back(folder, shards)
            writing.enter_context(writing_parts(folder, parts, ""))
            try:
                yield shards
            except BaseException:
                _go_back(folder, shards)
                raise
            states = [manifests.read(part) for part in parts]
            if states != [shard.manifest for shard in shards.shards]:
                shards = layout.publish(folder, [shard.path for shard in shards.shards], states)
        _sweep(folder, shards, shards)


def _go_back(folder: Path, shards: Shards) -> None:
    """Restore the published state of each shard in the shard's own folder.

    Raises IndexStateError if a folder contains another index. Its manifest must not be replaced: a
    segment with the same number must always have the same documents.
    """
    for shard in shards.shards:
        part = shard.folder(folder)
        try:
            own = read_regular(part / manifests.NAME)
            there = {
                segment.name: segment.files.get(DOCUMENTS)
                for segment in manifests.read(part).segments
            }
        except (OSError, IndexStateError):
            own, there = b"", {}
        for segment in shard.manifest.segments:
            if there.get(segment.name, segment.files.get(DOCUMENTS)) != segment.files.get(
                DOCUMENTS
            ):
                path, name = folder / SHARDS, segment.name
                what = f"is not the shard that {path} describes: its segment {name} is different"
                raise IndexStateError(
                    what, place=part, remedy=f"correct the path of the shard in {path}"
                )
        if own != manifests.encode(shard.manifest):
            manifests.publish(part, shard.manifest)


def _replace_shards(
    folder: Path,
    old: Shards | None,
    shards: int,
    fill: Callable[[Sequence[Path]], None],
    note: str = "",
) -> Shards:
    """Fill new shards, or those that an interrupted build with the same ``note`` left, and publish
    them.
    """
    published = {shard.folder(folder).resolve() for shard in old.shards} if old else set()
    paths: list[str] = []
    for number in count():
        part = folder / f"shard-{number:02d}"
        left = note and (part / PART).is_file() and part.resolve() not in published
        if left and (part / PART).read_text("utf-8", "replace").splitlines()[1:] != [note]:
            journals.remove_part(part)
        if left or not (part.exists() or part.is_symlink()):
            paths.append(part.name)
        if len(paths) == shards:
            break
    parts = [folder / path for path in paths]
    with writing_parts(folder, parts, note):
        try:
            fill(parts)
            if not old:
                _refuse_waiting(folder)  # a server may have accepted bulks meanwhile
        except BaseException:
            goes_on = bool(note) and any(
                journals.read(part) or (part / manifests.NAME).is_file() for part in parts
            )
            for part in () if goes_on else parts:
                journals.remove_part(part)
            raise
        for part in parts:  # published names must exist, even after a power failure
            sync_folder(part)
        _remember(folder, old)
        return layout.publish(folder, paths, [manifests.read(part) for part in parts])


def _sweep(folder: Path, shards: Shards | None, old: Shards | None) -> None:
    """Remove what belongs to no published state: former shards, and the segments of an index that
    was divided.
    """
    named = {shard.folder(folder).resolve() for shard in shards.shards} if shards else set()
    for temporary in folder.glob(f".{SHARDS}.*.tmp"):
        temporary.unlink(missing_ok=True)
    if shards:
        journals.remove_index(folder)
        for part in named:
            journals.sweep(part)
    former = {shard.folder(folder).resolve() for shard in old.shards} if old else set()
    former |= {part.resolve() for part in journals.parts_in(folder)}
    for part in sorted(former - named):
        journals.remove_part(part)
    journals.forget_former(folder, named)


def _refuse_waiting(folder: Path) -> None:
    """Raise IndexStateError if a server has accepted bulks that are not written yet: it writes none
    into shards.
    """
    _, bulks = waiting(folder)
    if bulks:
        there = (
            f"{format_count(bulks, 'bulk')} of documents, accepted over HTTP, "
            f"{'waits' if bulks == 1 else 'wait'}"
        )
        raise IndexStateError(
            f"{there} for the writer", place=folder, remedy="let factseek serve write them first"
        )


def _remember(folder: Path, old: Shards | None) -> None:
    """Store where the former shards lie, so that the next writer can remove them if this one is
    killed.
    """
    if old:
        journals.remember_former(folder, [shard.path for shard in old.shards])


def _copy_share(
    folder: Path,
    *,
    origins: Sequence[Origin],
    shape: Manifest,
    config: Config,
    share: OwnedShare | None,
) -> Manifest:
    """Copy those documents of the segments that belong to ``share`` (None: all); return the
    unpublished new state.
    """
    carried = [file for view in views(shape) for file in view.carried]
    groups: dict[tuple[str, bool], list[Origin]] = {}
    for place, segment in origins:  # only segments of the same kind can be merged
        check_files(place / SEGMENTS / segment.name, segment, (DOCUMENTS, *carried))
        groups.setdefault((segment.kind, segment.split), []).append((place, segment))
    made: list[SegmentInfo] = []
    with closing(Encoders(config, language=shape.language)) as encoders:
        tools = Tools(folder, msgspec.structs.replace(shape, segments=()), config, encoders)
        for group in groups.values():
            made += Merge(group, tools, mend=True, wanted=share).segments(
                journals.first_segment(folder)
            )
    return with_segments(tools.manifest, tuple(made), folder)


def _verify_shards(folder: Path, shards: Shards, config: Config) -> Verified:
    """Verify a state of all shards; the caller must prevent the removal of its segments."""
    parts = [
        verification.verified_state(shard.folder(folder), shard.manifest, config)
        for shard in shards.shards
    ]
    faults: list[Fault] = []
    intact: set[str] = set()
    docids: Counter[str] = Counter()
    routed = []
    for number, (shard, part) in enumerate(zip(shards.shards, parts, strict=True)):
        faults += [
            fault._replace(segment=f"{shard.path}/{fault.segment}".rstrip("/"))
            for fault in part.faults
        ]
        intact |= {f"{shard.path}/{name}" for name in part.intact}
        docids += part.docids
        for docid in part.docids:
            its = owner(docid, len(parts))
            if its != number:
                there = "also" if docid in parts[its].docids else "missing"
                what = (
                    f"document {docid!r} is {there} in shard {shards.shards[its].path}, where "
                    "it belongs"
                )
                routed.append(Fault(shard.folder(folder), what, ""))
    faults += routed[: verification.MOST]
    if len(routed) > verification.MOST:
        faults.append(Fault(folder, f"and {len(routed) - verification.MOST} more", ""))
    return Verified(shards.merged, faults, docids, frozenset(intact))
