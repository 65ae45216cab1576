"""The reader of web pages and of their archives."""

import gzip
import io
import json
import random
import re
import socket
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, webpages
from factseek.indexer.collections._documents import text_language
from factseek.indexer.collections._pages import decode, extract

SENTENCE = (
    "The ministry said that the new bridge over the river will be opened to all traffic in the "
    "spring."
)
ARABIC = "قالت وزارة الصحة إن اللقاح الجديد سيكون متاحا في جميع المستشفيات خلال الأسابيع المقبلة."
HTML = f"""<!DOCTYPE html><html lang="en-GB"><head><title>A bridge opens</title>
<link rel="canonical" href="https://news.example.org/bridge">
<meta property="article:published_time" content="2020-03-01T10:00:00Z"></head>
<body><nav><a href="/">Home</a> <a href="/sport">Sport</a></nav>
<article><h1>A bridge opens</h1><p>{SENTENCE}</p><p>It   cost
two million, and {SENTENCE}</p></article>
<footer>All rights reserved</footer></body></html>"""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a reader went online")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def read(*sources: Path, tolerated: int = 0, **limits: int) -> tuple[list[Record], ReadOptions]:
    options = ReadOptions(bad_lines=BadLines(limit=tolerated), **limits)
    return list(webpages.read(sources, options)), options


def docids(*sources: Path) -> list[str]:
    return [record.document.docid for record in read(*sources)[0]]


def put(folder: Path, name: str, content: str | bytes = HTML) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("page", "address"),
    [
        (HTML.replace('"canonical"', '"next"'), "https://news.example.org/saved?a=1"),
        (HTML, "https://news.example.org/bridge"),
    ],
)
def test_a_page_saved_by_a_browser_gives_its_address_unless_it_says_it(
    tmp_path: Path, page: str, address: str
) -> None:
    saved = "<!-- saved from url=(0034)https://news.example.org/saved?a=1 -->\n"
    put(tmp_path, "bridge.html", page.replace("<html", f"{saved}<html"))
    assert [record.document.url for record in read(tmp_path)[0]] == [address]


def test_a_page_gives_its_content_and_what_it_says_of_itself(tmp_path: Path) -> None:
    path = put(tmp_path, "bridge.html")
    assert read(tmp_path)[0] == [
        Record(
            Document(
                "bridge",
                f"{SENTENCE}\nIt cost two million, and {SENTENCE}",
                "A bridge opens",
                "https://news.example.org/bridge",
                "2020-03-01",
                "en",
                "news.example.org",
            ),
            str(path),
        )
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<p>" * 400_000, "page of more than 100,000 elements"),
        (
            "<p " + " ".join(f"a{i}" for i in range(500_000)) + ">x",
            "page with an element of more than 1,000 attributes",
        ),
        ("<p " + " ".join(f'a{i}="x > y" ' for i in range(1_000)) + f"> {SENTENCE}", ""),
        (
            ("<p " + " ".join(f"a{i}" for i in range(900)) + ">x") * 334,
            "page of more than 300,000 attributes",
        ),
        (f"<!-- <b {'a ' * 2_000} --><p>{SENTENCE}</p>", ""),
        (f"<script>{'<p ' * 2_000}", "page with an element of more than 1,000 attributes"),
    ],
)
def test_a_page_that_would_take_too_long_is_left_out_by_name(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = put(tmp_path, "a.html", content)
    put(tmp_path, "b.html")
    records, options = read(tmp_path)
    assert [record.document.docid for record in records] == (["b"] if reason else ["a", "b"])
    assert [tuple(left_out) for left_out in options.left_out] == (
        [(str(path), reason)] if reason else []
    )


def test_text_files_are_taken_as_they_are(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", b"\xef\xbb\xbfOne\r\n\r\n  two <b>\r\n")
    put(tmp_path, "b.txt.gz", gzip.compress(ARABIC.encode("cp1256")))
    first, second = (record.document for record in read(tmp_path)[0])
    assert (first.docid, first.text) == ("a", "One\n\n  two <b>")
    assert (second.docid, second.text, second.language) == ("b", ARABIC, "ar")


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("é".encode("utf-16"), "", "é"),
        ("é".encode(), "iso-8859-1", "é"),
        (b"\x93caf\xe9\x94", "iso-8859-1", "\u201ccafé\u201d"),
        (
            b'<meta charset="windows-1256">' + "سلام".encode("cp1256"),
            "",
            '<meta charset="windows-1256">سلام',
        ),
        ("日本".encode("iso-2022-jp"), "iso-2022-jp", "日本"),
        ("سلام عليكم".encode()[:-1], "", "سلام عليك\ufffd"),
        (b"caf\xe9", "hex", "café"),
    ],
)
def test_pages_are_decoded_as_browsers_do(content: bytes, charset: str, text: str) -> None:
    assert decode(content, charset) == text


@given(
    st.binary(max_size=200),
    st.sampled_from(["", "utf-8", "latin-1", "utf-16", "hex", "idna", "\0", "punycode"]),
)
@settings(deadline=None)
def test_any_bytes_are_decoded(content: bytes, charset: str) -> None:
    decode(content, charset).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        (SENTENCE, "fr", "fr"),
        (ARABIC, "en", "ar"),
        (SENTENCE, "ar", "en"),
        (ARABIC, "", "ar"),
        ("12 | 34", "", ""),
    ],
)
def test_a_declared_language_counts_where_the_script_goes_with_it(
    text: str, declared: str, language: str
) -> None:
    assert text_language(text, declared) == language


def test_a_headline_of_something_else_is_not_the_title() -> None:
    page = extract(
        "<html><title>Peanuts and babies</title><body><h1>Health "
        f"Centre</h1><p>{SENTENCE}</p></body></html>"
    )
    assert page is not None
    assert page.title == "Peanuts and babies"


def test_a_date_does_not_depend_on_the_day_and_not_pass_the_fetch() -> None:
    dated = HTML.replace("2020-03-01", "2098-05-05")
    page, fetched = extract(dated), extract(dated, latest="2021-01-01")
    assert page is not None
    assert fetched is not None
    assert (page.date, fetched.date) == ("2098-05-05", "")


def test_names_that_repeat_become_paths(tmp_path: Path) -> None:
    for name in (
        "x/a.html",
        "x/one/page.html",
        "x/two/page.html",
        "x/two/b c.htm",
        "y/page.html",
        "x/d.html",
        "x/d.htm",
    ):
        put(tmp_path, name)
    assert docids(tmp_path / "x") == ["a", "d.htm", "d.html", "one/page", "b%20c", "two/page"]
    assert docids(tmp_path / "x", tmp_path / "y") == [
        "a",
        "d.htm",
        "d.html",
        "one/page",
        "b%20c",
        "two/page",
        "page",
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is an image (PNG), not a web page"),
        (b"PK\x05\x06\0\0", "is binary data, not a web page"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1",
            "is an office document, not a web page; save its text as plain text, in UTF-8",
        ),
        (b" \n", "is an empty file, not a web page"),
        (b"x" * 2001, "is longer than 2,000 bytes (build.max_file_bytes)"),
    ],
)
def test_a_file_that_is_no_page_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = put(tmp_path, "a.html", content)
    put(tmp_path, "b.html")
    records, options = read(tmp_path, tolerated=1, max_file_bytes=2000)
    assert [record.document.docid for record in records] == ["b"]
    assert options.bad_lines.examples == [f"{path}: {reason}"]
    with pytest.raises(SourceError) as caught:
        read(tmp_path, max_file_bytes=2000)
    assert (
        str(caught.value) == f"{path}: {reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )


@given(st.text(st.sampled_from("<>/!-pdiv abc&#x;\"'=\0\ud800é\n"), max_size=80))
@settings(deadline=None, max_examples=50)
def test_any_markup_is_read_or_refused(source: str) -> None:
    try:
        page = extract(source.encode("utf-8", "replace").decode())
    except ValueError:
        return
    assert page is None or page.text.encode("utf-8")


CLAIM = {
    "claimID": "CT19-T2-002",
    "text": "a claim",
    "results": [
        {
            "pageID": "CT19-T2-002-01",
            "rank": 1,
            "title": "From the search",
            "url": "http://x.org/1",
            "snippet": "s",
        },
        {
            "pageID": "CT19-T2-002-02",
            "rank": 2,
            "title": "A bridge op...",
            "url": "http://x.org/2",
            "snippet": "s",
        },
    ],
}


@pytest.mark.parametrize("how", ["named", "inside", "beside"])
def test_a_claims_file_tells_url_title_and_topic(tmp_path: Path, how: str) -> None:
    pages = tmp_path / "pages"
    for number in (1, 2, 3):
        put(pages, f"CT19-T2-002-0{number}.html")
    place = {"named": "results.json", "inside": "pages/claims/c.jsonl", "beside": "claims/c.json"}[
        how
    ]
    claims = put(tmp_path, place, json.dumps(CLAIM) + "\n")
    records, _ = read(*([pages, claims] if how == "named" else [pages]))
    assert [
        (r.document.url, r.document.title, r.document.topic, r.document.source) for r in records
    ] == [
        ("http://x.org/1", "From the search", "CT19-T2-002", "x.org"),
        ("http://x.org/2", "A bridge opens", "CT19-T2-002", "x.org"),
        ("https://news.example.org/bridge", "A bridge opens", "CT19-T2-002", "news.example.org"),
    ]


def test_a_file_that_is_no_claims_file_is_refused_if_named_and_ignored_if_not(
    tmp_path: Path,
) -> None:
    pages = put(tmp_path, "pages/a.html").parent
    other = put(tmp_path, "claims/other.json", '{"id": 1}\n')
    assert docids(pages) == ["a"]
    with pytest.raises(SourceError) as caught:
        read(pages, other)
    assert (
        str(caught.value)
        == f'{other}:1: is not a claim with "claimID" and "results"; give HTML, WARC or text files'
    )


class Fetched(NamedTuple):
    url: str
    body: str | bytes = HTML
    kind: str = "text/html"
    status: str = "200 OK"
    day: int = 1


def warc_record(kind: str, fields: str, block: bytes) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\n{fields}Content-Length: {len(block)}\r\n\r\n"
    return head.encode() + block + b"\r\n\r\n"


def response(page: Fetched) -> bytes:
    body = page.body.encode() if isinstance(page.body, str) else page.body
    http = f"HTTP/1.1 {page.status}\r\nContent-Type: {page.kind}\r\n\r\n".encode() + body
    return warc_record(
        "response",
        f"WARC-Target-URI: {page.url}\r\nWARC-Date: 2021-01-{page.day:02}T10:00:00Z\r\n",
        http,
    )


def archive(*pages: Fetched, packed: bool = True) -> bytes:
    records = [warc_record("warcinfo", "", b"software: test\r\n"), *map(response, pages)]
    return b"".join(gzip.compress(record) if packed else record for record in records)


def wacz(**archives: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("datapackage.json", "{}")
        packed.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}')
        for name, archived in archives.items():
            packed.writestr(f"archive/{name}", archived)
    return content.getvalue()


def test_pages_of_the_archives_in_a_wacz_file(tmp_path: Path) -> None:
    first = archive(
        Fetched("http://x.org/a", HTML), Fetched("http://x.org/b", HTML, status="404 No")
    )
    second = archive(Fetched("http://x.org/c", HTML), packed=False)
    put(tmp_path, "x.wacz", wacz(**{"b.warc": second, "a.warc.gz": first}))
    records, options = read(tmp_path)
    assert [record.document.docid for record in records] == ["http://x.org/a", "http://x.org/c"]
    assert records[0].place == f"{tmp_path}/x.wacz/archive/a.warc.gz#2"
    assert records[0].document.metadata == {"captured": "2021-01-01T10:00:00Z"}
    assert options.skipped == {"HTTP status other than 200": 1}


BROKEN = {
    "cut": (wacz(**{"a.warc": b"WARC/1.0"})[:-9], ": is not a WACZ file ("),
    "empty": (wacz(), ": contains no WARC file; it is not a WACZ file"),
    "text": (wacz(**{"a.warc": b"text"}), "/archive/a.warc#1: is not a record of a WARC or ARC"),
    "flipped": (
        wacz(**{"a.warc.gz": b"\x1f\x8b" + b"damaged" * 9}),
        "/archive/a.warc.gz: is a damaged gzip file",
    ),
    "wrong": (
        wacz(**{"a.warc": archive(Fetched("http://x.org/a", HTML))}).replace(
            b"PK\x01\x02", b"PKKK"
        ),
        ": is not a WACZ file (",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wacz_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    content, message = BROKEN[name]
    path = put(tmp_path, "x.wacz", content)
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_a_damaged_archive_does_not_hide_the_others_of_its_wacz_file(tmp_path: Path) -> None:
    good = archive(Fetched("http://x.org/a", HTML))
    content = wacz(**{"a.warc": b"A text of some length. " * 9, "b.warc.gz": good})
    damaged = content.replace(b"PK\x03\x04", b"PKXX", 3).replace(b"PKXX", b"PK\x03\x04", 2)
    path = put(tmp_path, "x.wacz", damaged)
    records, options = read(path, tolerated=1)
    assert [record.document.docid for record in records] == ["http://x.org/a"]
    assert options.bad_lines.examples[0].startswith(f"{path}/archive/a.warc: is damaged (")


@pytest.mark.parametrize("packing", ["each record", "whole", "none"])
def test_pages_of_an_archive(tmp_path: Path, packing: str) -> None:
    content = archive(
        Fetched("http://x.org/a b", HTML, "text/html; charset=utf-8"),
        Fetched("http://x.org/missing", HTML, "text/html", "404 Not Found"),
        Fetched("http://x.org/a.png", b"\x89PNG\r\n\x1a\n", "image/png"),
        Fetched("http://x.org/b.png", b"\x89PNG\r\n\x1a\n", "text/html"),
        Fetched("http://x.org/t", "سلام".encode("cp1256"), "text/plain; charset=windows-1256"),
        Fetched(f"http://x.org/{'x' * 500}", HTML, "application/xhtml+xml"),
        packed=packing == "each record",
    )
    path = put(
        tmp_path,
        "a.warc.gz" if packing != "none" else "a.warc",
        gzip.compress(content) if packing == "whole" else content,
    )
    records, options = read(path)
    found = [record.document for record in records]
    assert [d.docid for d in found] == [
        "http://x.org/a%20b",
        "http://x.org/t",
        "page-f4fcd8f2533c11a7",
    ]
    assert [record.place for record in records] == [f"{path}#{n}" for n in (2, 6, 7)]
    assert (found[0].url, found[0].date, found[0].source) == (
        "http://x.org/a%20b",
        "2020-03-01",
        "x.org",
    )
    assert found[0].metadata == {"captured": "2021-01-01T10:00:00Z"}
    assert found[1].text == "سلام"
    assert options.skipped == {
        "HTTP status other than 200": 1,
        "neither HTML nor plain text": 1,
        "an image (PNG) served as text": 1,
    }


def test_a_page_whose_packed_content_is_damaged_is_left_out_by_name(tmp_path: Path) -> None:
    damaged = gzip.compress(random.Random(0).randbytes(20_000).hex().encode())[:-8] + bytes(8)
    page = Fetched("http://x.org/1", damaged, "text/html\r\nContent-Encoding: gzip")
    path = put(tmp_path, "a.warc.gz", archive(page, Fetched("http://x.org/2")))
    records, options = read(path)
    assert [record.document.docid for record in records] == ["http://x.org/2"]
    assert [tuple(left_out) for left_out in options.left_out] == [
        (f"{path}#2", "page whose gzip data are damaged")
    ]


def test_a_page_that_was_captured_again_is_kept_if_it_changed(tmp_path: Path) -> None:
    url, other = "http://x.org/", HTML.replace("two million", "three million")
    put(
        tmp_path,
        "a.warc.gz",
        archive(Fetched(url), Fetched(url), Fetched(url, other, "text/html", "200 OK", 2)),
    )
    again = HTML.replace("two million", "four million")
    put(
        tmp_path,
        "b.warc.gz",
        archive(Fetched(url, other), Fetched(url, again, "text/html", "200 OK", 2)),
    )
    records, options = read(tmp_path)
    again = f"{url}@20210102100000"
    assert [record.document.docid for record in records] == [url, again, f"{again}#2"]
    assert options.skipped == {"pages captured again without a change": 2}


def test_an_archive_cut_anywhere_is_read_up_to_there_and_reported(tmp_path: Path) -> None:
    whole = archive(
        Fetched("http://x.org/1", HTML),
        Fetched("http://x.org/2", HTML.replace("bridge", "road")),
        packed=False,
    )
    ends = [match.start() for match in re.finditer(rb"WARC/1\.0\r\n", whole)] + [len(whole)]
    for cut in range(ends[1] + 1, len(whole), 23):
        records, options = read(put(tmp_path, "a.warc", whole[:cut]), tolerated=1)
        # The two empty lines after a record may be missing.
        complete = sum(end - 4 <= cut for end in ends[2:])
        assert len(records) == complete, cut
        assert options.bad_lines.count == (0 if any(0 <= end - cut <= 4 for end in ends) else 1), (
            cut
        )


@pytest.mark.parametrize(
    ("name", "content", "report"),
    [
        (
            "a.warc",
            b"junk\n",
            "#1: is not a record of a WARC or ARC file: it does not begin like one",
        ),
        (
            "a.warc.gz",
            archive(Fetched("http://x.org/"))[:-40],
            ": is a truncated gzip file: the end of its data is missing; fetch it again",
        ),
        (
            "a.warc",
            archive(Fetched("http://x.org/", "x" * 900), packed=False),
            "#2: is longer than 800 bytes (build.max_file_bytes)",
        ),
        (
            "a.warc",
            archive(Fetched("http://x.org/", "x"), packed=False).replace(
                b"WARC-Date: 2021-01-01T10:00:00Z\r\n", b""
            ),
            "#2: the header of the record has no date or no length",
        ),
    ],
    ids=range(4),
)
def test_a_broken_archive_gives_one_line(
    tmp_path: Path, name: str, content: bytes, report: str
) -> None:
    path = put(tmp_path, name, content)
    _, options = read(path, tolerated=1, max_file_bytes=800)
    assert options.bad_lines.examples == [f"{path}{report}"]
    with pytest.raises(SourceError, match="fix it, or skip bad lines"):
        read(path, max_file_bytes=800)


def dated(head: str = "", body: str = "", dates: str = "") -> tuple[str, int, object]:
    page = (
        "<html><head><title>A "
        f"bridge</title>{head}</head><body><article><p>{SENTENCE}</p>{body}</article></body>"
    )
    with TemporaryDirectory() as folder:
        path = put(Path(folder), "a.html", page)
        options = ReadOptions(dates=dates)
        (record,) = webpages.read([path], options)
    return record.document.date, options.unread_dates.count, record.document.metadata.get("date")


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (
            '<meta name="DC.date.issued" content="2019-05-06T22:00:00-04:00">',
            "",
            ("2019-05-07", 0, None),
        ),
        ('<meta itemprop="datePublished" content="6/5/2019">', "", ("", 1, "6/5/2019")),
        ('<meta name="date" content="5/26/2019">', "", ("2019-05-26", 0, None)),
        ("", '<div class="post-date">Posted on 5/6/2019 by us</div>', ("", 1, "5/6/2019")),
        ("", '<p class="published">May 6th, 2019</p>', ("2019-05-06", 0, None)),
        (
            "",
            '<time datetime="2019-05-06">then</time><p>From 1 June 2021 to 3 July 2024</p>',
            ("2019-05-06", 0, None),
        ),
        ("", '<div id="comments"><p class="date">2023-08-08</p></div>', ("", 0, None)),
        (
            "",
            '<section class="related-news"><time datetime="2015-01-01">1 Jan</time></section>',
            ("", 0, None),
        ),
        ('<script>var until = "2035-01-31";</script>', "", ("", 0, None)),
        ("", "<p>The exhibition runs until 31 December 2030.</p>", ("", 0, None)),
        (
            "",
            (
                '<time class="updated" datetime="2022-05-05">x</time><time '
                'datetime="2019-05-06">y</time>'
            ),
            ("2019-05-06", 0, None),
        ),
        ("", "<p>Published 03/02/2020 | Updated 25/02/2020</p>", ("2020-02-03", 0, None)),
        ("", "<time>5. März 2020</time>", ("2020-03-05", 0, None)),
        (
            '<script type="application/json">{"validThrough": "2031-05-05"}</script>',
            "",
            ("", 0, None),
        ),
        (
            '<script type="application/ld+json">{"@graph": [{"datePublished": "2019-05-06", '
            '"comment":'
            ' {"datePublished": "2023-01-01"}}],}</script>',
            '<time datetime="2020-01-01"></time>',
            ("2019-05-06", 0, None),
        ),
    ],
)
def test_a_page_is_of_the_day_that_it_says(
    head: str, body: str, expected: tuple[str, int, object]
) -> None:
    assert dated(head, body) == expected


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "<p>It rose to 7,500<sup>3</sup> in 1999<sup><b>4</b></sup>.</p>",
            "It rose to 7,500^3 in 1999^4.",
        ),
        (
            "<p>It rose to 7,500⁵ over 4 km² and 10⁻³.</p>",
            "It rose to 7,500^5 over 4 km² and 10^−3.",
        ),
        (
            (
                "<p>It rose to 7,500<sup><a href='#n3'>[3]</a></sup> in 1999<a "
                "href='x#4'><sup>4</sup></a>.</p>"
            ),
            "It rose to 7,500 in 1999.",
        ),
        (
            (
                "<p>It rose<a href='#fn1'>1</a> to 7,500 crowns, says the report on page <a "
                "href='#p12'>12</a> of it.</p>"
            ),
            "It rose to 7,500 crowns, says the report on page 12 of it.",
        ),
        (
            (
                "<p>It rose to 7,500<sup>1)</sup>, 80<sup>7, 8</sup>, 90<sup>&#8203;1</sup> "
                "and 4,000<a href='#n1'>1</a>.</p>"
            ),
            "It rose to 7,500^1), 80^7, 8, 90^1 and 4,000.",
        ),
        (
            "<h2>Is it safe</h2>Yes, for <b>everybody</b> here.<br><h2>Does it work</h2>It works.",
            "Is it safe\nYes, for everybody here.\nDoes it work\nIt works.",
        ),
        (
            (
                f"<div><p>{SENTENCE} Cars do not pay.</p></div><div "
                f"class='mobile'><p>{SENTENCE} Cars do not pay.</p></div>"
            ),
            f"{SENTENCE} Cars do not pay.",
        ),
        (
            "<p>The 5<sup>th</sup> of CO<sub>2</sub> and m<sup>3</sup>.</p>",
            "The 5th of CO2 and m^3.",
        ),
        ("<ul><li><h3>Costs</h3>Two crowns are due.</li></ul>", "Costs\nTwo crowns are due."),
        (
            "<table><tr><td><h4>Who pays</h4><p>Lorries do.</p></td></tr></table>",
            "Who pays\nLorries do.",
        ),
        (
            "<div>Lorries pay.<div>Cars do not.</div>Nobody does.</div>",
            "Lorries pay.\nCars do not.\nNobody does.",
        ),
        (f"<ul><li>{SENTENCE}</li></ul><p>{SENTENCE}</p>", ""),
    ],
)
def test_numbers_headings_and_blocks_stay_apart_and_nothing_comes_twice(
    body: str, text: str
) -> None:
    page = extract(f"<html><body><article><p>{SENTENCE}</p>{body}</article></body></html>")
    assert page is not None
    assert page.text == "\n".join(filter(None, (SENTENCE, text)))


@pytest.mark.parametrize(
    ("written", "captured"),
    [
        ("2016-01-11T23:24:25.412030123Z", "2016-01-11T23:24:25Z"),
        ("2016-01-11T23:24Z", "2016-01-11T23:24:00Z"),
        ("2016-02", "2016-02"),
        ("2016", "2016"),
        ("2016-31-31", ""),
    ],
)
@pytest.mark.parametrize("packing", ["x-gzip", "X-GZIP", "br", ""])
def test_archives_of_other_programs(
    tmp_path: Path, written: str, captured: str, packing: str
) -> None:
    """RFC 9110 makes x-gzip gzip; who unpacks a page may leave its header; WARC/1.1 has any part of
    a date.
    """
    body = gzip.compress(HTML.encode()) if "gzip" in packing.lower() else HTML.encode()
    http = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        f"Content-Encoding: {packing}\r\n\r\n".encode()
        + body
    )
    fields = f"WARC-Target-URI: http://x.org/\r\nWARC-Date: {written}\r\n"
    content = warc_record("response", fields, http).replace(b"WARC/1.0", b"WARC/1.1")
    records, options = read(put(tmp_path, "a.warc", content), tolerated=1)
    if not captured:
        assert options.bad_lines.count == 1
        return
    assert [record.document.title for record in records] == ["A bridge opens"]
    assert records[0].document.metadata["captured"] == captured


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "<?xml version='1.0'?><rss version='2.0'><channel><item><title>a</title></item>"
            "</channel></rss>",
            "is a feed, not a web page; read it with factseek index feed",
        ),
        (
            "<mediawiki xmlns='http://www.mediawiki.org/xml/export-0.11/'><page><title>A</title>"
            "</page></mediawiki>",
            "is a dump of MediaWiki, not a web page; extract its pages first, for example with "
            "WikiExtractor --json, and read these with factseek index jsonl",
        ),
    ],
)
def test_xml_that_is_no_page_is_refused_by_name(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "a.html"
    path.write_text(content)
    with pytest.raises(SourceError) as caught:
        list(webpages.read([path], ReadOptions()))
    assert (caught.value.what, caught.value.place) == (reason, str(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "list.txt",
            b"# ours\nhttps://a.example/1\n\nhttp://b.example/2\n",
            "is a list of addresses, not a web page; fetch them with factseek index urls",
        ),
        (
            "map.xml",
            b"<?xml version='1.0'?><urlset><url><loc>https://a.example/1</loc></url></urlset>",
            "is a sitemap, not a web page; fetch its pages with factseek index sitemap",
        ),
        (
            "talk.ppt",
            b"\xd0\xcf\x11\xe0" + b"\0" * 500 + "PowerPoint Document".encode("utf-16-le"),
            "is a presentation (.ppt), which factseek does not read; save it as .docx or as a PDF",
        ),
        (
            "cut.epub",
            b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/epub+zip",
            "is a damaged .epub file; save it again",
        ),
    ],
)
def test_what_is_no_page_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        list(webpages.read([tmp_path / name], ReadOptions()))
    assert caught.value.what == message


def test_what_is_no_page_is_left_out_of_a_folder_and_counted(tmp_path: Path) -> None:
    put(tmp_path, "a.html", HTML)
    put(tmp_path, "links.txt", "https://a.example/1\nhttps://b.example/2\n")
    put(tmp_path, "feed.html", "<rss version='2.0'></rss>")
    records, options = read(tmp_path)
    assert [record.document.docid for record in records] == ["a"]
    assert options.skipped == {
        "file that is a list of addresses, not a web page; fetch them with factseek index urls": 1,
        "file that is a feed, not a web page; read it with factseek index feed": 1,
    }


def test_a_page_nested_too_deeply_is_counted(tmp_path: Path) -> None:
    deep = f"<html><body>{'<div>' * 3_000}<p>Lead pipes are gone.</p></body></html>"
    (tmp_path / "a.html").write_text(deep)
    options = ReadOptions()
    assert not list(webpages.read([tmp_path / "a.html"], options))
    assert options.skipped == {"no main content": 1}


TABLES_IN_A_FOLDER = {
    "claims.csv": ("vclaim_id,vclaim,title,ratingName\n1,A.,B,False\n", "claims"),
    "desk.csv": ("Claim,Verdict,What we found\nA.,False,B.\n", "claimreview"),
    "export.csv": ("claimReviewed,url\nA.,https://a.example/\n", "claimreview"),
    "papers.csv": ("cord_uid,title,abstract\n1,A,B\n", "cord19"),
    "found.jsonl": ('{"docid": "1", "text": "A."}\n', "jsonl"),
    "old.tsv": ("id\ttext\n1\tA.\n", "snippets"),
    "other.csv": ("name,age\nA,7\n", "snippets"),
    "empty.csv": ("", "snippets"),
}


@pytest.mark.parametrize("name", TABLES_IN_A_FOLDER)
def test_a_table_in_a_folder_of_pages_is_named_with_the_command_that_reads_it(
    tmp_path: Path, name: str
) -> None:
    content, kind = TABLES_IN_A_FOLDER[name]
    put(tmp_path, "a.html", HTML)
    put(tmp_path, name, content)
    put(tmp_path, f"{name}.gz", gzip.compress(content.encode()))
    _, options = read(tmp_path)
    ending = Path(name).suffix
    assert options.skipped == {f"{ending} file, which factseek index {kind} reads": 2}
