"""The inputs of the tweet tasks: TSV with a header in all its variants, or JSON lines of tweet objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...retrieval.errors import SourceError
from ...retrieval.files import rereadable
from ...retrieval.lines import Strict, shown
from ...retrieval.run_writer import encodable
from ...retrieval.table_shape import column_name
from ...retrieval.wrapped import wrapper_advice
from .lines import json_objects, text_lines
from .table import Numbered, rows_below, shape_of_lines, table_lines

_NAMES = {
    "tweet_id": ("tweet_id", "tweetid", "id_str", "id"),
    "text": ("tweet_text", "full_text", "text"),
    "topic": ("topic_id", "topicid", "topic"),
    "label": ("check_worthiness", "claim_worthiness"),
    "date": ("date", "created_at"),
    "verdict": ("label", "verdict"),
}


LABELS = _NAMES["label"]
"""The names of the column that says whether a tweet is worth checking."""

VERDICTS = _NAMES["verdict"]
"""The names of the column that says whether its claim is true."""


class Tweet(NamedTuple):
    """A tweet to judge; ``label`` (check-worthiness) and ``verdict`` are as written, ``line`` its row's first line."""

    line: int
    topic: str
    tweet_id: str
    text: str
    label: str
    date: str
    verdict: str = ""


def read_tweets(path: Path) -> list[Tweet]:
    """Read tweets in their order.

    A table is read by :func:`factseek.eval.formats.table.rows_below`: between tabs without quoting where that fits, so
    that stray quotes stay. Raises SourceError, naming the line, if a row has other columns than the header, or
    a tweet has no id or no text.
    """
    rereadable(path)
    tweets = list(_from_json(path) if _is_json(path) else _from_table(path))
    if not tweets:
        raise SourceError("holds no tweets", place=path)
    return tweets


def _is_json(path: Path) -> bool:
    for _, line in text_lines(path, Strict(path)):
        if line.strip():
            return line.lstrip().startswith(("{", "["))
    return False


def _from_json(path: Path) -> Iterator[Tweet]:
    for line, row in json_objects(path, Strict(path)):
        fields = fields_of(row)
        if not has_id(fields) and "id_str" not in fields and (advice := wrapper_advice(row)):
            raise SourceError(f"has no tweet_id{advice}", place=f"{path}:{line}")
        yield tweet_of(path, line, fields)


def _from_table(path: Path) -> Iterator[Tweet]:
    numbered = table_lines(path, Strict(path))
    if not numbered:
        return
    delimiter = _delimiter(numbered)
    header = columns(numbered[0][1], delimiter)
    if not has_id(header):
        raise SourceError(f"the header has no tweet_id: it begins {shown(numbered[0][1])}", place=f"{path}:1")
    for line, fields in rows_below(path, numbered, delimiter):
        yield tweet_of(path, line, dict(zip(header, fields, strict=True)))


def _delimiter(numbered: Numbered) -> str:
    return "\t" if "\t" in numbered[0][1] else shape_of_lines(numbered).delimiter or "\t"


def columns(header: str, delimiter: str = "\t") -> list[str]:
    """Return the names of a header's columns in the normal form by which columns are looked up."""
    return [column_name(name) for name in header.split(delimiter)]


def has_id(header: Collection[str]) -> bool:
    """Return whether one of a table's columns holds the ids of tweets."""
    return not {"tweet_id", "tweetid", "id"}.isdisjoint(header)


def columns_of(path: Path) -> list[str]:
    """Return the columns of a file of tweets as they are written, or the keys of its first object."""
    first = next(text for _, text in table_lines(path, Strict(path)) if text.strip())
    if first.lstrip().startswith("{"):
        return list(next(row for _, row in json_objects(path, Strict(path))))
    delimiter = _delimiter([(1, first)])
    return [cell.strip().strip('"') for cell in first.split(delimiter)]


def fields_of(row: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of a JSON object that are text or whole numbers, by name."""
    return {key.lower(): _field_text(value) for key, value in row.items()}


def tweet_of(path: Path, line: int, row: Mapping[str, str]) -> Tweet:
    """Return the tweet of a row, given as its cells by name.

    Raises SourceError if it has no id or no text.
    """
    values = {key: next((row[name] for name in names if name in row), "").strip() for key, names in _NAMES.items()}
    if len(values["tweet_id"].split()) != 1:
        raise SourceError(f"tweet_id {shown(values['tweet_id'])} is empty or holds white space", place=f"{path}:{line}")
    odd = next((name for name, value in values.items() if not encodable(value)), None)
    if odd:
        raise SourceError(f"{odd} {shown(values[odd])} is not text that UTF-8 can write", place=f"{path}:{line}")
    if not values["text"]:
        raise SourceError(f"tweet {shown(values['tweet_id'])} has no text", place=f"{path}:{line}")
    return Tweet(line=line, **values)


def _field_text(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
