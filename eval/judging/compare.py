"""Comparison of runs on one set of judgements: means, differences, tests, and the queries that differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from ...retrieval.domain import Qrels
from ...retrieval.errors import QueryError
from ...retrieval.files import rereadable
from ...retrieval.run_reader import ScoreTable
from ...retrieval.trec import ranked
from ..scoring import ranking, ties
from ..scoring.measures import Figures, evaluate
from ..scoring.statistics import RESAMPLES, Interval, PairedTest, holm, intervals, paired
from ..tasks import RANKING, RankingTask, task

MOVED = 5
"""Queries shown for a pair of runs, and documents shown for a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs on one measure; ``holm_…`` are corrected for all pairs and measures of the comparison."""

    measure: str
    first: str
    second: str
    test: PairedTest
    holm_randomisation: float
    holm_t: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A query on which two runs differ much; ``ranks`` gives a relevant docid's rank in each, if it was found."""

    first: str
    second: str
    qid: str
    values: tuple[float, float]
    ranks: Mapping[str, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison; ``means`` is by measure, then by run, and ``moved`` is of the first measure."""

    queries: int
    seed: int
    runs: tuple[str, ...]
    means: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Pair, ...]
    moved: tuple[Moved, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as ``compare --json`` prints it."""
        return {
            "queries": self.queries,
            "seed": self.seed,
            "resamples": RESAMPLES,
            "runs": list(self.runs),
            "means": {
                measure: {name: value._asdict() for name, value in by_run.items()}
                for measure, by_run in self.means.items()
            },
            "pairs": [_pair_json(pair) for pair in self.pairs],
            "moved": [asdict(moved) for moved in self.moved],
            "notes": list(self.notes),
        }


def compared_task(name: str) -> RankingTask:
    """Return the task of a name.

    Raises QueryError if there is none of that name, or its submissions do not hold documents.
    """
    if task(name).SUBMITS != "documents":
        raise QueryError("is not a ranking task: its submissions are not compared", place=name)
    return RANKING.load(name)


def read_runs(name: str, paths: Sequence[Path], qrels: Qrels) -> tuple[dict[str, ScoreTable], tuple[str, ...]]:
    """Read the runs of a ranking task, by their file's name; return them with notes on them.

    Raises QueryError if the task ranks nothing or there is one run, CheckFailed if a run has errors or no query in
    common with the judgements.
    """
    chosen = compared_task(name)
    if len(paths) < 2:
        raise QueryError("compare: give two runs or more")
    if len({path.resolve() for path in paths}) < len(paths):
        raise QueryError("compare: a run is given twice")
    for path in paths:
        rereadable(path)
    stems = [path.stem for path in paths]
    runs: dict[str, ScoreTable] = {}
    notes: list[str] = []
    for path, stem in zip(paths, stems, strict=True):
        run = chosen.read_scores(path)
        label = stem if stems.count(stem) == 1 else str(path)
        notes += [*run.notes, *(f"{label}: {note}" for note in ranking.compared(path, qrels, run.table, "query"))]
        runs[label] = run.table
    return runs, tuple(notes)


def compare(
    qrels: Qrels, runs: Mapping[str, ScoreTable], measures: Sequence[str], *, seed: int, notes: Sequence[str] = ()
) -> Comparison:
    """Compare two or more runs; every pair is tested on every measure, the second run against the first.

    A judged query that a run lacks counts 0. Raises CheckFailed if a run has no query in common with the judgements.
    """
    for name, run in runs.items():
        ranking.common(name, qrels, run, "query")
    figures = {name: evaluate(qrels, run, measures) for name, run in runs.items()}
    decided = [f"{name}: {note}" for name, run in runs.items() for note in _tied(qrels, run, figures[name])]
    names = tuple(runs)
    means: dict[str, dict[str, Interval]] = {}
    for at, measure in enumerate(measures):
        columns = _columns(figures, at)
        means[measure] = dict(zip(names, intervals(columns, seed), strict=True))
    pairs = _pairs(figures, measures, seed)
    moved = [query for a, b in combinations(names, 2) for query in _moved(qrels, runs, figures, a, b)]
    return Comparison(
        queries=len(qrels),
        seed=seed,
        runs=names,
        means=means,
        pairs=tuple(pairs),
        moved=tuple(moved),
        notes=(*notes, *decided),
    )


def _tied(qrels: Qrels, run: ScoreTable, figures: Figures) -> tuple[str, ...]:
    """Return a note on how far equal scores could change the first of a run's measures that they can change."""
    means = figures.means()
    bounds = ties.bounds(qrels, run, figures)
    return next((ties.note(name, means[name], bound, ranking.RULE, "query") for name, bound in bounds.items()), ())


def _columns(figures: Mapping[str, Figures], at: int) -> Any:
    import numpy as np

    return np.stack([by_query.values[:, at] for by_query in figures.values()], axis=1)


def _pairs(figures: Mapping[str, Figures], measures: Sequence[str], seed: int) -> list[Pair]:
    keys = [(at, a, b) for at in range(len(measures)) for a, b in combinations(figures, 2)]
    tests = [paired(figures[a].values[:, at], figures[b].values[:, at], seed) for at, a, b in keys]
    by_chance = holm([test.p_randomisation for test in tests])
    by_t = holm([test.p_t for test in tests])
    return [
        Pair(measure=measures[at], first=a, second=b, test=test, holm_randomisation=chance or 0.0, holm_t=t)
        for (at, a, b), test, chance, t in zip(keys, tests, by_chance, by_t, strict=True)
    ]


def _moved(qrels: Qrels, runs: Mapping[str, ScoreTable], figures: Mapping[str, Figures], a: str, b: str) -> list[Moved]:
    before, after = figures[a].values[:, 0].tolist(), figures[b].values[:, 0].tolist()
    order = sorted(range(len(before)), key=lambda at: (-abs(after[at] - before[at]), at))
    moved = []
    for at in order[:MOVED]:
        qid = figures[a].qids[at]
        if abs(after[at] - before[at]) > 1e-12:
            ranks = _ranks(qrels[qid], runs[a].get(qid, {}), runs[b].get(qid, {}))
            moved.append(Moved(first=a, second=b, qid=qid, values=(before[at], after[at]), ranks=ranks))
    return moved


def _ranks(
    judged: Mapping[str, int], first: dict[str, float], second: dict[str, float]
) -> dict[str, tuple[int | None, int | None]]:
    """Return the ranks in two runs of the relevant documents that moved, the largest change of 1/rank first."""
    places = [{hit.docid: rank for rank, hit in enumerate(ranked(docs), 1)} for docs in (first, second)]
    ranks = {docid: (places[0].get(docid), places[1].get(docid)) for docid, grade in judged.items() if grade > 0}
    changed = {docid: pair for docid, pair in ranks.items() if pair[0] != pair[1]}
    return dict(sorted(changed.items(), key=lambda item: (-_gain(*item[1]), item[0]))[:MOVED])


def _gain(first: int | None, second: int | None) -> float:
    return abs((1 / first if first else 0.0) - (1 / second if second else 0.0))


def _pair_json(pair: Pair) -> dict[str, Any]:
    test = pair.test._asdict() | {"difference": pair.test.difference._asdict()}
    corrected = {"holm_randomisation": pair.holm_randomisation, "holm_t": pair.holm_t}
    return {"measure": pair.measure, "first": pair.first, "second": pair.second, **test, **corrected}
