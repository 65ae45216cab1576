"""A file of documents that somebody else made, or a disk has damaged, is refused in one line that
names it.
"""

import sqlite3
from pathlib import Path

import pytest

from factseek.core.domain import Document, Span
from factseek.core.errors import IndexStateError
from factseek.retrieval.store.documents import DocumentWriter, SegmentDocuments, checksum

pytestmark = pytest.mark.inner

DOCUMENTS = [
    Document(f"d{number}", f"Text {number}.", language="en", topic="t") for number in range(300)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    writer = DocumentWriter(tmp_path / "documents.sqlite")
    for document in DOCUMENTS:
        writer.add(document, [Span(0, 0, 4), Span(1, 5, 8)], checksum(document), "a.jsonl:1")
    writer.finish()
    return tmp_path / "documents.sqlite"


def change(path: Path, script: str) -> None:
    database = sqlite3.connect(path)
    database.executescript(script)
    database.close()


def read_all(path: Path) -> None:
    documents = SegmentDocuments(path, (1,), (300, 600))
    try:
        documents.document("d7")
        documents.with_passages([("d7", 1), ("d8", 0)], lambda *_: None)
        documents.look_up("d7")
        documents.spans("d7")
        documents.deleted_rows()
        list(documents.each_stored())
        list(documents.each_passage())
    finally:
        documents.close()


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.mark.parametrize(
    "script",
    [
        (
            "ALTER TABLE documents RENAME TO d; CREATE VIEW documents AS SELECT * FROM d, "
            f"({ENDLESS});"
        ),
        "CREATE TRIGGER t AFTER INSERT ON passages BEGIN DELETE FROM documents; END;",
        "DROP INDEX passages_document;",
        "DROP TABLE passages;",
    ],
)
def test_tables_that_are_not_factseeks_are_refused(path: Path, script: str) -> None:
    read_all(path)
    change(path, script)
    with pytest.raises(IndexStateError) as error:
        SegmentDocuments(path)
    assert error.value.line == (
        f"{path}: the documents of this segment cannot be read: its tables are not those that "
        "factseek writes"
    )


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("DELETE FROM documents WHERE row = 5", "rows are missing"),
        ("INSERT INTO passages VALUES (600, 299, 2, 0, 1)", "contains 601 passages, expected 600"),
        (
            "UPDATE passages SET document = 300 WHERE row = 599",
            "passage 599 belongs to no document",
        ),
        (
            "UPDATE documents SET metadata = '{' WHERE row = 7",
            "document 'd7' cannot be read: Input data was truncated",
        ),
        ("UPDATE documents SET title = CAST(X'FF' AS TEXT) WHERE row = 7", "a text is not UTF-8"),
    ],
)
def test_contents_that_cannot_be_are_refused(path: Path, script: str, what: str) -> None:
    change(path, script)
    with pytest.raises(IndexStateError) as error:
        read_all(path)
    assert error.value.place == str(path)
    assert what in error.value.line
