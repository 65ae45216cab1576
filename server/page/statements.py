"""Statements out of what people paste or upload: tweets one a line or in a table, or the transcript of a speech."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from ...retrieval.sentences import sentences
from ...retrieval.table_shape import column_at, column_name
from ..contract.errors import BadInput
from ..contract.requests import ClaimRequest

TWEETS, TRANSCRIPT = "tweets", "transcript"
_TEXTS = ("tweet_text", "tweet", "text", "sentence", "claim")
"""The columns, best first, that hold the text of a table of tweets."""
_DELIMITERS = ("\t", ",", ";")
_TIMED = re.compile(r"(\d++|WEBVTT.*+|[\d:.,]++\s*+-->.*+)?")
"""A line of subtitles, without blanks around it, that nobody says: its number, its time, or nothing."""
_SUBTITLE = re.compile(r"[\d:.,]++\s*+-->")
_STAMP = re.compile(r"^\s*[\[(]?\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?[\])]?\s*")
_LONGEST_TWEET, _FEW = 280, 4
"""Characters of a tweet; and a transcript has at least half as many lines that say who speaks, or when."""
_SPEAKER = re.compile(r"^(?P<speaker>[^\W\d_][^:.!?؟]{0,60}):\s+(?P<said>\S.*)$")


def kind_of(text: str) -> str:
    """Return what a text is read as where nobody says it: a transcript if it can be nothing else, else tweets.

    A transcript has lines with times, or speakers of whom one speaks again, or a line of several sentences that is too
    long for a tweet.
    """
    if _column_of_tweets(text):
        return TWEETS
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(map(_SUBTITLE.match, lines)) or any(map(_is_paragraph, lines)):
        return TRANSCRIPT
    timed = sum(_STAMP.match(line) is not None for line in lines)
    named = [match["speaker"] for line in lines if (match := _SPEAKER.match(_STAMP.sub("", line)))]
    spoken = max(timed, len(named) if 1 < len(set(named)) < len(named) else 0)
    return TRANSCRIPT if 2 * spoken >= max(len(lines), _FEW) else TWEETS


def _is_paragraph(line: str) -> bool:
    return len(line) > _LONGEST_TWEET and len(list(islice(sentences(line), 2))) > 1


def statements_of(text: str, kind: str, most: int) -> list[ClaimRequest]:
    """Return the statements of a text, numbered from 1 in their order.

    Raises BadInput if it is a table that cannot be read, or holds more than ``most``; the rest is then not read.
    """
    spoken = _spoken(text) if kind == TRANSCRIPT else (("", tweet) for tweet in _tweets(text))
    claims = [
        ClaimRequest(id=str(number), text=statement, speaker=speaker)
        for number, (speaker, statement) in enumerate(islice(spoken, most + 1), 1)
    ]
    if len(claims) > most:
        raise BadInput("text", f"there are more than {most} statements in it, the most that are checked at once")
    return claims


def _tweets(text: str) -> Iterator[str]:
    """Yield the tweets of a table that says which column holds them, else one a line.

    Raises BadInput if that table cannot be read.
    """
    column = _column_of_tweets(text)
    if column:
        yield from _cells(text, *column)
    else:
        yield from (line.strip() for line in text.splitlines() if line.strip())


def _column_of_tweets(text: str) -> tuple[str, int] | None:
    """Return the delimiter of a table and the number of the column that holds its tweets; None if it is no table."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    for delimiter in _DELIMITERS:
        columns = [column_name(cell.strip('" ')) for cell in header.split(delimiter)]
        at = column_at(columns, _TEXTS)
        if at is not None and len(columns) > 1:
            return delimiter, at
    return None


def _cells(text: str, delimiter: str, at: int) -> Iterator[str]:
    """Yield what one column of a table holds below its header."""
    lines = io.StringIO(text.strip(), newline=None)
    quoted = csv.reader(lines, delimiter=delimiter)
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if delimiter == "\t" else quoted
    try:
        next(rows, None)
        yield from (row[at].strip() for row in rows if len(row) > at and row[at].strip())
    except csv.Error as error:
        raise BadInput("text", f"line {rows.line_num} is not a row of a table ({error})") from None


def _spoken(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a transcript with its speaker, who goes on until another one is named."""
    speaker = ""
    for line in text.splitlines():
        if _TIMED.fullmatch(line.strip()):
            continue
        spoken = _STAMP.sub("", line).strip()
        if named := _SPEAKER.match(spoken):
            speaker, spoken = named["speaker"].strip(), named["said"]
        yield from ((speaker, spoken[span.start : span.end].strip()) for span in sentences(spoken))
