"""CheckThat! 2021 task 1A: rank tweets by check-worthiness (ar, bg, en, es, tr).

The official scorer pools all topics of a file. If the input repeats an id, a submission may repeat
it too. Every row then counts, with the last gold label of its id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.domain import Statement
from ...core.errors import QueryError, SourceError
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.names import TWEETS
from ...core.records.runs import column, write_text
from ..files.answers import ScoreOptions, Scores
from ..files.report import CheckReport, check_ids, only, read_or_refuse
from ..files.tables import is_header, rows
from ..files.tweets import (
    Tweet,
    columns_of,
    has_id,
    header_names,
    no_labels,
    read_label,
    read_tweets,
    statement_of,
    stream,
    tweet_of,
    with_labels,
)  # fmt: skip
from ..scoring.checkworthiness import (
    LabelledScore,
    digits,
    figures,
    find_changed,
    read_score,
    tie_note,
    ties,
)

SUMMARY = "CheckThat! 2021 task 1A: check-worthiness of tweets (ar, bg, en, es, tr)"
OFFICIAL = "AP"
SUBMITS = "statements"
DEFAULT = True
LANGUAGES = ("ar", "bg", "en", "es", "tr")
OPTIONS = ()

_LAYOUT = ("topic_id", "tweet_id", "score", "run_id")
_TWEET = re.compile(r"[1-9][0-9]{16,22}")
_REFUSED = "is refused by the official checker: give 17 to 23 digits"
_REPEATED = "the last label of an id wins and every row counts"


class ScoredTweet(NamedTuple):
    """One row of a submission."""

    line: int
    topic: str
    tweet_id: str
    score: float


def read_gold(paths: Sequence[Path]) -> tuple[list[Tweet], dict[str, int]]:
    """Return the tweets of a file, and the label of each id; if an id is repeated, its last label
    counts.
    """
    path = only(paths, "--gold")
    tweets = read_tweets(path)
    if all(not tweet.label for tweet in tweets):
        raise SourceError(
            "has no labels: it needs a column check_worthiness or claim_worthiness", place=path
        )
    faults = Strict(path)
    return tweets, {tweet.tweet_id: read_label(tweet.line, tweet.label, faults) for tweet in tweets}


def read_statements(path: Path, *, labelled: bool) -> list[Statement]:
    tweets = read_tweets(path)
    statements = [statement_of(path, tweet) for tweet in tweets]
    if not labelled:
        return statements
    if not any(tweet.label for tweet in tweets):
        raise no_labels(path, columns_of(path), TWEETS["label"])
    return with_labels(path, statements, [(tweet.line, tweet.label) for tweet in tweets])


def stream_statements(lines: Iterable[bytes], source: str) -> Iterator[Statement]:
    path = Path(source)
    header: list[str] = []
    quoted = False

    def take(line: int, text: str) -> Statement | None:
        nonlocal quoted
        place = f"{path}:{line}"
        if not header:
            header.extend(header_names(text))
            quoted = all(len(name) > 1 and name[0] == name[-1] == '"' for name in text.split("\t"))
            if not has_id(header):
                raise SourceError(
                    f"the header has no tweet_id: it begins with {quote_value(text)}", place=place
                )
            return None
        fields = [
            cell.removeprefix('"').removesuffix('"').replace('""', '"') if quoted else cell
            for cell in text.split("\t")
        ]
        if len(fields) != len(header):
            raise SourceError(
                f"has {len(fields)} columns, but the header has {len(header)}", place=place
            )
        return statement_of(path, tweet_of(path, line, dict(zip(header, fields, strict=True))))

    return stream(lines, source, take)


def write(records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
    """Write topic (``-`` if unknown), tweet and score in the form that the official checker
    accepts.
    """
    column(run_id)
    lines = []
    for topic, tweet_id, score_ in records:
        if not _TWEET.fullmatch(tweet_id):
            raise QueryError(f"tweet_id {quote_value(tweet_id)} {_REFUSED}")
        lines.append(f"{column(topic or '-')}\t{tweet_id}\t{digits(score_)}\t{run_id}\n")
    write_text(path, lines)


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    submitted = read_submission(path, report)
    if input_path is not None:
        _check_tweets(report, submitted, read_tweets(input_path), str(input_path))
    else:
        first: dict[str, int] = {}
        for row in submitted:
            if (before := first.setdefault(row.tweet_id, row.line)) != row.line:
                repeated = f"tweet {row.tweet_id} is already on line {before}"
                report.warning(row.line, f"{repeated}; check that the input repeats it too")
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    tweets, labels = read_gold(gold)
    submitted, report = read_or_refuse(only(runs, "--run"), read_submission)
    _check_tweets(report, submitted, tweets, "the gold")
    report.refuse()
    items = [LabelledScore(row.tweet_id, row.score, labels[row.tweet_id]) for row in submitted]
    positives = sum(labels.values())
    values = figures(items, positives)
    tied = ties(items, positives)
    counts = [
        number for number in Counter(tweet.tweet_id for tweet in tweets).values() if number > 1
    ]
    repeats = (
        f"the gold repeats ids ({len(counts)} on {sum(counts)} rows): as in the official scorer"
    )
    return Scores(
        official=OFFICIAL,
        unit="file",
        values=values,
        per_query={report.path.stem: values},
        ties=find_changed(tied.worst, tied.best) if tied else {},
        notes=(
            *report.notes,
            *[f"{repeats}, {_REPEATED}"] * bool(counts),
            *tie_note(values["AP"], tied),
        ),
    )


def read_submission(path: Path, faults: Faults) -> list[ScoredTweet]:
    submitted = []
    for line, (topic, tweet_id, score_, _) in rows(path, faults, _LAYOUT, one_run=True):
        if not _TWEET.fullmatch(tweet_id) and not is_header(line, score_):
            faults.error(line, f"tweet_id {quote_value(tweet_id)} {_REFUSED}")
        value = read_score(line, score_, faults)
        if value is not None:
            submitted.append(ScoredTweet(line, topic, tweet_id, value))
    return submitted


def _check_tweets(
    report: CheckReport, submitted: Sequence[ScoredTweet], tweets: Sequence[Tweet], source: str
) -> None:
    allowed = Counter(tweet.tweet_id for tweet in tweets)
    lines: dict[str, list[int]] = {}
    for row in submitted:
        lines.setdefault(row.tweet_id, []).append(row.line)
    check_ids(
        report,
        {key: there[0] for key, there in lines.items()},
        list(allowed),
        name="tweet",
        source=source,
    )
    for tweet_id, number in allowed.items():
        there = lines.get(tweet_id, [])
        for line in there[number:]:
            times = "once" if number == 1 else f"{number} times"
            report.error(
                line, f"tweet {tweet_id} is already on line {there[0]}, but {source} has it {times}"
            )
        if 0 < len(there) < number:
            report.warning(
                0, f"tweet {tweet_id} is {number} times in {source}, but {len(there)} times here"
            )
    topics = {(tweet.topic or "-", tweet.tweet_id) for tweet in tweets}
    for row in submitted:
        if row.tweet_id in allowed and (row.topic, row.tweet_id) not in topics:
            where = f"tweet {row.tweet_id} in {source}"
            report.warning(row.line, f"topic {quote_value(row.topic)} is not the topic of {where}")
