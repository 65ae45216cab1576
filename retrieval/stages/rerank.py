"""Re-ranking by a CrossEncoder, which reads query and passage together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Annotated

import msgspec

from ...core.deadline import Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from ...core.settings import Weight
from ..config import CrossEncoderSettings
from ..encoders.cross_encoder import OnnxCrossEncoder
from ..lucene.index import flat_text
from ..search.score_normalizers import mix_scores
from . import StageContext, Texts, rescore_hits

LABEL = "Re-rank"
HELP = (
    "re-ranks hits with a model that reads query and passage together: rerank, or rerank=20 "
    "for the first 20 hits"
)
RANKS = True
_NAME = "rerank"
_MOST = 1_000  # the maximum number of hits that one search may re-rank


class RerankSettings(CrossEncoderSettings, frozen=True, kw_only=True):
    """The CrossEncoder of the stage ``rerank``; ``weight`` is the share of its score in the new
    score.
    """

    depth: Annotated[int, msgspec.Meta(ge=1, le=_MOST)] = 50
    weight: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    seconds: Weight = 0.0


SETTINGS = RerankSettings


def re_ranker(context: StageContext) -> OnnxCrossEncoder:
    """Return the configured model that reads query and passage together, opened once."""
    return context.opened.get(_NAME, partial(OnnxCrossEncoder, _require_settings(context)))


def _require_settings(context: StageContext) -> RerankSettings:
    settings = context.settings.of(RerankSettings)
    if not settings.model:
        raise QueryError(
            "rerank needs a model",
            remedy="set rerank.model to a CrossEncoder of sentence-transformers on this machine",
        )
    return settings


def open(value: str, context: StageContext) -> Rerank:
    if value and not (
        value.isascii() and value.isdigit() and len(value) <= 4 and 1 <= int(value) <= _MOST
    ):
        raise QueryError(
            f"rerank={value[:20]}: give the number of hits to re-rank, from 1 to {_MOST:,}"
        )
    settings = _require_settings(context)
    return Rerank(context, settings, int(value) if value else settings.depth)


class Rerank:
    """Scores the first hits one after another; hits that are not scored in time follow in their old
    order.

    If ``weight`` is below 1, the new score is the weighted sum of the model's score and the old
    one, both scaled to 0..1.
    """

    def __init__(self, context: StageContext, settings: RerankSettings, window: int) -> None:
        self._context, self._settings = context, settings
        self.window = window

    def depth(self, k: int) -> int:
        return k

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        model = re_ranker(self._context)
        stored = iter(texts([hit for ranked in hits for hit in ranked[: self.window]]))
        ranked_anew = []
        for query, ranked in zip(queries, hits, strict=True):
            own = limit.shorter(self._settings.seconds) if limit else None
            after: list[float] = []
            for record in list(islice(stored, min(len(ranked), self.window))):
                if own is not None and own.is_over(_NAME):
                    break
                after.append(
                    model.score(query, flat_text(record.document.title, record.passage.text))
                )
            before = [hit.score for hit in ranked[: len(after)]]
            ranked_anew.append(
                rescore_hits(_NAME, ranked, mix_scores(before, after, self._settings.weight))
            )
        return ranked_anew
