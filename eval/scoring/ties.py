"""Bounds on the figures of a run over every order of its equal scores.

A measure depends only on the relevance at each rank. So queries whose rankings have the same relevances, both in the
worst and in the best order, are computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

from ...retrieval.domain import Qrels
from ...retrieval.terminal import counted
from .measures import Figures, evaluate, follows_relevance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Table = Mapping[str, Mapping[str, float]]

_SLACK = 1e-12
"""Differences of a mean that are rounding."""

_BATCH = 1_000
"""Queries that are ordered at once."""

_COMPUTED = 200_000
"""About how many ranks are evaluated at once."""


class Bounds(NamedTuple):
    """The least and the greatest mean over all orders of equal scores, and how many queries have such ties."""

    low: float
    high: float
    queries: int


class _Pattern(NamedTuple):
    """The relevances of a ranking by rank, int16 as bytes, in the worst and the best order, and those not ranked."""

    worst: bytes
    best: bytes
    unranked: tuple[int, ...]


def bounds(qrels: Qrels, run: Table, figures: Figures) -> dict[str, Bounds]:
    """Return the bounds of the measures of ``figures`` over all orders of equal scores; only of those that ties change.

    Scores are equal if they are as float32. Only ties between documents of different relevance count, and only measures
    that a more relevant document at a better rank never lowers are bounded.
    """
    names = [name for name in figures.names if follows_relevance(name)]
    patterns: Counter[_Pattern] = Counter()
    rows: list[int] = []
    for at, pattern in _tied(qrels, run, figures.qids):
        rows.append(at)
        patterns[pattern] += 1
    if not rows or not names:
        return {}
    low, high = _totals(patterns, names)
    columns = [figures.names.index(name) for name in names]
    total = figures.values[:, columns].sum(axis=0)
    rest = total - figures.values[rows][:, columns].sum(axis=0)
    count = len(figures.qids)
    all_bounds = {
        name: Bounds(
            max(0.0, float(min(total[at], rest[at] + low[at]))) / count,
            float(max(total[at], rest[at] + high[at])) / count,
            len(rows),
        )
        for at, name in enumerate(names)
    }
    return {name: bound for name, bound in all_bounds.items() if bound.high - bound.low > _SLACK}


def note(measure: str, value: float, bound: Bounds | None, rule: str, unit: str) -> tuple[str, ...]:
    """Return a note on the values that ties let a figure take; no note if ``bound`` is ``None``."""
    if bound is None:
        return ()
    queries = counted(bound.queries, unit)
    digits = 4 if bound.high - bound.low >= 5e-5 else 8
    return (
        f"ties decide: {measure} is {value:.{digits}f} with equal scores in {rule}, "
        f"between {bound.low:.{digits}f} and {bound.high:.{digits}f} in other orders ({queries} with such ties)",
    )


def _tied(qrels: Qrels, run: Table, qids: Sequence[str]) -> Iterator[tuple[int, _Pattern]]:
    """Yield the row and the pattern of each query in which documents of different relevance share a score."""
    numbered = ((at, qid) for at, qid in enumerate(qids) if run.get(qid))
    while batch := list(islice(numbered, _BATCH)):
        yield from _tied_of([at for at, _ in batch], [run[qid] for _, qid in batch], [qrels[qid] for _, qid in batch])


def _tied_of(
    rows: Sequence[int], rankings: Sequence[Mapping[str, float]], judgements: Sequence[Mapping[str, int]]
) -> Iterator[tuple[int, _Pattern]]:
    import numpy as np

    starts = list(accumulate(map(len, rankings), initial=0))
    scores = np.fromiter((score for docs in rankings for score in docs.values()), np.float64, starts[-1])
    fallen = -scores.astype(np.float32)
    relevances = [map(judged.get, docs, repeat(0)) for docs, judged in zip(rankings, judgements, strict=True)]
    grades = np.maximum(np.fromiter((grade for ranking in relevances for grade in ranking), np.int16, starts[-1]), 0)
    owners = np.repeat(np.arange(len(rankings)), np.diff(starts))
    best = np.lexsort((-grades, fallen, owners))
    shared = (fallen[best][1:] == fallen[best][:-1]) & (owners[1:] == owners[:-1])
    mixed = shared & (grades[best][1:] != grades[best][:-1])
    if not mixed.any():
        return
    worst = np.lexsort((grades, fallen, owners))
    edges = list(pairwise(starts))
    for owner in np.unique(owners[1:][mixed]).tolist():
        a, b = edges[owner]
        docs = rankings[owner]
        unranked = sorted(grade for docid, grade in judgements[owner].items() if grade > 0 and docid not in docs)
        yield rows[owner], _Pattern(grades[worst[a:b]].tobytes(), grades[best[a:b]].tobytes(), tuple(unranked))


def _totals(patterns: Counter[_Pattern], names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of each measure over all queries, in the worst order and in the best."""
    import numpy as np

    sums = np.zeros((2, len(names)))
    for group in _grouped(list(patterns)):
        counts = np.array([patterns[pattern] for pattern in group], dtype=np.float64)
        for at, ranked in enumerate(([pattern.worst for pattern in group], [pattern.best for pattern in group])):
            sums[at] += counts @ _values(ranked, [pattern.unranked for pattern in group], names)
    return sums[0], sums[1]


def _grouped(patterns: Sequence[_Pattern]) -> Iterator[list[_Pattern]]:
    group: list[_Pattern] = []
    ranks = 0
    for pattern in patterns:
        group.append(pattern)
        ranks += len(pattern.best) // 2
        if ranks >= _COMPUTED:
            yield group
            group, ranks = [], 0
    if group:
        yield group


def _values(ranked: Sequence[bytes], unranked: Sequence[tuple[int, ...]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the measures of rankings of which only the relevances are known; shape (rankings, measures)."""
    import numpy as np

    docids = [str(rank) for rank in range(max(map(len, ranked)) // 2)]
    qrels: Qrels = {}
    run: dict[str, dict[str, float]] = {}
    for at, (content, others) in enumerate(zip(ranked, unranked, strict=True)):
        grades = np.frombuffer(content, np.int16)
        run[str(at)] = dict(zip(docids, range(len(grades), 0, -1), strict=False))
        relevant = {docids[rank]: int(grades[rank]) for rank in np.flatnonzero(grades).tolist()}
        qrels[str(at)] = relevant | {f"-{number}": grade for number, grade in enumerate(others)}
    return evaluate(qrels, run, names).values
