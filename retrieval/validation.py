"""The path and the reason of a validation error of msgspec, read from its message: it has nothing else."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Mismatch(NamedTuple):
    """What is wrong, and at which path: ``$.server.indexes[0]``; of a key ``key` in `$.server``; else ``""``."""

    reason: str
    path: str


def mismatch(error: msgspec.ValidationError) -> Mismatch:
    """Return the reason of a validation error and the path that it is about."""
    reason, _, path = str(error).partition(" - at `")
    return Mismatch(reason, path)
