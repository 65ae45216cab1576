"""The test bed of tuning: the value of a measure for every query under a setting, each setting computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from ...retrieval.config import BM25Settings, RetrieverName
from ...retrieval.domain import Hit, Qrels
from ...retrieval.index.local import Index, Search
from ...retrieval.run_reader import ScoreTable
from ..running.batch import Asked, searched
from ..scoring.measures import evaluate
from ..scoring.statistics import Values
from .fused_evaluator import Pool
from .grid import DEPTHS, Setting

Hits = Mapping[str, list[Hit]]


class Bed:
    """Values of a measure for the judged queries; rankings are retrieved once and fused in memory."""

    def __init__(self, index: Index, asked: Sequence[Asked], qrels: Qrels, measure: str, search: Search) -> None:
        """Take the queries, in the order of ``qrels``; ``search.k`` is how deep the measure looks."""
        self.k = search.k or 1000
        self.measure = measure
        self._index = index
        self._asked = asked
        self._qrels = qrels
        self._search = search._replace(group=True)
        self._values: dict[Setting, Values] = {}
        # A ranking of many queries is large: only the latest are kept.
        self._sparse = lru_cache(maxsize=2)(self._by_bm25)
        self._dense = lru_cache(maxsize=1)(self._by_vectors)
        self._pool = lru_cache(maxsize=2)(self._pooled)

    @property
    def tried(self) -> Mapping[Setting, Values]:
        """The settings tried so far with their values, in the order in which they were tried."""
        return self._values

    def values(self, setting: Setting) -> Values:
        """Return the measure's value for each query, in the order of the judgements."""
        if setting not in self._values:
            self._values[setting] = evaluate(self._qrels, self._run(setting), [self.measure]).values[:, 0]
        return self._values[setting]

    def _run(self, setting: Setting) -> ScoreTable:
        if setting.retriever == "bm25":
            return _scores(self._by_bm25(setting.bm25, self.k), self.k)
        if setting.retriever == "dense":
            return _scores(self._dense(self._deepest(setting)), self.k)
        return self._pool(setting.bm25, max(self.k, setting.fusion.depth)).fused(setting.fusion, self.k)

    def _deepest(self, setting: Setting) -> int:
        return max(self.k, setting.fusion.depth, DEPTHS[-1])

    def _pooled(self, bm25: BM25Settings, depth: int) -> Pool:
        deepest = max(depth, DEPTHS[-1])
        return Pool(self._sparse(bm25, deepest), self._dense(deepest), depth)

    def _by_bm25(self, bm25: BM25Settings, k: int) -> Hits:
        given = self._index.config
        self._index.config = msgspec.structs.replace(given, bm25=bm25)
        try:
            return self._ranked("bm25", k)
        finally:
            self._index.config = given

    def _by_vectors(self, k: int) -> Hits:
        return self._ranked("dense", k)

    def _ranked(self, retriever: RetrieverName, k: int) -> Hits:
        search = self._search._replace(retriever=retriever, k=k)
        return {done.qid: done.found for chunk in searched(self._index, self._asked, search) for done in chunk}


def _scores(hits: Hits, k: int) -> ScoreTable:
    return {qid: {hit.docid: hit.score for hit in found[:k]} for qid, found in hits.items()}
