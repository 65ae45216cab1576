"""One search as the API and the page run it: options checked field by field, stages timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
from flask import Flask, current_app, g, has_request_context

from ..retrieval import stages
from ..retrieval.config import AUTO, FusionSettings
from ..retrieval.deadline import CutOffError, Deadline
from ..retrieval.domain import DocumentQuery, Filter, Hit
from ..retrieval.errors import NotFoundError, QueryError
from ..retrieval.filters import DateError, bound, parse_filter
from ..retrieval.lucene.spelling import respelt
from ..retrieval.search.evidence import Evidence
from ..retrieval.search.options import Search, check_whole
from ..retrieval.search.query_syntax import QUERY, parse_query
from ..retrieval.search.score_normalizers import FusionKind
from .errors import BadInput, RefusedError
from .memory import answer_memory
from .schemas import (
    ApproximateIfSo,
    Coverage,
    CoverageIfAny,
    FilterRequest,
    FusionRequest,
    ParsedAnswer,
    QueryText,
    RankTook,
    SearchOptions,
    SearchRequest,
    SuggestionIfAny,
    Took,
)
from .settings import ServerSettings

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

KEEP: Final = "keep"
"""What a client says of undated documents to have them under a date bound."""
_CUT_OFF: Final = "cut off"
_SEARCHING = "factseek-searching"


class TimedOutError(RefusedError):
    """A search found nothing in the time that it has."""

    status, slug = 503, "timed-out"


class _Searching(NamedTuple):
    """The limits of an application's searches, and the threads for calls that cannot be interrupted."""

    settings: ServerSettings
    beside: ThreadPoolExecutor


class RankedEvidence(NamedTuple):
    """The evidence for a query and how it was found."""

    hits: list[Evidence]
    retriever: str
    note: str
    took: Took
    ranked: list[Hit]
    coverage: CoverageIfAny
    more: bool
    """Whether hits follow that may be asked for."""
    depth: int
    """How many hits of each ranking were fused; 0 if the hits are of one ranking."""
    spellings: Mapping[str, str]
    """The misspelt words of the query, each with the word that is meant."""
    approximate: ApproximateIfSo


def search_of(options: SearchOptions, index: Index, k_name: str = "k", offset: int = 0) -> Search:
    """Return the search that a request asks of ``index``; ``k_name`` is what the client calls ``k``.

    Raises BadInput, naming the field, if the index cannot answer it.
    """
    settings = index.settings.search
    check_most(k_name, options.k, settings.max_k)
    last = settings.max_k - (options.k or settings.k)
    if offset > last:
        raise BadInput("offset", f"{offset} is out of range: a page of this size begins after at most {last} hits")
    asked = Search(
        k=options.k,
        where=_where(options, index),
        fusion=_fusion(options.fusion, settings.fusion, settings.max_k),
        profile=options.profile,
        group=options.group,
        stages=_stages("stages", options.stages, index),
        collapse=options.collapse or "",
        sort=options.sort or "",
        offset=offset,
    )
    _stages("collapse", [f"collapse={asked.collapse}"] if asked.collapse else None, index)
    return asked._replace(retriever=_retriever(options.retriever, asked, index))


def searched(index: Index, request: SearchRequest, asked: Search) -> tuple[str, Search, QueryText]:
    """Return what :func:`understood` does of a request, whose query may be a document of the index.

    Raises BadInput if there is no such document, or the query is of the query language and makes no sense.
    """
    if not request.like:
        return understood(request.query, asked, request.syntax, undated=request.undated == KEEP)
    try:
        query, asked = index.like(request.like, asked)
    except NotFoundError as error:
        raise BadInput("like", error.line) from None
    return query, asked, QueryText(text=str(query), like=request.like)


def suggestion(query: str, spellings: Mapping[str, str]) -> SuggestionIfAny:
    """Return a query, as it was typed, with its misspelt words put right, if it has any."""
    return respelt(query, spellings) if spellings else msgspec.UNSET


def understood(query: str, asked: Search, syntax: str, *, undated: bool = False) -> tuple[str, Search, QueryText]:
    """Return the text to search for, the search with the filter that the query asks for, and what clients are told.

    With ``undated`` the dates of the query leave out no document because it has none.
    Raises BadInput if the query is of the query language and makes no sense.
    """
    if syntax != QUERY:
        return query, asked, QueryText(text=query)
    try:
        parsed = parse_query(query, asked, undated=undated)
    except QueryError as error:
        raise BadInput("query", error.line) from None
    answer = msgspec.convert(parsed.as_json(), ParsedAnswer)
    return parsed.text, parsed.search, QueryText(text=query, parsed=answer)


def ranked_evidence(
    index: Index, query: str, asked: Search, *, highlight: bool = True, query_name: str = "query"
) -> RankedEvidence:
    """Return the evidence of one query, ranked, with the times of its stages.

    Raises BadInput if the query, which the client calls ``query_name``, cannot be searched for.
    """
    began = perf_counter()
    limit, settings = limit_of(), index.settings.search
    k = asked.k or settings.k
    further = int(asked.offset + k < settings.max_k)  # one hit more says whether there is a next page
    try:
        ranking = index.search([query], asked._replace(limit=limit, k=k + further))[0]
    except QueryError as error:
        raise BadInput(query_name, error.line) from None
    except CutOffError as error:
        raise TimedOutError(f"{error.line} ({_searching().settings.search_seconds:g} seconds)") from None
    ranked, resolved, hits = perf_counter(), index.resolve(asked), ranking[:k]
    reading = limit.anew()  # its own: what a stuck retriever took is not lacking here
    evidence = index.evidence(query, hits, asked._replace(limit=reading), highlight=highlight)
    coverage = coverage_of(index, asked, limit, reading)
    took = Took(retrieve=milliseconds(began, ranked), evidence=milliseconds(ranked, perf_counter()))
    depth = resolved.settings.search.fusion.depth if resolved.rankings != (resolved.retriever,) else 0
    note = index.note(query, asked)
    more, spellings = len(ranking) > k, index.spellings(query, asked)
    result = RankedEvidence(
        evidence,
        resolved.retriever,
        note,
        took,
        hits,
        coverage,
        more,
        depth,
        spellings,
        approximate_if_so(index, asked),
    )
    note_search(query, result)
    return result


def whole_evidence(
    index: Index, query: str, asked: Search, *, highlight: bool = True, query_name: str = "query"
) -> RankedEvidence:
    """Return what :func:`ranked_evidence` returns, for answers that have no place for a coverage.

    Raises what it raises, and PartMissingError if a shard did not answer.
    """
    began = monotonic()
    result = ranked_evidence(index, query, asked, highlight=highlight, query_name=query_name)
    check_whole(index, began)
    return result


def register(app: Flask, settings: ServerSettings) -> None:
    """Give the searches of ``app`` their limits, and threads for calls that cannot be interrupted."""
    app.extensions[_SEARCHING] = _Searching(settings, ThreadPoolExecutor(settings.threads, "search"))


def limit_of(queries: int = 1) -> Deadline:
    """Return the time limit, from now on, of a search for so many queries."""
    searching = _searching()
    return Deadline(searching.settings.search_seconds * queries, searching.beside, answer_memory())


def approximate_if_so(index: Index, asked: Search) -> ApproximateIfSo:
    """Return True if a search asks an approximate index of vectors, else UNSET."""
    return index.resolve(asked).approximate or msgspec.UNSET


def coverage_of(index: Index, asked: Search, limit: Deadline, reading: Deadline | None = None) -> CoverageIfAny:
    """Return the coverage of a search: what was not ready within its limit, or that of ``reading`` its evidence.

    UNSET if all was.
    """
    missing = (*limit.missing, *index.missing_since(_begun(limit)), *(reading.missing if reading else ()))
    return _coverage(index, asked, missing) if missing else msgspec.UNSET


def with_missing(coverage: CoverageIfAny, index: Index, asked: Search, reading: Deadline) -> CoverageIfAny:
    """Return the coverage of a search with what its evidence lacks."""
    missing = (*reading.missing, *index.missing_since(_begun(reading)))
    if not missing:
        return coverage
    return {**(coverage or _coverage(index, asked, ())), **dict.fromkeys(missing, _CUT_OFF)}


def _begun(limit: Deadline) -> float:
    """Return when the current request began, which may have counted before it searched; else when its limit did."""
    if not has_request_context() or "began" not in g:
        return limit.began
    return min(limit.began, monotonic() - (perf_counter() - float(g.began)))


def _coverage(index: Index, asked: Search, missing: Sequence[str]) -> Coverage:
    """Return of each ranking whether it was ready; of a stage only if it was not."""
    rankings = index.resolve(asked).rankings
    return {name: _CUT_OFF if name in missing else "complete" for name in (*rankings, *missing)}


def _searching() -> _Searching:
    installed: _Searching = current_app.extensions[_SEARCHING]
    return installed


def _retriever(asked: str | None, search: Search, index: Index) -> str:
    """Return the retriever that answers.

    Raises BadInput if there is none of that name, or the index cannot answer it or a ranking that it fuses.
    """
    try:
        if asked not in (None, AUTO):
            return index.resolve(search._replace(retriever=asked)).retriever
    except QueryError:
        pass  # which field is to blame is seen below
    try:
        name = index.resolve(Search(retriever=asked)).retriever
    except QueryError as error:
        raise BadInput("retriever", _reason(error)) from None
    try:
        index.resolve(search._replace(retriever=name))
    except QueryError as error:
        raise BadInput("fusion.weights", _reason(error)) from None
    return name


def _reason(error: QueryError) -> str:
    """Return what is wrong, without the place (a folder of the server, which clients must not see) and the remedy."""
    return " ".join(error.what.split())


def _stages(field: str, asked: list[str] | None, index: Index) -> tuple[str, ...] | None:
    """Return the stages that a field asks for, if it does.

    Raises BadInput, naming the field, if one makes no sense or the index lacks what it reads.
    """
    if asked is None:
        return None
    try:
        stages.opened(asked, stages.StageContext(index.settings, index.info.published, lambda: index.terms))
    except QueryError as error:
        raise BadInput(field, error.line) from None
    return tuple(asked)


class Timed(Protocol):
    """A search, or a ranking, whose stages were or will be timed."""

    @property
    def took(self) -> Took | RankTook:
        """The milliseconds of each stage so far."""

    @property
    def retriever(self) -> str:
        """The retriever that answers; ``""`` of a ranking of claims."""


def note_search(query: str | list[str], search: Timed) -> None:
    """Note queries and result of the current request for the log and the metrics; of a document its docid."""
    noted = g._get_current_object()
    noted.setdefault("queries", []).append({"like": query.docid} if isinstance(query, DocumentQuery) else query)
    noted.setdefault("searches", []).append(search)


def note_query(query: str | list[str]) -> None:
    """Note queries of the current request for the log, which holds them where it is asked to."""
    g.setdefault("queries", []).append(query)


def milliseconds(began: float, ended: float) -> float:
    """Return the time between two readings of the clock in milliseconds, to a hundredth."""
    return round((ended - began) * 1000, 2)


def _where(options: SearchOptions, index: Index) -> Filter | None:
    if options.filter == [] and not options.as_of and not options.since:
        return None
    declared = index.info.filter_fields
    pairs = _pairs(options.filter, _searching().settings.max_filter_values)
    if not pairs and not options.as_of and not options.since:
        return None
    field = "filter"
    try:
        parse_filter(pairs, declared=declared)
        for field in ("as_of", "since"):
            bound(getattr(options, field) or "2000", field)
        undated = options.undated == KEEP
        return parse_filter(pairs, as_of=options.as_of, since=options.since, undated=undated, declared=declared)
    except DateError as error:
        raise BadInput(field, error.line, error.unnamed) from None
    except QueryError as error:
        raise BadInput(field, error.line) from None


def _pairs(asked: FilterRequest | list[str], most: int) -> list[str]:
    """Return a filter as ``field=value`` pairs.

    Raises BadInput if it has more values than a search can look for in its time.
    """
    lists = asked.values() if isinstance(asked, FilterRequest) else {"": asked}
    for name, values in lists.items():
        if len(values) > most:
            field = f"filter.{name}" if name else "filter"
            raise BadInput(field, f"has {len(values)} values; at most {most} are taken")
    if isinstance(asked, list):
        return asked
    return [f"{name}={value}" for name, values in lists.items() for value in values]


def _fusion(asked: FusionRequest | FusionKind | None, configured: FusionSettings, most: int) -> FusionSettings | None:
    if asked is None:
        return None
    if isinstance(asked, str):
        return msgspec.structs.replace(configured, kind=asked)
    check_most("fusion.depth", asked.depth, most)
    changes = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    if "rrf_k" in changes:
        changes.setdefault("kind", "rrf")
    fusion = msgspec.structs.replace(configured, **changes)
    if "weights" in changes and not any(fusion.weights.values()):
        raise BadInput("fusion.weights", "all weights are 0: no ranking would count")
    return fusion


def check_most(field: str, value: int | None, most: int) -> None:
    """Raise BadInput, naming the field as the client does, if a number is over the most that may be asked for."""
    if value is not None and value > most:
        raise BadInput(field, f"{value} is out of range: ask for 1 to {most}")
