"""Read claims that fact-checkers have already verified, and that may answer a new claim.

There are three forms. The collection of CheckThat! 2020 task 2 is a TSV file whose header is an
empty cell, ``vclaim`` and ``title``. Later years have folders with one JSON file per claim. The
third form is a table or JSON lines with the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...core.records.columns import columns_of
from ...core.records.names import VERIFIED_CLAIMS, Names
from ...core.records.table_shape import wrapper_advice
from . import RECORDS, Files, ReadOptions, Record, dated
from ._child import BadFileError
from ._documents import (
    chosen_columns,
    kept_columns,
    make_record,
    names_of_any_table,
    table_columns,
    texts_behind,
)
from ._files import expand
from ._lines import read_json
from ._office import SHEETS, select_readable
from ._reviews import with_rating
from ._tables import (
    ContentIds,
    TableRow,
    each_sheet,
    noted_keys,
    others_of,
    read_whole_rows,
    texts_of,
)

SUMMARY = "verified claims: TSV, CSV, JSON or JSON lines with an id, vclaim and title"
COLUMNS = True
FILTER_FIELDS = ("rating", "label", "verdict")
FILES: Sequence[Files] = [
    *((form, frozenset({"vclaim"})) for form in RECORDS),
    ("JSON", frozenset()),
]

_JSON = (".json", ".jsonl", ".ndjson")
_METADATA = ("subtitle", "author", "rating", "label", "verdict", "explanation")


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the verified claims of each file in order; the files of a folder are read in the order
    of their names.
    """
    endings = (".tsv", ".csv", ".jsonl", ".json", *select_readable(*SHEETS))
    for path in expand(sources, endings, options):
        for of_sheet in each_sheet(path, options):
            yield from _read_file(path, of_sheet)


def _read_file(path: Path, options: ReadOptions) -> Iterator[Record]:
    ids = ContentIds()
    is_json = path.name.lower().removesuffix(".gz").endswith(_JSON)
    for place, row, others in _rows(path, options):
        known = with_rating({name: row[name] for name in _METADATA if name in row})
        behind = texts_behind(row, row.get("explanation", ""))
        if is_json and "docid" not in row and "text" in row:
            options.note(f"{path}: no key contains ids; each object gets one from its content")
            row["docid"] = ids.make(row, others)
        if "docid" not in row:
            advice = wrapper_advice({"claim": row.get("text"), **others})
            options.bad_lines.report(place, f"has no id{advice}")
        elif record := make_record(
            row,
            place,
            options,
            kept_columns(others, known),
            behind=behind,
            empty="claims without a text",
        ):
            yield record


def _rows(path: Path, options: ReadOptions) -> Iterator[TableRow]:
    if path.name.lower().removesuffix(".gz").endswith(".json"):
        chosen = chosen_columns(VERIFIED_CLAIMS, options)
        own = names_of_any_table(VERIFIED_CLAIMS, chosen) if chosen else VERIFIED_CLAIMS
        return noted_keys(path, _json_rows(path, options, own), options)
    columns = table_columns(VERIFIED_CLAIMS, options, required=(("text",),), docid="docid")
    return read_whole_rows(path, options, columns)


def _json_rows(path: Path, options: ReadOptions, names: Names) -> Iterator[TableRow]:
    try:
        content = read_json(path, options)
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
        return
    for number, entry in enumerate(content if isinstance(content, list) else [content], 1):
        place = f"{path}:{number}" if isinstance(content, list) else str(path)
        if not isinstance(entry, dict):
            options.bad_lines.report(place, "is not a JSON object with a claim")
            continue
        there = columns_of(tuple(entry), names)
        row = texts_of(entry, there, place, options)
        if row is None:
            continue
        if "docid" not in row and (advice := wrapper_advice(entry)):
            options.bad_lines.report(place, f"has no id{advice}")
        else:
            yield TableRow(place, row, others_of(entry, there, row))
