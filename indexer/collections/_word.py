"""Read Word documents (.docx), OpenDocument texts (.odt) and OpenDocument presentations (.odp): ZIP
archives with XML files.

Macros, pictures and links in them are ignored, and entities are not expanded.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._formats import FileText
from ._plain_html import joined_lines
from ._workbook import PROTECTED
from ._zipped_xml import content_of, name_of, properties_of, read_archive, tree_of

_OTHER_WORD_TEXTS = ("word/footnotes.xml", "word/endnotes.xml")
_WORD_TEXT = re.compile(r"word/document\d*\.xml")
"""The name of the text in the archive of a Word document; some programs number it."""
_ENCRYPTED = b"encryption-data"


@dataclass(frozen=True)
class ElementNames:
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


_DOCX = ElementNames(
    paragraphs=frozenset({"p"}),
    row="tr",
    cell="tc",
    unread=frozenset("pPr rPr sectPr instrText delText delInstrText moveFrom Fallback".split()),
    notes="",
    blanks={"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"},
    texts=frozenset({"t"}),
)
_ODT = ElementNames(
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
        texts = [lines_of(tree_of(archive, name), _DOCX) for name in (texts_of_word[0], *others)]
        properties = properties_of(archive, "docProps/core.xml")
        return FileText(
            text="\n".join(filter(None, texts)),
            title=properties.get("title", ""),
            date=properties.get("created", "") or properties.get("modified", ""),
        )

    return read_archive(content, "a Word document", read)


def read_odt(content: bytes) -> FileText | str:
    """Return what an OpenDocument text or presentation says, or why it cannot be read."""

    def read(archive: zipfile.ZipFile) -> FileText | str:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and _ENCRYPTED in content_of(archive, manifest):
            return PROTECTED
        properties = properties_of(archive, "meta.xml")
        return FileText(
            text=lines_of(tree_of(archive, "content.xml"), _ODT),
            title=properties.get("title", ""),
            date=properties.get("creation-date", "") or properties.get("date", ""),
        )

    return read_archive(content, "an OpenDocument file", read)


def lines_of(root: Any, names: ElementNames) -> str:
    """Return the text of a document: a line for each paragraph and for each row of a table."""
    from lxml import etree  # type: ignore[import-untyped]

    text = _Text(names)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            text.end(element)
        elif name_of(element) in names.unread:
            walk.skip_subtree()
        elif element is not root and names.notes and name_of(element) == names.notes:
            walk.skip_subtree()
            text.notes.append(lines_of(element, names))
        else:
            text.start(element)
    return joined_lines("\n".join(["".join(text.pieces), *text.notes]))


class _Text:
    """The text of the elements that have started and ended so far."""

    def __init__(self, names: ElementNames) -> None:
        self.pieces: list[str] = []
        self.notes: list[str] = []
        self._names = names
        self._paragraphs = self._cells = 0

    def start(self, element: Any) -> None:
        """Add what comes before an element, and its own text."""
        names, name = self._names, name_of(element)
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
        names, name = self._names, name_of(element)
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
