"""Queries that carry what a collection knows of them, for shards that know their own passages alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from ..collection_statistics import CollectionQuery, Vectors
from ..domain import DocumentQuery, VectorQuery
from ..encoder import Encoder
from ..manifest import Manifest
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


def collection_queries(whole: WholeIndex, queries: Sequence[str], *, words: bool) -> list[CollectionQuery]:
    """Return queries with, where ``words`` are ranked by, the statistics of their terms; none has vectors yet."""
    if words:
        return [whole.collection.query(query, {}) for query in queries]
    return [CollectionQuery(query, None, {}) for query in queries]


def with_vectors(queries: Sequence[CollectionQuery], vectors: Mapping[str, Vectors]) -> list[CollectionQuery]:
    """Return queries with their vectors by view, of which each row is that of the query at its place."""
    return [
        CollectionQuery(query, query.statistics, {view: of_view[at] for view, of_view in vectors.items()})
        for at, query in enumerate(queries)
    ]


def query_vectors(whole: WholeIndex, queries: Sequence[str], views: Sequence[str]) -> dict[str, Vectors]:
    """Return the vectors of queries by view, encoded once for all shards; those of documents are looked up."""
    return {view: _vectors(whole, queries, view) for view in views}


def _vectors(whole: WholeIndex, queries: Sequence[str], view: str) -> Vectors:
    texts = [query for query in queries if not isinstance(query, DocumentQuery | VectorQuery)]
    encoded = iter(whole.encoder_of(view).encode_query(texts) if texts else ())
    vectors = [_vector(whole, query, view, encoded) for query in queries]
    return np.stack(vectors) if vectors else np.empty((0, 0), dtype=np.float32)


def _vector(whole: WholeIndex, query: str, view: str, encoded: Iterator[Vectors]) -> Vectors:
    if isinstance(query, DocumentQuery):
        return whole.document_vector(query.docid, view)
    if isinstance(query, VectorQuery):
        return unit_vector(query.vector, whole.encoder_of(view).dimension)
    return next(encoded)
