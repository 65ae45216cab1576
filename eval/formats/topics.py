"""Queries in the forms that people keep them in.

``qid TAB text`` without a header, a table with a header between tabs, commas or semicolons, JSON lines or a list of
objects, TREC's and XML's topics. Columns and keys are found by the names that they usually have; a header that is not
known is refused, so that it never becomes a query.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...retrieval.domain import Query
from ...retrieval.errors import QueryError
from ...retrieval.lines import Strict, shown
from ...retrieval.run_writer import column, encodable
from ...retrieval.table_shape import TableShape, column_at, column_name
from ...retrieval.wrapped import continued, wrapper_advice
from .marked_topics import marked_topics
from .queries import TaskQuery
from .table import Numbered, rows_below, shape_of_lines, table_lines, unquoted

QIDS = (
    *("qid", "query_id", "queryid", "_id", "id", "tweet_id", "tweetid", "id_str", "post_id", "claim_id", "claimid"),
    *("topic_id", "topicid", "topic", "number", "num", "nr", "no"),
)
"""The names of the column that holds the ids of queries."""

TEXTS = (
    *("query", "query_text", "text", "tweet_text", "tweet_content", "full_text", "tweet", "claim", "claim_text"),
    *("statement", "question", "title", "content", "contents", "sentence"),
)
"""The names of the column that holds their texts."""

DATES = ("date", "created_at", "claim_date")

_NAMED = "name them qid and query"


class _Draft(NamedTuple):
    """A query as its file has it, with its line number."""

    line: int
    qid: str
    text: str
    date: str = ""


def read_topics(path: Path) -> list[Query]:
    """Return the ids and texts of queries in their order.

    Raises SourceError at the first line that is no query, or repeats a qid.
    """
    return [Query(query.qid, query.text) for query in read_queries(path)]


def read_queries(path: Path, *, quoting: bool = False) -> list[TaskQuery]:
    """Return queries in their order, with their dates where the file has them.

    With ``quoting``, a cell of a table between tabs that has a header may stand in quotes.

    Raises SourceError at the first line that is no query, or repeats a qid.
    """
    faults = Strict(path)
    numbered = table_lines(path, faults)
    first_lines: dict[str, int] = {}
    queries: list[TaskQuery] = []
    for draft in _drafts(path, numbered, faults, quoting=quoting):
        query = _query(draft, faults)
        if query.qid in first_lines:
            faults.error(draft.line, f"query {shown(query.qid)} is on line {first_lines[query.qid]} already")
        first_lines[query.qid] = draft.line
        queries.append(query)
    if not queries:
        faults.error(0, "holds no queries")
    return queries


def _drafts(path: Path, numbered: Numbered, faults: Strict, *, quoting: bool) -> Iterator[_Draft]:
    filled = [(line, text) for line, text in numbered if text.strip()]
    shape = shape_of_lines(filled)
    match shape.form:
        case "empty":
            return
        case "JSON lines" | "JSON":
            yield from _of_objects(filled, faults)
        case "XML":
            yield from _of_markup(numbered, faults)
        case "tabs" | "commas" | "semicolons":
            yield from _of_table(path, numbered, shape, faults, quoting=quoting)
        case _:
            faults.error(filled[0][0], f"has no tab between qid and text: the file {shape.sentence}; {_accepted()}")


def _accepted() -> str:
    return "give lines of qid TAB text, CSV with a header, JSON lines, or TREC's topics"


def _of_markup(numbered: Numbered, faults: Strict) -> Iterator[_Draft]:
    start = numbered[0][0]
    any_topic = False
    for topic in marked_topics("".join(f"{text}\n" for _, text in numbered)):
        any_topic = True
        yield _Draft(topic.line + start - 1, topic.qid, topic.text)
    if not any_topic:
        faults.error(0, f"is XML without topics (<top> or <topic>); {_accepted()}")


def _of_objects(filled: Numbered, faults: Strict) -> Iterator[_Draft]:
    """Yield the queries of a list of objects that is one JSON value, or of an object a line."""
    if filled[0][1].lstrip().startswith("["):
        try:
            rows = json.loads("\n".join(text for _, text in filled))
        except (ValueError, RecursionError):
            faults.error(0, "is not a JSON list")
        for number, row in enumerate(rows, 1):
            yield _of_object(filled[0][0], row, faults, f"item {number} ")
        return
    for line, text in filled:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            faults.error(line, continued(text) or "is not a JSON object")
        yield _of_object(line, row, faults, "")


def _of_object(line: int, row: object, faults: Strict, item: str) -> _Draft:
    if not isinstance(row, dict):
        faults.error(line, f"{item}is not a JSON object")
    cells = {column_name(name): _cell(value) for name, value in row.items()}
    values: list[str] = []
    for names, kind in ((QIDS, "id"), (TEXTS, "text")):
        name = next((name for name in names if cells.get(name)), None)
        if name is None:
            there = next((repr(key) for key in row if column_name(key) in names), "")
            advice = wrapper_advice(row) or f"; its keys are {', '.join(row) or 'none'}, looked for {_list(names)}"
            looked = f"{kind}{advice}"
            faults.error(line, f"{item}has no {there or looked}")
        values.append(cells[name])
    qid, text = values
    return _Draft(line, qid, text, _date(cells))


def _cell(value: object) -> str:
    """Return a string or a whole number as text, and ``""`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


def _of_table(path: Path, numbered: Numbered, shape: TableShape, faults: Strict, *, quoting: bool) -> Iterator[_Draft]:
    filled = [(line, text) for line, text in numbered if text.strip()]
    delimiter = shape.delimiter
    header = _header(shape, filled[0][0], unquoted(filled, delimiter), faults)
    if header is None:
        if delimiter != "\t":
            names = f"its first row is {shown(filled[0][1])}"
            faults.error(filled[0][0], f"{shape.sentence} and {names}: a table needs a header; {_NAMED}")
        yield from _of_pairs(filled, faults)
        return
    qid_at, text_at = header
    table = numbered[numbered.index(filled[0]) :]
    for line, cells in rows_below(path, table, delimiter, quoting=quoting):
        if len(cells) != len(shape.names):
            faults.error(line, f"has {len(cells)} columns, the header {len(shape.names)}: does a cell hold a line end")
        row = dict(zip(shape.names, cells, strict=True))
        yield _Draft(line, cells[qid_at].strip(), cells[text_at], _date(row))


def _header(
    shape: TableShape, line: int, rows: Sequence[tuple[int, list[str]]], faults: Strict
) -> tuple[int, int] | None:
    """Return the columns of id and text by the names in the first row; ``None`` if that row is a query itself."""
    names = shape.names
    text_at = column_at(names, TEXTS)
    qid_at = column_at(names, QIDS)
    if qid_at is None and not names[0]:
        qid_at = 0  # pandas writes its index in a column without a name
    if qid_at == 0 and text_at is None and len(names) == 2:
        text_at = 1
    if qid_at is not None and text_at is not None:
        return qid_at, text_at
    if _looks_like_names(shape.cells, rows[1:]):
        lacking = "ids" if qid_at is None else "queries"
        known = f"no column of {lacking} among {', '.join(map(shown, shape.cells))}"
        faults.error(line, f"is a header with {known}: looked for {_list(QIDS if qid_at is None else TEXTS)}; {_NAMED}")
    return None


def _looks_like_names(cells: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Return whether a first row names columns: words alone, above texts of several words with ids that hold digits."""
    words = all(cell.strip().replace("-", "_").isidentifier() for cell in cells) and len(cells[0].strip()) > 1
    ids = [row[0] for _, row in rows]
    texts = all(any(len(cell.split()) > 1 for cell in row) for _, row in rows)
    return words and texts and bool(ids) and not _has_digit(cells[0]) and all(map(_has_digit, ids))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _of_pairs(filled: Numbered, faults: Strict) -> Iterator[_Draft]:
    """Yield the queries of lines of ``qid TAB text``."""
    for line, text in filled:
        cells = text.split("\t")
        if len(cells) != 2:
            hint = "; six columns are a run, not queries" if len(cells) == 6 else ""
            faults.error(line, f"has {len(cells)} columns, a query has two (qid TAB text){hint}")
        yield _Draft(line, *cells)


def _query(draft: _Draft, faults: Strict) -> TaskQuery:
    line, qid, text, date = draft
    if not text.strip():
        faults.error(line, f"query {shown(qid)} has no text")
    for name, value in (("qid", qid), ("text", text), ("date", date)):
        if not encodable(value):
            faults.error(line, f"{name} {shown(value)} is not text that UTF-8 can write")
    try:
        return TaskQuery(column(qid.strip()), text.strip(), date=date.strip())
    except QueryError:
        faults.error(line, f"qid {shown(qid)} is empty or holds white space")


def _date(row: Mapping[str, str]) -> str:
    return next((row[name] for name in DATES if row.get(name)), "")


def _list(names: Sequence[str]) -> str:
    return ", ".join(name for name in names[:5] if name) + " …"
