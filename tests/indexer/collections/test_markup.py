"""Elements in loose markup: what a regular expression finds, in time that grows with the length only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.indexer.collections import ReadOptions, claimreview, trec
from factseek.indexer.collections._markup import elements, starts, without, without_tags

LOOSE = st.lists(
    st.sampled_from(
        ["<a>", "<A x>", "</a>", "</A >", "<b>", "</b>", "<!--", "-->", "<", ">", "a", " ", "\n", "</", "-"]
    ),
    max_size=25,
).map("".join)


@given(LOOSE)
def test_elements_are_those_of_a_regular_expression(source: str) -> None:
    pattern = re.compile(r"<(a|b)(?:\s[^<>]*)?>(.*?)</\1\s*>", re.I | re.S)
    found = [source[element.inner_start : element.inner_end] for element in elements(source, starts("a", "b"))]
    assert found == [match[2] for match in pattern.finditer(source)]
    assert without(source, starts("a", "b"), "~") == pattern.sub("~", source)


@given(LOOSE)
def test_tags_and_comments_are_those_of_a_regular_expression(source: str) -> None:
    assert without_tags(source, "~") == re.sub(r"<!--.*?-->|</?[A-Za-z][^<>]*>", "~", source, flags=re.S)


@pytest.mark.parametrize(
    "piece",
    ["<TEXT ", "<TEXT>", "<!-- ", "<TITLE>", "<DOC ", "<DOC id ", "</DOC", "<script ", "</TEXT ", "&#9", "<a ", "<b "],
)
@pytest.mark.parametrize("header", ["", "<DOCHDR>\nhttp://x.org\n</DOCHDR>"])
def test_a_hostile_document_takes_a_moment(tmp_path: Path, piece: str, header: str) -> None:
    """A reader whose time grew with the square of the length would not come back from these: 40 s for a tenth."""
    path = tmp_path / "a.sgml"
    path.write_text(f"<DOC><DOCNO>1</DOCNO>{header}{piece * 200_000}x</DOC>\n", "utf-8")
    (record,) = trec.read([path], ReadOptions())
    assert record.document.docid == "1"


@pytest.mark.parametrize("reference", ["&#" + "1" * 4_400 + ";", "&#" + "0" * 4_400 + "65533;"])
def test_a_reference_of_thousands_of_digits_is_read(tmp_path: Path, reference: str) -> None:
    newswire, review = tmp_path / "a.sgml", tmp_path / "a.csv"
    newswire.write_text(f"<DOC><DOCNO>1</DOCNO><TEXT>masks {reference}</TEXT></DOC>\n", "utf-8")
    review.write_text(f"claimReviewed,url\nmasks {reference},https://x.org/1\n", "utf-8")
    for records in (trec.read([newswire], ReadOptions()), claimreview.read([review], ReadOptions())):
        assert [record.document.text for record in records] == ["masks \ufffd"]
