"""Kills of what changes an index, while it is searched: what is left is the state before or the one after, whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from benchmarks.cluster_kills.kills import Killed, WrongAnswerError
from benchmarks.cluster_kills.processes import builder_of
from benchmarks.cluster_kills.searching import MOST_SECONDS, SearchLoad, expected, opened_on, settings
from factseek.indexer.verification import verify
from factseek.retrieval.shards import layout
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "examples" / "snippets-en.tsv"
APPENDED = 1_500
CONFIG = "cluster: {cpus: 0.1}\nindex: {segment_passages: 100, max_segments: 50}\n"


class Written(NamedTuple):
    """The number of shards of an index, and of its documents."""

    shards: int
    documents: int


class KilledWriters:
    """Changes an index under load by commands that are killed."""

    def __init__(self, index: Path, nodes: Any, load: SearchLoad, opened: ExitStack, chance: random.Random) -> None:
        """Change ``index``, which ``load`` searches on the cluster of ``nodes``; ``opened`` closes what is opened."""
        self._index = index
        self._nodes = nodes
        self._load = load
        self._opened = opened
        self._chance = chance
        self._config = index.with_name("config.yaml")
        self._config.write_text(CONFIG)

    def writer_killed(self) -> Killed:
        """Kill a command that deletes or updates."""
        docid = f"EX-EN-01-{self._chance.randrange(1, 9):04d}-001"
        arguments = self._chance.choice((["delete", docid], ["index", "snippets", str(SOURCE), "--update"]))
        return self._left("writer", arguments, self._chance.uniform(1.0, 6.0))

    def reshard_killed(self) -> Killed:
        """Kill a command that divides the index anew, and say it again."""
        before = written(self._index)
        shards = self._chance.choice([number for number in (2, 3, 4) if number != before.shards])
        arguments = ["reshard", "--shards", str(shards)]
        killed = self._left("reshard", arguments, self._chance.uniform(1.0, 5.0))
        self._check_written(arguments, before, before._replace(shards=shards))
        self._said_again(arguments, before._replace(shards=shards))
        return killed

    def append_killed(self) -> Killed:
        """Kill a command that appends by the cluster, and say it again."""
        before, arguments = written(self._index), self._appending()
        after = before._replace(documents=before.documents + APPENDED)
        killed = self._left("append", arguments, self._chance.uniform(1.0, 9.0))
        self._check_written(arguments, before, after)
        self._said_again(arguments, after)
        return killed

    def appender_killed(self) -> Killed:
        """Kill a process that appends to a shard: the command goes on with another one."""
        before, arguments = written(self._index), self._appending()
        shard = self._chance.choice(layout.read(self._index).shards).folder(self._index)
        state = expected(self._index)
        self._load.counts.clear()
        with self._running(arguments) as command:
            victim = builder_of(shard)
            sleep(self._chance.uniform(0.0, 3.0))
            began = monotonic()
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            if command.wait(MOST_SECONDS):
                raise WrongAnswerError(f"{arguments} ended with {command.returncode}")
        killed = self._opened_again("appender", state, began, seconds=monotonic() - began)
        self._check_written(arguments, before._replace(documents=before.documents + APPENDED))
        return killed

    def _appending(self) -> list[str]:
        """Return the command that appends documents which are not there yet."""
        mark = f"{self._chance.randrange(10**9):09d}"
        source = self._index.with_name(f"appended-{mark}.jsonl")
        lines = (json.dumps({"docid": f"a{mark}-{i}", "text": f"measles text {i} of many"}) for i in range(APPENDED))
        source.write_text("\n".join(lines) + "\n", "utf-8")
        return ["index", "jsonl", str(source), "--append", "--ray", self._nodes.address]

    def _left(self, what: str, arguments: Sequence[str], seconds: float) -> Killed:
        """Kill a command after so long, and open what it left."""
        before = expected(self._index)
        self._load.counts.clear()
        with self._running(arguments) as command, suppress(subprocess.TimeoutExpired):
            command.wait(seconds)
        return self._opened_again(what, before, monotonic())

    def _opened_again(self, what: str, before: dict[str, Any], began: float, seconds: float = 0.0) -> Killed:
        """Open the index anew, and wait until the load is answered from it; ``seconds`` of it count, if they are known.

        Raises WrongAnswerError if an answer was neither that of the state ``before`` nor that of the one after.
        """
        load = self._load
        load.check(before)
        load.turn_to(opened_on(self._index, settings(self._nodes, 1), self._opened))
        after = expected(self._index)
        while load.last != after:
            if load.error is not None or monotonic() - began > MOST_SECONDS:
                raise load.error or WrongAnswerError(f"{what}: {load.last}, not {after}")
            sleep(0.05)
        seconds = seconds or monotonic() - began
        load.check(before, after)
        if faults := verify(self._index, Config()).faults:
            raise WrongAnswerError(str(faults))
        return Killed(what, load.counts["answers"], load.counts["partial"], seconds=seconds)

    def _said_again(self, arguments: Sequence[str], after: Written) -> None:
        """Say a command again, which must succeed, and search what it made."""
        before = expected(self._index)
        with self._running(arguments) as command:
            if command.wait(MOST_SECONDS):
                raise WrongAnswerError(f"{arguments}, said again, ended with {command.returncode}")
        self._opened_again("said again", before, monotonic())
        self._check_written(arguments, after)

    def _check_written(self, arguments: Sequence[str], *states: Written) -> None:
        there = written(self._index)
        if there not in states:
            raise WrongAnswerError(f"{arguments} left {there}, not one of {states}")

    @contextmanager
    def _running(self, arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command on the index; kill it at the end."""
        options = ["--index", str(self._index), "--config", str(self._config)]
        command = [sys.executable, "-m", "factseek", *arguments, *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait(MOST_SECONDS)


def written(index: Path) -> Written:
    """Return how many shards an index has, and how many documents."""
    shards = layout.read(index)
    return Written(len(shards.shards), shards.merged.documents)
