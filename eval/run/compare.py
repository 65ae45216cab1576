"""Comparison of runs on one set of judgements: means, differences, tests, and the queries that
differ most.

The output is tables for the terminal, JSON, or an HTML page that needs no network.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ...core.domain import Qrels
from ...core.errors import QueryError
from ...core.files import rereadable
from ...core.notebook import frame, html, html_table
from ...core.records.lines import quote_value
from ...core.records.runs import ScoreTable, rank_docs
from ...core.terminal import format_count
from ..files.answers import Scores
from ..scoring import ranking
from ..scoring.latex import bold, escape_latex, latex_table, superscript
from ..scoring.measures import Figures, evaluate
from ..scoring.statistics import (
    CORRECTIONS,
    RESAMPLES,
    Correction,
    Interval,
    PairedTest,
    Values,
    compare_pairs,
    correct,
    intervals,
)
from ..scoring.tables import figure, page, span, table
from ..tasks import RankingTask

CorrectOver = Literal["measure", "all"]
LEVEL = 0.05  # a corrected p-value below this is significant
MOVED = 5  # the number of queries shown for a pair of runs, and of documents shown for a query


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs on one measure; the ``corrected_…`` values are p-values corrected for the tests of
    their family.
    """

    measure: str
    first: str
    second: str
    test: PairedTest
    correction: Correction
    corrected_randomisation: float
    corrected_t: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p-value of the randomisation test is below :data:`LEVEL`."""
        return self.corrected_randomisation < LEVEL

    def as_json(self) -> dict[str, Any]:
        """Return the pair with its tests in one mapping."""
        # Holm's values have had names of their own since the first version.
        prefix = "holm" if self.correction == "holm" else "corrected"
        corrected = {
            f"{prefix}_randomisation": self.corrected_randomisation,
            f"{prefix}_t": self.corrected_t,
        }
        named = {"measure": self.measure, "first": self.first, "second": self.second}
        return {**named, **msgspec.to_builtins(self.test), **corrected}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A query on which two runs differ much.

    ``ranks`` maps the relevant docids that moved most to their ranks in both runs; None means not
    found.
    """

    first: str
    second: str
    qid: str
    values: tuple[float, float]
    ranks: Mapping[str, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison; ``means`` maps measure to run to interval, and ``moved`` is for
    the first measure.
    """

    queries: int
    seed: int
    runs: tuple[str, ...]
    means: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Pair, ...]
    moved: tuple[Moved, ...]
    correction: Correction = "holm"
    correct_over: CorrectOver = "measure"
    baseline: str = ""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as ``compare --json`` prints it."""
        facts = {
            "queries": self.queries,
            "seed": self.seed,
            "resamples": RESAMPLES,
            "runs": list(self.runs),
            "correction": self.correction,
            "correct_over": self.correct_over,
            **({"baseline": self.baseline} if self.baseline else {}),
            "means": self.means,
            "pairs": [pair.as_json() for pair in self.pairs],
            "moved": self.moved,
            "notes": list(self.notes),
        }
        return msgspec.to_builtins(facts)  # type: ignore[no-any-return]

    def as_latex(self) -> str:
        """Return the means as a LaTeX table, as ``factseek compare --latex`` prints it."""
        return as_latex(self)

    def to_frame(self) -> Any:
        """Return the mean of each measure (columns) for each run (rows) as a DataFrame."""
        rows = [[run, *(by_run[run].mean for by_run in self.means.values())] for run in self.runs]
        return frame(["run", *self.means], rows, "run")

    def _repr_html_(self) -> str:
        """Return the means and the differences as HTML, for a notebook."""
        differences = (_pair_header(self.correction), list(map(pair_row, self.pairs)))
        return html(_how(self), (_MEANS, _mean_rows(self)), differences, notes=self.notes)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return the names of runs: the stems of their files or, if two are equal, the paths."""
    names = [path.stem for path in paths]
    return names if len(set(names)) == len(names) else list(map(str, paths))


def read_runs(
    chosen: RankingTask, paths: Sequence[Path], qrels: Qrels
) -> tuple[dict[str, ScoreTable], list[str]]:
    """Read the runs of a ranking task; return them by the names of their files, with notes on them.

    Raises QueryError if there is only one run, CheckFailed if a run has errors or no query in
    common with the judgements.
    """
    if len(paths) < 2:
        raise QueryError("compare: give two runs or more")
    if len({path.resolve() for path in paths}) < len(paths):
        raise QueryError("compare: a run is given twice")
    for path in paths:
        rereadable(path)
    runs: dict[str, ScoreTable] = {}
    notes: list[str] = []
    for path, label in zip(paths, names_of(paths), strict=True):
        run = chosen.read_scores(path)
        on_queries = ranking.compare_queries(path, qrels, run.table, "query")
        notes += [*run.notes, *(f"{label}: {note}" for note in on_queries)]
        runs[label] = run.table
    return runs, notes


def compare(
    qrels: Qrels,
    runs: Mapping[str, ScoreTable],
    measures: Sequence[str],
    *,
    seed: int,
    baseline: str = "",
    correction: Correction = "holm",
    correct_over: CorrectOver = "measure",
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare two or more runs; test every pair on every measure, the later run against the
    earlier.

    With a ``baseline``, test every other run against it alone. The p-values are corrected for the
    tests of a measure, or of all measures. A judged query that a run lacks counts 0. Raises
    CheckFailed if a run has no query in common with the judgements. Raises QueryError if no run is
    the baseline.
    """
    if baseline and baseline not in runs:
        raise QueryError(
            f"there is no run {quote_value(baseline)}", remedy=f"the runs are {', '.join(runs)}"
        )
    tested = [(baseline, run) for run in runs if run != baseline] if baseline else []
    tested = tested or list(combinations(runs, 2))
    for name, run in runs.items():
        ranking.common(name, qrels, run, "query")
    figures = {name: evaluate(qrels, run, measures) for name, run in runs.items()}
    values = {
        measure: {name: of_run.values[:, at] for name, of_run in figures.items()}
        for at, measure in enumerate(measures)
    }
    decided: list[str] = []
    for name, run in runs.items():
        means, bounds = figures[name].means(), ranking.tie_bounds(qrels, run, figures[name])
        of_run = (
            f"{name}: {note}"
            for measure, bound in bounds.items()
            for note in ranking.tie_note(measure, means[measure], bound, "query")
        )
        # Ties that change one measure change others too: the first is enough.
        decided += islice(of_run, 1)
    moved = tuple(query for a, b in tested for query in _find_moved(qrels, runs, figures, a, b))
    noted = (*notes, *decided)
    return Comparison(
        queries=len(qrels),
        seed=seed,
        runs=tuple(runs),
        means=_means(values, seed),
        pairs=_test_pairs(values, tested, seed, correction, correct_over),
        moved=moved,
        correction=correction,
        correct_over=correct_over,
        baseline=baseline,
        notes=noted,
    )


def compare_scores(scores: Mapping[str, Scores], seed: int = 0) -> Comparison:
    """Compare the scores of two or more runs by the figures of their task; test every pair.

    The runs were scored on the same queries.
    """
    each = list(scores.values())
    qids = list(each[0].per_query)
    values = {
        measure: {
            name: np.array([of_run.per_query[qid][measure] for qid in qids])
            for name, of_run in scores.items()
        }
        for measure in each[0].values
    }
    return Comparison(
        queries=len(qids),
        seed=seed,
        runs=tuple(scores),
        means=_means(values, seed),
        pairs=_test_pairs(values, list(combinations(scores, 2)), seed, "holm", "measure"),
        moved=(),
    )


_ValuesByRun = Mapping[str, Mapping[str, Values]]  # measure → run → the value of each query


def _means(values: _ValuesByRun, seed: int) -> dict[str, dict[str, Interval]]:
    """Return the mean of each measure of each run, with its interval."""
    return {
        measure: dict(
            zip(by_run, intervals(np.stack(list(by_run.values()), axis=1), seed), strict=True)
        )
        for measure, by_run in values.items()
    }


def _test_pairs(
    values: _ValuesByRun,
    tested: Sequence[tuple[str, str]],
    seed: int,
    correction: Correction,
    correct_over: CorrectOver,
) -> tuple[Pair, ...]:
    """Test the second run of each pair against the first on every measure, and correct the
    p-values.
    """
    tests = [
        (measure, a, b, compare_pairs(by_run[a], by_run[b], seed))
        for measure, by_run in values.items()
        for a, b in tested
    ]
    families = {measure: [test for test in tests if test[0] == measure] for measure in values}
    by_chance: list[float | None] = []
    by_t: list[float | None] = []
    for family in families.values() if correct_over == "measure" else [tests]:
        by_chance += correct([test.p_randomisation for *_, test in family], correction)
        by_t += correct([test.p_t for *_, test in family], correction)
    return tuple(
        Pair(
            measure=measure,
            first=a,
            second=b,
            test=test,
            correction=correction,
            corrected_randomisation=chance or 0.0,
            corrected_t=t,
        )
        for (measure, a, b, test), chance, t in zip(tests, by_chance, by_t, strict=True)
    )


def _find_moved(
    qrels: Qrels, runs: Mapping[str, ScoreTable], figures: Mapping[str, Figures], a: str, b: str
) -> list[Moved]:
    before, after = figures[a].values[:, 0].tolist(), figures[b].values[:, 0].tolist()
    order = sorted(range(len(before)), key=lambda at: (-abs(after[at] - before[at]), at))
    moved = []
    for at in order[:MOVED]:
        if abs(after[at] - before[at]) <= 1e-12:
            break
        qid = figures[a].qids[at]
        places = [
            {hit.docid: rank for rank, hit in enumerate(rank_docs(runs[run].get(qid, {})), 1)}
            for run in (a, b)
        ]
        relevant = (docid for docid, grade in qrels[qid].items() if grade > 0)
        ranks = {docid: (places[0].get(docid), places[1].get(docid)) for docid in relevant}
        gains = {
            docid: abs((1 / x if x else 0.0) - (1 / y if y else 0.0))
            for docid, (x, y) in ranks.items()
            if x != y
        }
        shown = {
            docid: ranks[docid]
            for docid in sorted(gains, key=lambda docid: (-gains[docid], docid))[:MOVED]
        }
        moved.append(Moved(first=a, second=b, qid=qid, values=(before[at], after[at]), ranks=shown))
    return moved


_MEANS = ("measure", "run", "mean", "95 % interval")


def _pair_header(correction: Correction) -> tuple[str, ...]:
    corrected = CORRECTIONS[correction]
    tests = ("p randomisation", corrected, "p t-test", corrected)
    counts = ("effect", "wins", "ties", "losses")
    return ("measure", "first", "second", "difference", "95 % interval", *tests, *counts)


_MOVED = ("query", "first", "second", "from", "to", "relevant documents (rank → rank)")


def as_text(comparison: Comparison) -> str:
    """Return a comparison as tables for the terminal."""
    parts = [
        table(_MEANS, _mean_rows(comparison), left=2),
        table(
            _pair_header(comparison.correction),
            [pair_row(pair) for pair in comparison.pairs],
            left=3,
        ),
        _how(comparison) + "\n",
    ]
    if comparison.moved:
        parts.append(f"most moved queries, by {next(iter(comparison.means))}:\n")
        parts.append(table(_MOVED, [_moved_row(moved) for moved in comparison.moved], left=3))
    return "\n".join(parts)


def as_html(comparison: Comparison) -> str:
    """Return a comparison as one HTML page that contains its plot."""
    runs = ", ".join(comparison.runs)
    differences = html_table(
        _pair_header(comparison.correction), [pair_row(pair) for pair in comparison.pairs]
    )
    notes = "".join(f"<p>Note: {escape(note)}.</p>\n" for note in comparison.notes)
    body = (
        f"<p>{escape(runs)}; {comparison.queries:,} queries.</p>\n{notes}"
        f"<h2>Means</h2>\n{_plot(comparison)}\n{html_table(_MEANS, _mean_rows(comparison))}"
        f"<h2>Differences</h2>\n{differences}"
        f"<p>{escape(_how(comparison))}</p>\n"
        f"<h2>Most moved queries, by {escape(next(iter(comparison.means)))}</h2>\n"
        f"{html_table(_MOVED, [_moved_row(moved) for moved in comparison.moved])}"
    )
    return page(f"Comparison of {len(comparison.runs)} runs", body)


def as_latex(comparison: Comparison) -> str:
    """Return the means of a comparison as a LaTeX table.

    The best mean of a measure is in bold. A run that is significantly better than others has their
    letters as marks; with a baseline, a run that differs from it has a dagger.
    """
    names, marked = _names_in_latex(comparison), _marked_means(comparison)
    rows = [
        [names[run], *(marked[measure][run] for measure in comparison.means)]
        for run in comparison.runs
    ]
    return latex_table(["run", *comparison.means], rows, _caption(comparison))


def measures_as_latex(comparison: Comparison, official: str, about: str) -> str:
    """Return the means of a comparison as a LaTeX table with a row for each measure.

    ``official`` is the task's official measure, and ``about`` begins the caption.
    """
    marked = _marked_means(comparison)
    rows = []
    for measure, by_run in marked.items():
        name = f"{measure} (official)" if measure == official else measure
        rows.append([escape_latex(name), *(by_run[run] for run in comparison.runs)])
    letters = _letters(comparison)
    header = ["measure", *(f"{letters[run]} {run}" for run in comparison.runs)]
    return latex_table(header, rows, f"{about} {_caption(comparison)}")


def _letters(comparison: Comparison) -> dict[str, str]:
    return dict(zip(comparison.runs, map(_letter, range(len(comparison.runs))), strict=True))


def _names_in_latex(comparison: Comparison) -> dict[str, str]:
    """Return the name of each run, with its letter unless all are compared with a baseline."""
    if comparison.baseline:
        return {run: escape_latex(run) for run in comparison.runs}
    letters = _letters(comparison)
    return {run: f"{letters[run]}\\enspace {escape_latex(run)}" for run in comparison.runs}


def _marked_means(comparison: Comparison) -> dict[str, dict[str, str]]:
    """Return each mean by measure and run, in bold if it is the best, with its marks."""
    letters = _letters(comparison)
    better: dict[tuple[str, str], list[str]] = {}
    for pair in comparison.pairs:
        if not pair.is_significant:
            continue
        if comparison.baseline:
            better.setdefault((pair.measure, pair.second), []).append(r"\dagger")
            continue
        gains = pair.test.difference.mean > 0
        winner, loser = (pair.second, pair.first) if gains else (pair.first, pair.second)
        better.setdefault((pair.measure, winner), []).append(letters[loser])
    best = {
        measure: max(round(value.mean, 4) for value in by_run.values())
        for measure, by_run in comparison.means.items()
    }
    marked: dict[str, dict[str, str]] = {}
    for measure, by_run in comparison.means.items():
        marked[measure] = {}
        for run, mean in by_run.items():
            value = figure(mean.mean)
            marks = superscript(_joined(better.get((measure, run), [])))
            is_best = round(mean.mean, 4) == best[measure]
            marked[measure][run] = (bold(value) if is_best else value) + marks
    return marked


def _joined(marks: Sequence[str]) -> str:
    """Return marks in the order of the runs; commas separate them if one has two letters."""
    ordered = sorted(marks, key=lambda mark: (len(mark), mark))
    return ("," if any(len(mark) == 2 for mark in ordered) else "").join(ordered)


def _letter(number: int) -> str:
    """Return a, b, …, z, aa, ab, … for a number from 0."""
    letters = ""
    while number >= 0:
        letters = chr(ord("a") + number % 26) + letters
        number = number // 26 - 1
    return letters


def _caption(comparison: Comparison) -> str:
    if not comparison.pairs:
        return f"Means over {format_count(comparison.queries, 'query')}."
    corrected = (
        "without a correction"
        if comparison.correction == "none"
        else f"{CORRECTIONS[comparison.correction]}'s correction over {_family(comparison)}"
    )
    mark = (
        f"† differs significantly from {comparison.baseline}"
        if comparison.baseline
        else "letters name the runs that a run is significantly better than"
    )
    return (
        f"Means over {comparison.queries:,} queries; the best in bold; {mark} (paired "
        f"randomisation test, {RESAMPLES:,} resamples, p < {LEVEL}, {corrected})."
    )


def _family(comparison: Comparison) -> str:
    """Return the tests that are corrected together, in words."""
    if comparison.correct_over == "all":
        return f"all {len(comparison.pairs)} tests of a kind"
    each = len(comparison.pairs) // len(comparison.means)
    return f"the {format_count(each, 'test')} of a measure"


def _how(comparison: Comparison) -> str:
    if not comparison.pairs:
        return format_count(comparison.queries, "query")
    corrected = (
        "no correction"
        if comparison.correction == "none"
        else f"{CORRECTIONS[comparison.correction]}'s correction over {_family(comparison)}"
    )
    return (
        f"{comparison.queries:,} queries; difference is second minus first; {RESAMPLES:,} "
        f"resamples, seed {comparison.seed}; {corrected}"
    )


def _mean_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    return [
        (measure, name, figure(value.mean), span(value.low, value.high))
        for measure, by_run in comparison.means.items()
        for name, value in by_run.items()
    ]


def pair_row(pair: Pair) -> tuple[str, ...]:
    """Return a pair in the columns of a table of differences."""
    test, change = pair.test, pair.test.difference
    chances = (test.p_randomisation, pair.corrected_randomisation, test.p_t, pair.corrected_t)
    cells = [
        pair.measure,
        pair.first,
        pair.second,
        f"{change.mean:+.4f}",
        f"{change.low:+.4f} to {change.high:+.4f}",
    ]
    cells += ["<0.0001" if p is not None and p < 0.0001 else figure(p) for p in chances]
    return (*cells, figure(test.effect, 2), str(test.wins), str(test.ties), str(test.losses))


def _moved_row(query: Moved) -> tuple[str, ...]:
    ranks = "; ".join(
        f"{docid} {before or '-'} → {after or '-'}"
        for docid, (before, after) in query.ranks.items()
    )
    return query.qid, query.first, query.second, *map(figure, query.values), ranks


def _plot(comparison: Comparison) -> str:
    """Draw means and intervals as SVG, one panel for each measure; the same comparison gives the
    same bytes.
    """
    import matplotlib
    from matplotlib.figure import Figure

    names = list(comparison.runs)
    drawn = io.StringIO()
    # Text stays text: the reader's fonts draw it, even if matplotlib's own font lacks a glyph.
    settings: Any = {"svg.hashsalt": "factseek", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        width = 3.2 * len(comparison.means) + 0.08 * max(map(len, names))
        canvas = Figure(figsize=(width, 1.2 + 0.4 * len(names)), layout="constrained")
        panels = canvas.subplots(1, len(comparison.means), sharey=True, squeeze=False)[0]
        for panel, (measure, by_run) in zip(panels, comparison.means.items(), strict=True):
            values = [by_run[name] for name in names]
            bars = [
                [max(0.0, v.mean - v.low) for v in values],
                [max(0.0, v.high - v.mean) for v in values],
            ]
            panel.errorbar(
                [v.mean for v in values], range(len(names)), xerr=bars, fmt="o", capsize=3
            )
            panel.set_title(measure)
            panel.set_yticks(range(len(names)), names)
            panel.grid(axis="x", alpha=0.3)
            panel.margins(y=0.3)
        panels[0].invert_yaxis()
        canvas.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = drawn.getvalue()
    return text[text.index("<svg") :]
