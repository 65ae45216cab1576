"""Workbooks and PDFs: their rows are those of a table, their passages say on which page they
begin.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pypdf
import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

import factseek
from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, _office, reader

SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"


def xlsx(*sheets: Sequence[Sequence[str]], at: str = "") -> bytes:
    parts = {
        "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
        "_rels/.rels": "<Relationships "
        "xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
        "<Relationship Id='r0' Target='xl/workbook.xml' "
        "Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'/></Relationships>",
        "xl/workbook.xml": "<workbook "
        "xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main' "
        "xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets>"
        + "".join(
            f"<sheet name='S{n}' sheetId='{n}' r:id='r{n}'/>" for n in range(1, len(sheets) + 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships "
        "xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
        + "".join(
            f"<Relationship Id='r{n}' Target='worksheets/s{n}.xml' "
            "Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet'/>"
            for n in range(1, len(sheets) + 1)
        )
        + "</Relationships>",
    }
    for number, rows in enumerate(sheets, 1):
        far = (
            f"<row><c r='{at}' t='inlineStr'><is><t>x</t></is></c></row>"
            if at and number == 1
            else ""
        )
        written = "".join(
            "<row>"
            + "".join(f"<c t='inlineStr'><is><t>{cell}</t></is></c>" for cell in row)
            + "</row>"
            for row in rows
        )
        parts[f"xl/worksheets/s{number}.xml"] = (
            "<worksheet "
            "xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>"
            f"{written}{far}</sheetData></worksheet>"
        )
    return packed(parts)


def ods(rows: Sequence[Sequence[str]]) -> bytes:
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell office:value-type='string'><text:p>{c}</text:p></table:table-cell>"
            for c in row
        )
        + "</table:table-row>"
        for row in rows
    )
    names = " ".join(
        f"xmlns:{n}='urn:oasis:names:tc:opendocument:xmlns:{n}:1.0'"
        for n in ("office", "table", "text")
    )
    return packed(
        {
            "mimetype": SPREADSHEET,
            "META-INF/manifest.xml": (
                "<m:manifest xmlns:m='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'/>"
            ),
            "content.xml": f"<office:document-content {names}><office:body><office:spreadsheet>"
            f"<table:table table:name='S'>{cells}</table:table></office:spreadsheet></office:body>"
            "</office:document-content>",
        }
    )


def packed(parts: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def pdf(path: Path, *pages: str, password: str = "", title: str = "A report") -> Path:
    with (
        mpl.rc_context({"pdf.fonttype": 42}),
        PdfPages(path, metadata={"Title": title}) as written,
    ):
        for text in pages:
            figure = Figure()
            figure.text(0.1, 0.9, text, va="top")
            written.savefig(figure)
    if password:
        writer = pypdf.PdfWriter(path)
        writer.encrypt(password, algorithm="RC4-128")
        writer.write(path)
    return path


def read(kind: str, path: Path, **columns: str) -> tuple[list[Record], list[str]]:
    options = ReadOptions(columns=columns)
    return list(reader(kind).read([path], options)), options.notes


ROWS = [["Nr", "Our finding"], ["7", 'Masks "help",\tthey say.'], ["8", "Zinc does\nnot."]]


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
@pytest.mark.parametrize(("name", "content"), [("a.xlsx", xlsx([], ROWS)), ("a.ods", ods(ROWS))])
def test_the_rows_of_a_workbook_are_those_of_a_table(
    tmp_path: Path, kind: str, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    records, notes = read(kind, tmp_path / name, text="Our finding")
    assert [record.document.docid for record in records] == ["7", "8"]
    assert records[0].document.text.split() == ["Masks", '"help",', "they", "say."]
    assert any("only the sheet 'S2' is read, but there are 2 sheets" in note for note in notes) == (
        name == "a.xlsx"
    )
    with pytest.raises(SourceError, match="Our finding"):  # the columns are listed
        read(kind, tmp_path / name, title="None")


BAD = {
    "damaged": (xlsx(ROWS)[:400], "is not a valid workbook ("),
    "empty": (xlsx([], []), "is a workbook whose sheets are empty"),
    "far": (
        xlsx(ROWS, at="XFD1048576"),
        "is damaged, or a workbook that needs more than 120 s or 3 GB to read",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_workbook_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read("snippets", tmp_path / "a.xlsx")
    assert str(caught.value).startswith(f"{tmp_path}/a.xlsx: {message}")
    assert "\n" not in str(caught.value)


def test_a_passage_of_a_pdf_says_its_page(tmp_path: Path) -> None:
    pages = (
        "The measles vaccine is safe, and it protects chil-\ndren from a serious disease.",
        "Zinc cures no cold.",
    )
    pdf(tmp_path / "report.pdf", *pages)
    settings = factseek.Config(passages=factseek.PassageSettings(words=8, overlap_sentences=0))
    index = tmp_path / "index"
    factseek.build("webpages", [tmp_path / "report.pdf"], index, dense=False, config=settings)
    with factseek.open_index(index) as opened:
        document = opened.document("report")
        assert document.title == "A report"
        assert "protects children from" in document.text
        found = {}
        for query in ("zinc", "measles"):
            hits = opened.search([query])[0]
            found[query] = opened.evidence(query, hits)[0].passage.page
    assert found == {"zinc": 2, "measles": 1}


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("след вакси-\nнацията на децата", "след ваксинацията на децата"),
        ("the vacci\u2010\nnation of children", "the vaccination of children"),
        ("the vacci\u00ad\nnation of children", "the vaccination of children"),
        ("ALL THE VACCI-\nNATIONS THERE", "ALL THE VACCINATIONS THERE"),
        ("a report of the Franco-\nGerman council", "a report of the Franco-German council"),
        ("in the years of 2019-\n2020 it was", "in the years of 2019- 2020 it was"),
        ("the pipes are gone -\nsays the council", "the pipes are gone - says the council"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_divides_a_word(
    tmp_path: Path, lines: str, joined: str
) -> None:
    ((document, *_),), _ = read("webpages", pdf(tmp_path / "a.pdf", lines))
    assert document.text == joined


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("untitled", ""),
        ("Untitled-1", ""),
        ("Microsoft Word - memo_final2.docx", ""),
        ("Microsoft PowerPoint - Pipes", ""),
        ("Untitled works of Klee", "Untitled works of Klee"),
        ("Microsoft and the law", "Microsoft and the law"),
    ],
)
def test_what_a_program_writes_is_no_title_of_a_pdf(tmp_path: Path, title: str, kept: str) -> None:
    ((document, *_),), _ = read("webpages", pdf(tmp_path / "a.pdf", "The pipes.", title=title))
    assert document.title == kept


def test_a_pdf_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    bad = {
        tmp_path / "broken.pdf": "is not a valid PDF (",
        pdf(
            tmp_path / "secret.pdf", "Secret.", password="x"
        ): "is protected by a password; save it without one",
        pdf(tmp_path / "scan.pdf", ""): "is a PDF without text",
    }
    for path, message in bad.items():
        with pytest.raises(SourceError) as caught:
            read("webpages", path)
        assert str(caught.value).startswith(f"{path}: {message}")


def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_office, "find_spec", lambda _: None)
    (tmp_path / "a.xlsx").write_bytes(xlsx(ROWS))
    for kind, path in (
        ("snippets", tmp_path / "a.xlsx"),
        ("webpages", pdf(tmp_path / "a.pdf", "Text.")),
    ):
        message = r"needs more packages; install them with: pip install 'factseek\[office\]'"
        with pytest.raises(SourceError, match=message):
            read(kind, path)
