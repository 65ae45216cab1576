"""Tweets and sentences for the rankers of check-worthiness: whole files of a task, or lines as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..retrieval.domain import Statement
from ..retrieval.errors import SourceError
from ..retrieval.lines import Strict, shown
from .formats.lines import text_lines, whole
from .formats.tweets import LABELS, columns, fields_of, read_tweets, tweet_of
from .scoring.checkworthiness import read_label
from .tasks import task
from .tasks.ct2021_1b import read_sentences

TASKS: tuple[str, ...] = ("ct2021-1a", "ct2021-1b")
"""The tasks that rank by check-worthiness."""

_DEBATE = ("line_number", "speaker", "text", "label")


def read(name: str, path: Path, *, labelled: bool) -> list[Statement]:
    """Read the tweets of a file (``ct2021-1a``) or the sentences of a debate (``ct2021-1b``), in their order.

    Raises SourceError at the first that is empty or, if they are to be ``labelled``, has no label of 0 or 1.
    """
    found, labels = _tweets(path) if name == TASKS[0] else _sentences(path)
    if not labelled:
        return [statement for _, statement in found]
    if not any(labels):
        looked = ", ".join(LABELS) if name == TASKS[0] else _DEBATE[3]
        raise SourceError(f"{path}:1: has no labels: its columns are {_columns(name, path)}; looked for {looked}")
    faults = Strict(path)
    return [
        statement._replace(label=read_label(line, label, faults))
        for (line, statement), label in zip(found, labels, strict=True)
    ]


def stream(name: str, lines: Iterable[bytes], source: str) -> Iterator[Statement]:
    """Yield statements as their lines come: JSON objects, tweets below a TSV header, or the lines of a debate.

    A JSON object needs no id: its line number is one. Raises SourceError, naming ``source`` and the line.
    """
    place = Path(source)
    take: Callable[[int, str], Statement | None] | None = None
    for number, raw in enumerate(lines, 1):
        text = _decoded(place, number, raw)
        if not text.strip():
            continue
        if text.lstrip().startswith("{"):
            yield _from_json(place, number, text)
            continue
        take = take or (_Table(place) if name == TASKS[0] else _Debate(place)).take
        statement = take(number, text)
        if statement is not None:
            yield statement


def write(name: str, records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
    """Write topic or debate, id and score of each statement as the task's submission."""
    task(name).write(records, path, run_id)


class _Table:
    """Rows below a header, read without quoting."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: list[str] = []

    def take(self, line: int, text: str) -> Statement | None:
        """Make a row a tweet; the first line is the header."""
        fields = text.split("\t")
        if not self._header:
            self._header = columns(text)
            if not {"tweet_id", "tweetid", "id"} & set(self._header):
                raise SourceError(f"{self._path}:{line}: the header has no tweet_id: it begins {shown(text)}")
            return None
        if len(fields) != len(self._header):
            raise SourceError(f"{self._path}:{line}: has {len(fields)} columns, the header {len(self._header)}")
        return _tweet(self._path, line, dict(zip(self._header, fields, strict=True)))[1]


class _Debate:
    """Lines of a debate, numbered from 1 without a gap."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._due = 1

    def take(self, line: int, text: str) -> Statement:
        """Make a line a sentence."""
        fields = text.split("\t")
        if len(fields) not in (3, 4):
            layout = f"{len(_DEBATE)} columns between tabs ({' '.join(_DEBATE)})"
            raise SourceError(f"{self._path}:{line}: has {len(fields)} of the {layout}")
        if whole(fields[0]) != self._due:
            raise SourceError(f"{self._path}:{line}: line number {shown(fields[0])} where {self._due} is due")
        self._due += 1
        return _sentence(self._path, line, fields[0], fields[1], fields[2])


def _tweets(path: Path) -> tuple[list[tuple[int, Statement]], list[str]]:
    tweets = read_tweets(path)
    found = [
        (one.line, Statement(one.tweet_id, one.text, topic=one.topic, place=f"{path}:{one.line}")) for one in tweets
    ]
    return found, [tweet.label for tweet in tweets]


def _sentences(path: Path) -> tuple[list[tuple[int, Statement]], list[str]]:
    sentences = read_sentences(path)
    found = [(one.line, _sentence(path, one.line, str(one.line), one.speaker, one.text)) for one in sentences]
    return found, [sentence.label for sentence in sentences]


def _sentence(path: Path, line: int, number: str, speaker: str, text: str) -> Statement:
    if not text.strip():
        raise SourceError(f"{path}:{line}: the sentence is empty; a debate has a text on every line")
    return Statement(number, text.strip(), topic=path.stem, speaker=speaker.strip(), place=f"{path}:{line}")


def _tweet(path: Path, line: int, row: dict[str, str]) -> tuple[int, Statement]:
    tweet = tweet_of(path, line, row)
    return line, Statement(tweet.tweet_id, tweet.text, topic=tweet.topic, place=f"{path}:{line}")


def _from_json(path: Path, line: int, text: str) -> Statement:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceError(f"{path}:{line}: is not JSON: {shown(text.strip())}") from None
    if not isinstance(row, dict):
        raise SourceError(f"{path}:{line}: is not a JSON object")
    cells = {"id": str(line), **fields_of(row)}
    return _tweet(path, line, cells)[1]._replace(speaker=cells.get("speaker", ""))


def _decoded(path: Path, line: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}:{line}: is not UTF-8 (byte 0x{raw[error.start]:02x})") from None


def _columns(name: str, path: Path) -> str:
    """Name the columns of a file, or the keys of its first object."""
    if name == TASKS[1]:
        return ", ".join(_DEBATE[:3])
    first = next(text for _, text in text_lines(path, Strict(path)) if text.strip())
    if first.lstrip().startswith("{"):
        return ", ".join(json.loads(first))
    return ", ".join(cell.strip().strip('"') for cell in first.split("\t"))
