"""Queries: lines of ``qid TAB text``, tables with a header, JSON lines, a list of JSON objects,
topics of TREC or XML.

Columns and keys are found by their usual names. A header with unknown names is an error, so that it
never becomes a query. Topics have their own parser: old ones are not valid XML, and an XML parser
would follow declarations of a file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.domain import Query
from ...core.errors import QueryError
from ...core.records.columns import plain_name
from ...core.records.json_lines import read_objects
from ...core.records.lines import Strict, quote_value
from ...core.records.names import ANY_TABLE, QUERIES, TAGGED_QUERIES, TWEETS, VERIFIED_CLAIMS
from ...core.records.runs import column, encodable
from ...core.records.table import read_loose_rows
from ...core.records.table_shape import (
    TableShape,
    column_at,
    column_name,
    wrapper_advice,
)
from ...core.records.tweet_objects import tweets_in, whole_file
from ...core.text import unescape
from .answers import TaskQuery
from .tables import (
    Numbered,
    Rows,
    cell_of,
    finite,
    shape_of_lines,
    split_lines,
    table_lines,
    whole,
)

_QIDS = QUERIES["qid"]
_TEXTS = QUERIES["text"]
_DATES = QUERIES["date"]
_TAGGED_QIDS = TAGGED_QUERIES["qid"]
_TAGGED_TEXTS = TAGGED_QUERIES["text"]

_NAMED = "name two columns qid and query"
_ACCEPTED = "give lines of qid TAB text, CSV with a header, JSON lines, or TREC's topics"

_COLUMN_NAME = re.compile(r"[^\W\d][\w.-]*(?: [\w.-]+)?")
"""The name of a column: one or two words, which begin with a letter."""
_IN_QUOTES = re.compile(r'"(?:[^"\t]|"")*"\t"(?:[^"\t]|"")*"\s*')
"""A row of two cells in quotes."""
_USUAL_NAMES = frozenset(
    plain_name(name)
    for names in (ANY_TABLE, QUERIES, TWEETS, VERIFIED_CLAIMS)
    for each in names.values()
    for name in each
    if name
)
_BLOCKS = ("top", "topic", "query")
"""The elements that can hold a topic.

The first of them that occurs in a file holds its topics, not the others.
"""
_KNOWN = frozenset((*_TAGGED_QIDS, *_TAGGED_TEXTS))
_MARKUP = frozenset(
    "a abbr b big br cite code em font i img li math p q s small span strike strong sub sup tt u "
    "ul".split()
)
"""Elements of HTML that occur in texts: the parser drops their tags and keeps their texts."""
_PIECE = re.compile(
    r"<!--(?:.*?-->|.*\Z)|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][a-z0-9_.:-]*+)(?P<attributes>(?:(?:\s++|(?<=[\"']))[a-z_:][a-z0-9_.:-]*+\s*+=\s*+"
    r"(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'<>=/“”„‘’«»]++))*)\s*+/?>",
    re.I | re.S,
)
_ATTRIBUTE = re.compile(
    r"([a-z_:][a-z0-9_.:-]*+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>=/“”„‘’«»]++))", re.I
)
_BROKEN_NAMES = "|".join((*_BLOCKS, *sorted(_KNOWN)))
_BROKEN_TAG = re.compile(
    rf"<(?:/?(?:{_BROKEN_NAMES})(?:\s++[a-z]|\s*+(?:[>/<]|\Z))|\s++(?:{_BROKEN_NAMES})(?:\s++[a-z]+\s*+=|\s*+>))",
    re.I,
)
"""A broken tag of a topic or a field, in the text between the tags."""
_LANGUAGE = re.compile(r"^[a-z]{2}-(?=[a-z])")  # the prefix of the names of fields in CLEF's topics
_LABEL = re.compile(r"^\s*(?:number|topic|title|description)\s*:\s*", re.I)
# What is before a tag that is the first on its line.
_LINE_START = re.compile(r"(?:\A|\n[^\S\n]*)\Z")


_Draft = tuple[int, TaskQuery]  # a query as its file has it, with the number of its first line


def read_topics(path: Path) -> list[Query]:
    """Return ids and texts of queries in their order; raise SourceError at the first invalid or
    repeated query.
    """
    return [Query(query.qid, query.text) for query in read_queries(path)]


def read_queries(path: Path, *, quoting: bool = False) -> list[TaskQuery]:
    """Return queries in their order, with their dates if the file has them.

    With ``quoting``, cells may be in quotes in a table that has tabs and a header. Raises
    SourceError at the first line that is not a query or repeats a qid.
    """
    faults = Strict(path)
    first_lines: dict[str, int] = {}
    queries: list[TaskQuery] = []
    for line, (qid, text, _, date) in _drafts(path, faults, quoting=quoting):
        if not text.strip():
            faults.error(line, f"query {quote_value(qid)} has no text")
        for name, value in (("qid", qid), ("text", text), ("date", date)):
            if not encodable(value):
                faults.error(line, f"{name} {quote_value(value)} cannot be encoded as UTF-8")
        try:
            query = TaskQuery(column(qid.strip()), text.strip(), date=date.strip())
        except QueryError:
            faults.error(line, f"qid {quote_value(qid)} is empty or contains white space")
        if query.qid in first_lines:
            faults.error(
                line, f"query {quote_value(query.qid)} is already on line {first_lines[query.qid]}"
            )
        first_lines[query.qid] = line
        queries.append(query)
    if not queries:
        faults.error(0, "contains no queries")
    return queries


def _drafts(path: Path, faults: Strict, *, quoting: bool) -> Iterator[_Draft]:
    numbered = table_lines(path, faults)
    filled = [(line, text) for line, text in numbered if text.strip()]
    if (tweets := whole_file("\n".join(text for _, text in filled))) is not None:
        for number, tweet in enumerate(tweets, 1):
            yield _of_object(filled[0][0], tweet, faults, f"tweet {number} ")
        return
    shape = shape_of_lines(filled)
    match shape.form:
        case "empty":
            return
        case "JSON lines" | "JSON":
            yield from _of_objects(filled, faults)
        case "XML":
            yield from _marked_topics(
                "".join(f"{text}\n" for _, text in numbered), numbered[0][0], faults
            )
        case "tabs" | "commas" | "semicolons":
            yield from _of_table(numbered, filled, shape, faults, quoting=quoting)
        case _:
            faults.error(
                filled[0][0],
                f"has no tab between qid and text: the file {shape.sentence}; {_ACCEPTED}",
            )


def _of_objects(filled: Numbered, faults: Strict) -> Iterator[_Draft]:
    if filled[0][1].lstrip().startswith("["):
        try:
            rows = json.loads("\n".join(text for _, text in filled))
        except (ValueError, RecursionError):
            faults.error(0, "is not a JSON list")
        for number, row in enumerate(rows, 1):
            for tweet in tweets_in(row) if isinstance(row, dict) else [row]:
                yield _of_object(filled[0][0], tweet, faults, f"item {number} ")
        return
    for line, row in read_objects(filled, faults, "any"):
        for tweet in tweets_in(row):
            yield _of_object(line, tweet, faults, "")


def _of_object(line: int, row: object, faults: Strict, item: str) -> _Draft:
    if not isinstance(row, Mapping):
        faults.error(line, f"{item}is not a JSON object")
    cells = {
        column_name(name): cell_of(value).strip()
        for name, value in row.items()
        if not isinstance(value, bool)
    }
    values: list[str] = []
    for names, kind in ((_QIDS, "id"), (_TEXTS, "text")):
        name = next((name for name in names if cells.get(name)), None)
        if name is None:
            there = next((repr(key) for key in row if column_name(key) in names), "")
            advice = (
                wrapper_advice(row)
                or f"; its keys are {', '.join(row) or 'none'}; expected {_list(names)}"
            )
            faults.error(line, f"{item}has no {there or kind + advice}")
        values.append(cells[name])
    qid, text = values
    date = next((cells[name] for name in _DATES if cells.get(name)), "")
    return line, TaskQuery(qid, text, date=date)


def _of_table(
    numbered: Numbered,
    filled: Numbered,
    shape: TableShape,
    faults: Strict,
    *,
    quoting: bool,
) -> Iterator[_Draft]:
    delimiter = shape.delimiter
    header = _header(shape, filled[0][0], split_lines(filled, delimiter), faults)
    tabs = [text.count("\t") for _, text in filled]
    if header == (0, 1) and delimiter == "\t" and tabs[0] == min(tabs) == 1 < max(tabs):
        header, filled = None, filled[1:]  # everything after the first tab is the text
    if header is not None:
        qid_at, text_at = header
        table = numbered[numbered.index(filled[0]) :]
        for line, cells in read_loose_rows(table, delimiter, faults, quoting=quoting):
            if len(cells) != len(shape.names):
                widths = f"has {len(cells)} columns, but the header has {len(shape.names)}"
                faults.error(line, f"{widths}; a cell may contain a line end")
            row = dict(zip(shape.names, cells, strict=True))
            date = next((row[name] for name in _DATES if row.get(name)), "")
            yield line, TaskQuery(cells[qid_at].strip(), cells[text_at], date=date)
        return
    if delimiter != "\t":
        names = f"its first row is {quote_value(filled[0][1])}"
        faults.error(
            filled[0][0], f"{shape.sentence} and {names}: a table needs a header; {_NAMED}"
        )
    if all(_is_of_run(text) for _, text in filled):
        two = "a query has two (qid TAB text)"
        faults.error(filled[0][0], f"has 6 columns, but {two}; six columns are a run, not queries")
    if columns := _constant_columns(filled):
        faults.error(
            filled[0][0],
            f"the rows have {columns} columns, but a query has two (qid TAB text): name the "
            f"columns in a first line, two of them qid and query",
        )
    yield from _of_lines(filled, faults)


def _of_lines(filled: Numbered, faults: Strict) -> Iterator[_Draft]:
    """Yield the queries of lines of qid, tab and text; quotes are a part of them unless they are
    around every qid and every text.
    """
    in_quotes = all(_IN_QUOTES.fullmatch(written) for _, written in filled)
    for line, written in filled:
        qid, tab, rest = written.partition("\t")
        if not tab:
            faults.error(line, "has one column, but a query has two (qid TAB text)")
        if in_quotes:
            qid, rest = (cell.strip()[1:-1].replace('""', '"') for cell in (qid, rest))
        yield line, TaskQuery(qid, " ".join(rest.split("\t")))


def _header(shape: TableShape, line: int, rows: Rows, faults: Strict) -> tuple[int, int] | None:
    """Return the columns of id and text by the names in the first row; ``None`` if that row is
    itself a query.
    """
    names = shape.names
    text_at = column_at(names, _TEXTS)
    qid_at = column_at(names, _QIDS)
    if qid_at is None and not names[0]:
        qid_at = 0  # pandas writes its index in a column without a name
    if qid_at == 0 and text_at is None and len(names) == 2:
        text_at = 1
    if qid_at is not None and text_at is not None:
        return qid_at, text_at
    if _is_unknown_header(shape, rows):
        lacking = "ids" if qid_at is None else "queries"
        known = f"no column of {lacking}, only {', '.join(map(quote_value, shape.cells))}"
        faults.error(
            line,
            f"is a header with {known}: expected {_list(_QIDS if qid_at is None else _TEXTS)}; "
            f"{_NAMED}",
        )
    return None


def _is_unknown_header(shape: TableShape, rows: Rows) -> bool:
    """Return whether the first row names columns, although none or only one of them is known.

    All of its cells are single words, and every row below has a text of several words. Besides, the
    row has more than two columns, one of its cells is a usual name of a column, the first cells
    below are numbers, or its first cell has no digit, whereas those below do or are several.
    """
    names, below = shape.names, rows[1:]
    words = all(_COLUMN_NAME.fullmatch(cell.strip()) for cell in shape.cells)
    texts = all(any(len(cell.split()) > 1 for cell in row) for _, row in below)
    if not (words and texts and below and len(set(names)) == len(names)):
        return False
    digits = [any(map(str.isdigit, row[0])) for row in (shape.cells, *(row for _, row in below))]
    numbers_below = all(row[0].strip().isdecimal() for _, row in below)
    is_apart = not digits[0] and (all(digits[1:]) or len(below) > 1)
    ids_below = len(names[0]) > 1 and (numbers_below or is_apart)
    usual = not _USUAL_NAMES.isdisjoint(map(plain_name, names))
    return ids_below or usual or len(names) > 2


def _is_of_run(line: str) -> bool:
    """Return whether a line has the columns of a run, whose fourth and fifth are numbers."""
    cells = line.split("\t")
    return len(cells) == 6 and whole(cells[3].strip()) is not None and finite(cells[4]) is not None


def _constant_columns(filled: Numbered) -> int:
    """Return the number of columns of a table without a header, 0 if the lines form none.

    Most rows have the same number of columns, and that is more than two. Fewer rows with further
    tabs have them in their texts.
    """
    counts = Counter(text.count("\t") + 1 for _, text in filled)
    ((columns, frequency),) = counts.most_common(1)
    return columns if columns > 2 and len(filled) > 1 and frequency * 2 > len(filled) else 0


def _list(names: Sequence[str]) -> str:
    return ", ".join(name for name in names[:5] if name) + " …"


class _Piece(NamedTuple):
    """A tag or a stretch of text. For text, ``name`` is ``""``; ``end`` marks a closing tag."""

    line: int
    text: str
    name: str = ""
    end: bool = False
    attributes: str = ""


def _marked_topics(content: str, first_line: int, faults: Strict) -> Iterator[_Draft]:
    """Yield the topics between tags: TREC's ``<top>`` blocks, whose fields need no end tag, and XML
    topics.

    A block ends at its end tag, at the next block, or at the end of the file; without an id or a
    text, it is a fault. Of fields with the same name, the first counts. A field of an id outside of
    blocks is a fault, except ``<id>``.
    """
    pieces = list(_pieces(content, first_line, faults))
    names = {piece.name for piece in pieces if not piece.end}
    block = next((name for name in _BLOCKS if name in names), "")
    if not block:
        faults.error(0, f"is XML without topics (<top> or <topic>); {_ACCEPTED}")
    opened: int | None = None
    for at, piece in enumerate(pieces):
        if piece.name == block and opened is not None:
            yield _topic(pieces[opened:at], faults)
        if piece.name == block:
            opened = None if piece.end else at
        elif opened is None and not piece.end and piece.name in _TAGGED_QIDS and piece.name != "id":
            faults.error(
                piece.line,
                f"<{piece.name}> is outside a <{block}>; the block's start tag may be mistyped",
            )
    if opened is not None:
        yield _topic(pieces[opened:], faults)


def _pieces(content: str, line: int, faults: Strict) -> Iterator[_Piece]:
    """Yield the tags and texts of a file in order; broken tags, and comments or CDATA without an
    end, are faults.
    """
    position = 0
    for match in (*_PIECE.finditer(content), None):
        before = content[position : match.start() if match else None]
        if broken := _BROKEN_TAG.search(before):
            at = line + before.count("\n", 0, broken.start())
            written = quote_value(before[broken.start() :].partition("\n")[0])
            faults.error(
                at,
                f"{written} cannot be read as a tag; close it, and write each attribute as "
                'name="value"',
            )
        if before:
            yield _Piece(line, unescape(before))
        if match is None:
            return
        line += before.count("\n")
        if match["name"]:
            name = _LANGUAGE.sub("", match["name"].lower())
            yield _Piece(line, match[0], name, bool(match["end"]), match["attributes"])
        elif match[0].startswith("<![CDATA[") and not match[0].endswith("]]>"):
            faults.error(
                line, "<![CDATA[ does not end before the end of the file; close it with ]]>"
            )
        elif match["cdata"]:
            yield _Piece(line, match["cdata"])
        elif match[0].startswith("<!--") and (
            "<!--" in match[0][4:] or not match[0].endswith("-->")
        ):
            ends = "a comment does not end before the next comment or the end of the file"
            faults.error(line, f"{ends}; close it with -->")
        line += match[0].count("\n")
        position = match.end()


def _topic(pieces: Sequence[_Piece], faults: Strict) -> _Draft:
    start = pieces[0]
    fields = _fields(pieces[1:])
    for key, *values in _ATTRIBUTE.findall(start.attributes):
        fields[key.lower()] = " ".join(unescape("".join(values)).split())
    found: list[str] = []
    for kind, wanted in (("id", _TAGGED_QIDS), ("text", _TAGGED_TEXTS)):
        value = next((fields[name] for name in wanted if fields.get(name)), "")
        if not value:
            there = ", ".join(name for name in fields if name != "text") or "none"
            query = f"query {quote_value(found[0])}" if found else f"the <{start.name}>"
            faults.error(
                start.line,
                f"{query} has no {kind}: its fields are {there}; expected {', '.join(wanted)}",
            )
        found.append(value)
    return start.line, TaskQuery(*found)


def _fields(pieces: Sequence[_Piece]) -> dict[str, str]:
    """Return the texts of a block's fields by name; text outside of fields has the name ``text``.

    A field with an end tag reaches to that tag, and every tag in it is markup. Any other ends where
    another field begins: at a tag that is closed later, has a known name, or is the first on its
    line.
    """
    fields: dict[str, str] = {}
    ends = Counter(piece.name for piece in pieces if piece.end)
    name, closed, texts = "text", False, list[str]()
    for piece in [*pieces, _Piece(0, "", "text", end=False)]:
        if not piece.name:
            texts.append(piece.text)
            continue
        if piece.end:
            ends[piece.name] -= 1
            following = "text" if piece.name == name else ""
        elif closed or piece.name in _MARKUP:
            texts.append(" " if piece.name in ("br", "li", "p") else "")
            following = ""
        elif (
            ends[piece.name] > 0 or piece.name in _KNOWN or _LINE_START.search("".join(texts[-1:]))
        ):
            following = piece.name
        else:
            texts.append(piece.text)
            following = ""
        if following:
            text = " ".join(_LABEL.sub("", "".join(texts)).split())
            if text:
                fields.setdefault(name, text)
            name, closed, texts = following, not piece.end and ends[piece.name] > 0, []
    return fields
