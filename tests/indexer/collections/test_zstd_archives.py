"""Web archives that are packed with Zstandard."""

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, _archives, _zstd, webpages

zstandard = pytest.importorskip("zstandard")

SENTENCE = "The lead pipes in the old town are gone, the council said in its report on water."


def record(number: int) -> bytes:
    page = f"<html><body><article><p>{number}. {SENTENCE}</p></article></body></html>"
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://x.org/{number}\r\n"
        f"WARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Date: 2021-01-01T10:00:00Z\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return f"{head}{http}\r\n\r\n".encode()


RECORDS = [record(number) for number in range(1, 4)]
TEXTS = [f"{number}. {SENTENCE}" for number in range(1, 4)]
IGNORED = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
"""A frame that RFC 8878 tells readers to skip."""


def frames(**arguments: object) -> list[bytes]:
    packer = zstandard.ZstdCompressor(**arguments)
    return [packer.compress(each) for each in RECORDS]


def with_dictionary(*, packed: bool) -> bytes:
    dictionary = zstandard.train_dictionary(2_000, [record(number) for number in range(200)])
    content = dictionary.as_bytes()
    content = zstandard.ZstdCompressor().compress(content) if packed else content
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    return head + b"".join(frames(dict_data=dictionary))


GOOD = {
    "a frame for each record": b"".join(frames()),
    "one frame": zstandard.ZstdCompressor().compress(b"".join(RECORDS)),
    "frames to skip": IGNORED + IGNORED.join(frames()) + IGNORED,
    "a dictionary": with_dictionary(packed=False),
    "a packed dictionary": with_dictionary(packed=True),
}


def read(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    return [each.document.text for each in webpages.read([path], ReadOptions())]


@pytest.mark.parametrize("name", GOOD)
def test_the_pages_of_an_archive_are_read(tmp_path: Path, name: str) -> None:
    assert read(tmp_path / "a.warc.zst", GOOD[name]) == TEXTS


def test_an_archive_in_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "A.WARC.ZST").write_bytes(GOOD["one frame"])
    options = ReadOptions()
    assert len(list(webpages.read([tmp_path / "in"], options))) == 3
    assert options.left_out == []


def test_redirects_are_found(tmp_path: Path) -> None:
    answer = "HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n"
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://x.org/a\r\n"
        f"Content-Length: {len(answer)}\r\n\r\n"
    )
    path = tmp_path / "a.warc.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(f"{head}{answer}\r\n\r\n".encode()))
    assert _archives.redirects(path) == {"http://x.org/a": "http://x.org/b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            GOOD["one frame"][:-5],
            "is cut off: the end of its zstd data is missing; fetch it again",
        ),
        (
            GOOD["one frame"] + b"rubbish",
            "is damaged zstd data (zstd decompressor error: Unknown frame descriptor); "
            "fetch it again",
        ),
        (
            b"\x5d\x2a\x4d\x18\xff\xff\xff\xff" + GOOD["one frame"],
            "has a dictionary of more than 100,000,000 bytes; fetch it again",
        ),
    ],
)
def test_an_archive_that_cannot_be_read_is_one_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "a.warc.zst", content)
    assert caught.value.what == message


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_zstd, "UNPACKED_AT_ONCE", 100_000)
    content = zstandard.ZstdCompressor().compress(RECORDS[0] + bytes(1_000_000))
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "a.warc.zst", content)
    assert caught.value.what == "unpacks to more than 200 times its size; it is not a collection"


def test_an_archive_without_the_library_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_zstd, "find_spec", lambda _: None)
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "a.warc.zst", GOOD["one frame"])
    assert caught.value.what == (
        "is compressed with zstd, which needs more packages; install them with: "
        "pip install 'factseek[office]'"
    )
