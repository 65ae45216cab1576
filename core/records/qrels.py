"""Read judgements in TREC and other formats, with the place of every fault; remember the judged
queries.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..domain import Qrels
from .lines import Strict, decode_line, lines, quote_value
from .model_file import State, array
from .names import QRELS, SUBTOPICS
from .table import split_row
from .table_shape import column_at, column_name, is_separator_line, unlike_columns

LARGEST_GRADE = 1_000
"""The largest relevance; the smallest is its negative. trec_eval allocates one cell per grade up to
the largest.
"""
GRADES = f"between -{LARGEST_GRADE:,} and {LARGEST_GRADE:,}"
# The usual grades in their written form, for a fast path.
_GRADES = {b"%d" % grade: grade for grade in range(4)}
_WHOLE = re.compile(rb"[+-]?[0-9]{1,20}(?:\.0{1,20})?")


Subtopics = dict[str, dict[str, dict[str, int]]]
"""The grade of each subtopic, by qid and docid."""


class SubtopicQrels(dict[str, dict[str, int]]):
    """Judgements of subtopics (aspects, intents) of queries, as TREC's tracks on diversity have
    them.

    As a mapping, they are plain judgements: a document has the highest grade of its subtopics.
    Measures of diversity, such as ``alpha_nDCG@10``, need ``subtopics``.
    """

    def __init__(self, qrels: Qrels, subtopics: Subtopics) -> None:
        super().__init__(qrels)
        self.subtopics = subtopics


def read_qrels(path: Path, note: Callable[[str], None] | None = None) -> Qrels:
    """Read judgements: TREC's ``qid 0 docid relevance``, or BEIR's three columns; commas and a
    header are allowed.

    If the second of TREC's columns, or a column ``subtopic``, names several subtopics, the result
    is :class:`SubtopicQrels`. A repeated judgement counts once, and ``note`` receives a message.
    Raises SourceError at the
    first line that is not a judgement, or contradicts an earlier one.
    """
    reader = _QrelsReader(path)
    for number, line in lines(path, reader.faults):
        reader.take(number, line)
    if note and reader.repeats:
        note(f"{path}:{reader.first_repeat}: {repeats_note(reader.repeats)}")
    if not reader.qrels:
        reader.faults.error(0, "contains no judgements")
    if reader.subtopics is None:
        return reader.qrels
    of_several = (len(grades) > 1 for docs in reader.subtopics.values() for grades in docs.values())
    if note and any(of_several):
        note(
            f"{path}: judges subtopics; a document has the highest grade of its subtopics, except "
            "in measures of diversity"
        )
    return SubtopicQrels(reader.qrels, reader.subtopics)


def repeats_note(count: int) -> str:
    """Return a sentence on the number of lines that repeat a judgement."""
    return (
        f"repeats a judgement; it counts once ({count:,} such {'line' if count == 1 else 'lines'})"
    )


class _QrelsReader:
    def __init__(self, path: Path) -> None:
        self.qrels: Qrels = {}
        self.repeats = 0
        self.first_repeat = 0
        self._path = path
        self.faults = Strict(path)
        self._delimiter = ""
        self._any = False
        self._width = 0  # the number of columns of the header, if there is one
        self._qid_at, self._docid_at, self._grade_at = 0, -2, -1
        self._before = b""
        self._judged: dict[str, int] = {}
        self.subtopics: Subtopics | None = None  # as soon as there is a second one
        self._subtopic_at: int | None = 1  # as TREC has it
        self._first_subtopic: bytes | None = None

    def take(self, number: int, line: bytes) -> None:
        """Read one line.

        Raises SourceError if it is not a judgement, or contradicts an earlier line.
        """
        if number == 1 and is_separator_line(line.decode("utf-8", "replace").rstrip("\r\n")):
            return
        fields = self._fields(number, line)
        if not fields:
            return
        if line.startswith(b"#") and (  # a qid may start with # too
            len(fields) not in (3, 4)
            or fields[0] == b"#"
            or not _WHOLE.fullmatch(fields[self._grade_at])
        ):
            return
        is_usual = len(fields) == 4 and self._grade_at == -1 and fields[3] in _GRADES
        grade = _GRADES[fields[3]] if is_usual else self._grade(number, fields, line)
        if grade is None:
            return
        self._any = True
        name, document = fields[self._qid_at], fields[self._docid_at]
        try:
            qid, docid = name.decode(), document.decode()
        except UnicodeDecodeError:
            decode_line(number, line, self.faults)
            return
        if name != self._before:
            self._judged, self._before = self.qrels.setdefault(qid, {}), name
        earlier = self._judged.get(docid)
        if self._subtopic_at is not None and len(fields) > 3:
            subtopic = fields[self._subtopic_at]
            if self.subtopics is not None or subtopic != self._first_subtopic:
                earlier = self._judge_subtopic((qid, docid), subtopic, grade, earlier)
        if earlier is not None:
            self._repeat(number, (name, document), grade, earlier)
        self._judged[docid] = max(grade, self._judged.get(docid, grade))

    def _repeat(self, number: int, ids: tuple[bytes, bytes], grade: int, earlier: int) -> None:
        """Count a repeated judgement; raise SourceError if it contradicts the ``earlier`` one."""
        if earlier != grade:
            name, document = ids
            what = (
                f"docid {quote_value(document)} of query {quote_value(name)} was judged "
                f"differently {self._first_judged(ids)}"
            )
            self.faults.error(number, what)
        self.repeats += 1
        self.first_repeat = self.first_repeat or number

    def _judge_subtopic(
        self, ids: tuple[str, str], name: bytes, grade: int, earlier: int | None
    ) -> int | None:
        """Remember the grade of a subtopic; return the grade that it had ``earlier``, if any."""
        if self._first_subtopic is None:
            self._first_subtopic = name
            return earlier
        qid, docid = ids
        if self.subtopics is None:
            first = self._first_subtopic.decode("utf-8", "replace")
            self.subtopics = {
                judged_qid: {judged_docid: {first: known} for judged_docid, known in judged.items()}
                for judged_qid, judged in self.qrels.items()
            }
        grades = self.subtopics.setdefault(qid, {}).setdefault(docid, {})
        subtopic = name.decode("utf-8", "replace")
        before = grades.get(subtopic)
        grades[subtopic] = grade
        return before

    def _fields(self, number: int, line: bytes) -> list[bytes]:
        """Split a line at spaces or, if the first line is a table row, at commas, semicolons or
        tabs.
        """
        if not self._any and not self._delimiter:
            self._delimiter = _delimiter(line)
        if not self._delimiter:
            return line.split()
        try:
            # A judgement is one line: no id contains a line end.
            text = line.decode("utf-8", "surrogateescape")
            row = split_row(text, self._delimiter, blanks=True)
        except csv.Error:
            self.faults.error(
                number, f"is not a row of a table with {self._delimiter!r} between its columns"
            )
        return [cell.strip().encode("utf-8", "surrogateescape") for cell in row] if any(row) else []

    def _grade(self, number: int, fields: list[bytes], line: bytes) -> int | None:
        """Return the grade of a line; None for a header."""
        if self._width not in (0, len(fields)):
            self.faults.error(
                number, f"has {len(fields)} columns, but the header has {self._width}"
            )
        if len(fields) not in (3, 4):
            is_run = len(fields) == 6 and not _is_json(line)
            hint = "; six columns are a run, not judgements" if is_run else ""
            hint = hint or (unlike_columns(self._path) if not self._any else "")
            layout = "judgements have four (qid 0 docid relevance) or three"
            self.faults.error(number, f"has {len(fields)} columns, but {layout}{hint}")
        text = fields[self._grade_at]
        if not _WHOLE.fullmatch(text):
            if not self._any and _is_name(fields[-1]):
                self._take_header(
                    number, [column_name(field.decode("utf-8", "replace")) for field in fields]
                )
                return None
            hint = unlike_columns(self._path) if not self._any and _is_json(line) else ""
            self.faults.error(number, f"relevance {quote_value(text)} is not a whole number{hint}")
        grade = int(text.partition(b".")[0])
        if abs(grade) > LARGEST_GRADE:
            self.faults.error(
                number, f"relevance {quote_value(text)} is not {GRADES}; scale the grades down"
            )
        for kind, at in (("qid", self._qid_at), ("docid", self._docid_at)):
            if len(fields[at].split()) != 1:
                self.faults.error(
                    number, f"{kind} {quote_value(fields[at])} is empty or contains white space"
                )
        return grade

    def _take_header(self, number: int, names: list[str]) -> None:
        self._any, self._width = True, len(names)
        at = {kind: column_at(names, known) for kind, known in QRELS.items()}
        for kind, place in at.items():
            if place is None:
                there, known = ", ".join(map(quote_value, names)), ", ".join(QRELS[kind])
                what = (
                    f"is a header without a column for {kind}: it has {there}; known names are "
                    f"{known}"
                )
                self.faults.error(number, what)
        self._qid_at, self._docid_at, self._grade_at = (at[kind] or 0 for kind in QRELS)
        self._subtopic_at = column_at(names, SUBTOPICS)

    def _first_judged(self, ids: tuple[bytes, bytes]) -> str:
        """Return the place of the first line that judges a docid; this reads the file again."""
        if self._path.is_file():  # a pipe cannot be read twice
            for at, line in lines(self._path, self.faults):
                fields = self._fields(at, line)
                if len(fields) > 2 and (fields[self._qid_at], fields[self._docid_at]) == ids:
                    return f"on line {at}"
        return "above"


def _is_json(line: bytes) -> bool:
    return line.lstrip().startswith((b"{", b"["))


def _delimiter(line: bytes) -> str:
    """Return the column separator of a table that starts with this line, "" for spaces."""
    words = line.split()
    for mark in (b",", b";", b"\t"):
        cells = line.split(mark)
        if len(cells) not in (3, 4):
            continue
        # Spaces may surround commas, and an id between spaces may contain commas.
        separates = len(words) == 1 or (
            any(word.startswith(mark) or word.endswith(mark) for word in words)
            and all(len(cell.split()) == 1 for cell in cells)
        )
        # Pandas leaves the name of its index empty.
        named = cells if cells[0].strip() else cells[1:]
        if all(map(_is_name, named)) or (separates and mark != b"\t"):
            return mark.decode()
    return ""


def _is_name(cell: bytes) -> bool:
    return not set(cell.strip().translate(None, b"_- \"'")).intersection(b"0123456789") and bool(
        cell.strip()
    )


NAMES = (
    "nearest judged query",
    "judged queries alike",
    "judged queries alike, of many",
    "terms covered by judged queries",
)


class JudgedQueries:
    """The terms of judged queries, and the queries that each document answers."""

    def __init__(
        self, queries: Sequence[frozenset[str]], answered: Mapping[str, Sequence[int]]
    ) -> None:
        """Remember queries by their terms; ``answered`` maps a docid to the numbers of the queries
        that it answers.
        """
        self._queries = tuple(queries)
        self._answered = {docid: tuple(numbers) for docid, numbers in answered.items()}
        self._holding: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(self._queries):
            for term in terms:
                self._holding[term].append(number)
        self._lengths = [self._length(terms) for terms in self._queries]

    @classmethod
    def of(cls, terms: Mapping[str, frozenset[str]], qrels: Qrels) -> Self:
        """Remember queries, by qid, with their relevant documents."""
        answered: dict[str, list[int]] = defaultdict(list)
        for number, qid in enumerate(terms):
            for docid, grade in qrels[qid].items():
                if grade > 0:
                    answered[docid].append(number)
        return cls(list(terms.values()), answered)

    def features(
        self, terms: frozenset[str], docids: Sequence[str], without: int | None = None
    ) -> NDArray[np.float64]:
        """Return the features of documents, shape (docids, NAMES); ``without`` is the number of a
        query to ignore.
        """
        alike = self._alike(terms, without)
        total = math.fsum(self._weight(term) for term in sorted(terms)) or 1.0
        rows = np.zeros((len(docids), len(NAMES)))
        for row, docid in enumerate(docids):
            numbers = [number for number in self._answered.get(docid, ()) if number in alike]
            if not numbers:
                continue
            near = [alike[number] for number in numbers]
            squares = math.fsum(value * value for value in near)
            covered = terms.intersection(
                term for number in numbers for term in self._queries[number]
            )
            rows[row] = (
                max(near),
                squares,
                squares / math.sqrt(1 + len(self._answered[docid])),
                math.fsum(self._weight(term) for term in sorted(covered)) / total,
            )
        return rows

    def state(self) -> State:
        """Return the terms and documents of all queries."""
        vocabulary = sorted(self._holding)
        number_of = {term: number for number, term in enumerate(vocabulary)}
        queries = [sorted(number_of[term] for term in terms) for terms in self._queries]
        return State(
            {"judged terms": vocabulary, "judged docids": list(self._answered)},
            {**_lists("queries", queries), **_lists("answered", list(self._answered.values()))},
        )

    def _alike(self, terms: frozenset[str], without: int | None) -> dict[int, float]:
        shared: dict[int, float] = defaultdict(float)
        for term in sorted(terms):
            square = self._weight(term) ** 2
            for number in self._holding.get(term, ()):
                shared[number] += square
        shared.pop(-1 if without is None else without, None)
        length = self._length(terms)
        return {
            number: value / (length * self._lengths[number]) for number, value in shared.items()
        }

    def _length(self, terms: frozenset[str]) -> float:
        return math.sqrt(math.fsum(self._weight(term) ** 2 for term in sorted(terms))) or 1.0

    def _weight(self, term: str) -> float:
        return math.log(1 + len(self._queries) / (0.5 + len(self._holding.get(term, ()))))


def restore_judged(state: State) -> JudgedQueries:
    """Return the judged queries of a state. Raises ValueError if its parts do not fit together."""
    vocabulary, docids = state.settings["judged terms"], state.settings["judged docids"]
    if not all(isinstance(text, str) for text in (*vocabulary, *docids)):
        raise ValueError("a term or docid is not text")
    queries = list(_divide(state, "queries", len(vocabulary)))
    answered = list(_divide(state, "answered", len(queries)))
    terms = [frozenset(vocabulary[number] for number in numbers) for numbers in queries]
    return JudgedQueries(terms, dict(zip(docids, answered, strict=True)))


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int32]]:
    joined, sizes = list(chain.from_iterable(lists)), list(map(len, lists))
    return {
        name: np.array(joined, dtype=np.int32),
        f"{name} sizes": np.array(sizes, dtype=np.int32),
    }


def _divide(state: State, name: str, limit: int) -> Iterator[list[int]]:
    joined, sizes = (
        array(state, name, np.int32, None),
        array(state, f"{name} sizes", np.int32, None),
    )
    if (sizes < 0).any() or sizes.sum() != len(joined) or ((joined < 0) | (joined >= limit)).any():
        raise ValueError(f"{name} do not fit")
    yield from (part.tolist() for part in np.split(joined, np.cumsum(sizes)[:-1])[: len(sizes)])
