"""Read the sheets of a workbook, and the text of a PDF, with the libraries of
``factseek[office]``.

Reading a small file may take all memory or hours, because of a far-away cell or a page that expands
to gigabytes. Files are therefore read in a separate process (``python -m
factseek.indexer.collections._office``), which limits memory and time.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from statistics import quantiles

import msgspec

from ._child import MEMORY, SECONDS, BadFileError, ask_child, limit_process
from ._workbook import MOST_BYTES, PROTECTED, list_sheets, read_workbook_sheet

SHEETS = (".xlsx", ".ods")
PDF = ".pdf"
_LIBRARIES = {"sheet": "python_calamine", "sheets": "python_calamine", "pdf": "pypdf"}
NEEDS = "needs more packages; install them with: pip install 'factseek[office]'"
_SHORT_LINE = 0.7
"""A line of a PDF ends a paragraph, or is a heading, if it is shorter than this share of a usual
line.
"""


_DIVIDED = re.compile(r"(\S)([-\u2010\u00ad])\n+(?=(\S))")
_NO_TITLE = re.compile(r"untitled(?:[ -]?\d+)?|microsoft \w+ - .*", re.I)
"""Titles that programs give to a PDF whose author gave none."""


class _Answer(msgspec.Struct):
    title: str
    texts: list[str]


def select_readable(*suffixes: str) -> tuple[str, ...]:
    """Return the ``suffixes`` of files that the installed libraries can read."""
    return tuple(
        suffix for suffix in suffixes if find_spec(_LIBRARIES["pdf" if suffix == PDF else "sheet"])
    )


def read_sheet(path: Path, name: str = "") -> bytes:
    """Return a sheet of a workbook as tab-separated UTF-8 text, one line per row: the one named, or
    the first with content.
    """
    return _sheet(path, name, path.stat().st_mtime_ns, path.stat().st_size).texts[0].encode()


def sheet_notes(path: Path, name: str = "") -> list[str]:
    """Return notes about the other sheets of a workbook, if none was named, and about numbers and
    formulas whose values are lost.
    """
    return _sheet(path, name, path.stat().st_mtime_ns, path.stat().st_size).title.splitlines()


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook that have content."""
    return _read_in_child("sheets", path, "a workbook").texts


@lru_cache(maxsize=1)  # a file is read several times in a row
def _sheet(path: Path, name: str, _changed: int, _size: int) -> _Answer:
    return _read_in_child("sheet", path, "a workbook", name)


def pdf_text(path: Path) -> tuple[str, str, list[int]]:
    """Return the title of a PDF, its text with lines joined into paragraphs, and where each page
    begins in it.
    """
    answer = _read_in_child("pdf", path, "a PDF")
    starts = list(accumulate((len(text) + 1 for text in answer.texts), initial=0))[:-1]
    return answer.title, "\n".join(answer.texts), starts


def _read_in_child(what: str, path: Path, name: str, *arguments: str) -> _Answer:
    if not find_spec(_LIBRARIES[what]):
        raise BadFileError(path, f"is {name}, which {NEEDS}")
    if path.stat().st_size > MOST_BYTES:
        raise BadFileError(path, f"is longer than {MOST_BYTES:,} bytes")
    damaged = f"is damaged, or {name} that needs more than {SECONDS} s or {MEMORY >> 30} GB to read"
    arguments = (what, str(path.resolve()), *arguments)
    return ask_child(path, "_office", *arguments, kind=_Answer, damaged=damaged)


def _read_pdf(path: str) -> _Answer | str:
    import pypdf
    from pypdf.errors import DependencyError, PyPdfError

    try:
        with pypdf.PdfReader(path) as reader:
            if reader.is_encrypted and not reader.decrypt(""):
                return PROTECTED
            title = str((reader.metadata and reader.metadata.title) or "")
            texts = [_paragraphs(page.extract_text()) for page in reader.pages]
    except DependencyError:  # the library that decrypts is not installed
        return PROTECTED
    except (
        PyPdfError,
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        TypeError,
        ValueError,
    ) as error:
        return f"is not a valid PDF ({' '.join(str(error).split())[:200] or type(error).__name__})"
    if not any(texts):
        return "is a PDF without text: its pages are pictures; run OCR on it first"
    return _Answer(_without_placeholder(title), texts)


def _paragraphs(text: str) -> str:
    """Return the text of a page with its lines joined, except after a short line.

    Join hyphenated words of any script.
    """
    text = text.replace("\0", " ").encode("utf-8", "replace").decode()
    lines = [line for row in text.splitlines() if (line := " ".join(row.split()))]
    usual = quantiles(map(len, lines), n=4)[2] if len(lines) > 1 else 0
    joined = "\n".join(f"{line}\n" if len(line) < usual * _SHORT_LINE else line for line in lines)
    joined = _DIVIDED.sub(_join_word, joined)
    return re.sub(r"\n+", lambda ends: "\n" if len(ends[0]) > 1 else " ", joined).strip()


def _join_word(divided: re.Match[str]) -> str:
    """Return the end of a line joined to the next line, if a hyphen divides a word there.

    A capital letter after a small one begins the second part of a compound, such as
    ``Franco-German``, which keeps its hyphen.
    """
    before, hyphen, after = divided[1], divided[2], divided[3]
    if not (_is_letter(before) and _is_letter(after)):
        return divided[0]
    is_compound = after.isupper() and before.islower() and hyphen != "\u00ad"
    return f"{before}{hyphen if is_compound else ''}"


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter, or a vowel sign or an accent of one."""
    return unicodedata.category(character)[0] in "LM"


def _without_placeholder(title: str) -> str:
    """Return the title of a PDF, ``""`` if it is only what a program writes instead of one."""
    title = " ".join(title.replace("\0", " ").split())
    return "" if _NO_TITLE.fullmatch(title) else title


def main() -> None:
    """Read the file that the arguments name, and write the answer to standard output."""
    limit_process()
    what, path, *name = sys.argv[1:]
    match what:
        case "pdf":
            answer: _Answer | str = _read_pdf(path)
        case "sheets":
            names = list_sheets(path)
            answer = names if isinstance(names, str) else _Answer("", names)
        case _:
            sheet = read_workbook_sheet(path, *name)
            answer = sheet if isinstance(sheet, str) else _Answer(sheet.notes, [sheet.text])
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
