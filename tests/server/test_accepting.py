"""The workers of a server take turns: each has about as many connections as the others."""

import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from factseek.server.accepting import ConnectionCounts, Turns
from tests.server.served import Served, serve, until

ESTABLISHED = "01"


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(folders, tmp_path_factory.mktemp("accepting"), "workers: 2") as served:
        until(lambda: len(ready_workers(served)) == 2)
        yield served


def ready_workers(served: Served) -> list[int]:
    """Return the workers that accept connections: each answers when it is asked often enough."""
    processes = set()
    for _ in range(4):
        with connected(served, 2) as clients:
            processes |= set(workers_of(served, clients))
    return sorted(processes)


@contextmanager
def connected(served: Served, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(served.connect()) for _ in range(count)]


def workers_of(served: Served, clients: list[socket.socket]) -> Counter[int]:
    """Return how many of the clients are connected with each worker."""
    ports = {client.getsockname()[1] for client in clients}

    def owners() -> Counter[int] | None:
        inodes = {}
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            local, remote = (int(field.split(":")[1], 16) for field in fields[1:3])
            if local == served.port and remote in ports and fields[3] == ESTABLISHED:
                inodes[fields[9]] = remote
        found = Counter[int]()
        for worker in served.workers():
            for descriptor in Path(f"/proc/{worker}/fd").iterdir():
                try:
                    target = str(descriptor.readlink())
                except OSError:
                    continue
                match = re.fullmatch(r"socket:\[(\d+)\]", target)
                found[worker] += match is not None and match[1] in inodes
        return +found if found.total() == len(clients) else None

    counted: Counter[int] = until(owners)
    return counted


def test_connections_at_once_are_shared_equally(server: Served) -> None:
    for _ in range(5):
        with connected(server, 8) as clients:
            assert sorted(workers_of(server, clients).values()) in ([4, 4], [3, 5])
        time.sleep(0.05)  # the workers notice that the clients have gone


def test_a_worker_that_hangs_keeps_nobody_waiting(server: Served) -> None:
    hanging, other = server.workers()
    os.kill(hanging, signal.SIGSTOP)
    try:
        with connected(server, 6) as clients:
            assert workers_of(server, clients) == {other: 6}
    finally:
        os.kill(hanging, signal.SIGCONT)


def test_the_place_of_a_dead_worker_goes_to_its_successor(server: Served) -> None:
    dead, other = server.workers()
    os.kill(dead, signal.SIGKILL)
    until(lambda: len(server.workers()) == 2 and dead not in server.workers())
    with connected(server, 4) as clients:
        assert workers_of(server, clients)[other] >= 2
    until(lambda: len(ready_workers(server)) == 2)
    with connected(server, 8) as clients:
        assert sorted(workers_of(server, clients).values()) in ([4, 4], [3, 5])


def test_a_connection_is_for_the_worker_with_the_fewest() -> None:
    counts = ConnectionCounts(workers=2)
    first, second = Turns(counts, 0), Turns(counts, 1)
    first.begin()
    assert not first.is_of_others(3)  # nobody else is there
    second.begin()
    first.note(1)
    assert first.is_of_others(1)
    assert not second.is_of_others(0)
    second.note(1)
    assert not first.is_of_others(1)
    second.note(0)
    second.end()
    assert not first.is_of_others(1)
    second.note(0)  # its last connection has closed
    assert not first.is_of_others(1)
