"""Read e-books (EPUB 2 and 3): ZIP archives with XHTML chapters, and with a package file that gives
their order, the title and the date.

Source: EPUB 3.3, 4 (containers) and 5 (packages).
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ._formats import FileText
from ._pages import decode
from ._plain_html import text_of_html
from ._workbook import MOST_BYTES
from ._zipped_xml import content_of, name_of, read_archive, tree_of

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
COPY_PROTECTED = "is an e-book with copy protection; factseek reads only e-books without it"
_CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_EMPTY_ELEMENTS = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
"""Elements of HTML without content. HTML ignores that any other element closes itself."""


def read_epub(content: bytes) -> FileText | str:
    """Return what an e-book says, chapter after chapter, or why it cannot be read."""

    def read(archive: zipfile.ZipFile) -> FileText | str:
        package_name = _package_name(archive)
        package = tree_of(archive, package_name)
        chapters = list(_chapters(package, posixpath.dirname(package_name)))
        if not _encrypted(archive).isdisjoint(chapters):
            return COPY_PROTECTED
        if sum(archive.getinfo(name).file_size for name in chapters) > MOST_BYTES:
            raise ValueError(f"its chapters are longer than {MOST_BYTES:,} bytes")
        markups = (decode(content_of(archive, name)) for name in chapters)
        texts = [text_of_html(_SELF_CLOSED.sub(_close, markup)) for markup in markups]
        return FileText(
            text="\n".join(filter(None, texts)),
            title=next(_values(package, "title"), ""),
            date=_date(package),
        )

    return read_archive(content, "an e-book", read)


def _package_name(archive: zipfile.ZipFile) -> str:
    """Return the name of the package file, which the container names."""
    for element in tree_of(archive, _CONTAINER).iter():
        if name_of(element) == "rootfile" and (name := element.get("full-path")):
            return str(name)
    raise ValueError("its container names no package")


def _chapters(package: Any, folder: str) -> Iterator[str]:
    """Yield the names of the chapters in the order of reading, without the table of contents."""
    items = {
        item.get("id"): item
        for item in package.iter()
        if name_of(item) == "item" and item.get("media-type") in _CHAPTERS
    }
    for reference in package.iter():
        item = items.get(reference.get("idref")) if name_of(reference) == "itemref" else None
        if item is None or "nav" in item.get("properties", "").split():
            continue
        yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of the encrypted files; shops encrypt chapters, and many tools only
    fonts.
    """
    if _ENCRYPTION not in archive.namelist():
        return set()
    references = tree_of(archive, _ENCRYPTION).iter()
    return {
        unquote(element.get("URI", ""))
        for element in references
        if name_of(element) == "CipherReference"
    }


def _date(package: Any) -> str:
    """Return the date of publication; EPUB 2 says of each date what happened then."""
    published = _values(package, "date", event="publication")
    return next(published, "") or next(_values(package, "date"), "")


def _values(package: Any, name: str, **attributes: str) -> Iterator[str]:
    """Yield the texts of the elements with a name, and with these attributes in any namespace."""
    for element in package.iter():
        if name_of(element) != name:
            continue
        given = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        text = " ".join((element.text or "").split())
        if text and attributes.items() <= given.items():
            yield text


def _close(tag: re.Match[str]) -> str:
    """Return a tag that closes itself as HTML writes it."""
    name, attributes = tag[1], tag[2]
    if name.lower() in _EMPTY_ELEMENTS:
        return tag[0]
    return f"<{name}{attributes}></{name}>"
