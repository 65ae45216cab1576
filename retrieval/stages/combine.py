"""A learned combination: hits in the order of what their rankings and their words say together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from ..combiner import Combiner, load
from ..combining import matrix
from ..domain import Hit
from ..errors import QueryError
from ..highlight import query_terms
from ..limit import Limit
from . import StageContext, Texts, rescored

LABEL = "Combine"
HELP = "ranks anew by what was learned of one's own judgements (factseek train combiner): combine"
RANKS = True


def open(value: str, context: StageContext) -> Combine:
    """Return the stage that runs the configured combination.

    Raises QueryError if a value is given, or none is configured.
    """
    if value:
        raise QueryError(f"combine={value[:20]}: combine takes no value", remedy="set combine.model")
    if not context.settings.combine.model:
        raise QueryError("combine needs a model", remedy="set combine.model to what factseek train combiner wrote")
    return Combine(context)


class Combine:
    """Scores the first hits by a learned combination; what comes after them stays in its order below."""

    def __init__(self, context: StageContext) -> None:
        self._context = context

    @property
    def window(self) -> int:
        """As many hits as the combination learned to order."""
        return self._combiner().manifest.depth

    def depth(self, k: int) -> int:
        """Return ``k``: the combination leaves as many hits as it is handed."""
        return k

    def apply(
        self, queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Limit | None
    ) -> list[list[Hit]]:
        """Return each query's hits in the order of their new scores."""
        combiner = self._combiner()
        depth, rankings = combiner.manifest.depth, combiner.manifest.rankings
        stored = iter(texts([hit for ranked in hits for hit in ranked[:depth]]))
        terms = self._context.terms()
        ranked_anew = []
        for query, ranked in zip(queries, hits, strict=True):
            first = ranked[:depth]
            passages = [(record.document.title, record.passage.text) for record in islice(stored, len(first))]
            features = matrix(query, first, passages, terms, rankings)
            scores = combiner.score(features, query_terms(query, terms), first)
            ranked_anew.append(rescored("combine", ranked, scores.tolist()))
        return ranked_anew

    def _combiner(self) -> Combiner:
        return self._context.keep("combine", partial(load, Path(self._context.settings.combine.model)))
