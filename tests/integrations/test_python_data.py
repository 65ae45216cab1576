"""Documents, queries and judgements that a Python program has already are taken as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import factseek
from factseek import CheckFailed, Document, Hit, Query, QueryError, Searcher, UserError
from factseek.core.errors import UsageError

DOCUMENTS = [
    Document("a", "Measles vaccination prevents deaths.", "Measles", date="2020-03-01"),
    Document("b", "The sea level rises.", metadata={"author": "Ada"}),
]
QRELS = {"1": {"a": 1, "b": 0}, "2": {"b": 2}}
QUERIES = "give factseek.Query(qid, text), a pair, or a mapping from qid to text"
RUN = {"1": [Hit("b", 2.0), Hit("a", 1.0)], "2": [Hit("b", 1.0)]}


class GenericQuery(NamedTuple):
    """A query as ir_datasets has it."""

    query_id: str
    body: str

    def default_text(self) -> str:
        return self.body


class TrecQrel(NamedTuple):
    """A judgement as ir_datasets has it."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class RanxQrels:
    """Judgements as ranx has them."""

    def __init__(self, judged: dict[str, dict[str, Any]]) -> None:
        self._judged = judged

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return self._judged


def documents_of(form: str) -> Any:
    mappings = [
        {"docid": "a", "title": "Measles", "text": DOCUMENTS[0].text, "date": "2020-03-01"},
        {"docid": "b", "text": DOCUMENTS[1].text, "author": "Ada"},
    ]
    forms = {
        "documents": DOCUMENTS,
        "mappings": mappings,
        "DataFrame": pd.DataFrame(mappings),
        "generator": iter(DOCUMENTS),
    }
    return forms[form]


@pytest.mark.parametrize("form", ["documents", "mappings", "DataFrame", "generator"])
def test_documents_of_any_form_are_indexed(form: str, tmp_path: Path) -> None:
    report = factseek.build("jsonl", documents_of(form), tmp_path / "index", dense=False)
    assert report.documents == 2
    with factseek.open_index(tmp_path / "index") as index:
        first, second = index.document("a"), index.document("b")
    assert (first.title, first.text, first.date) == ("Measles", DOCUMENTS[0].text, "2020-03-01")
    assert (second.text, second.metadata) == (DOCUMENTS[1].text, {"author": "Ada"})


def test_numbers_of_numpy_and_dates_of_pandas_are_written(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "docid": ["a"],
            "text": ["Water boils."],
            "date": [pd.Timestamp("2020-03-01")],
            "pages": [np.int64(3)],
        }
    )
    factseek.build("jsonl", frame, tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as index:
        document = index.document("a")
    assert (document.date, document.metadata) == ("2020-03-01", {"pages": 3})


def test_what_is_no_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        factseek.build("jsonl", [DOCUMENTS[0], 7], tmp_path / "index")
    assert refused.value.line == (
        "document 2 is '7'; give factseek.Document, a mapping, or paths of files"
    )


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (
            None,
            "sources are None; give factseek.Document, mappings, a DataFrame, or paths of files",
        ),
        (
            {"docid": "a", "text": "b"},
            "sources are one document; give a list: [{'docid': 'a', 'text': 'b'}]",
        ),
        (
            DOCUMENTS[1],
            "sources are one document; give a list: [Document(docid='b', text='The sea level…]",
        ),
        ([{"docid": "a", "text": b"b"}], "document 1: text is bytes; decode it to text"),
        (pd.DataFrame({"docid": [], "text": []}), "sources contain no document"),
        (
            pd.DataFrame([["a", "b", "c"]], columns=["docid", "text", "text"]),
            "sources: two columns have the name 'text'; give each column a name of its own",
        ),
        (
            pd.DataFrame({"docid": ["a", None], "text": ["b", "c"]}),
            'document 2: has no "docid", "id" or "_id"; fix it, or skip bad lines with '
            "build.skip_bad_lines",
        ),
        (
            pd.DataFrame({"docid": ["a", "a"], "text": ["b", "c"]}),
            "document 2: docid 'a' is already at document 1, with different content; fix it, or "
            "skip bad lines with build.skip_bad_lines",
        ),
    ],
)
def test_a_fault_of_documents_names_the_document(
    sources: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        factseek.build("jsonl", sources, tmp_path / "index", dense=False)
    assert refused.value.line == message


def test_an_error_of_the_users_own_generator_is_not_changed(tmp_path: Path) -> None:
    def documents() -> Iterator[Document]:
        yield DOCUMENTS[0]
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        factseek.build("jsonl", documents(), tmp_path / "index", dense=False)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Searcher]:
    factseek.build("jsonl", DOCUMENTS, tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as opened:
        yield opened


def test_queries_of_any_form_give_the_same_run(index: Searcher) -> None:
    pairs = [("1", "measles"), ("2", "sea level")]
    expected = factseek.run(index, [Query(*pair) for pair in pairs])
    assert [hits[0].docid for hits in expected.values()] == ["a", "b"]
    forms = (
        pairs,
        dict(pairs),
        iter(pairs),
        [GenericQuery(*pair) for pair in pairs],
        pd.DataFrame(pairs, columns=["qid", "text"]),
        pd.DataFrame([(1, "measles"), (2, "sea level")], columns=["qid", "query"]),
    )
    for queries in forms:
        assert factseek.run(index, queries) == expected


def test_a_frame_without_queries_is_refused(index: Searcher) -> None:
    with pytest.raises(QueryError) as refused:
        factseek.run(index, pd.DataFrame({"number": [1], "text": ["measles"]}))
    assert refused.value.line == (
        "queries: there is no column qid or query_id or query-id or q_id or id or _id: there are "
        "number, text"
    )


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (None, f"queries are None; {QUERIES}"),
        ({"1": None}, f"queries: the text of '1' is None, not text; {QUERIES}"),
        (
            {"qid": ["1"], "text": ["measles"]},
            f"queries: the text of 'qid' is ['1'], not text; {QUERIES}",
        ),
        ({"\ud800": "measles"}, "queries: '\\ud800' is no qid"),
        (
            pd.DataFrame({"qid": [1.0], "text": ["measles"]}),
            "queries: the qid 1.0 is a number with a decimal point; read the column as text: "
            "dtype=str",
        ),
        (pd.DataFrame({"qid": ["1"], "text": [np.nan]}), "queries: a row has no text"),
        (
            pd.DataFrame({"qid": ["1", "1"], "text": ["measles", "sea"]}),
            "two queries have the qid '1'; give each query a qid of its own",
        ),
        (
            pd.DataFrame([["1", "a", "b"]], columns=["qid", "text", "text"]),
            "queries: two columns have the name 'text'; give each column a name of its own",
        ),
    ],
)
def test_what_is_no_query_is_refused(index: Searcher, queries: Any, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        factseek.run(index, queries)
    assert refused.value.line == message


def test_judgements_of_any_form_give_the_same_figures() -> None:
    rows = [(qid, docid, grade) for qid, judged in QRELS.items() for docid, grade in judged.items()]
    expected = factseek.evaluate(RUN, QRELS, ["nDCG@10", "AP"]).means()
    forms = (
        [TrecQrel(*row, "0") for row in rows],
        iter([TrecQrel(*row, "0") for row in rows]),
        RanxQrels(QRELS),
        pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(rows, columns=["qid", "docno", "label"]),
    )
    for qrels in forms:
        assert factseek.evaluate(RUN, qrels, ["nDCG@10", "AP"]).means() == expected
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    compared = factseek.compare({"one": RUN, "other": RUN}, frame, ["AP"])
    assert compared.means["AP"]["one"].mean == expected["AP"]


def test_grades_of_numpy_are_taken() -> None:
    qrels = {"1": {"a": np.int64(1)}}
    assert factseek.evaluate(RUN, qrels, ["RR"]).means() == {"RR": 0.5}


def test_judgements_of_ranx_are_taken() -> None:
    ranx = pytest.importorskip("ranx")
    expected = factseek.evaluate(RUN, QRELS, ["AP"]).means()
    assert factseek.evaluate(RUN, ranx.Qrels(QRELS), ["AP"]).means() == expected


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (
            [TrecQrel("1", "a", 1, "0"), TrecQrel("1", "a", 0, "0")],
            "qrels: 'a' of query '1' is judged twice, and differently",
        ),
        (
            [("1", "a")],
            "qrels contain \"('1', 'a')\", which is not a judgement; give a mapping from qid to "
            "docid to relevance, or judgements of ir_datasets",
        ),
        (
            pd.DataFrame({"qid": ["1"], "docid": ["a"], "relevance": [0.5]}),
            "qrels: the relevance '0.5' is not a whole number; give a column relevance",
        ),
        (
            pd.DataFrame({"qid": ["1"], "docid": ["a"], "relevance": [np.nan]}),
            "qrels: the relevance 'nan' is not a whole number; give a column relevance",
        ),
        (
            pd.DataFrame({"qid": ["1"], "docid": ["a"], "relevance": [np.inf]}),
            "qrels: the relevance 'inf' is not a whole number; give a column relevance",
        ),
        (
            # It would not equal the qid "1" of a run: every query would count 0.
            pd.DataFrame({"qid": [1.0], "docid": ["a"], "relevance": [1]}),
            "qrels: the qid 1.0 is a number with a decimal point; read the column as text: "
            "dtype=str",
        ),
        (
            RanxQrels({"1": {"a": 0.5}}),
            "qrels: the relevance 0.5 of 'a' for query '1' is not an integer; convert the grades "
            "with int()",
        ),
        (
            None,
            "qrels are None; give a mapping from qid to docid to relevance, or judgements of "
            "ir_datasets",
        ),
        (Path("qrels.txt"), "qrels are 'qrels.txt'; read a file with factseek.read_qrels"),
        (
            {"1": ["a"]},
            "qrels: the judgements of '1' are ['a'], not a mapping; give a mapping from docid to "
            "relevance",
        ),
        ({"1": {7: 1}}, "qrels: the docid 7 of query '1' is not text; give '7'"),
        # trec_eval's code would end the process.
        ({"1": {"\ud800": 1}}, "qrels: '\\ud800' of query '1' is no docid"),
        ({"\ud800": {"a": 1}}, "qrels: '\\ud800' is no qid"),
        ({}, "there are no judgements; read judgements with read_qrels"),
    ],
)
def test_what_is_no_judgement_is_refused(qrels: Any, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        factseek.evaluate(RUN, qrels, ["AP"])
    assert refused.value.line == message


def test_frames_of_the_files_of_beir_are_taken_as_they_are(tmp_path: Path) -> None:
    documents = pd.DataFrame({"_id": ["7", "8"], "title": ["", "t"], "text": ["a measles", "b"]})
    queries = pd.DataFrame({"_id": ["1"], "text": ["measles"], "metadata": [{}]})
    qrels = pd.DataFrame({"query-id": ["1"], "corpus-id": ["7"], "score": [1]})
    factseek.build("jsonl", documents, tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as index:
        run = factseek.run(index, queries, k=5)
    assert factseek.evaluate(run, qrels, ["RR"]).means() == {"RR": 1.0}


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            None,
            "run: None is not a run; give a mapping from qid to hits, as factseek.run and "
            "factseek.read_run do",
        ),
        ({"1": None}, "run: the hits of query '1' are None"),
        (
            {"1": {"a": 1.0}},
            "run: 'a' of query '1' is not a hit; give factseek.Hit(docid, score)",
        ),
        ({"1": [Hit(7, 1.0)]}, "run: the docid 7 of query '1' is not text; give '7'"),  # type: ignore[arg-type]
        (
            {"1": [Hit("a", "1")]},  # type: ignore[arg-type]
            "run: the score of 'a' for query '1' is not a finite number",
        ),
    ],
)
def test_what_is_no_run_is_refused(run: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as refused:
        factseek.evaluate(run, QRELS, ["AP"])
    assert refused.value.line == message
    with pytest.raises(QueryError) as refused:
        factseek.write_run(run, tmp_path / "run", "tag")
    assert refused.value.line == message
    with pytest.raises(QueryError) as refused:
        factseek.compare({"good": RUN, "bad": run}, QRELS, ["AP"])
    assert refused.value.line == message.replace("run:", "run 'bad':", 1)


def test_a_run_of_other_queries_has_no_figures() -> None:
    with pytest.raises(CheckFailed) as refused:
        factseek.evaluate({"claim 1": RUN["1"]}, QRELS, ["AP"])
    assert refused.value.line == (
        "run: no query in common with the judgements: the judgements have '1', the run 'claim 1'"
    )


def test_queries_without_judgements_are_noted_in_a_comparison() -> None:
    run = {**RUN, "9": RUN["1"]}
    comparison = factseek.compare({"one": RUN, "more": run}, QRELS, ["AP"])
    assert comparison.notes == (
        "more: left out because not judged: 1 of the run's 3, such as query '9'",
    )
