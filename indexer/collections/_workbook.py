"""Read a sheet of a workbook with python-calamine, in the separate process of ``_office``.

The library does not tell everything: the cells that a formula fills may have no stored value, line
breaks and tabs in an OpenDocument sheet vanish, and a single cell that is far away needs gigabytes.
The XML of the sheet shows these.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

MOST_BYTES = 100_000_000
"""The maximum number of bytes in a file to read, and in the text that it contains."""
PROTECTED = "is protected by a password; save it without one"
_ROUNDED = 2**53  # from here on, a float does not represent every integer
_MOST_CELLS = 30_000_000
"""The number of cells from which a sheet with few filled ones is not read: the library would need
more memory than this process may use.
"""
_SPARSE = 50
"""A sheet is sparse if less than one in this many cells is filled."""
_CELL = re.compile(rb"<c\b[^>]*?\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*[^/]>")
_UNSTORED = re.compile(
    rb"<c\b[^>]*?\br=[\"']([A-Z]{1,3}\d{1,7})[\"'][^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*"
    rb"(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
)
_ODS_BLANKS = re.compile(rb"<text:(?:line-break|tab)\b[^>]*/>")
_DAMAGED = (KeyError, OSError, SyntaxError, ValueError, zipfile.BadZipFile)


class SheetText(NamedTuple):
    """A sheet as lines of tab-separated cells, with notes for the user, one a line."""

    text: str
    notes: str


class _Place(NamedTuple):
    """The place of a filled cell: its column and its row, from 1, and its name, such as B2."""

    column: int
    row: int
    name: str


class _BadWorkbookError(Exception):
    """A workbook that cannot be read; the message is the reason."""


def list_sheets(path: str) -> list[str] | str:
    """Return the names of the sheets with content, or why the workbook cannot be read."""
    try:
        workbook = _open(path)
        return [name for name in workbook.sheet_names if _table(path, workbook, name).strip()]
    except _BadWorkbookError as error:
        return str(error)


def read_workbook_sheet(path: str, name: str = "") -> SheetText | str:
    """Return the sheet with a name, or the first one with content; or why it cannot be read."""
    try:
        workbook = _open(path)
        names: list[str] = workbook.sheet_names
        if name and name not in names:
            shown = ", ".join(map(repr, names))
            return f"has no sheet {name!r}; its sheets are {shown}"
        for each in [name] if name else names:
            rounded: list[str] = []
            text = _table(path, workbook, each, rounded)
            if text.strip():
                others = [] if name else [other for other in names if other != each]
                return SheetText(text, "\n".join(_notes(path, each, others, rounded)))
    except _BadWorkbookError as error:
        return str(error)
    return f"has an empty sheet {name!r}" if name else "is a workbook whose sheets are empty"


def _notes(path: str, name: str, others: Sequence[str], rounded: Sequence[str]) -> Iterator[str]:
    if others:
        shown = ", ".join(map(repr, others[:10])) + (", …" if len(others) > 10 else "")
        yield (
            f"only the sheet {name!r} is read, not {shown}; choose with --sheet NAME or --sheet all"
        )
    if rounded:
        yield f"{rounded[0]} is rounded to 15 digits; format its column as text"
    unstored = [match[1].decode() for match in _UNSTORED.finditer(_sheet_xml(path, name))]
    if unstored:
        yield (
            f"formulas without a stored value are read as empty: {len(unstored):,}, the first in "
            f"{unstored[0]}; open the workbook in a spreadsheet program, and save it"
        )


def _open(path: str) -> Any:
    import python_calamine as calamine

    try:
        content = _with_blanks(path)
        return calamine.load_workbook(path if content is None else io.BytesIO(content))
    except calamine.PasswordError:
        raise _BadWorkbookError(PROTECTED) from None
    except calamine.CalamineError as error:
        raise _BadWorkbookError(_invalid(error)) from None


def _invalid(error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"is not a valid workbook ({reason}); save it again, or save it as CSV"


def _with_blanks(path: str) -> bytes | None:
    """Return an OpenDocument workbook in which blanks replace line breaks and tabs (ODF 1.3, 6.1.4
    and 6.1.5), None if it has neither.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "mimetype" not in names or archive.getinfo("content.xml").file_size > MOST_BYTES:
                return None
            content = archive.read("content.xml")
            if not _ODS_BLANKS.search(content):
                return None
            blanks = _ODS_BLANKS.sub(b"<text:s/>", content)
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w") as copy:
                for name in names:
                    if name in ("mimetype", "META-INF/manifest.xml", "styles.xml"):
                        copy.writestr(name, archive.read(name))
                copy.writestr("content.xml", blanks)
            return target.getvalue()
    except _DAMAGED:
        return None  # the library says what is wrong


def _sheet_xml(path: str, name: str) -> bytes:
    """Return the XML of a sheet of an Excel workbook, ``b""`` if it cannot be found."""
    from lxml import etree  # type: ignore[import-untyped]

    def parse(content: bytes) -> Any:
        return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))

    try:
        with zipfile.ZipFile(path) as archive:
            sheets = parse(archive.read("xl/workbook.xml")).iter("{*}sheet")
            wanted = next(
                value
                for sheet in sheets
                if sheet.get("name") == name
                for key, value in sheet.items()
                if key.endswith("}id")
            )
            relations = parse(archive.read("xl/_rels/workbook.xml.rels"))
            target = next(each.get("Target") for each in relations if each.get("Id") == wanted)
            member = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            is_long = archive.getinfo(member).file_size > MOST_BYTES
            return b"" if is_long else archive.read(member)
    except (*_DAMAGED, StopIteration, etree.XMLSyntaxError):
        return b""


def _table(path: str, workbook: Any, name: str, rounded: list[str] | None = None) -> str:
    """Return a sheet as text; add to ``rounded`` the integers that are too large for a workbook."""
    import python_calamine as calamine

    _refuse_stray(_sheet_xml(path, name))
    try:
        sheet = workbook.get_sheet_by_name(name)
    except calamine.CalamineError as error:
        raise _BadWorkbookError(_invalid(error)) from None
    return "".join(_lines(sheet, [] if rounded is None else rounded))


def _refuse_stray(xml: bytes) -> None:
    """Raise _BadWorkbookError if a cell that is far from the others makes a sheet too large."""
    cells = [
        _Place(_column(match[1]), int(match[2]), (match[1] + match[2]).decode())
        for match in _CELL.finditer(xml)
    ]
    size = _area(cells)
    if size <= _MOST_CELLS or len(cells) * _SPARSE > size:
        return
    last = (max(cells), max(cells, key=lambda cell: (cell.row, cell.column)))
    where = min(last, key=lambda stray: _area([cell for cell in cells if cell != stray])).name
    raise _BadWorkbookError(
        f"has the cell {where} far from its other cells, so that a sheet has {size:,} cells; clear "
        "this cell, and save the workbook"
    )


def _area(cells: Sequence[_Place]) -> int:
    width = max((cell.column for cell in cells), default=0)
    return width * max((cell.row for cell in cells), default=0)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _lines(sheet: Any, rounded: list[str]) -> Iterator[str]:
    """Yield the rows as lines.

    If a row has several cells, all are quoted, so that each is read back unchanged.

    Add to ``rounded`` the integers that are too large for a number in a workbook.
    """
    top = sheet.start[0] if sheet.start else 0
    yield "\n" * top  # so that line numbers are row numbers
    line, size, header = io.StringIO(), 0, True
    writer = csv.writer(line, csv.excel_tab, quoting=csv.QUOTE_ALL, lineterminator="\n")
    merged = _Merged(sheet)
    for number, row in enumerate(sheet.iter_rows(), top):
        cells = merged.fill(number, [_plain(cell) for cell in row])
        for cell, value in zip(cells, row, strict=True):
            if _is_rounded(value):
                rounded.append(cell)
        if header and any(cells):  # the first line of a file names its columns
            cells, header = [" ".join(cell.split()) for cell in cells], False
        if len(cells) == 1:
            line.write(f"{' '.join(cells[0].split())}\n")
        elif any(cells):
            writer.writerow(cells)
        else:
            line.write("\n")
        size += line.tell()
        if size > MOST_BYTES:
            raise MemoryError
        yield line.getvalue()
        line.seek(0)
        line.truncate()


class _Merged:
    """Fills the cells that are merged over several rows; only the first of them has the value.

    Cells that are merged in one row are mostly a title, which names no column.
    """

    def __init__(self, sheet: Any) -> None:
        self._left = sheet.start[1] if sheet.start else 0
        ranges = getattr(sheet, "merged_cell_ranges", None) or ()
        self._ranges = sorted((first, last) for first, last in ranges if first[0] < last[0])
        self._values: dict[int, str] = {}  # by the number of the range

    def fill(self, number: int, cells: list[str]) -> list[str]:
        """Return the cells of a row, from top to bottom, with the values of merged ones."""
        for which, ((top, left), (bottom, right)) in enumerate(self._ranges):
            if top > number:
                break
            if number > bottom:
                continue
            at = left - self._left
            if number == top and 0 <= at < len(cells):
                self._values[which] = cells[at]
            for column in range(max(at, 0), min(right - self._left + 1, len(cells))):
                cells[column] = cells[column] or self._values.get(which, "")
        return cells


def _is_rounded(cell: Any) -> bool:
    return isinstance(cell, float) and cell.is_integer() and abs(cell) >= _ROUNDED


def _plain(cell: Any) -> str:
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat()).removesuffix("T00:00:00")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).replace("\0", " ")
