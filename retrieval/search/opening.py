"""Open the state of an index: from its folder or, if a file there says so, through another
package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from os.path import isfile
from pathlib import Path
from typing import Any

from ...core.errors import IndexStateError
from ..config import Config
from ..store import manifest as manifests
from ..store.index_folder import Lease, open_leased
from ..store.manifest import SHARDS, Manifest
from .index_state import IndexState
from .snapshot import IndexEncoders, Snapshot

Opening = Callable[[Path, Config, IndexEncoders], IndexState]
"""A function that opens the state of an index, from its folder, the settings, and a function that
opens encoders.
"""
FORMS = {SHARDS: "cluster.opening"}
"""For each other form of an index: the file that marks it, and the module that opens it as this
module does.
"""


def open_state(folder: Path, config: Config, encoders: IndexEncoders) -> IndexState:
    """Open the last published state of the index in ``folder``.

    Raises IndexStateError if it cannot be read.
    """
    form = _form(folder)
    try:
        opened: IndexState = (
            form.open_state(folder, config, encoders)
            if form
            else Snapshot(folder, config, encoders)
        )
        return opened
    except IndexStateError:
        if _form(folder) is form:
            raise
        return open_state(folder, config, encoders)  # the form changed during the read


def read_published(folder: Path) -> Manifest:
    """Return the published state of the index in ``folder``.

    Raises IndexStateError if there is none.
    """
    form = _form(folder)
    return form.read_published(folder) if form else manifests.read(folder)


def published_file(folder: Path) -> Path:
    """Return the file that is replaced to publish a state of the index in ``folder``."""
    return folder / next((name for name in FORMS if isfile(folder / name)), manifests.NAME)


@contextmanager
def leased(folder: Path) -> Iterator[Sequence[tuple[Path, Manifest]]]:
    """Protect the published segments of an index from removal; yield the folder and manifest of
    each part of it.
    """
    parts, lease = _lease_parts(folder)
    with closing(lease):
        yield parts


def _lease_parts(folder: Path) -> tuple[Sequence[tuple[Path, Manifest]], Lease]:
    form = _form(folder)
    try:
        if form:
            leased_parts: tuple[Sequence[tuple[Path, Manifest]], Lease] = form.lease_segments(
                folder
            )
            return leased_parts
        manifest, lease = open_leased(folder)
        return [(folder, manifest)], lease
    except IndexStateError:
        if _form(folder) is form:
            raise
        return _lease_parts(folder)  # the form changed during the read


def _form(folder: Path) -> Any:
    """Return the module of an index in another form; None for an index in one folder."""
    module = FORMS.get(published_file(folder).name)
    return import_module(f"{__package__.partition('.retrieval')[0]}.{module}") if module else None
