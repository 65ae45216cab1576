"""Statements out of what people paste or upload: tweets one a line or in a table, or the transcript of a speech."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from ...retrieval.sentences import sentences
from ..contract.requests import ClaimRequest

TWEETS, TRANSCRIPT = "tweets", "transcript"
_TEXTS = ("tweet_text", "tweet", "text", "sentence", "claim")
"""The columns, best first, that hold the text of a table of tweets."""
_TIMED = re.compile(r"^\s*(\d+|WEBVTT.*|[\d:.,]+\s*-->.*)?\s*$")
"""A line of subtitles that nobody says: its number, its time, or nothing."""
_STAMP = re.compile(r"^\s*[\[(]?\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?[\])]?\s*")
_SPEAKER = re.compile(r"^(?P<speaker>[^\W\d_][^:.!?؟]{0,60}):\s+(?P<said>\S.*)$")


def statements_of(text: str, kind: str) -> list[ClaimRequest]:
    """Return the statements of a text, numbered from 1 in their order."""
    spoken = _spoken(text) if kind == TRANSCRIPT else (("", tweet) for tweet in _tweets(text))
    return [
        ClaimRequest(id=str(number), text=statement, speaker=speaker)
        for number, (speaker, statement) in enumerate(spoken, 1)
    ]


def _tweets(text: str) -> Iterator[str]:
    """Yield the tweets of a table that says which column holds them, else one a line."""
    lines = text.splitlines()
    header = next((line for line in lines if line.strip()), "")
    delimiter = "\t" if "\t" in header else ","
    columns = [column.strip().strip('"').casefold() for column in header.split(delimiter)]
    named = next((name for name in _TEXTS if name in columns), None)
    if named is None or len(columns) < 2:
        yield from (line.strip() for line in lines if line.strip())
        return
    at = columns.index(named)
    source = io.StringIO(text)
    tabbed = csv.reader(source, delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = tabbed if delimiter == "\t" else csv.reader(source)
    next(rows, None)
    yield from (row[at].strip() for row in rows if len(row) > at and row[at].strip())


def _spoken(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a transcript with its speaker, who goes on until another one is named."""
    speaker = ""
    for line in text.splitlines():
        if _TIMED.match(line):
            continue
        spoken = _STAMP.sub("", line).strip()
        if named := _SPEAKER.match(spoken):
            speaker, spoken = named["speaker"].strip(), named["said"]
        yield from ((speaker, spoken[span.start : span.end].strip()) for span in sentences(spoken))
