"""The total order and the cut that respects it, against a full sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.domain import Hit
from factseek.retrieval.search.order import Rows, float32, ordered, top_k

DOCIDS = ["a", "B", "c", "10", "9", "é", "ا", "😀"]
PASSAGES = st.lists(st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.sampled_from(DOCIDS)), min_size=0, max_size=40)


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


@given(st.lists(st.tuples(st.text(max_size=3), st.floats(0, 1, width=32), st.integers(0, 3))))
def test_ordered_is_idempotent_and_agrees_with_utf8_bytes(entries: list[tuple[str, float, int]]) -> None:
    hits = ordered(Hit(*entry) for entry in entries if entry[0].isprintable())
    assert ordered(reversed(hits)) == ordered(hits)
    for one, other in pairwise(hits):
        assert one.score >= other.score
        if one.score == other.score:
            assert one.docid.encode() >= other.docid.encode()


@given(st.lists(st.floats(-1e6, 1e6)))
def test_float32_rounds_as_numpy_and_reads_back(values: list[float]) -> None:
    rounded = float32(values)
    assert rounded == [float(np.float32(value)) for value in values]
    assert [np.float32(repr(value)) for value in rounded] == [np.float32(value) for value in values]
