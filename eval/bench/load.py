"""Measurement of a retriever under load, in a process of its own, so that the memory is that of the
retriever alone.

``python -m factseek.eval.bench.load`` reads a :class:`Load` as JSON and prints :class:`Timings`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ...core.errors import FactseekError, MachineError
from ...core.settings import convert
from ...core.subprocesses import command as child_command
from ...core.text import ProfileName
from ...retrieval import retrievers
from ...retrieval.config import Config
from ...retrieval.lucene.jvm import java_thread
from ...retrieval.search.index import Index, open_index
from ...retrieval.search.options import Search
from ..run.batch import SearchQuery
from ..scoring.machine import peak_megabytes

AND = "+"  # the separator between a retriever and each stage after it


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The queries of a load and its retriever, such as ``hybrid`` or ``hybrid+rerank``.

    There are ``timed`` searches for each number of ``callers``; the first number must be 1.
    """

    index: str
    config: dict[str, Any]
    retriever: str
    profile: ProfileName | None
    queries: tuple[SearchQuery, ...]
    k: int
    timed: int
    callers: tuple[int, ...]


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The latency of searches in milliseconds, and the number of searches per second."""

    callers: int
    p50: float
    p95: float
    p99: float
    per_second: float


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """The figures measured under a load.

    ``first_answer`` is the time from opening the index, in seconds. ``encoding`` is the share of
    query encoding in the latency with one caller.
    """

    latencies: tuple[Latency, ...]
    first_answer: float
    encoding: float
    peak_megabytes: float


def search_of(name: str) -> Search:
    """Return the search for a retriever with the stages in its name; a retriever alone has the
    configured stages.
    """
    retriever = retriever_of(name)
    stages = name[len(retriever) + 1 :].split(AND) if name != retriever else []
    return Search(retriever=retriever, stages=tuple(stages) or None)


def retriever_of(name: str) -> str:
    """Return the retriever at the start of a name with stages; the name of a retriever may itself
    have a plus.
    """
    parts = name.split(AND)
    names = [AND.join(parts[:number]) for number in range(len(parts), 0, -1)]
    return next((each for each in names if each.partition(":")[0] in retrievers.names()), parts[0])


def measure(load: Load) -> Timings:
    """Run the load in a new process and return its timings.

    Raises MachineError if that process fails.
    """
    done = subprocess.run(  # noqa: S603  its own module
        child_command("eval.bench.load"),
        input=msgspec.json.encode(load),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [
            f"exit code {done.returncode}"
        ]
        raise MachineError(f"measuring {load.retriever} failed: {said[-1]}")
    return msgspec.json.decode(done.stdout, type=Timings)


def _put_load(load: Load) -> Timings:
    search = replace(search_of(load.retriever), k=load.k, profile=load.profile)
    began = perf_counter()
    with open_index(Path(load.index), convert(load.config, load.index, Config)) as index:
        _search(index, load.queries[0], search)
        first_answer = perf_counter() - began
        some = list(islice(cycle(load.queries), load.timed))
        for query in some:  # to warm up
            _search(index, query, search)
        latencies = tuple(_under(index, some, search, callers) for callers in load.callers)
        encoding, resolved = 0.0, index.resolve(search)
        if resolved.encodes:
            texts = [resolved.text(query.text) for query in some]
            began = perf_counter()
            for text in texts:
                index.encoder.encode_query([text])
            # Seconds per query times queries per second: a share.
            encoding = min(1.0, (perf_counter() - began) / len(texts) * latencies[0].per_second)
    peak = peak_megabytes()
    return Timings(
        latencies=latencies, first_answer=first_answer, encoding=encoding, peak_megabytes=peak
    )


def _under(index: Index, queries: Sequence[SearchQuery], search: Search, callers: int) -> Latency:
    """Search once for each query, with ``callers`` threads, and return the latency."""
    taken = [0.0] * len(queries)
    numbers = count()

    def call() -> None:
        with java_thread():
            while (number := next(numbers)) < len(queries):
                began = perf_counter()
                _search(index, queries[number], search)
                taken[number] = perf_counter() - began

    began = perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        for caller in [pool.submit(call) for _ in range(callers)]:
            caller.result()
    wall = perf_counter() - began
    p50, p95, p99 = (float(value) * 1000 for value in np.percentile(taken, (50, 95, 99)))
    return Latency(callers=callers, p50=p50, p95=p95, p99=p99, per_second=len(taken) / wall)


def _search(index: Index, query: SearchQuery, search: Search) -> None:
    index.search([query.text], replace(search, where=query.where))


def main() -> int:
    """Read a load from standard input, measure it, and write its timings to standard output."""
    load = msgspec.json.decode(sys.stdin.buffer.read(), type=Load)
    try:
        timings = _put_load(load)
    except FactseekError as error:
        sys.stderr.write(f"{error.line}\n")
        return 2
    sys.stdout.buffer.write(msgspec.json.encode(timings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
