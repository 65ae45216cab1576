"""Figures beside a peer's or a limit, their table, and its place in a document."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from factseek.retrieval.errors import FactseekError
from factseek.retrieval.terminal import say


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


def in_turns(what: str, unit: str, ours: Sequence[float], theirs: Sequence[float], target: RatioBounds = NONE) -> Row:
    """Return a comparison of rounds in turns: the medians, and the median of the ratios of the rounds with its scatter.

    ``target`` says what the ratio has to be.
    """
    ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    met = target.least <= ratio <= target.most
    medians = statistics.median(ours), statistics.median(theirs)
    return Row(what, unit, *medians, ratio, target.text, met, (min(ratios), max(ratios)))


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


def replace_marked(path: Path, name: str, content: str) -> None:
    """Put ``content`` between the marks of this name.

    Raises ValueError if the document has none.
    """
    text = path.read_text("utf-8")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{path}: has no part {name}")
    measured = content.strip("\n")
    path.write_text(f"{before}{begin}\n\n{measured}\n\n{end}{after}", "utf-8")


@contextmanager
def part(name: str) -> Iterator[None]:
    """Print, at the end of the block, the seconds that passed and the processor seconds used."""
    began, worked = perf_counter(), _worked()
    yield
    say(f"{name}: {perf_counter() - began:.0f} s, {_worked() - worked:.0f} s of processor time")


def _worked() -> float:
    """Return the processor seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def program(run: Callable[[], None]) -> Callable[[], int]:
    """Return the main function of a program: 0 when it has run, 2 after a mistake, which is said in a line."""

    def main() -> int:
        try:
            run()
        except FactseekError as error:
            say(f"benchmarks: {error.line}")
            return 2
        except FileNotFoundError as error:
            say(f"benchmarks: {error.filename}: there is no such file")
            return 2
        return 0

    return main
