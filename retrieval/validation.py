"""What a validation error of msgspec is about: its message is all that it has."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Mismatch(NamedTuple):
    """What is wrong, and at which path: ``$.server.indexes[0]``; of a key ``key` in `$.server``; else ``""``."""

    reason: str
    path: str


def mismatch(error: msgspec.ValidationError) -> Mismatch:
    """Return what a validation error says, and of which place."""
    reason, _, path = str(error).partition(" - at `")
    return Mismatch(reason, path)
