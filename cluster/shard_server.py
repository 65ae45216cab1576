"""The process that answers for one shard: it holds the states of the shard that readers still ask for.

Ray makes it anew on another node when its node dies, with nothing but the arguments of its constructor; so whoever asks
brings the manifest along when a state is not open.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ..retrieval.config import Config
from ..retrieval.domain import Columns, Document, Filter
from ..retrieval.encoders.shared import SharedEncoders
from ..retrieval.errors import FactseekError, IndexStateError
from ..retrieval.index.local_state import LocalState
from ..retrieval.limit import CutOffError, Limit
from ..retrieval.live.snapshot import Snapshot
from ..retrieval.lucene.jvm import start
from ..retrieval.manifest import Manifest
from ..retrieval.terminal import listed
from .connections import Listener
from .ray_library import ray
from .wire import RankingQuestion, ShardAnswer, packed, packed_hits, settings_of, unpacked

KEPT_SECONDS = 120.0
"""Seconds that a state stays open which nobody has asked for, once a later one is."""
IDLE_SECONDS = 10.0
"""Seconds without a question after which the process of a shard that the index has no more ends."""


class _OpenState:
    """A state of the shard, and when it was last asked for."""

    def __init__(self, state: LocalState) -> None:
        self.state = state
        self.asked = monotonic()


class ShardServer:
    """Answers for one shard. An actor of Ray is made of it; every public method is called from another process."""

    def __init__(self, folder: str, config: Config, threads: int, cpus: float) -> None:
        """Begin to answer for the shard in ``folder``; Java is started, so that no search waits for that."""
        os.environ["OMP_NUM_THREADS"] = str(max(1, int(cpus)))  # of a scan of vectors; more would fight for processors
        self._folder = Path(folder)
        self._encoders = SharedEncoders(config.encoder)
        self._beside = ThreadPoolExecutor(threads, thread_name_prefix="beside")
        self._held: dict[str, _OpenState] = {}
        self._opening = threading.Lock()
        self._answered = 0
        self._asked = monotonic()
        self._ending = False
        start(config.java.heap)
        answering = ThreadPoolExecutor(threads, thread_name_prefix="answering")
        self._listener = Listener(ray().util.get_node_ip_address(), self.answer, answering)

    def open(self, generation: str, manifest: Manifest, config: Config) -> ShardAnswer:
        """Open the state that a manifest describes, unless it is open; return where questions about it are taken.

        The settings are those of who opens it first. States that nobody asks for any more are closed.
        """
        self._ending = False
        with self._opening:
            if generation not in self._held:
                try:
                    self._held[generation] = _OpenState(LocalState(self._snapshot(manifest, config)))
                except FactseekError as error:
                    return ShardAnswer(error=error, node=_node())
            self._let_go(generation)
        return ShardAnswer(self._listener.address, node=_node())

    def answer(self, question: bytes) -> bytes:
        """Return the packed :class:`ShardAnswer` to a packed question: a generation, a method, its packed arguments."""
        try:
            generation, method, arguments = unpacked(question)
            answer: ShardAnswer = getattr(self, method)(generation, *unpacked(arguments))
        except Exception:  # noqa: BLE001  whoever asked is told of it
            answer = ShardAnswer(fault=traceback.format_exc())
        return packed(answer)

    def ask(self, generation: str, method: str, arguments: Sequence[Any]) -> ShardAnswer:
        """Return what a method of the shard's :class:`LocalState` returns in a generation."""
        return self._answer(generation, lambda state: getattr(state, method)(*arguments))

    def search(self, generation: str, asked: RankingQuestion) -> ShardAnswer:
        """Return the packed hits of queries."""
        return self._answer(generation, lambda state: self._hits(state, asked))

    def columns(self, generation: str, asked: RankingQuestion) -> ShardAnswer:
        """Return the documents of what :meth:`search` returns."""
        return self._answer(generation, lambda state: self._columns(state, asked))

    def rankings(self, generation: str, asked: RankingQuestion) -> ShardAnswer:
        """Return the packed hits of queries by the name of the ranking."""
        return self._answer(generation, lambda state: self._ranked(state, asked))

    def stored(self, generation: str, places: Sequence[tuple[str, int]]) -> ShardAnswer:
        """Return passages by document and number."""
        return self._answer(generation, lambda state: state.stored(places, _ignore))

    def documents(self, generation: str, where: Filter | None, after: str | None, most: int) -> ShardAnswer:
        """Return at most so many documents under a filter, in the order of the shard, from its first or behind one."""

        def some(state: LocalState) -> list[Document]:
            return list(islice(state.documents(where, after), most))

        return self._answer(generation, some)

    def docids(self, generation: str) -> ShardAnswer:
        """Return the docid of each passage."""
        return self._answer(generation, lambda state: list(state.docids()))

    def status(self) -> dict[str, Any]:
        """Return which generations are open, how many questions were answered, the process and its node."""
        return {"generations": sorted(self._held), "answered": self._answered, "pid": os.getpid(), "node": _node()}

    def end_when_idle(self) -> None:
        """Begin to end this process when nobody has asked it for a while, unless it is to open a state before that."""
        if not self._ending:
            self._ending = True
            itself = ray().get_runtime_context().current_actor
            threading.Thread(target=self._end_when_idle, args=(itself,), name="end", daemon=True).start()

    def _end_when_idle(self, itself: Any) -> None:
        while self._ending:
            sleep(1.0)
            if self._ending and monotonic() - self._asked > IDLE_SECONDS:
                ray().kill(itself, no_restart=True)

    def _answer(self, generation: str, asked: Callable[[LocalState], Any]) -> ShardAnswer:
        held = self._held.get(generation)
        if held is None:
            return ShardAnswer(unopened=True)
        held.asked = self._asked = monotonic()
        self._answered += 1
        try:
            return ShardAnswer(asked(held.state))
        except FactseekError as error:
            return ShardAnswer(error=error)

    def _hits(self, state: LocalState, asked: RankingQuestion) -> list[list[list[Any]]]:
        ranking = state.ranking(asked.names[0], settings_of(asked.settings))
        return packed_hits(ranking.search(asked.queries, asked.k, asked.where, self._limit(asked)))

    def _columns(self, state: LocalState, asked: RankingQuestion) -> list[Columns]:
        ranking = state.ranking(asked.names[0], settings_of(asked.settings))
        return ranking.columns(asked.queries, asked.k, asked.where, self._limit(asked))

    def _ranked(self, state: LocalState, asked: RankingQuestion) -> dict[str, list[list[list[Any]]]]:
        rankings = state.rankings(asked.names, settings_of(asked.settings))
        ranked = rankings.search(asked.queries, asked.k, asked.where, self._limit(asked))
        return {name: packed_hits(hits) for name, hits in ranked.items()}

    def _limit(self, asked: RankingQuestion) -> Limit | None:
        if asked.seconds is None:
            return None
        if asked.seconds <= 0:
            raise CutOffError(f"{listed(asked.names)} took longer than the search may")
        return Limit(asked.seconds, self._beside)

    def _snapshot(self, manifest: Manifest, config: Config) -> Snapshot:
        if not self._folder.is_dir():
            raise IndexStateError(
                "is missing", place=self._folder, remedy="copy the shard to this path of the node, or share its disk"
            )
        return Snapshot(self._folder, config, self._encoders, manifest=manifest)

    def _let_go(self, newest: str) -> None:
        """Close the states that were not asked for in a while, but for the newest."""
        long_ago = monotonic() - KEPT_SECONDS
        for generation in [name for name, held in self._held.items() if name != newest and held.asked < long_ago]:
            self._held.pop(generation).state.close()


def _node() -> str:
    node: str = ray().get_runtime_context().get_node_id()
    return node


def _ignore(*_: object) -> None:
    """Take note of nothing."""
