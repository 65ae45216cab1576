"""A learned combination of rankings: boosted trees, weights, or both, over the features of
:func:`matrix`.

``factseek train combiner`` trains it and writes it to one file, without pickle. The stage
``combine`` applies it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.domain import Hit
from ...core.errors import SourceError
from ...core.records import model_file, qrels
from ...core.records.model_file import (
    State,
    Trees,
    array,
    number,
    restore_trees,
    restored_from,
)
from ...core.records.qrels import JudgedQueries
from ..lucene.analysis import TermCache, query_terms, words_of
from ..store.manifest import VECTORS

TASK = "combine"
KINDS = ("linear", "trees", "both")  # the kinds of model, the simplest first
_SPREADS = ("spread of the weights", "spread of the trees")


class JudgedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The name and the checksum of training queries or judgements: those of a file, or of data in
    memory.
    """

    name: str
    sha256: str


class CombinerManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a combination and of its training.

    ``model`` is the kind of model. ``rankings`` names the rankings that the model combines. The
    model was trained on the first ``depth`` hits of ``retriever`` with the settings ``fusion``.
    ``index`` is the manifest id of the training index. ``remembers`` says whether the model uses
    features of judged queries. ``figures`` are cross-validated measures.
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


class WeightedSum(NamedTuple):
    """A weighted sum of standardised features: (feature - ``centre``) / ``scale``."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row."""
        standard = (features - self.centre) / self.scale
        # BLAS sums depend on the number of rows, so this does not use BLAS.
        scores: NDArray[np.float64] = np.einsum("ij,j->i", standard, self.weights, optimize=False)
        return scores


class CombinerModel(NamedTuple):
    """Weights, trees, or both: then their scores are added, each divided by its spread, so that
    both count equally.
    """

    weights: WeightedSum | None
    trees: Trees | None
    spreads: tuple[float, ...] = ()

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of ``features``, shape (rows, features).

        Each score depends only on its row.
        """
        scores = [self.weights.score(features)] if self.weights else []
        scores += [self.trees.leaves(features).sum(axis=1)] if self.trees else []
        return (
            scores[0] / self.spreads[0] + scores[1] / self.spreads[1] if self.spreads else scores[0]
        )

    def state(self) -> State:
        """Return the spreads and all arrays."""
        tensors = {
            name: array for part in self[:2] if part for name, array in part._asdict().items()
        }
        return State(dict(zip(_SPREADS, self.spreads, strict=False)), tensors)


class Combiner(NamedTuple):
    """A learned combination: its model, its manifest, and the judged queries that it remembers."""

    model: CombinerModel
    manifest: CombinerManifest
    remembered: JudgedQueries | None = None

    def score(
        self, features: NDArray[np.float64], terms: frozenset[str], hits: Sequence[Hit]
    ) -> NDArray[np.float64]:
        """Return the scores of the hits of a query with these terms; ``features`` come from
        :func:`matrix`.
        """
        if self.remembered is None:
            return self.model.score(features)
        alike = self.remembered.features(terms, [hit.docid for hit in hits])
        return self.model.score(np.concatenate([features, alike], axis=1))


def columns(rankings: Sequence[str], *, remembers: bool) -> tuple[str, ...]:
    """Return the names of the features that a combination uses."""
    return (*names(rankings), *(qrels.NAMES if remembers else ()))


def save(path: Path, combiner: Combiner) -> None:
    """Write a combination into one file.

    Raises MachineError if there is no space or no permission to write.
    """
    settings, tensors = combiner.model.state()
    if combiner.remembered is not None:
        queries = combiner.remembered.state()
        settings, tensors = settings | queries.settings, tensors | queries.tensors
    model_file.save(path, combiner.manifest, State(settings, tensors))


def load(path: Path) -> Combiner:
    """Read a saved combination.

    Raises SourceError if the file is not one, or of another version of factseek.
    """
    manifest, state = model_file.load(path, CombinerManifest)
    if manifest.task != TASK:
        raise SourceError(f"is a model for {manifest.task}, not for this task", place=path)
    with restored_from(path):
        if (
            manifest.features != columns(manifest.rankings, remembers=manifest.remembers)
            or manifest.depth < 1
        ):
            raise ValueError("its features differ from those of this version of factseek")
        remembered = qrels.restore_judged(state) if manifest.remembers else None
        return Combiner(_restore(manifest, state), manifest, remembered)


def _restore(manifest: CombinerManifest, state: State) -> CombinerModel:
    if manifest.model not in KINDS:
        raise ValueError(f"{manifest.model} is not a kind of combination")
    weights = (
        None if manifest.model == "trees" else _restored_weights(state, len(manifest.features))
    )
    trees = None if manifest.model == "linear" else restore_trees(state, len(manifest.features))
    spreads = tuple(
        number(state, name, lambda value: value > 0) for name in _SPREADS if weights and trees
    )
    return CombinerModel(weights, trees, spreads)


def _restored_weights(state: State, width: int) -> WeightedSum:
    centre, scale, weights = (
        array(state, name, np.float64, width) for name in ("centre", "scale", "weights")
    )
    if (scale <= 0).any():
        raise ValueError("a scale is not above 0")
    return WeightedSum(centre, scale, weights)


Titled = tuple[str, str]  # the title of a document and the text of one of its passages
_OF_RANKING = ("found", "reciprocal rank", "score", "stretched score", "below the best")
_OF_TEXT = (
    "fused score",
    "terms covered",
    "rare terms covered",
    "terms covered by the title",
    "title in the query",
    "neighbouring words",
    "numbers",
    "names",
    "length",
)
_RANK_CONSTANT = 10
_NUMBER = re.compile(r"\d+(?:[.,٫٬]\d+)*")


def names(rankings: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of :func:`matrix`."""
    alike = (f"{ranking}: {name}" for ranking in views_of(rankings) for name in LIKENESS)
    return (
        *(f"{ranking}: {name}" for ranking in rankings for name in _OF_RANKING),
        *_OF_TEXT,
        *alike,
    )


def matrix(
    query: str,
    hits: Sequence[Hit],
    passages: Sequence[Titled],
    terms: TermCache,
    rankings: Sequence[str],
    *,
    vectors: Mapping[str, NDArray[np.float32]],
) -> NDArray[np.float64]:
    """Return the features of the hits of one query, best first, shape (hits, names).

    ``vectors`` maps a view to the vectors of the passages. If the view of a ranking is missing, the
    ranking's likeness features are 0. Scores are normalised over these hits alone, so the same hits
    always give the same features.
    """
    if not hits:
        return np.empty((0, len(names(rankings))))
    of_rankings = [_of_ranking(ranking, hits) for ranking in rankings]
    texts = _of_texts(query, passages, terms)
    fused = np.array([[hit.score] for hit in hits])
    nothing = np.zeros((len(hits), len(LIKENESS)))
    alike = [
        likeness(vectors[view]) if view in vectors else nothing
        for view in views_of(rankings).values()
    ]
    return np.concatenate([*of_rankings, fused, texts, *alike], axis=1)


def _of_ranking(ranking: str, hits: Sequence[Hit]) -> NDArray[np.float64]:
    parts = [next((part for part in hit.parts if part.retriever == ranking), None) for hit in hits]
    there = [part.score for part in parts if part is not None]
    low, high = (min(there), max(there)) if there else (0.0, 0.0)
    spread = high - low if high > low else 1.0
    found = np.array([part is not None for part in parts], dtype=np.float64)
    ranks = np.array([math.inf if part is None else part.rank for part in parts])
    scores = np.array([low if part is None else part.score for part in parts])
    return np.stack(
        [found, 1 / (_RANK_CONSTANT + ranks), scores, (scores - low) / spread, scores - high],
        axis=1,
    )


def _of_texts(query: str, passages: Sequence[Titled], terms: TermCache) -> NDArray[np.float64]:
    wanted = query_terms(query, terms)
    matching = terms.matcher(wanted)

    def match_wanted(text: str) -> frozenset[str]:
        return (
            wanted.intersection(term for made in matching(text).values() for term in made)
            if wanted
            else wanted
        )

    titles = [match_wanted(title) for title, _ in passages]
    covered = [
        terms_there | match_wanted(text)
        for terms_there, (_, text) in zip(titles, passages, strict=True)
    ]
    rarity = _rarity(wanted, covered)
    words = words_of(query)
    pairs = {f"{first} {second}".lower() for first, second in pairwise(words)}
    numbers, proper = frozenset(_NUMBER.findall(query)), _names(words)
    rows = []
    for (title, passage), in_title, terms_there in zip(passages, titles, covered, strict=True):
        text = f"{title}\n{passage}"
        lower = text.lower()
        rows.append(
            (
                _share(terms_there, wanted),
                math.fsum(rarity[term] for term in sorted(terms_there)),
                _share(in_title, wanted),
                len(in_title) / max(len(title.split()), 1),
                _share([pair for pair in pairs if pair in lower], pairs),
                _share(numbers.intersection(_NUMBER.findall(text)), numbers),
                _share([name for name in proper if name in lower], proper),
                math.log1p(len(text)),
            )
        )
    return np.array(rows, dtype=np.float64)


def _rarity(wanted: frozenset[str], covered: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return a weight for each query term; the weights sum to 1, and a term in fewer hits weighs
    more.
    """
    counts = Counter(term for terms_there in covered for term in terms_there)
    weights = {term: math.log(1 + len(covered) / (0.5 + counts[term])) for term in wanted}
    total = math.fsum(weights[term] for term in sorted(weights))
    return {term: weight / total for term, weight in weights.items()}


def _names(words: Sequence[str]) -> frozenset[str]:
    """Return, in lower case, the words that look like names: capitalised, in capitals, or of
    letters and digits.
    """
    later = {word.lower() for word in words[1:] if word[:1].isupper()}
    mixed = {
        word.lower()
        for word in words
        if any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    }
    capitals = {
        word.lower() for word in words if len(word) > 1 and word.isupper() and not word.isdigit()
    }
    return frozenset(later | mixed | capitals)


def _share(there: Sequence[str] | frozenset[str], wanted: frozenset[str] | set[str]) -> float:
    return len(there) / len(wanted) if wanted else 0.0


FIRST = (3, 5, 10)  # each hit is compared with the first 3, the first 5 and the first 10 hits
LIKENESS = (*(f"like the first {count}" for count in FIRST), "like another")


def views_of(rankings: Sequence[str]) -> dict[str, str]:
    """Return the view of vectors that each ranking reads; rankings by words are left out."""
    dense = [ranking for ranking in rankings if ranking.partition(":")[0] == "dense"]
    return {ranking: f"{VECTORS}{ranking.removeprefix('dense')}" for ranking in dense}


def likeness(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each hit's mean similarities to the other first hits, and its highest to any other
    hit.

    The shape is (hits, len(LIKENESS)).

    Documents that answer the same query are similar (the cluster hypothesis: van Rijsbergen,
    Information Retrieval, 1979, chapter 3). ``vectors`` are those of the passages, of unit length,
    best hit first. If there is no other hit, the similarity is 0.
    """
    exact = np.ascontiguousarray(vectors, dtype=np.float64)
    # BLAS sums depend on the number of threads, so this does not use BLAS.
    cosines = np.einsum("ij,kj->ik", exact, exact, optimize=False)
    others = ~np.eye(*cosines.shape, dtype=np.bool_)
    firsts = [(cosines[:, :count], others[:, :count]) for count in FIRST]
    means = [
        (near * other).sum(axis=1) / np.maximum(other.sum(axis=1), 1) for near, other in firsts
    ]
    highest = np.where(others, cosines, -np.inf).max(axis=1, initial=-np.inf)
    return np.stack([*means, np.where(np.isfinite(highest), highest, 0.0)], axis=1)
