"""A server whose shards answer from a Ray cluster, asked over HTTP while its index changes and a process dies."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from factseek.cluster.actors import check_opens, replicas_of, stop
from factseek.commands import main
from factseek.retrieval.errors import MachineError
from factseek.retrieval.search.index import Index

from ..server.ending import end
from .conftest import CONFIG, settings

pytestmark = pytest.mark.real
READY_SECONDS = 180


@contextmanager
def served(folder: Path, address: str, log: Path) -> Iterator[str]:
    """Start a server of a sharded index on a cluster; yield its address, and end it and the shards' processes."""
    config = log.with_suffix(".yaml")
    config.write_text("cluster: {cpus: 0.1, replicas: 2, ask_seconds: 10}\n")
    options = ["--index", f"facts={folder}", "--ray", address, "--port", "0", "--workers", "1", "--config", str(config)]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "factseek", "serve", *options], stderr=sink, start_new_session=True
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
    request = Request(f"{address}/v1/facts/search", json.dumps(body).encode(), {"Content-Type": "application/json"})
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
            assert [hit["docid"] for hit in first] == [hit.docid for hit in local.search(["measles vaccine"])[0][:5]]
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
        assert all("answers" in {replica["state"] for replica in shard["replicas"]} for shard in shards)
        for folder in (whole, sharded):
            assert main(["delete", "--index", str(folder), first[0]["docid"]]) == 0
        until = time.monotonic() + 60
        while (hits := asked(address, **query)["hits"]) == first and time.monotonic() < until:
            time.sleep(0.2)
        assert first[0]["docid"] not in {hit["docid"] for hit in hits}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ray", "127.0.0.1:9"], "cluster.address: no Ray cluster answers at 127.0.0.1:9 (Connection refused); "
         "start one with ray start --head, and give the address that it prints"),
        (["--ray", "nowhere"], "cluster.address: 'nowhere' is not of the form HOST:PORT; "
         "start one with ray start --head, and give the address that it prints"),
    ],
)  # fmt: skip
def test_a_cluster_that_is_not_there(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    if find_spec("ray") is None:  # not imported: its first import reads what the cluster sets
        pytest.skip("needs the extra ray")
    assert main(["cluster", "status", "--index", str(folders[1]), *arguments]) == 2
    assert main(["serve", "--index", f"facts={folders[1]}", "--port", "0", *arguments]) == 2
    assert capsys.readouterr().err.splitlines() == [f"factseek: {message}"] * 2


@pytest.mark.deep
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 4}, r"cluster\.replicas: the cluster has 3 nodes, too few for 4 replicas; add nodes with "
         r"ray start --address, or ask for fewer replicas"),
        ({"cpus": 100}, r"cluster\.cpus: [0-9.]+ processors of the cluster are free, too few for 3 replicas of shards "
         r"that reserve 100 each; add nodes with ray start --address, or reserve fewer"),
    ],
)  # fmt: skip
def test_too_little_for_the_replicas(
    ray_cluster: str, folders: tuple[Path, Path], options: dict[str, int], message: str
) -> None:
    with pytest.raises(MachineError, match=f"^{message}$"):
        check_opens(folders[1], CONFIG, settings(ray_cluster, **options))


@pytest.mark.deep
def test_a_shard_that_is_not_there_is_one_line_before_anything_is_served(
    ray_cluster: str, folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, config = tmp_path / "lacking", tmp_path / "config.yaml"
    shutil.copytree(folders[1], folder)
    shutil.rmtree(folder / "shard-01")
    config.write_text("cluster: {cpus: 0.1}\n")
    arguments = ["--index", f"facts={folder}", "--ray", ray_cluster, "--port", "0", "--config", str(config)]
    assert main(["serve", *arguments]) == 2
    stop(folder, settings(ray_cluster))
    (line,) = capsys.readouterr().err.splitlines()
    message = re.sub("node [0-9a-f]{12}", "node N", line)
    assert message == (
        f"factseek: {folder}/shard-01: is missing, on node N; "
        "copy the shard to this path of the node, or share its disk"
    )


@pytest.mark.deep
def test_status_names_each_replica(
    ray_cluster: str, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "status", "--index", str(folders[1]), "--ray", ray_cluster]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"shard-0{number} replica 0: not there" for number in range(3)]
    assert main(["cluster", "stop", "--index", str(folders[1]), "--ray", ray_cluster]) == 0
    assert capsys.readouterr().out == "0 replicas ended"
