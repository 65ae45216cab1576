"""The writer makes what waits: changes before bulks, bulks in slices, and goes on from where
another one died.
"""

import json
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Document
from factseek.core.errors import MachineError
from factseek.indexer.collections.jsonl import export_document
from factseek.indexer.lock import POLL_SECONDS
from factseek.indexer.queue import Change, Job, Mode, Queue, Work
from factseek.indexer.writer import ATTEMPTS, SLICE, Writer, put
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.documents import checksum
from factseek.settings import Config
from tests.indexer.conftest import Build, Write

LIMITS = (30.0, 1_000, 7.0)


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


@pytest.fixture
def writer(folder: Path) -> Writer:
    return Writer(folder, Config(), *LIMITS)


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"docid": f"n{number}", "text": f"Note {number}."} for number in range(start, start + count)
    ]


def leave(folder: Path, docid: str, text: str = "", **conditions: Any) -> int:
    document = Document(docid, text, language="en")
    put = {"line": export_document(document), "checksum": checksum(document)} if text else {}
    with Queue(folder) as queue:
        return queue.submit(Change(docid=docid, **put, **conditions))


def leave_bulk(folder: Path, documents: Sequence[dict[str, Any]], mode: Mode = "update") -> Job:
    with Queue(folder) as queue:
        return queue.submit_bulk(mode, [json.dumps(document).encode() for document in documents])


def result(folder: Path, number: int) -> str:
    with Queue(folder) as queue:
        found = queue.outcome(number)
    assert found is not None
    return found.result


def job_of(folder: Path, job: Job) -> Job:
    with Queue(folder) as queue:
        found = queue.job(job.id)
    assert found is not None
    return found


def found(folder: Path, query: str) -> list[str]:
    with Index(folder) as index:
        return [hit.docid for hit in index.search([query])[0]]


def until_done(writer: Writer, folder: Path, job: Job) -> Job:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not job_of(folder, job).ended:
        writer.work()
        time.sleep(0.05)
    return job_of(folder, job)


@contextmanager
def limited(limit: int, most: int) -> Iterator[None]:
    """Limit what this process may use, as a quota does, or a machine that others use as well."""
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


LARGE = [{"docid": "large", "text": "A wombat. " + "word " * 40_000}]
SHORT_OF = [
    (resource.RLIMIT_FSIZE, 50_000, "File too large"),
    (resource.RLIMIT_NOFILE, 0, "Too many open files"),  # 0 of those that are open already
]


def waits_for(folder: Path, work: Work) -> str:
    with Queue(folder) as queue:
        return queue.trouble(work)


@pytest.mark.parametrize(("limit", "most", "reason"), SHORT_OF)
def test_a_bulk_waits_for_what_the_machine_lacks(
    folder: Path, writer: Writer, limit: int, most: int, reason: str
) -> None:
    writer.work()  # opens the queue
    put(folder, [export_document(Document("warm", "Java runs.", language="en"))], Config())
    job = leave_bulk(folder, [*rows(SLICE), *LARGE])
    writer.work()
    with limited(limit, most or open_files() + 8):
        writer.work()
    waiting = job_of(folder, job)
    assert (waiting.handled, waiting.ended, waiting.error) == (SLICE, "", "")
    assert reason in waits_for(folder, "bulks")
    assert str(folder) not in waits_for(folder, "bulks")
    ended = until_done(writer, folder, job)
    assert (ended.state, ended.added, ended.error) == ("done", SLICE + 1, "")
    assert waits_for(folder, "bulks") == ""
    assert found(folder, "wombat") == ["large"]


def test_another_writer_goes_on_with_a_bulk_that_waited(folder: Path) -> None:
    job = leave_bulk(folder, LARGE)
    for _ in range(ATTEMPTS + 2):
        # The queue is a file too: the writer may not even store that it begins.
        limit = limited(resource.RLIMIT_FSIZE, 50_000)
        with closing(Writer(folder, Config(), *LIMITS)) as writer, suppress(MachineError), limit:
            writer.work()
    assert waits_for(folder, "bulks")
    with closing(Writer(folder, Config(), *LIMITS)) as writer:
        assert until_done(writer, folder, job).state == "done"


def test_a_change_waits_for_what_the_machine_lacks(folder: Path, writer: Writer) -> None:
    """While it waits, its client can withdraw it, and a bulk does not take it for made."""
    job = leave_bulk(folder, [{"docid": "b", "text": "A quokka."}])
    number = leave(folder, "b", "A wombat.")
    put(folder, [export_document(Document("warm", "Java runs.", language="en"))], Config())
    with limited(resource.RLIMIT_NOFILE, open_files() + 8):
        assert writer.work()
    # Who meets the limit first gives the reason: Python, SQLite or Lucene.
    assert waits_for(folder, "changes")
    with Queue(folder) as queue:
        assert queue.outcome(number) is None
        assert queue.withdraw(number)
    assert until_done(writer, folder, job).added == 1
    assert found(folder, "quokka") == ["b", "a"]


def test_what_gathered_is_published_once(folder: Path, writer: Writer) -> None:
    names = [
        leave(folder, "a", "A wombat."),
        leave(folder, "b", "A wombat too."),
        leave(folder, "c"),
    ]
    before = len(manifests.read(folder).segments)
    assert writer.work()
    assert [result(folder, name) for name in names] == ["replaced", "created", "absent"]
    assert len(manifests.read(folder).segments) == before + 1
    assert sorted(found(folder, "wombat")) == ["a", "b"]
    assert not writer.work()


def test_single_changes_go_before_a_bulk_and_between_its_slices(
    folder: Path, writer: Writer
) -> None:
    job = leave_bulk(folder, rows(2 * SLICE + 1))
    first = leave(folder, "b", "A wombat.")
    writer.work()
    assert (result(folder, first), job_of(folder, job).state) == ("created", "queued")
    writer.work()
    assert (job_of(folder, job).state, job_of(folder, job).handled) == ("running", SLICE)
    second = leave(folder, "c", "A wombat.")
    writer.work()
    assert (result(folder, second), job_of(folder, job).handled) == ("created", SLICE)
    assert writer.work()
    assert writer.work()
    ended = job_of(folder, job)
    assert (ended.state, ended.handled, ended.added) == ("done", 2 * SLICE + 1, 2 * SLICE + 1)


def test_another_writer_goes_on_where_one_died(folder: Path, writer: Writer) -> None:
    job = leave_bulk(folder, rows(SLICE + 1), "append")
    writer.work()
    # It dies after it has published the rest, before it can say so.
    put(folder, [export_document(Document(f"n{SLICE}", f"Note {SLICE}.", language="en"))], Config())
    another = Writer(folder, Config(), *LIMITS)
    assert another.work()
    ended = job_of(folder, job)
    assert (ended.state, ended.added, ended.unchanged, ended.handled) == (
        "done",
        SLICE,
        1,
        SLICE + 1,
    )


def test_a_job_at_which_writers_die_is_given_up(folder: Path) -> None:
    job = leave_bulk(folder, rows(SLICE + 1))
    job.attempts, job.state = ATTEMPTS, "running"
    with Queue(folder) as queue:
        queue.save(job)
    Writer(folder, Config(), *LIMITS).work()
    ended = job_of(folder, job)
    assert (ended.state, ended.error) == (
        "failed",
        (
            f"the writer died {ATTEMPTS} times at the same place: 0 of {SLICE + 1} documents "
            "were handled"
        ),
    )


def test_a_command_gets_its_turn_among_changes_without_end(folder: Path, writer: Writer) -> None:
    """Whoever waits for the lock looks often enough to get it in the longest pause."""
    pauses: list[float] = []

    def stopped(pause: float) -> bool:
        pauses.append(pause)
        leave(folder, "b", f"A note, state {len(pauses)}.")
        return pause > POLL_SECONDS or len(pauses) > 50

    writer.run(stopped)
    assert 0.0 in pauses
    assert max(pauses) > POLL_SECONDS
