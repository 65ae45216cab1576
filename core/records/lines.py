"""Lines of a text file, with the place of every fault."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from ..errors import SourceError
from ..files import read_errors_reported
from .gzip_files import open_unpacked
from .table_shape import binary_content, nul_reason

MAX_LINE = 1_000_000  # the maximum number of bytes in a line; a longer line is a fault
NOT_UTF16 = "is not UTF-16, although its first bytes say so; save it as UTF-8"
UNENDED = "the last line has no line end: is the file complete?"
_PEEKED = 4_096
_BLOCK = 1 << 18  # the number of bytes per read


class Faults(Protocol):
    """Receives the faults that a reader finds in a file: an error makes a score undefined or wrong,
    a warning does not.

    Line 0 means the file as a whole.
    """

    def error(self, line: int, reason: str) -> None:
        """Record an error."""

    def warning(self, line: int, reason: str) -> None:
        """Record a warning."""


class Strict:
    """Refuse a file at its first error, and ignore warnings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, line: int, reason: str) -> NoReturn:
        """Raise SourceError with place and reason."""
        raise SourceError(reason, place=place(self.path, line))

    def warning(self, line: int, reason: str) -> None:
        """Ignore the warning."""


def place(path: Path, line: int) -> str:
    """Return the place of a line of a file; for line 0, the file."""
    return f"{path}:{line}" if line else str(path)


def quote_value(value: bytes | str) -> str:
    """Return a value quoted for a message, shortened if it is long."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= 40 else text[:39] + "…")


def lines(path: Path, faults: Faults) -> Iterator[tuple[int, bytes]]:
    """Yield the number, from 1, and the bytes of each line without its line end; blank lines are
    ``b""``.

    A line that is too long or contains a NUL byte is an error and is left out. Only the beginning
    of a line that is too long is kept in memory. A byte-order mark, Windows or old Macintosh line
    ends, and an unterminated last line are warnings. UTF-16 text with a byte-order mark is returned
    as UTF-8. Gzip files are unpacked. Raises SourceError if the file cannot be opened or unpacked.
    """
    number = windows = 0
    with read_errors_reported(path):
        opened_file = open_unpacked(path)
    with opened_file as file:
        start = file.peek(_PEEKED)
        if content := binary_content(start):
            faults.error(0, content)
            return
        pieces: Iterator[bytes] = iter(partial(file.read, _BLOCK), b"")
        if start.startswith(codecs.BOM_UTF8):
            faults.warning(
                0,
                "starts with a byte-order mark, which is left out; save the file as UTF-8 without "
                "one",
            )
            file.read(len(codecs.BOM_UTF8))
        elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            try:
                pieces = iter([file.read().decode("utf-16").encode("utf-8")])
            except UnicodeDecodeError:
                faults.error(0, NOT_UTF16)
                return
            faults.warning(0, "is UTF-16 text; save it as UTF-8")
        elif b"\r" in start and b"\n" not in start:
            faults.warning(0, "has old Macintosh line ends: a carriage return ends each line")
            pieces = (piece.replace(b"\r", b"\n") for piece in pieces)
        ended = True
        for block in _blocks(pieces):
            whole = block.split(b"\n")
            ended = not whole[-1]
            if ended:
                whole.pop()
            # Nearly every block is plain, so its lines need no check.
            is_plain = b"\r" not in block and b"\0" not in block and len(block) <= MAX_LINE
            windows += 0 if is_plain else block.count(b"\r\n")
            yield from (
                enumerate(whole, number + 1) if is_plain else _valid_lines(whole, number, faults)
            )
            number += len(whole)
    if windows:
        faults.warning(0, f"has Windows line ends on {windows:,} of {number:,} lines")
    if not ended:
        faults.warning(number, UNENDED)


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a file in blocks of complete lines; of a line that is too long, yield only the
    beginning.
    """
    rest = b""
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        elif len(rest) <= MAX_LINE:
            rest += piece
    if rest:
        yield rest


def _valid_lines(whole: list[bytes], number: int, faults: Faults) -> Iterator[tuple[int, bytes]]:
    for at, line in enumerate(whole, number + 1):
        text = line.rstrip(b"\r")
        if len(text) > MAX_LINE:
            faults.error(at, f"is longer than {MAX_LINE:,} bytes")
        elif b"\0" in text:
            faults.error(at, nul_reason(line))
        else:
            yield at, text


def decode_line(number: int, line: bytes, faults: Faults) -> str:
    """Return a line decoded as UTF-8; invalid bytes are an error and are replaced."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.error(number, f"is not UTF-8 (byte 0x{line[error.start]:02x})")
        return line.decode("utf-8", "replace")
