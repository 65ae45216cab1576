"""BM25 with the query expanded by the terms of its first hits: RM3 with Anserini's defaults.

Source: Abdul-Jaleel et al., UMass at TREC 2004 (RM3, from Lavrenko and Croft's relevance models).
Passages of equal score are sorted by docid, and terms of equal weight in alphabetical order, both
ascending. All numbers are float32 values, as in
Anserini, because rounding decides which weights are equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit
from ...core.settings import Settings, Unit
from ...core.text import marks
from ..config import Config
from ..dense.vectors import Mask
from ..lucene.analysis import terms_of
from ..lucene.index import flat_text
from ..search.prepared_query import PreparedQuery
from ..store.manifest import LUCENE, Manifest
from . import ExpandingKind, ExpandingRetriever, Retriever

if TYPE_CHECKING:
    from ..search.index_state import IndexState

# Terms in a larger share of all passages do not expand a query; Anserini's value.
MOST_OF_COLLECTION = np.float32(0.1)
_ENGLISH_TERM = re.compile(r"[a-z0-9]{2,20}")
_TERM = re.compile(rf"(?:[^\W_]|[{marks()}]){{2,20}}")  # words of many scripts have marks
Few = Annotated[int, msgspec.Meta(ge=1, le=1_000)]


class RM3Settings(Settings, frozen=True, kw_only=True):
    """The number of first passages, the number of terms to take from them, and the weight of the
    query's own terms.
    """

    passages: Few = 10
    terms: Few = 10
    original_weight: Unit = 0.5


SETTINGS = RM3Settings


class RM3Kind(ExpandingKind):
    """BM25 with an expanded query, wherever BM25 is."""

    name = "bm25+rm3"
    label = "More words"
    help = "the same words and those of the first hits"
    weighs_words = True

    def views(self, name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
        return (LUCENE,)

    def open(self, name: str, snapshot: IndexState, config: Config, *, group: bool) -> RM3Retriever:
        return RM3Retriever(snapshot, config, group=group)


class RM3Retriever(ExpandingRetriever):
    """Searches by BM25 twice: for the passages that expand the query, then for the expanded
    query.
    """

    def __init__(self, state: IndexState, config: Config, *, group: bool) -> None:
        def by_words(*, group: bool) -> Retriever:
            return state.ranking(
                "bm25", replace(config, search=replace(config.search, group=group))
            )

        self._state = state
        self._settings = config.of(RM3Settings)
        self._first, self._bm25 = by_words(group=False), by_words(group=group)

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        return self._bm25.search(self._expand_all(queries, where, limit), k, where, limit)

    def matching(self, query: PreparedQuery) -> Mask | None:
        return self._bm25.matching(self.expand(query, None))

    def expand(self, query: PreparedQuery, where: Filter | None) -> PreparedQuery:
        return self._expand_all([query], where, None)[0]

    def _expand_all(
        self, queries: Sequence[PreparedQuery], where: Filter | None, limit: Deadline | None
    ) -> list[PreparedQuery]:
        if all(query.terms for query in queries):
            return list(queries)
        first = self._first.search(queries, self._settings.passages + 1, where, limit)
        return [
            self._expand(query, self._feedback(query, hits, where, limit)) if hits else query
            for query, hits in zip(queries, first, strict=True)
        ]

    def _feedback(
        self,
        query: PreparedQuery,
        hits: Sequence[Hit],
        where: Filter | None,
        limit: Deadline | None,
    ) -> list[Hit]:
        """Return the first hits as Anserini orders them: equal scores by docid, ascending."""
        size = self._settings.passages
        while len(hits) > size and hits[-1].score == hits[size - 1].score:
            further = self._first.search([query], 2 * len(hits), where, limit)[0]
            if len(further) == len(hits):
                break
            hits = further
        return sorted(hits, key=lambda hit: (-hit.score, hit.docid))[:size]

    def _expand(self, query: PreparedQuery, hits: Sequence[Hit]) -> PreparedQuery:
        places = [(hit.docid, hit.passage) for hit in hits]
        stored = self._state.read_passages(places, lambda *_: None)
        texts = [
            flat_text(stored[place].document.title, stored[place].passage.text) for place in places
        ]
        own, *passages = map(Counter, terms_of(self._state.manifest.analysis, [query.text, *texts]))
        admitted = self._admitted(sorted(set().union(*passages)))
        vectors = [
            {term: count for term, count in passage.items() if term in admitted}
            for passage in passages
        ]
        model = relevance_model(vectors, [hit.score for hit in hits], self._settings.terms)
        weight = self._settings.original_weight
        terms = {term: weight * count / own.total() for term, count in own.items()}
        for term, share in model.items():
            terms[term] = terms.get(term, 0.0) + (1 - weight) * share
        weighted = sorted((term, weight) for term, weight in terms.items() if weight > 0)
        return PreparedQuery(query.text, terms=tuple(weighted))

    def _admitted(self, terms: Sequence[str]) -> set[str]:
        """Return the terms that may expand a query: neither frequent nor very short or long."""
        fields = self._state.field_statistics()
        counts = self._state.term_counts(
            [(field.field, term) for term in terms for field in fields]
        )
        of_fields = iter(counts)
        passages = {term: max(next(of_fields).passages for _ in fields) for term in terms}
        total = np.float32(max(field.passages for field in fields))
        # Anserini admits only these characters in any language; other languages need their own.
        pattern = _ENGLISH_TERM if self._state.manifest.analyzer == "english" else _TERM
        return {
            term
            for term, count in passages.items()
            if np.float32(count) / total <= MOST_OF_COLLECTION and pattern.fullmatch(term)
        }


def relevance_model(
    passages: Sequence[Mapping[str, int]], scores: Sequence[float], size: int
) -> dict[str, float]:
    """Return the ``size`` heaviest terms of passages, with weights that sum to 1.

    Each passage adds the shares of its own heaviest terms, multiplied by the passage's score.
    """
    kept = [_heaviest({term: np.float32(n) for term, n in each.items()}, size) for each in passages]
    weights: dict[str, np.float32] = {}
    for passage, score in zip(kept, scores, strict=True):
        total = np.float32(sum(map(float, passage.values())))
        for term, count in passage.items():
            share = count / total * np.float32(score)
            weights[term] = weights.get(term, np.float32(0)) + share
    heaviest = _heaviest(weights, size)
    sum_of_weights = sum(map(float, heaviest.values()))
    return {term: float(weight) / sum_of_weights for term, weight in heaviest.items()}


def _heaviest(weights: Mapping[str, np.float32], size: int) -> dict[str, np.float32]:
    """Return the ``size`` heaviest terms; of equal ones, the first in alphabetical order."""
    ranked = sorted(weights.items(), key=lambda entry: (-entry[1], entry[0]))
    return dict(ranked[:size])


KIND = RM3Kind()
