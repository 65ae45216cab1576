"""A real server under attack: what is smuggled, hoarded or never read, and whoever is killed
meanwhile.
"""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from factseek.indexer.verification import verify
from factseek.server.auth import digest
from factseek.settings import Config
from tests.server.conftest import ARABIC, KEY, MAY, build_index
from tests.server.served import PATIENCE, Served, answer_of, request_bytes, serve, until

pytestmark = pytest.mark.real
HEAVY = [
    {"docid": f"heavy-{number}", "text": f"heavy{number % 10}" + f" {'y' * 200}" * 5_000}
    for number in range(40)
]
"""Documents of a megabyte; each of ten words finds four of them."""
LONG = [
    {"docid": f"long-{number}", "text": "longword " + "of a long text " * 1_500}
    for number in range(20)
]


@pytest.fixture(scope="module")
def long_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("long") / "long", LONG, language="en", dense=False)


@pytest.fixture(scope="module")
def heavy_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(
        tmp_path_factory.mktemp("heavy") / "heavy", HEAVY, language="en", dense=False
    )


@pytest.fixture(scope="module")
def server(
    folders: dict[str, Path], long_texts: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    with serve(
        folders,
        tmp_path_factory.mktemp("serve"),
        "workers: 1, memory_bytes: 40000000",
        long=long_texts,
    ) as it:
        yield it
        assert "Traceback" not in it.log.read_text()


def batch(queries: int, k: int = 10) -> bytes:
    asked = [{"qid": str(number), "text": "longword"} for number in range(queries)]
    body = json.dumps({"queries": asked, "k": k, "highlight": False}).encode()
    return request_bytes(body).replace(b"/v1/en/search ", b"/v1/long/search/batch ")


def slow_connection(server: Served) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", server.port))
    return client


def chunked_answer(client: socket.socket) -> bytes:
    pieces, end = [], b""
    while end != b"0\r\n\r\n":
        pieces.append(client.recv(1 << 20))
        assert pieces[-1], "the answer was cut off before it was whole"
        end = (end + pieces[-1])[-5:]
    return b"".join(pieces)


def status_of(server: Served, address: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request("GET", address, headers={"Accept": "text/html"})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def test_readers_that_do_not_read_keep_no_search_waiting(server: Served) -> None:
    """More slow readers than threads: what they asked for is still made, whole, when they read at
    last.
    """
    with ExitStack() as stack:
        slow = [stack.enter_context(slow_connection(server)) for _ in range(12)]
        for client in slow:
            client.sendall(batch(40))
        for _ in range(30):
            assert server.ask()[0] == 200
            assert server.ask("GET", "/livez", None)[0] == 200
        assert status_of(server, "/metrics") == status_of(server, "/?index=en&query=measles") == 200
        with ThreadPoolExecutor(len(slow)) as pool:
            for answer in pool.map(chunked_answer, slow):
                assert answer.startswith(b"HTTP/1.1 200 ")
                assert answer.count(b'"docid":"long-') == 400


@pytest.mark.deep
def test_batches_of_large_documents_stay_within_their_memory_and_refuse_nobody(
    folders: dict[str, Path], heavy_texts: Path, tmp_path: Path
) -> None:
    """Eight slow readers of 40 MB each; the documents of one part alone would be 160 MB for each of
    them.
    """
    settings = "workers: 1, memory_bytes: 40000000"
    with serve(folders, tmp_path, settings, heavy=heavy_texts) as server, ExitStack() as stack:
        asked = {
            "queries": [{"qid": str(n), "text": f"heavy{n}"} for n in range(10)],
            "k": 4,
            "retriever": "bm25",
        }
        body = json.dumps({**asked, "highlight": False}).encode()
        request = request_bytes(body).replace(b"/v1/en/search ", b"/v1/heavy/search/batch ")
        slow = [stack.enter_context(slow_connection(server)) for _ in range(8)]
        assert server.ask()[0] == 200
        before = resident(server)
        for client in slow:
            client.sendall(request)
        for _ in range(20):
            assert server.ask()[0] == 200
            time.sleep(0.05)
        with ThreadPoolExecutor(len(slow)) as pool:
            for answer in pool.map(chunked_answer, slow):
                assert answer.startswith(b"HTTP/1.1 200 ")
                assert answer.count(b'"docid":"heavy-') == 40
                assert b"overloaded" not in answer
        most = resident(server, "VmHWM")
        assert most < before + 200, (before, most)
        assert "Traceback" not in server.log.read_text()


def resident(server: Served, field: str = "VmRSS") -> float:
    """Return the resident megabytes of all workers, now or (``VmHWM``) at most."""
    total = 0.0
    for pid in server.workers():
        status = Path(f"/proc/{pid}/status").read_text()
        total += next(
            int(line.split()[1]) / 1024
            for line in status.splitlines()
            if line.startswith(f"{field}:")
        )
    return total


def test_idle_connections_leave_descriptors_to_answers(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is not installed")
    with serve(folders, tmp_path, "workers: 1", open_files=1_024) as served, ExitStack() as stack:
        idle = [stack.enter_context(served.connect()) for _ in range(1_500)]
        addresses = (
            "/",
            "/?index=en&query=measles",
            "/static/style.css",
            "/v1/en/documents/measles",
            "/docs",
        )
        for address in (*addresses, "/metrics", "/readyz", "/livez"):
            assert status_of(served, address) == 200, address
        assert served.ask()[0] == 200
        idle[-1].sendall(request_bytes(extra="Connection: close\r\n"))
        assert answer_of(idle[-1]).startswith(b"HTTP/1.1 200 ")
        assert "Traceback" not in served.log.read_text()


WRITES = f"workers: 2, writes: true, keys: {{tests: {digest(KEY)}}}"


class Model:
    """What each document may be: what was acknowledged last, or what was asked since and not
    refused.
    """

    def __init__(self) -> None:
        self._possible: dict[str, set[str | None]] = defaultdict(lambda: {None})
        self.acknowledged = 0

    def change(self, server: Served, docid: str, text: str | None) -> None:
        possible = self._possible[docid]
        try:
            status = self._ask(server, docid, text)
        except (OSError, http.client.HTTPException):
            possible.add(text)  # nobody knows
            return
        if status in (200, 201, 204) or (status == 404 and text is None):
            self._possible[docid] = {text}
            self.acknowledged += 1
        else:
            assert status == 503, status
            possible.add(text)

    def _ask(self, server: Served, docid: str, text: str | None) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        try:
            body = None if text is None else json.dumps({"text": text})
            headers = {**MAY, "Content-Type": "application/json"}
            connection.request(
                "DELETE" if text is None else "PUT", f"/v1/live/documents/{docid}", body, headers
            )
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def check(self, server: Served) -> None:
        for docid, possible in self._possible.items():
            assert document(server, docid) in possible, docid


def document(server: Served, docid: str) -> str | None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", f"/v1/live/documents/{docid}", headers=MAY)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return None if response.status == 404 else str(answer["document"]["text"])


def ready(server: Served) -> bool:
    with suppress(OSError, http.client.HTTPException):
        return status_of(server, "/readyz") == 200
    return False


def writers_of(server: Served) -> list[int]:
    """Return the processes that write, whether or not the worker that started them lives."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,sid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [
        int(pid)
        for pid, session, args in rows
        if int(session) == server.process.pid and "server.writer" in args
    ]


@contextmanager
def changing(server: Served, model: Model, prefix: str, seed: int) -> Iterator[None]:
    stop, chance = threading.Event(), random.Random(seed)

    def change() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            text = None if chance.random() < 0.25 else f"Version {count} of the note."
            model.change(server, f"{prefix}{chance.randrange(6)}", text)

    with ThreadPoolExecutor(1) as pool:
        changes = pool.submit(change)
        try:
            yield
        finally:
            stop.set()
            changes.result()


@pytest.mark.deep
def test_what_was_acknowledged_is_there_whoever_was_killed(tmp_path: Path) -> None:
    folder = build_index(tmp_path / "live", ARABIC, language="ar", dense=False)
    model = Model()
    with serve({}, tmp_path / "first", WRITES, live=folder) as server:
        with changing(server, model, "a", 1):
            for victims in (writers_of, Served.workers, writers_of):
                before = model.acknowledged
                until(lambda before=before: model.acknowledged > before + 3 and writers_of(server))
                os.kill(victims(server)[0], signal.SIGKILL)
                until(lambda: ready(server))
            before = model.acknowledged
            until(lambda: model.acknowledged > before + 3)
        # Both workers follow what is published within a second or so: until then one may lag
        # behind.
        until(lambda: ready(server))
        with changing(server, model, "a", 2):
            before = model.acknowledged
            until(lambda: model.acknowledged > before + 3)
            server.process.kill()
    with serve({}, tmp_path / "second", WRITES, live=folder) as server:
        model.change(server, "last", "The last note.")
        eventually(lambda: model.check(server))
    verified = verify(folder, Config())
    assert verified.faults == []


def eventually(check: Any) -> None:
    """Run a check until it holds: a worker may lag behind what the other one has acknowledged."""
    for _ in range(20):
        try:
            return check()
        except AssertionError:
            threading.Event().wait(0.5)
    return check()


@pytest.mark.deep
def test_two_servers_change_one_index(tmp_path: Path) -> None:
    folder = build_index(tmp_path / "live", ARABIC, language="ar", dense=False)
    mine, theirs = Model(), Model()
    with (
        serve({}, tmp_path / "first", WRITES, live=folder) as first,
        serve({}, tmp_path / "second", WRITES, live=folder) as second,
    ):
        with changing(first, mine, "a", 1), changing(second, theirs, "b", 2):
            until(lambda: min(mine.acknowledged, theirs.acknowledged) > 8)
        for server in (first, second):
            eventually(lambda server=server: (mine.check(server), theirs.check(server)))
    assert verify(folder, Config()).faults == []
