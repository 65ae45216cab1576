"""A writer that runs for long holds nothing open, and one that can do nothing any more makes way for another."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.indexer.deletion import delete
from factseek.indexer.lock import locked
from factseek.indexer.queue import FILE, JOBS, Queue, waits
from factseek.indexer.writer import FAILURES, TROUBLED_EVERY, Writer
from factseek.retrieval.domain import Filter
from factseek.settings import Config, convert
from tests.indexer.conftest import Build, Write
from tests.indexer.test_writer import LIMITS, leave, leave_bulk, rows

pytestmark = pytest.mark.inner


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave alone what only the garbage collector would close."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def held_open(folder: Path) -> list[str]:
    """Return the files of an index, but for its queue, that this process holds open, deleted ones too."""
    names = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            names.append(str(descriptor.readlink()))
        except FileNotFoundError:
            continue
    return sorted(name for name in names if name.startswith(str(folder)) and FILE not in name)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list what is open")
def test_nothing_stays_open_after_a_change(folder: Path, no_collector: None) -> None:
    writer = Writer(folder, convert({"index": {"max_segments": 3}}, "test"), LIMITS)
    for number in range(6):
        leave(folder, f"b{number}", "A wombat.")
        writer.work()
        leave(folder, "a" if number == 3 else f"b{number - 1}")
        writer.work()
        assert held_open(folder) == []
    leave_bulk(folder, rows(3))
    while writer.work():
        pass
    assert held_open(folder) == []
    delete(folder, ["n1"], where=Filter(source=("x",)))
    assert held_open(folder) == []


def test_a_writer_to_which_nothing_succeeds_ends(folder: Path) -> None:
    """Another, which has what this one lacks, takes over."""
    (folder / JOBS).mkdir()
    (folder / JOBS / "batch").mkdir()  # no batch can be written
    pauses: list[float] = []

    def stopped(pause: float) -> bool:
        pauses.append(pause)
        leave(folder, f"b{len(pauses)}", "A wombat.")
        return len(pauses) > 10 * FAILURES

    Writer(folder, Config(), LIMITS).run(stopped)
    assert len(pauses) == FAILURES
    (folder / JOBS / "batch").rmdir()
    assert not waits(folder) or Writer(folder, Config(), LIMITS).work()


def test_a_success_between_failures_counts(folder: Path) -> None:
    (folder / JOBS).mkdir()
    pauses: list[float] = []

    def stopped(pause: float) -> bool:
        pauses.append(pause)
        batch = folder / JOBS / "batch"
        if len(pauses) % 3 == 0:
            batch.rmdir()
        elif not batch.exists():
            batch.mkdir()
        leave(folder, f"b{len(pauses)}", "A wombat.")
        return len(pauses) > 3 * FAILURES

    Writer(folder, Config(), LIMITS).run(stopped)
    assert len(pauses) > 3 * FAILURES


def test_a_folder_that_cannot_be_read_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more_files(_: Queue) -> bool:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Queue, "changes_wait", no_more_files)
    pauses: list[float] = []
    Writer(folder, Config(), LIMITS).run(lambda pause: pauses.append(pause) or len(pauses) > 10 * FAILURES)
    assert pauses == [0.0, *[TROUBLED_EVERY] * (FAILURES - 1)]


def test_waiting_for_another_writer_is_no_failure(folder: Path) -> None:
    leave(folder, "b")
    pauses: list[float] = []
    with locked(folder):
        Writer(folder, Config(), LIMITS).run(lambda pause: pauses.append(pause) or len(pauses) > 3 * FAILURES)
    assert len(pauses) > 3 * FAILURES
