"""Compare BM25 with other lexical engines, in alternating rounds of one run: ``make bench-peers``.

Every engine answers the same queries of SciFact, one at a time, on one Python thread. Docids and
scores are read in Python. The rate of an engine is queries per second of processor time: the median
over the rounds, with quartiles. Processor time counts all threads of the process, so an engine with
many threads does not look faster. Other work on the machine does not make an engine look slower.
The table goes into docs/figures.md.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.data import Collection, beir, data_folder
from benchmarks.measuring import WRITE, program, publish, rate_in_turns
from benchmarks.peers import batch_search, our_index, peer_index, peer_searcher
from factseek import Search, open_index
from factseek.eval.scoring.machine import this_machine
from factseek.eval.scoring.measures import values_of
from factseek.eval.scoring.tables import markdown_table

Ranking = Sequence[tuple[str, float]]
Ask = Callable[[str, int], Ranking]
"""A function from a query and a number of hits to docids and scores, read in Python."""
_WORD = re.compile(r"\w+")


def _words(query: str) -> str:
    return " ".join(_WORD.findall(query.lower()))


def _factseek(collection: Collection, work: Path) -> Iterator[Ask]:
    our_index(collection, work / "ours")
    with open_index(work / "ours") as index:

        def ask(query: str, k: int) -> Ranking:
            (hits,) = index.search([query], Search(k=k, retriever="bm25"))
            return [(hit.docid, hit.score) for hit in hits]

        yield ask


def _lucene_searcher(collection: Collection, work: Path) -> Iterator[Ask]:
    peer_index(collection, work / "peer")
    searcher = peer_searcher(work / "peer")
    yield lambda query, k: [(hit.docid, hit.score) for hit in searcher.search(query, k)]
    searcher.close()


def _bm25s(collection: Collection, work: Path) -> Iterator[Ask]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        cut: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return cut

    docids = [docid for docid, _ in collection.documents]
    engine = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numba")
    engine.index(tokens([text for _, text in collection.documents]), show_progress=False)

    def ask(query: str, k: int) -> Ranking:
        rows, scores = engine.retrieve(
            tokens([query]), k=min(k, len(docids)), show_progress=False, n_threads=0
        )
        return list(zip(map(docids.__getitem__, rows[0].tolist()), scores[0].tolist(), strict=True))

    yield ask


def _tantivy(collection: Collection, work: Path) -> Iterator[Ask]:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("docid", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(schema.build())
    writer = index.writer(heap_size=64 << 20, num_threads=1)
    for docid, text in collection.documents:
        writer.add_document(tantivy.Document(docid=docid, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(query: str, k: int) -> Ranking:
        parsed = index.parse_query(_words(query), ["text"])
        return [
            (searcher.doc(place)["docid"][0], score)
            for score, place in searcher.search(parsed, k).hits
        ]

    yield ask


def _lancedb(collection: Collection, work: Path) -> Iterator[Ask]:
    import lancedb

    rows = [{"docid": docid, "text": text} for docid, text in collection.documents]
    table = lancedb.connect(work / "lance").create_table("documents", rows)
    table.create_fts_index("text", stem=True, remove_stop_words=True)

    def ask(query: str, k: int) -> Ranking:
        hits = (
            table.search(_words(query), query_type="fts")
            .select(["docid", "_score"])
            .limit(k)
            .to_arrow()
        )
        return list(zip(hits["docid"].to_pylist(), hits["_score"].to_pylist(), strict=True))

    yield ask


def _fts5(collection: Collection, work: Path) -> Iterator[Ask]:
    database = sqlite3.connect(work / "fts5.sqlite")
    database.execute(
        "CREATE VIRTUAL TABLE documents USING fts5(docid UNINDEXED, text, tokenize='porter "
        "unicode61')"
    )
    database.executemany("INSERT INTO documents VALUES (?, ?)", collection.documents)
    database.execute("INSERT INTO documents (documents) VALUES ('optimize')")
    database.commit()

    def ask(query: str, k: int) -> Ranking:
        wanted = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        sql = "SELECT docid, -rank FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT ?"
        return database.execute(sql, (wanted, k)).fetchall()

    yield ask
    database.close()


YES, NO = "yes", "–"
ABILITIES = ("Lucene's scores", "filters", "updates", "dense", "total order")
ENGINES: dict[str, tuple[Callable[[Collection, Path], Iterator[Ask]], tuple[str, ...]]] = {
    "factseek": (_factseek, (YES, YES, YES, YES, YES)),
    "Pyserini LuceneSearcher": (_lucene_searcher, (YES, NO, NO, "apart", NO)),
    "bm25s, numba": (_bm25s, (NO, "a mask", NO, NO, NO)),
    "tantivy": (_tantivy, (NO, YES, YES, NO, NO)),
    "LanceDB": (_lancedb, (NO, YES, YES, YES, NO)),
    "SQLite FTS5": (_fts5, (NO, YES, YES, NO, NO)),
}
"""For each engine: the function that indexes a collection in a folder and opens it, and its
``ABILITIES``.
"""
LIMIT = "Anserini batch_search, one thread, results left in Java"
DEPTHS = {10: 300, 100: 200, 1000: 60}
"""The numbers of hits to ask for, each with the number of queries in a round."""
ROUNDS = 5


@program(WRITE)
def main(args: argparse.Namespace) -> None:
    """Measure and print the table; with ``--write``, write it into docs/figures.md."""
    collection = beir("SciFact", data_folder() / "scifact", "train")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        work = Path(folder)
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        asks = {
            name: stack.enter_context(contextmanager(opened)(collection, work))
            for name, (opened, _) in ENGINES.items()
        }
        quality = {}
        for name, ask in asks.items():
            run = {qid: dict(ask(query, 10)) for qid, query in collection.queries.items()}
            quality[name] = f"{values_of(collection.qrels, run, 'nDCG@10').mean():.4f}"
        rates = {k: _rates(collection, asks, work, k) for k in DEPTHS}
    rows = []
    for name, does in [
        *((name, does) for name, (_, does) in ENGINES.items()),
        (LIMIT, (YES, NO, NO, NO, NO)),
    ]:
        rows.append(
            [
                name,
                quality.get(name, ""),
                *(_cell(of[name], of["factseek"]) for of in rates.values()),
                *does,
            ]
        )
    header = ("engine", "nDCG@10", *(f"k={k}" for k in DEPTHS), *ABILITIES)
    measured = f"{markdown_table(header, rows)}\n{this_machine()}; {ROUNDS} rounds, SciFact, train."
    publish("engines", measured, document=args.write)


def _rates(
    collection: Collection, asks: Mapping[str, Ask], work: Path, k: int
) -> dict[str, list[float]]:
    queries = list(collection.queries.values())[: DEPTHS[k]]
    limit = batch_search(peer_searcher(work / "peer"), queries)
    runs = {
        name: (lambda ask=ask: [ask(query, k) for query in queries]) for name, ask in asks.items()
    }
    runs[LIMIT] = lambda: [limit(k)]
    return dict(
        zip(
            runs,
            rate_in_turns(len(queries), list(runs.values()), ROUNDS, process_time),
            strict=True,
        )
    )


def _cell(rates: Sequence[float], ours: Sequence[float]) -> str:
    low, median, high = statistics.quantiles(rates, n=4)
    return f"{median:,.0f} [{low:,.0f}–{high:,.0f}], {median / statistics.median(ours):.2f} ×"


if __name__ == "__main__":
    sys.exit(main())
