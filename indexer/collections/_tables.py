"""Read tables of records in any kind of file: CSV, TSV, a workbook, JSON lines, Parquet or a pandas
pickle.

Also identify a file that is not such a table, and name the command that reads it.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from ...core.errors import SourceError
from ...core.records import table
from ...core.records.columns import Columns
from ...core.records.encodings import guess_encoding
from ...core.records.table import MISSING, Dialect, Table, is_quoted
from ...core.records.table_shape import (
    LOOKED_AT,
    NO_MARK,
    SAVE_AS_UTF8,
    TABLES,
    TableShape,
    shape_of_start,
)
from . import ReadOptions, kinds, reader
from ._documents import digest
from ._files import open_bytes, read_bytes
from ._lines import Reported, numbered_lines, read_objects
from ._office import SHEETS, sheet_note

SUFFIXES = (".csv", ".tsv", *SHEETS, ".jsonl", ".ndjson", ".parquet", ".pkl", ".pickle")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
Row = dict[str, str]


def start_of(path: Path) -> bytes:
    """Return the beginning of a file, decompressed."""
    with open_bytes(path) as stream:
        return stream.read(LOOKED_AT)


def kind_for(shape: TableShape) -> str:
    """Return the kind of source that knows the most columns of a file of this shape, or ``""`` if
    none reads it.
    """
    names = {name.strip("\"'").lower() for name in (*shape.names, *shape.cells)}
    known = [
        (len(columns), kind)
        for kind in kinds()
        for form, columns in reader(kind).FILES
        if form == shape.form and columns <= names
    ]
    return max(known, key=itemgetter(0))[1] if known else ""


def is_table(start: bytes, shape: TableShape) -> bool:
    """Return whether a file is surely a table.

    A kind of source knows its columns, or its delimiter is not a comma and its rows have equal
    numbers of cells.
    """
    if shape.form not in TABLES or shape.form == "commas" or kind_for(shape):
        return shape.form in TABLES and bool(kind_for(shape))
    lines = start.decode(shape.encoding or "latin-1", "replace").splitlines()
    try:
        rows = list(
            islice((row for row in csv.reader(lines, delimiter=shape.delimiter) if row), 21)
        )
    except csv.Error:
        return False
    return len(rows) > 1 and len({len(row) for row in rows}) == 1


def refuse_binary(path: Path, shape: TableShape) -> None:
    """Raise SourceError if a file is known not to be text, such as a workbook or a PDF."""
    if shape.form == "binary" and shape.content:
        what = shape.sentence if shape.content.startswith("text") else f"{shape.sentence}, not text"
        pages = "read it with factseek index webpages" if shape.content == "a PDF" else ""
        raise SourceError(what, place=path, remedy=pages or shape.remedy)


MEDIAWIKI = (
    "extract its pages first, for example with WikiExtractor --json, and read these with factseek "
    "index jsonl"
)
_FEED_ELEMENTS = ("rss", "feed", "rdf")


def remedy_for(shape: TableShape) -> str:
    """Return how to read a file of this shape, which another kind of source may be able to."""
    root = "".join(shape.cells[:1]).lower() if shape.form == "XML" else ""
    if root == "mediawiki":
        return f"it is a dump of MediaWiki: {MEDIAWIKI}"
    kind = "feed" if root in _FEED_ELEMENTS else kind_for(shape)
    return f"read it with factseek index {kind}" if kind else (shape.remedy or "give another file")


def read_json_lines(path: Path, options: ReadOptions) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each line of a file of JSON lines; refuse a file that is
    something else.
    """
    start = start_of(path)
    shape = shape_of_start(start)
    refuse_binary(path, shape)
    if shape.form in ("HTML", "XML") or is_table(start, shape):
        raise SourceError(f"{shape.sentence}, not JSON lines", place=path, remedy=remedy_for(shape))
    return read_objects(path, options)


def guessed_encoding(path: Path, start: bytes, options: ReadOptions) -> str:
    """Guess and note the encoding of a table that is not UTF-8, ``""`` without a guess; note which
    sheet is read.
    """
    if path.suffix.lower() in SHEETS and (note := sheet_note(path)):
        options.note(f"{path}: {note}")
    if shape_of_start(start).encoding:
        return ""
    encoding = guess_encoding(start)
    if encoding:
        guess = f"is not UTF-8, and is read as {encoding}, which is a guess"
        options.note(f"{path}: {guess}; {SAVE_AS_UTF8}")
    return encoding


def first_cells(shape: TableShape, encoding: str) -> tuple[str, ...]:
    return (
        tuple(cell.encode("latin-1").decode(encoding) for cell in shape.cells)
        if encoding
        else shape.cells
    )


def read_cells(
    path: Path, options: ReadOptions, delimiter: str, *, quoting: bool, fallback: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line, and the cells, of each row of a TSV or CSV file, without
    blank lines.

    With ``quoting``, a cell may be in double quotes and then contain delimiters, line ends and
    doubled quotes. Without ``quoting``, a quote is an ordinary character.
    ``options.max_line_bytes`` limits the length of a row. An unquoted cell that marks a missing
    value, such as ``NA``, is empty. ``fallback`` names the encoding of lines not in UTF-8.
    """
    dialect = _dialect_of(path, delimiter, options, quoting=quoting)
    lines = numbered_lines(path, options, fallback)
    return table.read_rows(lines, dialect, Reported(path, options))


def _dialect_of(
    path: Path, delimiter: str, options: ReadOptions, *, quoting: bool = True
) -> Dialect:
    return Dialect(
        delimiter,
        quoting,
        MISSING,
        options.max_line_bytes,
        counts_rows=path.suffix.lower() in SHEETS,
    )


def content_id(row: Mapping[str, str]) -> str:
    content = "\n".join(f"{field}\t{text}" for field, text in sorted(row.items()))
    return f"row-{digest(content).hex()}"


def read_rows(path: Path, options: ReadOptions, columns: Columns) -> Iterator[tuple[str, Row]]:
    """Yield the place (file and line, or number of the row) and the fields, without empty ones, of
    each row of a table.

    If several columns fit a field, the first that is not empty is used. Bad rows are reported and
    left out. A pickle is read whole, all other files row by row. JSON lines have no header, so
    required columns are not checked.
    """
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    makes_ids = False
    match suffix.lower():
        case ".csv" | ".tsv" | ".txt" | ".xlsx" | ".ods":
            makes_ids, rows = _read_delimited(path, options, columns)
        case ".jsonl" | ".ndjson":
            rows = _texts(read_objects(path, options), columns, options)
        case ".parquet" | ".pkl" | ".pickle":
            from ._frames import parquet_names, parquet_records, read_columns

            if suffix.lower() == ".parquet":
                header = parquet_names(path)
                wanted = {name for names in columns.of(header).values() for name in names}
                records = parquet_records(path, [name for name in header if name in wanted])
            else:
                wanted = {name for names in columns.names.values() for name in names}
                cells = read_columns(path, read_bytes(path, options), wanted)
                header = list(cells)
                records = (
                    dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)
                )
            makes_ids = columns.check(0, header, Reported(path, options))
            numbered = ((f"{path}:{number}", record) for number, record in enumerate(records, 1))
            rows = _texts(numbered, columns, options)
        case _:
            refuse_binary(path, shape_of_start(start_of(path)))
            raise SourceError(
                f"is not a table that factseek reads; give one of {', '.join(SUFFIXES)}", place=path
            )
    for place, row in rows:
        yield place, {columns.docid: content_id(row), **row} if makes_ids else row


def _texts(
    records: Iterator[tuple[str, dict[str, Any]]], columns: Columns, options: ReadOptions
) -> Iterator[tuple[str, Row]]:
    for place, record in records:
        if (row := texts_of(record, columns.of(tuple(record)), place, options)) is not None:
            yield place, row


def texts_of(
    record: Mapping[str, Any], there: Mapping[str, Sequence[str]], place: str, options: ReadOptions
) -> Row | None:
    """Return the non-empty texts of a record's fields; report a text that cannot be stored, and
    return ``None``.
    """
    row: Row = {}
    for field, columns in there.items():
        for column in columns:
            try:
                text = _text_of(record[column])
            except _UnfitValueError as error:
                options.bad_lines.report(place, f"column {column!r} {error}")
                return None
            if text and field not in row:
                row[field] = text
    return row


class _UnfitValueError(Exception):
    """A value that is no text of a document; the message is the reason."""


def _text_of(value: Any) -> str:
    """Return the text of a single value: a whole float as an integer, a day in ISO 8601, a list of
    texts joined.
    """
    match value:
        case None:
            text = ""
        case str() | int():
            text = str(value).strip()
        case float() if math.isnan(value):
            text = ""
        case float() if math.isinf(value):
            raise _UnfitValueError("contains an infinite number, not a text or a number")
        case float():
            text = str(int(value) if value.is_integer() else value)
        case date():
            text = value.isoformat()[:10]
        case list() if all(isinstance(part, str) for part in value):
            text = "; ".join(part.strip() for part in value)
        case _:
            raise _UnfitValueError(f"contains a {type(value).__name__}, not a text or a number")
    if _UNSTORABLE.search(text):
        raise _UnfitValueError("contains a character that is not text")
    return text


def _read_delimited(
    path: Path, options: ReadOptions, columns: Columns
) -> tuple[bool, Iterator[tuple[str, Row]]]:
    """Return whether ids must be made, and the rows of a CSV or TSV file with a header, whose cells
    may be quoted.
    """
    start = start_of(path)
    shape = shape_of_start(start)
    refuse_binary(path, shape)
    encoding = guessed_encoding(path, start, options)
    first = first_cells(shape, encoding)

    there = columns.of([cell.strip() for cell in first])
    is_known = all(set(fields) & there.keys() for fields in columns.required)
    is_sure = bool(shape.delimiter) and (is_known or is_quoted(start, shape.delimiter))
    delimiter = shape.delimiter if is_sure else _delimiter_by_name(path, shape)

    dialect = _dialect_of(path, delimiter, options)
    notices = Reported(path, options)
    found = table.read_table(numbered_lines(path, options, encoding), dialect, notices)
    if found is None:
        _refuse_encoding(path, shape)
        found = Table(1, [], iter(()))
    shown = first if shape.delimiter else found.header
    makes_ids = columns.check(found.line, found.header, notices, shown)
    return makes_ids, _rows_by_field(path, found, columns)


def _delimiter_by_name(path: Path, shape: TableShape) -> str:
    """Return the delimiter that a file's name promises; refuse a file in another format."""
    if shape.form in ("JSON", "JSON lines", "HTML", "XML"):
        remedy = "rename it with the ending of its format"
        raise SourceError(f"{shape.sentence}, not a table", place=path, remedy=remedy)
    return "\t" if ".tsv" in path.suffixes[-2:] else ","


def _refuse_encoding(path: Path, shape: TableShape) -> None:
    """Raise SourceError for a file without a readable line whose encoding may be the reason."""
    if not shape.encoding:
        raise SourceError("is not UTF-8", place=path, remedy=SAVE_AS_UTF8)
    if shape.encoding != "utf-8":
        raise SourceError(NO_MARK, place=path)


def _rows_by_field(path: Path, found: Table, columns: Columns) -> Iterator[tuple[str, Row]]:
    """Yield the place of each row, and its texts by field; of several columns of a field, the first
    that is not empty counts.
    """
    positions: dict[str, list[int]] = {}
    for field, names in columns.of(found.header).items():
        positions[field] = [found.header.index(name) for name in names]

    for number, cells in found.rows:
        row: Row = {}
        for field, places in positions.items():
            texts = (cells[at].strip() for at in places)
            if text := next(filter(None, texts), ""):
                row[field] = text
        yield f"{path}:{number}", row
