"""Run: a file of queries becomes a submission, written whole; interrupted and run again, it goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec

from eval.tasks import Task, TaskQuery, task
from retrieval import manifest as manifests
from retrieval.domain import Filter, Hit, Run
from retrieval.errors import QueryError
from retrieval.files import sha256, told, write_atomically
from retrieval.filters import bound
from retrieval.index import Index, Search

CHUNK = 64
"""Queries that are searched together: what an interruption can lose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is asked: the task, its queries, and how to search."""

    task: str
    queries: Path
    output: Path
    run_id: str
    search: Search
    as_of_query: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did; ``empty`` names the queries that held no words, ``resumed`` counts those done before."""

    queries: int
    hits: int
    empty: tuple[str, ...]
    resumed: int


class _Done(msgspec.Struct):
    """A query that is done, as a line of the partial file."""

    qid: str
    hits: list[Hit]
    empty: bool = False


def run(asked: Asked, index: Index, progress: Callable[[int], None] = lambda _: None) -> RunReport:
    """Search for every query and write the submission, with a sidecar ``.meta.json`` that says how it was made.

    Raises QueryError if the task has no ranking to write, SourceError if the queries cannot be read.
    """
    of_task = task(asked.task)
    if not of_task.RANKING:
        raise QueryError(f"{asked.task}: is not a ranking task; its files are written by rank or verdict")
    queries = of_task.read_queries(asked.queries)
    began = manifests.now()
    partial = _Partial(asked, index)
    done = partial.read()
    progress(len(done))
    with closing(partial):
        for one in _searched(asked, index, queries[len(done) :]):
            partial.add(one)
            done.append(one)
            progress(1)
    _write(asked, of_task, done)
    write_atomically(_meta_path(asked.output), _meta(asked, index, began, done))
    partial.remove()
    empty = tuple(one.qid for one in done if one.empty)
    resumed = partial.found
    return RunReport(queries=len(queries), hits=sum(len(one.hits) for one in done), empty=empty, resumed=resumed)


def _searched(asked: Asked, index: Index, queries: Sequence[TaskQuery]) -> Iterator[_Done]:
    """Yield the hits of the queries in their order; neighbours with the same filter are searched together."""
    for where, group in groupby(queries, lambda query: _where(asked, query)):
        same = iter(group)
        while chunk := list(islice(same, CHUNK)):
            yield from _chunk(index, chunk, asked.search._replace(where=where))


def _chunk(index: Index, chunk: Sequence[TaskQuery], asked: Search) -> Iterator[_Done]:
    texts = {query.qid: query.text for query in chunk if index.has_words(query.text, asked)}
    found = dict(zip(texts, index.search(list(texts.values()), asked), strict=True))
    for query in chunk:
        yield _Done(query.qid, found.get(query.qid, []), empty=query.qid not in texts)


def _where(asked: Asked, query: TaskQuery) -> Filter | None:
    """Return what may be ranked for a query: its own topic's documents, and none newer than it if that is asked."""
    where = asked.search.where or Filter()
    if asked.task == "ct2020-evidence":
        where = where._replace(topic=(query.topic,))
    if asked.as_of_query:
        if not query.date:
            raise QueryError(f"{asked.queries}: query {query.qid} has no date; --as-of-query needs one for each")
        where = where._replace(as_of=bound(query.date, f"the date of query {query.qid}"))
    return where if where != Filter() else None


def _write(asked: Asked, of_task: Task, done: Sequence[_Done]) -> None:
    found: Run = {one.qid: one.hits for one in done}
    of_task.write(found, asked.output, asked.run_id)


def _meta_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.meta.json")


def _meta(asked: Asked, index: Index, began: str, done: Sequence[_Done]) -> bytes:
    meta: dict[str, Any] = {
        "task": asked.task,
        "run_id": asked.run_id,
        "output": {"name": asked.output.name, "sha256": sha256(asked.output)},
        "queries": {"name": asked.queries.name, "sha256": sha256(asked.queries), "count": len(done)},
        "index": {"name": index.folder.resolve().name, "manifest": index.manifest.id},
        "search": asked.search._asdict() | {"retriever": index.resolved(asked.search.retriever)},
        "as_of_query": asked.as_of_query,
        "settings": {name: getattr(index.config, name) for name in ("search", "bm25", "dense", "encoder")},
        "versions": manifests.versions(),
        "began": began,
        "ended": manifests.now(),
    }
    return msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n"


class _Partial:
    """The queries that are done, one JSON line each beside the output, after a line that says what was asked."""

    def __init__(self, asked: Asked, index: Index) -> None:
        self._path = asked.output.with_name(f".{asked.output.name}.part")
        what = (asked.task, sha256(asked.queries), index.manifest.id, asked.search, asked.as_of_query)
        settings = (index.config.search, index.config.bm25, index.config.dense, index.config.encoder)
        self._first = hashlib.sha256(msgspec.json.encode((what, settings))).hexdigest()
        self._file: Any = None
        self.found = 0

    def read(self) -> list[_Done]:
        """Return what an interrupted run of the same had done, and go on after it."""
        lines = self._lines()
        done = []
        if lines and lines[0] == self._first.encode():
            decode = msgspec.json.Decoder(_Done).decode
            with suppress(msgspec.DecodeError):  # the last line may be cut
                for line in lines[1:]:
                    done.append(decode(line))  # noqa: PERF401  what was read before a cut line counts
        self.found = len(done)
        with told(self._path):
            self._file = self._path.open("wb")
        self._file.write(self._first.encode() + b"\n")
        for one in done:
            self.add(one)
        return done

    def add(self, one: _Done) -> None:
        """Add a query that is done."""
        self._file.write(msgspec.json.encode(one) + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def remove(self) -> None:
        """Remove the file: the run is written."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> list[bytes]:
        try:
            return self._path.read_bytes().splitlines()
        except OSError:
            return []
