"""Messages on a file that a reader cannot read: what it is, and which command reads it."""

from __future__ import annotations

import csv
from collections.abc import Collection
from itertools import islice
from pathlib import Path

from ...retrieval.errors import SourceError
from ...retrieval.records.table_shape import LOOKED_AT, TableShape, shape_of_start
from . import kinds, reader
from ._streams import open_bytes

TABLES = ("tabs", "commas", "semicolons")
NOT_JSON_LINES = (*TABLES, "HTML", "XML")


def start_of(path: Path) -> bytes:
    """Return the beginning of a file, unpacked.

    Raises BadFileError if it cannot be read.
    """
    with open_bytes(path) as stream:
        return stream.read(LOOKED_AT)


def kind_for(shape: TableShape) -> str:
    """Return the kind of source that reads a file of this shape, ``""`` if several or none might.

    Of several it is the one that knows most of the file's columns.
    """
    names = {name.strip("\"'").lower() for name in (*shape.names, *shape.cells)}
    known = {
        kind: max(
            (len(columns) for form, columns in reader(kind).FILES if form == shape.form and columns <= names),
            default=-1,
        )
        for kind in kinds()
    }
    best = max(known, key=lambda kind: known[kind])
    return best if known[best] >= 0 else ""


def is_table(start: bytes, shape: TableShape) -> bool:
    """Return whether a file is a table beyond doubt: its columns are known, or are more than a comma in a sentence."""
    if shape.form not in TABLES:
        return False
    return bool(kind_for(shape)) or (shape.form != "commas" and _is_regular(start, shape))


def _is_regular(start: bytes, shape: TableShape) -> bool:
    """Return whether the first rows of a table, two at least, have the same number of cells."""
    lines = start.decode(shape.encoding or "latin-1", "replace").splitlines()
    try:
        rows = list(islice((row for row in csv.reader(lines, delimiter=shape.delimiter) if row), 21))
    except csv.Error:
        return False
    return len(rows) > 1 and len({len(row) for row in rows}) == 1


def refuse_foreign(path: Path, forms: Collection[str], instead: str) -> None:
    """Raise SourceError if a file has one of ``forms``; ``instead`` is what it should be.

    The message names the kind of source that reads it.
    """
    start = start_of(path)
    shape = shape_of_start(start)
    refuse_binary(path, shape)
    if shape.form not in forms or (shape.form in TABLES and not is_table(start, shape)):
        return
    raise SourceError(f"{shape.sentence}, not {instead}", place=path, remedy=remedy_for(shape))


def refuse_binary(path: Path, shape: TableShape) -> None:
    """Raise SourceError if a file is known not to be text: a workbook, a PDF."""
    if shape.form == "binary" and shape.content:
        what = shape.sentence if shape.content.startswith("text") else f"{shape.sentence}, not text"
        raise SourceError(what, place=path, remedy=shape.remedy)


def remedy_for(shape: TableShape) -> str:
    """Return what to do with a file that the reader of another kind reads, or how to make it readable."""
    kind = kind_for(shape)
    return f"read it with factseek index {kind}" if kind else (shape.remedy or "name another file")
