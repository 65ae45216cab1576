"""Read the lines of source files, and JSON in them, within the limits of ``ReadOptions``.

The place of a line is ``path:number``, from 1. A bad line is reported and left out; a bad file
raises BadFileError.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from ...core.errors import SourceError
from ...core.records import lines
from ...core.records.table_shape import (
    LOOKED_AT,
    SAVE_AS_UTF8,
    binary_content,
    find_unended_json,
    list_advice,
    nul_reason,
)
from . import ReadOptions
from ._child import BadFileError
from ._files import open_bytes, read_bytes

DEEPEST = 100
"""The maximum number of levels of lists and objects in a line of JSON; an exported line may have
one more level.
"""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 16
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class Reported:
    """Reports the faults of a file as bad lines of a source, and keeps notes."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path, self._options = path, options

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
        yield f"{path}:{number}", line


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
    with open_bytes(path) as raw:
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
                    options.bad_lines.report(f"{path}:{number}", reason)
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
    for place, line in read_lines(path, options):
        if line.strip() and (value := parse_json_object(line, place, options)) is not None:
            yield place, value


def read_json(path: Path, options: ReadOptions) -> Any:
    """Read a whole file that is one JSON value; raise BadFileError, with line and column, if it is
    not JSON.
    """
    content = read_bytes(path, options).removeprefix(codecs.BOM_UTF8)
    try:
        return _decode_json(content.decode("utf-16" if content.startswith(_UTF16) else "utf-8"))
    except UnicodeDecodeError as error:
        if content.startswith(_UTF16):
            raise BadFileError(path, lines.NOT_UTF16) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFileError(
            f"{path}:{line}", f"is not UTF-8 (byte 0x{content[error.start]:02x})"
        ) from None
    except json.JSONDecodeError as error:
        raise BadFileError(f"{path}:{error.lineno}", _not_json(error)) from None
    except _NotPlainJsonError as error:
        raise BadFileError(path, str(error)) from None


def parse_json_object(line: str, place: str, options: ReadOptions) -> dict[str, Any] | None:
    """Return the JSON object in ``line``, or report a bad line and return ``None``.

    Some values cannot be stored or written as JSON again, and are bad: NaN, infinities, strings
    with NUL characters or half a surrogate pair, and values nested deeper than ``DEEPEST``.
    """
    try:
        value = _decode_json(line)
        if not isinstance(value, dict):
            reason = f"is {json_name(value)}, not a JSON object{list_advice(value)}"
        # Python's limit of nesting depends on the call stack. A line that is indexed here must be
        # readable everywhere.
        elif line.count("[") + line.count("{") > DEEPEST and _depth(value) > DEEPEST + (
            "checksum" in value
        ):
            reason = "is nested too deeply"
        else:
            return value
    except json.JSONDecodeError as error:
        reason = find_unended_json(line) or _not_json(error)
    except _NotPlainJsonError as error:
        reason = str(error)
    options.bad_lines.report(place, reason)
    return None


def json_name(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = ((str, "a JSON string"), (dict, "a JSON object"), (list, "a JSON list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level := [container for container in level if isinstance(container, list | dict)]:
        depth += 1
        level = [part for box in level for part in (box.values() if isinstance(box, dict) else box)]
    return depth


class _NotPlainJsonError(Exception):
    """A value that Python's parser accepts but a store, or another parser, does not."""


def _refuse_constant(name: str) -> float:
    raise _NotPlainJsonError(f"is not JSON ({name} is not a JSON number)")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotPlainJsonError(f"contains a number that is too large ({digits[:40]})")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _decode_json(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _NotPlainJsonError("is nested too deeply") from None
    except ValueError:  # Python's own limit on the digits of an integer
        raise _NotPlainJsonError("contains a number that is too large") from None
    if _ESCAPED.search(text):
        written = json.dumps(value, ensure_ascii=False)
        if re.search(r"(?<!\\)(?:\\\\)*\\u0000", written):
            raise _NotPlainJsonError("contains a NUL character in a string")
        if re.search(r"[\ud800-\udfff]", written):
            raise _NotPlainJsonError("contains half a surrogate pair in a string")
    return value


def _not_json(error: json.JSONDecodeError) -> str:
    return f"is not JSON (column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]})"
