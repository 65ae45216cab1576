"""Compare ways of fusing rankings over every collection: ``python -m benchmarks.fusion``.

The rankings of BM25 and the encoders are made once and kept; every way of fusing them is then evaluated in memory, with
``factseek tune``'s own evaluator. One family of collections is left out at a time, a way is chosen on the others, and
what it loses on those left out, against the best way for them, is its regret. Writes its tables into
``docs/benchmark.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import across_languages
from benchmarks.fusion_rankings import DEPTH, RankedCase, cases, data_folder_or_none, ranked
from benchmarks.marked import replace_marked
from benchmarks.quality import ROOT, is_indexed
from factseek.eval.reports.page import markdown_table
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Interval, Values, intervals, paired
from factseek.eval.tuning.fused_evaluator import FusedEvaluator
from factseek.eval.tuning.grid import Setting, fusions
from factseek.retrieval.config import Config, FusionSettings
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.retrievers import kind
from factseek.retrieval.terminal import say, write

MEASURE, CUT = "nDCG@10", 10
SHOWN = 8
PAIR = ("bm25", "dense")
"""The rankings that the default fuses."""
EQUAL = dict.fromkeys(PAIR, 0.5)
COMPARED = FusionSettings(kind="rrf", rrf_k=10, weights=EQUAL)
"""The way that others are compared with: reciprocal ranks, the default until 0.2.0."""
BEFORE = FusionSettings(kind="minmax", weights=EQUAL)
"""The default before the present one."""
DEFAULT = FusionSettings(weights={name: kind(name).VOTE for name in PAIR})
"""The way that a search fuses unasked."""


class MeasuredCase(NamedTuple):
    """A case with the measure of each query under each way of fusing, shape (ways, queries), and of each ranking."""

    name: str
    family: str
    fused: Values
    alone: Mapping[str, float]


class LeftOutCase(NamedTuple):
    """What the ways chosen on the other families are worth on a case that had no part in the choice."""

    case: MeasuredCase
    chosen: int
    gain: Interval
    p: float
    regret: Interval


def main() -> int:
    """Rank what is not yet ranked, evaluate, print the tables, write them into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "quality", help="keeps indexes and rankings")
    parser.add_argument("--built", action="store_true", help="leave out the collections whose index is not there yet")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where benchmark.md is")
    args = parser.parse_args()
    if data_folder_or_none() is None:
        say("benchmarks.fusion: FACTSEEK_DATA is not set: it names the folder of the public collections")
        return 2
    try:
        ranked_cases = [
            ranked(case, args.work)
            for case in cases(data_folder_or_none(), args.work)
            if not args.built or is_indexed(case.collection, args.work)
        ]
    except FactseekError as error:
        say(f"benchmarks.fusion: {error.line}")
        return 2
    ways = ways_to_fuse()
    measured = [evaluated(case, ways) for case in ranked_cases]
    content = report(measured, ways)
    languages = across_languages.report(ranked_cases, DEFAULT)
    write(f"{content}\n{languages}")
    replace_marked(args.docs / "benchmark.md", "fusion", content)
    replace_marked(args.docs / "benchmark.md", "languages", languages)
    return 0


def ways_to_fuse() -> list[FusionSettings]:
    """Return the ways of fusing that ``factseek tune`` tries, the one that others are compared with first."""
    base = Setting("hybrid", Config().bm25, COMPARED)
    return [setting.fusion for setting in fusions(base, ())]


def evaluated(ranked_case: RankedCase, ways: Sequence[FusionSettings]) -> MeasuredCase:
    """Return the measure of each query of a case under each way of fusing."""
    case, qrels = ranked_case.case, ranked_case.case.qrels
    rankings = ranked_case.pair()
    pool = FusedEvaluator(rankings, DEPTH)
    fused = [evaluate(qrels, pool.fused(way, CUT), [MEASURE]).values[:, 0] for way in ways]
    alone = {}
    for name in PAIR:
        run = {qid: {hit.docid: hit.score for hit in hits[:CUT]} for qid, hits in rankings[name].items()}
        alone[name] = float(evaluate(qrels, run, [MEASURE]).values[:, 0].mean())
    return MeasuredCase(case.name, case.family, np.stack(fused), alone)


def family_means(measured: Sequence[MeasuredCase]) -> NDArray[np.float64]:
    """Return the mean over families of the mean over their cases, for each way of fusing."""
    families = dict.fromkeys(case.family for case in measured)
    of_family = [
        np.mean([case.fused.mean(axis=1) for case in measured if case.family == family], axis=0) for family in families
    ]
    return np.asarray(np.mean(of_family, axis=0), dtype=np.float64)


def best(means: NDArray[np.float64]) -> int:
    """Return the place of the highest mean; of equals, the first and so the simplest."""
    return int(np.flatnonzero(means > means.max() - 1e-12)[0])


def left_out(measured: Sequence[MeasuredCase]) -> list[LeftOutCase]:
    """Choose a way of fusing on all families but one, and judge it on that one, for each."""
    results = []
    for case in measured:
        chosen = best(family_means([other for other in measured if other.family != case.family]))
        test = paired(case.fused[0], case.fused[chosen], 0)
        behind = case.fused[best(case.fused.mean(axis=1))] - case.fused[chosen]
        results.append(
            LeftOutCase(case, chosen, test.difference, test.p_randomisation, intervals(behind[:, None], 0)[0])
        )
    return results


def overall(measured: Sequence[MeasuredCase], way: int, other: int = 0) -> Interval:
    """Return how much better than another a way is in the mean over families; queries are drawn anew."""
    random = np.random.default_rng((0, 1))
    families = list(dict.fromkeys(case.family for case in measured))
    resamples = 2_000
    total = np.zeros(resamples)
    for family in families:
        own = [case for case in measured if case.family == family]
        for case in own:
            differences = case.fused[way] - case.fused[other]
            drawn = random.integers(0, len(differences), (resamples, len(differences)))
            total += differences[drawn].mean(axis=1) / (len(own) * len(families))
    means = family_means(measured)
    low, high = np.percentile(total, (2.5, 97.5))
    return Interval(float(means[way] - means[other]), float(low), float(high))


def report(measured: Sequence[MeasuredCase], ways: Sequence[FusionSettings]) -> str:
    """Return the tables: each case left out, then the ways that are best over all."""
    means = family_means(measured)
    order = sorted(range(len(ways)), key=lambda way: (-means[way], way))
    default, before = ways.index(DEFAULT), ways.index(BEFORE)
    shown = list(dict.fromkeys([*order[:SHOWN], *(way for way in order if way in (default, before, 0))]))
    rows = [
        [
            described(ways[way]) + (" (the default)" if way == default else ""),
            f"{means[way]:.4f}",
            _signed(overall(measured, way)) if way else "",
        ]
        for way in shown
    ]
    best_ways = markdown_table(("fusion", MEASURE, f"against {described(COMPARED)}"), rows, left=1)
    header = (
        "collection",
        "queries",
        *PAIR,
        described(COMPARED),
        "gain of the default, p",
        "chosen on the others",
        "gain, p",
        "regret",
    )
    held_out = markdown_table(header, [_row(result, ways) for result in left_out(measured)], left=1)
    lead = f"The default is {_signed(overall(measured, default, before))} against {described(BEFORE)}.\n"
    return f"Left out, one family of collections at a time:\n\n{held_out}\nOver all families:\n\n{best_ways}\n{lead}"


def described(way: FusionSettings) -> str:
    """Name a way of fusing in a few words."""
    constant = f" {way.rrf_k}" if way.kind == "rrf" else ""
    return f"{way.kind}{constant}, " + " : ".join(f"{way.weights[name]:g}" for name in PAIR)


def _row(result: LeftOutCase, ways: Sequence[FusionSettings]) -> list[str]:
    case, regret = result.case, result.regret
    default = paired(case.fused[0], case.fused[ways.index(DEFAULT)], 0)
    return [
        case.name,
        f"{case.fused.shape[1]:,}",
        *(f"{case.alone[name]:.3f}" for name in PAIR),
        f"{case.fused[0].mean():.3f}",
        f"{_signed(default.difference)}, {default.p_randomisation:.3f}",
        described(ways[result.chosen]),
        f"{_signed(result.gain)}, {result.p:.3f}",
        f"{regret.mean:.3f} ({regret.low:.3f} to {regret.high:.3f})",
    ]


def _signed(interval: Interval) -> str:
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


if __name__ == "__main__":
    sys.exit(main())
