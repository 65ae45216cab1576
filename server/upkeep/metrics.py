"""Prometheus metrics: totals over all workers of what was asked and answered, and the state of what is served."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

from flask import Flask, Response, current_app, g
from flask.globals import request_ctx

from ...indexer import jobs
from ..contract.search import Timed
from .metrics_files import allocate_files
from .metrics_folder import VARIABLE
from .readiness import READY
from .service import Service, service

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_KEY = "factseek-metrics"
_log = logging.getLogger("factseek.server")
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
REMEMBERED = 1024
"""Labels of one metric whose counter is remembered: to look it up takes a lock and more time than to count."""


class Metrics:
    """The counters; of all workers where they share a folder."""

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
        self.refused = counts("factseek_refused", "Requests refused unread or for want of room.", ["status"])
        self.seconds = times("factseek_request_seconds", "From request to answer.", ["route"])
        self.stages = times(
            "factseek_stage_seconds", "Of a search or a ranking, by stage.", ["route", "retriever", "stage"]
        )

    def text(self, serving: Service) -> bytes:
        """Return all of it, and what is served, in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + _served(serving).encode()

    def took(self, route: str, search: Timed) -> None:
        """Count the stages of a search, by the file of its retriever and so by few names, or of a ranking."""
        retriever, took = search.retriever.partition(":")[0], search.took
        for stage in took.__struct_fields__:
            self.stages(route, retriever, stage).observe(getattr(took, stage) / 1000)


def _labelled(kind: Any, options: dict[str, Any], name: str, says: str, labels: list[str]) -> Callable[..., Any]:
    """Return a function from labels to the counter or histogram that they name."""
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
    """Stands for a counter that there is no room for: it is lost, the answer is not."""

    def inc(self) -> None:
        """Count nothing."""

    def observe(self, _: float) -> None:
        """Count nothing."""


_LOST = _Lost()


def register(app: Flask) -> None:
    """Count what ``app`` answers, and answer ``/metrics``."""
    app.extensions[_KEY] = Metrics()
    app.after_request(_count)
    app.add_url_rule("/metrics", "metrics", _answer)


def metrics_of(app: Flask) -> Metrics:
    """Return what ``app`` counts."""
    metrics: Metrics = app.extensions[_KEY]
    return metrics


def _answer() -> Response:
    """Answer the metrics in the text format of Prometheus."""
    return Response(metrics_of(current_app).text(service()), content_type=_TEXT)


def _count(response: Response) -> Response:
    answered, status = request_ctx.request, response.status_code
    noted = g._get_current_object()
    route = answered.url_rule.rule if answered.url_rule else "-"
    metrics = metrics_of(current_app)
    metrics.requests(answered.method, route, status).inc()
    if status >= 400:
        metrics.errors(route, status).inc()
    # What is streamed is not yet made.
    response.call_on_close(partial(_ended, metrics, route, noted.began, noted.get("searches", ())))
    return response


def _ended(metrics: Metrics, route: str, began: float, searches: Any) -> None:
    metrics.seconds(route).observe(perf_counter() - began)
    for search in searches:
        metrics.took(route, search)


def _served(serving: Service) -> str:
    ready = serving.readiness.states()
    lines = ["# HELP factseek_index_ready Whether the index can be searched.", "# TYPE factseek_index_ready gauge"]
    lines += [f'factseek_index_ready{{index="{name}"}} {int(state == READY)}' for name, state in ready.items()]
    for what in ("documents", "passages"):
        lines += [f"# HELP factseek_index_{what} What the index holds.", f"# TYPE factseek_index_{what} gauge"]
        for name, served in serving.indexes.items():
            lines.append(f'factseek_index_{what}{{index="{name}"}} {getattr(served.index.info, what)}')
    lines += ["# HELP factseek_jobs_waiting Bulks that have not ended.", "# TYPE factseek_jobs_waiting gauge"]
    for name, served in serving.indexes.items():
        lines.append(f'factseek_jobs_waiting{{index="{name}"}} {len(jobs.waiting(served.index.info.place))}')
    lines += ["# HELP factseek_index_manifest The manifest that is served.", "# TYPE factseek_index_manifest gauge"]
    for name, served in serving.indexes.items():
        lines.append(f'factseek_index_manifest{{index="{name}",manifest="{served.manifest_id}"}} 1')
    return "\n".join([*lines, *_shards(serving), ""])


def _shards(serving: Service) -> list[str]:
    """Return how many replicas of the shards on a cluster answered this process when they were last asked."""
    lines = [
        f'factseek_shard_replicas{{index="{name}",shard="{shard.name}",generation="{shard.generation}",'
        f'state="{state}"}} {sum(replica.state == state for replica in shard.replicas)}'
        for name, served in serving.indexes.items()
        for shard in served.index.shards()
        for state in ("answers", "lost", "unasked")
    ]
    about = ["# HELP factseek_shard_replicas Replicas by what came of the last question to them."]
    return [*about, "# TYPE factseek_shard_replicas gauge", *lines] if lines else []
