"""Parts of a document that pages and terminals show: its text in highlighted pieces, and safe links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit


class Piece(NamedTuple):
    """A stretch of text, and whether it matches the query."""

    text: str
    marked: bool


def pieces_of(text: str, highlights: Sequence[tuple[int, int]], begin: int, end: int) -> list[Piece]:
    """Split ``text[begin:end]`` at the highlights that lie in it."""
    pieces, last = [], begin
    for start, stop in highlights:
        if start >= last and stop <= end:
            pieces += [Piece(text[last:start], False), Piece(text[start:stop], True)]
            last = stop
    pieces.append(Piece(text[last:end], False))
    return [piece for piece in pieces if piece.text]


def web_link(url: str) -> str:
    """Return ``url``, without white space around it, if a browser may be sent there, else ``""``."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""
