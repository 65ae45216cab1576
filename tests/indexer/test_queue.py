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
