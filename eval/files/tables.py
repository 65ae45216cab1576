"""Lines and tables of a task's files, each row with the number of its line.

The files are columns between tabs without a header, JSON lines, or tables with a header and tabs,
commas or semicolons. Errors go to ``faults``, which collects or raises them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core.records.gzip_files import is_gzip
from ...core.records.json_lines import read_objects
from ...core.records.lines import UNENDED, Faults, lines, quote_value
from ...core.records.table import Dialect, read_table
from ...core.records.table_shape import (
    SAVE_AS_UTF8,
    TableShape,
    is_separator_line,
    shape_of_start,
    unlike_columns,
)

Numbered = Sequence[tuple[int, str]]  # lines of text with their numbers
Rows = list[tuple[int, list[str]]]  # the cells of each row, with the number of its first line
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
    yield from read_objects(text_lines(path, faults), faults, "standard", gaps=False)


def rows_of(
    path: Path, faults: Faults, needed: Sequence[str], delimiter: str = "\t"
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row of a table with CSV quoting: the number of its first line, and its cells by
    header.
    """
    dialect = Dialect(delimiter, skips_blank=False)
    table = read_table(text_lines(path, faults), dialect, faults)
    if table is None:
        return
    if fault := _header_fault(table.header, needed):
        faults.error(table.line, fault)
        return
    for line, cells in table.rows:
        yield line, dict(zip(table.header, cells, strict=True))


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


def split_lines(numbered: Numbered, delimiter: str) -> Rows:
    """Split lines at every delimiter; leave out blank lines."""
    return [(line, text.split(delimiter)) for line, text in numbered if text.strip()]


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
