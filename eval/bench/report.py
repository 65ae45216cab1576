"""The report of a benchmark: Markdown tables, a plot of quality against latency, and a page with both."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from html import escape

from ..scoring.statistics import RESAMPLES, Interval
from ..scoring.tables import figure, html_image, html_table, markdown_table, page
from .bench import Bench, Measured

_SPEED = (
    "retriever", "p50 ms", "p95", "p99", "queries/s", "8 callers: p50 ms", "p95", "p99", "queries/s", "encoding",
    "first answer s", "peak MB", "index MB", "build s",
)  # fmt: skip
_PAIRS = ("measure", "first", "second", "difference", "95 % interval", "p (Holm)", "wins", "ties", "losses")
_MARKS = ("o", "s", "^", "D", "v", "P")


def as_markdown(bench: Bench) -> str:
    """Return a benchmark as Markdown tables."""
    parts = [
        markdown_table(quality_header(bench), quality_rows(bench)),
        markdown_table(_SPEED, speed_rows(bench)),
    ]
    if bench.quality.pairs:
        parts.append(markdown_table(_PAIRS, _pair_rows(bench), left=3))
    return "\n".join([*parts, f"{method(bench)}\n"])


def as_html(bench: Bench, png: bytes) -> str:
    """Return a benchmark as one HTML page."""
    first = next(iter(bench.quality.means))
    notes = "".join(f"<p>Note: {escape(note)}.</p>\n" for note in bench.notes)
    pairs = f"<h2>Differences</h2>\n{html_table(_PAIRS, _pair_rows(bench))}" if bench.quality.pairs else ""
    body = (
        f"<p>{escape(method(bench))}</p>\n{notes}"
        f"<h2>Quality</h2>\n{html_table(quality_header(bench), quality_rows(bench))}"
        f"{html_image(png, f'{first} against the median latency of each retriever')}"
        f"<h2>Speed and size</h2>\n{html_table(_SPEED, speed_rows(bench))}{pairs}"
    )
    return page(f"Sparse, dense and hybrid retrieval on {bench.name}", body)


def method(bench: Bench) -> str:
    """Return a sentence on what was measured, and on which machine."""
    encoder = f", encoder {bench.encoder}" if bench.encoder else ""
    return (
        f"{bench.name}: {bench.documents:,} documents in {bench.passages:,} passages{encoder}; "
        f"{bench.quality.queries:,} judged queries, "
        f"measures over the first {bench.depth:,} hits with 95 % bootstrap intervals ({RESAMPLES:,} resamples, seed "
        f"{bench.quality.seed}); latency of {bench.timed:,} searches for {bench.k} hits after as many to warm up, in a "
        f"process of its own; {bench.machine}."
    )


def quality_header(bench: Bench) -> Sequence[str]:
    """Return the names of the columns of quality."""
    return ("retriever", *(name for measure in bench.quality.means for name in (measure, "95 % interval")))


def quality_rows(bench: Bench) -> list[Sequence[str]]:
    """Return a row with the quality of each retriever."""
    return [[name, *_cells(name, bench.quality.means)] for name in bench.quality.runs]


def speed_rows(bench: Bench) -> list[Sequence[str]]:
    """Return a row with the latency, memory, size and build time of each retriever."""
    return [_speed(measured) for measured in bench.measured]


def plot(benches: Sequence[Bench]) -> bytes:
    """Draw the first measure against the median latency at one caller, a panel a benchmark, as PNG."""
    from matplotlib.figure import Figure

    drawn = io.BytesIO()
    canvas = Figure(figsize=(4.2 * len(benches), 3.6), layout="constrained", dpi=150)
    panels = canvas.subplots(1, len(benches), squeeze=False)[0]
    for panel, bench in zip(panels, benches, strict=True):
        measure, by_run = next(iter(bench.quality.means.items()))
        for mark, measured in zip(_MARKS, bench.measured, strict=False):
            value, latency = by_run[measured.retriever], measured.timings.latencies[0].p50
            bars = [[max(0.0, value.mean - value.low)], [max(0.0, value.high - value.mean)]]
            panel.errorbar([latency], [value.mean], yerr=bars, fmt=mark, capsize=3, label=measured.retriever)
        panel.set_title(bench.name)
        panel.set_xscale("log")
        panel.set_xlabel("median latency, ms (one caller)")
        panel.set_ylabel(measure)
        panel.grid(alpha=0.3)
        panel.margins(x=0.3)
        panel.legend()
    canvas.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()


def _cells(name: str, means: Mapping[str, Mapping[str, Interval]]) -> list[str]:
    values = [by_run[name] for by_run in means.values()]
    return [
        cell for value in values for cell in (figure(value.mean), f"{figure(value.low, 3)}–{figure(value.high, 3)}")
    ]


def _speed(measured: Measured) -> list[str]:
    timings, sizes = measured.timings, measured.sizes
    latencies = [
        cell
        for at in timings.latencies
        for cell in (figure(at.p50, 2), figure(at.p95, 2), figure(at.p99, 2), f"{at.per_second:,.0f}")
    ]
    return [
        measured.retriever,
        *latencies,
        f"{timings.encoding:.0%}" if timings.encoding else "–",
        figure(timings.first_answer, 2),
        f"{timings.peak_megabytes:,.0f}",
        f"{sizes.megabytes:,.1f}",
        f"{sizes.build_seconds:,.1f}" if sizes.build_seconds else "-",
    ]


def _pair_rows(bench: Bench) -> list[Sequence[str]]:
    return [
        (
            pair.measure,
            pair.first,
            pair.second,
            f"{pair.test.difference.mean:+.4f}",
            f"{pair.test.difference.low:+.4f} to {pair.test.difference.high:+.4f}",
            figure(pair.holm_randomisation),
            str(pair.test.wins),
            str(pair.test.ties),
            str(pair.test.losses),
        )
        for pair in bench.quality.pairs
    ]
