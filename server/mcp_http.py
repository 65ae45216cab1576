"""The tools for agents over HTTP, with the limits and the stop of ``factseek serve``."""

from __future__ import annotations

import asyncio
import io
import signal
import socket
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Flask
from werkzeug.exceptions import MethodNotAllowed

from .errors import OverloadedError
from .gateway import Answer, Gateway, Lane
from .serve import most_connections
from .settings import ServerSettings
from .worker import exit_at_once, server_of

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.applications import Starlette

PATH = "/mcp"
# The address of the HTTP API whose answer says whether a caller may use the tools.
_ASKED = "/v1/indexes"
# seconds: agents ask again, and whoever started the server does not want to wait
_LONGEST_STOP = 5.0


class ToolsGateway(Gateway):
    """The gateway to the tools. The HTTP API decides who may call them."""

    def __init__(self, tools: Starlette, door: Flask, settings: ServerSettings) -> None:
        """Take the application of the SDK, and the HTTP API that decides."""
        super().__init__(door.wsgi_app, settings)
        self._tools = tools
        self._calls, self._most_calls = 0, settings.threads + settings.max_waiting

    async def _answer(
        self, lane: Lane, scope: Any, environ: dict[str, Any], *, join: bool
    ) -> Answer:
        asking = {**environ, "REQUEST_METHOD": "GET", "PATH_INFO": _ASKED, "QUERY_STRING": ""}
        asking["wsgi.input"] = io.BytesIO()
        asking.pop("CONTENT_LENGTH", None)
        permission = await super()._answer(lane, scope, asking, join=True)
        if permission.status >= 400:
            return permission
        if scope["path"] == PATH and scope["method"] != "POST":
            # A GET would open a stream for messages of the server, which sends none.
            raise MethodNotAllowed(valid_methods=["POST"])
        if self._calls >= self._most_calls:
            raise OverloadedError
        self._calls += 1
        try:
            return await self._call_tools(scope, environ["wsgi.input"].read())
        finally:
            self._calls -= 1

    async def _call_tools(self, scope: Any, body: bytes) -> Answer:
        """Return the whole answer of the SDK to a request with this body."""
        messages: list[dict[str, Any]] = []
        requests = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            if not requests:
                # The SDK asks again only to learn that the client has left. It is not told: the
                # answer is short.
                await asyncio.Event().wait()
            return requests.pop()

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        # Plain dictionaries.
        await self._tools(dict(scope), receive, send)  # type: ignore[arg-type]
        head, *pieces = messages
        content = b"".join(piece.get("body", b"") for piece in pieces)
        return Answer(head["status"], list(head["headers"]), content, None, lambda: None)


def serve_tools(
    server: MCPServer, door: Flask, listener: socket.socket, settings: ServerSettings
) -> None:
    """Serve the tools until a signal, then end the process.

    ``door`` is the HTTP API, which knows the callers.
    """
    tools = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=settings.max_body_bytes,
        host=settings.host,
    )
    limited = msgspec.structs.replace(
        settings, stop_seconds=min(settings.stop_seconds, _LONGEST_STOP)
    )
    http = server_of(ToolsGateway(tools, door, limited), most_connections(settings))

    def stop(*_: Any) -> None:
        http.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)

    async def serve() -> None:
        async with tools.router.lifespan_context(tools):
            await http.serve([listener])

    with asyncio.Runner(loop_factory=http.config.get_loop_factory()) as runner:
        runner.run(serve())
    exit_at_once()
