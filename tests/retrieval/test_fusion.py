"""Fusion, against figures worked out by hand and against what must hold for any ranking."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval import retrievers
from factseek.retrieval.config import FusionSettings
from factseek.retrieval.domain import Hit, Part
from factseek.retrieval.search.fusion import Ranking, fuse
from factseek.retrieval.search.order import float32, ordered, scores_below
from factseek.retrieval.search.score_normalizers import mixed

RRF = FusionSettings(kind="rrf", rrf_k=10)
KINDS = ["rrf", "minmax", "zscore"]
RANKING = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 30, width=32), max_size=8).map(
    lambda scores: ordered(Hit(docid, score) for docid, score in scores.items())
)


def test_rrf_by_hand() -> None:
    one = [Hit("a", 9.0, 4), Hit("b", 8.0, 1)]
    two = [Hit("b", 0.9, 7), Hit("c", 0.8, 0)]
    fused = fuse([Ranking("bm25", 1.0, one), Ranking("dense", 2.0, two)], RRF, 10)
    assert [(hit.docid, hit.passage) for hit in fused] == [("b", 7), ("c", 0), ("a", 4)]
    assert [hit.score for hit in fused] == [float(np.float32(x)) for x in (1 / 12 + 2 / 11, 2 / 12, 1 / 11)]
    assert fused[0].parts == (Part("bm25", 2, 8.0, 1 / 12), Part("dense", 1, 0.9, 2 / 11))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("minmax", {"a": 0.5, "b": 0.25 + 0.5, "c": 0.0 + 0.5 * 0.5, "d": 0.0}), ("zscore", None)],
)
def test_weighted_sums_by_hand(kind: str, expected: dict[str, float] | None) -> None:
    one = [Hit("a", 6.0), Hit("b", 4.0), Hit("c", 2.0)]
    two = [Hit("b", 0.8), Hit("c", 0.6), Hit("d", 0.4)]
    if expected is None:
        spread_one, spread_two = float(np.std([6, 4, 2])), float(np.std([0.8, 0.6, 0.4]))
        expected = {"a": 2 / spread_one, "b": 1 / spread_one + 0.2 / spread_two, "c": 0.1 / spread_two, "d": 0.0}
    fused = fuse([Ranking("bm25", 0.5, one), Ranking("dense", 0.5, two)], FusionSettings(kind=kind, rrf_k=60), 10)
    assert {hit.docid: hit.score for hit in fused} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@given(one=RANKING, two=RANKING, k=st.integers(1, 10))
def test_fusion_of_any_rankings(kind: str, one: list[Hit], two: list[Hit], k: int) -> None:
    rankings = [Ranking("bm25", 0.5, one), Ranking("dense", 0.5, two)]
    fused = fuse(rankings, FusionSettings(kind=kind), k)
    everything = {hit.docid for hit in one} | {hit.docid for hit in two}
    assert len(fused) == min(k, len(everything))
    assert fused == ordered(fused)
    assert all(hit.score == float(np.float32(hit.score)) for hit in fused)
    assert fused == fuse(rankings, FusionSettings(kind=kind), 100)[:k]
    for hit in fused:
        assert hit.score == float(np.float32(sum(part.vote for part in hit.parts)))


@pytest.mark.parametrize("kind", KINDS)
@given(one=RANKING)
def test_a_ranking_fused_with_itself_keeps_the_order_of_distinct_scores(kind: str, one: list[Hit]) -> None:
    fused = fuse([Ranking("x", 0.5, one), Ranking("y", 0.5, one)], FusionSettings(kind=kind), 100)
    scores = {hit.docid: hit.score for hit in one}
    kept = [scores[hit.docid] for hit in fused]
    if len({np.float32(hit.score) for hit in fused}) == len(fused):
        assert kept == sorted(kept, reverse=True)


@given(one=RANKING, two=RANKING)
def test_a_weight_of_zero_leaves_the_other_ranking(one: list[Hit], two: list[Hit]) -> None:
    fused = fuse([Ranking("x", 1.0, one), Ranking("y", 0.0, two)], RRF, len(one) or 1)
    assert [hit.docid for hit in fused if hit.score > 0] == [hit.docid for hit in one]


def test_passages_are_fused_apart_when_documents_are_not_grouped() -> None:
    one, two = [Hit("a", 2.0, 0)], [Hit("a", 0.5, 3)]
    rankings = [Ranking("bm25", 1.0, one), Ranking("dense", 1.0, two)]
    assert [(hit.docid, hit.passage) for hit in fuse(rankings, RRF, 5, group=False)] == [("a", 0), ("a", 3)]
    assert [(hit.docid, hit.passage) for hit in fuse(rankings, RRF, 5)] == [("a", 0)]


@pytest.mark.parametrize("kind", KINDS)
@given(pair=st.tuples(RANKING, RANKING), depth=st.integers(1, 9), k=st.integers(1, 12), group=st.booleans())
def test_a_short_list_is_the_beginning_of_a_longer_one_whatever_is_fused(
    kind: str, pair: tuple[list[Hit], list[Hit]], depth: int, k: int, group: bool
) -> None:
    one, two = pair
    fusion = FusionSettings(kind=kind, depth=depth)  # type: ignore[arg-type]
    rankings = [Ranking("bm25", 0.5, one), Ranking("dense", 0.5, two)]
    whole = fuse(rankings, fusion, 100, group=group)
    assert fuse(rankings, fusion, k, group=group) == whole[:k]
    # Whoever asks for fewer hits need not know the end of the rankings.
    known = [ranking._replace(hits=ranking.hits[: max(k, depth)]) for ranking in rankings]
    assert fuse(known, fusion, k, group=group) == whole[:k]
    assert whole == ordered(whole)
    assert sorted(hit.docid for hit in whole) == sorted({hit.docid for hit in one} | {hit.docid for hit in two})
    fused = [hit for hit in whole if hit.score >= 0]
    assert {hit.docid for hit in fused} == {hit.docid for hit in one[:depth]} | {hit.docid for hit in two[:depth]}
    assert [hit.score for hit in whole[len(fused) :]] == [-float(i + 1) for i in range(len(whole) - len(fused))]


def test_a_list_goes_on_rank_by_rank() -> None:
    sparse = [Hit(docid, float(9 - at)) for at, docid in enumerate("abcde")]
    dense = [Hit(docid, 0.9 - at / 10) for at, docid in enumerate("bdfg")]
    fusion = FusionSettings(kind="zscore", depth=1)
    hits = fuse([Ranking("bm25", 0.5, sparse), Ranking("dense", 0.5, dense)], fusion, 10)
    assert [hit.docid for hit in hits] == ["b", "a", "d", "c", "f", "g", "e"]
    assert [hit.score for hit in hits[2:]] == [-1.0, -2.0, -3.0, -4.0, -5.0]
    assert hits[2].parts == (Part("dense", 2, 0.8, 0.0),)


@given(floor=st.floats(-(2.0**99), 2.0**99, width=32), count=st.integers(0, 300))
def test_scores_below_descend_and_are_float32(floor: float, count: int) -> None:
    scores = scores_below(floor, count)
    assert len(scores) == count
    assert all(above > below for above, below in pairwise([floor, *scores]))
    assert scores == float32(scores)
    assert scores == scores_below(floor, count + 50)[:count]


def test_a_share_of_new_scores_is_mixed_in() -> None:
    assert mixed([3.0, 2.0, 1.0], [-5.0, 5.0, 0.0], 1.0) == [-5.0, 5.0, 0.0]
    assert mixed([3.0, 2.0, 1.0], [-5.0, 5.0, 0.0], 0.25) == [0.75, 0.625, 0.125]
    assert mixed([2.0, 2.0], [1.0, 3.0], 0.5) == [0.5, 1.0]
    assert mixed([], [], 0.5) == []


@pytest.mark.parametrize(
    ("query", "language", "foreign"),
    [
        ("masks", "en", False),
        ("COVID-19 vaccines cause autism in children", "en", False),
        ("las vacunas no causan autismo en los niños", "en", True),
        ("las vacunas no causan autismo en los niños", "es", False),
        ("COVID-19 vacuna", "en", False),  # three words of Latin script are in any language
        ("Honey is not safe for infants", "ar", True),
        ("العسل غير آمن للرضع", "ar", False),
        ("لقاح COVID-19 لا يسبب السرطان", "ar", False),
        ("العسل", "en", True),
        ("1998 2020", "en", False),
    ],
)
def test_the_kind_auto_looks_at_the_language_of_the_query(query: str, language: str, foreign: bool) -> None:
    fusing = retrievers.fusing("hybrid")
    assert fusing is not None
    chosen = fusing.fusion_of(query, FusionSettings(weights={"bm25": 0.5, "dense": 0.5}), language)
    assert chosen == FusionSettings(
        kind="zscore" if foreign else "minmax",
        weights={"bm25": 0.4, "dense": 0.6} if foreign else {"bm25": 0.5, "dense": 0.5},
    )
