"""Read source files: as lines, as rows of a table, or whole, within the limits of ``ReadOptions``.

A line is known by its place, ``path:number``, counted from 1. What is wrong with one line is reported and the
line is left out; what is wrong with a whole file raises :class:`BadFileError`.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...retrieval.records.table_shape import (
    SAVE_AS_UTF8,
    binary_content,
    continued,
    is_separator_line,
    list_advice,
    nul_reason,
)
from . import ReadOptions
from ._streams import BadFileError, open_bytes

__all__ = ["BadFileError", "json_name", "parse_json_object", "read_bytes", "read_json", "read_lines", "read_table"]

DEEPEST = 100
"""Levels of lists and objects in a line of JSON, one more in a line that was exported."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_UTF16 = "is not UTF-16, which its first bytes say; save it as UTF-8"
_BLOCK = 1 << 16
_PEEKED = 4_096
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def read_lines(path: Path, options: ReadOptions, fallback: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line of ``path``, blank lines included, line ends left out.

    A byte-order mark is dropped, text that has one of UTF-16 is read as that, gzip is unpacked. A line that holds a
    NUL byte, is not UTF-8 or is longer than ``options.max_line_bytes`` is reported as bad and left out, without being
    held in memory.
    ``fallback`` names the encoding of lines that are not UTF-8, in collections that are older than it.
    Raises BadFileError if the file cannot be read.
    """
    with open_bytes(path) as raw, _as_utf8(raw, path) as stream:
        number = 0
        while line := stream.readline(options.max_line_bytes + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            text, reason = _text(line, stream, options.max_line_bytes, fallback)
            place = f"{path}:{number}"
            if reason:
                options.bad_lines.report(place, reason)
            else:
                yield place, text


def read_bytes(path: Path, options: ReadOptions) -> bytes:
    """Read a whole file, gzip unpacked.

    Raises BadFileError if it cannot be read, or holds more than ``options.max_file_bytes`` (unpacked).
    """
    with open_bytes(path) as stream:
        content = stream.read(options.max_file_bytes + 1)
    if len(content) > options.max_file_bytes:
        limit = f"{options.max_file_bytes:,} bytes (build.max_file_bytes)"
        raise BadFileError(path, f"is longer than {limit}")
    return content


def read_json(path: Path, options: ReadOptions) -> Any:
    """Read a whole file that is one JSON value.

    Raises BadFileError, naming line and column, if it cannot be read, is too long or is not JSON.
    """
    content = read_bytes(path, options).removeprefix(codecs.BOM_UTF8)
    try:
        return _checked(content.decode("utf-16" if content.startswith(_UTF16) else "utf-8"))
    except UnicodeDecodeError as error:
        if content.startswith(_UTF16):
            raise BadFileError(path, _NOT_UTF16) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFileError(f"{path}:{line}", f"is not UTF-8 (byte 0x{content[error.start]:02x})") from None
    except json.JSONDecodeError as error:
        reason = f"is not JSON (column {error.colno}: {_lowered(error.msg)})"
        raise BadFileError(f"{path}:{error.lineno}", reason) from None
    except _NotPlainJsonError as error:
        raise BadFileError(path, str(error)) from None


def parse_json_object(line: str, place: str, options: ReadOptions) -> dict[str, Any] | None:
    """Return the JSON object that ``line`` is, or report a bad line and return ``None``.

    NaN and infinities, strings with NUL characters or half a surrogate pair, and what is nested deeper than
    ``DEEPEST``, are bad: they cannot be stored or answered as JSON again.
    """
    try:
        value = _checked(line)
    except json.JSONDecodeError as error:
        reason = continued(line) or f"is not JSON (column {error.colno}: {_lowered(error.msg)})"
        options.bad_lines.report(place, reason)
        return None
    except _NotPlainJsonError as error:
        options.bad_lines.report(place, str(error))
        return None
    if not isinstance(value, dict):
        options.bad_lines.report(place, f"is {json_name(value)}, not a JSON object{list_advice(value)}")
        return None
    # How deep Python reads depends on who asks: what is indexed here is to be read by everybody.
    if line.count("[") + line.count("{") > DEEPEST and _depth(value) > DEEPEST + ("checksum" in value):
        options.bad_lines.report(place, "is nested too deeply")
        return None
    return value


def _depth(value: object) -> int:
    """Return how deeply lists and objects are nested in ``value``, which counts as one level itself."""
    depth, level = 0, [value]
    while level := [container for container in level if isinstance(container, list | dict)]:
        depth += 1
        level = [
            inner for container in level for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return depth


def json_name(value: object) -> str:
    """Return the JSON type of a value as a message names it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return "a JSON string"
    if isinstance(value, dict):
        return "a JSON object"
    return "a JSON list" if isinstance(value, list) else "a number"


def read_table(path: Path, options: ReadOptions, delimiter: str, quoting: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the cells of each row of a TSV or CSV file, blank lines left out.

    With ``quoting`` a cell may stand in double quotes and then hold delimiters, line ends and doubled quotes;
    the place is the row's first line, and a row is bounded by ``options.max_line_bytes`` as a line is. Without it
    a quote is a character like any other. Bad rows are reported and left out.
    Raises BadFileError if the file cannot be read.
    """
    if not quoting:
        for place, line in _table_lines(path, options):
            if line:
                yield place, line.split(delimiter)
        return
    # The limit of the csv module is the process's own and below what one line may hold: it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), options.max_line_bytes + 1))
    source = _RowLines(_table_lines(path, options), options)
    rows = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        source.begin_row()
        try:
            row = next(rows)
        except StopIteration:
            return
        except (csv.Error, _RowError) as error:
            if not source.reported:
                options.bad_lines.report(source.place, f"is not a row of a table ({_reason(error)})")
            continue
        if row:
            yield source.place, row


def _table_lines(path: Path, options: ReadOptions) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table, without a first one that only names the delimiter."""
    lines = read_lines(path, options)
    yield from ((place, line) for place, line in lines if not (is_separator_line(line) and place == f"{path}:1"))


def _reason(error: Exception) -> str:
    """Return why a row cannot be read, without what Python's own words say of Python."""
    if "new-line character" in str(error):
        return "a carriage return stands outside of quotes: end each line with a line feed"
    return str(error)


class _RowError(Exception):
    """A quoted cell runs on too far, or over a line that was left out as bad."""


class _RowLines:
    """The lines of a csv reader; it remembers where the row began and how long it has become."""

    def __init__(self, lines: Iterator[tuple[str, str]], options: ReadOptions) -> None:
        self._lines = lines
        self._options = options
        self._chars = -1
        self.place = ""
        self.reported = False

    def begin_row(self) -> None:
        """Take the next line for the first of a row."""
        self._chars = -1
        self.reported = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        bad_before = self._options.bad_lines.count
        place, line = next(self._lines)
        if self._chars < 0:
            self.place, self._chars = place, 0
        elif self._options.bad_lines.count != bad_before:
            self.reported = True
            raise _RowError
        self._chars += len(line) + 1
        if self._chars > self._options.max_line_bytes + 1:
            raise _RowError(f"a quote does not close within {self._options.max_line_bytes:,} bytes")
        return line + "\n"


def _text(line: bytes, stream: BinaryIO, limit: int, fallback: str) -> tuple[str, str]:
    """Return the text of a line, decoded as far as it was read, and ``""``; or ``""`` and what is wrong with it."""
    if not line.endswith(b"\n") and len(line) > limit:
        while line and not line.endswith(b"\n"):
            line = stream.readline(1 << 16)
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


@contextmanager
def _as_utf8(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield a stream of UTF-8: a text with the byte-order mark of UTF-16 is recoded, any other as it is.

    Raises BadFileError if it turns out not to be UTF-16, or is known to be no text.
    """
    start = cast(BufferedReader, stream).peek(_PEEKED)
    if content := binary_content(start):
        raise BadFileError(path, content)
    if not start.startswith(_UTF16):
        yield stream
        return
    try:
        yield cast(BinaryIO, _Recoded(stream))
    except UnicodeError:
        raise BadFileError(path, _NOT_UTF16) from None


class _Recoded:
    """A stream of UTF-16, read by line as UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self._text = codecs.getreader("utf-16")(stream)
        self._rest = ""

    def readline(self, most: int) -> bytes:
        """Return the next line, or as many of its characters as ``most`` bytes of UTF-8 may hold."""
        while (end := self._rest.find("\n") + 1) == 0 and len(self._rest) < most:
            block = self._text.read(_BLOCK)
            if not block:
                end = len(self._rest)
                break
            self._rest += block
        end = min(end or most, most)
        line, self._rest = self._rest[:end], self._rest[end:]
        return line.encode("utf-8")


class _NotPlainJsonError(Exception):
    """A value that Python's parser admits and a store, or another parser, does not."""


def _refuse_constant(name: str) -> float:
    raise _NotPlainJsonError(f"is not JSON ({name} is not a number of JSON)")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _NotPlainJsonError(f"holds a number that is too large ({digits[:40]})")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _checked(text: str) -> Any:
    """Parse JSON strictly.

    Raises JSONDecodeError or _NotPlainJsonError.
    """
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _NotPlainJsonError("is nested too deeply") from None
    except ValueError:  # Python's own bound on the digits of an integer
        raise _NotPlainJsonError("holds a number that is too large") from None
    if _ESCAPED.search(text):
        _check_strings(value)
    return value


def _check_strings(value: Any) -> None:
    """Raise _NotPlainJsonError if a string inside ``value`` cannot be stored."""
    text = json.dumps(value, ensure_ascii=False)
    if re.search(r"(?<!\\)(?:\\\\)*\\u0000", text):
        raise _NotPlainJsonError("holds a NUL character in a string")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _NotPlainJsonError("holds half a surrogate pair in a string") from None


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
