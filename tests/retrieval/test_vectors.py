"""The vectors of an index: brute force as the oracle, whatever path the search takes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from factseek.retrieval.config import DenseSettings
from factseek.retrieval.dense.vectors import (
    ANN,
    SAMPLED,
    Nearest,
    VectorIndex,
    build_ann,
    is_approximate,
    read_vectors,
    sample_vectors,
    write_vectors,
)
from factseek.retrieval.errors import IndexStateError, MachineError

DIMENSION = 48
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def unit(vectors: NDArray[np.float64]) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def random_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> Floats:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def clustered(count: int, seed: int = 0) -> Floats:
    """Return vectors around a few centres, which is how real ones lie."""
    centres = np.random.default_rng(0).standard_normal((20, DIMENSION))
    rng = np.random.default_rng(seed + 1)
    return unit(centres[rng.integers(20, size=count)] + 0.7 * rng.standard_normal((count, DIMENSION)))


def made(folder: Path, vectors: Floats, parts: Sequence[int] = (), dense: DenseSettings | None = None) -> VectorIndex:
    """Write vectors as segments of the sizes ``parts`` and open them."""
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


def brute_force(vectors: Floats, query: Floats, k: int, keep: Mask | None = None) -> list[tuple[float, int]]:
    """Return score and row of all that score no less than the k-th, summed row by row in float64."""
    scores = [np.float32(np.sum(row.astype(np.float64) * query.astype(np.float64))) for row in vectors]
    pairs = [(float(s), row) for row, s in enumerate(scores) if keep is None or keep[row]]
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    return [pair for pair in pairs if len(pairs) <= k or pair[0] >= pairs[k - 1][0]]


def pairs(found: Nearest) -> list[tuple[float, int]]:
    return list(zip(found.scores.tolist(), found.rows.tolist(), strict=True))


def same(left: Sequence[Nearest], right: Sequence[Nearest]) -> bool:
    return [pairs(found) for found in left] == [pairs(found) for found in right]


@pytest.fixture(scope="module")
def some() -> Floats:
    """600 vectors, every seventh of them three times."""
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


def test_the_number_of_queries_changes_nothing(tmp_path: Path, some: Floats) -> None:
    index = made(tmp_path, some)
    queries = random_vectors(700, seed=4)
    together = index.search(queries, 10)
    assert same([index.search(query[np.newaxis], 10)[0] for query in queries], together)
    assert same(
        [found for start in range(0, 700, 19) for found in index.search(queries[start : start + 19], 10)], together
    )


def test_the_number_of_threads_changes_nothing(tmp_path: Path, some: Floats) -> None:
    import faiss

    index = made(tmp_path, some)
    queries = random_vectors(64, seed=5)
    before = faiss.omp_get_max_threads()
    found = []
    try:
        for threads in (1, 2, 4):
            faiss.omp_set_num_threads(threads)
            found.append(index.search(queries, 10))
    finally:
        faiss.omp_set_num_threads(before)
    assert same(found[0], found[1])
    assert same(found[0], found[2])


def test_many_threads_search_at_once(tmp_path: Path, some: Floats) -> None:
    index = made(tmp_path, some)
    queries = random_vectors(40, seed=6)
    keep = np.arange(len(some)) % 3 > 0
    alone = index.search(queries, 10, keep)
    found: dict[int, list[Nearest]] = {}

    def search(number: int) -> None:
        found[number] = [index.search(query[np.newaxis], 10, keep)[0] for query in queries]

    threads = [threading.Thread(target=search, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(same(alone, one) for one in found.values())


def test_segments_change_nothing(tmp_path: Path, some: Floats) -> None:
    queries = random_vectors(30, seed=7)
    whole = made(tmp_path / "whole", some).search(queries, 12)
    assert same(whole, made(tmp_path / "parts", some, (7, 93, 100, 400)).search(queries, 12))


def test_all_equal_scores_at_the_cut_are_found(tmp_path: Path) -> None:
    vectors = random_vectors(500, seed=8)
    vectors[100:400] = vectors[100]
    (found,) = made(tmp_path, vectors, (250, 250)).search(vectors[100:101], 5)
    assert found.rows.tolist() == list(range(100, 400))
    assert len(set(found.scores.tolist())) == 1


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_small_index_is_brute_force(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Coordinates from a coarse grid make equal and nearly equal scores common."""
    coordinate = st.integers(-2, 2)
    row = st.tuples(coordinate, coordinate, coordinate).filter(any)
    vectors = unit(np.array(data.draw(st.lists(row, min_size=1, max_size=60)), dtype=np.float64))
    queries = unit(np.array(data.draw(st.lists(row, min_size=1, max_size=30)), dtype=np.float64))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(vectors), max_size=len(vectors))))
    k = data.draw(st.integers(1, len(vectors) + 2))
    cut = data.draw(st.integers(0, len(vectors)))
    index = made(tmp_path_factory.mktemp("grid"), vectors, (cut, len(vectors) - cut))
    for mask in (None, keep):
        for query, found in zip(queries, index.search(queries, k, mask), strict=True):
            assert pairs(found) == brute_force(vectors, query, k, mask)


AUTO = DenseSettings(type="auto", auto_flat_below=100, exact_below=0, lists=16, scan_probes=8)


@pytest.fixture(scope="module")
def many() -> Floats:
    return clustered(3000, seed=9)


@pytest.fixture(scope="module")
def approximate(tmp_path_factory: pytest.TempPathFactory, many: Floats) -> VectorIndex:
    """Three segments, the last too small for an approximate index."""
    folder = tmp_path_factory.mktemp("approximate")
    index = made(folder, many, (2000, 950, 50), AUTO)
    assert [(folder / str(number) / ANN).exists() for number in range(3)] == [True, True, False]
    return index


def recall(index: VectorIndex, vectors: Floats, queries: Floats, keep: Mask | None = None) -> float:
    found = index.search(queries, 10, keep)
    wanted = [brute_force(vectors, query, 10, keep) for query in queries]
    return float(np.mean([len(set(pairs(f)) & set(w)) / len(w) for f, w in zip(found, wanted, strict=True)]))


def test_approximate_search_recalls_with_exact_scores(approximate: VectorIndex, many: Floats) -> None:
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


@pytest.mark.parametrize("kept", [0, 1, 9, 100])
def test_fewer_rows_than_would_be_fetched_are_scanned_exactly(
    approximate: VectorIndex, many: Floats, kept: int
) -> None:
    keep = np.zeros(len(many), dtype=np.bool_)
    keep[np.random.default_rng(kept).choice(len(many), kept, replace=False)] = True
    queries = clustered(30, seed=13)
    for query, found in zip(queries, approximate.search(queries, 10, keep), strict=True):
        assert pairs(found) == brute_force(many, query, 10, keep)


def test_few_kept_rows_are_scanned_exactly(tmp_path: Path, many: Floats) -> None:
    index = made(tmp_path, many, (3000,), msgspec.structs.replace(AUTO, exact_below=600))
    keep = np.arange(3000) % 6 == 0
    assert recall(index, many, clustered(40, seed=14), keep) == 1.0


def test_ties_at_the_cut_of_an_approximate_search_are_all_found(tmp_path: Path, many: Floats) -> None:
    vectors = many.copy()
    vectors[500:900] = vectors[500]
    (found,) = made(tmp_path, vectors, (3000,), AUTO).search(vectors[500:501], 10)
    assert found.rows.tolist() == list(range(500, 900))


def test_an_index_of_type_flat_ignores_an_approximate_one(tmp_path: Path, many: Floats) -> None:
    made(tmp_path, many, (3000,), AUTO)
    (tmp_path / "0" / ANN).write_bytes(b"damaged")
    with pytest.raises(IndexStateError):
        VectorIndex([(tmp_path / "0", 3000)], DIMENSION, AUTO)
    index = VectorIndex([(tmp_path / "0", 3000)], DIMENSION, DenseSettings(type="flat"))
    assert recall(index, many, clustered(20, seed=15)) == 1.0


def test_building_gives_the_same_bytes_on_any_number_of_threads(tmp_path: Path, many: Floats) -> None:
    import faiss

    before = faiss.omp_get_max_threads()
    files = []
    try:
        for threads in (1, 3):
            faiss.omp_set_num_threads(threads)
            folder = tmp_path / str(threads)
            folder.mkdir()
            assert build_ann(many, folder, AUTO)
            assert faiss.omp_get_max_threads() == threads
            files.append((folder / ANN).read_bytes())
    finally:
        faiss.omp_set_num_threads(before)
    assert files[0] == files[1]


@pytest.mark.parametrize("count", [16, 17, 40, 300])
@pytest.mark.parametrize("dimension", [1, 3, 8, 14])
def test_a_fast_scan_index_can_be_learned_from_few_vectors(
    tmp_path: Path, count: int, dimension: int, capfd: pytest.CaptureFixture[str]
) -> None:
    vectors = random_vectors(count, dimension=dimension)
    dense = DenseSettings(auto_flat_below=1, exact_below=0)
    found = made(tmp_path, vectors, (count,), dense).search(vectors[:5], 3)
    assert (tmp_path / "0" / ANN).exists()
    assert [pairs(hits) for hits in found] == [brute_force(vectors, query, 3) for query in vectors[:5]]
    assert capfd.readouterr() == ("", "")


def test_an_approximate_search_leaves_the_vectors_on_disk(tmp_path: Path, many: Floats) -> None:
    queries = clustered(40, seed=18)

    def resident(settings_: DenseSettings) -> int:
        index = made(tmp_path / settings_.type, many, (3000,), settings_)
        index.search(queries, 10)
        _, _, after = Path("/proc/self/smaps").read_text("utf-8").partition(f"{settings_.type}/0/vectors.f32\n")
        (kilobytes,) = (line.split()[1] for line in after.splitlines()[:10] if line.startswith("Rss:"))
        return int(kilobytes)

    assert resident(AUTO) == 0
    assert resident(DenseSettings(type="flat")) > 500


@pytest.mark.parametrize(("dense", "count"), [(DenseSettings(), 99_999), (AUTO, 99), (AUTO, 0)])
def test_small_and_flat_segments_get_no_approximate_index(tmp_path: Path, dense: DenseSettings, count: int) -> None:
    assert build_ann(np.zeros((count, 2), dtype=np.float32), tmp_path, dense) is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("dense", "fewest"),
    [(DenseSettings(), 100_000), (DenseSettings(auto_flat_below=0), 16), (AUTO, 100)],
)
def test_how_many_vectors_an_approximate_index_takes(dense: DenseSettings, fewest: int) -> None:
    assert (is_approximate(dense, fewest - 1), is_approximate(dense, fewest)) == (False, True)
    assert not is_approximate(DenseSettings(type="flat", auto_flat_below=0), 10**9)


def test_a_sample_is_spread_evenly() -> None:
    vectors = np.arange(100, dtype=np.float32)[:, np.newaxis]
    assert sample_vectors(vectors, 4)[:, 0].tolist() == [0, 33, 66, 99]
    assert sample_vectors(vectors, 100)[:, 0].tolist() == list(range(100))


def test_vectors_written_in_pieces_are_read_back(tmp_path: Path) -> None:
    vectors = random_vectors(100)
    path = tmp_path / "vectors.f32"
    assert write_vectors(path, (vectors[start : start + 7] for start in range(0, 100, 7)), DIMENSION) == 100
    read = read_vectors(path, 100, DIMENSION)
    assert np.array_equal(read, vectors)
    assert not read.flags.writeable
    assert path.read_bytes() == vectors.astype("<f4").tobytes()


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    assert VectorIndex([], 3, DenseSettings()).search(np.eye(3, dtype=np.float32), 5)[2].rows.tolist() == []
    empty = made(tmp_path, np.empty((0, 3), dtype=np.float32))
    assert len(empty) == 0
    assert [len(found.rows) for found in empty.search(np.eye(3, dtype=np.float32), 5)] == [0, 0, 0]
    assert empty.search(np.empty((0, 3), dtype=np.float32), 5) == []


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([np.eye(3), np.full((2, 3), 2.0)], "vector 3 is not of unit length"),
        ([np.array([[1.0, 0, 0], [0, 0, 0]])], "vector 1 is not of unit length"),
        ([np.array([[np.nan, 0, 0]])], "vector 0 is not of unit length"),
        ([np.eye(4)], "vectors have the shape (4, 4), expected (n, 3)"),
    ],
)
def test_only_unit_vectors_are_written(tmp_path: Path, chunks: list[NDArray[np.float64]], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        write_vectors(tmp_path / "v", [chunk.astype(np.float32) for chunk in chunks], 3)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("queries", "k", "keep", "message"),
    [
        ((1, 3), 0, None, "k is 0, it must be at least 1"),
        ((1, 4), 1, None, "queries have the shape (1, 4), the index has 3 dimensions"),
        ((3,), 1, None, "queries have the shape (3,), the index has 3 dimensions"),
        ((1, 3), 1, (2,), "keep has the shape (2,), the index has 3 rows"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, queries: tuple[int, ...], k: int, keep: tuple[int, ...] | None, message: str
) -> None:
    index = made(tmp_path, np.eye(3, dtype=np.float32))
    mask = None if keep is None else np.ones(keep, dtype=np.bool_)
    with pytest.raises(ValueError) as caught:
        index.search(np.ones(queries, dtype=np.float32), k, mask)
    assert str(caught.value) == message


REMEDY = "repair it with factseek verify-index --repair, or restore a snapshot"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "vectors.f32").unlink(), "{f}/vectors.f32: cannot be read: No such file or directory"),
        (
            lambda f: (f / "vectors.f32").write_bytes(b"short"),
            "{f}/vectors.f32: holds 5 bytes, 200 vectors of 48 dimensions take 38400",
        ),
        (lambda f: (f / ANN).write_bytes(b"not an index"), "{f}/ann.faiss: cannot be read as a FAISS index"),
        (
            lambda f: (f / ANN).write_bytes((f / ANN).read_bytes()[:5000]),
            "{f}/ann.faiss: cannot be read as a FAISS index",
        ),
        (
            lambda f: build_ann(random_vectors(150), f, AUTO),
            "{f}/ann.faiss: holds 150 vectors of 48 dimensions, expected 200 of 48 dimensions",
        ),
        (
            lambda f: build_ann(random_vectors(200, dimension=24), f, AUTO),
            "{f}/ann.faiss: holds 200 vectors of 24 dimensions, expected 200 of 48 dimensions",
        ),
    ],
)
def test_a_damaged_segment_is_told(tmp_path: Path, damage: object, message: str) -> None:
    made(tmp_path, random_vectors(200), (200,), AUTO)
    folder = tmp_path / "0"
    damage(folder)  # type: ignore[operator]
    with pytest.raises(IndexStateError) as caught:
        VectorIndex([(folder, 200)], DIMENSION, AUTO)
    assert caught.value.line == f"{message.format(f=folder)}; {REMEDY}"


def test_an_index_of_another_kind_is_told(tmp_path: Path) -> None:
    import faiss

    made(tmp_path, random_vectors(200), (200,), AUTO)
    flat = faiss.IndexFlatIP(DIMENSION)
    flat.add(random_vectors(200))
    path = tmp_path / "0" / ANN
    faiss.write_index(flat, str(path))
    with pytest.raises(IndexStateError) as caught:
        VectorIndex([(tmp_path / "0", 200)], DIMENSION, AUTO)
    assert caught.value.line == f"{path}: is not a fast-scan index, the only supported kind; {REMEDY}"


def test_an_index_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        build_ann(random_vectors(200), tmp_path / "nowhere", AUTO)
    message = "cannot be written; see that the folder is there and the disk has room"
    assert caught.value.line == f"{tmp_path}/nowhere/{ANN}: {message}"


@pytest.mark.parametrize("what", [0.0, np.nan, np.inf])
def test_vectors_that_were_damaged_in_place_are_named_when_they_are_opened(tmp_path: Path, what: float) -> None:
    path = tmp_path / "vectors.f32"
    write_vectors(path, [unit(np.random.default_rng(1).normal(size=(100, 8)))], 8)
    damaged = np.fromfile(path, dtype="<f4").reshape(100, 8)
    damaged[70] = what
    damaged.tofile(path)
    with pytest.raises(IndexStateError) as error:
        VectorIndex([(tmp_path, 100)], 8, DenseSettings())
    assert error.value.line == f"{path}: vector 70 is not of unit length: the file is damaged; {REMEDY}"


@pytest.mark.parametrize("what", [0.0, np.nan])
def test_a_damaged_vector_that_opening_passed_over_is_named_when_it_is_found(tmp_path: Path, what: float) -> None:
    rows = 3 * SAMPLED
    path = tmp_path / "vectors.f32"
    vectors = unit(np.random.default_rng(1).normal(size=(rows, 4)))
    write_vectors(path, [vectors], 4)
    looked_at = np.linspace(0, rows - 1, SAMPLED).astype(int)
    hidden = next(row for row in range(rows) if row not in looked_at)
    damaged = vectors.astype("<f4")
    damaged[hidden] = what
    damaged.tofile(path)
    keep = np.zeros(rows, dtype=np.bool_)
    keep[[hidden, 7, 8]] = True
    with pytest.raises(IndexStateError, match=f"vector {hidden} is not of unit length"):
        VectorIndex([(tmp_path, rows)], 4, DenseSettings()).search(vectors[:1], 3, keep)
