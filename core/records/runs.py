"""Read runs in TREC format, with the place of every fault, and write runs from hits in the total
order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from operator import gt
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import ArrayLike

from ..domain import Hit, Run, ScoredDocids
from ..errors import QueryError
from ..files import replacing, writable
from ..order import float32, sort_hits
from .gzip_files import is_packed, open_unpacked, packing
from .lines import Faults, Strict, decode_line, lines, quote_value
from .table_shape import unlike_columns

LARGEST = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest score that can be written: it still rounds to a finite float32."""
ScoreTable = dict[str, dict[str, float]]
"""The score of each docid for each qid, in the order of the file; measures are computed from
this.
"""
_LONGEST_RANK = 9  # digits


@dataclass(slots=True)
class _Last:
    """The previous line of a query; ``shift`` is that line's rank minus the number of the query's
    lines so far.
    """

    score: float = math.inf
    name: bytes = b""
    shift: int = 0


def read_scores(path: Path, faults: Faults, *, submitted: bool = False) -> ScoreTable:
    """Read the scores of a run and report faults to ``faults``; leave out lines with errors.

    Only scores decide the order of hits, so gaps in ranks, rising scores and a second run id are
    only warnings. In a ``submitted`` run they are errors, because a submission must be one run with
    one order.
    """
    reader = _RunReader(path, faults, submitted=submitted)
    for number, line in lines(path, faults):
        reader.take(number, line)
    reader.finish()
    return reader.table


def read_run(path: Path) -> Run:
    """Read a TREC run in the total order.

    Raises SourceError at the first faulty or repeated line.
    """
    table = read_scores(path, Strict(path))
    return {qid: rank_docs(docs) for qid, docs in table.items()}


def rank_docs(docs: dict[str, float]) -> list[Hit]:
    """Return the hits of a query by score, then docid, both descending, as trec_eval 10 sorts
    them.
    """
    return sort_hits(Hit(docid, score) for docid, score in docs.items())


class _RunReader:
    def __init__(self, path: Path, faults: Faults, *, submitted: bool) -> None:
        self.path = path
        self.faults = faults
        self.table: ScoreTable = {}
        self._submitted = submitted
        self._qid = b""
        self._docs: dict[str, float] = {}
        self._last = _Last()
        self._lasts: dict[bytes, _Last] = {}
        self._tag = b""
        self._odd: dict[str, tuple[int, int]] = {}
        self._first_lines: dict[tuple[bytes, bytes], int] = {}

    def take(self, number: int, line: bytes) -> None:
        """Read one line of six columns; like trec_eval, ignore further columns and comments after
        #.
        """
        fields = line.split()
        if len(fields) != 6 or (fields[0] == b"#" and not _is_result(fields)):
            fields = self._mend(number, line, fields)
            if not fields:
                return
        qid, _, name, rank, score, tag = fields
        try:
            value = float(score)
        except ValueError:
            value = math.inf
        if not math.isfinite(value) or b"_" in score:
            header = (
                "; a run has no header"
                if number == 1 and score.isalpha() and rank.isalpha()
                else ""
            )
            comma = "; write a decimal point" * (b"," in score)
            header = comma or header or (unlike_columns(self.path) if number == 1 else "")
            self.faults.error(number, f"score {quote_value(score)} is not a finite number{header}")
            return
        try:
            docid = name.decode()
            if qid != self._qid:
                self._docs = self.table.setdefault(qid.decode(), {})
                self._qid, self._last = qid, self._lasts.setdefault(qid, _Last())
        except UnicodeDecodeError:
            decode_line(number, line, self.faults)
            return
        docs = self._docs
        if docid in docs:
            self._report_repeated(number, qid, name)
            return
        docs[docid] = value
        last = self._last
        if value > last.score or rank != b"%d" % (len(docs) + last.shift) or tag != self._tag:
            self._note_odd(number, value, rank, tag)
        if self._submitted and name > last.name and value == last.score:
            self._count(
                number,
                "equal scores with ascending docids: {count:,}; scoring sorts them in descending "
                "order",
            )
        last.score, last.name = value, name

    def finish(self) -> None:
        for reason, (number, count) in self._odd.items():
            self.faults.warning(number, reason.format(count=count))
        if not self.table:
            self.faults.error(0, "contains no results")

    def _mend(self, number: int, line: bytes, fields: list[bytes]) -> list[bytes]:
        if not fields:
            self._count(number, "blank lines: {count:,}")
        elif b"\r" in line:
            self.faults.error(
                number, "contains a carriage return: end the lines with a line feed (\\n)"
            )
        elif len(fields) > 6 and not line.startswith(b"#") and not self._submitted:
            self._count(
                number,
                "more than six columns on {count:,} lines; the columns after the sixth are ignored",
            )
            return fields[:6]
        elif not line.startswith(b"#"):
            hint = "; four columns are judgements, not a run" if len(fields) == 4 else ""
            hint = hint or (unlike_columns(self.path) if number == 1 else "")
            reason = (
                f"has {len(fields)} columns, but a run has six (qid Q0 docid rank score tag){hint}"
            )
            self.faults.error(number, reason)
        return []

    def _report_repeated(self, number: int, qid: bytes, docid: bytes) -> None:
        if not self._first_lines and self.path.is_file():  # a pipe cannot be read twice
            with open_unpacked(self.path) as file:
                for at, line in enumerate(file, 1):
                    fields = line.split(None, 3)
                    if len(fields) > 3:
                        self._first_lines.setdefault((fields[0], fields[2]), at)
        first = self._first_lines.get((qid, docid), 0)
        where = f"on line {first}" if first else "above"
        self.faults.error(
            number, f"docid {quote_value(docid)} of query {quote_value(qid)} is already {where}"
        )

    def _note_odd(self, number: int, value: float, rank: bytes, tag: bytes) -> None:
        before, self._tag = self._tag, self._tag or tag
        if self._submitted:
            self._refuse_odd(number, value, rank, tag)
            return
        if value > self._last.score:
            self._count(
                number,
                "scores that rise within a query: {count:,}; "
                "hits are ordered by score, not by line",
            )
        if rank != b"%d" % len(self._docs):
            self._count(
                number, "ranks that are not 1, 2, 3 … within a query: {count:,}; ranks are not used"
            )
        if before and tag != before:
            self._count(number, "the run id changes {count:,} times: two runs in one file?")
        self._tag = tag

    def _refuse_odd(self, number: int, value: float, rank: bytes, tag: bytes) -> None:
        """Report what is wrong in a line of a submission.

        The ranks of later lines must continue from its rank.
        """
        last = self._last
        if value > last.score:
            self.faults.error(
                number, f"score {value:g} rises above {last.score:g} on the line before"
            )
        due = len(self._docs) + last.shift
        if rank != b"%d" % due:
            if not rank.isdigit() or len(rank) > _LONGEST_RANK:
                self.faults.error(number, f"rank {quote_value(rank)} is not a whole number from 1")
            elif rank == b"0" and due == 1:
                self._count(number, "queries whose ranks start at 0: {count:,}; ranks are not used")
                last.shift = -len(self._docs)
            else:
                self.faults.error(
                    number,
                    f"rank {rank.decode()}, expected {due}: ranks must be 1, 2, 3 … per query",
                )
                last.shift = int(rank) - len(self._docs)
        if tag != self._tag:
            what = (
                f"run id {quote_value(tag)} differs from {quote_value(self._tag)} above: a "
                "file contains one run"
            )
            self.faults.error(number, what)

    def _count(self, number: int, reason: str) -> None:
        first, count = self._odd.get(reason, (number, 0))
        self._odd[reason] = (first, count + 1)


def _is_result(fields: list[bytes]) -> bool:
    """Return whether six words that start with # are a result of the query "#", not a comment."""
    try:
        int(fields[3])
        float(fields[4])
    except ValueError:
        return False
    return True


def run_lines(qid: str, hits: Iterable[Hit], tag: str) -> str:
    """Return the hits of one query as lines of a TREC run, each document once.

    Raises QueryError like :func:`column`.

    A program that reads the run gets the scores of :func:`best_documents`. Ranks follow the total
    order.
    """
    return runs_lines([(qid, best_documents(hits))], tag)[0]


def runs_lines(answers: Sequence[tuple[str, ScoredDocids]], tag: str) -> list[str]:
    """Return the lines of several queries as :func:`run_lines` does, in half the time of one call
    per query.
    """
    columns([tag, *(qid for qid, _ in answers)])
    columns(list(chain.from_iterable(ranking.docids for _, ranking in answers)))
    texts = iter(score_texts(list(chain.from_iterable(ranking.scores for _, ranking in answers))))
    lines = []
    for qid, (docids, _) in answers:
        pieces = [f" {tag}\n{qid} Q0 "] * (4 * len(docids))
        pieces[0::4] = docids
        pieces[1::4] = _ranks(len(docids))
        pieces[2::4] = islice(texts, len(docids))
        lines.append(f"{qid} Q0 {''.join(pieces[:-1])} {tag}\n" if pieces else "")
    return lines


def best_documents(hits: Iterable[Hit]) -> ScoredDocids:
    """Return docids and float32 scores in the total order; scores that differ stay different.

    The best passage represents a document. Raises QueryError if a score is not finite.
    """
    hits = list(hits)
    docids, exact = [hit.docid for hit in hits], [hit.score for hit in hits]
    if not all(-LARGEST <= score <= LARGEST for score in exact):
        raise QueryError("a score is not a finite number: a run cannot contain it")
    scores = float32(exact)
    if len(set(scores)) < len(set(exact)):
        scores = _told_apart(exact)
    keys = list(zip(scores, docids, strict=True))
    # Hits of a retriever are already in order; only rankings from elsewhere need sorting.
    if all(map(gt, keys, keys[1:])) and len(set(docids)) == len(docids):
        return ScoredDocids(docids, scores)
    best: dict[str, float] = {}
    for hit in sort_hits(
        Hit(hit.docid, score, hit.passage) for hit, score in zip(hits, scores, strict=True)
    ):
        best.setdefault(hit.docid, hit.score)
    return ScoredDocids(list(best), list(best.values()))


def _told_apart(scores: Sequence[float]) -> list[float]:
    """Return float32 scores that differ where ``scores`` differ: one that would equal the one above
    is lowered.
    """
    single, last = dict[float, float](), np.float32(np.inf)
    for score in sorted(set(scores), reverse=True):
        last = max(
            np.float32(-LARGEST), min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        )
        single[score] = float(last)
    return [single[score] for score in scores]


def score_texts(scores: ArrayLike) -> list[str]:
    """Return the text of each score as float32, without an exponent, in the fewest digits that give
    this float32.
    """
    narrow = np.asarray(scores, dtype=np.float32)
    if not len(narrow):
        return []
    texts = orjson.dumps(narrow, option=orjson.OPT_SERIALIZE_NUMPY).decode()[1:-1].split(",")
    for at in [at for at, digits in enumerate(texts) if "e" in digits]:
        texts[at] = np.format_float_positional(narrow[at], unique=True, trim="0")
    return texts


def column(value: str) -> str:
    """Return ``value``.

    Raises QueryError if it cannot be a column: empty, with white space, or not UTF-8.
    """
    if value.isascii() and value.isalnum():
        return value
    if not value or len(value.split()) != 1 or value.strip() != value or "\0" in value:
        what = "is empty or contains white space"
    elif not encodable(value):
        what = "cannot be encoded as UTF-8"
    else:
        return value
    raise QueryError(f"{quote_value(value)} {what}: it cannot be written to a column of a file")


def columns(values: Sequence[str]) -> None:
    """Check that values can be columns of a file, as :func:`column` does."""
    # A run has many ids: check all at once, and each alone only if that fails.
    # Printable text has no white space except spaces, and no surrogates.
    text = "".join(values)
    if " " in text or not text.isprintable() or not all(values):
        for value in values:
            column(value)


def encodable(text: str) -> bool:
    """Return whether UTF-8 can encode a text: it cannot encode a lone surrogate, which JSON's
    escapes allow.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=4)
def _ranks(count: int) -> tuple[str, ...]:
    return tuple(f" {rank} " for rank in range(1, count + 1))


def write_run(run: Run, path: Path, tag: str) -> None:
    """Write a TREC run in the order of ``run``.

    Raises QueryError if an id or the tag cannot be a column.
    """
    write_text(path, (run_lines(qid, hits, tag) for qid, hits in run.items()))


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file with LF line ends, completely or not at all; pack it if its name ends
    in ``.gz``.
    """
    writable(path)
    content = b"".join(piece.encode("utf-8") for piece in pieces)
    with replacing(path) as file, packing(file) if is_packed(path) else nullcontext(file) as target:
        target.write(content)
