"""Watching: files are read when they have settled, once for each state, and one bad file stops no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factseek import commands
from factseek.indexer.build import BuildRequest
from factseek.indexer.collections import kinds
from factseek.indexer.export import export
from factseek.indexer.lock import locked
from factseek.indexer.watch_cli import _kind_of
from factseek.indexer.watching import Watch, Watched, WatchOutcome, check, watch
from factseek.retrieval.errors import SourceError
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert
from tests.indexer.collections.test_contract import source_of
from tests.indexer.test_compaction import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    return path


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def watching(
    folder: Path, kind: str = "jsonl", pattern: str = "*", clock: Callable[[], float] = time.monotonic, **settings: Any
) -> Watch:
    request = BuildRequest(kind=kind, sources=(), folder=folder.parent / "index", dense=False)
    config = convert({"watch": {"settle_seconds": 0, **settings}}, "test")
    return Watch(Watched(folder=folder, request=request, pattern=pattern), config, clock)


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
    assert (changed.report.documents, changed.report.replaced, changed.report.duplicates) == (2, 1, 1)
    (folder / "a.jsonl").unlink()
    (gone,) = looked(watch)
    assert (
        gone.error
        == f"{folder / 'a.jsonl'}: no longer exists; its documents stay in the index; remove them with factseek delete"
    )
    assert looked(watch) == []
    assert texts(tmp_path / "index") == {"a": "Measles.", "b": "Changed.", "c": "Measles."}
    again = watching(folder)  # a new start reads all, and finds nothing new
    (outcome,) = looked(again)
    assert outcome.report
    assert (outcome.report.documents, outcome.report.duplicates) == (0, 3)


def test_batches_are_bounded_and_stop(folder: Path) -> None:
    for i in range(5):
        write(folder, f"{i}.jsonl", rows(f"d{i}"))
    watch = watching(folder, batch_files=2)
    watch.look()
    stops = iter([False, False, True])
    assert names(list(watch.batches(lambda: next(stops)))) == [["0.jsonl", "1.jsonl"], ["2.jsonl", "3.jsonl"]]
    assert names(looked(watch)) == [["4.jsonl"]]


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


def test_a_bad_file_stops_no_other_and_is_read_again_when_mended(folder: Path, tmp_path: Path) -> None:
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
    for name in (".hidden.jsonl", "a.jsonl.part", "b.jsonl~", "notes.txt"):
        write(folder, name, rows("x"))
    (folder / "empty.jsonl").touch()
    (folder / ".git").mkdir()
    write(folder / ".git", "x.jsonl", rows("x"))
    assert looked(watching(folder, pattern="*.jsonl")) == []


@pytest.mark.parametrize("kind", ["jsonl", "webpages"])
def test_what_is_no_regular_file_is_named_once_and_never_opened(folder: Path, kind: str) -> None:
    suffix = {"jsonl": ".jsonl", "webpages": ".txt"}[kind]
    content = {"jsonl": '{"docid": "a", "text": "Measles."}\n', "webpages": "Measles.\n"}[kind]
    (folder / f"a{suffix}").write_text(content, "utf-8")
    os.mkfifo(folder / f"pipe{suffix}")
    (folder / f"ring{suffix}").symlink_to(folder / f"ring{suffix}")
    watch = watching(folder, kind, pattern=f"*{suffix}")
    *left_out, read = looked(watch)
    assert [outcome.error for outcome in left_out] == [
        f"{folder / f'{name}{suffix}'}: is not a regular file; it is left out" for name in ("pipe", "ring")
    ]
    assert read.report
    assert read.report.documents == 1
    assert looked(watch) == []


@pytest.mark.parametrize("kind", kinds())
def test_a_loop_of_links_ends_no_watch(folder: Path, kind: str) -> None:
    source = source_of(kind)
    for name, text in source.files.items():
        (folder / name).write_text(text, "utf-8")
    loop = source.pipe or "a" + next(iter(source.files))
    (folder / loop).symlink_to(f"{loop}.2")
    (folder / f"{loop}.2").symlink_to(loop)
    (folder / "again").symlink_to(folder)
    watch = watching(folder, kind, pattern=f"*{Path(loop).suffix}")
    errors = [outcome.error for outcome in looked(watch) if outcome.files == (folder / loop,)]
    assert errors == [f"{folder / loop}: is not a regular file; it is left out"]
    assert looked(watch) == []


@pytest.mark.parametrize("named", ["in", "./in", "../{0}/in", "link"])
def test_a_folder_may_be_named_in_any_way(
    folder: Path, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("in")
    write(folder, "a.jsonl", rows("a"))
    path, stop = Path(named.format(tmp_path.name)), threading.Event()
    request = BuildRequest(kind="jsonl", sources=(), folder=Path("index"), dense=False)
    config = convert({"watch": {"settle_seconds": 0}}, "test")
    outcomes = watch(Watched(folder=path, request=request), config, stop)
    assert next(outcomes).files == (path / "a.jsonl",)
    write(folder, "b.jsonl", rows("b"))
    (folder / "below").mkdir()
    assert next(outcomes).files == (path / "b.jsonl",)
    stop.set()
    assert list(outcomes) == []


def test_while_another_writes_files_wait(folder: Path, tmp_path: Path) -> None:
    write(folder, "a.jsonl", rows("a"))
    clock = Clock()
    watch = watching(folder, clock=clock)
    with locked(tmp_path / "index"):
        (outcome,) = looked(watch)
    assert "is being written by process" in outcome.error
    assert looked(watch) == []  # not at once again
    clock.now += 5
    assert names(looked(watch)) == [["a.jsonl"]]


def test_pages_are_read_with_their_folder(folder: Path, tmp_path: Path) -> None:
    """Two pages of one name in different folders are two documents."""
    page = "<html><head><title>{0}</title></head><body><p>{0} is a long sentence about measles.</p></body></html>"
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(page.format(name), "utf-8")
    (outcome,) = looked(watching(folder, "webpages"))
    assert outcome.report
    assert outcome.report.documents == 2
    assert set(texts(tmp_path / "index")) == {"one/index", "two/index"}


@pytest.mark.parametrize("bad", ["missing", "inside"])
def test_what_cannot_be_watched(folder: Path, bad: str) -> None:
    index = folder / "index" if bad == "inside" else folder.parent / "index"
    request = BuildRequest(kind="jsonl", sources=(), folder=index)
    place = folder if bad == "inside" else folder / "missing"
    said = {
        "missing": f"{place}: there is no such folder to watch",
        "inside": f"{index}: lies in the folder {folder} that is watched; put the index somewhere else",
    }
    with pytest.raises(SourceError) as error:
        check(Watched(folder=place, request=request))
    assert str(error.value) == said[bad]


def test_the_kind_is_that_of_the_index_or_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = str(tmp_path / "index")
    assert commands.main(["watch", str(folder), "--index", index]) == 2
    said = f"factseek: name the kind of the files with --kind: there is nothing in {index} yet; the kinds are beir, "
    assert capsys.readouterr().err.startswith(said)
    assert commands.main(["watch", str(folder), "--index", index, "--kind", "tweets"]) == 2
    assert "factseek: unknown kind of source 'tweets'; the kinds are " in capsys.readouterr().err
    write(folder, "a.jsonl", rows("a"))
    looked(watching(folder))
    table = tmp_path / "snippets.tsv"
    table.write_text("T1-0001-001\tA snippet.\n", "utf-8")
    assert _kind_of(tmp_path / "index") == "jsonl"
    assert commands.main(["index", "snippets", str(table), "--index", index, "--append"]) == 0
    capsys.readouterr()
    assert commands.main(["watch", str(folder), "--index", index]) == 2
    said = f"factseek: name the kind of the files with --kind: the index {index} holds jsonl, snippets; the kinds are "
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.real
def test_the_command_reads_what_appears_and_stops_cleanly(folder: Path, tmp_path: Path) -> None:
    write(folder, "a.jsonl", rows("a"))
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"watch": {"settle_seconds": 0.1}}), "utf-8")
    index = tmp_path / "index"
    options = ["--index", str(index), "--no-dense", "--config", str(config)]
    command = ["watch", str(folder), "--kind", "jsonl", *options]
    running = subprocess.Popen(
        [sys.executable, "-m", "factseek", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    bound = threading.Timer(60, running.kill)
    bound.start()
    try:
        assert running.stdout
        assert running.stdout.readline() == f"{index}: added 1 document from 1 file\n"
        write(folder, "b.jsonl", rows("b", "c"))
        assert running.stdout.readline() == f"{index}: added 2 documents from 1 file\n"
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    finally:
        bound.cancel()
        running.kill()
    assert (running.returncode, out) == (0, "")
    assert err.splitlines() == [f"watching {folder}; Ctrl-C stops", "stopped"]
    assert manifests.read(index).documents == 3
