"""Metrics: what was asked and answered, what is served, and the files in which workers count together."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.metrics import VARIABLE, share, unshare
from factseek.settings import Config


@pytest.fixture
def client(indexes: dict[str, Index]) -> FlaskClient:
    """A client of a server that nobody has asked yet."""
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
        assert found[f'{count}{{retriever="hybrid",route="/v1/<name>/search/batch",stage="{stage}"}}'] == 1
    assert found['factseek_request_seconds_count{route="/v1/<name>/search"}'] == 3
    assert not any("secretword" in name for name in found)


def test_what_is_served_is_told(client: FlaskClient, indexes: dict[str, Index]) -> None:
    found = metrics(client)
    for name, index in indexes.items():
        assert found[f'factseek_index_ready{{index="{name}"}}'] == 1
        assert found[f'factseek_index_documents{{index="{name}"}}'] == index.info.documents
        assert found[f'factseek_index_passages{{index="{name}"}}'] == index.info.passages
        assert found[f'factseek_index_manifest{{index="{name}",manifest="{index.info.id}"}}'] == 1


FILLED = """
import os, sys
from pathlib import Path
folder, filler = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]), Path(sys.argv[1])
from factseek.server.metrics import Metrics
early = Metrics()
if sys.argv[2] == "later":
    early.requests("GET", "/", 200).inc()
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
for number in range(3000):
    early.requests("GET", f"/{number}", 200).inc()
    early.seconds(f"/{number}").observe(0.1)
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print('route="/"' in generate_latest(registry).decode())
"""

NO_FOLDER = """
import os, tempfile
tempfile.tempdir = os.environ["TMPDIR"]
from factseek.server.metrics import share, unshare
shared = share()
print(shared and shared.folder.parent)
from factseek.server.metrics import Metrics
Metrics().requests("GET", "/", 200).inc()
unshare(shared)
"""

SERVED = """
import subprocess, sys, urllib.request
command = [sys.executable, "-m", "factseek", "serve", "--index", f"english={sys.argv[1]}", "--port", "0"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    address = next((line.split()[-1] for line in server.stderr if "serves" in line), "")
    try:
        answers = [urllib.request.urlopen(address + path, timeout=30).status for path in ("/livez", "/?query=measles")]
    finally:
        server.terminate()
print(answers)
"""


@pytest.mark.parametrize(("when", "counted"), [("before", "False"), ("later", "True")])
def test_a_full_file_system_loses_counts_and_ends_nothing(tmp_path: Path, when: str, counted: str) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    script = tmp_path / "filled.py"
    script.write_text(FILLED)
    done = apart(
        f"mount -t tmpfs -o size=512k none {folder} || exit 77; "
        f"PROMETHEUS_MULTIPROC_DIR={folder} exec {sys.executable} {script} {folder}/filler {when}"
    )
    assert (done.returncode, done.stdout.strip()) == (0, counted), done.stderr


@pytest.mark.parametrize("memory", ["-o nr_inodes=1", "-o ro"])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_where_memory_takes_no_folder_another_does_or_each_worker_counts_alone(
    tmp_path: Path, memory: str, elsewhere: bool
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = tmp_path / "no_folder.py"
    script.write_text(NO_FOLDER)
    full = "" if elsewhere else f"mount -t tmpfs -o nr_inodes=1 none {temporary}; "
    done = apart(
        f"mount -t tmpfs {memory} none /dev/shm || exit 77; {full}"
        f"cd /dev/shm; TMPDIR={temporary} exec {sys.executable} {script}"
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(temporary) if elsewhere else "None"), done.stderr


@pytest.mark.parametrize("memory", ["nr_inodes=1", "ro"])
def test_a_server_answers_where_memory_takes_no_file(tmp_path: Path, folders: dict[str, Path], memory: str) -> None:
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
        [unshare, "-m", "sh", "-c", command], check=False, capture_output=True, text=True, timeout=120
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    return done


pytestmark = pytest.mark.inner


def dead() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


def test_a_folder_is_made_named_and_removed() -> None:
    shared = share()
    assert shared.folder.is_dir()
    assert f"-{os.getpid()}-" in shared.folder.name
    assert os.environ[VARIABLE] == str(shared.folder)
    unshare(shared)
    assert not shared.folder.exists()
    assert VARIABLE not in os.environ


def test_what_the_dead_left_is_removed_and_nothing_else() -> None:
    first = share()
    root = first.folder.parent
    left = root / f"factseek-metrics-{dead()}-left1"
    orphaned = root / f"factseek-metrics-{dead()}-workers"
    alive = root / f"factseek-metrics-{os.getppid()}-alive"
    other = root / "factseek-metrics-notes"
    for folder in (left, orphaned, alive, other):
        folder.mkdir()
        (folder / "counter_1.db").write_bytes(b"x")
    handle = os.open(orphaned, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        second = share()
        there = [folder.exists() for folder in (left, orphaned, alive, other, first.folder, second.folder)]
        assert there == [False, True, True, True, True, True]
    finally:
        os.close(handle)
        for folder in (orphaned, alive, other):
            (folder / "counter_1.db").unlink()
            folder.rmdir()
        unshare(second)
        unshare(first)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    first = share()
    (tmp_path / "kept").write_text("kept")
    link = first.folder.parent / f"factseek-metrics-{dead()}-link"
    link.symlink_to(tmp_path)
    try:
        unshare(share())
        assert (tmp_path / "kept").read_text() == "kept"
    finally:
        link.unlink()
        unshare(first)
