"""Columns: the values of each document in a few fields, as numbers, over all live segments.

The first request for the counts of a facet makes the columns from the documents, and the open index keeps them. Each
later request reads one number per document, however many values there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import FacetCounts
from ..filters import FIELDS, metadata_values
from .documents import SegmentDocuments
from .manifest import SegmentInfo

Documents = NDArray[np.bool_]  # a mask of documents: one value per document, over all segments
Rows = NDArray[np.bool_]  # a mask of passages
YEAR = "year"
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


class DocumentColumns:
    """The columns of an index. It never changes, so it is safe for threads."""

    def __init__(self, segments: Iterable[tuple[SegmentInfo, SegmentDocuments]], declared: Sequence[str]) -> None:
        """Read the fields of all documents; ``declared`` names the countable metadata fields."""
        single = {name: _Codes() for name in ("topic", "source", "language", YEAR, "kind")}
        topics, sources, languages, years, kinds = single.values()
        several = {name: _Codes() for name in declared}
        number, split, owners = 0, False, list[NDArray[np.int64]]()
        for info, documents in segments:
            owns_one = info.passages == info.documents
            owners.append(number + (np.arange(info.documents) if owns_one else np.array(documents.owners(), np.int64)))
            split = split or not owns_one
            kinds.codes += [kinds.numbers[info.kind]] * info.documents
            for topic, source, language, day, metadata in documents.columns(bool(declared)):
                topics.codes.append(topics.numbers[topic])
                sources.codes.append(sources.numbers[source])
                languages.codes.append(languages.numbers[language])
                years.codes.append(years.numbers[day[:4]])
                for name, codes in several.items():
                    for value in metadata_values(metadata.get(name)):
                        codes.codes.append(codes.numbers[value])
                        codes.documents.append(number)
                number += 1
        self.size = number
        self._columns = {name: codes.column() for name, codes in single.items()}
        self._columns |= {name: codes.of_several(number) for name, codes in several.items()}
        self._owners = np.concatenate(owners) if split else None
        """The document of each passage; None if each document is one passage."""

    def documents(self, rows: Rows) -> Documents:
        """Return the documents with at least one passage in ``rows``."""
        if self._owners is None:
            return rows
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[self._owners[rows]] = True
        return mask

    def facet(self, field: str, most: int, mask: Documents | None, kept: Iterable[str]) -> FacetCounts:
        """Count the documents in ``mask`` by value: the ``most`` frequent (ties by value), then others in ``kept``."""
        column = self._columns[field]
        codes = column.codes
        if mask is not None:  # numbers of documents select faster than a mask
            chosen = np.flatnonzero(mask)
            codes = codes[chosen if column.documents is None else mask[column.documents]]
        counts = np.bincount(codes, minlength=len(column.values))
        there = np.flatnonzero(counts[1:]) + 1
        first: list[int] = there[np.argsort(-counts[there], kind="stable")[:most]].tolist()
        wanted = set(kept).difference(column.values[code] for code in (NO_VALUE, *first))
        shown = first + [code for code, value in enumerate(column.values) if value in wanted]
        values = [(column.values[code], int(counts[code])) for code in shown]
        missing = int(counts[NO_VALUE])
        if column.having is not None:
            missing = self.size - len(column.having)
            if mask is not None:
                missing = len(chosen) - int(np.count_nonzero(mask[column.having]))
        return FacetCounts(values, len(there) - len(first), missing)


class _Codes:
    """Collects the values of a field as numbers, then replaces these by places in the sorted list of values."""

    def __init__(self) -> None:
        self.numbers = defaultdict[str, int](count(1).__next__, {"": NO_VALUE})
        self.codes: list[int] = []
        self.documents: list[int] = []

    def column(self) -> ValueColumn:
        values = sorted(self.numbers)
        places = {value: code for code, value in enumerate(values)}
        final = np.array([places[value] for value in self.numbers], dtype=np.int32)
        return ValueColumn(tuple(values), final[np.array(self.codes, dtype=np.int32)])

    def of_several(self, size: int) -> ValueColumn:
        column, documents = self.column(), np.array(self.documents, dtype=np.int32)
        having = np.unique(documents)
        if len(having) < len(documents):
            return column._replace(documents=documents, having=having)
        codes = np.full(size, NO_VALUE, dtype=np.int32)
        codes[documents] = column.codes
        return column._replace(codes=codes)
