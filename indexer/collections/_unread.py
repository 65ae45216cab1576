"""The files of a folder that a reader does not read: why, and which command reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ...core.files import open_regular
from ...core.records.table_shape import SAVE_TEXT
from ...core.terminal import join_words
from ._formats import ENDINGS as TEXTS
from ._formats import readable_endings
from ._office import NEEDS, PDF, SHEETS, select_readable

PART_OF_PAGE = "part of a saved page"
LOCK = "lock file of an open document"
SAVE_AS_DOCX = "save it as .docx or as a PDF"
OWNER = "~$"
"""The beginning of the name of the file that Excel keeps beside an open workbook."""
_READ_BY = {
    **dict.fromkeys(
        (".html", ".htm", ".xhtml", ".txt", PDF, *TEXTS, ".warc", ".arc", ".warc.zst", ".wacz"),
        "webpages",
    ),
    **dict.fromkeys((".csv", ".tsv", ".json", ".jsonl", ".ndjson", *SHEETS), "snippets"),
    **dict.fromkeys((".rss", ".atom"), "feed"),
    ".jsonld": "claimreview",
}
"""The kind of source that reads most files with an ending."""
_OFFICE = frozenset(f".{ending}" for ending in "doc mobi ppt".split())
"""Endings of files with text that no reader reads, although a user may expect it."""
_TABLES = frozenset({".xls"})
_PACKED = (".zip", ".7z", ".bz2", ".rar", ".tar", ".tgz", ".xz", ".z", ".zst")
_NO_TEXT = frozenset(
    f".{ending}"
    for ending in "avif bmp css eot gif ico jpeg jpg js mov mp3 mp4 ogg png svg tif tiff ttf wav "
    "webm webp woff woff2".split()
)
_MARKS = {
    ".xml": {b"<rss": "feed", b"<feed": "feed", b"<rdf:RDF": "feed", b"<urlset": "sitemap"},
    ".json": {b"ClaimReview": "claimreview", b"jsonfeed.org/version": "feed"},
}
"""What the beginnings of files contain, with the kind of source that reads such a file."""
_LOOKED_AT = 4_096
_NOT_READ = {
    _OFFICE: f"; {SAVE_AS_DOCX}",
    _TABLES: "; save it as .xlsx or CSV",
    _NO_TEXT: "",
}
"""The endings of files that no reader reads, with what to do with them."""
_ENDING = re.compile(r"\.\w{1,10}")
_PAGE = re.compile(r"\.x?html?$", re.I)
_PARTS = re.compile(
    r"[._-](?:archivos|arquivos|bestanden|bylos|dateien|datoteke|dosyalar|elemei|failid|fails|"
    r"fajlovi|fichiers|ficheiros|file|filer|files|fitxategiak|fitxers|pliki|soubory|tiedostot)$",
    re.I,
)
"""What browsers in several languages add to the name of a saved page, for the folder of its
pictures and frames.
"""


def reason_unread(path: Path, kind_of: Callable[[Path], str] = lambda _: "") -> str:
    """Return why a reader does not read a file of a folder, as words that follow a number.

    ``kind_of`` returns the kind of source that reads a table, ``""`` if it does not know.
    """
    ending = _ending(path)
    if not ending:
        return "file without an ending, which is read only if you name it"
    what = f"{ending} file, which"
    if ending in (*SHEETS, PDF, *TEXTS) and not _is_readable(ending):
        return f"{what} {NEEDS}"
    if kind := _kind_inside(path, ending) or kind_of(path) or _READ_BY.get(ending, ""):
        return f"{what} factseek index {kind} reads"
    for endings, remedy in _NOT_READ.items():
        if ending in endings:
            return f"{what} factseek does not read{remedy}"
    if ending.endswith(_PACKED):
        return f"{what} factseek does not read; unpack it"
    return f"{what} is read only if you name it"


def _kind_inside(path: Path, ending: str) -> str:
    """Return the kind of source that reads a file, if its ending may mean several; else ``""``."""
    marks = _MARKS.get(ending)
    if marks is None or path.name.lower().endswith(".gz"):
        return ""
    try:
        with open_regular(path) as file:
            start = file.read(_LOOKED_AT)
    except OSError:
        return ""
    return next((kind for mark, kind in marks.items() if mark in start), "")


def describe_others(paths: Iterable[Path]) -> tuple[str, str]:
    """Return which of the unread files of a folder a user may have meant, and what to do with them;
    ``""`` for both if there are none.
    """
    meant = {*_OFFICE, *_TABLES, *_READ_BY, ".zip"}
    endings = sorted({_ending(path) for path in paths} & meant)
    if not endings:
        return "", ""
    remedies = []
    for kind in sorted({_READ_BY[ending] for ending in endings if ending in _READ_BY}):
        names = [ending for ending in endings if _READ_BY.get(ending) == kind]
        remedies.append(f"read {join_words(names)} files with factseek index {kind}")
    if not remedies:
        remedies.append(f"for each of them, {SAVE_TEXT}")
    what = f"{join_words(endings)} files, which this kind of source does not use"
    return what, "; ".join(remedies)


def is_lock(name: str) -> bool:
    """Return whether a file is what a program keeps beside an open document."""
    return name.startswith(OWNER) or (name.startswith(".~lock.") and name.endswith("#"))


def folders_of_pages(folders: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return the folders that contain the parts of saved pages beside them: ``NAME_files`` is such
    a folder if there is ``NAME.html``.
    """
    pages = {_PAGE.sub("", name) for name in files if _PAGE.search(name)}
    parts = ((folder, _PARTS.search(folder)) for folder in folders)
    return [folder for folder, added in parts if added and folder[: added.start()] in pages]


def _ending(path: Path) -> str:
    """Return the ending of a file in lower case, with what is packed; gzip is read like no
    packing.
    """
    name = path.name.lower().removesuffix(".gz")
    endings = [ending for ending in Path(name).suffixes[-2:] if _ENDING.fullmatch(ending)]
    if len(endings) == 2 and not endings[1].endswith(_PACKED):
        del endings[0]
    return "".join(endings) if endings and name.endswith(endings[-1]) else ""


def _is_readable(ending: str) -> bool:
    return ending in (*readable_endings(), *select_readable(*SHEETS, PDF))
