"""Kill at random what makes up a cluster, and compare every answer; ``python -m benchmarks.cluster_kills --rounds 15``.

The bundled example is divided into shards on a Ray cluster of three nodes of this machine, and searched all the time.
A round kills: four times the process of a shard that has no replica; a command that changes the index, four times one
that deletes or updates, twice one that divides it anew, once one that appends, and once a process that appends for it;
a worker of a server, and all of the server; a node, where each shard has a replica; a process or a node that builds an
index. Every answer has the hits of the state before or after, all of them, or names the shards that it lacks, or is
refused. Every index that was changed or built is checked as ``factseek verify-index`` checks it. It ends with an error
at the first thing that is wrong. The counts, and the seconds until all was well again, are written into
``docs/scaling.md``; interrupted and run again, it goes on after the rounds that are done.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.cluster import DOCUMENT, three_nodes
from benchmarks.cluster_kills.kills import Killed, table
from benchmarks.cluster_kills.processes import (
    DOCUMENTS_BUILT,
    SHARDS,
    builder_killed,
    node_killed,
    process_killed,
    renew,
)
from benchmarks.cluster_kills.searching import SearchLoad, opened_on, settings
from benchmarks.cluster_kills.serving import server_killed
from benchmarks.cluster_kills.writing import ROOT, SOURCE, KilledWriters
from benchmarks.marked import replace_marked
from factseek.cluster.status import stop
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.files import write_atomically
from factseek.retrieval.terminal import say
from factseek.settings import Config

KEPT = ROOT / "bench" / "cluster_kills.json"
SEED = 16
PROCESSES = WRITERS = 4
RESHARDS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill as often as is asked for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
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
    """Kill what a round kills, and return what came of it."""
    index = folder / "index"
    killed: list[Killed] = []
    with ExitStack() as opened, SearchLoad(opened_on(index, settings(nodes, 1), opened)) as load:
        killed += [process_killed(index, nodes, load, chance) for _ in range(PROCESSES)]
        writers = KilledWriters(index, nodes, load, opened, chance)
        killed += [writers.writer_killed() for _ in range(WRITERS)]
        killed += [writers.reshard_killed() for _ in range(RESHARDS)]
        killed += [writers.append_killed(), writers.appender_killed()]
    killed += server_killed(index, nodes, chance)
    with ExitStack() as opened, SearchLoad(opened_on(index, settings(nodes, 2), opened)) as load:
        killed.append(node_killed(index, nodes, load, chance))
    stop(index, settings(nodes, 2))
    renew(nodes)
    killed.append(builder_killed(folder, nodes, chance))
    renew(nodes)
    return killed


if __name__ == "__main__":
    sys.exit(main())
