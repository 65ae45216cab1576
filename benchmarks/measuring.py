"""Compare figures with a peer's or with a limit, and write the table of the results into a document."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.terminal import say


class Row(NamedTuple):
    """One figure: factseek's next to a peer's (or a limit), and whether it meets the target.

    ``value`` is what the target judges: the ratio to the peer, or the figure itself without a peer.
    """

    what: str
    unit: str
    ours: float
    theirs: float | None
    value: float
    target: str
    met: bool
    scatter: tuple[float, float] | None = None
    """The least and the greatest ratio of a round, if there were several."""


class Bounds(NamedTuple):
    """The bounds of a target."""

    least: float = -math.inf
    most: float = math.inf

    def judged(self, value: float, name: str) -> tuple[str, bool]:
        """Return the target in words (empty if there are no bounds), and whether a value meets it."""
        bound = f">= {self.least}" if self.least > -math.inf else f"<= {self.most}"
        return f"{name}{bound}" if self != NONE else "", self.least <= value <= self.most


NONE = Bounds()


def in_turns(what: str, unit: str, ours: Sequence[float], theirs: Sequence[float], target: Bounds = NONE) -> Row:
    """Compare two programs whose rounds alternated.

    Return the median of each, and the median, the least and the greatest ratio of a round. ``target`` bounds the median
    ratio.
    """
    ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    scatter = (min(ratios), max(ratios)) if len(ratios) > 1 else None
    medians = statistics.median(ours), statistics.median(theirs)
    return Row(what, unit, *medians, ratio, *target.judged(ratio, "ratio "), scatter)


def alone(what: str, unit: str, ours: float, target: Bounds) -> Row:
    """Return the row of a figure that is not compared with a peer."""
    return Row(what, unit, ours, None, ours, *target.judged(ours, ""))


def rates_in_turns(
    count: int, runs: Sequence[Callable[[], object]], rounds: int = 5, clock: Callable[[], float] = perf_counter
) -> list[list[float]]:
    """Return the items per second of each run in each round; runs of ``count`` items alternate after a warm-up."""
    rates: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds + 1):
        for run, of_run in zip(runs, rates, strict=True):
            began = clock()
            run()
            of_run.append(count / (clock() - began))
    return [of_run[1:] for of_run in rates]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    cells = []
    for row in rows:
        met = ("met" if row.met else "MISSED") if row.target else "–"
        scatter = f" [{_figure(row.scatter[0])}–{_figure(row.scatter[1])}]" if row.scatter else ""
        theirs = "" if row.theirs is None else _figure(row.theirs)
        cells.append([row.what, row.unit, _figure(row.ours), theirs, f"{_figure(row.value)}{scatter}", row.target, met])
    return markdown_table(("what", "unit", "factseek", "peer", "figure", "target", ""), cells, left=2)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def replace_marked(path: Path, name: str, content: str) -> None:
    """Replace the text between the marks of this name by ``content``.

    Raises ValueError if the document has no such marks.
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
    """At the end of the block, print its elapsed and processor seconds, including those of ended child processes."""
    began = os.times()
    yield
    passed = [after - before for before, after in zip(began, os.times(), strict=True)]
    say(f"{name}: {passed[4]:.0f} s, {sum(passed[:4]):.0f} s of processor time")


def program(run: Callable[[], None]) -> Callable[[], int]:
    """Return the main function of a program. It returns 0, or prints a user's error as one line and returns 2."""

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
