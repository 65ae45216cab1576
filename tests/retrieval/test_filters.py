"""Filters: parsing, dates that are partial, and tokens that nothing can split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.domain import Document, Filter
from factseek.retrieval.errors import QueryError
from factseek.retrieval.filters import last_day, matches, parse_filter, token, tokens


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2020", "2020-12-31"),
        ("2020-02", "2020-02-29"),
        ("2021-02", "2021-02-28"),
        ("2020-03-01", "2020-03-01"),
        ("2020-02-30", ""),
        ("2020-13", ""),
        ("0000", ""),
        ("", ""),
        ("March 2020", ""),
        ("2020-3-1", ""),
    ],
)
def test_a_partial_date_counts_as_its_last_day(value: str, day: str) -> None:
    assert last_day(value) == day


def test_parsing() -> None:
    where = parse_filter(["topic=B", "topic=A", "source=who.int", "topic=A"], as_of="2020-03", since="2019")
    assert where == Filter(topic=("A", "B"), source=("who.int",), as_of="2020-03-31", since="2019-01-01")
    assert parse_filter(["topic=a=b"]) == Filter(topic=("a=b",))
    assert parse_filter(since="2019-05") == Filter(since="2019-05-01")
    assert parse_filter() is None
    assert parse_filter(undated=True) is None


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("fra", "fr"), ("eng", "en"), ("French", "fr"), ("العربية", "ar"), ("en-US", "en"), ("pt_BR", "pt"),
        ("DE", "de"), ("zh-Hans-CN", "zh"), ("हिन्दी", "hi"), ("und", "und"), ("xx", "xx"), ("Dothraki", "Dothraki"),
    ],
)  # fmt: skip
def test_a_language_is_filtered_by_what_its_name_means(written: str, compared: str) -> None:
    assert parse_filter([f"language={written}"]) == Filter(language=(compared,))
    assert parse_filter([f"topic={written}"]) == Filter(topic=(written,))


def test_two_names_of_a_language_are_one_value() -> None:
    assert parse_filter(["language=fra", "language=fr-CA", "language=es"]) == Filter(language=("es", "fr"))


@pytest.mark.parametrize(
    ("pairs", "as_of", "message"),
    [
        (["topic"], "", "filter 'topic' is not of the form field=value; the fields are topic, source, language, kind"),
        (
            ["topic="],
            "",
            "filter 'topic=' is not of the form field=value; the fields are topic, source, language, kind",
        ),
        (
            ["colour=red"],
            "",
            "filter 'colour=red': there is no field 'colour'; the fields are topic, source, language, kind",
        ),
        ([], "yesterday", "as-of 'yesterday' is not a date of the form 2020-03-01, 2020-03 or 2020"),
        ([], "2020-02-31", "as-of '2020-02-31' is not a date of the form 2020-03-01, 2020-03 or 2020"),
    ],
)
def test_what_makes_no_sense_is_said(pairs: list[str], as_of: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        parse_filter(pairs, as_of=as_of)
    assert str(error.value) == message


DOCUMENT = Document("d", "t", date="2020-03", topic="T 1", source="s", language="en", metadata={"team": "fix-it's"})


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        (Filter(), True),
        (Filter(topic=("T 1",)), True),
        (Filter(topic=("T\u00a0\u200b1",), metadata=(("team", ("\ufb01x\u2011it’s",)),)), True),
        (Filter(topic=("T", "1")), False),
        (Filter(topic=("T 1",), source=("x",)), False),
        (Filter(source=("\uff53\u200f",), language=("English", "fra")), True),
        (Filter(kind=("webpages",)), True),
        (Filter(kind=("cord19",)), False),
        (Filter(as_of="2020-03-31"), True),
        (Filter(as_of="2020-03-30"), False),
        (Filter(since="2020-03-31"), True),
        (Filter(since="2020-04-01"), False),
    ],
)
def test_matches(where: Filter, passes: bool) -> None:
    assert matches(where, DOCUMENT, "webpages") is passes


def test_undated_documents() -> None:
    undated = DOCUMENT._replace(date="")
    assert not matches(Filter(as_of="2020-01-01"), undated, "webpages")
    assert matches(Filter(as_of="2020-01-01", undated=True), undated, "webpages")
    assert matches(Filter(topic=("T 1",)), undated, "webpages")


@given(st.text(st.characters(codec="utf-8")))
def test_a_token_holds_nothing_that_splits_and_is_one_to_one(value: str) -> None:
    made = token("topic", value)
    assert made.isascii()
    assert made.split() == [made]
    assert made != token("topic", value + " ")


def test_a_token_is_never_longer_than_lucene_takes() -> None:
    long = [token("topic", value) for value in ("t" * 40_000, "t" * 40_001, "ن" * 5_000)]
    assert len(set(long)) == 3
    assert all(len(made) < 100 and "#" in made for made in long)
    assert "#" not in token("topic", "#" * 100)


def test_tokens_of_a_document() -> None:
    assert tokens(DOCUMENT, "webpages", "000001") == (
        "id=000001%3Ad kind=webpages topic=T%201 source=s language=en date=2020-03-31"
    )
