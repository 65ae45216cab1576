"""TREC's files: runs, judgements and topics, read with the line of every fault and written to be read back."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol

import numpy as np

from retrieval.domain import Hit, Qrels, Query, Run
from retrieval.errors import QueryError, SourceError
from retrieval.files import writable, write_atomically
from retrieval.order import float32, ordered

MAX_LINE = 1_000_000
"""Bytes of a line, beyond which it is a fault."""

LARGEST = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest score: what still rounds to a float32, which trec_eval keeps scores as."""

LARGEST_GRADE = 1_000
"""The largest relevance, and its negative the smallest: trec_eval allocates as many cells as the largest grade."""

GRADES = f"between -{LARGEST_GRADE:,} and {LARGEST_GRADE:,}"

ScoreTable = dict[str, dict[str, float]]
"""Score of each docid for each qid, in the order of the file: the form that measures are computed from."""

_FOREIGN = {
    codecs.BOM_UTF16_LE: "is UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"PK\x03\x04": "is compressed (zip); unpack it first",
}
_TOPIC_HEADERS = {"", "qid", "id", "_id", "query_id", "query-id", "topic"}


class Faults(Protocol):
    """What a reader tells of a file: an error makes a figure undefined or wrong, a warning is tolerated.

    Line 0 is the file as a whole.
    """

    def error(self, line: int, reason: str) -> None:
        """Take note of an error."""
        ...

    def warning(self, line: int, reason: str) -> None:
        """Take note of something odd."""
        ...


class Strict:
    """Refuse a file at its first error, and let warnings pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, line: int, reason: str) -> NoReturn:
        """Raise SourceError with place and reason."""
        raise SourceError(f"{place(self.path, line)}: {reason}")

    def warning(self, line: int, reason: str) -> None:
        """Let it pass."""


def place(path: Path, line: int) -> str:
    """Name a line of a file, or, for line 0, the file."""
    return f"{path}:{line}" if line else str(path)


def shown(value: bytes | str) -> str:
    """Quote a value for a message, shortened where it is long."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= 40 else text[:39] + "…")


def lines(path: Path, faults: Faults) -> Iterator[tuple[int, bytes]]:
    """Yield number, from 1, and bytes of each line without its line end; blank lines are ``b""``.

    A line that is too long or holds a NUL byte is an error and left out, without being held in memory.
    Windows line ends, and a last line that does not end, are warnings.
    Raises SourceError if the file cannot be opened.
    """
    number = windows = 0
    ended = True
    with _opened(path) as file:
        start = file.peek(4)[:4]
        if reason := next((reason for magic, reason in _FOREIGN.items() if start.startswith(magic)), ""):
            faults.error(0, reason)
            return
        if start.startswith(codecs.BOM_UTF8):
            faults.error(0, "starts with a byte-order mark; save the file as UTF-8 without one")
            file.read(len(codecs.BOM_UTF8))
        for number, line in enumerate(iter(partial(file.readline, MAX_LINE + 2), b""), 1):
            text = line.rstrip(b"\r\n")
            if len(text) > MAX_LINE:
                ended = _skip(file, line)
                faults.error(number, f"is longer than {MAX_LINE:,} bytes")
                continue
            windows += len(line) - len(text) > 1
            ended = line[-1:] == b"\n"
            if b"\0" in text:
                faults.error(number, "holds a NUL byte")
                continue
            yield number, text
    if windows:
        faults.warning(0, f"has Windows line ends on {windows:,} of {number:,} lines")
    if number and not ended:
        faults.warning(number, "the last line has no line end: is the file whole?")


def read_scores(path: Path, faults: Faults) -> ScoreTable:
    """Read the scores of a run, telling ``faults`` of what is wrong; lines in error are left out.

    The rank column is not used: a run's order is by score as float32, then docid, both descending.
    """
    reader = _RunReader(path, faults)
    take = reader.take
    for number, line in lines(path, faults):
        take(number, line)
    reader.finish()
    return reader.table


def read_run(path: Path) -> Run:
    """Read a TREC run; hits are in the total order, whatever the order of the lines.

    Raises SourceError at the first line that is no result, or repeats one.
    """
    table = read_scores(path, Strict(path))
    return {qid: ranked(docs) for qid, docs in table.items()}


def ranked(docs: dict[str, float]) -> list[Hit]:
    """Order the docids of a query by score as float32, then docid, both descending."""
    return ordered(Hit(docid, score) for docid, score in zip(docs, float32(docs.values()), strict=True))


def read_qrels(path: Path) -> Qrels:
    """Read judgements: TREC's ``qid 0 docid relevance``, or BEIR's three columns with or without a header.

    Raises SourceError at the first line that is no judgement, or judges a docid again.
    """
    faults = Strict(path)
    qrels: Qrels = {}
    seen: dict[tuple[str, str], int] = {}
    for number, line in lines(path, faults):
        if not line.strip() or line.startswith(b"#"):
            continue
        qid, docid, grade = _judgement(number, line, faults, first=not seen)
        if grade is None:
            continue
        if (qid, docid) in seen:
            reason = f"docid {shown(docid)} of query {shown(qid)} was judged on line {seen[qid, docid]} already"
            faults.error(number, reason)
        seen[qid, docid] = number
        qrels.setdefault(qid, {})[docid] = grade
    if not qrels:
        faults.error(0, "holds no judgements")
    return qrels


def read_topics(path: Path) -> list[Query]:
    """Read queries in their order: lines of ``qid TAB text``, or BEIR's ``queries.jsonl``.

    Raises SourceError at the first line that is no query, or repeats a qid.
    """
    faults = Strict(path)
    queries: list[Query] = []
    first_lines: dict[str, int] = {}
    for number, line in lines(path, faults):
        if not line.strip():
            continue
        text = decoded(number, line, faults)
        query = _json_topic(number, text, faults) if text.startswith("{") else _tsv_topic(number, text, faults)
        if query is None:
            continue
        if query.qid in first_lines:
            faults.error(number, f"query {shown(query.qid)} is on line {first_lines[query.qid]} already")
        first_lines[query.qid] = number
        queries.append(query)
    if not queries:
        faults.error(0, "holds no queries")
    return queries


def decoded(number: int, line: bytes, faults: Faults) -> str:
    """Decode a line as UTF-8; bytes that are not are an error and replaced."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.error(number, f"is not UTF-8 (byte 0x{line[error.start]:02x})")
        return line.decode("utf-8", "replace")


def write_run(run: Run, path: Path, tag: str) -> None:
    """Write a TREC run, its queries in the order of ``run``, in one piece or not at all.

    Raises QueryError if an id or the tag cannot stand in a column.
    """
    write_text(path, (run_lines(qid, hits, tag) for qid, hits in run.items()))


def run_lines(qid: str, hits: Iterable[Hit], tag: str) -> str:
    """Say the hits of one query as lines of a TREC run.

    A document is named once, by its best passage. Scores read back to the same float32, and the order of ranks is
    the order of scores. Raises QueryError if an id or the tag cannot stand in a column.
    """
    best = best_hits(hits)
    for value in (qid, tag, *(hit.docid for hit in best)):
        column(value)
    scores = map(str, np.asarray([hit.score for hit in best], dtype=np.float32))
    rows = zip(range(1, len(best) + 1), best, scores, strict=True)
    return "".join([f"{qid} Q0 {hit.docid} {rank} {score} {tag}\n" for rank, hit, score in rows])


def best_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Put hits into the total order of their float32 scores, a document by its best passage.

    Raises QueryError if a score is not finite.
    """
    hits = list(hits)
    if not all(-LARGEST <= hit.score <= LARGEST for hit in hits):
        raise QueryError("a score is not a finite number: it cannot be written")
    scores = float32(hit.score for hit in hits)
    best: dict[str, Hit] = {}
    for hit in ordered(Hit(hit.docid, score, hit.passage) for hit, score in zip(hits, scores, strict=True)):
        best.setdefault(hit.docid, hit)
    return list(best.values())


def column(value: str) -> str:
    """Return ``value`` if it can stand in a column of a file.

    Raises QueryError if it is empty, holds white space or cannot be written as UTF-8.
    """
    if value.isascii() and value.isalnum():
        return value
    if not value or len(value.split()) != 1 or value.strip() != value or "\0" in value:
        raise QueryError(f"{shown(value)} is empty or holds white space: it cannot stand in a column of a file")
    if not encodable(value):
        raise QueryError(f"{shown(value)} is not text that UTF-8 can write: it cannot stand in a column of a file")
    return value


def encodable(text: str) -> bool:
    """Tell whether UTF-8 can write a text: a lone half of a surrogate pair, as JSON's escapes allow, it cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file with LF line ends, in one piece or not at all.

    Raises QueryError if the folder does not exist or the file is not a regular one, MachineError if it cannot be
    written.
    """
    writable(path)
    write_atomically(path, b"".join(piece.encode("utf-8") for piece in pieces))


class _RunReader:
    """Take the lines of a run one by one."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self.path = path
        self.faults = faults
        self.table: ScoreTable = {}
        self._qid = b""
        self._docs: dict[str, float] = {}
        self._score = LARGEST
        self._tag = b""
        self._odd: dict[str, tuple[int, int]] = {}
        self._first_lines: dict[tuple[bytes, bytes], int] = {}

    def take(self, number: int, line: bytes) -> None:
        """Take one line of six columns; more are tolerated, as trec_eval tolerates them."""
        fields = line.split()
        if len(fields) != 6:
            fields = self._mended(number, line, fields)
            if not fields:
                return
        qid, _, name, rank, score, tag = fields
        try:
            value = float(score)
        except ValueError:
            value = LARGEST * 2
        if not -LARGEST <= value <= LARGEST or b"_" in score:
            self._bad_score(number, fields)
            return
        try:
            docid = name.decode()
            if qid != self._qid:
                self._begin(qid)
        except UnicodeDecodeError:
            decoded(number, line, self.faults)
            return
        docs = self._docs
        if docid in docs:
            self._repeated(number, qid, name)
            return
        docs[docid] = value
        if value > self._score or rank != b"%d" % len(docs) or tag != self._tag:
            self._note_odd(number, value, rank, tag)
        self._score = value

    def finish(self) -> None:
        """Tell of what the lines have in common."""
        for reason, (number, count) in self._odd.items():
            self.faults.warning(number, reason.format(count=count))
        if not self.table:
            self.faults.error(0, "holds no results")

    def _begin(self, qid: bytes) -> None:
        self._docs = self.table.setdefault(qid.decode(), {})
        self._qid = qid
        self._score = LARGEST

    def _mended(self, number: int, line: bytes, fields: list[bytes]) -> list[bytes]:
        if not fields:
            self._count(number, "blank lines: {count:,}")
        elif len(fields) > 6 and not line.startswith(b"#"):
            self._count(number, "more than six columns on {count:,} lines; what follows the sixth is ignored")
            return fields[:6]
        elif not line.startswith(b"#"):
            hint = "; four columns are judgements, not a run" if len(fields) == 4 else ""
            reason = f"has {len(fields)} columns, a run has six (qid Q0 docid rank score tag){hint}"
            self.faults.error(number, reason)
        return []

    def _bad_score(self, number: int, fields: list[bytes]) -> None:
        header = "; a run has no header" if number == 1 and fields[4].isalpha() and fields[3].isalpha() else ""
        self.faults.error(number, f"score {shown(fields[4])} is not a finite number{header}")

    def _repeated(self, number: int, qid: bytes, docid: bytes) -> None:
        if not self._first_lines:
            self._first_lines = _first_lines(self.path)
        first = self._first_lines.get((qid, docid), 0)
        where = f"on line {first}" if first else "above"
        self.faults.error(number, f"docid {shown(docid)} of query {shown(qid)} is {where} already")

    def _note_odd(self, number: int, value: float, rank: bytes, tag: bytes) -> None:
        if value > self._score:
            self._count(number, "scores that rise within a query: {count:,}; the order is by score, not by line")
        if rank != b"%d" % len(self._docs):
            self._count(number, "ranks that do not run 1, 2, 3 … within a query: {count:,}; they are not used")
        if self._tag and tag != self._tag:
            self._count(number, "the run id changes {count:,} times: two runs in one file?")
        self._tag = tag

    def _count(self, number: int, reason: str) -> None:
        first, count = self._odd.get(reason, (number, 0))
        self._odd[reason] = (first, count + 1)


def _first_lines(path: Path) -> dict[tuple[bytes, bytes], int]:
    """Find the first line of each qid and docid: read only for a file that repeats one."""
    found: dict[tuple[bytes, bytes], int] = {}
    if not path.is_file():  # a pipe is used up
        return found
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            fields = line.split(None, 3)
            if len(fields) > 3:
                found.setdefault((fields[0], fields[2]), number)
    return found


def _judgement(number: int, line: bytes, faults: Strict, *, first: bool) -> tuple[str, str, int | None]:
    """Return qid, docid and grade of a line; no grade for a header."""
    decoded(number, line, faults)
    fields = [field.decode() for field in line.split()]
    if len(fields) not in (3, 4):
        hint = "; six columns are a run, not judgements" if len(fields) == 6 else ""
        faults.error(number, f"has {len(fields)} columns, judgements have four (qid 0 docid relevance) or three{hint}")
    qid, docid, grade = fields[0], fields[-2], fields[-1]
    try:
        if "_" in grade:
            raise ValueError
        relevance = int(grade)
    except ValueError:
        if first and len(fields) == 3 and grade.isalpha():
            return qid, docid, None
        faults.error(number, f"relevance {shown(grade)} is not a whole number")
    if abs(relevance) > LARGEST_GRADE:
        faults.error(number, f"relevance {shown(grade)} is not {GRADES}; scale the grades down")
    return qid, docid, relevance


def _json_topic(number: int, text: str, faults: Strict) -> Query:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        faults.error(number, "is not a JSON object")
    for name in ("_id", "text"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            faults.error(number, f"has no {name!r}")
    return _topic(number, row["_id"], row["text"], faults)


def _tsv_topic(number: int, text: str, faults: Strict) -> Query | None:
    fields = text.split("\t")
    if len(fields) != 2:
        faults.error(number, f"has {len(fields)} columns, a query has two (qid TAB text)")
    if number == 1 and fields[0].strip().lower() in _TOPIC_HEADERS:
        return None
    if not fields[1].strip():
        faults.error(number, f"query {shown(fields[0])} has no text")
    return _topic(number, fields[0], fields[1], faults)


def _topic(number: int, qid: str, text: str, faults: Strict) -> Query:
    for name, value in (("qid", qid), ("text", text)):
        if not encodable(value):
            faults.error(number, f"{name} {shown(value)} is not text that UTF-8 can write")
    try:
        return Query(column(qid.strip()), text.strip())
    except QueryError:
        faults.error(number, f"qid {shown(qid)} is empty or holds white space")


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise SourceError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise SourceError(f"{path}: is a folder; name a file") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _skip(file: BinaryIO, line: bytes) -> bool:
    """Read on to the end of a line that is too long; return whether it ends."""
    while line and line[-1:] != b"\n":
        line = file.readline(1 << 16)
    return bool(line)
