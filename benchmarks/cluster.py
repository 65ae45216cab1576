"""Check that shards answer exactly what one index answers, and measure what a Ray cluster adds to a
request.

``FACTSEEK_DATA=DATA python -m benchmarks.cluster`` searches SciFact, NFCorpus and the Arabic part
of XQuAD-R. It searches one index, 1, 2, 4 and 7 shards, and 4 shards on a Ray cluster of three
nodes on this machine. It searches twice: after the division, and after documents were added,
replaced and deleted. A seed determines the dates and topics of the documents. Then it times
searches of SciFact in turns: one index, three shards in this process, and three shards on the
cluster. It writes both tables into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from benchmarks.data import Collection, RememberingEncoder, beir, data_folder, write_objects
from benchmarks.measuring import program, publish
from factseek import ClusterSettings, Filter, Search
from factseek.cluster import build as of_shards
from factseek.cluster.actors import stop
from factseek.cluster.build import divide
from factseek.cluster.layout import is_sharded
from factseek.cluster.ray_cluster import disconnect
from factseek.core.deadline import Deadline
from factseek.core.terminal import say
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.encoders.opening import SharedEncoders
from factseek.retrieval.search.index import open_index
from factseek.settings import convert

SHARDS, ON_RAY = (1, 2, 4, 7), 4
"""The numbers of shards, and the number of shards that is also searched on a cluster."""
K, SEED = 10, 16
FILTERS = (None, Filter(topic=("T1", "T3")), Filter(as_of="2020-06-30"))
SEARCHES = [
    Search(k=K, retriever=name, where=where)
    for name in ("bm25", "dense", "hybrid")
    for where in FILTERS
]
"""The searches for every query."""
LIMIT_SECONDS, TURNS, WARMING = 60.0, 5, 6
"""The time limit of a search, the number of timed rounds, and the number of warm-up rounds, while
Java compiles.
"""
CONFIG = convert(
    {
        "index": {"max_segments": 1000, "segment_passages": 2_000},
        "dense": {"type": "flat"},
        "java": {"heap": "768m"},
    },
    "benchmark",
)
COLLECTIONS = (
    ("SciFact, train", "scifact", "train", "en"),
    ("NFCorpus, dev", "nfcorpus", "dev", "en"),
    ("XQuAD-R, Arabic", "xquad-r/ar", "test", "ar"),
)
"""The name, folder, split of the judgements, and language of each collection."""
Encoders = Callable[[Any, Path], Any]


@program()
def main(_: argparse.Namespace) -> None:
    """Compare, measure, and write the tables."""
    shared = SharedEncoders(CONFIG.encoder)
    encoders = lru_cache(maxsize=None)(
        lambda made_by, folder: RememberingEncoder(shared(made_by, folder))
    )
    with tempfile.TemporaryDirectory() as work, three_nodes() as nodes:
        cluster, rows = ClusterSettings(address=nodes.address, cpus=0.1), []
        for name, source, split, language in COLLECTIONS:
            collection = beir(name, data_folder() / source, split)
            folders = indexed(collection, Path(work) / name, language)
            rows.append(compared(collection, "divided", folders, encoders, cluster))
            change(collection, folders)
            rows.append(
                compared(collection, "after append, update and delete", folders, encoders, cluster)
            )
            if source == "scifact":
                table = ray_table(folders[0], list(collection.queries.values()), encoders, cluster)
    shards = ", ".join(map(str, SHARDS))
    header = (
        "collection",
        "state",
        f"searches, each over {shards} shards, and {ON_RAY} on Ray",
        "hits",
    )
    publish("equality", markdown_table((*header, "answers that differ"), rows, left=2))
    publish("ray", table)
    shared.close()


def indexed(collection: Collection, folder: Path, language: str) -> dict[int, Path]:
    """Index all but the last twentieth of the documents, and divide copies; return the folders by
    number of shards.
    """
    folders = {shards: folder / f"shards-{shards}" for shards in (0, *SHARDS)}
    source = written(
        folder / "first.jsonl", collection.documents[: -len(collection.documents) // 20]
    )
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=folders[0], language=language), CONFIG
    )
    for shards in SHARDS:
        shutil.copytree(folders[0], folders[shards])
        divide(folders[shards], shards, CONFIG, sharded=False)
    return folders


def change(collection: Collection, folders: dict[int, Path]) -> None:
    """In each index, append the last twentieth of the documents, replace a tenth, and delete a
    seventeenth.
    """
    work, last = folders[0].parent, -len(collection.documents) // 20
    kept = collection.documents[:last]
    added = written(work / "added.jsonl", collection.documents[last:])
    replaced = written(
        work / "replaced.jsonl", [(docid, text[::2]) for docid, text in kept[-len(kept) // 10 :]]
    )
    for folder in folders.values():
        add = BuildRequest(kind="jsonl", sources=(added,), folder=folder, verb="append")
        update = BuildRequest(kind="jsonl", sources=(replaced,), folder=folder, verb="update")
        for request in (add, update):
            of_shards.build_shards(request, 0, CONFIG) if is_sharded(folder) else build(
                request, CONFIG
            )
        (of_shards.delete if is_sharded(folder) else delete)(
            folder, [docid for docid, _ in kept[::17]]
        )


def written(path: Path, documents: Iterable[tuple[str, str]]) -> Path:
    """Write documents as JSON lines; the docid determines the date and the topic of each."""
    dates = ["", "2019", "2020-06-30", "2020-07-01", "2021-12-31"]
    lines = []
    for docid, text in documents:
        chance = random.Random(f"{SEED} {docid}")  # noqa: S311  a benchmark's chance
        lines.append(
            {
                "docid": docid,
                "text": text,
                "date": chance.choice(dates),
                "topic": f"T{chance.randrange(5)}",
            }
        )
    return write_objects(path, lines)


def compared(
    collection: Collection,
    state: str,
    folders: dict[int, Path],
    encoders: Encoders,
    cluster: ClusterSettings,
) -> list[str]:
    """Return a line of the table: how many answers of the shards differ, in any byte, from those of
    one index.
    """
    queries = list(collection.queries.values())
    with open_index(folders[0], CONFIG, encoders=encoders) as whole:
        expected = [whole.search([query], search)[0] for search in SEARCHES for query in queries]
    lines, different = list(map(msgspec.json.encode, expected)), []
    on_ray = msgspec.structs.replace(CONFIG, cluster=cluster)
    for folder, config in (
        *((folders[shards], CONFIG) for shards in SHARDS),
        (folders[ON_RAY], on_ray),
    ):
        with open_index(folder, config, encoders=encoders) as index:
            there = (index.search([query], search)[0] for search in SEARCHES for query in queries)
            different.append(
                sum(
                    msgspec.json.encode(hits) != line
                    for hits, line in zip(there, lines, strict=True)
                )
            )
    stop(folders[ON_RAY], cluster)
    say(
        f"benchmarks.cluster: {collection.name}, {state}: {different} of {len(lines):,} answers "
        "differ"
    )
    return [
        collection.name,
        state,
        f"{len(lines):,}",
        f"{sum(map(len, expected)):,}",
        " / ".join(map(str, different)),
    ]


@contextmanager
def three_nodes() -> Iterator[Any]:
    """Start a Ray cluster of three nodes at the loopback address, and yield its ``Cluster``
    object.
    """
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    from ray.cluster_utils import Cluster

    head: dict[str, Any] = {
        "num_cpus": 4,
        "include_dashboard": False,
        "object_store_memory": 100_000_000,
    }
    # As docs/guides/scale.md advises.
    head["_system_config"] = {"health_check_period_ms": 1000, "worker_niceness": 0}
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=4, object_store_memory=100_000_000)
    cluster.wait_for_nodes(timeout=120)
    yield cluster
    disconnect()
    cluster.shutdown()


def ray_table(alone: Path, queries: list[str], encoders: Encoders, cluster: ClusterSettings) -> str:
    """Search one index, three shards in this process, and three on a cluster, in turns; return the
    table of times.
    """
    place = alone.with_name("on-ray")
    shutil.copytree(alone, place)
    divide(place, 3, CONFIG, sharded=False)
    lines = ["| SciFact, ten hits, ms a query | p10 | p50 | p90 |", "|---|---:|---:|---:|"]
    with (
        open_index(alone, CONFIG, encoders=encoders) as whole,
        open_index(place, CONFIG, encoders=encoders) as here,
        open_index(
            place, msgspec.structs.replace(CONFIG, cluster=cluster), encoders=encoders
        ) as remote,
        ThreadPoolExecutor(8) as beside,
    ):
        indexes = {
            "one index": whole,
            "three shards, this process": here,
            "three shards on Ray": remote,
        }
        for retriever in ("bm25", "hybrid"):
            times: dict[str, list[float]] = {name: [] for name in indexes}
            for turn, query, name in product(range(WARMING + TURNS), queries[:200], indexes):
                began, index = perf_counter(), indexes[name]
                search, limit = Search(k=K, retriever=retriever), Deadline(LIMIT_SECONDS, beside)
                (hits,) = index.search([query], search, limit)
                index.evidence(query, hits, search, highlight=False, limit=limit)
                if turn >= WARMING:
                    times[name].append(1000 * (perf_counter() - began))
            for name, taken in times.items():
                low, *_, high = statistics.quantiles(taken, n=10)
                lines.append(
                    f"| {retriever}, {name} | {low:.2f} | {statistics.median(taken):.2f} | "
                    f"{high:.2f} |"
                )
    stop(place, cluster)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
