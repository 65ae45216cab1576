"""The shape of a file of records: its type by its first bytes, its encoding, its delimiter and its
columns.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from ..files import read_errors_reported
from .gzip_files import open_unpacked

UTF32 = "text in UTF-32"
_KINDS = {
    b"PK\x03\x04": "compressed (zip)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (.xls)",
    b"\x1f\x8b": "compressed (gzip)",
    b"BZh": "compressed (bzip2)",
    b"\xfd7zXZ": "compressed (xz)",
    b"\x28\xb5\x2f\xfd": "compressed (zstd)",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF",
    b"SQLite format 3": "an SQLite database",
    b"\x93NUMPY": "a NumPy array (.npy)",
    b"ARROW1": "an Arrow or Feather file",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    **{bytes((0x80, version)): "a pickle" for version in range(2, 6)},
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), UTF32),
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]|^\xd0\xcf")
_INSIDE = {
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet (.ods)",
    b"mimetypeapplication/vnd.oasis.opendocument.text": "an OpenDocument text (.odt)",
    b"mimetypeapplication/vnd.oasis.opendocument.presentation": "a presentation (.odp)",
    b"mimetypeapplication/epub+zip": "an e-book (.epub)",
    b"word/": "a Word document (.docx)",
    b"ppt/": "a presentation (.pptx)",
    b"xl/": "an Excel workbook (.xlsx)",
    b"[Content_Types].xml": "an Excel workbook (.xlsx)",
    "WordDocument".encode("utf-16-le"): "a Word document (.doc)",
    "PowerPoint Document".encode("utf-16-le"): "a presentation (.ppt)",
}
"""The kinds of office files, by names near the beginning of their archive or older container."""
_ZIP, _CONTAINER = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_OFFICE_ENTRY = re.compile(
    rb"mimetype|\[Content_Types\]\.xml|(?:_rels|docProps|customXml|word|xl|ppt)/"
)
_ENTRY_NAME = 30  # the offset of the first entry's name in a zip archive
_PAIRED = 400  # the number of bytes to check for the NUL bytes of UTF-16 and UTF-32


def known_binary(start: bytes) -> str:
    """Return the type of a file that starts with ``start``, or ``""`` if the file is text or of an
    unknown type.

    A text may start with the same letters as an archive, so a binary file must contain a control
    character too.
    """
    if start.startswith(rb"{\rtf"):
        return "an RTF document"
    kind = next((kind for magic, kind in _KINDS.items() if start.startswith(magic)), "")
    if not kind or not _CONTROL.search(start):
        is_utf32 = any(
            _is_text(start[: len(start[:_PAIRED]) // 4 * 4], f"utf-32-{end}")
            for end in ("le", "be")
        )
        return UTF32 if is_utf32 else "a pickle" if _is_old_pickle(start) else ""
    # An archive with office files in a folder is not itself an office file.
    if start.startswith(_CONTAINER) or (
        start.startswith(_ZIP) and _OFFICE_ENTRY.match(start, _ENTRY_NAME)
    ):
        return next((name for sign, name in _INSIDE.items() if sign in start), kind)
    return kind


def _is_text(content: bytes, encoding: str) -> bool:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return len(text) > 1 and all(character >= " " or character.isspace() for character in text)


def _is_old_pickle(start: bytes) -> bool:
    """Return whether a file is a pickle of protocol 0 or 1, which have no magic number.

    Such a pickle stores its first object under a number, and these protocols define all steps
    before that. Nothing in the file is executed.
    """
    if not start or start[0] not in b"(c]})":  # a pickle that contains more than a word or a number
        return False
    import pickletools

    try:
        with warnings.catch_warnings(action="ignore"):  # for unknown escapes in a text
            for opcode, argument, _ in islice(pickletools.genops(start), 100):
                if opcode.proto > 1 or opcode.name in ("PUT", "BINPUT"):
                    return opcode.proto <= 1 and argument in (0, 1)  # Python 2 may start with 1
    except ValueError:
        pass
    return False


def list_advice(value: object) -> str:
    """Return advice for a JSON list of objects, ``""`` if the value is not such a list."""
    if isinstance(value, list) and _is_records(value) and (known := _annotated_claim(value[0])):
        return known
    return ": write its objects one per line, as jq -c '.[]' does" if _is_records(value) else ""


def wrapper_advice(row: Mapping[str, object]) -> str:
    """Return advice for an object in which exactly one value is a list of objects, else ``""``.

    The objects in a claim are no documents, but annotations.
    """
    if known := _annotated_claim(row):
        return known
    names = [name for name, value in row.items() if _is_records(value)]
    if len(names) != 1 or len(names[0]) > 40 or not names[0].isprintable():
        return ""
    (name,) = names
    path = (
        f".{name}[]"
        if name.isidentifier() and name.isascii()
        else f".[{json.dumps(name, ensure_ascii=False)}][]"
    )
    return (
        f"; its {name!r} is a list of objects: write these one per line, as jq -c "
        f"{shlex.quote(path)} does"
    )


def _annotated_claim(row: Mapping[str, object]) -> str:
    """Return what a claim with annotations is, and how to index it; ``""`` for other objects."""
    annotations = [name for name, value in row.items() if _is_records(value)]
    if not isinstance(row.get("claim"), str) or not annotations:
        return ""
    if "questions" in annotations:
        return (
            "; it is a claim of AVeriTeC, and its questions are its annotators': number the "
            "published list with jq -c 'to_entries[] | {id: .key} + .value', or lines with jq -c "
            "'{id: input_line_number} + .'; factseek index claims and factseek run read the result"
        )
    if "evidences" in annotations:
        return (
            "; it is a claim of Climate-FEVER: factseek index claims reads it, and factseek index "
            "jsonl its evidence, as jq -c '.evidences[] | {id: .evidence_id, title: .article, "
            "text: .evidence}' gives it"
        )
    return (
        f"; it is a claim, and its {annotations[0][:40]!r} are annotations: factseek index claims "
        "reads claims with an id"
    )


def find_unended_json(line: str) -> str:
    """Return the fault of a line that begins a JSON value but does not end it, else ``""``."""
    line = line.strip()
    if line[:1] not in ("{", "[") or line[-1:] not in ("{", "["):
        return ""
    advice = "write one object per line, as jq -c '.[]' does with a list, or jq -c . with objects"
    return f"begins JSON that spans several lines: {advice}"


def _is_records(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
    )


Form = Literal[
    "empty",
    "binary",
    "JSON",
    "JSON lines",
    "XML",
    "HTML",
    "tabs",
    "commas",
    "semicolons",
    "pipes",
    "blanks",
    "text",
]
"""The form of a file's records; ``text`` has no columns, ``binary`` is not text."""
LOOKED_AT = 1 << 16  # the number of bytes to read from the beginning of a file
SAVE_AS_UTF8 = (
    'save it as UTF-8 (in Excel: "CSV UTF-8"; elsewhere: iconv -f ENCODING -t UTF-8, where '
    "ENCODING is often "
    "WINDOWS-1252, for Cyrillic WINDOWS-1251, for Turkish WINDOWS-1254, for Arabic WINDOWS-1256)"
)
"""The remedy for text in an unknown encoding."""
NO_MARK = (
    "is UTF-16 without a byte-order mark; save it as UTF-8 (iconv -f UTF-16LE -t UTF-8, or -f "
    "UTF-16BE)"
)
# The remedy for a document of an office program.
SAVE_TEXT = "save its text as plain text, in UTF-8"
_ROWS = 20
_NULS = 4  # the minimum number of NUL bytes in a line that may be UTF-16
_DELIMITERS: dict[Form, str] = {"tabs": "\t", "commas": ",", "semicolons": ";", "pipes": "|"}
TABLES: tuple[Form, ...] = tuple(_DELIMITERS)  # the forms whose rows have a character between cells
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_REMEDIES = {
    ("Excel",): 'in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"',
    ("spreadsheet",): "save the sheet as CSV, in UTF-8",
    (
        "Word",
        "OpenDocument text",
        "RTF",
        "rich-text",
        "office document",
        "presentation",
        "e-book",
    ): SAVE_TEXT,
    ("PDF",): f"{SAVE_TEXT}, as pdftotext does",
    ("compressed",): "unpack it first",
    (UTF32,): "save it as UTF-8 (iconv -f UTF-32 -t UTF-8)",
    (
        "pickle",
        "Parquet",
        "NumPy",
        "Arrow",
        "HDF5",
    ): "save its rows as JSON lines or CSV with the program that wrote it",
}
"""The remedies, by words that describe a binary file."""
_ROOT = re.compile(r"<([A-Za-z_][\w.-]*)")
"""The first tag of an XML file."""
_SEPARATOR_LINE = re.compile(r"sep=[,;|\t]\r?")
_SENTENCES: dict[Form, str] = {
    "binary": "not text",
    "tabs": "tab-separated",
    "commas": "comma-separated",
    "semicolons": "separated by semicolons",
    "pipes": "separated by vertical bars",
    "blanks": "separated by blanks",
    "text": "text without columns",
}


class TableShape(NamedTuple):
    """The shape of a file: its form, and the cells of its first row, the keys of its first JSON
    object or the name of its first XML element.

    ``encoding`` is Python's name, ``""`` if it is unknown. ``content`` describes a binary file in
    words.
    """

    form: Form
    encoding: str = "utf-8"
    cells: tuple[str, ...] = ()
    content: str = ""

    @property
    def delimiter(self) -> str:
        """The character between the cells of a row; ``""`` if the file has another form."""
        return _DELIMITERS.get(self.form, "")

    @property
    def names(self) -> tuple[str, ...]:
        """The cells of the first row as column names in normal form: :func:`column_name`."""
        return tuple(column_name(cell) for cell in self.cells)

    @property
    def sentence(self) -> str:
        """The file's form in the words of a message: ``is comma-separated``, ``is an Excel workbook
        (.xlsx)``.
        """
        return f"is {self.content or _SENTENCES.get(self.form, self.form)}"

    @property
    def remedy(self) -> str:
        """The remedy for a file that cannot be read, ``""`` if it needs none."""
        return binary_remedy(self.content) or (
            "" if self.form == "binary" or self.encoding else SAVE_AS_UTF8
        )


def shape_of(path: Path) -> TableShape:
    """Return the shape of a file, from its first 64 kB.

    A pipe is not read; its form is ``text``.
    """
    with read_errors_reported(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            return TableShape("text")
        with open_unpacked(path) as file:
            return shape_of_start(file.read(LOOKED_AT))


def shape_of_start(start: bytes) -> TableShape:
    """Return the shape of a file that starts with ``start``, whose last line may be cut off."""
    content = known_binary(start)
    if content:
        return TableShape("binary", "", (), content)
    encoding = _encoding(start)
    # The last character may be cut off.
    text = codecs.getincrementaldecoder(encoding or "latin-1")("replace").decode(start)
    if not text.strip():
        return TableShape("empty", encoding)
    if "\0" in text:
        return TableShape("binary", "")
    form, cells = _form(text)
    return TableShape(form, encoding, cells)


def binary_content(start: bytes) -> str:
    """Return the type and remedy of a file that starts with ``start``, if it is known to be binary;
    else ``""``.
    """
    content = known_binary(start)
    return "; ".join(filter(None, [content and f"is {content}", binary_remedy(content)]))


def binary_remedy(content: str) -> str:
    """Return the remedy for a binary file from the description of its type; ``""`` if none is
    known.
    """
    return next(
        (remedy for kinds, remedy in _REMEDIES.items() if any(kind in content for kind in kinds)),
        "",
    )


def unlike_columns(path: Path) -> str:
    """Return the end of a message about a file's first line: what the file is, or ``""`` if that
    explains no fault.
    """
    shape = shape_of(path)
    if shape.form in ("empty", "tabs", "blanks", "text") and not shape.remedy:
        return ""
    remedy = f": {shape.remedy}" if shape.remedy else ""
    return f"; the file {shape.sentence}{remedy}"


def nul_reason(line: bytes) -> str:
    """Return the fault of a line that contains a NUL byte: most often, the line is UTF-16."""
    if line.count(0) >= _NULS and _encoding(line).startswith("utf-16"):
        return NO_MARK
    return "contains a NUL byte"


def is_separator_line(line: str) -> bool:
    """Return whether the first line of a table only tells Excel the separator: ``sep=;``."""
    return _SEPARATOR_LINE.fullmatch(line) is not None


def column_name(cell: str) -> str:
    """Return a column's name in normal form: lower case, ``_`` for spaces and hyphens."""
    return "_".join(cell.strip().strip("\"'").strip().lower().replace("-", " ").split())


def column_at(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the position of the first of the ``wanted`` names that a header contains, or None if
    it contains none.
    """
    return next((names.index(name) for name in wanted if name in names), None)


def _encoding(start: bytes) -> str:
    if marked := next((name for mark, name in _MARKS.items() if start.startswith(mark)), ""):
        return marked
    # UTF-16 text of any script contains ASCII, at least line ends and digits. Each ASCII character
    # has one NUL byte, always on the same side.
    pairs = start[: len(start[:_PAIRED]) // 2 * 2]
    for name, high, low in (
        ("utf-16-le", pairs[1::2], pairs[::2]),
        ("utf-16-be", pairs[::2], pairs[1::2]),
    ):
        if high.count(0) > len(high) // 5 and 0 not in low:
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return ""
    return "utf-8"


def _form(text: str) -> tuple[Form, tuple[str, ...]]:
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if len(lines) > 1 and is_separator_line(lines[0]):
        del lines[0]
    first = lines[0].strip()
    if first[0] in "{[":
        return _json(first)
    if first[0] == "<":
        return _markup(text, first)
    if "\t" in lines[0]:
        # A cell that is too long has no closing quote.
        rows = _rows(lines[:1], "\t") or [lines[0].split("\t")]
        return "tabs", tuple(rows[0])
    for form in TABLES[1:]:
        rows = _rows(lines[: _ROWS + 1], _DELIMITERS[form])
        if _is_table(rows, whole=len(lines) <= _ROWS):
            return form, tuple(rows[0])
    words = [line.split() for line in lines[:_ROWS]]
    if len(words[0]) > 1 and len({len(row) for row in words}) == 1:
        return "blanks", tuple(words[0])
    return "text", (first,)


def _markup(text: str, first: str) -> tuple[Form, tuple[str, ...]]:
    if first.lower().startswith(("<!doctype html", "<html")):
        return "HTML", ()
    root = _ROOT.search(text)
    return "XML", (root[1],) if root else ()


def _json(first: str) -> tuple[Form, tuple[str, ...]]:
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        # The first line starts a value: the whole file is JSON, unless it is text such as "[1] a
        # list of sources".
        return ("JSON" if first[1:].strip()[:1] in ("", "{", '"', "[", "}", "]") else "text"), ()
    if isinstance(value, dict):
        return "JSON lines", tuple(value)
    return ("JSON" if isinstance(value, list) else "text"), ()


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Split lines as a quoted table; an unclosed quote continues to the last line."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        return [row for row in islice(reader, _ROWS) if row]
    except csv.Error:
        return []


def _is_table(rows: Sequence[Sequence[str]], *, whole: bool) -> bool:
    """Return whether the first row has several cells, and two thirds of the rows have as many as
    the first.

    Unless the rows are the ``whole`` file, the last row may be cut off, so it is not compared.
    """
    if not rows or len(rows[0]) < 2:
        return False
    compared = rows if whole or len(rows) == 1 else rows[:-1]
    return sum(len(row) == len(rows[0]) for row in compared) * 3 >= len(compared) * 2
