"""Kills of what answers for shards, and of what builds them: their processes, and the nodes that these are on."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.cluster_kills.kills import Killed, WrongAnswerError
from benchmarks.cluster_kills.searching import MOST_SECONDS, SearchLoad, expected, settings
from factseek.cluster.building.workplace import ClusterWorkplace
from factseek.cluster.settings import ClusterSettings
from factseek.cluster.status import replicas_of
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.verification import verify
from factseek.settings import convert

SHARDS = 3
DOCUMENTS_BUILT = 5_000
BUILT = convert({"index": {"segment_passages": 300}}, "benchmark")


def process_killed(index: Path, nodes: Any, load: SearchLoad, chance: random.Random) -> Killed:
    """Kill the process of a shard under load."""
    sleep(chance.uniform(0.2, 2.0))
    cluster = settings(nodes, 1)
    victim = chance.choice(sorted(processes_of(index, cluster)))
    return killed_under_load("process", index, cluster, partial(kill, victim, nodes), load)


def node_killed(index: Path, nodes: Any, load: SearchLoad, chance: random.Random) -> Killed:
    """Kill a node under load."""
    sleep(chance.uniform(0.2, 2.0))
    victim = chance.choice(raylets(nodes))
    return killed_under_load("node", index, settings(nodes, 2), partial(kill, victim, nodes), load)


def killed_under_load(
    what: str, index: Path, cluster: ClusterSettings, kill_it: Callable[[], None], load: SearchLoad
) -> Killed:
    """Kill, and wait until every replica answers, one of them in a new process, and every search has all its hits."""
    before, state = processes_of(index, cluster), expected(index)
    load.counts.clear()
    began = monotonic()
    kill_it()
    renewed = False
    while monotonic() - began < MOST_SECONDS and load.error is None:
        if renewed and load.last == state:
            seconds = monotonic() - began
            load.check(state)
            return Killed(what, load.counts["answers"], load.counts["partial"], seconds=seconds)
        if not renewed:
            there = replicas_of(index, cluster)
            renewed = all(replica.alive for replica in there) and not before >= {replica.pid for replica in there}
            load.last = {}
        sleep(0.05)
    raise load.error or WrongAnswerError(f"{what}: not all shards answer after {MOST_SECONDS:g} s")


def processes_of(index: Path, cluster: ClusterSettings) -> set[int]:
    """Return the processes of all replicas, as soon as every one is there."""
    until = monotonic() + MOST_SECONDS
    while monotonic() < until:
        there = replicas_of(index, cluster)
        if all(replica.alive for replica in there):
            return {replica.pid for replica in there}
        sleep(0.05)
    raise WrongAnswerError(f"{index}: not all replicas are there")


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
        kill(node if chance.random() < 0.5 and node in raylets(nodes) else victim, nodes)
        report = building.result(MOST_SECONDS)
    seconds = monotonic() - began
    faults = verify(index, BUILT).faults
    if faults or report.manifest.documents != DOCUMENTS_BUILT:
        raise WrongAnswerError(f"{report.manifest.documents} documents, {faults}")
    return Killed("builder", seconds=seconds)


def kill(process: int, nodes: Any) -> None:
    """Kill a process; that of a node is waited for, since to Ray's processes it is alive while nobody has."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    for node in nodes.worker_nodes:
        raylet = node.all_processes["raylet"][0].process
        if raylet.pid == process:
            raylet.wait(MOST_SECONDS)


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
