"""A file of documents that somebody else made, or a disk has damaged, is refused in one line that names it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factseek.retrieval.domain import Document, Filter, Span
from factseek.retrieval.errors import IndexStateError
from factseek.retrieval.store.documents import DocumentWriter, SegmentDocuments, checksum
from factseek.retrieval.store.documents_file import KEPT

pytestmark = pytest.mark.inner

DOCUMENTS = [Document(f"d{number}", f"Text {number}.", language="en", topic="t") for number in range(300)]


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
        documents.with_passages([("d7", 1), ("d8", 0)])
        documents.seen("d7")
        documents.spans("d7")
        documents.rows()
        documents.deleted_rows()
        documents.deleted_docids()
        documents.kept(Filter(topic=("t",)))
        list(documents.each_stored())
        list(documents.each_passage())
    finally:
        documents.close()


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.mark.parametrize(
    "script",
    [
        f"ALTER TABLE documents RENAME TO d; CREATE VIEW documents AS SELECT * FROM d, ({ENDLESS});",
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
        f"{path}: the documents of this segment cannot be read: its tables are not those that factseek writes"
    )


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("DELETE FROM documents WHERE row = 5", "rows are missing"),
        ("INSERT INTO passages VALUES (600, 299, 2, 0, 1)", "contains 601 passages, expected 600"),
        ("UPDATE passages SET document = 300 WHERE row = 599", "a passage belongs to no document"),
        ("UPDATE documents SET metadata = '{' WHERE row = 7", "document 'd7' cannot be read: Input data was truncated"),
        ("UPDATE documents SET title = CAST(X'FF' AS TEXT) WHERE row = 7", "a text is not UTF-8"),
    ],
)
def test_contents_that_cannot_be_are_refused(path: Path, script: str, what: str) -> None:
    change(path, script)
    with pytest.raises(IndexStateError) as error:
        read_all(path)
    assert error.value.place == str(path)
    assert what in error.value.line


DAMAGES: dict[str, Callable[[bytearray, int], None]] = {
    "zeroed": lambda content, at: content.__setitem__(slice(at, at + 1024), bytes(len(content[at : at + 1024]))),
    "set": lambda content, at: content.__setitem__(slice(at, at + 1024), b"\xff" * len(content[at : at + 1024])),
    "flipped": lambda content, at: content.__setitem__(
        at + at // 1024 * 37 % 1024, content[at + 3] ^ 1 << at // 1024 % 8
    ),
    "cut": lambda content, at: content.__delitem__(slice(at, None)),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damage_at_any_kilobyte_is_named_or_harmless(path: Path, tmp_path: Path, how: str) -> None:
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 1024):
        content = bytearray(whole)
        DAMAGES[how](content, at)
        damaged = tmp_path / f"{how}{at}.sqlite"
        damaged.write_bytes(content)
        try:
            read_all(damaged)
        except IndexStateError as error:
            refused += 1
            assert error.place == str(damaged)
            assert "\n" not in str(error)
        damaged.unlink()
    assert refused > len(whole) // 1024 // 8


def open_files(path: Path) -> int:
    """Return how many descriptors of this process are of a file."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(link) == str(path.resolve()) for link in links)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted where Linux lists them")
def test_threads_that_have_read_leave_few_files_open_and_closing_leaves_none(path: Path) -> None:
    documents = SegmentDocuments(path)
    read = threading.Barrier(24)

    def look_up() -> str:
        document = documents.document("d7")
        read.wait(30)  # every thread lives on, as those of a server do
        return document.text if document else ""

    with ThreadPoolExecutor(24) as threads:
        texts = [thread.result() for thread in [threads.submit(look_up) for _ in range(24)]]
        assert texts == ["Text 7."] * 24
        assert open_files(path) <= KEPT
    documents.close()
    assert open_files(path) == 0
