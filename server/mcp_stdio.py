"""The tools for agents over standard input and output: a line that is no message gets an error, not
silence.

The SDK's transport drops such a line without a word. The lines are therefore checked before it
reads them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.shared._stream_protocols import WriteStream

_CHUNK = 65_536
_PART = re.compile(r'(?s)"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[{}\[\],:]|[^\s"{}\[\],:]+')
"""A string, which may lack its end, a sign or a word of JSON."""
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


class CheckedLines:
    """The lines of a file that are messages; each other line is answered with a JSON-RPC error."""

    def __init__(self, descriptor: int) -> None:
        """Begin to read from a descriptor; ``answers`` must be set before the first line is asked
        for.
        """
        self.answers: WriteStream[SessionMessage] | None = None
        self._unread = bytearray()
        self._ended = False
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)
        # A daemon, because a thread that waits for input must not keep the process from ending.
        reading = (descriptor, self._chunks, asyncio.get_running_loop())
        threading.Thread(target=_read, args=reading, daemon=True).start()

    def __aiter__(self) -> CheckedLines:
        return self

    async def __anext__(self) -> str:
        while line := await self._next_line():
            error = error_of(line)
            if error is None:
                return line.decode()
            if self.answers is not None:
                await self.answers.send(SessionMessage(error))
        raise StopAsyncIteration

    async def _next_line(self) -> bytes:
        """Return the next line that is not empty, or b"" at the end of the file."""
        while True:
            line = await self._any_line()
            if line.strip() or not line:
                return line

    async def _any_line(self) -> bytes:
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0 and not self._ended:
            searched = len(self._unread)
            chunk = await self._chunks.get()
            self._unread += chunk
            self._ended = not chunk
        after = len(self._unread) if end < 0 else end + 1
        line = bytes(self._unread[:after])
        del self._unread[:after]
        return line


def _read(descriptor: int, chunks: asyncio.Queue[bytes], loop: asyncio.AbstractEventLoop) -> None:
    """Put all chunks of a file into a queue, and b"" at its end."""
    chunk = b"more"
    while chunk:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except OSError:  # a terminal that has gone, for example
            chunk = b""
        putting = chunks.put(chunk)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except RuntimeError:  # the loop has ended
            putting.close()
            return
        except CancelledError:
            return


def error_of(line: bytes) -> JSONRPCError | None:
    """Return the error that answers a line, with the id of its request if it can be read; None for
    a message.
    """
    try:
        text = line.decode()
        content = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        return _error(PARSE_ERROR, f"the line is not JSON in UTF-8: {_reason(error)}", line)
    asks = isinstance(content, dict) and "method" in content and "id" in content
    try:
        if asks:  # else an unsuitable id would make it a notification, which gets no answer
            JSONRPCRequest.model_validate_json(text, by_name=False)
        else:
            jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError:
        return _error(INVALID_REQUEST, "the line is not a message of JSON-RPC 2.0", line)
    return None


def _error(code: int, message: str, line: bytes) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_of(line), error=ErrorData(code=code, message=message))


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"invalid bytes at column {error.start + 1}"
    return str(error)[:200].replace(" at line 1", " at")


def id_of(line: bytes) -> str | int | None:
    """Return the ``id`` of the object on a line, which need not be valid JSON, or None if there is
    not exactly one.
    """
    depth, ids = 0, list[str | int]()
    before, key = "", ""  # the part before, and the key whose value comes next
    for match in _PART.finditer(line.decode("utf-8", "replace")):
        part = match[0]
        if depth == 1 and key == '"id"':
            ids.extend(_scalar(part))
        key = before if part == ":" else ""
        if part in ("{", "["):
            depth += 1
        elif part in ("}", "]"):
            depth -= 1
        before = part
    return ids[0] if len(ids) == 1 else None


def _scalar(part: str) -> list[str | int]:
    """Return the text or the whole number that a part of JSON stands for, if it stands for one."""
    if _WHOLE_NUMBER.fullmatch(part):
        return [int(part)]
    if not part.startswith('"'):
        return []
    try:
        text: str = json.loads(part)
        text.encode()  # half a surrogate pair could not be sent back
    except ValueError:
        return []
    return [text]


async def serve_lines(server: MCPServer) -> None:
    """Answer the messages on standard input on standard output, until the input ends."""
    # Like the SDK with its own input: code that reads standard input must not get the messages.
    descriptor = os.dup(sys.stdin.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    lines = CheckedLines(descriptor)
    async with stdio_server(stdin=cast("Any", lines)) as (received, answers):
        lines.answers = answers
        lowlevel = server._lowlevel_server
        await lowlevel.run(received, answers, lowlevel.create_initialization_options())
