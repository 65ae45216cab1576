"""Stopped verbs: what is left is the state before or after, and the verb goes through when it is
repeated.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from factseek.cluster import layout
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.opening import leased
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from tests.cluster.verbs import verify
from tests.indexer.verbs import BEFORE, CONFIG, VERBS, State

ROOT = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL


class Stopped(NamedTuple):
    """How a process ended: its exit code, what it said of an error, how many calls it made if it
    came to its end.

    ``seconds`` is what it took from its first call on.
    """

    code: int
    said: str
    calls: int
    seconds: float


class Bench:
    """A folder with an index, copied for each trial, and a server of processes that can be
    stopped.
    """

    def __init__(self, folder: Path, server: subprocess.Popen[str]) -> None:
        self._base = folder / "base"
        self._trial = folder / "trial"
        self._server = server

    @property
    def trial(self) -> Path:
        return self._trial

    def begin(self) -> None:
        shutil.rmtree(self._trial, ignore_errors=True)
        shutil.copytree(self._base, self._trial)

    def run(self, verb: str, at: int = 0, how: str = "kill", after: float | None = None) -> Stopped:
        """Do a verb in a process of its own that fails at a call, or is killed after so many
        seconds.
        """
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps([verb, str(self._trial), at, how]) + "\n")
        self._server.stdin.flush()
        ready, pid = self._server.stdout.readline().split()
        assert ready == "ready"
        began = time.perf_counter()
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        code = int(self._server.stdout.readline())
        return Stopped(
            code, self._read("said"), int(self._read("calls") or 0), time.perf_counter() - began
        )

    def _read(self, name: str) -> str:
        path = self._trial / name
        return path.read_text("utf-8") if path.exists() else ""

    def check(self, verb: str) -> bool:
        """Check what a stopped verb left, then do it again; say whether the first had already been
        published.
        """
        done = whole(self._trial / "index", BEFORE, VERBS[verb].after)
        snap = self._trial / "snap"
        if snap.exists():
            whole(snap, BEFORE)
        if verb != "snapshot" or not snap.exists():
            VERBS[verb].run(self._trial)
        whole(self._trial / "index", VERBS[verb].after)
        if snap.exists():
            whole(snap, BEFORE)
        self._check_tidy(verb)
        assert not [path.name for path in self._trial.iterdir() if path.name.startswith(".")]
        return done

    def _check_tidy(self, verb: str) -> None:
        """Check that nothing is left in the folder that is not of the index."""
        index = self._trial / "index"
        if layout.is_sharded(index):
            left = {path.name for path in index.iterdir()} - {"lock"}
            assert left == {"shards.json", *(shard.path for shard in layout.read(index).shards)}, (
                left
            )
        with leased(index) as parts:
            for part, manifest in parts:
                left = {path.name for path in part.iterdir()} - {"lock", "part-of"}
                assert left == {"manifest.json", "segments"}, left
                there = {path.name for path in (part / "segments").iterdir()}
                live = {segment.name for segment in manifest.segments}
                assert verb == "snapshot" or there == live, there - live
                assert manifests.read(part) == manifest


def whole(folder: Path, *states: State) -> bool:
    verified = verify(folder, CONFIG)
    assert verified.faults == []
    with open_index(folder, CONFIG) as index:
        found = {document.docid: document.text for document in index.documents()}
        assert found in states
        hits = index.search(["measles"], Search(k=400, retriever="bm25"))[0]
        assert {hit.docid for hit in hits} == {
            docid for docid, text in found.items() if "measles" in text
        }
    return found == states[-1]


@contextmanager
def bench(folder: Path, shards: int = 0) -> Iterator[Bench]:
    from tests.indexer.verbs import prepare

    (folder / "base").mkdir()
    prepare(folder / "base", shards)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.indexer.verbs"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Bench(folder, server)
    finally:
        assert server.stdin
        assert server.stdout
        server.stdin.close()
        server.wait(30)
        server.stdout.close()


def kill_at_random(
    of: Bench, verb: str, seconds: float, chance: random.Random
) -> tuple[bool, bool]:
    of.begin()
    stopped = of.run(verb, after=chance.uniform(0, seconds))
    assert stopped.code in (0, KILLED), stopped
    return stopped.code == KILLED, of.check(verb)


def duration(of: Bench, verb: str) -> float:
    of.begin()
    stopped = of.run(verb)
    assert stopped.code == 0
    return stopped.seconds


def stop_at(of: Bench, verb: str, call: int, how: str) -> Stopped:
    """Stop a verb at one of its calls to the file system, and check what it left."""
    of.begin()
    stopped = of.run(verb, at=call, how=how)
    if how == "kill":
        assert stopped.code == KILLED, stopped
    else:
        # What only tidies up may fail without a word; everything else says so in a line.
        assert stopped.code in (0, 2), stopped
    of.check(verb)
    return stopped
