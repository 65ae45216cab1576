"""Metrics: what was asked and answered, what is served, and the files in which workers count
together.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config


@pytest.fixture
def client(indexes: dict[str, Index]) -> FlaskClient:
    return create_app(Config(), indexes).test_client()


def metrics(client: FlaskClient) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def test_answers_are_counted_by_route_and_never_by_query(client: FlaskClient) -> None:
    for query in ("measles", "secretword", "?"):
        client.post("/v1/english/search", json={"query": query, "retriever": "bm25"}).close()
    client.get("/nothing/secretword").close()
    batch = {"queries": [{"qid": "a", "text": "moon"}]}
    with client.post("/v1/english/search/batch", json=batch) as answer:
        assert answer.data
    found = metrics(client)
    route = 'method="POST",route="/v1/<name>/search"'
    assert found[f'factseek_requests_total{{{route},status="200"}}'] == 2
    assert found[f'factseek_requests_total{{{route},status="400"}}'] == 1
    assert found['factseek_errors_total{route="/v1/<name>/search",status="400"}'] == 1
    assert found['factseek_requests_total{method="GET",route="-",status="404"}'] == 1
    for stage in ("retrieve", "evidence"):
        count = "factseek_stage_seconds_count"
        assert found[f'{count}{{retriever="bm25",route="/v1/<name>/search",stage="{stage}"}}'] == 2
        assert (
            found[f'{count}{{retriever="hybrid",route="/v1/<name>/search/batch",stage="{stage}"}}']
            == 1
        )
    assert found['factseek_request_seconds_count{route="/v1/<name>/search"}'] == 3
    assert not any("secretword" in name for name in found)


def test_what_is_served_is_told(client: FlaskClient, indexes: dict[str, Index]) -> None:
    found = metrics(client)
    for name, index in indexes.items():
        assert found[f'factseek_index_ready{{index="{name}"}}'] == 1
        assert found[f'factseek_index_documents{{index="{name}"}}'] == index.info.documents
        assert found[f'factseek_index_passages{{index="{name}"}}'] == index.info.passages
        assert found[f'factseek_index_manifest{{index="{name}",manifest="{index.info.id}"}}'] == 1


SERVED = """
import subprocess, sys, urllib.request
command = [
    sys.executable, "-m", "factseek", "serve", "--index", f"english={sys.argv[1]}", "--port", "0"
]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    address = next((line.split()[-1] for line in server.stderr if "serves" in line), "")
    try:
        paths = "/livez", "/?query=measles"
        answers = [urllib.request.urlopen(address + path, timeout=30).status for path in paths]
    finally:
        server.terminate()
print(answers)
"""


@pytest.mark.deep
@pytest.mark.parametrize("memory", ["nr_inodes=1", "ro"])
def test_a_server_answers_where_memory_takes_no_file(
    tmp_path: Path, folders: dict[str, Path], memory: str
) -> None:
    script = tmp_path / "served.py"
    script.write_text(SERVED)
    mounted = f"mount -t tmpfs -o {memory} none /dev/shm || exit 77"
    done = apart(f"{mounted}; exec {sys.executable} {script} {folders['english']}")
    assert (done.returncode, done.stdout.strip()) == (0, "[200, 200]"), done.stderr


def apart(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command that mounts small file systems in a namespace of its own."""
    unshare = shutil.which("unshare")
    if os.getuid() or not unshare:
        pytest.skip("only root may mount a small file system in a namespace of its own")
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", command],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    return done
