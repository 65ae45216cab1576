"""BM25 with the query expanded by the terms of its first hits: RM3 with Anserini's defaults.

Source: Abdul-Jaleel et al., UMass at TREC 2004 (RM3, from Lavrenko and Croft's relevance models).
Terms of equal weight are sorted by rarity, rarest first, then in alphabetical order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit
from ...core.settings import Settings, Unit
from ..config import Config
from ..dense.vectors import Mask
from ..lucene.analysis import terms_of
from ..lucene.index import flat_text
from ..search.prepared_query import PreparedQuery
from ..store.manifest import Manifest
from . import Retriever, bm25

if TYPE_CHECKING:
    from ..search.index_state import IndexState

LABEL = "More words"
HELP = "the same words and those of the first hits"
FUSES = False
EXPANDS = True
WEIGHS_WORDS = True
DEFAULT_WEIGHT = 0.0
PRIORITY = -1
BLOCKING = False
BATCHES = False
# Terms in a larger share of all passages do not expand a query; Anserini's value.
MOST_OF_COLLECTION = 0.1
_SHORTEST, _LONGEST = 2, 20  # the minimum and maximum length of a term that expands a query
Few = Annotated[int, msgspec.Meta(ge=1, le=1_000)]


class RM3Settings(Settings, frozen=True, kw_only=True):
    """The number of first passages, the number of terms to take from them, and the weight of the
    query's own terms.
    """

    passages: Few = 10
    terms: Few = 10
    original_weight: Unit = 0.5


SETTINGS = RM3Settings


def names(manifest: Manifest) -> tuple[str, ...]:
    return ("bm25+rm3",)


lacks, views, rankings = bm25.lacks, bm25.views, bm25.rankings


class RM3Retriever(Retriever):
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
        first = self._first.search(queries, self._settings.passages, where, limit)
        return [
            self._expand(query, hits) if hits else query
            for query, hits in zip(queries, first, strict=True)
        ]

    def _expand(self, query: PreparedQuery, hits: Sequence[Hit]) -> PreparedQuery:
        places = [(hit.docid, hit.passage) for hit in hits]
        stored = self._state.read_passages(places, lambda *_: None)
        texts = [
            flat_text(stored[place].document.title, stored[place].passage.text) for place in places
        ]
        own, *passages = map(Counter, terms_of(self._state.manifest.analyzer, [query.text, *texts]))
        rarity = self._rarity(sorted(set().union(*passages)))
        model = _relevance_model(
            passages, [hit.score for hit in hits], rarity, self._settings.terms
        )
        weight = self._settings.original_weight
        terms = {term: weight * count / own.total() for term, count in own.items()}
        for term, share in model.items():
            terms[term] = terms.get(term, 0.0) + (1 - weight) * share
        weighted = sorted((term, weight) for term, weight in terms.items() if weight > 0)
        return PreparedQuery(query.text, terms=tuple(weighted))

    def _rarity(self, terms: Sequence[str]) -> dict[str, int]:
        fields = self._state.field_statistics()
        counts = self._state.term_counts(
            [(field.field, term) for term in terms for field in fields]
        )
        of_fields = iter(counts)
        rarity = {term: max(next(of_fields).passages for _ in fields) for term in terms}
        most = MOST_OF_COLLECTION * max(field.passages for field in fields)
        return {
            term: count
            for term, count in rarity.items()
            if count <= most and _SHORTEST <= len(term) <= _LONGEST and term.isalnum()
        }


def _relevance_model(
    passages: Sequence[Counter[str]], scores: Sequence[float], rarity: Mapping[str, int], size: int
) -> dict[str, float]:
    """Return the ``size`` heaviest terms of passages, with weights that sum to 1.

    Each passage adds the shares of its own heaviest terms, multiplied by the passage's score.
    """

    def heaviest(weights: Mapping[str, float]) -> dict[str, float]:
        ranked = sorted(weights.items(), key=lambda entry: (-entry[1], rarity[entry[0]], entry[0]))[
            :size
        ]
        total = sum(weight for _, weight in ranked)
        return {term: weight / total for term, weight in ranked}

    model: dict[str, float] = {}
    for passage, score in zip(passages, scores, strict=True):
        for term, share in heaviest(
            {term: count for term, count in passage.items() if term in rarity}
        ).items():
            model[term] = model.get(term, 0.0) + share * score
    return heaviest(model)


def open(name: str, snapshot: IndexState, config: Config, *, group: bool) -> RM3Retriever:
    return RM3Retriever(snapshot, config, group=group)
