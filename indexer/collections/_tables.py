"""Read tables of records in any kind of file: CSV, TSV, a workbook, JSON lines, Parquet or a pandas
pickle.

Also identify a file that is not such a table, and name the command that reads it.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import SourceError
from ...core.records import table
from ...core.records.columns import Columns
from ...core.records.encodings import guess_encoding
from ...core.records.header import find_header
from ...core.records.table import MISSING, Dialect, Table, is_quoted
from ...core.records.table_shape import (
    LOOKED_AT,
    NO_MARK,
    SAVE_AS_UTF8,
    TABLES,
    TableShape,
    shape_of_start,
)
from . import ALL_SHEETS, ReadOptions, kinds, reader
from ._documents import digest
from ._files import open_bytes, read_bytes
from ._lines import SourceNotices, numbered_lines, read_objects
from ._office import SHEETS, sheet_names, sheet_notes

SUFFIXES = (".csv", ".tsv", *SHEETS, ".jsonl", ".ndjson", ".parquet", ".pkl", ".pickle")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
Fields = dict[str, str]
"""The texts of a row by their fields, without empty ones."""
SAMPLE = 100
"""The number of rows below a header that show what its columns contain."""
_KEYS_SHOWN = 10
_LONGEST_NAME = 60
_FOOTER = "words below a table"
_MOST_TITLES = 10
"""The number of lines among which the header below a title is, if the title is no row."""


class TableRow(NamedTuple):
    """A row of a table: its place (file and line, or number of the row), its fields without empty
    ones, and its ``others``: what the columns without a meaning contain.
    """

    place: str
    fields: Fields
    others: dict[str, Any]


def start_of(path: Path, sheet: str = "") -> bytes:
    """Return the beginning of a file, decompressed; of a workbook, that of a sheet as text."""
    with open_bytes(path, sheet=sheet) as stream:
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
    if path.suffix.lower() in SHEETS:
        for note in sheet_notes(path, options.sheet):
            options.note(f"{options.named(path)}: {note}")
    if shape_of_start(start).encoding:
        return ""
    encoding = guess_encoding(start)
    if encoding:
        guess = f"is not UTF-8, and is read as {encoding}, which is a guess"
        options.note(f"{options.named(path)}: {guess}; {SAVE_AS_UTF8}")
    return encoding


def each_sheet(path: Path, options: ReadOptions) -> Iterator[ReadOptions]:
    """Yield the options with which to read a file: for every sheet of a workbook, if all are
    wanted.
    """
    if options.sheet != ALL_SHEETS:
        yield options
        return
    if path.suffix.lower() not in SHEETS:
        yield replace(options, sheet="")
        return
    for name in sheet_names(path):
        yield replace(options, sheet=name)


def find_table(
    path: Path, start: bytes, columns: Columns, options: ReadOptions
) -> tuple[TableShape, int]:
    """Return the shape of a file with the cells of its header, and the line of the header, which
    may be below a title.

    The user may have chosen its row.
    """
    shape = shape_of_start(start)
    if shape.form not in (*TABLES, "text", "blanks"):
        return shape, 1
    if options.header_row:
        shape, line = _table_at(start, shape, options.header_row)
        if not shape.cells:
            raise SourceError(f"has no row {options.header_row} with names of columns", place=path)
        return shape, line

    def is_known(cells: list[str]) -> bool:
        columns_by_field = columns.find([" ".join(cell.split()) for cell in cells])
        is_short = all(len(cell) <= _LONGEST_NAME for cell in cells)
        return is_short and len(columns_by_field) > 1 and columns.text in columns_by_field

    if shape.delimiter:
        rows = first_rows(start, shape.encoding, Dialect(shape.delimiter))
        found = find_header(rows, is_known)
        if found is None or found is rows[0]:
            return shape, 1
        return shape._replace(cells=tuple(found[1])), found[0]

    # A title without delimiters hides that the lines below it are a table.
    for number, rest in islice(_line_starts(start, shape), 1, _MOST_TITLES):
        below = shape_of_start(rest)
        if below.delimiter and is_known(list(below.cells)):
            return below._replace(encoding=shape.encoding), number
    return shape, 1


def _table_at(start: bytes, shape: TableShape, row: int) -> tuple[TableShape, int]:
    """Return the shape of the table whose header is in a row, counted from 1 with blank rows."""
    dialect = Dialect(shape.delimiter, skips_blank=False) if shape.delimiter else None
    line = row
    if dialect is not None:
        rows = first_rows(start, shape.encoding, dialect)
        line = rows[row - 1][0] if row <= len(rows) else row
    for number, rest in _line_starts(start, shape):
        if number == line:
            below = shape_of_start(rest)
            return below._replace(encoding=shape.encoding), line
    return shape._replace(cells=()), line


def _line_starts(start: bytes, shape: TableShape) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line at the beginning of a file, and what begins there."""
    encoding = (shape.encoding or "latin-1").replace("utf-8-sig", "utf-8")
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    plain = "latin-1" if not shape.encoding else "utf-8"
    for number in range(1, min(len(lines), SAMPLE) + 1):
        yield number, "\n".join(lines[number - 1 :]).encode(plain, "replace")


def first_cells(shape: TableShape, encoding: str) -> tuple[str, ...]:
    return (
        tuple(cell.encode("latin-1").decode(encoding) for cell in shape.cells)
        if encoding
        else shape.cells
    )


def read_cells(
    path: Path,
    options: ReadOptions,
    delimiter: str,
    *,
    quoting: bool,
    fallback: str = "",
    top: int = 1,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line, and the cells, of each row of a TSV or CSV file, without
    blank lines.

    With ``quoting``, a cell may be in double quotes and then contain delimiters, line ends and
    doubled quotes. Without ``quoting``, a quote is an ordinary character.
    ``options.max_line_bytes`` limits the length of a row. An unquoted cell that marks a missing
    value, such as ``NA``, is empty. ``fallback`` names the encoding of lines not in UTF-8. The
    table begins at the line ``top``.
    """
    dialect = _dialect_of(path, delimiter, options, quoting=quoting)
    lines = numbered_lines(path, options, fallback)
    below = ((number, line) for number, line in lines if number >= top)
    return table.read_rows(below, dialect, SourceNotices(path, options))


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


class _Ignored:
    """Ignores faults: whoever reads the file reports them."""

    def error(self, line: int, reason: str) -> None:
        """Ignore a row with a fault."""

    def warning(self, line: int, reason: str) -> None:
        """Ignore a fault that changes no row."""


def first_rows(start: bytes, encoding: str, dialect: Dialect) -> list[table.Row]:
    """Return the first rows of the table that begins with ``start``, without those with faults."""
    text = start.decode(encoding or "latin-1", "replace").removeprefix("\ufeff")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if len(start) >= LOOKED_AT:
        del lines[-1]  # it may be cut off
    rows = table.read_rows(enumerate(lines, 1), dialect, _Ignored())
    return list(islice(rows, SAMPLE))


def sample_below(start: bytes, encoding: str, dialect: Dialect, line: int) -> list[list[str]]:
    """Return the cells of the first rows below a header, the first line of which is ``line``."""
    return [cells for number, cells in first_rows(start, encoding, dialect) if number > line]


def content_id(row: Mapping[str, Any]) -> str:
    """Return an id made from the content of a row."""
    content = "\n".join(f"{field}\t{text}" for field, text in sorted(row.items()))
    return f"row-{digest(content).hex()}"


class ContentIds:
    """Makes ids from the content of rows: from their fields, and from everything if another row has
    the same fields.
    """

    def __init__(self) -> None:
        self._seen: dict[bytes, bytes] = {}  # digests of the ids, and of what else the rows contain

    def make(self, fields: Mapping[str, str], others: Mapping[str, Any]) -> str:
        """Return the id of a row; that of an equal row is the same."""
        made = content_id(fields)
        everything = digest(repr(sorted(others.items())))
        if self._seen.setdefault(digest(made), everything) == everything:
            return made
        return content_id({**others, **fields})


def read_rows(path: Path, options: ReadOptions, columns: Columns) -> Iterator[tuple[str, Fields]]:
    """Yield the place and the fields of each row of a table: see :func:`read_whole_rows`."""
    for row in read_whole_rows(path, options, columns):
        yield row.place, row.fields


def read_whole_rows(path: Path, options: ReadOptions, columns: Columns) -> Iterator[TableRow]:
    """Yield the rows of a table.

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
            rows = noted_keys(
                path, _whole_rows(read_objects(path, options), columns, options), options
            )
        case ".parquet" | ".pkl" | ".pickle":
            makes_ids, rows = _read_frame(path, suffix.lower(), options, columns)
        case _:
            refuse_binary(path, shape_of_start(start_of(path)))
            raise SourceError(
                f"is not a table that factseek reads; give one of {', '.join(SUFFIXES)}", place=path
            )
    ids = ContentIds()
    for row in rows:
        if makes_ids:
            made = {columns.docid: ids.make(row.fields, row.others)}
            yield row._replace(fields={**made, **row.fields})
        else:
            yield row


def noted_keys(path: Path, rows: Iterator[TableRow], options: ReadOptions) -> Iterator[TableRow]:
    """Yield the rows, and then note which of their keys become metadata."""
    kept: dict[str, None] = {}
    for row in rows:
        kept.update(dict.fromkeys(row.others))
        yield row
    if kept:
        shown = ", ".join(repr(name[:40]) for name in list(kept)[:_KEYS_SHOWN])
        more = ", …" if len(kept) > _KEYS_SHOWN else ""
        options.note(f"{path}: these keys become metadata: {shown}{more}")


def _read_frame(
    path: Path, suffix: str, options: ReadOptions, columns: Columns
) -> tuple[bool, Iterator[TableRow]]:
    """Return whether ids must be made, and the rows of a Parquet file or a pickle.

    Of a pickle, only the columns with a meaning are read.
    """
    from ._frames import parquet_names, parquet_records, read_columns

    if suffix == ".parquet":
        header = parquet_names(path)
        wanted = {name for names in columns.find(header).values() for name in names}
        keeps_all = columns.keeps or columns.looks_below
        records = parquet_records(path, [name for name in header if keeps_all or name in wanted])
    else:
        wanted = {name for names in columns.names.values() for name in names}
        cells = read_columns(path, read_bytes(path, options), wanted)
        header = list(cells)
        records = (dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True))
    first = list(islice(records, SAMPLE if columns.looks_below else 0))
    sample = [[_sample_of(record.get(name)) for name in header] for record in first]
    makes_ids = columns.check_header(0, header, SourceNotices(path, options), sample=sample)
    numbered = (
        (f"{path}:{number}", record) for number, record in enumerate(chain(first, records), 1)
    )
    return makes_ids, _whole_rows(numbered, columns, options, columns.find(header, sample))


def _sample_of(value: Any) -> str:
    try:
        return _text_of(value)
    except _UnfitValueError:
        return ""


def _whole_rows(
    records: Iterator[tuple[str, dict[str, Any]]],
    columns: Columns,
    options: ReadOptions,
    columns_by_field: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[TableRow]:
    """Yield the rows of records; ``columns_by_field`` is given if all records have the same
    columns.
    """
    for place, record in records:
        of_record = columns_by_field
        if of_record is None:
            of_record = columns.find(
                tuple(record), [[_sample_of(each) for each in record.values()]]
            )
        if (row := texts_of(record, of_record, place, options)) is not None:
            others = others_of(record, of_record, row) if columns.keeps else {}
            yield TableRow(place, row, others)


def others_of(
    record: Mapping[str, Any], columns_by_field: Mapping[str, Sequence[str]], row: Fields
) -> dict[str, Any]:
    """Return the values of a record that no field of its row took, without empty ones.

    A value that JSON cannot carry, or that is not text, is left out.
    """
    taken = set()
    for field, columns in columns_by_field.items():
        if field in row:
            filled = (column for column in columns if _sample_of(record[column]))
            taken.add(next(filled, ""))
    others: dict[str, Any] = {}
    for name, value in record.items():
        if name in taken or not name.strip():
            continue
        if isinstance(value, dict | list | bool):
            others[name] = value
        elif text := _sample_of(value):
            others[name] = value if isinstance(value, int) else text
    return {name: value for name, value in others.items() if value not in ("", [], {})}


def texts_of(
    record: Mapping[str, Any],
    columns_by_field: Mapping[str, Sequence[str]],
    place: str,
    options: ReadOptions,
) -> Fields | None:
    """Return the non-empty texts of a record's fields; report a text that cannot be stored, and
    return ``None``.
    """
    row: Fields = {}
    for field, columns in columns_by_field.items():
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
        case bool():
            text = "true" if value else "false"
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
) -> tuple[bool, Iterator[TableRow]]:
    """Return whether ids must be made, and the rows of a CSV or TSV file with a header, whose cells
    may be quoted.
    """
    start = start_of(path, options.sheet)
    shape, top = find_table(path, start, columns, options)
    refuse_binary(path, shape)
    encoding = guessed_encoding(path, start, options)
    first = first_cells(shape, encoding)

    columns_by_field = columns.find([cell.strip() for cell in first])
    is_known = all(set(fields) & columns_by_field.keys() for fields in columns.required)
    is_sure = bool(shape.delimiter) and (is_known or is_quoted(start, shape.delimiter))
    delimiter = shape.delimiter if is_sure else _delimiter_by_name(path, shape)

    # Between tabs, a quote may be an ordinary character.
    quoting = delimiter != "\t" or is_quoted(start, delimiter)
    dialect = _dialect_of(path, delimiter, options, quoting=quoting)
    notices = SourceNotices(path, options)
    lines = numbered_lines(path, options, encoding)
    below = ((number, line) for number, line in lines if number >= top)
    footer = partial(leave_out_footer, options.named(path), options)
    found = table.read_table(below, dialect, notices, footer)
    if found is None:
        _refuse_encoding(path, shape)
        found = Table(1, [], iter(()))
    sample = sample_below(start, encoding or shape.encoding, dialect, found.line)
    shown = first if shape.delimiter else found.header
    makes_ids = columns.check_header(found.line, found.header, notices, shown, sample)
    columns_by_field = columns.find(found.header, sample)
    return makes_ids, _rows_by_field(options.named(path), found, columns, columns_by_field)


def leave_out_footer(name: str, options: ReadOptions, line: int) -> None:
    """Count a line of the table ``name`` that is below its rows."""
    options.leave_out(f"{name}:{line}", _FOOTER)


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


def _rows_by_field(
    name: str, found: Table, columns: Columns, columns_by_field: Mapping[str, Sequence[str]]
) -> Iterator[TableRow]:
    """Yield the rows of the table ``name``; of several columns of a field, the first that is not
    empty counts.
    """
    positions: dict[str, list[int]] = {}
    for field, names in columns_by_field.items():
        positions[field] = [found.header.index(name) for name in names]

    for number, cells in found.rows:
        row: Fields = {}
        taken: set[int] = set()
        for field, places in positions.items():
            filled = next((at for at in places if cells[at].strip()), None)
            if filled is not None:
                row[field] = cells[filled].strip()
                taken.add(filled)
        others: dict[str, Any] = {}
        if columns.keeps:
            for at, column in enumerate(found.header):
                if column and at not in taken and (text := cells[at].strip()):
                    others[column] = text
        yield TableRow(f"{name}:{number}", row, others)
