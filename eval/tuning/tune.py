"""Tune: choose BM25's parameters and the fusion on judged queries, by cross-validation.

A fold's queries are judged under what the other folds chose, so the cross-validated figure is of the procedure, not of
a setting picked on the queries that it is praised on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...retrieval import retrievers
from ...retrieval import stages as stage_kinds
from ...retrieval.errors import QueryError
from ...retrieval.progress import Bar, Progress, silent
from ...retrieval.searcher import Search, Searcher
from ..running.judged import Judged, depth_of
from ..scoring.statistics import Interval, PairedTest, Values, intervals, paired
from .evaluator import SettingEvaluator
from .grid import Setting, depths, fusions, parameters, stages, title_weights

SURE = 0.05
"""The p-value below which tuning is believed."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The setting that the other folds chose for a fold, with its mean there and the default's."""

    queries: int
    setting: Setting
    mean: float
    default: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The result of a tuning.

    ``best`` is the setting chosen on all queries, ``best_mean`` its mean on those same queries. ``cross_validated`` and
    ``test`` judge each query in the fold where it was held out; the test is against the default.
    """

    measure: str
    queries: int
    seed: int
    default: Setting
    default_mean: Interval
    best: Setting
    best_mean: float
    cross_validated: Interval
    test: PairedTest
    folds: tuple[Fold, ...]
    tried: tuple[tuple[Setting, float], ...]

    @property
    def sure(self) -> bool:
        """Whether tuning is better than the default beyond chance."""
        return self.test.difference.mean > 0 and self.test.p_randomisation < SURE

    @property
    def chosen(self) -> Setting:
        """The best setting where it is surely better, else the default, which is simpler."""
        return self.best if self.sure else self.default


def tune(
    index: Searcher, judged: Judged, measure: str, *, folds: int = 5, seed: int = 0, progress: Progress = silent
) -> Tuning:
    """Try the settings of :mod:`factseek.eval.tuning.grid` and choose among them; the same for the same seed.

    Raises QueryError if there are fewer judged queries than folds.
    """
    queries = len(judged.asked)
    if not 2 <= folds <= queries:
        raise QueryError(f"--folds {folds}: give a number from 2 to that of the judged queries, {queries:,}")
    config = index.settings
    default = Setting(index.resolve().retriever, config.bm25, config.search.fusion, config.search.stages)
    bed = SettingEvaluator(index, judged.asked, judged.qrels, measure, judged.search._replace(k=depth_of([measure])))
    with closing(progress("tuning", "settings", 0)) as bar:
        chooser = _Chooser(bed, default, index, bar)
        parts = parts_of(queries, folds, seed)
        chosen = [chooser.choose(np.setdiff1d(np.arange(queries), part)) for part in parts]
        best = chooser.choose(np.arange(queries))
    return _tuning_of(bed, default, best, list(zip(parts, chosen, strict=True)), seed)


class _Chooser:
    """Chooses a setting, one group of settings after the other; of equals, the earlier and so the simpler."""

    def __init__(self, bed: SettingEvaluator, default: Setting, index: Searcher, bar: Bar) -> None:
        self._bed = bed
        self._default = default
        self._fusible = any(retrievers.kind(name).FUSES for name in index.info.retrievers)
        self._alone = [name for name in index.info.retrievers if not retrievers.kind(name).FUSES]
        self._titles = index.info.weighs_titles
        self._ranking = [name for name in stage_kinds.ranking() if _answers(index, name)]
        self._bar = bar

    def choose(self, rows: Rows) -> Setting:
        """Return the setting that is best on the queries of ``rows``."""
        retrieved = self._retrieved(rows)._replace(stages=self._default.stages)
        return self._best(stages(retrieved, self._ranking), rows)

    def _retrieved(self, rows: Rows) -> Setting:
        """Return the setting without stages that is best on the queries of ``rows``."""
        default = self._default._replace(stages=())
        sparse = self._best(parameters(default), rows)
        if self._titles:
            sparse = self._best(title_weights(sparse), rows)
        if not self._fusible:
            return sparse
        fused = self._best(fusions(default._replace(bm25=sparse.bm25), self._alone), rows)
        if fused.fuses:
            fused = self._best(depths(fused), rows)
        return fused

    def _best(self, settings: Sequence[Setting], rows: Rows) -> Setting:
        means = []
        for setting in settings:
            before = len(self._bed.tried)
            means.append(float(self._bed.values(setting)[rows].mean()))
            self._bar.update(len(self._bed.tried) - before)
        highest = max(means)
        return next(setting for setting, mean in zip(settings, means, strict=True) if mean > highest - 1e-12)


def _answers(index: Searcher, stage: str) -> bool:
    """Return whether the settings and the index have what a stage needs.

    Raises MachineError if they name a model that is not on this machine.
    """
    try:
        index.search(["claim"], Search(k=1, stages=(stage,)))
    except QueryError:
        return False
    return True


def parts_of(queries: int, folds: int, seed: int) -> list[Rows]:
    """Part the numbers of queries, from 0, into folds drawn with ``seed``; each is in order."""
    order = np.random.default_rng((seed, 4)).permutation(queries)
    return [np.sort(order[at::folds]) for at in range(folds)]


def _tuning_of(
    bed: SettingEvaluator, default: Setting, best: Setting, parts: Sequence[tuple[Rows, Setting]], seed: int
) -> Tuning:
    plain = bed.values(default)
    held_out: Values = np.empty_like(plain)
    folds = []
    for rows, setting in parts:
        held_out[rows] = bed.values(setting)[rows]
        mean, before = float(held_out[rows].mean()), float(plain[rows].mean())
        folds.append(Fold(queries=len(rows), setting=setting, mean=mean, default=before))
    default_mean, cross_validated = intervals(np.stack([plain, held_out], axis=1), seed)
    tried = [(setting, float(values.mean())) for setting, values in bed.tried.items()]
    return Tuning(
        measure=bed.measure,
        queries=len(plain),
        seed=seed,
        default=default,
        default_mean=default_mean,
        best=best,
        best_mean=float(bed.values(best).mean()),
        cross_validated=cross_validated,
        test=paired(plain, held_out, seed),
        folds=tuple(folds),
        tried=tuple(sorted(tried, key=lambda pair: -pair[1])),
    )
