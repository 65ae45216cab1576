"""Any retrieval task in TREC's files: runs, judgements (also BEIR's) and topics.

Judged queries that a run lacks count 0, as with trec_eval's option ``-c``. A score treats any run
as trec_eval does. A check is stricter: ranks with gaps, rising scores and a second run id are
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core.domain import Qrels
from ...core.errors import SourceError
from ...core.records.lines import quote_value
from ...core.records.qrels import read_qrels
from ...core.records.runs import read_scores as read_run_scores
from ...core.records.runs import runs_lines
from ..files.answers import Note, RunScores, ScoreOptions, Scores, TaskDefaults, ignore, scores_of
from ..files.report import CheckReport, check_ids
from ..files.topics import read_queries as read_topics
from ..scoring import ranking
from ..scoring.measures import RANKING as MEASURES

SUMMARY = "any retrieval task in TREC's formats; also BEIR's queries and judgements, and TSV topics"
OFFICIAL = "AP"
SUBMITS = "documents"
DEFAULT = True
LANGUAGES = ()
OPTIONS = ("measures", "ignore_identical_ids")
DEFAULTS = TaskDefaults(1000)
HEADER = ""
COMMENTS = True

read_queries, read_submission, lines = read_topics, read_run_scores, runs_lines


def read_gold(paths: Sequence[Path], note: Note = ignore) -> Qrels:
    """Return the judgements of TREC or BEIR files; the judgements of several files are merged."""
    if len(paths) == 1:
        return read_qrels(paths[0], note)
    qrels: Qrels = {}
    for path in paths:
        for qid, judged in read_qrels(path, note).items():
            known = qrels.setdefault(qid, {})
            for docid, grade in judged.items():
                if known.setdefault(docid, grade) != grade:
                    pair = f"docid {quote_value(docid)} of query {quote_value(qid)}"
                    others = "in a file before it; keep one judgement"
                    raise SourceError(
                        f"{pair} has relevance {grade} here and {known[docid]} {others}", place=path
                    )
    return qrels


def read_scores(path: Path) -> RunScores:
    return scores_of(path, read_run_scores)


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    table = read_run_scores(path, report, submitted=True)
    if input_path is not None:
        expected = [query.qid for query in read_queries(input_path)]
        check_ids(
            report,
            dict.fromkeys(table, 0),
            expected,
            name="query",
            source=str(input_path),
            missing="warning",
        )
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    measures, identical = (
        options.measures or MEASURES,
        {"ignore_identical_ids": options.ignore_identical_ids},
    )
    return ranking.score_files(
        gold, runs, read_gold, read_scores, measures, unit="query", official=OFFICIAL, **identical
    )
