"""LangChain's retriever: documents with all that a hit says, as a runnable, and its errors."""

import asyncio
import copy
import pickle

import pytest

from factseek import Hit, Searcher
from tests.integrations.conftest import QUERY

pytest.importorskip("langchain_core", reason="factseek[langchain] is not installed")

from langchain_core.documents import Document
from langchain_core.exceptions import LangChainException
from langchain_core.runnables import ConfigurableField, RunnableLambda
from pydantic import ValidationError

from factseek.integrations.langchain import FactseekRetriever

pytestmark = pytest.mark.real  # importing the library takes seconds


def test_documents_are_the_hits_with_all_that_they_say(
    index: str, searcher: Searcher, hits: list[Hit]
) -> None:
    documents = FactseekRetriever(index=index, k=3).invoke(QUERY)
    evidence = searcher.evidence(QUERY, hits)
    assert [(document.id, document.page_content) for document in documents] == [
        (hit.docid, hit.passage.text) for hit in evidence
    ]
    assert [document.metadata["score"] for document in documents] == [hit.score for hit in hits]
    first = documents[0].metadata
    assert first["docid"] == evidence[0].docid == "EX-EN-01-0007-001"
    assert (first["source"], first["url"]) == (
        "www.who.int",
        "https://www.who.int/health-topics/smallpox",
    )
    assert first["metadata"] == {"page": "EX-EN-01-0007"}
    words = [documents[0].page_content[start:end] for start, end in first["highlights"]]
    assert words == ["smallpox", "eradicated"]


def test_it_is_a_runnable_in_a_chain_and_asynchronous(index: str) -> None:
    def docids(documents: list[Document]) -> list[str]:
        return [str(document.id) for document in documents]

    retriever = FactseekRetriever(index=index, k=1)
    chain = retriever | RunnableLambda(docids)
    assert chain.batch([QUERY, "Pluto is a planet"]) == [
        ["EX-EN-01-0007-001"],
        ["EX-EN-03-0001-001"],
    ]

    async def asked() -> list[list[Document]]:
        return [await retriever.ainvoke(QUERY), *await retriever.abatch([QUERY] * 4)]

    assert [docids(documents) for documents in asyncio.run(asked())] == [["EX-EN-01-0007-001"]] * 5


def test_what_cannot_be_searched_for_raises_langchains_error(index: str) -> None:
    for choices, message in [
        ({"retriever": "dense"}, "dense"),
        (
            {"as_of": "yesterday"},
            "'yesterday' is not a date of the form 2020-03-01, 2020-03 or 2020",
        ),
    ]:
        with pytest.raises(LangChainException, match=message):
            FactseekRetriever(index=index, **choices).invoke(QUERY)  # type: ignore[arg-type]


def test_what_is_given_with_a_call_or_bound_takes_the_place_of_its_own(index: str) -> None:
    retriever = FactseekRetriever(index=index, k=5, filter={"kind": "snippets"})
    all_of_them = retriever.invoke(QUERY)
    assert retriever.invoke(QUERY, k=2) == retriever.bind(k=2).invoke(QUERY) == all_of_them[:2]
    assert (
        retriever.bind(k=3).invoke(QUERY, {"tags": ["mine"]}, k=1, verbose=True) == all_of_them[:1]
    )
    assert retriever.batch([QUERY], k=1) == [all_of_them[:1]]
    assert asyncio.run(retriever.ainvoke(QUERY, k=1)) == all_of_them[:1]
    assert {
        found.metadata["kind"]
        for found in retriever.invoke("coronavirus", filter={"kind": "cord19"})
    } == {"cord19"}
    assert (
        max(
            found.metadata["date"] for found in retriever.invoke("vaccine", as_of="2015", filter={})
        )
        < "2016"
    )
    chosen = retriever.configurable_fields(k=ConfigurableField("k"))
    assert chosen.invoke(QUERY, {"configurable": {"k": 1}}) == all_of_them[:1]
    assert retriever.invoke(QUERY) == all_of_them


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "k\n.*greater than or equal to 1"),
        ({"asof": "2015"}, "asof\n.*Extra inputs are not permitted"),
        ({"filter": "kind=cord19"}, "filter\n.*valid dictionary"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(
    index: str, given: dict[str, object], message: str
) -> None:
    retriever = FactseekRetriever(index=index)
    for ask in (
        lambda: FactseekRetriever(index=index, **given),  # type: ignore[arg-type]
        lambda: retriever.invoke(QUERY, **given),
        lambda: retriever.bind(**given).invoke(QUERY),
        lambda: asyncio.run(retriever.ainvoke(QUERY, **given)),
    ):
        with pytest.raises(ValidationError, match=message):
            ask()


def test_a_copy_opens_the_index_again(index: str) -> None:
    retriever = FactseekRetriever(index=index, k=2, filter={"kind": "snippets"})
    expected = retriever.invoke(QUERY)
    copies = [
        copy.deepcopy(retriever),
        pickle.loads(pickle.dumps(retriever)),
        retriever.model_copy(deep=True),
    ]
    retriever.close()
    for each in copies:
        assert each.invoke(QUERY) == expected
        each.close()
    assert copy.deepcopy(retriever.bind(k=1)).invoke(QUERY) == expected[:1]
