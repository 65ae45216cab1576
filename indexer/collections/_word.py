"""Read Word documents (.docx) and OpenDocument texts (.odt): ZIP archives with XML files.

Macros, pictures and links in them are ignored, and entities are not expanded.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._formats import FileText
from ._plain_html import joined_lines
from ._workbook import MOST_BYTES, PROTECTED

_OTHER_WORD_TEXTS = ("word/footnotes.xml", "word/endnotes.xml")
_WORD_TEXT = re.compile(r"word/document\d*\.xml")
"""The name of the text in the archive of a Word document; some programs number it."""
_ENCRYPTED = b"encryption-data"


@dataclass(frozen=True)
class _Names:
    """The names of the elements of a format, without their namespaces.

    The text of ``notes`` comes after the text that refers to them. ``unread`` elements contain no
    text of the document: settings, instructions of fields, comments, deleted text, a second form of
    a drawing.
    """

    paragraphs: frozenset[str]
    row: str
    cell: str
    unread: frozenset[str]
    notes: str
    blanks: Mapping[str, str]
    texts: frozenset[str] | None
    """The elements that contain text; ``None`` means all in a paragraph."""


_DOCX = _Names(
    paragraphs=frozenset({"p"}),
    row="tr",
    cell="tc",
    unread=frozenset("pPr rPr sectPr instrText delText delInstrText moveFrom Fallback".split()),
    notes="",
    blanks={"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"},
    texts=frozenset({"t"}),
)
_ODT = _Names(
    paragraphs=frozenset({"p", "h"}),
    row="table-row",
    cell="table-cell",
    unread=frozenset("annotation tracked-changes title desc note-citation ruby-text".split()),
    notes="note",
    blanks={"s": " ", "tab": " ", "line-break": "\n"},
    texts=None,
)


def read_docx(content: bytes) -> FileText | str:
    """Return what a Word document says, or why it cannot be read."""

    def read(archive: zipfile.ZipFile) -> FileText:
        names = archive.namelist()
        texts_of_word = [name for name in names if _WORD_TEXT.fullmatch(name)]
        if not texts_of_word:
            raise ValueError("it contains no text")
        others = [name for name in _OTHER_WORD_TEXTS if name in names]
        texts = [_text(_tree(archive, name), _DOCX) for name in (texts_of_word[0], *others)]
        properties = _properties(archive, "docProps/core.xml")
        return FileText(
            text="\n".join(filter(None, texts)),
            title=properties.get("title", ""),
            date=properties.get("created", "") or properties.get("modified", ""),
        )

    return _read(content, "a Word document", read)


def read_odt(content: bytes) -> FileText | str:
    """Return what an OpenDocument text says, or why it cannot be read."""

    def read(archive: zipfile.ZipFile) -> FileText | str:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and _ENCRYPTED in _content(archive, manifest):
            return PROTECTED
        properties = _properties(archive, "meta.xml")
        return FileText(
            text=_text(_tree(archive, "content.xml"), _ODT),
            title=properties.get("title", ""),
            date=properties.get("creation-date", "") or properties.get("date", ""),
        )

    return _read(content, "an OpenDocument text", read)


def _read(
    content: bytes, what: str, read: Callable[[zipfile.ZipFile], FileText | str]
) -> FileText | str:
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


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; raise ValueError if it is longer than factseek reads."""
    with archive.open(name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name} is longer than {MOST_BYTES:,} bytes")
    return content


def _tree(archive: zipfile.ZipFile, name: str) -> Any:
    from lxml import etree

    # A comment would split the text around it.
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(_content(archive, name), parser)


def _properties(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the texts in the file that describes a document, by the names of their elements."""
    if name not in archive.namelist():
        return {}
    texts: dict[str, str] = {}
    for element in _tree(archive, name).iter():
        text = " ".join((element.text or "").split())
        if text:
            texts.setdefault(_name(element), text)
    return texts


def _name(element: Any) -> str:
    """Return the name of an element without its namespace, ``""`` for a comment or an entity."""
    tag = element.tag
    return re.sub(r"^\{[^}]*\}", "", tag) if isinstance(tag, str) else ""


def _text(root: Any, names: _Names) -> str:
    """Return the text of a document: a line for each paragraph and for each row of a table."""
    from lxml import etree

    text = _Text(names)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            text.end(element)
        elif _name(element) in names.unread:
            walk.skip_subtree()
        elif element is not root and names.notes and _name(element) == names.notes:
            walk.skip_subtree()
            text.notes.append(_text(element, names))
        else:
            text.start(element)
    return joined_lines("\n".join(["".join(text.pieces), *text.notes]))


class _Text:
    """The text of the elements that have started and ended so far."""

    def __init__(self, names: _Names) -> None:
        self.pieces: list[str] = []
        self.notes: list[str] = []
        self._names = names
        self._paragraphs = self._cells = 0

    def start(self, element: Any) -> None:
        """Add what comes before an element, and its own text."""
        names, name = self._names, _name(element)
        if name in names.paragraphs:
            self._paragraphs += 1
            self._end_line()
        elif name == names.cell:
            self._cells += 1
        self.pieces.append(names.blanks.get(name, ""))
        if names.texts is None or name in names.texts:
            self._add(element.text)

    def end(self, element: Any) -> None:
        """Add what comes after an element."""
        names, name = self._names, _name(element)
        if name in names.paragraphs:
            self._paragraphs -= 1
            self._end_line()
        elif name == names.cell:
            self._cells -= 1
            self.pieces.append(" | " if element.getnext() is not None else "")
        elif name == names.row:
            self._end_line()
        if names.texts is None:
            self._add(element.tail)

    def _end_line(self) -> None:
        # All paragraphs in the cells of a row are on the line of the row.
        self.pieces.append(" " if self._cells else "\n")

    def _add(self, text: str | None) -> None:
        if self._paragraphs:  # elsewhere, white space only indents the elements
            self.pieces.append(re.sub(r"\s", " ", text or ""))
