"""The file of an index in shards: ``shards.json`` names its shards and holds the manifest of each.

A shard is an ordinary index folder. Replacing ``shards.json`` publishes a change. Readers open only
the manifests in this file, never those in the shards, so a change appears in all shards or in none.
As with a manifest, anybody may have written the file, so decoding checks every path in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from os.path import isfile
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import IndexStateError
from ..core.files import read_regular, write_atomically
from ..retrieval.store import manifest as manifests
from ..retrieval.store.index_folder import Lease, take_segments
from ..retrieval.store.manifest import SHARDS, Manifest, ManifestPart

LAYOUT = 1
MOST_SHARDS = 1_000
"""The maximum number of shards: their four-digit numbers precede the names of segments in the
merged manifest.
"""
ROUTING = "blake2b"
_MOST_DIGITS = 14
# ``factseek restore`` is no remedy: a snapshot never contains shards.
RESTORE = "restore a copy of the folder, or rebuild the index with --overwrite"
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")


class Shard(ManifestPart, frozen=True, kw_only=True):
    """A shard: its path, absolute or relative to the folder of the index, and its published
    manifest.
    """

    path: str
    manifest: Manifest

    def __post_init__(self) -> None:
        """Raise ValueError if the path is not one of a folder, or the name of a segment is too
        long.
        """
        parts = self.path.removeprefix("/").split("/")
        if _FORBIDDEN.search(self.path) or not all(part.strip(".") for part in parts):
            raise ValueError(f"a shard lies at {self.path[:60]!r}, which is not a path of a folder")
        if any(len(segment.name) > _MOST_DIGITS for segment in self.manifest.segments):
            raise ValueError(
                f"a segment of shard {self.path} has a name of more than {_MOST_DIGITS} digits"
            )

    def folder(self, index: Path) -> Path:
        """Return the folder of this shard of the index in the folder ``index``."""
        return index / self.path


class Shards(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A published state of an index in shards; ``routing`` says which shard owns a docid."""

    layout: int
    created: str
    routing: str
    shards: tuple[Shard, ...]

    def __post_init__(self) -> None:
        """Raise ValueError if there are no or too many shards, a shard is listed twice, or the
        routing is wrong.
        """
        if not self.shards:
            raise ValueError("it lists no shard")
        if len(self.shards) > MOST_SHARDS:
            raise ValueError(f"it lists {len(self.shards)} shards, more than {MOST_SHARDS}")
        paths = [shard.path for shard in self.shards]
        for path in paths:
            if paths.count(path) > 1:
                raise ValueError(f"shard {path} is listed twice")
        if self.routing != routing(len(self.shards)):
            raise ValueError(
                f"its routing is {self.routing[:60]!r}, but its shards need "
                f"{routing(len(self.shards))!r}"
            )

    @cached_property
    def merged(self) -> Manifest:
        """All shards as one index, for reading only.

        Each segment's name begins with the number of its shard.
        """
        parts = [shard.manifest for shard in self.shards]
        return msgspec.structs.replace(
            parts[0],
            created=max(part.created for part in parts),
            documents=sum(part.documents for part in parts),
            passages=sum(part.passages for part in parts),
            segments=tuple(
                msgspec.structs.replace(
                    segment, name=f"{number:04d}{int(segment.name):0{_MOST_DIGITS}d}"
                )
                for number, part in enumerate(parts)
                for segment in part.segments
            ),
        )


def routing(shards: int) -> str:
    """Return how docids are routed to ``shards`` shards, as ``shards.json`` states it."""
    return f"{ROUTING}:{shards}"


def owner(docid: str, shards: int) -> int:
    """Return the number, from 0, of the shard that owns a docid: the docid's 8-byte BLAKE2b hash
    modulo ``shards``.
    """
    if shards == 1:
        return 0
    digest = hashlib.blake2b(docid.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def is_sharded(folder: Path) -> bool:
    """Return whether the index in ``folder`` is in shards."""
    return isfile(folder / SHARDS)


def encode(shards: Shards) -> bytes:
    """Return the description of an index in shards as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(shards, order="deterministic"), indent=2) + b"\n"


def publish(folder: Path, paths: Sequence[str], states: Sequence[Manifest]) -> Shards:
    """Publish ``states``, one for each shard, atomically as the state of the index in ``folder``;
    return this state.
    """
    named = tuple(
        Shard(path=path, manifest=state) for path, state in zip(paths, states, strict=True)
    )
    shards = Shards(
        layout=LAYOUT, created=manifests.now(), routing=routing(len(named)), shards=named
    )
    write_atomically(folder / SHARDS, encode(shards))
    return shards


def read(folder: Path) -> Shards:
    """Read the shards of the index in ``folder`` and their published states.

    Raises IndexStateError if there is no index in shards that this version can read, a shard does
    not fit the others, or two shards have the same folder.
    """
    path = folder / SHARDS
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise IndexStateError(
            f"is not a sharded index (it has no {SHARDS})", place=folder
        ) from None
    except OSError as error:
        raise IndexStateError(f"cannot be read: {error.strerror}", place=path) from None
    shards = _convert(path, manifests.decoded_json(path, content))
    for shard in shards.shards[1:]:
        _check_alike(path, shards.shards[0], shard)
    places: dict[Path, str] = {folder.resolve(): f"the index {folder} itself"}
    for shard in shards.shards:
        place = shard.folder(folder).resolve()
        if place in places:
            what = (
                f"shard {shard.path} lies in the folder of {places[place]}, but each needs its "
                "own folder"
            )
            raise IndexStateError(what, place=path, remedy=RESTORE)
        places[place] = f"shard {shard.path}"
    return shards


def open_leased(folder: Path) -> tuple[Shards, Lease]:
    """Read the shards of an index, and keep all their segments; raise IndexStateError if a segment
    is missing.
    """
    shards = read(folder)
    while True:
        lease, missing = Lease(), list[tuple[Path, str]]()
        for shard in shards.shards:
            place = shard.folder(folder)
            gone = take_segments(lease, place, shard.manifest)
            if not place.is_dir():
                missing.append((place, f"is missing: it is a shard of the index {folder}"))
            elif gone:
                missing.append(
                    (place, f"does not match {folder / SHARDS}: it has no segment {gone[0].name}")
                )
        if not missing:
            return shards, lease
        lease.close()
        # If a writer removed something between reading and holding, there is a newer state.
        newer = read(folder)
        if newer == shards:
            place, what = missing[0]
            raise IndexStateError(what, place=place, remedy="restore the folder of the shard")
        shards = newer


def _convert(path: Path, raw: Any) -> Shards:
    if not isinstance(raw, dict) or not isinstance(raw.get("shards"), list):
        raise IndexStateError("does not describe a sharded index", place=path)
    if raw.get("layout") != LAYOUT:
        raise IndexStateError(
            f"has layout {raw.get('layout')!r}, but this factseek reads layout {LAYOUT}", place=path
        )
    shards = [
        {
            **shard,
            "manifest": manifests.convert_manifest(
                f"{path}: shard {str(shard.get('path'))[:60]}", shard["manifest"]
            ),
        }
        if isinstance(shard, dict) and "manifest" in shard
        else shard
        for shard in raw["shards"]
    ]
    try:
        return msgspec.convert({**raw, "shards": shards}, Shards)
    except (msgspec.ValidationError, RecursionError) as error:
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=RESTORE) from None


def _check_alike(path: Path, first: Shard, shard: Shard) -> None:
    for what in ("language", "analyzer", "fields", "encoder", "views"):
        its, that = getattr(shard.manifest, what), getattr(first.manifest, what)
        if what == "views":
            its, that = (
                msgspec.json.encode(views, order="deterministic").decode() for views in (its, that)
            )
        elif what == "encoder":  # the views have the details that this text lacks
            its, that = str(its), str(that)
        if its != that:
            differs = f"shard {shard.path} has the {what} {its}, but shard {first.path} has {that}"
            raise IndexStateError(differs, place=path, remedy=RESTORE)
