"""Seeds to mutate: sources, task files and settings, written here or read from the real collections."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz_inputs import MOST_BYTES
from factseek.claims.checkworthiness.training import RankerManifest
from factseek.retrieval import manifest as manifests
from factseek.retrieval import model_file
from factseek.retrieval.manifest import LAYOUT, BM25Info, FileInfo, Manifest, SegmentInfo, SourceInfo
from factseek.retrieval.model_file import State

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

SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "beir": ((".jsonl", ".jsonl.gz"), ("scifact/corpus.jsonl", "nfcorpus/corpus.jsonl", "xquad-r/*/corpus.jsonl")),
    "claimreview": ((".html", ".json", ".jsonld", ".jsonl", ".csv", ".tsv"), ("html-readability/*/source.html",)),
    "claims": ((".tsv", ".csv", ".json", ".jsonl", ".parquet"), ("ct2020-task2/verified_claims.docs.tsv",)),
    "cord19": ((".csv", ".tsv", ".jsonl", ".pkl", ".parquet"), ("cord19/metadata-samples/*.csv",)),
    "fever": ((".jsonl",), ("fever/wiki-pages-sample-5.jsonl",)),
    "jsonl": ((".jsonl", ".json", ".ndjson"), ("covid-fact/*.jsonl", "scifact/corpus.jsonl")),
    "snippets": ((".tsv", ".csv", ".jsonl", ".txt"), ("ct2019-task2-arabic/passages/*.json",)),
    "trec": ((".sgml", "", ".gz"), ()),
    "webpages": (
        (".html", ".txt", ".warc", ".arc", ".warc.gz", ".json"),
        (
            "html-readability/*/source.html",
            "warc/warcio/test/data/*.warc",
            "warc/warcio/test/data/*.arc",
            "warc/warcio/test/data/*.gz",
            "ct2019-task2-arabic/claims/*",
        ),
    ),
}
"""By kind: the endings of its inputs, and real files."""

TASKS: dict[str, tuple[str, ...]] = {
    "ct2021-1a": ("ct2021-task1/1a-*/*.tsv",),
    "ct2021-1b": ("ct2021-task1/1b-english/*/*.tsv",),
    "ct2025-4b": ("ct2025-4b/*.tsv", "ct2025-4b/runs/*"),
    "fever": ("fever/actual.jsonl", "fever/predictions.jsonl", "scifact/claims_train.jsonl"),
    "trec": ("trec_eval/test/qrels*", "trec_eval/test/results*", "scifact/queries.jsonl", "scifact/qrels/*.tsv"),
}

DOCUMENTS: dict[str, tuple[str, ...]] = {
    "beir": ('{"_id": "1", "title": "T", "text": "a b", "metadata": {"url": "http://x.org", "date": "2020"}}\n' * 2,),
    "claimreview": REVIEWS,
    "claims": (
        '\tvclaim\ttitle\n0\ta claim\tT\n1\t"b, c"\tU\n',
        '{"vclaim_id": "1", "vclaim": "a", "title": "T"}\n',
        '[{"id": 1, "claim": "a", "date": "2020-01-01", "author": ["x"]}]',
    ),
    "cord19": (
        "cord_uid,sha,source_x,title,doi,pmcid,license,abstract,publish_time,authors,journal,url,pdf_json_files\n"
        "ab1,f00,PMC,A title,10.1/x,PMC1,cc-by,An abstract,2020-03-01,A; B,J,http://x.org; http://y.org,d/f00.json\n",
        '{"cord_uid": "a", "title": "T", "abstract": "b", "publish_time": "2020 Mar"}\n',
    ),
    "fever": ('{"id": "Sea_-LRB-x-RRB-", "text": "a b", "lines": "0\\tA sentence .\\tSea\\n1\\t\\n2\\tB ."}\n' * 2,),
    "jsonl": (
        '{"docid": "1", "text": "a", "title": "T", "url": "http://x.org", "date": "2020-01", "language": "en", '
        '"source": "s", "topic": "t", "more": [1, {"a": null}]}\n'
        '{"id": 2, "contents": "b"}\n',
    ),
    "snippets": (
        'id\ttext\n1\ta\n2\t"He said ""no"""\n',
        "CT20-AR-05-0003-001\tx\n",
        "1\tT\ta b\n",
        'id,text,date\n1,"a, b",2020\n',
        '{"pageID": "p", "paragraphs": [{"parID": "1", "text": "a"}]}\n',
    ),
    "trec": (
        "<DOC>\n<DOCNO> W1 </DOCNO>\n<HL> A headline</HL>\n<DD> 03/24/87</DD>\n"
        "<TEXT>\n<P>AT&amp;T &hyph; a</P>\n<!-- x -->\n</TEXT>\n</DOC>\n",
        "<DOC><DOCNO>w</DOCNO><DOCHDR>\nhttp://x.org/a 1.2\n</DOCHDR>"
        "<html><title>T</title><script>no()</script><p>b<b>ol</b>d</html></DOC>\n",
        '<DOC id="N_1" type="story"><DATE>March 5, 1990</DATE>all of it</DOC>\n',
    ),
    "webpages": (
        "<!DOCTYPE html><html lang=en><head><title>A bridge</title><meta charset=utf-8>"
        "<link rel=canonical href='http://x.org/a'><script type='application/ld+json'>"
        '{"@type": "NewsArticle", "datePublished": "2020-01-01"}</script></head>'
        "<body><nav><a href=/>x</a></nav><article><h1>A bridge</h1><p>The ministry said that the new bridge will be "
        "opened.</p><table><tr><td>a<td>b</table><ul><li>x</ul></article></body></html>",
        "A plain text.\n\nOf two lines.\n",
    ),
}
"""Small sources by kind, so that every part of them is hit."""

TASK_FILES: dict[str, tuple[str, ...]] = {
    "ct2020-evidence": (
        "topic_id\ttweet_id\ttweet_text\nCT20-AR-05\t123\tclaim\n",
        "CT20-AR-05\t123\t1\tCT20-AR-05-0003-001\t1.5\trun\n",
        "CT20-AR-05\t123\tCT20-AR-05-0003-001\t1\n",
    ),
    "ct2020-verification": (
        "topic_id\ttweet_id\ttweet_text\nT1\t123\tclaim\n",
        "T1\t123\tTRUE\trun\n",
        "T1\t123\tFALSE\n",
    ),
    "ct2021-1a": (
        "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tcheck_worthiness\nt\t12345678901234567\tu\tA tweet\t1\t1\n",
        "t\t12345678901234567\t0.5\trun\n",
        '{"id_str": "12345678901234567", "full_text": "A tweet"}\n',
    ),
    "ct2021-1b": ("1\tSPEAKER\tA sentence.\t0\n2\tSYSTEM\t(APPLAUSE)\t1\n", "1\t0.5\n2\t.25\n"),
    "ct2025-4b": (
        'post_id\ttweet_text\tcord_uid\n1\t"a ""b""\nc"\tab1\n',
        "post_id\tpreds\n1\t['a', 'b', 'c']\n",
        'post_id\tpreds\n1\t["a", "b"]\n',
    ),
    "fever": (
        '{"id": 1, "claim": "a", "label": "SUPPORTS", "evidence": [[[1, 2, "Sea", 0]]]}\n',
        '{"id": 1, "predicted_label": "REFUTES", "predicted_evidence": [["Sea", 0]]}\n',
    ),
    "trec": (
        "1 Q0 d1 1 2.5 run\n1 Q0 d2 2 1.5 run\n",
        "1 0 d1 1\n1 0 d2 0\n",
        "query-id\tcorpus-id\tscore\n1\td1\t1\n",
        "1\ta query\n2\tanother\n",
        '{"_id": "1", "text": "a query"}\n',
    ),
}
"""Inputs, judgements and submissions by task."""

OTHERS: dict[str, tuple[str, ...]] = {
    "topics": (
        "qid\ttext\n1\ta query\n",
        '{"_id": "1", "text": "a query"}\n',
        'qid,query\n1,"a, b"\n',
        "<top>\n<num> Number: 1\n<title> a b\n<desc> Description:\nc\n</top>\n",
    ),
    "config": (
        "bm25:\n  k1: 0.9\n  b: 0.4\nindex:\n  language: en\nserver:\n  port: 8000\n  keys:\n    a: abc\n"
        "search:\n  fusion:\n    kind: rrf\n    rrf_k: 10\npassages:\n  split:\n    webpages: true\n",
    ),
}
"""Topics and settings."""


def real(patterns: Sequence[str], data: Path | None) -> tuple[bytes, ...]:
    """Return the beginnings of real files, a few of each pattern."""
    beginnings = []
    for path in (path for pattern in patterns if data for path in islice(sorted(data.glob(pattern)), 6)):
        with path.open("rb") as file:
            beginnings.append(file.read(MOST_BYTES))
    return tuple(beginnings)


def frames() -> tuple[bytes, ...]:
    """Return a table of papers as pandas pickles it, and as Parquet."""
    import pandas as pd

    table = pd.DataFrame({"cord_uid": ["a", "b"], "title": ["T", None], "publish_time": ["2020", "2"], "doi": [1.0, 2]})
    packed, parquet = io.BytesIO(), io.BytesIO()
    table.to_pickle(packed)
    table.to_parquet(parquet)
    return packed.getvalue(), parquet.getvalue()


def manifest() -> tuple[bytes, ...]:
    """Return the manifest of an index."""
    encoder = {"name": "e", "revision": "1", "dimension": 384, "precision": "int8"}
    segment = SegmentInfo(
        name="000000",
        kind="jsonl",
        split=False,
        documents=2,
        passages=2,
        sources=(SourceInfo(name="a", bytes=1, sha256="0" * 64),),
        files={"documents.sqlite": FileInfo(bytes=1, sha256="0" * 64)},
        deleted=(1,),
        sentences=False,
    )
    whole = Manifest(
        layout=LAYOUT,
        created="2020-01-01T00:00:00Z",
        language="en",
        analyzer="english",
        fields="flat",
        bm25=BM25Info(k1=0.9, b=0.4),
        views={"lucene": {}, "vectors": encoder},
        versions=manifests.versions(),
        documents=1,
        passages=1,
        segments=(segment,),
    )
    return (manifests.encode(whole),)


def ranker() -> tuple[bytes, ...]:
    """Return a ranker's file."""
    about = RankerManifest(task="ct2021-1a", model="best", languages=("en",), sources=(), settings={}, versions={})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.model")
        model_file.save(path, about, State({"a": 1}, {"b": np.zeros(3, dtype=np.float32)}))
        return (path.read_bytes(),)
