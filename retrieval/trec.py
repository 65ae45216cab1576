"""TREC's files: runs and judgements, read with the line of every fault and written to be read back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .domain import Hit, Qrels, Run
from .files import writable, write_atomically
from .lines import Faults, Strict, decoded, lines, shown
from .order import float32, ordered
from .run_reader import RunReader, ScoreTable
from .run_writer import run_lines

LARGEST_GRADE = 1_000
"""The largest relevance, and its negative the smallest: trec_eval allocates as many cells as the largest grade."""

GRADES = f"between -{LARGEST_GRADE:,} and {LARGEST_GRADE:,}"

_GRADES = {b"%d" % grade: grade for grade in range(4)}
"""The usual grades, as they are written: they need no closer look."""


def read_scores(path: Path, faults: Faults, *, submitted: bool = False) -> ScoreTable:
    """Read the scores of a run, telling ``faults`` of what is wrong; lines in error are left out.

    The rank column is not used: a run's order is by score as float32, then docid, both descending. So ranks with
    gaps, scores that rise and a second run id are warnings, but errors in a run that is to be ``submitted``: there the
    file has to say one order, and be one run.
    """
    reader = RunReader(path, faults, submitted=submitted)
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
    judged: dict[str, int] = {}
    before = b""
    for number, line in lines(path, faults):
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        grade: int | None
        if len(fields) == 4 and fields[3] in _GRADES:
            grade = _GRADES[fields[3]]
        else:
            grade = _grade(number, fields, faults, first=not qrels)
            if grade is None:
                continue
        try:
            qid, docid = fields[0].decode(), fields[-2].decode()
        except UnicodeDecodeError:
            decoded(number, line, faults)
            continue
        if fields[0] != before:
            judged, before = qrels.setdefault(qid, {}), fields[0]
        if docid in judged:
            where = _first_judged(path, fields[0], fields[-2])
            faults.error(number, f"docid {shown(docid)} of query {shown(qid)} was judged {where} already")
        judged[docid] = grade
    if not qrels:
        faults.error(0, "holds no judgements")
    return qrels


def write_run(run: Run, path: Path, tag: str) -> None:
    """Write a TREC run, its queries in the order of ``run``, in one piece or not at all.

    Raises QueryError if an id or the tag cannot stand in a column.
    """
    write_text(path, (run_lines(qid, hits, tag) for qid, hits in run.items()))


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file with LF line ends, in one piece or not at all.

    Raises QueryError if the folder does not exist or the file is not a regular one, MachineError if it cannot be
    written.
    """
    writable(path)
    write_atomically(path, b"".join(piece.encode("utf-8") for piece in pieces))


def _grade(number: int, fields: list[bytes], faults: Strict, *, first: bool) -> int | None:
    """Return the grade of a line; none for a header."""
    if len(fields) not in (3, 4):
        hint = "; six columns are a run, not judgements" if len(fields) == 6 else ""
        faults.error(number, f"has {len(fields)} columns, judgements have four (qid 0 docid relevance) or three{hint}")
    grade = fields[-1]
    try:
        if b"_" in grade:
            raise ValueError
        relevance = int(grade)
    except ValueError:
        if first and len(fields) == 3 and grade.isalpha():
            return None
        faults.error(number, f"relevance {shown(grade)} is not a whole number")
    if abs(relevance) > LARGEST_GRADE:
        faults.error(number, f"relevance {shown(grade)} is not {GRADES}; scale the grades down")
    return relevance


def _first_judged(path: Path, qid: bytes, docid: bytes) -> str:
    """Name the first line that judges a docid: read only for a file that judges one again."""
    if not path.is_file():  # a pipe is used up
        return "above"
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            fields = line.split()
            if len(fields) > 2 and (fields[0], fields[-2]) == (qid, docid):
                return f"on line {number}"
    return "above"
