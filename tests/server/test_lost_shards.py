"""A server of an index of which a shard has no replica any more: an answer from the rest says so,
or is refused.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.cluster import layout
from factseek.cluster.actors import RemoteState
from factseek.cluster.build import build_shards
from factseek.cluster.coordinator import Gathering, ShardedState
from factseek.indexer.build import BuildRequest
from factseek.retrieval.config import Config as RetrievalConfig
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.index_state import IndexState, ShardState
from factseek.retrieval.search.snapshot import IndexEncoders, Snapshot
from factseek.server.app import create_app
from factseek.server.auth import digest
from factseek.settings import Config
from tests.server.conftest import KEY

TEXTS = [f"the ice of the sea {number} melts" for number in range(30)]
CONFIG = Config()


def state_without_the_second(
    folder: Path, config: RetrievalConfig, encoders: IndexEncoders
) -> IndexState:
    shards = layout.read(folder)
    states: list[ShardState] = [
        Snapshot(shard.folder(folder), config, encoders, manifest=shard.manifest)
        for shard in shards.shards
    ]
    gone = shards.shards[1]
    states[1].close()
    states[1] = RemoteState(gone, gone.folder(folder), [], config, 1.0)
    gather = Gathering(ThreadPoolExecutor(4), require_all=False)
    return ShardedState(folder, shards, states, config, encoders, gather=gather)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("lost")
    lines = [
        msgspec.json.encode({"docid": f"d{number}", "text": text})
        for number, text in enumerate(TEXTS)
    ]
    (folder / "documents.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    source = folder / "documents.jsonl"
    build_shards(
        BuildRequest(kind="jsonl", sources=(source,), folder=folder / "index", dense=False),
        3,
        CONFIG,
    )
    with closing(Index(folder / "index", CONFIG, opened=state_without_the_second)) as index:
        yield index


@pytest.fixture
def client(index: Index) -> FlaskClient:
    adapters = {"serper": "", "pyserini-2": "", "google": "", "alegre": ""}
    server = msgspec.structs.replace(CONFIG.server, adapters=adapters)
    return create_app(
        msgspec.structs.replace(CONFIG, server=server), {"facts": index}
    ).test_client()


def test_a_search_names_the_shard(client: FlaskClient) -> None:
    answer = client.post("/v1/facts/search", json={"query": "sea ice", "k": 30}).json
    assert answer["coverage"] == {"bm25": "complete", "shard-01": "cut off"}
    there = {f"d{number}" for number in range(30) if layout.owner(f"d{number}", 3) != 1}
    assert {hit["docid"] for hit in answer["hits"]} == there


def test_changes_are_refused_for_good(index: Index) -> None:
    server = msgspec.structs.replace(CONFIG.server, writes=True, keys={"tests": digest(KEY)})
    client = create_app(
        msgspec.structs.replace(CONFIG, server=server), {"facts": index}
    ).test_client()
    answer = client.put(
        "/v1/facts/documents/a", json={"text": "b"}, headers={"Authorization": f"Bearer {KEY}"}
    )
    assert (answer.status_code, answer.json["error"]) == (403, "has-shards")
    assert answer.json["detail"].endswith(
        "change it with factseek index --update or factseek delete"
    )


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("POST", "/serper/search", {"q": "sea ice"}),
        ("GET", "/pyserini-2/v1/facts/search?query=ice", None),
        ("GET", "/google/v1alpha1/claims:search?query=ice", None),
        (
            "POST",
            "/alegre/text/similarity/search/",
            {"text": "the ice of the sea melts", "threshold": 0.1},
        ),
    ],
)
def test_an_answer_without_a_coverage_is_refused(
    client: FlaskClient, method: str, address: str, body: object
) -> None:
    answer = client.open(address, method=method, json=body)
    assert answer.status_code == 503, answer.text
    assert "shard-01 did not answer, so the answer would be incomplete" in answer.text
