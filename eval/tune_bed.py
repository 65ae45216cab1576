"""The test bed of tuning: the value of a measure for every query under a setting, each setting computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from eval.batch import Asked, searched
from eval.measures import evaluate
from eval.statistics import Values
from eval.tune_grid import DEPTHS, Setting
from retrieval.config import BM25Settings, RetrieverName
from retrieval.domain import Hit, Qrels
from retrieval.fusion import Ranking, fuse
from retrieval.index import Index, Search

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

    @property
    def tried(self) -> Mapping[Setting, Values]:
        """The settings tried so far with their values, in the order in which they were tried."""
        return self._values

    def values(self, setting: Setting) -> Values:
        """Return the measure's value for each query, in the order of the judgements."""
        if setting not in self._values:
            run = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in self._hits(setting).items()}
            self._values[setting] = evaluate(self._qrels, run, [self.measure]).values[:, 0]
        return self._values[setting]

    def _hits(self, setting: Setting) -> Hits:
        if setting.retriever == "bm25":
            return self._by_bm25(setting.bm25, self.k)
        deepest = max(self.k, setting.fusion.depth, DEPTHS[-1])
        dense = self._dense(deepest)
        if setting.retriever == "dense":
            return {qid: hits[: self.k] for qid, hits in dense.items()}
        sparse = self._sparse(setting.bm25, deepest)
        return {qid: self._fused(setting, sparse[qid], dense[qid]) for qid in dense}

    def _fused(self, setting: Setting, sparse: list[Hit], dense: list[Hit]) -> list[Hit]:
        fusion = setting.fusion
        depth = max(self.k, fusion.depth)
        rankings = (
            Ranking("bm25", fusion.bm25_weight, sparse[:depth]),
            Ranking("dense", fusion.dense_weight, dense[:depth]),
        )
        return fuse(rankings, fusion.kind, fusion.rrf_k, self.k)

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
        return {done.qid: done.hits for chunk in searched(self._index, self._asked, search) for done in chunk}
