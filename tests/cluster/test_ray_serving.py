"""A server whose shards answer from a Ray cluster, asked over HTTP while its index changes and a
process dies.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from factseek.cluster.actors import replicas_of, stop
from factseek.commands import main
from factseek.retrieval.search.index import Index

from ..server.ending import end
from .conftest import CONFIG, settings

pytestmark = pytest.mark.real
READY_SECONDS = 180


@contextmanager
def served(folder: Path, address: str, log: Path) -> Iterator[str]:
    config = log.with_suffix(".yaml")
    config.write_text("cluster: {cpus: 0.1, replicas: 2, ask_seconds: 10}\n")
    options = [
        "--index",
        f"facts={folder}",
        "--ray",
        address,
        "--port",
        "0",
        "--workers",
        "1",
        "--config",
        str(config),
    ]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "factseek", "serve", *options],
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield f"http://127.0.0.1:{_port(process, log)}"
    finally:
        end(process)
        stop(folder, settings(address, replicas=2))


def _port(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and process.poll() is None:
        listening = re.search(r"on http://127\.0\.0\.1:(\d+)\n", log.read_text())
        if listening:
            return listening[1]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def asked(address: str, **body: object) -> dict[str, Any]:
    request = Request(
        f"{address}/v1/facts/search",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=60) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def hits_when_ready(address: str, **body: object) -> list[Any]:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            hits: list[Any] = asked(address, **body)["hits"]
            return hits
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the server does not answer")


def test_a_server_answers_from_the_cluster_while_a_process_dies_and_the_index_changes(
    ray_cluster: str, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    whole, sharded = folders
    cluster = settings(ray_cluster, replicas=2)
    query = {"query": "measles vaccine", "k": 5, "retriever": "hybrid"}
    with served(sharded, ray_cluster, tmp_path / "log") as address:
        first = hits_when_ready(address, **query)
        with Index(sharded, CONFIG) as local:
            assert [hit["docid"] for hit in first] == [
                hit.docid for hit in local.search(["measles vaccine"])[0][:5]
            ]
        killed = replicas_of(sharded, cluster)[0]
        os.kill(killed.pid, signal.SIGKILL)
        for _ in range(20):
            answer = asked(address, **query)
            assert answer["hits"] == first
            assert "coverage" not in answer
        with urlopen(f"{address}/readyz", timeout=60) as response:
            shards = json.load(response)["shards"]["facts"]
        assert [shard["name"] for shard in shards] == ["shard-00", "shard-01", "shard-02"]
        assert all(len(shard["replicas"]) == 2 for shard in shards)
        assert all(
            "answers" in {replica["state"] for replica in shard["replicas"]} for shard in shards
        )
        for folder in (whole, sharded):
            assert main(["delete", "--index", str(folder), first[0]["docid"]]) == 0
        until = time.monotonic() + 60
        while (hits := asked(address, **query)["hits"]) == first and time.monotonic() < until:
            time.sleep(0.2)
        assert first[0]["docid"] not in {hit["docid"] for hit in hits}
