"""A ranking of a sharded index: every shard ranks its own with what the collection knows, and the lists are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

from .. import retrievers
from ..collection_statistics import CollectionQuery
from ..config import Config
from ..domain import Columns, Filter, Hit
from ..index_state import AskShards, IndexState
from ..limit import CutOffError, Limit
from ..manifest import LUCENE, VECTORS
from ..order import ordered
from ..retriever import Ranked, Retriever
from ..vectors import Mask
from .collection_queries import WholeIndex, collection_queries, query_vectors, with_vectors


class ShardedRanking(Retriever):
    """Ranks the passages of all shards; a shard's hits have the scores that one index of all would give them."""

    def __init__(self, name: str, config: Config, whole: WholeIndex, ask: AskShards) -> None:
        """Rank by the retriever of a name; ``whole`` knows the collection, ``ask`` asks every shard."""
        self._name = name
        self._config = config
        self._whole = whole
        self._ask = ask
        self._views = retrievers.kind(name).views(name, whole.manifest, config)

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order.

        Raises CutOffError if a shard takes longer than the limit.
        """
        asked = self._informed(queries)
        ranked = self._ask(lambda state: self._of(state).search(asked, k, where, limit))
        return _joined(ranked, k)

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        if not self._config.search.group:
            return list(map(_documents, self.search(queries, k, where, limit)))
        asked = self._informed(queries)
        ranked = self._ask(lambda state: self._of(state).columns(asked, k, where, limit))
        return [_merged(of_shards, k) for of_shards in zip(*ranked, strict=True)]

    def _of(self, state: IndexState) -> Retriever:
        return state.ranking(self._name, self._config)

    def _informed(self, queries: Sequence[str]) -> list[CollectionQuery]:
        """Return queries with what the collection knows of them, as far as the ranking reads it."""
        vectors = query_vectors(self._whole, queries, _of_vectors(self._views))
        return with_vectors(collection_queries(self._whole, queries, words=LUCENE in self._views), vectors)


class ShardedRankings:
    """Several rankings of the passages of all shards; each shard is asked once for all of them."""

    def __init__(self, names: Sequence[str], config: Config, whole: WholeIndex, ask: AskShards) -> None:
        """Rank by the retrievers of these names; ``whole`` knows the collection, ``ask`` asks every shard."""
        self.names: Sequence[str] = tuple(names)
        self._config = config
        self._whole = whole
        self._ask = ask
        self._views = {name: retrievers.kind(name).views(name, whole.manifest, config) for name in names}

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None) -> Ranked:
        """Return at most ``k`` hits a query of each ranking, in the total order; those cut off are left out.

        Raises CutOffError if none is ready within the limit.
        """
        names, asked = self._informed(queries, limit)
        of_shards = self._ask(lambda state: state.rankings(names, self._config).search(asked, k, where, limit))
        # What a shard had no time for is whole nowhere.
        whole = [name for name in names if all(name in ranked for ranked in of_shards)]
        if not whole:
            raise CutOffError("all rankings took longer than the search may")
        return {name: _joined([ranked[name] for ranked in of_shards], k) for name in whole}

    def matching(self, query: str) -> Mask | None:
        """Return None: the passages of shards that can be found are counted where they lie."""
        return None

    def _informed(self, queries: Sequence[str], limit: Limit | None) -> tuple[list[str], list[CollectionQuery]]:
        """Return the rankings that there is time for, and queries with what the collection knows of them.

        Under a limit they are encoded beside the rest. Raises CutOffError if no ranking is left when that is late.
        """
        views = _of_vectors(chain.from_iterable(self._views.values()))
        by_vectors = [name for name in self.names if _of_vectors(self._views[name])]
        words = any(LUCENE in of_name for of_name in self._views.values())
        encode = partial(query_vectors, self._whole, queries, views)
        if limit is None or not views:
            return list(self.names), with_vectors(collection_queries(self._whole, queries, words=words), encode())
        pending = limit.begin(by_vectors[0], encode)
        try:
            asked = collection_queries(self._whole, queries, words=words)
            return list(self.names), with_vectors(asked, pending.result())
        except CutOffError:
            for name in by_vectors:
                limit.cut_off(name)
            left = [name for name in self.names if name not in by_vectors]
            if not left:
                raise
            return left, asked
        finally:
            pending.cancel()


def _of_vectors(views: Iterable[str]) -> list[str]:
    """Return those views that hold vectors, each once."""
    return [view for view in dict.fromkeys(views) if view.startswith(VECTORS)]


def _joined(of_shards: Sequence[Sequence[Sequence[Hit]]], k: int) -> list[list[Hit]]:
    """Return of each query the first ``k`` hits of all shards in the total order."""
    return [ordered(chain.from_iterable(of_query))[:k] for of_query in zip(*of_shards, strict=True)]


def _documents(hits: Sequence[Hit]) -> Columns:
    """Return the documents of hits in their order, each once, with the score of its first passage."""
    first: dict[str, float] = {}
    for hit in hits:
        first.setdefault(hit.docid, hit.score)
    return Columns(list(first), list(first.values()))


def _merged(parts: Sequence[Columns], k: int) -> Columns:
    """Return the first ``k`` documents of all shards in the total order; each document is of one shard."""
    documents = sorted(chain.from_iterable(zip(part.scores, part.docids, strict=True) for part in parts), reverse=True)[
        :k
    ]
    return Columns([docid for _, docid in documents], [score for score, _ in documents])
