"""TREC files: what is written reads back, what trec_eval tolerates is read, what is wrong is said
with its line.
"""

# A message that is told exactly stands on one line.

import csv
import gzip
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Hit
from factseek.core.errors import QueryError, SourceError
from factseek.core.records.lines import MAX_LINE
from factseek.core.records.qrels import read_qrels
from factseek.core.records.runs import read_run, read_scores, write_run


class Noted:
    def __init__(self):
        self.said = []

    def error(self, line, reason):
        self.said.append(f"{line}: {reason}")

    def warning(self, line, reason):
        self.said.append(f"({line}: {reason})")


@pytest.fixture
def put(tmp_path):
    def write(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


ids = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=8)
scores = st.floats(width=32, allow_nan=False, allow_infinity=False)
runs = st.dictionaries(
    ids, st.dictionaries(ids, scores, min_size=1, max_size=6), min_size=1, max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs)
def test_a_run_reads_back_in_the_order_of_its_ranks(tmp_path, drawn):
    run = {qid: [Hit(docid, score) for docid, score in docs.items()] for qid, docs in drawn.items()}
    write_run(run, tmp_path / "run", "tag")
    back = read_run(tmp_path / "run")
    assert list(back) == list(run)
    for qid, hits in back.items():
        assert {hit.docid: np.float32(hit.score) for hit in hits} == {
            d: np.float32(s) for d, s in drawn[qid].items()
        }
    lines = [line.split(" ") for line in (tmp_path / "run").read_text("utf-8").split("\n")[:-1]]
    assert [(fields[0], fields[2]) for fields in lines] == [
        (qid, hit.docid) for qid in back for hit in back[qid]
    ]
    assert [int(fields[3]) for fields in lines] == [
        n for qid in back for n in range(1, len(back[qid]) + 1)
    ]


@pytest.mark.parametrize(
    ("qid", "docid", "tag"),
    [
        ("a b", "d", "t"),
        ("q", "", "t"),
        ("q", "d\u00a0e", "t"),
        ("q", "d", "my run"),
        ("q\t", "d", "t"),
    ],
)
def test_what_cannot_stand_in_a_column_is_not_written(qid, docid, tag, tmp_path):
    with pytest.raises(
        QueryError,
        match=r"is empty or contains white space: it cannot be written to a column of a file$",
    ):
        write_run({qid: [Hit(docid, 1.0)]}, tmp_path / "run", tag)
    assert list(tmp_path.iterdir()) == []


GOOD = "q Q0 a 1 2.5 t\n"
RUNS = {
    "good": (GOOD + "q Q0 b 2 2.5 t\n", []),
    "beyond float32": ("q Q0 b 1 3.5e38 t\n" + GOOD.replace(" 1 ", " 2 "), []),
    "comment": ("# made by hand\n" + GOOD, []),
    "empty": ("", ["0: contains no results"]),
    "header": (
        "qid Q0 docid rank score tag\n" + GOOD,
        ["1: score 'score' is not a finite number; a run has no header"],
    ),
    "beyond double": (GOOD + "q Q0 b 2 1e999 t\n", ["2: score '1e999' is not a finite number"]),
    "columns": (
        GOOD + "q Q0 b 2\n",
        [
            (
                "2: has 4 columns, but a run has six (qid Q0 docid rank score tag); four "
                "columns are judgements, not a run"
            )
        ],
    ),
    "repeated": (
        GOOD + "r Q0 a 1 2 t\nq Q0 a 2 1 t\n",
        ["3: docid 'a' of query 'q' is already on line 1"],
    ),
    "not utf-8": (GOOD.encode() + b"q Q0 caf\xe9 2 1 t\n", ["2: is not UTF-8 (byte 0xe9)"]),
    "nul": (GOOD + "q Q0 b\0 2 1 t\n", ["2: contains a NUL byte"]),
    "long line": (
        GOOD + "q Q0 " + "b" * 3_000_000 + " 2 1 t\nq Q0 c 2 1 t\n",
        [f"2: is longer than {MAX_LINE:,} bytes"],
    ),
    "utf-16": (GOOD.encode("utf-16"), ["(0: is UTF-16 text; save it as UTF-8)"]),
    "gzip": (gzip.compress(GOOD.encode()), []),
    "more columns": (
        "q Q0 a 1 2.5 t more\nq Q0 b 2 1 t more\n",
        ["(1: more than six columns on 2 lines; the columns after the sixth are ignored)"],
    ),
    "carriage returns": (
        GOOD + "q Q0 b 2 1 t\rq Q0 c 3 0 t\n",
        ["2: contains a carriage return: end the lines with a line feed (\\n)"],
    ),
    "rises": (
        GOOD + "q Q0 b 2 2.75 t\n",
        ["(2: scores that rise within a query: 1; hits are ordered by score, not by line)"],
    ),
    "ranks": (
        "q Q0 a 0 2.5 t\nq Q0 b 1 2 t\n",
        ["(1: ranks that are not 1, 2, 3 … within a query: 2; ranks are not used)"],
    ),
    "two runs": (
        GOOD + "q Q0 b 2 1 s\n",
        ["(2: the run id changes 1 times: two runs in one file?)"],
    ),
    "cut": (GOOD + "q Q0 b 2 1 t", ["(2: the last line has no line end: is the file complete?)"]),
}


@pytest.mark.parametrize("case", RUNS)
def test_faults_of_a_run_are_said_exactly(case, put):
    content, said = RUNS[case]
    noted = Noted()
    read_scores(put(content), noted)
    assert sorted(noted.said) == sorted(said)


SUBMITTED = {
    "good": (GOOD + "r Q0 b 1 3 t\nq Q0 b 2 2 t\n", []),
    "rises": (
        GOOD + "q Q0 b 2 2.75 t\nq Q0 c 3 2.75 t\n",
        [
            "2: score 2.75 rises above 2.5 on the line before",
            "(3: equal scores with ascending docids: 1; scoring sorts them in descending order)",
        ],
    ),
    "gap": (
        GOOD + "q Q0 b 3 2 t\nq Q0 c 4 1 t\n",
        ["2: rank 3, expected 2: ranks must be 1, 2, 3 … per query"],
    ),
    "from 0": (
        "q Q0 a 0 2 t\nq Q0 b 1 1 t\nr Q0 a 0 2 t\n",
        ["(1: queries whose ranks start at 0: 2; ranks are not used)"],
    ),
    "two lines in one": (
        GOOD + "q Q0 b 2 2 tq Q0 c 3 1 t\n",
        ["2: has 11 columns, but a run has six (qid Q0 docid rank score tag)"],
    ),
    "two runs": (
        GOOD + "q Q0 b 2 1 s\nq Q0 c 3 1 t\n",
        [
            "2: run id 's' differs from 't' above: a file contains one run",
            "(3: equal scores with ascending docids: 1; scoring sorts them in descending order)",
        ],
    ),
    "equal as float32 alone": ("q Q0 a 1 1.00000001 t\nq Q0 b 2 1 t\n", []),
    "equal in another form": (
        "q Q0 a 1 1.0 t\nq Q0 b 2 1 t\n",
        ["(2: equal scores with ascending docids: 1; scoring sorts them in descending order)"],
    ),
}


@pytest.mark.parametrize("case", SUBMITTED)
def test_a_run_to_be_handed_in_says_one_order_and_is_one_run(case, put):
    content, said = SUBMITTED[case]
    noted = Noted()
    read_scores(put(content), noted, submitted=True)
    assert sorted(noted.said) == sorted(said)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs)
def test_what_is_written_can_be_handed_in(tmp_path, drawn):
    run = {qid: [Hit(docid, score) for docid, score in docs.items()] for qid, docs in drawn.items()}
    write_run(run, tmp_path / "run", "tag")
    noted = Noted()
    read_scores(tmp_path / "run", noted, submitted=True)
    assert noted.said == []


@pytest.mark.parametrize("case", RUNS)
def test_the_first_error_stops_a_strict_reader(case, put):
    content, said = RUNS[case]
    path = put(content)
    errors = [line for line in said if not line.startswith("(")]
    if not errors:
        assert read_run(path)
        return
    number, _, reason = errors[0].partition(": ")
    with pytest.raises(SourceError) as caught:
        read_run(path)
    assert str(caught.value) == (
        f"{path}:{number}: {reason}" if number != "0" else f"{path}: {reason}"
    )


def test_a_run_is_ordered_by_score_then_docid_whatever_its_ranks(put):
    run = read_run(put("q Q0 a 1 1 t\nq Q0 c 2 1 t\nr Q0 x 1 1 t\nq Q0 b 3 2 t\n"))
    assert {qid: [hit.docid for hit in hits] for qid, hits in run.items()} == {
        "q": ["b", "c", "a"],
        "r": ["x"],
    }


QRELS = {
    "trec": ("q 0 a 1\nq\t0\tb\t-1\nr 0 a 0\n", {"q": {"a": 1, "b": -1}, "r": {"a": 0}}),
    "beir": ("query-id\tcorpus-id\tscore\nq\ta\t1\n", {"q": {"a": 1}}),
    "commas": ("C-1,C-1-09,-1\nC-1,C-1-10,1\n", {"C-1": {"C-1-09": -1, "C-1-10": 1}}),
    "names with blanks between commas": ("Query ID, Corpus ID ,Score\nq, a,1.0\n", {"q": {"a": 1}}),
    "semicolons and a header": ('qid;docid;relevance\n"a";"b";2\n', {"a": {"b": 2}}),
    "Excel's line of the separator": ("sep=;\nqid;docid;relevance\na;b;2\n", {"a": {"b": 2}}),
    "columns in another order": ("docid,qid,relevance\nb,a,2\n", {"a": {"b": 2}}),
    "mark": (b"\xef\xbb\xbfq 0 a 1\n", {"q": {"a": 1}}),
    "a docid before its query": (
        "pmid\tquestion_id\trel\n9\t1\t2\n1\t9\t0\n",
        {"1": {"9": 2}, "9": {"1": 0}},
    ),
    "whole numbers as fractions": (
        "query-id\tcorpus-id\tscore\nq\ta\t2.0\nq\tb\t0.0\n",
        {"q": {"a": 2, "b": 0}},
    ),
    "hashtags as ids": (
        "# qid 0 docid 1\n#flu 0 a 1\nq 0 b 1\n# end\n",
        {"#flu": {"a": 1}, "q": {"b": 1}},
    ),
}


@pytest.mark.parametrize("case", QRELS)
def test_judgements_are_read(case, put):
    content, qrels = QRELS[case]
    assert read_qrels(put(content)) == qrels


BAD_QRELS = {
    "long cell": (
        "q1,d1,1\nq1," + "d" * 200_000 + ",1\n",
        "file:2: is not a row of a table with ',' between its columns",
    ),
    "header alone": ("query-id\tcorpus-id\tscore\n", "file: contains no judgements"),
    "narrow": (
        "query_id,iter,doc_id,relevance\n1,a,1\n",
        "file:2: has 3 columns, but the header has 4",
    ),
    "a run": (
        GOOD,
        (
            "file:1: has 6 columns, but judgements have four (qid 0 docid relevance) or three; "
            "six columns are a run, not judgements"
        ),
    ),
    "grade": ("q 0 a 1.5\n", "file:1: relevance '1.5' is not a whole number"),
    "large grade": (
        "q 0 a 2147483648\n",
        "file:1: relevance '2147483648' is not between -1,000 and 1,000; scale the grades down",
    ),
    "a header with an unknown name": (
        "paragraph\tqid\trel\n7\t1\t1\n",
        (
            "file:1: is a header without a column for docids: it has 'paragraph', 'qid', "
            "'rel'; known names are docid, doc_id, docno, corpus_id, document_id, document, "
            "doc, did, passage_id, pid, snippet_id, pageid, page_id, paper_id, cord_uid, "
            "article_id, pmid, vclaim_id, d"
        ),
    ),
    "contradiction": (
        "q 0 a 1\nr 0 a 1\nq 0 a 0\n",
        "file:3: docid 'a' of query 'q' was judged differently on line 1",
    ),
    "json of three keys": (
        '{"qid":"1","docid":"a","relevance":1}\n',
        "file:1: relevance 'relevance:1}' is not a whole number; the file is JSON lines",
    ),
    "json of six words": (
        '{"qid": "1", "docid": "a", "relevance": 1}\n',
        (
            "file:1: has 6 columns, but judgements have four (qid 0 docid relevance) or three; "
            "the file is JSON lines"
        ),
    ),
}


@pytest.fixture
def usual_cells() -> Iterator[None]:
    """Let a cell be as long as Python lets it: readers of tables allow longer ones for the whole
    process.
    """
    limit = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(limit)


@pytest.mark.parametrize("case", BAD_QRELS)
def test_faults_of_judgements_are_said_exactly(case, put, usual_cells):
    content, message = BAD_QRELS[case]
    with pytest.raises(SourceError) as caught:
        read_qrels(put(content))
    assert str(caught.value).endswith("/" + message)


def test_judgements_of_subtopics_have_the_highest_grade(put):
    notes = []
    path = put("1 a d 1\n1 b d 0\n1 a e 0\n2 a d 2\n2 a d 2\n")
    qrels = read_qrels(path, notes.append)
    assert dict(qrels) == {"1": {"d": 1, "e": 0}, "2": {"d": 2}}
    assert qrels.subtopics == {
        "1": {"d": {"a": 1, "b": 0}, "e": {"a": 0}},
        "2": {"d": {"a": 2}},
    }
    assert notes == [
        f"{path}:5: repeats a judgement; it counts once (1 such line)",
        f"{path}: judges subtopics; a document has the highest grade of its subtopics, except in "
        "measures of diversity",
    ]


def test_a_second_judgement_of_the_same_subtopic_may_not_contradict_the_first(put):
    path = put("1 a d 1\n1 b d 0\n1 a d 0\n")
    with pytest.raises(SourceError) as refused:
        read_qrels(path)
    assert refused.value.line == (
        f"{path}:3: docid 'd' of query '1' was judged differently on line 1"
    )
