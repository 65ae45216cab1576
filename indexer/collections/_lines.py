"""Read the lines of source files, and JSON in them, within the limits of ``ReadOptions``.

The place of a line is ``path:number``, from 1. A bad line is reported and left out; a bad file
raises BadFileError.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from ...core.errors import SourceError
from ...core.records import json_lines, lines
from ...core.records.json_lines import (
    NotObjectError,
    UnfitJsonError,
    decode_json,
    decode_object,
    json_fault,
)
from ...core.records.table_shape import (
    LOOKED_AT,
    SAVE_AS_UTF8,
    binary_content,
    nul_reason,
)
from . import ReadOptions
from ._child import BadFileError
from ._files import open_bytes, read_bytes

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 16


class SourceNotices:
    """Reports the faults of a file as bad lines of a source, and keeps notes."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path, self._options = Path(options.named(path)), options

    def error(self, line: int, reason: str) -> None:
        """Count a bad line; raise SourceError if there are too many."""
        self._options.bad_lines.report(lines.place(self._path, line), reason)

    def warning(self, line: int, reason: str) -> None:
        """Ignore a fault that changes no document."""

    def note(self, line: int, text: str) -> None:
        """Keep a note for the user."""
        self._options.note(f"{lines.place(self._path, line)}: {text}")

    def refuse(self, line: int, reason: str) -> NoReturn:
        """Raise SourceError, however many bad lines may be skipped."""
        raise SourceError(reason, place=lines.place(self._path, line))


def read_lines(path: Path, options: ReadOptions, fallback: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line of ``path``: see :func:`numbered_lines`."""
    for number, line in numbered_lines(path, options, fallback):
        yield f"{options.named(path)}:{number}", line


def numbered_lines(
    path: Path, options: ReadOptions, fallback: str = ""
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of ``path``, including blank lines, without line
    ends.

    A line ends with a line feed or, in a file without line feeds, with a carriage return. Gzip is
    decompressed, a byte-order mark is dropped, and UTF-16 text that has this mark is decoded. A
    line that has a NUL byte, is not UTF-8 or is longer than ``options.max_line_bytes`` is bad.
    ``fallback`` names the encoding of lines that are not UTF-8, for old collections.
    """
    with open_bytes(path, sheet=options.sheet) as raw:
        start = raw.peek(LOOKED_AT)
        if content := binary_content(start):
            raise BadFileError(path, content)
        is_utf16 = start.startswith(_UTF16)
        beginning = start.decode("utf-16" if is_utf16 else "latin-1", "replace")
        returns = "\r" in beginning and "\n" not in beginning
        readline: Callable[[int], bytes] = raw.readline
        if is_utf16 or returns:
            encoding, errors = ("utf-16", "strict") if is_utf16 else ("utf-8", "surrogateescape")
            recoded = io.TextIOWrapper(raw, encoding, errors, newline=None if returns else "\n")

            def readline(most: int) -> bytes:
                return recoded.readline(most).encode("utf-8", "surrogateescape")

        number, limit = 0, options.max_line_bytes
        try:
            while line := readline(limit + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                text, reason = _text(line, readline, limit, fallback)
                if reason:
                    options.bad_lines.report(f"{options.named(path)}:{number}", reason)
                else:
                    yield number, text
        except UnicodeError:
            raise BadFileError(path, lines.NOT_UTF16) from None


def _text(
    line: bytes, readline: Callable[[int], bytes], limit: int, fallback: str
) -> tuple[str, str]:
    """Return the decoded text of a line and ``""``; or ``""`` and the error of the line."""
    if not line.endswith(b"\n") and len(line) > limit:
        while line and not line.endswith(b"\n"):
            line = readline(_BLOCK)
        return "", f"is longer than {limit:,} bytes (build.max_line_bytes)"
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in line:
        return "", nul_reason(line)
    try:
        return line.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        if fallback:
            return line.decode(fallback), ""
        column = len(line[: error.start].decode("utf-8")) + 1
        return "", f"is not UTF-8 (column {column}: byte 0x{line[error.start]:02x}): {SAVE_AS_UTF8}"


def read_objects(path: Path, options: ReadOptions) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the JSON object of each line that is not blank."""
    texts = numbered_lines(path, options)
    for number, value in json_lines.read_objects(texts, SourceNotices(path, options), "storable"):
        yield f"{path}:{number}", value


def read_json(path: Path, options: ReadOptions) -> Any:
    """Read a whole file that is one JSON value; raise BadFileError, with line and column, if it is
    not JSON.
    """
    content = read_bytes(path, options).removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8")
        return decode_json(text, "storable")
    except UnicodeDecodeError as error:
        if content.startswith(_UTF16):
            raise BadFileError(path, lines.NOT_UTF16) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFileError(
            f"{path}:{line}", f"is not UTF-8 (byte 0x{content[error.start]:02x})"
        ) from None
    except json.JSONDecodeError as error:
        raise BadFileError(f"{path}:{error.lineno}", json_fault(error)) from None
    except UnfitJsonError as error:
        raise BadFileError(path, str(error)) from None


def parse_json_object(line: str, place: str, options: ReadOptions) -> dict[str, Any] | None:
    """Return the JSON object in ``line``, or report a bad line and return ``None``.

    The object is one that every store and parser reads.
    """
    try:
        return decode_object(line, "storable")
    except NotObjectError as error:
        options.bad_lines.report(place, str(error))
        return None
