"""Compare factseek with Pyserini and sentence-transformers, in one run: ``make bench``.

The collection is SciFact if ``FACTSEEK_DATA`` names its folder, else the bundled example. After a
warm-up, rounds of factseek and of the peer alternate. The table marks missed targets.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from timeit import timeit
from typing import Any

from msgspec.structs import replace

from benchmarks.data import Collection, beir, example
from benchmarks.measuring import (
    ROOT,
    WRITE,
    Bounds,
    Row,
    alone,
    in_turns,
    part,
    program,
    publish,
    rate_in_turns,
    table,
)
from benchmarks.servers import free_port, load, post, resident, running, serve, workers
from factseek import Config, EncoderSettings, Search, open_index
from factseek.core.domain import Filter
from factseek.core.terminal import say
from factseek.eval.scoring.machine import this_machine
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.encoders.sources import find_model, for_language
from factseek.retrieval.lucene.jvm import start

EXAMPLE = ROOT / "indexes" / "example-en"
CLAIM = "Vaccination has nearly wiped out measles"
DEPTHS = {10: 2.8, 100: 7.5, 1000: 18.0}
"""The numbers of hits to ask for, each with the ratio to the peer's rate that factseek must
reach.
"""
SAMPLED = 12
"""One in this many documents is encoded by sentence-transformers."""
CALLERS, ROUNDS, SECONDS, WARM_UP = 8, 3, 4.0, 2
"""Connections, rounds, seconds of a round, and warm-up rounds while Java compiles."""
BATCH, BATCHES = 100, 15
"""The queries of a batch, and the timed repetitions; the batch and its single queries take
turns.
"""
_PEER = """
import os, sys, types
os.environ.setdefault("OPENAI_API_KEY", "none")
from factseek.retrieval.lucene.jvm import start
start()
# For searching images; it is imported whatever is searched.
images = types.ModuleType("pyserini.encode.optional._uniir")
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


@program(WRITE)
def main(args: argparse.Namespace) -> None:
    """Measure and print the table."""
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: measured on the example alone")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        collection = (
            beir("SciFact", Path(data) / "scifact", "train")
            if data
            else example(ROOT / "examples", EXAMPLE, work / "example")
        )
        for row in _measured(collection, work):
            say(f"{row.what}: {row.value:.4g} ({row.target})")
            rows.append(row)
    measured = f"{table(rows)}\n{this_machine()}."
    publish("peers", measured, document=args.write)


def _measured(collection: Collection, work: Path) -> Iterator[Row]:
    from sentence_transformers import SentenceTransformer

    for retriever, at_most in (("hybrid", 1.0), ("bm25", 0.6)):
        search = [
            "factseek",
            "search",
            CLAIM,
            "--index",
            str(EXAMPLE),
            "--retriever",
            retriever,
            "--json",
        ]
        run = partial(
            subprocess.run,
            [sys.executable, "-m", *search],
            check=True,
            capture_output=True,
            cwd=ROOT,
        )
        times = [timeit(run, number=1) for _ in range(5)]
        what = f"factseek search, new process, {retriever}"
        yield alone(what, "s", statistics.median(times), Bounds(most=at_most))
    with part("BM25"):
        yield from searching(collection, work)
        # factseek builds the whole index from a file; Pyserini adds documents from memory, on two
        # threads.
        runs = [
            lambda: our_index(collection, work / "built"),
            lambda: peer_index(collection, work / "peer"),
        ]
        ours, theirs = rate_in_turns(len(collection.documents), runs, rounds=3)
        yield in_turns(
            f"BM25 indexing, {collection.name}", "documents/s", ours, theirs, Bounds(least=1.0)
        )
    peer = SentenceTransformer(
        str(find_model(for_language(EncoderSettings(), "en").model).path), device="cpu"
    )
    with part("encoding"):
        yield _encoding_queries(collection, peer)
        yield _encoding_documents(collection, peer, work)
    with part("serving"):
        yield from _serving(collection, work)


def searching(collection: Collection, work: Path) -> Iterator[Row]:
    """Measure queries per second after a warm-up, including reading docids and scores, and
    factseek's sorting.
    """
    our_index(collection, work / "ours")
    peer_index(collection, work / "theirs")
    searcher = peer_searcher(work / "theirs")
    with open_index(work / "ours") as index:

        def ours_of(some: list[str], asked: Search) -> list[list[tuple[str, float]]]:
            return [[(hit.docid, hit.score) for hit in hits] for hits in index.search(some, asked)]

        def theirs_of(some: list[str], k: int) -> list[list[tuple[str, float]]]:
            return [[(hit.docid, hit.score) for hit in searcher.search(query, k)] for query in some]

        for k, at_least in DEPTHS.items():
            some = list(collection.queries.values())[: 400 if k < 1000 else 150]
            asked = Search(k=k, retriever="bm25")
            filtered = replace(asked, where=Filter(kind=("beir",)))
            runs = [
                partial(ours_of, some, asked),
                partial(theirs_of, some, k),
                partial(ours_of, some, filtered),
            ]
            ours, theirs, passing = rate_in_turns(len(some), runs)
            what = f"BM25 top {k}, {collection.name}"
            yield in_turns(what, "queries/s", ours, theirs, Bounds(least=at_least))
            yield in_turns(
                f"{what}: a filter that all pass, and none",
                "queries/s",
                passing,
                ours,
                Bounds(least=0.77),
            )


def batch_search(searcher: Any, queries: Sequence[str]) -> Callable[[int], object]:
    """Return a call of Anserini's ``batch_search`` for all queries on one thread: the limit of any
    search from Python.

    The results stay in Java, and Anserini's rule decides which of tied documents are cut.
    """
    from jnius import autoclass

    texts, qids = autoclass("java.util.ArrayList")(), autoclass("java.util.ArrayList")()
    for number, query in enumerate(queries):
        texts.add(query)
        qids.add(str(number))
    return lambda k: searcher.object.batch_search(texts, qids, k, 1)


def our_index(collection: Collection, folder: Path) -> None:
    """Index a collection with factseek, for BM25 only."""
    shutil.rmtree(folder, ignore_errors=True)
    build(
        BuildRequest(kind="beir", sources=(collection.source,), folder=folder, dense=False),
        Config(),
    )


def peer_index(collection: Collection, folder: Path, *options: str) -> None:
    """Index a collection with Pyserini; ``options`` are further options of Anserini."""
    start()
    shutil.rmtree(folder, ignore_errors=True)
    args = ["-index", str(folder), *options]
    indexer = _pyserini().index.lucene.LuceneIndexer(
        str(folder), args=args if options else None, threads=2
    )
    indexer.add_batch_dict(
        [{"id": docid, "contents": text} for docid, text in collection.documents]
    )
    indexer.close()


def peer_searcher(folder: Path) -> Any:
    """Return Pyserini's searcher of an index, with factseek's parameters of BM25."""
    searcher = _pyserini().search.lucene.LuceneSearcher(str(folder))
    searcher.set_bm25(0.9, 0.4)
    return searcher


def _pyserini() -> Any:
    # Importing Pyserini's searcher requires a key that it does not use here.
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyserini.index.lucene
        import pyserini.search.lucene
    return pyserini


def _encoding_queries(collection: Collection, peer: Any, a_round: int = 20) -> Row:
    ours, theirs = [], []
    with closing(open_encoder(EncoderSettings())) as encoder:
        for query in list(collection.queries.values())[: 6 * a_round]:
            ours.append(timeit(partial(encoder.encode_query, [query]), number=1))
            theirs.append(timeit(partial(peer.encode, query, show_progress_bar=False), number=1))
    rate, peer_rate = (
        [
            1 / statistics.median(times[start : start + a_round])
            for start in range(a_round, len(times), a_round)
        ]
        for times in (ours, theirs)
    )
    return in_turns(
        f"one query encoded, {collection.name}", "queries/s", rate, peer_rate, Bounds(least=4.5)
    )


def _encoding_documents(collection: Collection, peer: Any, work: Path) -> Row:
    report = build(
        BuildRequest(kind="beir", sources=(collection.source,), folder=work / "dense"), Config()
    )
    rate = report.passages / sum(segment.vector_seconds for segment in report.manifest.segments)
    texts = [text for _, text in collection.documents[::SAMPLED]]
    encode = partial(
        peer.encode, texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
    )
    seconds = timeit(encode, number=1)
    what = f"documents encoded, {collection.name}"
    return in_turns(what, "documents/s", [rate], [len(texts) / seconds], Bounds(least=2.5))


def _serving(collection: Collection, work: Path) -> Iterator[Row]:
    peer_index(collection, work / "raw", "-storeRaw")
    queries = list(collection.queries.values())[:300]
    port = free_port()
    peer_command = [sys.executable, "-c", _PEER, str(work / "raw"), str(port)]
    with serve(work / "dense", work) as mine, running(peer_command, port, "/"):
        plain, marked = (
            [_ask("bm25", query, highlight=highlight) for query in queries]
            for highlight in (False, True)
        )
        peer = [
            post(
                "/v1/indexes/peer/search",
                json.dumps({"query": {"query_txt": query}, "hits": 10}).encode(),
            )
            for query in queries
        ]
        turns = ((mine.port, plain), (mine.port, marked), (port, peer))
        rounds = [
            [load(*turn, CALLERS, SECONDS) for turn in turns] for _ in range(WARM_UP + ROUNDS)
        ][WARM_UP:]
        rate, marked_rate, their_rate = (
            [load.rate for load in of] for of in zip(*rounds, strict=True)
        )
        p99, _, their_p99 = ([load.p99 for load in of] for of in zip(*rounds, strict=True))
        what = f"served BM25 top 10 with text, {CALLERS} connections, {collection.name}"
        yield in_turns(what, "requests/s", rate, their_rate, Bounds(least=2.3))
        yield in_turns(what, "ms, p99", p99, their_p99, Bounds(most=1.0))
        yield in_turns(
            f"{what}, with highlights", "requests/s", marked_rate, their_rate, Bounds(least=1.6)
        )
        asked = [_ask("hybrid", query, highlight=False) for query in queries]
        _, single, many = (
            load(mine.port, asked, callers, SECONDS) for callers in (CALLERS, 1, CALLERS)
        )
        what = f"served hybrid top 10 with text, {collection.name}"
        yield alone(f"{what}, 1 connection", "ms, p50", single.p50, Bounds(most=12.0))
        yield alone(f"{what}, {CALLERS} connections", "requests/s", many.rate, Bounds(least=100.0))
        for retriever, at_least in (("bm25", 2.5), ("hybrid", 1.6)):
            yield _batch(collection, mine.port, queries[:BATCH], retriever, at_least)
        yield alone("served: from start to ready", "s", mine.ready_after, Bounds(most=3.0))
        megabytes = max(resident(pid) for pid in workers(mine))
        yield alone("served: resident a worker, after all this", "MB", megabytes, Bounds(most=300))


def _batch(
    collection: Collection, port: int, some: Sequence[str], retriever: str, at_least: float
) -> Row:
    queries = [{"qid": str(number), "text": text} for number, text in enumerate(some)]
    body = json.dumps({"queries": queries, "retriever": retriever, "highlight": False}).encode()
    asked = [_ask(retriever, text, highlight=False) for text in some]
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    together, single = [], []
    for _ in range(BATCHES + 2):
        began = time.perf_counter()
        connection.request(
            "POST", "/v1/bench/search/batch", body, {"Content-Type": "application/json"}
        )
        connection.getresponse().read()
        together.append(time.perf_counter() - began)
        single.append(sum(load(port, asked, 1, float("inf"), most=len(asked)).latencies) / 1000)
    connection.close()
    rates = ([len(some) / statistics.median(taken[2:])] for taken in (together, single))
    what = (
        f"served {retriever}, a batch of {len(some)} compared with as many single requests, "
        f"{collection.name}"
    )
    return in_turns(what, "queries/s", *rates, Bounds(least=at_least))


def _ask(retriever: str, query: str, *, highlight: bool) -> bytes:
    body = {"query": query, "k": 10, "retriever": retriever, "highlight": highlight}
    return post("/v1/bench/search", json.dumps(body).encode())


if __name__ == "__main__":
    sys.exit(main())
