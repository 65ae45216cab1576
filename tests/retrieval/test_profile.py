"""Tweets under the profile ``tweet``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.text import plain, tweet


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("RT @WHO: Masks work https://t.co/Ab12", "Masks work"),
        ("rt is not a retweet", "rt is not a retweet"),
        ("cats &amp; dogs &lt;3", "cats & dogs <3"),
        ("cats &amp;amp; dogs", "cats & dogs"),
        ("#FlattenTheCurve now", "Flatten The Curve now"),
        ("#COVID19 cases", "COVID19 COVID 19 cases"),
        ("#covid_19", "covid 19"),
        ("#NHSHeroes", "NHS Heroes"),
        ("95% of 1,200 patients", "95% of 1,200 patients"),
        ("mail me@example.org", "mail me@example.org"),
        ("thanks @a_b and @c!", "thanks and !"),
        ("look pic.twitter.com/0eJtwJyS1J here", "look here"),
        ("#لقاح_كورونا فعال", "لقاح كورونا فعال"),
        ("  spaces \n and lines ", "spaces and lines"),
        ("https://only.a/link", ""),
    ],
)
def test_tweets(text: str, cleaned: str) -> None:
    assert tweet(text) == cleaned


@given(st.text())
def test_cleaning_keeps_every_number_that_stands_alone(text: str) -> None:
    assert "42" in tweet(f"{text.replace('@', '').replace('/', '').replace('#', '').replace('.', '')} 42 ").split()


@given(st.text())
def test_plain_changes_nothing(text: str) -> None:
    assert plain(text) == text
