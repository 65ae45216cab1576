"""Word documents and OpenDocument texts, read as web pages."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, webpages

CORE = (
    "<cp:coreProperties xmlns:cp='http://schemas.openxmlformats.org/package/2006/metadata/"
    "core-properties' xmlns:dc='http://purl.org/dc/elements/1.1/' "
    "xmlns:dcterms='http://purl.org/dc/terms/'><dc:title>Old  pipes</dc:title>"
    "<dcterms:created>2020-03-03T10:00:00Z</dcterms:created>"
    "<dcterms:modified>2021-01-01T10:00:00Z</dcterms:modified></cp:coreProperties>"
)
META = (
    "<office:document-meta xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' "
    "xmlns:dc='http://purl.org/dc/elements/1.1/' "
    "xmlns:meta='urn:oasis:names:tc:opendocument:xmlns:meta:1.0'><office:meta>"
    "<dc:title>Old pipes</dc:title><dc:date>2021-01-01T10:00:00</dc:date>"
    "<meta:creation-date>2020-03-03T10:00:00</meta:creation-date></office:meta>"
    "</office:document-meta>"
)
ODT = "application/vnd.oasis.opendocument.text"


def packed(parts: dict[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            # The type of an OpenDocument file is not compressed (ODF 1.3, part 2, 3.3).
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, text, kind)
    return content.getvalue()


def docx(body: str, *, first: bytes = b"", text: str = "word/document.xml", **more: str) -> bytes:
    names = (
        "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main' "
        "xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'"
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "docProps/thumbnail.jpeg": first,
        text: f"<w:document {names}><w:body>{body}</w:body></w:document>",
        "docProps/core.xml": CORE,
    }
    for name, notes in more.items():
        parts[f"word/{name}.xml"] = f"<w:{name} {names}>{notes}</w:{name}>"
    return packed(parts)


def odt(body: str, manifest: str = "<m/>") -> bytes:
    names = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'"
        for name in ("office", "text", "table")
    )
    return packed(
        {
            "mimetype": ODT,
            "META-INF/manifest.xml": manifest,
            "meta.xml": META,
            "content.xml": f"<office:document-content {names}><office:body><office:text>{body}"
            "</office:text></office:body></office:document-content>",
        }
    )


def read(path: Path, content: bytes) -> list[Record]:
    path.write_bytes(content)
    return list(webpages.read([path], ReadOptions()))


def run(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_the_text_of_a_word_document_is_read_in_lines(tmp_path: Path) -> None:
    body = (
        "<w:p><w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr>"
        f"{run('The lea')}<!-- a --><w:ins>{run('d pipes are')}</w:ins><w:r><w:tab/></w:r>"
        f"{run('gone.')}<w:del><w:r><w:delText>not</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run('moved')}</w:moveFrom><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        f"<w:p>{run('They')}<w:r><w:br/></w:r>{run('cost two')}"
        f"<w:r><w:noBreakHyphen/></w:r>{run('fifths.')}</w:p>"
        f"<w:tbl><w:tr><w:tc><w:p>{run('Lead')}</w:p><w:p>{run('old')}</w:p></w:tc>"
        f"<w:tc><w:p>{run('2 t')}</w:p></w:tc></w:tr><w:tr><w:tc><w:p>{run('Zinc')}</w:p></w:tc>"
        "<w:tc><w:p/></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>"
        f"<w:p>{run('A box.')}</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>"
        f"<w:p>{run('A box.')}</w:p></w:txbxContent></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
    )
    notes = f"<w:footnote><w:p>{run('The council said so.')}</w:p></w:footnote>"
    ((document, *_),) = read(tmp_path / "memo.docx", docx(body, footnotes=notes))
    assert document.text.splitlines() == [
        "The lead pipes are gone.",
        "They",
        "cost two\u2011fifths.",
        "Lead old | 2 t",
        "Zinc |",
        "A box.",
        "The council said so.",
    ]
    assert (document.docid, document.title, document.date) == ("memo", "Old pipes", "2020-03-03")


@pytest.mark.parametrize("name", ["memo.docx", "memo.html", "memo.docx.gz"])
def test_a_word_document_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    picture = bytes(range(256)) * 300  # the text comes late in the file
    content = docx(f"<w:p>{run('The pipes.')}</w:p>", first=picture, text="word/document2.xml")
    content = gzip.compress(content) if name.endswith(".gz") else content
    ((document, *_),) = read(tmp_path / name, content)
    assert (document.docid, document.text) == ("memo", "The pipes.")


def test_the_text_of_an_opendocument_text_is_read_in_lines(tmp_path: Path) -> None:
    body = (
        "<text:tracked-changes><text:deletion><text:p>deleted</text:p></text:deletion>"
        "</text:tracked-changes>\n<text:h>Pipes</text:h>\n"
        "<text:p>The <text:span>lead</text:span> pipes\n   are<text:s text:c='2'/>gone<text:note>"
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>The council said so."
        "</text:p></text:note-body></text:note>.<office:annotation><text:p>Really?</text:p>"
        "</office:annotation> They<text:tab/>cost<text:line-break/>two.</text:p>"
        "<table:table><table:table-row><table:table-cell><text:p>Lead</text:p></table:table-cell>"
        "<table:table-cell><text:p>2 t</text:p></table:table-cell></table:table-row></table:table>"
    )
    ((document, *_),) = read(tmp_path / "memo.odt", odt(body))
    assert document.text.splitlines() == [
        "Pipes",
        "The lead pipes are gone. They cost",
        "two.",
        "Lead | 2 t",
        "The council said so.",
    ]
    assert (document.docid, document.title, document.date) == ("memo", "Old pipes", "2020-03-03")


ENTITIES = (
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/hostname'><!ENTITY a 'aaaaaaaaaa'>"
    "<!ENTITY b '&a;&a;&a;&a;'>]>"
)
BAD = {
    "cut.docx": (docx("<w:p/>")[:-30], "is not a Word document that can be read ("),
    "xml.docx": (docx("<w:p>"), "is not a Word document that can be read ("),
    "secret.odt": (odt("", "<m><encryption-data/></m>"), "is protected by a password"),
    "bomb.docx": (
        docx(f"<w:p>{' ' * 110_000_000}</w:p>"),
        "(word/document.xml is longer than 100,000,000 bytes); save it again",
    ),
    "presentation.zip": (packed({"a.txt": "a"}), "is a ZIP archive, which factseek does not read"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_document_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    with pytest.raises(SourceError) as caught:
        read(tmp_path / name, content)
    assert str(caught.value).startswith(f"{tmp_path / name}: is ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    content = packed(
        {
            "word/document.xml": f"{ENTITIES}<d xmlns:w='w'><w:p><w:t>Safe &e;&b;</w:t></w:p></d>",
        }
    )
    ((document, *_),) = read(tmp_path / "memo.docx", content)
    assert document.text == "Safe"
