"""Read files that are packed with Zstandard, as web archives are: one frame after the other, and a
dictionary before them.

Source: RFC 8878, and "Use of Zstandard Compression with WARC Files" (IIPC) for the dictionary.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from ...core.records.gzip_files import MOST_TIMES, UNPACKED_AT_ONCE
from ._child import BadFileError
from ._office import NEEDS

_FRAME = b"\x28\xb5\x2f\xfd"
_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""The beginning of the frame that has the dictionary for all other frames."""
_LONGEST_DICTIONARY = 100_000_000
_STEP = 1 << 10
"""How many bytes are unpacked at once: they may become 128 times as many kilobytes."""
_ADVICE = "; fetch it again"


def is_zstd(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is packed with Zstandard."""
    # A frame to be skipped may come first; the first half of its first byte is fixed.
    is_skipped = head[1:4] == _DICTIONARY[1:] and head[0] & 0xF0 == 0x50
    return is_skipped or head.startswith(_FRAME)


class UnpackedFrames(io.RawIOBase):
    """The content of all frames of a file; read it with a buffer.

    Reading raises BadFileError if the file is damaged, or unpacks to a multiple of its size that no
    archive has.
    """

    def __init__(self, raw: BinaryIO, path: Path) -> None:
        """Take a file open for reading; raise BadFileError if no library can unpack it."""
        if not find_spec("zstandard"):
            raise BadFileError(path, f"is compressed with zstd, which {NEEDS}")
        self._raw, self._path = raw, path
        self._pieces = self._unpack()
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into ``buffer``; return their number."""
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Close the packed file too."""
        super().close()
        self._raw.close()

    def _unpack(self) -> Iterator[bytes]:
        """Yield the content of the frames, in pieces that are not empty."""
        import zstandard

        size = 0
        try:
            unpacker = zstandard.ZstdDecompressor(**self._dictionary(zstandard))
            packed = self._raw.read(_STEP)
            while packed:
                frame = unpacker.decompressobj()
                while not frame.eof:
                    if not packed:
                        raise self._refused("is cut off: the end of its zstd data is missing")
                    piece = frame.decompress(packed)
                    packed = frame.unused_data if frame.eof else self._raw.read(_STEP)
                    size += len(piece)
                    if size > UNPACKED_AT_ONCE and size > MOST_TIMES * self._raw.tell():
                        reason = f"unpacks to more than {MOST_TIMES} times its size"
                        raise BadFileError(self._path, f"{reason}; it is not a collection")
                    if piece:
                        yield piece
                packed = packed or self._raw.read(_STEP)
        except zstandard.ZstdError as error:
            raise self._refused(f"is damaged zstd data ({error})") from None

    def _dictionary(self, zstandard: Any) -> dict[str, Any]:
        """Return the dictionary of the file as an argument, none if the file has none.

        The dictionary may be packed itself.
        """
        start = self._raw.read(4)
        if start != _DICTIONARY:
            self._raw.seek(0)
            return {}
        size = int.from_bytes(self._raw.read(4), "little")
        if size > _LONGEST_DICTIONARY:
            raise self._refused(f"has a dictionary of more than {_LONGEST_DICTIONARY:,} bytes")
        content = self._raw.read(size)
        if content.startswith(_FRAME):
            unpacked = zstandard.ZstdDecompressor().stream_reader(content)
            content = unpacked.read(_LONGEST_DICTIONARY)
        return {"dict_data": zstandard.ZstdCompressionDict(content)}

    def _refused(self, reason: str) -> BadFileError:
        return BadFileError(self._path, f"{reason}{_ADVICE}")
