"""Turn a file of queries into a submission, written as a whole; an interrupted run goes on when it is run again."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ...retrieval import manifest as manifests
from ...retrieval import retrievers
from ...retrieval.config import AUTO
from ...retrieval.domain import Columns
from ...retrieval.errors import QueryError
from ...retrieval.files import rereadable, sha256, storable, writable, write_atomically
from ...retrieval.gzip_files import is_packed
from ...retrieval.lines import shown
from ...retrieval.progress import Progress, silent
from ...retrieval.run_writer import column
from ...retrieval.searcher import DEFAULT_SEARCH, Search, Searcher
from ..formats.queries import TaskQuery
from ..tasks import RANKING, identity
from .batch import CHUNK, SearchedQuery, SearchQuery, asked_of, chunks, columns, habit, search_of
from .ir_metadata import as_comments, describe
from .partial import Partial, WrittenQuery

_HITS_TOGETHER = 1_000
_WAITING = 2
"""Chunks that may wait to be written."""

IN_RUN = Path("-")
"""In the place of a file: the description stands in the run itself, as comments."""

_NOTED = 50
"""Queries whose language is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The request for a run: the task, its queries, and how to search; ``run_id`` defaults to the retriever's name.

    ``described_in`` is the file for its ``ir_metadata``, :data:`IN_RUN` for the head of the run itself; ``about`` is a
    file with what a person adds to that.
    """

    task: str
    queries: Path
    output: Path
    run_id: str = ""
    search: Search = DEFAULT_SEARCH
    as_of_query: bool = False
    described_in: Path | None = None
    about: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of a run.

    ``empty`` names the queries without words, ``unanswered`` the others without hits; ``resumed`` counts those that
    were done before.
    """

    queries: int
    hits: int
    empty: tuple[str, ...]
    unanswered: tuple[str, ...]
    resumed: int
    note: str


def run(request: RunRequest, index: Searcher, progress: Progress = silent) -> RunReport:
    """Search for every query and write the submission, with a sidecar ``.meta.json`` that says how it was made.

    Raises QueryError if the task ranks nothing, what is asked makes no sense for it, or no query has a hit; SourceError
    if the queries cannot be read.
    """
    request = _completed(request, index)
    of_task = RANKING.load(request.task)
    queries = of_task.read_queries(request.queries)
    asked_in = sha256(request.queries)  # now: the file may be changed while the run goes on
    longest = index.settings.search.max_query_chars
    asked = asked_of(request.task, queries, request.search, longest, as_of_query=request.as_of_query)
    began = manifests.now()
    description = _description(request, index)
    head = as_comments(description) if request.described_in == IN_RUN else of_task.HEADER
    with Partial(request.output, _fingerprint(request, index, asked_in), head) as partial:
        resumed = len(partial.done)
        counts = _answered(request, index, asked[resumed:], partial)
        with closing(progress("searching", "queries", len(asked))) as bar, closing(counts):
            bar.update(resumed)
            for count in counts:
                bar.update(count)
        if not any(answered.hits for answered in partial.done):
            partial.remove()
            raise QueryError(_nothing(request, index, queries[0]))
        # The lines go last: while they are kept, the same command goes on.
        if request.described_in not in (None, IN_RUN):
            write_atomically(request.described_in, description.encode("utf-8"))
        write_atomically(_meta_path(request.output), _meta(request, index, asked_in, partial, began))
        partial.finish()
        partial.remove()
    return _report(index, request.search, queries, partial.done, resumed)


def _answered(request: RunRequest, index: Searcher, asked: Sequence[SearchQuery], partial: Partial) -> Generator[int]:
    """Search for the queries and store their documents in order; yield how many queries each step stored."""
    of_task = RANKING.load(request.task)

    def keep(done: Sequence[SearchedQuery[Columns]]) -> int:
        texts = of_task.lines([(query.qid, query.ranking) for query in done], request.run_id)
        answers = (WrittenQuery(query.qid, len(query.ranking.docids), query.empty) for query in done)
        return partial.add(list(zip(answers, texts, strict=True)))

    # Lucene searches outside of Python, so that a second thread can write what was found meanwhile.
    with ThreadPoolExecutor(1) as writer:
        waiting: deque[Future[int]] = deque()
        for chunk in chunks(asked, _batch_size(request.search)):
            waiting.append(writer.submit(keep, columns(index, chunk, request.search)))
            if len(waiting) > _WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _batch_size(search: Search) -> int:
    """Return how many queries to search at once: few if nothing is encoded, to write their hits while still cached."""
    few = max(1, _HITS_TOGETHER // (search.k or 1))
    return CHUNK if retrievers.kind(search.retriever or AUTO).BATCHES else min(CHUNK, few)


def _completed(request: RunRequest, index: Searcher) -> RunRequest:
    """Return the request completed by the task and the index; refuse, before any search, what could not be written."""
    habit(request.task)
    retriever = index.resolve(request.search).retriever
    run_id = request.run_id or f"factseek-{retriever}"
    try:
        column(run_id)
    except QueryError as error:
        raise QueryError(f"--run-id {error}") from None
    rereadable(request.queries)
    described = [request.described_in] if request.described_in not in (None, IN_RUN) else []
    for written in (request.output, _meta_path(request.output), *described):
        writable(written, [request.queries])
    if request.described_in == IN_RUN and not getattr(RANKING.load(request.task), "COMMENTS", False):
        raise QueryError("a submission of this task has no comments", place="--ir-metadata -", remedy="name a file")
    search = search_of(request.task, request.search)._replace(retriever=retriever)
    return replace(request, run_id=run_id, search=search)


def _description(request: RunRequest, index: Searcher) -> str:
    """Return the ``ir_metadata`` of a completed request, ``""`` if it is not asked for."""
    if request.described_in is None:
        return ""
    asked = {"task": request.task, "run_id": request.run_id}
    return describe(index, request.search, **asked, queries=request.queries, own=request.about)


def _nothing(request: RunRequest, index: Searcher, first: TaskQuery) -> str:
    """Return the message that an index answers none of the queries, with the usual reason."""
    message = f"{request.queries}: no query has a hit in {index.info.place}, nothing is written"
    if habit(request.task).own_topic:
        return f"{message}; its documents need the topics of the claims, such as {shown(first.topic)}"
    return f"{message}; is it the right index" + (
        ", and does anything pass the filter?" if request.search.where else "?"
    )


def _report(
    index: Searcher, search: Search, queries: Sequence[TaskQuery], done: Sequence[WrittenQuery], resumed: int
) -> RunReport:
    sample = " ".join(query.text for query in queries[:_NOTED])
    return RunReport(
        queries=len(done),
        hits=sum(answered.hits for answered in done),
        empty=tuple(answered.qid for answered in done if answered.empty),
        unanswered=tuple(answered.qid for answered in done if not (answered.hits or answered.empty)),
        resumed=resumed,
        note=index.note(sample, search),
    )


def _fingerprint(request: RunRequest, index: Searcher, asked_in: str) -> str:
    """Return a checksum of all that the lines of a run depend on; ``asked_in`` is the checksum of the queries."""
    read = (asked_in, index.info.id)
    settings = tuple(_settings(index).values())
    asked = (identity(request.task), request.run_id, request.search, request.as_of_query)
    content = msgspec.json.encode((asked, read, settings, manifests.versions()), order="deterministic")
    return hashlib.sha256(content).hexdigest()


def _settings(index: Searcher) -> dict[str, Any]:
    """Return the groups of settings that the hits of a search depend on."""
    return {name: getattr(index.settings, name) for name in ("search", "bm25", "dense", "encoder")}


def _meta_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.meta.json")


def _meta(request: RunRequest, index: Searcher, asked_in: str, partial: Partial, began: str) -> bytes:
    search: dict[str, Any] = request.search._asdict()
    if request.search.where is not None:
        search["where"] = request.search.where._asdict()
    meta = {
        "task": identity(request.task),
        "run_id": request.run_id,
        "output": {
            "name": storable(request.output.name),
            "sha256_unpacked" if is_packed(request.output) else "sha256": partial.sha256,
        },
        "queries": {"name": storable(request.queries.name), "sha256": asked_in, "count": len(partial.done)},
        "index": {"name": storable(index.info.name), "manifest": index.info.id},
        "search": search,
        "as_of_query": request.as_of_query,
        "settings": _settings(index),
        "versions": manifests.versions(),
        "began": began,
        "ended": manifests.now(),
    }
    return msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n"
