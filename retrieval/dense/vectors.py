"""The vectors of an index and the search in them: the only module that uses FAISS.

Vectors that are compared by their cosine have unit length. Those that are compared by their dot
product may have any length.

FAISS finds candidates. Every score that this module returns is recomputed from the stored float32
vectors, in float64, and rounded to float32. So a row has the same score, to the last bit, on every
path: flat, filtered or compressed, for any number of queries, threads and segments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ...core.errors import IndexStateError, MachineError, QueryError
from ...core.files import os_errors_reported
from ..config import DenseSettings
from ..store.integrity import REMEDY, damage_reported, map_file
from ..store.manifest import Similarity

ANN = "ann.faiss"
Vectors = NDArray[np.float32]
Mask = NDArray[np.bool_]
COSINE: Final = "cosine"
DOT: Final = "dot"
UNFIT: Mapping[str, str] = MappingProxyType({COSINE: "is not of unit length", DOT: "is not finite"})
"""What is wrong with a vector that :func:`unfit_rows` finds, by the similarity."""
MARGIN = 16  # the number of candidates beyond ``k`` that the first exact scan returns
# An approximate index returns this many times ``k`` candidates, because its own order is not exact.
DEPTH = 4
DEPTH_LEAST = 128
BLOCK_QUERIES, BLOCK_ROWS = 256, 8_192
FEW_QUERIES = 20
"""For fewer queries, FAISS scans row by row.

A selector, even of all rows, more than halves the time of this scan.
"""
UNIT_TOLERANCE = 1e-3  # how far rounding may move a length from 1
# Up to this many rows are read one by one from the file; more are read through the memory map.
SCATTERED = 4_096
SAMPLED = 2_048
"""The number of evenly spaced vectors of a segment to check on opening; in a smaller segment, all
are checked.
"""
POINTS_PER_LIST = 39  # FAISS's own minimum of training vectors per list
# The minimum number of vectors of a fast-scan index: each codebook needs this many points.
FEWEST_SCANNED = 16


class VectorFiles(NamedTuple):
    """A segment's files for one encoder: vectors, their approximate index, and the cosines of
    random queries.
    """

    vectors: str = "vectors.f32"
    ann: str = ANN
    chance: str = "chance.f32"

    @classmethod
    def for_variant(cls, variant: str) -> VectorFiles:
        """Return the file names of a further encoder; the first encoder has no ``variant``."""
        return (
            cls(f"vectors-{variant}.f32", f"ann-{variant}.faiss", f"chance-{variant}.f32")
            if variant
            else cls()
        )


def mean_vector(vectors: Vectors, similarity: Similarity) -> Vectors:
    """Return the mean of the vectors of a document's passages; for cosines, at unit length."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    if similarity == DOT:
        unscaled: Vectors = mean.astype(np.float32)
        return unscaled
    length = float(np.linalg.norm(mean))
    direction: Vectors = (mean / length).astype(np.float32) if length else vectors[0]
    return direction


def query_vector(
    numbers: Sequence[float], dimension: int, similarity: Similarity, where: str = "this index"
) -> Vectors:
    """Return a query's vector; for cosines, at unit length.

    ``where`` names what it is compared with. Raises QueryError if it has another dimension or no
    direction.
    """
    if len(numbers) != dimension:
        raise QueryError(
            f"the vector has {len(numbers)} numbers, but the vectors of {where} have {dimension}"
        )
    vector = np.asarray(numbers, dtype=np.float64)
    length = float(np.linalg.norm(vector))
    if not 0 < length < np.inf:
        raise QueryError(
            "the vector has no direction: all of its numbers are 0, or one is not finite"
        )
    used: Vectors = (vector if similarity == DOT else vector / length).astype(np.float32)
    return used


class Nearest(NamedTuple):
    """The best rows of one query: score descending, rows of equal score ascending."""

    scores: NDArray[np.float32]
    rows: NDArray[np.int64]


def whole_rows(path: Path, dimension: int) -> int:
    """Return the number of complete vectors in a file that may be cut off; 0 if it does not
    exist.
    """
    try:
        return path.stat().st_size // (4 * dimension)
    except FileNotFoundError:
        return 0


def write_vectors(
    path: Path,
    chunks: Iterable[Vectors],
    dimension: int,
    *,
    after: int = 0,
    similarity: Similarity = COSINE,
) -> int:
    """Write vectors as they arrive, in chunks of shape (n, ``dimension``); return their number.

    The first ``after`` vectors of the file are kept, and the new ones follow them. Raises
    ValueError if a vector does not suit the similarity.
    """
    count = 0
    with os_errors_reported(path), path.open("r+b" if after else "wb") as file:
        file.seek(file.truncate(after * dimension * 4))
        for chunk in chunks:
            if chunk.ndim != 2 or chunk.shape[1] != dimension:
                raise ValueError(f"vectors have the shape {chunk.shape}, expected (n, {dimension})")
            for wrong in unfit_rows(chunk, similarity):
                raise ValueError(f"vector {after + count + wrong} {UNFIT[similarity]}")
            file.write(np.ascontiguousarray(chunk, dtype="<f4").data)
            count += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return count


def read_vectors(path: Path, rows: int, dimension: int) -> Vectors:
    """Map a file of vectors, shape (``rows``, ``dimension``).

    Raises IndexStateError if the file is damaged.
    """
    expected = rows * dimension * 4
    with damage_reported(path):
        size = path.stat().st_size
    if size != expected:
        what = f"has {size} bytes, but {rows} vectors of {dimension} dimensions take {expected}"
        raise IndexStateError(what, place=path, remedy=REMEDY)
    if rows == 0:
        return np.empty((0, dimension), dtype=np.float32)
    return np.asarray(map_file(path, "<f4", (rows, dimension)))


def _evenly_spaced(rows: int, most: int) -> NDArray[np.int64]:
    return np.linspace(0, rows - 1, most).astype(np.int64) if rows > most else np.arange(rows)


def build_ann(vectors: Vectors, folder: Path, settings: DenseSettings, *, file: str = ANN) -> bool:
    """Write the approximate index of a segment if the settings and its size require one; return
    whether it was written.

    It is trained on the segment's own vectors. Each code of 4 bits covers two dimensions, or more
    if the dimension is odd. One thread builds it, so the same vectors give the same file.
    """
    if settings.type != "auto" or len(vectors) < max(settings.auto_flat_below, FEWEST_SCANNED):
        return False
    faiss = _faiss()
    sample, dimension = (
        vectors[_evenly_spaced(len(vectors), settings.train_sample)],
        vectors.shape[1],
    )
    lists = max(1, min(settings.lists, len(sample) // POINTS_PER_LIST))
    parts = max(size for size in range(1, max(dimension // 2, 1) + 1) if dimension % size == 0)
    index = faiss.index_factory(dimension, f"IVF{lists},PQ{parts}x4fs", faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.train(np.ascontiguousarray(sample, dtype=np.float32))
        for start in range(0, len(vectors), BLOCK_ROWS):
            index.add(np.ascontiguousarray(vectors[start : start + BLOCK_ROWS], dtype=np.float32))
    finally:
        faiss.omp_set_num_threads(threads)
    path = folder / file
    try:
        faiss.write_index(index, str(path))
    except RuntimeError:
        remedy = "check that the folder exists and that the disk has room"
        raise MachineError("cannot be written", place=path, remedy=remedy) from None
    with os_errors_reported(path), path.open("rb") as written:
        os.fsync(written.fileno())
    return True


def read_ann(path: Path, rows: int, dimension: int) -> Any:
    """Open the approximate index of a segment, memory-mapped.

    Raises IndexStateError if it is not one of this size.
    """
    faiss = _faiss()
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError:
        raise IndexStateError(
            "cannot be read as a FAISS index", place=path, remedy=REMEDY
        ) from None
    if (index.ntotal, index.d) != (rows, dimension):
        what = (
            f"contains {index.ntotal} vectors of {index.d} dimensions, expected {rows} of "
            f"{dimension} dimensions"
        )
        raise IndexStateError(what, place=path, remedy=REMEDY)
    if not isinstance(index, faiss.IndexIVFPQFastScan):
        raise IndexStateError(
            "is not a fast-scan index, the only supported kind", place=path, remedy=REMEDY
        )
    return index


class VectorIndex:
    """The vectors of all segments of an index; row numbers continue from segment to segment.

    Any number of threads may search at once. Raises IndexStateError, naming the file, if a file is
    damaged.
    """

    def __init__(
        self,
        segments: Sequence[tuple[Path, int]],
        dimension: int,
        settings: DenseSettings,
        files: VectorFiles = VectorFiles(),  # noqa: B008  it is immutable
        similarity: Similarity = COSINE,
    ) -> None:
        """Open segments, each a folder and its number of rows; ``files`` names the files of one
        encoder.
        """
        self.dimension = dimension
        self.similarity: Similarity = similarity
        self._segments = [
            _Segment(folder, rows, _Format(dimension, similarity, files), settings)
            for folder, rows in segments
        ]
        self._bounds = list(accumulate((rows for _, rows in segments), initial=0))

    def __len__(self) -> int:
        return self._bounds[-1]

    def search(self, queries: Vectors, k: int, keep: Mask | None = None) -> list[Nearest]:
        """Find, for each query of shape (n, dimension), every row that scores at least as high as
        the ``k``-th best.

        It returns more than ``k`` rows if scores tie at the cut, and fewer only if there are fewer
        rows or ``keep`` admits fewer. ``keep``, shape (rows,), marks the rows that may be found.
        The score is the inner product. An approximate index may miss a few rows.

        Raises ValueError if ``k`` is less than 1 or the shape of ``queries`` or ``keep`` does not
        fit.
        """
        if k < 1:
            raise ValueError(f"k is {k}, it must be at least 1")
        if queries.ndim != 2 or queries.shape[1] != self.dimension:
            raise ValueError(
                f"queries have the shape {queries.shape}, the index has {self.dimension} dimensions"
            )
        if keep is not None and keep.shape != (len(self),):
            raise ValueError(f"keep has the shape {keep.shape}, the index has {len(self)} rows")
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        results: list[Nearest] = []
        for start in range(0, len(queries), BLOCK_QUERIES):
            some, parts = queries[start : start + BLOCK_QUERIES], []
            for segment, first, end in zip(
                self._segments, self._bounds, self._bounds[1:], strict=False
            ):
                kept = None if keep is None else keep[first:end]
                parts.append(
                    [Nearest(hit.scores, hit.rows + first) for hit in segment.search(some, k, kept)]
                )
            results += (_merge([part[number] for part in parts], k) for number in range(len(some)))
        return results

    def of_rows(self, rows: Sequence[int]) -> Vectors:
        """Return the vectors of rows, in their order, shape (rows, dimension)."""
        vectors, places = (
            np.empty((len(rows), self.dimension), dtype=np.float32),
            np.asarray(rows, dtype=np.int64),
        )
        owners = np.searchsorted(self._bounds, places, side="right") - 1
        for number in np.unique(owners):
            mine = owners == number
            vectors[mine] = self._segments[number].vectors(places[mine] - self._bounds[number])
        return vectors


class _Format(NamedTuple):
    """What all segments of a view have in common."""

    dimension: int
    similarity: Similarity
    files: VectorFiles


class _Segment:
    def __init__(self, folder: Path, rows: int, form: _Format, settings: DenseSettings) -> None:
        dimension, similarity, files = form
        ann = folder / files.ann
        self._path = folder / files.vectors
        self._vectors = read_vectors(self._path, rows, dimension)
        self._settings = settings
        self._similarity: Similarity = similarity
        self._ann = (
            read_ann(ann, rows, dimension) if settings.type != "flat" and ann.is_file() else None
        )
        self._scattered = -1
        if self._ann is not None:
            with damage_reported(self._path):
                self._scattered = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            finalize(self, os.close, self._scattered)
        self._check_fit(_evenly_spaced(rows, SAMPLED))

    def search(self, queries: Vectors, k: int, keep: Mask | None) -> list[Nearest]:
        kept = len(self._vectors) if keep is None else int(np.count_nonzero(keep))
        if kept == 0:
            return [_NONE] * len(queries)
        if keep is not None and kept == len(keep):
            keep = None
        results: list[Nearest | None] = [None] * len(queries)
        if kept >= self._settings.exact_below:
            results = self._approximate(queries, k, keep, kept)
        missing = [number for number, result in enumerate(results) if result is None]
        scanned = iter(self._exact(queries[missing], k, keep, kept) if missing else ())
        return [next(scanned) if result is None else result for result in results]

    def vectors(self, rows: NDArray[np.int64]) -> Vectors:
        self._check_fit(rows)
        return self._of_rows(rows)

    def _exact(self, queries: Vectors, k: int, keep: Mask | None, kept: int) -> list[Nearest]:
        """Scan all kept rows, and return the best.

        FAISS's float32 sums depend on the kind of call, but stay well within ``slack`` of the exact
        value. If the last fetched row scores lower than the k-th by more than ``slack``, all rows
        that were not fetched score lower than the k-th.
        """
        lengths = np.linalg.norm(queries, axis=1) * self._longest
        slack = 4 * (self._vectors.shape[1] + 2) * 2.0**-24 * lengths
        results: dict[int, Nearest] = {}
        pending = list(range(len(queries)))
        n = k + MARGIN
        while pending:
            n = min(n, kept)
            scores, rows = self._scan(queries[pending], n, keep)
            settled = (n == kept) | (scores[:, min(k, n) - 1] - scores[:, -1] > slack[pending])
            for number, ready, candidates in zip(pending, settled, rows, strict=True):
                if ready:
                    results[number] = _cut(self._rescore(queries[number], candidates), k)
            pending = [number for number, ready in zip(pending, settled, strict=True) if not ready]
            n *= 2
        return [results[number] for number in range(len(queries))]

    @cached_property
    def _longest(self) -> float:
        """The length of the longest vector."""
        if self._similarity == COSINE:
            return 1.0
        blocks = range(0, len(self._vectors), BLOCK_ROWS)
        return max(
            float(np.linalg.norm(self._vectors[start : start + BLOCK_ROWS], axis=1).max())
            for start in blocks
        )

    def _scan(
        self, queries: Vectors, n: int, keep: Mask | None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        faiss = _faiss()
        scores = np.empty((len(queries), n), dtype=np.float32)
        rows = np.empty((len(queries), n), dtype=np.int64)
        total, dimension = self._vectors.shape
        pointers = [faiss.swig_ptr(array) for array in (queries, self._vectors, scores, rows)]
        sizes = (dimension, len(queries), total, n)
        few = faiss.IDSelectorAll() if len(queries) < FEW_QUERIES else None
        selector = (
            few if keep is None else faiss.IDSelectorBitmap(np.packbits(keep, bitorder="little"))
        )
        faiss.knn_inner_product(*pointers[:2], *sizes, *pointers[2:], selector)
        if (rows < 0).any():  # a row of -1 means that a vector is not a number
            self._check_fit(np.arange(total))
        return scores, rows

    def _approximate(
        self, queries: Vectors, k: int, keep: Mask | None, kept: int
    ) -> list[Nearest | None]:
        """Return the rows that the approximate index finds; None for a query with too few, or a tie
        at the cut.
        """
        n = max(DEPTH * k, DEPTH_LEAST)
        if self._ann is None or n >= kept:
            return [None] * len(queries)
        faiss = _faiss()
        selector = (
            None if keep is None else faiss.IDSelectorBitmap(np.packbits(keep, bitorder="little"))
        )
        parameters = faiss.SearchParametersIVF(nprobe=self._settings.scan_probes, sel=selector)
        rows = self._ann.search(queries, n, params=parameters)[1]
        results: list[Nearest | None] = []
        for query, candidates in zip(queries, rows, strict=True):
            rescored = self._rescore(query, candidates[candidates >= 0])  # -1 means no row
            best = _cut(rescored, k)
            results.append(
                best if len(best.rows) >= k and len(best.rows) < len(rescored.rows) else None
            )
        return results

    def _rescore(self, query: Vectors, rows: NDArray[np.int64]) -> Nearest:
        """Return rows with exact scores: float32 products are exact in float64, and each row is
        summed alone.
        """
        exact = query.astype(np.float64)
        scores = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = self._of_rows(rows[start : start + BLOCK_ROWS]).astype(np.float64)
            scores[start : start + BLOCK_ROWS] = (block * exact).sum(axis=1)
        if len(odd := rows[(scores == 0) | ~np.isfinite(scores)]):
            self._check_fit(odd)
        return Nearest(scores, rows)

    def _check_fit(self, rows: NDArray[np.int64]) -> None:
        for wrong in unfit_rows(self._of_rows(rows), self._similarity):
            what = f"vector {rows[wrong]} {UNFIT[self._similarity]}: the file is damaged"
            raise IndexStateError(what, place=self._path, remedy=REMEDY)

    def _of_rows(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the vectors of rows; if there is an approximate index, read a few rows without the
        memory map.

        Reading one byte of a mapped file loads the pages around it, sixteen on Linux. A few hundred
        rows per query would soon load the whole file into the memory of the process.
        """
        if self._scattered < 0 or len(rows) > SCATTERED:
            return self._vectors[rows]
        vectors = np.empty((len(rows), self._vectors.shape[1]), dtype="<f4")
        for vector, row in zip(vectors, rows.tolist(), strict=True):
            if os.preadv(self._scattered, [vector.data], row * vector.nbytes) != vector.nbytes:
                raise IndexStateError(f"ends before vector {row}", place=self._path, remedy=REMEDY)
        return vectors


_NONE = Nearest(np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64))


def _faiss() -> Any:
    import faiss

    return faiss


def _cut(hits: Nearest, k: int) -> Nearest:
    """Return the rows, highest score first and ties by row, without those that score less than the
    ``k``-th.
    """
    order = np.lexsort((hits.rows, -hits.scores))
    scores, rows = hits.scores[order], hits.rows[order]
    if len(scores) > k:
        size = int(np.searchsorted(-scores, -scores[k - 1], side="right"))
        scores, rows = scores[:size], rows[:size]
    return Nearest(scores, rows)


def _merge(parts: Sequence[Nearest], k: int) -> Nearest:
    if len(parts) == 1:
        return parts[0]
    scores, rows = zip(_NONE, *parts, strict=True)
    return _cut(Nearest(np.concatenate(scores), np.concatenate(rows)), k)


def unfit_rows(vectors: Vectors, similarity: Similarity) -> Iterator[int]:
    """Yield the rows whose vector does not suit the similarity: it is not of unit length (for
    cosines) or not finite (for dot products).
    """
    for start in range(0, len(vectors), BLOCK_ROWS):
        lengths = np.linalg.norm(vectors[start : start + BLOCK_ROWS], axis=1)
        is_unit = np.abs(lengths - 1) < UNIT_TOLERANCE
        fit = is_unit if similarity == COSINE else np.isfinite(lengths)
        yield from (start + int(row) for row in np.flatnonzero(~fit))
