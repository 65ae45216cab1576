"""Judged queries speak for a document by their terms alone; a state that does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

from factseek.retrieval.records.model_file import State
from factseek.retrieval.records.qrels import NAMES, JudgedQueries, restored

pytestmark = pytest.mark.inner

TERMS = {
    "q1": frozenset({"milk", "cancer"}),
    "q2": frozenset({"milk", "bone"}),
    "q3": frozenset({"vitamin", "bone"}),
}
QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}, "q3": {"c": 1}}


def remembered() -> JudgedQueries:
    return JudgedQueries.of(TERMS, QRELS)


def test_a_document_counts_by_the_most_similar_query_it_answers() -> None:
    a, b, c = remembered().features(frozenset({"milk", "cancer"}), ["a", "b", "c"])

    assert a[0] == pytest.approx(1.0)
    assert a[3] == pytest.approx(1.0)
    assert not b.any(), "judged, but not relevant"
    assert not c.any(), "no term in common"


def test_a_rare_term_in_common_makes_queries_more_alike() -> None:
    (rare,) = remembered().features(frozenset({"cancer", "fish"}), ["a"])
    (usual,) = remembered().features(frozenset({"bone", "fish"}), ["a"])

    assert rare[0] > usual[0] > 0


def test_a_query_tells_nothing_of_itself() -> None:
    (own,) = remembered().features(TERMS["q1"], ["a"], without=0)
    (others,) = JudgedQueries.of({"q1": TERMS["q1"], "q2": TERMS["q2"]}, {"q1": {}, "q2": QRELS["q2"]}).features(
        TERMS["q1"], ["a"]
    )

    assert 0 < own[0] < 1
    assert own[3] < 1
    assert (own > 0).all() == (others > 0).all()


def test_no_query_has_no_features() -> None:
    assert remembered().features(frozenset(), ["a"]).tolist() == [[0.0] * len(NAMES)]
    assert JudgedQueries.of({}, {}).features(frozenset({"milk"}), ["a"]).tolist() == [[0.0] * len(NAMES)]


def test_what_is_restored_gives_the_same_features() -> None:
    same = restored(remembered().state())

    for terms in TERMS.values():
        expected = remembered().features(terms, ["a", "b", "c"])
        assert (same.features(terms, ["a", "b", "c"]) == expected).all()


@pytest.mark.parametrize(
    ("name", "values"),
    [("queries", [0, 1, 0, 2, 9, 2]), ("answered", [0, 1, -1]), ("answered sizes", [1, 1]), ("queries sizes", [7])],
)
def test_a_state_that_does_not_fit_is_refused(name: str, values: list[int]) -> None:
    state = remembered().state()

    with pytest.raises(ValueError):
        restored(State(state.settings, {**state.tensors, name: np.array(values, dtype=np.int32)}))
