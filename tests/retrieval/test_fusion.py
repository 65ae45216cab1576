"""Fusion and the total order of hits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.domain import Hit, Part
from factseek.core.order import sort_hits
from factseek.retrieval import retrievers
from factseek.retrieval.config import FusionSettings
from factseek.retrieval.search.cut import Rows, top_k
from factseek.retrieval.search.fusion import Ranking, fuse
from factseek.retrieval.search.prepared_query import PreparedQuery

RRF = FusionSettings(kind="rrf", rrf_k=10)
KINDS = ["rrf", "minmax", "zscore"]
RANKING = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 30, width=32), max_size=8).map(
    lambda scores: sort_hits(Hit(docid, score) for docid, score in scores.items())
)


def test_rrf_by_hand() -> None:
    one = [Hit("a", 9.0, 4), Hit("b", 8.0, 1)]
    two = [Hit("b", 0.9, 7), Hit("c", 0.8, 0)]
    fused = fuse([Ranking("bm25", 1.0, one), Ranking("dense", 2.0, two)], RRF, 10)
    assert [(hit.docid, hit.passage) for hit in fused] == [("b", 7), ("c", 0), ("a", 4)]
    assert [hit.score for hit in fused] == [
        float(np.float32(x)) for x in (1 / 12 + 2 / 11, 2 / 12, 1 / 11)
    ]
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
        expected = {
            "a": 2 / spread_one,
            "b": 1 / spread_one + 0.2 / spread_two,
            "c": 0.1 / spread_two,
            "d": 0.0,
        }
    fused = fuse(
        [Ranking("bm25", 0.5, one), Ranking("dense", 0.5, two)],
        FusionSettings(kind=kind, rrf_k=60),
        10,
    )
    assert {hit.docid: hit.score for hit in fused} == pytest.approx(expected, rel=1e-6)


def test_passages_are_fused_apart_when_documents_are_not_grouped() -> None:
    one, two = [Hit("a", 2.0, 0)], [Hit("a", 0.5, 3)]
    rankings = [Ranking("bm25", 1.0, one), Ranking("dense", 1.0, two)]
    assert [(hit.docid, hit.passage) for hit in fuse(rankings, RRF, 5, group=False)] == [
        ("a", 0),
        ("a", 3),
    ]
    assert [(hit.docid, hit.passage) for hit in fuse(rankings, RRF, 5)] == [("a", 0)]


@pytest.mark.parametrize("kind", KINDS)
@given(
    pair=st.tuples(RANKING, RANKING),
    depth=st.integers(1, 9),
    k=st.integers(1, 12),
    group=st.booleans(),
)
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
    assert whole == sort_hits(whole)
    assert sorted(hit.docid for hit in whole) == sorted(
        {hit.docid for hit in one} | {hit.docid for hit in two}
    )
    fused = [hit for hit in whole if hit.score >= 0]
    assert {hit.docid for hit in fused} == {hit.docid for hit in one[:depth]} | {
        hit.docid for hit in two[:depth]
    }
    assert [hit.score for hit in whole[len(fused) :]] == [
        -float(i + 1) for i in range(len(whole) - len(fused))
    ]


def test_a_list_goes_on_rank_by_rank() -> None:
    sparse = [Hit(docid, float(9 - at)) for at, docid in enumerate("abcde")]
    dense = [Hit(docid, 0.9 - at / 10) for at, docid in enumerate("bdfg")]
    fusion = FusionSettings(kind="zscore", depth=1)
    hits = fuse([Ranking("bm25", 0.5, sparse), Ranking("dense", 0.5, dense)], fusion, 10)
    assert [hit.docid for hit in hits] == ["b", "a", "d", "c", "f", "g", "e"]
    assert [hit.score for hit in hits[2:]] == [-1.0, -2.0, -3.0, -4.0, -5.0]
    assert hits[2].parts == (Part("dense", 2, 0.8, 0.0),)


@pytest.mark.parametrize(
    ("query", "language", "foreign"),
    [
        ("las vacunas no causan autismo en los niños", "en", True),
        ("las vacunas no causan autismo en los niños", "es", False),
        ("COVID-19 vacuna", "en", False),  # three words of Latin script are in any language
        ("Honey is not safe for infants", "ar", True),
        ("لقاح COVID-19 لا يسبب السرطان", "ar", False),
        ("1998 2020", "en", False),
    ],
)
def test_the_kind_auto_looks_at_the_language_of_the_query(
    query: str, language: str, foreign: bool
) -> None:
    fusing = retrievers.fusing("hybrid")
    assert fusing is not None
    fusion = FusionSettings(weights={"bm25": 0.5, "dense": 0.5})
    chosen = fusing.fusion_of(PreparedQuery(query), fusion, language)
    assert chosen == FusionSettings(
        kind="zscore" if foreign else "minmax",
        weights={"bm25": 0.4, "dense": 0.6} if foreign else {"bm25": 0.5, "dense": 0.5},
    )


DOCIDS = ["a", "B", "c", "10", "9", "é", "ا", "😀"]
PASSAGES = st.lists(
    st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.sampled_from(DOCIDS)),
    min_size=0,
    max_size=40,
)


def brute_force(passages: list[tuple[float, str, int]], k: int, group: bool) -> list[Hit]:
    hits = [Hit(docid, score, number) for score, docid, number in passages]
    hits.sort(key=lambda hit: (-hit.score, [-ord(c) for c in hit.docid] + [1], hit.passage))
    if group:
        seen: set[str] = set()
        hits = [hit for hit in hits if not (hit.docid in seen or seen.add(hit.docid))]
    return hits[:k]


def numbered(passages: list[tuple[float, str]]) -> list[tuple[float, str, int]]:
    count: dict[str, int] = {}
    result = []
    for score, docid in passages:
        result.append((score, docid, count.get(docid, 0)))
        count[docid] = count.get(docid, 0) + 1
    return result


@given(PASSAGES, st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_best_is_the_head_of_the_full_sort_whatever_order_equal_scores_come_in(
    passages: list[tuple[float, str]], k: int, group: bool, random: object
) -> None:
    entries = numbered(passages)
    rows = Rows([docid for _, docid, _ in entries], [number for *_, number in entries], split=True)
    shuffled = list(range(len(entries)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    shuffled.sort(key=lambda row: -entries[row][0])

    def fetch(n: int) -> tuple[list[float], list[int]]:
        return [entries[row][0] for row in shuffled[:n]], shuffled[:n]

    hits = brute_force(entries, k, group)
    assert top_k(fetch, k, rows, group=group) == hits


def test_ties_at_the_cut_are_fetched_and_decided_by_docid() -> None:
    docids = [f"{i:03}" for i in range(500)]
    asked = []

    def fetch(n: int) -> tuple[list[float], list[int]]:
        asked.append(n)
        return [1.0] * min(n, 500), list(range(min(n, 500)))

    hits = top_k(fetch, 3, Rows(docids, [0] * 500, split=False), group=True)
    assert [hit.docid for hit in hits] == ["499", "498", "497"]
    assert asked[0] == 4
    assert asked[-1] >= 500
