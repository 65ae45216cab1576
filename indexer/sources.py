"""Describe the sources of a build: name, size and checksum of each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ..retrieval.errors import SourceError
from ..retrieval.files import sha256, storable
from ..retrieval.store.manifest import SourceInfo


def describe(sources: Sequence[Path]) -> tuple[SourceInfo, ...]:
    """Describe sources by content: a file by its checksum, a folder by the checksums of the files below it."""
    return tuple(map(_described, sources))


def _described(source: Path) -> SourceInfo:
    try:
        if source.is_dir():
            digest, size = hashlib.sha256(), 0
            for path in sorted(path for path in source.rglob("*") if path.is_file()):
                line = f"{path.relative_to(source).as_posix()}\0{sha256(path)}\n"
                digest.update(line.encode("utf-8", "surrogateescape"))
                size += path.stat().st_size
            return SourceInfo(name=storable(source.resolve().name), bytes=size, sha256=digest.hexdigest())
        if source.exists() and not source.is_file():  # reading a pipe would empty it
            raise SourceError("is not a regular file; save its content to a file first", place=source)
        return SourceInfo(name=storable(source.name), bytes=source.stat().st_size, sha256=sha256(source))
    except FileNotFoundError:
        raise SourceError("there is no such file or directory", place=source) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", place=source) from None
