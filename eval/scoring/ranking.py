"""Scoring of a ranking by trec_eval's rules, and bounds on its figures over every order of its
equal scores.

A measure depends only on the relevance at each rank, so the bounds are computed once for all
queries of one pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Qrels
from ...core.errors import CheckFailed
from ...core.records.lines import quote_value
from ...core.terminal import format_count
from ..files.answers import Note, RunScores, Scores
from ..files.report import near_miss, only
from .measures import Figures, evaluate, follows_relevance
from .tables import figure

Table = Mapping[str, Mapping[str, float]]  # the score of each document of each query
_SLACK = 1e-12  # smaller differences of a mean are rounding errors
# The number of rankings evaluated together; it bounds the memory that long rankings take.
_AT_ONCE = 200


def score_files(
    gold: Sequence[Path],
    runs: Sequence[Path],
    read_gold: Callable[[Sequence[Path], Note], Qrels],
    read_scores: Callable[[Path], RunScores],
    measures: Sequence[str],
    *,
    unit: str,
    official: str,
    ignore_identical_ids: bool = False,
) -> Scores:
    """Score the run in a file; with ``ignore_identical_ids``, leave out a document that has the
    same id as its query.

    A judged query without results counts 0. Raises CheckFailed if the run has errors, or no query
    in common with the judgements.
    """
    path = only(runs, "--run")
    notes: list[str] = []
    qrels = read_gold(gold, notes.append)
    table, on_run = read_scores(path)
    notes += [*on_run, *compare_queries(path, qrels, table, unit)]
    if ignore_identical_ids:
        own = [qid for qid, docs in table.items() if qid in docs]
        table = table | {
            qid: {docid: score for docid, score in table[qid].items() if docid != qid}
            for qid in own
        }
    notes += identical_notes(unit, own_first(table, qrels))
    figures = evaluate(qrels, table, measures)
    values, bounds = figures.means(), tie_bounds(qrels, table, figures)
    if empty := sum(not table.get(qid) for qid in qrels):
        effect = "has no results and counts 0" if empty == 1 else "have no results and count 0"
        notes.append(f"{empty:,} of {format_count(len(qrels), f'judged {unit}')} {effect}")
    first = figures.names[0]
    return Scores(
        official=official,
        unit=unit,
        values=values,
        per_query=figures.per_query(),
        ties={name: (bound.low, bound.high) for name, bound in bounds.items()},
        notes=(*notes, *tie_note(first, values[first], bounds.get(first), unit)),
    )


def own_first(table: Table, qrels: Qrels) -> list[str]:
    """Return the queries whose first document has the query's id and has no judgement."""
    own = [qid for qid, docs in table.items() if qid in docs and qid not in qrels.get(qid, {})]
    return [
        qid for qid in own if max(table[qid], key=lambda docid: (table[qid][docid], docid)) == qid
    ]


def identical_notes(unit: str, qids: Sequence[str]) -> tuple[str, ...]:
    """Return a note on queries whose first document has the query's id, if there are any."""
    if not qids:
        return ()
    count = f"{format_count(len(qids), unit)} find{'s' if len(qids) == 1 else ''}"
    found = f"{count} the document of the same id first, such as {quote_value(qids[0])}"
    return (f"{found}; use --ignore-identical-ids to leave it out, as BEIR does",)


def compare_queries(path: object, qrels: Qrels, run: Table, unit: str) -> tuple[str, ...]:
    """Return notes on queries of a run that have no judgements, and on a run without any judged
    docid.

    Raises CheckFailed, with an id of each side, if the run and the judgements have no query in
    common.
    """
    strangers = common(path, qrels, run, unit)
    hint = near_miss(strangers, qrels) if strangers else ""
    message = (
        f"left out because not judged: {len(strangers):,} of the run's {len(run):,}, such as "
        f"{unit} "
    )
    left_out = (f"{message}{quote_value(strangers[0])}{hint}",) if strangers else ()
    return (*left_out, *note_unjudged(qrels, run))


def common(place: object, qrels: Qrels, run: Table, unit: str) -> list[str]:
    """Return the queries of a run that have no judgements; ``place`` identifies the run in errors.

    Raises CheckFailed, with an id of each side, if the run and the judgements have no query in
    common.
    """
    strangers = [qid for qid in run if qid not in qrels]
    if len(strangers) == len(run):
        has = (
            f"the run {quote_value(strangers[0])}{near_miss(strangers, qrels)}"
            if strangers
            else "the run is empty"
        )
        examples = f"the judgements have {quote_value(next(iter(qrels)))}, {has}"
        raise CheckFailed(f"no {unit} in common with the judgements: {examples}", place=place)
    return strangers


def note_unjudged(
    qrels: Mapping[str, Iterable[str]], run: Mapping[str, Iterable[str]], name: str = "docid"
) -> tuple[str, ...]:
    """Return a note, with an id of either side, if no document of a run has a judgement."""
    judged = dict.fromkeys(docid for docids in qrels.values() for docid in docids)
    docids = [docid for docs in run.values() for docid in docs]
    if not docids or any(docid in judged for docid in docids):
        return ()
    examples = (
        f"the judgements have {quote_value(next(iter(judged)))}, the run {quote_value(docids[0])}"
    )
    return (f"no {name} of the run is in the judgements: {examples}{near_miss(docids, judged)}",)


class Bounds(NamedTuple):
    """The least and the greatest mean over all orders of equal scores, and the number of queries
    with such ties.
    """

    low: float
    high: float
    queries: int


_Pattern = tuple[bytes, bytes, tuple[int, ...]]
"""The relevance at each rank (int16 as bytes) in the worst and best order, and the grades of
unranked documents.
"""


def tie_bounds(qrels: Qrels, run: Table, figures: Figures) -> dict[str, Bounds]:
    """Return the bounds over all orders of equal scores, for each measure of ``figures`` that ties
    change.

    A measure has bounds only if it never falls when a more relevant document gets a better rank.
    """
    names = [name for name in figures.names if follows_relevance(name)]
    found = [_pattern(qrels[qid], run.get(qid, {})) for qid in figures.qids]
    rows = [row for row, pattern in enumerate(found) if pattern is not None]
    if not rows or not names:
        return {}
    patterns = Counter(pattern for pattern in found if pattern is not None)
    different = list(patterns)
    sums = np.zeros((2, len(names)))
    for start in range(0, len(different), _AT_ONCE):
        chunk = different[start : start + _AT_ONCE]
        counts = np.array([patterns[pattern] for pattern in chunk], dtype=np.float64)
        worst, best, unranked = zip(*chunk, strict=True)
        sums += [counts @ _values(ranked, unranked, names) for ranked in (worst, best)]
    columns = [figures.names.index(name) for name in names]
    total = figures.values[:, columns].sum(axis=0)
    rest = total - figures.values[rows][:, columns].sum(axis=0)
    least, most = np.minimum(total, rest + sums[0]), np.maximum(total, rest + sums[1])
    all_bounds = {
        name: Bounds(max(0.0, low) / len(figures.qids), high / len(figures.qids), len(rows))
        for name, low, high in zip(names, least.tolist(), most.tolist(), strict=True)
    }
    return {name: bound for name, bound in all_bounds.items() if bound.high - bound.low > _SLACK}


def tie_note(measure: str, value: float, bound: Bounds | None, unit: str) -> tuple[str, ...]:
    """Return a note on the values that a figure can take because of ties; no note if ``bound`` is
    ``None``, or its values do not differ in the shown digits.
    """
    if bound is None:
        return ()
    shown, low, high = map(figure, (value, bound.low, bound.high))
    if low == high:
        return ()
    return (
        f"ties decide: {measure} is {shown} with equal scores in trec_eval's order (docid "
        f"descending), between {low} and {high} in other orders "
        f"({format_count(bound.queries, unit)} with such ties)",
    )


def _pattern(judged: Mapping[str, int], ranking: Mapping[str, float]) -> _Pattern | None:
    """Return the pattern of a ranking; None if no documents of different relevance share a
    score.
    """
    fallen = -np.fromiter(ranking.values(), np.float64, len(ranking))
    grades = np.fromiter(
        (max(judged.get(docid, 0), 0) for docid in ranking), np.int16, len(ranking)
    )
    best = np.lexsort((-grades, fallen))
    if not (
        (fallen[best][1:] == fallen[best][:-1]) & (grades[best][1:] != grades[best][:-1])
    ).any():
        return None
    worst = np.lexsort((grades, fallen))
    unranked = sorted(
        grade for docid, grade in judged.items() if grade > 0 and docid not in ranking
    )
    return grades[worst].tobytes(), grades[best].tobytes(), tuple(unranked)


def _values(
    ranked: Sequence[bytes], unranked: Sequence[tuple[int, ...]], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the measures of rankings, given their relevances alone; shape (rankings, measures)."""
    qrels: Qrels = {}
    run: dict[str, dict[str, float]] = {}
    for at, (content, others) in enumerate(zip(ranked, unranked, strict=True)):
        grades = np.frombuffer(content, np.int16).tolist()
        run[str(at)] = {str(rank): -float(rank) for rank in range(len(grades))}
        relevant = {str(rank): grade for rank, grade in enumerate(grades) if grade}
        qrels[str(at)] = relevant | {f"-{number}": grade for number, grade in enumerate(others)}
    return evaluate(qrels, run, names).values
