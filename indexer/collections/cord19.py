"""Papers of CORD-19: their metadata, and their full text where it is there.

A source is a release's folder (with ``metadata.csv`` in it) or the table itself: CSV, TSV, JSON lines, Parquet, or
the pandas pickle that CheckThat! 2025 task 4b gives out. Columns are found by name, so every generation that has
a ``cord_uid`` is read.

Rows that share a ``cord_uid`` are one paper, also across sources: the first that says something about a field
counts, except that the longest abstract and the most precise date win.

A paper with a full text is left to be split into passages; one without is a single passage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...retrieval.domain import Document, Span
from ...retrieval.errors import SourceError
from . import Files, ReadOptions, Record
from ._dates import clean_date
from ._documents import check_docid
from ._files import one_file
from ._parses import ParseFolder, parts
from ._repeats import count_repeats, grouped
from ._tables import Row, read_rows

SUMMARY = "papers of CORD-19: a release's folder, or its metadata as CSV, JSON lines, Parquet or pandas pickle"
SPLIT = True
SENTENCES = False
WHOLE_FOLDER = True
FILES: tuple[Files, ...] = (
    ("tabs", frozenset({"cord_uid", "title"})),
    ("commas", frozenset({"cord_uid", "title"})),
    ("JSON lines", frozenset({"cord_uid", "title"})),
)

_METADATA = ("authors", "journal", "doi", "pmcid", "pubmed_id", "license", "source_x", "sha")
_COLUMNS = frozenset(
    {"cord_uid", "title", "abstract", "publish_time", "url", "pdf_json_files", "pmc_json_files", *_METADATA}
)
_REQUIRED = (("cord_uid",), ("title", "abstract"))


class _Paper(NamedTuple):
    """A row of metadata with its place and the parses that lie beside its table."""

    place: str
    row: Row
    parses: ParseFolder

    @property
    def cord_uid(self) -> str:
        return self.row["cord_uid"]


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the papers of ``sources``, each where the last of its rows stands.

    The tables are read twice: first for the ids that occur again, of whose rows alone more than one is held.
    Raises SourceError if a table cannot be read or lacks the columns of one.
    """
    tables = [_table(source) for source in sources]
    repeats = count_repeats(paper.cord_uid for paper in _papers(tables, options.silent()))
    for group in grouped(_papers(tables, options), lambda paper: paper.cord_uid, repeats):
        if len(group) > 1:
            options.skipped["rows merged into another of the same cord_uid"] += len(group) - 1
        record = _record(_merged(group), options)
        if record is None:
            options.leave_out(group[0].place, "papers without title, abstract and full text")
        else:
            yield record


def _table(source: Path) -> tuple[Path, ParseFolder]:
    """Return the metadata file that a source means and the parses beside it."""
    if not source.is_dir():
        return one_file(source), ParseFolder(source.parent)
    for name in ("metadata.csv", "metadata.csv.gz"):
        if os.path.lexists(source / name):
            return one_file(source / name), ParseFolder(source)
    raise SourceError("holds no metadata.csv", place=source)


def _papers(tables: list[tuple[Path, ParseFolder]], options: ReadOptions) -> Iterator[_Paper]:
    """Yield the rows that have a docid; report the others."""
    for path, parses in tables:
        for place, row in read_rows(path, options, wanted=_COLUMNS, required=_REQUIRED):
            reason = check_docid(row.get("cord_uid", ""))
            if reason:
                options.bad_lines.report(place, reason if "cord_uid" in row else "has no cord_uid")
            else:
                yield _Paper(place, row, parses)


def _merged(group: list[_Paper]) -> _Paper:
    """Return the one paper that the rows of one ``cord_uid`` make."""
    row: Row = {}
    for paper in group:
        for name, text in paper.row.items():
            row.setdefault(name, text)
    for name in ("abstract", "publish_time"):
        texts = [paper.row[name] for paper in group if name in paper.row]
        if texts:
            row[name] = max(texts, key=len)
    return group[0]._replace(row=row)


def _record(paper: _Paper, options: ReadOptions) -> Record | None:
    """Return the document of a paper, or ``None`` if there is nothing to find it by."""
    row = paper.row
    parse = paper.parses.read(row, options)
    title = " ".join(row.get("title", "").split()) or parse.title
    abstract = row.get("abstract", "") or parse.abstract
    text = "\n\n".join(part for part in (abstract, parse.body) if part)
    if not title and not text:
        return None
    document = Document(
        docid=paper.cord_uid,
        text=text,
        title=title,
        url=next(iter(parts(row.get("url", ""))), ""),
        date=clean_date(row.get("publish_time", "")),
        language=options.language,
        source=row.get("journal") or row.get("source_x", ""),
        metadata={name: row[name] for name in _METADATA if name in row},
    )
    return Record(document, paper.place, None if parse.body else (Span(0, 0, len(text)),))
