"""What every retriever promises, over one small index: a new retriever's file is tested too, unless
it reads a view that this index lacks.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from factseek.core.deadline import CutOffError, Deadline
from factseek.core.domain import Filter
from factseek.core.records.runs import best_documents
from factseek.retrieval import retrievers
from factseek.retrieval.encoders.opening import SharedEncoders
from factseek.retrieval.retrievers import Retriever
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.opening import open_state
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.prepared_query import PreparedQuery

QUERIES = ["measles vaccination", "the sea and ice", "ocean", "zebra", "日本"]
ENGLISH = Filter(language=("en",))


@pytest.fixture(params=retrievers.names())
def name(request: pytest.FixtureRequest, small: Index) -> str:
    """The name of a retriever that the small index has."""
    retriever: str = request.param
    if retrievers.missing(retriever, small.info.published, small.settings):
        pytest.skip("the small index has no view for it")
    return retriever


@pytest.fixture
def opened(name: str, small: Index, written: Path) -> Iterator[Retriever]:
    with (
        closing(SharedEncoders(small.settings.encoder)) as encoders,
        closing(open_state(written.parent / "index", small.settings, encoders)) as state,
    ):
        yield state.ranking(name, small.settings)


def test_scores_are_float32_values_in_the_total_order(name: str, small: Index) -> None:
    for hits in small.search(QUERIES, Search(retriever=name, k=20)):
        scores = [hit.score for hit in hits]
        for score in scores:
            rounded = np.float32(score)
            # The value itself, or the shortest number that is read as the same value.
            assert score in (float(rounded), float(str(rounded)))
        ranked = [(np.float32(hit.score), hit.docid) for hit in hits]
        assert ranked == sorted(ranked, reverse=True)  # equal scores are in the order of docids


def test_fewer_hits_are_the_first_of_more(name: str, small: Index) -> None:
    if retrievers.fusing(name):
        pytest.skip("a fusion takes as many hits of its rankings as it needs")
    few, many = (small.search(QUERIES, Search(retriever=name, k=k)) for k in (3, 20))
    assert few == [hits[:3] for hits in many]


def test_a_query_has_the_same_hits_alone_and_in_a_batch(name: str, small: Index) -> None:
    options = Search(retriever=name, k=20)
    assert small.search(QUERIES, options) == [small.search([text], options)[0] for text in QUERIES]


def test_a_filter_leaves_out_documents_and_changes_no_score(name: str, small: Index) -> None:
    if retrievers.fusing(name) or "+" in name:
        pytest.skip("ranks, and the documents that expand a query, follow the filter")
    everything = Search(retriever=name, k=200)
    for all_hits, hits in zip(
        small.search(QUERIES, everything),
        small.search(QUERIES, replace(everything, where=ENGLISH)),
        strict=True,
    ):
        english = [hit for hit in all_hits if small.document(hit.docid).language == "en"]
        assert [(hit.docid, hit.score) for hit in hits] == [
            (hit.docid, hit.score) for hit in english
        ]


def test_documents_are_those_of_the_hits(opened: Retriever) -> None:
    queries = [PreparedQuery(text=text) for text in QUERIES]
    for hits, found in zip(opened.search(queries, 20), opened.columns(queries, 20), strict=True):
        docids, scores = best_documents(hits)
        assert list(found.docids) == list(docids)
        assert np.allclose(found.scores, scores, rtol=1e-6, atol=0)


def test_a_limit_that_has_passed_ends_the_search(name: str, opened: Retriever) -> None:
    with ThreadPoolExecutor(1) as beside:
        limit = Deadline(-1.0, beside)
        with pytest.raises(CutOffError):
            opened.search([PreparedQuery(text=QUERIES[0])], 5, limit=limit)
    assert limit.missing
