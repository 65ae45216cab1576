"""The statements in a pasted text or a file: tweets, or the sentences of a transcript with their
speakers and times.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import accumulate, islice
from typing import NamedTuple

from ...core.records.table_shape import (
    column_at,
    column_name,
    find_unended_json,
    is_separator_line,
)
from ...core.records.tweet_objects import objects_of, texts_of_tweets
from ...retrieval.sentences import sentences
from ..errors import BadInput

_OF_TWEETS = re.compile(r"[@#]\w|https?://|^RT\b")
TWEETS, TRANSCRIPT = "tweets", "transcript"
# Columns with the text of tweets, best first.
_TEXTS = ("tweet_text", "tweet", "text", "sentence", "claim")
_DELIMITERS = ("\t", ",", ";")
_PARAGRAPHS = 3
"""The number of short paragraphs from which on they are one tweet: two may be a list of tweets."""
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_NO_TWEETS = (
    "this is JSON, but not of tweets: give one object a line, or a list of them, each with a key "
    f"{', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}"
)
_TIMED = re.compile(r"(\d++|WEBVTT.*+|[\d:.,]++\s*+-->.*+)?")
"""A line of subtitles that is not spoken: a number, a time, the head ``WEBVTT``, or an empty
line.
"""
_SUBTITLE = re.compile(r"[\d:.,]++\s*+-->")
_CUE = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[.,]\d+)?\s*-->")
"""The line with the start and the end of a subtitle."""
_STAMP = re.compile(r"^\s*[\[(]?(?P<time>\d{1,2}:\d{2}(:\d{2})?)([.,]\d+)?[\])]?\s*")
_HEADING = re.compile(
    r"\[(?P<speaker>[^\[\]]{1,80})\]\s+(?P<time>\d{1,2}:\d{2}:\d{2})"
    r"|(?P<sent>\d{1,2}:\d{2}:\d{2})\s+From\s+(?P<writer>.{1,80}?)(?:\s+to\s+[^:]{1,80})?\s*:"
)
"""The line above what somebody said in a saved caption of Zoom, or above a message in its chat."""
# characters; and twice the least number of lines with a speaker or a time
_LONGEST_TWEET, _FEW = 280, 4
_SPEAKER = re.compile(
    r"^(?P<speaker>(?:[^\W\d_]{2,4}\. )?[^\W\d_][^:：.!?؟。]{0,60})(?::\s+|：\s*)(?P<said>\S.*)$"
)
_DASHES = ("-", "–", "—")  # the beginnings of a line that another person says, in subtitles
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,80}+)?\s{1,9}+([^<>]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<\d[\d:.]*>|\{\\[^{}]{0,80}\}")
"""A tag of subtitles, or the time of a word in them."""
_NEW_SPEAKER = re.compile(r"^(?:>>+|»)\s*")
"""The mark before what another person says, in captions for the deaf."""
_WEBVTT = "WEBVTT"


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
    if any(map(_HEADING.match, lines)):
        return TRANSCRIPT
    timed = sum(_STAMP.match(line) is not None for line in lines)
    named = [match["speaker"] for line in lines if (match := _SPEAKER.match(_STAMP.sub("", line)))]
    spoken = max(timed, len(named) if 1 < len(set(named)) < len(named) else 0)
    return TRANSCRIPT if 2 * spoken >= max(len(lines), _FEW) else TWEETS


class Spoken(NamedTuple):
    """A statement, who said it and at what time, as far as the text says so."""

    text: str
    speaker: str = ""
    time: str = ""


def statements_of(text: str, kind: str, most: int) -> list[Spoken]:
    """Return the statements of a text in order; raise BadInput if there are more than ``most``."""
    spoken = _split_by_speaker(text) if kind == TRANSCRIPT else map(Spoken, _tweets(text))
    statements = list(islice(spoken, most + 1))
    if len(statements) > most:
        raise BadInput(
            "text", f"the text contains more than {most} statements; check fewer at once"
        )
    return statements


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
        yield from _tweets_of_paragraphs(text) or map(str.strip, written)
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


def _tweets_of_paragraphs(text: str) -> list[str]:
    """Return the tweets of a text with blank lines, if a tweet has several paragraphs or lines in
    it; else none: each line is a tweet then.

    At least three paragraphs that are short enough are one tweet. Else blank lines separate tweets
    if most of what they separate is one line: in a list of tweets with a blank line here and there,
    each line is a tweet.
    """
    blocks = _BLANK_LINES.split(text.strip())
    tweets = [" ".join(block.split()) for block in blocks]
    if len(blocks) == 1:
        return []
    if len(blocks) >= _PARAGRAPHS and len(" ".join(tweets)) <= _LONGEST_TWEET:
        return [" ".join(tweets)]
    several = sum("\n" in block for block in blocks)
    return tweets if 0 < several <= len(blocks) / 2 else []


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


class _Line(NamedTuple):
    """A line that was said: who said it, ``""`` if the line does not tell, and when.

    If it ``goes_on``, a sentence of the same person in the line before may end in it.
    """

    text: str
    time: str
    speaker: str = ""
    goes_on: bool = False


def _split_by_speaker(text: str) -> Iterator[Spoken]:
    """Yield each sentence of a transcript with its speaker and its time; a speaker continues until
    another is named.
    """
    speaker = ""
    lines: list[_Line] = []  # since the last sentence
    for line in _spoken_lines(text):
        is_long = sum(len(before.text) for before in lines) > _LONGEST_TWEET
        is_same = line.speaker in ("", speaker)
        if is_long or not (line.goes_on and is_same):
            yield from _sentences_of(speaker, lines)
            lines.clear()
        speaker = line.speaker or speaker
        lines.append(line)
    yield from _sentences_of(speaker, lines)


def _spoken_lines(text: str) -> Iterator[_Line]:
    """Yield the lines of a transcript that were said, without marks of times and speakers."""
    lines = [line.strip() for line in text.splitlines()]
    if any(map(_SUBTITLE.match, lines)):
        yield from _subtitles(lines)
        return
    speaker = time = ""
    for line in lines:
        if heading := _HEADING.match(line):
            speaker, time = _heading_of(heading)
            if said := line[heading.end() :].strip():
                yield _Line(said, time, speaker)
            continue
        if stamp := _STAMP.match(line):
            time = stamp["time"]
        if not _TIMED.fullmatch(line):
            yield _named_line(_STAMP.sub("", line), time, speaker)
            speaker = ""


def _heading_of(heading: re.Match[str]) -> tuple[str, str]:
    """Return the speaker and the time in a line above what was said."""
    if heading["speaker"]:
        return heading["speaker"].strip(), heading["time"]
    return heading["writer"].strip(), heading["sent"]


def _subtitles(lines: Sequence[str]) -> Iterator[_Line]:
    """Yield the lines of subtitles; a sentence may go on in the next line, unless somebody else
    speaks. Captions that roll repeat a line, which is said once.
    """
    time = last = ""
    for line in _without_notes(lines):
        if cue := _CUE.match(line):
            hours, minutes, seconds = cue.groups()
            time = f"{int(hours or 0):02}:{int(minutes):02}:{seconds}"
        if _TIMED.fullmatch(line):
            continue
        untagged = unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line))).strip()
        spoken = _NEW_SPEAKER.sub("", _STAMP.sub("", untagged)).strip()
        if not spoken or spoken == last:
            continue
        last = spoken
        is_new = untagged.startswith(_DASHES) or bool(_NEW_SPEAKER.match(untagged))
        yield _named_line(spoken, time)._replace(goes_on=not is_new)


def _without_notes(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of subtitles without what WebVTT says besides them: blocks of lines without a
    time, such as its header, styles and notes.
    """
    if not lines or not lines[0].lstrip("\ufeff").startswith(_WEBVTT):
        yield from lines
        return
    block: list[str] = []
    for line in (*lines, ""):
        if line:
            block.append(line)
            continue
        if any(map(_SUBTITLE.match, block)):
            yield from block
        block = []


def _named_line(line: str, time: str, speaker: str = "") -> _Line:
    """Return a line without the speaker that it names."""
    if named := _SPEAKER.match(line):
        return _Line(named["said"], time, named["speaker"].strip())
    return _Line(line, time, speaker)


def _sentences_of(speaker: str, lines: Sequence[_Line]) -> Iterator[Spoken]:
    """Yield the sentences of lines; the time of a sentence is that of the line in which it
    begins.
    """
    ends = list(accumulate(len(line.text) + 1 for line in lines))  # with the blank behind each
    spoken = " ".join(line.text for line in lines)
    for span in sentences(spoken):
        time = lines[bisect_right(ends, span.start)].time
        yield Spoken(spoken[span.start : span.end].strip(), speaker, time)
