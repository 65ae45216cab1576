"""Lines of a task's files: as text, as columns between tabs, or as JSON objects, each with its number."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...retrieval.gzip_files import is_gzip
from ...retrieval.lines import UNENDED, Faults, lines, shown
from ...retrieval.table_shape import SAVE_AS_UTF8, unlike_columns
from ...retrieval.wrapped import continued, list_advice


def text_lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, blank ones included; a line that is not UTF-8 is an error and left out.

    The first such error says what to do.
    """
    remedy = f"; {SAVE_AS_UTF8}"
    for number, line in lines(path, faults):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            faults.error(number, f"is not UTF-8 (byte 0x{line[error.start]:02x}){remedy}")
            remedy = ""


def rows(path: Path, faults: Faults, layout: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and columns of each line of a file without header, whose columns are separated by single tabs.

    Blank lines, another number of columns, and empty columns or ones with outer white space are errors and left out.
    An empty file is an error.
    """
    number = 0
    for number, line in text_lines(path, faults):
        fields = line.split("\t")
        reason = _misfit(line, fields, layout)
        if reason:
            odd = unlike_columns(path) if number == 1 and len(fields) == 1 and len(layout) > 1 else ""
            faults.error(number, reason + odd)
        else:
            yield number, fields
    if not number:
        faults.error(0, "is empty")


def json_objects(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each JSON line; blank lines at the end are passed over, others are errors."""
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
            value = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            faults.error(number, continued(line) or f"is not JSON ({_reason(error)})")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            faults.error(number, f"is not a JSON object{list_advice(value)}")
    if not filled:
        faults.error(0, "is empty")


def unended(paths: Iterable[Path]) -> list[str]:
    """Return a note for each file whose last line has no line end.

    Half a line can be read as a whole one, so a truncated file may show no other fault; one that is packed does.
    """
    whole = (path for path in paths if path.is_file() and path.stat().st_size and not is_gzip(path))
    cut = [path for path in whole if _last_byte(path) != b"\n"]
    return [f"{path}: {UNENDED}" for path in cut]


def finite(text: str) -> float | None:
    """Return the finite number that ASCII digits spell, or ``None``."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if text.isascii() and "_" not in text and math.isfinite(value) else None


def whole(text: str) -> int | None:
    """Return the whole number that ASCII digits spell, or ``None``."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def is_header(line: int, text: str) -> bool:
    """Return whether a cell that should be a number is the name of a column, on the first line."""
    return line == 1 and text.isidentifier() and text.lower() not in ("nan", "inf", "infinity")


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def _misfit(line: str, fields: list[str], layout: Sequence[str]) -> str:
    if line.split() == fields and len(fields) == len(layout):
        return ""
    if not line.strip():
        return "is blank"
    if len(fields) != len(layout):
        spaced = "; they are separated by white space here" if len(line.split()) == len(layout) else ""
        return f"has {len(fields)} of the {len(layout)} columns between tabs ({' '.join(layout)}){spaced}"
    for name, field in zip(layout, fields, strict=True):
        if not field:
            return f"column {name} is empty"
        if field.strip() != field:
            return f"column {name} has white space around it: {shown(field)}"
    return ""


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
