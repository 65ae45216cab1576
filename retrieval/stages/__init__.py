"""Stages, which reorder or thin a ranking after retrieval: one file each, loaded by its name.

``search.stages`` and requests name stages in the order in which they work, each as ``NAME`` or ``NAME=VALUE``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ..domain import Hit, Part
from ..errors import QueryError
from ..limit import Limit
from ..live.snapshot import Stored
from ..plugins import Plugins

Texts = Callable[[Sequence[Hit]], list[Stored]]
"""Read the passages of hits with their documents, in one go, in the order of the hits."""


class Stage(Protocol):
    """One step after retrieval."""

    def depth(self, k: int) -> int:
        """Return how many hits of what comes before it the stage wants, to leave ``k``."""
        ...

    def apply(
        self, queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Limit | None
    ) -> list[list[Hit]]:
        """Return the hits of each query in their new order, each with a part of the stage's own (:func:`with_part`)."""
        ...


class StageKind(Protocol):
    """The interface of a module of this package."""

    LABEL: str
    """Its name for people, a word or two."""
    HELP: str
    """What it does, in half a line."""

    def open(self, value: str) -> Stage:
        """Return the stage that ``NAME=VALUE`` asks for; ``""`` is its default.

        Raises QueryError if the value makes no sense.
        """
        ...


class Named(NamedTuple):
    """A stage with the name that its parts of hits carry."""

    name: str
    stage: Stage


KINDS: Plugins[StageKind] = Plugins(__name__, QueryError, "stage", "there are", hyphens=False)


def names() -> list[str]:
    """Name the stages, in alphabetical order."""
    return KINDS.names()


def opened(asked: Sequence[str]) -> list[Named]:
    """Return the stages that are asked for, in their order.

    Raises QueryError if there is none of a name, one is named twice, or its value makes no sense.
    """
    stages: dict[str, Named] = {}
    for text in asked:
        name, _, value = text.partition("=")
        kind = KINDS.load(name)
        if name in stages:
            raise QueryError(f"the stage {name} is named twice")
        stages[name] = Named(name, kind.open(value))
    return list(stages.values())


def with_part(hit: Hit, stage: str, rank: int, score: float) -> Hit:
    """Return a hit that says of a stage at which rank, from 1, and with which score it came to it."""
    return msgspec.structs.replace(hit, parts=(*hit.parts, Part(stage, rank, score)))


def applied(
    stages: Sequence[Named], queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Limit | None
) -> list[list[Hit]]:
    """Return the hits of each query after all stages."""
    ranked = list(map(list, hits))
    for _, stage in stages:
        ranked = stage.apply(queries, ranked, texts, limit)
    return ranked
