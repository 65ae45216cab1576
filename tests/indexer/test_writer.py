"""The writer makes what waits: changes before bulks, bulks in slices, and goes on from where
another one died.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Document
from factseek.indexer.collections.jsonl import export_document
from factseek.indexer.lock import POLL_SECONDS
from factseek.indexer.queue import Change, Job, Mode, Queue
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
