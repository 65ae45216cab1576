"""Columns: the values of each document in a few fields, as numbers, over all live segments.

The first count derives the columns from the documents, and the snapshot keeps them. A later count reads one number per
document, for any number of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import FacetCounts, Filter
from ..filters import FIELDS, metadata_values
from .documents import SegmentDocuments
from .manifest import SegmentInfo

Documents = NDArray[np.bool_]  # a mask of documents: one value per document, over all segments
Rows = NDArray[np.bool_]  # a mask of passages
YEAR, DAY = "year", "last_day"
COUNTED = (*FIELDS, YEAR)  # the fields that every index can count, in addition to its declared metadata fields
NO_VALUE = 0


class ValueColumn(NamedTuple):
    """The values of a field: document ``documents[i]`` has the value ``values[codes[i]]``.

    Code 0 means no value. If ``documents`` is None, ``codes[i]`` is the code of document ``i``. Otherwise ``having``
    are the documents with a value, each once.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]
    documents: NDArray[np.int32] | None = None
    having: NDArray[np.int32] | None = None

    def admitting(self, admitted: Iterable[str], size: int) -> Documents:
        """Return a mask, shape (``size``,), of the documents that have one of the values."""
        wanted = set(admitted)
        of_code = np.array([value in wanted for value in self.values], dtype=np.bool_)
        of_code[NO_VALUE] = False
        if self.documents is None:
            mask: Documents = of_code[self.codes]
            return mask
        mask = np.zeros(size, dtype=np.bool_)
        mask[self.documents[of_code[self.codes]]] = True
        return mask

    def counts(self, chosen: NDArray[np.intp] | None, mask: Documents | None) -> NDArray[np.int64]:
        """Return the number of documents of each code in ``mask``, whose positions are ``chosen``; None means all."""
        codes = self.codes
        if self.documents is not None:
            codes = codes if mask is None else codes[mask[self.documents]]
        elif chosen is not None:
            codes = codes[chosen]
        return np.bincount(codes, minlength=len(self.values))


class DocumentColumns:
    """The columns of an index. It never changes, so it is safe for threads."""

    def __init__(self, segments: Iterable[tuple[SegmentInfo, SegmentDocuments]], declared: Sequence[str] = ()) -> None:
        """Read the fields of all documents; ``declared`` names the countable metadata fields."""
        topics, sources, languages, days, kinds = (_Codes() for _ in range(5))
        several = {name: _Codes() for name in declared}
        number, split, owners, deleted = 0, False, list[NDArray[np.int64]](), list[int]()
        for info, documents in segments:
            owns_one = info.passages == info.documents
            owners.append(number + (np.arange(info.documents) if owns_one else np.array(documents.owners(), np.int64)))
            split = split or not owns_one
            deleted += [number + row for row in info.deleted]
            kinds.codes += [kinds.of(info.kind)] * info.documents
            for topic, source, language, day, metadata in documents.columns(bool(declared)):
                topics.codes.append(topics.of(topic))
                sources.codes.append(sources.of(source))
                languages.codes.append(languages.of(language))
                days.codes.append(days.of(day))
                for name, codes in several.items():
                    for value in metadata_values(metadata.get(name)):
                        codes.codes.append(codes.of(value))
                        codes.documents.append(number)
                number += 1
        self.size = number
        single = {"topic": topics, "source": sources, "language": languages, DAY: days, "kind": kinds}
        self._columns = {name: codes.column() for name, codes in single.items()}
        dated = self._columns[DAY]
        years = sorted({day[:4] for day in dated.values})
        of_day = np.array([years.index(day[:4]) for day in dated.values], dtype=np.int32)
        self._columns[YEAR] = ValueColumn(tuple(years), of_day[dated.codes])
        self._columns |= {name: codes.of_several(number) for name, codes in several.items()}
        self._owners = np.concatenate(owners) if split else None
        """The document of each passage; None if each document is one passage."""
        self._live: Documents | None = np.ones(number, dtype=np.bool_) if deleted else None
        """A mask of the documents that are not deleted; None if none is deleted."""
        if self._live is not None:
            self._live[deleted] = False

    def documents(self, rows: Rows) -> Documents:
        """Return the documents with at least one passage in ``rows``."""
        if self._owners is None:
            return rows
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[self._owners[rows]] = True
        return mask

    def rows(self, documents: Documents) -> Rows:
        """Return the passages of documents."""
        return documents if self._owners is None else documents[self._owners]

    def owner(self, row: int) -> int:
        """Return the document of a passage."""
        return row if self._owners is None else int(self._owners[row])

    def passing(self, where: Filter | None, beside: str = "", excluded: Sequence[int] = ()) -> Documents | None:
        """Return the live documents that pass a filter without its condition on ``beside``; None means all."""
        masks = [] if self._live is None else [self._live]
        if excluded:
            others = np.ones(self.size, dtype=np.bool_)
            others[excluded] = False
            masks.append(others)
        for name, admitted in where.values() if where is not None else ():
            if name != beside:
                masks.append(self._columns[name].admitting(admitted, self.size))
        if where is not None and (where.as_of or where.since) and beside != YEAR:
            days, last = self._columns[DAY], where.as_of or "9999-12-31"
            dated = [where.since <= day <= last if day else where.undated for day in days.values]
            masks.append(np.array(dated, dtype=np.bool_)[days.codes])
        return np.logical_and.reduce(masks) if masks else None

    def facet(self, field: str, most: int, mask: Documents | None, kept: Iterable[str] = ()) -> FacetCounts:
        """Return counts in ``mask`` by value: the ``most`` frequent, equal ones by alphabet, then those of ``kept``."""
        column = self._columns[field]
        chosen = None if mask is None else np.flatnonzero(mask)
        counts = column.counts(chosen, mask)
        total = self.size if chosen is None else len(chosen)
        there = np.flatnonzero(counts[1:]) + 1
        first: list[int] = there[np.argsort(-counts[there], kind="stable")[:most]].tolist()
        wanted = set(kept).difference(column.values[code] for code in (NO_VALUE, *first))
        codes = first + [code for code, value in enumerate(column.values) if value in wanted]
        values = [(column.values[code], int(counts[code])) for code in codes]
        missing = int(counts[NO_VALUE])
        if column.having is not None:
            missing = total - (len(column.having) if mask is None else int(np.count_nonzero(mask[column.having])))
        return FacetCounts(values, len(there) - len(first), missing)


class _Codes:
    """Assigns a number to each new value, until all are known."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": NO_VALUE}
        self.codes: list[int] = []
        self.documents: list[int] = []

    def of(self, value: str) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def column(self) -> ValueColumn:
        values = sorted(self._numbers)
        places = {value: code for code, value in enumerate(values)}
        final = np.array([places[value] for value in self._numbers], dtype=np.int32)
        return ValueColumn(tuple(values), final[np.array(self.codes, dtype=np.int32)])

    def of_several(self, size: int) -> ValueColumn:
        column, documents = self.column(), np.array(self.documents, dtype=np.int32)
        having = np.unique(documents)
        if len(having) < len(documents):
            return column._replace(documents=documents, having=having)
        codes = np.full(size, NO_VALUE, dtype=np.int32)
        codes[documents] = column.codes
        return column._replace(codes=codes)
