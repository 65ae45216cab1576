"""The view ``signatures``: 32 bytes per passage, which detect its near-duplicates.

They are computed while the text is written, and again when segments are merged: in Java, while
Lucene indexes the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...core.domain import Document, Span
from ...core.errors import IndexStateError
from ..config import Config
from ..dense.vectors import Mask
from ..lucene.jvm import start
from ..lucene.signer import Signer
from ..store.integrity import REMEDY, damage_reported, map_file
from ..store.manifest import Manifest
from ..store.signatures import WORDS, Signatures, disagreements
from . import Check, Encoders, OpenSegment, PassageSink, SegmentPlace, Tools, View

FILE = "signatures.u64"
# The number of signatures to compare together: they fit in the processor's cache.
SCANNED_AT_ONCE = 4_096


class SignaturesView(View):
    """The signatures of the passages, in the order of their rows."""

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        return {} if config.index.signatures else None

    def owns(self, file: str) -> bool:
        return file == FILE

    def sink(self, segment: SegmentPlace, tools: Tools) -> _SignatureSink:
        start(tools.config.java.heap)
        return _SignatureSink(segment.folder / FILE)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        start(tools.config.java.heap)
        return (Check(FILE, lambda: _wrong(segment)),)

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> SignatureIndex:
        return SignatureIndex(
            [_read(segment.folder / FILE, segment.info.passages) for segment in segments]
        )


view = SignaturesView


class SignatureIndex:
    """The signatures of all rows of an index."""

    def __init__(self, parts: Sequence[Signatures]) -> None:
        self._signatures = (
            parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, WORDS), "<u8"), *parts])
        )

    def of_rows(self, rows: Sequence[int]) -> Signatures:
        """Return the signatures of rows, shape (rows, 4)."""
        return self._signatures[np.asarray(rows, dtype=np.int64)]

    def near(self, signature: Signatures, most: int, keep: Mask | None) -> list[int]:
        """Return the rows in ``keep`` whose signatures have at most ``most`` disagreements with
        ``signature``.
        """
        rows: list[int] = []
        for first in range(0, len(self._signatures), SCANNED_AT_ONCE):
            some = (
                disagreements(self._signatures[first : first + SCANNED_AT_ONCE], signature) <= most
            )
            rows += (np.flatnonzero(some) + first).tolist()
        return rows if keep is None else [row for row in rows if keep[row]]


class _SignatureSink(PassageSink):
    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._signer = Signer(path.parent)

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        for span in spans:
            text = signed_text(document.title, document.text[span.start : span.end])
            self._file.write(self._signer.add(text))

    def end(self) -> None:
        self._file.write(self._signer.end())

    def finish(self) -> None:
        self._file.write(self._signer.finish())
        self._file.close()

    def abandon(self) -> None:
        self._signer.abandon()
        self._file.close()


def signed_text(title: str, text: str) -> str:
    """Return the text of a passage to sign, without the title, because pages that copy a text have
    other titles.
    """
    return text if text.strip() else title


def _read(path: Path, passages: int) -> Signatures:
    with damage_reported(path):
        size = path.stat().st_size
        if size != passages * WORDS * 8:
            what = f"has {size} bytes, expected {passages * WORDS * 8}"
            raise IndexStateError(what, place=path, remedy=REMEDY)
        shape = (passages, WORDS)
        return map_file(path, "<u8", shape) if passages else np.empty(shape, dtype="<u8")


def _wrong(segment: SegmentPlace) -> Iterator[str]:
    stored = _read(segment.folder / FILE, segment.passages)
    row = 0
    for signed in _signed(segment):
        signatures = np.frombuffer(signed, "<u8").reshape(-1, WORDS)
        compared = stored[row : row + len(signatures)]
        differs = (signatures[: len(compared)] != compared).any(axis=1)
        for wrong in np.flatnonzero(differs):
            yield f"signature {row + wrong} is not that of its passage"
        row += len(signatures)


def _signed(segment: SegmentPlace) -> Iterator[bytes]:
    """Yield the signatures of the documents of a segment, in some pieces."""
    signer = Signer(segment.folder)
    try:
        with closing(segment.documents()) as documents:
            for title, passage in documents.each_passage():
                yield signer.add(signed_text(title, passage.text))
        yield signer.end()
        yield signer.finish()
    finally:
        signer.abandon()
