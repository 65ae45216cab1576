"""The formats of files with one text that are no web pages: documents and presentations of office
programs, e-books, Markdown files, e-mails, and pages saved as one file.

:func:`read_file` reads such a file in a separate process, because a bad file may take all memory or
hours. Nothing that a file refers to is fetched.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, cast

import msgspec

from ._child import MEMORY, SECONDS, BadFileError, ask_child
from ._office import NEEDS

Format = Literal["", "mail", "docx", "odt", "pptx", "epub", "rtf", "markdown"]
"""The format of a file with one text; ``""`` for a page, a plain text or anything else."""
MAIL = (".eml", ".mhtml", ".mht")
MARKDOWN = (".md", ".markdown")
RICH_TEXT = (".rtf",)
ZIPPED = (".docx", ".odt", ".pptx", ".odp", ".epub")
ENDINGS = (*ZIPPED, *RICH_TEXT, *MAIL, *MARKDOWN)
_NAMES: dict[Format, str] = {
    "mail": "an e-mail or a saved page (MHTML)",
    "docx": "a Word document",
    "odt": "an OpenDocument file",
    "pptx": "a presentation",
    "epub": "an e-book",
    "rtf": "a rich-text document",
    "markdown": "a Markdown file",
}
_LIBRARIES: dict[Format, str] = {"markdown": "markdown_it", "rtf": "striprtf"}
_LIBRARY_OF_ENDING = {
    **dict.fromkeys(MARKDOWN, _LIBRARIES["markdown"]),
    **dict.fromkeys(RICH_TEXT, _LIBRARIES["rtf"]),
}
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)\b", re.I)
ZIP = b"PK\x03\x04"
# The names of the files in an archive are in its bytes, so that finding one needs no memory.
_IN_ZIP = re.compile(
    rb"PK\x01\x02.{42}"
    rb"(?:(?P<docx>word/document\d*\.xml)|(?P<pptx>ppt/presentation\.xml)"
    rb"|(?P<epub>META-INF/container\.xml))",
    re.S,
)
_ODT = re.compile(
    rb".{30}mimetype.{0,64}?application/vnd\.oasis\.opendocument\.(?:text|presentation)PK", re.S
)
_RTF = b"{\\rtf"
_LOOKED_AT = 1 << 16
_HEADERS = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:From [^\n]*\n)?(?:[\w-]++[ \t]*+:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)++"
)
"""The lines before the first empty line of an e-mail (RFC 5322, 2.2); a mailbox adds one."""


class FileText(msgspec.Struct, frozen=True):
    """What a file says; an unknown value is ``""``.

    ``markup`` is given instead of ``text`` if the file contains a web page. ``captured`` is the
    moment (ISO 8601) when this page was saved. ``unread`` names the attachments of an e-mail.
    """

    text: str = ""
    markup: str = ""
    title: str = ""
    date: str = ""
    url: str = ""
    captured: str = ""
    sender: str = ""
    unread: tuple[str, ...] = ()


def format_of(name: str, content: bytes) -> Format:
    """Return the format of a file, by its name and its content.

    A file may have the ending of a format, but be a web page.
    """
    if content.startswith(ZIP):
        if _ODT.match(content):
            return "odt"
        found: Format = ""
        for match in _IN_ZIP.finditer(content):
            # The list of the files is at the end, after those of archives inside this one.
            found = cast(Format, match.lastgroup)
        return found
    if content.startswith(_RTF):
        return "rtf"
    name = name.lower().removesuffix(".gz")
    if name.endswith(MARKDOWN):
        return "" if _HTML.match(content) or b"\0" in content[:_LOOKED_AT] else "markdown"
    headers = _HEADERS.match(content[:_LOOKED_AT])
    if headers is None or name.endswith(".txt"):
        return ""
    is_mail = name.endswith(MAIL) or re.search(rb"(?im)^mime-version[ \t]*:", headers[0])
    return "mail" if is_mail else ""


def readable_endings() -> tuple[str, ...]:
    """Return the endings of the files that the installed libraries can read."""
    missing = {ending for ending, name in _LIBRARY_OF_ENDING.items() if not find_spec(name)}
    return tuple(ending for ending in ENDINGS if ending not in missing)


def read_file(path: Path, name: Format, content: bytes) -> FileText:
    """Return what a file of a format says; raise BadFileError if it cannot be read."""
    if name in _LIBRARIES and not find_spec(_LIBRARIES[name]):
        raise BadFileError(path, f"is {_NAMES[name]}, which {NEEDS}")
    damaged = (
        f"is damaged, or {_NAMES[name]} that needs more than {SECONDS} s or {MEMORY >> 30} GB "
        "to read"
    )
    return ask_child(path, "_format_process", name, content=content, kind=FileText, damaged=damaged)
