"""The queue: each change is either withdrawn or taken, in order, and answered once; bulks wait
until they end.
"""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.core.errors import IndexStateError
from factseek.indexer.queue import FILE, JOBS, Queue
from tests.indexer.conftest import Build, Write


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


@pytest.fixture
def queue(folder: Path) -> Iterator[Queue]:
    with Queue(folder) as opened:
        yield opened


def test_a_damaged_queue_is_said(folder: Path) -> None:
    (folder / JOBS).mkdir()
    (folder / JOBS / FILE).write_bytes(
        b"no database at all, and long enough to be read as one" * 10
    )
    with pytest.raises(
        IndexStateError, match=r"queue\.sqlite: is damaged .*; stop the server, remove the file"
    ):
        Queue(folder)


def test_old_jobs_are_forgotten_and_waiting_ones_never(queue: Queue, folder: Path) -> None:
    made = [queue.submit_bulk("append", [b"{}"]) for _ in range(6)]
    for job in made[:5]:
        queue.end(job)
    with sqlite3.connect(folder / JOBS / FILE) as database:
        database.execute(
            "UPDATE bulk SET ended = ? WHERE id = ?", (time.time() - 8 * 86_400, made[3].id)
        )
    queue.remove_old(most=3, days=7)
    assert [queue.job(job.id) is not None for job in made] == [
        False,
        False,
        True,
        False,
        True,
        True,
    ]


def test_progress_of_a_bulk_does_not_write_its_documents_again(queue: Queue, folder: Path) -> None:
    size = 2_000_000
    job = queue.submit_bulk("append", [b"x" * size])
    before = sum(path.stat().st_size for path in (folder / JOBS).iterdir())
    for handled in range(50):
        job.handled = handled
        queue.save(job)
    assert sum(path.stat().st_size for path in (folder / JOBS).iterdir()) < before + size
    assert queue.documents(job.id) == [b"x" * size]
    queue.end(job)
    assert queue.documents(job.id) == []


def test_a_bulk_of_an_earlier_version_keeps_its_documents(queue: Queue, folder: Path) -> None:
    job = queue.submit_bulk("append", [b"a", b"b"])
    with sqlite3.connect(folder / JOBS / FILE) as database:
        database.execute("UPDATE bulk SET documents = ?", (b"a\nb",))
        database.execute("DROP TABLE bulk_documents")
    with Queue(folder) as opened:
        assert opened.documents(job.id) == [b"a", b"b"]
