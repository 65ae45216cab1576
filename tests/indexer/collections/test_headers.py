"""Tables whose header is below a title, or in a row that the user names."""

from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.core.records.header import find_header
from factseek.indexer.collections import ReadOptions, reader

KINDS = ["snippets", "claims", "claimreview"]


def documents(path: Path, text: str, kind: str, **how: Any) -> list[Document]:
    path.write_text(text, how.pop("encoding", "utf-8"))
    return [record.document for record in reader(kind).read([path], ReadOptions(**how))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "title",
    [
        "Fact Desk 2025,,\n,,\n",
        "\n\nFact Desk 2025,,\n",
        "Fact Desk 2025\n\n",
        'Fact Desk,"2025, May",\n',
        "Fact Desk\nAs of May 2025\nAll rights reserved.\n",
        ",,\n",
    ],
)
def test_the_header_is_below_a_title(tmp_path: Path, kind: str, title: str) -> None:
    text = f"{title}Claim,Rating,Link\nCats fly,False,https://x.example/1\n"
    for name, content in (("a.csv", text), ("b.csv", text.replace(",", ";"))):
        (document,) = documents(tmp_path / name, content, kind)
        assert (document.text, document.url) == ("Cats fly", "https://x.example/1")
        assert document.metadata["rating"] == "False"


def test_the_place_of_a_row_is_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Desk,\n,\nid,claim\n1,Cats fly\n2\n", "utf-8")
    records = reader("claims").read([path], ReadOptions())
    assert next(records).place == f"{path}:4"
    with pytest.raises(SourceError, match=r"a\.csv:5: has 1 columns, but the header has 2"):
        next(records)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_encodings_are_guessed_below_a_title(tmp_path: Path, encoding: str) -> None:
    text = "Übersicht für März;;\nBehauptung;Überschrift;Nr\nFlüsse fließen rückwärts;Größe;1\n"
    (document,) = documents(tmp_path / "a.csv", text, "claims", encoding=encoding)
    assert (document.text, document.title) == ("Flüsse fließen rückwärts", "Größe")


@pytest.mark.parametrize("kind", KINDS)
def test_the_user_decides(tmp_path: Path, kind: str) -> None:
    text = "claim,text\nNew,Old\n\nRow,Saying\n1,Cats fly\n"
    columns = {"text": "Saying"}
    (document,) = documents(tmp_path / "a.csv", text, kind, header_row=4, columns=columns)
    assert document.text == "Cats fly"
    with pytest.raises(SourceError, match=r"a\.csv: has no row 99 with names of columns$"):
        documents(tmp_path / "a.csv", text, kind, header_row=99, columns=columns)


def test_a_file_without_a_header_keeps_its_rows(tmp_path: Path) -> None:
    text = "1\tClaims are made.\nb2\tThey are checked.\n3\tText\n"
    three = documents(tmp_path / "a.tsv", text, "snippets")
    assert [document.docid for document in three] == ["1", "b2", "3"]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([["a", "b"], ["1", "x"]], 1),
        ([["", ""], ["Desk", ""], ["Where", "How many"], ["x", "3"]], 3),
        ([["Desk", "Desk"], ["Where", "How many"], ["x", "3"]], 2),
        # Without other types below it, nothing shows that a row is a header.
        ([["Desk", ""], ["Where", "How"], ["u", "v"]], 1),
        ([["Desk", ""], ["id", "text"], ["u", "v"]], 2),
        ([["u", "v"], ["id", "text"]], 1),
    ],
)
def test_the_header_has_known_names_or_is_above_other_types(
    rows: list[list[str]], line: int
) -> None:
    found = find_header(list(enumerate(rows, 1)), lambda cells: cells == ["id", "text"])
    assert found is not None
    assert found[0] == line


def test_blank_rows_have_no_header() -> None:
    assert find_header([(1, ["", ""])], lambda _: False) is None


def test_a_header_below_a_title_may_have_a_column_no(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Checks of the week,,\n,,\nNo,Claim,Found\n1,Bridge A fell.,In May\n")
    (record,) = reader("snippets").read([path], ReadOptions())
    assert (record.document.text, record.document.metadata["No"]) == ("Bridge A fell.", "1")
