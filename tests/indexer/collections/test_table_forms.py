"""Tables as people save them: every separator, quotes, byte-order marks; and files that are
something else.
"""

import csv
import gzip
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from factseek.core.errors import SourceError
from factseek.core.records import gzip_files
from factseek.core.records.table import is_quoted
from factseek.indexer.collections import BadLines, ReadOptions, jsonl, reader

TEXT = st.text(st.sampled_from("ab é\"\t\n,;' "), min_size=1, max_size=12).map(
    lambda text: f"x{text}"
)
FORMS = [("a.tsv", "\t"), ("a.csv", ","), ("a.csv", ";"), ("a.tsv", ","), ("a.txt", ";")]


def texts(path: Path, kind: str = "snippets") -> list[str]:
    return [record.document.text for record in reader(kind).read([path], ReadOptions())]


def saved(rows: list[list[str]], delimiter: str, quoting: int = csv.QUOTE_MINIMAL) -> str:
    content = io.StringIO()
    csv.writer(content, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerows(rows)  # type: ignore[arg-type]
    return content.getvalue()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(TEXT, min_size=2, max_size=5),
    st.sampled_from(FORMS),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@example(['He said "no"', "plain"], ("a.tsv", "\t"), "utf-8", csv.QUOTE_MINIMAL)
def test_what_a_spreadsheet_saves_is_read_back(
    tmp_path: Path, written: list[str], form: tuple[str, str], encoding: str, quoting: int
) -> None:
    name, delimiter = form
    rows = [["id", "text"], *([str(number), text] for number, text in enumerate(written))]
    path = tmp_path / name
    path.write_bytes(saved(rows, delimiter, quoting).encode(encoding))
    assert texts(path) == written


@pytest.mark.parametrize(
    ("content", "quoted"),
    [
        ('1\t"He said ""no"""\n2\tb\n', True),
        ('"1"\t"a"\n"2"\t"b"\n', True),
        ('1\t"A headline"\n2\tb\n', False),
        ('1\t"He said ""no"""\n2\t5" nails\n', False),
        ('1\t"a ""b"""\n2\tb\tc\n', False),
        ('1\t"a ""b"""\n' + "2\tx\n" * 20_000 + '3\t"' + "b" * 70_000, True),
    ],
)
def test_quotes_are_a_spreadsheet_s_only_if_they_fit(content: str, quoted: bool) -> None:
    assert is_quoted(content.encode()[: 1 << 16], "\t") is quoted


def test_a_cell_that_is_cut_by_the_look_ahead_is_whole_in_the_reading(tmp_path: Path) -> None:
    long = 'y "' + "x" * 70_000 + '"'
    path = tmp_path / "a.tsv"
    path.write_text(saved([["id", "text"], ["1", 'a "b"'], ["2", long]], "\t"), "utf-8")
    assert texts(path) == ['a "b"', long]


def test_lines_of_utf_16_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        gzip.compress('{"docid": "1", "text": "é"}\r\n\n{"docid": "2"'.encode("utf-16"))
    )
    options = ReadOptions(bad_lines=BadLines(limit=1))
    assert [(record.document.text, record.place) for record in jsonl.read([path], options)] == [
        ("é", f"{path}:1")
    ]
    assert options.bad_lines.examples[0].startswith(f"{path}:3: is not JSON (column 14: ")
    path.write_bytes(b"\xff\xfe{\0\0\xdc")
    with pytest.raises(SourceError) as caught:
        list(jsonl.read([path], ReadOptions()))
    assert (
        str(caught.value)
        == f"{path}: is not UTF-16, although its first bytes say so; save it as UTF-8"
    )


SNIPPETS = "id\ttext\n1\ta\n2\tb\n"


@pytest.mark.parametrize(
    ("kind", "name", "content", "message"),
    [
        (
            "jsonl",
            "a.jsonl",
            SNIPPETS,
            "is tab-separated, not JSON lines; read it with factseek index snippets",
        ),
        (
            "beir",
            "corpus.jsonl",
            "<html></html>",
            "is HTML, not JSON lines; read it with factseek index webpages",
        ),
        (
            "snippets",
            "a.tsv",
            b"\xd0\xcf\x11\xe0abc",
            "is an Excel workbook (.xls), not text; in Excel, save the "
            "sheet as "
            '"CSV UTF-8 (Comma delimited)"',
        ),
        (
            "claims",
            "a.csv",
            '{"vclaim": "a"}\n',
            "is JSON lines, not a table; rename it with the ending of its format",
        ),
        (
            "webpages",
            "a.txt",
            SNIPPETS,
            "is tab-separated, not a web page; read it with factseek index snippets; "
            "fix it, or skip bad lines with --skip-bad-lines N",
        ),
        (
            "webpages",
            "a.html",
            '{"docid": "1", "text": "a"}\n',
            "is JSON lines, not a web page; read it with factseek "
            "index jsonl; fix it, or skip bad lines with --skip-bad-lines N",
        ),
    ],
)
def test_another_kind_of_file_is_told(
    tmp_path: Path, kind: str, name: str, content: str | bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SourceError) as caught:
        texts(path, kind)
    assert str(caught.value) == f"{path}: {message}"


WRAPPED = '{"count": 1, "data": [{"id": "1", "_id": "1", "text": "a", "vclaim": "a"}]}'
IN_DATA = "; its 'data' is a list of objects: write these one per line, as jq -c '.data[]' does"
PRETTY = (
    "1: begins JSON that spans several lines: write one object per line, as jq -c '.[]' does with "
    "a "
    "list, or jq -c . with objects"
)
LACKING = {
    "snippets": '1: has no "text" (or "snippet")',
    "jsonl": '1: has no "docid", "id" or "_id"',
    "beir": "1: has no '_id'",
    "fever": "1: has no 'id'",
    "claims": " has no id",
}


@pytest.mark.parametrize("kind", LACKING)
def test_json_that_is_not_one_record_a_line_is_named_with_what_makes_it_so(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / ("a.json" if kind == "claims" else "corpus.jsonl")
    remedy = "; fix it, or skip bad lines with --skip-bad-lines N"
    messages = {f"{WRAPPED}\n": f"{LACKING[kind]}{IN_DATA}{remedy}"}
    if kind != "claims":  # which are read from a whole file of JSON, too
        objects = ": write its objects one per line, as jq -c '.[]' does"
        messages[json.dumps(json.loads(WRAPPED), indent=1)] = f"{PRETTY}{remedy}"
        messages[json.dumps([json.loads(WRAPPED)])] = (
            messages[f"{WRAPPED}\n"]
            if kind == "snippets"
            else f"1: is a JSON list, not a JSON object{objects}{remedy}"
        )
    for content, message in messages.items():
        path.write_text(content, "utf-8")
        with pytest.raises(SourceError) as caught:
            texts(path, kind)
        assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("kind", ["snippets", "claims"])
def test_a_line_that_tells_excel_the_delimiter_is_no_row(
    tmp_path: Path, kind: str, delimiter: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        f"sep={delimiter}\r\n" + saved([["id", "text"], ["1", "a, b; c"]], delimiter), "utf-8-sig"
    )
    assert [
        (record.place, record.document.text) for record in reader(kind).read([path], ReadOptions())
    ] == [(f"{path}:3", "a, b; c")]


@pytest.mark.parametrize("kind", ["snippets", "trec", "webpages", "jsonl"])
def test_what_unpacks_to_endless_text_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gzip_files, "UNPACKED_AT_ONCE", 1_000_000)
    if kind == "trec":  # as in Python 3.14
        monkeypatch.setattr(
            gzip.GzipFile, "readinto", lambda file, buffer: file._buffer.readinto(buffer)
        )
    path = tmp_path / "a.html.gz"
    path.write_bytes(gzip.compress((b"<DOC>" if kind == "trec" else b"x") + b"x" * 30_000_000))
    with pytest.raises(SourceError) as caught:
        list(
            reader(kind).read(
                [path], ReadOptions(max_file_bytes=40_000_000, bad_lines=BadLines(limit=0))
            )
        )
    assert "unpacks to more than 200 times its size; it is not a collection" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("identifier\tpassage\n1\ta\n", ""),
        ("sentence_id,content\n1,a\n", ""),
        (
            "qid\tquestion\n1\ta\n",
            "1: the column 'qid' is not a known name for the ids of snippets; name the columns "
            '"id" and "text"',
        ),
        (
            '1,The\rmoon\n2,the vaccine, "so"\n',
            "1: has no tab, and no header with column names separated by commas; "
            'write the names of the columns in the first line, as in "id,text"',
        ),
        (
            "id;text\n1;a\rb\n",
            "2: is not a row of a table (a carriage return is outside quotes: end each "
            "line with a line feed); fix it, or skip bad lines with --skip-bad-lines N",
        ),
        (
            "cord_uid,title\n1,a\n",
            '1: is comma-separated, but its first line does not name columns "id" and '
            '"text"; read it with factseek index cord19',
        ),
    ],
)
def test_a_header_is_recognised_or_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(content, "utf-8")
    if not message:
        assert texts(path) == ["a"]
        return
    with pytest.raises(SourceError) as caught:
        texts(path)
    assert str(caught.value) == f"{path}:{message}"


def archive(body: bytes, packing: bytes = b"") -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + packing + b"\r\n" + body
    header = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x.org/\r\nWARC-Date: "
        b"2020-01-01T00:00:00Z\r\n"
        b"WARC-Record-ID: <urn:uuid:0>\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    return header + b"Content-Length: %d\r\n\r\n" % len(http) + http + b"\r\n\r\n"


def test_a_page_of_an_archive_that_unpacks_to_endless_text_is_left_out(tmp_path: Path) -> None:
    """Twenty megabytes are packed into twenty kilobytes; what is held of them is bounded."""
    bomb = gzip.compress(b"x" * 20_000_000)
    path = tmp_path / "a.warc"
    path.write_bytes(
        archive(bomb, b"Content-Encoding: gzip\r\n") + archive(b"<p>A short page.</p>")
    )
    options = ReadOptions(max_file_bytes=100_000, bad_lines=BadLines(limit=1))
    tracemalloc.start()
    try:
        assert [record.document.text for record in reader("webpages").read([path], options)] == [
            "A short page."
        ]
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert options.bad_lines.examples == [
        f"{path}#1: is longer than 100,000 bytes (build.max_file_bytes)"
    ]
    assert peak < 60_000_000


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
def test_words_below_a_table_are_left_out_and_counted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,claim\n1,The moon is far.\n2,It is hot.\n\nTotal: 2\nSource: the desk\n")
    options = ReadOptions()
    assert [each.document.docid for each in reader(kind).read([path], options)] == ["1", "2"]
    assert options.skipped == {"words below a table": 2}
    assert [left.place for left in options.left_out] == [f"{path}:5", f"{path}:6"]


@pytest.mark.parametrize("kind", ["snippets", "claims"])
def test_a_footer_may_have_the_cells_of_the_table(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.csv"
    rows = "Total,The sum,,\n1,The moon is far.,,\n,,,\nTotal,1,,\n,,,\nQuelle: Archiv,,,\n"
    path.write_text(f"id,claim,a,b\n{rows}")
    options = ReadOptions()
    read = [each.document.docid for each in reader(kind).read([path], options)]
    assert read == ["Total", "1"]  # a row that begins like a footer has rows below it
    footers = [left.place for left in options.left_out if left.reason == "words below a table"]
    assert footers == [f"{path}:5", f"{path}:7"]


def test_a_total_has_numbers_in_any_number_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("claim,cost\nThe school cost 10 million.,10\nTotal,10\n")
    options = ReadOptions()
    (record,) = reader("claims").read([path], options)
    assert record.document.text == "The school cost 10 million."
    assert options.skipped == {"words below a table": 1}


@pytest.mark.parametrize("rows", ["Total: 2\n1,The moon is far.\n", "1,The moon is far.\n2\n"])
@pytest.mark.parametrize("kind", ["snippets", "claims"])
def test_a_short_row_that_is_no_footer_is_a_bad_line(tmp_path: Path, rows: str, kind: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"id,claim\n{rows}")
    with pytest.raises(SourceError) as caught:
        list(reader(kind).read([path], ReadOptions()))
    assert caught.value.what.startswith("has 1 column")
