"""Queries are read in the forms that people keep them in, or refused in words."""

# ruff: noqa: E501  a line a case

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Query
from factseek.core.errors import SourceError
from factseek.eval.files.topics import read_queries, read_topics

EXPECTED = [Query("007", "masks, and “measles”"), Query("b-2", "مرحبا بكم")]


@pytest.fixture
def put(tmp_path: Path):
    def write(content: str | bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def as_csv(header: list[str], delimiter: str) -> str:
    content = io.StringIO()
    rows = csv.writer(content, delimiter=delimiter)
    rows.writerows([header, *([qid, text] for qid, text in EXPECTED)])
    return content.getvalue()


FORMS = {
    "tabs": "007\tmasks, and “measles”\nb-2\tمرحبا بكم\n",
    "columns in another order": (
        "Text\tlang\tQID\nmasks, and “measles”\ten\t007\nمرحبا بكم\tar\tb-2\n"
    ),
    "csv of Excel": as_csv(["qid", "query"], ",").encode("utf-8-sig"),
    "csv of Excel elsewhere": as_csv(["ID", "Claim"], ";").encode("utf-8-sig"),
    "unicode text of Excel": as_csv(["ID", "Claim"], "\t").encode("utf-16"),
    "json lines": "".join(json.dumps({"qid": qid, "query": text}) + "\n" for qid, text in EXPECTED),
    "json list": json.dumps([{"id": qid, "question": text} for qid, text in EXPECTED], indent=2),
    "old topics": "".join(
        f"<top>\n<num> Number: {qid}\n<title> Topic: {text}\n\n<desc> Description:\nnone\n</top>\n"
        "\n"
        for qid, text in EXPECTED
    ),
    "xml topics": "<?xml version='1.0'?>\n<topics task='x'>\n"
    + "".join(
        f'<topic number="{q}">\n<query>{t}</query>\n<question>x?</question>\n</topic>\n'
        for q, t in EXPECTED
    )
    + "</topics>\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_queries_in_every_form(form: str, put) -> None:
    assert read_topics(put(FORMS[form])) == EXPECTED


def test_a_query_is_no_header(put) -> None:
    assert [query.qid for query in read_topics(put("a\tmeasles\nb\tmasks\n"))] == ["a", "b"]
    assert [query.qid for query in read_topics(put("a\ttopic\nb\tmasks\n"))] == ["a", "b"]
    assert [query.qid for query in read_topics(put("first\tmeasles\nq1\tmasks\n"))] == [
        "first",
        "q1",
    ]
    assert [query.qid for query in read_topics(put("a\tmeasles\nq1\tuseless masks\n"))] == [
        "a",
        "q1",
    ]
    assert [query.qid for query in read_topics(put("q1\tmeasles\nq2\tmasks\n"))] == ["q1", "q2"]


def test_rows_of_which_every_cell_is_in_quotes_are_read_without_them(put) -> None:
    lines = '"q1"\t"new ""trams"" in May"\n"q2"\t"no trams"\n'
    assert read_topics(put(lines)) == [Query("q1", 'new "trams" in May'), Query("q2", "no trams")]
    lines = 'q1\t"new trams"\nq2\t"no" trams\n'
    assert [query.text for query in read_topics(put(lines))] == ['"new trams"', '"no" trams']


def test_single_lines_may_have_further_tabs(put) -> None:
    assert read_topics(put("q1\tnew trams\tin May\n")) == [Query("q1", "new trams in May")]
    lines = "q1\tnew trams\nq2\told\ttrams\nq3\tno trams\n"
    assert [query.text for query in read_topics(put(lines))] == [
        "new trams",
        "old trams",
        "no trams",
    ]


HEADERLESS = "file:1: the rows have {} columns, but a query has two (qid TAB text): name the columns in a first line, two of them qid and query"
UNKNOWN = "file:1: is a header with no column of {}; name two columns qid and query"
QIDS, TEXTS = (
    "qid, query_id, queryid, _id, id …",
    "query, query_text, text, tweet_text, tweet_content …",
)
BAD_TOPICS = {
    "rows of three": ("1\tThe tram is late.\tno\n2\tThe bus is late.\tyes\n", HEADERLESS.format(3)),
    "rows of five, one broken": ("1.json\tno\tThe tram is late.\ta\tb\n" * 10 + "2.json\tno\n", HEADERLESS.format(5)),
    "rows of four, some broken": ("a\tno\tThe tram is late.\tx\n" * 3 + "b\tno bus\n" * 2, HEADERLESS.format(4)),
    "unknown header with numbers": ("spalte1\tspalte2\n7\tDie Bahn ist spät.\n", UNKNOWN.format("ids, only 'spalte1', 'spalte2': expected " + QIDS)),
    "unknown header above words": ("medium\tmeldung\nradio\tDie Bahn ist spät.\nzeitung\tKein Bus fährt.\n", UNKNOWN.format("ids, only 'medium', 'meldung': expected " + QIDS)),
    "six columns that are no run": ("1\tno\tThe tram is late.\tx\ty\tz\n" * 2, HEADERLESS.format(6)),
    "unknown header of three": ("site\tlang\tfrase\na.example\tes\tEl tren es lento.\nb.example\tes\tNo hay trenes.\n", UNKNOWN.format("ids, only 'site', 'lang', 'frase': expected " + QIDS)),
    "unknown ids": ("speaker\tclaim\nmayor\tThe tram is late.\n", UNKNOWN.format("ids, only 'speaker', 'claim': expected " + QIDS)),
    "unknown header in another language": ("sprache\tbehauptung\nde\tDie Bahn ist spät.\n", UNKNOWN.format("ids, only 'sprache', 'behauptung': expected " + QIDS)),
    "unknown texts": ("frase\tid\tlang\nEl tren es lento.\t1\tes\n", UNKNOWN.format("queries, only 'frase', 'id', 'lang': expected " + TEXTS)),
    "empty": ("", "file: contains no queries"),
    "one column": ("a\tone\nb two\n", "file:2: has one column, but a query has two (qid TAB text)"),
    "spaces": ("a one\n", ("file:1: has no tab between qid and text: the file is separated by "
        "blanks; give lines "
        "of qid TAB text, CSV with a header, JSON lines, or TREC's topics")),
    "a run": ("q\tQ0\td\t1\t2.5\tt\n", ("file:1: has 6 columns, but a query has two (qid TAB "
        "text); six columns are a run, not "
        "queries")),
    "unknown header": ("nummer\tbehauptung\n1\tone two\n", ("file:1: is a header with no column of "
        "ids, only 'nummer', 'behauptung': expected qid, "
        "query_id, queryid, _id, id …; name two columns qid and query")),
    "no header": ("1,one\n2,two\n", ("file:1: is comma-separated and its first row is '1,one': a "
        "table needs a header; name "
        "two columns qid and query")),
    "no topics": ("<rss>\n</rss>\n", ("file: is XML without topics (<top> or <topic>); give lines "
        "of qid TAB text, CSV with "
        "a header, JSON lines, or TREC's topics")),
    "topic without a text": ("<top>\n<num> 7\n<narr> one\n</top>\n", ("file:1: query '7' has no "
        "text: its fields are num, narr; expected query, title, text, "
        "question, content, desc, description")),
    "a mistyped beginning": (
        "<top>\n<num> 1\n<title> one\n</top>\n<tpo>\n<num> 2\n<title> two\n</top>\n",
        "file:6: <num> is outside a <top>; the block's start tag may be mistyped",
    ),
    "columns of a row": ("qid,query\n1,x\n2,y,z\n3,z\n", "file:3: has 3 columns, but the header has 2"),
    "no text": ("a\t \n", "file:1: query 'a' has no text"),
    "repeated": ("a\tone\nb\ttwo\na\tthree\n", "file:3: query 'a' is already on line 1"),
    "json keys": (
        '{"a": "1", "text": "x"}\n',
        "file:1: has no id; its keys are a, text; expected qid, query_id, queryid, _id, id …",
    ),
    "json surrogate text": (
        '{"_id": "1", "text": "\\ud800"}\n',
        "file:1: text '\\ud800' cannot be encoded as UTF-8",
    ),
    "deep": ('{"a":' * 100_000 + "\n", "file:1: is nested too deeply"),
}  # fmt: skip  # fmt: skip


@pytest.mark.parametrize("case", BAD_TOPICS)
def test_faults_of_topics_are_said_exactly(case, put):
    content, message = BAD_TOPICS[case]
    with pytest.raises(SourceError) as caught:
        read_topics(put(content))
    assert str(caught.value).endswith("/" + message)


words = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t\0"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
queries = st.dictionaries(st.integers(0, 10**9).map(str), words, min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    queries,
    st.sampled_from([",", ";", "json", "\t"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_saved_is_read_back(put, saved: dict[str, str], form: str, encoding: str) -> None:
    if form == "json":
        content = "".join(
            json.dumps({"qid": qid, "query": text}) + "\n" for qid, text in saved.items()
        )
    elif form == "\t":
        content = "qid\tquery\n" + "".join(f"{qid}\t{text}\n" for qid, text in saved.items())
    else:
        rows = io.StringIO()
        csv.writer(rows, delimiter=form, lineterminator="\n").writerows(
            [["qid", "query"], *saved.items()]
        )
        content = rows.getvalue()
    assert dict(read_topics(put(content.encode(encoding)))) == saved


MASKS = "<topic number='1'><query>masks</query></topic>\n"


TAG = """: {!r} cannot be read as a tag; close it, and write each attribute as name="value\""""
COMMENT = (
    ": a comment does not end before the next comment or the end of the file; close it with -->"
)


@pytest.mark.parametrize(
    ("after", "line", "reason"),
    [
        ("<top " * 40_000, 2, TAG.format("<top <top <top <top <top <top <top <top…")),
        (
            "<topic number='2' new>\n<query>hats</query></topic>",
            2,
            TAG.format("<topic number='2' new>"),
        ),
        ('\n<topic number="2>\n<query>hats</query></topic>', 3, TAG.format('<topic number="2>')),
        ("<topic number='2'><query>hats</query ></topic", 2, TAG.format("</topic")),
        ("<!-- " * 90_000, 2, COMMENT),
        ("<!-- hats -- >\n<topic number='2'><query>hats</query></topic>", 2, COMMENT),
        (
            "<![CDATA[" * 40_000,
            2,
            ": <![CDATA[ does not end before the end of the file; close it with ]]>",
        ),
        ("<topic>" * 40_000, 2, ": the <topic> has no id: its fields are none"),
    ],
)
def test_a_topic_that_cannot_be_read_is_refused(put, after: str, line: int, reason: str) -> None:
    path = put(MASKS + after, "topics.xml")
    with pytest.raises(SourceError) as error:
        read_queries(path)
    assert error.value.line.startswith(f"{path}:{line}{reason}")


def test_attributes_need_no_quotes_and_a_sign_without_a_name_is_text(put) -> None:
    texts = (
        "<topic number=2><query>p < .05 and a <b, <query> of <a 200</query></topic>\n<query><a<a<a"
    )
    assert read_topics(put(MASKS + texts, "topics.xml"))[1] == Query(
        "2", "p < .05 and a <b, of <a 200"
    )


OPEN = (
    "<topics>\n<top>\n<num> 1 </num>\n<title> one\n{}<top>\n<num> 2\n<title> two\n</top>\n"
    "<top>\n<num> 3\n<title> three\n"
)


@pytest.mark.parametrize("end", ["", "</to>\n", "</top>\n", "</TOP>\n", "<!-- <top> -->\n</top>\n"])
def test_a_topic_ends_where_the_next_begins_and_with_the_file(put, end: str) -> None:
    queries = read_topics(put(OPEN.format(end), "topics.xml"))
    assert [(query.qid, query.text) for query in queries] == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
    ]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("<title> sodium < 135 in adults\n\n<desc> x", "sodium < 135 in adults"),
        ("<title> mail to <ann@site.org> today\n<narr> x", "mail to <ann@site.org> today"),
        ("<title> vector<int> in C++\n<narr> x", "vector<int> in C++"),
        ("<title>role of <i>E. coli</i> and H<sub>2</sub>O</title>", "role of E. coli and H2O"),
        ("<title>seen in <species>mice</species> alone</title>", "seen in mice alone"),
        ("<title> one <!-- not two --> three </title>", "one three"),
        ("<title lang='en'>pears</title><title lang='de'>Birnen</title>", "pears"),
        ("<query>pears</query><related><query>plums</query></related>", "pears"),
        ("<EN-title> pears </EN-title>\n<EN-desc> x </EN-desc>", "pears"),
        ("<desc> Description:\nWhy pears?\n<narr> x", "Why pears?"),
    ],
)
def test_the_text_of_a_topic_is_whole(put, field: str, text: str) -> None:
    for block in (
        "<top>\n<num> Number: 7\n{}\n</top>\n",
        "<topics><topic number='7'>{}</topic></topics>",
    ):
        assert read_topics(put(block.format(field), "topics.xml")) == [Query("7", text)]


@pytest.mark.parametrize(
    ("content", "qid"),
    [
        ("<queries>\n<query><qid>0007</qid><content>pears</content></query>\n</queries>", "0007"),
        (
            (
                '<topic lang="en"><identifier>10.1/7-X</identifier><title '
                'lang="en">pears</title></topic>'
            ),
            "10.1/7-X",
        ),
        ("<queries><query id='7'>pears</query></queries>", "7"),
        ("<topics><title>Task of 2020</title><topic id='7'>pears</topic></topics>", "7"),
        ("<topics><topic id='7' query='pears'/></topics>", "7"),
        (
            (
                "<?xml version='1.0'?>\n<!DOCTYPE topics [<!ELEMENT topic ANY>]>\n"
                "<topics><topic id='7'>pears</topic></topics>"
            ),
            "7",
        ),
    ],
)
def test_topics_of_other_forms(put, content: str, qid: str) -> None:
    assert read_topics(put(content, "topics.xml")) == [Query(qid, "pears")]
