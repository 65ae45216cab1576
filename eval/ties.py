"""Equal scores: between which values a figure could lie if they were ordered otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from eval.measures import Figures, evaluate
from eval.report import counted
from retrieval.domain import Qrels

Table = Mapping[str, Mapping[str, float]]


class Bounds(NamedTuple):
    """The least and the greatest mean over all orders of equal scores, and how many queries have such ties."""

    low: float
    high: float
    queries: int


def bounds(qrels: Qrels, run: Table, figures: Figures) -> Bounds | None:
    """Bound the first measure of ``figures`` over the orders of equal scores; ``None`` where no tie can change it.

    Scores are equal if they are as float32. Only ties between documents of different relevance count.
    """
    measure = figures.names[0]
    tied = {qid: judged for qid, judged in qrels.items() if qid in run and _mixed(run[qid], judged)}
    if not tied:
        return None
    values = dict(zip(figures.qids, figures.values[:, 0].tolist(), strict=True))
    now = math.fsum(values[qid] for qid in tied)
    low = _total(tied, {qid: _reordered(run[qid], judged, -1) for qid, judged in tied.items()}, measure)
    high = _total(tied, {qid: _reordered(run[qid], judged, 1) for qid, judged in tied.items()}, measure)
    if low == high:
        return None
    total = math.fsum(values.values())
    return Bounds((total + low - now) / len(qrels), (total + high - now) / len(qrels), len(tied))


def note(measure: str, value: float, found: Bounds | None, rule: str, unit: str) -> tuple[str, ...]:
    """Say by how much ties change a figure, as the notes of a score; nothing where they do not."""
    if found is None:
        return ()
    queries = counted(found.queries, unit)
    digits = 4 if found.high - found.low >= 5e-5 else 8
    return (
        f"ties decide: {measure} is {value:.{digits}f} with equal scores in {rule}, "
        f"between {found.low:.{digits}f} and {found.high:.{digits}f} in other orders ({queries} with such ties)",
    )


def _total(qrels: Qrels, run: Table, measure: str) -> float:
    return math.fsum(evaluate(qrels, run, [measure]).values[:, 0].tolist())


def _mixed(docs: Mapping[str, float], judged: Mapping[str, int]) -> bool:
    """Tell whether documents of different relevance share a score."""
    import numpy as np

    scores = np.fromiter(docs.values(), np.float32, len(docs))
    ordered = np.sort(scores)
    equal = ordered[1:][ordered[1:] == ordered[:-1]]
    if not equal.size:
        return False
    shared = set(equal.tolist())
    grade: dict[float, int] = {}
    for docid, score in zip(docs, scores.tolist(), strict=True):
        if score in shared:
            relevance = max(judged.get(docid, 0), 0)
            if grade.setdefault(score, relevance) != relevance:
                return True
    return False


def _reordered(docs: Mapping[str, float], judged: Mapping[str, int], sign: int) -> dict[str, float]:
    """Break ties by relevance: the more relevant first if ``sign`` is 1, last if it is -1."""
    import numpy as np

    scores = np.fromiter(docs.values(), np.float32, len(docs)).tolist()
    grades = [sign * max(judged.get(docid, 0), 0) for docid in docs]
    order = sorted(zip(scores, grades, docs, strict=True))
    return {docid: float(rank) for rank, (_, _, docid) in enumerate(order)}
