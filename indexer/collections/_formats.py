"""The formats of files with one text that are no web pages: Word documents, OpenDocument texts,
Markdown files, e-mails, and pages saved as one file.

:func:`read_file` reads such a file in a separate process, because a bad file may take all memory or
hours. Nothing that a file refers to is fetched.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from ._child import MEMORY, SECONDS, BadFileError, ask_child
from ._office import NEEDS

Format = Literal["", "mail", "docx", "odt", "markdown"]
"""The format of a file with one text; ``""`` for a page, a plain text or anything else."""
MAIL = (".eml", ".mhtml", ".mht")
MARKDOWN = (".md", ".markdown")
ENDINGS = (".docx", ".odt", *MAIL, *MARKDOWN)
_NAMES: dict[Format, str] = {
    "mail": "an e-mail or a saved page (MHTML)",
    "docx": "a Word document",
    "odt": "an OpenDocument text",
    "markdown": "a Markdown file",
}
_MARKDOWN_LIBRARY = "markdown_it"
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)\b", re.I)
ZIP = b"PK\x03\x04"
# The names of the files in an archive are in its bytes, so that finding one needs no memory.
_DOCX = re.compile(rb"PK\x01\x02.{42}word/document\d*\.xml", re.S)
_ODT = re.compile(rb".{30}mimetype.{0,64}?application/vnd\.oasis\.opendocument\.textPK", re.S)
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
        return "odt" if _ODT.match(content) else "docx" if _DOCX.search(content) else ""
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
    if find_spec(_MARKDOWN_LIBRARY):
        return ENDINGS
    return tuple(ending for ending in ENDINGS if ending not in MARKDOWN)


def read_file(path: Path, name: Format, content: bytes) -> FileText:
    """Return what a file of a format says; raise BadFileError if it cannot be read."""
    if name == "markdown" and not find_spec(_MARKDOWN_LIBRARY):
        raise BadFileError(path, f"is {_NAMES[name]}, which {NEEDS}")
    damaged = (
        f"is damaged, or {_NAMES[name]} that needs more than {SECONDS} s or {MEMORY >> 30} GB "
        "to read"
    )
    return ask_child(path, "_format_process", name, content=content, kind=FileText, damaged=damaged)
