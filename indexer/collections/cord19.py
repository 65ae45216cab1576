"""Read papers of CORD-19: their metadata, and their full text if available.

A source is a release's folder (with ``metadata.csv`` in it) or the table itself: CSV, TSV, JSON
lines, Parquet, or the pandas pickle of CheckThat! 2025 task 4b. Columns are found by name, so all
releases can be read. The first of them have no ``cord_uid``: there, the id of a paper is the digest
of its PDF file, else its number in PubMed Central or PubMed, or its DOI.

Rows that share a ``cord_uid`` are one paper, also across sources. The first row with a value for a
field is used, except that the longest abstract and the most precise date win.

The indexer splits a paper into passages if it has a full text: a JSON parse of its PDF file or of
PubMed Central's XML. Any other paper is a single passage.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ...core.domain import Span
from ...core.records.columns import Columns
from ...core.records.dates import clean_date
from ...core.records.table_shape import shape_of
from . import RECORDS, Files, ReadOptions, Record, dated
from ._child import BadFileError
from ._documents import check_docid, digest, make_record
from ._files import OUTSIDE, leads_outside, one_file
from ._lines import read_json
from ._tables import Fields, read_rows

SUMMARY = (
    "papers of CORD-19: a release's folder, or its metadata as CSV, JSON lines, Parquet or "
    "pandas pickle"
)
SPLIT = True
WHOLE_FOLDER = True
FILES: Sequence[Files] = [(form, frozenset({"cord_uid", "title"})) for form in RECORDS]

_METADATA = ("authors", "journal", "doi", "pmcid", "pubmed_id", "license", "source_x", "sha")
_FILES = ("pmc_json_files", "pdf_json_files")
_BETWEEN_ADDRESSES = r";(?=\s|https?://|$)"
"""An address may contain a semicolon, as the DOIs of Wiley's older papers do."""
_NAMES = {
    name: (name,)
    for name in ("cord_uid", "title", "abstract", "publish_time", "url", *_FILES, *_METADATA)
}
_OLDER_IDS = ("sha", "pmcid", "pubmed_id", "doi")
"""The columns with the id of a paper in the first releases, best first."""
_COLUMNS = Columns(_NAMES, (("cord_uid",), ("title", "abstract")))
_FIRST_COLUMNS = Columns(
    {name: _NAMES[name] for name in _NAMES if name != "cord_uid"},
    (("sha",), ("title", "abstract"), ("source_x",)),
)
"""The columns of the first releases."""
_TABLE = "metadata.csv"
_EARLY_TABLES = "all_sources_metadata*.csv*"
"""The tables of the first releases, named after their day."""


class _Paper(NamedTuple):
    place: str
    row: Fields
    parses: _ParseFolder


class _Parse(NamedTuple):
    title: str = ""
    abstract: str = ""
    body: str = ""


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the papers of ``sources``, each at the position of its last row.

    The tables are read twice: the first pass finds the ids that occur more than once. In the
    second, only rows with such an id are kept in memory.
    """
    tables = [(one_file(source, _table_name(source)), _ParseFolder(source)) for source in sources]
    repeats = _count_repeats(paper.row["cord_uid"] for paper in _papers(tables, options.silent()))
    for rows in _group_rows(_papers(tables, options), repeats):
        if len(rows) > 1:
            options.skipped["rows merged into another row of the same cord_uid"] += len(rows) - 1
        if record := _record(
            rows[0]._replace(row=_merge_rows([paper.row for paper in rows])), options
        ):
            yield record


def _table_name(source: Path) -> str:
    """Return the name of the table in the folder of a release."""
    if any((source / name).exists() for name in (_TABLE, f"{_TABLE}.gz")):
        return _TABLE
    early = sorted(source.glob(_EARLY_TABLES))
    return early[-1].name.removesuffix(".gz") if early else _TABLE


def _number(docid: str) -> int:
    return int.from_bytes(digest(docid), "little")


def _count_repeats(docids: Iterable[str]) -> dict[int, int]:
    """Return the count of each id that occurs more than once, by the id's digest.

    This needs eight bytes per id.
    """
    import numpy as np

    digests = array("Q", map(_number, docids))
    distinct, counts = np.unique(np.frombuffer(digests, dtype=np.uint64), return_counts=True)
    again = counts > 1
    return dict(zip(distinct[again].tolist(), counts[again].tolist(), strict=True))


def _group_rows(papers: Iterable[_Paper], repeats: Mapping[int, int]) -> Iterator[list[_Paper]]:
    """Yield the rows of each paper together, at the position of its last row; at the end, papers
    that lack a row.
    """
    waiting: dict[str, list[_Paper]] = {}
    for paper in papers:
        docid = paper.row["cord_uid"]
        rows = waiting.setdefault(docid, [])
        rows.append(paper)
        if len(rows) >= repeats.get(_number(docid), 1):
            yield waiting.pop(docid)
    yield from waiting.values()


def _papers(tables: Sequence[tuple[Path, _ParseFolder]], options: ReadOptions) -> Iterator[_Paper]:
    for path, parses in tables:
        is_first = _is_first_release(path)
        for place, row in read_rows(path, options, _FIRST_COLUMNS if is_first else _COLUMNS):
            if is_first and (docid := _older_id(row)):
                row["cord_uid"] = docid
            if reason := check_docid(row["cord_uid"]) if "cord_uid" in row else "has no cord_uid":
                options.bad_lines.report(place, reason)
            else:
                yield _Paper(place, row, parses)


def _is_first_release(path: Path) -> bool:
    """Return whether a table has the columns of the first releases, without ``cord_uid``."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return False
    names = shape_of(path).names
    return {"sha", "source_x", "title"} <= set(names) and "cord_uid" not in names


def _older_id(row: Fields) -> str:
    return next((_parts(row[name])[0] for name in _OLDER_IDS if row.get(name, "").strip("; ")), "")


def _merge_rows(rows: Sequence[Fields]) -> Fields:
    row: Fields = {}
    for each in rows:
        row = {**each, **row}
    if abstracts := [each["abstract"] for each in rows if "abstract" in each]:
        row["abstract"] = max(abstracts, key=len)
    if dates := [each["publish_time"] for each in rows if "publish_time" in each]:
        row["publish_time"] = max(dates, key=lambda date: (len(clean_date(date)), len(date)))
    return row


def _record(paper: _Paper, options: ReadOptions) -> Record | None:
    row = paper.row
    parse = paper.parses.read(row, options)
    text = "\n\n".join(
        part for part in (row.get("abstract", "") or parse.abstract, parse.body) if part
    )
    fields = {
        "docid": row["cord_uid"],
        "text": text,
        "title": " ".join(row.get("title", "").split()) or parse.title,
        "url": next(iter(_parts(row.get("url", ""), _BETWEEN_ADDRESSES)), ""),
        "date": row.get("publish_time", ""),
        "source": row.get("journal") or row.get("source_x", ""),
    }
    metadata = {name: row[name] for name in _METADATA if name in row}
    spans = None if parse.body else (Span(0, 0, len(text)),)
    empty = "papers without title, abstract and full text"
    return make_record(fields, paper.place, options, metadata, spans=spans, empty=empty)


class _ParseFolder:
    """The parses next to one metadata file.

    Since May 2020, the metadata contain their paths. In older releases, the name of a parse comes
    from its ``sha`` or ``pmcid``, and the parse may be in any folder. A path that leads out of the
    folder is not followed. If a link leads out of it, the parse is left out.
    """

    def __init__(self, source: Path) -> None:
        self._root = source if source.is_dir() else source.parent
        self._folders: list[Path] | None = None

    def read(self, row: Mapping[str, str], options: ReadOptions) -> _Parse:
        """Return the parse of a paper: PubMed Central's if it has a body, else the PDF's with the
        longest body.

        A damaged parse is reported. A listed parse that is missing is counted if the first folder
        of its path exists.
        """
        is_listed = any(name in row for name in _FILES)
        for column, older, ending in (
            (_FILES[0], "pmcid", ".xml.json"),
            (_FILES[1], "sha", ".json"),
        ):
            names = _parts(row.get(column if is_listed else older, ""))
            found = (
                self._find_listed(names, options)
                if is_listed
                else (self._find_file(name + ending) for name in names)
            )
            inside = [path for path in found if path and self._is_inside(path, options)]
            parses = [parse for path in inside if (parse := _read_parse(path, options))]
            best = max(parses, key=lambda parse: len(parse.body), default=_Parse())
            if best.body:
                return best
        return _Parse()

    def _is_inside(self, path: Path, options: ReadOptions) -> bool:
        if leads_outside(path, self._root):
            options.leave_out(path, OUTSIDE)
            return False
        return True

    def _find_listed(self, names: list[str], options: ReadOptions) -> list[Path]:
        files = []
        for name in names:
            relative = PurePosixPath(name)
            if not relative.parts or relative.is_absolute() or ".." in relative.parts:
                continue
            path = self._root / relative
            if os.path.isfile(path):
                files.append(path)
            # A name may be too long for a folder.
            elif os.path.isdir(self._root / relative.parts[0]):  # noqa: PTH112
                options.skipped["full texts that are in the metadata but not in the folder"] += 1
        return files

    def _find_file(self, name: str) -> Path | None:
        if "/" in name or "\\" in name:
            return None
        if self._folders is None:
            walked = os.walk(self._root)
            self._folders = sorted(
                Path(at) for at, _, files in walked if any(file.endswith(".json") for file in files)
            )
        return next(
            (path for folder in self._folders if os.path.isfile(path := folder / name)), None
        )


def _parts(listed: str, separator: str = ";") -> list[str]:
    return [part for piece in re.split(separator, listed) if (part := piece.strip())]


def _read_parse(path: Path, options: ReadOptions) -> _Parse | None:
    """Return one parse; report it and return ``None`` if it is damaged.

    The body consists of its paragraphs, separated by blank lines. The first paragraph of each
    section follows the section's heading. References, figures and all parts after the body are left
    out.
    """
    try:
        content = read_json(path, options)
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
        return None
    if not isinstance(content, dict) or not isinstance(content.get("body_text"), list):
        options.bad_lines.report(
            str(path), "is not a parse of a paper (it has no list 'body_text')"
        )
        return None
    about = content.get("metadata")
    title = about.get("title") if isinstance(about, dict) else ""
    body, last = [], ""
    for section, text in _paragraphs(content["body_text"]):
        body.append(f"{section}\n{text}" if section and section != last else text)
        last = section
    abstract = "\n\n".join(text for _, text in _paragraphs(content.get("abstract")))
    return _Parse(
        " ".join(title.split()) if isinstance(title, str) else "", abstract, "\n\n".join(body)
    )


def _paragraphs(listed: Any) -> Iterator[tuple[str, str]]:
    """Yield the section and the text of each paragraph with text; ``Mice ::: Methods`` becomes
    ``Methods: Mice``.
    """
    for paragraph in listed if isinstance(listed, list) else ():
        if (
            isinstance(paragraph, dict)
            and isinstance(paragraph.get("text"), str)
            and paragraph["text"].strip()
        ):
            section = paragraph.get("section")
            names = reversed(section.split(":::")) if isinstance(section, str) else ()
            yield (
                ": ".join(" ".join(name.split()) for name in names if name.strip()),
                paragraph["text"].strip(),
            )
