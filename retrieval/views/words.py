"""The view ``words``: the words of the documents in their written form, which correct misspelt
words.

They are counted while the documents are written, and again when segments are merged: in Java,
while Lucene indexes the same texts. ``words.txt`` has the words in sorted order, one per line.
``words.u64`` has two numbers per word. The first is a mask of the word's letters. The second
contains the offset of the word's line, and the word's frequency.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Document, Span
from ...core.errors import IndexStateError
from ...core.files import read_regular
from ..config import Config
from ..lucene.jvm import start
from ..lucene.spelling import WordNearby, masks, possible, within
from ..lucene.word_counter import WordCounter, WordCounts
from ..store.integrity import REMEDY, map_file
from ..store.manifest import Manifest
from . import Check, Encoders, OpenSegment, PassageSink, SegmentPlace, Tools, View

TEXT, NUMBERS = "words.txt", "words.u64"
_COUNT_BITS = 32
_BYTES_A_LETTER = 4  # at most, in UTF-8
_MOST_COUNTED = 2**32 - 1


class WordsView(View):
    """The words of the documents of a segment."""

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        return {} if config.index.words else None

    def owns(self, file: str) -> bool:
        return file in (TEXT, NUMBERS)

    def sink(self, segment: SegmentPlace, tools: Tools) -> _WordSink:
        start(tools.config.java.heap)
        return _WordSink(segment.folder)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        start(tools.config.java.heap)
        return (Check(TEXT, lambda: _wrong(segment)),)

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> list[SegmentWords]:
        return [_read(segment.folder) for segment in segments]


view = WordsView


class SegmentWords(NamedTuple):
    """The words of a segment: their lines, the masks of their letters, and the offset and frequency
    of each word.

    It is safe for threads. The files stay mapped while anybody uses it.
    """

    text: memoryview
    masks: NDArray[np.uint64]
    places: memoryview

    def line(self, at: int) -> bytes:
        """Return the stored bytes of a word."""
        end = self.places[at + 1] >> _COUNT_BITS if at + 1 < len(self.places) else len(self.text)
        return bytes(self.text[self.places[at] >> _COUNT_BITS : end - 1])

    def holds(self, word: str) -> bool:
        """Return whether the segment contains a word, in lower case."""
        wanted = word.encode("utf-8", "replace")
        return self._first_from(wanted) == wanted

    def begins(self, beginning: str) -> bool:
        """Return whether a word of the segment begins like this, in lower case."""
        wanted = beginning.encode("utf-8", "replace")
        return self._first_from(wanted).startswith(wanted)

    def _first_from(self, wanted: bytes) -> bytes:
        """Return the first word that does not sort before ``wanted``, or nothing."""
        at = bisect_left(range(len(self.places)), wanted, key=self.line)
        return self.line(at) if at < len(self.places) else b""

    def near(self, word: str, edits: int) -> Iterator[WordNearby]:
        """Yield the words within ``edits`` edits of a word."""
        chosen, bits = possible(self.masks, word, edits), np.uint64(_COUNT_BITS)
        places = np.frombuffer(self.places, "<u8")
        starts, frequencies = places[chosen] >> bits, places[chosen] & np.uint64(_MOST_COUNTED)
        following = places[np.minimum(chosen + 1, len(places) - 1)] >> bits
        ends = np.where(chosen + 1 < len(places), following, np.uint64(len(self.text)))
        lengths = ends - starts - np.uint64(1)
        least, most = (
            len(word) - edits,
            len(word.encode("utf-8", "replace")) + _BYTES_A_LETTER * edits,
        )
        fitting = np.flatnonzero((lengths >= least) & (lengths <= most))
        spans = zip(starts[fitting].tolist(), (starts + lengths)[fitting].tolist(), strict=True)
        others = [str(self.text[start:end], "utf-8", "replace") for start, end in spans]
        for place, distance in within(word, others, edits):
            yield WordNearby(others[place], distance, int(frequencies[fitting[place]]))


class _WordSink(PassageSink):
    def __init__(self, folder: Path) -> None:
        self._folder, self._counter = folder, WordCounter(folder)

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        self._counter.add(document.title)
        self._counter.add(document.text)

    def end(self) -> None:
        self._counter.end()

    def finish(self) -> None:
        text, numbers = _contents(self._counter.finish())
        (self._folder / TEXT).write_bytes(text)
        (self._folder / NUMBERS).write_bytes(numbers)

    def abandon(self) -> None:
        self._counter.abandon()


def _contents(counted: WordCounts) -> tuple[bytes, bytes]:
    """Return the contents of the two files of the view."""
    line_ends = np.flatnonzero(np.frombuffer(counted.lines, np.uint8) == ord("\n"))
    places = np.zeros(len(line_ends), dtype="<u8")
    places[1:] = line_ends[:-1] + 1
    frequent = np.minimum(counted.counts, _MOST_COUNTED).astype("<u8")
    words = counted.lines.decode().split("\n")[:-1]
    numbers = np.stack([masks(words), (places << np.uint64(_COUNT_BITS)) | frequent])
    return counted.lines, numbers.astype("<u8").tobytes()


def _read(folder: Path) -> SegmentWords:
    path = folder / NUMBERS
    try:
        numbers = (
            np.fromfile(path, dtype="<u8") if path.stat().st_size < 16 else map_file(path, "<u8")
        )
        path = folder / TEXT
        text = map_file(path, "u1") if path.stat().st_size else np.empty(0, dtype=np.uint8)
    except (OSError, ValueError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or 'it is truncated'}"
        raise IndexStateError(what, place=path, remedy=REMEDY) from None
    if len(numbers) % 2 or (len(numbers) == 0) != (len(text) == 0):
        raise IndexStateError(
            "does not have two numbers per word", place=folder / NUMBERS, remedy=REMEDY
        )
    own_masks, places = numbers.reshape(2, -1)
    starts = places >> np.uint64(_COUNT_BITS)
    if len(starts) and (
        starts[0] or not (starts[:-1] < starts[1:]).all() or starts[-1] >= len(text)
    ):
        raise IndexStateError(
            "does not say where the words begin", place=folder / NUMBERS, remedy=REMEDY
        )
    return SegmentWords(text.data, own_masks, np.ascontiguousarray(places).data)


def _wrong(segment: SegmentPlace) -> Iterator[str]:
    _read(segment.folder)
    counter = WordCounter(segment.folder)
    try:
        with closing(segment.documents()) as documents:
            for document in documents.each():
                counter.add(document.title)
                counter.add(document.text)
        expected = _contents(counter.finish())
    finally:
        counter.abandon()
    if tuple(read_regular(segment.folder / file) for file in (TEXT, NUMBERS)) != expected:
        yield "the words are not those of the documents"
