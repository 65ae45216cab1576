"""Columns: the docid and number of each passage, and the values of each document in some fields,
over all segments.

They are read from files that each segment has for them. So a search and the counts of a facet read
no documents, and a new state of an index costs what changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.domain import FacetCounts
from ..filters import FIELDS
from ..search.cut import Rows

Documents = NDArray[np.bool_]  # a mask of documents: one value per document, over all segments
Passages = NDArray[np.bool_]  # a mask of passages
YEAR, KIND = "year", "kind"
# The fields that every index can count, in addition to its declared metadata fields.
COUNTED = (*FIELDS, YEAR)
# The fields of which a document has one value, or none.
SINGLE = ("topic", "source", "language", YEAR)
NO_VALUE = 0
LISTED = 50_000
"""The maximum number of passages whose docids are read into a list: while it fits a processor's
cache, it is faster.
"""


class Column(msgspec.Struct, array_like=True, frozen=True):
    """The values of a field in a segment, sorted, and their places (int32): code 0 is ``""``, which
    means no value.

    If ``documents`` is None, ``codes`` has one code per document; otherwise one code for each of
    these documents.
    """

    values: list[str]
    codes: bytes
    documents: bytes | None

    @classmethod
    def constant(cls, value: str, documents: int) -> Column:
        """Return the column of a field with the same value in all documents."""
        return cls(["", value], np.ones(documents, "<i4").tobytes(), None)

    def checked(self, documents: int, *, single: bool) -> Column:
        """Return the column.

        Raises ValueError if it cannot be that of a segment with this number of documents.

        ``single`` says whether each document has one code.
        """
        codes = np.frombuffer(self.codes, "<i4")
        rows = (
            np.arange(documents) if self.documents is None else np.frombuffer(self.documents, "<i4")
        )
        are_values = self.values[:1] == [""] and all(a < b for a, b in pairwise(self.values))
        are_rows = (
            len(rows) == len(codes)
            and _are_ascending(rows, documents)
            and single == (self.documents is None)
        )
        if not are_values or not are_rows or np.any(codes < 0) or np.any(codes >= len(self.values)):
            raise ValueError("its values do not fit its documents")
        return self


class SegmentDocids(NamedTuple):
    """The docids of a segment, joined, with the end of each; and the document and number of each
    passage.

    If ``owners`` is None, each document is one passage, with the number 0.
    """

    text: memoryview
    ends: memoryview
    owners: NDArray[np.int32] | None
    numbers: NDArray[np.int32] | None

    @classmethod
    def of(cls, content: NDArray[np.uint8], documents: int, passages: int) -> SegmentDocids:
        """Read the content of a file. Raises ValueError if it is damaged."""
        start = 8 * (documents + 1)
        ends = content[: start if start <= len(content) else 0].view("<i8")
        size = int(ends[-1]) if len(ends) else -1
        of_passages = len(content) - start - size
        if size < 0 or of_passages not in (
            (0, 8 * passages) if passages == documents else (8 * passages,)
        ):
            raise ValueError("it has other numbers of docids and passages than the manifest")
        text = content[start + of_passages :]
        characters = str(text.data, "utf-8")
        if ends[0] or np.any(ends[1:] <= ends[:-1]):
            raise ValueError("its docids do not follow each other")
        if not characters.isascii() and np.any(text[ends[:-1]] & 0xC0 == 0x80):
            raise ValueError("a docid ends within a character")
        if not of_passages:
            return cls(text.data, ends.data, None, None)
        owners, numbers = content[start : start + of_passages].view("<i4").reshape(2, -1)
        if not _are_ascending(owners, documents) or np.any(numbers < 0):
            raise ValueError("its passages are not in the order of their documents")
        return cls(text.data, ends.data, owners, numbers)

    def docid(self, document: int) -> str:
        """Return the docid of the document in a row."""
        return str(self.text[self.ends[document] : self.ends[document + 1]], "utf-8")


class ValueColumn(NamedTuple):
    """The values of a field: document ``documents[i]`` has the value ``values[codes[i]]``.

    Code 0 means no value. If ``documents`` is None, ``codes[i]`` is the code of document ``i``.
    Otherwise ``having`` are the documents with a value, each once.
    """

    values: Sequence[str]
    codes: NDArray[np.int32]
    documents: NDArray[np.int32] | None = None
    having: NDArray[np.int32] | None = None


class MappedDocids(Sequence[str]):
    """The docid of each passage, read from mapped files."""

    def __init__(
        self, segments: Sequence[SegmentDocids], bases: Sequence[int], owners: Sequence[int]
    ) -> None:
        """Join segments, whose first documents are ``bases``; ``owners`` is the document of each
        passage.
        """
        self._segments, self._bases, self._owners = segments, bases, owners

    def __len__(self) -> int:
        return len(self._owners)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        document = self._owners[row]
        at = bisect_right(self._bases, document) - 1
        return self._segments[at].docid(document - self._bases[at])


class DocumentColumns:
    """The columns of an index. It never changes, so it is safe for threads."""

    def __init__(
        self,
        docids: Sequence[SegmentDocids],
        fields: Sequence[str],
        read: Callable[[], Sequence[Mapping[str, Column]]],
    ) -> None:
        """Join the docids of all segments; ``read`` returns the columns of these fields in each
        segment.
        """
        self._fields, self._read = fields, read
        *bases, self._documents = accumulate((len(each.ends) - 1 for each in docids), initial=0)
        self._bases = bases
        self._owners: NDArray[np.int64] | None = None
        numbers: Any = bytes(self._documents)
        owners: Any = range(self._documents)
        if any(each.owners is not None for each in docids):
            rows = [
                np.arange(len(each.ends) - 1) if each.owners is None else each.owners
                for each in docids
            ]
            self._owners = np.concatenate(
                [own + np.int64(base) for own, base in zip(rows, bases, strict=True)]
            )
            zeros = np.zeros(len(self._owners), np.int32)
            own = [
                zeros[: len(each.ends) - 1] if each.numbers is None else each.numbers
                for each in docids
            ]
            owners, numbers = self._owners.data, np.concatenate(own).astype(np.int32).data
        of_rows: Sequence[str] = MappedDocids(docids, bases, owners)
        if len(of_rows) <= LISTED:
            of_rows = list(of_rows)
        self.rows = Rows(of_rows, numbers, self._owners is not None)
        """The docid and the number of each passage."""

    def documents(self, rows: Passages) -> Documents:
        """Return the documents with at least one passage in ``rows``."""
        if self._owners is None:
            return rows
        mask = np.zeros(self._documents, dtype=np.bool_)
        mask[self._owners[rows]] = True
        return mask

    def facet(
        self, field: str, most: int, mask: Documents | None, kept: Iterable[str]
    ) -> FacetCounts:
        """Count the documents in ``mask`` by value: the ``most`` frequent (ties by value), then
        others in ``kept``.
        """
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
            missing = self._documents - len(column.having)
            if mask is not None:
                missing = len(chosen) - int(np.count_nonzero(mask[column.having]))
        return FacetCounts(values, len(there) - len(first), missing)

    @cached_property
    def _columns(self) -> dict[str, ValueColumn]:
        """The column of each field, over all segments, made when the first facet is counted."""
        segments = self._read()
        return {name: self._join([columns[name] for columns in segments]) for name in self._fields}

    def _join(self, parts: Sequence[Column]) -> ValueColumn:
        values = sorted({""}.union(*(part.values for part in parts)))
        places = {value: code for code, value in enumerate(values)}
        codes = [np.empty(0, np.int32)]
        for part in parts:
            final = np.array([places[value] for value in part.values], dtype=np.int32)
            codes.append(final[np.frombuffer(part.codes, "<i4")])
        column = ValueColumn(values, np.concatenate(codes))
        if not any(part.documents is not None for part in parts):
            return column
        based = zip(parts, self._bases, strict=True)
        rows = [np.frombuffer(part.documents or b"", "<i4") + base for part, base in based]
        documents = np.concatenate(rows).astype(np.int32)
        having = np.unique(documents)
        if len(having) < len(documents):
            return column._replace(documents=documents, having=having)
        of_all = np.full(self._documents, NO_VALUE, dtype=np.int32)
        of_all[documents] = column.codes
        return column._replace(codes=of_all)


def _are_ascending(rows: NDArray[Any], end: int) -> bool:
    """Return whether rows are between 0 and ``end`` and none is smaller than the one before."""
    return not len(rows) or bool(
        rows[0] >= 0 and rows[-1] < end and not np.any(rows[1:] < rows[:-1])
    )
