"""The parts of a document's text, such as a claim and what a fact-checker found.

The text of a document with several parts has them one after the other, each on a new line. The
metadata field ``part_starts`` has the offset at which each part begins. So a document keeps its
parts wherever it is copied to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

PART_STARTS = "part_starts"
"""The metadata field of a document with several parts: the offset in its text of each part."""


class PartSpan(NamedTuple):
    """A part of a text, ``text[start:end]`` in characters, without the line end behind it."""

    start: int
    end: int


def join_parts(texts: Iterable[str]) -> tuple[str, list[int]]:
    """Return the text that consists of ``texts``, and where each of them begins in it.

    Empty texts, and texts that occurred before, are left out.
    """
    kept = list(dict.fromkeys(filter(None, map(str.strip, texts))))
    starts, length = [], 0
    for text in kept:
        starts.append(length)
        length += len(text) + 1
    return "\n".join(kept), starts


def parts_of(text: str, metadata: Mapping[str, Any]) -> list[PartSpan]:
    """Return the parts of a document's text, in order; the whole text if it is not divided.

    Metadata that do not fit the text divide nothing: they may come from anywhere.
    """
    starts = _starts_in(text, metadata)
    return [PartSpan(start, after - 1) for start, after in pairwise([*starts, len(text) + 1])]


def first_part(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the first part of a document's text: the claim of a fact-check."""
    first = parts_of(text, metadata)[0]
    return text[first.start : first.end]


def _starts_in(text: str, metadata: Mapping[str, Any]) -> list[int]:
    starts = metadata.get(PART_STARTS)
    if not isinstance(starts, list) or not all(type(start) is int for start in starts):
        return [0]
    is_rising = all(start + 1 < after for start, after in pairwise([*starts, len(text) + 1]))
    if starts[:1] != [0] or not is_rising or any(text[start - 1] != "\n" for start in starts[1:]):
        return [0]
    return starts
