"""Count the words of a segment in a thread of Java, while Python continues to read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...core.errors import MachineError
from ...core.folding import fold
from .characters import teach_java
from .jvm import call_java, java, pack
from .spelling import LONGEST, SHORTEST

MOST_WORDS = 300_000  # the maximum number of words to keep of a segment; the most frequent stay
_MOST_COUNTED = 4 * MOST_WORDS
_MOST_CHUNKS = 500_000
# Chunks are long in scripts without spaces between words.
_MOST_CHUNK_BYTES = 64 << 20
_CHARACTERS_AT_ONCE = 1 << 20
_Returned = TypeVar("_Returned")


class WordCounts(NamedTuple):
    """Words in sorted order, each on a line in UTF-8, and how often each occurs."""

    lines: bytes
    counts: NDArray[np.int64]


class WordCounter:
    """Counts the words of texts in bounded memory: if there are too many words, it drops the
    rarest.

    Java counts a batch of texts while the next one is gathered. The methods raise MachineError if
    Java has too little memory, but perhaps only when later texts are added.
    """

    def __init__(self, folder: Path) -> None:
        """Open a counter; ``folder`` is the place for messages."""
        self._folder = folder
        self._counter: int = java("WordCounter").open(
            _MOST_CHUNKS, _MOST_CHUNK_BYTES, _MOST_COUNTED, SHORTEST, LONGEST
        )
        self._gathered: list[str] = []
        self._size = 0
        self._ended = False

    def add(self, text: str) -> None:
        """Count the words of a text."""
        if not text:
            return
        if not text.isascii():
            teach_java()
            text = fold(text).lower()
        self._gathered.append(text)
        self._size += len(text)
        if self._size >= _CHARACTERS_AT_ONCE:
            self._hand_over()

    def end(self) -> None:
        """Start the last work in the background."""
        if not self._ended:
            self._hand_over()
            self._call_java(partial(java("WordCounter").end, self._counter, MOST_WORDS))
            self._ended = True

    def finish(self) -> WordCounts:
        """Wait until the work is done, and return the most frequent words."""
        self.end()
        packed = self._call_java(partial(java("WordCounter").finish, self._counter))
        content = packed.encode("latin-1")
        size = int.from_bytes(content[:4], "little")
        counts = np.frombuffer(content, "<i8", size, 4)
        return WordCounts(content[4 + counts.nbytes :], counts)

    def abandon(self) -> None:
        """Close without a result; a second call does nothing."""
        java("Handles").close(self._counter)

    def _hand_over(self) -> None:
        texts, self._gathered, self._size = pack(self._gathered), [], 0
        self._call_java(partial(java("WordCounter").add, self._counter, texts))

    def _call_java(self, call: Callable[[], _Returned]) -> _Returned:
        return call_java(call, self._folder, MachineError, "its words cannot be counted ({})")
