"""A Ray cluster of three nodes at the loopback address, and an index in shards beside one of the
same documents.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.cluster import three_nodes
from factseek.cluster import layout
from factseek.cluster.settings import ClusterSettings
from factseek.indexer.build import BuildRequest
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert

from ..retrieval.index.conftest import (
    DECLARED,
    GONE,
    Remembering,
    built,
    documents,
    encoder,
    whole,
    with_small_sparse_model,
)
from .verbs import build, delete

__all__ = ["encoder", "whole"]

CONFIG: Config = convert(
    {
        "index": {"segment_passages": 20, "max_segments": 50, "filter_fields": list(DECLARED)},
        "passages": {"words": 12, "overlap_sentences": 0, "split": {"jsonl": True}},
    },
    "test",
)


@pytest.fixture(scope="session")
def nodes() -> Iterator[Any]:
    if find_spec("ray") is None:  # not imported: its first import reads what the cluster sets
        pytest.skip("needs the extra ray")
    with three_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def ray_cluster(nodes: Any) -> str:
    address: str = nodes.address
    return address


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("cluster")
    lines = [{**document._asdict(), **document.metadata} for document in documents()]
    for line in lines:
        del line["metadata"]
    source = folder / "documents.jsonl"
    source.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    for name, shards in (("whole", 0), ("sharded", 3)):
        request = BuildRequest(
            kind="jsonl", sources=(source,), folder=folder / name, views=("impacts",)
        )
        build(request, with_small_sparse_model(CONFIG), shards)
        delete(folder / name, sorted(GONE))
    return folder / "whole", folder / "sharded"


def settings(address: str, **options: object) -> ClusterSettings:
    return msgspec.convert({"address": address, "cpus": 0.1, **options}, ClusterSettings)


def on_ray(cluster: ClusterSettings) -> Config:
    return msgspec.structs.replace(CONFIG, cluster=cluster)


SHARDS = 3


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, encoder: Remembering) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("sharded")
    paths = [f"shard-{number:02d}" for number in range(SHARDS)]
    for number, path in enumerate(paths):
        built(
            folder / path,
            [each for each in documents() if layout.owner(each.docid, SHARDS) == number],
        )
    layout.publish(folder, paths, [manifests.read(folder / path) for path in paths])
    with Index(folder, CONFIG, encoders=lambda *_: encoder) as index:
        yield index
