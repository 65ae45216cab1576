"""When tweets were written, and what was said of others of about that time."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.checkworthiness.members import Moments, restored
from factseek.claims.settings import Config
from factseek.claims.text.surface import written
from factseek.retrieval.domain import Statement
from factseek.retrieval.records.model_file import State

NUMBERS = [
    # Examples of the form in X's own documentation, and in an encyclopaedia.
    ("1050118621198921728", datetime(2018, 10, 10, 20, 19, 24, tzinfo=UTC)),
    ("1541815603606036480", datetime(2022, 6, 28, 16, 7, 40, tzinfo=UTC)),
]


@pytest.mark.parametrize(("number", "moment"), NUMBERS)
def test_a_number_tells_when_a_tweet_was_written(number: str, moment: datetime) -> None:
    assert written(Statement(number, "text")) == pytest.approx(moment.timestamp() / 86_400, abs=1 / 86_400)


@pytest.mark.parametrize(
    "number", ["", "7", "covid-1", "١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨", "12345678901234567890", "1234567890123456.7"]
)
def test_other_ids_tell_nothing(number: str) -> None:
    assert math.isnan(written(Statement(number, "text")))


LEARNED = Moments(np.array([1.0, 2.0, 30.0, math.nan]), np.array([1, 1, 0, 0]), 1.0)
"""Two worth checking on the first days, another at the end of the month, one of unknown time."""


def test_tweets_of_the_same_days_decide() -> None:
    early, late, unknown = LEARNED.score(np.array([1.5, 30.5, math.nan]))
    assert early > 0 > late
    assert unknown == 0.0, "half of all were worth checking"


def test_far_from_all_days_is_as_not_known() -> None:
    assert LEARNED.score(np.array([9e6])) == pytest.approx(np.zeros(1), abs=1e-9)


@given(st.lists(st.floats(0, 1e5) | st.just(math.nan), max_size=20))
def test_scores_are_finite_and_those_of_each_tweet_alone(moments: list[float]) -> None:
    together = LEARNED.score(np.array(moments))
    assert np.isfinite(together).all()
    assert together.tolist() == [float(LEARNED.score(np.array([one]))[0]) for one in moments]
    again = restored("days", State({}, {}), LEARNED.state(), Config()).model
    assert again.score(np.array(moments)).tolist() == together.tolist()
