"""BM25 beside Pyserini's LuceneSearcher and LuceneIndexer, in one process and one virtual machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.collection import Collection
from benchmarks.rows import Row, below, faster, rates
from indexer.build import Request, build
from retrieval.config import Config
from retrieval.index import Index, Search
from retrieval.java import start

TARGETS = {10: 1.3, 100: 3.0, 1000: 8.0}


def searching(collection: Collection, work: Path) -> list[Row]:
    """Measure queries a second, warm, docids and scores read in Python, the total order included."""
    ours, theirs = work / f"{collection.name}-ours", work / f"{collection.name}-theirs"
    _our_index(collection, ours)
    _their_index(collection, theirs)
    searcher = _pyserini().search.lucene.LuceneSearcher(str(theirs))
    searcher.set_bm25(0.9, 0.4)
    queries = list(collection.queries.values())[:400]
    rows = []
    with Index(ours) as index:
        for k, target in TARGETS.items():
            some = queries[: 400 if k < 1000 else 150]
            runs = [partial(_search_ours, index, some, k), partial(_search_theirs, searcher, some, k)]
            our_rate, their_rate = rates(len(some), runs)
            rows.append(faster(f"BM25 top {k}, {collection.name}", "queries/s", our_rate, their_rate, target))
    return rows


def indexing(collection: Collection, work: Path) -> list[Row]:
    """Measure documents a second: our whole build from the file against two-threaded adding from memory."""
    ours, theirs = work / "indexing-ours", work / "indexing-theirs"
    our_rate, their_rate = rates(
        len(collection.documents),
        [lambda: _our_index(collection, ours), lambda: _their_index(collection, theirs)],
        rounds=3,
    )
    return [faster(f"BM25 indexing, {collection.name}", "documents/s", our_rate, their_rate, 0.5)]


def memory(collection: Collection, work: Path, passages: int = 100_000) -> list[Row]:
    """Measure the peak memory of indexing many passages for BM25 in a new process."""
    source = work / "many.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number in range(passages):
            docid, text = collection.documents[number % len(collection.documents)]
            file.write(json.dumps({"docid": f"{docid}-{number}", "text": text}) + "\n")
    command = [sys.executable, "-m", "factseek", "index", "jsonl", str(source), "--no-dense"]
    process = os.posix_spawn(sys.executable, [*command, "--index", str(work / "many")], dict(os.environ))
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit("indexing many passages failed")
    source.unlink()
    shutil.rmtree(work / "many")
    return [below(f"indexing {passages:,} passages for BM25, peak resident", "MB", usage.ru_maxrss / 1024, 1024)]


def _our_index(collection: Collection, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    build(Request(kind="beir", sources=(collection.source,), folder=folder, dense=False), Config())


def _their_index(collection: Collection, folder: Path) -> None:
    start()
    shutil.rmtree(folder, ignore_errors=True)
    indexer = _pyserini().index.lucene.LuceneIndexer(str(folder), threads=2)
    indexer.add_batch_dict([{"id": docid, "contents": text} for docid, text in collection.documents])
    indexer.close()


def _search_ours(index: Index, queries: list[str], k: int) -> None:
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
