"""CheckThat! 2025 task 4b: find the paper that a tweet speaks of.

The official figure is MRR@5 over the rows of the gold: what follows the fifth prediction is ignored, a duplicate keeps
its slot, a missing row counts 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...retrieval.domain import Qrels, Run
from ...retrieval.errors import SourceError
from ...retrieval.lines import Faults, Strict, shown
from ...retrieval.table_shape import shape_of
from ...retrieval.terminal import counted
from ...retrieval.trec import write_text
from ..formats.answers import Answer, RunScores, answers_of
from ..formats.coverage import cover
from ..formats.gold import Note, unnoted
from ..formats.habit import Habit
from ..formats.paths import only
from ..formats.predictions import Predictions, docids_in, prediction_line, slot_scores, slots
from ..formats.queries import TaskQuery
from ..formats.quoted_table import rows_of
from ..formats.report import CheckReport
from ..formats.scores import ScoreOptions, Scores
from ..scoring import ranking
from ..scoring.measures import evaluate, mean

SUMMARY = "CheckThat! 2025 task 4b: the paper that a tweet speaks of"
OFFICIAL = "RR@5"
SUBMITS = "documents"
DEFAULT = False
LANGUAGES = ("en",)
OPTIONS = ("measures",)
DEPTH = 5
"""Predictions that count."""

HABIT = Habit(DEPTH, most=DEPTH, profile="tweet", unit="tweet")
CUTOFFS = (5, 1, 10)

HEADER = "post_id\tpreds\n"

_UID = re.compile(r"[0-9a-z]{8}")


def read_queries(path: Path) -> list[TaskQuery]:
    """Return the tweets of a table ``post_id tweet_text [cord_uid]`` with CSV quoting."""
    return [TaskQuery(row["post_id"], row["tweet_text"]) for _, row in _posts(path, ("post_id", "tweet_text"))]


def read_gold(paths: Sequence[Path], note: Note = unnoted) -> Qrels:
    """Return the paper of each tweet as judgements; ids are unique only inside a split, so one file is read."""
    path = only(paths, "--gold")
    return {row["post_id"]: {row["cord_uid"]: 1} for _, row in _posts(path, ("post_id", "cord_uid"))}


def read_submission(path: Path) -> Run:
    """Return a submission as a run; scores only say the order, and a paper named again keeps its slot as a copy."""
    return {post: slots(row.docids) for post, row in _read(path, Strict(path)).items()}


def read_scores(path: Path) -> RunScores:
    """Return a submission as a run of scores that only say the order."""
    report = CheckReport(path)
    predictions = _read(path, report)
    report.refuse()
    return RunScores(slot_scores(predictions))


def write(records: Run, path: Path, run_id: str) -> None:
    """Write the best five papers of each tweet; the format has no place for a run id.

    Raises QueryError if an id cannot stand in the file.
    """
    write_text(path, [HEADER, *lines(answers_of(records), run_id)])


def lines(answers: Sequence[Answer], run_id: str) -> list[str]:
    """Return the lines of a submission: the best five papers of each tweet.

    Raises QueryError if an id cannot stand in the file.
    """
    return [prediction_line(qid, documents.docids[:DEPTH]) for qid, documents in answers]


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    """Report every fault of a submission; a missing tweet is a warning, an unknown one an error."""
    report = CheckReport(path)
    predictions = _read(path, report)
    if input_path is not None:
        _cover(report, predictions, [query.qid for query in read_queries(input_path)], str(input_path))
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return MRR@5, then MRR@1 and, over what is there, MRR@10; with ``measures`` those instead."""
    right = read_gold(gold)
    report = CheckReport(only(runs, "--run"))
    predictions = _read(report.path, report)
    report.refuse()
    _cover(report, predictions, list(right), "the gold")
    report.refuse()
    per_query: Mapping[str, Mapping[str, float]] = {
        post: {f"RR@{k}": _reciprocal(predictions.get(post), next(iter(papers)), k) for k in CUTOFFS}
        for post, papers in right.items()
    }
    values = {f"RR@{k}": mean([row[f"RR@{k}"] for row in per_query.values()]) for k in CUTOFFS}
    if options.measures:
        figures = evaluate(right, slot_scores(predictions), options.measures)
        values, per_query = figures.means(), figures.per_query()
    missing = sum(post not in predictions for post in right)
    notes = [f"{missing:,} of {len(right):,} tweets are missing and count 0"] * bool(missing)
    longest = max(len(row.docids) for row in predictions.values())
    if longest < max(CUTOFFS) and not options.measures:
        notes.append(f"no tweet has more than {counted(longest, 'prediction')}: RR@10 goes no deeper")
    notes += ranking.unjudged(right, {post: row.docids for post, row in predictions.items() if row.docids}, "cord_uid")
    return Scores(official=OFFICIAL, unit="tweet", values=values, per_query=per_query, notes=tuple(notes))


def _reciprocal(row: Predictions | None, paper: str, k: int) -> float:
    best = row.docids[:k] if row else []
    return 1 / (best.index(paper) + 1) if paper in best else 0.0


def _read(path: Path, faults: Faults) -> dict[str, Predictions]:
    predictions: dict[str, Predictions] = {}
    for line, row in rows_of(path, faults, ("post_id", "preds")):
        post, preds = row["post_id"], row["preds"].strip()
        if not post:
            faults.error(line, "post_id is empty")
        elif post in predictions:
            faults.error(line, f"tweet {shown(post)} is on line {predictions[post].line} already")
        elif (papers := docids_in(preds)) is None:
            faults.error(line, f"preds {shown(preds)} is not a list like ['a', 'b']")
        else:
            predictions[post] = Predictions(line, papers)
            _judge(predictions[post], faults)
    if not predictions:
        faults.error(0, "holds no predictions")
    return predictions


def _judge(row: Predictions, faults: Faults) -> None:
    papers = row.docids
    if len(papers) > DEPTH:
        faults.warning(row.line, f"has {len(papers)} predictions; what follows the fifth is ignored")
    if not papers:
        faults.warning(row.line, "has no prediction")
    repeated = next((paper for at, paper in enumerate(papers) if paper in papers[:at]), None)
    if repeated is not None:
        faults.warning(row.line, f"names {shown(repeated)} twice; it keeps both slots")
    odd = next((paper for paper in papers if not _UID.fullmatch(paper)), None)
    if odd is not None:
        faults.warning(row.line, f"{shown(odd)} does not look like a cord_uid (eight digits and small letters)")


def _cover(report: CheckReport, predictions: dict[str, Predictions], expected: list[str], source: str) -> None:
    lines = {post: row.line for post, row in predictions.items()}
    cover(report, lines, expected, name="tweet", source=source, missing="warning")


def _posts(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Read rows of an input or a gold file; every needed column filled, no tweet twice."""
    faults = Strict(path)
    first: dict[str, int] = {}
    posts = []
    delimiter = shape_of(path).delimiter or "\t"
    for line, row in rows_of(path, faults, needed, delimiter):
        empty = next((name for name in needed if not row[name].strip()), None)
        if empty:
            faults.error(line, f"column {empty} is empty")
        if row["post_id"] in first:
            faults.error(line, f"tweet {shown(row['post_id'])} is on line {first[row['post_id']]} already")
        first[row["post_id"]] = line
        posts.append((line, {name: row[name].strip() for name in needed}))
    if not posts:
        raise SourceError("holds no tweets", place=path)
    return posts
