"""Rankings of many queries, aligned once, so that trying a fusion is fast.

The result equals the result of :func:`factseek.retrieval.search.fusion.fuse`: the scorers and the order are the same,
and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from ...retrieval.config import FusionSettings
from ...retrieval.domain import Hit
from ...retrieval.records.runs import ScoreTable
from ...retrieval.search.fusion import Ranking, unfused
from ...retrieval.search.order import scores_below
from ...retrieval.search.score_normalizers import scorer_of

Hits = Mapping[str, Sequence[Hit]]


class FusedEvaluator:
    """Fuses the first ``depth`` documents of several rankings of the same queries; each ranking has a name."""

    def __init__(self, rankings: Mapping[str, Hits], depth: int) -> None:
        self._names = list(rankings)
        self._whole = rankings
        self._depth = depth
        self._qids = list(next(iter(rankings.values())))
        self._rankings = [[ranking[qid][:depth] for qid in self._qids] for ranking in rankings.values()]
        # Documents are in descending order of docid: a stable sort by score then leaves ties in the total order.
        pooled = [
            sorted({hit.docid for hit in chain(*of_query)}, reverse=True)
            for of_query in zip(*self._rankings, strict=True)
        ]
        self._docids = list(chain.from_iterable(pooled))
        self._starts = np.cumsum([0, *map(len, pooled)])
        self._queries = np.repeat(np.arange(len(pooled)), [len(docids) for docids in pooled])
        self._places = [self._placed(ranking, pooled) for ranking in self._rankings]
        self._worths: dict[tuple[str, int], list[NDArray[np.float64]]] = {}

    def fused(self, fusion: FusionSettings, k: int) -> ScoreTable:
        """Return the ``k`` best documents of each query: the fused documents, then the rest of the rankings."""
        votes = np.zeros(len(self._docids))
        weights = [fusion.weights[name] for name in self._names]
        for worth, places, weight in zip(self._worth(fusion), self._places, weights, strict=True):
            votes[places] += weight * worth
        scores = votes.astype(np.float32)
        order = np.lexsort((-scores, self._queries))
        run: ScoreTable = {}
        for qid, (start, end) in zip(self._qids, pairwise(self._starts.tolist()), strict=True):
            rows = order[start : min(start + k, end)]
            best = dict(zip([self._docids[row] for row in rows.tolist()], scores[rows].tolist(), strict=True))
            run[qid] = best | self._rest(qid, best, k - len(best))
        return run

    def fused_by_query(self, fusions: Mapping[str, FusionSettings], k: int) -> ScoreTable:
        """Return the ``k`` best documents of each query as :meth:`fused` does, with a fusion for each query."""
        runs = {fusion: self.fused(fusion, k) for fusion in set(fusions.values())}
        return {qid: runs[fusion][qid] for qid, fusion in fusions.items()}

    def _rest(self, qid: str, fused: Mapping[str, float], count: int) -> dict[str, float]:
        if count <= 0:
            return {}
        rankings = [Ranking(name, 0.0, ranking[qid]) for name, ranking in self._whole.items()]
        rest = islice(unfused(rankings, self._depth, set(fused)), count)
        docids = [hit.docid for _, _, hit in rest]
        return dict(zip(docids, scores_below(0.0, len(docids)), strict=True))

    def _placed(self, ranking: Sequence[Sequence[Hit]], pooled: Sequence[Sequence[str]]) -> NDArray[np.intp]:
        places: list[int] = []
        for start, docids, hits in zip(self._starts.tolist(), pooled, ranking, strict=False):
            at = {docid: row for row, docid in enumerate(docids, start)}
            places += [at[hit.docid] for hit in hits]
        return np.array(places, dtype=np.intp)

    def _worth(self, fusion: FusionSettings) -> list[NDArray[np.float64]]:
        """Return the score that each hit of each ranking contributes, before weighting."""
        key = (fusion.kind, fusion.rrf_k)
        if key not in self._worths:
            scorer = scorer_of(*key)
            self._worths[key] = [
                np.array(list(chain.from_iterable(scorer([hit.score for hit in hits]) for hits in ranking)))
                for ranking in self._rankings
            ]
        return self._worths[key]
