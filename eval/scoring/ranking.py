"""Scoring of a ranking by trec_eval's rules, shared by the tasks whose submissions hold documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...retrieval.domain import Qrels
from ...retrieval.errors import CheckFailed
from ...retrieval.records.lines import shown
from ...retrieval.terminal import counted
from ..files.answers import Note, RunScores, Scores
from ..files.report import near_miss, only
from . import ties
from .measures import evaluate

RULE = "trec_eval's order (docid descending)"


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
    """Score the run of a file. The notes come from both readers, :func:`compared` and :func:`score`.

    With ``ignore_identical_ids``, leave out a document that has the same id as its query.

    Raises CheckFailed if the run has errors, or no query in common with the judgements.
    """
    path = only(runs, "--run")
    notes: list[str] = []
    qrels = read_gold(gold, notes.append)
    table, on_run = read_scores(path)
    notes += [*on_run, *compared(path, qrels, table, unit)]
    if ignore_identical_ids:
        own = [qid for qid, docs in table.items() if qid in docs]
        table = table | {qid: {docid: score for docid, score in table[qid].items() if docid != qid} for qid in own}
    notes += identical_notes(unit, own_first(table, qrels))
    return score(qrels, table, measures, unit=unit, official=official, notes=notes)


def own_first(table: Mapping[str, Mapping[str, float]], qrels: Qrels) -> list[str]:
    """Return the queries whose first document has the query's id and has no judgement."""
    own = [qid for qid, docs in table.items() if qid in docs and qid not in qrels.get(qid, {})]
    return [qid for qid in own if max(table[qid], key=lambda docid: (table[qid][docid], docid)) == qid]


def identical_notes(unit: str, qids: Sequence[str]) -> tuple[str, ...]:
    """Return a note on queries whose first document has the query's id, if there are any."""
    if not qids:
        return ()
    count = f"1 {unit} finds" if len(qids) == 1 else f"{len(qids):,} {unit if unit != 'query' else 'queries'} find"
    found = f"{count} the document of the same id first, such as {shown(qids[0])}"
    return (f"{found}; use --ignore-identical-ids to leave it out, as BEIR does",)


def score(
    qrels: Qrels,
    run: Mapping[str, Mapping[str, float]],
    measures: Sequence[str],
    *,
    unit: str,
    official: str = "",
    notes: Sequence[str] = (),
) -> Scores:
    """Score a run; a judged query without results counts 0. The default of ``official`` is the first measure."""
    figures = evaluate(qrels, run, measures)
    values = figures.means()
    first = figures.names[0]
    empty = sum(not run.get(qid) for qid in qrels)
    effect = "has no results and counts 0" if empty == 1 else "have no results and count 0"
    silent = (f"{empty:,} of {counted(len(qrels), f'judged {unit}')} {effect}",) if empty else ()
    bounds = ties.bounds(qrels, run, figures)
    decided = ties.note(first, values[first], bounds.get(first), RULE, unit)
    return Scores(
        official=official or first,
        unit=unit,
        values=values,
        per_query=figures.per_query(),
        ties={name: (bound.low, bound.high) for name, bound in bounds.items()},
        notes=(*notes, *silent, *decided),
    )


def compared(path: Path, qrels: Qrels, run: Mapping[str, Mapping[str, float]], unit: str) -> tuple[str, ...]:
    """Return notes on queries of a run that have no judgements, and on a run without any judged docid.

    Raises CheckFailed, with an id of each side, if the run and the judgements have no query in common.
    """
    strangers = common(path, qrels, run, unit)
    hint = near_miss(strangers, qrels) if strangers else ""
    message = f"not judged and left out: {len(strangers):,} of the run's {len(run):,}, such as {unit} "
    left_out = (f"{message}{shown(strangers[0])}{hint}",) if strangers else ()
    return (*left_out, *unjudged(qrels, run))


def common(place: object, qrels: Qrels, run: Mapping[str, Mapping[str, float]], unit: str) -> list[str]:
    """Return the queries of a run that have no judgements; ``place`` identifies the run in errors.

    Raises CheckFailed, with an id of each side, if the run and the judgements have no query in common.
    """
    strangers = [qid for qid in run if qid not in qrels]
    if len(strangers) == len(run):
        run_has = f"the run {shown(strangers[0])}{near_miss(strangers, qrels)}" if strangers else "the run is empty"
        examples = f"the judgements have {shown(next(iter(qrels)))}, {run_has}"
        raise CheckFailed(f"no {unit} in common with the judgements: {examples}", place=place)
    return strangers


def unjudged(
    qrels: Mapping[str, Iterable[str]], run: Mapping[str, Iterable[str]], name: str = "docid"
) -> tuple[str, ...]:
    """Return a note, with an id of either side, if no document of a run has a judgement."""
    judged = dict.fromkeys(docid for docids in qrels.values() for docid in docids)
    docids = [docid for docs in run.values() for docid in docs]
    if not docids or any(docid in judged for docid in docids):
        return ()
    examples = f"the judgements have {shown(next(iter(judged)))}, the run {shown(docids[0])}"
    return (f"no {name} of the run is in the judgements: {examples}{near_miss(docids, judged)}",)
