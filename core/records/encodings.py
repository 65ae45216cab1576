"""Guess the encoding of text that is not UTF-8."""

from __future__ import annotations

import re

_WINDOWS = ["cp1252", "cp1254", "cp1251", "cp1256"]
"""The encodings that spreadsheets use in Western Europe, Turkey, Bulgaria and Arabic countries."""
_TURKISH = (b"\xf0", b"\xfd", b"\xfe", b"\xdd", b"\xde")
"""The bytes of Turkish letters that are Icelandic letters in the encoding of Western Europe."""
_ENOUGH_LETTERS = 8
"""The minimum number of bytes beyond ASCII from which an encoding can be guessed."""
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""The bytes that mean nothing in the encoding of Western Europe."""


def guess_encoding(start: bytes) -> str:
    """Return Python's name of the encoding of a text that starts with ``start`` and is not UTF-8,
    ``""`` without a guess.

    If only a few letters are not ASCII, guess an encoding of Western Europe, unless some of these
    letters are UTF-8.
    """
    if sum(byte > 0x7F for byte in start) >= _ENOUGH_LETTERS:
        from charset_normalizer import from_bytes

        best = from_bytes(start, cp_isolation=_WINDOWS).best()
        encoding = "" if best is None else str(best.encoding)
    elif not start.decode("utf-8", "ignore").isascii() or _NOT_WINDOWS.search(start):
        encoding = ""
    else:
        encoding = "cp1252"
    if encoding == "cp1252" and sum(map(start.count, _TURKISH)) > 1:
        return "cp1254"
    return encoding
