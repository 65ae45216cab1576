"""Stages, which reorder or shorten a ranking after retrieval: one file each, loaded by name.

``search.stages`` and requests name stages in the order of their use, each as ``NAME`` or
``NAME=VALUE``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ...core.caching import OpenedOnce
from ...core.deadline import CutOffError, Deadline, Memory
from ...core.domain import Filter, Hit, Part
from ...core.errors import QueryError
from ...core.order import float32, scores_below, sort_hits
from ...core.plugins import Plugins
from ..config import Config
from ..retrievers import Retriever
from ..search.index_state import IndexState
from ..search.options import ResolvedSearch
from ..search.prepared_query import PreparedQuery
from ..store.documents import Stored

if TYPE_CHECKING:
    from ..search.evidence import Copies

Texts = Callable[[Sequence[Hit]], list[Stored]]
"""A function that reads the passages of hits with their documents, all together, in the order of
the hits.

A stage that needs only the date or the source of documents reads no texts: it asks
``document_values`` of the state of its context.
"""


@dataclass(frozen=True, slots=True)
class StageContext:
    """The settings and state of an index, the filter of a search, and objects that stay open with
    the index.
    """

    settings: Config
    state: IndexState
    where: Filter | None = None
    opened: OpenedOnce = field(default_factory=OpenedOnce)


class Stage(Protocol):
    """One step after retrieval. Its first hits are the same for any number of requested hits.

    A stage that groups near-duplicates under the hit that it keeps also has ``copies(hits)``, which
    returns :class:`Copies` for each remaining hit.
    """

    @property
    def window(self) -> int | None:
        """The number of hits that the stage reorders, for any ``k``; None if it only leaves out
        hits.
        """

    def depth(self, k: int) -> int:
        """Return the number of hits that the stage needs so that ``k`` remain."""

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        """Return the hits of each query in their new order, each with its old rank and score
        (:func:`with_part`).

        The scores must fall from hit to hit, because a run is sorted by score; :func:`rescore_hits`
        gives new scores.
        """


class StageKind(Protocol):
    """The interface of a module of this package.

    A stage that reads views of an index names them in ``VIEWS``, each with a message for an index
    without that view. A stage that computes its own relevance scores has ``RANKS = True``; ``tune``
    tries it. Settings of its own are in the class ``SETTINGS``.
    """

    LABEL: str  # its name for people, in a word or two
    # What it does, then ": " and the form of the option; the page shows the part before the last ":
    # "
    HELP: str

    def open(self, value: str, context: StageContext) -> Stage:
        """Return the stage of ``NAME=VALUE``; ``""`` is the default value.

        Raises QueryError if it cannot be used.
        """


KINDS: Plugins[StageKind] = Plugins(__name__, QueryError, "stage", "the stages are", joint="_")


names = KINDS.names


def ranking() -> list[str]:
    """Return the names of the stages that compute their own relevance scores, in alphabetical
    order.
    """
    return [name for name in names() if getattr(KINDS.load(name), "RANKS", False)]


def open_stages(texts: Sequence[str], context: StageContext) -> dict[str, Stage]:
    """Return the stages that ``texts`` name, in this order, by name.

    Raises QueryError if one cannot be used.
    """
    stages: dict[str, Stage] = {}
    for text in texts:
        name, _, value = text.partition("=")
        kind = KINDS.load(name)
        if name in stages:
            raise QueryError(f"the stage {name} is given twice")
        stages[name] = kind.open(value, context)
        lacking: Mapping[str, str] = getattr(kind, "VIEWS", {})
        for view in lacking.keys() - context.state.manifest.views.keys():
            raise QueryError(f"this index does not support the stage {name}: {lacking[view]}")
    return stages


def copies_of(stages: Mapping[str, Stage], hits: Sequence[Hit]) -> list[Copies] | None:
    """Return the near-duplicates grouped under each hit; None if no stage groups hits."""
    return next((stage.copies(hits) for stage in stages.values() if hasattr(stage, "copies")), None)


def with_part(hit: Hit, stage: str, rank: int, score: float, gave: float = 0.0) -> Hit:
    """Return a hit with a part of a stage: its rank (from 1) and score before the stage, and the
    stage's own score.
    """
    return replace(hit, parts=(*hit.parts, Part(stage, rank, score, gave)))


def _placed_below(
    hits: Sequence[Hit], stage: str, before: int, scores: Sequence[float]
) -> list[Hit]:
    ranks = enumerate(zip(hits, scores, strict=True), before + 1)
    return [
        replace(with_part(hit, stage, rank, hit.score), score=score) for rank, (hit, score) in ranks
    ]


def rescore_hits(stage: str, hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return hits in the total order of new scores, each with its old rank and score; unscored hits
    come last.
    """
    ranks = enumerate(zip(hits, float32(scores), strict=False), 1)
    ranked = sort_hits(
        replace(with_part(hit, stage, rank, hit.score, score), score=score)
        for rank, (hit, score) in ranks
    )
    rest = hits[len(ranked) :]
    below = scores_below(ranked[-1].score, len(rest)) if ranked else [hit.score for hit in rest]
    return ranked + _placed_below(rest, stage, len(ranked), below)


def read_texts(
    state: IndexState, hits: Sequence[Hit], spend: Callable[[int], object]
) -> list[Stored]:
    """Return the passages of hits, in their order; ``spend`` receives the size of each document as
    it is read.
    """
    places = ((hit.docid, hit.passage) for hit in hits)
    stored = state.read_passages(places, lambda document, _: spend(sys.getsizeof(document.text)))
    return [stored[hit.docid, hit.passage] for hit in hits]


def search(
    retriever: Retriever,
    staged: Mapping[str, Stage],
    resolved: ResolvedSearch,
    state: IndexState,
    *,
    queries: Sequence[PreparedQuery],
    k: int,
    where: Filter | None,
    limit: Deadline | None,
) -> list[list[Hit]]:
    """Return the first ``k`` hits of each query after the stages.

    Raises CutOffError if nothing was found in time.
    """
    most, first = resolved.settings.search.max_k, k
    for stage in reversed(list(staged.values())):
        first = max(stage.depth(first), stage.window or 0)
    first = min(first, most)

    def after_stages(
        searched: Sequence[PreparedQuery], ranked: Sequence[Sequence[Hit]]
    ) -> tuple[list[list[Hit]], list[bool]]:
        """Return the hits of each query, and whether a stage received fewer of them than its
        window.
        """
        memory, sizes = limit.memory if limit else Memory(), list[int]()

        def spend(size: int) -> None:
            memory.spend(size)
            sizes.append(size)

        texts = [query.text for query in searched]
        read, short = partial(read_texts, state, spend=spend), [False] * len(ranked)
        left = [
            [
                hit if hit.parts else with_part(hit, resolved.retriever, rank, hit.score, hit.score)
                for rank, hit in enumerate(hits, 1)
            ]
            for hits in ranked
        ]
        try:
            for name, stage in staged.items():
                window, before = stage.window, left
                left = stage.apply(texts, [hits[:window] for hits in before], read, limit)
                if window is not None:
                    for at, (changed, hits) in enumerate(zip(left, before, strict=True)):
                        rest = hits[window:]
                        scores = scores_below(
                            min((hit.score for hit in changed), default=0.0), len(rest)
                        )
                        left[at] = changed + _placed_below(rest, name, window, scores)
                        short[at] |= len(hits) < window
        finally:
            memory.give_back(sum(sizes))
        return left, short

    ranked = retriever.search(queries, first, where, limit)
    left, short = after_stages(queries, ranked)
    for at, query in enumerate(queries):
        depth, hits = first, ranked[at]
        while (len(left[at]) < k or short[at]) and len(hits) == depth < most:
            depth = min(2 * depth, most)
            try:
                (hits,) = retriever.search([query], depth, where, limit)
            except CutOffError:
                break  # the hits so far are an answer; the limit records what is missing
            (left[at],), (short[at],) = after_stages([query], [hits])
    return [hits[:k] for hits in left]
