"""The sparse vectors of passages on disk, by term, and the search in them.

A segment has, for each term of the model's vocabulary, the rows of the passages with this term and
their impacts: the weight of the term in the passage, rounded to a whole number. A score is the sum
of the products of the query's weights with these impacts. It is computed in float64, term by term
in the order of their numbers, and rounded to float32. It depends on the passage and the query
alone, not on the segments.

All postings of a query's terms are added; nothing is skipped. A query has some dozen terms, and
each addition takes a nanosecond or two.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.errors import IndexStateError
from ...core.files import os_errors_reported
from ..dense.vectors import Nearest
from ..store.integrity import REMEDY, damage_reported, map_file

SCALE = 40
"""An impact is the weight times this, rounded; 20 to 100 gave the same quality."""
MOST_TERMS = 200  # the heaviest terms of a passage that are kept
MOST_IMPACT = np.iinfo(np.uint8).max


class SparseVector(NamedTuple):
    """The terms of a text, ascending, with the weight of each, above 0."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float32]


class TermCounts(NamedTuple):
    """The number of passages of an index, and of those that have each of some terms; deleted
    passages count.
    """

    passages: int
    having: NDArray[np.int64]


def joined_term_counts(parts: Sequence[TermCounts]) -> TermCounts:
    """Return the counts of all parts of an index together."""
    return TermCounts(
        sum(part.passages for part in parts), np.sum([part.having for part in parts], axis=0)
    )


class ImpactFiles(NamedTuple):
    """A segment's files for one model: where the postings of each term begin (int64), their rows
    (int32), their impacts (uint8), and passages that are encoded but not yet sorted by term.
    """

    starts: str = "impacts.starts"
    rows: str = "impacts.rows"
    impacts: str = "impacts.weights"
    pending: str = "impacts.pending"

    @property
    def postings(self) -> tuple[str, str, str]:
        """The files that a search reads."""
        return self.starts, self.rows, self.impacts

    @classmethod
    def for_variant(cls, variant: str) -> ImpactFiles:
        """Return the file names of a further model; the first model has no ``variant``."""
        if not variant:
            return cls()
        return cls(
            f"impacts-{variant}.starts",
            f"impacts-{variant}.rows",
            f"impacts-{variant}.weights",
            f"impacts-{variant}.pending",
        )


def rounded_impacts(vector: SparseVector) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the heaviest terms of a passage, ascending, with their impacts; terms whose impact
    would be 0 are left out.

    Of terms with equal weights at the cut, those with the lower numbers are kept.
    """
    terms, weights = vector
    if len(terms) > MOST_TERMS:
        heaviest = np.sort(np.argsort(-weights, kind="stable")[:MOST_TERMS])
        terms, weights = terms[heaviest], weights[heaviest]
    impacts = np.minimum(np.rint(weights * SCALE), MOST_IMPACT).astype(np.uint8)
    kept = impacts > 0
    return terms[kept], impacts[kept]


class PendingImpacts:
    """The encoded passages of a segment in the order of their rows, appended to a file.

    For each passage: the number of terms, their numbers and their impacts, as int32 each. An
    interrupted encoding goes on after the last whole passage.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.passages = 0
        end = 0
        if path.exists():
            content = np.fromfile(path, dtype="<i4")
            while end < len(content):
                after = end + 1 + 2 * int(content[end])
                if content[end] < 0 or after > len(content):
                    break
                end = after
                self.passages += 1
        with os_errors_reported(path):
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._file.seek(self._file.truncate(4 * end))

    def add(self, vectors: Iterable[SparseVector]) -> None:
        """Append passages."""
        parts: list[NDArray[np.int32]] = []
        for vector in vectors:
            terms, impacts = rounded_impacts(vector)
            parts += (np.array([len(terms)], dtype=np.int32), terms, impacts.astype(np.int32))
            self.passages += 1
        if parts:
            with os_errors_reported(self._path):
                self._file.write(np.concatenate(parts).astype("<i4").tobytes())

    def sort(self, folder: Path, files: ImpactFiles, vocabulary: int) -> None:
        """Write the postings by term, and remove the file."""
        self._file.flush()
        content = np.fromfile(self._path, dtype="<i4")
        terms: list[NDArray[np.int32]] = []
        impacts: list[NDArray[np.int32]] = []
        counts: list[int] = []
        at = 0
        while at < len(content):
            count = int(content[at])
            terms.append(content[at + 1 : at + 1 + count])
            impacts.append(content[at + 1 + count : at + 1 + 2 * count])
            counts.append(count)
            at += 1 + 2 * count
        empty = np.empty(0, dtype=np.int32)
        of_terms = np.concatenate([empty, *terms])
        rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        order = np.argsort(of_terms, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(of_terms, minlength=vocabulary))))
        _write(folder / files.starts, [starts.astype("<i8")])
        _write(folder / files.rows, [rows[order].astype("<i4")])
        _write(folder / files.impacts, [np.concatenate([empty, *impacts])[order].astype("u1")])
        self.close()
        self._path.unlink()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def merge_impacts(
    parts: Sequence[tuple[SegmentImpacts, NDArray[np.int64]]], folder: Path, files: ImpactFiles
) -> None:
    """Write the postings of a segment that is merged from rows of others, in order."""
    vocabulary = parts[0][0].vocabulary
    bases = list(accumulate((len(rows) for _, rows in parts), initial=0))
    # The new number of each row of a segment; -1 for a row that is left out.
    renumbered = []
    for (segment, kept_rows), base in zip(parts, bases, strict=False):
        new_rows = np.full(segment.passages, -1, dtype=np.int32)
        new_rows[kept_rows] = np.arange(base, base + len(kept_rows), dtype=np.int32)
        renumbered.append((segment, new_rows))

    counts = np.zeros(vocabulary, dtype=np.int64)
    with (
        os_errors_reported(folder),
        (folder / files.rows).open("wb") as rows_file,
        (folder / files.impacts).open("wb") as impacts_file,
    ):
        for term in range(vocabulary):
            for segment, new_rows in renumbered:
                rows, impacts = segment.postings(term)
                moved = new_rows[rows]
                kept = moved >= 0
                counts[term] += np.count_nonzero(kept)
                rows_file.write(moved[kept].astype("<i4").tobytes())
                impacts_file.write(impacts[kept].astype("u1").tobytes())
        for file in (rows_file, impacts_file):
            file.flush()
            os.fsync(file.fileno())
    starts = np.concatenate(([0], np.cumsum(counts)))
    _write(folder / files.starts, [starts.astype("<i8")])


class SegmentImpacts:
    """The postings of a segment, mapped into memory.

    Raises IndexStateError, naming the file, if the files do not fit together.
    """

    def __init__(self, folder: Path, passages: int, vocabulary: int, files: ImpactFiles) -> None:
        self.passages, self.vocabulary = passages, vocabulary
        self._place = folder / files.starts
        self._starts = _read(folder / files.starts, "<i8")
        self._rows = _read(folder / files.rows, "<i4")
        self._impacts = _read(folder / files.impacts, "u1")
        total = len(self._rows)
        fits = (
            len(self._starts) == vocabulary + 1
            and self._starts[0] == 0
            and self._starts[-1] == total == len(self._impacts)
            and bool((np.diff(self._starts) >= 0).all())
        )
        if not fits:
            raise IndexStateError(
                "does not fit the other files of the segment", place=self._place, remedy=REMEDY
            )

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Return the rows with a term, ascending, and its impact in each."""
        begin, end = self._starts[term], self._starts[term + 1]
        return self._rows[begin:end], self._impacts[begin:end]

    def passages_with(self, terms: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the number of passages with each term."""
        found: NDArray[np.int64] = self._starts[terms + 1] - self._starts[terms]
        return found

    def scores(self, query: SparseVector) -> NDArray[np.float64]:
        """Return the score of each passage; 0 for one without a term of the query.

        Raises IndexStateError if a row is out of range.
        """
        of_terms, products = [np.empty(0, dtype=np.int32)], [np.empty(0)]
        for term, weight in zip(query.terms.tolist(), query.weights.tolist(), strict=True):
            of_term, impacts = self.postings(term)
            of_terms.append(of_term)
            products.append(impacts * weight)
        rows = np.concatenate(of_terms)
        # A damaged row must not make the array of scores larger than the segment.
        if len(rows) and (rows.min() < 0 or rows.max() >= self.passages):
            raise IndexStateError("has a row out of range", place=self._place, remedy=REMEDY)
        scores = np.bincount(rows, np.concatenate(products), minlength=self.passages)
        return scores.astype(np.float64, copy=False)

    def faults(self) -> Iterator[str]:
        """Yield each fault of the postings in words."""
        for term in range(self.vocabulary):
            rows, impacts = self.postings(term)
            if len(rows) and not (
                rows[0] >= 0 and rows[-1] < self.passages and (np.diff(rows) > 0).all()
            ):
                yield f"the rows of term {term} are not ascending, or out of range"
            if len(impacts) and not impacts.all():
                yield f"term {term} has an impact of 0"


class ImpactIndex:
    """The postings of all segments; row numbers continue from segment to segment.

    Any number of threads may search at once.
    """

    def __init__(self, segments: Sequence[SegmentImpacts]) -> None:
        self._segments = segments
        self._bounds = list(accumulate((each.passages for each in segments), initial=0))

    def __len__(self) -> int:
        return self._bounds[-1]

    def scores(self, query: SparseVector) -> NDArray[np.float32]:
        """Return the score of each passage; 0 for one without a term of the query.

        Raises IndexStateError if the postings are damaged.
        """
        parts = [segment.scores(query) for segment in self._segments]
        whole: NDArray[np.float32] = np.concatenate([np.empty(0), *parts]).astype(np.float32)
        return whole

    def count_terms(self, terms: NDArray[np.int32]) -> TermCounts:
        """Return the number of passages, and of those with each term; deleted passages count."""
        having = np.zeros(len(terms), dtype=np.int64)
        for segment in self._segments:
            having += segment.passages_with(terms)
        return TermCounts(len(self), having)

    def term_scores(self, query: SparseVector, row: int) -> list[tuple[int, float]]:
        """Return the terms of the query in a passage, each with its part of the score."""
        number = bisect_right(self._bounds, row) - 1
        segment, local = self._segments[number], row - self._bounds[number]
        parts = []
        for term, weight in zip(query.terms.tolist(), query.weights.tolist(), strict=True):
            rows, impacts = segment.postings(term)
            at = int(np.searchsorted(rows, local))
            if at < len(rows) and rows[at] == local:
                parts.append((term, weight * float(impacts[at])))
        return parts


def best_rows(scores: NDArray[np.float32], k: int) -> Nearest:
    """Return the rows with a score above 0 that is at least the ``k``-th best: scores descending,
    rows of equal score ascending.
    """
    rows = np.flatnonzero(scores > 0)
    found = scores[rows]
    if len(found) > k:
        least = np.partition(found, len(found) - k)[len(found) - k]
        kept = found >= least
        rows, found = rows[kept], found[kept]
    order = np.argsort(-found, kind="stable")
    return Nearest(found[order], rows[order])


def _write(path: Path, arrays: Iterable[NDArray[np.generic]]) -> None:
    with os_errors_reported(path), path.open("wb") as file:
        for array in arrays:
            file.write(array.tobytes())
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path, dtype: str) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize
    with damage_reported(path):
        count, rest = divmod(path.stat().st_size, size)
    if rest:
        raise IndexStateError("is cut off", place=path, remedy=REMEDY)
    return np.asarray(map_file(path, dtype, (count,))) if count else np.empty(0, dtype=dtype)
