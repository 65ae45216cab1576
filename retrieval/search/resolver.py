"""The resolver of searches: what a request leaves open is taken from the configuration and from the index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec

from .. import retrievers, stages
from ..config import Config
from ..domain import DocumentQuery, Filter, VectorQuery
from ..errors import QueryError
from ..filters import FIELDS, refuse_texts
from ..stages import Named, StageContext
from ..store.manifest import Manifest
from ..text import PROFILES, has_words, refuse_text
from ..views.vectors import searched_approximately
from .index_state import IndexState
from .options import ResolvedSearch, Search, reads_vectors
from .retriever import ReRanker, Retriever

_SHARED = ("k", "retriever", "fusion", "profile", "group", "stages")
"""Options of a :class:`Search` that stand in ``config.search`` under the same name."""
_CHOICES = (*_SHARED, "collapse", "sort", "bm25")
"""Options of a :class:`Search` that its choices depend on; its filter and its limit choose nothing."""

REMEMBERED = 64
"""Searches whose choices are remembered: nearly all that one index is asked differ in query and filter alone."""


class Resolver:
    """Makes, for one state of an index, the choices that a search leaves open."""

    def __init__(self, state: IndexState, config: Config) -> None:
        self._state = state
        self._config = config
        # Of the state, not of this object: a circle would keep what a closed index held until it is collected.
        self._resolved = lru_cache(maxsize=REMEMBERED)(partial(_resolved, state.manifest, state.folder, config))
        self._retrievers: dict[int, tuple[ResolvedSearch, Retriever]] = {}
        self._context = StageContext(config, state.manifest, lambda: state.terms)

    def resolve(self, asked: Search) -> ResolvedSearch:
        """Return a search with every choice made.

        Raises QueryError if there is no such profile or retriever, or the index lacks what the retriever or the filter
        needs; TypeError if its stages, or a field of its filter, are one text.
        """
        if asked.where is not None:
            refuse_texts(asked.where)
            _check_words(asked.where, self._state.manifest)
            self._check_fields(asked.where)
        refuse_text("stages", asked.stages)
        named = None if asked.stages is None else tuple(asked.stages)
        shared = (asked.k, asked.retriever, asked.fusion, asked.profile, asked.group, named)
        return self._resolved(*shared, asked.collapse, asked.sort, asked.bm25)

    def depth(self, asked: Search, resolved: ResolvedSearch) -> int:
        """Return how many hits are to be found: those that are asked for, and those that are left out before them.

        Raises QueryError if that is out of range.
        """
        settings = resolved.settings.search
        if not 1 <= settings.k <= settings.max_k:
            raise QueryError(f"k {settings.k} is out of range: ask for 1 to {settings.max_k} hits")
        if not 0 <= asked.offset <= settings.max_k - settings.k:
            last = settings.max_k - settings.k
            raise QueryError(f"offset {asked.offset} is out of range: ask for {settings.k} hits after 0 to {last}")
        return asked.offset + settings.k

    def texts(self, queries: Sequence[str], resolved: ResolvedSearch) -> list[str]:
        """Return what is searched for.

        Raises QueryError if a query is too long or holds no words, TypeError if they are one text.
        """
        refuse_text("queries", queries)
        return [_worded(query, resolved) for query in queries]

    def retriever(self, resolved: ResolvedSearch) -> Retriever:
        """Return the retriever of a search, opened if that is not remembered."""
        known = self._retrievers.get(id(resolved))
        if known is None or known[0] is not resolved:
            while len(self._retrievers) >= REMEMBERED:
                self._retrievers.pop(next(iter(self._retrievers), 0), None)
            known = self._retrievers[id(resolved)] = (
                resolved,
                self._state.ranking(resolved.retriever, resolved.settings),
            )
        return known[1]

    def stages(self, resolved: ResolvedSearch, where: Filter | None) -> list[Named]:
        """Open the stages of a search under a filter.

        Raises QueryError if there is none of a name, one is named twice, or it cannot be opened.
        """
        if not resolved.settings.search.stages:
            return []
        return stages.opened_over(resolved.settings.search.stages, self._state, where, self._context)

    def re_ranker(self) -> ReRanker:
        """Return the model of the stage ``rerank``.

        Raises QueryError if none is configured, MachineError if it is not on this machine.
        """
        return self._context.re_ranker()

    def close(self) -> None:
        """Let go of what was opened."""
        self._retrievers.clear()
        self._context.close()

    def views(self, retriever: str) -> Sequence[str]:
        """Return the names of the views that a retriever reads."""
        return retrievers.kind(retriever).views(retriever, self._state.manifest, self._config)

    def encodes(self, retriever: str) -> bool:
        """Return whether a retriever encodes its queries."""
        return reads_vectors(self.views(retriever))

    def _check_fields(self, where: Filter) -> None:
        declared = self._state.manifest.filter_fields
        for name, _ in where.metadata:
            if name not in declared:
                raise QueryError(
                    f"there is no field {name!r} to filter by",
                    remedy=f"the fields are {', '.join((*FIELDS, *declared))}",
                )


def _resolved(manifest: Manifest, folder: Path, configured: Config, *chosen: Any) -> ResolvedSearch:
    """Return a search with every choice made; ``chosen`` are the values of :data:`_CHOICES`."""
    asked = Search(**dict(zip(_CHOICES, chosen, strict=True)))
    config = retrievers.with_default_weights(_effective(configured, asked), manifest)
    profile = config.search.profile
    if profile not in PROFILES:
        raise QueryError(f"there is no profile {profile!r}", remedy=f"there are {' and '.join(sorted(PROFILES))}")
    name = retrievers.resolve(config.search.retriever, manifest, config, folder)
    kind = retrievers.kind(name)
    read = tuple(kind.views(name, manifest, config))
    approximate = any(searched_approximately(view, manifest, config.dense) for view in read if reads_vectors([view]))
    return ResolvedSearch(name, tuple(kind.rankings(name, config)), read, config, approximate)


def _check_words(where: Filter, manifest: Manifest) -> None:
    if where.of_words != Filter() and not manifest.has_phrases:
        raise QueryError(
            "this index has no word positions: it cannot match phrases, exclude words or search titles",
            remedy="rebuild it with index.phrases",
        )


def _effective(config: Config, asked: Search) -> Config:
    """Return the settings of a search: the configuration's, with what the search varies."""
    varied = {name: getattr(asked, name) for name in _SHARED if getattr(asked, name) is not None}
    last = [f"{name}={value}" for name, value in (("collapse", asked.collapse), ("sort", asked.sort)) if value]
    if last:
        varied["stages"] = (*(config.search.stages if asked.stages is None else asked.stages), *last)
    if varied:
        config = msgspec.structs.replace(config, search=msgspec.structs.replace(config.search, **varied))
    return config if asked.bm25 is None else msgspec.structs.replace(config, bm25=asked.bm25)


def _worded(query: str, resolved: ResolvedSearch) -> str:
    """Return what is searched for, if anything can be."""
    if isinstance(query, DocumentQuery):
        return query  # its words were chosen, and it may be found by its vectors alone
    longest = resolved.settings.search.max_query_chars
    if len(query) > longest:
        raise QueryError(
            f"the query has {len(query)} characters, at most {longest} are searched (search.max_query_chars)"
        )
    text = resolved.text(query)
    if not has_words(text):
        raise QueryError(f"the query {query[:60]!r} holds no words to search for")
    return VectorQuery(text, query.vector) if isinstance(query, VectorQuery) else text
