"""Tables with a header and CSV quoting, row by row with the line of each."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...retrieval.lines import MAX_LINE, Faults, shown
from .lines import text_lines

_CELL = re.compile(r'"(?:[^"]|"")*+"?')


def rows_of(
    path: Path, faults: Faults, needed: Sequence[str], delimiter: str = "\t"
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the first line and the cells by header of each row of a table with CSV quoting."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    source = _NumberedLines(path, faults)
    reader = csv.reader(source, "excel", delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        source.begin()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            faults.error(source.line, f"is not a row of a table ({source.reason(error)})")
            continue
        if not header:
            header = [name.strip() for name in fields]
            absent = [name for name in needed if name not in header]
            if absent:
                hint = "; it is separated by commas here, use tabs" if _by_commas(header, needed) else ""
                message = f"the header has no {' and no '.join(absent)}: {shown(' '.join(fields))}"
                faults.error(source.line, message + hint)
                return
        elif len(fields) != len(header):
            faults.error(source.line, f"has {len(fields)} columns, the header {len(header)}" if fields else "is blank")
        else:
            yield source.line, dict(zip(header, fields, strict=True))


def _by_commas(header: list[str], needed: Sequence[str]) -> bool:
    return len(header) == 1 and set(needed) <= {name.strip(' "') for name in header[0].split(",")}


class _NumberedLines:
    """The lines of a file for a csv reader, with the line on which the current row began and the text of the row."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self._lines = text_lines(path, faults)
        self._fresh = True
        self.line = 0
        self._row: list[str] = []

    def begin(self) -> None:
        """Mark the next line as the first of a row."""
        self._fresh = True

    def reason(self, error: csv.Error) -> str:
        """Return why the current row is none: the reader's reason, or the carriage return that it means."""
        unquoted = _CELL.sub("", "".join(self._row))
        return "a carriage return stands outside of quotes" if "\r" in unquoted else str(error)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, text = next(self._lines)
        if self._fresh:
            self.line, self._fresh = number, False
            self._row.clear()
        self._row.append(text)
        return text + "\n"
