"""Bounds on the figures of a run over every order of its equal scores.

A measure depends only on the relevance at each rank. Queries whose rankings have the same relevances, in the worst and
in the best order, are therefore computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...retrieval.domain import Qrels
from ...retrieval.terminal import counted
from .measures import Figures, evaluate, follows_relevance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Table = Mapping[str, Mapping[str, float]]

_SLACK = 1e-12
"""Smaller differences of a mean are rounding errors."""
_AT_ONCE = 200
"""The number of rankings evaluated together; it bounds the memory that long rankings take."""


class Bounds(NamedTuple):
    """The least and the greatest mean over all orders of equal scores, and the number of queries with such ties."""

    low: float
    high: float
    queries: int


class _Pattern(NamedTuple):
    """The relevance at each rank (int16 as bytes) in the worst and best order, and the grades of unranked documents."""

    worst: bytes
    best: bytes
    unranked: tuple[int, ...]


def bounds(qrels: Qrels, run: Table, figures: Figures) -> dict[str, Bounds]:
    """Return the bounds over all orders of equal scores, for each measure of ``figures`` that ties change.

    Only ties between documents of different relevance count. A measure has bounds only if it never falls when a more
    relevant document gets a better rank.
    """
    import numpy as np

    names = [name for name in figures.names if follows_relevance(name)]
    patterns: Counter[_Pattern] = Counter()
    rows: list[int] = []
    for at, qid in enumerate(figures.qids):
        pattern = _pattern(qrels[qid], run.get(qid, {}))
        if pattern is not None:
            rows.append(at)
            patterns[pattern] += 1
    if not rows or not names:
        return {}
    different = list(patterns)
    sums = np.zeros((2, len(names)))
    for start in range(0, len(different), _AT_ONCE):
        chunk = different[start : start + _AT_ONCE]
        counts = np.array([patterns[pattern] for pattern in chunk], dtype=np.float64)
        unranked = [pattern.unranked for pattern in chunk]
        for at, ranked in enumerate(([pattern.worst for pattern in chunk], [pattern.best for pattern in chunk])):
            sums[at] += counts @ _values(ranked, unranked, names)
    columns = [figures.names.index(name) for name in names]
    total = figures.values[:, columns].sum(axis=0)
    rest = total - figures.values[rows][:, columns].sum(axis=0)
    least, most = np.minimum(total, rest + sums[0]), np.maximum(total, rest + sums[1])
    all_bounds = {
        name: Bounds(max(0.0, low) / len(figures.qids), high / len(figures.qids), len(rows))
        for name, low, high in zip(names, least.tolist(), most.tolist(), strict=True)
    }
    return {name: bound for name, bound in all_bounds.items() if bound.high - bound.low > _SLACK}


def note(measure: str, value: float, bound: Bounds | None, rule: str, unit: str) -> tuple[str, ...]:
    """Return a note on the values that a figure can take because of ties; no note if ``bound`` is ``None``."""
    if bound is None:
        return ()
    queries = counted(bound.queries, unit)
    digits = 4 if bound.high - bound.low >= 5e-5 else 8
    return (
        f"ties decide: {measure} is {value:.{digits}f} with equal scores in {rule}, "
        f"between {bound.low:.{digits}f} and {bound.high:.{digits}f} in other orders ({queries} with such ties)",
    )


def _pattern(judged: Mapping[str, int], ranking: Mapping[str, float]) -> _Pattern | None:
    """Return the pattern of a ranking; None if no documents of different relevance share a score."""
    import numpy as np

    fallen = -np.fromiter(ranking.values(), np.float64, len(ranking))
    grades = np.fromiter((max(judged.get(docid, 0), 0) for docid in ranking), np.int16, len(ranking))
    best = np.lexsort((-grades, fallen))
    if not ((fallen[best][1:] == fallen[best][:-1]) & (grades[best][1:] != grades[best][:-1])).any():
        return None
    worst = np.lexsort((grades, fallen))
    unranked = sorted(grade for docid, grade in judged.items() if grade > 0 and docid not in ranking)
    return _Pattern(grades[worst].tobytes(), grades[best].tobytes(), tuple(unranked))


def _values(ranked: Sequence[bytes], unranked: Sequence[tuple[int, ...]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the measures of rankings, given their relevances alone; shape (rankings, measures)."""
    import numpy as np

    qrels: Qrels = {}
    run: dict[str, dict[str, float]] = {}
    for at, (content, others) in enumerate(zip(ranked, unranked, strict=True)):
        grades = np.frombuffer(content, np.int16).tolist()
        run[str(at)] = {str(rank): -float(rank) for rank in range(len(grades))}
        relevant = {str(rank): grade for rank, grade in enumerate(grades) if grade}
        qrels[str(at)] = relevant | {f"-{number}": grade for number, grade in enumerate(others)}
    return evaluate(qrels, run, names).values
