"""A learned combination of rankings: boosted trees, weights, or both, over the features of :mod:`.combining`.

``factseek train combiner`` learns it and writes it as one safe file; the stage ``combine`` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from . import judged_queries, model_file, trees
from .combining import names
from .domain import Hit
from .errors import SourceError
from .judged_queries import JudgedQueries
from .model_file import State
from .model_state import array, number, restored_from

TASK = "combine"
_SPREADS = ("spread of the weights", "spread of the trees")


class CombinerModel(Protocol):
    """A model that scores hits by their features."""

    KIND: ClassVar[str]

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of ``features``, shape (rows, features); no score depends on another row."""
        ...

    def state(self) -> State:
        """Return all that the model is made of."""
        ...


class JudgedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of queries or judgements that was learned from: its name and checksum."""

    name: str
    sha256: str


class CombinerManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a combination and of its training.

    ``model`` is its kind. ``rankings`` are those whose ranks and scores it weighs, of the first ``depth`` hits of
    ``retriever``, fused as ``fusion`` says. ``index`` is the id of the manifest of the index that it learned with.
    ``remembers`` says whether it weighs what it remembers of judged queries. ``figures`` are cross-validated.
    """

    task: str = TASK
    model: str
    retriever: str
    rankings: tuple[str, ...]
    features: tuple[str, ...]
    depth: int
    fusion: dict[str, Any]
    language: str
    encoder: str
    index: str
    sources: tuple[JudgedFile, ...]
    settings: dict[str, Any]
    versions: dict[str, str]
    remembers: bool = False
    figures: dict[str, Any] = {}


class WeightedSum:
    """A weight for every feature; features are first shifted by ``centre`` and divided by ``scale``."""

    KIND: ClassVar[str] = "linear"

    def __init__(self, centre: NDArray[np.float64], scale: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        self.centre = centre
        self.scale = scale
        self.weights = weights

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of ``features``, shape (rows, features); no score depends on another row."""
        standard = (features - self.centre) / self.scale
        # Without BLAS, whose sums depend on how many rows there are.
        scores: NDArray[np.float64] = np.einsum("ij,j->i", standard, self.weights, optimize=False)
        return scores

    def state(self) -> State:
        """Return the arrays."""
        return State({}, {"centre": self.centre, "scale": self.scale, "weights": self.weights})


class Boosted:
    """Gradient-boosted trees: a score is the sum of the leaves that a row comes to."""

    KIND: ClassVar[str] = "trees"

    def __init__(self, grown: trees.Trees) -> None:
        self.trees = grown

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of ``features``, shape (rows, features)."""
        scores: NDArray[np.float64] = self.trees.leaves(features).sum(axis=1)
        return scores

    def state(self) -> State:
        """Return the arrays."""
        return self.trees.state()


class Averaged:
    """Weights and trees together: a score is the sum of both, each divided by its spread, so that both count alike."""

    KIND: ClassVar[str] = "both"

    def __init__(self, weights: CombinerModel, grown: CombinerModel, spreads: tuple[float, float]) -> None:
        self.weights = weights
        self.trees = grown
        self.spreads = spreads

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of ``features``, shape (rows, features); no score depends on another row."""
        of_weights, of_trees = self.spreads
        return self.weights.score(features) / of_weights + self.trees.score(features) / of_trees

    def state(self) -> State:
        """Return the spreads, and the arrays of both."""
        settings = dict(zip(_SPREADS, self.spreads, strict=True))
        return State(settings, self.weights.state().tensors | self.trees.state().tensors)


class Combiner(NamedTuple):
    """A learned combination with what it is and where it comes from, and the judged queries that it remembers."""

    model: CombinerModel
    manifest: CombinerManifest
    remembered: JudgedQueries | None = None

    def score(self, features: NDArray[np.float64], terms: frozenset[str], hits: Sequence[Hit]) -> NDArray[np.float64]:
        """Return the scores of the hits of a query of these terms; ``features`` are those of :mod:`.combining`."""
        if self.remembered is None:
            return self.model.score(features)
        alike = self.remembered.features(terms, [hit.docid for hit in hits])
        return self.model.score(np.concatenate([features, alike], axis=1))


def columns(rankings: Sequence[str], *, remembers: bool) -> tuple[str, ...]:
    """Return the names of the features that a combination weighs."""
    return (*names(rankings), *(judged_queries.NAMES if remembers else ()))


def save(path: Path, combiner: Combiner) -> None:
    """Write a combination into one file.

    Raises MachineError if there is no room or no right to write.
    """
    settings, tensors = combiner.model.state()
    if combiner.remembered is not None:
        queries = combiner.remembered.state()
        settings, tensors = settings | queries.settings, tensors | queries.tensors
    model_file.save(path, combiner.manifest, State(settings, tensors))


def load(path: Path) -> Combiner:
    """Read a combination that was saved.

    Raises SourceError if the file is none, or was made by another version of factseek.
    """
    manifest, state = model_file.load(path, CombinerManifest)
    if manifest.task != TASK:
        raise SourceError(f"is a model for {manifest.task}, not of the kind that is needed here", place=path)
    with restored_from(path):
        if manifest.features != columns(manifest.rankings, remembers=manifest.remembers) or manifest.depth < 1:
            raise ValueError("its features are others")
        remembered = judged_queries.restored(state) if manifest.remembers else None
        return Combiner(_restored(manifest, state), manifest, remembered)


def _restored(manifest: CombinerManifest, state: State) -> CombinerModel:
    width = len(manifest.features)
    if manifest.model == Boosted.KIND:
        return Boosted(trees.restore(state, width))
    if manifest.model == WeightedSum.KIND:
        return _restored_weights(state, width)
    if manifest.model != Averaged.KIND:
        raise ValueError(f"there is no kind {manifest.model}")
    of_weights, of_trees = (number(state, name, lambda value: value > 0) for name in _SPREADS)
    return Averaged(_restored_weights(state, width), Boosted(trees.restore(state, width)), (of_weights, of_trees))


def _restored_weights(state: State, width: int) -> WeightedSum:
    centre, scale, weights = (array(state, name, np.float64, width) for name in ("centre", "scale", "weights"))
    if (scale <= 0).any():
        raise ValueError("a scale is not above 0")
    return WeightedSum(centre, scale, weights)
