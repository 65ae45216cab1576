"""The server beside Pyserini's own REST server: both run at once and are queried in turns."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

from benchmarks.collection import Collection
from benchmarks.load import LoadResult, load, post
from benchmarks.rows import RatioBounds, Row, above, below, faster, in_turns
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.java import start
from factseek.settings import Config

CALLERS, ROUNDS, SECONDS, BATCH = 8, 3, 4.0, 100
WARM_UP = 2
"""Rounds that are not counted: Java compiles what it runs for some seconds."""
BATCHES = 15
"""Times that a batch and its queries one by one are sent in turns, after two to warm up."""
MOST_MEGABYTES = 300
_PEER = """
import os, sys, types
os.environ.setdefault("OPENAI_API_KEY", "none")
from factseek.retrieval.java import start
start()
images = types.ModuleType("pyserini.encode.optional._uniir")  # for searching images; imported whatever is searched
images.UniIRQueryEncoder = None
sys.modules[images.__name__] = images
import uvicorn
from pyserini.search.lucene import LuceneSearcher
from pyserini.server.models import IndexConfig
from pyserini.server.rest.app import app
from pyserini.server.search_controller import get_controller
folder, port = sys.argv[1:]
held = IndexConfig(name="peer")
held.searcher, held.base_index, held.index_type = LuceneSearcher(folder), "peer", "tf"
held.searcher.set_bm25(0.9, 0.4)
get_controller().indexes["peer"] = held
uvicorn.run(app, host="127.0.0.1", port=int(port))
"""


class Server(NamedTuple):
    """A server at work."""

    process: subprocess.Popen[bytes]
    port: int
    ready_after: float


def serving(collection: Collection, work: Path) -> list[Row]:
    """Measure requests, batches, start and memory; hybrid only if the index has vectors."""
    ours, theirs = work / f"{collection.name}-dense", work / f"{collection.name}-peer"
    if not ours.is_dir():
        build(BuildRequest(kind="beir", sources=(collection.source,), folder=ours), Config())
    _their_index(collection, theirs)
    queries = list(collection.queries.values())[:300]
    with ExitStack() as stack:
        mine = stack.enter_context(serve(ours, work))
        peer = stack.enter_context(_serve_peer(theirs))
        bare = stack.enter_context(_serve_bare(ours))
        rows = _bm25(collection, mine, peer, bare, queries) + _hybrid(collection, mine, queries)
        rows += [_batch(collection, mine, queries, *what) for what in (("bm25", 2.5), ("hybrid", 1.6))]
        rows += [
            below("served: from start to ready", "s", mine.ready_after, 3.0),
            below(
                "served: resident a worker, after all this",
                "MB",
                max(resident(pid) for pid in workers(mine)),
                MOST_MEGABYTES,
            ),
        ]
    return rows


def _bm25(collection: Collection, mine: Server, peer: Server, bare: Server, queries: Sequence[str]) -> list[Row]:
    plain = [_ask("bm25", query, highlight=False) for query in queries]
    marked = [_ask("bm25", query, highlight=True) for query in queries]
    theirs = [
        post("/v1/indexes/peer/search", json.dumps({"query": {"query_txt": query}, "hits": 10}).encode())
        for query in queries
    ]
    runs = _in_turns([(mine.port, plain), (mine.port, marked), (peer.port, theirs), (bare.port, plain)])
    rate, marked_rate, their_rate, bare_rate = ([measured.rate for measured in run] for run in runs)
    p99, _, their_p99, _ = ([measured.p99 for measured in run] for run in runs)
    what = f"served BM25 top 10 with text, {CALLERS} connections, {collection.name}"
    return [
        in_turns(what, "requests/s", rate, their_rate, RatioBounds(least=2.2)),
        in_turns(what, "ms, p99", p99, their_p99, RatioBounds(most=1.2)),
        in_turns(f"{what}, with highlights", "requests/s", marked_rate, their_rate, RatioBounds(least=1.6)),
        in_turns(f"{what}, beside a bare WSGI route", "requests/s", rate, bare_rate, RatioBounds(least=0.9)),
    ]


def _hybrid(collection: Collection, mine: Server, queries: Sequence[str]) -> list[Row]:
    asked = [_ask("hybrid", query, highlight=False) for query in queries]
    load(mine.port, asked, CALLERS, SECONDS)
    alone, many = load(mine.port, asked, 1, SECONDS), load(mine.port, asked, CALLERS, SECONDS)
    what = f"served hybrid top 10 with text, {collection.name}"
    return [
        below(f"{what}, 1 connection", "ms, p50", alone.p50, 12.0),
        above(f"{what}, {CALLERS} connections", "requests/s", many.rate, 100.0),
    ]


def _batch(collection: Collection, mine: Server, queries: Sequence[str], retriever: str, at_least: float) -> Row:
    """Compare one request of many queries with as many requests, on one connection."""
    some = queries[:BATCH]
    options = {"retriever": retriever, "highlight": False}
    body = json.dumps({"queries": [{"qid": str(n), "text": text} for n, text in enumerate(some)], **options}).encode()
    connection = HTTPConnection("127.0.0.1", mine.port, timeout=120)
    headers = {"Content-Type": "application/json"}
    together, single = [], []
    for _ in range(BATCHES + 2):
        began = time.perf_counter()
        connection.request("POST", "/v1/bench/search/batch", body, headers)
        connection.getresponse().read()
        together.append(time.perf_counter() - began)
        asked = [_ask(retriever, text, highlight=False) for text in some]
        single.append(sum(_each(mine.port, asked).latencies) / 1000)
    connection.close()
    rates = [len(some) / statistics.median(taken[2:]) for taken in (together, single)]
    what = f"served {retriever}, a batch of {len(some)} beside as many requests, {collection.name}"
    return faster(what, "queries/s", *rates, at_least)


def _each(port: int, requests: Sequence[bytes]) -> LoadResult:
    """Send each request once, over one connection."""
    return load(port, requests, 1, float("inf"), most=len(requests))


def _ask(retriever: str, query: str, *, highlight: bool) -> bytes:
    body = {"query": query, "k": 10, "retriever": retriever, "highlight": highlight}
    return post("/v1/bench/search", json.dumps(body).encode())


def _in_turns(runs: Sequence[tuple[int, Sequence[bytes]]]) -> list[list[LoadResult]]:
    """Load the servers in turns, after some rounds to warm up."""
    measured: list[list[LoadResult]] = [[] for _ in runs]
    for turn in range(WARM_UP + ROUNDS):
        for (port, requests), loads in zip(runs, measured, strict=True):
            done = load(port, requests, CALLERS, SECONDS)
            if turn >= WARM_UP:
                loads.append(done)
    return measured


@contextmanager
def serve(index: Path, work: Path, settings: str = "workers: 2", **more: Path) -> Iterator[Server]:
    """Serve an index as ``bench``, by two workers or with other ``settings`` of the server, and ``more`` by name."""
    port, config = free_port(), work / "serving.yaml"
    config.write_text(f"server: {{{settings}}}\n")
    command = [sys.executable, "-m", "factseek.server", "serve", "--config", str(config)]
    for name, folder in {"bench": index, **more}.items():
        command += ["--index", f"{name}={folder}"]
    with _running([*command, "--port", str(port)], port, "/readyz") as server:
        yield server


@contextmanager
def _serve_peer(index: Path) -> Iterator[Server]:
    port = free_port()
    with _running([sys.executable, "-c", _PEER, str(index), str(port)], port, "/") as server:
        yield server


@contextmanager
def _serve_bare(index: Path) -> Iterator[Server]:
    port = free_port()
    with _running([sys.executable, "-m", "benchmarks.bare_server", str(index), str(port)], port, "/") as server:
        yield server


@contextmanager
def _running(command: Sequence[str], port: int, ready: str) -> Iterator[Server]:
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    try:
        while not _answers(port, ready):
            if process.poll() is not None or time.perf_counter() - began > 120:
                raise SystemExit(f"{command[:4]} does not start")
            time.sleep(0.02)
        yield Server(process, port, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()  # Its workers end when they miss it.
            raise


def _answers(port: int, address: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", address)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def free_port() -> int:
    """Return a port of the loopback address that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def workers(server: Server) -> list[int]:
    """Return the processes that a server has forked."""
    return [
        int(pid) for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    ]


def resident(pid: int) -> float:
    """Return the resident megabytes of a process."""
    with Path(f"/proc/{pid}/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _their_index(collection: Collection, folder: Path) -> None:
    start()
    shutil.rmtree(folder, ignore_errors=True)
    from pyserini.index.lucene import LuceneIndexer

    indexer = LuceneIndexer(str(folder), args=["-index", str(folder), "-storeRaw"], threads=2)
    indexer.add_batch_dict([{"id": docid, "contents": text} for docid, text in collection.documents])
    indexer.close()
