"""Measurements of a query and a hit that a learned combination weighs: rankings, common words, likeness to others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from . import likeness
from .domain import Hit, Part
from .lucene.analysis import TermCache, query_terms, words_of

Titled = tuple[str, str]
"""The title of a document, and a passage of it."""

_OF_RANKING = ("found", "reciprocal rank", "score", "stretched score", "below the best")
_OF_TEXT = (
    "fused score", "terms covered", "rare terms covered", "terms covered by the title", "title in the query",
    "neighbouring words", "numbers", "names", "length",
)  # fmt: skip
_RANK_CONSTANT = 10
_NUMBER = re.compile(r"\d+(?:[.,٫٬]\d+)*")


def names(rankings: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of :func:`matrix`."""
    alike = (f"{ranking}: {name}" for ranking in likeness.views_of(rankings) for name in likeness.NAMES)
    return (*(f"{ranking}: {name}" for ranking in rankings for name in _OF_RANKING), *_OF_TEXT, *alike)


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

    ``vectors`` are those of the passages, by the view that a ranking reads; where a view is missing nothing is alike.
    What a hit's ranking gave is stretched over these hits alone, so the same hits always give the same features.
    """
    if not hits:
        return np.empty((0, len(names(rankings))))
    columns = [column for ranking in rankings for column in _of_ranking(ranking, hits)]
    texts = _of_texts(query, passages, terms)
    fused = np.array([[hit.score] for hit in hits])
    nothing = np.zeros((len(hits), len(likeness.NAMES)))
    alike = [
        likeness.features(vectors[view]) if view in vectors else nothing
        for view in likeness.views_of(rankings).values()
    ]
    return np.concatenate([np.stack(columns, axis=1), fused, texts, *alike], axis=1)


def _of_ranking(ranking: str, hits: Sequence[Hit]) -> list[NDArray[np.float64]]:
    parts = [next((part for part in hit.parts if part.retriever == ranking), None) for hit in hits]
    there = [part.score for part in parts if part is not None]
    low, high = (min(there), max(there)) if there else (0.0, 0.0)
    spread = high - low if high > low else 1.0

    def column(value: Callable[[Part], float], missing: float) -> NDArray[np.float64]:
        return np.array([missing if part is None else value(part) for part in parts])

    return [
        column(lambda _: 1.0, 0.0),
        column(lambda part: 1 / (_RANK_CONSTANT + part.rank), 0.0),
        column(lambda part: part.score, low),
        column(lambda part: (part.score - low) / spread, 0.0),
        column(lambda part: part.score - high, low - high),
    ]


def _of_texts(query: str, passages: Sequence[Titled], terms: TermCache) -> NDArray[np.float64]:
    wanted = query_terms(query, terms)
    matching = terms.matcher(wanted)

    def held(text: str) -> frozenset[str]:
        return wanted.intersection(term for made in matching(text).values() for term in made) if wanted else wanted

    titles = [held(title) for title, _ in passages]
    covered = [terms_there | held(text) for terms_there, (_, text) in zip(titles, passages, strict=True)]
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
    """Return the weight of each term of the query, all adding up to 1: the fewer of the hits hold it, the more."""
    counts = Counter(term for terms_there in covered for term in terms_there)
    weights = {term: math.log(1 + len(covered) / (0.5 + counts[term])) for term in wanted}
    total = math.fsum(weights[term] for term in sorted(weights))
    return {term: weight / total for term, weight in weights.items()}


def _names(words: Sequence[str]) -> frozenset[str]:
    """Return, in lower case, the words that look like names: by a capital past the first word, or by digits."""
    later = {word.lower() for word in words[1:] if word[:1].isupper()}
    mixed = {word.lower() for word in words if any(map(str.isdigit, word)) and any(map(str.isalpha, word))}
    capitals = {word.lower() for word in words if len(word) > 1 and word.isupper() and not word.isdigit()}
    return frozenset(later | mixed | capitals)


def _share(there: Sequence[str] | frozenset[str], wanted: frozenset[str] | set[str]) -> float:
    return len(there) / len(wanted) if wanted else 0.0
