"""The test bed of tuning: the value of a measure for every query under a setting, each setting computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...retrieval import retrievers
from ...retrieval.config import BM25Settings
from ...retrieval.domain import Hit, Qrels
from ...retrieval.remembered import remembered
from ...retrieval.run_reader import ScoreTable
from ...retrieval.searcher import Search, Searcher
from ..running.batch import SearchQuery, searched
from ..scoring.measures import evaluate
from ..scoring.statistics import Values
from .fused_evaluator import FusedEvaluator
from .grid import DEPTHS, Setting

Hits = Mapping[str, list[Hit]]


class SettingEvaluator:
    """Values of a measure for the judged queries; rankings are retrieved once and fused in memory.

    What stages rank anew is searched for as anywhere else.
    """

    def __init__(
        self, index: Searcher, asked: Sequence[SearchQuery], qrels: Qrels, measure: str, search: Search
    ) -> None:
        """Take the queries, in the order of ``qrels``; ``search.k`` is how deep the measure looks."""
        self.k = search.k or 1000
        self.measure = measure
        self._index = index
        self._asked = asked
        self._qrels = qrels
        self._search = search._replace(group=True, stages=())
        self._values: dict[Setting, Values] = {}
        # A ranking of many queries is large: only the latest are kept.
        self._ranking = remembered(4, self._ranked)
        self._pool = remembered(2, self._pooled)

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
        if setting.stages:
            return _scores(self._searched(self._search._replace(**setting._asdict(), k=self.k)), self.k)
        if retrievers.kind(setting.retriever).WEIGHS_WORDS:
            # Every k1 and b is asked for once: not to be kept.
            return _scores(self._ranked(setting.retriever, setting.bm25, self.k), self.k)
        if not setting.fuses:
            return _scores(self._ranking(setting.retriever, None, self._deepest(setting)), self.k)
        names = tuple(sorted(setting.fusion.weights))
        return self._pool(names, setting.bm25, setting.fusion.depth).fused(setting.fusion, self.k)

    def _deepest(self, setting: Setting) -> int:
        return max(self.k, setting.fusion.depth, DEPTHS[-1])

    def _pooled(self, names: tuple[str, ...], bm25: BM25Settings, depth: int) -> FusedEvaluator:
        deepest = max(self.k, depth, DEPTHS[-1])
        weighs = {name: retrievers.kind(name).WEIGHS_WORDS for name in names}
        rankings = {name: self._ranking(name, bm25 if weighs[name] else None, deepest) for name in names}
        return FusedEvaluator(rankings, depth)

    def _ranked(self, retriever: str, bm25: BM25Settings | None, k: int) -> Hits:
        return self._searched(self._search._replace(retriever=retriever, k=k, bm25=bm25))

    def _searched(self, search: Search) -> Hits:
        return {done.qid: done.ranking for chunk in searched(self._index, self._asked, search) for done in chunk}


def _scores(hits: Hits, k: int) -> ScoreTable:
    return {qid: {hit.docid: hit.score for hit in ranked[:k]} for qid, ranked in hits.items()}
