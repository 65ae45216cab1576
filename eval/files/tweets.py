"""Tweets, claims and statements: tables with a header, whose names vary, or JSON lines of tweet
objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.domain import Statement
from ...core.errors import SourceError
from ...core.files import rereadable
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.names import TWEETS
from ...core.records.runs import encodable
from ...core.records.table import header_cells, read_loose_rows
from ...core.records.table_shape import column_name, wrapper_advice
from ...core.records.tweet_objects import tweets_in, whole_file
from .answers import TaskQuery
from .tables import (
    Numbered,
    cell_of,
    json_objects,
    shape_of_lines,
    table_lines,
    text_lines,
)


class Tweet(NamedTuple):
    """A tweet; ``label`` (check-worthiness) and ``verdict`` are as in the file, ``line`` is its
    first line's number.
    """

    line: int
    topic: str
    tweet_id: str
    text: str
    label: str
    date: str
    verdict: str = ""


def read_tweets(path: Path) -> list[Tweet]:
    """Read tweets in their order.

    In a table with tabs, quotes are ordinary characters if the rows then fit the header, so that
    stray quotes stay. Raises SourceError, naming the line, if a row has other columns than the
    header, or a tweet has no id or no text.
    """
    rereadable(path)
    faults = Strict(path)
    first = next((line for _, line in text_lines(path, faults) if line.strip()), "")
    tweets = []
    whole = whole_file("\n".join(line for _, line in text_lines(path, faults)), plain=True)
    if whole is not None:
        tweets += [tweet_of(path, 1, fields_of(row)) for row in whole]
    elif first.lstrip().startswith(("{", "[")):
        for line, row in json_objects(path, faults):
            for tweet in tweets_in(row):
                fields = fields_of(tweet)
                lacks_id = not has_id(fields) and "id_str" not in fields
                if lacks_id and (advice := wrapper_advice(row)):
                    raise SourceError(f"has no tweet_id{advice}", place=f"{path}:{line}")
                tweets.append(tweet_of(path, line, fields))
    elif numbered := table_lines(path, faults):
        line, text = numbered[0]
        delimiter = delimiter_of(text, numbered)
        header = header_names(text, delimiter)
        if not has_id(header):
            faults.error(line, f"the header has no tweet_id: it begins with {quote_value(text)}")
        for line, cells in read_loose_rows(numbered, delimiter, faults):
            tweets.append(tweet_of(path, line, dict(zip(header, cells, strict=True))))
    if not tweets:
        faults.error(0, "contains no tweets")
    return tweets


def delimiter_of(header: str, numbered: Numbered) -> str:
    """Return what separates the columns of a table, whose first line is its header: tabs unless it
    has none.
    """
    return "\t" if "\t" in header else shape_of_lines(numbered).delimiter or "\t"


def header_names(header: str, delimiter: str = "\t") -> list[str]:
    """Return the names of a header's columns, in the normal form that look-ups use."""
    return [column_name(name) for name in header_cells(header, delimiter)]


def has_id(header: Collection[str]) -> bool:
    """Return whether one of these columns has the ids of tweets."""
    return not {"tweet_id", "tweetid", "id"}.isdisjoint(header)


def columns_of(path: Path) -> list[str]:
    """Return the columns of a file of tweets as the file spells them, or the keys of its first
    object.
    """
    first = next(text for _, text in table_lines(path, Strict(path)) if text.strip())
    if first.lstrip().startswith("{"):
        return list(next(row for _, row in json_objects(path, Strict(path))))
    cells = header_cells(first, delimiter_of(first, [(1, first)]))
    return [cell.strip().strip('"') for cell in cells]


def fields_of(row: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of a JSON object by name: texts, numbers as text, and ``""`` for other
    values.
    """
    return {column_name(key): cell_of(value) for key, value in row.items()}


def tweet_of(path: Path, line: int, row: Mapping[str, str]) -> Tweet:
    """Return the tweet of a row, given its cells by name.

    Raises SourceError if it has no id or no text.
    """
    values = {
        key: next(filter(None, (row.get(name, "").strip() for name in names)), "")
        for key, names in TWEETS.items()
    }
    place = f"{path}:{line}"
    if len(values["tweet_id"].split()) != 1:
        raise SourceError(
            f"tweet_id {quote_value(values['tweet_id'])} is empty or contains white space",
            place=place,
        )
    odd = next((name for name, value in values.items() if not encodable(value)), None)
    if odd:
        raise SourceError(
            f"{odd} {quote_value(values[odd])} cannot be encoded as UTF-8", place=place
        )
    if not values["text"]:
        raise SourceError(f"tweet {quote_value(values['tweet_id'])} has no text", place=place)
    return Tweet(line=line, **values)


def claim_key(topic: str, tweet_id: str) -> str:
    """Return the qid of a claim of CheckThat! 2020: ``topic/tweet``."""
    return f"{topic}/{tweet_id}"


def read_claims(path: Path) -> list[Tweet]:
    """Read claims, identified by topic and tweet; raise SourceError if a claim has no topic, or
    occurs twice.
    """
    claims = read_tweets(path)
    first: dict[str, int] = {}
    for claim in claims:
        if len(claim.topic.split()) != 1:
            raise SourceError(
                f"tweet {quote_value(claim.tweet_id)} has no topic_id", place=f"{path}:{claim.line}"
            )
        qid = claim_key(claim.topic, claim.tweet_id)
        if qid in first:
            raise SourceError(
                f"claim {quote_value(qid)} is already on line {first[qid]}",
                place=f"{path}:{claim.line}",
            )
        first[qid] = claim.line
    return claims


def read_claim_queries(path: Path) -> list[TaskQuery]:
    """Return claims as queries with the qid ``topic/tweet``; the file is a TSV file with a header
    or JSON lines.
    """
    claims = read_claims(path)
    return [
        TaskQuery(claim_key(one.topic, one.tweet_id), one.text, one.topic, one.date)
        for one in claims
    ]


def read_label(line: int, text: str, faults: Faults) -> int:
    """Return a gold label of check-worthiness, 1 or 0; anything else is an error."""
    label = text.removesuffix(".0")
    if label not in ("0", "1"):
        faults.error(line, f"label {quote_value(text)} is neither 0 nor 1")
    return int(label == "1")


def with_labels(
    path: Path, statements: Sequence[Statement], labels: Sequence[tuple[int, str]]
) -> list[Statement]:
    """Return statements with their labels (line and text); raise SourceError at the first that is
    neither 0 nor 1.
    """
    faults = Strict(path)
    return [
        statement._replace(label=read_label(line, label, faults))
        for statement, (line, label) in zip(statements, labels, strict=True)
    ]


def no_labels(path: Path, names: Sequence[str], wanted: Sequence[str]) -> SourceError:
    """Return the error for a file without labels; it names the columns of the file and the expected
    ones.
    """
    problem = f"has no labels: its columns are {', '.join(names)}; expected {', '.join(wanted)}"
    return SourceError(problem, place=f"{path}:1")


def statement_of(path: Path, tweet: Tweet) -> Statement:
    """Return a tweet as a statement without a label."""
    return Statement(tweet.tweet_id, tweet.text, topic=tweet.topic, place=f"{path}:{tweet.line}")


def stream(
    lines: Iterable[bytes], source: str, take: Callable[[int, str], Statement | None]
) -> Iterator[Statement]:
    """Yield statements as their lines arrive.

    ``take`` reads each line that is not JSON, and returns None for a header.

    A JSON object needs no id: its line number is the default. Raises SourceError, naming ``source``
    and the line.
    """
    path = Path(source)
    for number, raw in enumerate(lines, 1):
        place = f"{path}:{number}"
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(
                f"is not UTF-8 (byte 0x{raw[error.start]:02x})", place=place
            ) from None
        if not text.strip():
            continue
        if text.strip() == "[" or text.rstrip().endswith("= [") or text.lstrip().startswith("[{"):
            raise SourceError(
                "is a JSON list, not JSON lines",
                place=place,
                remedy="save it in a file, and name the file in --input",
            )
        if not text.lstrip().startswith("{"):
            if (statement := take(number, text)) is not None:
                yield statement
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise SourceError(f"is not JSON: {quote_value(text.strip())}", place=place) from None
        for tweet in tweets_in(row):
            cells = {"id": str(number), **fields_of(tweet)}
            yield statement_of(path, tweet_of(path, number, cells))._replace(
                speaker=cells.get("speaker", "")
            )
