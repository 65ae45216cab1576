"""Shards on a Ray cluster: each replica of a shard is an actor, which answers for the published
states it has opened.

Ray places the actors, restarts an actor on another node if its node dies, and lets every reader of
an index find them by name. A restarted actor knows only its folder, so a caller sends the manifest
of a state that the actor has not opened. A Ray cluster has no authentication of its own: run it in
a trusted network.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.deadline import CutOffError, Deadline
from ..core.domain import Document, FacetCounts, Filter, Hit, Passage, Total
from ..core.errors import FactseekError, IndexStateError, MachineError
from ..core.terminal import join_words
from ..indexer import settings as indexer_settings
from ..indexer.build import BuildReport, BuildRequest, build
from ..indexer.lock import writing_parts
from ..retrieval.config import BM25Settings, Config
from ..retrieval.dense.vectors import Vectors
from ..retrieval.encoders.opening import SharedEncoders
from ..retrieval.lucene.jvm import start
from ..retrieval.lucene.spelling import WordNearby
from ..retrieval.retrievers import Ranked, Rankings
from ..retrieval.search.collection_statistics import FieldStatistics, Term, TermCount
from ..retrieval.search.index_state import IndexState
from ..retrieval.search.options import CountQuery, ReadNote, ReplicaHealth, ShardHealth
from ..retrieval.search.prepared_query import PreparedQuery
from ..retrieval.search.snapshot import IndexEncoders, Snapshot
from ..retrieval.sparse.impacts import TermCounts
from ..retrieval.store.documents import Addition, Place, ShortField, Stored
from ..retrieval.store.manifest import Manifest
from ..retrieval.store.signatures import Signatures
from . import layout
from .coordinator import Gathering, ShardedState, ShardLostError
from .layout import Shard, Shards
from .ray_cluster import NAMESPACE, connect, ray
from .settings import ClusterSettings

Given = TypeVarTuple("Given")
T = TypeVar("T")
START_SECONDS = 60.0
"""The seconds within which a replica of each shard must open its state."""
THREADS = 64
"""The number of calls to shards that may wait at a time in this process."""
REST_SECONDS = 0.5
"""The seconds for which a replica that did not answer is avoided if another replica is left."""
GRACE_SECONDS = 0.5
"""The seconds after the time limit of a search in which its shards may report that they were cut
off.
"""
KEPT_SECONDS = 120.0
"""An actor that opens a state closes each other state that had no question for this many
seconds.
"""
FREED_SECONDS = 5.0
"""The seconds within which Ray frees the processors of a process that has ended."""
LOCK_SECONDS = 60.0
"""The seconds that a build waits for a shard's lock, which the builder of a lost node may still
hold.
"""
DOCUMENTS_AT_ONCE = 200
_ADD_NODES = "add nodes with ray start --address"
_HITS = msgspec.msgpack.Decoder(dict[str, list[list[Hit]]])


class StateNotOpenError(Exception):
    """An actor has not opened the requested state."""


RankingQuestion = tuple[
    Sequence[str], Config, Sequence[PreparedQuery], int, Filter | None, float | None
]
"""The names of rankings, their settings, queries, k, filter, and the seconds that are left, None
without a limit.
"""


class ShardActor:
    """Answers questions about one shard.

    Ray makes an actor of this class; other processes call its public methods.
    """

    def __init__(self, folder: str, config: Config, threads: int, cpus: float) -> None:
        """Answer for the shard in ``folder``. Start Java now, so that no search waits for it."""
        # For vector scans; more threads would compete.
        os.environ["OMP_NUM_THREADS"] = str(max(1, int(cpus)))
        self._folder = Path(folder)
        self._encoders = SharedEncoders(config.encoder, only_configured=True)
        self._beside = ThreadPoolExecutor(threads, thread_name_prefix="beside")
        self._states: dict[str, Snapshot] = {}
        self._last_asked: dict[str, float] = {}
        self._opening = threading.Lock()
        self._answered = 0
        start(config.java.heap)

    def open(self, manifest: Manifest, config: Config) -> str:
        """Open the state that a manifest describes, unless it is open already; return the node of
        this actor.

        The first caller's settings apply. States without recent questions are closed. Raises
        IndexStateError if the state cannot be opened.
        """
        node: str = ray().get_runtime_context().get_node_id()
        with self._opening:
            if manifest.id not in self._states:
                try:
                    if not self._folder.is_dir():
                        remedy = (
                            "copy the shard to this path of the node, or share the disk that has it"
                        )
                        raise IndexStateError("is missing", place=self._folder, remedy=remedy)
                    snapshot = Snapshot(self._folder, config, self._encoders, manifest=manifest)
                except FactseekError as error:
                    what = f"{error.what}, on node {node[:12]}"
                    raise type(error)(what, place=error.place, remedy=error.remedy) from None
                self._states[manifest.id] = snapshot
            self._last_asked[manifest.id] = monotonic()
            for state, moment in list(self._last_asked.items()):
                if state != manifest.id and moment < monotonic() - KEPT_SECONDS:
                    del self._last_asked[state]
                    self._states.pop(state).close()
        return node

    def ask(self, state: str, method: str, arguments: Sequence[Any]) -> Any:
        """Call a method of a state of the shard, and return its result; raise StateNotOpenError if
        it is not open.
        """
        opened = self._states.get(state)
        if opened is None:
            raise StateNotOpenError(state)
        self._last_asked[state] = monotonic()
        self._answered += 1
        own: dict[str, Callable[..., Any]] = {
            "hits": self._hits,
            "read_passages": lambda state, places: state.read_passages(places, lambda *_: None),
            # Yield documents in the order of the shard, from the first one or from the one that
            # follows ``after``.
            "documents": lambda state, where, after, most: list(
                islice(state.documents(where, after), most)
            ),
        }
        answer = (
            own[method](opened, *arguments)
            if method in own
            else getattr(opened, method)(*arguments)
        )
        return list(answer) if isinstance(answer, Iterator) else answer

    def status(self) -> tuple[str, int, tuple[str, ...], int]:
        """Return the node, the process, the open states, and the number of answered questions."""
        return (
            ray().get_runtime_context().get_node_id(),
            os.getpid(),
            tuple(sorted(self._states)),
            self._answered,
        )

    def _hits(self, state: Snapshot, question: RankingQuestion) -> bytes:
        """Return the hits of each ranking and query in MessagePack; Ray itself would look up the
        class of each hit.
        """
        names, settings, queries, k, where, seconds = question
        if seconds is not None and seconds <= 0:
            raise CutOffError(f"{join_words(names)} took longer than the time limit of the search")
        limit = None if seconds is None else Deadline(seconds, self._beside)
        return msgspec.msgpack.encode(
            state.rankings(names, settings).search(queries, k, where, limit)
        )


class _Replica:
    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.node = ""
        self.answers: bool | None = None
        self.busy = 0
        self.resting = 0.0
        self.opening: Any = None


class RemoteState:
    """A :class:`factseek.retrieval.search.index_state.ShardState` in other processes.

    It asks the replicas of the shard: first the least busy one, then another if that one fails.
    """

    def __init__(
        self, shard: Shard, folder: Path, actors: Sequence[Any], config: Config, seconds: float
    ) -> None:
        """Ask ``actors``, and wait at most ``seconds``.

        Each opens the published state at its first question.
        """
        self.name, self.folder, self.manifest = shard.path, folder, shard.manifest
        self._config = config
        self._seconds = seconds
        self.replicas = [_Replica(actor) for actor in actors]
        self._choosing = threading.Lock()

    def ask(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Return the result of a method of the shard's state; raise ShardLostError if no replica
        answers in time.
        """
        until = monotonic() + (self._seconds if seconds is None else seconds)
        reason, tried = "no replica is running", list[_Replica]()
        for attempt in range(2 * len(self.replicas)):
            with self._choosing:
                now = monotonic()
                replica = min(
                    self.replicas,
                    key=lambda each: (tried.count(each), each.resting > now, each.busy),
                )
                replica.busy += 1
            tried.append(replica)
            try:
                # As long as another replica is left, do not wait for one that is restarting.
                answer = self._answer(
                    replica, method, arguments, until, patient=attempt >= len(self.replicas) - 1
                )
            except ray().exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, FactseekError) else error from None
            except (ray().exceptions.RayError, StateNotOpenError) as error:
                reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
                replica.answers, replica.resting = False, monotonic() + REST_SECONDS
                if monotonic() >= until:
                    break
            else:
                replica.answers = True
                return answer
            finally:
                replica.busy -= 1
        raise ShardLostError(f"does not answer ({reason[:200]})", place=self.name)

    def _call(self, method: Callable[[Snapshot, *Given], T], *given: *Given) -> T:
        """Return the result of a method of the shard's state, as :meth:`ask` does."""
        answer: T = self.ask(method.__name__, *given)
        return answer

    def start_opening(self, replica: _Replica) -> Any:
        """Make a replica open the state; return Ray's reference to its answer."""
        return replica.actor.open.remote(self.manifest, self._config)

    def _answer(
        self,
        replica: _Replica,
        method: str,
        arguments: Sequence[Any],
        until: float,
        *,
        patient: bool,
    ) -> Any:
        """Return a replica's answer.

        If the replica must open the state first, wait for that only if ``patient``.
        """
        if replica.opening is None:
            reference = replica.actor.ask.remote(self.manifest.id, method, arguments)
            try:
                return ray().get(reference, timeout=max(0.001, until - monotonic()))
            except ray().exceptions.RayTaskError as error:
                if not isinstance(error.cause, StateNotOpenError):
                    replica.answers = True  # the question failed, but the replica answered
                    raise
            replica.opening = self.start_opening(replica)
        opening = replica.opening
        ready, _ = ray().wait([opening], timeout=max(0.0, until - monotonic()) if patient else 0.0)
        if not ready:
            raise StateNotOpenError("the replica is starting again")
        replica.opening = None
        replica.node = ray().get(opening)
        return self._answer(replica, method, arguments, until, patient=patient)

    def rankings(self, names: Sequence[str], config: Config) -> RemoteRankings:
        """Return rankings that the shard computes together in its own process."""
        return RemoteRankings(self, names, config)

    def read_passages(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number; when all have arrived, call ``note`` for each."""
        stored: dict[Place, Stored] = self.ask("read_passages", list(places))
        for passage in stored.values():
            note(passage.document, passage.span)
        return stored

    def document_values(self, places: Sequence[Place], field: ShortField) -> list[str]:
        """Return a field of the document of each passage, in the order of the passages."""
        return self._call(Snapshot.document_values, places, field)

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages if passages are ranked, can be found."""
        return self._call(Snapshot.count, question)

    def count_undated(self, where: Filter) -> int:
        """Return how many documents a date bound excludes because they have no date."""
        return self._call(Snapshot.count_undated, where)

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        return self._call(Snapshot.facets, question, fields)

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._call(Snapshot.document, docid)

    def addition(self, docid: str) -> Addition:
        """Return when and how the document of this docid was added."""
        return self._call(Snapshot.addition, docid)

    def passages_of(self, docids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return the passages of each of these documents, in order."""
        return self._call(Snapshot.passages_of, docids)

    def docids(self) -> Iterator[str]:
        """Return the docid of each passage; the replica sends all at once."""
        return iter(self._call(Snapshot.docids))

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the searched text fields."""
        return self._call(Snapshot.field_statistics)

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return the counts of each term."""
        return self._call(Snapshot.term_counts, terms)

    def term_weights(
        self, query: PreparedQuery, places: Sequence[Place], weights: BM25Settings
    ) -> list[dict[str, float]]:
        """Return, for each passage, the terms of a query that it contains, each with its part of
        the score.
        """
        return self._call(Snapshot.term_weights, query, places, weights)

    def find_unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of the words of which the shard contains no form."""
        return self._call(Snapshot.find_unwritten, words)

    def find_unbegun(self, beginnings: Sequence[str]) -> list[str]:
        """Return those of the beginnings with which no word of the shard begins."""
        return self._call(Snapshot.find_unbegun, beginnings)

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the shard within ``edits`` edits of a word."""
        return self._call(Snapshot.words_near, word, edits)

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage of a document that passes the filter contains a word."""
        return self._call(Snapshot.has_word, word, where)

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        return self._call(Snapshot.signatures, places)

    def near_copies(
        self, signatures: Signatures, most: int, where: Filter | None
    ) -> list[set[str]]:
        """Return, for each signature, the docids of its near-duplicates under a filter."""
        return self._call(Snapshot.near_copies, signatures, most, where)

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order."""
        return self._call(Snapshot.passage_vectors, places, view)

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        return self._call(Snapshot.document_vector, docid, view)

    def count_impacts(self, view: str, terms: NDArray[np.int32]) -> TermCounts:
        """Return the number of passages, and of those with each term of a view of impacts."""
        return self._call(Snapshot.count_impacts, view, terms)

    def impacts_of(
        self, query: PreparedQuery, places: Sequence[Place], view: str
    ) -> list[list[tuple[int, float]]]:
        """Return, for each passage, the terms of a query that it has in a view of impacts, each
        with its part of the score.
        """
        return self._call(Snapshot.impacts_of, query, places, view)

    def noise_similarities(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage in a view to each random query."""
        return self._call(Snapshot.noise_similarities, view)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that are not deleted and pass the filter, if any; a replica sends
        them in batches.
        """
        after: str | None = None
        while some := self.ask("documents", where, after, DOCUMENTS_AT_ONCE):
            yield from some
            after = some[-1].docid

    def shards(self) -> Sequence[ShardHealth]:
        """Return this shard with its replicas: their nodes, and whether they answered their last
        question.
        """
        words = {None: "unasked", True: "answers", False: "lost"}
        named = ({"node": each.node, "state": words[each.answers]} for each in self.replicas)
        replicas = [msgspec.convert(each, ReplicaHealth) for each in named]
        return [ShardHealth(name=self.name, generation=self.manifest.id, replicas=replicas)]

    def close(self) -> None:
        """Do nothing: the actors close states that nobody asks for."""


class RemoteRankings(Rankings):
    """Rankings that a shard computes together in its own process."""

    def __init__(self, state: RemoteState, names: Sequence[str], settings: Config) -> None:
        self._ask = state.ask
        self.names: Sequence[str] = names
        self._settings = settings

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> Ranked:
        """Return the hits of each ranking that was ready in time; note the others as missing."""
        question = (self.names, self._settings, queries, k, where)
        if limit is None:
            return _HITS.decode(self._ask("hits", (*question, None)))
        try:
            seconds = limit.require_seconds(self.names[0])
            ranked = _HITS.decode(
                self._ask("hits", (*question, seconds), seconds=seconds + GRACE_SECONDS)
            )
        except CutOffError:
            late = [limit.cut_off(name) for name in self.names]
            raise late[0] from None
        for name in self.names:
            if name not in ranked:
                limit.cut_off(name)
        return ranked


def open_state(
    folder: Path, config: Config, cluster: ClusterSettings, encoders: IndexEncoders
) -> IndexState:
    """Open the sharded index in ``folder`` on the cluster at ``cluster.address``.

    Raises IndexStateError if the index is missing, or no replica of a shard can open the state;
    MachineError if the cluster cannot run a replica of each shard in time.
    """
    shards, states = _start_replicas(folder, config, cluster)
    _wait_for(states, every=False)
    beside = ThreadPoolExecutor(THREADS, thread_name_prefix="shards")
    gathering = Gathering(beside, require_all=cluster.require_all)
    return ShardedState(folder, shards, states, config, encoders, gather=gathering)


def try_to_open(folder: Path, config: Config, cluster: ClusterSettings) -> None:
    """Make every replica of an index's shards open its state.

    A child process asks them, so this process may fork.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        child.submit(_open_all, folder.absolute(), config, cluster).result()


def _open_all(folder: Path, config: Config, cluster: ClusterSettings) -> None:
    _wait_for(_start_replicas(folder, config, cluster)[1], every=True)


def _start_replicas(
    folder: Path, config: Config, cluster: ClusterSettings
) -> tuple[Shards, list[RemoteState]]:
    """Return each shard's state; start missing replicas, which outlive this process, and end those
    of former shards.
    """
    shards = layout.read(folder)
    connect(cluster.address)
    library = ray()
    nodes = sorted(node["NodeID"] for node in library.nodes() if node["Alive"])
    if len(nodes) < cluster.replicas:
        raise MachineError(
            f"the cluster has {len(nodes)} node{'s' * (len(nodes) != 1)}, too few for "
            f"{cluster.replicas} replicas",
            place="cluster.replicas",
            remedy=f"{_ADD_NODES}, or lower cluster.replicas",
        )
    wanted = {
        actor_name(folder, shard.path, replica): (shard, nodes[(number + replica) % len(nodes)])
        for number, shard in enumerate(shards.shards)
        for replica in range(cluster.replicas)
    }
    there = set(running(folder))
    for name in there - wanted.keys():
        library.kill(library.get_actor(name, NAMESPACE), no_restart=True)
    missing = len(wanted.keys() - there)
    _check_room(missing, "replica", cluster.cpus)
    actors: dict[str, list[Any]] = {}
    for name, (shard, node) in wanted.items():
        near = library.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        actor = library.remote(ShardActor).options(
            name=name,
            namespace=NAMESPACE,
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=cluster.threads,
            num_cpus=cluster.cpus,
            scheduling_strategy=near,
        )
        place = str(shard.folder(folder.resolve()).absolute())
        actors.setdefault(shard.path, []).append(
            actor.remote(place, config, cluster.threads, cluster.cpus)
        )
    return shards, [
        RemoteState(shard, shard.folder(folder), actors[shard.path], config, cluster.ask_seconds)
        for shard in shards.shards
    ]


def _wait_for(states: Sequence[RemoteState], *, every: bool) -> None:
    """Wait until one replica of each shard, or ``every`` replica, has opened its state, or raise
    why it cannot.
    """
    opening = {
        state.start_opening(each): (state, each) for state in states for each in state.replicas
    }
    waiting, missing, until = (
        list(opening),
        {state.name for state in states},
        monotonic() + START_SECONDS,
    )
    while waiting and (every or missing):
        ready, waiting = ray().wait(waiting, timeout=max(0.0, until - monotonic()))
        if not ready:
            raise MachineError(
                f"no node of the cluster has opened this shard within {START_SECONDS:g} s",
                place=opening[waiting[0]][0].name,
                remedy="run ray status: a node needs as many free processors as cluster.cpus says",
            )
        state, replica = opening[ready[0]]
        try:
            replica.node = ray().get(ready[0])
            missing.discard(state.name)
        except ray().exceptions.RayError as error:
            last = not any(opening[each][0] is state for each in waiting)
            if every or (state.name in missing and last):
                raise _convert_error(error, state.name, "opened") from None


def _convert_error(error: Exception, place: object, done: str) -> FactseekError:
    if isinstance(cause := getattr(error, "cause", None), FactseekError):
        return cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    missing = next(
        (line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))), ""
    )
    if missing:
        return MachineError(
            f"cannot be {done} on a node of the cluster, which lacks a package "
            f"({missing.partition(': ')[2][:200]})",
            place=place,
            remedy="install the same version of factseek[ray] on every node",
        )
    return MachineError(
        f"cannot be {done} on the cluster ({(lines or ['no reason given'])[-1][:200]})",
        place=place,
        remedy="read the logs of Ray on the nodes",
    )


def _check_room(started: int, what: str, cpus: float) -> None:
    until = monotonic() + FREED_SECONDS
    while started and (free := ray().available_resources().get("CPU", 0.0)) < started * cpus - 1e-6:
        if monotonic() > until:
            raise MachineError(
                f"each {what} of a shard reserves {cpus:g} processors, but only {free:g} are free "
                f"for {started} more",
                place="cluster.cpus",
                remedy=f"{_ADD_NODES}, or lower cluster.cpus",
            )
        sleep(0.2)
    largest = max(
        (node["Resources"].get("CPU", 0.0) for node in ray().nodes() if node["Alive"]), default=0.0
    )
    if started and largest < cpus:
        raise MachineError(
            f"each {what} of a shard reserves {cpus:g} processors, but the largest node has only "
            f"{largest:g}",
            place="cluster.cpus",
            remedy="add a larger node with ray start --address, or lower cluster.cpus",
        )


def actor_name(folder: Path, shard: str, replica: int) -> str:
    """Return the name by which every reader finds a replica of a shard of the index in
    ``folder``.
    """
    place = folder.resolve()
    digest = hashlib.blake2b(str(place).encode(errors="surrogatepass"), digest_size=6).hexdigest()
    return f"{digest}/{place.name}/{shard}/{replica}"


def running(folder: Path) -> list[str]:
    """Return the names of the replicas of all shards, including former ones, of the index in
    ``folder``.
    """
    beginning = actor_name(folder, "", 0).removesuffix("/0")
    actors = ray().util.list_named_actors(all_namespaces=True)
    names: list[str] = [actor["name"] for actor in actors if actor["namespace"] == NAMESPACE]
    return [name for name in names if name.startswith(beginning)]


class ReplicaStatus(NamedTuple):
    """A replica of a shard; if it does not answer, only the shard and the replica's number are
    known.
    """

    shard: str
    replica: int
    alive: bool
    node: str = ""
    pid: int = 0
    states: tuple[str, ...] = ()
    answered: int = 0


def replicas_of(folder: Path, cluster: ClusterSettings) -> list[ReplicaStatus]:
    """Return the replicas of the shards of the index in ``folder``, in the order of the shards."""
    shards = layout.read(folder)
    connect(cluster.address)
    replicas = []
    for shard in shards.shards:
        for number in range(cluster.replicas):
            try:
                actor = ray().get_actor(actor_name(folder, shard.path, number), NAMESPACE)
                status = ray().get(actor.status.remote(), timeout=cluster.ask_seconds)
            except (ValueError, ray().exceptions.RayError, TimeoutError):
                replicas.append(ReplicaStatus(shard.path, number, alive=False))
            else:
                replicas.append(ReplicaStatus(shard.path, number, True, *status))
    return replicas


def stop(folder: Path, cluster: ClusterSettings) -> int:
    """End the replicas of all shards of the index in ``folder``; return their number."""
    layout.read(folder)
    connect(cluster.address)
    names = running(folder)
    for name in names:
        ray().kill(ray().get_actor(name, NAMESPACE), no_restart=True)
    return len(names)


def builder(
    cluster: ClusterSettings,
) -> Callable[[Sequence[BuildRequest], indexer_settings.Config], list[BuildReport]]:
    """Return a function that runs builds in parallel on a cluster, each with the processors that a
    shard reserves.

    The sources and the index must have the same path on every node. If the process or node of a
    build dies, the build runs again and continues from its journal. Both functions raise
    MachineError if the cluster is no help.
    """
    connect(cluster.address)
    library = ray()

    def run(requests: Sequence[BuildRequest], config: indexer_settings.Config) -> list[BuildReport]:
        _check_room(len(requests), "builder", cluster.cpus)
        threads = config.encoder.threads or max(1, int(cluster.cpus))
        config = msgspec.structs.replace(
            config, encoder=msgspec.structs.replace(config.encoder, threads=threads)
        )
        there = library.remote(_build_shard).options(
            num_cpus=cluster.cpus, max_retries=3, scheduling_strategy="SPREAD"
        )
        builds = [there.remote(request, config) for request in requests]
        try:
            return list(library.get(builds))
        except library.exceptions.RayError as error:
            raise _convert_error(error, requests[0].folder.parent, "built") from None
        finally:
            for reference in library.wait(builds, num_returns=len(builds), timeout=0)[1]:
                library.cancel(reference, force=True)

    return run


def _build_shard(request: BuildRequest, config: indexer_settings.Config) -> BuildReport:
    folder = request.folder
    if not folder.is_dir():
        remedy = "put the index on a disk that every node mounts at the same path"
        raise IndexStateError("is not on this node of the cluster", place=folder, remedy=remedy)
    with writing_parts(folder.parent, [folder]):
        return build(replace(request, wait=LOCK_SECONDS), config)
