"""What a reader of judgements says beside them."""

from __future__ import annotations

from collections.abc import Callable

Note = Callable[[str], None]
"""Is told what a reader of figures should know of the judgements."""


def unnoted(note: str) -> None:
    """Let a note pass."""
