"""Sources with long runs of one mark are read to their end: no page of a crawl may stop a build."""

import json
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.settings import Config

LENGTH = 200_000
SENTENCE = (
    "The ministry said that the new bridge over the river will be opened to all traffic in the "
    "spring."
)


def long(mark: str, end: str = "") -> str:
    return mark * (LENGTH // len(mark)) + end


def _review(rating: str) -> str:
    return json.dumps(
        {
            "@type": "ClaimReview",
            "url": "https://check.example.org/bridge",
            "claimReviewed": SENTENCE,
            "reviewRating": {"@type": "Rating", "alternateName": rating},
        }
    )


def _page(head: str = "", body: str = "") -> str:
    return (
        f"<html lang='en'><head>{head}</head><body><article><p>{SENTENCE} "
        f"{body}</p></article></body></html>"
    )


SCRIPT = f'<script type="application/ld+json">{_review("false")}</script>'
LINKED = '<script type="application/ld+json">'
SOURCES = {
    "tags in what a page says of itself": (
        "webpages",
        "a.html",
        _page(f'<meta name="date" content="{long("<")}">'),
    ),
    "dashes of an author": (
        "webpages",
        "a.html",
        _page(f'<meta name="author" content="{long("-", "x")}">'),
    ),
    "tags of JSON-LD": ("webpages", "a.html", _page(LINKED + long("<") + "</script>")),
    "persons of JSON-LD": ("webpages", "a.html", _page(LINKED + long('"Person", ') + "</script>")),
    "stops of a page": ("webpages", "a.html", _page(body=long(".", "a"))),
    "closing marks of a text": ("webpages", "a.txt", f"{SENTENCE} {long('.) ', 'a')}"),
    "marks of a rating": ("claimreview", "a.json", _review(f"a{long('!')}a")),
    "comments of scripts": (
        "claimreview",
        "a.html",
        SCRIPT + '<script type="application/ld+json">' + long("// "),
    ),
    "a language that does not end": ("claimreview", "a.html", SCRIPT + "<html " + long(" lang =")),
    "stops of TREC": (
        "trec",
        "a.sgml",
        f"<DOC><DOCNO>a</DOCNO><TEXT>{SENTENCE} {long('.', 'a')}</TEXT></DOC>\n",
    ),
    "tags of TREC": (
        "trec",
        "a.sgml",
        f"<DOC><DOCNO>a</DOCNO><TEXT>{SENTENCE} {long('<a ')}</TEXT></DOC>\n",
    ),
    "references of TREC": (
        "trec",
        "a.sgml",
        f"<DOC><DOCNO>a</DOCNO><TEXT>{SENTENCE} {long('&#')}</TEXT></DOC>\n",
    ),
    "a date of TREC": (
        "trec",
        "a.sgml",
        f"<DOC><DOCNO>a</DOCNO><DATE>{long('A', 'a')}</DATE><TEXT>{SENTENCE}</TEXT></DOC>\n",
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_with_a_long_run_is_indexed(tmp_path: Path, source: str) -> None:
    kind, name, content = SOURCES[source]
    path = tmp_path / "source" / name
    path.parent.mkdir()
    path.write_text(content, "utf-8")
    request = BuildRequest(
        kind=kind, sources=(path,), folder=tmp_path / "index", language="en", dense=False
    )
    build(request, Config())
    index = Index(tmp_path / "index", Config())
    try:
        (hits,) = index.search(["new bridge over the river"])
        assert len(hits) == 1
    finally:
        index.close()
