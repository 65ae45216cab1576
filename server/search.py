"""Run one search for the API and the page: check its options field by field, and time its stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
from flask import Flask, current_app, g, has_request_context
from msgspec.structs import replace

from ..retrieval import stages
from ..retrieval.config import AUTO, FusionSettings
from ..retrieval.deadline import CutOffError, Deadline
from ..retrieval.domain import DocumentQuery, Filter
from ..retrieval.errors import QueryError
from ..retrieval.filters import DateError, bound, parse_filter
from ..retrieval.search import federated
from ..retrieval.search.answer import Answer, Question, Took
from ..retrieval.search.counting import fields_of
from ..retrieval.search.federated import FederatedAnswer
from ..retrieval.search.options import Search, check_whole
from ..retrieval.search.score_normalizers import FusionKind
from .errors import BadInput, RefusedError
from .memory import answer_memory
from .schemas import FilterRequest, FusionRequest, RankTook, SearchManyRequest, SearchOptions, SearchRequest
from .settings import ServerSettings

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

KEEP: Final = "keep"
"""The value of ``undated`` that keeps undated documents under a date bound."""
_SEARCHING = "factseek-searching"


class TimedOutError(RefusedError):
    """A search found nothing within its time."""

    status, slug = 503, "timed-out"


class _Searching(NamedTuple):
    """The limits of an application's searches, and the threads for calls that cannot be interrupted."""

    settings: ServerSettings
    beside: ThreadPoolExecutor


def search_of(options: SearchOptions, index: Index, k_name: str = "k", offset: int = 0) -> Search:
    """Return the search of a request on ``index``; ``k_name`` is the client's name for ``k``.

    Raises BadInput, with the field, if the index cannot answer it.
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


def question_of(request: SearchRequest | SearchManyRequest, index: Index, k_name: str) -> Question:
    """Return the question of a request to ``index``; ``k_name`` is the client's name for ``k``.

    Raises BadInput, with the field, if the index cannot answer it.
    """
    try:
        facets = request.facets if isinstance(request.facets, dict) else fields_of(request.facets)
    except QueryError as error:
        raise BadInput("facets", error.line) from None
    return Question(
        query=request.query,
        search=search_of(request, index, k_name, request.offset),
        like=request.like if isinstance(request, SearchRequest) else "",
        syntax=request.syntax,
        undated=request.undated == KEEP,
        highlight=request.highlight,
        passages=request.passages,
        explain=isinstance(request, SearchRequest) and request.explain,
        count=request.count,
        facets=facets,
    )


def answer(index: Index, question: Question, query_name: str = "query") -> Answer:
    """Answer a question within the time and memory of a request, and note it for the log.

    ``query_name`` is the client's name for the query. Raises BadInput, with the field, if the query cannot be searched.
    """
    began = monotonic()
    limited = replace(question, search=question.search._replace(limit=limit_of()))
    with query_errors_named(query_name):
        result = index.answer(limited)
    result.search = result.search._replace(limit=None)
    result.missing += tuple(name for name in index.missing_since(_begun(began)) if name not in result.missing)
    query = DocumentQuery(result.text, question.like) if question.like else question.query
    note_search(query, result)
    return result


def answer_of_many(
    indexes: Mapping[str, Index], questions: Mapping[str, Question], weights: Mapping[str, float], rrf_k: int = 0
) -> FederatedAnswer:
    """Answer a question from several indexes, as :func:`answer` does from one."""
    limited = {
        name: replace(question, search=question.search._replace(limit=limit_of()))
        for name, question in questions.items()
    }
    with query_errors_named():
        result = federated.answer(indexes, limited, weights, rrf_k)
    note_search(next(iter(questions.values())).query, result)
    return result


@contextmanager
def query_errors_named(query_name: str = "query") -> Iterator[None]:
    """Turn errors of a search into errors for the client; ``query_name`` is the client's name for the query."""
    try:
        yield
    except BadInput:
        raise
    except QueryError as error:
        raise BadInput(error.field or query_name, error.line) from None
    except CutOffError as error:
        raise TimedOutError(f"{error.line} ({_searching().settings.search_seconds:g} seconds)") from None


def whole_answer(index: Index, question: Question, query_name: str = "query") -> Answer:
    """Return the same as :func:`answer`, for answers that cannot say that parts are missing.

    Raises the same errors, and PartMissingError if a shard did not answer.
    """
    began = monotonic()
    result = answer(index, question, query_name)
    check_whole(index, began)
    return result


def register(app: Flask, settings: ServerSettings) -> None:
    """Give the searches of ``app`` their limits, and threads for calls that cannot be interrupted."""
    app.extensions[_SEARCHING] = _Searching(settings, ThreadPoolExecutor(settings.threads, "search"))


def limit_of(queries: int = 1) -> Deadline:
    """Return the deadline of a search for this many queries that starts now."""
    searching = _searching()
    return Deadline(searching.settings.search_seconds * queries, searching.beside, answer_memory())


def _begun(began: float) -> float:
    """Return when the current request began, which may have counted before it searched; else ``began``."""
    if not has_request_context() or "began" not in g:
        return began
    return min(began, monotonic() - (perf_counter() - float(g.began)))


def _searching() -> _Searching:
    installed: _Searching = current_app.extensions[_SEARCHING]
    return installed


def _retriever(asked: str | None, search: Search, index: Index) -> str:
    """Return the retriever that answers.

    Raises BadInput if there is no such retriever, or if the index cannot answer it or a ranking that it fuses.
    """
    try:
        if asked not in (None, AUTO):
            return index.resolve(search._replace(retriever=asked)).retriever
    except QueryError:
        pass  # the code below finds the field to blame
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
    """Return the error without its place (a folder of the server, which clients must not see) and its remedy."""
    return " ".join(error.what.split())


def _stages(field: str, asked: list[str] | None, index: Index) -> tuple[str, ...] | None:
    """Return the stages in a field, None if it is absent.

    Raises BadInput, with the field, if a stage is invalid or the index lacks what the stage reads.
    """
    if asked is None:
        return None
    try:
        stages.opened(asked, stages.StageContext(index.settings, index.info.published, lambda: index.terms))
    except QueryError as error:
        raise BadInput(field, error.line) from None
    return tuple(asked)


class Timed(Protocol):
    """A search or a ranking, with the time of its stages."""

    @property
    def took(self) -> Took | RankTook:
        """The milliseconds of each stage so far."""

    @property
    def retriever(self) -> str:
        """The retriever that answers; ``""`` for a ranking of claims."""


def note_search(query: str | list[str], search: Timed) -> None:
    """Note queries and result of the current request for the log and the metrics; for a document, note its docid."""
    noted = g._get_current_object()
    noted.setdefault("queries", []).append({"like": query.docid} if isinstance(query, DocumentQuery) else query)
    noted.setdefault("searches", []).append(search)


def note_query(query: str | list[str]) -> None:
    """Note queries of the current request for the log, which contains them only if configured."""
    g.setdefault("queries", []).append(query)


def milliseconds(began: float, ended: float) -> float:
    """Return the time between two readings of the clock in milliseconds, rounded to a hundredth."""
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

    Raises BadInput if it has more values than a search can check in its time.
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
    """Raise BadInput, with the client's name of the field, if a number exceeds its maximum."""
    if value is not None and value > most:
        raise BadInput(field, f"{value} is out of range: ask for 1 to {most}")
