"""One node of a Ray cluster against two, each pinned to a processor core: what the shards do in a second.

``FACTSEEK_DATA=DATA python -m benchmarks.cluster_cores`` searches 200,000 sampled passages in four shards, and builds
an index of 2,000 with their encoding, on one node and on two. This machine has to do the rest beside them: the
processor time of Ray's own processes, and of the one that asks or reads, is stated and taken out. The tables are
written into ``docs/scaling.md``. It needs a machine that has two cores and nothing else to do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.cluster import DOCUMENT, Remembering, started_nodes
from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.processors import busy_seconds, descendants, pin, title, watched
from benchmarks.sampled import Sampler, claims, noisy, real_vectors
from factseek.cluster.building.workplace import ClusterWorkplace
from factseek.cluster.opening import open_index as open_on_cluster
from factseek.cluster.settings import ClusterSettings
from factseek.cluster.status import stop
from factseek.eval.reports.page import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.shards import layout
from factseek.retrieval.terminal import say
from factseek.settings import Config, convert

PASSAGES, BUILT, SHARDS = 200_000, 2_000, 4
CALLERS, SECONDS = 8, 12.0
WARM_SECONDS, STEADY, MOST_WARMING = 5.0, 0.05, 5
SEARCHES = (Search(k=10, retriever="bm25"), Search(k=10, retriever="hybrid"))
CONFIG = convert({"dense": {"type": "flat"}, "java": {"heap": "768m"}, "encoder": {"threads": 1}}, "benchmark")
CORES = (0, 1)
SHARD, RAY_OF_NODES, RAY_ELSE, CALLER = "shards", "Ray on the nodes", "Ray elsewhere", "caller"
HEADER = (
    "",
    "nodes",
    "done a second",
    "processor s: shards",
    "Ray",
    "caller",
    "the nodes' cores: others",
    "idle",
    "work of the shards a second",
    "two nodes against one",
)


class WorkOfNodes(NamedTuple):
    """What so many nodes did: searches or passages in some seconds.

    ``times`` are the processor seconds of each group of processes; ``busy`` those of the nodes' cores, for whomever.
    """

    nodes: int
    done: int
    seconds: float
    busy: float
    times: dict[str, float]

    @property
    def others(self) -> float:
        """The processor seconds that the cores of the nodes spent on others than the shards."""
        return max(0.0, self.busy - self.times[SHARD])

    @property
    def idle(self) -> float:
        """The processor seconds in which the cores of the nodes had nothing to do."""
        return max(0.0, self.nodes * self.seconds - self.busy)

    @property
    def rate(self) -> float:
        """What would be done a second if the cores of the nodes had none but the shards to work for."""
        return self.done / (self.seconds - self.others / self.nodes)


def main() -> int:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("prepare", "search", "build"), help="a part of it")
    parser.add_argument("--work", type=Path, help="keeps the index that is searched (default: a temporary folder)")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        if args.only != "build":
            index = prepared(work)
        if args.only in (None, "search"):
            replace_marked(DOCUMENT, "cores", table(searched(index)))
        if args.only in (None, "build"):
            replace_marked(DOCUMENT, "cores-build", table({"passages built": built(Path(folder))}))
    return 0


def prepared(work: Path) -> Path:
    """Return the index that is searched, built if it is not there."""
    index, sampler = work / "sampled", Sampler(data_folder())
    if not layout.is_sharded(index):
        source = sampler.write(work / "sampled.jsonl", 0, PASSAGES)
        with noisy(real_vectors(sampler, Config())):
            build(BuildRequest(kind="jsonl", sources=(source,), folder=index, shards=SHARDS), CONFIG)
    return index


def searched(index: Path) -> dict[str, list[WorkOfNodes]]:
    """Return what one node and two did of each search."""
    work: dict[str, list[WorkOfNodes]] = {f"{asked.retriever} searches": [] for asked in SEARCHES}
    queries, encoders = claims(data_folder())[:300], Remembering()
    for nodes in (1, 2):
        with pinned_nodes(nodes) as cluster:
            settings = ClusterSettings(address=cluster.address, ask_seconds=60)
            with open_on_cluster(index, CONFIG, settings, encoders=encoders) as remote:
                for asked in SEARCHES:
                    warm(remote, queries, asked)
                    pin_nodes(cluster)
                    search = partial(loaded, remote, queries, asked, SECONDS)
                    work[f"{asked.retriever} searches"].append(measured(nodes, cluster, search))
            stop(index, settings)
    encoders.close()
    return work


def built(work: Path) -> list[WorkOfNodes]:
    """Return what one node and two did of a build with encoding."""
    source = Sampler(data_folder()).write(work / "built.jsonl", 0, BUILT)
    done = []
    for nodes in (1, 2):
        request = BuildRequest(kind="jsonl", sources=(source,), folder=work / f"built-{nodes}", shards=SHARDS)
        with pinned_nodes(nodes) as cluster:
            workplace = ClusterWorkplace(ClusterSettings(address=cluster.address))
            done.append(measured(nodes, cluster, partial(passages_built, request, workplace)))
    return done


def passages_built(request: BuildRequest, workplace: ClusterWorkplace) -> int:
    """Build an index; return how many passages it has."""
    return build(request, CONFIG, workplace=workplace).manifest.passages


def measured(nodes: int, cluster: Any, do: Callable[[], int]) -> WorkOfNodes:
    """Return the work of so many nodes while something is done, which returns how much that was."""
    with watched(group_of(cluster)) as times:
        before, began = busy_seconds(CORES[:nodes]), perf_counter()
        done = do()
        seconds, busy = perf_counter() - began, busy_seconds(CORES[:nodes]) - before
    work = WorkOfNodes(nodes, done, seconds, busy, times.by_group)
    say(f"benchmarks.cluster_cores: {work}")
    return work


def warm(index: Searcher, queries: list[str], asked: Search) -> None:
    """Search until that gets no faster: the Java of each shard's process compiles for itself what is called often."""
    before = 0
    for _ in range(MOST_WARMING):
        done = loaded(index, queries, asked, WARM_SECONDS)
        if done < (1 + STEADY) * before:
            return
        before = done


def loaded(index: Searcher, queries: list[str], asked: Search, seconds: float) -> int:
    """Search from several threads for some seconds; return how many searches were answered."""
    turns, until = itertools.cycle(queries), perf_counter() + seconds
    taking = threading.Lock()
    answered = [0] * CALLERS

    def call(number: int) -> None:
        while perf_counter() < until:
            with taking:
                query = next(turns)
            index.search([query], asked)
            answered[number] += 1

    callers = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return sum(answered)


@contextmanager
def pinned_nodes(count: int) -> Iterator[Any]:
    """Start a cluster, each node on a core of its own, and what else there is on those that are left."""
    everywhere = os.sched_getaffinity(0)
    with started_nodes(count) as cluster:
        pin_nodes(cluster)
        yield cluster
    pin(os.getpid(), everywhere)


def pin_nodes(cluster: Any) -> None:
    """Give each node a core of its own."""
    raylets = raylets_of(cluster)
    rest = set(CORES[len(raylets) :]) or set(CORES)
    for process in (os.getpid(), *descendants(os.getpid())):
        pin(process, rest)
    for raylet, core in zip(raylets, CORES, strict=False):
        for process in (raylet, *descendants(raylet)):
            pin(process, {core})


def raylets_of(cluster: Any) -> list[int]:
    """Return the process of each node of a cluster."""
    return [node.all_processes["raylet"][0].process.pid for node in [cluster.head_node, *cluster.worker_nodes]]


def group_of(cluster: Any) -> Any:
    """Return what names the group of a process."""
    raylets = raylets_of(cluster)

    def named(process: int) -> str:
        if process == os.getpid():
            return CALLER
        if title(process).startswith("ray::Shard"):
            return SHARD
        return RAY_OF_NODES if is_of_node(process) else RAY_ELSE

    @cache
    def is_of_node(process: int) -> bool:
        return any(process == raylet or process in descendants(raylet) for raylet in raylets)

    return named


def table(work: dict[str, list[WorkOfNodes]]) -> str:
    """Return what was done as a Markdown table."""
    rows = []
    for what, (of_one, of_two) in work.items():
        for each in (of_one, of_two):
            times = each.times
            ray = times[RAY_OF_NODES] + times[RAY_ELSE]
            parts = (times[SHARD], ray, times[CALLER], each.others, each.idle)
            ratio = f"{of_two.rate / of_one.rate:.2f}" if each is of_two else ""
            spent = (f"{part:.1f}" for part in parts)
            rows.append([what, str(each.nodes), f"{each.done / each.seconds:,.1f}", *spent, f"{each.rate:,.1f}", ratio])
    return markdown_table(HEADER, rows).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
