"""The queue: each change is either withdrawn or taken, in order, and answered once; bulks wait until they end."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.indexer import queue as queues
from factseek.indexer.publishing import DocumentState
from factseek.indexer.queue import FILE, JOBS, MOST_REFUSALS, Change, ChangeOutcome, ClaimedChange, Queue
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import repair, verify
from factseek.indexer.writer import result_of
from factseek.retrieval.errors import IndexStateError, MachineError
from factseek.settings import Config
from tests.indexer.conftest import Build, Write


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


@pytest.fixture
def queue(folder: Path) -> Iterator[Queue]:
    with Queue(folder) as opened:
        yield opened


def test_many_make_the_queue_at_once(folder: Path) -> None:
    def opened(place: Path) -> bool:
        with Queue(place) as queue:
            return queue.changes_wait()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(60):
            shutil.rmtree(folder / JOBS, ignore_errors=True)
            assert not any(pool.map(opened, [folder] * 8))


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


def test_no_more_are_taken_than_are_asked_for(queue: Queue) -> None:
    numbers = [queue.submit(Change(docid=str(number))) for number in range(5)]
    assert [each.number for each in queue.claim(3, 60)] == numbers[:3]


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


def test_there_is_no_queue_without_an_index(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index any more"):
        Queue(tmp_path / "none")
    assert not queues.waits(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_made_is_said(folder: Path) -> None:
    (folder / JOBS).write_text("")
    with pytest.raises(MachineError):
        Queue(folder)


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


def test_refusals_are_counted_and_the_first_are_named(queue: Queue) -> None:
    job = queue.submit_bulk("append", [b"{}"])
    for item in range(MOST_REFUSALS + 5):
        job.refuse(item, "", "no")
    assert (job.refused, len(job.refusals)) == (MOST_REFUSALS + 5, MOST_REFUSALS)


def test_old_jobs_are_forgotten_and_waiting_ones_never(queue: Queue, folder: Path) -> None:
    made = [queue.submit_bulk("append", [b"{}"]) for _ in range(6)]
    for job in made[:5]:
        queue.end(job)
    with sqlite3.connect(folder / JOBS / FILE) as database:
        database.execute("UPDATE bulk SET ended = ? WHERE id = ?", (time.time() - 8 * 86_400, made[3].id))
    queue.remove_old(most=3, days=7)
    assert [queue.job(job.id) is not None for job in made] == [False, False, True, False, True, True]


def test_whatever_looks_after_an_index_leaves_its_queue_alone(queue: Queue, folder: Path, tmp_path: Path) -> None:
    job = queue.submit_bulk("append", [b"{}"])
    assert verify(folder, Config()).all_faults == []
    assert repair(folder, Config()).left == []
    snapshot(folder, tmp_path / "copy")
    assert not (tmp_path / "copy" / JOBS).exists()
    restore(tmp_path / "copy", folder, Config(), overwrite=True)
    assert queue.bulks() == [job.id]


def test_a_bulk_knows_what_was_changed_after_it(queue: Queue) -> None:
    queue.note([(queue.submit(Change(docid="early")), "early")])
    first = queue.submit_bulk("update", [b"{}"])
    number = queue.submit(Change(docid="a"))
    queue.note([(number, "a"), (number, "c\n")])
    second = queue.submit_bulk("update", [b"{}"])
    assert (queue.newer_writes(first.id), queue.newer_writes(second.id)) == ({"a", "c\n"}, set())
    queue.unnote([(number, "a")])
    queue.remove_old(most=10, days=7)
    assert queue.newer_writes(first.id) == {"c\n"}
    queue.end(first)
    queue.end(second)
    queue.remove_old(most=10, days=7)
    assert queue.newer_writes(first.id) == set()


STATES = st.sampled_from([(), ("*",), ("now",), ("before",), ("before", "now")])
THERE = st.sampled_from([None, DocumentState("same", "now"), DocumentState("other", "now")])


@given(states=STATES, absent=st.booleans(), there=THERE, puts=st.booleans(), again=st.booleans())
def test_what_becomes_of_a_change(
    states: tuple[str, ...], absent: bool, there: DocumentState | None, puts: bool, again: bool
) -> None:
    change = Change(docid="a", line="{}" if puts else "", checksum="same", states=states, absent=absent)
    result = result_of(ClaimedChange(1, change, again), there)
    if again and (states or absent):
        assert result == "unsure"
    elif (states and there is None) or (absent and there) or (states == ("before",)):
        assert result == "conflict"
    elif not puts:
        assert result == ("absent" if there is None else "deleted")
    else:
        assert result == ("created" if there is None else "unchanged" if there.checksum == "same" else "replaced")
