"""The shapes of files of records: separators, quotes, encodings."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.records.table_shape import TABLES, TableShape, shape_of_start


def workbook() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return content.getvalue()


def entry(name: bytes, content: bytes) -> bytes:
    return b"PK\x03\x04" + bytes(22) + len(name).to_bytes(2, "little") + bytes(2) + name + content


SAVE_ROWS = "save its rows as JSON lines or CSV with the program that wrote it"
UTF32_REMEDY = "save it as UTF-8 (iconv -f UTF-32 -t UTF-8)"


def pickled(protocol: int) -> bytes:
    return pickle.dumps([{"docid": "a", "text": "b"}], protocol=protocol)


@pytest.mark.parametrize(
    ("content", "sentence", "remedy"),
    [
        (
            workbook(),
            "is an Excel workbook (.xlsx)",
            'in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"',
        ),
        (
            entry(b"[Content_Types].xml", b"..word/document.xml"),
            "is a Word document (.docx)",
            "save its text as plain text, in UTF-8",
        ),
        (rb"{\rtf1\ansi a}", "is an RTF document", "save its text as plain text, in UTF-8"),
        (b"PAR1\x15\0", "is a Parquet file", SAVE_ROWS),
        (b"\1\0\0\0\2\0\0\0", "is not text", ""),
        *((content, "is a pickle", SAVE_ROWS) for content in map(pickled, range(6))),
        *((pickle.dumps(np.zeros(2), protocol), "is a pickle", SAVE_ROWS) for protocol in (0, 1)),
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


def test_a_cell_that_is_longer_than_python_reads_is_a_cell() -> None:
    long = "x" * 200_000
    assert shape_of_start(f"a\t{long}\n".encode()) == TableShape("tabs", "utf-8", ("a", long))
