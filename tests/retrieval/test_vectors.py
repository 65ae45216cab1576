"""The vectors of an index: brute force as the oracle, whatever path the search takes."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.retrieval.config import DenseSettings
from factseek.retrieval.dense.vectors import (
    ANN,
    Nearest,
    VectorIndex,
    build_ann,
    read_vectors,
    write_vectors,
)

DIMENSION = 48
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def unit(vectors: NDArray[np.float64]) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def random_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> Floats:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def clustered(count: int, seed: int = 0) -> Floats:
    centres = np.random.default_rng(0).standard_normal((20, DIMENSION))
    rng = np.random.default_rng(seed + 1)
    return unit(
        centres[rng.integers(20, size=count)] + 0.7 * rng.standard_normal((count, DIMENSION))
    )


def made(
    folder: Path, vectors: Floats, parts: Sequence[int] = (), dense: DenseSettings | None = None
) -> VectorIndex:
    dense = dense or DenseSettings()
    segments = []
    bounds = np.cumsum([0, *(parts or [len(vectors)])])
    for number, (start, end) in enumerate(pairwise(bounds)):
        here = folder / str(number)
        here.mkdir(parents=True)
        rows = write_vectors(here / "vectors.f32", [vectors[start:end]], vectors.shape[1])
        build_ann(read_vectors(here / "vectors.f32", rows, vectors.shape[1]), here, dense)
        segments.append((here, rows))
    return VectorIndex(segments, vectors.shape[1], dense)


def brute_force(
    vectors: Floats, query: Floats, k: int, keep: Mask | None = None
) -> list[tuple[float, int]]:
    """Return score and row of all that score no less than the k-th, summed row by row in
    float64.
    """
    scores = [
        np.float32(np.sum(row.astype(np.float64) * query.astype(np.float64))) for row in vectors
    ]
    pairs = [(float(s), row) for row, s in enumerate(scores) if keep is None or keep[row]]
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    return [pair for pair in pairs if len(pairs) <= k or pair[0] >= pairs[k - 1][0]]


def pairs(found: Nearest) -> list[tuple[float, int]]:
    return list(zip(found.scores.tolist(), found.rows.tolist(), strict=True))


def same(left: Sequence[Nearest], right: Sequence[Nearest]) -> bool:
    return [pairs(found) for found in left] == [pairs(found) for found in right]


@pytest.fixture(scope="module")
def some() -> Floats:
    vectors = clustered(600)
    vectors[1::7] = vectors[::7][: len(vectors[1::7])]
    vectors[2::7] = vectors[::7][: len(vectors[2::7])]
    return vectors


@pytest.mark.parametrize("k", [1, 2, 10, 100, 599, 600, 5000])
@pytest.mark.parametrize("parts", [(600,), (1, 0, 299, 300)])
def test_flat_is_brute_force(tmp_path: Path, some: Floats, k: int, parts: tuple[int, ...]) -> None:
    queries = np.concatenate([random_vectors(5, seed=1), some[:3]])
    for query, found in zip(queries, made(tmp_path, some, parts).search(queries, k), strict=True):
        assert pairs(found) == brute_force(some, query, k)
        assert (found.scores.dtype, found.rows.dtype) == (np.float32, np.int64)


@pytest.mark.parametrize("share", [0.0, 0.002, 0.1, 0.9, 1.0])
def test_only_kept_rows_are_found(tmp_path: Path, some: Floats, share: float) -> None:
    index = made(tmp_path, some, (200, 400))
    keep = np.random.default_rng(3).random(len(some)) < share
    queries = random_vectors(25, seed=2)
    for query, found in zip(queries, index.search(queries, 7, keep), strict=True):
        assert pairs(found) == brute_force(some, query, 7, keep)


def test_segments_change_nothing(tmp_path: Path, some: Floats) -> None:
    queries = random_vectors(30, seed=7)
    whole = made(tmp_path / "whole", some).search(queries, 12)
    assert same(whole, made(tmp_path / "parts", some, (7, 93, 100, 400)).search(queries, 12))


AUTO = DenseSettings(type="auto", auto_flat_below=100, exact_below=0, lists=16, scan_probes=8)


@pytest.fixture(scope="module")
def many() -> Floats:
    return clustered(3000, seed=9)


@pytest.fixture(scope="module")
def approximate(tmp_path_factory: pytest.TempPathFactory, many: Floats) -> VectorIndex:
    folder = tmp_path_factory.mktemp("approximate")
    index = made(folder, many, (2000, 950, 50), AUTO)
    assert [(folder / str(number) / ANN).exists() for number in range(3)] == [True, True, False]
    return index


def recall(index: VectorIndex, vectors: Floats, queries: Floats, keep: Mask | None = None) -> float:
    found = index.search(queries, 10, keep)
    wanted = [brute_force(vectors, query, 10, keep) for query in queries]
    return float(
        np.mean([len(set(pairs(f)) & set(w)) / len(w) for f, w in zip(found, wanted, strict=True)])
    )


def test_approximate_search_recalls_with_exact_scores(
    approximate: VectorIndex, many: Floats
) -> None:
    queries = clustered(40, seed=10)
    assert recall(approximate, many, queries) > 0.9
    exact = (queries.astype(np.float64) @ many.T.astype(np.float64)).astype(np.float32)
    for number, found in enumerate(approximate.search(queries, 10)):
        assert np.array_equal(found.scores, exact[number, found.rows])


def test_approximate_search_keeps_to_the_filter(approximate: VectorIndex, many: Floats) -> None:
    keep = np.random.default_rng(11).random(len(many)) < 0.5
    queries = clustered(40, seed=12)
    assert recall(approximate, many, queries, keep) > 0.8
    assert all(keep[found.rows].all() for found in approximate.search(queries, 10, keep))


def test_ties_at_the_cut_of_an_approximate_search_are_all_found(
    tmp_path: Path, many: Floats
) -> None:
    vectors = many.copy()
    vectors[500:900] = vectors[500]
    (found,) = made(tmp_path, vectors, (3000,), AUTO).search(vectors[500:501], 10)
    assert found.rows.tolist() == list(range(500, 900))
