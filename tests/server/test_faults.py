"""A real server under what goes wrong: slow, greedy, vanishing and too many clients, and workers
that are killed.
"""

import http.client
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.ending import AT_ONCE
from tests.server.served import PATIENCE, Served, answer_of, request_bytes, serve, until

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(folders, tmp_path_factory.mktemp("serve"), "workers: 2, max_waiting: 32") as served:
        yield served
        assert "Traceback" not in served.log.read_text()


def test_deep_nesting_is_refused(server: Served) -> None:
    status, problem = server.ask(
        body=b'{"query": "a", "filter": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    )
    assert (status, problem["error"]) == (400, "bad-input")


def test_clients_that_vanish_do_no_harm(server: Served) -> None:
    for _ in range(100):
        with server.connect() as client:
            client.sendall(request_bytes())
    for _ in range(20):
        with server.connect() as client:
            client.sendall(request_bytes()[:60])
    assert server.ask()[0] == 200


def test_a_thousand_connections_at_once(server: Served) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(1_000)]
        for client in clients:
            client.sendall(request_bytes(extra="Connection: close\r\n"))
        statuses = Counter(answer_of(client)[9:12] for client in clients)
        assert set(statuses) <= {b"200", b"503"}, statuses
        assert statuses[b"200"] >= 64
    assert server.ask()[0] == 200


@pytest.mark.deep
def test_a_worker_killed_under_load_takes_only_its_own_requests_along(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    with serve(folders, tmp_path, "workers: 2") as served:
        killed, stop = threading.Event(), threading.Event()

        def caller(_: int) -> Counter[str]:
            seen: Counter[str] = Counter()
            while not stop.is_set():
                try:
                    seen[str(served.ask()[0])] += 1
                except OSError:
                    seen["failed" if killed.is_set() else "failed before"] += 1
                except http.client.HTTPException:
                    seen["failed"] += 1
            return seen

        with ThreadPoolExecutor(6) as pool:
            callers = [pool.submit(caller, number) for number in range(6)]
            time.sleep(1.0)
            killed.set()
            os.kill(served.workers()[0], signal.SIGKILL)
            until(lambda: len(served.workers()) == 2)
            time.sleep(3.0)
            stop.set()
            seen = sum((one.result() for one in callers), Counter())
        assert seen["failed before"] == 0
        assert seen["failed"] <= 6, seen
        assert seen["200"] > 20, seen
        assert set(seen) <= {"200", "failed"}, seen


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM])
def test_a_reload_and_a_stop_drop_nothing(
    folders: dict[str, Path], tmp_path: Path, how: signal.Signals
) -> None:
    with serve(folders, tmp_path, "workers: 2") as served:
        stop = threading.Event()

        def caller(_: int) -> Counter[str]:
            seen: Counter[str] = Counter()
            while not stop.is_set():
                try:
                    seen[str(served.ask()[0])] += 1
                except ConnectionRefusedError:
                    seen["refused"] += 1
                    stop.wait(0.05)
                except (OSError, http.client.HTTPException) as error:
                    seen[type(error).__name__] += 1
            return seen

        with ThreadPoolExecutor(4) as pool:
            callers = [pool.submit(caller, number) for number in range(4)]
            time.sleep(1.0)
            before = set(served.workers())
            served.process.send_signal(how)
            if how == signal.SIGHUP:
                until(lambda: served.workers() and not before & set(served.workers()))
                time.sleep(0.5)
            else:
                assert served.process.wait(timeout=PATIENCE) == 0
            stop.set()
            seen = sum((one.result() for one in callers), Counter())
        assert seen["200"] > 10, seen
        # Once nobody listens, a stopped server's address refuses; what was accepted before is
        # answered.
        assert set(seen) <= (
            {"200"} if how == signal.SIGHUP else {"200", "refused", "ConnectionResetError"}
        ), seen


def test_rates_and_metrics_are_totals_over_all_workers(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    with serve(folders, tmp_path, "workers: 2, per_minute: 30") as served:
        statuses = Counter(served.ask()[0] for _ in range(90))
        assert set(statuses) == {200, 429}
        # One more every two seconds, of which the loop may have taken some.
        assert 30 <= statuses[200] <= 45
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        found = {
            name: float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")
        }
        of_route = 'factseek_requests_total{method="POST",route="/v1/<name>/search",status="%d"}'
        assert {status: found[of_route % status] for status in statuses} == statuses
        assert found['factseek_index_documents{index="en"}'] == 5


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_is_starting_stops_too(
    folders: dict[str, Path], tmp_path: Path, how: signal.Signals
) -> None:
    with serve(folders, tmp_path, "workers: 3") as served:
        os.killpg(served.process.pid, how)
        assert served.process.wait(timeout=AT_ONCE) == 0
