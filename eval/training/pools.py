"""Pools: the first hits of each judged query, with the features of each and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...retrieval.combining import matrix
from ...retrieval.domain import Hit, Qrels
from ...retrieval.errors import QueryError
from ...retrieval.likeness import views_of
from ...retrieval.lucene.analysis import query_terms
from ...retrieval.progress import Progress
from ...retrieval.searcher import Searcher
from ..running.batch import SearchQuery, with_evidence
from ..running.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The first hits of a query in their order: docids, features of shape (hits, features), relevance of each.

    ``terms`` are those of the query.
    """

    qid: str
    docids: tuple[str, ...]
    features: NDArray[np.float64]
    relevance: NDArray[np.int64]
    terms: frozenset[str] = frozenset()

    @property
    def teaches(self) -> bool:
        """Whether there is a better and a worse document to tell apart."""
        return bool(len(self.relevance)) and bool(self.relevance.max() > self.relevance.min())


def pools(index: Searcher, judged: Judged, depth: int, progress: Progress) -> list[Pool]:
    """Return the pool of each judged query, in the order of the queries.

    Raises QueryError if no query has a relevant and a non-relevant document among its first ``depth`` hits.
    """
    search = judged.search._replace(k=depth, group=True, stages=())
    resolved = index.resolve(search)
    made = []
    for query, hits, evidence in with_evidence(index, judged.asked, search, progress):
        passages = [(hit.title, hit.passage.text) for hit in evidence]
        text = resolved.text(query.text)
        vectors = {view: index.passage_vectors(hits, view) for view in views_of(resolved.rankings).values()}
        features = matrix(text, hits, passages, index.terms, resolved.rankings, vectors=vectors)
        pool = _pool(query, hits, features, judged.qrels)
        made.append(replace(pool, terms=query_terms(text, index.terms)))
    if not any(pool.teaches for pool in made):
        raise QueryError(
            f"no query has a relevant and a non-relevant document among its first {depth} hits: "
            "there is nothing to learn from"
        )
    return made


def _pool(query: SearchQuery, hits: Sequence[Hit], features: NDArray[np.float64], qrels: Qrels) -> Pool:
    grades = qrels[query.qid]
    relevance = np.array([max(grades.get(hit.docid, 0), 0) for hit in hits], dtype=np.int64)
    return Pool(qid=query.qid, docids=tuple(hit.docid for hit in hits), features=features, relevance=relevance)
