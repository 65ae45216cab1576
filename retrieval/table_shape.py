"""The shape of a file of records: its encoding, the delimiter of its columns, and its first row.

Both the readers of documents and those of queries and judgements ask this, to read a file that was saved another way,
or to say in a message what it is.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from .binary_kinds import UTF32, known_binary
from .files import read_errors_reported
from .gzip_files import opened

Form = Literal["empty", "binary", "JSON", "JSON lines", "XML", "HTML", "tabs", "commas", "semicolons", "blanks", "text"]
"""The form of a file's records; ``text`` is a file without columns, ``binary`` one that is no text."""

LOOKED_AT = 1 << 16
"""Bytes of the beginning of a file that are looked at."""

SAVE_AS_UTF8 = (
    'save it as UTF-8 (in Excel: "CSV UTF-8"; elsewhere: iconv -f ENCODING -t UTF-8, where ENCODING is often '
    "WINDOWS-1252, for Cyrillic WINDOWS-1251, for Turkish WINDOWS-1254, for Arabic WINDOWS-1256)"
)
"""The remedy for text in an unknown encoding."""

SAVE_TEXT = "save its text as plain text, in UTF-8"
"""The remedy for a document of an office program."""

_ROWS = 20
_PAIRED = 400
"""Bytes from which pairs of UTF-16 are told."""
_NULS = 4
"""NUL bytes of a line from which on it may be one of UTF-16."""
_DELIMITERS: dict[Form, str] = {"tabs": "\t", "commas": ",", "semicolons": ";"}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAVE_ROWS = "save its rows as JSON lines or CSV with the program that wrote it"
_REMEDIES = {
    ("Excel",): 'in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"',
    ("spreadsheet",): "save the sheet as CSV, in UTF-8",
    ("Word", "OpenDocument text", "RTF", "rich-text", "office document", "presentation"): SAVE_TEXT,
    ("PDF",): f"{SAVE_TEXT}, as pdftotext does",
    ("compressed",): "unpack it first",
    (UTF32,): "save it as UTF-8 (iconv -f UTF-32 -t UTF-8)",
    ("pickle", "Parquet", "NumPy", "Arrow", "HDF5"): _SAVE_ROWS,
}
"""The remedies by words of what a binary file is."""
_SEPARATOR_LINE = re.compile(r"sep=[,;|\t]\r?")
_SENTENCES: dict[Form, str] = {
    "empty": "is empty",
    "binary": "is not text",
    "JSON": "is JSON",
    "JSON lines": "is JSON lines",
    "XML": "is XML",
    "HTML": "is HTML",
    "tabs": "is tab-separated",
    "commas": "is comma-separated",
    "semicolons": "is separated by semicolons",
    "blanks": "is separated by blanks",
    "text": "is text without columns",
}


class TableShape(NamedTuple):
    """The shape of a file.

    ``encoding`` is Python's name of it, ``""`` if it is none that is recognised (text that is not UTF-8 and has no
    byte-order mark). ``cells`` are those of the first row, or the keys of the first JSON object. ``content`` says in
    words what a binary file is.
    """

    form: Form
    encoding: str = "utf-8"
    cells: tuple[str, ...] = ()
    content: str = ""

    @property
    def delimiter(self) -> str:
        """The character between the cells of a row; ``""`` where it is not a table of that kind."""
        return _DELIMITERS.get(self.form, "")

    @property
    def names(self) -> tuple[str, ...]:
        """The cells of the first row as column names are looked up: :func:`column_name`."""
        return tuple(column_name(cell) for cell in self.cells)

    @property
    def sentence(self) -> str:
        """The file's form, as a message says it: ``is comma-separated``, ``is an Excel workbook (.xlsx)``."""
        return f"is {self.content}" if self.content else _SENTENCES[self.form]

    @property
    def remedy(self) -> str:
        """The remedy for a file that cannot be read as it is, ``""`` if nothing has to be done."""
        if remedy := binary_remedy(self.content):
            return remedy
        if self.form != "binary" and not self.encoding:
            return SAVE_AS_UTF8
        return ""


def shape_of(path: Path) -> TableShape:
    """Return the shape of a file, from its first 64 kB; nothing of a pipe is read: it is ``text``.

    Raises SourceError if it cannot be opened.
    """
    with read_errors_reported(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            return TableShape("text")
        with opened(path) as file:
            return shape_of_start(file.read(LOOKED_AT))


def shape_of_start(start: bytes) -> TableShape:
    """Return the shape of a file that begins with ``start``, the last line of which may be cut."""
    content = known_binary(start)
    if content:
        return TableShape("binary", "", (), content)
    encoding = _encoding(start)
    text = _decoded(start, encoding or "latin-1")
    if not text.strip():
        return TableShape("empty", encoding)
    if "\0" in text:
        return TableShape("binary", "")
    form, cells = _form(text)
    return TableShape(form, encoding, cells)


def binary_content(start: bytes) -> str:
    """Return what a file that begins with ``start`` is, and what to do, if it is known to be no text; else ``""``."""
    content = known_binary(start)
    if not content:
        return ""
    remedy = binary_remedy(content)
    return f"is {content}; {remedy}" if remedy else f"is {content}"


def binary_remedy(content: str) -> str:
    """Return what to do with a file that is no text, by the words that say what it is; ``""`` if nothing is known."""
    for kinds, remedy in _REMEDIES.items():
        if any(kind in content for kind in kinds):
            return remedy
    return ""


def unlike_columns(path: Path) -> str:
    """Return the end of a message about a file's first line: what the file is, if it has no columns at blanks."""
    shape = shape_of(path)
    if shape.form in ("empty", "tabs", "blanks", "text") and not shape.remedy:
        return ""
    remedy = f": {shape.remedy}" if shape.remedy else ""
    return f"; the file {shape.sentence}{remedy}"


def nul_reason(line: bytes) -> str:
    """Return what is wrong with a line that holds a NUL byte: most often it is one of UTF-16."""
    if line.count(0) >= _NULS and _encoding(line).startswith("utf-16"):
        return f"is UTF-16 without a byte-order mark; {SAVE_AS_UTF8}"
    return "holds a NUL byte"


def is_separator_line(line: str) -> bool:
    """Return whether the first line of a table only tells Excel what separates its cells: ``sep=;``."""
    return _SEPARATOR_LINE.fullmatch(line) is not None


def column_name(cell: str) -> str:
    """Return a column's name as it is looked up: small letters, ``_`` for blanks and hyphens."""
    return "_".join(cell.strip().strip("\"'").strip().lower().replace("-", " ").split())


def column_at(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return where the first of the ``wanted`` names that is there stands among the names of a header."""
    return next((names.index(name) for name in wanted if name in names), None)


def _encoding(start: bytes) -> str:
    """Return the encoding of a text, ``""`` if it is unknown."""
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "")
    if marked:
        return marked
    # Text of any script has ASCII in it, line ends and digits at least: half of their bytes are NUL, on one side.
    pairs = start[: min(len(start), _PAIRED) // 2 * 2]
    for name, high, low in (("utf-16-le", pairs[1::2], pairs[::2]), ("utf-16-be", pairs[::2], pairs[1::2])):
        if high.count(0) > len(high) // 5 and 0 not in low:
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return ""
    return "utf-8"


def _decoded(start: bytes, encoding: str) -> str:
    """Decode the beginning of a file, whose last character may be cut."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(start)


def _form(text: str) -> tuple[Form, tuple[str, ...]]:
    """Return the form of a text that says something, and its first row."""
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if len(lines) > 1 and is_separator_line(lines[0]):
        del lines[0]
    first = lines[0].strip()
    if first[0] in "{[":
        return _json(first)
    if first[0] == "<":
        return ("HTML" if first.lower().startswith(("<!doctype html", "<html")) else "XML"), ()
    if "\t" in lines[0]:
        rows = _rows(lines[:1], "\t") or [lines[0].split("\t")]  # quotes of a cell that is too long do not close
        return "tabs", tuple(rows[0])
    for form in ("commas", "semicolons"):
        rows = _rows(lines[: _ROWS + 1], _DELIMITERS[form])
        if _is_table(rows, whole=len(lines) <= _ROWS):
            return form, tuple(rows[0])
    words = [line.split() for line in lines[:_ROWS]]
    if len(words[0]) > 1 and len({len(row) for row in words}) == 1:
        return "blanks", tuple(words[0])
    return "text", (first,)


def _json(first: str) -> tuple[Form, tuple[str, ...]]:
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        # The first line is the beginning of a value: a whole file of JSON, unless it is "[1] a list of sources".
        return ("JSON" if first[1:].strip()[:1] in ("", "{", '"', "[", "}", "]") else "text"), ()
    if isinstance(value, dict):
        return "JSON lines", tuple(value)
    return ("JSON" if isinstance(value, list) else "text"), ()


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Split lines as a table with quotes does; a quote that does not close takes the lines up to the end."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        return [row for row in islice(reader, _ROWS) if row]
    except csv.Error:
        return []


def _is_table(rows: Sequence[Sequence[str]], *, whole: bool) -> bool:
    """Return whether most rows have as many cells as the first, two or more; the last may be cut where more follow."""
    if not rows or len(rows[0]) < 2:
        return False
    compared = rows if whole or len(rows) == 1 else rows[:-1]
    return sum(len(row) == len(rows[0]) for row in compared) * 3 >= len(compared) * 2
