"""A ranker with a clock: the same scores, a few at a time, until time is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.deadline import CutOffError
from factseek.retrieval.domain import Statement
from factseek.server.api.rankers import ServedRanker, TimedRanker


class Lengths:
    """Scores a statement by the length of its text, and remembers how many it was given at once."""

    explains = True

    def __init__(self) -> None:
        self.given: list[int] = []

    def score(self, statements: Sequence[Statement]) -> Any:
        self.given.append(len(statements))
        return np.array([float(len(one.text)) for one in statements])

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@given(st.lists(st.text(max_size=5), max_size=70))
def test_scores_are_the_rankers_in_its_order(texts: list[str]) -> None:
    ranker: Any = Lengths()
    found = TimedRanker(ranker, 60).score([Statement(str(number), text) for number, text in enumerate(texts)])
    assert found.tolist() == [len(text) for text in texts]
    assert found.dtype == np.float64
    assert sum(ranker.given) == len(texts)
    assert max(ranker.given, default=0) <= 16


def test_nothing_is_scored_when_time_is_over() -> None:
    ranker: Any = Lengths()
    with pytest.raises(CutOffError, match=r"^ranking took longer than its time limit$"):
        TimedRanker(ranker, -1).score([Statement("1", "a")])
    assert ranker.given == []


def test_all_else_is_the_rankers_own(rankers: dict[str, ServedRanker]) -> None:
    ranker = rankers["tweets"].learned.ranker
    timed = TimedRanker(ranker, 60)
    scores = np.array([-1.0, 0.0, 2.0])
    assert timed.explains is ranker.explains
    assert np.array_equal(timed.probability(scores), ranker.probability(scores))  # type: ignore[arg-type]
    assert timed.state().settings == ranker.state().settings
