"""Watching: files are read when they have settled, once for each state, and one bad file stops no
other.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factseek.core.errors import UserError
from factseek.indexer.build import BuildRequest
from factseek.indexer.export import export
from factseek.indexer.watching import Watch, WatchOutcome, check
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert
from tests.indexer.test_compaction import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    return path


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def watching(
    folder: Path,
    kind: str = "jsonl",
    pattern: str = "*",
    clock: Callable[[], float] = time.monotonic,
    **settings: Any,
) -> Watch:
    request = BuildRequest(
        kind=kind, sources=(folder,), folder=folder.parent / "index", dense=False
    )
    config = convert({"watch": {"settle_seconds": 0, **settings}}, "test")
    return Watch(request, config, pattern, clock)


def looked(watch: Watch) -> list[WatchOutcome]:
    watch.look()
    return list(watch.batches())


def rows(*docids: str, text: str = "Measles.") -> list[dict[str, str]]:
    return [{"docid": docid, "text": text} for docid in docids]


def texts(index: Path) -> dict[str, str]:
    return {row["docid"]: row["text"] for row in map(json.loads, export(index, None))}


def names(outcomes: list[WatchOutcome]) -> list[list[str]]:
    return [[path.name for path in outcome.files] for outcome in outcomes]


def test_files_are_read_once_and_again_when_they_change(folder: Path, tmp_path: Path) -> None:
    watch = watching(folder)
    assert looked(watch) == []
    write(folder, "b.jsonl", rows("b"))
    write(folder, "a.jsonl", rows("a"))
    assert names(looked(watch)) == [["a.jsonl", "b.jsonl"]]
    assert looked(watch) == []
    (folder / "below").mkdir()
    write(folder / "below", "c.jsonl", rows("c", "a"))
    write(folder, "b.jsonl", rows("b", text="Changed."))
    (changed,) = looked(watch)
    assert [path.name for path in changed.files] == ["b.jsonl", "c.jsonl"]
    assert changed.report
    assert (changed.report.documents, changed.report.replaced, changed.report.duplicates) == (
        2,
        1,
        1,
    )
    (folder / "a.jsonl").unlink()
    (gone,) = looked(watch)
    assert (
        gone.error
        == f"{folder / 'a.jsonl'}: no longer exists; its documents stay in the index; remove them "
        "with factseek delete"
    )
    assert looked(watch) == []
    assert texts(tmp_path / "index") == {"a": "Measles.", "b": "Changed.", "c": "Measles."}
    again = watching(folder)  # a new start reads all, and finds nothing new
    (outcome,) = looked(again)
    assert outcome.report
    assert (outcome.report.documents, outcome.report.duplicates) == (0, 3)


def test_a_file_that_is_being_written_waits(folder: Path) -> None:
    path, clock = write(folder, "a.jsonl", rows("a")), Clock()
    watch = watching(folder, clock=clock, settle_seconds=3)
    assert looked(watch) == []
    clock.now += 2
    write(folder, "a.jsonl", rows("a", "b"))
    assert looked(watch) == []
    clock.now += 2
    assert looked(watch) == []
    clock.now += 1
    assert names(looked(watch)) == [[path.name]]


def test_a_bad_file_stops_no_other_and_is_read_again_when_mended(
    folder: Path, tmp_path: Path
) -> None:
    write(folder, "a.jsonl", rows("a"))
    (folder / "b.jsonl").write_text("not json\n", "utf-8")
    write(folder, "c.jsonl", rows("c"))
    watch = watching(folder)
    outcomes = looked(watch)
    assert names(outcomes) == [["a.jsonl"], ["b.jsonl"], ["c.jsonl"]]
    assert outcomes[1].error == (
        f"{folder / 'b.jsonl'}:1: is not JSON (column 1: expecting value); "
        "fix it, or skip bad lines with --skip-bad-lines N"
    )
    assert set(texts(tmp_path / "index")) == {"a", "c"}
    assert looked(watch) == []
    write(folder, "b.jsonl", rows("b"))
    assert names(looked(watch)) == [["b.jsonl"]]
    assert set(texts(tmp_path / "index")) == {"a", "b", "c"}


def test_what_is_not_read(folder: Path) -> None:
    for name in (".hidden.jsonl", "~$x.jsonl", "a.jsonl.part", "b.jsonl~", "notes.txt"):
        write(folder, name, rows("x"))
    (folder / "empty.jsonl").touch()
    (folder / ".git").mkdir()
    write(folder / ".git", "x.jsonl", rows("x"))
    assert looked(watching(folder, pattern="*.jsonl")) == []


def test_links_that_lead_out_of_the_folder_are_noted_once(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside, "secret.jsonl", rows("secret"))
    write(folder, "a.jsonl", rows("a"))
    (folder / "link.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "linked").symlink_to(outside)
    watch = watching(folder)
    outcomes = looked(watch)
    assert [outcome.error for outcome in outcomes if outcome.error] == [
        f"{folder}/linked: is a link to a folder outside the folder; it is left out",
        f"{folder}/link.jsonl: is a link to a file outside the folder; it is left out",
    ]
    watch.look([folder / "linked" / "secret.jsonl"])  # as the system's events name it
    assert [outcome.error for outcome in watch.batches()] == [
        f"{folder}/linked/secret.jsonl: is a link to a file outside the folder; it is left out"
    ]
    assert looked(watch) == []
    (folder / "a.jsonl").unlink()
    (folder / "a.jsonl").symlink_to(outside / "secret.jsonl")
    assert [outcome.report for outcome in looked(watch)] == [None]
    assert set(texts(tmp_path / "index")) == {"a"}


@pytest.mark.parametrize("bad", ["missing", "inside", "sharded"])
def test_what_cannot_be_watched(folder: Path, bad: str) -> None:
    index = folder / "index" if bad == "inside" else folder.parent / "index"
    place = folder / "missing" if bad == "missing" else folder
    said = {
        "missing": f"{place}: there is no such folder to watch",
        "inside": f"{index}: lies in the watched folder {folder}; put the index somewhere else",
        "sharded": f"{index}: is a sharded index, which this command does not support; factseek "
        "unshard turns it "
        "into an index without shards",
    }
    if bad == "sharded":
        index.mkdir()
        (index / "shards.json").touch()
    with pytest.raises(UserError) as error:
        check(BuildRequest(kind="jsonl", sources=(place,), folder=index), Config())
    assert str(error.value) == said[bad]


@pytest.mark.real
def test_the_command_reads_what_appears_and_stops_cleanly(folder: Path, tmp_path: Path) -> None:
    write(folder, "a.jsonl", rows("a"))
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"watch": {"settle_seconds": 0.1}}), "utf-8")
    index = tmp_path / "index"
    options = ["--index", str(index), "--no-dense", "--config", str(config)]
    command = ["watch", str(folder), "--kind", "jsonl", *options]
    running = subprocess.Popen(
        [sys.executable, "-m", "factseek", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    bound = threading.Timer(60, running.kill)
    bound.start()
    try:
        assert running.stdout
        assert running.stdout.readline() == f"{index}: added 1 document from 1 file\n"
        write(folder, "b.jsonl", [rows("b")[0] | {"date": "someday"}, *rows("c")])
        assert running.stdout.readline() == f"{index}: added 2 documents from 1 file\n"
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    finally:
        bound.cancel()
        running.kill()
    assert (running.returncode, out) == (0, "")
    place = f"{folder}/b.jsonl:1"
    note = (
        f"note: 1 date is not understood: 'someday' ({place}); to filter by date, write YYYY-MM-DD"
    )
    assert err.splitlines() == [f"watching {folder}; press Ctrl-C to stop", note, "stopped"]
    assert manifests.read(index).documents == 3
