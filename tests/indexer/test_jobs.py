"""Jobs are kept in the index directory, and forgotten in time."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from factseek.indexer import changes, jobs
from factseek.indexer.jobs import JOBS, MOST_REFUSALS
from factseek.indexer.overtaking import overtaken
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import repair, verify
from factseek.retrieval.errors import IndexStateError, MachineError
from factseek.settings import Config
from tests.indexer.conftest import Build, Write

pytestmark = pytest.mark.inner


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


def test_a_job_is_read_as_it_was_left(folder: Path) -> None:
    job = jobs.submit(folder, "append", [b'{"docid":"b"}', b"{}"])
    assert jobs.read(folder, job.id) == job
    assert jobs.payload(folder, job.id).read_bytes() == b'{"docid":"b"}\n{}\n'
    assert (job.state, job.documents, job.handled) == ("queued", 2, 0)


def test_jobs_wait_in_the_order_in_which_they_came(folder: Path) -> None:
    made = [jobs.submit(folder, "update", [b"{}"]) for _ in range(5)]
    assert jobs.waiting(folder) == [job.id for job in made]
    jobs.end(folder, made[0])
    jobs.end(folder, made[1], "the disk is full")
    assert jobs.waiting(folder) == [job.id for job in made[2:]]
    assert [jobs.read(folder, job.id).state for job in made[:3]] == ["done", "failed", "queued"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["", "../manifest", "0" * 24, "lock", "A" * 24])
def test_what_is_no_job_is_not_read(folder: Path, name: str) -> None:
    jobs.submit(folder, "append", [b"{}"])
    assert jobs.read(folder, name) is None


def test_without_an_index_nothing_is_left_or_made(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index any more"):
        jobs.submit(tmp_path / "none", "append", [b"{}"])
    assert not (tmp_path / "none").exists()
    jobs.remove_old(tmp_path / "none", most=1, days=1)
    assert jobs.waiting(tmp_path / "none") == []


def test_a_folder_that_cannot_be_made_is_said(folder: Path) -> None:
    (folder / JOBS).write_text("")
    with pytest.raises(MachineError):
        jobs.submit(folder, "append", [b"{}"])


def test_a_job_that_cannot_be_kept_leaves_nothing(folder: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(MachineError, match="File too large"):
            jobs.submit(folder, "append", [b"{}"])  # its documents fit, its record does not
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((folder / JOBS).iterdir()) == []


def test_refusals_are_counted_and_the_first_are_named(folder: Path) -> None:
    job = jobs.submit(folder, "append", [b"{}"])
    for item in range(MOST_REFUSALS + 5):
        job.refuse(item, "", "no")
    assert (job.refused, len(job.refusals)) == (MOST_REFUSALS + 5, MOST_REFUSALS)


def test_old_jobs_are_forgotten_and_waiting_ones_never(folder: Path) -> None:
    made = [jobs.submit(folder, "append", [b"{}"]) for _ in range(6)]
    for job in made[:5]:
        jobs.end(folder, job)
    age(folder / JOBS / f"{made[3].id}.json", 8)
    age(folder / JOBS / f"{made[5].id}.json", 8)
    left = folder / JOBS / "x.outcome"
    left.write_text("")
    jobs.remove_old(folder, most=3, days=7)
    assert [jobs.read(folder, job.id) is not None for job in made] == [False, False, True, False, True, True]
    assert left.exists()
    age(left, 1)
    jobs.remove_old(folder, most=3, days=7)
    assert not left.exists()


def test_whatever_looks_after_an_index_leaves_its_jobs_alone(folder: Path, tmp_path: Path) -> None:
    job = jobs.submit(folder, "append", [b"{}"])
    assert verify(folder, Config()).all_faults == []
    assert repair(folder, Config()).left == []
    snapshot(folder, tmp_path / "copy")
    assert not (tmp_path / "copy" / JOBS).exists()
    restore(tmp_path / "copy", folder, Config(), overwrite=True)
    assert jobs.waiting(folder) == [job.id]


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'{"id": "\xff"}', b'{"x": ' + b"[" * 100_000])
def test_records_that_were_damaged_are_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    job = jobs.submit(tmp_path, "update", [b"{}"])
    (tmp_path / jobs.JOBS / f"{job.id}.json").write_bytes(content)
    assert jobs.read(tmp_path, job.id) is None
    (tmp_path / jobs.JOBS / f"{'f' * 24}.change").write_bytes(content)
    assert changes.take_waiting(tmp_path, 10, 30.0) == []
    (tmp_path / jobs.JOBS / jobs.LEDGER).write_bytes(content)
    assert overtaken(tmp_path, job.id) == set()
