"""Lines, rows, whole files and JSON, good and broken."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.errors import SourceError
from factseek.core.records.json_lines import DEEPEST
from factseek.core.records.table_shape import SAVE_AS_UTF8
from factseek.indexer.collections import BadLines, ReadOptions
from factseek.indexer.collections._child import BadFileError
from factseek.indexer.collections._files import read_bytes
from factseek.indexer.collections._lines import parse_json_object, read_json, read_lines
from factseek.indexer.collections._tables import read_cells


def options(tolerated: int = 1000, **limits: int) -> ReadOptions:
    return ReadOptions(bad_lines=BadLines(limit=tolerated), **limits)


def write(folder: Path, content: bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def lines_of(path: Path, given: ReadOptions | None = None) -> list[str]:
    return [line for _, line in read_lines(path, given or options(0))]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("تجربة\u2028x\n".encode(), ["تجربة\u2028x"]),
        (b"a\rb\n", ["a\rb"]),
        ("1\ta\rb\n2\tc\n".encode("utf-16"), ["1\ta\rb", "2\tc"]),
    ],
)
def test_lines_end_where_the_file_says(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    assert lines_of(write(tmp_path, content)) == expected
    if content:
        assert lines_of(write(tmp_path, gzip.compress(content), "a.txt.gz")) == expected


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"a\0b", "contains a NUL byte"),
        (
            "a\tbcd".encode("utf-16-le"),
            (
                "is UTF-16 without a byte-order mark; save it as UTF-8 (iconv -f UTF-16LE -t "
                "UTF-8, or -f UTF-16BE)"
            ),
        ),
        (b"caf\xe9", f"is not UTF-8 (column 4: byte 0xe9): {SAVE_AS_UTF8}"),
        (b"x" * 21, "is longer than 20 bytes (build.max_line_bytes)"),
    ],
)
def test_a_bad_line_is_named_and_left_out(tmp_path: Path, bad: bytes, reason: str) -> None:
    path = write(tmp_path, b"one\n" + bad + b"\nthree\n")
    tolerant = options(max_line_bytes=20)
    assert lines_of(path, tolerant) == ["one", "three"]
    assert tolerant.bad_lines.examples == [f"{path}:2: {reason}"]
    with pytest.raises(SourceError, match="fix it, or skip bad lines with --skip-bad-lines N"):
        lines_of(path, options(0, max_line_bytes=20))


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


NOISE = b"".join(f"{i * 7919 % 10007}\n".encode() for i in range(2000))
TRUNCATED = "is a truncated gzip file: the end of its data is missing; fetch it again"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.gz", packed(NOISE)[:-20], TRUNCATED),
        (
            "a.gz",
            packed(b"x\n") + b"junk",
            "is a damaged gzip file (Not a gzipped file (b'ju')); fetch it again",
        ),
        ("a.gz", b"plain text\n", "has the ending .gz, but is not gzip data; rename it"),
        (
            "a.z",
            b"\x1f\x9d\x90",
            (
                "is compressed with Unix compress (.Z), which factseek does not read; unpack "
                "it, or pack it with gzip"
            ),
        ),
        ("a.zip", b"PK\x03\x04....", "is a ZIP archive, which factseek does not read; unpack it"),
    ],
)
def test_a_file_that_cannot_be_read_gives_one_line(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(BadFileError) as caught:
        list(read_lines(path, options(0, max_line_bytes=10_000_000)))
    assert str(caught.value) == f"{path}: {reason}"
    assert (caught.value.place, caught.value.what) == (str(path), reason)


def test_whole_files_are_bounded_before_and_after_unpacking(tmp_path: Path) -> None:
    limited = options(max_file_bytes=1000)
    assert read_bytes(write(tmp_path, b"x" * 1000), limited) == b"x" * 1000
    bomb = write(tmp_path, gzip.compress(b"x" * 10_000_000), "bomb.gz")
    for path in (write(tmp_path, b"x" * 1001), bomb):
        with pytest.raises(BadFileError) as caught:
            read_bytes(path, limited)
        assert caught.value.what == "is longer than 1,000 bytes (build.max_file_bytes)"


BAD_JSON = [
    ("", "is not JSON (column 1: expecting value)"),
    ('{"a": 1', "is not JSON (column 8: expecting ',' delimiter)"),
    ("{'a': 1}", "is not JSON (column 2: expecting property name enclosed in double quotes)"),
    ('{"a": NaN}', "is not JSON (NaN is not a JSON number)"),
    ('{"a": 1e999}', "contains a number that is too large (1e999)"),
    ('{"a": ' + "9" * 5000 + "}", "contains a number that is too large"),
    ("[" * 200_000, "is nested too deeply"),
    ('{"a": ["\\ud83d"]}', "contains half a surrogate pair in a string"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_JSON, ids=range(len(BAD_JSON)))
def test_bad_json_is_named_in_a_line_and_in_a_file(tmp_path: Path, line: str, reason: str) -> None:
    tolerant = options()
    assert parse_json_object(line, "a.jsonl:7", tolerant) is None
    assert tolerant.bad_lines.examples == [f"a.jsonl:7: {reason}"]
    if line:
        with pytest.raises(BadFileError) as caught:
            read_json(write(tmp_path, line.encode()), options())
        assert caught.value.what == reason


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_nesting_has_the_same_bound_for_everybody(opening: str, closing: str) -> None:
    def line(levels: int, more: str = "") -> str:
        return f'{{{more}"a": ' + opening * (levels - 1) + "1" + closing * (levels - 1) + "}"

    tolerant = options()
    assert parse_json_object(line(DEEPEST), "a:1", tolerant)
    # What was read is read again when it was exported, as the metadata of a document.
    assert parse_json_object(line(DEEPEST + 1, '"checksum": "x", '), "a:2", tolerant)
    assert parse_json_object(line(DEEPEST + 1), "a:3", tolerant) is None
    assert parse_json_object(line(DEEPEST + 2, '"checksum": "x", '), "a:4", tolerant) is None
    assert tolerant.bad_lines.examples == ["a:3: is nested too deeply", "a:4: is nested too deeply"]


def test_json_files_name_the_line_of_a_fault(tmp_path: Path) -> None:
    assert read_json(write(tmp_path, b'\xef\xbb\xbf{"a": [1]}'), options()) == {"a": [1]}
    path = write(tmp_path, b'{"a": 1,\n "b" 2}')
    with pytest.raises(BadFileError) as caught:
        read_json(path, options())
    assert str(caught.value) == f"{path}:2: is not JSON (column 6: expecting ':' delimiter)"
    path = write(tmp_path, b'{"a": 1,\n "b": "\xe9"}')
    with pytest.raises(BadFileError) as caught:
        read_json(path, options())
    assert str(caught.value) == f"{path}:2: is not UTF-8 (byte 0xe9)"


def rows_of(path: Path, quoting: bool, given: ReadOptions | None = None) -> list[list[str]]:
    return [row for _, row in read_cells(path, given or options(0), "\t", quoting=quoting)]


@pytest.mark.parametrize(
    ("content", "rows", "report"),
    [
        ('1\t"a"b\n2\tc\n', [["2", "c"]], "1: is not a row of a table ('\t' expected after '\"')"),
        (
            '1\ta\n2\t"b\n3\tc\n',
            [["1", "a"]],
            "2: is not a row of a table (unexpected end of data)",
        ),
        (
            '1\ta\n2\t"b\n' + "0123456789\n" * 6 + "3\tc\n",
            [["1", "a"], ["0123456789"], ["0123456789"], ["3", "c"]],
            "2: is not a row of a table (a quote does not close within 40 bytes)",
        ),
        ('1\t"a\n\0\n2\tc\n3\td\n', [["3", "d"]], "2: contains a NUL byte"),
    ],
)
def test_a_bad_row_is_named_and_left_out(
    tmp_path: Path, content: str, rows: list[list[str]], report: str
) -> None:
    path = write(tmp_path, content.encode())
    tolerant = options(max_line_bytes=40)
    assert rows_of(path, quoting=True, given=tolerant) == rows
    assert tolerant.bad_lines.examples == [f"{path}:{report}"]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=6))
def test_every_line_is_either_read_or_reported(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = write(
        tmp_path_factory.mktemp("lines"), b"x\n" + b"".join(line + b"\n" for line in lines)
    )
    tolerant = options(max_line_bytes=20)
    read = [int(place.rpartition(":")[2]) for place, _ in read_lines(path, tolerant)]
    bad = [
        int(example.removeprefix(f"{path}:").partition(":")[0])
        for example in tolerant.bad_lines.examples
    ]
    assert sorted(read + bad) == list(range(1, len(lines) + 2))
