"""The ranking of impacts beside Anserini's impact searcher, and beside a matrix of scipy and
sentence-transformers over the whole of real collections.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders.sources import SPLADE_TINY, find_model
from factseek.retrieval.lucene.index import flat_text
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.sparse.encoder import SparseEncoder, open_sparse_encoder
from factseek.retrieval.sparse.impacts import (
    SCALE,
    ImpactFiles,
    ImpactIndex,
    PendingImpacts,
    SegmentImpacts,
    SparseVector,
    best_rows,
    rounded_impacts,
)
from factseek.settings import Config, convert

FILES = ImpactFiles()
VOCABULARY = 300
IMPACT = Search(retriever="impact", k=10)


def index_of_anserini(vectors: Sequence[SparseVector], folder: Path) -> Any:
    """Return Anserini's searcher over passages in which each term occurs as often as its impact
    says.
    """
    start()
    from jnius import autoclass

    indexer = autoclass("io.anserini.index.SimpleIndexer")(str(folder))
    for row, vector in enumerate(vectors):
        terms, impacts = rounded_impacts(vector)
        words = [
            f"t{term} " * count
            for term, count in zip(terms.tolist(), impacts.tolist(), strict=True)
        ]
        assert indexer.addRawDocument(json.dumps({"id": str(row), "contents": " ".join(words)}))
    indexer.close()
    return autoclass("io.anserini.search.SimpleImpactSearcher")(str(folder))


def found_by_anserini(searcher: Any, query: SparseVector, k: int) -> list[tuple[int, float]]:
    """Return the rows of Anserini's hits, with their scores; the query's weights must be whole
    numbers.
    """
    from jnius import autoclass

    weighed, whole = autoclass("java.util.HashMap")(), autoclass("java.lang.Integer")
    for term, weight in zip(query.terms.tolist(), query.weights.tolist(), strict=True):
        weighed.put(f"t{term}", whole(int(weight)))
    return [(int(hit.docid), float(hit.score)) for hit in searcher.search(weighed, k)]


def in_whole_numbers(query: SparseVector) -> SparseVector:
    """Return a query with rounded weights, the only ones that Anserini's searcher takes."""
    weights = np.rint(query.weights * SCALE).astype(np.float32)
    return SparseVector(query.terms[weights > 0], weights[weights > 0])


def impact_index(parts: Sequence[Sequence[SparseVector]], folder: Path, size: int) -> ImpactIndex:
    segments = []
    for number, part in enumerate(parts):
        place = folder / str(number)
        place.mkdir(parents=True)
        pending = PendingImpacts(place / FILES.pending)
        pending.add(part)
        pending.sort(place, FILES, size)
        segments.append(SegmentImpacts(place, len(part), size, FILES))
    return ImpactIndex(segments)


def assert_ranks_as_anserini(
    index: ImpactIndex, searcher: Any, query: SparseVector, k: int
) -> None:
    """Check that the first ``k`` are the same rows with the same scores.

    The scores are whole numbers below 2**24, so they are compared exactly. Among equal scores,
    Anserini chooses in another order, so the rows with the last score may differ.
    """
    scores = index.scores(query)
    ours = best_rows(scores, k)
    theirs = found_by_anserini(searcher, query, k)
    # Anserini takes a millionth off a score for each hit before it with the same score.
    rounded = [round(score) for _, score in theirs]
    assert rounded == ours.scores[:k].tolist()
    assert all(scores[row] == round(score) for row, score in theirs)
    if theirs:
        above = {
            row for (row, _), score in zip(theirs, rounded, strict=True) if score > rounded[-1]
        }
        assert above == set(np.flatnonzero(scores > rounded[-1]).tolist()) or len(theirs) < k


def random_vectors(count: int, terms: int, seed: int) -> list[SparseVector]:
    random = np.random.default_rng(seed)
    vectors = []
    for _ in range(count):
        # Some terms are in most passages, as in texts.
        drawn = np.unique((VOCABULARY * random.random(terms) ** 3).astype(np.int32))
        weights = random.gamma(2.0, 0.6, len(drawn)).astype(np.float32)
        vectors.append(SparseVector(drawn, weights))
    return vectors


def test_the_ranking_is_that_of_anserini(tmp_path: Path) -> None:
    passages, queries = random_vectors(400, 40, seed=1), random_vectors(60, 9, seed=2)
    index = impact_index([passages[:150], passages[150:]], tmp_path / "ours", VOCABULARY)
    searcher = index_of_anserini(passages, tmp_path / "theirs")
    for query in map(in_whole_numbers, queries):
        for k in (10, 1_000):
            assert_ranks_as_anserini(index, searcher, query, k)
    searcher.close()


class Weighed(NamedTuple):
    """A collection: its index, the sparse vector of each passage, their texts, and all queries."""

    index: Path
    vectors: list[SparseVector]
    docids: list[str]
    texts: list[str]
    queries: list[str]


def config(queries: str = "auto", precision: str = "int8") -> Config:
    impact = {"model": SPLADE_TINY, "queries": queries, "precision": precision}
    made: Config = convert({"impact": impact}, "test")
    return made


@pytest.fixture(scope="module")
def model() -> Iterator[SparseEncoder]:
    encoder = open_sparse_encoder(config().impact)
    yield encoder
    encoder.close()


@pytest.fixture(scope="module", params=["scifact", "nfcorpus"])
def weighed(
    request: pytest.FixtureRequest,
    data_dir: Path,
    model: SparseEncoder,
    tmp_path_factory: pytest.TempPathFactory,
) -> Weighed:
    source = data_dir / request.param
    folder = tmp_path_factory.mktemp(request.param) / "index"
    asked = BuildRequest(
        kind="beir", sources=(source,), folder=folder, views=("impacts",), dense=False
    )
    build(asked, config())
    rows = objects(source / "corpus.jsonl")
    texts = [flat_text(row["title"], row["text"]) for row in rows]
    vectors = [vector for chunk in model.weigh_documents_stream(texts) for vector in chunk]
    queries = [query["text"] for query in objects(source / "queries.jsonl")]
    return Weighed(folder, vectors, [row["_id"] for row in rows], texts, queries)


def objects(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def matrix_of(vectors: Sequence[SparseVector], size: int) -> csr_matrix:
    rounded = list(map(rounded_impacts, vectors))
    ends = np.cumsum([0, *(len(terms) for terms, _ in rounded)])
    terms = np.concatenate([terms for terms, _ in rounded])
    impacts = np.concatenate([impacts for _, impacts in rounded]).astype(np.float64)
    return csr_matrix((impacts, terms, ends), shape=(len(vectors), size))


def weights_of_words(
    model: SparseEncoder, query: str, passages_with: NDArray[np.int64], passages: int
) -> SparseVector:
    terms = model.word_pieces()(query)
    idf = np.log((passages + 1) / (passages_with[terms] + 1)).astype(np.float32)
    return SparseVector(terms, idf)


@pytest.mark.data
@pytest.mark.deep
@pytest.mark.skipif(find_spec("cognition") is None, reason="splade-tiny is not installed")
@pytest.mark.parametrize("way", ["idf", "model"])
def test_the_first_ten_of_all_queries_are_those_of_a_matrix(
    weighed: Weighed, model: SparseEncoder, way: str
) -> None:
    matrix = matrix_of(weighed.vectors, model.info.vocabulary)
    passages_with = matrix.getnnz(axis=0)
    docids = np.array(weighed.docids)
    # Higher docids come first among equal scores.
    by_docid = np.argsort(docids)[::-1]
    with Index(weighed.index, config(way)) as index:
        found = index.search(weighed.queries, IMPACT)
    assert len(found) > 800
    for query, hits in zip(weighed.queries, found, strict=True):
        if way == "model":
            vector = model.weigh_query(query)
        else:
            vector = weights_of_words(model, query, passages_with, len(docids))
        column = np.zeros(model.info.vocabulary)
        column[vector.terms] = vector.weights
        scores = (matrix @ column).astype(np.float32)
        order = by_docid[np.argsort(-scores[by_docid], kind="stable")][:10]
        order = order[scores[order] > 0]
        assert [hit.docid for hit in hits] == docids[order].tolist(), query
        np.testing.assert_allclose([hit.score for hit in hits], scores[order], rtol=1e-6)


@pytest.mark.data
@pytest.mark.deep
@pytest.mark.skipif(find_spec("cognition") is None, reason="splade-tiny is not installed")
def test_real_passages_rank_as_in_anserini(
    weighed: Weighed, model: SparseEncoder, tmp_path: Path
) -> None:
    size = model.info.vocabulary
    index = impact_index([weighed.vectors], tmp_path / "ours", size)
    searcher = index_of_anserini(weighed.vectors, tmp_path / "theirs")
    for query in weighed.queries[:500]:
        assert_ranks_as_anserini(index, searcher, in_whole_numbers(model.weigh_query(query)), 100)
    searcher.close()


@pytest.mark.data
@pytest.mark.deep
@pytest.mark.skipif(find_spec("cognition") is None, reason="splade-tiny is not installed")
def test_real_passages_have_the_weights_of_sentence_transformers(weighed: Weighed) -> None:
    from sentence_transformers import SparseEncoder as Reference

    reference = Reference(
        str(find_model(SPLADE_TINY, "sparse model").path), device="cpu", local_files_only=True
    )
    encoder = open_sparse_encoder(config(precision="fp32").impact)
    texts = weighed.texts[:: len(weighed.texts) // 100]
    vectors = [vector for chunk in encoder.weigh_documents_stream(texts) for vector in chunk]
    for text, vector in zip(texts, vectors, strict=True):
        expected = reference.encode_document([text]).to_dense().numpy()[0]
        row = np.zeros(encoder.info.vocabulary, dtype=np.float32)
        row[vector.terms] = vector.weights
        np.testing.assert_allclose(row, expected, atol=1e-5)
    encoder.close()
