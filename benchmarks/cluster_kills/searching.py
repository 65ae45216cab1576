"""Searches that go on while something is killed, and the answers that they must have."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.cluster_kills.kills import WrongAnswerError
from factseek.cluster.opening import open_index as open_on_cluster
from factseek.cluster.replicas import ShardLostError
from factseek.cluster.settings import ClusterSettings
from factseek.retrieval.encoders.shared import SharedEncoders
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search, Searcher
from factseek.settings import Config

QUERIES = ("vaccines cause autism", "measles vaccine", "sea level", "climate change is a hoax")
ASKED = Search(k=10, retriever="bm25")
MOST_SECONDS = 300.0


class SearchLoad:
    """Searches all the time, in a thread, and keeps each answer that differs from those before."""

    def __init__(self, index: Searcher) -> None:
        self._index = index
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.counts: Counter[str] = Counter()
        self.whole: dict[str, list[Any]] = {query: [] for query in QUERIES}
        self.last: dict[str, Any] = {}
        self.error: BaseException | None = None

    def __enter__(self) -> SearchLoad:
        """Begin to search."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and raise what went wrong."""
        self._ending.set()
        self._thread.join(MOST_SECONDS)
        if self.error is not None:
            raise self.error

    def turn_to(self, index: Searcher) -> None:
        """Search ``index`` from the next query on."""
        self._index = index
        self.last = {}

    def check(self, *states: dict[str, Any]) -> None:
        """Raise WrongAnswerError if a whole answer was that of none of these states; forget the answers."""
        whole, self.whole = self.whole, {query: [] for query in QUERIES}
        for query, answers in whole.items():
            wrong = [answer for answer in answers if all(answer != state[query] for state in states)]
            if wrong:
                raise WrongAnswerError(f"{query}: {wrong[0]}")

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                for query in QUERIES:
                    self._ask(query)
        except BaseException as error:  # noqa: BLE001  it is raised where the load ends
            self.error = error

    def _ask(self, query: str) -> None:
        began = monotonic()
        self.counts["answers"] += 1
        try:
            hits = self._index.search([query], ASKED)[0]
        except ShardLostError:  # a server answers 503
            self.counts["partial"] += 1
            return
        if self._index.missing_since(began):
            self.counts["partial"] += 1
            return
        self.last = {**self.last, query: hits}
        if hits not in self.whole[query]:
            self.whole[query].append(hits)


def settings(nodes: Any, replicas: int) -> ClusterSettings:
    """Return the settings of the cluster."""
    return ClusterSettings(address=nodes.address, cpus=0.1, replicas=replicas, ask_seconds=5)


def expected(index: Path) -> dict[str, Any]:
    """Return what a search of the folder in this process answers to each query."""
    encoders = SharedEncoders(Config().encoder)
    with open_index(index, Config(), encoders=encoders) as opened:
        return {query: opened.search([query], ASKED)[0] for query in QUERIES}


def opened_on(index: Path, cluster: ClusterSettings, opened: ExitStack) -> Searcher:
    """Open the shards on a cluster, until ``opened`` is closed."""
    encoders = SharedEncoders(Config().encoder)
    return opened.enter_context(open_on_cluster(index, Config(), cluster, encoders=encoders))
