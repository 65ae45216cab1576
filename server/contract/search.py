"""One search as the API and the page run it: options checked field by field, stages timed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec
from flask import Flask, current_app, g

from ...retrieval.config import FusionKind, FusionSettings, RetrieverName
from ...retrieval.domain import Filter, Hit
from ...retrieval.errors import QueryError
from ...retrieval.evidence import Evidence
from ...retrieval.filters import bound, parse_filter
from ...retrieval.index.local import Index, Search
from ...retrieval.limit import CutOffError, Limit
from .answers import Coverage, CoverageIfAny, RankTook, Took
from .errors import BadInput, RefusedError
from .requests import FilterRequest, FusionRequest, SearchOptions

_CUT_OFF: Final = "cut off"
_BESIDE = "factseek-beside"
LATER = MappingProxyType({"Retry-After": "5"})
"""The headers of a refusal after which to ask again."""


class TimedOutError(RefusedError):
    """A search found nothing in the time that it has."""

    status, slug = 503, "timed-out"


class Found(NamedTuple):
    """The evidence for a query and how it was found."""

    hits: list[Evidence]
    retriever: RetrieverName
    note: str
    took: Took
    ranked: list[Hit]
    coverage: CoverageIfAny


def retrievers(index: Index) -> list[RetrieverName]:
    """Name the retrievers that an index answers."""
    return ["bm25"] if index.manifest.encoder is None else ["bm25", "dense", "hybrid"]


def search_of(options: SearchOptions, index: Index, k_name: str = "k") -> Search:
    """Return the search that a request asks of ``index``; ``k_name`` is what the client calls ``k``.

    Raises BadInput, naming the field, if the index cannot answer it.
    """
    most = index.config.search.max_k
    _check_most(k_name, options.k, most)
    name = index.resolved(options.retriever)
    if name not in retrievers(index):
        raise BadInput("retriever", f"this index was built without vectors: it answers bm25, not {name}")
    return Search(
        k=options.k,
        retriever=name,
        where=_where(options, index.config.server.max_filter_values),
        fusion=_fusion(options.fusion, index.config.search.fusion, most),
        profile=options.profile,
        group=options.group,
    )


def found(index: Index, query: str, asked: Search, *, highlight: bool = True) -> Found:
    """Search for one query and read its evidence.

    Raises BadInput if the query cannot be searched for.
    """
    began = perf_counter()
    limit = limit_of(index)
    try:
        hits = index.search([query], asked._replace(limit=limit))[0]
    except QueryError as error:
        raise BadInput("query", error.line) from None
    except CutOffError as error:
        raise TimedOutError(f"{error.line} ({index.config.server.search_seconds:g} seconds)", LATER) from None
    ranked, name = perf_counter(), index.resolved(asked.retriever)
    reading = limit_of(index)  # its own: what a stuck retriever took is not lacking here
    evidence = index.evidence(query, hits, asked._replace(limit=reading), highlight=highlight)
    coverage = with_missing(coverage_of(name, limit), name, reading)
    took = Took(retrieve=milliseconds(began, ranked), evidence=milliseconds(ranked, perf_counter()))
    result = Found(evidence, name, index.note(query, name), took, hits, coverage)
    note_search(query, result)
    return result


def register(app: Flask, threads: int) -> None:
    """Give the searches of ``app`` threads for what cannot be interrupted."""
    app.extensions[_BESIDE] = ThreadPoolExecutor(threads, "search")


def limit_of(index: Index, queries: int = 1) -> Limit:
    """Return the time that a search for so many queries has from now on."""
    return Limit(index.config.server.search_seconds * queries, current_app.extensions[_BESIDE])


def coverage_of(name: RetrieverName, limit: Limit) -> CoverageIfAny:
    """Return which retrievers made it within ``limit``, if one did not."""
    return _coverage(name, limit.missing) if limit.missing else msgspec.UNSET


def with_missing(coverage: CoverageIfAny, name: RetrieverName, reading: Limit) -> CoverageIfAny:
    """Return the coverage of a search by the retriever ``name`` with what its evidence lacks."""
    if not reading.missing:
        return coverage
    return {**(coverage or _coverage(name, ())), **dict.fromkeys(reading.missing, _CUT_OFF)}


def _coverage(name: RetrieverName, missing: Sequence[str]) -> Coverage:
    parts = ("bm25", "dense") if name == "hybrid" else (name,)
    return {part: _CUT_OFF if part in missing else "complete" for part in parts}


class Timed(Protocol):
    """A search, or a ranking, whose stages were or will be timed."""

    @property
    def took(self) -> Took | RankTook:
        """The milliseconds of each stage so far."""


def note_search(query: str | list[str], search: Timed) -> None:
    """Remember for the log and the metrics what the current request searches for."""
    g.setdefault("queries", []).append(query)
    g.setdefault("searches", []).append(search)


def milliseconds(began: float, ended: float) -> float:
    """Return the time between two readings of the clock in milliseconds, to a hundredth."""
    return round((ended - began) * 1000, 2)


def _where(options: SearchOptions, most: int) -> Filter | None:
    pairs = _pairs(options.filter, most)
    if not pairs and not options.as_of and not options.since:
        return None
    field = "filter"
    try:
        parse_filter(pairs)
        for field in ("as_of", "since"):
            bound(getattr(options, field) or "2000", field)
        return parse_filter(pairs, as_of=options.as_of, since=options.since, undated=options.undated == "keep")
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
    return asked if isinstance(asked, list) else [f"{name}={one}" for name, values in lists.items() for one in values]


def _fusion(asked: FusionRequest | FusionKind | None, configured: FusionSettings, most: int) -> FusionSettings:
    if asked is None:
        return configured
    if isinstance(asked, str):
        return msgspec.structs.replace(configured, kind=asked)
    _check_most("fusion.depth", asked.depth, most)
    said = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    fusion = msgspec.structs.replace(configured, **said)
    if said and not fusion.bm25_weight and not fusion.dense_weight:
        raise BadInput("fusion", "both weights are 0: no ranking would count")
    return fusion


def _check_most(field: str, value: int | None, most: int) -> None:
    if value is not None and value > most:
        raise BadInput(field, f"{value} is out of range: ask for 1 to {most}")
