"""A real server in a process of its own, for tests of what goes wrong."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.server.ending import end

PATIENCE = 180.0
BODY = json.dumps({"query": "measles vaccine", "retriever": "bm25"}).encode()


class Served:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log
        self.port = self._port()

    def _port(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            said = re.search(
                r"factseek serves .* on http://127\.0\.0\.1:(\d+)\n", self.log.read_text()
            )
            if said:
                return int(said[1])
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(
        self, method: str = "POST", address: str = "/v1/en/search", body: bytes | None = BODY
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, address, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def workers(self) -> list[int]:
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in found.stdout.split()]


@contextmanager
def serve(
    folders: dict[str, Path],
    work: Path,
    settings: str,
    *,
    open_files: int = 0,
    port: int = 0,
    others: str = "",
    **more: Path,
) -> Iterator[Served]:
    """Start a server with these settings of ``server`` and ``others``, of ``more`` indexes too, and
    see to its end.

    It may have so many ``open_files``, if that is not 0.
    """
    work.mkdir(exist_ok=True)
    config, log = work / "config.yaml", work / "log"
    config.write_text(f"server: {{{settings}}}\n{others}")
    command = [
        sys.executable,
        "-m",
        "factseek.server",
        "serve",
        "--config",
        str(config),
        "--port",
        str(port),
    ]
    served = {**({"en": folders["english"]} if "english" in folders else {}), **more}
    for name, folder in served.items():
        command += ["--index", f"{name}={folder}"]
    with log.open("wb") as sink:
        # A Java that crashes reports it in the folder that it runs in.
        process = subprocess.Popen(
            ["prlimit", f"--nofile={open_files}:{open_files}", *command] if open_files else command,
            cwd=work,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
        try:
            yield Served(process, log)
        finally:
            end(process)


def request_bytes(body: bytes = BODY, extra: str = "") -> bytes:
    head = f"POST /v1/en/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{extra}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def answer_of(client: socket.socket) -> bytes:
    pieces = []
    with suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def until(true: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
