"""Tables of records, whatever kind of file holds them: CSV, TSV, JSON lines, Parquet or a pandas pickle.

Every row comes as a mapping of column name to text; what is missing (an empty cell, null, NaN) is left out of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ...retrieval.errors import SourceError
from ...retrieval.records.table_shape import SAVE_AS_UTF8, TableShape, shape_of_start
from . import ReadOptions
from ._foreign import refuse_binary, start_of
from ._lines import parse_json_object, read_bytes, read_lines, read_table

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pkl", ".pickle")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

Row = dict[str, str]


def read_rows(
    path: Path, options: ReadOptions, wanted: Collection[str], required: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Row]]:
    """Yield the place and the cells of each row of a table, only the columns ``wanted``.

    The place is the file with the line, or with the number of the row, from 1, where a file has no lines. Bad rows
    are reported and left out. A pickle is read whole, all else row by row. Each of ``required`` is the names that
    a column goes by, one of which a header must have; JSON lines have no header to hold to it.
    Raises SourceError if the file cannot be read, is of none of the kinds, or lacks a required column.
    """
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    match suffix.lower():
        case ".csv" | ".tsv":
            yield from _delimited(path, options, wanted, required)
        case ".jsonl" | ".ndjson":
            yield from _json_lines(path, options, wanted)
        case ".parquet":
            yield from _parquet(path, options, wanted, required)
        case ".pkl" | ".pickle":
            yield from _pickle(path, options, wanted, required)
        case _:
            refuse_binary(path, shape_of_start(start_of(path)))
            raise SourceError(f"is not a kind of table that is read; give one of {', '.join(SUFFIXES)}", place=path)


def as_text(value: Any) -> str:
    """Return the text of a single value: a whole float as an integer, a day in ISO 8601, a list of texts joined.

    ``None`` and NaN are ``""``.
    Raises ValueError if it is another list, a mapping, bytes or an endless number.
    """
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case bool() | int():
            return str(value)
        case float():
            return _number(value)
        case date():
            return value.isoformat()[:10]
        case list() if all(isinstance(part, str) for part in value):
            return "; ".join(part.strip() for part in value)
    raise ValueError(f"holds a {type(value).__name__}")


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        raise ValueError("holds an endless number")
    return str(int(value)) if value.is_integer() else str(value)


def _delimited(
    path: Path, options: ReadOptions, wanted: Collection[str], required: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Row]]:
    """Read a CSV or TSV file with a header, quoting on."""
    shape = shape_of_start(start_of(path))
    delimiter = _delimiter(path, shape, required)
    rows = read_table(path, options, delimiter, quoting=True)
    place, header = next(rows, (f"{path}:1", []))
    names = [name.strip() for name in header]
    if not header and shape.encoding != "utf-8":
        what = "is UTF-16 without a byte-order mark" if shape.encoding else "is not UTF-8"
        raise SourceError(what, place=path, remedy=SAVE_AS_UTF8)
    _check_columns(place, names, required, shape.cells if shape.delimiter else names)
    chosen = [(number, name) for number, name in enumerate(names) if name in wanted]
    for place, cells in rows:
        if len(cells) == len(names):
            yield place, {name: text for number, name in chosen if (text := cells[number].strip())}
        else:
            options.bad_lines.report(place, f"has {len(cells)} fields, and the header has {len(names)}")


def _delimiter(path: Path, shape: TableShape, required: Sequence[Sequence[str]]) -> str:
    """Return the delimiter of the cells: by the file's name, or by its first line if that names the columns.

    Raises SourceError if the file is no such table at all.
    """
    refuse_binary(path, shape)
    names = {cell.strip() for cell in shape.cells}
    if shape.delimiter and all(names & set(alternatives) for alternatives in required):
        return shape.delimiter
    if shape.form in ("JSON", "JSON lines", "HTML", "XML"):
        raise SourceError(f"{shape.sentence}, not a table", place=path, remedy="give it the ending of what it is")
    return "\t" if ".tsv" in path.suffixes[-2:] else ","


def _json_lines(path: Path, options: ReadOptions, wanted: Collection[str]) -> Iterator[tuple[str, Row]]:
    for place, line in read_lines(path, options):
        record = parse_json_object(line, place, options) if line.strip() else None
        if record is not None:
            yield from _stored(place, {name: record[name] for name in wanted if name in record}, options)


def _parquet(
    path: Path, options: ReadOptions, wanted: Collection[str], required: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Row]]:
    from ._parquet import records

    names, rows = records(path, wanted)
    _check_columns(str(path), names, required)
    for number, record in enumerate(rows, 1):
        yield from _stored(f"{path}:{number}", record, options)


def _pickle(
    path: Path, options: ReadOptions, wanted: Collection[str], required: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Row]]:
    from ._frames import read_columns

    columns = read_columns(path, read_bytes(path, options), wanted)
    _check_columns(str(path), columns, required)
    for number, cells in enumerate(zip(*columns.values(), strict=True), 1):
        yield from _stored(f"{path}:{number}", dict(zip(columns, cells, strict=True)), options)


def _stored(place: str, record: dict[str, Any], options: ReadOptions) -> Iterator[tuple[str, Row]]:
    """Yield the place and the texts of a record, or report what cannot be stored."""
    row: Row = {}
    for name, value in record.items():
        try:
            text = as_text(value)
        except ValueError:
            options.bad_lines.report(place, f"column {name!r} holds {_kind(value)}, not a text or a number")
            return
        if _UNSTORABLE.search(text):
            options.bad_lines.report(place, f"column {name!r} holds a character that is not text")
            return
        if text:
            row[name] = text
    yield place, row


def _kind(value: Any) -> str:
    return "an endless number" if isinstance(value, float) else f"a {type(value).__name__}"


def _check_columns(
    place: str, names: Collection[str], required: Sequence[Sequence[str]], cells: Collection[str] = ()
) -> None:
    """Raise SourceError if a required column is missing or is there twice; ``cells`` are the columns that it names."""
    for alternatives in required:
        counts = {name: list(names).count(name) for name in alternatives}
        if not any(counts.values()):
            wanted = " or ".join(repr(name) for name in alternatives if name)
            raise SourceError(f"there is no column {wanted}; the columns are {_listed(cells or names)}", place=place)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise SourceError(f"the column {twice[0]!r} is there twice", place=place)


def _listed(names: Collection[str]) -> str:
    """Return the names of a table's columns, as many as a line of text holds."""
    shown = ", ".join(repr(name[:40]) for name in list(names)[:20])
    return (f"{shown}, …" if len(names) > 20 else shown) or "none"
