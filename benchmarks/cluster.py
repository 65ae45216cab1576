"""Shards: whether they answer what one index answers, byte for byte, and what a Ray cluster adds to a request.

``FACTSEEK_DATA=DATA python -m benchmarks.cluster`` searches SciFact, NFCorpus and the Arabic part of XQuAD-R in one
index, in 1, 2, 4 and 7 shards, and in 4 on a Ray cluster of three nodes of this machine: as it was divided, after
documents were added, replaced and deleted in all. Dates and topics are assigned to the
documents by a seed. Then it asks SciFact in three shards on the cluster, in turns with one index, and writes both
tables into ``docs/scaling.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from benchmarks.data import RememberingEncoder, data_folder
from benchmarks.measuring import replace_marked
from factseek.cluster.opening import open_index as open_on_cluster
from factseek.cluster.ray_library import disconnect
from factseek.cluster.settings import ClusterSettings
from factseek.cluster.status import stop
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.indexer.resharding import shard
from factseek.retrieval.domain import Filter
from factseek.retrieval.encoders.shared import SharedEncoders
from factseek.retrieval.index.local import open_index
from factseek.retrieval.limit import Limit
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say
from factseek.settings import convert

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "scaling.md"
SHARDS = (1, 2, 4, 7)
ON_RAY = 4
"""So many shards are also searched on a cluster."""
FILTERS = (None, Filter(topic=("T1", "T3")), Filter(as_of="2020-06-30"))
K = 10
SEARCHES = [
    Search(k=K, retriever=retriever, where=where) for retriever in ("bm25", "dense", "hybrid") for where in FILTERS
]
"""What every query is asked for."""
SEED = 16
LIMIT_SECONDS = 60.0
TURNS = 5
WARMING = 6
"""Turns that are not counted: the Java of each shard's process compiles for itself what is called often."""
CONFIG = convert(
    {"index": {"max_segments": 1000, "segment_passages": 2_000}, "dense": {"type": "flat"}, "java": {"heap": "768m"}},
    "benchmark",
)


Encoders = Callable[[Any, Path], Any]


class Collected(NamedTuple):
    """A collection: its name and folder, the judgements whose queries are asked, its language."""

    name: str
    source: str
    qrels: str
    language: str


COLLECTIONS = (
    Collected("SciFact, train", "scifact", "train.tsv", "en"),
    Collected("NFCorpus, dev", "nfcorpus", "dev.tsv", "en"),
    Collected("XQuAD-R, Arabic", "xquad-r/ar", "test.tsv", "ar"),
)


class Equality(NamedTuple):
    """How many hits of how many searches were compared in a state, over some shards, and how many answers differ."""

    collection: str
    state: str
    shards: str
    searches: int
    hits: int
    different: int


def main() -> int:
    """Compare, measure, and write the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    shared = SharedEncoders(CONFIG.encoder)
    encoders = lru_cache(maxsize=None)(lambda made_by, folder: RememberingEncoder(shared(made_by, folder)))
    with tempfile.TemporaryDirectory() as folder, three_nodes() as nodes:
        cluster = ClusterSettings(address=nodes.address, cpus=0.1)
        rows = []
        for collection in COLLECTIONS:
            for row in compared(collection, Path(folder) / collection.name, encoders, cluster):
                say(f"benchmarks.cluster: {row}")
                rows.append(row)
        replace_marked(DOCUMENT, "equality", equality_table(rows))
        scifact = COLLECTIONS[0]
        table = ray_table(Path(folder) / scifact.name, queries_of(scifact), encoders, cluster)
        replace_marked(DOCUMENT, "ray", table)
    shared.close()
    return 0


def compared(judged: Collected, folder: Path, encoders: Encoders, cluster: ClusterSettings) -> Iterator[Equality]:
    """Yield how the shards of a collection compare with one index, in each state."""
    folder.mkdir()
    documents = list(documents_of(judged.source))
    kept, added = documents[: -len(documents) // 20], documents[-len(documents) // 20 :]
    replaced = [{**each, "text": each["text"][::2]} for each in kept[-len(kept) // 10 :]]
    written(folder / "first.jsonl", kept)
    written(folder / "added.jsonl", added)
    written(folder / "replaced.jsonl", replaced)
    gone = [each["docid"] for each in kept[::17]]
    places = {shards: folder / f"shards-{shards}" for shards in (0, *SHARDS)}
    change(places[0], folder / "first.jsonl", "", judged.language)
    for shards in SHARDS:
        shutil.copytree(places[0], places[shards])
        shard(places[shards], shards, CONFIG)
    yield from answers_compared(judged, "divided", places, encoders, cluster)
    for place in places.values():
        change(place, folder / "added.jsonl", "append")
        change(place, folder / "replaced.jsonl", "update")
        delete(place, gone)
    yield from answers_compared(judged, "after append, update and delete", places, encoders, cluster)


def change(folder: Path, source: Path, verb: Any, language: str = "") -> None:
    """Build or change an index."""
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb=verb, language=language), CONFIG)


def answers_compared(
    judged: Collected, state: str, places: dict[int, Path], encoders: Encoders, cluster: ClusterSettings
) -> Iterator[Equality]:
    """Yield how the hits of every query, retriever and filter compare with those of one index."""
    queries = queries_of(judged)
    with open_index(places[0], CONFIG, encoders=encoders) as whole:
        expected = [answers(whole, queries, asked) for asked in SEARCHES]
    hits = sum(len(of_query) for of_search in expected for of_query in of_search)
    lines = [list(map(msgspec.json.encode, of_search)) for of_search in expected]
    for shards in SHARDS:
        with open_index(places[shards], CONFIG, encoders=encoders) as index:
            different = differing(index, queries, lines)
        yield Equality(judged.name, state, str(shards), sum(map(len, lines)), hits, different)
    with open_on_cluster(places[ON_RAY], CONFIG, cluster, encoders=encoders) as index:
        different = differing(index, queries, lines)
    stop(places[ON_RAY], cluster)
    yield Equality(judged.name, state, f"{ON_RAY} on Ray", sum(map(len, lines)), hits, different)


def differing(index: Searcher, queries: list[str], lines: list[list[bytes]]) -> int:
    """Return how many answers of an index differ from the expected lines of each search."""
    different = 0
    for asked, of_search in zip(SEARCHES, lines, strict=True):
        there = map(msgspec.json.encode, answers(index, queries, asked))
        different += sum(line != expected for line, expected in zip(there, of_search, strict=True))
    return different


def answers(index: Searcher, queries: list[str], asked: Search) -> list[Any]:
    """Return the hits of each query, searched for by itself."""
    return [index.search([query], asked)[0] for query in queries]


def documents_of(source: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a collection, each with a date and a topic by the seed."""
    chance = random.Random(SEED)  # noqa: S311
    for line in (data_folder() / source / "corpus.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        date = chance.choice(["", "2019", "2020-06-30", "2020-07-01", "2021-12-31"])
        topic = f"T{chance.randrange(5)}"
        yield {"docid": row["_id"], "title": row.get("title", ""), "text": row["text"], "date": date, "topic": topic}


def written(path: Path, documents: list[dict[str, Any]]) -> None:
    """Write documents as JSON lines."""
    path.write_text("".join(json.dumps(each) + "\n" for each in documents), "utf-8")


def queries_of(judged: Collected) -> list[str]:
    """Return the texts of the queries of a collection that are judged."""
    folder = data_folder() / judged.source
    qids = {line.split("\t")[0] for line in (folder / "qrels" / judged.qrels).read_text("utf-8").splitlines()[1:]}
    rows = (json.loads(line) for line in (folder / "queries.jsonl").open(encoding="utf-8"))
    return [row["text"] for row in rows if row["_id"] in qids]


@contextmanager
def three_nodes() -> Iterator[Any]:
    """Start a Ray cluster of three nodes at the loopback address, and yield Ray's own object for it."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    from ray.cluster_utils import Cluster

    head: dict[str, Any] = {"num_cpus": 4, "include_dashboard": False, "object_store_memory": 100_000_000}
    head["_system_config"] = {"health_check_period_ms": 1000, "worker_niceness": 0}  # as docs/scaling.md advises
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=4, object_store_memory=100_000_000)
    cluster.wait_for_nodes(timeout=120)
    yield cluster
    disconnect()
    cluster.shutdown()


def ray_table(folder: Path, queries: list[str], encoders: Encoders, cluster: ClusterSettings) -> str:
    """Ask one index, the same in three shards here, and these on a cluster, in turns; return the table."""
    alone, place = folder / "shards-0", folder / "on-ray"
    shutil.copytree(alone, place)
    shard(place, 3, CONFIG)
    lines = ["| SciFact, ten hits, ms a query | p10 | p50 | p90 |", "|---|---:|---:|---:|"]
    with (
        open_index(alone, CONFIG, encoders=encoders) as whole,
        open_index(place, CONFIG, encoders=encoders) as here,
        open_on_cluster(place, CONFIG, cluster, encoders=encoders) as remote,
    ):
        indexes = {"one index": whole, "three shards, this process": here, "three shards on Ray": remote}
        for retriever in ("bm25", "hybrid"):
            times = timed(indexes, queries, Search(k=K, retriever=retriever))
            for name, taken in times.items():
                low, high = itemgetter(0, -1)(statistics.quantiles(taken, n=10))
                lines.append(f"| {retriever}, {name} | {low:.2f} | {statistics.median(taken):.2f} | {high:.2f} |")
    stop(place, cluster)
    return "\n".join(lines)


def timed(indexes: dict[str, Searcher], queries: list[str], asked: Search) -> dict[str, list[float]]:
    """Return what each query and its evidence took, in turns, under a limit of time as a server sets it."""
    times: dict[str, list[float]] = {name: [] for name in indexes}
    with ThreadPoolExecutor(8) as beside:
        for turn in range(WARMING + TURNS):
            for query in queries[:200]:
                for name, index in indexes.items():
                    began = perf_counter()
                    limited = asked._replace(limit=Limit(LIMIT_SECONDS, beside))
                    index.evidence(query, index.search([query], limited)[0], limited, highlight=False)
                    if turn >= WARMING:
                        times[name].append(1000 * (perf_counter() - began))
    return times


def equality_table(rows: Sequence[Equality]) -> str:
    """Return the comparisons as a Markdown table; the shards of a state stand in one line if they are alike."""
    lines = [
        "| collection | state | searches, each over 1, 2, 4 and 7 shards, and 4 on Ray | hits | answers that differ |",
        "|---|---|---:|---:|---:|",
    ]
    ways = len(SHARDS) + 1
    for first in range(0, len(rows), ways):
        some = rows[first : first + ways]
        different = " / ".join(str(row.different) for row in some)
        head = some[0]
        lines.append(f"| {head.collection} | {head.state} | {head.searches:,} | {head.hits:,} | {different} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
