"""The callback through which a reader of judgements passes on its notes."""

from __future__ import annotations

from collections.abc import Callable

Note = Callable[[str], None]
"""Is told what a reader of figures should know of the judgements."""


def unnoted(note: str) -> None:
    """Ignore a note."""
