"""Dates as files, pages and requests write them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.records.dates import clean_date, order_of


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2020", "2020"),
        ("2020/3/1", "2020-03-01"),
        ("2020-03-01T23:30:00Z", "2020-03-01"),
        ("2020-03-01T23:30:00-05:00", "2020-03-02"),
        ("2020-03-01 00:30:00 +0100", "2020-02-29"),
        ("2020 Mar 5", "2020-03-05"),
        ("2020 Mar-Apr", "2020-04"),
        ("Thu, 5 Mar 2020", "2020-03-05"),
        ("20200305T101500Z", "2020-03-05"),
        ("20200305T2315-0300", "2020-03-06"),
        ("Sun Mar 01 23:30:00 -0800 2020", "2020-03-02"),
        ("Sun, 01 Mar 2020 23:30:00 +0000", "2020-03-01"),
        ("Sun, 01 Mar 2020 23:30:00 -0500 (EST)", "2020-03-02"),
        ("01 Mar 2020 23:30 EST", "2020-03-02"),
        ("05-Mar-21", "2021-03-05"),
        ("25-03-2020", "2020-03-25"),
        ("24/12/68", "2068-12-24"),
        ("20201305", ""),
        ("3/5/2020", ""),
        ("2020-02-30", ""),
        ("2020-03-01T25:00:00", ""),
        ("25. Dez. 2020", "2020-12-25"),
        ("3 de octubre de 2021", "2021-10-03"),
        ("1er janvier 2020", "2020-01-01"),
        ("lundi 2 fév. 2020", "2020-02-02"),
        ("10 октомври 2020 г.", "2020-10-10"),
        ("٣ أكتوبر ٢٠٢١", "2021-10-03"),
        ("2020年3月5日", "2020-03-05"),
        ("Oktober 2021", "2021-10"),
        ("31 Februar 2020", ""),
        ("Version 3 2020", ""),
        ("yesterday", ""),
        (True, ""),
    ],
)
def test_dates_as_sources_write_them(written: object, meant: str) -> None:
    assert clean_date(written) == meant


@given(st.dates(min_value=date(1000, 1, 1)))
def test_iso_dates_stay_as_they_are(day: date) -> None:
    for length in (4, 7, 10):
        assert clean_date(day.isoformat()[:length]) == day.isoformat()[:length]
    assert clean_date(f"{day:%Y %b} {day.day}") == day.isoformat()


@pytest.mark.parametrize(
    ("written", "order", "day_first", "month_first"),
    [
        ("3/5/2020", "either", "2020-05-03", "2020-03-05"),
        ("25/3/2020", "day-first", "2020-03-25", "2020-03-25"),
        ("3/25/2020 10:00", "month-first", "2020-03-25", "2020-03-25"),
        ("20-03-05", "either", "2005-03-20", ""),
        ("4/4/2020", "", "2020-04-04", "2020-04-04"),
        ("2020/3/5", "", "2020-03-05", "2020-03-05"),
    ],
)
def test_only_a_parted_date_leaves_its_order_open(
    written: str, order: str, day_first: str, month_first: str
) -> None:
    assert order_of(written) == order
    assert (clean_date(written, "day-first"), clean_date(written, "month-first")) == (
        day_first,
        month_first,
    )
