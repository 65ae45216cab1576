"""The end of a server: what it does with unfinished answers, and that native libraries do
nothing.
"""

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server.ending import AT_ONCE, end
from tests.server.served import PATIENCE, Served, serve, until

SCRIPT = """
import ctypes, sys
from factseek.server import serve as serving
from factseek.server.settings import Config, ServerSettings

class Faulty(serving.FactseekServer):
    def load(self):
        c = ctypes.CDLL(None)
        getattr(c, "__cxa_atexit")(ctypes.cast(c._exit, ctypes.c_void_p), ctypes.c_void_p(77), None)
        return super().load()

serving.FactseekServer = Faulty
serving.serve(Config(server=ServerSettings(port=0, workers=1, indexes={"en": sys.argv[1]})))
"""
"""A server in whose workers an exit handler of C ends the process with 77, which the master
reports.
"""


@pytest.mark.real
def test_a_worker_ends_without_the_exit_handlers_of_libraries(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folders["english"])],
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
        try:
            assert Served(process, log).ask()[0] == 200
        finally:
            end(process)
    assert process.returncode == 0
    assert "exited with code" not in log.read_text()
    assert "Traceback" not in log.read_text()


QUERIES = [
    {"qid": str(number), "text": f"measles vaccine moon {number}"} for number in range(30_000)
]
LONG = (
    "workers: 1, stop_seconds: 1, max_batch: 30000, max_body_bytes: 9000000, memory_bytes: "
    "900000000"
)
LINE = {
    "error": "stopping",
    "detail": "the server is stopping; send the queries that have no line again",
}


@contextmanager
def cut_off(
    folders: dict[str, Path], tmp_path: Path, accept: str
) -> Iterator[http.client.HTTPResponse]:
    """Send a batch that takes far longer than ``server.stop_seconds``, and stop the server when it
    begins to answer.
    """
    with serve(folders, tmp_path, LONG) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        body = json.dumps({"queries": QUERIES, "k": 3}).encode()
        headers = {"Content-Type": "application/json", "Accept": accept}
        connection.request("POST", "/v1/en/search/batch", body, headers)
        if accept == "text/plain":
            until(lambda: b"factseek serves" in server.log.read_bytes())
            time.sleep(1)
            server.process.send_signal(signal.SIGTERM)
            response = connection.getresponse()
        else:
            response = connection.getresponse()
            response.read(1)
            server.process.send_signal(signal.SIGTERM)
        yield response
        connection.close()
        assert server.process.wait(AT_ONCE) == 0
        log = server.log.read_text()
    assert (
        "1 unfinished requests were cut off 1 seconds after the signal to stop "
        "(server.stop_seconds)" in log
    )
    assert all(json.loads(line) for line in log.splitlines() if not line.startswith("factseek "))
    assert "Traceback" not in log


@pytest.mark.real
def test_lines_that_a_stop_cuts_off_end_with_a_line_that_says_so(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    with cut_off(folders, tmp_path, "application/x-ndjson") as response:
        lines = response.read().splitlines()
    assert json.loads(lines[-1]) == LINE
    assert 1 < len(lines) < len(QUERIES)
    assert [json.loads(line)["qid"] for line in lines[1:-1]] == [
        str(number) for number in range(1, len(lines) - 1)
    ]


@pytest.mark.real
def test_json_that_a_stop_cuts_off_has_no_end(folders: dict[str, Path], tmp_path: Path) -> None:
    with (
        cut_off(folders, tmp_path, "application/json") as response,
        pytest.raises(ConnectionResetError),
    ):
        response.read()


@pytest.mark.real
def test_a_run_that_a_stop_cuts_off_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    with cut_off(folders, tmp_path, "text/plain") as response:
        assert (response.status, json.loads(response.read())["error"]) == (503, "stopping")
