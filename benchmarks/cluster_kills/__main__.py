"""Kills on a cluster: shards, nodes, writers and builders die at random moments, and no answer may be wrong.

``python -m benchmarks.cluster_kills --rounds 20`` divides the bundled example into three shards on a Ray cluster of
three nodes of this machine. A round is ten kills: four times the process of a shard that has no replica, and four times
a command that changes the index, while searches come all the time; once a node, where each shard has a replica; and
once a process or a node that builds an index. Every answer is compared: it has the hits of the state before or after,
all of them, or names the shards that it lacks, or is refused. Every index that was
changed or built is checked as ``factseek verify-index`` checks it. It ends with an error at the first thing that is
wrong. The counts, and the seconds until all shards answered again, are written into ``docs/scaling.md``; interrupted
and run again, it goes on after the rounds that are done.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from benchmarks.cluster import DOCUMENT, three_nodes
from benchmarks.marked import replace_marked
from factseek.cluster.building.workplace import ClusterWorkplace
from factseek.cluster.opening import open_index as open_on_cluster
from factseek.cluster.replicas import ShardLostError
from factseek.cluster.settings import ClusterSettings
from factseek.cluster.status import replicas_of, stop
from factseek.eval.reports.page import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.verification import verify
from factseek.retrieval.encoders.shared import SharedEncoders
from factseek.retrieval.files import write_atomically
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say
from factseek.settings import Config, convert

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "cluster_kills.json"
SOURCE = ROOT / "examples" / "snippets-en.tsv"
QUERIES = ("vaccines cause autism", "measles vaccine", "sea level", "climate change is a hoax")
ASKED = Search(k=10, retriever="bm25")
SHARDS = 3
SEED = 16
PROCESSES = WRITERS = 4
MOST_SECONDS = 300.0
DOCUMENTS_BUILT = 5_000
BUILT = convert({"index": {"segment_passages": 300}}, "benchmark")


class Killed(msgspec.Struct):
    """A kill: what was killed, the answers meanwhile, those that said that they lack something, and the seconds."""

    what: str
    answers: int = 0
    partial: int = 0
    seconds: float = 0.0


class WrongAnswerError(Exception):
    """An answer, or an index, that is neither of the state before nor of that after, and does not say so."""


class SearchLoad:
    """Searches all the time, in a thread, and keeps each answer that differs from those before."""

    def __init__(self, index: Searcher) -> None:
        self._index = index
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.counts: Counter[str] = Counter()
        self.whole: dict[str, list[Any]] = {query: [] for query in QUERIES}
        self.last: dict[str, Any] = {}
        self.error: BaseException | None = None

    def __enter__(self) -> SearchLoad:
        """Begin to search."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and raise what went wrong."""
        self._ending.set()
        self._thread.join(MOST_SECONDS)
        if self.error is not None:
            raise self.error

    def turn_to(self, index: Searcher) -> None:
        """Search ``index`` from the next query on."""
        self._index = index
        self.last = {}

    def check(self, *states: dict[str, Any]) -> None:
        """Raise WrongAnswerError if a whole answer was that of none of these states; forget the answers."""
        whole, self.whole = self.whole, {query: [] for query in QUERIES}
        for query, answers in whole.items():
            wrong = [answer for answer in answers if all(answer != state[query] for state in states)]
            if wrong:
                raise WrongAnswerError(f"{query}: {wrong[0]}")

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                for query in QUERIES:
                    self._ask(query)
        except BaseException as error:  # noqa: BLE001  it is raised where the load ends
            self.error = error

    def _ask(self, query: str) -> None:
        began = monotonic()
        self.counts["answers"] += 1
        try:
            hits = self._index.search([query], ASKED)[0]
        except ShardLostError:  # a server answers 503
            self._lacking()
            return
        missing = self._index.missing_since(began)
        if not missing:
            self.last = {**self.last, query: hits}
            if hits not in self.whole[query]:
                self.whole[query].append(hits)
            return
        self._lacking()

    def _lacking(self) -> None:
        self.counts["partial"] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill as often as is asked for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args(arguments).rounds
    done = msgspec.json.decode(KEPT.read_bytes(), type=list[list[Killed]]) if KEPT.is_file() else []
    with tempfile.TemporaryDirectory() as folder, three_nodes() as nodes:
        place = Path(folder)
        request = BuildRequest(kind="snippets", sources=(SOURCE,), folder=place / "index", shards=SHARDS, dense=False)
        build(request, Config())
        lines = (json.dumps({"docid": f"d{i}", "text": f"text {i} of many"}) for i in range(DOCUMENTS_BUILT))
        (place / "many.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        for number in range(len(done), rounds):
            chance = random.Random(SEED + number)  # noqa: S311
            done.append(round_of_kills(place, nodes, chance))
            KEPT.parent.mkdir(exist_ok=True)
            write_atomically(KEPT, msgspec.json.encode(done))
            say(f"benchmarks.cluster_kills: {number + 1} of {rounds}: {done[-1]}")
    replace_marked(DOCUMENT, "kills", table([killed for each in done for killed in each]))
    return 0


def round_of_kills(folder: Path, nodes: Any, chance: random.Random) -> list[Killed]:
    """Kill ten times, and return what came of it."""
    index = folder / "index"
    killed: list[Killed] = []
    with ExitStack() as opened, SearchLoad(opened_on(index, settings(nodes, 1), opened)) as load:
        killed += [process_killed(index, settings(nodes, 1), load, chance) for _ in range(PROCESSES)]
        killed += [writer_killed(index, settings(nodes, 1), load, chance, opened) for _ in range(WRITERS)]
    with ExitStack() as opened, SearchLoad(opened_on(index, settings(nodes, 2), opened)) as load:
        killed.append(node_killed(index, nodes, load, chance))
    stop(index, settings(nodes, 2))
    renew(nodes)
    killed.append(builder_killed(folder, nodes, chance))
    renew(nodes)
    return killed


def process_killed(index: Path, cluster: ClusterSettings, load: SearchLoad, chance: random.Random) -> Killed:
    """Kill the process of a shard under load."""
    sleep(chance.uniform(0.2, 2.0))
    before = {replica.pid for replica in replicas_of(index, cluster)}
    return killed_under_load("process", index, cluster, chance.choice(sorted(before)), load)


def node_killed(index: Path, nodes: Any, load: SearchLoad, chance: random.Random) -> Killed:
    """Kill a node under load."""
    sleep(chance.uniform(0.2, 2.0))
    return killed_under_load("node", index, settings(nodes, 2), chance.choice(raylets(nodes)), load)


def killed_under_load(what: str, index: Path, cluster: ClusterSettings, victim: int, load: SearchLoad) -> Killed:
    """Kill, and wait until every replica answers, one of them in a new process, and every search has all its hits."""
    before, state = {replica.pid for replica in replicas_of(index, cluster)}, expected(index)
    load.counts.clear()
    began = monotonic()
    os.kill(victim, signal.SIGKILL)
    renewed = False
    while monotonic() - began < MOST_SECONDS and load.error is None:
        if renewed and load.last == state:
            seconds = monotonic() - began
            load.check(state)
            return Killed(what, load.counts["answers"], load.counts["partial"], seconds)
        if not renewed:
            replicas = replicas_of(index, cluster)
            renewed = all(replica.alive for replica in replicas) and not before >= {replica.pid for replica in replicas}
            load.last = {}
        sleep(0.05)
    raise load.error or WrongAnswerError(f"{what}: not all shards answer after {MOST_SECONDS:g} s")


def writer_killed(
    index: Path, cluster: ClusterSettings, load: SearchLoad, chance: random.Random, opened: ExitStack
) -> Killed:
    """Kill a command that changes the index under load, and open what it left: the state before it or after."""
    before = expected(index)
    docid = f"EX-EN-01-{chance.randrange(1, 9):04d}-001"
    commands = (["delete", docid], ["index", "snippets", str(SOURCE), "--update"])
    command = [sys.executable, "-m", "factseek", *chance.choice(commands), "--index", str(index)]
    load.counts.clear()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(1.0, 6.0))
    finally:
        process.kill()
        process.wait(MOST_SECONDS)
    began = monotonic()
    load.check(before)
    load.turn_to(opened_on(index, cluster, opened))
    after = expected(index)
    while load.last != after:
        if load.error is not None or monotonic() - began > MOST_SECONDS:
            raise load.error or WrongAnswerError(f"{' '.join(command)}: {load.last}, not {after}")
        sleep(0.05)
    seconds = monotonic() - began
    load.check(before, after)
    if faults := verify(index, Config()).faults:
        raise WrongAnswerError(str(faults))
    return Killed("writer", load.counts["answers"], load.counts["partial"], seconds)


def builder_killed(folder: Path, nodes: Any, chance: random.Random) -> Killed:
    """Kill a process that builds a shard, or its node, and check the index that comes of it."""
    index = folder / "built"
    shutil.rmtree(index, ignore_errors=True)
    request = BuildRequest(
        kind="jsonl", sources=(folder / "many.jsonl",), folder=index, shards=SHARDS, dense=False, wait=MOST_SECONDS
    )
    with ThreadPoolExecutor(1) as beside:
        building = beside.submit(partial(build, request, BUILT, workplace=ClusterWorkplace(settings(nodes, 1))))
        victim = builder_of(index / f"shard-{chance.randrange(SHARDS):02d}")
        sleep(chance.uniform(0.0, 3.0))
        node = parent(victim)
        began = monotonic()
        with suppress(ProcessLookupError):
            os.kill(node if chance.random() < 0.5 and node in raylets(nodes) else victim, signal.SIGKILL)
        report = building.result(MOST_SECONDS)
    seconds = monotonic() - began
    faults = verify(index, BUILT).faults
    if faults or report.manifest.documents != DOCUMENTS_BUILT:
        raise WrongAnswerError(f"{report.manifest.documents} documents, {faults}")
    return Killed("builder", seconds=seconds)


def builder_of(shard: Path) -> int:
    """Return the process that builds a shard, as soon as there is one."""
    until = monotonic() + MOST_SECONDS
    while monotonic() < until:
        with suppress(OSError, ValueError):
            pid: int = json.loads((shard / "lock").read_text())["process"]
            return pid
        sleep(0.02)
    raise WrongAnswerError(f"{shard}: nobody builds it")


def parent(process: int) -> int:
    """Return the parent of a process, 0 if it is gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def raylets(nodes: Any) -> list[int]:
    """Return the processes of the nodes, but for the first, which keeps the cluster together."""
    processes = (node.all_processes["raylet"][0].process for node in nodes.worker_nodes)
    return sorted(process.pid for process in processes if process.poll() is None)


def renew(nodes: Any) -> None:
    """Put a new node into the place of each that was killed."""
    for node in [node for node in nodes.worker_nodes if node.all_processes["raylet"][0].process.poll() is not None]:
        nodes.remove_node(node)
        nodes.add_node(num_cpus=4, object_store_memory=100_000_000)


def settings(nodes: Any, replicas: int) -> ClusterSettings:
    """Return the settings of the cluster."""
    return ClusterSettings(address=nodes.address, cpus=0.1, replicas=replicas, ask_seconds=5)


def expected(index: Path) -> dict[str, Any]:
    """Return what a search of the folder in this process answers to each query."""
    encoders = SharedEncoders(Config().encoder)
    with open_index(index, Config(), encoders=encoders) as opened:
        return {query: opened.search([query], ASKED)[0] for query in QUERIES}


def opened_on(index: Path, cluster: ClusterSettings, opened: ExitStack) -> Searcher:
    """Open the shards on a cluster, until ``opened`` is closed."""
    encoders = SharedEncoders(Config().encoder)
    return opened.enter_context(open_on_cluster(index, Config(), cluster, encoders=encoders))


def table(killed: Sequence[Killed]) -> str:
    """Return what came of the kills as a Markdown table."""
    header = ["killed", "kills", "answers meanwhile", "that named what they lack, or 503", "seconds: p50", "at most"]
    rows = []
    for what, words in (
        ("process", "the process of a shard without a replica; until all answer again"),
        ("node", "a node, two replicas of each shard; until all answer again"),
        ("writer", "a command that deletes or updates; until what it left is opened and answers"),
        ("builder", "a process that builds a shard, or its node; until the index is there"),
    ):
        some = [each for each in killed if each.what == what]
        answers, lacking = sum(each.answers for each in some), sum(each.partial for each in some)
        seconds = [each.seconds for each in some]
        middle, most = statistics.median(seconds), max(seconds)
        rows.append([words, f"{len(some)}", f"{answers:,}", f"{lacking:,}", f"{middle:.1f}", f"{most:.1f}"])
    return markdown_table(header, rows).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
