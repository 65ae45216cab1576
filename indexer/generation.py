"""The published state of an index, for whoever reads or changes all of it: one part, or one for each shard.

Every part is an ordinary index folder. What is written in the parts becomes the state of the index in one step: by the
manifest of an index of one part, by ``shards.json`` of a sharded one. The shards' own manifests follow it; a writer
that died before they did leaves that to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..retrieval import manifest as manifests
from ..retrieval.errors import IndexStateError
from ..retrieval.files import read_regular, sync_folder
from ..retrieval.lease import Lease, open_leased, remove_unless_held
from ..retrieval.manifest import DOCUMENTS, LOCK, SEGMENTS, Manifest, SegmentInfo
from ..retrieval.shards import layout
from ..retrieval.shards.layout import Shard, Shards, shard_path
from . import journal as journals
from . import spare_shards


class IndexPart(NamedTuple):
    """A part of an index: its folder, and its manifest; None if nothing of it is to be kept, or was published yet."""

    folder: Path
    manifest: Manifest | None

    @property
    def segments(self) -> tuple[SegmentInfo, ...]:
        """The published segments."""
        return self.manifest.segments if self.manifest else ()

    @property
    def published(self) -> Manifest:
        """The manifest of a part that has been published."""
        if self.manifest is None:
            raise LookupError(f"nothing was published in {self.folder}")
        return self.manifest


class Generation(NamedTuple):
    """A state of the index in ``folder``: its parts, and their paths from there; ``""`` alone if it has no shards."""

    folder: Path
    parts: tuple[IndexPart, ...]
    paths: tuple[str, ...]

    @property
    def is_sharded(self) -> bool:
        """Whether the parts are shards."""
        return self.paths != ("",)

    @property
    def manifest(self) -> Manifest:
        """The parts described as one index."""
        return self._described([part.published for part in self.parts])

    @property
    def segments(self) -> Iterator[tuple[IndexPart, SegmentInfo]]:
        """The published segments of all parts, each with its part."""
        return ((part, segment) for part in self.parts for segment in part.segments)

    def publish(self, states: Sequence[Manifest]) -> Manifest:
        """Make ``states``, one a part, the state of the index in one atomic step; return them described as one index.

        What no manifest names any more is removed, as far as no reader holds it; the caller holds the index's lock.
        """
        if self.is_sharded:
            for part in self.parts:  # what is named must be there, also after a power cut
                part.folder.mkdir(parents=True, exist_ok=True)
                sync_folder(part.folder)
            layout.publish(self.folder, self._shards(states))
        for part, state in zip(self.parts, states, strict=True):
            if state is not part.manifest:
                manifests.publish(part.folder, state)
        if not self.is_sharded:  # where there were shards, it is read as one from here on
            self._end_shards()
        self.clean()
        remove_foreign(self)
        return self._described(states)

    def encoded(self) -> bytes:
        """Return what was published, as JSON: the manifest, or ``shards.json``."""
        if not self.is_sharded:
            return manifests.encode(self.manifest)
        return read_regular(self.folder / layout.NAME)

    def clean(self) -> None:
        """Remove what no manifest names: leftovers of a build that was given up or published."""
        for part in self.parts:
            journals.clean(part.folder)

    def sweep(self) -> None:
        """Remove the leftovers of an interrupted writer, but keep a build that may go on."""
        for part in self.parts:
            journals.sweep(part.folder)

    def _end_shards(self) -> None:
        if layout.is_sharded(self.folder):
            (self.folder / layout.NAME).unlink()
            sync_folder(self.folder)

    def _shards(self, states: Sequence[Manifest]) -> Shards:
        shards = (Shard(path=path, manifest=state) for path, state in zip(self.paths, states, strict=True))
        routing = layout.routing(len(states))
        return Shards(layout=layout.LAYOUT, created=manifests.now(), routing=routing, shards=tuple(shards))

    def _described(self, states: Sequence[Manifest]) -> Manifest:
        return layout.described(states) if self.is_sharded else states[0]

    def emptied(self) -> Generation:
        """Return the same parts without what was published in them, for an index that takes the place of this one."""
        return self._replace(parts=tuple(IndexPart(part.folder, None) for part in self.parts))


def new(folder: Path, shards: int = 0) -> Generation:
    """Return the state of an index that is to be made, in so many shards; 0: in none."""
    paths = tuple(map(shard_path, range(shards))) if shards else ("",)
    return Generation(folder, tuple(IndexPart(folder / path, None) for path in paths), paths)


def exists(folder: Path) -> bool:
    """Return whether something was published in ``folder``."""
    return layout.is_sharded(folder) or (folder / manifests.NAME).is_file()


def read(folder: Path) -> Generation:
    """Return the published state of the index in ``folder``.

    Raises IndexStateError if there is no index that this version can read.
    """

    def read_it(sharded: bool) -> Generation:
        return _of(folder, layout.read(folder)) if sharded else _whole(folder, manifests.read(folder))

    return layout.as_it_is(folder, read_it)


def published(folder: Path) -> Manifest:
    """Return the published state of the index in ``folder``, described by one manifest.

    Raises IndexStateError as :func:`read` does.
    """
    return read(folder).manifest


@contextmanager
def leased(folder: Path) -> Iterator[Generation]:
    """Read the published state of the index in ``folder``, and hold its segments meanwhile.

    Raises IndexStateError as :func:`read` does, or if a shard is missing.
    """
    state, lease = layout.as_it_is(folder, partial(_leased, folder))
    with closing(lease):
        yield state


def current(folder: Path, *, whole: bool = True) -> Generation:
    """Return the published state of the index in ``folder`` for whoever holds its lock and is going to change it.

    What a writer that died left undone after publishing is done: shards get the manifests that were published, and
    what belongs to no shard is removed.
    Raises IndexStateError as :func:`read` does, if the path of a shard leads to another one or to another index or,
    unless it need not be ``whole``, if a shard is missing.
    """
    state = read(folder)
    if state.is_sharded:
        if whole:
            layout.check_there(folder, layout.read(folder))
        for part in state.parts:
            _check_same(folder, part)
        for part in state.parts:
            _catch_up(part)
    remove_foreign(state)
    return state


def claim(target: Generation) -> None:
    """Note the shards that an index is to have beside those that it has, before they are filled.

    From then on what becomes spare of either is removed. The caller holds the index's lock.
    Raises IndexStateError if one of them holds another index.
    """
    folder, spare = target.folder, spare_shards.read(target.folder)
    named, readable = _named(folder)
    for path, part in zip(target.paths, target.parts, strict=True):
        if path in named:
            _check_same(folder, named[path])
        elif path and not _is_free(part.folder, spare.get(path), readable=readable):
            what = f"holds an index of its own, where a shard of {folder} is to lie"
            raise IndexStateError(what, place=part.folder, remedy="move it to another folder")
    known = {path: part.published.id for path, part in named.items()}
    spare_shards.note(folder, {**dict.fromkeys(filter(None, target.paths), ""), **spare, **known})


def _named(folder: Path) -> tuple[dict[str, IndexPart], bool]:
    """Return the shards that an index has by their paths, and whether that could be read."""
    try:
        state = _of(folder, layout.read(folder)) if layout.is_sharded(folder) else None
    except IndexStateError:
        return {}, False
    return (dict(zip(state.paths, state.parts, strict=True)) if state else {}), True


def _is_free(shard: Path, noted: str | None, *, readable: bool) -> bool:
    """Return whether a folder is one that the index has noted, or else holds no index of its own.

    Of an index whose shards are not ``readable`` any more it may be one of them: these have no lock.
    """
    if noted is not None:
        return spare_shards.is_own(shard, noted)
    return not (spare_shards.is_index(shard) if readable else (shard / LOCK).exists())


def remove_foreign(state: Generation) -> None:
    """Remove what the index in the folder of ``state`` was before it came to have other parts, unless it is held."""
    for name in (layout.NAME, spare_shards.NAME):
        for leftover in state.folder.glob(f".{name}.*.tmp"):
            leftover.unlink(missing_ok=True)
    if state.is_sharded:
        _remove_segments(state.folder)
    there = {part.folder.resolve() for part in state.parts}
    left = {}
    for name, manifest in spare_shards.read(state.folder).items():
        shard = state.folder / name
        if shard.resolve() in there or not shard.is_dir() or not spare_shards.is_own(shard, manifest):
            continue
        if _remove_segments(shard):
            _remove_folder(shard)
        else:
            left[name] = manifest
    spare_shards.note(state.folder, left)


def _remove_segments(folder: Path) -> bool:
    """Remove the segments in a folder that is no part of an index; return whether all are gone."""
    for file in (folder / manifests.NAME, *folder.glob(f".{manifests.NAME}.*.tmp")):
        file.unlink(missing_ok=True)
    journals.remove_build(folder)
    gone = [remove_unless_held(segment) for segment in journals.segments_in(folder / SEGMENTS)]
    if all(gone):
        with suppress(OSError):  # what else lies there is not of factseek
            (folder / SEGMENTS).rmdir()
    return all(gone)


def _remove_folder(shard: Path) -> None:
    """Remove the folder of a shard without segments, and the lock of a process that built it, unless more is there."""
    if {path.name for path in shard.iterdir()} <= {LOCK}:
        (shard / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # a link
            shard.rmdir()


def remove_empty(state: Generation) -> None:
    """Remove the folders of the shards of an index that was not made after all, as far as they are empty."""
    for part in state.parts if state.is_sharded and not exists(state.folder) else ():
        if part.folder.is_dir() and not any(part.folder.iterdir()):
            part.folder.rmdir()
    if not exists(state.folder):
        spare = spare_shards.read(state.folder)
        spare_shards.note(state.folder, {name: spare[name] for name in spare if (state.folder / name).is_dir()})


def _leased(folder: Path, sharded: bool) -> tuple[Generation, Lease]:
    if sharded:
        shards, lease = layout.open_leased(folder)
        return _of(folder, shards), lease
    manifest, lease = open_leased(folder)
    return _whole(folder, manifest), lease


def _whole(folder: Path, manifest: Manifest) -> Generation:
    return Generation(folder, (IndexPart(folder, manifest),), ("",))


def _of(folder: Path, shards: Shards) -> Generation:
    parts = tuple(IndexPart(shard.folder(folder), shard.manifest) for shard in shards.shards)
    return Generation(folder, parts, tuple(shard.path for shard in shards.shards))


def _check_same(folder: Path, part: IndexPart) -> None:
    """Raise IndexStateError if the folder of a shard holds another index, whose manifest must not be replaced.

    A segment keeps its documents as long as it has its number; what else a shard's own manifest says may be older.
    """
    try:
        own = manifests.read(part.folder)
    except IndexStateError:  # it has none, or it is damaged: that which was published takes its place
        return
    there = {segment.name: segment.files.get(DOCUMENTS) for segment in own.segments}
    for segment in part.segments:
        if there.get(segment.name, segment.files.get(DOCUMENTS)) != segment.files.get(DOCUMENTS):
            path = folder / layout.NAME
            what = f"is another index, or another shard, than {path} says: its segment {segment.name} is not the same"
            raise IndexStateError(what, place=part.folder, remedy=f"put the path of the shard right in {path}")


def _catch_up(part: IndexPart) -> None:
    """Publish the state of a shard in its own folder, if its writer died before it did."""
    try:
        own = read_regular(part.folder / manifests.NAME)
    except OSError:
        own = b""
    if own != manifests.encode(part.published):
        part.folder.mkdir(parents=True, exist_ok=True)
        manifests.publish(part.folder, part.published)
