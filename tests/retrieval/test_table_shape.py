"""The shapes of files of records: separators, quotes, encodings."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.records.table_shape import (
    SAVE_AS_UTF8,
    TABLES,
    TableShape,
    shape_of_start,
)


def workbook() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return content.getvalue()


def archive_of_an_office_file() -> bytes:
    """A folder of office files, packed without compression: their names stand in it as they stand in each of them."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("reports/first.xlsx", workbook())
        archive.writestr("reports/notes.txt", "word/ by word")
    return content.getvalue()


def entry(name: bytes, content: bytes) -> bytes:
    """The beginning of a zip archive whose first entry has this name."""
    return b"PK\x03\x04" + bytes(22) + len(name).to_bytes(2, "little") + bytes(2) + name + content


SAVE_ROWS = "save its rows as JSON lines or CSV with the program that wrote it"
UTF32_REMEDY = "save it as UTF-8 (iconv -f UTF-32 -t UTF-8)"


def pickled(protocol: int) -> bytes:
    return pickle.dumps([{"docid": "a", "text": "b"}], protocol=protocol)


@pytest.mark.parametrize(
    ("content", "form", "cells"),
    [
        (b"qid\tquery\n1\ta, b\n", "tabs", ("qid", "query")),
        (b"\ttweet_content\n1\tx\n", "tabs", ("", "tweet_content")),
        (b"qid,query\n1,x\n2,y\n", "commas", ("qid", "query")),
        (b'qid,query\n1,"a, ""b""\nc"\n2,y\n', "commas", ("qid", "query")),
        (b"qid;query\n1;a, b\n2;c\n", "semicolons", ("qid", "query")),
        (b"1 0 d1 1\n1 0 d2 0\n", "blanks", ("1", "0", "d1", "1")),
        (b'{"qid": 1, "query": "x"}\n{"qid": 2}\n', "JSON lines", ("qid", "query")),
        (b'{\n  "qid": 1\n}\n', "JSON", ()),
        (b'[{"qid": 1}]\n', "JSON", ()),
        (b"[\n", "JSON", ()),
        (b"[1] a list of sources\n", "text", ()),
        (b"<?xml version='1.0'?>\n<topics/>\n", "XML", ()),
        (b"<top>\n<num> 1\n", "XML", ()),
        (b"<!DOCTYPE html>\n", "HTML", ()),
        (b"One sentence.\nAnother, longer sentence.\n", "text", ("One sentence.",)),
        (b" \n\n", "empty", ()),
        (b"", "empty", ()),
    ],
)
def test_form_and_first_row(content: bytes, form: str, cells: tuple[str, ...]) -> None:
    assert shape_of_start(content) == TableShape(form, "utf-8", cells)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "sentence", "remedy"),
    [
        (workbook(), "is an Excel workbook (.xlsx)", 'in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"'),
        (
            b"\xd0\xcf\x11\xe0",
            "is an Excel workbook (.xls)",
            'in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"',
        ),
        (
            entry(b"[Content_Types].xml", b"..word/document.xml"),
            "is a Word document (.docx)",
            "save its text as plain text, in UTF-8",
        ),
        (
            b"\xd0\xcf\x11\xe0" + "WordDocument".encode("utf-16-le"),
            "is a Word document (.doc)",
            "save its text as plain text, in UTF-8",
        ),
        (
            entry(b"mimetype", b"application/vnd.oasis.opendocument.spreadsheetPK"),
            "is an OpenDocument spreadsheet (.ods)",
            "save the sheet as CSV, in UTF-8",
        ),
        (rb"{\rtf1\ansi a}", "is an RTF document", "save its text as plain text, in UTF-8"),
        (gzip.compress(b"x", mtime=0), "is compressed (gzip)", "unpack it first"),
        (b"PK\x03\x04abc", "is compressed (zip)", "unpack it first"),
        (archive_of_an_office_file(), "is compressed (zip)", "unpack it first"),
        (b"PAR1\x15\0", "is a Parquet file", SAVE_ROWS),
        (b"PAR1 Q0 d1 1 2.5 t\n", "is separated by blanks", ""),
        (b"a,b\n1,2\n", "is comma-separated", ""),
        (b"a;b\n1;2\n", "is separated by semicolons", ""),
        (b'{"a": 1}\n', "is JSON lines", ""),
        (
            "a,b\n1,é\n".encode("latin-1"),
            "is comma-separated",
            SAVE_AS_UTF8,
        ),
        (b"ab\0cd\0\0\0", "is not text", ""),
        (b"\1\0\0\0\2\0\0\0", "is not text", ""),
        *((content, "is a pickle", SAVE_ROWS) for content in map(pickled, range(6))),
        *((pickle.dumps(np.zeros(2), protocol), "is a pickle", SAVE_ROWS) for protocol in (0, 1)),
        (b"(lp1\n(dp2\nS'docid'\np3\nS'a'\np4\nsa.", "is a pickle", SAVE_ROWS),
        (b"(S'\\d'\np0\nl.", "is a pickle", SAVE_ROWS),
        (b"(lp0 is what a list begins with)\n", "is separated by blanks", ""),
        (b"claims\ntext\np7\n", "is text without columns", ""),
        (b"\x93NUMPY\1\0", "is a NumPy array (.npy)", SAVE_ROWS),
        *(
            ("qid\tquery\n1\tلقاح 🦠\n".encode(encoding), "is text in UTF-32", UTF32_REMEDY)
            for encoding in ("utf-32", "utf-32-le", "utf-32-be")
        ),
    ],
)
def test_sentence_and_remedy(content: bytes, sentence: str, remedy: str) -> None:
    shape = shape_of_start(content)
    assert (shape.sentence, shape.remedy) == (sentence, remedy)


@given(st.binary(max_size=300))
def test_any_bytes_have_a_shape(content: bytes) -> None:
    shape = shape_of_start(content)
    assert shape.sentence.startswith("is ")
    assert bool(shape.delimiter) == (shape.form in TABLES)


cells = st.text(st.characters(codec="utf-8", exclude_characters='\r\n\t,;"\0'), min_size=1)
rows = st.lists(
    st.lists(cells.filter(lambda text: text.strip() == text), min_size=3, max_size=3), min_size=1, max_size=30
)


def test_a_cell_that_is_longer_than_python_reads_is_a_cell() -> None:
    long = "x" * 200_000
    assert shape_of_start(f"a\t{long}\n".encode()) == TableShape("tabs", "utf-8", ("a", long))
