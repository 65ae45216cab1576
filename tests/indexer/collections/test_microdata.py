"""Microdata as extruct reads it, where that is installed: on pages that are written here, and on
made-up ones.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.indexer.collections._linked_data import microdata

pytestmark = pytest.mark.real
extruct = pytest.importorskip("extruct")

REVIEW = "https://schema.org/ClaimReview"
PAGES = {
    "one of each element": f"""
        <div itemscope itemtype="{REVIEW}">
          <h1 itemprop="claimReviewed">The <b>wall</b> is <i>seen</i>
            from space</h1>
          <a itemprop="url" href="https://a.example.org/x">here</a> <link itemprop="sameAs" href="https://a.example.org/y">
          <img itemprop="image" src="https://a.example.org/i.png">
           <meta itemprop="inLanguage" content="en">
          <time itemprop="datePublished" datetime="2023-01-02">last year</time>
          <data itemprop="number" value="7">seven</data>
           <meter itemprop="meter" value="3">three</meter>
          <object itemprop="object" data="https://a.example.org/o"></object>
        </div>""",
    "items in items": f"""
        <article itemscope itemtype="{REVIEW}">
          <p itemprop="itemReviewed" itemscope itemtype="https://schema.org/Claim">
            <span itemprop="author" itemscope itemtype="https://schema.org/Person">
             <b itemprop="name">Ann Lee</b></span>
            <span itemprop="appearance" itemscope itemtype="https://schema.org/CreativeWork">
              <a itemprop="url" href="https://t.example.org/1">one</a></span>
            <span itemprop="appearance" itemscope itemtype="https://schema.org/CreativeWork">
              <a itemprop="url" href="https://t.example.org/2">two</a></span>
          </p>
          <p itemprop="reviewRating" itemscope itemtype="http://schema.org/Rating">
            <meta itemprop="ratingValue" content="1">
             <i itemprop="alternateName name">Pants on fire</i></p>
        </article>""",
    "a reference": f"""
        <p id="who"><b itemprop="author">Check</b></p>
        <div itemscope itemtype="{REVIEW}" itemref="who nobody">
        <b itemprop="claimReviewed">It rains</b></div>""",
    "several types and several reviews": f"""
        <div itemscope itemtype="https://schema.org/Review {REVIEW}">
        <b itemprop="claimReviewed">One</b></div>
        <div itemscope itemtype="{REVIEW}">
        <b itemprop="claimReviewed">2</b><i itemprop="claimReviewed">3</i></div>
        <div itemscope itemtype="https://schema.org/Article">
        <b itemprop="claimReviewed">none</b></div>""",
    "words that lines part": f"""
        <div itemscope itemtype="{REVIEW}">
        <div itemprop="claimReviewed">One<br>two<p>three</p>four</div></div>""",
}


def theirs(page: str) -> list[Any]:
    from extruct.w3cmicrodata import MicrodataExtractor

    items = MicrodataExtractor(strict=False).extract(page)
    return [_plain(item) for item in items if REVIEW in _several(item.get("type"))]


def ours(page: str) -> list[Any]:
    return [_ours(node) for node in microdata(page, "ClaimReview")]


def _ours(node: dict[str, Any]) -> dict[str, list[Any]]:
    return {
        name: [
            _ours(value) if isinstance(value, dict) else " ".join(value.split()) for value in values
        ]
        for name, values in node.items()
        if name != "@type"
    }


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return " ".join(value.split()) if value is not None else None
    return {
        name: [_plain(part) for part in _several(values)]
        for name, values in value.get("properties", {}).items()
    }


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def page_of(body: str) -> str:
    return f"<!DOCTYPE html><html><head><title>x</title></head><body>{body}</body></html>"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_as_extruct_reads_it(name: str) -> None:
    page = page_of(PAGES[name])
    assert ours(page) == theirs(page) != []


WORDS = st.lists(
    st.sampled_from(["moon", "Mars &amp; more", "ماء", "é", "1"]), min_size=1, max_size=3
).map(" ".join)
NAMES = st.sampled_from(["author", "name", "url", "claimReviewed", "author name"])


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    kind = draw(
        st.sampled_from(
            ["text", "meta", "link", "time", "wrapper", "item"] if depth < 3 else ["text", "meta"]
        )
    )
    name, words = draw(NAMES), draw(WORDS)
    if kind in ("wrapper", "item"):
        inner = "".join(draw(st.lists(elements(depth=depth + 1), max_size=3)))
        marks = (
            f' itemprop="{name}" itemscope itemtype="https://schema.org/Thing"'
            if kind == "item"
            else ""
        )
        return f"<div{marks}>{words}{inner}</div>"
    return {
        "text": f'<span itemprop="{name}"> {words} <b>{words}</b></span>',
        "meta": f'<meta itemprop="{name}" content="{words}">',
        "link": f'<a itemprop="{name}" href="https://a.example.org/{len(words)}">{words}</a>',
        "time": f'<time itemprop="{name}" datetime="2020-01-0{len(words) % 9 + 1}">{words}</time>',
    }[kind]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(elements(), min_size=1, max_size=4))
def test_made_up_items_are_read_as_extruct_reads_them(inner: list[str]) -> None:
    page = page_of(f'<div itemscope itemtype="{REVIEW}">{"".join(inner)}</div>')
    assert ours(page) == theirs(page)


def test_what_extruct_loses_is_kept() -> None:
    page = page_of(f"""
        <p id="r" itemprop="reviewRating" itemscope><b itemprop="name">False</b></p>
        <div itemscope itemtype="{REVIEW}" itemref="r">
        <time itemprop="datePublished">2024</time></div>""")
    assert theirs(page) == [{"datePublished": [""], "reviewRating": [None]}]
    assert ours(page) == [{"datePublished": ["2024"], "reviewRating": [{"name": ["False"]}]}]
