"""The chunks of a text, which are the texts between two blanks, found by their terms in one call of
Java.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from .jvm import java, pack


class Place(NamedTuple):
    """A chunk of a text, with the place of its first character."""

    start: int
    chunk: str


class ChunkCache:
    """A cache of the terms of chunks, in Java; it lives as long as the process.

    It is safe for threads. Looking up the words of an answer one by one in Python takes several
    times as long, and keeps other threads waiting.
    """

    def __init__(self, most: int, longest: int) -> None:
        """Cache at most ``most`` chunks, and fewer if they have many terms; those of more than
        ``longest`` characters are not cached. Java must be running.
        """
        self.longest = longest
        self._handle: int = java("Chunks").open(most, longest)

    def remember(self, terms: Mapping[str, Collection[str]]) -> None:
        """Remember the terms of chunks."""
        lines = ((chunk, "\n".join(terms_of)) for chunk, terms_of in terms.items())
        java("Chunks").remember(self._handle, pack(list(chain.from_iterable(lines))))

    def find(self, text: str, wanted: bytes) -> tuple[list[Place], list[Place]]:
        """Return the chunks of a text that have a wanted term, and those that are not in the cache.

        ``wanted`` has the terms as :func:`~factseek.retrieval.lucene.jvm.pack` writes them.
        """
        packed = java("Chunks").places(self._handle, pack([text]), wanted)
        matching, *bounds = np.frombuffer(packed.encode("latin-1"), "<i4").tolist()
        starts, ends = bounds[::2], bounds[1::2]
        places = [Place(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]
        return places[:matching], places[matching:]
