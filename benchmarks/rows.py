"""Measurements and their table."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple


class Row(NamedTuple):
    """One figure: ours beside a peer's (or a limit), and whether the target is met.

    ``value`` is what the target is about: the ratio to the peer, or the figure itself where there is no peer.
    """

    what: str
    unit: str
    ours: float
    theirs: float | None
    value: float
    target: str
    met: bool


def faster(what: str, unit: str, ours: float, theirs: float, at_least: float) -> Row:
    """Return a comparison of two rates: ours has to be ``at_least`` times theirs."""
    ratio = ours / theirs
    return Row(what, unit, ours, theirs, ratio, f"ratio >= {at_least}", ratio >= at_least)


def slower(what: str, unit: str, ours: float, theirs: float, at_most: float) -> Row:
    """Return a comparison of two times: ours may be ``at_most`` times theirs."""
    ratio = ours / theirs
    return Row(what, unit, ours, theirs, ratio, f"ratio <= {at_most}", ratio <= at_most)


def side_by_side(what: str, unit: str, ours: float, theirs: float) -> Row:
    """Return two rates side by side, without a target."""
    return Row(what, unit, ours, theirs, ours / theirs, "", met=True)


def within(what: str, unit: str, ours: float, theirs: float, at_most: float) -> Row:
    """Return a comparison of two figures: they may differ by ``at_most``."""
    gap = ours - theirs
    return Row(what, unit, ours, theirs, gap, f"|difference| <= {at_most}", abs(gap) <= at_most)


def below(what: str, unit: str, ours: float, at_most: float) -> Row:
    """Return a figure with its upper limit."""
    return Row(what, unit, ours, None, ours, f"<= {at_most}", ours <= at_most)


def above(what: str, unit: str, ours: float, at_least: float) -> Row:
    """Return a figure with its lower limit."""
    return Row(what, unit, ours, None, ours, f">= {at_least}", ours >= at_least)


def rates(count: int, runs: Sequence[Callable[[], object]], rounds: int = 5) -> list[float]:
    """Return the median items a second of each run of ``count`` items; runs take turns after a warm-up round."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds + 1):
        for run, taken in zip(runs, times, strict=True):
            began = perf_counter()
            run()
            if turn:
                taken.append(perf_counter() - began)
    return [count / statistics.median(taken) for taken in times]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | unit | factseek | peer | figure | target | |", "|---|---|---:|---:|---:|---|---|"]
    for row in rows:
        theirs = "" if row.theirs is None else _figure(row.theirs)
        met = ("met" if row.met else "MISSED") if row.target else "–"
        figures = f"{_figure(row.ours)} | {theirs} | {_figure(row.value)}"
        lines.append(f"| {row.what} | {row.unit} | {figures} | {row.target} | {met} |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
