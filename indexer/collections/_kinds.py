"""Which kind of source reads a table, by its columns: for files in folders, and for the tab Add."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...core.errors import SourceError
from ...core.records.table_shape import TABLES, TableShape, shape_of_start
from . import ALL_SHEETS, ReadOptions, claimreview
from ._office import SHEETS
from ._tables import SUFFIXES, kind_for, start_of

_MOST_WORKBOOKS = 20
"""The most workbooks of a folder to look into: each takes a process of its own."""


def kind_of_table(path: Path, options: ReadOptions) -> tuple[str, TableShape]:
    """Return the kind of source that knows the columns of a table, ``""`` if none does, and its
    shape.

    Raises SourceError if the file cannot be read.
    """
    start = start_of(path, "" if options.sheet == ALL_SHEETS else options.sheet)
    shape = shape_of_start(start)
    kind = kind_for(shape)
    may_be_desk_table = shape.form in (*TABLES, "text")
    if not kind and may_be_desk_table and claimreview.is_desk_table(path, start, options):
        kind = "claimreview"
    return kind, shape


def table_finder(options: ReadOptions) -> Callable[[Path], str]:
    """Return a function that says which kind of source reads a file of a folder, ``""`` if it is no
    table or no kind knows its columns.
    """
    workbooks = 0

    def kind_of(path: Path) -> str:
        nonlocal workbooks
        name = path.name.lower()
        is_workbook = name.endswith(SHEETS)
        workbooks += is_workbook
        if workbooks > _MOST_WORKBOOKS and is_workbook:
            return ""
        if not name.removesuffix(".gz").endswith(SUFFIXES):
            return ""
        try:
            return kind_of_table(path, options)[0]
        except SourceError:
            return ""

    return kind_of
