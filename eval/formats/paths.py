"""The paths that an option names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...retrieval.errors import QueryError


def only(paths: Sequence[Path], option: str) -> Path:
    """Return the one path of an option that takes one.

    Raises QueryError if there are more.
    """
    if len(paths) != 1:
        raise QueryError(f"give one file, not {len(paths)}", place=option)
    return paths[0]
