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
from ..scoring import ranking
from ..scoring.latex import bold, escape_latex, latex_table, superscript
from ..scoring.measures import Figures, evaluate
from ..scoring.statistics import (
    CORRECTIONS,
    RESAMPLES,
    Correction,
    Interval,
    PairedTest,
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

    def to_frame(self) -> Any:
        """Return the mean of each measure (columns) for each run (rows) as a DataFrame."""
        rows = [[run, *(by_run[run].mean for by_run in self.means.values())] for run in self.runs]
        return frame(["run", *self.means], rows, "run")

    def _repr_html_(self) -> str:
        """Return the means and the differences as HTML, for a notebook."""
        differences = (_pair_header(self.correction), list(map(pair_row, self.pairs)))
        return html(_how(self), (_MEANS, _mean_rows(self)), differences)


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
    labels = [path.stem for path in paths]
    if len(set(labels)) < len(labels):
        labels = [str(path) for path in paths]
    runs: dict[str, ScoreTable] = {}
    notes: list[str] = []
    for path, label in zip(paths, labels, strict=True):
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
    means: dict[str, dict[str, Interval]] = {}
    tests: list[tuple[str, str, str, PairedTest]] = []
    for at, measure in enumerate(measures):
        values = {name: of_run.values[:, at] for name, of_run in figures.items()}
        means[measure] = dict(
            zip(runs, intervals(np.stack(list(values.values()), axis=1), seed), strict=True)
        )
        tests += [(measure, a, b, compare_pairs(values[a], values[b], seed)) for a, b in tested]
    decided = []
    for name, run in runs.items():  # the first of a run's measures that ties can change
        for measure, bound in islice(ranking.tie_bounds(qrels, run, figures[name]).items(), 1):
            noted = ranking.tie_note(measure, figures[name].means()[measure], bound, "query")
            decided += [f"{name}: {note}" for note in noted]
    families = {measure: [test for test in tests if test[0] == measure] for measure in measures}
    by_chance: list[float | None] = []
    by_t: list[float | None] = []
    for family in families.values() if correct_over == "measure" else [tests]:
        by_chance += correct([test.p_randomisation for *_, test in family], correction)
        by_t += correct([test.p_t for *_, test in family], correction)
    pairs = tuple(
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
    moved = tuple(query for a, b in tested for query in _find_moved(qrels, runs, figures, a, b))
    noted = (*notes, *decided)
    return Comparison(
        queries=len(qrels),
        seed=seed,
        runs=tuple(runs),
        means=means,
        pairs=pairs,
        moved=moved,
        correction=correction,
        correct_over=correct_over,
        baseline=baseline,
        notes=noted,
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
    letters = dict(zip(comparison.runs, map(_letter, range(len(comparison.runs))), strict=True))
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
    rows = []
    for run in comparison.runs:
        name = escape_latex(run)
        row = [name if comparison.baseline else f"{letters[run]}\\enspace {name}"]
        for measure, by_run in comparison.means.items():
            value = figure(by_run[run].mean)
            marks = superscript("".join(sorted(better.get((measure, run), []))))
            is_best = round(by_run[run].mean, 4) == best[measure]
            row.append((bold(value) if is_best else value) + marks)
        rows.append(row)
    return latex_table(["run", *comparison.means], rows, _caption(comparison))


def _letter(number: int) -> str:
    """Return a, b, …, z, aa, ab, … for a number from 0."""
    letters = ""
    while number >= 0:
        letters = chr(ord("a") + number % 26) + letters
        number = number // 26 - 1
    return letters


def _caption(comparison: Comparison) -> str:
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
    return f"the {len(comparison.pairs) // len(comparison.means)} tests of a measure"


def _how(comparison: Comparison) -> str:
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
