"""Compare fusions of two rankings with those of three: ``python -m benchmarks.three_rankings``.

The third ranking is ``impact``, by splade-tiny. This model is English, so the collections are the
English ones of ``benchmarks.fusion``. Each family of collections is left out once: the best way to
fuse two and the best way to fuse three are chosen on the others. The program writes its table into
``docs/figures.md``. With ``--only``, it prints the table of the collections with such a name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from benchmarks import fusion
from benchmarks.data import data_folder
from benchmarks.measuring import program, publish
from factseek import Config, FusionSettings
from factseek.core.errors import UsageError
from factseek.core.terminal import say
from factseek.eval.learn.grid import Setting, fusions
from factseek.eval.learn.tune import FusedEvaluator
from factseek.eval.scoring.measures import values_of
from factseek.eval.scoring.statistics import Values
from factseek.eval.scoring.tables import markdown_table

THIRD = "impact"
THREE = (*fusion.PAIR, THIRD)
DEPTHS = (fusion.DEPTH, 1_000)
AIMS = {"SciFact": ".740", "NFCorpus": ".365", "CheckThat! 2020": ".960"}
"""What the defaults should reach on judgements that are held out, by the start of a name."""
MOST_LOSS = 0.005
"""The default changes only if it then loses on no collection more than this."""


class Ways(NamedTuple):
    """The ways of fusing, the present default first; ``pairs`` and ``threes`` are their places."""

    every: tuple[FusionSettings, ...]
    pairs: list[int]
    threes: list[int]


@program(("--only", {"default": "", "help": "a part of the names of the collections to measure"}))
def main(args: argparse.Namespace) -> None:
    """Make missing rankings, evaluate, print the table, and write it into the document."""
    ways = ways_to_fuse()
    cases = [
        case
        for case in fusion.cases_within(data_folder())
        if case.collection.impacts and args.only in case.name
    ]
    if not cases:
        raise UsageError(f"no English collection has {args.only!r} in its name")
    measured = [measure(case, ways) for case in cases]
    if args.only:
        say(report(measured, ways))
        return
    publish("three-rankings", report(measured, ways))


def ways_to_fuse() -> Ways:
    """Return the default, and what ``factseek tune`` tries of two and of three rankings, at each
    depth.
    """
    every = [fusion.DEFAULT]
    for names in (fusion.PAIR, THREE):
        base = FusionSettings(kind="minmax", weights=dict.fromkeys(names, 1 / len(names)))
        tried = fusions(Setting("hybrid", Config().bm25, base), ())
        every += [replace(way.fusion, depth=depth) for depth in DEPTHS for way in tried]
    is_three = [THIRD in way.weights for way in every]
    pairs = [place for place, three in enumerate(is_three) if not three]
    threes = [place for place, three in enumerate(is_three) if three]
    return Ways(tuple(every), pairs, threes)


def measure(case: fusion.Case, ways: Ways) -> fusion.MeasuredCase:
    """Return the measure of each query of a case, for each way and for each ranking alone."""
    rankings = fusion.rankings(case, THREE, DEPTHS[-1])
    say(f"{case.name}: fusing in {len(ways.every)} ways")
    pools = {
        (names, depth): FusedEvaluator({name: rankings[name] for name in names}, depth)
        for names in (fusion.PAIR, THREE)
        for depth in DEPTHS
    }

    def values(way: FusionSettings) -> Values:
        names = THREE if THIRD in way.weights else fusion.PAIR
        run = fusion.fused_run(pools[names, way.depth], case, way)
        return values_of(case.qrels, run, fusion.MEASURE)

    alone = {
        name: float(values_of(case.qrels, fusion.run_of(ranking), fusion.MEASURE).mean())
        for name, ranking in rankings.items()
    }
    return fusion.MeasuredCase(case.name, case.family, np.stack([*map(values, ways.every)]), alone)


def report(measured: Sequence[fusion.MeasuredCase], ways: Ways) -> str:
    """Return the table of the cases, then whether the best way to fuse three may be the default."""
    header = (
        "collection",
        "queries",
        *THREE,
        "the default",
        "two rankings, chosen on the others",
        "gain, p",
        "three rankings, chosen on the others",
        "gain, p",
        "aim on held-out judgements",
    )
    rows = []
    for case in measured:
        # With one family alone, nothing is left to choose on.
        others = [other for other in measured if other.family != case.family] or measured
        cells = [f"{case.alone[name]:.3f}" for name in THREE]
        cells.append(f"{case.fused[0].mean():.3f}")
        for places in (ways.pairs, ways.threes):
            chosen = best_of(others, places)
            gain = fusion.tested(case.fused[0], case.fused[chosen])
            cells += [fusion.described(ways.every[chosen]), gain]
        aims = [aim for name, aim in AIMS.items() if case.name.startswith(name)]
        rows.append([case.name, f"{case.fused.shape[1]:,}", *cells, *(aims or [""])])
    table = markdown_table(header, rows, left=1)
    return f"{table}\n{verdict(measured, ways)}\n"


def best_of(measured: Sequence[fusion.MeasuredCase], places: Sequence[int]) -> int:
    """Return which of some ways has the best mean over the families."""
    return places[fusion.best(fusion.family_means(measured)[list(places)])]


def verdict(measured: Sequence[fusion.MeasuredCase], ways: Ways) -> str:
    """Return, in words, whether the best way of all may replace the default.

    It may if it gains on the mean over the families by more than its interval, and loses on no
    collection by more than ``MOST_LOSS``.
    """
    chosen = best_of(measured, range(len(ways.every)))
    gain = fusion.overall(measured, chosen)
    losses = {case.name: float((case.fused[0] - case.fused[chosen]).mean()) for case in measured}
    worst = max(losses, key=losses.__getitem__)
    may = gain.low > 0 and losses[worst] <= MOST_LOSS
    return (
        f"Over all families, {fusion.described(ways.every[chosen])} gains {fusion.signed(gain)} "
        f"over the default. Its worst difference is {-losses[worst]:+.3f}, on {worst}. By the "
        f"rule, it {'may become' if may else 'does not become'} the default."
    )


if __name__ == "__main__":
    sys.exit(main())
