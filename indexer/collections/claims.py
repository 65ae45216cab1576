"""Claims that fact-checkers have verified, which may answer a new claim already.

Reads the collection of CheckThat! 2020 task 2 (TSV whose first header cell is empty, ``vclaim``, ``title``), the
folders of one JSON file a claim that the years after gave out, and tables and JSON lines with the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...retrieval.domain import Document
from ...retrieval.records.table_shape import wrapper_advice
from . import Files, ReadOptions, Record
from ._dates import clean_date
from ._documents import check_docid
from ._files import expand
from ._lines import BadFileError, read_json
from ._tables import Row, as_text, read_rows

SUMMARY = "verified claims: TSV, CSV, JSON or JSON lines with an id, vclaim and title"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
FILES: tuple[Files, ...] = (
    ("tabs", frozenset({"vclaim"})),
    ("commas", frozenset({"vclaim"})),
    ("JSON lines", frozenset({"vclaim"})),
    ("JSON", frozenset()),
)

_NAMES: Mapping[str, tuple[str, ...]] = {
    "docid": ("", "vclaim_id", "claim_id", "docid", "id"),
    "text": ("vclaim", "claim", "text"),
    "title": ("title",),
    "url": ("url", "page_url", "link"),
    "date": ("date", "published", "publish_date"),
    "language": ("language", "lang"),
    "source": ("source", "publisher", "site"),
    "topic": ("topic", "topic_id"),
}
_METADATA = ("subtitle", "author", "rating", "label", "verdict")
_COLUMNS = frozenset(_METADATA).union(*_NAMES.values())


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the verified claims of each file in its order, files of a folder by name.

    Raises SourceError if a file cannot be read, or if a table has no column for the id or for the claim.
    """
    for path in expand(sources, (".tsv", ".csv", ".jsonl", ".json"), options):
        for place, row in _rows(path, options):
            reason = _fault(row)
            if reason:
                options.bad_lines.report(place, reason)
            elif not _field(row, "text") and not _field(row, "title"):
                options.leave_out(place, "claims without a text")
            else:
                yield Record(_document(row, options), place)


def _rows(path: Path, options: ReadOptions) -> Iterator[tuple[str, Row]]:
    """Yield the place and the fields of each claim of a file."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".json"):
        yield from _json_rows(path, options)
        return
    yield from read_rows(path, options, wanted=_COLUMNS, required=(_NAMES["docid"], _NAMES["text"]))


def _json_rows(path: Path, options: ReadOptions) -> Iterator[tuple[str, Row]]:
    """Read a JSON file that is one claim or a list of claims."""
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
        if not any(name in entry for name in _NAMES["docid"]) and (advice := wrapper_advice(entry)):
            options.bad_lines.report(place, f"has no id{advice}")
            continue
        try:
            yield place, {name: text for name in _COLUMNS if (text := as_text(entry.get(name)))}
        except ValueError as error:
            options.bad_lines.report(place, f"a field {error}, not a text or a number")


def _field(row: Row, field: str) -> str:
    """Return the first value of a field's columns that is not empty."""
    return next((row[name] for name in _NAMES[field] if row.get(name)), "")


def _fault(row: Row) -> str:
    """Return the fault of a claim, or ``""`` if it has none."""
    docid = _field(row, "docid")
    return (check_docid(docid) or "") if docid else "has no id"


def _document(row: Row, options: ReadOptions) -> Document:
    """Return the document of a claim."""
    return Document(
        docid=_field(row, "docid"),
        text=_field(row, "text"),
        title=_field(row, "title"),
        url=_field(row, "url"),
        date=clean_date(_field(row, "date")),
        language=_field(row, "language") or options.language,
        source=_field(row, "source"),
        topic=_field(row, "topic"),
        metadata={name: row[name] for name in _METADATA if name in row},
    )
