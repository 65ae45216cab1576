"""Pages of archives as servers sent them: in chunks, packed, with odd headers, in records."""

import gzip
import zlib
from collections import Counter
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, reader
from factseek.indexer.collections._codings import decoded, names_of

TEXT = "The tram line to the harbour opens in May, says the city."
PAGE = f"<!DOCTYPE html><html><title>Tram</title><body><p>{TEXT}</p></body></html>".encode()
URL = "http://trams.example/1"


def chunked(body: bytes, size: int = 23) -> bytes:
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def raw_deflated(body: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(body) + packing.flush()


def record(block: bytes, fields: str = "", kind: str = "response", number: int = 0) -> bytes:
    head = (
        f"WARC/1.0\r\n{f'WARC-Type: {kind}' if kind else 'X: y'}\r\nWARC-Target-URI: {URL}\r\n"
        f"WARC-Date: 2022-02-0{number + 1}T10:00:00Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"Content-Type: application/http; msgtype=response\r\n{fields}"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def response(headers: str, body: bytes = PAGE) -> bytes:
    return f"HTTP/1.1 200 OK\r\n{headers}\r\n".encode() + body


def read(folder: Path, *records: bytes) -> tuple[list[str], Counter[str], list[str]]:
    path = folder / "a.warc"
    path.write_bytes(b"".join(records))
    options = ReadOptions(bad_lines=BadLines(limit=5))
    try:
        texts = [each.document.text for each in reader("webpages").read([path], options)]
    except SourceError:
        texts = []
    faults = [each.replace(str(path), "a.warc") for each in options.bad_lines.examples]
    return texts, options.skipped, faults


HTML = "Content-Type: text/html; charset=utf-8\r\n"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("TRANSFER-ENCODING: CHUNKED\r\n", chunked(PAGE)),
        ("Transfer-Encoding: identity, chunked\r\n", chunked(PAGE)),
        ("Transfer-Encoding: gzip, Chunked\r\n", chunked(gzip.compress(PAGE))),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", chunked(gzip.compress(PAGE))),
        ("Transfer-Encoding: chunked\r\n", PAGE),  # unpacked under its old header
        (
            "Content-Encoding: GZIP\r\ntransfer-encoding: chunked\r\n",
            chunked(gzip.compress(PAGE)),
        ),
        ("Content-Encoding: gzip, gzip\r\n", gzip.compress(gzip.compress(PAGE))),
        ("Content-Encoding: gzip\r\n", gzip.compress(PAGE[:40]) + gzip.compress(PAGE[40:])),
        ("Content-Encoding: deflate\r\n", zlib.compress(PAGE)),
        ("Content-Encoding: deflate\r\n", raw_deflated(PAGE)),
        ("Content-Encoding: x-gzip\r\n", gzip.compress(PAGE)),
        ("Content-Encoding: zstd\r\n", PAGE),
        ("Content-Encoding: utf-8\r\n", PAGE),
    ],
)
def test_a_page_is_decoded(headers: str, body: bytes, tmp_path: Path) -> None:
    assert read(tmp_path, record(response(HTML + headers, body))) == ([TEXT], {}, [])


@pytest.mark.parametrize(
    "types",
    [
        "",
        "Content-Type:\r\n",
        "Content-Type: unknown/unknown\r\n",
        HTML + HTML,
        "Content-Type: application/octet-stream\r\n" + HTML,
        "Content-Type: text/html, text/html; charset=utf-8\r\n",
        "Content-Type: text/plain\r\n" + HTML,
    ],
)
def test_a_page_without_or_with_several_types_is_read(types: str, tmp_path: Path) -> None:
    assert read(tmp_path, record(response(types))) == ([TEXT], {}, [])


def test_data_without_a_type_are_looked_at(tmp_path: Path) -> None:
    plain, picture = TEXT.encode(), b"\x89PNG\r\n\x1a\n" + bytes(50)
    assert read(tmp_path, record(response("", plain))) == ([TEXT], {}, [])
    assert read(tmp_path, record(response("", picture)))[1] == {"neither HTML nor plain text": 1}


def test_a_charset_is_read_from_any_of_several_types(tmp_path: Path) -> None:
    text = "Трамвай открывается в мае."
    body = f"<html><body><p>{text}</p></body></html>".encode("windows-1251")
    types = "Content-Type: text/html\r\nContent-Type: text/html; charset=windows-1251\r\n"
    assert read(tmp_path, record(response(types, body)))[0] == [text]


@pytest.mark.parametrize(
    ("coding", "body"), [("compress", b"\x1f\x9d" + bytes(60)), ("dcb", bytes(60))]
)
def test_a_coding_that_no_library_reads_is_counted_by_name(
    coding: str, body: bytes, tmp_path: Path
) -> None:
    found = read(tmp_path, record(response(f"{HTML}Content-Encoding: {coding}\r\n", body)))
    assert found[:2] == ([], {f"packed with {coding}, which factseek does not read": 1})


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_brotli_and_zstd_are_decoded_if_there_is_a_library(coding: str, tmp_path: Path) -> None:
    library = pytest.importorskip({"br": "brotli", "zstd": "zstandard"}[coding])
    packed = (
        library.compress(PAGE)
        if coding == "br"
        else library.ZstdCompressor(write_content_size=False).compress(PAGE)
    )
    page = record(response(f"{HTML}Content-Encoding: {coding}\r\n", packed))
    assert read(tmp_path, page) == ([TEXT], {}, [])


@pytest.mark.parametrize("library", ["brotli", "zstandard"])
def test_brotli_and_zstd_are_counted_without_a_library(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    coding = {"brotli": "br", "zstandard": "zstd"}[library]
    packed = b"\x28\xb5\x2f\xfd" + bytes(range(128, 192))
    page = record(response(f"{HTML}Content-Encoding: {coding}\r\n", packed))
    assert read(tmp_path, page)[1] == {f"packed with {coding}, which factseek does not read": 1}


def segments(*, last: bool = True) -> list[bytes]:
    whole = response(HTML + "Transfer-Encoding: chunked\r\n", chunked(PAGE))
    cuts = [whole[:120], whole[120:170], whole[170:]]
    total = f"WARC-Segment-Total-Length: {len(whole)}\r\n"
    origin = "WARC-Segment-Origin-ID: <urn:uuid:0>\r\n"
    return [
        record(cuts[0], "WARC-Segment-Number: 1\r\n"),
        record(cuts[1], f"{origin}WARC-Segment-Number: 2\r\n", "continuation", 1),
        *(
            [record(cuts[2], f"{origin}WARC-Segment-Number: 3\r\n{total}", "continuation", 2)]
            if last
            else []
        ),
    ]


def test_the_records_of_a_page_are_joined(tmp_path: Path) -> None:
    other = record(response("Content-Type: text/css\r\n", b"a {}"), number=4)
    first, *further = segments()
    assert read(tmp_path, first, other, *further)[0] == [TEXT]


def test_a_page_without_its_last_record_is_counted(tmp_path: Path) -> None:
    missing = {"page of several records, of which one is missing": 1}
    assert read(tmp_path, *segments(last=False))[:2] == ([], missing)
    first, _, third = segments()
    assert read(tmp_path, first, third)[:2] == ([], missing)


def test_a_part_of_a_record_that_begins_elsewhere_is_counted(tmp_path: Path) -> None:
    _, second, _ = segments()
    missing = {"further part of a record that begins in another archive": 1}
    assert read(tmp_path, second)[:2] == ([], missing)


def test_a_record_without_a_type_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    texts, _, faults = read(tmp_path, record(b"x", kind=""), record(response(HTML), number=1))
    assert texts == [TEXT]
    assert faults == ["a.warc#1: the header of the record has no WARC-Type"]


def test_decoding_is_bounded() -> None:
    for coding, body in (
        ("gzip", gzip.compress(bytes(10**7))),
        ("deflate", zlib.compress(bytes(10**7))),
        ("chunked", chunked(bytes(10**5))),
    ):
        assert len(decoded(body, [coding], 1_000)) == 1_001


def test_names_of_codings_are_those_of_all_headers() -> None:
    assert names_of(["X-GZip ; q=1, identity", " chunked"]) == ["gzip", "chunked"]
