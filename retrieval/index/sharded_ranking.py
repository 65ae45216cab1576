"""A ranking of a sharded index: every shard ranks its own with what the collection knows, and the lists are merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol

import numpy as np

from .. import retrievers
from ..collection_statistics import CollectionQuery, Vectors
from ..config import Config
from ..domain import Columns, DocumentQuery, Filter, Hit, VectorQuery
from ..encoder import Encoder
from ..index_state import AskShards, IndexState
from ..limit import Limit
from ..manifest import LUCENE, VECTORS, Manifest
from ..order import ordered
from ..retriever import Retriever
from ..vectors import unit_vector
from .collection_terms import CollectionTerms


class WholeIndex(Protocol):
    """What a ranking asks of the whole index."""

    manifest: Manifest
    collection: CollectionTerms

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder that made the vectors of a view."""
        ...

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        ...


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
        return [ordered(chain.from_iterable(of_shards))[:k] for of_shards in zip(*ranked, strict=True)]

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
        views = [view for view in self._views if view.startswith(VECTORS)]
        vectors = {view: self._vectors_of(queries, view) for view in views}
        by_query = [{view: vectors[view][at] for view in views} for at in range(len(queries))]
        if LUCENE in self._views:
            return [self._whole.collection.query(text, known) for text, known in zip(queries, by_query, strict=True)]
        return [CollectionQuery(text, None, known) for text, known in zip(queries, by_query, strict=True)]

    def _vectors_of(self, queries: Sequence[str], view: str) -> Vectors:
        """Return the vectors of queries, encoded here and once for all shards; those of documents are looked up."""
        texts = [query for query in queries if not isinstance(query, DocumentQuery | VectorQuery)]
        encoded = iter(self._whole.encoder_of(view).encode_query(texts) if texts else ())
        vectors = [self._known_vector(query, view, encoded) for query in queries]
        return np.stack(vectors) if vectors else np.empty((0, 0), dtype=np.float32)

    def _known_vector(self, query: str, view: str, encoded: Iterator[Vectors]) -> Vectors:
        if isinstance(query, DocumentQuery):
            return self._whole.document_vector(query.docid, view)
        if isinstance(query, VectorQuery):
            return unit_vector(query.vector, self._whole.encoder_of(view).dimension)
        return next(encoded)


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
