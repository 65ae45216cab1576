"""PyTerrier's transformer: frames in and out, composed, compiled, evaluated by pt.Experiment; no
Terrier is started.
"""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import factseek
from factseek import Searcher

pytest.importorskip("pyterrier", reason="factseek[pyterrier] is not installed")

import pandas as pd
import pyterrier as pt

from factseek.integrations.pyterrier import FactseekTransformer

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore::DeprecationWarning:pyterrier")]


@pytest.fixture(scope="module")
def topics(examples: Path) -> pd.DataFrame:
    return pd.DataFrame(
        [(query.qid, query.text) for query in factseek.read_queries(examples / "queries-en.tsv")],
        columns=["qid", "query"],
    )


def rows(frame: pd.DataFrame) -> list[tuple[str, str, float, int]]:
    return list(frame[["qid", "docno", "score", "rank"]].itertuples(index=False, name=None))


def test_a_frame_is_a_run_of_ours(index: str, searcher: Searcher, topics: pd.DataFrame) -> None:
    queries = [factseek.Query(*row) for row in topics.itertuples(index=False, name=None)]
    run = factseek.run(searcher, queries, retriever="bm25", k=7)
    frame = FactseekTransformer(index, "bm25", num_results=7)(topics)
    assert rows(frame) == [
        (qid, hit.docid, float(np.float32(hit.score)), rank)
        for qid, hits in run.items()
        for rank, hit in enumerate(hits)
    ]
    assert list(frame.columns) == ["qid", "query", "docno", "score", "rank"]


def test_a_cutoff_is_asked_for_and_not_cut(index: str) -> None:
    compiled = (FactseekTransformer(index, "bm25") % 3).compile()
    assert repr(compiled) == f"FactseekTransformer({index!r}, 'bm25', num_results=3)"
    strict = FactseekTransformer(index, num_results=2)
    assert (strict % 3).compile() is strict


def test_a_missing_query_has_no_documents(index: str) -> None:
    frame = pd.DataFrame(
        [("1", None), ("2", float("nan")), ("3", "smallpox")], columns=["qid", "query"]
    )
    assert set(FactseekTransformer(index, "bm25")(frame)["qid"]) == {"3"}


def test_an_experiment_gives_our_figures(
    index: str, searcher: Searcher, topics: pd.DataFrame, examples: Path
) -> None:
    qrels = factseek.read_qrels(examples / "qrels-en.txt")
    judged = pd.DataFrame(
        [(qid, docid, grade) for qid, grades in qrels.items() for docid, grade in grades.items()],
        columns=["qid", "docno", "label"],
    )
    queries = [factseek.Query(*row) for row in topics.itertuples(index=False, name=None)]
    run = factseek.run(searcher, queries, retriever="bm25", k=100)
    means = factseek.evaluate(run, qrels, ["nDCG@10", "RR@5", "AP"]).means()
    table = pt.Experiment(
        [FactseekTransformer(index, "bm25", num_results=100)],
        topics,
        judged,
        [pt.measures.nDCG @ 10, pt.measures.RR @ 5, pt.measures.AP],
        names=["bm25"],
    )
    assert {name: table[name][0] for name in means} == pytest.approx(means)
    assert means["nDCG@10"] > 0.3
    assert not pt.java.started()


def test_what_makes_no_sense_raises_what_pyterrier_raises(index: str) -> None:
    with pytest.raises(pt.validate.InputValidationError):
        FactseekTransformer(index)(pd.DataFrame([("1", "x")], columns=["qid", "text"]))
    for options, message in [
        (
            {"metadata": ["colour"]},
            "metadata 'colour': there is no such field; the fields are text",
        ),
        ({"colour": "red"}, "there is no argument 'colour'; use one of retriever"),
        ({"num_results": 0}, "k 0 is out of range"),
        ({"retriever": "dense"}, "dense"),
    ]:
        with pytest.raises(ValueError, match=message):
            FactseekTransformer(index, **options).search("smallpox")


def test_a_copy_opens_the_index_again(index: str, topics: pd.DataFrame) -> None:
    transformer = FactseekTransformer(index, num_results=5, metadata=["text"])
    expected = transformer.transform(topics)
    copies = [copy.deepcopy(transformer), pickle.loads(pickle.dumps(transformer))]
    transformer.close()
    for each in copies:
        pd.testing.assert_frame_equal(each.transform(topics), expected)
        each.close()
