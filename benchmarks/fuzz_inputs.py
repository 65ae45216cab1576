"""Broken inputs and requests: mutations of real and of small inputs, which follow the structure of
the input.

The same seed gives the same inputs. The same number gives the same request.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from flask import Flask

from benchmarks.measuring import ROOT
from factseek.claims.checkworthiness.ranking import RankerManifest
from factseek.core.records import model_file
from factseek.retrieval.store import manifest as manifests

MOST_BYTES = 60_000
"""The maximum size of a seed, so that ten thousand inputs take minutes."""
_TOKENS = (
    b"",
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x92\x89",
    b'"',
    b'""',
    b"'",
    b"\t",
    b"\t\t",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\x0b\x0c\x1c\x85",
    "\u2028\u202e".encode(),
    b",",
    b";",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{}",
    b"[]",
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"1_0",
    "٣".encode(),
    b"9" * 5_000,
    b"0x10",
    b"true",
    b"\\u0000",
    b"\\ud800",
    b"\\",
    b"<",
    b">",
    b"</",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"&#999999999;",
    b"&amp;#99999999;",
    b"&",
    b"%s%n",
    b"../../etc/passwd",
    b"<DOC>",
    b"</DOC>",
    b"<DOCNO>",
    b"<TEXT>",
    b"<p>",
    b"<table>",
    b"<script>",
    b"<meta charset=utf-7>",
    b"<html lang=x>",
    b"<!DOCTYPE html>",
    b"WARC/1.0\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999\r\n",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"!!python/object/apply:os.system",
    b"&a [*a]",
    b"0",
    b"1",
    b"-1",
    b"2020-02-30",
    b"9999-99-99",
    b"True",
    b"nan",
    b"inf",
)

_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    2**63,
    10**400,
    "",
    " ",
    "\0",
    "\ud800",
    "a\nb",
    "x" * 3_000,
    "é",
    [],
    {},
    [[]],
    [None],
    {"": ""},
    {"a": {"b": []}},
    "2020-13-45",
    "NaN",
    ["a", 1],
    [["a", 0]],
)

_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1256", "utf-7", "cp037")

_LINKED_DATA = re.compile(rb"<script[^>]*ld\+json[^>]*>([^<]+)")


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds after zero to six mutations."""
    content = chance.choice(seeds)[:MOST_BYTES]
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 4, 6))):
        content = _changed(chance, content, chance.choice(seeds)[:MOST_BYTES])[: 4 * MOST_BYTES]
    return content


def _changed(chance: random.Random, content: bytes, other: bytes) -> bytes:
    at = chance.randrange(len(content) + 1)
    before, after, end = content[:at], content[at:], chance.randrange(1, 400)
    lines = content.split(b"\n")
    row, later = chance.randrange(len(lines)), chance.randrange(len(lines))
    mark = next((mark for mark in (b"\t", b",", b" ") if mark in content), b"\t")
    cells = lines[row].split(mark)
    cell = chance.randrange(len(cells))

    def with_line(*new: bytes) -> bytes:
        return b"\n".join([*lines[:row], *new, *lines[row + 1 :]])

    token = chance.choice(_TOKENS)
    return chance.choice(
        (
            lambda: before,
            lambda: before + after[end:],
            lambda: before + bytes([chance.randrange(256)]) + after[1:],
            lambda: before + after[: end // 6] * chance.choice((2, 4, 1_000)) + after,
            lambda: before + other[chance.randrange(len(other) + 1) :],
            lambda: (
                before
                + token * chance.choice((1, 1, 1, 2, 500))
                + after[chance.choice((0, end // 20)) :]
            ),
            lambda: content.decode("utf-8", "replace").encode(chance.choice(_ENCODINGS), "replace"),
            lambda: gzip.compress(content, 1, mtime=0)[: chance.choice((None, at))],
            with_line,
            lambda: with_line(lines[later], lines[row]),
            lambda: content.replace(b"\n", chance.choice((b"\r\n", b"\r", b" ", b"\n\n"))),
            lambda: content.replace(mark, chance.choice((b"\t", b",", b";", b" ", b"\t\t"))),
            lambda: with_line(
                mark.join([*cells[:cell], chance.choice((token, *cells)), *cells[cell + 1 :]])
            ),
            lambda: with_line(_changed_json(chance, lines[row])),
            lambda: _changed_json(chance, content),
        )
    )()


def _changed_json(chance: random.Random, content: bytes) -> bytes:
    """Return JSON, or a page that holds some, with one value changed; anything else stays as it
    is.
    """
    script = _LINKED_DATA.search(content)
    begin, end = script.span(1) if script else (0, len(content))
    try:
        value = json.loads(content[begin:end])
    except (ValueError, RecursionError):
        return content
    return content[:begin] + encoded(mutated_json(chance, value)) + content[end:]


def mutated_json(chance: random.Random, value: Any) -> Any:
    """Return a JSON value in which one part, at any depth, is changed, missing, or repeated
    elsewhere.
    """
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        part = {**value}
        match chance.randrange(6):
            case 0:
                del part[key]
            case 1:
                part[chance.choice(("", "x", key.upper(), "docid", "metadata", "\ud800"))] = part[
                    key
                ]
            case _:
                part[key] = mutated_json(chance, part[key])
        return part
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        match chance.randrange(4):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value * chance.choice((2, 50))
            case _:
                return [*value[:at], mutated_json(chance, value[at]), *value[at + 1 :]]
    if chance.random() < 0.02:
        value = "x"
        # Not deeper than Python's JSON writer allows.
        for level in range(chance.choice((30, 200, 900))):
            value = [value] if level % 2 else {"a": value}
        return value
    return chance.choice(_VALUES)


def encoded(value: Any) -> bytes:
    """Return a value as JSON; a lone surrogate stays an escape."""
    return json.dumps(value).encode()


_PAGE = """<!DOCTYPE html><html lang=en-GB><head><title>A bridge</title><meta charset=utf-8>
<link rel=canonical href='http://x.org/a'>
<script type='application/ld+json'>{"@type": "ClaimReview",
"claimReviewed": "a b", "url": "https://c.org/a", "author": {"name": "C"},
"datePublished": "2024-07-20", "reviewRating": {"ratingValue": 1},
"itemReviewed": {"author": {"name": "D"}, "appearance": [{"url": "https://d.org/2"}]}}</script>
</head><body>
<nav><a href=/>x</a></nav><article><h1>A bridge</h1>
<p>The ministry said that the new bridge will be opened.</p>
<table><tr><td>a<td>b</table><ul><li>x</ul></article>
<div itemscope itemtype="https://schema.org/ClaimReview">
<h1 itemprop="claimReviewed">a <b>b</b></h1><a itemprop="url" href="https://c.org/a">x</a>
<span itemprop="author" itemscope><span itemprop="name">C</span></span>
<div itemprop="reviewRating" itemscope>
<meta itemprop="ratingValue" content="1"></div></div></body></html>"""

TABLES = ".tsv .csv .jsonl .txt"
SOURCES = {
    "index beir": (
        ".jsonl .jsonl.gz",
        "scifact/corpus.jsonl nfcorpus/corpus.jsonl xquad-r/*/corpus.jsonl",
    ),
    "index claimreview": (
        ".html .json .jsonld .jsonl .csv .tsv",
        "reviews-ar.json html-readability/*/source.html",
    ),
    "index claims": (".tsv .csv .json .jsonl .parquet", "ct2020-task2/verified_claims.docs.tsv"),
    "index cord19": (
        ".csv .tsv .jsonl .pkl .parquet",
        "cord19/metadata.csv cord19/metadata-samples/*.csv",
    ),
    "index fever": (".jsonl", "fever-pages.jsonl fever/wiki-pages-sample-5.jsonl"),
    "index jsonl": (".jsonl .json .ndjson", "covid-fact/*.jsonl scifact/corpus.jsonl"),
    "index snippets": (TABLES, "snippets-*.tsv ct2019-task2-arabic/passages/*.json"),
    "index trec": (".sgml .txt .gz", ""),
    "index webpages": (
        ".html .txt .warc .arc .warc.gz .json",
        (
            "pages-ar/* html-readability/*/source.html warc/warcio/test/data/*.[wag]* "
            "ct2019-task2-arabic/claims/*"
        ),
    ),
    "task ct2020-evidence": (TABLES, "claims-*.tsv evidence-gold-*.tsv"),
    "task ct2020-verification": (TABLES, "claims-ar.tsv verification-*.tsv"),
    "task ct2021-1a": (TABLES, "checkworthy-en-*.tsv ct2021-task1/1a-*/*.tsv"),
    "task ct2021-1b": (TABLES, "debate-*.tsv ct2021-task1/1b-english/*/*.tsv"),
    "task ct2025-4b": (TABLES, "papers-en.tsv ct2025-4b/*.tsv ct2025-4b/runs/*"),
    "task fever": (
        TABLES,
        "fever-dev.jsonl fever/actual.jsonl fever/predictions.jsonl scifact/claims_train.jsonl",
    ),
    "task trec": (
        TABLES,
        (
            "queries-*.tsv qrels-*.txt trec_eval/test/qrels* trec_eval/test/results* "
            "scifact/qrels/*.tsv"
        ),
    ),
    "read_topics": (TABLES, "queries-en.tsv"),
    "config.yaml": (".yaml", ""),
}
"""For each target: the suffixes of its inputs, and patterns of example and public files."""
WRITTEN = {
    "index beir": (
        '{"_id": "1", "title": "T", "text": "a b", "metadata": {"url": "http://x.org", "date": '
        '"2020"}}\n' * 2,
    ),
    "index claimreview": (_PAGE, 'claimReviewed,url,author.name\n"a, ""b""",https://c.org/a,C\n'),
    "index claims": (
        '\tvclaim\ttitle\n0\ta claim\tT\n1\t"b, c"\tU\n',
        '[{"id": 1, "claim": "a", "date": "2020-01"}]',
    ),
    "index cord19": (
        '{"cord_uid": "a", "title": "T", "abstract": "b", "publish_time": "2020 Mar"}\n',
    ),
    "index jsonl": (
        '{"docid": "1", "text": "a", "url": "http://x.org", "date": "2020", "more": [1, {"a": '
        "null}]}\n" * 2,
    ),
    "index snippets": (
        'id,text,date\n1,"a, b",2020\n',
        '{"pageID": "p", "paragraphs": [{"parID": "1", "text": "a"}]}\n',
    ),
    "index trec": (
        "<DOC>\n<DOCNO> W1 </DOCNO>\n<HL> A headline</HL>\n<DD> 03/24/87</DD>\n"
        "<TEXT>\n<P>AT&amp;T &hyph; a</P>\n<!-- x -->\n</TEXT>\n</DOC>\n",
        "<DOC><DOCNO>w</DOCNO><DOCHDR>\nhttp://x.org/a 1.2\n</DOCHDR>"
        "<html><title>T</title><script>no()</script><p>b<b>ol</b>d</html></DOC>\n",
    ),
    "index webpages": (_PAGE, "A plain text.\n\nOf two lines.\n"),
    "task ct2020-evidence": ("T-05\t1\t1\tT-05-0003-001\t1.5\trun\n",),
    "task ct2020-verification": ("T1\t123\tTRUE\trun\n",),
    "task ct2021-1a": (
        *(
            "t\t12345678901234567\t0.5\trun\n",
            '{"id_str": "12345678901234567", "full_text": "A tweet"}\n',
        ),
    ),
    "task ct2021-1b": ("1\t0.5\n2\t.25\n",),
    "task ct2025-4b": ("post_id\tpreds\n1\t['a', 'b', 'c']\n2\t[\"a\"]\n",),
    "task fever": (
        '{"id": 1, "predicted_label": "REFUTES", "predicted_evidence": [["Sea", 0]]}\n',
    ),
    "task trec": (
        "1 Q0 d1 1 2.5 run\n1 Q0 d2 2 1.5 run\n",
        "query-id\tcorpus-id\tscore\n1\td1\t1\n",
    ),
    "read_topics": (
        '{"_id": "1", "text": "a query"}\n',
        "<top>\n<num> Number: 1\n<title> a b\n<desc> D:\nc\n</top>\n",
    ),
    "config.yaml": (
        "bm25:\n  k1: 0.9\nindex:\n  language: en\nserver:\n  port: 8000\n  keys:\n    a: abc\n"
        "search:\n  fusion:\n    kind: rrf\n    rrf_k: 10\npassages:\n  split:\n    webpages: "
        "true\n",
    ),
}
"""For each target: small inputs written for it."""


@cache
def seeds(name: str, data: Path | None) -> tuple[bytes, ...]:
    """Return the seeds of a target: those in this module, and the beginnings of a few files of each
    pattern.
    """
    if name in _MADE:
        return _MADE[name]()
    found = [seed.encode() for seed in WRITTEN.get(name, ("a\tb\n", "{}\n"))]
    for pattern in SOURCES.get(name, ("", ""))[1].split():
        for folder in (ROOT / "examples", *([data] if data else ())):
            for path in islice(
                (path for path in sorted(folder.glob(pattern)) if path.is_file()), 6
            ):
                with path.open("rb") as file:
                    found.append(file.read(MOST_BYTES if folder == data else 6_000))
    return (*found, *(_frames() if name == "index cord19" else ()))


def _frames() -> tuple[bytes, ...]:
    import pandas as pd

    table = pd.DataFrame(
        {
            "cord_uid": ["a", "b"],
            "title": ["T", None],
            "publish_time": ["2020", "2"],
            "doi": [1.0, 2],
        }
    )
    packed, parquet = io.BytesIO(), io.BytesIO()
    table.to_pickle(packed)
    table.to_parquet(parquet)
    return packed.getvalue(), parquet.getvalue()


def _manifest() -> tuple[bytes, ...]:
    counts = {"documents": 2, "passages": 2}
    segment = manifests.SegmentInfo(
        **{
            "name": "000000",
            "kind": "jsonl",
            "split": False,
            "sentences": False,
            "deleted": (1,),
            **counts,
        },
        sources=(manifests.SourceInfo(name="a", bytes=1, sha256="0" * 64),),
        files={"documents.sqlite": manifests.FileInfo(bytes=1, sha256="0" * 64)},
    )
    whole = manifests.Manifest(
        **{
            "language": "en",
            "analyzer": "english",
            "fields": "flat",
            "created": "2020-01-01T00:00:00Z",
            **counts,
        },
        layout=manifests.LAYOUT,
        bm25=manifests.BM25Info(k1=0.9, b=0.4),
        views={
            "lucene": {},
            "vectors": {"name": "e", "revision": "1", "dimension": 384, "precision": "int8"},
        },
        versions=manifests.versions(),
        segments=(segment,),
    )
    return (manifests.encode(whole),)


def _ranker() -> tuple[bytes, ...]:
    about = RankerManifest(
        task="ct2021-1a", model="best", languages=("en",), sources=(), settings={}, versions={}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.model")
        model_file.save(
            path, about, model_file.State({"a": 1}, {"b": np.zeros(3, dtype=np.float32)})
        )
        return (path.read_bytes(),)


_MADE = {"a ranker's file": _ranker, "manifest.json": _manifest}


TYPES = (
    "application/json",
    "application/json",
    "application/json; charset=utf-16",
    "application/x-ndjson",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "image/png",
    "",
    "a/b;;=",
)
ACCEPTED = (
    "application/json",
    "application/x-ndjson",
    "text/plain",
    "text/html",
    "text/csv",
    "text/tab-separated-values",
    "application/x-bibtex",
    "application/x-research-info-systems;q=0.9, */*",
    "*/*;q=0.1",
    "",
    "a/b;q=x",
)
VALUES = (
    "",
    "1",
    "0",
    "-1",
    "1e9",
    "nan",
    "٣",
    "true",
    "bm25",
    "dense",
    "hybrid",
    "measles vaccine",
    "نهر النيل",
    "\0",
    "\ud800",
    "a" * 300,
    "2020-02-30",
    "9999",
    "topic=health",
    "topic=",
    "date>=x",
    "rrf",
    "keep",
    "\u202e",
    "<b>",
    "*",
    "title:measles",
    "AND OR (",
    "english",
    "csv",
    "bibtex",
    "near",
    "per_source=1",
    '"measles vaccine" -moon before:2024 source:',
    "2020-03-01T00:00:00+25:00",
    "10000000000000000000000",
    "{}",
    "[]",
)
PARAMETERS = (
    "query",
    "q",
    "hits",
    "k",
    "retriever",
    "filter",
    "as_of",
    "undated",
    "fusion",
    "explain",
    "highlight",
    "group",
    "mode",
    "language",
    "index",
    "from",
    "page",
    "offset",
    "facets",
    "fields",
    "passages",
    "depth",
    "format",
    "syntax",
    "cursor",
    "count",
    "collapse",
    "stages",
    "since",
    "like",
    "qid",
    "pageToken",
    "pageSize",
    "key",
    "x",
    "",
)
DOCIDS = (
    "measles",
    "moon",
    "amazon",
    "nobody",
    "a/b",
    "..",
    "../../etc/passwd",
    "%00",
    "\0",
    "é" * 300,
    " ",
    "a?b#c",
    "+",
    "\ud800",
)
HEADERS = {
    "If-Match": ("*", '"x"', 'W/"x"', "x", ""),
    "If-None-Match": ("*", '"x"', ",,"),
    "Range": ("bytes=0-", "x"),
    "X-Request-Id": ("a" * 500, "é", "a b"),
    "Accept-Language": ("ar", "x;q=", "*"),
    "Cookie": ("a=b; c", "="),
    "Authorization": ("", "Bearer x", "Basic é", "Bearer"),
    "Host": ("x", "[", "a:b:c"),
}
CURSORS = ("cursor", "pageToken")
"""Fields that hold a token from the answer for the previous page."""


class Request(NamedTuple):
    """A request to send."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def routes(app: Flask) -> list[tuple[str, str, str]]:
    """Return method, rule and endpoint of every route, in order."""
    return sorted(
        (method, rule.rule, rule.endpoint)
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    )


def request_of(
    route: tuple[str, str, str],
    number: int,
    names: Sequence[str],
    examples: Sequence[Mapping[str, Any]],
) -> Request:
    """Return a request by its number; ``names`` are the existing indexes, ``examples`` are valid
    bodies.
    """
    method, rule, _ = route
    chance = random.Random(f"{method} {rule}:{number}")  # noqa: S311  a test's chance
    example = {
        name: _broken_token(chance, value) if name in CURSORS and chance.random() < 0.5 else value
        for name, value in chance.choice(examples).items()
    }
    path = "/".join(_part(chance, part, names) for part in rule.split("/"))
    asked = [
        (chance.choice(PARAMETERS), chance.choice(VALUES))
        for _ in range(chance.choice((0, 0, 1, 2, 4)))
    ]
    if method == "GET":
        kept = [(name, value) for name, value in example.items() if chance.random() < 0.7]
        parts = [
            (name, part)
            for name, value in kept
            for part in (value if isinstance(value, list) else [value])
        ]
        asked += [
            (name, chance.choice(VALUES) if chance.random() < 0.4 else str(part))
            for name, part in parts
        ]
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in asked)
    headers = {
        name: chance.choice(values) for name, values in HEADERS.items() if chance.random() < 0.07
    }
    headers |= {"Content-Type": chance.choice(TYPES), "Accept": chance.choice(ACCEPTED)}
    body = b"" if method == "GET" and chance.random() < 0.9 else _body(chance, example)
    if chance.random() < 0.05:
        headers["Content-Encoding"], body = (
            "gzip",
            gzip.compress(body, mtime=0)[: chance.choice((10, 10**6))],
        )
    sent = {name: value for name, value in headers.items() if value}
    return Request(method, f"{path}?{query}" if query else path, sent, body)


def _part(chance: random.Random, part: str, names: Sequence[str]) -> str:
    if not part.startswith("<"):
        return part
    if "docid" in part:
        return _quoted(chance.choice(DOCIDS)) or "x"
    if part == "<name>" and chance.random() < 0.9:
        return chance.choice(names)
    return _quoted(chance.choice(("x", "jobs", "indexes", "..", "é", "0" * 32, "\0", "a" * 300)))


def _broken_token(chance: random.Random, value: str) -> str:
    """Return a cursor that is changed, cut or lengthened, decoded or encoded."""
    if chance.random() < 0.25:
        return value[: chance.randrange(len(value))] + chance.choice(
            ("", "=", "é", "\0", "+/", "=====")
        )
    content = mutated(chance, [urlsafe_b64decode(value + "=" * (-len(value) % 4))])
    return urlsafe_b64encode(content[:400]).decode().rstrip("=")


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _body(chance: random.Random, example: Mapping[str, Any]) -> bytes:
    value: Any = dict(example)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        value = mutated_json(chance, value)
    match chance.randrange(8):
        case 0:
            return b"\n".join(
                encoded(mutated_json(chance, dict(example)))
                for _ in range(chance.choice((1, 3, 40)))
            )
        case 1:
            return encoded([value] * chance.choice((0, 1, 7)))
        case 2:
            return mutated(chance, [encoded(value)])
        case _:
            return encoded(value)
