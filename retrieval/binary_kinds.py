"""The kind of a file that is no text, by its first bytes: archives, office files, pickles, text in UTF-32."""

from __future__ import annotations

import codecs
import re
import warnings
from itertools import islice

UTF32 = "text in UTF-32"
PICKLE = "a pickle"

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
    **{bytes((0x80, version)): PICKLE for version in range(2, 6)},
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]|^\xd0\xcf")
_INSIDE = {
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet (.ods)",
    b"mimetypeapplication/vnd.oasis.opendocument.text": "an OpenDocument text (.odt)",
    b"word/": "a Word document (.docx)",
    b"ppt/": "a presentation (.pptx)",
    b"xl/": "an Excel workbook (.xlsx)",
    b"[Content_Types].xml": "an Excel workbook (.xlsx)",
    "WordDocument".encode("utf-16-le"): "a Word document (.doc)",
}
"""The kinds of office files by what stands near the beginning of the archive, or older container, that they are."""
_ZIP, _CONTAINER = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_OFFICE_ENTRY = re.compile(rb"mimetype|\[Content_Types\]\.xml|(?:_rels|docProps|customXml|word|xl|ppt)/")
_ENTRY_NAME = 30
"""Where the name of its first entry begins in a zip archive."""
_PAIRED = 400
_PLANES = 0x10
"""The highest third byte of a character in UTF-32."""
_PICKLED = b"(c]})"
"""The first bytes of a pickle of protocol 0 or 1 that holds more than a word or a number."""
_FIRST_KEPT = (0, 1)
"""The number of the first object that a pickle keeps: Python 2 may have begun with 1."""
_MOST_STEPS = 100
"""Steps of a pickle within which it keeps its first object."""


def known_binary(start: bytes) -> str:
    """Return what a file that begins with ``start`` is, if it is known to be no text that is read; else ``""``.

    A text may begin with the letters of an archive, as an id does.
    """
    for magic, kind in _KINDS.items():
        if start.startswith(magic) and _CONTROL.search(start):
            return _office_kind(start) or kind
    if start.startswith(rb"{\rtf"):
        return "an RTF document"
    if _is_utf32(start):
        return UTF32
    return PICKLE if _is_old_pickle(start) else ""


def _office_kind(start: bytes) -> str:
    """Return the kind of an office file; an archive that only holds some, in a folder of their own, is none."""
    if start.startswith(_CONTAINER) or (start.startswith(_ZIP) and _OFFICE_ENTRY.match(start, _ENTRY_NAME)):
        return next((kind for sign, kind in _INSIDE.items() if sign in start), "")
    return ""


def _is_utf32(start: bytes) -> bool:
    """Return whether a file is text of four bytes a character, by its mark or because one of each four bytes is 0."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return True
    whole = start[: min(len(start), _PAIRED) // 4 * 4]
    for name, highest, planes in (("utf-32-le", whole[3::4], whole[2::4]), ("utf-32-be", whole[::4], whole[1::4])):
        if len(whole) > 4 and not any(highest) and max(planes) <= _PLANES:
            text = whole.decode(name, "replace")
            return "\ufffd" not in text and all(character >= " " or character.isspace() for character in text)
    return False


def _is_old_pickle(start: bytes) -> bool:
    """Return whether a file is a pickle of protocol 0 or 1, which no magic number tells.

    Such a pickle keeps the first of its objects by a number, and all steps up to there are known in these protocols.
    Nothing of it is run.
    """
    if not start or start[0] not in _PICKLED:
        return False
    import pickletools

    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes in a text that Python does not know
            for opcode, argument, _ in islice(pickletools.genops(start), _MOST_STEPS):
                if opcode.proto > 1:
                    return False
                if opcode.name in ("PUT", "BINPUT"):
                    return argument in _FIRST_KEPT
    except ValueError:
        return False
    return False
