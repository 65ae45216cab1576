"""Stages, which reorder or thin a ranking after retrieval: one file each, loaded by its name.

``search.stages`` and requests name stages in the order in which they work, each as ``NAME`` or ``NAME=VALUE``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from ..caching import OpenedOnce
from ..config import Config
from ..deadline import Deadline
from ..domain import Filter, Hit, Part
from ..encoders.cross_encoder import open_cross_encoder
from ..errors import QueryError
from ..lucene.analysis import TermCache
from ..plugins import Plugins
from ..search.evidence import Copies
from ..search.index_state import IndexState
from ..search.order import float32, ordered, scores_below
from ..search.retriever import ReRanker
from ..store.documents import Stored
from ..store.manifest import Manifest

Texts = Callable[[Sequence[Hit]], list[Stored]]
"""Read the passages of hits with their documents, in one go, in the order of the hits."""


Kept = TypeVar("Kept")


class StageContext:
    """What a stage may use of its index: settings, manifest, the analyzer's terms, and what it keeps there.

    What is kept (a model, say) is opened once for all searches of the index and closed with it.
    """

    def __init__(self, settings: Config, manifest: Manifest, terms: Callable[[], TermCache]) -> None:
        self.settings = settings
        self.manifest = manifest
        self.terms = terms
        self._kept = OpenedOnce()

    def keep(self, name: str, opened: Callable[[], Kept]) -> Kept:
        """Return what is kept under a name, and open it first if nothing is."""
        return self._kept.get(name, opened)

    def re_ranker(self) -> ReRanker:
        """Return the configured model that reads query and passage together; it is opened once.

        Raises QueryError if none is configured, MachineError if it is not on this machine or cannot be exported.
        """
        self.check_re_ranker()
        return self.keep("re-ranker", partial(open_cross_encoder, self.settings.rerank))

    def check_re_ranker(self) -> None:
        """Raise QueryError if no model is configured that reads query and passage together."""
        if not self.settings.rerank.model:
            raise QueryError(
                "rerank needs a model",
                remedy="set rerank.model to a CrossEncoder of sentence-transformers on this machine",
            )

    def close(self) -> None:
        """Let go of what was kept."""
        self._kept.let_go()


class Stage(Protocol):
    """One step after retrieval. The first hits that it leaves are the same however many are asked for."""

    @property
    def window(self) -> int | None:
        """How many hits a stage that reorders looks at, whatever ``k``: what comes after them stays behind them.

        None is for a stage that only thins: what becomes of a hit depends on the hits before it alone.
        """
        ...

    def depth(self, k: int) -> int:
        """Return how many hits the stage wants to be handed, so that ``k`` are left."""
        ...

    def apply(
        self, queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Deadline | None
    ) -> list[list[Hit]]:
        """Return the hits of each query in their new order, each with a part of the stage's own (:func:`with_part`)."""
        ...


@runtime_checkable
class OverIndex(Protocol):
    """A stage that reads more of an index than the passages of hits."""

    def over(self, state: IndexState, where: Filter | None) -> Stage:
        """Return the stage over an index, under the filter of the search.

        Raises IndexStateError if what it reads cannot be read.
        """
        ...


@runtime_checkable
class TellsCopies(Protocol):
    """A stage that folds hits under others."""

    def copies(self, hits: Sequence[Hit]) -> list[Copies]:
        """Return of each hit that stayed what is folded under it."""
        ...


class StageKind(Protocol):
    """The interface of a module of this package.

    One that reads views of an index names them in ``VIEWS``, each with what to say where an index has it not. One that
    ranks anew, by evidence that the retrievers did not have, says ``RANKS = True``; ``tune`` tries it.
    """

    LABEL: str
    """Its name for people, a word or two."""
    HELP: str
    """Half a line on what it does."""

    def open(self, value: str, context: StageContext) -> Stage:
        """Return the stage that ``NAME=VALUE`` asks for; ``""`` is its default. A model is opened by the first search.

        Raises QueryError if the value makes no sense, or the settings lack what the stage needs.
        """
        ...


class Named(NamedTuple):
    """A stage with the name that its parts of hits carry."""

    name: str
    stage: Stage


KINDS: Plugins[StageKind] = Plugins(__name__, QueryError, "stage", "there are", hyphens=False)


def names() -> list[str]:
    """Return the names of the stages, in alphabetical order."""
    return KINDS.names()


def ranking() -> list[str]:
    """Return the names of the stages that rank anew, in alphabetical order."""
    return [name for name in names() if getattr(KINDS.load(name), "RANKS", False)]


def opened(asked: Sequence[str], context: StageContext) -> list[Named]:
    """Return the stages that are asked for, in their order.

    Raises QueryError if there is none of a name, one is named twice, it cannot be opened with its value, or the index
    lacks a view that it reads.
    """
    stages: dict[str, Named] = {}
    for text in asked:
        name, _, value = text.partition("=")
        kind = KINDS.load(name)
        if name in stages:
            raise QueryError(f"the stage {name} is named twice")
        stages[name] = Named(name, kind.open(value, context))
        lacking: Mapping[str, str] = getattr(kind, "VIEWS", {})
        for view in lacking.keys() - context.manifest.views.keys():
            raise QueryError(f"this index cannot answer {name}: {lacking[view]}")
    return list(stages.values())


def opened_over(asked: Sequence[str], state: IndexState, where: Filter | None, context: StageContext) -> list[Named]:
    """Return the stages that are asked for, in their order, each over an index and under the filter of a search.

    Raises what :func:`opened` raises, and IndexStateError if a view cannot be read.
    """
    return [
        Named(name, stage.over(state, where) if isinstance(stage, OverIndex) else stage)
        for name, stage in opened(asked, context)
    ]


def copies_of(stages: Sequence[Named], hits: Sequence[Hit]) -> list[Copies] | None:
    """Return what is folded under each hit; None if no stage folds."""
    folding = (stage for _, stage in stages if isinstance(stage, TellsCopies))
    return next((stage.copies(hits) for stage in folding), None)


def with_part(hit: Hit, stage: str, rank: int, score: float) -> Hit:
    """Return a hit with a part of a stage: the rank, from 1, and the score with which it came to that stage."""
    return msgspec.structs.replace(hit, parts=(*hit.parts, Part(stage, rank, score)))


def rescored(stage: str, hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return hits in the total order of the new scores of the first of them; each says from where to where it went.

    Hits past the scores keep their places below, with scores that say nothing but that.
    """
    scored = [
        msgspec.structs.replace(_moved(hit, stage, rank, score), score=score)
        for rank, (hit, score) in enumerate(zip(hits, float32(scores), strict=False), 1)
    ]
    ranked = ordered(scored)
    rest = hits[len(ranked) :]
    below = scores_below(ranked[-1].score, len(rest)) if ranked else [hit.score for hit in rest]
    for rank, (hit, score) in enumerate(zip(rest, below, strict=True), len(ranked) + 1):
        ranked.append(msgspec.structs.replace(with_part(hit, stage, rank, hit.score), score=score))
    return ranked


def _moved(hit: Hit, stage: str, rank: int, score: float) -> Hit:
    return msgspec.structs.replace(hit, parts=(*hit.parts, Part(stage, rank, hit.score, score)))


class Applied(NamedTuple):
    """The hits of a query after all stages; ``short`` says that a stage saw fewer of them than its window."""

    hits: list[Hit]
    short: bool = False


def depth_of(stages: Sequence[Named], k: int) -> int:
    """Return how many hits stages together want to begin with, to leave ``k``."""
    for _, stage in reversed(stages):
        k = max(stage.depth(k), stage.window or 0)
    return k


def applied(
    stages: Sequence[Named], queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Deadline | None
) -> list[Applied]:
    """Return the hits of each query after all stages.

    What follows the window of a stage follows what the stage left, in its order and with lower scores.
    """
    ranked = [Applied(list(of_query)) for of_query in hits]
    for name, stage in stages:
        window = stage.window
        changed = stage.apply(queries, [of_query.hits[:window] for of_query in ranked], texts, limit)
        ranked = [_joined(new, before, name, window) for new, before in zip(changed, ranked, strict=True)]
    return ranked


def _joined(changed: list[Hit], before: Applied, stage: str, window: int | None) -> Applied:
    """Return what a stage left of its window, and what followed the window."""
    if window is None:
        return Applied(changed, before.short)
    rest = before.hits[window:]
    scores = scores_below(min((hit.score for hit in changed), default=0.0), len(rest))
    placed = enumerate(zip(rest, scores, strict=True), window + 1)
    after = [
        msgspec.structs.replace(with_part(hit, stage, rank, hit.score), score=score) for rank, (hit, score) in placed
    ]
    return Applied(changed + after, before.short or len(before.hits) < window)
