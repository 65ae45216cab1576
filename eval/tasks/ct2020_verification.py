"""CheckThat! 2020 task 4: decide whether a claim is TRUE or FALSE (Arabic).

A submission gets a score only if it holds every claim exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.domain import Claim
from ...core.errors import QueryError
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.names import LABELLED_CLAIMS, TWEETS
from ...core.records.runs import column, write_text
from ...core.records.table import read_loose_rows
from ...core.records.table_shape import column_at
from ..files.answers import ScoreOptions, Scores
from ..files.report import CheckReport, check_ids, only, read_or_refuse
from ..files.tables import json_objects, rows, table_lines
from ..files.tweets import (
    claim_key,
    columns_of,
    delimiter_of,
    fields_of,
    header_names,
    no_labels,
)
from ..files.tweets import read_claims as read_tweets

SUMMARY = "CheckThat! 2020 task 4: is a claim TRUE or FALSE (Arabic)"
OFFICIAL = "macro_f1"
SUBMITS = "verdicts"
DEFAULT = False
LANGUAGES = ("ar",)
OPTIONS = ()
LABELS = ("TRUE", "FALSE")

_LAYOUT = ("topicID", "tweetID", "label", "runID")
_GOLD = _LAYOUT[:3]


class LabelledClaim(NamedTuple):
    """The label of a claim, and its line."""

    label: str
    line: int


def read_gold(paths: Sequence[Path]) -> dict[str, LabelledClaim]:
    """Return the label of each claim; without a header, the columns are those of ``_GOLD``."""
    path = only(paths, "--gold")
    faults = Strict(path)
    verdicts: dict[str, LabelledClaim] = {}
    for line, topic, tweet, label in _gold_rows(path, faults):
        _take(verdicts, line, claim_key(topic, tweet), label, faults)
    if not verdicts:
        faults.error(0, "contains no labels")
    return verdicts


def _gold_rows(path: Path, faults: Faults) -> Iterator[tuple[int, str, str, str]]:
    """Yield the line, the topic, the tweet and the label of each row of a table, or of each JSON
    line.
    """
    numbered = table_lines(path, faults)
    header = numbered[0][1] if numbered else ""
    if header.lstrip().startswith("{"):
        for line, row in json_objects(path, faults):
            values = fields_of(row)
            yield _cells(line, list(values), list(values.values()), faults)
        return
    delimiter = delimiter_of(header, numbered)
    names = header_names(header, delimiter)
    if column_at(names, TWEETS["verdict"]) is not None:
        for line, cells in read_loose_rows(numbered, delimiter, faults):
            yield _cells(line, names, cells, faults)
        return
    for line, (topic, tweet, label) in rows(path, faults, _GOLD):
        yield line, topic, tweet, label


def _cells(
    line: int, names: Sequence[str], cells: Sequence[str], faults: Faults
) -> tuple[int, str, str, str]:
    """Return the line, and the cells of the columns of ``_GOLD``."""
    found = []
    for wanted in _GOLD:
        at = column_at(names, LABELLED_CLAIMS[wanted])
        if at is None:
            faults.error(
                line, f"there is no {wanted}: the columns are {quote_value(' '.join(names))}"
            )
        elif names.count(names[at]) > 1:
            faults.error(line, f"the header has {names[at]} twice")
        cell = cells[at or 0].strip()
        if len(cell.split()) != 1:
            faults.error(line, f"{wanted} {quote_value(cell)} is empty or contains white space")
        found.append(cell)
    topic, tweet, label = found
    return line, topic, tweet, label


def read_claims(path: Path, *, labelled: bool) -> list[Claim]:
    """Return the claims of a file in their order; a label may be in lower case."""
    tweets = read_tweets(path)
    if labelled and not any(tweet.verdict for tweet in tweets):
        names = columns_of(path)
        if not set(TWEETS["verdict"]) & {name.strip('" ').lower() for name in names}:
            raise no_labels(path, names, TWEETS["verdict"])
    faults = Strict(path)
    claims = []
    for tweet in tweets:
        label = tweet.verdict.upper() if labelled else ""
        if labelled and label not in LABELS:
            faults.error(
                tweet.line, f"label {quote_value(tweet.verdict)} is neither TRUE nor FALSE"
            )
        qid = claim_key(tweet.topic, tweet.tweet_id)
        claims.append(
            Claim(qid, tweet.text, topic=tweet.topic, label=label, place=f"{path}:{tweet.line}")
        )
    return claims


def write_verdicts(
    verdicts: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]], path: Path, run_id: str
) -> None:
    column(run_id)
    lines = []
    for claim, label, _ in verdicts:
        if label not in LABELS:
            problem = f"label {quote_value(label)} is neither TRUE nor FALSE"
            raise QueryError(f"claim {quote_value(claim.qid)}: {problem}")
        tweet = claim.qid.removeprefix(claim_key(claim.topic, ""))
        lines.append(f"{column(claim.topic)}\t{column(tweet)}\t{label}\t{run_id}\n")
    write_text(path, lines)


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    verdicts = read_submission(path, report)
    if input_path is not None:
        lines = {qid: verdict.line for qid, verdict in verdicts.items()}
        expected = [claim.qid for claim in read_claims(input_path, labelled=False)]
        check_ids(report, lines, expected, name="claim", source=str(input_path))
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return macro-averaged F1 and its parts; a class that is never predicted has precision 0."""
    right = read_gold(gold)
    verdicts, report = read_or_refuse(only(runs, "--run"), read_submission)
    check_ids(
        report,
        {qid: verdict.line for qid, verdict in verdicts.items()},
        right,
        name="claim",
        source="the gold",
    )
    report.refuse()
    pairs = [(right[qid].label, verdicts[qid].label) for qid in right]
    parts: dict[str, float] = {}
    for label in LABELS:
        hits = sum(a == label == b for a, b in pairs)
        predicted, actual = sum(b == label for _, b in pairs), sum(a == label for a, _ in pairs)
        parts[f"precision_{label}"] = hits / predicted if predicted else 0.0
        parts[f"recall_{label}"] = hits / actual if actual else 0.0
        parts[f"f1_{label}"] = 2 * hits / (predicted + actual) if hits else 0.0
    values = {
        OFFICIAL: sum(parts[f"f1_{label}"] for label in LABELS) / len(LABELS),
        "accuracy": sum(a == b for a, b in pairs) / len(pairs),
    }
    per_query = {qid: {"accuracy": float(a == b)} for qid, (a, b) in zip(right, pairs, strict=True)}
    never = [label for label in LABELS if all(label not in pair for pair in pairs)]
    notes = tuple(
        f"{label} is neither in the gold nor in the submission: its F1 counts as 0"
        for label in never
    )
    return Scores(
        official=OFFICIAL, unit="claim", values=values | parts, per_query=per_query, notes=notes
    )


def read_submission(path: Path, faults: Faults) -> dict[str, LabelledClaim]:
    verdicts: dict[str, LabelledClaim] = {}
    for line, (topic, tweet, label, _) in rows(path, faults, _LAYOUT, one_run=True):
        _take(verdicts, line, claim_key(topic, tweet), label, faults)
    return verdicts


def _take(
    verdicts: dict[str, LabelledClaim], line: int, qid: str, label: str, faults: Faults
) -> None:
    """Add the label of a claim, or report why it is wrong."""
    if label not in LABELS:
        hint = "; a submission has no header" if line == 1 and label.lower() == "label" else ""
        hint = "; write it in capitals" if label.upper() in LABELS else hint
        faults.error(line, f"label {quote_value(label)} is neither TRUE nor FALSE{hint}")
    if qid in verdicts:
        faults.error(line, f"claim {quote_value(qid)} is already on line {verdicts[qid].line}")
    verdicts.setdefault(qid, LabelledClaim(label, line))
