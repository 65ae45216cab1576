"""The queue: each change is either withdrawn or taken, in order, and answered once; bulks wait until they end."""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.indexer import queue as queues
from factseek.indexer.queue import FILE, JOBS, Change, ChangeOutcome, ClaimedChange, Queue
from factseek.retrieval.errors import IndexStateError, MachineError
from tests.indexer.conftest import Build, Write


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


@pytest.fixture
def queue(folder: Path) -> Iterator[Queue]:
    with Queue(folder) as opened:
        yield opened


def test_a_change_is_taken_and_answered_once(queue: Queue, folder: Path) -> None:
    change = Change(docid="نيل/a b", line="{}", checksum="1", states=("x",))
    number = queue.submit(change)
    assert queues.waits(folder)
    assert queue.outcome(number) is None
    assert queue.claim(10, 60) == [ClaimedChange(number, change)]
    queue.answer(number, ChangeOutcome(result="created"))
    assert not queues.waits(folder)
    assert queue.outcome(number) == ChangeOutcome(result="created")
    assert queue.outcome(number) is None


def test_a_change_is_either_withdrawn_or_taken(queue: Queue) -> None:
    first, second = (queue.submit(Change(docid=docid)) for docid in "ab")
    assert queue.withdraw(first)
    assert [each.number for each in queue.claim(10, 60)] == [second]
    assert not queue.withdraw(second)


def test_what_a_dead_writer_took_is_taken_again_and_first(queue: Queue) -> None:
    number = queue.submit(Change(docid="a"))
    queue.claim(10, 60)
    later = queue.submit(Change(docid="b"))
    assert [(each.number, each.again) for each in queue.claim(10, 60)] == [(number, True), (later, False)]


def test_changes_of_one_document_are_taken_one_after_the_other(queue: Queue) -> None:
    numbers = [queue.submit(Change(docid=docid)) for docid in "abacb"]
    taken = []
    while queue.changes_wait():
        batch = queue.claim(10, 60)
        taken.append("".join(each.change.docid for each in batch))
        for each in batch:
            queue.answer(each.number, ChangeOutcome(result="deleted"))
    assert taken == ["ab", "acb"]
    assert all(queue.outcome(number) for number in numbers)


@pytest.mark.parametrize("of", ["seconds = seconds - 100", "seconds = seconds + 100", "boot = 'another'"])
def test_a_change_that_nobody_waits_for_is_dropped(queue: Queue, folder: Path, of: str) -> None:
    """It is older than its asker is patient, or from before the machine started."""
    queue.submit(Change(docid="a"))
    with sqlite3.connect(folder / JOBS / FILE) as database:
        database.execute(f"UPDATE change SET {of}")
    later = queue.submit(Change(docid="a"))
    assert [each.number for each in queue.claim(10, 60)] == [later]


def test_bulks_wait_in_their_order_until_they_end(queue: Queue, folder: Path) -> None:
    made = [queue.submit_bulk("update", [b'{"docid":"b"}', b"{}"]) for _ in range(3)]
    assert queue.job(made[0].id) == made[0]
    assert queue.documents(made[0].id) == [b'{"docid":"b"}', b"{}"]
    assert queue.bulks() == [job.id for job in made]
    queue.end(made[0])
    queue.end(made[1], "the disk is full")
    assert queue.bulks() == [made[2].id]
    assert queues.bulks_waiting(folder) == 1
    assert [queue.job(job.id).state for job in made] == ["done", "failed", "queued"]  # type: ignore[union-attr]
    assert queue.documents(made[0].id) == []
    assert queue.job("f" * 24) is None


def test_what_cannot_be_kept_leaves_nothing(queue: Queue) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(MachineError, match=r"queue\.sqlite: "):
            queue.submit_bulk("append", [b"x" * 1_000_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert queue.bulks() == []
    assert queue.submit_bulk("append", [b"{}"]).id in queue.bulks()


def test_a_damaged_queue_is_said(folder: Path) -> None:
    (folder / JOBS).mkdir()
    (folder / JOBS / FILE).write_bytes(b"no database at all, and long enough to be read as one" * 10)
    with pytest.raises(IndexStateError, match=r"queue\.sqlite: is damaged .*; stop the server, remove the file"):
        Queue(folder)


def test_old_jobs_are_forgotten_and_waiting_ones_never(queue: Queue, folder: Path) -> None:
    made = [queue.submit_bulk("append", [b"{}"]) for _ in range(6)]
    for job in made[:5]:
        queue.end(job)
    with sqlite3.connect(folder / JOBS / FILE) as database:
        database.execute("UPDATE bulk SET ended = ? WHERE id = ?", (time.time() - 8 * 86_400, made[3].id))
    queue.remove_old(most=3, days=7)
    assert [queue.job(job.id) is not None for job in made] == [False, False, True, False, True, True]
