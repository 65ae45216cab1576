"""An encoder behind an address: a small server on the loopback address answers as real ones do, and
as broken ones do.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import factseek
from factseek.cluster.build import build_shards
from factseek.cluster.coordinator import Gathering
from factseek.core.errors import ConfigError, FactseekError
from factseek.indexer.build import BuildRequest
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders import endpoint
from factseek.retrieval.encoders.encoder import Encoder
from factseek.retrieval.encoders.opening import SharedEncoders, open_encoder
from factseek.retrieval.search.index import Index, open_index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.server.runtime import REGISTRY, IndexReloader
from factseek.server.serve import check
from factseek.settings import Config, convert

DIMENSION = 6
Body = dict[str, Any]
Answer = tuple[int, bytes, dict[str, str]]


def numbers_of(text: str, *, seed: int = 0) -> list[float]:
    """Return a vector that depends on the letters of a text."""
    counts = [0.25 + seed] * DIMENSION
    for letter in text.lower():
        counts[(ord(letter) + seed) % DIMENSION] += 1
    return counts


class Behind:
    """What a server answers, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Body, dict[str, str]]] = []
        self.answers: list[Callable[[Body], Answer]] = []
        self.seed = 0
        self.url = ""

    def answer(self, path: str, body: Body, headers: dict[str, str]) -> Answer:
        self.asked.append((path, body, headers))
        if self.answers:
            return self.answers.pop(0)(body)
        return self.vectors(body)

    def vectors(self, body: Body) -> Answer:
        if "inputs" in body:
            answer: Any = [numbers_of(text, seed=self.seed) for text in body["inputs"]]
        else:
            items = [
                {"index": at, "embedding": numbers_of(text, seed=self.seed), "object": "embedding"}
                for at, text in enumerate(body["input"])
            ]
            # OpenAI numbers them, and promises no order.
            answer = {"object": "list", "data": items[::-1], "model": "m", "usage": {}}
        return 200, json.dumps(answer).encode(), {}


@pytest.fixture
def behind() -> Iterator[Behind]:
    server_state = Behind()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content, headers = server_state.answer(self.path, body, dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server_state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server_state
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_PAUSE", 0.01)


def opened(behind: Behind, path: str = "/v1#m", **settings: Any) -> Encoder:
    return open_encoder(EncoderSettings(model=f"{behind.url}{path}", **settings))


def unit(texts: list[str]) -> Any:
    rows = np.array([numbers_of(text) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    ("address", "path"),
    [("/v1#m", "/v1/embeddings"), ("/v1/embeddings#m", "/v1/embeddings"), ("/embed", "/embed")],
)
def test_both_protocols_give_the_vectors_in_order(address: str, path: str, behind: Behind) -> None:
    encoder = opened(behind, address, query_prompt="query: ", document_prompt="passage: ")
    texts = [f"text {'x' * at}" for at in range(70)]
    np.testing.assert_allclose(
        encoder.encode_document(texts), unit([f"passage: {text}" for text in texts]), atol=1e-6
    )
    np.testing.assert_allclose(encoder.encode_query(["why"]), unit(["query: why"]), atol=1e-6)
    assert {asked[0] for asked in behind.asked} == {path}
    assert encoder.dimension == DIMENSION
    if path != "/embed":
        assert behind.asked[-1][1]["model"] == "m"
    encoder.close()


def test_a_failed_request_is_repeated(behind: Behind) -> None:
    encoder = opened(behind)
    busy = (429, b"slow down", {"Retry-After": "0"})
    behind.answers = [lambda _: busy, lambda _: (503, b"loading", {})]
    np.testing.assert_allclose(encoder.encode_document(["a"]), unit(["a"]), atol=1e-6)
    assert len(behind.asked) == 4  # the probes, two refusals, and the answer


def test_a_query_is_asked_twice_at_most(behind: Behind) -> None:
    encoder = opened(behind)
    behind.answers = [lambda _: (503, b"loading the model", {})] * 9
    with pytest.raises(endpoint.EndpointError) as refused:
        encoder.encode_query(["a"])
    assert refused.value.line == (
        f"{behind.url}/v1/embeddings: answered 503: loading the model; check encoder.model, the "
        "server and its log"
    )
    assert len(behind.asked) == 3


def odd(content: object) -> Callable[[Body], Answer]:
    return lambda _: (200, json.dumps(content).encode(), {})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda _: (401, b"who?", {}),
            "answered 401: who?; set encoder.key_env to the name of the environment variable with "
            "its key",
        ),
        (lambda _: (404, b"no such\nmodel", {}), "answered 404: no such model; check"),
        (
            lambda _: (302, b"", {"Location": "http://127.0.0.1:9/"}),
            "answered 302, a redirect to http://127.0.0.1:9/, and redirects are not followed; set "
            "encoder.model to the address that it leads to, if you trust it",
        ),
        (
            odd({"data": []}),
            "1 texts came back as 0 vectors; check that the server speaks OpenAI's /embeddings; "
            "the address of TEI ends in /embed",
        ),
        (
            odd({"data": [{"index": 0, "embedding": [1.0]}]}),
            "a vector has 1 dimensions, expected 6",
        ),
        (odd({"data": [{"index": 1, "embedding": [1.0]}]}), "repeats or skips an index"),
        (odd({"vectors": []}), "the answer is not a list of vectors (Object missing"),
        (lambda _: (200, b"<html>", {}), "the answer is not a list of vectors (JSON is malformed"),
        (
            lambda _: (200, b'{"data": [{"index": 0, "embedding": [1e999,0,0,0,0,0]}]}', {}),
            "the answer is not a list of vectors (",
        ),
        (
            lambda _: (200, b'{"data": [{"index": 0, "embedding": [1e39,0,0,0,0,0]}]}', {}),
            "a vector has a number that is not finite; let the server compute in fp32 or bf16, or "
            "choose another model",
        ),
        (
            lambda _: (200, b'{"data": [{"index": 0, "embedding": [0,0,0,0,0,0]}]}', {}),
            "returned a vector without a direction",
        ),
        (lambda _: (200, b" " * 100_000, {}), "the answer has more than"),
    ],
)
def test_what_is_no_vector_is_refused(
    answer: Callable[[Body], Answer], message: str, behind: Behind
) -> None:
    encoder = opened(behind)
    behind.answers = [answer]
    with pytest.raises(FactseekError) as refused:
        encoder.encode_document(["a"])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "http://me:secret@127.0.0.1/v1#m",
            "encoder.model: the address of 127.0.0.1 contains a user name; leave it out, and name "
            "the environment variable with the key in encoder.key_env",
        ),
        ("http:///v1#m", "encoder.model: 'http:///v1' has no host"),
        (
            "http://127.0.0.1:9/v1",
            "encoder.model: 'http://127.0.0.1:9/v1' names no model; write "
            "http://127.0.0.1:9/v1#NAME",
        ),
        (
            "http://127.0.0.1:9/v1?key=1#m",
            "encoder.model: 'http://127.0.0.1:9/v1?key=1' has a query; leave out ?…",
        ),
    ],
)
def test_an_address_that_is_none_is_refused(model: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        open_encoder(EncoderSettings(model=model))
    assert refused.value.line == message


def test_a_setting_of_models_that_run_here_is_refused(behind: Behind) -> None:
    with pytest.raises(ConfigError) as refused:
        opened(behind, backend="torch")
    assert refused.value.line == (
        "encoder.backend: torch has no effect: an endpoint decides how its model runs; leave out "
        "encoder.backend"
    )


def test_the_key_comes_from_the_environment(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as refused:
        opened(behind, key_env="SOME_KEY")
    assert refused.value.line == (
        "encoder.key_env: the environment variable that it names is not set; give the name of a "
        "variable here, not the key, and set the variable to the key of the endpoint with export"
    )
    monkeypatch.setenv("SOME_KEY", "s3cret")
    opened(behind, key_env="SOME_KEY").encode_query(["a"])
    assert {headers["Authorization"] for _, _, headers in behind.asked} == {"Bearer s3cret"}


def config_of(behind: Behind, **encoder: Any) -> Config:
    found: Config = convert({"encoder": {"model": f"{behind.url}/v1#m", **encoder}}, "test")
    return found


@pytest.fixture
def folder(behind: Behind, tmp_path: Path) -> Path:
    source = tmp_path / "texts.tsv"
    source.write_text("a\tmeasles vaccine\nb\tsea level rise\nc\tlongest river\n", "utf-8")
    factseek.build("snippets", [source], tmp_path / "index", config=config_of(behind))
    behind.asked.clear()
    return tmp_path / "index"


def test_an_index_is_searched_by_the_endpoint_of_the_configuration(
    folder: Path, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    config = config_of(behind, key_env="SOME_KEY")
    with open_index(folder, config) as index:
        (hits,) = index.search(["sea level rise"], Search(retriever="dense"))
    assert (hits[0].docid, round(hits[0].score, 5)) == ("b", 1.0)
    assert {headers["Authorization"] for _, _, headers in behind.asked} == {"Bearer s3cret"}


def test_an_address_that_only_the_index_names_gets_no_key(
    folder: Path,
    behind: Behind,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    config: Config = convert(
        {"encoder": {"model": "http://127.0.0.1:9/v1#m", "key_env": "SOME_KEY"}}, "test"
    )
    with open_index(folder, config) as index:
        index.search(["sea level rise"], Search(retriever="dense"))
    assert behind.asked
    assert all("Authorization" not in headers for _, _, headers in behind.asked)
    assert [record.getMessage() for record in caplog.records] == [
        f"the vectors come from {behind.url}/v1#m, which the index names and the configuration "
        "does not: it gets the texts to encode, but no key"
    ]


def test_a_server_calls_no_address_that_only_the_index_names(folder: Path, behind: Behind) -> None:
    shared = SharedEncoders(EncoderSettings(), only_configured=True)
    with (
        Index(folder, Config(), encoders=shared) as index,
        pytest.raises(endpoint.EndpointError) as refused,
    ):
        index.search(["sea level rise"], Search(retriever="dense"))
    assert refused.value.line == (
        f"{folder}: its vectors come from {behind.url}/v1#m, and the configuration does not name "
        f"this address; set encoder.model to {behind.url}/v1#m, if you trust it"
    )
    assert not behind.asked


def test_another_model_behind_the_address_is_noticed(folder: Path, behind: Behind) -> None:
    behind.seed = 3
    with (
        open_index(folder, config_of(behind)) as index,
        pytest.raises(endpoint.EndpointError) as refused,
    ):
        index.search(["sea level rise"], Search(retriever="dense"))
    then, now = re.findall("digest of its probes ([0-9a-f]{8})", refused.value.line)
    assert then != now
    assert refused.value.line.endswith(
        "; restore the earlier model, or rebuild the index with --overwrite"
    )


def test_another_model_is_noticed_while_the_index_is_open(
    folder: Path, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_index(folder, config_of(behind)) as index:
        search = Search(retriever="dense")
        index.search(["sea level rise"], search)
        monkeypatch.setattr(endpoint, "PROBE_AGAIN", 0.0)
        behind.seed = 3
        for _ in range(2):
            with pytest.raises(endpoint.EndpointError) as refused:
                index.search(["longest river"], search)
            assert refused.value.line == (
                f"{behind.url}/v1/embeddings: another model answers by now: its vectors of the "
                "same texts differ; start the earlier model again, or rebuild the index with "
                "--overwrite"
            )
        behind.seed = 0
        (hits,) = index.search(["longest river"], search)
        assert hits[0].docid == "c"


def test_an_index_finds_its_model_again_when_it_is_back(folder: Path, behind: Behind) -> None:
    search = Search(retriever="dense")
    with open_index(folder, config_of(behind)) as index:
        behind.seed = 3
        with pytest.raises(endpoint.EndpointError):
            index.search(["longest river"], search)
        behind.seed = 0
        (hits,) = index.search(["longest river"], search)
        assert hits[0].docid == "c"


def test_a_retry_is_logged_during_a_build(behind: Behind, caplog: pytest.LogCaptureFixture) -> None:
    encoder = opened(behind)
    behind.answers = [lambda _: (503, b"loading", {})]
    encoder.encode_document(["a"])
    assert [record.getMessage() for record in caplog.records] == [
        f"{behind.url}/v1/embeddings: answered 503: loading; trying again in 0.01 s (try 2 of 6)"
    ]


def test_a_closed_port_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(endpoint.EndpointError) as refused:
        open_encoder(EncoderSettings(model=f"http://127.0.0.1:{port}/v1#m"), serving=True)
    assert refused.value.line == (
        f"http://127.0.0.1:{port}/v1/embeddings: does not answer: connection refused; check "
        "encoder.model, the server and its log"
    )


def test_a_connection_that_is_closed_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_each() -> None:
            for _ in range(endpoint.TRIES_FOR_QUERIES):
                server.accept()[0].close()

        thread = threading.Thread(target=close_each)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1#m"
        with pytest.raises(endpoint.EndpointError) as refused:
            open_encoder(EncoderSettings(model=address), serving=True)
        thread.join(10)
    assert refused.value.what == "closed the connection before it had answered"


def test_the_key_itself_as_the_name_of_its_variable_is_not_repeated(behind: Behind) -> None:
    with pytest.raises(ConfigError) as refused:
        opened(behind, key_env="s3cret")
    assert "s3cret" not in refused.value.line


@pytest.mark.parametrize("state", ["down", "unnamed"])
def test_a_server_searches_words_without_the_endpoint(
    state: str, folder: Path, behind: Behind, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_of(behind) if state == "down" else Config()
    config = replace(
        config, server=replace(config.server, indexes={"texts": str(folder), "more": str(folder)})
    )
    secret = b"cannot encode a secret query"
    behind.answers = [lambda _: (500, secret, {})] * 99
    check(config)
    app = create_app(config, {})
    registry = app.extensions[REGISTRY]
    reloader = IndexReloader(registry, config)
    reloader.start()
    try:
        assert sorted(registry.indexes) == ["more", "texts"]
        client = app.test_client()
        body = {"query": "sea level rise"}
        answer: Any = client.post("/v1/texts/search", json=body).json
        assert [hit["docid"] for hit in answer["hits"]] == ["b"]
        assert answer["coverage"] == {"bm25": "complete", "dense": "cut off"}
        refused = client.post("/v1/texts/search", json={**body, "retriever": "dense"})
        problem: Any = refused.json
        assert (refused.status_code, problem["detail"]) == (
            503,
            "the endpoint that encodes queries does not answer as it should; search with the "
            "retriever bm25, or try again later",
        )
        words = client.post("/v1/texts/search", json={**body, "retriever": "bm25"})
        assert words.status_code == 200
    finally:
        reloader.stop()
    reasons = [record.getMessage() for record in caplog.records if "vectors" in record.message]
    if state == "down":
        expected = f"{behind.url}/v1/embeddings: answered 500"
    else:
        expected = (
            f"{folder}: its vectors come from {behind.url}/v1#m, and the configuration does not "
            "name this address"
        )
        assert not behind.asked
    assert reasons
    assert all(expected in reason for reason in reasons)
    assert "secret" not in caplog.text
    assert "sea level" not in caplog.text


def test_a_server_logs_that_an_open_endpoint_fails(
    folder: Path, behind: Behind, caplog: pytest.LogCaptureFixture
) -> None:
    shared = SharedEncoders(config_of(behind).encoder, only_configured=True)
    with Index(folder, config_of(behind), encoders=shared) as index:
        search = Search(retriever="dense")
        index.search(["sea level rise"], search)
        behind.answers = [lambda _: (500, b"cannot encode: longest river", {})] * 9
        for _ in range(2):
            with pytest.raises(endpoint.EndpointError):
                index.search(["longest river"], search)
    assert [record.getMessage() for record in caplog.records] == [
        f"queries cannot be encoded: {behind.url}/v1/embeddings: answered 500"
    ]


@pytest.mark.parametrize("together", [False, True])
def test_shards_are_searched_by_words_without_the_endpoint(
    together: bool, tmp_path: Path, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Gathering.__init__

    def begin_together(gathering: Gathering) -> None:
        begin(gathering)
        # Shards on other machines are asked for all rankings together.
        gathering.remote = together

    monkeypatch.setattr(Gathering, "__init__", begin_together)
    source = tmp_path / "texts.tsv"
    source.write_text("a\tmeasles vaccine\nb\tsea level rise\nc\tlongest river\n", "utf-8")
    config = config_of(behind)
    request = BuildRequest(kind="snippets", sources=(source,), folder=tmp_path / "index")
    build_shards(request, 2, config)
    with open_index(tmp_path / "index", config) as index:
        client = create_app(config, {"texts": index}).test_client()
        index.search(["sea level rise"], Search(retriever="dense"))
        behind.answers = [lambda _: (503, b"loading", {})] * 99
        answer: Any = client.post("/v1/texts/search", json={"query": "longest river"}).json
    assert [hit["docid"] for hit in answer["hits"]] == ["c"]
    assert answer["coverage"] == {"bm25": "complete", "dense": "cut off"}
