"""The command ``run``: it turns a file of queries into a submission, and writes the whole file or
nothing.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter

import msgspec

from ...core.domain import ScoredDocids
from ...core.errors import QueryError, UsageError
from ...core.files import (
    DESCRIPTION,
    check_distinct,
    replacing,
    rereadable,
    sha256,
    storable,
    writable,
    write_atomically,
)
from ...core.progress import Progress, bar, silent
from ...core.records.gzip_files import is_packed, packing
from ...core.records.lines import quote_value
from ...core.records.runs import column
from ...core.records.vector_file import read_vector_file
from ...core.settings import to_mapping
from ...core.terminal import (
    DONE,
    Subparsers,
    add_json,
    format_count,
    report,
    say,
)
from ...retrieval import retrievers
from ...retrieval.arguments import add_index, config_of
from ...retrieval.config import AUTO, Config
from ...retrieval.search.cli import add_search_options, search_from
from ...retrieval.search.index import Index, open_index
from ...retrieval.search.options import DEFAULT_SEARCH, Search
from ...retrieval.store import manifest as manifests
from ..scoring.ranking import identical_notes
from ..tasks import RANKING, descriptions, identity
from .batch import (
    CHUNK,
    SearchedQuery,
    SearchQuery,
    chunks,
    filtered_queries,
    search_docids,
    search_of,
    with_vectors,
)
from .ir_metadata import as_comments, describe

_EPILOG = """\
defaults of the tasks that differ from those of factseek search:
{habits}
FILE.meta.json, next to the FILE of --output, records how the run was made."""
_SHOWN = 5
_HITS_TOGETHER = 1_000
_WAITING = 2  # the number of chunks that may wait to be written
# The value of ``described_in`` that writes the description into the run itself, as comments.
IN_RUN = Path("-")
_NOTED = 50  # the number of queries whose language the note checks


def register(commands: Subparsers) -> None:
    """Add ``run`` to the command line."""
    habits = "\n".join(f"  {name:15}  {RANKING.load(name).DEFAULTS}" for name in RANKING.names())
    parser = commands.add_parser(
        "run",
        help="turn a file of queries into a submission",
        description="Search for every query of a task's input file, and write the submission in "
        "the same order.",
        epilog=_EPILOG.format(habits=habits),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "task",
        metavar="TASK",
        help=f"one of {', '.join(RANKING.names())}, or a .yaml file of a task",
    )
    parser.add_argument(
        "--queries", type=Path, required=True, metavar="FILE", help="the task's input"
    )
    add_index(parser)
    output = "the submission file; compressed if its name ends in .gz"
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=output)
    described = (
        "describe in FILE how the run was made, in the format of ir-metadata.org (TIRA expects the "
        "name "
        "ir-metadata.yml); if FILE is -, the description goes into the run itself"
    )
    parser.add_argument("--ir-metadata", type=Path, metavar="FILE", help=described)
    about = "a YAML file with further components for --ir-metadata: actor, research goal, data"
    parser.add_argument("--about", type=Path, metavar="FILE", help=about)
    parser.add_argument(
        "--run-id", default="", metavar="ID", help="the run id (default: factseek-RETRIEVER)"
    )
    as_of = "for each query, only documents up to the query's own date"
    parser.add_argument("--as-of-query", action="store_true", help=as_of)
    identical = "leave out the document that has the query's own id, as BEIR does"
    parser.add_argument("--ignore-identical-ids", action="store_true", help=identical)
    given = (
        "the vectors of the queries, so that nothing is encoded: .npy with --query-vector-ids, "
        "Parquet or JSON Lines (qid, vector)"
    )
    parser.add_argument("--query-vectors", type=Path, metavar="FILE", help=given)
    ids = "for --query-vectors FILE.npy: a qid a line, in the order of the vectors"
    parser.add_argument("--query-vector-ids", type=Path, metavar="FILE", help=ids)
    add_search_options(parser, hits="that of the task, listed below")
    add_json(parser)
    parser.set_defaults(command=run_command)


def run_command(args: argparse.Namespace) -> int:
    """Write the submission and report its contents."""
    if str(args.output) == "-":
        remedy = "give the path of a file: its description is written beside it"
        raise UsageError("--output -: run writes no submission to standard output", remedy=remedy)
    config = config_of(args, Config)
    began = perf_counter()
    with open_index(args.index, config) as index:
        request = RunRequest(
            task=args.task,
            queries=args.queries,
            output=args.output,
            run_id=args.run_id,
            search=search_from(args, config.search.fusion, index.info.filter_fields),
            as_of_query=args.as_of_query,
            ignore_identical_ids=args.ignore_identical_ids,
            described_in=args.ir_metadata,
            about=args.about,
            arguments=tuple(args.arguments),
            also_read=tuple(filter(None, [args.config, args.query_vectors, args.query_vector_ids])),
            query_vectors=args.query_vectors,
            query_vector_ids=args.query_vector_ids,
        )
        done = run(request, index, bar)
    seconds = perf_counter() - began
    if done.note:
        say(f"note: {done.note}")
    if done.without_words:
        say(
            "note: queries without words to search for, and so without hits: "
            f"{_list_qids(done.without_words)}"
        )
    if done.without_hits:
        say(f"note: queries without hits: {_list_qids(done.without_hits)}")
    for note in identical_notes("query", done.identical_ids):
        say(f"note: {note}")
    line = (
        f"{format_count(done.hits, 'hit')} for {format_count(done.queries, 'query')} in "
        f"{seconds:.1f} s"
    )
    facts = {"output": str(args.output), **asdict(done), "seconds": round(seconds, 3)}
    report(args, facts, f"{args.output}: {line}\n")
    return DONE


def _list_qids(qids: Sequence[str]) -> str:
    return f"{len(qids):,} ({', '.join(qids[:_SHOWN])}{', …' if len(qids) > _SHOWN else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request for a run: the task, its queries, and how to search; ``run_id`` defaults to
    ``factseek-RETRIEVER``.

    ``described_in`` is the file for the run's ``ir_metadata``, or :data:`IN_RUN`; ``about`` is a
    file with the user's additions, and ``arguments`` are those of the command, which the
    description quotes. ``also_read`` has further files that the command reads, so it must not write
    to them. ``query_vectors`` has the vectors of the queries; an ``.npy`` file needs
    ``query_vector_ids``.
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
    arguments: tuple[str, ...] = ()
    also_read: tuple[Path, ...] = ()
    query_vectors: Path | None = None
    query_vector_ids: Path | None = None


@dataclass(slots=True, kw_only=True)
class RunReport:
    """The result of a run; ``identical_ids`` has the queries whose first document has the query's
    id.
    """

    hits: int = 0
    queries: int = 0
    without_words: list[str] = field(default_factory=list)
    without_hits: list[str] = field(default_factory=list)
    identical_ids: list[str] = field(default_factory=list)
    note: str = ""

    def add(self, searched: Sequence[SearchedQuery[ScoredDocids]]) -> None:
        """Count the documents of more queries, and list the queries without words or hits."""
        self.queries += len(searched)
        for qid, (docids, _), empty in searched:
            self.hits += len(docids)
            if empty:
                self.without_words.append(qid)
            elif not docids:
                self.without_hits.append(qid)
            elif docids[0] == qid:
                self.identical_ids.append(qid)


# The lines of some queries, and their documents.
_Lines = tuple[bytes, Sequence[SearchedQuery[ScoredDocids]]]


def run(request: RunRequest, index: Index, progress: Progress = silent) -> RunReport:
    """Search for every query; write the submission, and a sidecar ``.meta.json`` that describes how
    it was made.

    Raises QueryError if the task is not a ranking task, the request does not fit the task, or no
    query has a hit. Raises SourceError if the queries cannot be read.
    """
    request = _complete(request, index)
    search, of_task = request.search, RANKING.load(request.task)
    queries = of_task.read_queries(request.queries)
    queries_digest = sha256(request.queries)  # now: the file may change during the run
    rules = {
        "as_of_query": request.as_of_query,
        "ignore_identical_ids": request.ignore_identical_ids,
    }
    filtered = filtered_queries(
        request.task, queries, search, index.settings.search.max_query_chars, **rules
    )
    if request.query_vectors is not None:
        filtered = with_vectors(
            filtered,
            _vectors_by_qid(request.query_vectors, request.query_vector_ids),
            request.query_vectors,
            index,
            search,
        )
    began = manifests.now()
    description = ""
    if request.described_in is not None:
        files = (
            Path(request.task),
            request.queries,
            index.info.place,
            request.output,
            request.described_in,
        )
        names = {
            str(file): file.name
            for file in (*files, *request.also_read, *filter(None, [request.about]))
        }
        parts = (word.rpartition("=") for word in request.arguments)  # --output=FILE too
        words = [
            f"{option}{mark}{names.get(str(Path(value)), value) or value}"
            for option, mark, value in parts
        ]
        description = describe(
            index,
            search,
            words,
            run_id=request.run_id,
            queries=request.queries,
            texts={query.qid: query.text for query in filtered},
            own=request.about,
        )
    head = as_comments(description) if request.described_in == IN_RUN else of_task.HEADER
    report = RunReport()
    digest = hashlib.sha256(head.encode("utf-8"))
    with (
        replacing(request.output) as file,
        packing(file) if is_packed(request.output) else nullcontext(file) as run_file,
    ):
        run_file.write(head.encode("utf-8"))
        with closing(progress("searching", "query", len(filtered))) as meter:
            for lines, chunk in _answer_queries(request, index, filtered):
                run_file.write(lines)
                digest.update(lines)
                report.add(chunk)
                meter.update(len(chunk))
        if not report.hits:
            hint = (
                "check that it is the right index"
                + ", and that documents match the filter" * bool(search.where)
            )
            if of_task.DEFAULTS.own_topic:
                topic = quote_value(queries[0].topic)
                hint = f"the documents of the index need the topics of the claims, such as {topic}"
            message = f"no query has a hit in {index.info.place}, so nothing is written; {hint}"
            raise QueryError(f"{request.queries}: {message}")
        if request.described_in not in (None, IN_RUN):
            write_atomically(request.described_in, description.encode("utf-8"))
        checksum = "sha256_unpacked" if is_packed(request.output) else "sha256"
        # The groups of settings that affect the hits of a search; plug-ins may add groups.
        groups = to_mapping(index.settings)
        affecting = {"search", "bm25", "dense", "encoder"} | (
            groups.keys() - set(index.settings.__struct_fields__)
        )
        meta = {
            "task": identity(request.task),
            "run_id": request.run_id,
            "output": {"name": storable(request.output.name), checksum: digest.hexdigest()},
            "queries": {
                "name": storable(request.queries.name),
                "sha256": queries_digest,
                "count": report.queries,
            },
            **_described_vectors(request),
            "index": {"name": storable(index.info.name), "manifest": index.info.id},
            "search": {
                **msgspec.structs.asdict(search),
                "where": search.where and search.where._asdict(),
            },
            **rules,
            "settings": {name: groups[name] for name in sorted(affecting)},
            "versions": manifests.versions(),
            "began": began,
            "ended": manifests.now(),
        }
        write_atomically(
            _meta_path(request.output),
            msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n",
        )
    report.note = index.note(" ".join(query.text for query in queries[:_NOTED]), search)
    return report


def _described_vectors(request: RunRequest) -> dict[str, object]:
    """Return the file of the queries' vectors for the description of a run, if there is one."""
    path = request.query_vectors
    if path is None:
        return {}
    return {"query_vectors": {"name": storable(path.name), "sha256": sha256(path)}}


def _vectors_by_qid(path: Path, ids: Path | None) -> dict[str, Sequence[float]]:
    keys, vectors = read_vector_file(path, ids, "qid")
    return {qid: vector.tolist() for (qid, _), vector in zip(keys, vectors, strict=True)}


def _answer_queries(
    request: RunRequest, index: Index, filtered: Sequence[SearchQuery]
) -> Iterator[_Lines]:
    of_task = RANKING.load(request.task)

    def format_lines(done: Sequence[SearchedQuery[ScoredDocids]]) -> _Lines:
        texts = of_task.lines([(query.qid, query.ranking) for query in done], request.run_id)
        return "".join(texts).encode("utf-8"), done

    # Without an encoder, use small chunks: their hits are still cached when they are written.
    few = min(CHUNK, max(1, _HITS_TOGETHER // (request.search.k or 1)))
    size = CHUNK if retrievers.kind(request.search.retriever or AUTO).batches else few
    # Lucene searches outside of Python, so that a second thread can write results meanwhile.
    with ThreadPoolExecutor(1) as writer:
        waiting: deque[Future[_Lines]] = deque()
        for chunk in chunks(filtered, size):
            waiting.append(writer.submit(format_lines, search_docids(index, chunk, request.search)))
            if len(waiting) > _WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _complete(request: RunRequest, index: Index) -> RunRequest:
    """Complete the request from the task and the index; raise, before any search, if something
    cannot be written.
    """
    of_task = RANKING.load(request.task)
    if request.query_vectors is not None:
        chosen = index.retriever_for_vectors(request.search.retriever)
        request = replace(request, search=msgspec.structs.replace(request.search, retriever=chosen))
    elif request.query_vector_ids is not None:
        raise UsageError(
            "--query-vector-ids needs --query-vectors", remedy="name the file of the vectors"
        )
    retriever = index.resolve(request.search).retriever
    run_id = request.run_id or f"factseek-{retriever}"
    try:
        column(run_id)
    except QueryError as error:
        raise QueryError(f"--run-id {error}") from None
    rereadable(request.queries)
    described = [request.described_in] if request.described_in not in (None, IN_RUN) else []
    read = [
        request.queries,
        *request.also_read,
        *filter(None, [request.about]),
        *descriptions(request.task),
    ]
    written = [request.output, _meta_path(request.output), *described]
    for path in written:
        writable(path, read)
    check_distinct(written)
    if request.about and request.described_in is None:
        raise QueryError(
            "needs --ir-metadata",
            place="--about",
            remedy="give --ir-metadata FILE, which it adds to",
        )
    if request.described_in == IN_RUN and not getattr(of_task, "COMMENTS", False):
        raise QueryError(
            "a submission of this task allows no comment",
            place="--ir-metadata -",
            remedy="give a file",
        )
    search = msgspec.structs.replace(search_of(request.task, request.search), retriever=retriever)
    return replace(request, run_id=run_id, search=search)


def _meta_path(output: Path) -> Path:
    return output.with_name(output.name + DESCRIPTION)
