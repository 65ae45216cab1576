"""Read snippets of text: a table with or without a header, JSON lines, or the passages file of
CheckThat! 2019.

If the first line begins with ``{``, the file is JSON lines. A table is separated by tabs, or by
commas, semicolons or vertical bars if its first line names the columns. Without a header, the
columns are ``id text`` or ``id topic text``. In a tab-separated file, quotes are ordinary
characters, unless a spreadsheet clearly saved the file with quotes. A snippet's topic and page come
from its id if the id contains them and the source does not give them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from ...core.errors import SourceError
from ...core.records.columns import Columns, Sample, columns_of, plain_name
from ...core.records.json_lines import json_name
from ...core.records.names import SNIPPETS
from ...core.records.table import MISSING, Dialect, Row, is_quoted, split_row, without_footer
from ...core.records.table_shape import SAVE_AS_UTF8, TABLES
from . import Files, ReadOptions, Record, dated
from ._documents import (
    checkthat_ids,
    chosen_columns,
    make_record,
    named_fields,
    names_of_any_table,
    table_columns,
    texts_behind,
)
from ._files import expand
from ._lines import SourceNotices, numbered_lines, parse_json_object, read_json
from ._office import SHEETS, select_readable
from ._reviews import with_rating
from ._tables import (
    ContentIds,
    each_sheet,
    find_table,
    first_cells,
    first_rows,
    guessed_encoding,
    is_table,
    kind_for,
    leave_out_footer,
    read_cells,
    refuse_binary,
    remedy_for,
    start_of,
)
from .feed import is_feed

SUMMARY = (
    "text snippets: TSV or JSON lines with id and text, and optionally topic, page, url, "
    "title, date"
)
COLUMNS = True
FILES: tuple[Files, ...] = (
    *(
        (form, frozenset(both))
        for form in TABLES
        for both in product(("id", "docid", "snippet_id"), ("text", "snippet"))
    ),
    *((form, frozenset({"snippetid"})) for form in TABLES),
    ("JSON lines", frozenset({"snippet_id"})),
    ("JSON lines", frozenset({"pageid", "paragraphs"})),
)

_OTHER_IDS = frozenset(
    "qid queryid tweetid claimid vclaimid postid documentid sid uid corduid paperid".split()
)
"""Names of first columns in tables of things other than snippets.

If the first line has one, the file is refused.
"""
_HEADERLESS = {2: ["docid", "text"], 3: ["docid", "topic", "text"]}
_SPELLINGS = {"docid": '"id" (or "docid", "snippet_id")', "text": '"text" (or "snippet")'}
"""The names that the id's or the text's column may have, for messages."""
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "|": "vertical bar"}
_LONGEST_NAME = 40
_DIGIT = re.compile(r"\d")
_OF_NO_NAME = re.compile(r"[\d\s]")
"""A digit or a blank shows that a cell is not a column name: an id has digits, a text has
blanks.
"""


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield one document per snippet, in the order of the files and of their lines."""
    for path in expand(
        sources, (".tsv", ".csv", ".jsonl", ".ndjson", ".json", *select_readable(*SHEETS)), options
    ):
        for of_sheet in each_sheet(path, options):
            yield from _read_file(path, of_sheet)


def _read_file(path: Path, options: ReadOptions) -> Iterator[Record]:
    start = start_of(path, options.sheet)
    shape, top = find_table(path, start, _make_columns(options), options)
    refuse_binary(path, shape)
    if shape.form in ("HTML", "XML"):
        raise SourceError(f"{shape.sentence}, not snippets", place=path, remedy=remedy_for(shape))
    if start.lstrip().startswith(b"{") and is_feed(start):
        what = "is a feed, not a table; read it with factseek index feed"
        raise SourceError(what, place=path)
    fallback = guessed_encoding(path, start, options)
    encoding = fallback or shape.encoding
    if shape.form in TABLES[1:]:
        cells = first_cells(shape, fallback)
        place = f"{options.named(path)}:{top}"
        if _header(cells, place, options) is not None:
            rows = read_cells(
                path, options, shape.delimiter, quoting=True, fallback=fallback, top=top
            )
            sampled = first_rows(start, encoding, Dialect(shape.delimiter, missing=MISSING))
            yield from _read_rows(path, rows, sampled, options, shape.delimiter)
            return
        if is_table(start, shape):
            if not (shape.encoding or fallback):
                raise SourceError("is not UTF-8", place=path, remedy=SAVE_AS_UTF8)
            what, kind = (
                f'{shape.sentence}, but its first line does not name columns "id" and "text"',
                kind_for(shape),
            )
            remedy = f"read it with factseek index {kind}" if kind else _rename(cells)
            raise SourceError(what, place=place, remedy=remedy)
    numbered = numbered_lines(path, options, fallback)
    lines = (
        (f"{options.named(path)}:{number}", line)
        for number, line in numbered
        if number >= top and line.strip()
    )
    first = next(lines, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        yield from _read_objects(path, _entries(path, options), options)
    elif first[1].lstrip().startswith("{"):
        objects = (
            (place, row)
            for place, line in chain([first], lines)
            if (row := parse_json_object(line, place, options)) is not None
        )
        yield from _read_objects(path, objects, options)
    else:
        # If many rows have other numbers of cells, only the header shows the delimiter.
        mark = next(
            (
                mark
                for mark in _DELIMITER_NAMES
                if "\t" not in first[1] and _is_header_by(mark, *first, options)
            ),
            "\t",
        )
        quoting = mark != "\t" or is_quoted(start, mark)
        rows = read_cells(path, options, mark, quoting=quoting, fallback=fallback, top=top)
        sampled = first_rows(start, encoding, Dialect(mark, quoting, MISSING))
        yield from _read_rows(path, rows, sampled, options, mark)


def _is_header_by(mark: str, place: str, line: str, options: ReadOptions) -> bool:
    cells = _cells_of(line, mark)
    return len(cells) > 1 and _header(cells, place, options) is not None


def _cells_of(line: str, mark: str) -> list[str]:
    try:
        return split_row(line, mark)
    except csv.Error:
        return []


def _entries(path: Path, options: ReadOptions) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each entry of a file that is one JSON list."""
    for number, entry in enumerate(read_json(path, options), 1):
        place = f"{path}:{number}"
        if isinstance(entry, dict):
            yield place, entry
        else:
            options.bad_lines.report(place, f"is {json_name(entry)}, not a JSON object")


def _read_objects(
    path: Path, rows: Iterator[tuple[str, dict[str, Any]]], options: ReadOptions
) -> Iterator[Record]:
    """Yield the documents of JSON objects; without an id, a document gets one made from its
    content.
    """
    chosen = chosen_columns(SNIPPETS, options)
    names = names_of_any_table(SNIPPETS, chosen)
    spelling = f'"{names["text"][0]}"' if "text" in chosen else _SPELLINGS["text"]
    ids = ContentIds()
    for place, row in rows:
        for snippet in _paragraphs(row, place, options):
            own = columns_of(tuple(snippet), SNIPPETS)
            of_row = names if chosen or "text" not in own else SNIPPETS
            found = named_fields(snippet, of_row, place, options, {"text": spelling})
            if found is None:
                continue
            fields, metadata = found
            if of_row is names and not chosen:
                key = columns_of(tuple(snippet), names)["text"][0]
                options.note(f"{path}: the key {key!r} is used as 'text'; choose with --column")
            if "docid" not in fields:
                if other := next((key for key in snippet if plain_name(key) in _OTHER_IDS), ""):
                    remedy = f"name the key of the ids, as in --column id={other}"
                    reason = f"has no {_SPELLINGS['docid']}"
                    options.bad_lines.report(place, reason, remedy)
                    continue
                options.note(f"{path}: no key contains ids; each object gets one from its content")
                fields["docid"] = ids.make(fields, metadata)
            if record := _record(fields, metadata, place, options):
                yield record


def _paragraphs(
    row: dict[str, Any], place: str, options: ReadOptions
) -> Iterator[Mapping[str, Any]]:
    paragraphs = row.get("paragraphs")
    if "paragraphs" not in row:
        yield row
    elif not isinstance(paragraphs, list):
        options.bad_lines.report(place, f'"paragraphs" is {json_name(paragraphs)}, not a JSON list')
    else:
        common = {key: value for key, value in row.items() if key != "paragraphs"}
        for paragraph in paragraphs:
            if isinstance(paragraph, dict):
                yield {**common, **paragraph}
            else:
                options.bad_lines.report(
                    place, f"a paragraph is {json_name(paragraph)}, not a JSON object"
                )


def _read_rows(
    path: Path,
    rows: Iterator[Row],
    sampled: Sequence[Row],
    options: ReadOptions,
    mark: str,
) -> Iterator[Record]:
    """Yield the documents of the rows of a table; ``sampled`` has the first of them once more."""
    rows = ((line, cells) for line, cells in rows if any(cell.strip() for cell in cells))
    first = next(rows, None)
    if first is None:
        return
    first_line, cells = first
    name = options.named(path)
    place = f"{name}:{first_line}"
    sample = [each for number, each in sampled if number > first_line]
    header = _header(cells, place, options, sample)
    columns = header or _headerless(cells, place)
    if header is None:
        _check_headerless(cells, sample, columns, place, options)
    wanted, named = _make_columns(options), [" ".join(cell.split()) for cell in cells]
    makes_ids = bool(header) and wanted.check_header(
        first_line, named, SourceNotices(path, options), sample=sample
    )
    there = wanted.find(named, sample) if header else {}
    are_ids_addresses = "docid" in there and there.get("url") == there["docid"]
    ids = ContentIds()
    footer = partial(leave_out_footer, name, options)
    below = without_footer(rows, len(columns), footer) if header else chain([first], rows)
    for line, cells in below:
        place = f"{name}:{line}"
        row = dict(zip(columns, cells, strict=False))
        if len(cells) != len(columns):
            remedy = "write a tab inside a text as a space"
            if mark in _DELIMITER_NAMES:
                remedy = f"put a text with a {_DELIMITER_NAMES[mark]} in quotes"
            options.bad_lines.report(
                place, f"has {_columns(len(cells))}, not {len(columns)}; {remedy}"
            )
        elif header is None and re.search(r"\s", row.get("topic", "").strip()):
            reason = "contains white space (without a header, 3 columns are id, topic, text)"
            options.bad_lines.report(place, f"topic {row['topic'][:40]!r} {reason}")
        else:
            fields = {name: cell for name, cell in row.items() if name in wanted.names}
            metadata = {
                name: cell for name, cell in row.items() if name and name not in fields and cell
            }
            if makes_ids:
                fields = {"docid": ids.make(fields, metadata), **fields}
            if are_ids_addresses:
                fields["url"] = fields["docid"]
            if record := _record(fields, metadata, place, options):
                yield record


def _check_headerless(
    cells: Sequence[str],
    sample: Sample,
    columns: Sequence[str],
    place: str,
    options: ReadOptions,
) -> None:
    """Note how a table without known column names is read; refuse one that has other names."""
    may_be_id = len(cells) in _HEADERLESS and plain_name(cells[0]) not in _OTHER_IDS
    has_id_below = bool(sample) and _OF_NO_NAME.search(sample[0][0].strip()) is not None
    if _DIGIT.search(cells[0]):
        return
    if may_be_id and has_id_below:
        what = 'its first line is a header, but does not name columns "id" and "text"'
        raise SourceError(what, place=place, remedy=_rename(cells))
    what = (
        f"the first line has no known column names, so the columns are read as {', '.join(columns)}"
    )
    options.note(f"{place}: {what}; see --column")


def _make_columns(options: ReadOptions) -> Columns:
    return table_columns(SNIPPETS, options, docid="docid")


def _header(
    cells: Sequence[str], place: str, options: ReadOptions, sample: Sample = ()
) -> list[str] | None:
    """Return the fields of the columns if ``cells`` are a header, and ``None`` if they are a
    snippet; ``sample`` has the rows below.

    A header names the id, the text or a column from the options, and has no long cell. Raises
    SourceError if a header lacks a text or names a column twice.
    """
    named = [" ".join(cell.split()) for cell in cells]
    wanted = _make_columns(options)
    own, known = columns_of(named, SNIPPETS), wanted.find(named, sample)
    if any(len(cell) > _LONGEST_NAME for cell in cells):
        return None
    if not (
        options.columns or own.keys() & {"docid", "text"} or ("text" in known and len(cells) > 1)
    ):
        return None
    fields = {name: field for field, names in reversed(known.items()) for name in names}
    columns = []
    for name in named:
        # A column of metadata must not have the name of a field.
        metadata = f"column {name}" if name in SNIPPETS else name
        columns.append(fields.get(name) or metadata)
    if "text" not in known and not options.columns:
        path, _, line = place.rpartition(":")
        wanted.refuse_content(
            int(line), named, sample, SourceNotices(Path(path), replace(options, sheet=""))
        )
        raise SourceError(
            'the header has no column "text" (or "snippet")', place=place, remedy=_rename(cells)
        )
    for number, name in enumerate(columns):
        if name and name in columns[:number]:
            first, second = named[columns.index(name)], named[number]
            if first == second:
                raise SourceError(f"the header has the column {second!r} twice", place=place)
            what, remedy = (
                f"the columns {first!r} and {second!r} both mean {name}",
                f"--column {name}=NAME",
            )
            raise SourceError(what, place=place, remedy=f"choose one with {remedy}")
    return columns


def _headerless(cells: Sequence[str], place: str) -> list[str]:
    if plain_name(cells[0]) in _OTHER_IDS:
        what = f"the column {cells[0].strip()!r} is not a known name for the ids of snippets"
        raise SourceError(what, place=place, remedy='name the columns "id" and "text"')
    if len(cells) in _HEADERLESS:
        return _HEADERLESS[len(cells)]
    if len(cells) > 1:
        what = (
            f'has {_columns(len(cells))}, and its first line does not name a column "id" or "text"'
        )
        what += " (without a header they are id, text or id, topic, text)"
        raise SourceError(what, place=place, remedy=_rename(cells))
    if mark := next((mark for mark in _DELIMITER_NAMES if mark in cells[0]), ""):
        what = f"has no tab, and no header with column names separated by {_DELIMITER_NAMES[mark]}s"
        remedy = f'write the names of the columns in the first line, as in "id{mark}text"'
        named = _cells_of(cells[0], mark)
        if named and all(
            0 < len(name) <= _LONGEST_NAME and not _DIGIT.search(name) for name in named
        ):
            remedy += f"; {_rename(named)}"
        raise SourceError(what, place=place, remedy=remedy)
    remedy = (
        "write an id and a tab before each snippet, or read it as one page with factseek index "
        "webpages"
    )
    raise SourceError("has 1 column: text without an id", place=place, remedy=remedy)


def _record(
    fields: dict[str, str], metadata: Mapping[str, Any], place: str, options: ReadOptions
) -> Record | None:
    topic, page = checkthat_ids(fields.get("docid", "").strip())
    page = fields.get("page", "").strip() or page
    metadata = with_rating({"page": page, **metadata} if page else metadata)
    return make_record(
        {**fields, "topic": fields.get("topic", "").strip() or topic},
        place,
        options,
        metadata,
        behind=texts_behind(fields),
    )


def _rename(cells: Sequence[str]) -> str:
    names = ", ".join(cell.strip()[:40] for cell in cells)
    return f"its columns are {names}; give the column of the texts, as in --column text=NAME"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
