"""BM25 beside Pyserini's LuceneSearcher and LuceneIndexer, in one process and one virtual machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.collection import Collection
from benchmarks.peak import Peak
from benchmarks.rows import RatioBounds, Row, below, faster, in_turns, rates, rates_in_turns
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.index.local import open_index
from factseek.retrieval.java import java_class, start
from factseek.retrieval.searcher import Search, Searcher
from factseek.settings import Config

TARGETS = {10: 2.6, 100: 7.0, 1000: 14.0}


def searching(collection: Collection, work: Path, depths: Sequence[int] = tuple(TARGETS)) -> list[Row]:
    """Measure queries a second, warm, docids and scores read in Python, the total order included."""
    ours, theirs = work / f"{collection.name}-ours", work / f"{collection.name}-theirs"
    our_index(collection, ours)
    peer_index(collection, theirs)
    searcher = peer_searcher(theirs)
    queries = list(collection.queries.values())[:400]
    rows = []
    with open_index(ours) as index:
        for k in depths:
            some = queries[: 400 if k < 1000 else 150]
            runs = [partial(_search_ours, index, some, k), partial(_search_theirs, searcher, some, k)]
            ours_each, theirs_each, limit = rates_in_turns(len(some), [*runs, partial(batch_search(searcher, some), k)])
            what = f"BM25 top {k}, {collection.name}"
            rows.append(in_turns(what, "queries/s", ours_each, theirs_each, RatioBounds(least=TARGETS[k])))
            rows.append(in_turns(f"{what}, beside batch_search left in Java", "queries/s", ours_each, limit))
    return rows


def batch_search(searcher: Any, queries: Sequence[str]) -> Callable[[int], object]:
    """Return a call of Anserini's ``batch_search`` for all queries on one thread: the limit of any search from Python.

    What it returns for a number of hits stays in Java, and it cuts ties in its own way.
    """
    texts, qids = java_class("java.util.ArrayList")(), java_class("java.util.ArrayList")()
    for number, query in enumerate(queries):
        texts.add(query)
        qids.add(str(number))
    return lambda k: searcher.object.batch_search(texts, qids, k, 1)


def agreement(collection: Collection, work: Path, language: str = "en", k: int = 100) -> list[Row]:
    """Compare scores and docids of every judged query; docids that tie to four decimals at the cut may differ."""
    ours, theirs = work / f"{collection.name}-ours", work / f"{collection.name}-theirs"
    if not ours.is_dir():  # one that was searched is in English
        our_index(collection, ours, language)
        peer_index(collection, theirs, language)
    searcher = peer_searcher(theirs, language)
    furthest, differing = 0.0, 0
    with open_index(ours) as index:
        results = index.search(list(collection.queries.values()), Search(k=k, retriever="bm25"))
    for query, hits in zip(collection.queries.values(), results, strict=True):
        peers = searcher.search(query, k)
        gaps = [abs(hit.score - peer.score) for hit, peer in zip(hits, peers, strict=True)]
        furthest = max([furthest, *gaps])
        cut = round(hits[-1].score, 4) if hits else 0.0
        above = {hit.docid for hit in hits if round(hit.score, 4) > cut}
        differing += not above <= {peer.docid for peer in peers}
    name = f"{collection.name}, {len(collection.queries):,} queries, top {k}"
    return [
        below(f"BM25 scores, {name}", "largest difference", furthest, 2e-4),
        below(f"BM25 docids, {name}", "queries that differ", differing, 0),
    ]


def indexing(collection: Collection, work: Path) -> list[Row]:
    """Measure documents a second: our whole build from the file against two-threaded adding from memory."""
    ours, theirs = work / "indexing-ours", work / "indexing-theirs"
    our_rate, their_rate = rates(
        len(collection.documents),
        [lambda: our_index(collection, ours), lambda: peer_index(collection, theirs)],
        rounds=3,
    )
    return [faster(f"BM25 indexing, {collection.name}", "documents/s", our_rate, their_rate, 1.0)]


def memory(collection: Collection, work: Path, passages: int = 100_000) -> list[Row]:
    """Measure the peak memory of indexing many passages for BM25 in a new process."""
    source = work / "many.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number in range(passages):
            docid, text = collection.documents[number % len(collection.documents)]
            file.write(json.dumps({"docid": f"{docid}-{number}", "text": text}) + "\n")
    command = [sys.executable, "-m", "factseek", "index", "jsonl", str(source), "--no-dense"]
    # What the system says of a child at its end (ru_maxrss) begins with the memory of the process that started it.
    process = subprocess.Popen([*command, "--index", str(work / "many")])
    peak = Peak(process.pid)
    if process.wait():
        raise SystemExit("indexing many passages failed")
    source.unlink()
    shutil.rmtree(work / "many")
    return [below(f"indexing {passages:,} passages for BM25, peak resident", "MB", peak.megabytes(), 1024)]


def our_index(collection: Collection, folder: Path, language: str = "en") -> None:
    """Index a collection for BM25."""
    shutil.rmtree(folder, ignore_errors=True)
    request = BuildRequest(kind="beir", sources=(collection.source,), folder=folder, language=language, dense=False)
    build(request, Config())


def peer_index(collection: Collection, folder: Path, language: str = "en") -> None:
    """Index a collection by Pyserini."""
    start()
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-index", str(folder), "-language", language] if language != "en" else None
    indexer = _pyserini().index.lucene.LuceneIndexer(str(folder), args=options, threads=2)
    indexer.add_batch_dict([{"id": docid, "contents": text} for docid, text in collection.documents])
    indexer.close()


def peer_searcher(folder: Path, language: str = "en") -> Any:
    """Return Pyserini's searcher of an index, with our parameters of BM25."""
    searcher = _pyserini().search.lucene.LuceneSearcher(str(folder))
    searcher.set_bm25(0.9, 0.4)
    searcher.set_language(language)
    return searcher


def _search_ours(index: Searcher, queries: list[str], k: int) -> None:
    for hits in index.search(queries, Search(k=k, retriever="bm25")):
        [(hit.docid, hit.score) for hit in hits]


def _search_theirs(searcher: Any, queries: list[str], k: int) -> None:
    for query in queries:
        [(hit.docid, hit.score) for hit in searcher.search(query, k)]


def _pyserini() -> Any:
    # Importing Pyserini's searcher asks for a key that it does not use here.
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyserini.index.lucene
        import pyserini.search.lucene
    return pyserini
