"""The report of a comparison: tables for the terminal, and a page that opens without a network."""

from __future__ import annotations

import io
import warnings
from html import escape
from typing import Any

from ..reports.page import html_table, page
from ..reports.tables import figure, table
from ..scoring.statistics import RESAMPLES
from .compare import Comparison, Moved, Pair

_MEANS = ("measure", "run", "mean", "95 % interval")
_PAIRS = (
    "measure", "first", "second", "difference", "95 % interval", "p randomisation", "Holm", "p t-test", "Holm",
    "effect", "wins", "ties", "losses",
)  # fmt: skip
_MOVED = ("query", "first", "second", "from", "to", "relevant documents (rank → rank)")


def as_text(comparison: Comparison) -> str:
    """Return a comparison as tables for the terminal."""
    parts = [
        table(_MEANS, _means(comparison), left=2),
        table(_PAIRS, [_pair(pair) for pair in comparison.pairs], left=3),
        _how(comparison) + "\n",
    ]
    if comparison.moved:
        parts.append(f"most moved, by {_first_measure(comparison)}:\n")
        parts.append(table(_MOVED, [_moved(moved) for moved in comparison.moved], left=3))
    return "\n".join(parts)


def as_html(comparison: Comparison) -> str:
    """Return a comparison as one HTML page that contains its plot."""
    runs = ", ".join(comparison.runs)
    notes = "".join(f"<p>Note: {escape(note)}.</p>\n" for note in comparison.notes)
    body = (
        f"<p>{escape(runs)}; {comparison.queries:,} queries.</p>\n{notes}"
        f"<h2>Means</h2>\n{_plot(comparison)}\n{html_table(_MEANS, _means(comparison))}"
        f"<h2>Differences</h2>\n{html_table(_PAIRS, [_pair(pair) for pair in comparison.pairs])}"
        f"<p>{escape(_how(comparison))}</p>\n"
        f"<h2>Most moved queries, by {escape(_first_measure(comparison))}</h2>\n"
        f"{html_table(_MOVED, [_moved(moved) for moved in comparison.moved])}"
    )
    return page(f"Comparison of {len(comparison.runs)} runs", body)


def _how(comparison: Comparison) -> str:
    return (
        f"{comparison.queries:,} queries; difference is second minus first; {RESAMPLES:,} resamples, seed "
        f"{comparison.seed}; Holm's correction over all {len(comparison.pairs)} tests of a kind"
    )


def _means(comparison: Comparison) -> list[tuple[str, ...]]:
    return [
        (measure, name, figure(value.mean), f"{figure(value.low)} to {figure(value.high)}")
        for measure, by_run in comparison.means.items()
        for name, value in by_run.items()
    ]


def _pair(pair: Pair) -> tuple[str, ...]:
    test = pair.test
    return (
        pair.measure,
        pair.first,
        pair.second,
        f"{test.difference.mean:+.4f}",
        f"{test.difference.low:+.4f} to {test.difference.high:+.4f}",
        _p(test.p_randomisation),
        _p(pair.holm_randomisation),
        _p(test.p_t),
        _p(pair.holm_t),
        figure(test.effect, 2),
        str(test.wins),
        str(test.ties),
        str(test.losses),
    )


def _p(value: float | None) -> str:
    return "<0.0001" if value is not None and value < 0.0001 else figure(value)


def _moved(query: Moved) -> tuple[str, ...]:
    ranks = "; ".join(f"{docid} {before or '-'} → {after or '-'}" for docid, (before, after) in query.ranks.items())
    return query.qid, query.first, query.second, figure(query.values[0]), figure(query.values[1]), ranks


def _first_measure(comparison: Comparison) -> str:
    return next(iter(comparison.means))


def _plot(comparison: Comparison) -> str:
    """Draw means and intervals, one panel a measure, as SVG; the same bytes for the same comparison."""
    import matplotlib
    from matplotlib.figure import Figure

    names = list(comparison.runs)
    drawn = io.StringIO()
    # Text stays text: the reader's fonts draw it, so glyphs that matplotlib's own font lacks do not matter.
    settings: Any = {"svg.hashsalt": "factseek", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        width = 3.2 * len(comparison.means) + 0.08 * max(map(len, names))
        canvas = Figure(figsize=(width, 1.2 + 0.4 * len(names)), layout="constrained")
        panels = canvas.subplots(1, len(comparison.means), sharey=True, squeeze=False)[0]
        for panel, (measure, by_run) in zip(panels, comparison.means.items(), strict=True):
            values = [by_run[name] for name in names]
            bars = [[max(0.0, v.mean - v.low) for v in values], [max(0.0, v.high - v.mean) for v in values]]
            panel.errorbar([v.mean for v in values], range(len(names)), xerr=bars, fmt="o", capsize=3)
            panel.set_title(measure)
            panel.set_yticks(range(len(names)), names)
            panel.grid(axis="x", alpha=0.3)
            panel.margins(y=0.3)
        panels[0].invert_yaxis()
        canvas.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = drawn.getvalue()
    return text[text.index("<svg") :]
