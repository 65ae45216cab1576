"""TREC files: read runs and judgements, with the line of every fault, and write runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path

from ..domain import Hit, Qrels, Run
from ..files import replacing, writable
from ..search.order import sort_hits
from .gzip_files import is_packed, packing
from .lines import Faults, Strict, lines
from .qrels import QrelsReader
from .runs import RunReader, ScoreTable, run_lines


def read_scores(path: Path, faults: Faults, *, submitted: bool = False) -> ScoreTable:
    """Read the scores of a run and report faults to ``faults``; leave out lines with errors.

    Only scores decide the order of hits, so gaps in ranks, rising scores and a second run id are only warnings. In a
    ``submitted`` run they are errors, because a submission must be one run with one order.
    """
    reader = RunReader(path, faults, submitted=submitted)
    for number, line in lines(path, faults):
        reader.take(number, line)
    reader.finish()
    return reader.table


def read_run(path: Path) -> Run:
    """Read a TREC run in the total order. Raises SourceError at the first faulty or repeated line."""
    table = read_scores(path, Strict(path))
    return {qid: rank_docs(docs) for qid, docs in table.items()}


def rank_docs(docs: dict[str, float]) -> list[Hit]:
    """Return the hits of a query by score, then docid, both descending, as trec_eval 10 sorts them."""
    return sort_hits(Hit(docid, score) for docid, score in docs.items())


def read_qrels(path: Path, note: Callable[[str], None] | None = None) -> Qrels:
    """Read judgements: TREC's ``qid 0 docid relevance``, or BEIR's three columns; commas and a header are allowed.

    A repeated judgement counts once, and ``note`` receives a message. Raises SourceError at the first line that is not
    a judgement, or contradicts an earlier one.
    """
    reader = QrelsReader(path)
    for number, line in lines(path, Strict(path)):
        reader.take(number, line)
    if note and reader.repeats:
        note(f"{path}:{reader.first_repeat}: {repeats_note(reader.repeats)}")
    return reader.finish()


def repeats_note(count: int) -> str:
    """Return a sentence on the number of lines that repeat a judgement."""
    return f"repeats a judgement; it counts once ({count:,} such {'line' if count == 1 else 'lines'})"


def write_run(run: Run, path: Path, tag: str) -> None:
    """Write a TREC run in the order of ``run``. Raises QueryError if an id or the tag cannot be a column."""
    write_text(path, (run_lines(qid, hits, tag) for qid, hits in run.items()))


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file with LF line ends, completely or not at all; pack it if its name ends in ``.gz``."""
    writable(path)
    content = b"".join(piece.encode("utf-8") for piece in pieces)
    with replacing(path) as file, packing(file) if is_packed(path) else nullcontext(file) as target:
        target.write(content)
