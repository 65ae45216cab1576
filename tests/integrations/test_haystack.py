"""Haystack's component: in a pipeline, saved and loaded, with Haystack's filters and errors."""

import copy
import pickle
from typing import Any

import pytest

from factseek import Hit, Searcher
from tests.integrations.conftest import QUERY

pytest.importorskip("haystack", reason="factseek[haystack] is not installed")

from haystack import Pipeline
from haystack.errors import FilterError
from haystack.utils import Secret

from factseek.integrations.haystack import FactseekRetriever

pytestmark = pytest.mark.real  # importing the library takes seconds

IN_MODULE = "factseek.integrations.haystack"


def piped(component: FactseekRetriever) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", component)
    return pipeline


def condition(field: str, operator: str, value: object) -> dict[str, object]:
    return {"field": field, "operator": operator, "value": value}


def test_documents_are_the_hits_with_all_that_they_say(
    index: str, searcher: Searcher, hits: list[Hit]
) -> None:
    documents = piped(FactseekRetriever(index, top_k=3)).run({"retriever": {"query": QUERY}})[
        "retriever"
    ]["documents"]
    evidence = searcher.evidence(QUERY, hits)
    assert [(document.id, document.content, document.score) for document in documents] == [
        (f"{hit.docid}#{hit.passage.number}", hit.passage.text, hit.score) for hit in evidence
    ]
    assert documents[0].meta["source"] == "www.who.int"
    assert documents[0].meta["docid"] == "EX-EN-01-0007-001"


def test_a_saved_pipeline_is_the_same_again(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTSEEK_KEY", "fs_secret")
    filters = condition("meta.kind", "==", "snippets")
    saved = piped(
        FactseekRetriever(
            str(folder), filters, 2, retriever="bm25", api_key=Secret.from_env_var("FACTSEEK_KEY")
        )
    ).dumps()
    assert "fs_secret" not in saved
    loaded = Pipeline.loads(saved, allowed_modules=[IN_MODULE])
    assert loaded.dumps() == saved
    assert [
        document.id
        for document in loaded.run({"retriever": {"query": QUERY}})["retriever"]["documents"]
    ] == [
        document.id
        for document in FactseekRetriever(str(folder), filters, 2).run(QUERY)["documents"]
    ]


def test_filters_of_a_run_take_the_place_of_the_components_own(index: str) -> None:
    component = FactseekRetriever(index, filters=condition("meta.kind", "==", "snippets"), top_k=3)
    assert {hit.meta["kind"] for hit in component.run("coronavirus patients")["documents"]} == {
        "snippets"
    }
    filters = {
        "operator": "AND",
        "conditions": [
            condition("meta.kind", "in", ["cord19", "claims"]),
            condition("meta.date", "<=", "2020-03-31"),
        ],
    }
    documents = component.run("coronavirus patients", filters=filters, top_k=5)["documents"]
    assert {hit.meta["kind"] for hit in documents} == {"cord19"}
    assert max(hit.meta["date"] for hit in documents) <= "2020-03-31"
    assert component.run(QUERY, top_k=0) == {"documents": []}


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (condition("meta.kind", "!=", "cord19"), "meta.kind is compared by '==' or 'in', not '!='"),
        (condition("meta.date", "==", "2020"), "meta.date is compared by '<=' or '>=' with a day"),
        (condition("meta.date", "<=", ""), "meta.date <= is empty; give a day, month or year"),
        ({"operator": "OR", "conditions": []}, "operator 'OR' is not supported"),
        (
            {"operator": "AND", "conditions": [condition("kind", "==", "a")] * 2},
            "meta.kind is compared twice",
        ),
        (
            {"operator": "AND", "conditions": [condition("date", "<=", "2020")] * 2},
            "meta.date is bounded twice",
        ),
    ],
)
def test_a_filter_that_cannot_be_asked_for_raises_haystacks_error(
    filters: dict[str, Any], message: str
) -> None:
    with pytest.raises(FilterError, match=message):
        FactseekRetriever("anywhere", filters=filters)


def test_what_makes_no_sense_raises_value_error(index: str) -> None:
    with pytest.raises(ValueError, match="k 0 is out of range; give a number, 1 or more"):
        FactseekRetriever(index, top_k=0)
    with pytest.raises(ValueError, match="top_k must be greater than or equal to 0, but got -1"):
        FactseekRetriever(index).run(QUERY, top_k=-1)
    with pytest.raises(ValueError, match="there is no field 'colour'"):
        FactseekRetriever(index).run(QUERY, filters=condition("meta.colour", "==", "red"))


def test_a_copy_opens_the_index_again(index: str) -> None:
    retriever = FactseekRetriever(index, condition("meta.kind", "==", "snippets"), top_k=2)
    expected = retriever.run(QUERY)
    copies = [copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))]
    retriever.close()
    for each in copies:
        assert each.run(QUERY) == expected
        each.close()
