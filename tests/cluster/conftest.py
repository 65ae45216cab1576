"""A Ray cluster of three nodes at the loopback address, and an index in shards beside one of the same documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from factseek.cluster.ray_library import disconnect
from factseek.cluster.settings import ClusterSettings
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.settings import Config, convert

from ..retrieval.index.conftest import DECLARED, GONE, documents

CONFIG: Config = convert(
    {
        "index": {"segment_passages": 20, "max_segments": 50, "filter_fields": list(DECLARED)},
        "passages": {"words": 12, "overlap_sentences": 0, "split": {"jsonl": True}},
    },
    "test",
)


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[str]:
    """The address of the cluster."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 4, "include_dashboard": False, "object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=4, object_store_memory=100_000_000)
    cluster.wait_for_nodes(timeout=120)
    yield cluster.address
    disconnect()
    cluster.shutdown()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of an index and of one of the same documents in three shards."""
    folder = tmp_path_factory.mktemp("cluster")
    lines = [{**document._asdict(), **document.metadata} for document in documents()]
    for line in lines:
        del line["metadata"]
    source = folder / "documents.jsonl"
    source.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    for name, shards in (("whole", 0), ("sharded", 3)):
        build(BuildRequest(kind="jsonl", sources=(source,), folder=folder / name, shards=shards), CONFIG)
        delete(folder / name, sorted(GONE))
    return folder / "whole", folder / "sharded"


def settings(address: str, **options: object) -> ClusterSettings:
    """Return the settings of a cluster with little reserved."""
    return msgspec.convert({"address": address, "cpus": 0.1, **options}, ClusterSettings)
