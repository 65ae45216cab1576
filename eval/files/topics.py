"""Queries in the forms that people keep them in.

``qid TAB text`` without a header, a table with a header between tabs, commas or semicolons, JSON lines or a list of
objects, TREC's and XML's topics. Columns and keys are found by the names that they usually have; a header that is not
known is refused, so that it never becomes a query.

Topics between tags are read without an XML parser: the blocks of old topics are no XML, and a parser would follow what
a file declares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...retrieval.domain import Query
from ...retrieval.errors import QueryError
from ...retrieval.records.lines import Strict, shown
from ...retrieval.records.runs import column, encodable
from ...retrieval.records.table_shape import TableShape, column_at, column_name, continued, wrapper_advice
from ...retrieval.text import unescaped
from .answers import TaskQuery
from .tables import Numbered, Rows, rows_below, shape_of_lines, table_lines, unquoted

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
_ACCEPTED = "give lines of qid TAB text, CSV with a header, JSON lines, or TREC's topics"

_BLOCKS: tuple[str, ...] = ("top", "topic", "query")
_TAG = re.compile(r"<(?P<name>[a-z_]++)\b", re.I)
_ATTRIBUTE = re.compile(r"(?<![a-z_])(?P<name>[a-z_]++)\s*+=\s*+[\"'](?P<value>[^\"']*+)[\"']", re.I)
_LABEL = re.compile(r"^\s*(?:number|topic|title|description)\s*:\s*", re.I)
_TAGGED_QIDS = ("num", "number", "id", "qid", "topic_id", "query_id")
_TAGGED_TEXTS = ("query", "title", "text", "question", "desc", "description")


class _Draft(NamedTuple):
    """A query as its file has it, with the line that it begins on; what the file does not say is ``""``."""

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
    first_lines: dict[str, int] = {}
    queries: list[TaskQuery] = []
    for line, qid, text, date in _drafts(path, faults, quoting=quoting):
        if not text.strip():
            faults.error(line, f"query {shown(qid)} has no text")
        for name, value in (("qid", qid), ("text", text), ("date", date)):
            if not encodable(value):
                faults.error(line, f"{name} {shown(value)} is not text that UTF-8 can write")
        try:
            query = TaskQuery(column(qid.strip()), text.strip(), date=date.strip())
        except QueryError:
            faults.error(line, f"qid {shown(qid)} is empty or holds white space")
        if query.qid in first_lines:
            faults.error(line, f"query {shown(query.qid)} is on line {first_lines[query.qid]} already")
        first_lines[query.qid] = line
        queries.append(query)
    if not queries:
        faults.error(0, "holds no queries")
    return queries


def _drafts(path: Path, faults: Strict, *, quoting: bool) -> Iterator[_Draft]:
    numbered = table_lines(path, faults)
    filled = [(line, text) for line, text in numbered if text.strip()]
    shape = shape_of_lines(filled)
    match shape.form:
        case "empty":
            return
        case "JSON lines" | "JSON":
            yield from _of_objects(filled, faults)
        case "XML":
            topics = list(_marked_topics("".join(f"{text}\n" for _, text in numbered)))
            yield from (topic._replace(line=topic.line + numbered[0][0] - 1) for topic in topics)
            if not topics:
                faults.error(0, f"is XML without topics (<top> or <topic>); {_ACCEPTED}")
        case "tabs" | "commas" | "semicolons":
            yield from _of_table(path, numbered, filled, shape, faults, quoting=quoting)
        case _:
            faults.error(filled[0][0], f"has no tab between qid and text: the file {shape.sentence}; {_ACCEPTED}")


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
    cells = {
        column_name(name): str(value).strip()
        for name, value in row.items()
        if isinstance(value, str | int) and not isinstance(value, bool)
    }
    values: list[str] = []
    for names, kind in ((QIDS, "id"), (TEXTS, "text")):
        name = next((name for name in names if cells.get(name)), None)
        if name is None:
            there = next((repr(key) for key in row if column_name(key) in names), "")
            advice = wrapper_advice(row) or f"; its keys are {', '.join(row) or 'none'}, looked for {_list(names)}"
            faults.error(line, f"{item}has no {there or kind + advice}")
        values.append(cells[name])
    qid, text = values
    return _Draft(line, qid, text, next((cells[name] for name in DATES if cells.get(name)), ""))


def _of_table(
    path: Path, numbered: Numbered, filled: Numbered, shape: TableShape, faults: Strict, *, quoting: bool
) -> Iterator[_Draft]:
    delimiter = shape.delimiter
    header = _header(shape, filled[0][0], unquoted(filled, delimiter), faults)
    if header is not None:
        qid_at, text_at = header
        table = numbered[numbered.index(filled[0]) :]
        for line, cells in rows_below(path, table, delimiter, quoting=quoting):
            if len(cells) != len(shape.names):
                widths = f"has {len(cells)} columns, the header {len(shape.names)}"
                faults.error(line, f"{widths}: does a cell hold a line end")
            row = dict(zip(shape.names, cells, strict=True))
            date = next((row[name] for name in DATES if row.get(name)), "")
            yield _Draft(line, cells[qid_at].strip(), cells[text_at], date)
        return
    if delimiter != "\t":
        names = f"its first row is {shown(filled[0][1])}"
        faults.error(filled[0][0], f"{shape.sentence} and {names}: a table needs a header; {_NAMED}")
    for line, text in filled:
        cells = text.split("\t")
        if len(cells) != 2:
            hint = "; six columns are a run, not queries" if len(cells) == 6 else ""
            faults.error(line, f"has {len(cells)} columns, a query has two (qid TAB text){hint}")
        yield _Draft(line, *cells)


def _header(shape: TableShape, line: int, rows: Rows, faults: Strict) -> tuple[int, int] | None:
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
    # A first row names columns: words alone, above texts of several words with ids that hold digits.
    cells, below = shape.cells, rows[1:]
    words = all(cell.strip().replace("-", "_").isidentifier() for cell in cells) and len(cells[0].strip()) > 1
    texts = all(any(len(cell.split()) > 1 for cell in row) for _, row in below)
    if words and texts and below and not _has_digit(cells[0]) and all(_has_digit(row[0]) for _, row in below):
        lacking = "ids" if qid_at is None else "queries"
        known = f"no column of {lacking} among {', '.join(map(shown, cells))}"
        faults.error(line, f"is a header with {known}: looked for {_list(QIDS if qid_at is None else TEXTS)}; {_NAMED}")
    return None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _list(names: Sequence[str]) -> str:
    return ", ".join(name for name in names[:5] if name) + " …"


def _marked_topics(content: str) -> Iterator[_Draft]:
    """Yield the topics between tags: TREC's ``<top>`` blocks, whose fields end where the next begins, and XML's.

    The query is the title where there is no query. Each block ends with the first end of its tag; an end that was not
    found once is not looked for again.
    """
    tags, position, line, counted_to = _BLOCKS, 0, 1, 0
    while tags and (start := re.compile(rf"<({'|'.join(tags)})\b", re.I).search(content, position)):
        inner = content.find(">", start.end()) + 1
        if not inner:
            return
        end = re.compile(rf"</{re.escape(start[1])}\s*+>", re.I).search(content, inner)
        if not end:
            tags = tuple(tag for tag in tags if tag != start[1].lower())
            position = start.end()
            continue
        position = end.end()
        attributes, body = content[start.end() : inner - 1], content[inner : end.start()]
        fields = {name.lower(): _tagged_text(text) for name, text in _fields(body)}
        fields |= {match["name"].lower(): _tagged_text(match["value"]) for match in _ATTRIBUTE.finditer(attributes)}
        if not fields.keys() & set(_TAGGED_TEXTS) and "<" not in body:
            fields["text"] = _tagged_text(body)
        line += content.count("\n", counted_to, start.start())
        counted_to = start.start()
        qid, text = (
            next((fields[name] for name in names if fields.get(name)), "") for names in (_TAGGED_QIDS, _TAGGED_TEXTS)
        )
        yield _Draft(line, qid, text)


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the tags in a block, each with the text up to the next tag."""
    position = 0
    while tag := _TAG.search(body, position):
        inner = body.find(">", tag.end()) + 1
        if not inner:
            return
        following = body.find("<", inner)
        position = len(body) if following < 0 else following
        yield tag["name"], body[inner:position]


def _tagged_text(text: str) -> str:
    return " ".join(_LABEL.sub("", unescaped(text)).split())
