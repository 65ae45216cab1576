"""Reviews of a claim in each shape that fact-checkers publish, as seeds to mutate."""

from __future__ import annotations

import json
from typing import Any

_REVIEW: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "ClaimReview",
    "url": "https://c.org/a",
    "claimReviewed": "a b",
    "headline": "H",
    "datePublished": "2024-07-20T09:00:00+02:00",
    "inLanguage": "en-GB",
    "author": {"@type": "Organization", "name": "C", "url": "https://c.org/"},
    "reviewRating": {"alternateName": "False", "ratingValue": "1", "bestRating": 5, "worstRating": 1},
    "itemReviewed": {
        "@type": "Claim",
        "author": {"@type": "Person", "name": "D", "jobTitle": "J"},
        "datePublished": "2024-07-19",
        "appearance": [{"@type": "CreativeWork", "url": "https://d.org/2"}, "https://d.org/1"],
    },
}
_LINE = json.dumps(_REVIEW)
_PAGE = f"""<!doctype html><html lang="en-GB"><head>
<script type="application/ld+json">{_LINE}</script>
<script type=application/ld+json>{json.dumps({"@graph": [_REVIEW, {"@type": "WebPage"}]})}</script></head></html>"""
_MICRODATA = """<html lang=ar><body><div itemscope itemtype="https://schema.org/ClaimReview">
<h1 itemprop="claimReviewed">a <b>b</b></h1><a itemprop="url" href="https://c.org/a">x</a>
<time itemprop="datePublished" datetime="2023-10-02">y</time>
<span itemprop="author" itemscope itemtype="https://schema.org/Organization"><span itemprop="name">C</span></span>
<div itemprop="reviewRating" itemscope><meta itemprop="ratingValue" content="1"><b itemprop="alternateName">No</b></div>
<div itemprop="itemReviewed" itemscope><span itemprop="author" itemscope><span itemprop="name">D</span></span></div>
</div>"""
_FEED = json.dumps(
    {"@type": "DataFeed", "dataFeedElement": [{"@type": "DataFeedItem", "item": [_REVIEW, {"@type": ["ClaimReview"]}]}]}
)
_COMMAS = (
    "claimReviewed,url,datePublished,author.name,reviewRating.alternateName,itemReviewed.author.name\n"
    '"a, ""b""",https://c.org/a,2024-07-20,C,False,D\n'
)
_TABS = "id\tclaim\turl\trating\tclaimant\n1\ta\thttps://c.org/a\tFalse\tD\n"

REVIEWS = (_PAGE, _MICRODATA, _FEED, f"{_LINE}\n{_LINE}\n", _COMMAS, _TABS)
"""A page with JSON-LD, one with microdata, a feed, lines of JSON, and two tables."""
