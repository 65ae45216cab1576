"""Character references, of whatever length, in texts from outside."""

from __future__ import annotations

import pytest

from factseek.claims.text.surface import NAMES, surface_features
from factseek.claims.text.words import normalised, words
from factseek.retrieval.domain import Statement
from factseek.retrieval.text import tweet, unescaped

LONG = 4_400
"""Digits of a number that Python refuses to read."""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("&amp;&#65;&#x41;", "&AA"),
        ("&#00000000065;", "A"),
        (f"&#{'0' * LONG}65;", "A"),
        (f"&#{'0' * LONG};", "\ufffd"),
        (f"&#{'9' * LONG};x", "\ufffdx"),
        (f"&#{'1' * LONG} x", "\ufffd x"),
        (f"&#x{'f' * LONG};", "\ufffd"),
        ("&#1114112;", "\ufffd"),
        ("&#xD800;", "\ufffd"),
        (f"&amp;#{'1' * LONG};", f"&#{'1' * LONG};"),
        ("&#;&#x;&# 1;", "&#;&#x;&# 1;"),
    ],
)
def test_a_reference_of_any_length_is_read(text: str, meant: str) -> None:
    assert unescaped(text) == meant


@pytest.mark.parametrize("reference", [f"&#{'1' * LONG};", f"&amp;#{'1' * LONG};"])
def test_a_statement_with_an_endless_reference_is_read(reference: str) -> None:
    text = f"masks {reference} work"
    assert tweet(text) == normalised(text) == "masks \ufffd work"
    assert words(text)[:2] == ["masks", "work"]
    assert surface_features([Statement("1", text)]).shape == (1, len(NAMES))
