"""The tools over standard input and output: every line that asks for something is answered."""

import json
import signal
import subprocess
import sys
from subprocess import PIPE
from typing import Any

import pytest

from factseek.server.mcp_stdio import error_of
from factseek.settings import Config

PARSE, INVALID = -32700, -32600
CALL = (
    b'{"jsonrpc":"2.0","id":%s,"method":"tools/call",'
    b'"params":{"name":"search","arguments":{"query":%s}}}'
)
BROKEN = [
    (CALL % (b"7", b'"\\ud83d"'), 7, PARSE),
    (CALL % (b'"a"', b'"\\udc00 b"'), "a", PARSE),
    (CALL % (b"7", b"1" * 5_000), 7, PARSE),
    (CALL % (b"7", b"-1." + b"1" * 50 + b"e"), 7, PARSE),
    (CALL % (b"7", b'"caf\xe9"'), 7, PARSE),
    (CALL % (b"7", b'"\xed\xa0\x80"'), 7, PARSE),
    (CALL % (b"7", b"[" * 5_000 + b"]" * 5_000), 7, PARSE),
    (CALL % (b"7", b'{"id":8,' * 300 + b'"a":1' + b"}" * 300), 7, PARSE),
    (CALL % (b"7", b"NaN"), 7, PARSE),
    (CALL % (b"7", b'"a\tb"'), 7, PARSE),
    (CALL % (b"7", b'"a" "b"'), 7, PARSE),
    (b"\xff\xfe{\x00}\x00", None, PARSE),
    (b"hello", None, PARSE),
    (b'{"jsonrpc":"2.0","method":"ping","id":"\\ud83d"}', None, PARSE),
    (b'{"jsonrpc":"2.0","id":3,"method":"ping"', 3, PARSE),
    (b'{"params":{"id":9,"a":"}","b":"\\ud800"},"method":"ping"}', None, PARSE),
    (b'{"id":1,"id":2,"method":"\\ud800"}', None, PARSE),
    (b'[{"id":1,"a":"\\ud800"}]', None, PARSE),
    (b'{"jsonrpc":"2.0","id":5,"method":"' + b'\\"' * 200_000, 5, PARSE),
    (b'{"id":4}', 4, INVALID),
    (b'{"jsonrpc":"2.0","id":4,"method":5}', 4, INVALID),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID),
    (b"5", None, INVALID),
]


@pytest.mark.inner
@pytest.mark.parametrize(("line", "id_", "code"), BROKEN)
def test_the_error_of_a_line_has_its_id(line: bytes, id_: Any, code: int) -> None:
    error = error_of(line + b"\n")
    assert error is not None
    assert (error.id, error.error.code) == (id_, code)
    assert "\n" not in error.error.message


@pytest.mark.inner
@pytest.mark.parametrize(
    "line", [CALL % (b"7", '"é\\ud83d\\ude00"'.encode()), b'{"jsonrpc":"2.0","method":"a"}\r']
)
def test_a_message_has_no_error(line: bytes) -> None:
    assert error_of(line + b"\n") is None


@pytest.mark.real
def test_each_line_over_a_pipe_is_answered(config: Config) -> None:
    words = [
        sys.executable,
        "-m",
        "factseek",
        "mcp",
        "--index",
        f"english={config.server.indexes['english']}",
    ]
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": info}
    last = CALL % (b'"last"', b'"measles vaccine"')
    lines = [
        json.dumps(hello).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b"",
        b" \r",
    ]
    lines += [line for line, _, _ in BROKEN] + [last]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        # A client closes the input only after it has read all answers.
        answers = [json.loads(process.stdout.readline()) for _ in range(len(BROKEN) + 2)]
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        assert (process.stdout.read(), b"Traceback" in process.stderr.read()) == (b"", False)
    errors = [(answer["id"], answer["error"]["code"]) for answer in answers if "error" in answer]
    assert errors == [(id_, code) for _, id_, code in BROKEN]
    results = {answer["id"]: answer["result"] for answer in answers if "result" in answer}
    assert sorted(results) == ["hello", "last"]
    assert results["last"]["structuredContent"]["hits"][0]["docid"] == "measles"


@pytest.mark.real
def test_a_last_line_without_an_end_is_answered_and_ends_the_command(config: Config) -> None:
    words = [
        sys.executable,
        "-m",
        "factseek",
        "mcp",
        "--index",
        f"english={config.server.indexes['english']}",
    ]
    ran = subprocess.run(
        words, input=b'\r\n{"id":4}\n\n{"id":5', capture_output=True, check=True, timeout=60
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [
        (4, INVALID),
        (5, PARSE),
    ]


@pytest.mark.real
def test_ctrl_c_ends_the_command_while_it_waits_for_a_line(config: Config) -> None:
    words = [
        sys.executable,
        "-m",
        "factseek",
        "mcp",
        "--index",
        f"english={config.server.indexes['english']}",
    ]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert b"-32700" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read() == b"factseek: interrupted\n"
