"""A call of the server: what a request brings besides its options, over HTTP or from an agent."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from time import monotonic
from typing import Any

from flask import g

from ..core.deadline import Deadline, Memory
from .runtime import IndexRegistry

_access = logging.getLogger("factseek.access")


class Call:
    """One call, as the functions see it that answer it: the served indexes with the configuration,
    the id and the beginning of the call, and the memory that its answer may use.
    """

    def __init__(
        self, serving: IndexRegistry, request_id: str = "", memory: Memory | None = None
    ) -> None:
        """Begin a call; without an id, it gets a new one, and without a memory, there is no
        limit.
        """
        self.serving = serving
        self.request_id = request_id or os.urandom(16).hex()
        self.memory = memory or Memory()
        self.began = monotonic()
        # For the log: the queries, a document by its docid.
        self.queries: list[Any] = []
        # For the metrics: results of searches, which have `took` and `retriever`.
        self.searches: list[Any] = []

    @property
    def seconds(self) -> float:
        """The time since the beginning of the call."""
        return monotonic() - self.began

    def limit(self, queries: int = 1) -> Deadline:
        """Return the deadline of a search that starts now and has this many queries."""
        seconds = self.serving.config.server.search_seconds * queries
        return Deadline(seconds, self.serving.beside, self.memory)

    def note(self, query: str | Sequence[str] | dict[str, str], timed: Any = None) -> None:
        """Note one query or several for the log, and the result of their search for the metrics.

        A document as a query is noted as ``{"like": docid}``.
        """
        self.queries.append(query)
        if timed is not None:
            self.searches.append(timed)

    def log(
        self, method: str, route: str, status: int, seconds: float, caller: str | None = None
    ) -> None:
        """Write the line of an answered call to the log, with its queries if the settings say so.

        It has the route, not the address, because an address may contain a query.
        """
        fields: dict[str, Any] = {
            "method": method,
            "route": route,
            "status": status,
            "request_id": self.request_id,
        }
        if caller is not None:
            fields["caller"] = caller
        if self.queries and self.serving.config.server.log_queries:
            fields["queries"] = self.queries
        fields["milliseconds"] = round(seconds * 1000, 2)
        line = (method, route, status, seconds * 1000, self.request_id)
        _access.info("%s %s %d %.1f ms %s", *line, extra={"fields": fields})

    def forget(self) -> None:
        """Forget what was noted: the call is answered once more."""
        self.queries.clear()
        self.searches.clear()


def current_call() -> Call:
    """Return the call of the current request."""
    call: Call = g.call
    return call
