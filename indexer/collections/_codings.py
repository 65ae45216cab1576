"""Undo the codings of HTTP bodies: chunked, gzip, deflate, and brotli and zstd if a library for
them is installed.

An archive may contain unpacked content under the header that it was sent with, so a body that does
not begin as its coding does is kept as it is. Source: RFC 9110, 8.4, and RFC 9112, 6.1 and 7.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_PLAIN = ("", "identity", "none")
_STEP = 1 << 16


class UnreadCodingError(Exception):
    """No library reads a coding; the message is its name."""


class DamagedCodingError(Exception):
    """A body is damaged; the message is the name of its coding."""


def names_of(values: Sequence[str]) -> list[str]:
    """Return the names in all values of a header, in order, in lower case, without parameters."""
    names = (name.partition(";")[0].strip().lower() for name in ",".join(values).split(","))
    return [name.removeprefix("x-") for name in names if name not in _PLAIN]


def decoded(body: bytes, codings: Sequence[str], most: int) -> bytes:
    """Return a body without its codings, the last of which was applied last; at most ``most`` bytes
    of it and one more.

    Raises UnreadCodingError or DamagedCodingError.
    """
    for coding in reversed(codings):
        decode = _DECODERS.get(coding)
        # Some servers write there what is no coding, such as utf-8.
        body = decode(body, most + 1) if decode else _text_under(coding[:40], body)
    return body


def _unchunked(body: bytes, most: int) -> bytes:
    """Return the data of all chunks; a body that is not in chunks is returned as it is."""
    pieces, at, size = list[bytes](), 0, 0
    while size < most and (chunk := _CHUNK.match(body, at)):
        length = int(chunk[1], 16)
        if length == 0:
            break
        piece = body[chunk.end() : chunk.end() + length]
        pieces.append(piece)
        size += len(piece)
        at = chunk.end() + length
        if len(piece) < length:
            raise DamagedCodingError("chunked")
    if not pieces and not _CHUNK.match(body):
        return body
    return b"".join(pieces)[:most]


def _gunzipped(body: bytes, most: int) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    unpacked = b""
    while body and len(unpacked) < most:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        unpacked += _inflate(member, body, most - len(unpacked), "gzip")
        body = member.unused_data.lstrip(b"\0")  # it may be padded
        if not body.startswith(b"\x1f\x8b"):
            break
    return unpacked


def _inflated(body: bytes, most: int) -> bytes:
    """Undo ``deflate``: zlib's format, or its data alone, which some servers send."""
    for window in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            zlib.decompressobj(window).decompress(body[:_STEP], 1)
        except zlib.error:
            continue
        return _inflate(zlib.decompressobj(window), body, most, "deflate")
    return body


def _inflate(stream: Any, body: bytes, most: int, coding: str) -> bytes:
    try:
        unpacked: bytes = stream.decompress(body, most)
    except zlib.error:
        raise DamagedCodingError(coding) from None
    if not stream.eof and len(unpacked) < most:
        raise DamagedCodingError(coding)  # it is cut off
    return unpacked


def _unbrotlied(body: bytes, most: int) -> bytes:
    try:
        brotli: Any = import_module("brotli")
    except ImportError:
        return _text_under("br", body)
    pieces, size, stream = list[bytes](), 0, brotli.Decompressor()
    for start in range(0, len(body), _STEP):
        try:
            pieces.append(stream.process(body[start : start + _STEP]))
        except brotli.error:
            if not start:
                return _text_under("br", body)
            raise DamagedCodingError("br") from None
        size += len(pieces[-1])
        if size >= most:
            break
    return b"".join(pieces)[:most]


def _unzstd(body: bytes, most: int) -> bytes:
    if not body.startswith(b"\x28\xb5\x2f\xfd"):
        return body
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        raise UnreadCodingError("zstd") from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as stream:
            unpacked: bytes = stream.read(most)
            return unpacked
    except zstandard.ZstdError:
        raise DamagedCodingError("zstd") from None


def _uncompressed(body: bytes, most: int) -> bytes:
    return _text_under("compress", body)


def _text_under(coding: str, body: bytes) -> bytes:
    """Return a body that was unpacked already; raise UnreadCodingError for any other."""
    try:
        is_text = body.lstrip().startswith(b"<") or "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise UnreadCodingError(coding)
    return body


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "chunked": _unchunked,
    "gzip": _gunzipped,
    "deflate": _inflated,
    "br": _unbrotlied,
    "zstd": _unzstd,
    "compress": _uncompressed,
}
