"""Prometheus metrics: totals of requests and answers over all workers, and the state of the served indexes.

All workers count in files of one folder in memory. The library prometheus_client maps sparse files. If the file system
is full, a missing page of such a file ends the process with SIGBUS. So each file is allocated completely before it is
mapped.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from flask import Flask, Response, g
from flask.globals import request_ctx

from ..indexer.queue import bulks_waiting
from .runtime import READY, IndexRegistry, registry

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder; the library reads it at its first import, after the fork."""
REMEMBERED = 1024
"""The maximum number of label combinations to cache for a metric: a lookup takes a lock and is slower than counting."""
_PREFIX = "factseek-metrics-"
_NAME = re.compile(_PREFIX + r"(\d{1,9})-\w+")
_FIRST_SIZE = 1 << 16
_OF_A_VALUE = 32
"""The maximum number of bytes that a value takes in addition to its key."""
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_KEY = "factseek-metrics"
_log = logging.getLogger("factseek.server")
Metric = Callable[..., Callable[..., None]]
"""Takes label values; returns a function that adds 1 to a counter, or a time in seconds to a histogram."""


class Metrics:
    """The counters of this worker, or of all workers if they share a folder."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        _allocate_files()
        self._registry = CollectorRegistry()

        def metric(kind: Any, verb: str, name: str, says: str, *labels: str, **options: Any) -> Metric:
            counter = kind(name, says, labels, registry=self._registry, **options)

            @lru_cache(maxsize=REMEMBERED)
            def counting(*values: Any) -> Callable[..., None]:
                try:
                    count: Callable[..., None] = getattr(counter.labels(*values), verb)
                except OSError as error:
                    _log.warning("%s of %s is not counted: %s", name, values, error.strerror)
                    return lambda *_: None  # without room the count is lost, but not the answer
                return count

            return counting

        counter = partial(metric, Counter, "inc")
        times = partial(metric, Histogram, "observe", buckets=_SECONDS)
        self.requests = counter("factseek_requests", "Answers.", "method", "route", "status")
        self.errors = counter("factseek_errors", "Answers of status 400 and above.", "route", "status")
        self.writes = counter("factseek_writes", "Documents put and deleted.", "index", "result")
        self.refused = counter("factseek_refused", "Requests refused because the server was full.", "status")
        self.seconds = times("factseek_request_seconds", "Time from request to answer.", "route")
        stages = "Time of each stage of a search or ranking."
        self.stages = times("factseek_stage_seconds", stages, "route", "retriever", "stage")

    def text(self, serving: IndexRegistry) -> bytes:
        """Return all metrics, and the state of the served indexes, in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + _format_gauges(serving).encode()


def register(app: Flask) -> None:
    """Count the answers of ``app``, and serve ``/metrics``."""
    metrics = app.extensions[_KEY] = Metrics()

    def answer() -> Response:
        """Return the metrics in the text format of Prometheus."""
        return Response(metrics.text(registry()), content_type="text/plain; version=0.0.4; charset=utf-8")

    def count(response: Response) -> Response:
        answered, status, noted = request_ctx.request, response.status_code, g._get_current_object()
        route = answered.url_rule.rule if answered.url_rule else "-"
        began, searches = noted.began, noted.get("searches", ())
        metrics.requests(answered.method, route, status)()
        if status >= 400:
            metrics.errors(route, status)()

        def count_request() -> None:
            metrics.seconds(route)(perf_counter() - began)
            for search in searches:  # label by the kind of retriever, without its variant: there are few labels
                retriever, took = search.retriever.partition(":")[0], search.took
                for stage in took.__struct_fields__:
                    metrics.stages(route, retriever, stage)(getattr(took, stage) / 1000)

        response.call_on_close(count_request)  # a streamed answer is not complete yet
        return response

    app.after_request(count)
    app.add_url_rule("/metrics", "metrics", answer)


def metrics_of(app: Flask) -> Metrics:
    """Return the metrics of ``app``."""
    metrics: Metrics = app.extensions[_KEY]
    return metrics


def _format_gauges(serving: IndexRegistry) -> str:
    lines = []

    def gauge(name: str, says: str, values: Iterable[tuple[str, object]]) -> None:
        lines.extend([f"# HELP factseek_{name} {says}", f"# TYPE factseek_{name} gauge"])
        lines.extend(f"factseek_{name}{{{labels}}} {value}" for labels, value in values)

    indexes = [(f'index="{name}"', served) for name, served in serving.indexes.items()]
    ready = [(f'index="{name}"', int(state == READY)) for name, state in serving.states().items()]
    gauge("index_ready", "Whether the index can be searched.", ready)
    for what in ("documents", "passages"):
        gauge(f"index_{what}", "What the index contains.", [(of, getattr(one.index.info, what)) for of, one in indexes])
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
        gauge("shard_replicas", "Replicas by the result of the last request to them.", replicas)
    return "\n".join([*lines, ""])


def _allocate_files() -> None:
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
                        Path(filename).unlink()  # an empty file would be unreadable
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
    patched.MmapedDict = AllocatedDict  # the library finds the class for its files by this name


@contextmanager
def share_counts() -> Iterator[None]:
    """Give forked workers a common folder, in shared memory if possible; without a folder, each worker counts alone."""
    os.environ.pop(VARIABLE, None)
    master = os.getpid()
    problem: OSError | None = None
    for root in (Path("/dev/shm"), Path(tempfile.gettempdir())):  # noqa: S108  counts, gone with the server
        try:
            for folder in root.glob(f"{_PREFIX}*"):
                if _is_abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            created = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{master}-", dir=root))
            lock = os.open(created, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)  # the lock shows that a server uses the folder; workers inherit it
            break
        except OSError as error:
            problem = error
    else:
        _log.warning("there is no folder for the metrics of all workers, so each worker counts alone: %s", problem)
        yield
        return
    os.environ[VARIABLE] = str(created)
    try:
        yield
    finally:
        if os.getpid() == master:
            os.environ.pop(VARIABLE, None)
            shutil.rmtree(created, ignore_errors=True)
            os.close(lock)


def takes_files(folder: str) -> bool:
    """Return whether a folder is writable."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_abandoned(folder: Path) -> bool:
    """Return whether the server that created a folder is dead and none of its workers uses the folder."""
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
