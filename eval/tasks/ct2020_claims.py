"""CheckThat! 2020 task 2: rank the claims that fact-checkers have verified for a tweet (English).

A submission is a TREC run with tabs between its columns. The official checker refuses every rank
other than 1, and every score with an exponent. Order and figures follow trec_eval's rules. A tweet
without results counts 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...core.domain import Qrels
from ...core.errors import QueryError
from ...core.records.lines import Faults, quote_value
from ...core.records.qrels import read_qrels
from ...core.records.runs import LARGEST, ScoreTable, columns
from ..files.answers import (
    Answer,
    Note,
    RunScores,
    ScoreOptions,
    Scores,
    TaskDefaults,
    TaskQuery,
    ignore,
    scores_of,
)
from ..files.report import CheckReport, check_ids, only
from ..files.tables import finite, is_header, rows
from ..files.topics import read_queries as read_topics
from ..scoring import ranking

SUMMARY = "CheckThat! 2020 task 2: verified claims for a tweet (en)"
OFFICIAL = "AP@5"
SUBMITS = "documents"
DEFAULT = False
LANGUAGES = ("en",)
OPTIONS = ("measures",)
DEPTH = 1_000  # the maximum number of claims that a run may list for a tweet
DEFAULTS = TaskDefaults(100, most=DEPTH, profile="tweet", unit="tweet")
HEADER = ""

MEASURES = (
    *("AP@5", "AP@1", "AP@3", "AP@10", "AP@20", "AP", "P@1", "P@3", "P@5", "P@10", "P@20"),
    *("RR@1", "RR@3", "RR@5", "RR@10", "RR@20", "RR", "Rprec"),
)
_LAYOUT = ("tweet_id", "Q0", "vclaim_id", "rank", "score", "tag")
# The scores that the official checker accepts.
_SCORE = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def read_queries(path: Path) -> list[TaskQuery]:
    """Return the tweets of a file of queries; a TSV file has CSV quoting, and its first column may
    have no name.
    """
    return read_topics(path, quoting=True)


def read_gold(paths: Sequence[Path], note: Note = ignore) -> Qrels:
    """Return the judgements of a file; ``note`` receives a note on repetitions, which the official
    test file has.
    """
    return read_qrels(only(paths, "--gold"), note)


def read_scores(path: Path) -> RunScores:
    return scores_of(path, read_submission)


def lines(answers: Sequence[Answer], run_id: str) -> list[str]:
    """Return lines whose scores have the fewest digits that represent them exactly as float32,
    without an exponent.
    """
    texts = []
    for qid, documents in answers:
        docids, scores = (
            documents.docids[:DEPTH],
            np.asarray(documents.scores[:DEPTH], dtype=np.float32),
        )
        columns([qid, run_id, *docids])
        if not np.isfinite(scores).all():
            raise QueryError("a score is not a finite float32 number")
        plain = (np.format_float_positional(value, unique=True, trim="0") for value in scores)
        hits = zip(docids, plain, strict=True)
        texts.append(
            "".join(f"{qid}\tQ0\t{docid}\t1\t{value}\t{run_id}\n" for docid, value in hits)
        )
    return texts


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    table = read_submission(path, report, submitted=True)
    if input_path is not None:
        expected = [query.qid for query in read_queries(input_path)]
        check_ids(
            report,
            dict.fromkeys(table, 0),
            expected,
            name="tweet",
            source=str(input_path),
            missing="warning",
        )
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    measures = options.measures or MEASURES
    return ranking.score_files(
        gold, runs, read_gold, read_scores, measures, unit="tweet", official=OFFICIAL
    )


def read_submission(path: Path, faults: Faults, *, submitted: bool = False) -> ScoreTable:
    """Return the scores of a run; with ``submitted``, also report everything that the official
    checker would refuse.
    """
    table: ScoreTable = {}
    lines_of: dict[tuple[str, str], int] = {}
    refused = "is refused by the official checker"
    for line, (tweet, q0, claim, rank, score_, _) in rows(path, faults, _LAYOUT, one_run=submitted):
        value = finite(score_)
        if value is None or abs(value) > LARGEST:
            header = "; a submission has no header" if is_header(line, score_) else ""
            faults.error(
                line, f"score {quote_value(score_)} is not a finite float32 number{header}"
            )
        before = lines_of.setdefault((tweet, claim), line)
        if before != line:
            faults.error(
                line,
                f"claim {quote_value(claim)} of tweet {quote_value(tweet)} is already on line "
                f"{before}",
            )
            continue
        scores = table.setdefault(tweet, {})
        scores[claim] = value if value is not None and abs(value) <= LARGEST else 0.0
        if len(scores) == DEPTH + 1:
            faults.error(
                line, f"is result {DEPTH + 1:,} of its tweet; at most {DEPTH:,} are allowed"
            )
        if submitted and q0 != "Q0":
            faults.error(line, f"{quote_value(q0)} {refused}: the second column must be Q0")
        if submitted and rank != "1":
            faults.error(line, f"rank {quote_value(rank)} {refused}: it must be 1 on every line")
        if submitted and value is not None and not _SCORE.fullmatch(score_):
            faults.error(
                line, f"score {quote_value(score_)} {refused}: write it without an exponent"
            )
    return table
