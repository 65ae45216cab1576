"""Tune: choose BM25's parameters and the fusion on judged queries, by cross-validation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import yaml
from msgspec.structs import replace
from numpy.typing import NDArray

from ...core.caching import cache_method
from ...core.domain import Hit
from ...core.errors import QueryError
from ...core.notebook import frame, html
from ...core.order import scores_below
from ...core.progress import Bar, Progress, silent
from ...core.records.runs import ScoreTable
from ...core.settings import to_mapping
from ...retrieval import retrievers
from ...retrieval import stages as stage_kinds
from ...retrieval.config import BM25Settings, Config, FusionSettings
from ...retrieval.search.fusion import Ranking, list_unfused
from ...retrieval.search.index import Index
from ...retrieval.search.options import Search
from ...retrieval.search.prepared_query import PreparedQuery
from ...retrieval.search.score_normalizers import scorer_of
from ..run.batch import Judged, depth_of, search_all
from ..scoring.latex import bold, escape_latex, latex_table, superscript
from ..scoring.measures import values_of
from ..scoring.statistics import (
    RESAMPLES,
    SURE,
    Interval,
    PairedTest,
    Values,
    compare_pairs,
    intervals,
)
from ..scoring.tables import figure, span, table
from .examples import Rows, folds_of
from .grid import COLUMNS, DEPTHS, Setting, depths, fusions, parameters, stages, title_weights

Hits = Mapping[str, Sequence[Hit]]


class FusedEvaluator:
    """Fuses the first ``depth`` documents of several rankings of the same queries, which it aligns
    once.

    The result equals the result of :func:`factseek.retrieval.search.fusion.fuse`: the scorers and
    the order are the same, and a test compares the two.
    """

    def __init__(self, rankings: Mapping[str, Hits], depth: int) -> None:
        self._rankings, self._depth = rankings, depth
        self._qids = list(next(iter(rankings.values())))
        self._first = {
            name: [ranking[qid][:depth] for qid in self._qids] for name, ranking in rankings.items()
        }
        # Documents are in descending order of docid: a stable sort by score then leaves ties in the
        # total order.
        pooled = [
            sorted({hit.docid for hit in chain(*of_query)}, reverse=True)
            for of_query in zip(*self._first.values(), strict=True)
        ]
        self._docids = list(chain.from_iterable(pooled))
        self._starts = np.cumsum([0, *map(len, pooled)])
        self._queries = np.repeat(np.arange(len(pooled)), np.diff(self._starts))
        starts = zip(self._starts.tolist(), pooled, strict=False)
        rows = [{docid: row for row, docid in enumerate(docids, start)} for start, docids in starts]
        self._places = {
            name: np.array(
                [row[hit.docid] for row, hits in zip(rows, first, strict=True) for hit in hits],
                np.intp,
            )
            for name, first in self._first.items()
        }
        self._worth = cache_method(16, self._weigh_hits)

    def fused_by_query(self, fusions: Mapping[str, FusionSettings], k: int) -> ScoreTable:
        """Return the ``k`` best documents of each query by its own fusion; ``fusions`` maps qids to
        fusions.

        The fused documents come first, then the rest of the rankings.
        """
        runs = {fusion: self._fuse(fusion, k) for fusion in set(fusions.values())}
        return {qid: runs[fusion][qid] for qid, fusion in fusions.items()}

    def _fuse(self, fusion: FusionSettings, k: int) -> ScoreTable:
        votes = np.zeros(len(self._docids))
        for name, worth in self._worth(fusion.kind, fusion.rrf_k).items():
            votes[self._places[name]] += fusion.weights[name] * worth
        scores = votes.astype(np.float32)
        order = np.lexsort((-scores, self._queries))
        run: ScoreTable = {}
        for qid, (start, end) in zip(self._qids, pairwise(self._starts.tolist()), strict=True):
            rows = order[start : min(start + k, end)]
            best = dict(
                zip(
                    [self._docids[row] for row in rows.tolist()], scores[rows].tolist(), strict=True
                )
            )
            rankings = [
                Ranking(name, 0.0, ranking[qid]) for name, ranking in self._rankings.items()
            ]
            rest = islice(list_unfused(rankings, self._depth, set(best)), max(0, k - len(best)))
            docids = [hit.docid for _, _, hit in rest]
            run[qid] = best | dict(zip(docids, scores_below(0.0, len(docids)), strict=True))
        return run

    def _weigh_hits(self, kind: str, rrf_k: int) -> dict[str, NDArray[np.float64]]:
        scorer = scorer_of(kind, rrf_k)
        return {
            name: np.array(
                [value for hits in first for value in scorer([hit.score for hit in hits])]
            )
            for name, first in self._first.items()
        }


FIRST_LINE = "# Written by factseek tune"
_SHOWN = 10


class Fold(NamedTuple):
    """The setting that the other folds chose for a fold, with its mean and the default's mean on
    that fold.
    """

    queries: int
    mean: float
    default: float
    setting: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The result of a tuning.

    ``best`` was chosen on all queries. ``cross_validated`` and ``test`` judge each fold with the
    setting that the other folds chose, and so measure the procedure; the test is against the
    default.
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
    def chosen(self) -> Setting:
        """The best setting if it is significantly better, else the default, which is simpler."""
        return self.best if self.test.sure else self.default

    def as_json(self) -> dict[str, Any]:
        """Return the whole result, with every setting tried and its mean."""
        return as_json(self)

    def as_latex(self) -> str:
        """Return the means as a LaTeX table, as ``factseek tune --latex`` prints it."""
        return as_latex(self)

    def to_frame(self) -> Any:
        """Return every setting that was tried, with its mean, as a DataFrame, the best first."""
        rows = [[mean, *setting.row()] for setting, mean in self.tried]
        return frame([self.measure, *COLUMNS], rows)

    def _repr_html_(self) -> str:
        """Return the means of the default and of the best setting as HTML, for a notebook."""
        rows = [
            ("default", figure(self.default_mean.mean), *self.default.row()),
            ("best on all queries", figure(self.best_mean), *self.best.row()),
            ("cross-validated", figure(self.cross_validated.mean), *[""] * len(COLUMNS)),
        ]
        return html(verdict(self), (("", self.measure, *COLUMNS), rows))


def tune(
    index: Index,
    judged: Judged,
    measure: str,
    *,
    folds: int = 5,
    seed: int = 0,
    progress: Progress = silent,
) -> Tuning:
    """Try the settings of :mod:`factseek.eval.learn.grid` and choose among them; the same seed
    gives the same result.

    Raises QueryError if there are fewer judged queries than folds.
    """
    queries = len(judged.queries)
    if not 2 <= folds <= queries:
        raise QueryError(
            f"--folds {folds}: give a number from 2 to {queries:,}, the number of judged queries"
        )
    config = index.settings
    # Queries of a task bring no vectors, so nothing can be said about given ones.
    weights = retrievers.voting_weights(
        PreparedQuery(""), config.search.fusion.weights, index.info.published, config
    )
    fusion = replace(config.search.fusion, weights=weights)
    default = Setting(index.resolve().retriever, config.bm25, fusion, config.search.stages)
    evaluator = SettingEvaluator(index, judged, measure)
    with closing(progress("tuning", "setting", None)) as bar:
        choose = _chooser(evaluator, default, index, bar)
        parts = folds_of(queries, folds, seed)
        chosen = [choose(np.setdiff1d(np.arange(queries), part)) for part in parts]
        best = choose(np.arange(queries))
    plain = evaluator.values(default)
    held_out: Values = np.empty_like(plain)
    held_folds = []
    for rows, setting in zip(parts, chosen, strict=True):
        held_out[rows] = evaluator.values(setting)[rows]
        held_folds.append(
            Fold(len(rows), float(held_out[rows].mean()), float(plain[rows].mean()), setting)
        )
    default_mean, cross_validated = intervals(np.stack([plain, held_out], axis=1), seed)
    tried = [(each, float(values.mean())) for each, values in evaluator.tried.items()]
    return Tuning(
        measure=measure,
        queries=queries,
        seed=seed,
        default=default,
        default_mean=default_mean,
        best=best,
        best_mean=float(evaluator.values(best).mean()),
        cross_validated=cross_validated,
        test=compare_pairs(plain, held_out, seed),
        folds=tuple(held_folds),
        tried=tuple(sorted(tried, key=lambda pair: -pair[1])),
    )


def _chooser(
    evaluator: SettingEvaluator, default: Setting, index: Index, bar: Bar
) -> Callable[[Rows], Setting]:
    """Return a function that chooses the best setting for the queries with given row numbers.

    It tries one group of settings after the other. Of equally good ones it keeps the earlier, which
    is simpler.
    """
    usable = index.retrievers_of_texts
    alone = [name for name in usable if not retrievers.kind(name).fuses]
    fusible = len(alone) < len(usable)
    ranking = [name for name in stage_kinds.ranking() if _answers(index, name)]

    def best_of(settings: Sequence[Setting], rows: Rows) -> Setting:
        means = {}
        for setting in settings:
            before = len(evaluator.tried)
            means[setting] = float(evaluator.values(setting)[rows].mean())
            bar.update(len(evaluator.tried) - before)
        return next(
            setting for setting, mean in means.items() if mean > max(means.values()) - 1e-12
        )

    def choose(rows: Rows) -> Setting:
        plain = default._replace(stages=())
        best = best_of(parameters(plain), rows)
        if index.info.published.fields == "title_text":
            best = best_of(title_weights(best), rows)
        if fusible:
            best = best_of(fusions(plain._replace(bm25=best.bm25), alone), rows)
            if best.fuses:
                best = best_of(depths(best), rows)
        return best_of(stages(best._replace(stages=default.stages), ranking), rows)

    return choose


def _answers(index: Index, stage: str) -> bool:
    """Return whether settings and index have what a stage needs; raise MachineError if a named
    model is missing.
    """
    try:
        index.search(["claim"], Search(k=1, stages=(stage,)))
    except QueryError:
        return False
    return True


class SettingEvaluator:
    """Evaluates settings by a measure on the judged queries; rankings are retrieved once and fused
    in memory.

    Settings with stages are searched in full.
    """

    def __init__(self, index: Index, judged: Judged, measure: str) -> None:
        # The settings tried so far with their values, in the order in which they were tried.
        self.tried: dict[Setting, Values] = {}
        self._index, self._judged, self._measure, self._k = (
            index,
            judged,
            measure,
            depth_of([measure]),
        )
        self._search = replace(judged.search, k=self._k, group=True, stages=())
        resolved = index.resolve(self._search)
        self._texts = [(query.qid, resolved.text(query.text)) for query in judged.queries]
        # The ranking of many queries is large, so only the latest ones are kept.
        self._ranking = cache_method(4, self._rank)
        self._pool = cache_method(2, self._make_pool)

    def values(self, setting: Setting) -> Values:
        """Return the measure's value for each query, in the order of the judgements."""
        if setting not in self.tried:
            self.tried[setting] = values_of(self._judged.qrels, self._run(setting), self._measure)
        return self.tried[setting]

    def _run(self, setting: Setting) -> ScoreTable:
        fusion, deep = setting.fusion, max(self._k, setting.fusion.depth, DEPTHS[-1])
        if setting.fuses and not setting.stages:
            names, fusing = tuple(sorted(fusion.weights)), retrievers.fusing(setting.retriever)
            language = self._index.info.language
            chosen = {
                qid: fusing.fusion_of(PreparedQuery(text), fusion, language)
                for qid, text in self._texts
                if fusing
            }
            return self._pool(names, setting.bm25, fusion.depth, deep).fused_by_query(
                chosen, self._k
            )
        if setting.stages:
            hits = self._rank(**setting._asdict(), k=self._k)
        elif retrievers.kind(setting.retriever).weighs_words:
            # Each k1 and b occurs once, so the ranking is not kept.
            hits = self._rank(setting.retriever, setting.bm25, self._k)
        else:
            hits = self._ranking(setting.retriever, None, deep)
        return {
            qid: {hit.docid: hit.score for hit in ranked[: self._k]} for qid, ranked in hits.items()
        }

    def _make_pool(
        self, names: tuple[str, ...], bm25: BM25Settings, depth: int, k: int
    ) -> FusedEvaluator:
        weighed = {name: bm25 if retrievers.kind(name).weighs_words else None for name in names}
        return FusedEvaluator(
            {name: self._ranking(name, own, k) for name, own in weighed.items()}, depth
        )

    def _rank(self, retriever: str, bm25: BM25Settings | None, k: int, **others: Any) -> Hits:
        search = replace(self._search, retriever=retriever, bm25=bm25, k=k, **others)
        return {
            done.qid: done.ranking
            for chunk in search_all(self._index, self._judged.queries, search)
            for done in chunk
        }


def as_text(tuning: Tuning) -> str:
    """Return a tuning as tables for the terminal."""
    default, held_out = tuning.default_mean, tuning.cross_validated
    summary = [
        ("default", figure(default.mean), span(default.low, default.high), *tuning.default.row()),
        ("best on all queries", figure(tuning.best_mean), "", *tuning.best.row()),
        (
            "cross-validated",
            figure(held_out.mean),
            span(held_out.low, held_out.high),
            *[""] * len(COLUMNS),
        ),
    ]
    top = tuning.tried[:_SHOWN]
    folds = [
        (str(at), str(queries), figure(mean), figure(before), *setting.row())
        for at, (queries, mean, before, setting) in enumerate(tuning.folds, 1)
    ]
    return "\n".join(
        [
            table(("", tuning.measure, "95 % interval", *COLUMNS), summary),
            (
                f"the best {len(top)} of {len(tuning.tried)} settings tried, on all "
                f"{tuning.queries:,} queries:\n"
            ),
            table(
                (tuning.measure, *COLUMNS),
                [(figure(mean), *setting.row()) for setting, mean in top],
            ),
            "each fold with the settings that the other folds chose, and with the default:\n",
            table(("fold", "queries", tuning.measure, "default", *COLUMNS), folds),
            f"{verdict(tuning)}\n",
        ]
    )


def as_latex(tuning: Tuning) -> str:
    """Return the means of a tuning as a LaTeX table; the best is in bold, and a dagger marks a
    significant gain.
    """
    default, held_out = tuning.default_mean, tuning.cross_validated
    gains = round(held_out.mean, 4) >= round(default.mean, 4)
    rows = []
    for name, value, is_best, setting in (
        ("default", default, not gains, tuning.default.row()),
        ("tuned, cross-validated", held_out, gains, tuning.best.row()),
    ):
        mean = bold(figure(value.mean)) if is_best else figure(value.mean)
        if tuning.test.sure and value is held_out:
            mean += superscript(r"\dagger")
        cells = (span(value.low, value.high), *setting)
        rows.append([name, mean, *map(escape_latex, cells)])
    found = verdict(tuning)
    caption = (
        f"Means over {tuning.queries:,} queries, of tuned settings by cross-validation; the best "
        f"in bold; † differs significantly from the default (paired randomisation test, "
        f"{RESAMPLES:,} resamples, p < {SURE}; one test, so no correction). "
        f"{found[0].upper()}{found[1:]}."
    )
    return latex_table(("", tuning.measure, "95 % interval", *COLUMNS), rows, caption)


def verdict(tuning: Tuning) -> str:
    """Return a sentence on the chosen setting and the evidence for it."""
    evidence = f"cross-validated {tuning.measure} {tuning.test.evidence(' against the default')}"
    if tuning.test.sure:
        return f"tuned settings are chosen: {evidence}"
    return (
        f"the default is kept, because the tuned settings are not significantly better: {evidence}"
    )


def as_json(tuning: Tuning) -> dict[str, Any]:
    """Return the whole result, with every setting tried and its mean."""
    facts = {
        "measure": tuning.measure,
        "queries": tuning.queries,
        "seed": tuning.seed,
        "tuned": tuning.test.sure,
        "chosen": tuning.chosen._asdict(),
        "default": {
            "setting": tuning.default._asdict(),
            **msgspec.to_builtins(tuning.default_mean),
        },
        "best": {"setting": tuning.best._asdict(), "mean": tuning.best_mean},
        "cross_validated": tuning.cross_validated,
        "test": tuning.test,
        "folds": [{**fold._asdict(), "setting": fold.setting._asdict()} for fold in tuning.folds],
        "tried": [{"setting": setting._asdict(), "mean": mean} for setting, mean in tuning.tried],
    }
    return msgspec.to_builtins(facts)  # type: ignore[no-any-return]


def as_yaml(tuning: Tuning, config: Config, about: str, folder: Path) -> str:
    """Return a configuration with the chosen settings, and all other settings that are not
    defaults.

    The comments give the evidence. Paths are relative to ``folder``.
    """
    evidence = [verdict(tuning), "", *as_text(tuning).rstrip("\n").split("\n")]
    comments = [f"{FIRST_LINE}: {about}", *(f"# {line}".rstrip() for line in evidence)]
    changed = _find_changed(to_mapping(config), to_mapping(type(config)()))
    indexes = changed.get("server", {}).get("indexes", {})
    for name, path in indexes.items():
        indexes[name] = os.path.relpath(path, folder)
    chosen = tuning.chosen
    search = changed.setdefault("search", {})
    if chosen.retriever != tuning.default.retriever:
        search["retriever"] = chosen.retriever
    if chosen.stages != tuning.default.stages:
        search["stages"] = list(chosen.stages)
    search["fusion"] = msgspec.to_builtins(chosen.fusion)
    changed["bm25"] = msgspec.to_builtins(chosen.bm25)
    return (
        "\n".join(comments)
        + "\n\n"
        + yaml.safe_dump(dict(sorted(changed.items())), sort_keys=False)
    )


def _find_changed(values: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults; a mapping by name (indexes, kinds) is kept
    whole.
    """
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(default.get(name), dict) and default[name]:
            inner = _find_changed(value, default[name])
            if inner:
                changed[name] = inner
        elif value != default.get(name):
            changed[name] = list(value) if isinstance(value, tuple) else value
    return changed
