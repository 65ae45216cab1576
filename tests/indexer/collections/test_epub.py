"""E-books, read as web pages."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, _epub, webpages

CONTAINER = "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
NAMES = "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:opf='http://www.idpf.org/2007/opf'"
CHAPTER = "media-type='application/xhtml+xml'"


def book(files: Mapping[str, str], items: Sequence[str], metadata: str = "") -> bytes:
    """Return an e-book with files; each item has the attributes of a chapter."""
    manifest = "".join(
        f"<item id='i{number}' {CHAPTER} {item}/>" for number, item in enumerate(items)
    )
    spine = "".join(f"<itemref idref='i{number}'/>" for number in range(len(items)))
    package = (
        f"<package {NAMES}><metadata>{metadata}</metadata>"
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )
    parts = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package, **files}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def read(path: Path, content: bytes) -> list[Record]:
    path.write_bytes(content)
    return list(webpages.read([path], ReadOptions()))


def test_the_chapters_of_an_e_book_are_read_in_their_order(tmp_path: Path) -> None:
    first = "<html><body><p>Lead&#160;pipes &amp; zinc&nbsp;cost.<br/>In 1950.</p></body></html>"
    second = (
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/>"
        "<script src='a.js'/></head><body><h1>Pipes</h1><p><a id='x'/>They are <b>gone</b>.</p>"
        "</body></html>"
    )
    content = book(
        {
            "OEBPS/a/second.xhtml": second,
            "OEBPS/first one.xhtml": first,
            "OEBPS/nav.xhtml": "<p>Contents</p>",
            "OEBPS/unused.xhtml": "<p>Not in the spine</p>",
        },
        ["href='nav.xhtml' properties='nav'", "href='first%20one.xhtml'", "href='a/second.xhtml'"],
        "<dc:title> Old  pipes </dc:title><dc:date opf:event='modification'>2021-01-01</dc:date>"
        "<dc:date opf:event='publication'>2020-03-03</dc:date>",
    )
    ((document, *_),) = read(tmp_path / "book.zip", content)
    assert document.text.splitlines() == [
        "Lead pipes & zinc cost.",
        "In 1950.",
        "Pipes",
        "They are gone.",
    ]
    assert (document.title, document.date) == ("Old pipes", "2020-03-03")


ENCRYPTED = "<encryption><CipherReference URI='OEBPS/{}'/></encryption>"


def test_an_e_book_whose_fonts_alone_are_encrypted_is_read(tmp_path: Path) -> None:
    files = {"OEBPS/a.xhtml": "<p>Lead.</p>", "META-INF/encryption.xml": ENCRYPTED.format("a.otf")}
    ((document, *_),) = read(tmp_path / "book.epub", book(files, ["href='a.xhtml'"]))
    assert (document.docid, document.text) == ("book", "Lead.")


BAD = {
    "protected": (
        {"OEBPS/a.xhtml": "<p>Lead.</p>", "META-INF/encryption.xml": ENCRYPTED.format("a.xhtml")},
        _epub.COPY_PROTECTED,
    ),
    "without": (
        {},
        "is not an e-book that can be read (\"There is no item named 'OEBPS/a.xhtml' in the "
        'archive"); save it again',
    ),
    "bomb": (
        {"OEBPS/a.xhtml": " " * 60_000_000, "OEBPS/b.xhtml": " " * 60_000_000},
        "is not an e-book that can be read (its chapters are longer than 100,000,000 bytes); "
        "save it again",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_an_e_book_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    files, message = BAD[name]
    content = book(files, ["href='a.xhtml'", "href='b.xhtml'"][: max(1, len(files))])
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "book.epub", content)
    assert caught.value.what == message
