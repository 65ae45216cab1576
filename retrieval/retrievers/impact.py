"""Learned sparse retrieval: sums of the impacts of a query's terms in the passages, over all live
segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit
from ..config import Config
from ..dense.vectors import Mask
from ..search.cut import top_k
from ..search.prepared_query import PreparedQuery
from ..sparse.impacts import ImpactIndex, SparseVector, best_rows
from ..store.manifest import IMPACTS, Manifest
from . import MissingComponent, Retriever, RetrieverKind

if TYPE_CHECKING:
    from ..search.snapshot import Snapshot


class ImpactKind(RetrieverKind):
    """Sums of impacts: ``impact`` for the first sparse model of an index, ``impact:NAME`` for each
    further one.

    A fusion has it only where a weight names it: with the one model that a package carries, no
    fusion of three rankings was better on every collection than that of two.
    """

    name = "impact"
    label = "Weighed terms"
    help = "the terms that a model expects"
    blocking = True

    def names(self, manifest: Manifest) -> tuple[str, ...]:
        names = [f"impact{view.removeprefix(IMPACTS)}" for view in manifest.impact_views]
        return tuple(names) or ("impact",)

    def views(self, name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
        return (impact_view(name),)

    def lacks(self, name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
        view = impact_view(name)
        if view in manifest.views:
            return None
        return MissingComponent(
            f"has no {view}",
            f"name a sparse model as impact.model, and add it with factseek compact --add {view}",
        )

    def open(
        self, name: str, snapshot: Snapshot, config: Config, *, group: bool
    ) -> ImpactRetriever:
        return ImpactRetriever(name, snapshot, group=group)


def impact_view(name: str) -> str:
    """Return the view that a retriever reads: ``impact:NAME`` reads ``impacts:NAME``."""
    return f"{IMPACTS}{name.removeprefix('impact')}"


class ImpactRetriever(Retriever):
    """Ranks by the sum of the impacts of a query's terms; with ``group``, it ranks each document by
    its best passage.

    It is safe for threads.
    """

    def __init__(self, name: str, snapshot: Snapshot, *, group: bool) -> None:
        self._name, self._view = name, impact_view(name)
        self._impacts: ImpactIndex = snapshot.view(self._view)
        self._weigh = partial(snapshot.weigh_terms, self._view)
        self._rows, self._mask = snapshot.rows, snapshot.mask
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
        keep = self._mask(where)
        return [self._best(query, k, keep) for query in queries]

    def matching(self, query: PreparedQuery) -> Mask:
        matching: Mask = self._scores(query) > 0
        return matching

    def _best(self, query: PreparedQuery, k: int, keep: Mask | None) -> list[Hit]:
        scores = self._scores(query)
        if keep is not None:
            scores = np.where(keep, scores, np.float32(0))

        def fetch(n: int) -> tuple[list[float], list[int]]:
            best = best_rows(scores, n)
            return best.scores.tolist(), best.rows.tolist()

        return top_k(fetch, k, self._rows, group=self._group)

    def _scores(self, query: PreparedQuery) -> NDArray[np.float32]:
        weighed: SparseVector | None = query.weighed_terms.get(self._view)
        return self._impacts.scores(self._weigh(query.text) if weighed is None else weighed)


KIND = ImpactKind()
