"""Files that are there whole or not at all, and what the file system refuses."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factseek.retrieval.errors import MachineError, QueryError
from factseek.retrieval.files import os_errors_reported, replacing, storable, writable, write_atomically

REFUSED = [
    (errno.ENOSPC, "the disk is full; make room and run the same command again"),
    (errno.EDQUOT, "the disk is full; make room and run the same command again"),
    (errno.EACCES, "may not be written: Permission denied"),
    (errno.EROFS, "may not be written: Read-only file system"),
    (errno.ENOTDIR, "is not a folder; name another place"),
    (errno.EEXIST, "is not a folder; name another place"),
    (errno.EIO, "Input/output error"),
]


@pytest.mark.parametrize(("number", "message"), REFUSED)
def test_what_the_file_system_refuses_is_one_line(number: int, message: str) -> None:
    with pytest.raises(MachineError) as error, os_errors_reported(Path("ix")):
        raise OSError(number, os.strerror(number))
    assert str(error.value) == f"ix: {message}"


def test_what_sqlite_refuses_is_one_line_and_a_mistake_of_ours_is_not(tmp_path: Path) -> None:
    with (
        pytest.raises(MachineError, match=r"^ix: cannot be written: unable to open database file$"),
        os_errors_reported(Path("ix")),
    ):
        sqlite3.connect(tmp_path / "no" / "such.sqlite")
    with pytest.raises(sqlite3.OperationalError, match="syntax error"), os_errors_reported(Path("ix")):
        database = sqlite3.connect(":memory:")
        try:
            database.execute("SELEKT")
        finally:
            database.close()


def test_a_full_database_is_a_full_disk(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "small.sqlite")
    database.execute("PRAGMA max_page_count = 2")
    with pytest.raises(MachineError, match=r"^ix: the disk is full; "), os_errors_reported(Path("ix")):
        database.execute("CREATE TABLE one (text TEXT)")
        database.execute("INSERT INTO one VALUES (?)", ("x" * 100_000,))
    database.close()


def test_a_file_that_cannot_be_replaced_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(MachineError, match=r"file"):
        write_atomically(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_output_that_would_destroy_something_is_refused(tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.write_text("x")
    (tmp_path / "link").symlink_to(read)
    refused = {
        tmp_path / "no" / "file": f"there is no folder {tmp_path}/no; make it first",
        tmp_path: "is a folder; name a file",
        Path("/dev/null"): "is not a regular file; name one that is, or a new one",
        read: "is an input of this command and would be overwritten; name another file",
        tmp_path / "link": "is an input of this command and would be overwritten; name another file",
    }
    for path, reason in refused.items():
        with pytest.raises(QueryError) as error:
            writable(path, [tmp_path / "none", read])
        assert str(error.value) == f"{path}: {reason}"
    writable(tmp_path / "new", [read])
    writable(read, [tmp_path / "none"])


def test_a_name_is_storable_whatever_its_bytes() -> None:
    assert storable("donn\udce9es.jsonl") == r"donn\udce9es.jsonl"
    assert storable("فهرس") == "فهرس"


def test_threads_write_the_same_file_one_after_the_other(tmp_path: Path) -> None:
    path, barrier = tmp_path / "file", threading.Barrier(4)

    def write(number: int) -> None:
        with replacing(path) as file:
            barrier.wait(30)  # all of them have begun, none has ended
            file.write(bytes([number]) * 100)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    content = path.read_bytes()
    assert content in [bytes([number]) * 100 for number in range(4)]
    assert list(tmp_path.iterdir()) == [path]
