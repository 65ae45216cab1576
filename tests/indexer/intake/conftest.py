"""A web site on the loopback address, with answers that a test chooses."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """Answers by path; it counts the requests of each path."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.headers.append({k.lower(): v for k, v in self.headers.items()})
                site.answers.get(self.path, missing)(self)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def put(self, path: str, body: str | bytes, status: int = 200, **headers: str) -> str:
        """Answer a path with a body; return its address."""
        content = body.encode() if isinstance(body, str) else body

        def answer(handler: BaseHTTPRequestHandler) -> None:
            reply(handler, content, status, **headers)

        self.answers[path] = answer
        return self.address + path

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in fields.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def missing(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, b"nothing here", 404)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()
