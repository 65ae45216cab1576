"""Rows of tables: their cells, the lines where they begin, and their faults."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.records.columns import Columns
from factseek.core.records.table import MISSING, Dialect, read_loose_rows, read_rows, read_table

CELLS = st.text(st.sampled_from("ab\",\t\n' N"), max_size=6)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=6)


class Noted:
    """Collects faults."""

    def __init__(self) -> None:
        self.said: list[tuple[int, str]] = []

    def error(self, line: int, reason: str) -> None:
        self.said.append((line, reason))

    def warning(self, line: int, reason: str) -> None:
        self.said.append((line, reason))


def numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.split("\n"), 1))


@given(ROWS, st.sampled_from("\t,;"))
def test_what_a_spreadsheet_writes_is_read_with_the_first_line_of_each_row(
    rows: list[list[str]], delimiter: str
) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    lines = []
    for row in rows:
        lines.append(written.getvalue().count("\n") + 1)
        writer.writerow(row)

    noted = Noted()
    text = written.getvalue().removesuffix("\n")
    assert list(read_rows(numbered(text), Dialect(delimiter), noted)) == [
        *zip(lines, rows, strict=True)
    ]
    assert noted.said == []


@pytest.mark.parametrize(
    ("text", "dialect", "rows", "said"),
    [
        ("a\tNA\nNA\tNAN", Dialect("\t", missing=MISSING), [(1, ["a", ""]), (2, ["", "NAN"])], []),
        (
            'a,"NA"\nNA,"x\nNA"',
            Dialect(",", missing=MISSING),
            [(1, ["a", "NA"]), (2, ["", "x\nNA"])],
            [],
        ),
        ("NA,b", Dialect(","), [(1, ["NA", "b"])], []),
        ("sep=;\na;b", Dialect(";"), [(2, ["a", "b"])], []),
        ('a\t"b\nc\td', Dialect("\t", quoting=False), [(1, ["a", '"b']), (2, ["c", "d"])], []),
        ("a,b\n\nc,d", Dialect(","), [(1, ["a", "b"]), (3, ["c", "d"])], []),
        (
            "a,b\n\nc,d",
            Dialect(",", skips_blank=False),
            [(1, ["a", "b"]), (2, []), (3, ["c", "d"])],
            [],
        ),
        (
            'a,b\nc,"d"e\rf',
            Dialect(","),
            [(1, ["a", "b"])],
            [
                "is not a row of a table (a carriage return is outside quotes: end each line with "
                "a line feed)"
            ],
        ),
        (
            '1,"' + "x" * 30 + "\n" + "y" * 30 + '"\na,b',
            Dialect(",", longest_row=40),
            [(3, ["a", "b"])],
            ["is not a row of a table (a quote does not close within 40 bytes)"],
        ),
    ],
)
def test_a_dialect_says_what_a_row_is(
    text: str, dialect: Dialect, rows: list[tuple[int, list[str]]], said: list[str]
) -> None:
    noted = Noted()
    assert list(read_rows(numbered(text), dialect, noted)) == rows
    assert [reason for _, reason in noted.said] == said


def test_a_row_over_a_line_that_was_left_out_is_left_out_too() -> None:
    noted = Noted()
    lines = [(1, 'a,"b'), (3, 'c"'), (4, "d,e")]
    assert list(read_rows(lines, Dialect(","), noted)) == [(4, ["d", "e"])]
    assert noted.said == []


def test_rows_have_the_width_of_the_header() -> None:
    noted = Noted()
    table = read_table(numbered(" id ,text\n1,a\n2\n\n3,b"), Dialect(",", skips_blank=False), noted)
    assert table
    assert (table.line, table.header) == (1, ["id", "text"])
    assert list(table.rows) == [(2, ["1", "a"]), (5, ["3", "b"])]
    assert noted.said == [(3, "has 1 columns, but the header has 2"), (4, "is blank")]


@pytest.mark.parametrize(
    ("text", "quoting", "rows"),
    [
        ('id\ttext\n1\t"Masks" help', False, [(2, ["1", '"Masks" help'])]),
        ('id\ttext\n1\t"Masks ""help"""', True, [(2, ["1", 'Masks "help"'])]),
        ('"id"\t"text"\n"1"\t"Masks"', False, [(2, ["1", "Masks"])]),
        ('id\ttext\n1\t"Masks\nhelp"', False, [(2, ["1", "Masks\nhelp"])]),
        ('id,text\n1,"Masks, they say"', False, [(2, ["1", "Masks, they say"])]),
    ],
)
def test_rows_show_what_a_quote_is(
    text: str, quoting: bool, rows: list[tuple[int, list[str]]]
) -> None:
    delimiter = "\t" if "\t" in text else ","
    noted = Noted()
    assert read_loose_rows(numbered(text), delimiter, noted, quoting=quoting) == rows
    assert noted.said == []


def test_columns_are_found_by_the_first_name_that_a_header_has() -> None:
    names = {"docid": ("id", ""), "text": ("text", "claim")}
    columns = Columns(names, (), docid="docid", chosen=("text",))
    assert columns.find(["Claim", "", "TEXT"]) == {"docid": [""], "text": ["TEXT", "Claim"]}
    assert columns.find(["", "ID"]) == {"docid": ["ID"]}
