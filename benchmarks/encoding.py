"""The encoder beside sentence-transformers: speed, and what its quantisation costs in quality."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.collection import Collection, ndcg10
from benchmarks.rows import RatioBounds, Row, below, faster, in_turns, within
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.choice import for_language
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.encoders.sources import find_model
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search
from factseek.settings import Config, convert

FP32 = convert({"encoder": {"precision": "fp32"}}, "encoding").encoder
_QUERIES_A_ROUND = 20
SAMPLED = 12
"""One document in so many is encoded by the peer where that is a sample."""
Vectors = NDArray[np.float32]
ENOUGH_QUERIES = 100
"""With fewer, one document more or less in one ranking moves the mean by more than what is compared."""


def single_queries(collection: Collection, peer: Any) -> list[Row]:
    """Measure one query at a time, in turns."""
    encoder = open_encoder(EncoderSettings())
    ours, theirs = [], []
    for query in list(collection.queries.values())[:120]:
        ours.append(_seconds(lambda: encoder.encode_query([query])))  # noqa: B023  called at once
        theirs.append(_seconds(lambda: peer.encode(query, show_progress_bar=False)))  # noqa: B023
    encoder.close()
    rounds = range(20, len(ours), _QUERIES_A_ROUND)
    rate, peer_rate = (
        [1 / statistics.median(times[start : start + _QUERIES_A_ROUND]) for start in rounds] for times in (ours, theirs)
    )
    return [in_turns(f"one query encoded, {collection.name}", "queries/s", rate, peer_rate, RatioBounds(least=5.5))]


def documents(collection: Collection, peer: Any, work: Path) -> list[Row]:
    """Measure a whole collection encoded, as part of indexing it, and nDCG@10 of exact search with either's vectors."""
    folder, rate = _indexed(collection, work)
    vectors, peer_rate = _their_vectors([text for _, text in collection.documents], peer)
    speed = faster(f"documents encoded, {collection.name}", "documents/s", rate, peer_rate, 2.5)
    if len(collection.queries) < ENOUGH_QUERIES:
        return [speed]
    queries = peer.encode(list(collection.queries.values()), normalize_embeddings=True, show_progress_bar=False)
    return [speed, _quality(collection, folder, queries, vectors)]


def exported_documents(collection: Collection, peer: Any, work: Path) -> list[Row]:
    """Measure the same as :func:`documents` in less time: the peer encodes a sample only.

    What our vectors are compared with is then made by the exported model in fp32; that these are the peer's vectors is
    measured on the sample.
    """
    folder, rate = _indexed(collection, work)
    texts = [text for _, text in collection.documents]
    theirs, peer_rate = _their_vectors(texts[::SAMPLED], peer)
    with closing(open_encoder(FP32)) as encoder:
        vectors, queries = encoder.encode_document(texts), encoder.encode_query(list(collection.queries.values()))
    apart = float(np.abs(vectors[::SAMPLED] - theirs).max())
    same = f"fp32 vectors, exported beside the peer's own, {len(theirs)} documents of {collection.name}"
    return [
        faster(f"documents encoded, {collection.name}", "documents/s", rate, peer_rate, 2.5),
        below(same, "largest difference", apart, 1e-5),
        _quality(collection, folder, queries, vectors),
    ]


def peer() -> Any:
    """Return the embedded model in sentence-transformers, fp32."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(find_model(for_language(EncoderSettings(), "en").model).path), device="cpu")


def _indexed(collection: Collection, work: Path) -> tuple[Path, float]:
    """Index a collection; return the index and how many documents were encoded a second."""
    folder = work / f"{collection.name}-dense"
    report = build(BuildRequest(kind="beir", sources=(collection.source,), folder=folder), Config())
    return folder, report.passages / sum(segment.vector_seconds for segment in report.manifest.segments)


def _their_vectors(texts: Sequence[str], peer: Any) -> tuple[Vectors, float]:
    """Return the peer's vectors of documents, and how many it encoded a second."""
    began = perf_counter()
    vectors: Vectors = peer.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    return vectors, len(texts) / (perf_counter() - began)


def _quality(collection: Collection, folder: Path, queries: Vectors, vectors: Vectors) -> Row:
    """Compare our dense retrieval with exact search in fp32 vectors of the queries and the documents."""
    ours, theirs = our_ndcg(collection, folder), exact_ndcg(collection, queries, vectors)
    return within(f"dense retrieval, {collection.name}", "nDCG@10", ours, theirs, 0.003)


def our_ndcg(collection: Collection, folder: Path) -> float:
    """Return nDCG@10 of dense retrieval in the index at ``folder``."""
    with open_index(folder) as index:
        hits = index.search(list(collection.queries.values()), Search(k=10, retriever="dense"))
    ranked = [[(hit.docid, hit.score) for hit in of_query] for of_query in hits]
    return ndcg10(collection, dict(zip(collection.queries, ranked, strict=True)))


def exact_ndcg(collection: Collection, queries: Vectors, vectors: Vectors) -> float:
    """Return nDCG@10 of exact search for vectors of the queries in those of the documents, in their orders."""
    rankings = {
        qid: _top10(collection.documents, vectors @ query)
        for qid, query in zip(collection.queries, queries, strict=True)
    }
    return ndcg10(collection, rankings)


def _top10(documents: Sequence[tuple[str, str]], scores: NDArray[np.float32]) -> list[tuple[str, float]]:
    best = np.argsort(-scores, kind="stable")[:10]
    return [(documents[row][0], float(scores[row])) for row in best]


def _seconds(call: Any) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began
