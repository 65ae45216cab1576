"""A measure of each query over a pool of documents, ranked by a model while it is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.votes import mixed
from ..scoring.measures import evaluate
from ..scoring.statistics import Values
from .candidates import Candidates

DEPTH = 100
"""Documents of a ranking that are measured."""
EncodeTexts = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to vectors of unit length, shape (texts, dimension)."""
ScorePairs = Callable[[Sequence[tuple[str, str]]], NDArray[np.float32]]
"""From pairs of query and passage to scores."""


class EncoderBed:
    """Ranks for each query the documents of all: everything that was found for one of them, or is relevant to one."""

    def __init__(self, candidates: Sequence[Candidates], qrels: Qrels, measure: str) -> None:
        self._candidates = candidates
        self._qrels = {candidate.qid: qrels[candidate.qid] for candidate in candidates}
        self._measure = measure
        pool: dict[str, str] = {}
        for candidate in candidates:
            pool |= {docid: text for docid, text in candidate.hits.items() if docid not in pool}
        for candidate in candidates:
            pool |= candidate.relevant
        self._docids = sorted(pool)
        self._texts = [pool[docid] for docid in self._docids]

    @property
    def documents(self) -> int:
        """The number of documents that are ranked."""
        return len(self._docids)

    def values(self, encode_queries: EncodeTexts, encode_documents: EncodeTexts) -> Values:
        """Return the measure of each query."""
        documents = encode_documents(self._texts)
        scores = encode_queries([candidate.query for candidate in self._candidates]) @ documents.T
        run = {}
        for candidate, row in zip(self._candidates, scores, strict=True):
            first = np.argsort(-row, kind="stable")[:DEPTH].tolist()
            run[candidate.qid] = {self._docids[at]: float(row[at]) for at in first}
        return _measured(self._qrels, run, self._measure)


class RerankerBed:
    """Ranks for each query its own hits anew; a relevant document that was not found stays missing."""

    def __init__(self, candidates: Sequence[Candidates], qrels: Qrels, measure: str) -> None:
        self._candidates = candidates
        self._qrels = {candidate.qid: qrels[candidate.qid] for candidate in candidates}
        self._measure = measure
        self._pairs = [(query.query, text) for query in candidates for text in query.hits.values()]

    @property
    def pairs(self) -> int:
        """The number of pairs that are scored."""
        return len(self._pairs)

    def before(self) -> Values:
        """Return the measure of each query as its hits were found."""
        run = {query.qid: {docid: float(-rank) for rank, docid in enumerate(query.hits)} for query in self._candidates}
        return _measured(self._qrels, run, self._measure)

    def scores(self, score: ScorePairs) -> NDArray[np.float32]:
        """Return the scores of all pairs."""
        return score(self._pairs) if self._pairs else np.zeros(0, dtype=np.float32)

    def values(self, scores: NDArray[np.float32], weight: float = 1.0) -> Values:
        """Return the measure of each query with its hits in the order of their scores, as the stage mixes them."""
        left = iter(scores.tolist())
        run = {}
        for query in self._candidates:
            after = list(islice(left, len(query.hits)))
            before = [query.scores.get(docid, 0.0) for docid in query.hits]
            run[query.qid] = dict(zip(query.hits, mixed(before, after, weight), strict=True))
        return _measured(self._qrels, run, self._measure)


def _measured(qrels: Qrels, run: dict[str, dict[str, float]], measure: str) -> Values:
    values: Values = evaluate(qrels, run, [measure]).values[:, 0]
    return values
