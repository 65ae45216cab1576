"""The shard folders that an index has made and that are no part of it now: no other folder does its writer remove.

They are noted before they are filled, or before a state without them is published. Each has the id of its manifest
then, ``""`` if none was published there, so that an index which came to lie in its place is told from it.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from ..retrieval import manifest as manifests
from ..retrieval.errors import IndexStateError
from ..retrieval.files import read_regular, write_atomically
from ..retrieval.manifest import LOCK
from ..retrieval.shards import layout

NAME = "spare-shards.json"
_FOLDER = re.compile(r"shard-\d+")


def read(folder: Path) -> dict[str, str]:
    """Return the spare shards of the index in ``folder`` by their names; none if that cannot be read."""
    try:
        noted = msgspec.json.decode(read_regular(folder / NAME), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {name: manifest for name, manifest in noted.items() if _FOLDER.fullmatch(name)}


def note(folder: Path, spare: dict[str, str]) -> None:
    """Note the spare shards of the index in ``folder``, durably; of folders that factseek did not name none is kept."""
    wanted = {name: manifest for name, manifest in spare.items() if _FOLDER.fullmatch(name)}
    if not wanted:
        (folder / NAME).unlink(missing_ok=True)
    elif wanted != read(folder):
        write_atomically(folder / NAME, msgspec.json.encode(wanted, order="deterministic"))


def is_own(shard: Path, manifest: str) -> bool:
    """Return whether a folder holds no index but the one whose manifest has this id; ``""``: none that is published."""
    if layout.is_sharded(shard):
        return False
    if not (shard / manifests.NAME).exists():
        return True
    try:
        return manifests.read(shard).id == manifest
    except IndexStateError:
        return False


def is_index(folder: Path) -> bool:
    """Return whether a folder holds an index of its own, or one that is being built: it has a lock."""
    return any((folder / name).exists() for name in (manifests.NAME, layout.NAME, LOCK))
