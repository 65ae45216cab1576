"""Hybrid retrieval: a fusion of any number of rankings of one query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit
from ...core.errors import QueryError
from ...core.languages import unknown_language, written_in
from ..config import Config, FusionSettings
from ..dense.vectors import Mask
from ..search.fusion import Ranking, fuse
from ..search.prepared_query import PreparedQuery
from ..search.score_normalizers import AUTO
from ..store.manifest import Manifest
from . import FusingKind, MissingComponent, Rankings, Retriever, kind, missing, voting_weights

if TYPE_CHECKING:
    from ..search.index_state import IndexState

FOREIGN_WORDS, FOREIGN_VECTORS = 0.8, 1.2
"""The weight factors for a query in another language than the index; docs/figures.md has the
measurements.
"""
_PLACE = "search.fusion.weights"


class HybridKind(FusingKind):
    """A fusion of the rankings that have a weight, by default of all that vote."""

    name = "hybrid"
    label = "Words and meaning"
    help = "both together"
    priority = 20
    blocking = True
    batches = True

    def lacks(self, name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
        for ranking in self.rankings(name, config):
            if lack := missing(ranking, manifest, config):
                return lack
        return None

    def views(self, name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
        views: dict[str, None] = {}
        for ranking in self.rankings(name, config):
            views |= dict.fromkeys(kind(ranking).views(ranking, manifest, config))
        return tuple(views)

    def rankings(self, name: str, config: Config) -> tuple[str, ...]:
        weights = config.search.fusion.weights
        if not weights or name in weights:
            raise QueryError(f"give rankings other than {name}, each with its weight", place=_PLACE)
        if not any(weights.values()):
            raise QueryError("all weights are 0: no ranking would count", place=_PLACE)
        for ranking in weights:
            try:
                kind(ranking)
            except QueryError as error:
                raise QueryError(error.what, place=_PLACE, remedy=error.remedy) from None
        return tuple(sorted(weights))

    def open(
        self, name: str, snapshot: IndexState, config: Config, *, group: bool
    ) -> HybridRetriever:
        return HybridRetriever(self.rankings(name, config), snapshot, config, group=group)

    def fusion_of(
        self, query: PreparedQuery, fusion: FusionSettings, language: str
    ) -> FusionSettings:
        return fusion_of(query, fusion, language)


def fusion_of(query: PreparedQuery, fusion: FusionSettings, language: str) -> FusionSettings:
    """Return the fusion settings for a query in an index in ``language``.

    ``auto`` means ``minmax`` if the query is in that language. For another language it means
    ``zscore``, which shows better how much a ranking's first hits exceed its other hits. Word
    rankings then weigh less than vector rankings.
    """
    if fusion.kind != AUTO:
        return fusion
    text = query.text
    own = written_in(text, language) and not unknown_language(text, (language,))
    if own or query.docid:
        return replace(fusion, kind="minmax")
    weights = {name: weight * _foreign_factor(name) for name, weight in fusion.weights.items()}
    return replace(fusion, kind="zscore", weights=weights)


def _foreign_factor(ranking: str) -> float:
    """Return the factor of a ranking's weight for a query in another language than the index."""
    if kind(ranking).weighs_words:
        return FOREIGN_WORDS
    return FOREIGN_VECTORS if kind(ranking).reads_meaning else 1.0


class HybridRetriever(Retriever):
    """Fuses the first ``depth`` hits of several rankings; a longer list continues with the
    rankings' other hits.
    """

    def __init__(
        self, names: Sequence[str], snapshot: IndexState, config: Config, *, group: bool
    ) -> None:
        self._open = cache(partial(snapshot.rankings, config=config))
        self._rankings: Rankings = self._open(tuple(names))
        self._manifest = snapshot.manifest
        self._config = config
        self._group = group

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        settings = self._config.search.fusion
        hits: list[list[Hit]] = [[] for _ in queries]
        for weights, places in self._queries_by_weights(queries):
            asked = [queries[at] for at in places]
            rankings = self._open(tuple(sorted(weights)))
            ranked = rankings.search(asked, max(k, settings.depth), where, limit)
            # Use the order of the names, not the order in which the rankings were ready.
            names = [name for name in rankings.names if name in ranked]
            counted = replace(settings, weights=weights)
            for number, at in enumerate(places):
                fusion = fusion_of(queries[at], counted, self._manifest.language)
                named = [
                    Ranking(name, fusion.weights[name], ranked[name][number]) for name in names
                ]
                hits[at] = fuse(named, fusion, k, group=self._group)
        return hits

    def _queries_by_weights(
        self, queries: Sequence[PreparedQuery]
    ) -> list[tuple[dict[str, float], list[int]]]:
        """Return the places of queries that the same rankings answer, with the weights of these."""
        groups: dict[tuple[str, ...], tuple[dict[str, float], list[int]]] = {}
        for at, query in enumerate(queries):
            weights = voting_weights(
                query, self._config.search.fusion.weights, self._manifest, self._config
            )
            groups.setdefault(tuple(weights), (weights, []))[1].append(at)
        return list(groups.values())

    def matching(self, query: PreparedQuery) -> Mask | None:
        return self._rankings.matching(query)


KIND = HybridKind()
