"""Re-ranking by a CrossEncoder, which reads query and passage together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ..deadline import Deadline
from ..domain import Hit
from ..errors import QueryError
from ..lucene.index import flat_text
from ..search.retriever import ReRanker
from ..search.score_normalizers import mixed
from . import StageContext, Texts, rescored

LABEL = "Re-rank"
HELP = "re-ranks hits with a model that reads query and passage together: rerank, or rerank=20 for the first 20 hits"
RANKS = True
_NAME = "rerank"
_MOST = 1_000
"""Hits that one search may have re-ranked."""


def open(value: str, context: StageContext) -> Rerank:
    """Return the stage that re-ranks by the configured model, so many hits as ``value`` says or the settings do.

    Raises QueryError if the value is no number from 1 to 1,000, or no model is configured.
    """
    settings = context.settings.rerank
    if value and not (value.isascii() and value.isdigit() and len(value) <= 4 and 1 <= int(value) <= _MOST):
        raise QueryError(f"rerank={value[:20]}: give how many hits are re-ranked, from 1 to {_MOST:,}")
    context.check_re_ranker()
    return Rerank(context, int(value) if value else settings.depth)


class Rerank:
    """Scores the first hits one after the other; what comes after them stays in its order below.

    Under a time limit those that were scored in time are ordered, the others stay below them in their order, and the
    limit notes it. Where the model has a share of the new score, the rest is the score with which a hit came; both are
    stretched to 0..1 over the hits that were scored.
    """

    def __init__(self, context: StageContext, depth: int) -> None:
        self._context = context
        self._depth = depth

    @property
    def window(self) -> int:
        """As many hits as are re-ranked."""
        return self._depth

    def depth(self, k: int) -> int:
        """Return ``k``: re-ranking leaves as many hits as it is handed."""
        return k

    def apply(
        self, queries: Sequence[str], hits: Sequence[Sequence[Hit]], texts: Texts, limit: Deadline | None
    ) -> list[list[Hit]]:
        """Return each query's hits in the order of their new scores."""
        model = self._context.re_ranker()
        stored = iter(texts([hit for ranked in hits for hit in ranked[: self._depth]]))
        ranked_anew = []
        for query, ranked in zip(queries, hits, strict=True):
            records = islice(stored, min(len(ranked), self._depth))
            passages = [flat_text(record.document.title, record.passage.text) for record in records]
            after = self._scores(model, query, passages, limit)
            before = [hit.score for hit in ranked[: len(after)]]
            ranked_anew.append(rescored(_NAME, ranked, mixed(before, after, self._context.settings.rerank.weight)))
        return ranked_anew

    def _scores(self, model: ReRanker, query: str, passages: Sequence[str], limit: Deadline | None) -> list[float]:
        """Return the scores of the first passages: of all, if the time is enough."""
        own = limit.shorter(self._context.settings.rerank.seconds) if limit else None
        scores: list[float] = []
        for passage in passages:
            if own is not None and own.is_over(_NAME):
                break
            scores.append(model.score(query, passage))
        return scores
