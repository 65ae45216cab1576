"""Measure from how many judged queries a combination learns: ``python -m benchmarks.learning_curve``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: on SciFact's training claims, in the folds of
``factseek train combiner``. Of the claims outside a fold some are drawn, with several seeds, a combination of each kind
learns from them, and the claims of the fold judge it. Writes the table into ``docs/training.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from benchmarks.quality import ROOT, indexed, public
from factseek.eval.reports.page import markdown_table
from factseek.eval.running.judged import JudgedFiles, read_judged
from factseek.eval.scoring.statistics import Values, paired
from factseek.eval.training.combiner import CombinerRequest, TestBed
from factseek.eval.training.folds import parted
from factseek.eval.training.pools import pools
from factseek.retrieval.domain import Qrels
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import bar
from factseek.retrieval.terminal import say
from factseek.settings import Config

SEEDS = 3
HEADING = f"""### From how many judgements on

On SciFact's training claims, in the same five folds and over two rankings: of the claims outside a fold so many are
drawn, with {SEEDS} seeds, a combination learns from them, and the claims of the fold judge it
(`python -m benchmarks.learning_curve`, which `make bench-fusion` runs too). The measure is nDCG@10, the gain is over
the hits as hybrid ranks them.

"""
SIZES = (25, 50, 100, 200, 400)
KINDS = {"linear": "weights", "trees": "trees", "both": "both"}
"""The kinds of combination, and what the table calls them."""


class HeldOutFold(NamedTuple):
    """The numbers of the queries that judge, and of those that may be learned from."""

    judging: NDArray[np.intp]
    rest: NDArray[np.intp]


def main() -> int:
    """Read the hits, learn, print the table, write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "quality", help="keeps the index")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where training.md is")
    args = parser.parse_args()
    try:
        text = _measured(data_folder(), args.work)
    except FactseekError as error:
        say(f"benchmarks.learning_curve: {error.line}")
        return 2
    sys.stdout.write(text)
    replace_marked(args.docs / "training.md", "curve", text)
    return 0


def _measured(data: Path, work: Path) -> str:
    """Return the table."""
    collection = public(data)[0]
    with open_index(indexed(collection, work), Config()) as index:
        judged = read_judged(JudgedFiles(task="trec", queries=collection.queries, qrels=collection.qrels), index)
        request = CombinerRequest(files=())
        read = pools(index, judged, request.depth, bar)
    return HEADING + table(TestBed(read, judged.qrels, request), judged.qrels, request)


def table(bed: TestBed, qrels: Qrels, request: CombinerRequest) -> str:
    """Return the table of judged queries, whose pools the bed holds."""
    everything = np.arange(len(qrels))
    before = bed.values(everything, None)
    folds = [
        HeldOutFold(rows, np.setdiff1d(everything, rows)) for rows in parted(qrels, request.folds, request.seed).rows
    ]
    rows = [["none", *[f"{before.mean():.3f}"] * len(KINDS), *[""] * len(KINDS)]]
    for size in (*SIZES, None):
        with part(f"{size or 'all'} queries"):
            rows.append(_row(size, bed, folds, before))
    learned = (f"gain of {name}, 95 % interval, p" for name in KINDS.values())
    return markdown_table(("queries learned from", *KINDS.values(), *learned), rows, left=1)


def _row(size: int | None, bed: TestBed, folds: Sequence[HeldOutFold], before: Values) -> list[str]:
    """Return a line of the table: each query's measure is the mean over what was learned with each seed."""
    fewest = min(len(fold.rest) for fold in folds)
    after = {kind: _held_out(kind, size, bed, folds) for kind in KINDS}
    return [
        f"{size}" if size else f"all, {fewest} or more",
        *(f"{values.mean():.3f}" for values in after.values()),
        *(_gain(before, values) for values in after.values()),
    ]


def _held_out(kind: str, size: int | None, bed: TestBed, folds: Sequence[HeldOutFold]) -> Values:
    """Return the measure of each query, judged by what was learned from ``size`` queries of other folds."""
    seeds = range(SEEDS if size else 1)
    values = np.zeros((len(seeds), sum(len(fold.judging) for fold in folds)))
    for seed in seeds:
        for number, fold in enumerate(folds):
            random = np.random.default_rng((seed, number))
            rows = np.sort(random.permutation(fold.rest)[:size])
            values[seed, fold.judging] = bed.values(fold.judging, bed.learned(kind, rows))
    mean: Values = values.mean(axis=0)
    return mean


def _gain(before: Values, after: Values) -> str:
    test = paired(before, after, 0)
    difference = test.difference
    interval = f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"
    return f"{interval}, {test.p_randomisation:.3f}"


if __name__ == "__main__":
    sys.exit(main())
