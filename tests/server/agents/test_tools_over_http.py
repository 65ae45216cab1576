"""The tools over HTTP: the limits of the server, and a stop although clients hang."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from factseek.settings import Config
from tests.server.ending import end

pytestmark = pytest.mark.real
PATIENCE = 60.0
JSON = "application/json"
HEADERS = {"Content-Type": JSON, "Accept": f"{JSON}, text/event-stream"}
HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: "
    b"application/json\r\n"
)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Tools(NamedTuple):
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def talk(self, sent: bytes) -> bytes:
        with self.connect() as client:
            client.sendall(sent)
            return b"".join(iter(lambda: client.recv(65_536), b""))

    def ask(self, method: str = "POST", body: Any = LIST, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            content = None if body is None else json.dumps(body)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, "/mcp", content, {**HEADERS, **named})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()


@contextmanager
def tools(
    config: Config, folder: Path, settings: str = "", open_files: int = 1_024
) -> Iterator[Tools]:
    path, log = folder / "config.yaml", folder / "log"
    path.write_text(f"server: {{{settings}}}", "utf-8")
    words = [
        sys.executable,
        "-m",
        "factseek",
        "mcp",
        "--http",
        "--port",
        "0",
        "--config",
        str(path),
    ]
    words += ["--index", f"english={config.server.indexes['english']}"]
    with log.open("wb") as sink:
        limited = ["prlimit", f"--nofile={open_files}:{open_files}", *words]
        process = subprocess.Popen(limited, stdout=sink, stderr=sink, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (said := re.search(r" on http://127\.0\.0\.1:(\d+)/mcp\n", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield Tools(process, int(said[1]), log)
    finally:
        end(process)


@pytest.fixture(scope="module")
def served(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    with tools(
        config, tmp_path_factory.mktemp("tools"), "max_body_bytes: 5000, max_connections: 40"
    ) as it:
        yield it


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5001\r\n\r\n", 413),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n1389\r\n" + b" " * 5_001 + b"\r\n0\r\n\r\n",
            413,
        ),
        (b"POST /" + b"a" * 9_000 + b" HTTP/1.1\r\n", 414),
        (HEAD + b"".join(b"X-%d: %s\r\n" % (number, b"a" * 100) for number in range(300)), 431),
    ],
)
def test_what_serve_refuses_the_tools_refuse(served: Tools, sent: bytes, status: int) -> None:
    assert served.talk(sent).startswith(b"HTTP/1.1 %d " % status)


def test_nobody_can_open_a_stream_that_never_ends(served: Tools) -> None:
    assert served.ask("GET", None, Accept="text/event-stream")[0] == 405
    listen = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
    }
    status, answer = served.ask(
        body=listen, MCP_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen"
    )
    assert status >= 400
    assert "error" in answer
    assert served.ask()[0] == 200


def test_idle_clients_leave_room_for_others(served: Tools) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            client = stack.enter_context(served.connect())
            client.sendall(
                b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
            )
        assert served.ask()[0] == 200


def test_descriptors_remain_for_answers(config: Config, tmp_path: Path) -> None:
    with tools(config, tmp_path, open_files=160) as few, ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(few.connect()).sendall(b"")
        assert few.ask()[0] == 200
        search = {"name": "search", "arguments": {"query": "measles vaccine"}}
        status, answer = few.ask(body={**LIST, "method": "tools/call", "params": search})
        assert (status, answer["result"]["structuredContent"]["hits"][0]["docid"]) == (
            200,
            "measles",
        )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_waits_for_no_client_that_hangs(
    config: Config, tmp_path: Path, how: signal.Signals
) -> None:
    with (
        tools(config, tmp_path) as hung,
        hung.connect() as body,
        hung.connect() as head,
        hung.connect(),
    ):
        body.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        head.sendall(HEAD)
        assert hung.ask()[0] == 200
        hung.process.send_signal(how)
        assert hung.process.wait(timeout=10) == 0
        assert b"503" in body.recv(65_536)
    assert "1 unfinished requests were cut off 5 seconds after the signal" in hung.log.read_text()
    assert "Traceback" not in hung.log.read_text()
