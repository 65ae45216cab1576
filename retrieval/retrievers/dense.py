"""Dense retrieval: inner products of unit vectors over all live segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit
from ..config import Config
from ..dense.vectors import VectorIndex, Vectors, query_vector
from ..search.cut import first_fetch, top_k
from ..search.prepared_query import PreparedQuery
from ..store.manifest import VECTORS, Manifest
from . import MissingComponent, Retriever, RetrieverKind

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..search.snapshot import Snapshot


class DenseKind(RetrieverKind):
    """Similarities of vectors: ``dense`` for the first encoder of an index, ``dense:NAME`` for each
    further one.
    """

    name = "dense"
    label = "Meaning"
    help = "the same meaning"
    reads_meaning = True
    default_weight = 0.5
    priority = 0
    blocking = True
    batches = True

    def names(self, manifest: Manifest) -> tuple[str, ...]:
        names = [f"dense{view.removeprefix(VECTORS)}" for view in sorted(manifest.encoders)]
        return tuple(names) or ("dense",)

    def views(self, name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
        return (_view(name),)

    def lacks(self, name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
        view = _view(name)
        if not manifest.encoders:
            return MissingComponent(
                "was built without vectors", "add them with factseek compact --add vectors"
            )
        if view not in manifest.views:
            return MissingComponent(
                f"has no {view}",
                f"add it with factseek compact --add {view} --vectors FILE, or rebuild it with "
                "--encoder given twice",
            )
        return None

    def open(self, name: str, snapshot: Snapshot, config: Config, *, group: bool) -> DenseRetriever:
        return DenseRetriever(name, snapshot, group=group)


def _view(name: str) -> str:
    """Return the view that a retriever reads: ``dense:NAME`` reads ``vectors:NAME``."""
    return f"{VECTORS}{name.removeprefix('dense')}"


class DenseRetriever(Retriever):
    """Ranks by the cosine of query and passage; with ``group``, it ranks each document by its best
    passage.

    It is safe for threads.
    """

    def __init__(self, name: str, snapshot: Snapshot, *, group: bool) -> None:
        self._name, self._view = name, _view(name)
        self._encoder = cache(partial(snapshot.encoder_of, self._view))
        self._vectors: VectorIndex = snapshot.view(self._view)
        self._rows, self._mask = snapshot.rows, snapshot.mask
        self._document_vector = partial(snapshot.document_vector, view=self._view)
        self._group = group

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        if limit is not None:
            return limit.wait(self._name, limit.beside.submit(self.search, queries, k, where))
        if not queries:
            return []
        keep = self._mask(where)
        encoded = [query.vectors[self._view] for query in queries if query.vectors]
        vectors = (
            np.stack(encoded)
            if encoded
            else query_vectors(queries, self._view, self._encoder, self._document_vector)
        )
        # One scan for all queries costs half as much per query as one scan for each.
        wanted = first_fetch(k, self._rows, group=self._group)
        first = self._vectors.search(vectors, wanted, keep)

        def fetch(at: int, n: int) -> tuple[list[float], list[int]]:
            nearest = (
                first[at] if n == wanted else self._vectors.search(vectors[at : at + 1], n, keep)[0]
            )
            return nearest.scores.tolist(), nearest.rows.tolist()

        return [
            top_k(partial(fetch, at), k, self._rows, group=self._group)
            for at in range(len(queries))
        ]


def query_vectors(
    queries: Sequence[PreparedQuery],
    view: str,
    encoder: Callable[[], Encoder],
    document_vector: Callable[[str], Vectors],
) -> Vectors:
    """Return the vectors of queries in a view, shape (queries, dimension): texts are encoded
    together, documents looked up.
    """
    texts = [query.text for query in queries if not query.has_vector_for(view)]
    encoded = encoder().encode_query(texts) if texts else ()
    if len(encoded) == len(queries):
        return np.asarray(encoded)
    following, vectors = iter(encoded), []
    for query in queries:
        if query.vector is not None and query.vector_view in ("", view):
            vectors.append(
                query_vector(query.vector, encoder().dimension, encoder().info.similarity)
            )
        elif query.docid:
            vectors.append(document_vector(query.docid))
        else:
            vectors.append(next(following))
    return np.stack(vectors)


KIND = DenseKind()
