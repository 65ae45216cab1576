"""An index in shards answers what one index of the same documents answers, to the byte."""

import os
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from factseek.core.domain import Hit
from factseek.core.errors import NotFoundError, QueryError
from factseek.retrieval.config import BM25Settings
from factseek.retrieval.filters import FIELDS
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from tests.retrieval.index.conftest import CONFIG, DECLARED, GONE, documents
from tests.retrieval.index.test_whole_rankings import QUERIES, SEARCHES

pytestmark = pytest.mark.real  # it compares whole indexes, many times
EXAMPLES = int(os.environ.get("FACTSEEK_EXAMPLES", "50"))
PROPERTY = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PAGES = st.fixed_dictionaries(
    {
        "k": st.integers(1, 60),
        "offset": st.integers(0, 50),
        "bm25": st.sampled_from([None, BM25Settings(k1=1.2, b=0.75)]),
    }
)
WORDS = st.sampled_from(
    [*QUERIES, "meazles vacine", "naurse at scool", "nowhere", "Vaccines contain microchips"]
)


def answered(index: Index, query: str, asked: Search) -> bytes:
    hits = index.search([query], asked)[0]
    plain = replace(asked, stages=(), collapse=None, sort=None, offset=0)
    answer: dict[str, Any] = {
        "hits": hits,
        "columns": index.columns([query, "ocean"], asked),
        "total": index.count(query, plain),
        "facets": index.facets(query, dict.fromkeys((*FIELDS, "year", *DECLARED), 3), plain),
        "evidence": index.evidence(query, hits, asked),
        "weights": index.word_weights(query, hits[:5], asked),
        "spellings": index.spellings(query, asked),
        "note": index.note(query, asked),
        "related": index.plan(asked).relatedness(query, hits),
        "absent_words": index.plan(asked).absent_words(query),
    }
    return msgspec.json.encode(answer)


@PROPERTY
@given(query=WORDS, asked=SEARCHES, page=PAGES)
def test_answers_are_as_of_one(
    whole: Index, sharded: Index, query: str, asked: Search, page: dict[str, Any]
) -> None:
    asked = replace(asked, **page)
    assert answered(sharded, query, asked) == answered(whole, query, asked)


@PROPERTY
@given(
    docid=st.sampled_from([each.docid for each in documents() if each.docid not in GONE]),
    asked=SEARCHES,
)
def test_more_like_a_document_is_that_of_one_index(
    whole: Index, sharded: Index, docid: str, asked: Search
) -> None:
    (query, there), (of_shards, asked_of_shards) = (
        whole.like(docid, asked),
        sharded.like(docid, asked),
    )
    # Queries have no equality of their own, because they may hold arrays; these hold none.
    assert msgspec.structs.astuple(query) == msgspec.structs.astuple(of_shards)
    assert there == asked_of_shards
    assert msgspec.json.encode(sharded.search([of_shards], there)) == msgspec.json.encode(
        whole.search([query], there)
    )


def test_documents_are_found_wherever_they_lie(whole: Index, sharded: Index) -> None:
    order = sorted(document.docid for document in whole.documents())
    assert sorted(document.docid for document in sharded.documents()) == order
    assert sorted(sharded.docids()) == sorted(whole.docids())
    for docid in order:
        assert sharded.document(docid) == whole.document(docid)
        assert sharded.passages(docid) == whole.passages(docid)
    assert (sharded.info.documents, sharded.info.passages) == (
        whole.info.documents,
        whole.info.passages,
    )
    assert sharded.info.retrievers == whole.info.retrievers


def test_what_one_index_refuses_shards_refuse_in_the_same_words(
    whole: Index, sharded: Index
) -> None:
    refused = [
        (QueryError, lambda index: index.search(["!?"])),
        (QueryError, lambda index: index.search(["ice"], Search(retriever="sparse"))),
        (QueryError, lambda index: index.facets("ice", {"nowhere": 3})),
        (NotFoundError, lambda index: index.document(sorted(GONE)[0])),
        (NotFoundError, lambda index: index.passages("nowhere")),
        (NotFoundError, lambda index: index.evidence("ice", [Hit("d1", 1.0, 99)])),
        (NotFoundError, lambda index: index.like("nowhere")),
    ]  # fmt: skip
    for error, call in refused:
        messages = []
        for index in (whole, sharded):
            with pytest.raises(error) as raised:
                call(index)
            messages.append(raised.value.what)
        assert messages[0] == messages[1]


def test_words_have_the_idf_of_all_shards(whole: Index, sharded: Index) -> None:
    config = replace(CONFIG, impact=replace(CONFIG.impact, queries="idf"))
    asked = Search(retriever="impact", k=60)
    answers, explained = [], []
    for index in (whole, sharded):
        with Index(index.info.place, config) as opened:
            plan = opened.plan(asked)
            terms = [plan.impact_weights(query, *plan.hits([query])) for query in QUERIES]
            answers.append([answered(opened, query, asked) for query in QUERIES])
            explained.append(terms)
    assert answers[0] == answers[1]
    assert explained[0] == explained[1]
    assert len(msgspec.json.decode(answers[0][0])["hits"]) > 20
