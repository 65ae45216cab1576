"""Lines and tables of a task's files, each row with the number of its line.

The files are columns between tabs without a header, JSON lines, or tables with a header and tabs,
commas or semicolons. Errors go to ``faults``, which collects or raises them.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import SourceError
from ...core.records.gzip_files import is_gzip
from ...core.records.lines import MAX_LINE, UNENDED, Faults, lines, quote_value
from ...core.records.table_shape import (
    SAVE_AS_UTF8,
    TableShape,
    find_unended_json,
    is_separator_line,
    list_advice,
    shape_of_start,
    unlike_columns,
)

Numbered = Sequence[tuple[int, str]]  # lines of text with their numbers
Rows = list[tuple[int, list[str]]]  # the cells of each row, with the number of its first line
_CELL = re.compile(r'"[^"]*+(?:""[^"]*+)*"?')
_LOOKED_AT = 40
# The last name of a header, where a submission must not have one.
_RUN_ID = ("run_id", "runid", "run id")


def text_lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line.

    A line that is not UTF-8 is an error and is left out; the first such error has a remedy.
    """
    remedy = f"; {SAVE_AS_UTF8}"
    for number, line in lines(path, faults):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            faults.error(number, f"is not UTF-8 (byte 0x{line[error.start]:02x}){remedy}")
            remedy = ""


def rows(
    path: Path, faults: Faults, layout: Sequence[str], *, one_run: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the columns of each line of a file without header; single tabs separate
    its columns.

    Lines that are blank, or whose columns are too few, too many, empty or padded, are errors and
    left out. An empty file is an error and, with ``one_run``, a change in the last column.
    """
    number = 0
    run_id = ""
    for number, line in text_lines(path, faults):
        fields = line.split("\t")
        reason = _misfit(line, fields, layout)
        if reason:
            odd = (
                unlike_columns(path) if number == 1 and len(fields) == 1 and len(layout) > 1 else ""
            )
            faults.error(number, reason + odd)
            continue
        yield number, fields
        if not (number == 1 and fields[-1].lower() in _RUN_ID):
            run_id = run_id or fields[-1]
        if one_run and run_id and fields[-1] != run_id:
            differs = f"run id {quote_value(fields[-1])} differs from {quote_value(run_id)} above"
            faults.error(number, f"{differs}: a file contains one run")
    if not number:
        faults.error(0, "is empty")


def _misfit(line: str, fields: list[str], layout: Sequence[str]) -> str:
    if line.split() == fields and len(fields) == len(layout):
        return ""
    if not line.strip():
        return "is blank"
    if len(fields) != len(layout):
        spaced = (
            "; this line separates them by white space" if len(line.split()) == len(layout) else ""
        )
        return (
            f"has {len(fields)} columns between tabs, but {len(layout)} are expected "
            f"({' '.join(layout)}){spaced}"
        )
    for name, field in zip(layout, fields, strict=True):
        if not field:
            return f"column {name} is empty"
        if field.strip() != field:
            return f"column {name} has white space around it: {quote_value(field)}"
    return ""


def json_objects(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and object of each JSON line.

    Ignore blank lines at the end; other blank lines are errors.
    """
    blank = filled = 0
    for number, line in text_lines(path, faults):
        if not line.strip():
            blank = blank or number
            continue
        filled += 1
        if blank:
            faults.error(blank, "is blank")
            blank = 0
        try:
            value = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            if isinstance(error, json.JSONDecodeError):
                reason = f"column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
            faults.error(number, find_unended_json(line) or f"is not JSON ({reason})")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            faults.error(number, f"is not a JSON object{list_advice(value)}")
    if not filled:
        faults.error(0, "is empty")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def rows_of(
    path: Path, faults: Faults, needed: Sequence[str], delimiter: str = "\t"
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row of a table with CSV quoting: the number of its first line, and its cells by
    header.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    row: list[tuple[int, str]] = []

    def remember_lines() -> Iterator[str]:
        for number, text in text_lines(path, faults):
            if number == 1 and is_separator_line(text):
                continue
            row.append((number, text))
            yield text + "\n"

    reader = csv.reader(remember_lines(), "excel", delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        row.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            outside = _CELL.sub("", "".join(text for _, text in row))
            reason = (
                "a carriage return is outside quotes: end each line with a line feed"
                if "\r" in outside
                else str(error)
            )
            faults.error(row[0][0], f"is not a row of a table ({reason})")
            continue
        line = row[0][0]
        if not header:
            header = [name.strip() for name in fields]
            if fault := _header_fault(header, needed):
                faults.error(line, fault)
                return
        elif len(fields) != len(header):
            faults.error(
                line,
                f"has {len(fields)} columns, but the header has {len(header)}"
                if fields
                else "is blank",
            )
        else:
            yield line, dict(zip(header, fields, strict=True))


def _header_fault(header: Sequence[str], needed: Sequence[str]) -> str:
    absent = [name for name in needed if name not in header]
    if absent:
        by_commas = len(header) == 1 and set(needed) <= {
            name.strip(' "') for name in header[0].split(",")
        }
        written = (
            quote_value(" ".join(header))
            + "; this file separates them by commas, use tabs" * by_commas
        )
        return f"the header has no {' and no '.join(absent)}: {written}"
    return next((f"the header has {name} twice" for name in needed if header.count(name) > 1), "")


def table_lines(path: Path, faults: Faults) -> list[tuple[int, str]]:
    """Return the lines of a table, without a first line that only tells Excel which separator the
    table uses.
    """
    numbered = list(text_lines(path, faults))
    return numbered[1:] if numbered and is_separator_line(numbered[0][1]) else numbered


def shape_of_lines(numbered: Numbered) -> TableShape:
    """Return the shape of the table that these lines form."""
    return shape_of_start(
        "".join(f"{text}\n" for _, text in numbered[:_LOOKED_AT]).encode("utf-8", "replace")
    )


def rows_below(path: Path, numbered: Numbered, delimiter: str, *, quoting: bool = False) -> Rows:
    """Return the rows below the header, which is the first line.

    Between tabs, a quote is an ordinary character unless ``quoting`` is set, the header's names are
    all in quotes, or the rows have the header's columns only if quotes are read (a text may contain
    a line break). Between commas or semicolons, a cell may always be in quotes. Raises SourceError,
    naming the line, if a row does not have the header's columns either way.
    """
    names = numbered[0][1].split(delimiter)
    width = len(names)
    if not (tabs := delimiter == "\t"):
        try:
            width = len(next(csv.reader([numbered[0][1]], delimiter=delimiter)))
        except csv.Error:
            message = "the header is not a row of a table: a cell contains a line end"
            raise SourceError(message, place=f"{path}:{numbered[0][0]}") from None
    plain = split_lines(numbered[1:], delimiter)
    fits = tabs and all(len(cells) == width for _, cells in plain)
    if (
        fits
        and not quoting
        and not all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)
    ):
        return plain
    found = _read_quoted(numbered, delimiter, width)
    if found or fits:
        return found or plain
    odd = next(((line, cells) for line, cells in plain if len(cells) != width), None)
    if odd is not None:
        raise SourceError(
            f"has {len(odd[1])} columns, but the header has {width}", place=f"{path}:{odd[0]}"
        )
    if plain:
        raise SourceError("is a table with a misplaced or missing quote", place=path)
    return []


def split_lines(numbered: Numbered, delimiter: str) -> Rows:
    """Split lines at every delimiter; leave out blank lines."""
    return [(line, text.split(delimiter)) for line, text in numbered if text.strip()]


def _read_quoted(numbered: Numbered, delimiter: str, width: int) -> Rows:
    """Return the rows below a header, or none if one does not fit; cells may be in quotes and
    contain line breaks.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.reader((f"{text}\n" for _, text in numbered), delimiter=delimiter, strict=True)
    found: Rows = []
    try:
        next(reader)
        start = reader.line_num
        for cells in reader:
            if cells and len(cells) != width:
                return []
            if cells:
                found.append((numbered[start][0], cells))
            start = reader.line_num
    except csv.Error:
        return []
    return found


def note_unended(paths: Iterable[Path]) -> list[str]:
    """Return a note for each file whose last line has no line end: it may be cut off, and show no
    other fault.
    """
    notes = []
    for path in paths:
        if path.is_file() and path.stat().st_size and not is_gzip(path):
            with path.open("rb") as file:
                file.seek(-min(2, path.stat().st_size), os.SEEK_END)
                if not file.read().endswith((b"\n", b"\r", b"\n\0")):
                    notes.append(f"{path}: {UNENDED}")
    return notes


def finite(text: str) -> float | None:
    """Return the finite number that the ASCII text spells, or ``None``."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if text.isascii() and "_" not in text and math.isfinite(value) else None


def whole(text: str) -> int | None:
    """Return the whole number that ASCII digits spell, or ``None``."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def cell_of(value: object) -> str:
    """Return a JSON value as the cell of a table: a text, or a finite number as text; ``""`` for
    other values.

    A fraction that is a whole number becomes one, unless it is so large that it may have lost
    digits.
    """
    if isinstance(value, float):
        if not abs(value) < 2**53:
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def is_header(line: int, text: str) -> bool:
    """Return whether a text on the first line, where a number is expected, is the name of a
    column.
    """
    return line == 1 and text.isidentifier() and text.lower() not in ("nan", "inf", "infinity")
