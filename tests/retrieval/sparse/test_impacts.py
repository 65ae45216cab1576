"""Impacts on disk and the search in them: beside a matrix of scipy, and when files are damaged."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack

from factseek.core.errors import IndexStateError
from factseek.retrieval.sparse.impacts import (
    MOST_TERMS,
    SCALE,
    ImpactFiles,
    ImpactIndex,
    PendingImpacts,
    SegmentImpacts,
    SparseVector,
    best_rows,
    joined_term_counts,
    merge_impacts,
    rounded_impacts,
)

VOCABULARY = 12
FILES = ImpactFiles()
WEIGHTS = st.floats(2**-10, 7.0, width=32)
VECTORS = st.dictionaries(st.integers(0, VOCABULARY - 1), WEIGHTS, max_size=6).map(
    lambda weights: vector(sorted(weights.items()))
)


def vector(weights: Sequence[tuple[int, float]]) -> SparseVector:
    terms = np.array([term for term, _ in weights], dtype=np.int32)
    return SparseVector(terms, np.array([weight for _, weight in weights], dtype=np.float32))


def written(folder: Path, vectors: Sequence[SparseVector]) -> SegmentImpacts:
    folder.mkdir(parents=True)
    pending = PendingImpacts(folder / FILES.pending)
    pending.add(vectors)
    pending.sort(folder, FILES, VOCABULARY)
    return SegmentImpacts(folder, len(vectors), VOCABULARY, FILES)


def matrix(vectors: Sequence[SparseVector]) -> csr_matrix:
    rows = []
    for each in vectors:
        terms, impacts = rounded_impacts(each)
        places = (np.zeros(len(terms), dtype=int), terms)
        rows.append(csr_matrix((impacts.astype(float), places), shape=(1, VOCABULARY)))
    return vstack(rows, format="csr")


@settings(max_examples=40)
@given(
    parts=st.lists(st.lists(VECTORS, min_size=1, max_size=9), min_size=1, max_size=3),
    query=VECTORS,
    k=st.integers(1, 12),
)
def test_scores_and_order_are_those_of_a_matrix(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[SparseVector]],
    query: SparseVector,
    k: int,
) -> None:
    folder = tmp_path_factory.mktemp("impacts")
    index = ImpactIndex([written(folder / str(n), each) for n, each in enumerate(parts)])
    everything = matrix([each for part in parts for each in part])
    column = np.zeros(VOCABULARY)
    column[query.terms] = query.weights
    expected = (everything @ column).astype(np.float32)

    scores = index.scores(query)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    best = best_rows(scores, k)
    order = [row for row in np.lexsort((np.arange(len(scores)), -scores)) if scores[row] > 0]
    assert best.rows.tolist()[:k] == order[:k]
    assert best.rows.tolist() == order[: len(best.rows)]
    left_out = order[len(best.rows) :]
    assert all(scores[row] < best.scores[k - 1] for row in left_out)

    counts = index.count_terms(np.arange(VOCABULARY, dtype=np.int32))
    assert counts.passages == everything.shape[0]
    assert counts.having.tolist() == everything.getnnz(axis=0).tolist()
    for row in range(len(scores)):
        of_terms = index.term_scores(query, row)
        assert sum(share for _, share in of_terms) == pytest.approx(float(scores[row]), rel=1e-6)


@settings(max_examples=20)
@given(parts=st.lists(st.lists(VECTORS, min_size=1, max_size=6), min_size=1, max_size=3))
def test_a_merge_is_what_the_kept_rows_alone_would_be(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[SparseVector]]
) -> None:
    folder = tmp_path_factory.mktemp("merged")
    segments = [written(folder / str(number), part) for number, part in enumerate(parts)]
    kept = [[row for row in range(len(part)) if row % 3 != 1] for part in parts]
    (folder / "merged").mkdir()
    rows = [np.array(each, dtype=np.int64) for each in kept]
    merge_impacts(list(zip(segments, rows, strict=True)), folder / "merged", FILES)
    alone = [part[row] for part, of_part in zip(parts, kept, strict=True) for row in of_part]
    written(folder / "alone", alone)
    for name in FILES.postings:
        assert (folder / "merged" / name).read_bytes() == (folder / "alone" / name).read_bytes()


def test_the_heaviest_terms_are_kept_and_the_first_of_equal_ones() -> None:
    many = vector([(term, 1.0 + (term % 2)) for term in range(2 * MOST_TERMS - 2)])
    terms, impacts = rounded_impacts(many)
    odd = list(range(1, 2 * MOST_TERMS - 2, 2))
    assert terms.tolist() == sorted([*odd, 0])
    assert set(impacts.tolist()) == {SCALE, 2 * SCALE}


def test_impacts_are_rounded_bounded_and_above_zero() -> None:
    terms, impacts = rounded_impacts(vector([(0, 0.3 / SCALE), (1, 0.7 / SCALE), (2, 99.0)]))
    assert (terms.tolist(), impacts.tolist()) == ([1, 2], [1, 255])


@pytest.mark.parametrize("cut", [0, 1, 3, 4, 7, 11])
def test_an_interrupted_file_goes_on_after_the_last_whole_passage(tmp_path: Path, cut: int) -> None:
    vectors = [vector([(1, 1.0), (2, 2.0)]), vector([(3, 1.0)]), vector([(2, 1.0)])]
    whole = written(tmp_path / "whole", vectors)
    path = tmp_path / FILES.pending
    begun = PendingImpacts(path)
    begun.add(vectors)
    begun.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size - 4 * cut - (cut % 4)])
    again = PendingImpacts(path)
    assert again.passages < 3 or cut == 0
    again.add(vectors[again.passages :])
    again.sort(tmp_path, FILES, VOCABULARY)
    assert not path.exists()
    for name in FILES.postings:
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert whole.passages == 3


def test_counts_of_parts_are_added() -> None:
    index = [ImpactIndex([]).count_terms(np.array([], dtype=np.int32)) for _ in range(2)]
    assert joined_term_counts(index).passages == 0


def damaged(folder: Path, name: str, content: bytes) -> str:
    segment = written(folder, [vector([(1, 1.0), (2, 2.0)]), vector([(1, 0.5)])])
    del segment
    (folder / name).write_bytes(content)
    with pytest.raises(IndexStateError) as raised:
        index = ImpactIndex([SegmentImpacts(folder, 2, VOCABULARY, FILES)])
        index.scores(vector([(1, 1.0), (2, 1.0)]))
    return raised.value.line.removeprefix(f"{folder}/")


REMEDY = "repair it with factseek verify-index --repair, or restore a snapshot"
UNFIT = f"impacts.starts: does not fit the other files of the segment; {REMEDY}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (FILES.rows, b"\0" * 11, f"impacts.rows: is cut off; {REMEDY}"),
        (FILES.rows, b"\0" * 8, UNFIT),
        (FILES.impacts, b"\1" * 4, UNFIT),
        (FILES.starts, b"", UNFIT),
        (FILES.starts, np.array([0, 0, 9, *[3] * 10], "<i8").tobytes(), UNFIT),
        (
            FILES.rows,
            np.array([0, 7, 0], "<i4").tobytes(),
            f"impacts.starts: has a row out of range; {REMEDY}",
        ),
        (
            FILES.rows,
            np.array([0, -1, 0], "<i4").tobytes(),
            f"impacts.starts: has a row out of range; {REMEDY}",
        ),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    assert damaged(tmp_path / "segment", name, content) == message


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        (
            FILES.rows,
            np.array([1, 0, 0], "<i4").tobytes(),
            "the rows of term 1 are not ascending, or out of range",
        ),
        (FILES.impacts, b"\1\0\1", "term 1 has an impact of 0"),
    ],
)
def test_a_verification_finds_what_a_search_does_not_see(
    tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    written(tmp_path / "segment", [vector([(1, 1.0), (2, 2.0)]), vector([(1, 0.5)])])
    (tmp_path / "segment" / name).write_bytes(content)
    assert list(SegmentImpacts(tmp_path / "segment", 2, VOCABULARY, FILES).faults()) == [fault]
