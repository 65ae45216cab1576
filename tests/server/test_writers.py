"""A server of two workers that changes its index: what one worker takes is answered by both, whoever is killed."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from factseek.indexer.queue import Queue
from factseek.indexer.verification import verify
from factseek.server.auth import digest
from factseek.settings import Config
from tests.server.conftest import ENGLISH, KEY, MAY, build_index
from tests.server.ending import end

pytestmark = pytest.mark.real
PATIENCE = 180.0
MANY = 1_000


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, folder: Path) -> None:
        self.process = process
        self.log = log
        self.folder = folder
        self.port = int(soon(lambda: re.search(r" on http://127\.0\.0\.1:(\d+)\n", log.read_text()))[1])

    def ask(self, method: str, address: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, address, json.dumps(body), {**MAY, "Content-Type": "application/json"})
            response = connection.getresponse()
            said = response.read()
            return response.status, json.loads(said) if said else None
        finally:
            connection.close()

    def found(self, retriever: str, query: str = "quokka") -> list[str]:
        status, answer = self.ask("POST", "/v1/live/search", {"query": query, "retriever": retriever, "k": 5})
        assert status == 200, answer
        return [hit["docid"] for hit in answer["hits"]]

    def children(self, command: str) -> list[int]:
        """Return the workers, or the writers, which are children of workers."""
        found = subprocess.run(
            ["ps", "-ww", "-eo", "pid,ppid,sid,args"], capture_output=True, text=True, check=True
        ).stdout
        rows = [line.split(None, 3) for line in found.splitlines()[1:]]
        mine = [row for row in rows if int(row[2]) == self.process.pid and int(row[0]) != self.process.pid]
        return [int(row[0]) for row in mine if command in row[3]]

    @property
    def workers(self) -> list[int]:
        return self.children(" serve ")

    @property
    def writers(self) -> list[int]:
        return self.children("factseek.server.writer")

    def job(self, where: str) -> dict[str, Any]:
        status, job = self.ask("GET", where)
        assert status == 200, job
        return dict(job)

    def ended(self, where: str) -> dict[str, Any]:
        return soon(lambda: (job := self.job(where))["state"] in ("done", "failed") and job)


def soon(true: Callable[[], Any]) -> Any:
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < deadline, "never became true"
        time.sleep(0.02)
    return found


@contextmanager
def serve(folder: Path, work: Path) -> Iterator[Served]:
    """Start a server of two workers that may change the index in ``folder``."""
    config, log = work / "config.yaml", work / "log"
    config.write_text(f"server: {{workers: 2, keys: {{tests: {digest(KEY)}}}, write_seconds: 120}}")
    command = [
        sys.executable,
        "-m",
        "factseek.server",
        "serve",
        "--config",
        str(config),
        "--port",
        "0",
        "--allow-writes",
    ]
    with log.open("wb") as sink:
        process = subprocess.Popen([*command, "--index", f"live={folder}"], stderr=sink, start_new_session=True)
        try:
            yield Served(process, log, folder)
        finally:
            end(process)
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small index with vectors."""
    return build_index(tmp_path / "live", ENGLISH, language="en", dense=True)


def bulk(prefix: str, count: int = MANY) -> list[dict[str, Any]]:
    return [{"docid": f"{prefix}{number}", "text": f"Note {number} of the archive."} for number in range(count)]


def test_every_retriever_and_every_worker_sees_a_change(folder: Path, tmp_path: Path) -> None:
    with serve(folder, tmp_path) as served:
        text = {"text": "The quokka smiles at everybody."}
        assert served.ask("PUT", "/v1/live/documents/a%2Fb%20c", text)[0] == 400
        assert served.ask("PUT", "/v1/live/documents/a/b", text)[0] == 201
        for retriever in ("bm25", "dense", "hybrid"):
            soon(lambda by=retriever: all(served.found(by)[:1] == ["a/b"] for _ in range(10)))
        status, job = served.ask("POST", "/v1/live/documents", bulk("n", 250))
        assert status == 202
        # Ten connections: both workers are asked.
        states = [served.job(f"/v1/jobs/{job['id']}")["id"] for _ in range(10)]
        assert set(states) == {job["id"]}
        assert served.ended(f"/v1/jobs/{job['id']}")["added"] == 250
        assert served.ask("DELETE", "/v1/live/documents/a/b")[0] == 204
        for retriever in ("bm25", "dense", "hybrid"):
            soon(lambda by=retriever: all("a/b" not in served.found(by) for _ in range(10)))
        writers = served.writers
        assert len(writers) == 1
    soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in writers))
    verified = verify(folder, Config())
    assert (verified.all_faults, verified.documents) == ([], len(ENGLISH) + 250)


@pytest.mark.deep
def test_a_job_survives_its_worker_and_its_writer(folder: Path, tmp_path: Path) -> None:
    with serve(folder, tmp_path) as served:
        _, job = served.ask("POST", "/v1/live/documents", bulk("n"))
        where = f"/v1/jobs/{job['id']}"
        soon(lambda: served.job(where)["handled"])
        for pid in served.writers:
            os.kill(pid, signal.SIGKILL)
        for pid in served.workers:
            os.kill(pid, signal.SIGKILL)
        soon(lambda: _answers(served))
        assert served.ask("PUT", "/v1/live/documents/meanwhile", {"text": "The quokka smiles."})[0] == 201
        done = served.ended(where)
        # What was published when the writer died, and not yet written down, is there and counts as unchanged.
        assert (done["state"], done["handled"], done["refused"]) == ("done", MANY, 0)
        assert done["added"] + done["unchanged"] == MANY
        assert done["added"] > 0
    verified = verify(folder, Config())
    assert (verified.all_faults, verified.documents) == ([], len(ENGLISH) + MANY + 1)


def _answers(served: Served) -> bool:
    try:
        return served.ask("GET", "/readyz")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


@pytest.mark.deep
def test_a_job_survives_its_server(folder: Path, tmp_path: Path) -> None:
    with serve(folder, tmp_path) as served:
        _, job = served.ask("POST", "/v1/live/documents", bulk("n"))
        soon(lambda: served.job(f"/v1/jobs/{job['id']}")["handled"])
        os.killpg(served.process.pid, signal.SIGKILL)
    with Queue(folder) as queue:
        left = queue.job(job["id"])
    assert left is not None
    assert left.state == "running"
    (tmp_path / "again").mkdir()
    with serve(folder, tmp_path / "again") as served:
        done = served.ended(f"/v1/jobs/{job['id']}")
        assert (done["state"], done["handled"], done["added"] + done["unchanged"]) == ("done", MANY, MANY)


@pytest.mark.deep
def test_a_put_survives_its_writer(folder: Path, tmp_path: Path) -> None:
    with serve(folder, tmp_path) as served:
        assert served.ask("PUT", "/v1/live/documents/a", {"text": "One."})[0] == 201
        for pid in served.writers:
            os.kill(pid, signal.SIGKILL)
        assert served.ask("PUT", "/v1/live/documents/b", {"text": "Two."})[0] == 201
        # Either worker may be asked, and the other one follows within a second.
        assert soon(lambda: served.ask("GET", "/v1/live/documents/b")[0] == 200)
