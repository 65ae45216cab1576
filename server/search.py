"""Run one search for the API and the page: check its options field by field, and time its
stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec.structs import asdict, replace

from ..core.deadline import CutOffError, losing_hits
from ..core.domain import Filter
from ..core.errors import QueryError
from ..retrieval import retrievers
from ..retrieval.config import AUTO, FusionSettings
from ..retrieval.filters import DateError, bound, parse_filter
from ..retrieval.search import federated
from ..retrieval.search.answer import Answer, Question
from ..retrieval.search.counting import fields_of
from ..retrieval.search.declared import stage_options
from ..retrieval.search.federated import FederatedAnswer
from ..retrieval.search.options import FilterRequest, FusionRequest, Search, check_whole
from ..retrieval.search.score_normalizers import FusionKind
from .call import Call
from .errors import BadInput, RefusedError
from .schemas import SearchFields, SearchManyRequest, SearchOptions, SearchRequest

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

KEEP: Final = "keep"  # the value of undated that keeps undated documents under a date bound


class TimedOutError(RefusedError):
    """An answer was not ready within its time limit."""

    slug = "timed-out"


def search_of(
    call: Call, options: SearchOptions, index: Index, k_name: str = "k", offset: int = 0
) -> Search:
    """Return the search of a request, or raise BadInput with the field; ``k_name`` is the client's
    name for ``k``.
    """
    settings = index.settings.search
    check_most(k_name, options.k, settings.max_k)
    last = settings.max_k - (options.k or settings.k)
    if offset > last:
        raise BadInput(
            "offset",
            f"{offset} is out of range: a page of this size begins after at most {last} hits",
        )
    search = Search.of(
        options,
        where=_where(options, index, call.serving.config.server.max_filter_values),
        fusion=_fusion(options.fusion, settings.fusion, settings.max_k),
        offset=offset,
    )
    own = {
        name: (f"{name}={value}",)
        for name in stage_options()
        if (value := getattr(search, name)) is not None
    }
    wanted = sum(own.values(), search.stages or ())
    for field, named in (own | ({"stages": wanted} if wanted else {})).items():
        with query_errors_named(call, field):
            index.stages(named)
    field = "retriever"
    try:
        if search.fusion is not None:
            if not _fuses(options.retriever):
                # The configured fusion decides what auto means; the request's must then suit it.
                configured = index.resolve(Search(retriever=options.retriever))
                search = replace(search, retriever=configured.retriever)
            field = "fusion.weights"
        search = replace(search, retriever=index.resolve(search).retriever)
    except QueryError as error:  # without its remedy, which may name folders: they are not public
        raise BadInput(error.field or field, " ".join(error.what.split())) from None
    return search


def question_of(
    call: Call, request: SearchFields | SearchManyRequest, index: Index, k_name: str
) -> Question:
    """Return the question of a request, or raise BadInput with the field; ``k_name`` is the
    client's name for ``k``.
    """
    facets = request.facets
    if not isinstance(facets, dict):
        with query_errors_named(call, "facets"):
            facets = fields_of(facets)
    vector = None
    if isinstance(request, SearchRequest) and request.vector is not None:
        vector = tuple(request.vector)
        with query_errors_named(call, "vector"):
            request = replace(request, retriever=index.retriever_for_vectors(request.retriever))
    return Question(
        query=request.query,
        search=search_of(call, request, index, k_name, request.offset),
        like=request.like if isinstance(request, SearchFields) else "",
        syntax=request.syntax,
        undated=request.undated == KEEP,
        highlight=request.highlight,
        passages=request.passages,
        explain=isinstance(request, SearchFields) and request.explain,
        count=request.count,
        facets=facets,
        vector=vector,
    )


def answer(call: Call, index: Index, question: Question, query_name: str = "query") -> Answer:
    """Answer a question within the call's limits, and note the search; errors name the query as
    the client does.
    """
    with query_errors_named(call, query_name):
        result = index.answer(question, call.limit())
    # Report every shard lost since the call began: it may have counted documents before this
    # search.
    result.missing += tuple(
        name for name in index.missing_since(call.began) if name not in result.missing
    )
    call.note({"like": question.like} if question.like else question.query, result)
    return result


def whole_answer(
    call: Call, index: Index, query: str, search: Search, query_name: str = "query"
) -> Answer:
    """Answer as :func:`answer` does, without highlights; raise PartMissingError or TimedOutError
    for a missing part.
    """
    began = monotonic()
    result = answer(call, index, Question(query, search, highlight=False), query_name)
    check_whole(index, began)
    if late := losing_hits(result.missing):
        raise TimedOutError(
            f"{', '.join(late)} took too long, so the answer would be incomplete; try again"
        )
    return result


def answer_of_many(
    call: Call,
    indexes: Mapping[str, Index],
    questions: Mapping[str, Question],
    weights: Mapping[str, float],
    rrf_k: int = 0,
) -> FederatedAnswer:
    """Answer a question from several indexes, as :func:`answer` does from one."""
    limits = {name: call.limit() for name in questions}
    with query_errors_named(call):
        result = federated.answer(indexes, questions, weights, rrf_k, limits)
    call.note(next(iter(questions.values())).query, result)
    return result


@contextmanager
def query_errors_named(call: Call, query_name: str = "query") -> Iterator[None]:
    """Turn errors of a search into errors for the client; ``query_name`` is the client's name for
    the query.
    """
    try:
        yield
    except BadInput:
        raise
    except QueryError as error:
        raise BadInput(error.field or query_name, error.line) from None
    except CutOffError as error:
        seconds = call.serving.config.server.search_seconds
        raise TimedOutError(f"{error.line} ({seconds:g} seconds)") from None


def _where(options: SearchOptions, index: Index, most: int) -> Filter | None:
    """Return the filter of a search; raise BadInput if a field has more than ``most`` values, or a
    value is invalid.
    """
    wanted = options.filter
    lists = wanted.values() if isinstance(wanted, FilterRequest) else {"": wanted}
    for name, values in lists.items():
        if len(values) > most:
            field = f"filter.{name}" if name else "filter"
            raise BadInput(field, f"has {len(values)} values; give at most {most}")
    pairs = [
        f"{name}={value}" if name else value for name, values in lists.items() for value in values
    ]
    if not (pairs or options.as_of or options.since):
        return None
    declared, field = index.info.filter_fields, "filter"
    try:
        parse_filter(pairs, declared=declared)
        for field in ("as_of", "since"):
            bound(getattr(options, field) or "2000", field)
        undated = options.undated == KEEP
        return parse_filter(
            pairs, as_of=options.as_of, since=options.since, undated=undated, declared=declared
        )
    except DateError as error:
        raise BadInput(field, error.line, error.unnamed) from None
    except QueryError as error:
        raise BadInput(field, error.line) from None


def _fuses(retriever: str | None) -> bool:
    """Return whether a request names a retriever that fuses rankings.

    Raises QueryError if there is no such retriever.
    """
    return retriever not in (None, "", AUTO) and retrievers.fusing(str(retriever)) is not None


def _fusion(
    wanted: FusionRequest | FusionKind | None, configured: FusionSettings, most: int
) -> FusionSettings | None:
    if wanted is None:
        return None
    if isinstance(wanted, str):
        return replace(configured, kind=wanted)
    check_most("fusion.depth", wanted.depth, most)
    changes = {name: value for name, value in asdict(wanted).items() if value is not None}
    if "rrf_k" in changes:
        changes.setdefault("kind", "rrf")
    fusion = replace(configured, **changes)
    if "weights" in changes and not any(fusion.weights.values()):
        raise BadInput("fusion.weights", "all weights are 0: no ranking would count")
    return fusion


def check_most(field: str, value: int | None, most: int) -> None:
    """Raise BadInput, with the client's name of the field, if a number exceeds its maximum."""
    if value is not None and value > most:
        raise BadInput(field, f"{value} is out of range: ask for 1 to {most}")
