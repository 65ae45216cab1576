"""Turn a file of queries into a submission; write the whole file or nothing."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...retrieval import retrievers
from ...retrieval.config import AUTO, to_mapping
from ...retrieval.domain import ScoredDocids
from ...retrieval.errors import QueryError
from ...retrieval.files import replacing, rereadable, sha256, storable, writable, write_atomically
from ...retrieval.progress import Progress, silent
from ...retrieval.records.gzip_files import is_packed, packing
from ...retrieval.records.lines import shown
from ...retrieval.records.runs import column
from ...retrieval.search.options import DEFAULT_SEARCH, Search
from ...retrieval.store import manifest as manifests
from ..tasks import RANKING, identity
from .batch import CHUNK, SearchedQuery, SearchQuery, chunks, columns, filtered_queries, search_of
from .ir_metadata import as_comments, describe

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_HITS_TOGETHER = 1_000
_WAITING = 2
"""The number of chunks that may wait to be written."""
IN_RUN = Path("-")
"""The value of ``described_in`` that writes the description into the run itself, as comments."""
_NOTED = 50
"""The number of queries whose language the note checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request for a run: the task, its queries, and how to search; ``run_id`` defaults to ``factseek-RETRIEVER``.

    ``described_in`` is the file for the run's ``ir_metadata``, or :data:`IN_RUN` for the head of the run itself.
    ``about`` is a file with the user's additions to this description.
    """

    task: str
    queries: Path
    output: Path
    run_id: str = ""
    search: Search = DEFAULT_SEARCH
    as_of_query: bool = False
    ignore_identical_ids: bool = False
    described_in: Path | None = None
    about: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of a run.

    ``empty`` names the queries without words, ``unanswered`` the other queries without hits, and ``identical`` the
    queries whose first document has the query's id.
    """

    queries: int
    hits: int
    empty: tuple[str, ...]
    unanswered: tuple[str, ...]
    identical: tuple[str, ...]
    note: str


class _Outcome(NamedTuple):
    """The number of a query's documents, whether it has no words, and whether the first document has the query's id."""

    qid: str
    documents: int
    empty: bool
    identical: bool


_Lines = tuple[bytes, list[_Outcome]]


def run(request: RunRequest, index: Index, progress: Progress = silent) -> RunReport:
    """Search for every query; write the submission, and a sidecar ``.meta.json`` that describes how it was made.

    Raises QueryError if the task is not a ranking task, the request does not fit it, or no query has a hit; SourceError
    if the queries cannot be read.
    """
    request = _completed(request, index)
    of_task = RANKING.load(request.task)
    queries = of_task.read_queries(request.queries)
    queries_digest = sha256(request.queries)  # now: the file may change during the run
    rules = {"as_of_query": request.as_of_query, "ignore_identical_ids": request.ignore_identical_ids}
    filtered = filtered_queries(request.task, queries, request.search, index.settings.search.max_query_chars, **rules)
    began = manifests.now()
    description = ""
    if request.described_in is not None:
        named = {"task": request.task, "run_id": request.run_id}
        description = describe(index, request.search, **named, queries=request.queries, own=request.about)
    head = as_comments(description) if request.described_in == IN_RUN else of_task.HEADER
    done: list[_Outcome] = []
    digest = hashlib.sha256(head.encode("utf-8"))
    with (
        replacing(request.output) as file,
        packing(file) if is_packed(request.output) else nullcontext(file) as run_file,
    ):
        run_file.write(head.encode("utf-8"))
        with closing(progress("searching", "query", len(filtered))) as bar:
            for lines, outcomes in _answered(request, index, filtered):
                run_file.write(lines)
                digest.update(lines)
                done += outcomes
                bar.update(len(outcomes))
        if not any(query.documents for query in done):
            hint = "check that it is the right index"
            if request.search.where:
                hint += ", and that documents match the filter"
            if of_task.DEFAULTS.own_topic:
                hint = f"the documents of the index need the topics of the claims, such as {shown(queries[0].topic)}"
            message = f"no query has a hit in {index.info.place}, so nothing is written; {hint}"
            raise QueryError(f"{request.queries}: {message}")
        if request.described_in not in (None, IN_RUN):
            write_atomically(request.described_in, description.encode("utf-8"))
        search: dict[str, Any] = request.search._asdict()
        if request.search.where is not None:
            search["where"] = request.search.where._asdict()
        meta = {
            "task": identity(request.task),
            "run_id": request.run_id,
            "output": {
                "name": storable(request.output.name),
                "sha256_unpacked" if is_packed(request.output) else "sha256": digest.hexdigest(),
            },
            "queries": {"name": storable(request.queries.name), "sha256": queries_digest, "count": len(done)},
            "index": {"name": storable(index.info.name), "manifest": index.info.id},
            "search": search,
            **rules,
            "settings": _settings(index),
            "versions": manifests.versions(),
            "began": began,
            "ended": manifests.now(),
        }
        write_atomically(_meta_path(request.output), msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n")
    return RunReport(
        queries=len(done),
        hits=sum(query.documents for query in done),
        empty=tuple(query.qid for query in done if query.empty),
        unanswered=tuple(query.qid for query in done if not (query.documents or query.empty)),
        identical=tuple(query.qid for query in done if query.identical),
        note=index.note(" ".join(query.text for query in queries[:_NOTED]), request.search),
    )


def _settings(index: Index) -> dict[str, Any]:
    """Return the groups of settings that affect the hits of a search; plug-ins may add groups."""
    groups = to_mapping(index.settings)
    names = {"search", "bm25", "dense", "encoder"} | (groups.keys() - set(index.settings.__struct_fields__))
    return {name: groups[name] for name in sorted(names)}


def _answered(request: RunRequest, index: Index, filtered: Sequence[SearchQuery]) -> Iterator[_Lines]:
    """Search for the queries; yield their lines in order, some queries together, with the outcome of each."""
    of_task = RANKING.load(request.task)

    def written(done: Sequence[SearchedQuery[ScoredDocids]]) -> _Lines:
        texts = of_task.lines([(query.qid, query.ranking) for query in done], request.run_id)
        queries = [
            _Outcome(qid, len(ranking.docids), empty, ranking.docids[:1] == [qid]) for qid, ranking, empty in done
        ]
        return "".join(texts).encode("utf-8"), queries

    # Without an encoder, use small chunks: their hits are still cached when they are written.
    few = min(CHUNK, max(1, _HITS_TOGETHER // (request.search.k or 1)))
    size = CHUNK if retrievers.kind(request.search.retriever or AUTO).BATCHES else few
    # Lucene searches outside of Python, so that a second thread can write results meanwhile.
    with ThreadPoolExecutor(1) as writer:
        waiting: deque[Future[_Lines]] = deque()
        for chunk in chunks(filtered, size):
            waiting.append(writer.submit(written, columns(index, chunk, request.search)))
            if len(waiting) > _WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _completed(request: RunRequest, index: Index) -> RunRequest:
    """Complete the request from the task and the index; raise, before any search, if something cannot be written."""
    of_task = RANKING.load(request.task)
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
    if request.described_in == IN_RUN and not getattr(of_task, "COMMENTS", False):
        raise QueryError("a submission of this task has no comments", place="--ir-metadata -", remedy="give a file")
    search = search_of(request.task, request.search)._replace(retriever=retriever)
    return replace(request, run_id=run_id, search=search)


def _meta_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.meta.json")
