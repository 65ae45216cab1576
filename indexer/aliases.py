"""Aliases: names that point to indexes.

An alias can be switched to another index even while a server uses the alias.

An alias is a symbolic link, so every command accepts an alias as an index directory. A process that
has opened an index by its alias continues to use that index. A server, however, notices the switch
and then serves the other index.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..core.errors import IndexStateError, MachineError
from ..core.files import os_errors_reported, sync_folder, temporary_beside
from ..retrieval.search.opening import read_published


class Pointed(NamedTuple):
    """An alias, the index that it points to now, the id of that index's manifest, and the previous
    target, if any.
    """

    alias: Path
    target: Path
    manifest_id: str
    before: Path | None


def point(alias: Path, index: Path) -> Pointed:
    """Make ``alias`` point to ``index`` in one step.

    If ``index`` is an alias, use the index that it points to.

    Raises IndexStateError if the alias would point to itself, if ``index`` is not an index, or if
    ``alias`` exists and is not an alias. Raises MachineError if the alias cannot be written.
    """
    own, other = (
        path.parent.resolve() / path.name for path in (alias.absolute(), index.absolute())
    )
    if own == other:
        raise IndexStateError(
            "an alias cannot point to itself", place=alias, remedy="give the path of an index"
        )
    manifest = read_published(index)
    if alias.exists() and not alias.is_symlink():
        what = "is not an alias: it is a file or folder itself"
        raise IndexStateError(what, place=alias, remedy="choose another name")
    if not alias.parent.is_dir():
        raise MachineError(
            f"there is no folder {alias.parent}", place=alias, remedy="create it first"
        )
    with os_errors_reported(alias):
        before = _target(alias) if alias.is_symlink() else None
        temporary = temporary_beside(alias)
        try:
            temporary.symlink_to(
                os.path.relpath(os.path.realpath(index), os.path.realpath(alias.parent))
            )
            temporary.replace(alias)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(alias.parent)
    return Pointed(alias, _target(alias), manifest.id, before)


def _target(alias: Path) -> Path:
    return Path(os.path.normpath(alias.parent / alias.readlink()))
