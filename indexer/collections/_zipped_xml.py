"""ZIP archives with XML files, as office programs and makers of e-books write them.

Nothing that a file refers to is opened, and entities are not expanded.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from ._formats import FileText
from ._workbook import MOST_BYTES


def read_archive(
    content: bytes, what: str, read: Callable[[zipfile.ZipFile], FileText | str]
) -> FileText | str:
    """Return what ``read`` returns for an archive, or why it cannot be read.

    ``what`` names what the archive should be.
    """
    from lxml import etree  # type: ignore[import-untyped]

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return read(archive)
    except (
        zipfile.BadZipFile,
        zlib.error,
        etree.LxmlError,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return f"is not {what} that can be read ({reason}); save it again"


def content_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; raise ValueError if it is longer than factseek reads."""
    with archive.open(name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name} is longer than {MOST_BYTES:,} bytes")
    return content


def tree_of(archive: zipfile.ZipFile, name: str) -> Any:
    """Return the root of an XML file of an archive; its entities stay as they are."""
    from lxml import etree

    # A comment would split the text around it.
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(content_of(archive, name), parser)


def properties_of(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the texts in the file that describes a document, by the names of their elements."""
    if name not in archive.namelist():
        return {}
    texts: dict[str, str] = {}
    for element in tree_of(archive, name).iter():
        text = " ".join((element.text or "").split())
        if text:
            texts.setdefault(name_of(element), text)
    return texts


def name_of(element: Any) -> str:
    """Return the name of an element without its namespace, ``""`` for a comment or an entity."""
    tag = element.tag
    return re.sub(r"^\{[^}]*\}", "", tag) if isinstance(tag, str) else ""
