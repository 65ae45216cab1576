"""Measure BM25 beside other engines for words, in turns in one run: ``make bench-peers``.

Every engine answers the same queries of SciFact one at a time, on one thread of Python, docids and scores read; its
rate is the median over the rounds, with the quartiles, in seconds of processor time: of all threads of the process, so
that an engine that uses many is not taken for a fast one, and other work on the machine for a slow one. The table goes
into docs/figures.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.collection import Collection, beir, ndcg10
from benchmarks.engines import ENGINES, Abilities, Ask, opened
from benchmarks.marked import replace_marked
from benchmarks.peers import machine
from benchmarks.sparse import batch_search, peer_searcher

DEPTHS = {10: 300, 100: 200, 1000: 60}
"""Hits that are asked for, each with the number of queries that are asked in a round."""
ROUNDS = 5
FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures.md"


class RateSpread(NamedTuple):
    """Queries a second of processor time at one depth: the median of the rounds and their quartiles."""

    median: float
    low: float
    high: float


def main() -> int:
    """Measure, print the table, and put it into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/figures.md")
    args = parser.parse_args()
    collection = beir("SciFact", Path(os.environ["FACTSEEK_DATA"]) / "scifact", "train")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        work = Path(folder)
        asks = {engine.name: stack.enter_context(opened(engine, collection, work)) for engine in ENGINES}
        quality = {name: _quality(collection, ask) for name, ask in asks.items()}
        rates = {k: _rates(collection, asks, work, k) for k in DEPTHS}
    measured = _table(quality, rates)
    sys.stdout.write(measured + "\n")
    if args.write:
        replace_marked(FIGURES, "engines", measured)
    return 0


def _quality(collection: Collection, ask: Ask) -> float:
    return ndcg10(collection, {qid: ask(query, 10) for qid, query in collection.queries.items()})


def _rates(collection: Collection, asks: Mapping[str, Ask], work: Path, k: int) -> dict[str, RateSpread]:
    """Return the rates of all engines and of the limit; they take turns, and a first round warms them up."""
    queries = list(collection.queries.values())[: DEPTHS[k]]
    limit = batch_search(peer_searcher(work / "peer"), queries)
    runs = {name: (lambda ask=ask: [ask(query, k) for query in queries]) for name, ask in asks.items()}
    runs[LIMIT] = lambda: [limit(k)]
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(ROUNDS + 1):
        for name, run in runs.items():
            began = process_time()
            run()
            if turn:
                seconds[name].append(process_time() - began)
    return {name: _of(len(queries), taken) for name, taken in seconds.items()}


def _of(queries: int, seconds: Sequence[float]) -> RateSpread:
    high, median, low = statistics.quantiles(seconds, n=4)
    return RateSpread(queries / median, queries / low, queries / high)


LIMIT = "Anserini batch_search, one thread, results left in Java"
_NOTHING = Abilities("yes", "–", "–", "–", "–")


def _table(quality: Mapping[str, float], rates: Mapping[int, Mapping[str, RateSpread]]) -> str:
    head = ["engine", "nDCG@10", *(f"k={k}" for k in DEPTHS)]
    abilities = ["Lucene's scores", "filters", "updates", "dense", "total order"]
    lines = [f"| {' | '.join([*head, *abilities])} |", f"|---|{'---:|' * (len(head) - 1)}{'---|' * len(abilities)}"]
    for name, does in [*((engine.name, engine.does) for engine in ENGINES), (LIMIT, _NOTHING)]:
        figures = [_cell(rates[k][name], rates[k][ENGINES[0].name]) for k in DEPTHS]
        scored = f"{quality[name]:.4f}" if name in quality else ""
        lines.append(f"| {' | '.join([name, scored, *figures, *does])} |")
    return "\n".join([*lines, "", f"{machine()}; {ROUNDS} rounds in turns, SciFact, train."])


def _cell(rates: RateSpread, ours: RateSpread) -> str:
    """Return a rate with its quartiles, and how many times ours it is."""
    return f"{rates.median:,.0f} [{rates.low:,.0f}–{rates.high:,.0f}], {rates.median / ours.median:.2f} ×"


if __name__ == "__main__":
    sys.exit(main())
