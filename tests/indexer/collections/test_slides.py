"""Presentations, read as web pages."""

import io
import zipfile
from pathlib import Path

from factseek.indexer.collections import ReadOptions, Record, webpages

NAMES = (
    "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main' "
    "xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' "
    "xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'"
)
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CORE = (
    "<core xmlns:dc='dc' xmlns:t='t'><dc:title>Old pipes</dc:title>"
    "<t:created>2020-03-03T10:00:00Z</t:created></core>"
)


def packed(parts: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def slide(*paragraphs: str) -> str:
    texts = "".join(f"<a:p><a:pPr/><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    return f"<p:sld {NAMES}><p:sp><p:txBody>{texts}</p:txBody></p:sp></p:sld>"


def relations(**targets: str) -> str:
    each = (
        f"<Relationship Id='{key}' Type='{KIND}/{target.partition(':')[0]}' "
        f"Target='{target.partition(':')[2]}'/>"
        for key, target in targets.items()
    )
    return f"<Relationships>{''.join(each)}</Relationships>"


def read(path: Path, content: bytes) -> list[Record]:
    path.write_bytes(content)
    return list(webpages.read([path], ReadOptions()))


def test_slides_are_read_in_their_order_with_notes(tmp_path: Path) -> None:
    table = (
        "<a:tbl><a:tr><a:tc><a:p><a:t>Lead</a:t></a:p></a:tc><a:tc><a:p><a:t>2 t</a:t></a:p>"
        "</a:tc></a:tr></a:tbl><a:p><a:fld type='slidenum'><a:t>7</a:t></a:fld></a:p>"
    )
    content = packed(
        {
            "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>"
            "<p:sldId id='256' r:id='r2'/><p:sldId id='257' r:id='r1'/></p:sldIdLst>"
            "</p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(
                r1="slide:slides/slide1.xml", r2="slide:/ppt/slides/slide2.xml"
            ),
            "ppt/slides/slide1.xml": slide("They are gone."),
            "ppt/slides/slide2.xml": f"<p:sld {NAMES}>{slide('Lead pipes', 'cost two.')}"
            f"<p:graphicFrame>{table}</p:graphicFrame></p:sld>",
            "ppt/slides/_rels/slide2.xml.rels": relations(
                n="notesSlide:../notesSlides/notesSlide1.xml", i="image:../media/a.png"
            ),
            "ppt/notesSlides/notesSlide1.xml": slide("The council said so."),
            "docProps/core.xml": CORE,
        }
    )
    ((document, *_),) = read(tmp_path / "talk.pptx", content)
    assert document.text.splitlines() == [
        "Lead pipes",
        "cost two.",
        "Lead | 2 t",
        "The council said so.",
        "They are gone.",
    ]
    assert (document.docid, document.title, document.date) == ("talk", "Old pipes", "2020-03-03")


def test_an_archive_inside_a_presentation_does_not_decide_its_format(tmp_path: Path) -> None:
    inside = packed({"word/document.xml": "<d/>"})
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("ppt/embeddings/a.docx", inside)
        archive.writestr("ppt/presentation.xml", f"<p:p {NAMES}><p:sldId r:id='r1'/></p:p>")
        archive.writestr("ppt/_rels/presentation.xml.rels", relations(r1="slide:slides/s.xml"))
        archive.writestr("ppt/slides/s.xml", slide("Lead pipes."))
    ((document, *_),) = read(tmp_path / "talk.pptx", content.getvalue())
    assert document.text == "Lead pipes."


def test_a_presentation_of_opendocument_is_read(tmp_path: Path) -> None:
    names = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'"
        for name in ("office", "text", "drawing")
    )
    content = packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.presentation",
            "content.xml": f"<office:d {names}><drawing:page><text:p>Lead pipes.</text:p>"
            "</drawing:page></office:d>",
        }
    )
    ((document, *_),) = read(tmp_path / "talk.odp", content)
    assert (document.docid, document.text) == ("talk", "Lead pipes.")
