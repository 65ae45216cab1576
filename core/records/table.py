"""Read tables: rows of cells between delimiters, each with the number of its first line.

A caller opens the file and gives its lines with their numbers, decoded. Faults go to ``faults``,
which raises an error, collects it or counts it. A row with a fault is left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .lines import MAX_LINE, Faults
from .table_shape import LOOKED_AT, is_separator_line, shape_of_start

Numbered = Iterable[tuple[int, str]]  # the lines of a text with their numbers
Row = tuple[int, list[str]]  # the number of the first line of a row, and its cells
MISSING = frozenset({"NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL"})
"""Unquoted words for a missing value in the output of R, pandas and databases."""
_FOOTER = re.compile(
    r"(?:total|sum|summe|gesamt|insgesamt|somme|suma|toplam|итого|общо|المجموع|الإجمالي)"
    r"[\s:=\d.,]*\Z"
    r"|(?:sources?|quellen?|fuentes?|kaynak(?:lar)?|источник|източник|المصدر|المصادر"
    r"|notes?|notas?|anmerkung(?:en)?|not(?:lar)?|ملاحظة)\s*:",
    re.I,
)
_MOST_FOOTERS = 10
"""The most rows below a table that may be its footer."""
_NUMBER = re.compile(r"[-+]?[\d.,:/-]*(?:[eE][-+]?\d+)?|NA")
"""Values that R and other programs leave unquoted although they quote texts."""
_OPEN_CELL = re.compile(r'"[^"]*+(?:""[^"]*+)*"?\Z')
"""A cell that continues beyond the part of the file that was read."""
_CELL_IN_QUOTES = r'"[^"]*+(?:""[^"]*+)*"?'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a table are written, and what is ignored in them.

    With ``quoting``, a cell may be in double quotes and then contain delimiters, line ends and
    doubled quotes. Without it, a quote is an ordinary character. Unquoted cells with one of the
    words ``missing`` are empty. A row has at most ``longest_row`` characters. If blank lines are
    not skipped, each is a row without cells. With ``counts_rows``, the number of a row is not that
    of its first line: a row of a workbook is one row, whatever line ends are in its cells.
    """

    delimiter: str
    quoting: bool = True
    missing: frozenset[str] = frozenset()
    longest_row: int = MAX_LINE
    skips_blank: bool = True
    counts_rows: bool = False


class Table(NamedTuple):
    """The header of a table, with the number of its line, and the rows below it."""

    line: int
    header: list[str]
    rows: Iterator[Row]


def read_table(
    lines: Numbered, dialect: Dialect, faults: Faults, footer: Callable[[int], object] | None = None
) -> Table | None:
    """Return the table that the lines form, ``None`` if they have no row.

    Each row below the header has as many cells as the header. Any other row is an error. But if
    ``footer`` is given, the last rows may be a few words in one cell, such as ``Total: 12``; then
    ``footer`` gets the line of each.
    """
    rows = read_rows(lines, dialect, faults)
    first = next(rows, None)
    if first is None:
        return None
    line, cells = first
    header = [cell.strip() for cell in cells]
    if footer is not None:
        rows = without_footer(rows, len(header), footer)
    return Table(line, header, _rows_of_width(rows, len(header), faults))


def _rows_of_width(rows: Iterator[Row], width: int, faults: Faults) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) == width:
            yield line, cells
        elif cells:
            faults.error(line, f"has {len(cells)} columns, but the header has {width}")
        else:
            faults.error(line, "is blank")


def without_footer(
    rows: Iterator[Row], width: int, footer: Callable[[int], object]
) -> Iterator[Row]:
    """Yield the rows of a table without those at its end that are a footer, such as ``Total: 12``;
    ``footer`` gets the line of each of these.

    A footer is a few words in one cell, or begins with words such as ``Total`` and has only
    numbers besides, or at least half its cells empty.
    """
    waiting: list[Row] = []  # the rows since the last good one, as long as they may be a footer
    for row in rows:
        if _may_be_footer(row[1], width) and len(waiting) < _MOST_FOOTERS:
            waiting.append(row)
            continue
        yield from waiting
        waiting.clear()
        yield row
    for line, cells in waiting:
        if any(map(str.strip, cells)):
            footer(line)


def _may_be_footer(cells: Sequence[str], width: int) -> bool:
    filled = [text for cell in cells if (text := cell.strip())]
    if not filled:
        return True
    if len(cells) == 1 < width:
        return " " in filled[0]  # a file that was cut off may end with an id
    are_numbers = all(_NUMBER.fullmatch(text) for text in filled[1:])
    return (are_numbers or 2 * len(filled) <= width) and _FOOTER.match(filled[0]) is not None


def read_rows(lines: Numbered, dialect: Dialect, faults: Faults) -> Iterator[Row]:
    """Yield the rows of a table with or without a header.

    A first line that only tells Excel the separator is no row.
    """
    lines = _without_separator_line(lines)
    rows = (_quoted_rows if dialect.quoting else _plain_rows)(lines, dialect, faults)
    further = 0  # lines of the rows above, beyond one a row
    for line, cells in rows:
        if cells or not dialect.skips_blank:
            yield line - further, cells
        if dialect.counts_rows:
            further += sum(cell.count("\n") for cell in cells)


def _without_separator_line(lines: Numbered) -> Numbered:
    for number, line in lines:
        if not (number == 1 and is_separator_line(line)):
            yield number, line


def _plain_rows(lines: Numbered, dialect: Dialect, _: Faults) -> Iterator[Row]:
    for number, line in lines:
        cells = line.split(dialect.delimiter) if line else []
        yield number, ["" if cell in dialect.missing else cell for cell in cells]


def _quoted_rows(lines: Numbered, dialect: Dialect, faults: Faults) -> Iterator[Row]:
    # The csv module's limit is global to the process and too low for a long line, so it is raised
    # and never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), dialect.longest_row + 1))
    source = _RowLines(lines, dialect)
    rows = csv.reader(source, delimiter=dialect.delimiter, strict=True)
    while True:
        source.begin_row()
        try:
            cells = next(rows)
        except StopIteration:
            return
        except _LostLineError:
            continue
        except csv.Error as error:
            reason = source.stray_return() or str(error)
            faults.error(source.first_line, f"is not a row of a table ({reason})")
            continue
        yield source.first_line, cells


class _LostLineError(Exception):
    """A quoted cell continues over a line that was left out, and whose fault is known already."""


class _RowLines:
    """Gives lines to a csv reader, and remembers where the current row began and what it is."""

    def __init__(self, lines: Numbered, dialect: Dialect) -> None:
        self._lines = iter(lines)
        self._delimiter = dialect.delimiter
        self._longest = dialect.longest_row
        self._missing = _missing_cells(dialect) if dialect.missing else None
        self.begin_row()

    def begin_row(self) -> None:
        self.first_line = self._last_line = 0
        self._chars = self._quotes = 0
        self._row: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = next(self._lines)
        if not self.first_line:
            self.first_line = number
        elif number != self._last_line + 1:
            raise _LostLineError
        self._last_line = number
        self._row.append(line)

        self._chars += len(line) + 1
        if self._chars > self._longest + 1:
            raise csv.Error(f"a quote does not close within {self._longest:,} bytes")
        return self._without_missing(line) + "\n"

    def _without_missing(self, line: str) -> str:
        if self._missing is None:
            return line
        if not self._missing.search(line):
            self._quotes += line.count('"')
            return line

        # Every second piece is outside quotes. Quotes of the lines above count too.
        pieces = line.split('"')
        for at in range(self._quotes % 2, len(pieces), 2):
            pieces[at] = self._missing.sub("", pieces[at])
        self._quotes += len(pieces) - 1
        return '"'.join(pieces)

    def stray_return(self) -> str:
        """Return what to do about a carriage return outside quotes, ``""`` if the row has none."""
        quoted = rf"(?:(?<={re.escape(self._delimiter)})|\A){_CELL_IN_QUOTES}"
        outside = re.sub(quoted, "", "\n".join(self._row))
        if "\r" not in outside:
            return ""
        return "a carriage return is outside quotes: end each line with a line feed"


def _missing_cells(dialect: Dialect) -> re.Pattern[str]:
    mark = re.escape(dialect.delimiter)
    words = "|".join(map(re.escape, sorted(dialect.missing)))
    return re.compile(rf"(?:(?<={mark})|\A)(?:{words})(?={mark}|\Z)")


class _Counted:
    """Counts errors: for a way of reading that is tried first."""

    def __init__(self) -> None:
        self.errors = 0

    def error(self, line: int, reason: str) -> None:
        self.errors += 1

    def warning(self, line: int, reason: str) -> None:
        pass


def read_loose_rows(
    lines: Sequence[tuple[int, str]], delimiter: str, faults: Faults, *, quoting: bool = False
) -> list[Row]:
    """Return the rows below the header, which is the first line; the rows show what a quote is.

    Between tabs, a quote is an ordinary character unless ``quoting`` is set, the header's names are
    all in quotes, or the rows have the header's columns only if quotes are read (a text may contain
    a line break). Between other delimiters, a cell may always be in quotes. A row that does not
    have the header's columns either way is an error.
    """
    line, header = lines[0]
    is_tabbed = delimiter == "\t"
    if not is_tabbed and not _is_row(header, delimiter):
        faults.error(line, "the header is not a row of a table: a cell contains a line end")
        return []
    names = header_cells(header, delimiter)
    width = len(names)

    plain = [(number, text.split(delimiter)) for number, text in lines[1:] if text.strip()]
    is_plain = is_tabbed and all(len(cells) == width for _, cells in plain)
    are_names_quoted = all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)
    if is_plain and not quoting and not are_names_quoted:
        return plain

    quoted = _quoted_rows_below(lines, delimiter, width)
    if quoted or is_plain:
        return quoted or plain
    for number, cells in plain:
        if len(cells) != width:
            faults.error(number, f"has {len(cells)} columns, but the header has {width}")
            return []
    if plain:
        faults.error(0, "is a table with a misplaced or missing quote")
    return []


def _is_row(line: str, delimiter: str) -> bool:
    try:
        split_row(line, delimiter)
    except csv.Error:
        return False
    return True


def _quoted_rows_below(lines: Sequence[tuple[int, str]], delimiter: str, width: int) -> list[Row]:
    """Return the rows below a header if all of them can be read with quotes and fit, else none."""
    faults = _Counted()
    rows = []
    for number, cells in read_rows(lines, Dialect(delimiter), faults):
        rows.append((number, cells))
        is_header = len(rows) == 1
        if faults.errors or (len(cells) != width and not is_header):
            return []
    return [] if faults.errors else rows[1:]


def header_cells(line: str, delimiter: str) -> list[str]:
    """Return the names in a header; between tabs, a quote is an ordinary character.

    If the header is not a row of a table, its quotes are ordinary too: whoever reads the rows
    below it names the fault.
    """
    if delimiter == "\t":
        return line.split(delimiter)
    try:
        return split_row(line, delimiter)
    except csv.Error:
        return line.split(delimiter)


def split_row(line: str, delimiter: str, *, blanks: bool = False) -> list[str]:
    """Return the cells of one line, which may be in quotes, after ``blanks`` too.

    Raises csv.Error for a carriage return outside quotes, or a cell of more than 131,072 characters
    (unless the process has read longer rows).
    """
    rows = csv.reader([line], delimiter=delimiter, skipinitialspace=blanks)
    return next(rows, [])


def is_quoted(start: bytes, delimiter: str) -> bool:
    """Return whether the quotes at the beginning of a table are those of a spreadsheet: valid and
    necessary.

    They are valid if every cell that contains a quote is quoted, inner quotes are doubled, and
    every row has as many cells as the first. They are necessary if a cell contains a doubled quote,
    a delimiter or a line end, or if all cells except numbers are quoted. A single heading in
    quotation marks proves nothing.
    """
    encoding = shape_of_start(start).encoding or "latin-1"
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    is_whole = len(start) < LOOKED_AT
    mark = re.escape(delimiter)
    cell = re.compile(
        rf'(?:"(?P<quoted>[^"]*+(?:""[^"]*+)*)"|(?P<plain>[^"{mark}\r\n]*+))(?P<end>{mark}|\r?\n|\Z)'
    )
    needs_quotes = re.compile(rf'["{mark}\r\n]')

    widths: set[int] = set()
    width = quoted = plain_texts = position = 0
    is_needed = False
    while position < len(text) and (match := cell.match(text, position)):
        position = match.end()
        width += 1
        content = match["quoted"]
        if content is not None:
            quoted += 1
            is_needed = is_needed or needs_quotes.search(content) is not None
        elif not _NUMBER.fullmatch(match["plain"]):
            plain_texts += 1
        if match["end"] == delimiter:
            continue
        # A blank line has one cell. The last row of a part of a file may be cut off.
        if width > 1 and (match["end"] or is_whole):
            widths.add(width)
        width = 0

    is_open = _OPEN_CELL.match(text, position) is not None
    if position < len(text) and (is_whole or not is_open):
        return False
    return len(widths) == 1 and quoted > 0 and (is_needed or not plain_texts)
