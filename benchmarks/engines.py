"""Other search engines for words, each as small as its makers show it: what is built, and one query at a time.

Nothing here is imported but by a benchmark; the packages are those of the extra ``bench``.
"""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.collection import Collection
from benchmarks.sparse import our_index, peer_index, peer_searcher
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search

Ranking = Sequence[tuple[str, float]]
Ask = Callable[[str, int], Ranking]
"""From a query and a number of hits to docids and scores, read in Python."""
_WORD = re.compile(r"\w+")


class Abilities(NamedTuple):
    """What an engine does beside ranking by words."""

    lucene_scores: str
    filters: str
    updates: str
    dense: str
    total_order: str


class SearchEngine(NamedTuple):
    """An engine: what it does, and how it is opened over a collection, whose index it builds in a folder."""

    name: str
    does: Abilities
    opened: Callable[[Collection, Path], Iterator[Ask]]


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
        rows, scores = engine.retrieve(tokens([query]), k=min(k, len(docids)), show_progress=False, n_threads=0)
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
        parsed = index.parse_query(" ".join(_WORD.findall(query.lower())), ["text"])
        return [(searcher.doc(place)["docid"][0], score) for score, place in searcher.search(parsed, k).hits]

    yield ask


def _lancedb(collection: Collection, work: Path) -> Iterator[Ask]:
    import lancedb

    rows = [{"docid": docid, "text": text} for docid, text in collection.documents]
    table = lancedb.connect(work / "lance").create_table("documents", rows)
    table.create_fts_index("text", stem=True, remove_stop_words=True)

    def ask(query: str, k: int) -> Ranking:
        words = " ".join(_WORD.findall(query.lower()))
        hits = table.search(words, query_type="fts").select(["docid", "_score"]).limit(k).to_arrow()
        return list(zip(hits["docid"].to_pylist(), hits["_score"].to_pylist(), strict=True))

    yield ask


def _fts5(collection: Collection, work: Path) -> Iterator[Ask]:
    database = sqlite3.connect(work / "fts5.sqlite")
    database.execute("CREATE VIRTUAL TABLE documents USING fts5(docid UNINDEXED, text, tokenize='porter unicode61')")
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
ENGINES = (
    SearchEngine("factseek", Abilities(YES, YES, YES, YES, YES), _factseek),
    SearchEngine("Pyserini LuceneSearcher", Abilities(YES, NO, NO, "apart", NO), _lucene_searcher),
    SearchEngine("bm25s, numba", Abilities(NO, "a mask", NO, NO, NO), _bm25s),
    SearchEngine("tantivy", Abilities(NO, YES, YES, NO, NO), _tantivy),
    SearchEngine("LanceDB", Abilities(NO, YES, YES, YES, NO), _lancedb),
    SearchEngine("SQLite FTS5", Abilities(NO, YES, YES, NO, NO), _fts5),
)


@contextmanager
def opened(engine: SearchEngine, collection: Collection, work: Path) -> Iterator[Ask]:
    """Open an engine over a collection."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        asks = engine.opened(collection, work)
        yield next(asks)
    for _ in asks:
        pass
