"""Aliases: a name in a folder that points to an index, and is pointed to another in one step while it is served.

An alias is a symbolic link, so whatever takes the directory of an index takes an alias. A reader that has opened it
keeps the index that it opened; a server sees that the name has come to stand for another, and serves that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..retrieval.errors import IndexStateError
from ..retrieval.files import os_errors_reported, sync_folder, temporary_beside
from ..retrieval.search.opening import published


class Pointed(NamedTuple):
    """An alias, the index that it points to now, that index's manifest, and where it pointed before, if anywhere."""

    alias: Path
    target: Path
    manifest_id: str
    before: Path | None


def point(alias: Path, index: Path) -> Pointed:
    """Make ``alias`` point to ``index``, in one step; an alias as ``index`` stands for what it points to.

    Raises IndexStateError if it would point to itself, there is no index, or something other than an alias is in its
    place; MachineError if it cannot be written.
    """
    if _place(alias) == _place(index):
        raise IndexStateError("an alias cannot point to itself", place=alias, remedy="name the index that it points to")
    manifest = published(index)
    if alias.exists() and not alias.is_symlink():
        raise IndexStateError(
            "is not an alias: it is a file or folder itself", place=alias, remedy="choose another name"
        )
    with os_errors_reported(alias):
        before = _target(alias) if alias.is_symlink() else None
        temporary = temporary_beside(alias)
        try:
            temporary.symlink_to(os.path.relpath(os.path.realpath(index), os.path.realpath(alias.parent)))
            temporary.replace(alias)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(alias.parent)
    return Pointed(alias, _target(alias), manifest.id, before)


def _target(alias: Path) -> Path:
    """Return where an alias points, from where its own path is taken."""
    return Path(os.path.normpath(alias.parent / alias.readlink()))


def _place(path: Path) -> Path:
    """Return where a path stands, without following the last link."""
    absolute = path.absolute()
    return absolute.parent.resolve() / absolute.name
