"""LlamaIndex's retriever: nodes with all that a hit says, asynchronous, in a query engine, and its
errors.
"""

import asyncio
import copy
import pickle
from types import MappingProxyType

import pytest

from factseek import Hit, Searcher
from tests.integrations.conftest import QUERY

pytest.importorskip("llama_index.core", reason="factseek[llama-index] is not installed")

from llama_index.core.schema import MetadataMode, NodeRelationship, QueryBundle

from factseek.integrations.llama_index import FactseekRetriever

pytestmark = pytest.mark.real  # importing the library takes seconds


def test_nodes_are_the_hits_with_all_that_they_say(
    index: str, searcher: Searcher, hits: list[Hit]
) -> None:
    nodes = FactseekRetriever(index, similarity_top_k=3).retrieve(QUERY)
    evidence = searcher.evidence(QUERY, hits)
    assert [(node.node_id, node.text, node.score) for node in nodes] == [
        (f"{hit.docid}#{hit.passage.number}", hit.passage.text, hit.score) for hit in evidence
    ]
    first = nodes[0].node
    assert first.relationships[NodeRelationship.SOURCE].node_id == "EX-EN-01-0007-001"
    assert (first.metadata["source"], first.metadata["docid"]) == (
        "www.who.int",
        "EX-EN-01-0007-001",
    )
    read = first.get_content(MetadataMode.LLM)
    assert "source: www.who.int" in read
    assert "score" not in read


def test_it_searches_asynchronously_as_it_does_otherwise(index: str) -> None:
    retriever = FactseekRetriever(index, similarity_top_k=2)

    async def asked() -> list[str]:
        rankings = await asyncio.gather(
            *(retriever.aretrieve(QueryBundle(QUERY)) for _ in range(4))
        )
        return [node.node_id for nodes in rankings for node in nodes]

    assert asyncio.run(asked()) == [node.node_id for node in retriever.retrieve(QUERY)] * 4


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"similarity_top_k": 0}, "k 0 is out of range; give a number, 1 or more"),
        ({"colour": "red"}, "there is no argument 'colour'; use one of retriever, profile, stages"),
        ({"filter": "kind=cord19"}, "filter must be a mapping, and stages a list; write filter="),
        ({"filter": {"topic": [3]}}, "filter topic: 3 is not text"),
        ({"filter": {"topic": []}}, "filter topic is empty; give a value, or leave the field out"),
    ],
)
def test_what_makes_no_sense_raises_value_error(
    index: str, choices: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FactseekRetriever(index, **choices).retrieve(QUERY)  # type: ignore[arg-type]


def test_a_copy_opens_the_index_again(index: str) -> None:
    retriever = FactseekRetriever(
        index, similarity_top_k=2, filter=MappingProxyType({"kind": "snippets"})
    )
    expected = retriever.retrieve(QUERY)
    copies = [copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))]
    retriever.close()
    for each in copies:
        assert each.retrieve(QUERY) == expected
        each.close()
