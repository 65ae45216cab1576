"""The resolver of searches: it takes missing options from the configuration and the index."""

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
from ..stages.rerank import re_ranker
from ..store.manifest import Manifest
from ..text import PROFILES, has_words, refuse_text
from ..views.vectors import searched_approximately
from .index_state import IndexState
from .options import ResolvedSearch, Search, reads_vectors
from .retriever import ReRanker, Retriever

_SHARED = ("k", "retriever", "fusion", "profile", "group", "stages")
"""The options of a :class:`Search` with the same name in ``config.search``."""
_CHOICES = (*_SHARED, "collapse", "sort", "bm25")
"""The options of a :class:`Search` that decide how it is resolved; its filter and limit have no effect on that."""

REMEMBERED = 64
"""The number of resolved searches in memory: nearly all searches of an index differ in query and filter alone."""


class Resolver:
    """Resolves the open options of searches, for one state of an index."""

    def __init__(self, state: IndexState, config: Config) -> None:
        self._state = state
        self._config = config
        # The cache refers to the state, not to this object: a cycle would keep a closed index in memory until
        # garbage collection.
        self._resolved = lru_cache(maxsize=REMEMBERED)(partial(_resolved, state.manifest, state.folder, config))
        self._retrievers: dict[int, tuple[ResolvedSearch, Retriever]] = {}
        self._context = StageContext(config, state.manifest, lambda: state.terms)

    def resolve(self, asked: Search) -> ResolvedSearch:
        """Return a search with every option resolved.

        Raises QueryError if the profile or the retriever does not exist, or if the index lacks what the retriever or
        the filter needs. Raises TypeError if its stages, or a field of its filter, are a single string.
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
        """Return the number of hits to find: ``k`` plus the offset. Raises QueryError if it is out of range."""
        settings = resolved.settings.search
        if not 1 <= settings.k <= settings.max_k:
            raise QueryError(f"k {settings.k} is out of range: ask for 1 to {settings.max_k} hits")
        if not 0 <= asked.offset <= settings.max_k - settings.k:
            last = settings.max_k - settings.k
            raise QueryError(f"offset {asked.offset} is out of range: with k {settings.k} it may be 0 to {last}")
        return asked.offset + settings.k

    def texts(self, queries: Sequence[str], resolved: ResolvedSearch) -> list[str]:
        """Return the texts to search for.

        Raises QueryError if a query is too long or contains no words. Raises TypeError if ``queries`` is a single
        string.
        """
        refuse_text("queries", queries)
        return [_worded(query, resolved) for query in queries]

    def retriever(self, resolved: ResolvedSearch) -> Retriever:
        """Return the retriever of a search; open it if it is not in memory."""
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

        Raises QueryError if a stage does not exist, appears twice, or cannot be opened.
        """
        if not resolved.settings.search.stages:
            return []
        return stages.opened_over(resolved.settings.search.stages, self._state, where, self._context)

    def re_ranker(self) -> ReRanker:
        """Return the model of the stage ``rerank``.

        Raises QueryError if no model is configured. Raises MachineError if it is not installed here.
        """
        return re_ranker(self._context)

    def close(self) -> None:
        """Release the retrievers and the stages."""
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
    asked = Search(**dict(zip(_CHOICES, chosen, strict=True)))
    config = retrievers.with_default_weights(_effective(configured, asked), manifest)
    profile = config.search.profile
    if profile not in PROFILES:
        raise QueryError(
            f"there is no profile {profile!r}", remedy=f"the profiles are {' and '.join(sorted(PROFILES))}"
        )
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
    varied = {name: getattr(asked, name) for name in _SHARED if getattr(asked, name) is not None}
    last = [f"{name}={value}" for name, value in (("collapse", asked.collapse), ("sort", asked.sort)) if value]
    if last:
        varied["stages"] = (*(config.search.stages if asked.stages is None else asked.stages), *last)
    if varied:
        config = msgspec.structs.replace(config, search=msgspec.structs.replace(config.search, **varied))
    return config if asked.bm25 is None else msgspec.structs.replace(config, bm25=asked.bm25)


def _worded(query: str, resolved: ResolvedSearch) -> str:
    if isinstance(query, DocumentQuery):
        return query  # its words are already chosen, and vectors alone may find it
    longest = resolved.settings.search.max_query_chars
    if len(query) > longest:
        raise QueryError(
            f"the query has {len(query)} characters, but at most {longest} are allowed (search.max_query_chars)"
        )
    text = resolved.text(query)
    if not has_words(text):
        raise QueryError(f"the query {query[:60]!r} contains no words to search for")
    return VectorQuery(text, query.vector) if isinstance(query, VectorQuery) else text
