"""Thousands of broken inputs: mutations of real and small files that follow the structure of the files.

The same seed gives the same inputs.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from factseek.claims.checkworthiness.training import RankerManifest
from factseek.retrieval.records import model_file
from factseek.retrieval.store import manifest as manifests

MOST_BYTES = 60_000
"""The maximum size of a seed, so that ten thousand inputs take minutes."""

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

_TOKENS = (
    b"", b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf0\x9f\x92\x89", b'"', b'""',
    b"'", b"\t", b"\t\t", b"\r", b"\r\n", b"\n\n", b"\x0b\x0c\x1c\x85", "\u2028\u202e".encode(), b",", b";", b"{",
    b"}", b"[", b"]", b"{}", b"[]", b"null", b"NaN", b"-Infinity", b"1e999", b"-0", b"1_0", "٣".encode(),
    b"9" * 5_000, b"0x10", b"true", b"\\u0000", b"\\ud800", b"\\", b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[",
    b"&#999999999;", b"&amp;#99999999;", b"&", b"%s%n", b"../../etc/passwd", b"<DOC>", b"</DOC>", b"<DOCNO>",
    b"<TEXT>", b"<p>", b"<table>", b"<script>", b"<meta charset=utf-7>", b"<html lang=x>", b"<!DOCTYPE html>",
    b"WARC/1.0\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"\x1f\x8b\x08", b"PK\x03\x04",
    b"!!python/object/apply:os.system", b"&a [*a]", b"0", b"1", b"-1", b"2020-02-30", b"9999-99-99", b"True", b"nan",
    b"inf",
)  # fmt: skip

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**63, 10**400, "", " ", "\0", "\ud800", "a\nb", "x" * 3_000, "é", [], {},
    [[]], [None], {"": ""}, {"a": {"b": []}}, "2020-13-45", "NaN", ["a", 1], [["a", 0]],
)  # fmt: skip

_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1256", "utf-7", "cp037")

_LINKED_DATA = re.compile(rb"<script[^>]*ld\+json[^>]*>([^<]+)")

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds after zero to six mutations."""
    content = chance.choice(seeds)[:MOST_BYTES]
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 4, 6))):
        content = chance.choice(_MUTATIONS)(chance, content, seeds)[: 4 * MOST_BYTES]
    return content


def mutated_json(chance: random.Random, value: Any) -> Any:
    """Return a JSON value in which one part, at any depth, is changed, missing, or repeated elsewhere."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        part = {**value}
        match chance.randrange(6):
            case 0:
                del part[key]
            case 1:
                part[chance.choice(("", "x", key.upper(), "docid", "metadata", "\ud800"))] = part[key]
            case 2:
                part[key] = chance.choice(_VALUES)
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
        return _nested(chance.choice((30, 200, 3_000)))
    return chance.choice(_VALUES)


def encoded(value: Any) -> bytes:
    """Return a value as JSON; half a surrogate pair stays an escape."""
    return json.dumps(value).encode()


def _nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
        if level > 900:  # what Python's own writer can still write
            break
    return value


def _bytes(chance: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    """Flip some bytes, cut, drop or repeat a range, continue with another seed, recode, or compress."""
    at, other = chance.randrange(len(content) + 1), chance.choice(seeds)[:MOST_BYTES]
    match chance.randrange(7):
        case 0:
            flipped = bytearray(content)
            for _ in range(min(len(flipped), chance.choice((1, 3, 20)))):
                flipped[chance.randrange(len(flipped))] = chance.randrange(256)
            content = bytes(flipped)
        case 1:
            content = content[:at]
        case 2:
            content = content[:at] + content[at + chance.randrange(1, 400) :]
        case 3:
            again = content[at : at + chance.randrange(1, 60)] * chance.choice((2, 4, 1_000))
            content = content[:at] + again + content[at:]
        case 4:
            content = content[:at] + other[chance.randrange(len(other) + 1) :]
        case 5:
            content = content.decode("utf-8", "replace").encode(chance.choice(_ENCODINGS), "replace")
        case _:
            packed = gzip.compress(content, 1, mtime=0)
            content = packed[: chance.choice((len(packed), chance.randrange(len(packed))))]
    return content


def _insert(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    begin = chance.randrange(len(content) + 1)
    kept = begin + chance.choice((0, chance.randrange(20)))
    return content[:begin] + chance.choice(_TOKENS) * chance.choice((1, 1, 1, 2, 500)) + content[kept:]


def _lines(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Swap, drop, double or join lines, or change their line ends."""
    lines = content.split(b"\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            lines[first], lines[second] = lines[second], lines[first]
        case 1:
            del lines[first]
        case 2:
            lines.insert(second, lines[first])
        case 3:
            return content.replace(b"\n", chance.choice((b"\r\n", b"\r", b" ", b"\n\n")))
        case _:
            lines[first : first + 2] = [b" ".join(lines[first : first + 2])]
    return b"\n".join(lines)


def _cells(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Change one cell of a line, or the separator of all cells."""
    separator = next((mark for mark in (b"\t", b",", b" ") if mark in content), b"\t")
    if chance.random() < 0.2:
        return content.replace(separator, chance.choice((b"\t", b",", b";", b" ", b"\t\t")))
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    cells = lines[at].split(separator)
    cells[chance.randrange(len(cells))] = chance.choice((*_TOKENS, *cells))
    lines[at] = separator.join(cells)
    return b"\n".join(lines)


def _json(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Change one value in a line of JSON, in a JSON file, or in JSON inside a page."""
    if scripts := list(_LINKED_DATA.finditer(content)):
        begin, end = chance.choice(scripts).span(1)
        return content[:begin] + _json(chance, content[begin:end], ()) + content[end:]
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    for whole in (False, True):
        try:
            value = json.loads(content if whole else lines[at])
        except (ValueError, RecursionError):
            continue
        changed = encoded(mutated_json(chance, value))
        return changed if whole else b"\n".join([*lines[:at], changed, *lines[at + 1 :]])
    return _insert(chance, content, ())


_MUTATIONS: tuple[Mutation, ...] = (_bytes, _bytes, _bytes, _bytes, _insert, _lines, _cells, _json)

_REVIEW = json.dumps({
    "@type": "ClaimReview", "claimReviewed": "a b", "url": "https://c.org/a", "inLanguage": "en-GB", "headline": "H",
    "author": {"@type": "Organization", "name": "C"}, "datePublished": "2024-07-20T09:00:00+02:00",
    "reviewRating": {"alternateName": "False", "ratingValue": "1", "bestRating": 5, "worstRating": 1},
    "itemReviewed": {"author": {"name": "D", "jobTitle": "J"}, "appearance": [{"url": "https://d.org/2"}, "x"]},
})  # fmt: skip
_PAGE = f"""<!doctype html><html lang="en-GB"><head><script type="application/ld+json">{_REVIEW}</script>
<script type=application/ld+json>{{"@graph": [{_REVIEW}, {{"@type": "WebPage"}}]}}</script></head></html>"""
_MICRODATA = """<html lang=ar><body><div itemscope itemtype="https://schema.org/ClaimReview">
<h1 itemprop="claimReviewed">a <b>b</b></h1><a itemprop="url" href="https://c.org/a">x</a>
<time itemprop="datePublished" datetime="2023-10-02">y</time>
<span itemprop="author" itemscope itemtype="https://schema.org/Organization"><span itemprop="name">C</span></span>
<div itemprop="reviewRating" itemscope><meta itemprop="ratingValue" content="1"><b itemprop="alternateName">No</b></div>
<div itemprop="itemReviewed" itemscope><span itemprop="author" itemscope><span itemprop="name">D</span></span></div>
</div>"""
_ARTICLE = """<!DOCTYPE html><html lang=en><head><title>A bridge</title><meta charset=utf-8><link rel=canonical
href='http://x.org/a'><script type='application/ld+json'>{"@type": "NewsArticle", "datePublished": "2020-01-01"}
</script></head><body><nav><a href=/>x</a></nav><article><h1>A bridge</h1><p>The ministry said that the new bridge will
be opened.</p><table><tr><td>a<td>b</table><ul><li>x</ul></article></body></html>"""
_WARC = tuple(f"warc/warcio/test/data/*.{end}" for end in ("warc", "arc", "gz"))

TABLES = ".tsv .csv .jsonl .txt"
SOURCES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "index beir": (
        ".jsonl .jsonl.gz",
        ("scifact/corpus.jsonl", "nfcorpus/corpus.jsonl", "xquad-r/*/corpus.jsonl"),
        ('{"_id": "1", "title": "T", "text": "a b", "metadata": {"url": "http://x.org", "date": "2020"}}\n' * 2,),
    ),
    "index claimreview": (
        ".html .json .jsonld .jsonl .csv .tsv",
        ("reviews-ar.json", "html-readability/*/source.html"),
        (
            *(_PAGE, _MICRODATA, f"{_REVIEW}\n{_REVIEW}\n"),
            "claimReviewed,url,datePublished,author.name,reviewRating.alternateName,itemReviewed.author.name\n"
            '"a, ""b""",https://c.org/a,2024-07-20,C,False,D\n',
            "id\tclaim\turl\trating\tclaimant\n1\ta\thttps://c.org/a\tFalse\tD\n",
        ),
    ),
    "index claims": (
        ".tsv .csv .json .jsonl .parquet",
        ("ct2020-task2/verified_claims.docs.tsv",),
        (
            '\tvclaim\ttitle\n0\ta claim\tT\n1\t"b, c"\tU\n',
            '{"vclaim_id": "1", "vclaim": "a", "title": "T"}\n',
            '[{"id": 1, "claim": "a", "date": "2020-01-01", "author": ["x"]}]',
        ),
    ),
    "index cord19": (
        ".csv .tsv .jsonl .pkl .parquet",
        ("cord19/metadata.csv", "cord19/metadata-samples/*.csv"),
        ('{"cord_uid": "a", "title": "T", "abstract": "b", "publish_time": "2020 Mar"}\n',),
    ),
    "index fever": (
        ".jsonl",
        ("fever/wiki-pages-sample-5.jsonl",),
        ('{"id": "Sea_-LRB-x-RRB-", "text": "a b", "lines": "0\\tA sentence .\\tSea\\n1\\t\\n2\\tB ."}\n' * 2,),
    ),
    "index jsonl": (
        ".jsonl .json .ndjson",
        ("covid-fact/*.jsonl", "scifact/corpus.jsonl"),
        (
            '{"docid": "1", "text": "a", "title": "T", "url": "http://x.org", "date": "2020-01", "language": "en", '
            '"source": "s", "topic": "t", "more": [1, {"a": null}]}\n{"id": 2, "contents": "b"}\n',
        ),
    ),
    "index snippets": (
        TABLES,
        ("snippets-*.tsv", "ct2019-task2-arabic/passages/*.json"),
        (
            *('id\ttext\n1\ta\n2\t"He said ""no"""\n', "1\tT\ta b\n", 'id,text,date\n1,"a, b",2020\n'),
            '{"pageID": "p", "paragraphs": [{"parID": "1", "text": "a"}]}\n',
        ),
    ),
    "index trec": (
        ".sgml .txt .gz",
        (),
        (
            "<DOC>\n<DOCNO> W1 </DOCNO>\n<HL> A headline</HL>\n<DD> 03/24/87</DD>\n"
            "<TEXT>\n<P>AT&amp;T &hyph; a</P>\n<!-- x -->\n</TEXT>\n</DOC>\n",
            "<DOC><DOCNO>w</DOCNO><DOCHDR>\nhttp://x.org/a 1.2\n</DOCHDR>"
            "<html><title>T</title><script>no()</script><p>b<b>ol</b>d</html></DOC>\n",
            '<DOC id="N_1" type="story"><DATE>March 5, 1990</DATE>all of it</DOC>\n',
        ),
    ),
    "index webpages": (
        ".html .txt .warc .arc .warc.gz .json",
        ("pages-ar/*", "html-readability/*/source.html", *_WARC, "ct2019-task2-arabic/claims/*"),
        (_ARTICLE, "A plain text.\n\nOf two lines.\n"),
    ),
    "task ct2020-evidence": (
        TABLES,
        ("claims-*.tsv", "evidence-gold-*.tsv"),
        ("CT20-AR-05\t123\t1\tCT20-AR-05-0003-001\t1.5\trun\n",),
    ),
    "task ct2020-verification": (TABLES, ("claims-ar.tsv", "verification-*.tsv"), ("T1\t123\tTRUE\trun\n",)),
    "task ct2021-1a": (
        TABLES,
        ("checkworthy-en-*.tsv", "ct2021-task1/1a-*/*.tsv"),
        ("t\t12345678901234567\t0.5\trun\n", '{"id_str": "12345678901234567", "full_text": "A tweet"}\n'),
    ),
    "task ct2021-1b": (TABLES, ("debate-*.tsv", "ct2021-task1/1b-english/*/*.tsv"), ("1\t0.5\n2\t.25\n",)),
    "task ct2025-4b": (
        TABLES,
        ("papers-en.tsv", "ct2025-4b/*.tsv", "ct2025-4b/runs/*"),
        ("post_id\tpreds\n1\t['a', 'b', 'c']\n", 'post_id\tpreds\n1\t["a", "b"]\n'),
    ),
    "task fever": (
        TABLES,
        ("fever-dev.jsonl", "fever/actual.jsonl", "fever/predictions.jsonl", "scifact/claims_train.jsonl"),
        ('{"id": 1, "predicted_label": "REFUTES", "predicted_evidence": [["Sea", 0]]}\n',),
    ),
    "task trec": (
        TABLES,
        (
            *("queries-*.tsv", "qrels-*.txt", "trec_eval/test/qrels*", "trec_eval/test/results*"),
            *("scifact/queries.jsonl", "scifact/qrels/*.tsv"),
        ),
        (
            *("1 Q0 d1 1 2.5 run\n1 Q0 d2 2 1.5 run\n", "query-id\tcorpus-id\tscore\n1\td1\t1\n"),
            '{"_id": "1", "text": "a query"}\n',
        ),
    ),
    "read_topics": (
        TABLES,
        ("queries-en.tsv",),
        (
            *('{"_id": "1", "text": "a query"}\n', 'qid,query\n1,"a, b"\n'),
            "<top>\n<num> Number: 1\n<title> a b\n<desc> Description:\nc\n</top>\n",
        ),
    ),
    "config.yaml": (
        ".yaml",
        (),
        (
            "bm25:\n  k1: 0.9\n  b: 0.4\nindex:\n  language: en\nserver:\n  port: 8000\n  keys:\n    a: abc\n"
            "search:\n  fusion:\n    kind: rrf\n    rrf_k: 10\npassages:\n  split:\n    webpages: true\n",
        ),
    ),
}
"""By target: the endings of its inputs, patterns of example and public files, and small inputs for the rest."""


@cache
def seeds(name: str, data: Path | None) -> tuple[bytes, ...]:
    """Return the seeds of a target: those in this module, and the beginnings of a few files of each pattern."""
    _, patterns, written = SOURCES.get(name, ("", (), ("a\tb\n", "{}\n")))
    found = [seed.encode() for seed in written]
    for pattern in patterns:
        for folder in (EXAMPLES, *([data] if data else ())):
            for path in islice((path for path in sorted(folder.glob(pattern)) if path.is_file()), 6):
                with path.open("rb") as file:
                    found.append(file.read(MOST_BYTES if folder == data else 6_000))
    return (*found, *(frames() if name == "index cord19" else ()))


def frames() -> tuple[bytes, ...]:
    """Return a table of papers as pandas pickles it, and as Parquet."""
    import pandas as pd

    table = pd.DataFrame({"cord_uid": ["a", "b"], "title": ["T", None], "publish_time": ["2020", "2"], "doi": [1.0, 2]})
    packed, parquet = io.BytesIO(), io.BytesIO()
    table.to_pickle(packed)
    table.to_parquet(parquet)
    return packed.getvalue(), parquet.getvalue()


@cache
def manifest() -> tuple[bytes, ...]:
    """Return the manifest of an index."""
    segment = manifests.SegmentInfo(
        **{"name": "000000", "kind": "jsonl", "split": False, "documents": 2, "passages": 2, "sentences": False},
        sources=(manifests.SourceInfo(name="a", bytes=1, sha256="0" * 64),),
        files={"documents.sqlite": manifests.FileInfo(bytes=1, sha256="0" * 64)},
        deleted=(1,),
    )
    whole = manifests.Manifest(
        **{"language": "en", "analyzer": "english", "fields": "flat", "documents": 1, "passages": 1},
        layout=manifests.LAYOUT,
        created="2020-01-01T00:00:00Z",
        bm25=manifests.BM25Info(k1=0.9, b=0.4),
        views={"lucene": {}, "vectors": {"name": "e", "revision": "1", "dimension": 384, "precision": "int8"}},
        versions=manifests.versions(),
        segments=(segment,),
    )
    return (manifests.encode(whole),)


@cache
def ranker() -> tuple[bytes, ...]:
    """Return a ranker's file."""
    about = RankerManifest(task="ct2021-1a", model="best", languages=("en",), sources=(), settings={}, versions={})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.model")
        model_file.save(path, about, model_file.State({"a": 1}, {"b": np.zeros(3, dtype=np.float32)}))
        return (path.read_bytes(),)
