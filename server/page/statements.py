"""The statements in a pasted text or a file: tweets, or the sentences of a transcript with their
speakers.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ...core.records.table_shape import (
    column_at,
    column_name,
    find_unended_json,
    is_separator_line,
)
from ...core.records.tweet_objects import objects_of, texts_of_tweets
from ...retrieval.sentences import sentences
from ..errors import BadInput
from ..schemas import ClaimRequest

_OF_TWEETS = re.compile(r"[@#]\w|https?://|^RT\b")
TWEETS, TRANSCRIPT = "tweets", "transcript"
# Columns with the text of tweets, best first.
_TEXTS = ("tweet_text", "tweet", "text", "sentence", "claim")
_DELIMITERS = ("\t", ",", ";")
_NO_TWEETS = (
    "this is JSON, but not of tweets: give one object a line, or a list of them, each with a key "
    f"{', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}"
)
_TIMED = re.compile(r"(\d++|WEBVTT.*+|[\d:.,]++\s*+-->.*+)?")
"""A line of subtitles that is not spoken: a number, a time, the head ``WEBVTT``, or an empty
line.
"""
_SUBTITLE = re.compile(r"[\d:.,]++\s*+-->")
_STAMP = re.compile(r"^\s*[\[(]?\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?[\])]?\s*")
# characters; and twice the least number of lines with a speaker or a time
_LONGEST_TWEET, _FEW = 280, 4
_SPEAKER = re.compile(
    r"^(?P<speaker>(?:[^\W\d_]{2,4}\. )?[^\W\d_][^:：.!?؟。]{0,60})(?::\s+|：\s*)(?P<said>\S.*)$"
)
_DASHES = ("-", "–", "—")  # the beginnings of a line that another person says, in subtitles
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,80}+)?\s{1,9}+([^<>]{1,200})>")
# The tag of a speaker in WebVTT, and any other tag of subtitles.
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


def kind_of(text: str) -> str:
    """Return the detected type of a text: ``transcript`` if it has a sign of one, else ``tweets``.

    Signs are lines with times, speakers of whom one speaks again, a line of several sentences too
    long for a tweet, and one line of three or more sentences without the marks of a tweet.
    """
    if _column_of_tweets(text) or texts_of_tweets(text) is not None or objects_of(text):
        return TWEETS
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if (
        len(lines) == 1
        and not _OF_TWEETS.search(text)
        and len(list(islice(sentences(lines[0]), 3))) > 2
    ):
        return TRANSCRIPT
    long = (line for line in lines if len(line) > _LONGEST_TWEET)
    if any(map(_SUBTITLE.match, lines)) or any(
        len(list(islice(sentences(line), 2))) > 1 for line in long
    ):
        return TRANSCRIPT
    timed = sum(_STAMP.match(line) is not None for line in lines)
    named = [match["speaker"] for line in lines if (match := _SPEAKER.match(_STAMP.sub("", line)))]
    spoken = max(timed, len(named) if 1 < len(set(named)) < len(named) else 0)
    return TRANSCRIPT if 2 * spoken >= max(len(lines), _FEW) else TWEETS


def statements_of(text: str, kind: str, most: int) -> list[ClaimRequest]:
    """Return the statements of a text, numbered from 1 in order; raise BadInput if there are more
    than ``most``.
    """
    spoken = (
        _split_by_speaker(text) if kind == TRANSCRIPT else (("", tweet) for tweet in _tweets(text))
    )
    claims = [
        ClaimRequest(id=str(number), text=statement, speaker=speaker)
        for number, (speaker, statement) in enumerate(islice(spoken, most + 1), 1)
    ]
    if len(claims) > most:
        raise BadInput(
            "text", f"the text contains more than {most} statements; check fewer at once"
        )
    return claims


def _tweets(text: str) -> Iterator[str]:
    if (texts := texts_of_tweets(text)) is not None:
        yield from texts
        return
    if objects := objects_of(text):
        yield from map(_text_of_object, objects)
        return
    if find_unended_json(text.strip().partition("\n")[0]):
        raise BadInput("text", _NO_TWEETS)
    column = _column_of_tweets(text)
    if column is None:
        written = [line for line in text.splitlines() if line.strip()]
        counts = Counter(line.count("\t") for line in written).most_common(1)
        if len(written) > 1 and counts[0][0] > 1 and counts[0][1] * 2 > len(written):
            names = ", ".join(_TEXTS[:-1])
            raise BadInput(
                "text",
                "the lines are rows of a table; its first line must name the column of the "
                f"tweets: {names} or {_TEXTS[-1]}",
            )
        yield from map(str.strip, written)
        return
    delimiter, at = column
    lines = io.StringIO(_without_separator_line(text), newline=None)
    quoted = csv.reader(lines, delimiter=delimiter)
    rows = (
        csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if delimiter == "\t" else quoted
    )
    try:
        next(rows, None)
        yield from (row[at].strip() for row in rows if len(row) > at and row[at].strip())
    except csv.Error as error:
        raise BadInput("text", f"line {rows.line_num} is not a row of a table ({error})") from None


def _text_of_object(row: Mapping[str, object]) -> str:
    cells = {column_name(name): value for name, value in row.items()}
    texts = (cells.get(name) for name in _TEXTS)
    text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if text is None:
        raise BadInput("text", _NO_TWEETS)
    return " ".join(text.split())


def _column_of_tweets(text: str) -> tuple[str, int] | None:
    header = next((line for line in _without_separator_line(text).splitlines() if line.strip()), "")
    for delimiter in _DELIMITERS:
        columns = [column_name(cell.strip('" ')) for cell in header.split(delimiter)]
        at = column_at(columns, _TEXTS)
        if at is not None and len(columns) > 1:
            return delimiter, at
    # No tweet contains this delimiter, so a tweet with commas is one cell, and quotes are still
    # read.
    return ("\x1f", 0) if column_name(header.strip('" ')) in _TEXTS[:2] else None


def _without_separator_line(text: str) -> str:
    """Return the text of a table without the line ``sep=;`` that tells Excel the separator."""
    text = text.strip(" \r\n")  # a table may begin with an empty cell
    first = next(iter(text.splitlines()), "")
    return text[len(first) :].strip(" \r\n") if is_separator_line(first) else text


def _split_by_speaker(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a transcript with its speaker; a speaker continues until another is
    named.
    """
    speaker, lines = "", list[str]()
    has_times = any(_SUBTITLE.match(line.strip()) for line in text.splitlines())
    for line in text.splitlines():
        if _TIMED.fullmatch(line.strip()):
            continue
        spoken = _STAMP.sub(
            "", _TAG.sub("", _VOICE.sub(r"\1: ", line)) if has_times else line
        ).strip()
        named = _SPEAKER.match(spoken)
        # In subtitles, a sentence may go on in the next line, unless somebody else speaks.
        if (
            not has_times
            or named
            or spoken.startswith(_DASHES)
            or sum(map(len, lines)) > _LONGEST_TWEET
        ):
            yield from _sentences_of(speaker, lines)
            lines.clear()
        if named:
            speaker, spoken = named["speaker"].strip(), named["said"]
        lines.append(spoken)
    yield from _sentences_of(speaker, lines)


def _sentences_of(speaker: str, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    spoken = " ".join(lines)
    return ((speaker, spoken[span.start : span.end].strip()) for span in sentences(spoken))
