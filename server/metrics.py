"""Prometheus metrics: totals of requests and answers over all workers, and the state of the served indexes.

Workers count together in files of a folder in memory. The library maps sparse files. If the file system is full, a
missing page ends the process with SIGBUS. So each file is allocated completely before it is mapped.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from flask import Flask, Response, g
from flask.globals import request_ctx

from ..indexer.queue import bulks_waiting
from .runtime import READY, IndexRegistry, registry
from .search import Timed

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder; the library reads it at its first import, after the fork."""
_PREFIX = "factseek-metrics-"
_NAME = re.compile(_PREFIX + r"(\d{1,9})-\w+")
_FIRST_SIZE = 1 << 16
_OF_A_VALUE = 32
"""The most bytes that a value takes in addition to its key."""
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_KEY = "factseek-metrics"
_log = logging.getLogger("factseek.server")
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
REMEMBERED = 1024
"""The most label combinations of one metric to cache: a lookup takes a lock, and more time than counting."""


class Metrics:
    """The counters; those of all workers if they share a folder."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        allocate_files()
        self._registry = CollectorRegistry()
        more: dict[str, Any] = {"registry": self._registry}
        timed: dict[str, Any] = {"buckets": _SECONDS, **more}
        counts, times = partial(_labelled, Counter, more), partial(_labelled, Histogram, timed)
        self.requests = counts("factseek_requests", "Answers.", ["method", "route", "status"])
        self.errors = counts("factseek_errors", "Answers of status 400 and above.", ["route", "status"])
        self.writes = counts("factseek_writes", "Documents put and deleted.", ["index", "result"])
        self.refused = counts("factseek_refused", "Requests refused because the server was full.", ["status"])
        self.seconds = times("factseek_request_seconds", "Time from request to answer.", ["route"])
        self.stages = times(
            "factseek_stage_seconds", "Time of each stage of a search or ranking.", ["route", "retriever", "stage"]
        )

    def text(self, serving: IndexRegistry) -> bytes:
        """Return all metrics, and the state of the served indexes, in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + _served(serving).encode()


def _labelled(kind: Any, options: dict[str, Any], name: str, says: str, labels: list[str]) -> Callable[..., Any]:
    """Return a function from label values to their counter or histogram."""
    labelled = kind(name, says, labels, **options).labels

    @lru_cache(maxsize=REMEMBERED)
    def counted(*values: Any) -> Any:
        try:
            return labelled(*values)
        except OSError as error:
            _log.warning("%s of %s is not counted: %s", name, values, error.strerror)
            return _LOST

    return counted


class _Lost:
    """Replaces a counter that has no room: the count is lost, but not the answer."""

    def inc(self) -> None:
        """Count nothing."""

    def observe(self, _: float) -> None:
        """Count nothing."""


_LOST = _Lost()


def register(app: Flask) -> None:
    """Count the answers of ``app``, and serve ``/metrics``."""
    metrics = app.extensions[_KEY] = Metrics()

    def answer() -> Response:
        """Return the metrics in the text format of Prometheus."""
        return Response(metrics.text(registry()), content_type=_TEXT)

    app.after_request(partial(_count, metrics))
    app.add_url_rule("/metrics", "metrics", answer)


def metrics_of(app: Flask) -> Metrics:
    """Return the metrics of ``app``."""
    metrics: Metrics = app.extensions[_KEY]
    return metrics


def _count(metrics: Metrics, response: Response) -> Response:
    answered, status, noted = request_ctx.request, response.status_code, g._get_current_object()
    route = answered.url_rule.rule if answered.url_rule else "-"
    metrics.requests(answered.method, route, status).inc()
    if status >= 400:
        metrics.errors(route, status).inc()
    # A streamed answer is not complete yet.
    response.call_on_close(partial(_ended, metrics, route, noted.began, noted.get("searches", ())))
    return response


def _ended(metrics: Metrics, route: str, began: float, searches: Sequence[Timed]) -> None:
    metrics.seconds(route).observe(perf_counter() - began)
    for search in searches:  # labelled by the retriever's file, of which there are few
        retriever, took = search.retriever.partition(":")[0], search.took
        for stage in took.__struct_fields__:
            metrics.stages(route, retriever, stage).observe(getattr(took, stage) / 1000)


def _served(serving: IndexRegistry) -> str:
    lines = []

    def gauge(name: str, says: str, values: Iterable[tuple[str, object]]) -> None:
        lines.extend([f"# HELP factseek_{name} {says}", f"# TYPE factseek_{name} gauge"])
        lines.extend(f"factseek_{name}{{{labels}}} {value}" for labels, value in values)

    indexes = [(f'index="{name}"', served) for name, served in serving.indexes.items()]
    ready = [(f'index="{name}"', int(state == READY)) for name, state in serving.states().items()]
    gauge("index_ready", "Whether the index can be searched.", ready)
    for what in ("documents", "passages"):
        gauge(f"index_{what}", "What the index holds.", [(of, getattr(one.index.info, what)) for of, one in indexes])
    waiting = [(of, bulks_waiting(one.index.info.place)) for of, one in indexes]
    gauge("jobs_waiting", "Bulks that have not ended.", waiting)
    manifests = [(f'{of},manifest="{one.manifest_id}"', 1) for of, one in indexes]
    gauge("index_manifest", "The manifest that is served.", manifests)
    replicas = [
        (
            f'{of},shard="{shard.name}",generation="{shard.generation}",state="{state}"',
            sum(replica.state == state for replica in shard.replicas),
        )
        for of, one in indexes
        for shard in one.index.shards()
        for state in ("answers", "lost", "unasked")
    ]
    if replicas:
        gauge("shard_replicas", "Replicas by the result of their last request.", replicas)
    return "\n".join([*lines, ""])


def allocate_files() -> None:
    """Make the library allocate its files completely; a counter that has no room raises OSError."""
    from prometheus_client import values
    from prometheus_client.mmap_dict import MmapedDict

    class AllocatedDict(MmapedDict):
        """The library's file of counters, which grows only by allocated space."""

        def __init__(self, filename: str, read_mode: bool = False) -> None:
            if not read_mode:
                with Path(filename).open("ab") as file:
                    try:
                        if not os.fstat(file.fileno()).st_size:
                            os.posix_fallocate(file.fileno(), 0, _FIRST_SIZE)
                    except OSError:
                        Path(filename).unlink()  # it would be unreadable
                        raise
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

        def _init_value(self, key: str) -> None:
            needed, size = self._used + len(key.encode()) + _OF_A_VALUE, self._capacity
            while needed > size:
                size *= 2
            if size > self._capacity:
                os.posix_fallocate(self._f.fileno(), 0, size)
            super()._init_value(key)  # type: ignore[no-untyped-call]

    patched: Any = values
    patched.MmapedDict = AllocatedDict  # the library creates its files by this name


class MetricsFolder(NamedTuple):
    """The folder, and the descriptor whose lock shows that a server uses it; workers inherit it."""

    folder: Path
    lock: int


def share() -> MetricsFolder | None:
    """Create the folder before the workers are forked, and remove folders of dead servers.

    If shared memory is not writable, use the folder for temporary files. If neither is, return None: each worker counts
    alone.
    """
    os.environ.pop(VARIABLE, None)
    for memory in (True, False):
        try:
            root = Path("/dev/shm" if memory else tempfile.gettempdir())  # noqa: S108  counts, gone with the server
            for folder in root.glob(f"{_PREFIX}*"):
                if _abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            created = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
            lock = os.open(created, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            problem = error
        else:
            os.environ[VARIABLE] = str(created)
            return MetricsFolder(created, lock)
    _log.warning("there is no folder for the metrics of all workers, each counts alone: %s", problem)
    return None


def takes_files(folder: str) -> bool:
    """Return whether a folder is writable."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def unshare(metrics: MetricsFolder | None) -> None:
    """Remove the folder, if there is one."""
    if metrics is None:
        return
    os.environ.pop(VARIABLE, None)
    shutil.rmtree(metrics.folder, ignore_errors=True)
    os.close(metrics.lock)


def _abandoned(folder: Path) -> bool:
    """Return whether the server that created a folder is dead and no worker of it uses the folder."""
    name = _NAME.fullmatch(folder.name)
    if not name or Path(f"/proc/{name[1]}").exists():
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        # A server in a container has other process numbers, but its lock is visible here.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(handle).st_uid == os.getuid()
    except OSError:
        return False
    finally:
        os.close(handle)
