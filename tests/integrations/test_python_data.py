"""Documents, queries and judgements that a Python program has already are taken as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import factseek
from factseek import Document, Hit, Query, QueryError, Searcher
from factseek.core.errors import UsageError

DOCUMENTS = [
    Document("a", "Measles vaccination prevents deaths.", "Measles", date="2020-03-01"),
    Document("b", "The sea level rises.", metadata={"author": "Ada"}),
]
QRELS = {"1": {"a": 1, "b": 0}, "2": {"b": 2}}
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
        "queries: there is no column qid or query_id or query-id or id or _id: there are number, "
        "text"
    )


def test_judgements_of_any_form_give_the_same_figures() -> None:
    rows = [(qid, docid, grade) for qid, judged in QRELS.items() for docid, grade in judged.items()]
    expected = factseek.evaluate(RUN, QRELS, ["nDCG@10", "AP"]).means()
    forms = (
        [TrecQrel(*row, "0") for row in rows],
        iter([TrecQrel(*row, "0") for row in rows]),
        pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(rows, columns=["qid", "docno", "label"]),
    )
    for qrels in forms:
        assert factseek.evaluate(RUN, qrels, ["nDCG@10", "AP"]).means() == expected
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    compared = factseek.compare({"one": RUN, "other": RUN}, frame, ["AP"])
    assert compared.means["AP"]["one"].mean == expected["AP"]


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
