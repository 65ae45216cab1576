"""Kills of a server of shards on a cluster, and of its workers, while it is asked over HTTP."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.cluster_kills.kills import Killed, WrongAnswerError
from benchmarks.cluster_kills.searching import MOST_SECONDS, QUERIES, expected, settings
from benchmarks.serving import Server, free_port, workers
from factseek.cluster.status import replicas_of

CONNECTIONS = 4
WORKERS = 2
ASK_SECONDS = 60.0
AGAIN_SECONDS = 0.05
HEADERS = {"Content-Type": "application/json"}


class HttpLoad:
    """Asks a server all the time, over a few connections, and compares each answer."""

    def __init__(self, port: int, answers: dict[str, Any]) -> None:
        """Ask the server at ``port``, whose whole answers must be these."""
        self._port = port
        self._answers = answers
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(CONNECTIONS)]
        self._noting = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.error: BaseException | None = None

    def __enter__(self) -> HttpLoad:
        """Begin to ask."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and raise what went wrong."""
        self._ending.set()
        for thread in self._threads:
            thread.join(MOST_SECONDS)
        if self.error is not None:
            raise self.error

    def wait(self, until: Callable[[], bool] = lambda: True) -> float:
        """Return after how many seconds something holds, and then every query has been answered whole.

        Raises what went wrong meanwhile.
        """
        began, held = monotonic(), False
        while monotonic() - began < MOST_SECONDS and self.error is None:
            if held and len(self.answered) == len(QUERIES):
                return monotonic() - began
            if not held and (held := until()):
                self.answered = set()
            sleep(0.02)
        raise self.error or WrongAnswerError(f"the server does not answer after {MOST_SECONDS:g} s")

    def _run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=ASK_SECONDS)
        try:
            while not self._ending.is_set():
                for query in QUERIES:
                    self._ask(connection, query)
        except BaseException as error:  # noqa: BLE001  it is raised where the load ends
            self.error = error
        finally:
            connection.close()

    def _ask(self, connection: HTTPConnection, query: str) -> None:
        body = json.dumps({"query": query, "k": 10, "retriever": "bm25", "highlight": False})
        try:
            connection.request("POST", "/v1/facts/search", body, HEADERS)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        except (OSError, HTTPException):
            connection.close()
            self._note("unanswered")
            sleep(AGAIN_SECONDS)
            return
        self._note("answers")
        if status == 503 or (status == 200 and "coverage" in json.loads(answer)):
            self._note("partial")
        elif status != 200 or hits_of(answer) != [(hit.docid, hit.score) for hit in self._answers[query]]:
            raise WrongAnswerError(f"{query}: {status} {answer!r}")
        else:
            self.answered.add(query)

    def _note(self, what: str) -> None:
        with self._noting:
            self.counts[what] += 1


def server_killed(index: Path, nodes: Any, chance: random.Random) -> list[Killed]:
    """Kill a worker of a server, and then all of the server, which is started again on the same shards."""
    port, answers = free_port(), expected(index)
    config = index.with_name("server.yaml")
    config.write_text(f"cluster: {{cpus: 0.1, ask_seconds: 5}}\nserver: {{workers: {WORKERS}}}\n")
    command = [sys.executable, "-m", "factseek", "serve", "--index", f"facts={index}", "--ray", nodes.address]
    command += ["--port", str(port), "--config", str(config)]
    with HttpLoad(port, answers) as load:
        with _served(command) as server:
            load.wait(lambda: len(_workers(server)) == WORKERS)
            shards = {replica.pid for replica in replicas_of(index, settings(nodes, 1))}
            worker = _worker_killed(server, load, chance)
            sleep(chance.uniform(0.2, 2.0))
            load.counts.clear()
            os.killpg(server.pid, signal.SIGKILL)
            began = monotonic()
            server.wait(MOST_SECONDS)
        with _served(command):
            load.wait()
            counts, seconds = Counter(load.counts), monotonic() - began
        if shards != {replica.pid for replica in replicas_of(index, settings(nodes, 1))}:
            raise WrongAnswerError("the shards did not outlive the server")
    return [worker, _killed("server", counts, seconds)]


def _worker_killed(server: subprocess.Popen[bytes], load: HttpLoad, chance: random.Random) -> Killed:
    sleep(chance.uniform(0.2, 2.0))
    there = _workers(server)
    load.counts.clear()
    victim = chance.choice(there)
    os.kill(victim, signal.SIGKILL)
    seconds = load.wait(lambda: len(now := _workers(server)) == WORKERS and victim not in now)
    return _killed("worker", Counter(load.counts), seconds)


def _killed(what: str, counts: Counter[str], seconds: float) -> Killed:
    return Killed(what, counts["answers"], counts["partial"], counts["unanswered"], seconds)


def hits_of(answer: bytes) -> list[tuple[str, float]]:
    """Return docid and score of each hit of an answer."""
    return [(hit["docid"], hit["score"]) for hit in json.loads(answer)["hits"]]


def _workers(server: subprocess.Popen[bytes]) -> list[int]:
    """Return the workers of a server."""
    with suppress(OSError):
        return workers(Server(server, 0, 0.0))
    return []


@contextmanager
def _served(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server in a process group of its own, and end all of it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(MOST_SECONDS)
