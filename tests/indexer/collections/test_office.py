"""Workbooks and PDFs: their rows are those of a table, their passages say on which page they
begin.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pypdf
import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

import factseek
from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, _office, reader

SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"


def xlsx(*sheets: Sequence[Sequence[str]], at: str = "", raw: str = "", merged: str = "") -> bytes:
    """Return a workbook; the first sheet also has a far-away cell, rows of XML, or merged cells."""
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
        far += raw if number == 1 else ""
        merges = f"<mergeCells><mergeCell ref='{merged}'/></mergeCells>" if merged else ""
        written = "".join(
            "<row>"
            + "".join(f"<c t='inlineStr'><is><t>{cell}</t></is></c>" for cell in row)
            + "</row>"
            for row in rows
        )
        parts[f"xl/worksheets/s{number}.xml"] = (
            "<worksheet "
            "xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>"
            f"{written}{far}</sheetData>{merges if number == 1 else ''}</worksheet>"
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


def documents(path: Path, content: bytes, **how: Any) -> tuple[list[Document], list[str]]:
    path.write_bytes(content)
    options = ReadOptions(**how)
    return [record.document for record in reader("claims").read([path], options)], options.notes


SHEETS = xlsx(
    [["Desk 2025", ""], [], ["Claim", "Rating"], ["Wind kills.", "False"]],
    [["id", "claim"], ["7", "It is wet."]],
)


def test_every_sheet_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    (first,), _ = documents(path, SHEETS)
    (second,), notes = documents(path, SHEETS, sheet="S2")
    assert (first.text, second.text, notes) == ("Wind kills.", "It is wet.", [])
    both, _ = documents(path, SHEETS, sheet="all")
    assert both == [first, second]
    places = [record.place for record in reader("claims").read([path], ReadOptions(sheet="all"))]
    assert places == [f"{path}[S1]:4", f"{path}[S2]:2"]
    with pytest.raises(SourceError, match=r"has no sheet 'S3'; its sheets are 'S1', 'S2'$"):
        documents(path, SHEETS, sheet="S3")


def test_all_sheets_of_a_text_file_are_the_file(tmp_path: Path) -> None:
    (document,), _ = documents(tmp_path / "a.csv", b"id,claim\n7,It is wet.\n", sheet="all")
    assert document.text == "It is wet."


def test_merged_cells_are_filled(tmp_path: Path) -> None:
    rows = [["id", "claim", "Who"], ["1", "A.", "Ada"], ["2", "B.", ""], ["3", "C.", ""]]
    of_rows, _ = documents(tmp_path / "a.xlsx", xlsx(rows, merged="C2:C3"))
    assert [document.metadata.get("Who") for document in of_rows] == ["Ada", "Ada", None]


def test_a_merged_title_is_no_header(tmp_path: Path) -> None:
    rows = [["Desk 2025", "", ""], ["Wo", "Aussage der Partei", "Zahl"], ["x", "A.", "3"]]
    (document,), _ = documents(
        tmp_path / "a.xlsx", xlsx(rows, merged="A1:C1"), columns={"text": "Aussage der Partei"}
    )
    assert (document.text, dict(document.metadata)) == ("A.", {"Wo": "x", "Zahl": "3"})


def test_formulas_without_a_value_are_one_note(tmp_path: Path) -> None:
    formula = '<row><c r="A3"><v>2</v></c><c r="B3"><f>1+1</f></c><c r="C3"><f>A1</f><v/></c></row>'
    rows = [["id", "claim", "n"], ["1", "A.", "x"]]
    two, notes = documents(tmp_path / "a.xlsx", xlsx(rows, raw=formula.replace("A3", "A3")))
    assert [document.text for document in two] == ["A."]
    assert notes[0] == (
        f"{tmp_path / 'a.xlsx'}: formulas without a stored value are read as empty: 2, the first "
        "in B3; open the workbook in a spreadsheet program, and save it"
    )


def test_line_breaks_and_tabs_of_opendocument_are_blanks(tmp_path: Path) -> None:
    cell = "lead<text:line-break/>Copper<text:tab/>is<text:s/>safe"
    (document,), _ = documents(tmp_path / "a.ods", ods([["id", "claim"], ["1", cell]]))
    assert document.text == "lead Copper is safe"


def test_a_stray_cell_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        documents(tmp_path / "a.xlsx", xlsx(ROWS, at="ZZ200000"))
    assert caught.value.what == (
        "has the cell ZZ200000 far from its other cells, so that a sheet has 140,400,000 cells; "
        "clear this cell, and save the workbook"
    )


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
    note = "only the sheet 'S2' is read, not 'S1'; choose with --sheet NAME or --sheet all"
    assert (f"{tmp_path / name}: {note}" in notes) == (name == "a.xlsx")
    with pytest.raises(SourceError, match="Our finding"):  # the columns are listed
        read(kind, tmp_path / name, title="None")


BAD = {
    "damaged": (xlsx(ROWS)[:400], "is not a valid workbook ("),
    "empty": (xlsx([], []), "is a workbook whose sheets are empty"),
    "far": (
        xlsx(ROWS, at="XFD1048576"),
        "has the cell XFD1048576 far from its other cells, so that a sheet has 17,179,869,184",
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
