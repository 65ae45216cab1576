"""The file of a sharded index: ``shards.json`` names its shards and holds the manifest of each in this generation.

Replacing it is publishing: readers open the manifests that it holds, never the shards' own, so a change is there in all
shards or in none. Like a manifest it may have been written by anybody: every path in it is checked when it is decoded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .. import manifest as manifests
from ..errors import IndexStateError
from ..files import read_regular, write_atomically
from ..lease import Lease, take_segments
from ..manifest import RESTORE, Manifest, ManifestPart, SegmentInfo

T = TypeVar("T")
LAYOUT = 1
NAME = "shards.json"
MOST_SHARDS = 1_000
"""So many shards may an index have: their numbers stand before the names of segments where all are told apart."""
ROUTING = "blake2b"
_BRING_BACK = "bring back its folder, or restore a snapshot"
_MOST_DIGITS = 14
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")


class Shard(ManifestPart, frozen=True, kw_only=True):
    """A shard: where it lies, from the folder of the index, and its manifest in this generation."""

    path: str
    manifest: Manifest

    def __post_init__(self) -> None:
        """Raise ValueError if the path is none that factseek would give."""
        parts = self.path.removeprefix("/").split("/")
        if _UNPRINTABLE.search(self.path) or not all(part.strip(".") for part in parts):
            raise ValueError(f"a shard lies at {self.path[:60]!r}, which is not a path of a folder")
        if any(len(segment.name) > _MOST_DIGITS for segment in self.manifest.segments):
            raise ValueError(f"a segment of shard {self.path} has a name of more than {_MOST_DIGITS} digits")

    def folder(self, index: Path) -> Path:
        """Return the folder of this shard of the index in the folder ``index``."""
        return index / self.path


class Shards(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The description of a generation of a sharded index; ``routing`` says which shard owns a docid."""

    layout: int
    created: str
    routing: str
    shards: tuple[Shard, ...]

    def __post_init__(self) -> None:
        """Raise ValueError if a shard is listed twice, or the routing is not that of so many shards."""
        if not self.shards:
            raise ValueError("it names no shard")
        if len(self.shards) > MOST_SHARDS:
            raise ValueError(f"it names {len(self.shards)} shards, more than {MOST_SHARDS}")
        paths = [shard.path for shard in self.shards]
        for path in paths:
            if paths.count(path) > 1:
                raise ValueError(f"shard {path} is listed twice")
        if self.routing != routing(len(self.shards)):
            raise ValueError(f"its routing is {self.routing[:60]!r}, that of its shards {routing(len(self.shards))!r}")

    @property
    def id(self) -> str:
        """The id of this generation: that of :func:`merged`."""
        return self.merged.id

    @cached_property
    def merged(self) -> Manifest:
        """All shards described as one index."""
        return merged(self)


def routing(shards: int) -> str:
    """Return how docids are routed to so many shards, as ``shards.json`` says it."""
    return f"{ROUTING}:{shards}"


def owner(docid: str, shards: int) -> int:
    """Return the number of the shard that owns a docid, from 0: its BLAKE2b of 8 bytes, modulo ``shards``."""
    if shards == 1:
        return 0
    digest = hashlib.blake2b(docid.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def shard_path(number: int) -> str:
    """Return the path of a new shard, from the folder of its index."""
    return f"shard-{number:02d}"


def is_sharded(folder: Path) -> bool:
    """Return whether the index in ``folder`` is sharded."""
    return (folder / NAME).is_file()


def as_it_is(folder: Path, read_it: Callable[[bool], T]) -> T:
    """Return what ``read_it`` returns when it is told whether the index in ``folder`` is sharded.

    If the index came to have shards, or to have none any more, while it was read, it is read once more.
    """
    sharded = is_sharded(folder)
    try:
        return read_it(sharded)
    except IndexStateError:
        if is_sharded(folder) == sharded:
            raise
        return read_it(not sharded)


def published_file(folder: Path) -> Path:
    """Return the file whose replacement publishes a state of the index in ``folder``, sharded or not."""
    return folder / (NAME if is_sharded(folder) else manifests.NAME)


def index_of_shard(folder: Path) -> Path | None:
    """Return the sharded index that has ``folder`` as a shard below its own folder, also by a link, or None."""
    place = folder.resolve()
    for index in (folder.parent, place.parent):
        if is_sharded(index) and place in {shard.folder(index).resolve() for shard in read(index).shards}:
            return index
    return None


def encode(shards: Shards) -> bytes:
    """Return the description of a sharded index as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(shards, order="deterministic"), indent=2) + b"\n"


def publish(folder: Path, shards: Shards) -> None:
    """Make ``shards`` the state of the sharded index in ``folder``, in one atomic step."""
    write_atomically(folder / NAME, encode(shards))


def read(folder: Path) -> Shards:
    """Read which shards, in which state, the index in ``folder`` has.

    Raises IndexStateError if there is no sharded index that this version can read, a shard does not fit the others, or
    two lie in one folder.
    """
    path = folder / NAME
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise IndexStateError(f"is not a sharded index (it has no {NAME})", place=folder) from None
    except OSError as error:
        raise IndexStateError(f"cannot be read: {error.strerror}", place=path) from None
    shards = _converted(path, manifests.decoded_json(path, content))
    for shard in shards.shards[1:]:
        _check_alike(path, shards.shards[0], shard)
    _check_apart(path, shards)
    return shards


def merged(shards: Shards) -> Manifest:
    """Return the manifest that describes all shards as one index, to be read and never to be published.

    Its segments are those of all shards in order, each named by the number of its shard and its own name.
    """
    return described([shard.manifest for shard in shards.shards])


def described(parts: Sequence[Manifest]) -> Manifest:
    """Return the manifest that describes shards with these manifests as one index, as :func:`merged` does."""
    return msgspec.structs.replace(
        parts[0],
        created=max(part.created for part in parts),
        documents=sum(part.documents for part in parts),
        passages=sum(part.passages for part in parts),
        segments=tuple(_numbered(number, segment) for number, part in enumerate(parts) for segment in part.segments),
    )


def open_leased(folder: Path) -> tuple[Shards, Lease]:
    """Read which shards the index in ``folder`` has, and hold the segments of all of them.

    Raises IndexStateError as :func:`read` does, or if a shard, or a segment of one, is not there.
    """
    shards = read(folder)
    while True:
        lease = Lease()
        missing = [
            (shard, path) for shard in shards.shards for path in _not_there(lease, shard.folder(folder), shard.manifest)
        ]
        if not missing:
            return shards, lease
        lease.close()
        # Taken away between reading and holding: then there is a newer generation.
        newer = read(folder)
        if newer == shards:
            raise _missing(folder, *missing[0])
        shards = newer


def check_there(folder: Path, shards: Shards) -> None:
    """Raise IndexStateError if a shard of the index in ``folder``, or a segment of one, is not there."""
    with closing(Lease()) as lease:
        for shard in shards.shards:
            for path in _not_there(lease, shard.folder(folder), shard.manifest):
                raise _missing(folder, shard, path)


def _not_there(lease: Lease, place: Path, manifest: Manifest) -> list[Path]:
    """Hold the segments of a shard; return those that are not there, its folder first if that is not there."""
    missing = take_segments(lease, place, manifest)
    return missing if place.is_dir() else [place, *missing]


def _missing(folder: Path, shard: Shard, segment: Path) -> IndexStateError:
    """Return the error for a segment of a shard of the index in ``folder`` that is not there."""
    place = shard.folder(folder)
    if not place.is_dir():
        return IndexStateError(f"is missing: it is a shard of the index {folder}", place=place, remedy=_BRING_BACK)
    what = f"is of another generation than {folder / NAME} says: it has no segment {segment.name}"
    return IndexStateError(what, place=place, remedy=_BRING_BACK)


def _converted(path: Path, raw: Any) -> Shards:
    if not isinstance(raw, dict) or not isinstance(raw.get("shards"), list):
        raise IndexStateError("does not describe a sharded index", place=path)
    if raw.get("layout") != LAYOUT:
        raise IndexStateError(f"has layout {raw.get('layout')!r}, this factseek reads layout {LAYOUT}", place=path)
    shards = [_with_manifest(path, shard) for shard in raw["shards"]]
    try:
        return msgspec.convert({**raw, "shards": shards}, Shards)
    except (msgspec.ValidationError, RecursionError) as error:
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=RESTORE) from None


def _with_manifest(path: Path, raw: Any) -> Any:
    """Return a shard with its manifest converted."""
    if not isinstance(raw, dict) or "manifest" not in raw:
        return raw
    return {**raw, "manifest": manifests.converted(f"{path}: shard {str(raw.get('path'))[:60]}", raw["manifest"])}


def _check_alike(path: Path, first: Shard, shard: Shard) -> None:
    """Raise IndexStateError if a shard was not made as the first one was."""
    here, there = shard.manifest, first.manifest
    for what, its, that in (
        ("language", here.language, there.language),
        ("analyzer", here.analyzer, there.analyzer),
        ("fields", here.fields, there.fields),
        ("encoder", str(here.encoder), str(there.encoder)),
        ("views", _shown(here.views), _shown(there.views)),
    ):
        if its != that:
            differs = f"shard {shard.path} has the {what} {its}, shard {first.path} {that}; all shards have the same"
            raise IndexStateError(differs, place=path, remedy=RESTORE)


def _check_apart(path: Path, shards: Shards) -> None:
    """Raise IndexStateError if a shard lies where another one does, or the index itself, also by a link."""
    taken = {path.parent.resolve(): f"the index {path.parent} itself"}
    for shard in shards.shards:
        place = shard.folder(path.parent).resolve()
        if place in taken:
            what = f"shard {shard.path} lies in the folder of {taken[place]}; each has a folder of its own"
            raise IndexStateError(what, place=path, remedy=RESTORE)
        taken[place] = f"shard {shard.path}"


def _shown(views: dict[str, Any]) -> str:
    return msgspec.json.encode(views, order="deterministic").decode()


def _numbered(shard: int, segment: SegmentInfo) -> SegmentInfo:
    """Return a segment under a name that no segment of another shard has."""
    return msgspec.structs.replace(segment, name=f"{shard:04d}{int(segment.name):0{_MOST_DIGITS}d}")
