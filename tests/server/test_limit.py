"""A search that takes too long is cut off, and its answer says what is missing."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.core.deadline import Deadline
from factseek.retrieval.encoders.endpoint import EndpointError
from factseek.retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.server.mcp import AgentTools
from factseek.server.runtime import REGISTRY
from factseek.server.settings import ServerSettings
from factseek.settings import Config

LIMIT = 1.0
CSV = "text/csv"
CUT_OFF = {"bm25": "complete", "dense": "cut off"}


class Stuck:
    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder
        self.free = threading.Event()

    def encode_query(self, texts: Sequence[str]) -> Any:
        assert self.free.wait(60)
        return self._encoder.encode_query(texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck(open_onnx_encoder(Config().encoder))
    yield made
    made.free.set()


@pytest.fixture
def client(folders: dict[str, Path], stuck: Stuck) -> Iterator[FlaskClient]:
    config = Config(server=ServerSettings(search_seconds=LIMIT, adapters={"serper": ""}))
    with Index(folders["english"], config, encoders=lambda made_by, place: stuck) as index:
        index.search(["measles"], Search(retriever="bm25"))
        yield create_app(config, {"english": index}).test_client()
        stuck.free.set()


class Gone(Stuck):
    """An encoder behind an address that does not answer."""

    def encode_query(self, texts: Sequence[str]) -> Any:
        raise EndpointError("does not answer: connection refused", place="http://127.0.0.1:9/v1")


def test_words_answer_where_an_endpoint_does_not(folders: dict[str, Path], stuck: Stuck) -> None:
    gone = Gone(stuck._encoder)
    config = Config(server=ServerSettings(search_seconds=30))
    with Index(folders["english"], config, encoders=lambda made_by, place: gone) as index:
        answer = search(create_app(config, {"english": index}).test_client(), "hybrid")
    assert answer.status_code == 200
    assert answer.json["coverage"] == CUT_OFF
    assert [hit["docid"] for hit in answer.json["hits"]][:1] == ["measles"]


def search(client: FlaskClient, retriever: str) -> Any:
    return client.post(
        "/v1/english/search", json={"query": "measles vaccine", "retriever": retriever}
    )


def until(fits: Callable[[Any], object], ask: Callable[[], Any]) -> Any:
    """Ask until the answer fits: on a busy machine what is not stuck may be late too, and then says
    so.
    """
    answers = []
    for _ in range(30):
        answers.append(ask())
        if fits(answers[-1]):
            return answers[-1]
    raise AssertionError(answers)


def in_time(ask: Callable[[], Any]) -> Any:
    return until(
        lambda answer: "hits" in answer and answer.get("coverage", CUT_OFF)["bm25"] == "complete",
        ask,
    )


def test_what_came_in_time_is_answered_and_what_did_not_is_named(
    client: FlaskClient, stuck: Stuck
) -> None:
    sparse = in_time(lambda: search(client, "bm25").json)
    assert "coverage" not in sparse
    hybrid = in_time(lambda: search(client, "hybrid").json)
    assert hybrid["coverage"] == CUT_OFF
    assert [hit["docid"] for hit in hybrid["hits"]] == [hit["docid"] for hit in sparse["hits"]]
    simple = in_time(lambda: client.get("/v1/english/search?query=measles&retriever=hybrid").json)
    assert simple["coverage"] == CUT_OFF
    page = "/export?index=english&query=measles&retriever=hybrid&format=csv"
    assert (
        until(
            lambda answer: answer.headers.get("X-Cut-Off") == "dense", lambda: client.get(page)
        ).mimetype
        == CSV
    )
    late = "dense took too long, so the answer would be incomplete; try again"
    adapted = until(
        lambda answer: late in answer.text,
        lambda: client.post("/serper/search", json={"q": "measles"}),
    )
    assert adapted.status_code == 503
    tools = AgentTools(client.application.extensions[REGISTRY], None)
    note = "dense took too long, so hits may be missing"
    until(lambda result: result.note == note, lambda: tools.search("measles vaccine", "english"))
    verified = client.get(
        "/verify?index=english&claim=measles+vaccine", headers={"Accept": "text/html"}
    )
    assert (verified.status_code, "took longer than the time limit" in verified.text) == (503, True)
    stuck.free.set()
    whole = until(
        lambda answer: "hits" in answer and "coverage" not in answer,
        lambda: search(client, "hybrid").json,
    )
    assert all("dense" in hit["retrievers"] for hit in whole["hits"][:1])


def test_nothing_in_time_is_an_error_that_says_so(client: FlaskClient) -> None:
    answer = search(client, "dense")
    assert (answer.status_code, answer.json["error"], answer.headers["Retry-After"]) == (
        503,
        "timed-out",
        "5",
    )
    assert (
        answer.json["detail"] == "dense took longer than the time limit of the search (1 seconds)"
    )


def test_a_query_of_a_batch_says_it_for_itself(client: FlaskClient) -> None:
    body = {"queries": [{"qid": "a", "text": "measles"}], "retriever": "hybrid"}

    def asked() -> Any:
        with client.post("/v1/english/search/batch", json=body) as answer:
            return json.loads(answer.data)["results"][0]

    result = in_time(asked)
    assert (result["coverage"], bool(result["hits"])) == (CUT_OFF, True)
    with client.post("/v1/english/search/batch", json={**body, "retriever": "dense"}) as answer:
        (result,) = json.loads(answer.data)["results"]
    assert (result["error"], result["detail"]) == (
        "timed-out",
        "dense took longer than the time limit of the search",
    )
    with client.post(
        "/v1/english/search/batch", json=body, headers={"Accept": "text/plain"}
    ) as answer:
        assert (answer.data, answer.headers["X-Failed-Queries"]) == (b"", "1")


def test_late_evidence_has_no_highlights_and_says_so(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(self: Deadline, part: str) -> bool:
        self.cut_off(part)
        return True

    whole = in_time(lambda: search(client, "bm25").json)
    assert any(hit["passage"]["highlights"] for hit in whole["hits"])
    monkeypatch.setattr(Deadline, "is_over", over)
    answer = in_time(lambda: search(client, "bm25").json)
    assert answer["coverage"] == {"bm25": "complete", "highlights": "cut off"}
    assert [hit["docid"] for hit in answer["hits"]] == [hit["docid"] for hit in whole["hits"]]
    assert not any(hit["passage"]["highlights"] for hit in answer["hits"])
    body = {"queries": [{"qid": "a", "text": "measles"}], "retriever": "bm25"}
    with client.post("/v1/english/search/batch", json=body) as batch:
        assert json.loads(batch.data)["results"][0]["coverage"] == {
            "bm25": "complete",
            "highlights": "cut off",
        }
    page = client.get("/?index=english&query=measles&view=side", headers={"Accept": "text/html"})
    assert "This list lacks highlights, which took too long." in page.text
