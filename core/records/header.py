"""Find the header of a table, which may be below rows with a title and blank rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .columns import content_of
from .table import Row

_LOOKED_AT = 30
"""The number of filled rows among which the header is."""
_FEWEST = 2
"""The minimum number of cells in a header below a title."""


def find_header(rows: Sequence[Row], is_known: Callable[[list[str]], bool]) -> Row | None:
    """Return the row with the names of the columns, with the number of its first line; None if no
    row has a filled cell.

    ``rows`` are the first rows of the table, and ``is_known`` tells whether cells are known names.
    The header is the first row whose cells are known names. It is below the first filled row only
    if each row above it has fewer filled cells: those have a title. If no row has known names, it
    is the first row with a different text in every column, above rows of which a column has only
    numbers, dates, flags or addresses. Otherwise it is the first filled row.
    """
    filled = [(line, cells) for line, cells in rows if _filled(cells)][:_LOOKED_AT]
    if not filled or is_known(filled[0][1]):
        return filled[0] if filled else None
    for number, (line, cells) in enumerate(filled):
        above = [_filled(other) for _, other in filled[:number]]
        if _filled(cells) >= max([_FEWEST, *(count + 1 for count in above)]) and is_known(cells):
            return line, cells

    width = max(len(cells) for _, cells in filled)
    for number, (line, cells) in enumerate(filled):
        if not all(_filled(other) < width for _, other in filled[:number]):
            break
        below = [other for _, other in filled[number + 1 :]]
        if _is_full(cells, width) and _has_other_types(below):
            return line, cells
    return filled[0]


def _filled(cells: Sequence[str]) -> int:
    """Return the number of different texts; a title that is merged over columns may be in each."""
    return len({cell.strip() for cell in cells} - {""})


def _is_full(cells: Sequence[str], width: int) -> bool:
    """Return whether a row has a different text in every column."""
    # "No" may also head a column of numbers.
    are_texts = all(content_of([cell]) in ("texts", "flags") for cell in cells)
    return _filled(cells) == width >= _FEWEST and are_texts


def _has_other_types(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a column of some rows has only numbers, dates, flags or addresses."""
    width = max(map(len, rows), default=0)
    columns = ([row[at] for row in rows if at < len(row)] for at in range(width))
    return any(content_of(cells) not in ("", "texts") for cells in columns)
