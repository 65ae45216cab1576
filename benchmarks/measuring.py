"""What all benchmarks share: figures with targets, their table, the document, and the main function
of a program.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from factseek import FactseekError
from factseek.core.terminal import say, write
from factseek.eval.scoring.tables import markdown_table

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures.md"
WRITE = ("--write", {"action": "store_true", "help": "put the figures into docs/figures.md"})


class Bounds(NamedTuple):
    """The bounds of a target."""

    least: float = -math.inf
    most: float = math.inf


NONE = Bounds()


class Row(NamedTuple):
    """A figure of factseek, the figure of a peer or a limit, and the value that the target judges.

    ``value`` is what the target judges: the ratio to the peer, or the figure itself without a peer.
    ``scatter`` is the least and the greatest ratio of a round, if there were several.
    """

    what: str
    unit: str
    ours: float
    theirs: float | None
    value: float
    bounds: Bounds
    scatter: tuple[float, float] | None = None

    @property
    def target(self) -> str:
        """The target in words, if there is one."""
        bound = (
            f">= {self.bounds.least}" if self.bounds.least > -math.inf else f"<= {self.bounds.most}"
        )
        return f"{'' if self.theirs is None else 'ratio '}{bound}" if self.bounds != NONE else ""

    @property
    def met(self) -> bool:
        """Whether the value meets the target."""
        return self.bounds.least <= self.value <= self.bounds.most


def in_turns(
    what: str, unit: str, ours: Sequence[float], theirs: Sequence[float], target: Bounds = NONE
) -> Row:
    """Compare rounds that alternated: return the medians, and the median of the rounds' ratios with
    its scatter.
    """
    ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
    scatter = (min(ratios), max(ratios)) if len(ratios) > 1 else None
    medians = statistics.median(ours), statistics.median(theirs)
    return Row(what, unit, *medians, statistics.median(ratios), target, scatter)


def alone(what: str, unit: str, ours: float, target: Bounds) -> Row:
    """Return the row of a figure that is not compared with a peer."""
    return Row(what, unit, ours, None, ours, target)


def rate_in_turns(
    count: int,
    runs: Sequence[Callable[[], object]],
    rounds: int = 5,
    clock: Callable[[], float] = perf_counter,
) -> list[list[float]]:
    """Return the items per second of each run in each round; runs of ``count`` items alternate
    after a warm-up.
    """
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
        cells.append(
            [
                row.what,
                row.unit,
                _figure(row.ours),
                theirs,
                f"{_figure(row.value)}{scatter}",
                row.target,
                met,
            ]
        )
    return markdown_table(
        ("what", "unit", "factseek", "peer", "figure", "target", ""), cells, left=2
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def publish(name: str, content: str, *, document: bool = True) -> None:
    """Print figures; with ``document``, put them between the marks ``name`` in docs/figures.md."""
    content = content.strip("\n")
    write(f"{content}\n")
    if not document:
        return
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, opened, rest = FIGURES.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{FIGURES}: has no part {name}")
    FIGURES.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", "utf-8")


@contextmanager
def part(name: str) -> Iterator[None]:
    """At the end of the block, print its elapsed and processor seconds, including those of ended
    child processes.
    """
    began = os.times()
    yield
    passed = [after - before for before, after in zip(began, os.times(), strict=True)]
    say(f"{name}: {passed[4]:.0f} s, {sum(passed[:4]):.0f} s of processor time")


def program(
    *options: tuple[str, dict[str, Any]],
) -> Callable[[Callable[[argparse.Namespace], Any]], Callable[[], int]]:
    """Return a decorator that makes the main function of a program with these options.

    The docstring of the function's module describes the program. After a user's error, the program
    prints one line and returns 2. Else it returns what the function returns, or 0.
    """

    def decorated(run: Callable[[argparse.Namespace], Any]) -> Callable[[], int]:
        def main() -> int:
            parser = argparse.ArgumentParser(
                description=sys.modules[run.__module__].__doc__,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            for name, option in options:
                parser.add_argument(name, **option)
            try:
                return int(run(parser.parse_args()) or 0)
            except FactseekError as error:
                say(f"benchmarks: {error.line}")
            except FileNotFoundError as error:
                say(f"benchmarks: {error.filename}: there is no such file")
            return 2

        return main

    return decorated
