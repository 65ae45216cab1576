"""Dates as files, pages and requests write them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.records.dates import clean_date, order_of


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2020", "2020"),
        (2020, "2020"),
        ("2020-03", "2020-03"),
        (" 2020-03-01 ", "2020-03-01"),
        ("2020/3/1", "2020-03-01"),
        ("2020-03-01T23:30:00Z", "2020-03-01"),
        ("2020-03-01T23:30:00-05:00", "2020-03-02"),
        ("2020-03-01 00:30:00 +0100", "2020-02-29"),
        ("2020-03-01T10:00:00.123456", "2020-03-01"),
        ("2020 Mar 5", "2020-03-05"),
        ("2020 Mar", "2020-03"),
        ("2020 Mar-Apr", "2020-04"),
        ("2020 Spring", "2020"),
        ("Thu, 5 Mar 2020", "2020-03-05"),
        ("March 5, 2020", "2020-03-05"),
        ("5.3.2020", "2020-03-05"),
        ("20200305", "2020-03-05"),
        (20200305, "2020-03-05"),
        ("20200305T101500Z", "2020-03-05"),
        ("20200305T2315-0300", "2020-03-06"),
        ("20200305101500", "2020-03-05"),
        ("2020.03.05", "2020-03-05"),
        ("March 2020", "2020-03"),
        ("the 5th of March 2020", "2020-03-05"),
        ("5th March 2020, 10:30 pm", "2020-03-05"),
        ("Sun Mar 01 23:30:00 -0800 2020", "2020-03-02"),
        ("Sun, 01 Mar 2020 23:30:00 +0000", "2020-03-01"),
        ("01 Mar 2020 23:30 EST", "2020-03-02"),
        ("3/25/2020 8:15", "2020-03-25"),
        ("25-03-2020", "2020-03-25"),
        ("3/3/2020", "2020-03-03"),
        ("24/12/68", "2068-12-24"),
        ("12/24/69", "1969-12-24"),
        ("5.3.87", "1987-03-05"),
        ("20201305", ""),
        ("05. 03. 2020", "2020-03-05"),
        ("31.2.2020", ""),
        ("3/5/2020", ""),
        ("2020-02-30", ""),
        ("2020-00", ""),
        ("2020-13", ""),
        ("0000", ""),
        ("20", ""),
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
        ("3 ma 2020", ""),
        ("Version 3 2020", ""),
        ("yesterday", ""),
        ("", ""),
        (None, ""),
        (True, ""),
        (2020.0, ""),
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
        ("03-05-20", "either", "2020-05-03", "2020-03-05"),
        ("25/3/2020", "day-first", "2020-03-25", "2020-03-25"),
        ("3/25/2020 10:00", "month-first", "2020-03-25", "2020-03-25"),
        ("20-03-05", "either", "2005-03-20", ""),
        ("4/4/2020", "", "2020-04-04", "2020-04-04"),
        ("25/25/2020", "", "", ""),
        ("2020/3/5", "", "2020-03-05", "2020-03-05"),
    ],
)
def test_only_the_order_of_a_parted_date_is_a_question(
    written: str, order: str, day_first: str, month_first: str
) -> None:
    assert order_of(written) == order
    assert (clean_date(written, "day-first"), clean_date(written, "month-first")) == (day_first, month_first)
