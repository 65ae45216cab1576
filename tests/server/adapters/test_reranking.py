"""The routes that re-rank, over a real CrossEncoder: golden requests and answers, and the other
sides' own clients.
"""

import json
from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.retrieval.encoders.cross_encoder import OnnxCrossEncoder
from factseek.retrieval.search.index import Index
from factseek.retrieval.stages.rerank import RerankSettings
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.served import serve
from tests.small_models import small_cross_encoder

pytestmark = pytest.mark.real

QUERY = "Measles vaccination prevents deaths"
TEXTS = [
    "The Nile is the longest river of Africa.",
    "Vaccination against measles prevented millions of deaths.",
    "Vitamin C does not prevent the common cold.",
]
BODIES: dict[str, dict[str, Any]] = {
    "/cohere/v2/rerank": {"model": "rerank-v3.5", "query": QUERY, "documents": TEXTS},
    "/jina/v1/rerank": {"query": QUERY, "documents": TEXTS},
    "/tei/rerank": {"query": QUERY, "texts": TEXTS},
    "/routir/score": {"service": "rerank", "query": QUERY, "passages": TEXTS},
    "/search-r1/rerank": {
        "queries": [QUERY],
        "documents": [[{"contents": f'""\n{text}'} for text in TEXTS]],
    },
}


class Reranking(NamedTuple):
    client: FlaskClient
    model: OnnxCrossEncoder
    settings: RerankSettings

    def scores(self, query: str, texts: list[str]) -> list[tuple[int, float]]:
        scored = [(number, self.model.score(query, text)) for number, text in enumerate(texts)]
        return sorted(scored, key=lambda pair: -pair[1])


@pytest.fixture(scope="module")
def reranking(
    speaking: Config, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reranking]:
    work = tmp_path_factory.mktemp("reranking")
    settings = RerankSettings(model=str(small_cross_encoder()), cache=str(work / "cache"))
    config = msgspec.structs.replace(speaking, plugins=(settings,))
    with Index(folders["english"], config) as index:
        client = create_app(config, {"english": index}).test_client()
        yield Reranking(client, OnnxCrossEncoder(settings), settings)


def logistic(score: float) -> float:
    return 1 / (1 + exp(-score))


@pytest.mark.parametrize("address", sorted(BODIES))
def test_without_a_model_the_route_says_so(asked: FlaskClient, address: str) -> None:
    answer = asked.post(address, json=BODIES[address])
    message = (
        "this server has no re-ranker: set rerank.model to a CrossEncoder of "
        "sentence-transformers on this machine"
    )
    told: dict[str, Any] = {
        "/cohere/v2/rerank": {"id": answer.headers["X-Request-Id"], "message": message},
        "/jina/v1/rerank": {"detail": message},
        "/routir/score": {"error": message},
        "/search-r1/rerank": {"detail": message},
        "/tei/rerank": {
            "error": f"model is not a re-ranker model: {message}",
            "error_type": "Backend",
        },
    }
    assert answer.json == told[address]
    assert answer.status_code == (424 if address == "/tei/rerank" else 503)


@pytest.mark.parametrize(
    ("address", "change", "status", "message"),
    [
        ("/cohere/v2/rerank", {"top_n": 0}, 400, "top_n: expected int >= 1"),
        ("/jina/v1/rerank", {"documents": [{}]}, 422, "documents[0].text: is missing"),
        ("/tei/rerank", {"texts": []}, 400, "texts: cannot be empty"),
        ("/tei/rerank", {"texts": ["a"] * 6}, 413, "batch size 6 > maximum allowed batch size 5"),
        ("/search-r1/rerank", {"documents": []}, 422, "documents: there are 0 lists for 1 queries"),
    ],
)
def test_what_makes_no_sense_is_refused_as_the_original_does(
    asked: FlaskClient, address: str, change: dict[str, Any], status: int, message: str
) -> None:
    answer = asked.post(address, json={**BODIES[address], **change})
    assert (answer.status_code, message_of(answer.json)) == (status, message)


def message_of(answer: dict[str, Any]) -> str:
    said = answer.get("message") or answer.get("error") or answer["detail"]
    return said if isinstance(said, str) else said[0]["msg"]


def test_cohere_ranks_by_the_model(reranking: Reranking) -> None:
    expected = reranking.scores(QUERY, TEXTS)
    answer = reranking.client.post("/cohere/v2/rerank", json=BODIES["/cohere/v2/rerank"])
    assert answer.json == {
        "id": answer.headers["X-Request-Id"],
        "results": [
            {"index": index, "relevance_score": pytest.approx(logistic(score))}
            for index, score in expected
        ],
        "meta": {"api_version": {"version": "2"}},
    }
    ranks = [result["index"] for result in answer.json["results"]]
    assert ranks.index(1) < ranks.index(0), "it was taught which of the two answers"
    body = {**BODIES["/cohere/v2/rerank"], "top_n": 1, "return_documents": True}
    (best,) = reranking.client.post("/cohere/v2/rerank", json=body).json["results"]
    assert best["document"] == {"text": TEXTS[expected[0][0]]}


def test_jina_names_the_model_and_counts_its_tokens(reranking: Reranking) -> None:
    documents = [{"text": TEXTS[0]}, *TEXTS[1:]]
    answer = reranking.client.post(
        "/jina/v1/rerank", json={"query": QUERY, "documents": documents, "top_n": 2}
    ).json
    tokens = sum(reranking.model.count_tokens(QUERY, text) for text in TEXTS)
    assert answer == {
        "model": "small-cross-encoder",
        "usage": {"total_tokens": tokens},
        "results": [
            {
                "index": index,
                "relevance_score": pytest.approx(logistic(score)),
                "document": {"text": TEXTS[index]},
            }
            for index, score in reranking.scores(QUERY, TEXTS)[:2]
        ],
    }
    body = {"query": QUERY, "documents": TEXTS, "return_documents": False}
    results = reranking.client.post("/jina/v1/rerank", json=body).json["results"]
    assert [sorted(result) for result in results] == [["index", "relevance_score"]] * 3


def test_tei_gives_raw_scores_and_texts_where_they_are_asked_for(reranking: Reranking) -> None:
    expected = reranking.scores(QUERY, TEXTS)
    body = {"query": QUERY, "texts": TEXTS}
    assert reranking.client.post("/tei/rerank", json=body).json == [
        {"index": index, "score": pytest.approx(logistic(score))} for index, score in expected
    ]
    asked = {**body, "raw_scores": True, "return_text": True, "truncation_direction": "right"}
    assert reranking.client.post("/tei/rerank", json=asked).json == [
        {"index": index, "text": TEXTS[index], "score": pytest.approx(score)}
        for index, score in expected
    ]


def test_tei_cuts_what_is_too_long_unless_that_is_forbidden(reranking: Reranking) -> None:
    body: dict[str, Any] = {"query": QUERY, "texts": [TEXTS[0], "measles " * 200]}
    assert len(reranking.client.post("/tei/rerank", json=body).json) == 2
    assert (
        reranking.client.post(
            "/tei/rerank", json={**body, "texts": TEXTS, "truncate": False}
        ).status_code
        == 200
    )
    refused = reranking.client.post("/tei/rerank", json={**body, "truncate": False})
    assert (refused.status_code, refused.json) == (
        413,
        {
            "error": "texts[1]: is too long for the model together with the query; truncate it",
            "error_type": "Validation",
        },
    )


def test_search_r1_re_ranks_what_it_retrieved(reranking: Reranking) -> None:
    queries = ["measles vaccine doses", "walked on the moon"]
    body = {"queries": queries, "topk": 4, "return_scores": True}
    retrieved = reranking.client.post("/search-r1/retrieve", json=body).json["result"]
    body = {"queries": queries, "documents": retrieved, "return_scores": True}
    result = reranking.client.post("/search-r1/rerank", json=body).json["result"]
    assert [len(documents) for documents in result] == [3, 3]
    for query, before, after in zip(queries, retrieved, result, strict=True):
        contents = [hit["document"]["contents"].partition("\n") for hit in before]
        texts = [f"{title.strip(chr(34))}\n{text}" for title, _, text in contents]
        expected = [
            {"document": before[index]["document"], "score": score}
            for index, score in reranking.scores(query, texts)[:3]
        ]
        assert after == expected
    bare = {**body, "return_scores": False, "rerank_topk": 1}
    expected_bare = [[documents[0]["document"]] for documents in result]
    assert reranking.client.post("/search-r1/rerank", json=bare).json["result"] == expected_bare
    refused = reranking.client.post(
        "/search-r1/rerank", json={"queries": ["a"], "documents": [[{"text": "b"}]]}
    )
    assert (refused.status_code, message_of(refused.json)) == (
        422,
        "documents[0][0]: has no contents",
    )


def test_routirs_own_client(reranking_base: str, reranking: Reranking) -> None:
    routir = pytest.importorskip("routir.client")
    client = routir.Client(f"{reranking_base}/routir", transport="rest")
    try:
        scores = client.score("rerank", QUERY, TEXTS)["scores"]
    finally:
        client.close()
    assert scores == pytest.approx([score for _, score in sorted(reranking.scores(QUERY, TEXTS))])


@pytest.fixture(scope="module")
def reranking_base(
    reranking: Reranking, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    model = json.dumps({"model": reranking.settings.model, "cache": reranking.settings.cache})
    settings = "workers: 1, max_batch: 5, adapters: {cohere: '', jina: '', routir: '', tei: ''}"
    work = tmp_path_factory.mktemp("reranking-server") / "server"
    with serve(folders, work, settings, others=f"rerank: {model}\n") as served:
        yield f"http://127.0.0.1:{served.port}"


def test_coheres_own_client(reranking_base: str, reranking: Reranking) -> None:
    cohere = pytest.importorskip("cohere")
    with cohere.ClientV2(api_key="any", base_url=f"{reranking_base}/cohere") as client:
        ranking = client.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=2)
        with pytest.raises(cohere.BadRequestError) as error:
            client.rerank(model="rerank-v3.5", query=QUERY, documents=[])
    expected = [
        (index, pytest.approx(logistic(score)))
        for index, score in reranking.scores(QUERY, TEXTS)[:2]
    ]
    assert [(result.index, result.relevance_score) for result in ranking.results] == expected
    assert ranking.meta.api_version.version == "2"
    assert error.value.body["message"] == "documents: 1 to 5 texts can be re-ranked at once, not 0"


def test_llamaindexs_client_of_jina(reranking_base: str, reranking: Reranking) -> None:
    jina = pytest.importorskip("llama_index.postprocessor.jinaai_rerank")
    client = jina.JinaRerank(top_n=2, base_url=f"{reranking_base}/jina/v1", api_key="any")
    with client._session:  # the client has no other way to close its connections
        check_postprocessor(client, reranking)


def check_postprocessor(client: Any, reranking: Reranking) -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    nodes = [schema.NodeWithScore(node=schema.TextNode(text=text), score=0.0) for text in TEXTS]
    best = client.postprocess_nodes(nodes, query_str=QUERY)
    expected = [
        (TEXTS[index], pytest.approx(logistic(score)))
        for index, score in reranking.scores(QUERY, TEXTS)[:2]
    ]
    assert [(node.node.get_content(), node.score) for node in best] == expected
