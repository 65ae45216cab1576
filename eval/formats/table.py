"""Tables of text: rows of cells below a header, between tabs, commas or semicolons."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from ...retrieval.errors import SourceError
from ...retrieval.lines import MAX_LINE, Faults
from ...retrieval.table_shape import TableShape, is_separator_line, shape_of_start
from .lines import text_lines

Numbered = Sequence[tuple[int, str]]
"""Lines of text with their numbers."""

Rows = list[tuple[int, list[str]]]
"""The cells of each row, with the number of its first line."""

_LOOKED_AT = 40


def table_lines(path: Path, faults: Faults) -> list[tuple[int, str]]:
    """Return the lines of a table, without a first one that only tells Excel what separates the cells."""
    numbered = list(text_lines(path, faults))
    return numbered[1:] if numbered and is_separator_line(numbered[0][1]) else numbered


def shape_of_lines(numbered: Numbered) -> TableShape:
    """Return the shape of the table that these lines form."""
    return shape_of_start("".join(f"{text}\n" for _, text in numbered[:_LOOKED_AT]).encode("utf-8", "replace"))


def rows_below(path: Path, numbered: Numbered, delimiter: str, *, quoting: bool = False) -> Rows:
    """Return the rows below the header, which is the first line.

    Between tabs, quotes are characters like any other, unless every name of the header is in quotes, or only with
    quoting every row has the header's columns, as where a text holds a line break. Between commas and semicolons a
    cell may always stand in quotes, and between tabs with ``quoting``. Raises SourceError, naming the line, if a row
    has other columns either way.
    """
    names = numbered[0][1].split(delimiter)
    if delimiter != "\t":
        width = _width(path, numbered[0], delimiter)
        rows = quoted(numbered, delimiter, width)
        if not rows:
            _refuse_odd(path, unquoted(numbered[1:], delimiter), width)
        return rows
    if (quoting or all(_in_quotes(name) for name in names)) and (rows := quoted(numbered, delimiter, len(names))):
        return rows
    plain = unquoted(numbered[1:], delimiter)
    if all(len(cells) == len(names) for _, cells in plain):
        return plain
    rows = quoted(numbered, delimiter, len(names))
    if not rows:
        _refuse_odd(path, plain, len(names))
    return rows


def _width(path: Path, header: tuple[int, str], delimiter: str) -> int:
    """Return the number of a header's columns; raise SourceError if it is no row: a cell holds a carriage return."""
    number, text = header
    try:
        return len(next(csv.reader([text], delimiter=delimiter)))
    except csv.Error:
        raise SourceError(
            "the header is not a row of a table: a cell holds a line end", place=f"{path}:{number}"
        ) from None


def unquoted(numbered: Numbered, delimiter: str) -> Rows:
    """Split lines at every delimiter; blank ones are left out."""
    return [(line, text.split(delimiter)) for line, text in numbered if text.strip()]


def quoted(numbered: Numbered, delimiter: str, width: int) -> Rows:
    """Return rows below a header whose cells may stand in quotes and hold line breaks; none if that does not fit."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.reader((f"{text}\n" for _, text in numbered), delimiter=delimiter, strict=True)
    rows: Rows = []
    try:
        next(reader)
        start = reader.line_num
        for cells in reader:
            if cells and len(cells) != width:
                return []
            if cells:
                rows.append((numbered[start][0], cells))
            start = reader.line_num
    except csv.Error:
        return []
    return rows


def _refuse_odd(path: Path, plain: Rows, width: int) -> None:
    odd = next(((line, cells) for line, cells in plain if len(cells) != width), None)
    if odd is not None:
        raise SourceError(f"has {len(odd[1])} columns, the header {width}", place=f"{path}:{odd[0]}")
    if plain:
        raise SourceError("is a table whose quotes do not close", place=path)


def _in_quotes(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"'
