"""Read rich-text documents (.rtf): the text, the title and the date of the file's own fields."""

from __future__ import annotations

import codecs
import re

from ._formats import FileText
from ._plain_html import joined_lines

_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
_INFO = re.compile(r"\{\\info\b")
_LONGEST_INFO = 20_000
_TITLE = re.compile(r"\{\\title(?![a-z])((?:[^{}\\]|\\.|\{[^{}]*\})*)\}", re.S)
_CREATED = re.compile(
    r"\{\\creatim(?:\\yr(?P<year>\d{4})|\\mo(?P<month>\d{1,2})|\\dy(?P<day>\d{1,2})|\\\w+)*"
)


def read_rtf(content: bytes) -> FileText | str:
    """Return what a rich-text document says, or why it cannot be read."""
    source = _decoded(content)
    try:
        return FileText(text=_plain(source), title=_title(source), date=_created(source))
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return f"is not a rich-text document that can be read ({reason}); save it again"


def _decoded(content: bytes) -> str:
    """Return the characters of a file, which should be ASCII; some programs write others too."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        page = _CODE_PAGE.search(content)
        encoding = f"cp{page[1].decode()}" if page else "cp1252"
        try:
            codecs.lookup(encoding)
        except LookupError:
            encoding = "cp1252"
        return content.decode(encoding, "replace")


def _plain(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    # A character beyond the first 65,536 is written as two halves.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined_lines(whole.replace("\0", " ").replace("\xad", ""))


def _title(source: str) -> str:
    """Return the title in the information about the document."""
    title = _TITLE.search(_info(source))
    head = source[: source.find("{", 1)] if source.count("{") > 1 else ""
    # The code page is in the head of the file.
    return " ".join(_plain(f"{head}{title[1]}}}").split()) if title else ""


def _created(source: str) -> str:
    """Return the day when the document was created."""
    created = _CREATED.search(_info(source))
    if not created or not created["year"]:
        return ""
    year, month, day = (int(created[part] or 0) for part in ("year", "month", "day"))
    if not (month and day):
        return f"{year:04}"
    return f"{year:04}-{month:02}-{day:02}"


def _info(source: str) -> str:
    start = _INFO.search(source)
    return source[start.start() : start.start() + _LONGEST_INFO] if start else ""
