"""What earlier runs have fetched for an index, so that the next run asks only for what is new.

The file lies in the folder of the index. No manifest names it, so snapshots and builds ignore it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ...core.errors import SourceError
from ...core.files import os_errors_reported, write_atomically
from ...retrieval.store.manifest import NAME

FOLDER, FILE = "intake", "seen.json"


class SeenAddress(msgspec.Struct, omit_defaults=True):
    """The last answer of an address: its headers ETag and Last-Modified, and digests.

    ``digest`` is that of the body. ``changed`` is the time of the last change that a sitemap gave.
    ``items`` maps the docid of each item of a feed to the digest of the item. ``followed`` are the
    docids of the items whose pages were read, or that have no page. ``pages`` and ``sitemaps`` are
    what a sitemap lists, with the times of the last changes.
    """

    etag: str = ""
    modified: str = ""
    digest: str = ""
    changed: str = ""
    items: dict[str, str] = {}
    followed: list[str] = []
    pages: list[tuple[str, str]] = []
    sitemaps: list[tuple[str, str]] = []


class Seen(msgspec.Struct):
    """The addresses that have been fetched for an index."""

    addresses: dict[str, SeenAddress] = {}


def read_seen(index: Path) -> Seen:
    """Return what has been fetched for the index in a folder; nothing if there is no such file.

    Raises SourceError if the file is damaged.
    """
    path = index / FOLDER / FILE
    with os_errors_reported(path):
        if not path.is_file():
            return Seen()
        content = path.read_bytes()
    try:
        return msgspec.json.decode(content, type=Seen)
    except msgspec.DecodeError:
        remedy = "remove it: the next run then fetches everything once more"
        raise SourceError("is damaged", place=path, remedy=remedy) from None


def write_seen(index: Path, seen: Seen) -> None:
    """Store what has been fetched for the index in a folder."""
    path = index / FOLDER / FILE
    if not (index / NAME).is_file():  # nothing was fetched, so there is no index yet
        return
    with os_errors_reported(path):
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, msgspec.json.encode(seen, order="sorted"))


def forget_seen(index: Path) -> None:
    """Forget what was fetched for the index in a folder, because it is overwritten."""
    path = index / FOLDER / FILE
    with os_errors_reported(path):
        path.unlink(missing_ok=True)
