"""The names of files to download: words of the query and the day, and nothing that harms."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.server.downloads import download, file_name

DAY = "2026-11-28"


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ("Two doses are 97% effective", "Two doses are 97% effective"),
        ("نهر النيل أطول", "نهر النيل أطول"),
        ("invoice\u202egpj.exe", "invoice gpj.exe"),  # shows as invoiceexe.jpg
        ("a\u200eb\u2066c\u2069", "a b c"),
        ("nul\0byte\r\nSet-Cookie: x", "nul byte Set-Cookie x"),
        ("../../etc/passwd", "etc passwd"),
        ("C:\\temp\\x", "C temp x"),
        ("\"quoted\" 'and' <so>? *|", "quoted 'and' so"),
        ("-rf .hidden", "rf .hidden"),
        ("word " * 100, "word word word word word word word word word word word word"),
        ("x" * 300, "x" * 60),
        ("😀" * 60, "😀" * 50),
        ("", "factseek"),
        (" \u202e/\\. ", "factseek"),
    ],
)
def test_the_name_of_a_file(about: str, name: str) -> None:
    assert file_name(about, DAY, "csv") == f"{name} {DAY}.csv"


@given(st.text(max_size=400))
def test_a_name_is_one_that_every_system_can_store(about: str) -> None:
    name = file_name(about, DAY, "ndjson")
    assert len(name.encode("utf-8")) <= 255
    assert not set(name) & set('/\\:*?"<>|')
    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in name)
    assert name[0] not in " -."


@pytest.mark.parametrize(
    ("about", "names"),
    [
        ("measles", r'filename="measles DAY\.csv"'),
        (
            "más vacunas",
            r"filename=\"mas vacunas DAY\.csv\"; filename\*=UTF-8''m%C3%A1s%20vacunas%20DAY\.csv",
        ),
        ("a\r\nX-Evil: 1", r'filename="a X-Evil 1 DAY\.csv"'),
        ("a\u202egpj.exe", r'filename="a gpj.exe DAY\.csv"'),
        ("نهر", r"filename=\"factseek DAY\.csv\"; filename\*=UTF-8''%D9%86%D9%87%D8%B1%20DAY\.csv"),
    ],
)
def test_a_file_is_named_in_its_header(about: str, names: str) -> None:
    header = download("x", "text/csv", about, "csv").headers["Content-Disposition"]
    pattern = f"attachment; {names}".replace("DAY", r"\d{4}-\d\d-\d\d")
    assert re.fullmatch(pattern, header), header
