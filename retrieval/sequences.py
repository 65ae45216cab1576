"""Sequences that a caller gives: a lone text is one, of its letters, and never what is meant."""

from __future__ import annotations


def refuse_text(name: str, values: object) -> None:
    """Raise TypeError if what should be several values is one text."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} is one text; give a list, even of one: [{values[:40]!r}]")
