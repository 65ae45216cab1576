"""Two million passages in four shards on a Ray cluster of three nodes: memory, latency, and the time to publish.

``FACTSEEK_DATA=DATA python -m benchmarks.cluster_growth --work DIR`` builds them in DIR if they are not there (5 GB,
some minutes; vectors of real passages with noise, as ``benchmarks.growth`` has them), searches them through the
cluster, and publishes changes. The tables are written into ``docs/scaling.md``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, sleep, time
from typing import NamedTuple

import msgspec

from benchmarks.cluster import DOCUMENT, three_nodes
from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.sampled import Sampler, claims, noisy, real_vectors
from benchmarks.serving import resident
from factseek.cluster.opening import check_opens
from factseek.cluster.opening import open_index as open_on_cluster
from factseek.cluster.settings import ClusterSettings
from factseek.cluster.status import ReplicaStatus, replicas_of, stop
from factseek.eval.reports.page import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.encoders.shared import SharedEncoders
from factseek.retrieval.searcher import Search
from factseek.retrieval.shards import layout
from factseek.retrieval.terminal import say
from factseek.settings import Config, convert

PASSAGES, SHARDS, QUERIES = 2_000_000, 4, 300
APPENDED = 1_000
WARMING = 50
LOOK_EVERY = 0.01
CONFIG = convert({"java": {"heap": "1g"}, "index": {"max_segments": 50}}, "growth")
FLAT = msgspec.structs.replace(CONFIG, dense=msgspec.structs.replace(CONFIG.dense, type="flat"))
SEARCHES = {
    "bm25": ("bm25", CONFIG),
    "hybrid": ("hybrid", CONFIG),
    "hybrid, exact (`dense.type: flat`)": ("hybrid", FLAT),
}
"""What is measured: a retriever, and the settings with which the shards are opened."""


class TimedSearches(NamedTuple):
    """The milliseconds that each query took, sorted, and the megabytes resident on each node afterwards."""

    name: str
    milliseconds: list[float]
    memory: dict[str, float]


class PublishedChange(NamedTuple):
    """A change: the seconds that it took, and those from its publication until every replica answered from it."""

    what: str
    seconds: float
    until_answered: float


def main() -> int:
    """Build what is not there, measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="keeps the index, so that it is built once")
    parser.add_argument("--only-build", action="store_true", help="build the index, and measure nothing")
    args = parser.parse_args()
    index = built(args.work)
    if args.only_build:
        return 0
    with three_nodes() as nodes:
        cluster = ClusterSettings(address=nodes.address, cpus=0.5, ask_seconds=60)
        measured = [timed(index, cluster, *what) for what in SEARCHES.items()]
        replace_marked(DOCUMENT, "growth", times_table(measured))
        check_opens(index, CONFIG, cluster)
        replace_marked(DOCUMENT, "growth-published", published_table(list(changes(index, cluster, args.work))))
        stop(index, cluster)
    return 0


def built(work: Path) -> Path:
    """Return the index, built if it is not there; a build that was interrupted goes on."""
    index = work / "index"
    if layout.is_sharded(index):
        return index
    work.mkdir(exist_ok=True)
    sampler, source = Sampler(data_folder()), work / "documents.jsonl"
    if not source.is_file():
        sampler.write(source.with_suffix(".part"), 0, PASSAGES).rename(source)
    with noisy(real_vectors(sampler, Config())):
        began = perf_counter()
        build(BuildRequest(kind="jsonl", sources=(source,), folder=index, shards=SHARDS), CONFIG)
    say(f"benchmarks.cluster_growth: built in {perf_counter() - began:,.0f} s")
    source.unlink()
    return index


def timed(index: Path, cluster: ClusterSettings, name: str, asked: tuple[str, Config]) -> TimedSearches:
    """Return what queries take, one after the other, in processes of shards that answer nothing else.

    Encoding a query, and fetching the texts of its hits, are part of it.
    """
    retriever, config = asked
    search, queries = Search(k=10, retriever=retriever), claims(data_folder())[:QUERIES]
    encoders, milliseconds = SharedEncoders(config.encoder), []
    with open_on_cluster(index, config, cluster, encoders=encoders) as remote:
        for number, query in enumerate([*queries[:WARMING], *queries]):
            began = perf_counter()
            remote.evidence(query, remote.search([query], search)[0], search, highlight=False)
            if number >= WARMING:
                milliseconds.append(1000 * (perf_counter() - began))
        memory = memory_of_nodes(replicas_of(index, cluster))
    encoders.close()
    stop(index, cluster)
    say(f"benchmarks.cluster_growth: {name}: p50 {statistics.median(milliseconds):.1f} ms, {memory}")
    return TimedSearches(name, sorted(milliseconds), memory)


def memory_of_nodes(replicas: Sequence[ReplicaStatus]) -> dict[str, float]:
    """Return the resident megabytes of the processes of the shards of each node, by the names of these shards."""
    of_nodes: dict[str, list[ReplicaStatus]] = defaultdict(list)
    for replica in replicas:
        of_nodes[replica.node].append(replica)
    return {
        " and ".join(replica.shard for replica in here): sum(resident(replica.pid) for replica in here)
        for here in of_nodes.values()
    }


def changes(index: Path, cluster: ClusterSettings, work: Path) -> Iterator[PublishedChange]:
    """Yield changes of the index, each published and then answered from by every replica."""
    for number in (1, 2, 3):
        yield published(f"a document deleted ({number})", partial(delete, index, [f"p{number}"]), index, cluster)
    sampler = Sampler(data_folder())
    source = sampler.write(work / "appended.jsonl", PASSAGES, APPENDED)
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append")
    with noisy(real_vectors(sampler, Config())):
        yield published(f"{APPENDED:,} documents appended", partial(build, request, CONFIG), index, cluster)


def published(what: str, change: Callable[[], object], index: Path, cluster: ClusterSettings) -> PublishedChange:
    """Return how soon after its publication every replica answers from a change, opened as soon as it is seen."""
    before = stamp(index)
    with ThreadPoolExecutor(1) as beside:
        began = perf_counter()
        changing = beside.submit(lambda: (change(), perf_counter() - began))
        while stamp(index) == before and not changing.done():
            sleep(LOOK_EVERY)
        at = stamp(index)
        generations = {shard.manifest.id for shard in layout.read(index).shards}
        check_opens(index, CONFIG, cluster)
        encoders = SharedEncoders(CONFIG.encoder)
        with open_on_cluster(index, CONFIG, cluster, encoders=encoders) as remote:
            remote.search(["measles vaccine"], Search(k=10, retriever="bm25"))
            until_answered = time() - at
        encoders.close()
        _, seconds = changing.result()
    if any(generations.isdisjoint(replica.generations) for replica in replicas_of(index, cluster)):
        raise SystemExit(f"{what}: a replica does not have it")
    say(f"benchmarks.cluster_growth: {what}: {seconds:.1f} s, answered from after {until_answered:.1f} s")
    return PublishedChange(what, seconds, until_answered)


def stamp(index: Path) -> float:
    """Return when the state of the index was published, in seconds of the clock."""
    return layout.published_file(index).stat().st_mtime


def times_table(measured: Sequence[TimedSearches]) -> str:
    """Return latencies and memory as a Markdown table."""
    nodes = list(measured[0].memory)
    rows = []
    for name, milliseconds, memory in measured:
        last = milliseconds[len(milliseconds) * 99 // 100]
        of_nodes = (f"{memory[node]:,.0f}" for node in nodes)
        rows.append([name, f"{statistics.median(milliseconds):.1f}", f"{last:.1f}", *of_nodes])
    header = ["", "p50 ms", "p99 ms", *(f"resident MB of the node of {node}" for node in nodes)]
    return markdown_table(header, rows).rstrip("\n")


def published_table(published: Sequence[PublishedChange]) -> str:
    """Return what publishing takes as a Markdown table."""
    rows = [[what, f"{seconds:.1f}", f"{until:.1f}"] for what, seconds, until in published]
    header = ["change", "the command, s", "from its publication until every replica answers from it, s"]
    return markdown_table(header, rows).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
