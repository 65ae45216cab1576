"""The reader of TREC documents."""

import gzip
from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, trec

SOURCE = (
    {
        "a.sgml": "".join(
            f"<DOC>\n<DOCNO>{n}</DOCNO>\n<TEXT>a</TEXT>\n</DOC>\n" for n in ("1", "2", "a b", "4")
        )
    },
    "a.sgml:9",
    "z.sgml",
)
"""For the contract of readers: files with documents 1 and 2, a broken one and 4; its place; a name
that is read.
"""


def read(path: Path, tolerated: int = 0, **limits: int) -> tuple[list[Record], ReadOptions]:
    options = ReadOptions(bad_lines=BadLines(limit=tolerated), **limits)
    return list(trec.read([path], options)), options


def written(folder: Path, content: str | bytes, name: str = "wsj_01") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


NEWS = """<DOC>
<DOCNO> WSJ1 </DOCNO>
<HL> A headline
over two lines</HL>
<DD> 03/24/87</DD>
<TEXT>
<P>AT&amp;T, a &lt; b, co&hyph;op.</P>
<!-- PJG -->
<P>
Second.
</P>
</TEXT>
</DOC>
"""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            NEWS,
            Document(
                "WSJ1",
                "AT&T, a < b, co-op.\nSecond.",
                "A headline over two lines",
                date="1987-03-24",
            ),
        ),
        (
            "<DOC><DOCNO>a</DOCNO><TEXT><![CDATA[if a<b & c>d]]> H<SUB>2</SUB>O</TEXT></DOC>",
            Document("a", "if a<b & c>d H2O"),
        ),
        (
            "<DOC><DOCNO>F1</DOCNO><HEADER><H2> Reports </H2><DATE1> 1 March 1994 </DATE1>Type: "
            "NOTE\n"
            "<H3> <TI> On masks </TI></H3></HEADER><TEXT>x</TEXT></DOC>",
            Document("F1", "x", "On masks", date="1994-03-01"),
        ),
        (
            '<DOC id="NYT_1" type="story">\n<HEADLINE>h</HEADLINE>\n<TEXT>x</TEXT></DOC>',
            Document("NYT_1", "x", "h"),
        ),
        (
            "<DOC><DOCNO>a</DOCNO>\n<BYTECOUNT>9</BYTECOUNT>all of it\n</DOC>",
            Document("a", "all of it"),
        ),
        (
            "<DOC><DOCNO>w</DOCNO><DOCHDR>\nhttp://x.org/a 1.2.3.4\n</DOCHDR><html><title>T &amp; "
            "t</title>"
            "<script>no()</script><p>b<b>ol</b>d<p>two</html></DOC>",
            Document("w", "bold\ntwo", "T & t", "http://x.org/a", source="x.org"),
        ),
    ],
)
def test_the_forms_of_documents(tmp_path: Path, content: str, expected: Document) -> None:
    for path in (
        written(tmp_path, content),
        written(tmp_path, gzip.compress(content.encode()), "b.gz"),
    ):
        assert [record.document for record in read(path)[0]] == [expected]


@pytest.mark.parametrize(
    ("date", "meant"),
    [
        ("870324", "1987-03-24"),
        ("03/24/87", "1987-03-24"),
        ("19980601", "1998-06-01"),
        ("<P>January 1, 1989, Sunday, Home Edition</P>", "1989-01-01"),
        ("1998-06-01 00:00:00", "1998-06-01"),
        ("soon", ""),
    ],
)
def test_dates_as_the_discs_write_them(tmp_path: Path, date: str, meant: str) -> None:
    records, _ = read(
        written(tmp_path, f"<DOC><DOCNO>a</DOCNO><DATE>{date}</DATE><TEXT>x</TEXT></DOC>")
    )
    assert records[0].document.date == meant


def test_text_older_than_utf8_is_read_as_latin1(tmp_path: Path) -> None:
    records, _ = read(written(tmp_path, b"<DOC><DOCNO>a</DOCNO><TEXT>\ncaf\xe9\n</TEXT></DOC>\n"))
    assert records[0].document.text == "café"


@pytest.mark.parametrize(
    ("content", "report"),
    [
        (
            "<DOC>\n<DOCNO>a</DOCNO>\n" + NEWS,
            "1: <DOC> is not closed before the next <DOC> at {path}:3",
        ),
        (NEWS + "<DOC>\n<DOCNO>a</DOCNO>\n", "14: <DOC> is not closed before the file ends"),
        ("<DOC>\n<TEXT>x</TEXT>\n</DOC>\n" + NEWS, "1: <DOC> has no <DOCNO>"),
        (
            "<DOC><DOCNO>a</DOCNO>\n" + "x\n" * 400 + "</DOC>\n" + NEWS,
            "1: <DOC> is longer than 500 bytes (build.max_file_bytes)",
        ),
    ],
)
def test_a_bad_document_is_named_and_left_out(tmp_path: Path, content: str, report: str) -> None:
    path = written(tmp_path, content)
    records, options = read(path, tolerated=1, max_file_bytes=500)
    assert [record.document.docid for record in records] == ["WSJ1"]
    assert options.bad_lines.examples == [f"{path}:{report.format(path=path)}"]
    with pytest.raises(SourceError, match="fix it, or skip bad lines"):
        read(path, max_file_bytes=500)


def test_files_of_a_folder_need_no_ending_and_those_without_documents_are_counted(
    tmp_path: Path,
) -> None:
    written(tmp_path, NEWS)
    written(tmp_path, "About this disc\n", "readme")
    records, options = read(tmp_path)
    assert (len(records), options.skipped) == (1, {"file without <DOC>": 1})


@pytest.mark.parametrize(
    ("inside", "title", "text", "left_out"),
    [
        ("<TITLE>T</TITLE><SUMMARY>One.</SUMMARY>", "T", "One.", []),
        (
            "<HEAD>T</HEAD><BODY><SLUG>s</SLUG><P>One.</P><TEXT>Two.</TEXT></BODY>",
            "T",
            "One.\nTwo.",
            ["SLUG"],
        ),
        ("<TI>T</TI><LD>One.</LD><TX>Two.</TX>", "T", "One.\nTwo.", []),
        ("<TTL>T</TTL>One, beside all elements.", "T", "One, beside all elements.", []),
        ("<HL>T</HL><STORYTEXT>One.</STORYTEXT><BYLINE>By me</BYLINE>", "T", "One.\nBy me", []),
        (
            "<TEXT>One.</TEXT><ABSTRACT>Two.</ABSTRACT><BYLINE>By me</BYLINE>",
            "",
            "One.\nTwo.",
            ["BYLINE"],
        ),
        ("<TEXT>if a<b then b>a, and q<r or s>t</TEXT>", "", "if a<b then b>a, and q<r or s>t", []),
        (
            "<TEXT>x<y>z; <F P=100>kept</F> <b>too</b> x<br>y <DATELINE></TEXT>",
            "",
            "x<y>z; kept too x y",
            [],
        ),
    ],
)
def test_nothing_of_a_document_is_lost(
    tmp_path: Path, inside: str, title: str, text: str, left_out: list[str]
) -> None:
    (record,), options = read(written(tmp_path, f"<DOC><DOCNO>a</DOCNO>{inside}</DOC>"))
    assert (record.document.title, record.document.text) == (title, text)
    assert options.skipped == {f"<{name}> elements outside the text": 1 for name in left_out}
