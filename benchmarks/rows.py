"""Measurements and their table."""

from __future__ import annotations

import math
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
    scatter: tuple[float, float] | None = None
    """The least and the greatest ratio of a round, where there were several."""


class RatioBounds(NamedTuple):
    """The bounds of a ratio."""

    least: float = -math.inf
    most: float = math.inf

    @property
    def text(self) -> str:
        """The bounds as a table says them; nothing if there are none."""
        least = f"ratio >= {self.least}" if self.least > -math.inf else ""
        return least or (f"ratio <= {self.most}" if self.most < math.inf else "")


NONE = RatioBounds()


def faster(what: str, unit: str, ours: float, theirs: float, at_least: float) -> Row:
    """Return a comparison of two rates: ours has to be ``at_least`` times theirs."""
    ratio = ours / theirs
    return Row(what, unit, ours, theirs, ratio, f"ratio >= {at_least}", ratio >= at_least)


def side_by_side(what: str, unit: str, ours: float, theirs: float) -> Row:
    """Return two rates side by side, without a target."""
    return Row(what, unit, ours, theirs, ours / theirs, "", met=True)


def in_turns(what: str, unit: str, ours: Sequence[float], theirs: Sequence[float], target: RatioBounds = NONE) -> Row:
    """Return a comparison of rounds in turns: the medians, and the median of the ratios of the rounds with its scatter.

    ``target`` says what the ratio has to be.
    """
    ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    met = target.least <= ratio <= target.most
    medians = statistics.median(ours), statistics.median(theirs)
    return Row(what, unit, *medians, ratio, target.text, met, (min(ratios), max(ratios)))


def within(what: str, unit: str, ours: float, theirs: float, at_most: float) -> Row:
    """Return a comparison of two figures: they may differ by ``at_most``."""
    gap = ours - theirs
    return Row(what, unit, ours, theirs, gap, f"difference <= {at_most}", abs(gap) <= at_most)


def below(what: str, unit: str, ours: float, at_most: float) -> Row:
    """Return a figure with its upper limit."""
    return Row(what, unit, ours, None, ours, f"<= {at_most}", ours <= at_most)


def above(what: str, unit: str, ours: float, at_least: float) -> Row:
    """Return a figure with its lower limit."""
    return Row(what, unit, ours, None, ours, f">= {at_least}", ours >= at_least)


def rates(count: int, runs: Sequence[Callable[[], object]], rounds: int = 5) -> list[float]:
    """Return the median items a second of each run of ``count`` items; runs take turns after a warm-up round."""
    return list(map(statistics.median, rates_in_turns(count, runs, rounds)))


def rates_in_turns(count: int, runs: Sequence[Callable[[], object]], rounds: int = 5) -> list[list[float]]:
    """Return the items a second of each run in each round; runs of ``count`` items take turns after a warm-up round."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds + 1):
        for run, taken in zip(runs, times, strict=True):
            began = perf_counter()
            run()
            if turn:
                taken.append(perf_counter() - began)
    return [[count / seconds for seconds in taken] for taken in times]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | unit | factseek | peer | figure | target | |", "|---|---|---:|---:|---:|---|---|"]
    for row in rows:
        theirs = "" if row.theirs is None else _figure(row.theirs)
        met = ("met" if row.met else "MISSED") if row.target else "–"
        scatter = f" [{_figure(row.scatter[0])}–{_figure(row.scatter[1])}]" if row.scatter else ""
        figures = f"{_figure(row.ours)} | {theirs} | {_figure(row.value)}{scatter}"
        lines.append(f"| {row.what} | {row.unit} | {figures} | {row.target} | {met} |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
