"""The quotes of a table: around its cells, as spreadsheets write them, or plain text."""

from __future__ import annotations

import re

from ...retrieval.records.table_shape import LOOKED_AT, shape_of_start

_OPEN_CELL = re.compile(r'"(?:[^"]|"")*+"?\Z')
"""A cell that goes on after what was looked at."""


def is_quoted(start: bytes, delimiter: str) -> bool:
    """Return whether the quotes at the beginning of a table are those of a spreadsheet.

    They are if they fit: every cell with a quote in it stands in quotes, those inside are doubled, and every row has as
    many cells as the first; and if they must be: a cell holds a doubled quote, a delimiter or a line end, or all cells
    of the file stand in quotes. A heading that is in quotation marks by itself tells nothing.
    """
    text = start.decode(shape_of_start(start).encoding or "latin-1", "replace").removeprefix("\ufeff")
    is_whole = len(start) < LOOKED_AT
    mark = re.escape(delimiter)
    cell = re.compile(rf'(?:"(?P<quoted>(?:[^"]|"")*+)"|(?P<plain>[^"{mark}\r\n]*+))(?P<end>{mark}|\r?\n|\Z)')
    widths, width, position = set[int](), 0, 0
    quoted, plain, needed = 0, 0, False
    while position < len(text) and (match := cell.match(text, position)):
        position, width = match.end(), width + 1
        content = match["quoted"]
        quoted, plain = quoted + (content is not None), plain + bool(match["plain"])
        needed = needed or (content is not None and re.search(rf'["{mark}\r\n]', content) is not None)
        if match["end"] != delimiter:
            widths.update({width} if width > 1 and (match["end"] or is_whole) else ())
            width = 0
    if position < len(text) and (is_whole or not _OPEN_CELL.match(text, position)):
        return False
    return len(widths) == 1 and quoted > 0 and (needed or not plain)
