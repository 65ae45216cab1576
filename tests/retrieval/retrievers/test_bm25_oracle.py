"""BM25 against Pyserini's own searcher, over the texts of real collections that the fold leaves as
they are.
"""

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from factseek.core.domain import Hit
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.lucene.analysis import Analysis, analyzer_name, fold_words
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.prepared_query import PreparedQuery
from factseek.settings import convert

pytestmark = [pytest.mark.data, pytest.mark.real]

TOLERANCE = 2e-4  # LuceneSearcher rounds scores and takes 1e-6 off for each tie


class Both(NamedTuple):
    source: Path
    ours: Index
    theirs: Any
    queries: list[str]


COLLECTIONS = {
    "scifact": ("scifact", "qrels/train.tsv", "en"),
    "nfcorpus": ("nfcorpus", "qrels/dev.tsv", "en"),
    "xquad-r-ar": ("xquad-r/ar", "qrels/test.tsv", "ar"),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.deep if name == "nfcorpus" else ())
        for name in COLLECTIONS
    ],
)
def both(
    request: pytest.FixtureRequest, data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    folder, qrels, language = COLLECTIONS[request.param]
    work = tmp_path_factory.mktemp(request.param)
    source = unfolded(data_dir / folder, work / folder, language)
    request = BuildRequest(
        kind="beir", sources=(source,), folder=work / "ours", language=language, dense=False
    )
    build(request, convert({"index": {"parts": "never"}}, "test"))
    with Index(work / "ours") as ours:
        yield Both(
            source,
            ours,
            pyserini_searcher(source, work / "theirs", language),
            judged_queries(source, qrels),
        )


def unfolded(source: Path, folder: Path, language: str) -> Path:
    """Write a collection that the fold leaves as it is, and its judgements: in English, the
    documents and the queries that have one form alone, in other languages all of them, folded.
    """
    analysis = Analysis(analyzer_name(language))
    shutil.copytree(source / "qrels", folder / "qrels")
    for name in ("corpus.jsonl", "queries.jsonl"):
        rows = list(map(json.loads, (source / name).read_text("utf-8").split("\n")[:-1]))
        folded = [dict(row) for row in rows]
        for row in folded:
            for key in ("title", "text"):
                row[key] = fold_words(analysis, row.get(key, ""))
        pairs = zip(folded, rows, strict=True)
        kept = [own for own, row in pairs if language != "en" or own == {"title": "", **row}]
        assert len(kept) > len(rows) / 2
        lines = (json.dumps(row, ensure_ascii=False) for row in kept)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


def pyserini_searcher(source: Path, folder: Path, language: str, *options: str) -> Any:
    # Importing Pyserini's searcher asks for a key that it does not use here.
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyserini.index.lucene import LuceneIndexer
        from pyserini.search.lucene import LuceneSearcher
    indexer = LuceneIndexer(
        str(folder), args=["-index", str(folder), "-language", language, *options]
    )
    documents = map(json.loads, (source / "corpus.jsonl").read_text("utf-8").split("\n")[:-1])
    texts = {
        each["_id"]: f"{each['title']}\n{each['text']}" if each.get("title") else each["text"]
        for each in documents
    }
    indexer.add_batch_dict([{"id": docid, "contents": text} for docid, text in texts.items()])
    indexer.close()
    searcher = LuceneSearcher(str(folder))
    searcher.set_bm25(0.9, 0.4)
    searcher.set_language(language)
    return searcher


def judged_queries(source: Path, qrels: str) -> list[str]:
    judged = {line.split("\t")[0] for line in (source / qrels).read_text("utf-8").splitlines()[1:]}
    queries = map(json.loads, (source / "queries.jsonl").read_text("utf-8").split("\n")[:-1])
    return [query["text"] for query in queries if query["_id"] in judged]


@pytest.mark.parametrize("k", [10, *(pytest.param(k, marks=pytest.mark.deep) for k in (100, 1000))])
def test_scores_and_docids_are_those_of_pyserini(both: Both, k: int) -> None:
    ours = both.ours.search(both.queries, Search(k=k, retriever="bm25"))
    assert len(both.queries) > 200
    for query, hits in zip(both.queries, ours, strict=True):
        theirs = [(hit.docid, hit.score) for hit in both.theirs.search(query, k)]
        assert_same(query, hits, theirs)


def assert_same(query: str, ours: list[Hit], theirs: list[tuple[str, float]]) -> None:
    assert len(ours) == len(theirs), query
    for hit, (_, score) in zip(ours, theirs, strict=True):
        assert hit.score == pytest.approx(score, abs=TOLERANCE), query
    cut = round(ours[-1].score, 4) if ours else 0.0
    above = {hit.docid for hit in ours if round(hit.score, 4) > cut}
    assert above <= {docid for docid, _ in theirs}, query
    assert {docid for docid, score in theirs if round(score, 4) > cut} <= {
        hit.docid for hit in ours
    }, query


@pytest.mark.deep
@pytest.mark.parametrize("name", ["scifact", "nfcorpus"])
def test_expanded_queries_are_those_of_pyserini(name: str, data_dir: Path, tmp_path: Path) -> None:
    folder, qrels, language = COLLECTIONS[name]
    source = unfolded(data_dir / folder, tmp_path / "source", language)
    config = convert({}, "test")
    build(
        BuildRequest(kind="beir", sources=(source,), folder=tmp_path / "ours", dense=False), config
    )
    theirs = pyserini_searcher(source, tmp_path / "theirs", language, "-storeDocvectors")
    theirs.set_rm3()
    queries = judged_queries(source, qrels)
    with Index(tmp_path / "ours", config) as index:
        ours = index.search(queries, Search(k=100, retriever="bm25+rm3"))
        expanding = index._state.ranking("bm25+rm3", config)
        for query, hits in zip(queries, ours, strict=True):
            expanded = {term for term, _ in expanding.expand(PreparedQuery(query), None).terms}
            if hits:  # without a hit, nothing expands the query
                assert expanded == set(theirs.get_feedback_terms(query)), query
            assert_same(query, hits, [(hit.docid, hit.score) for hit in theirs.search(query, 100)])
