"""Snippets of text: a table with or without a header, JSON lines, or the passages file of CheckThat! 2019.

A line that begins with ``{`` in the first place makes a file JSON lines. A table is separated by tabs, or by commas or
semicolons if its first line names the columns; without such a line columns are ``id text`` or ``id topic text``. Quotes
have no meaning between tabs, but in a file that was plainly saved with them, as spreadsheets do. The topic and the page
of a snippet come from its id where that names them and the source does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

from ...retrieval.errors import SourceError
from ...retrieval.records.table_shape import SAVE_AS_UTF8, Form, TableShape, shape_of_start, wrapper_advice
from . import Files, ReadOptions, Record
from ._checkthat import page_of, topic_of
from ._documents import make_record, named_fields
from ._files import expand
from ._foreign import is_table, kind_for, refuse_binary, remedy_for, start_of
from ._lines import json_name, parse_json_object, read_lines, read_table
from ._quoting import is_quoted

SUMMARY = "text snippets: TSV or JSON lines with id and text, and optionally topic, page, url, title, date"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
_IDS = ("id", "docid", "snippet_id")
_TABLES: tuple[Form, ...] = ("tabs", "commas", "semicolons")
FILES: tuple[Files, ...] = (
    *((form, frozenset(both)) for form in _TABLES for both in product(_IDS, ("text", "snippet"))),
    *((form, frozenset({"snippetid"})) for form in _TABLES),
    ("JSON lines", frozenset({"snippet_id"})),
    ("JSON lines", frozenset({"pageid", "paragraphs"})),
)

# Names of columns and keys, written in any case and with any of "_", "-" or a space between words.
_NAMES = {
    "snippetid": "docid",
    "docid": "docid",
    "parid": "docid",
    "passageid": "docid",
    "paragraphid": "docid",
    "sentenceid": "docid",
    "identifier": "docid",
    "id": "docid",
    "snippettext": "text",
    "snippet": "text",
    "text": "text",
    "passage": "text",
    "paragraph": "text",
    "sentence": "text",
    "content": "text",
    "contents": "text",
    "body": "text",
    "topicid": "topic",
    "topic": "topic",
    "pageid": "page",
    "page": "page",
    "url": "url",
    "link": "url",
    "title": "title",
    "headline": "title",
    "date": "date",
    "published": "date",
    "language": "language",
    "lang": "language",
    "source": "source",
}
_OTHER_IDS = {
    "qid",
    "queryid",
    "tweetid",
    "claimid",
    "vclaimid",
    "postid",
    "documentid",
    "sid",
    "uid",
    "corduid",
    "paperid",
}
"""Names of a first column that no table of snippets has: a file with one has a header, and is refused."""

_HEADERLESS = {2: ("docid", "text"), 3: ("docid", "topic", "text")}


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield a document a snippet, in the order of the files and of their lines.

    Raises SourceError if a source cannot be read or its columns cannot be told.
    """
    for path in expand(sources, (".tsv", ".csv", ".jsonl", ".ndjson", ".json"), options):
        yield from _read_file(path, options)


def _read_file(path: Path, options: ReadOptions) -> Iterator[Record]:
    """Yield the snippets of one file, whose beginning tells its form."""
    start = start_of(path)
    shape = shape_of_start(start)
    refuse_binary(path, shape)
    if shape.form in ("HTML", "XML"):
        raise SourceError(f"{shape.sentence}, not snippets", place=path, remedy=remedy_for(shape))
    if shape.form in ("commas", "semicolons"):
        header = _header(shape.cells, f"{path}:1")
        if header is None and is_table(start, shape):
            if not shape.encoding:
                raise SourceError("is not UTF-8", place=path, remedy=SAVE_AS_UTF8)
            raise SourceError(
                f'{shape.sentence}, and its first line names no columns "id" and "text"',
                place=f"{path}:1",
                remedy=_remedy(shape),
            )
        if header is not None:
            yield from _read_rows(read_table(path, options, shape.delimiter, quoting=True), options)
            return
    lines = ((place, line) for place, line in read_lines(path, options) if line.strip())
    first = next(lines, None)
    if first is None:
        return
    place, line = first
    if line.lstrip().startswith("["):
        raise SourceError("is a JSON list", place=place, remedy="write its objects one a line, as jq -c '.[]' does")
    if line.lstrip().startswith("{"):
        yield from _read_json(chain([first], lines), options)
        return
    yield from _read_rows(read_table(path, options, "\t", quoting=is_quoted(start, "\t")), options)


def _read_json(lines: Iterator[tuple[str, str]], options: ReadOptions) -> Iterator[Record]:
    """Yield a snippet a line, or all paragraphs of a page where a line holds a page."""
    for place, line in lines:
        row = parse_json_object(line, place, options)
        if row is None:
            continue
        for snippet in _paragraphs(row, place, options) if "paragraphs" in row else (row,):
            if record := _json_record(snippet, place, options):
                yield record


def _paragraphs(page: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Mapping[str, Any]]:
    """Yield the paragraphs of a page, each with what is said of the page."""
    paragraphs = page["paragraphs"]
    if not isinstance(paragraphs, list):
        options.bad_lines.report(place, f'"paragraphs" is {json_name(paragraphs)}, not a JSON list')
        return
    common = {key: value for key, value in page.items() if key != "paragraphs"}
    for paragraph in paragraphs:
        if isinstance(paragraph, dict):
            yield {**common, **paragraph}
        else:
            options.bad_lines.report(place, f"a paragraph is {json_name(paragraph)}, not a JSON object")


def _json_record(row: Mapping[str, Any], place: str, options: ReadOptions) -> Record | None:
    names = {key: _NAMES[plain] for key in sorted(row, key=_rank) if (plain := _plain(key)) in _NAMES}
    parts = named_fields(row, names, place, options)
    if parts is None:
        return None
    fields, metadata = parts
    for name in ("docid", "text"):
        if name not in fields:
            options.bad_lines.report(place, f"has no {_spellings(name)}{wrapper_advice(row)}")
            return None
    return _record(fields, metadata, place, options)


def _read_rows(rows: Iterator[tuple[str, list[str]]], options: ReadOptions) -> Iterator[Record]:
    """Yield a snippet a row of a table."""
    rows = ((place, cells) for place, cells in rows if any(cell.strip() for cell in cells))
    first = next(rows, None)
    if first is None:
        return
    place, cells = first
    header = _header(cells, place)
    if header is None and _plain(cells[0]) in _OTHER_IDS:
        raise SourceError(
            f"the column {cells[0].strip()!r} is no name of an id of snippets",
            place=place,
            remedy='name the columns "id" and "text"',
        )
    columns = header or _headerless(cells, place)
    if header is None:
        rows = chain([first], rows)
    for place, cells in rows:
        if len(cells) != len(columns):
            options.bad_lines.report(
                place, f"has {_columns(len(cells))}, not {len(columns)}; a tab inside a text is written as a space"
            )
            continue
        row = dict(zip(columns, cells, strict=True))
        if header is None and re.search(r"\s", row.get("topic", "").strip()):
            options.bad_lines.report(
                place, f"topic {row['topic'][:40]!r} holds white space; without a header 3 columns are id, topic, text"
            )
        elif record := _row_record(row, place, options):
            yield record


def _header(cells: Sequence[str], place: str) -> list[str] | None:
    """Return the names of the columns if ``cells`` are a header, and ``None`` if they are a snippet.

    A row is a header if it holds a name of the id or of the text and no cell that is longer than a name.
    Raises SourceError if a header lacks one of the two or names a column twice.
    """
    columns = [_NAMES.get(_plain(cell), cell.strip()) for cell in cells]
    if not {"docid", "text"} & set(columns) or any(len(cell) > 40 for cell in cells):
        return None
    for name in ("docid", "text"):
        if name not in columns:
            raise SourceError(f"the header names no column {_spellings(name)}", place=place, remedy=_rename(cells))
    for number, name in enumerate(columns):
        if name in columns[:number]:
            raise SourceError(f"the header names the column {cells[number]!r} twice", place=place)
    return columns


def _headerless(cells: Sequence[str], place: str) -> Sequence[str]:
    """Return the names of the columns of a file without a header.

    Raises SourceError if their number does not tell them.
    """
    columns = _HEADERLESS.get(len(cells))
    if columns is None and len(cells) == 1 and (marks := [mark for mark in ",;" if mark in cells[0]]):
        raise SourceError(
            f"has no tab, and no header that names columns between {'commas' if marks[0] == ',' else 'semicolons'}",
            place=place,
            remedy=f'name them in a first line, as in "id{marks[0]}text"',
        )
    if columns is None and len(cells) == 1:
        raise SourceError(
            "has 1 column: text without an id",
            place=place,
            remedy="write an id and a tab before each snippet, or read it as one page with factseek index webpages",
        )
    if columns is None:
        raise SourceError(
            f'has {_columns(len(cells))}, and its first line names none "id" or "text" (without a header they are id, '
            "text or id, topic, text)",
            place=place,
            remedy=_rename(cells),
        )
    return columns


def _row_record(row: dict[str, str], place: str, options: ReadOptions) -> Record | None:
    known = set(_NAMES.values())
    fields = {name: cell for name, cell in row.items() if name in known}
    metadata = {name: cell for name, cell in row.items() if name not in known and cell}
    return _record(fields, metadata, place, options)


def _record(fields: dict[str, str], metadata: Mapping[str, Any], place: str, options: ReadOptions) -> Record | None:
    """Return a document, with topic and page from the id where the fields lack them."""
    docid = fields.get("docid", "").strip()
    topic = fields.get("topic", "").strip() or topic_of(docid)
    page = fields.get("page", "").strip() or page_of(docid)
    if page:
        metadata = {"page": page, **metadata}
    return make_record({**fields, "topic": topic}, place, options, metadata)


def _remedy(shape: TableShape) -> str:
    kind = kind_for(shape)
    return f"read it with factseek index {kind}" if kind else _rename(shape.cells)


def _rename(cells: Sequence[str]) -> str:
    """Return what to do with a header of other names."""
    return f"its columns are {', '.join(cell.strip()[:40] for cell in cells)}; give those that are meant these names"


def _plain(name: str) -> str:
    """Return a name of a column as it stands in the table of names."""
    return re.sub(r"[\s_-]", "", name).lower()


def _rank(key: str) -> int:
    """Return the place of a key in the table of names: of two keys for one field the first there counts."""
    plain = _plain(key)
    return list(_NAMES).index(plain) if plain in _NAMES else len(_NAMES)


def _spellings(name: str) -> str:
    """Return the names that the column of the id, or of the text, may have."""
    return {"docid": '"id" (or "docid", "snippet_id")', "text": '"text" (or "snippet")'}[name]


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
