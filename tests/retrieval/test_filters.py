"""Filters: parsing, dates that are partial, and tokens that nothing can split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.domain import Document, Filter
from factseek.retrieval.filters import last_day, matches, parse_filter, token


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2020", "2020-12-31"),
        ("2020-02", "2020-02-29"),
        ("2020-03-01", "2020-03-01"),
        ("2020-02-30", ""),
        ("0000", ""),
        ("", ""),
    ],
)
def test_a_partial_date_counts_as_its_last_day(value: str, day: str) -> None:
    assert last_day(value) == day


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("fra", "fr"),
        ("eng", "en"),
        ("French", "fr"),
        ("العربية", "ar"),
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("DE", "de"),
        ("zh-Hans-CN", "zh"),
        ("हिन्दी", "hi"),
        ("und", "und"),
        ("xx", "xx"),
        ("Dothraki", "Dothraki"),
    ],
)
def test_a_language_is_filtered_by_what_its_name_means(written: str, compared: str) -> None:
    assert parse_filter([f"language={written}"]) == Filter(language=(compared,))
    assert parse_filter([f"topic={written}"]) == Filter(topic=(written,))


DOCUMENT = Document(
    "d", "t", date="2020-03", topic="T 1", source="s", language="en", metadata={"team": "fix-it's"}
)


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        (Filter(), True),
        (Filter(topic=("T 1",)), True),
        (Filter(topic=("T\u00a0\u200b1",), metadata=(("team", ("\ufb01x\u2011it’s",)),)), True),
        (Filter(topic=("T", "1")), False),
        (Filter(source=("\uff53\u200f",), language=("English", "fra")), True),
        (Filter(kind=("cord19",)), False),
        (Filter(as_of="2020-03-31"), True),
        (Filter(as_of="2020-03-30"), False),
        (Filter(since="2020-04-01"), False),
        (Filter(since="2020-03", as_of="2020"), True),
    ],
)
def test_matches(where: Filter, passes: bool) -> None:
    assert matches(where, DOCUMENT, "webpages") is passes


@given(st.text(st.characters(codec="utf-8")))
def test_a_token_holds_nothing_that_splits_and_is_one_to_one(value: str) -> None:
    made = token("topic", value)
    assert made.isascii()
    assert made.split() == [made]
    assert made != token("topic", value + " ")
