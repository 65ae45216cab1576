"""Read PowerPoint presentations (.pptx): the text of each slide and the notes of the speaker."""

from __future__ import annotations

import posixpath
import zipfile

from ._formats import FileText
from ._word import ElementNames, lines_of
from ._zipped_xml import name_of, properties_of, read_archive, tree_of

_PRESENTATION = "ppt/presentation.xml"
_NOTES = "/notesSlide"
_SLIDE = ElementNames(
    paragraphs=frozenset({"p"}),
    row="tr",
    cell="tc",
    # A field is the number of a slide, or today's date.
    unread=frozenset({"pPr", "rPr", "endParaRPr", "fld", "Fallback"}),
    notes="",
    blanks={"tab": " ", "br": "\n"},
    texts=frozenset({"t"}),
)


def read_pptx(content: bytes) -> FileText | str:
    """Return what a presentation says, slide after slide, or why it cannot be read."""

    def read(archive: zipfile.ZipFile) -> FileText:
        texts = []
        for slide in _slides(archive):
            notes = [name for kind, name in _related(archive, slide).values() if kind == _NOTES]
            texts += [lines_of(tree_of(archive, name), _SLIDE) for name in (slide, *notes)]
        properties = properties_of(archive, "docProps/core.xml")
        return FileText(
            text="\n".join(filter(None, texts)),
            title=properties.get("title", ""),
            date=properties.get("created", "") or properties.get("modified", ""),
        )

    return read_archive(content, "a presentation", read)


def _slides(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the slides in the order in which they are shown."""
    related = _related(archive, _PRESENTATION)
    names = []
    for element in tree_of(archive, _PRESENTATION).iter():
        if name_of(element) != "sldId":
            continue
        # It has an id of its own, and one with a namespace that refers to the slide.
        references = (value for key, value in element.attrib.items() if key.endswith("}id"))
        names += [related[reference][1] for reference in references if reference in related]
    return names


def _related(archive: zipfile.ZipFile, name: str) -> dict[str, tuple[str, str]]:
    """Return the end of the kind and the name of each file that a file refers to, by its id."""
    folder, base = posixpath.split(name)
    relations = f"{folder}/_rels/{base}.rels"
    if relations not in archive.namelist():
        return {}
    related = {}
    for element in tree_of(archive, relations).iter():
        if name_of(element) == "Relationship" and element.get("TargetMode") != "External":
            kind = element.get("Type", "").rpartition("/")
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
            related[element.get("Id", "")] = kind[1] + kind[2], target.removeprefix("/")
    return related
