"""Rank hits by a learned combination of the evidence of their rankings and their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

import msgspec

from ...core.deadline import Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from ...core.settings import Settings, anchored_path
from ..lucene.analysis import query_terms
from ..search.combiner import Combiner, load, matrix, views_of
from . import StageContext, Texts, rescore_hits

LABEL = "Combine"
HELP = "re-ranks hits with a model trained on your judgements (factseek train combiner): combine"
RANKS = True


class CombineSettings(Settings, frozen=True, kw_only=True):
    """The file of a learned combination of rankings."""

    model: str = ""

    def anchor(self, folder: Path) -> Self:
        """Resolve the model's path from ``folder``."""
        return (
            msgspec.structs.replace(self, model=anchored_path(self.model, folder))
            if self.model
            else self
        )


SETTINGS = CombineSettings


def open(value: str, context: StageContext) -> Combine:
    if value:
        raise QueryError(
            f"combine={value[:20]}: combine has no value",
            remedy="write combine, and set combine.model",
        )
    if not context.settings.of(CombineSettings).model:
        raise QueryError(
            "combine needs a model", remedy="set combine.model to a file of factseek train combiner"
        )
    return Combine(context)


class Combine:
    """Scores the first hits by a learned combination; later hits follow in their old order."""

    def __init__(self, context: StageContext) -> None:
        self._context = context

    @property
    def window(self) -> int:
        return self._combiner().manifest.depth

    def depth(self, k: int) -> int:
        return k

    def _combiner(self) -> Combiner:
        path = Path(self._context.settings.of(CombineSettings).model)
        return self._context.opened.get("combine", partial(load, path))

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        combiner = self._combiner()
        depth, rankings = combiner.manifest.depth, combiner.manifest.rankings
        scored = [hit for ranked in hits for hit in ranked[:depth]]
        stored, start = iter(texts(scored)), 0
        places, there = (
            [(hit.docid, hit.passage) for hit in scored],
            self._context.state.manifest.views,
        )
        views = [view for view in views_of(rankings).values() if view in there]
        vectors = {view: self._context.state.passage_vectors(places, view) for view in views}
        terms = self._context.state.terms
        ranked_anew = []
        for query, ranked in zip(queries, hits, strict=True):
            first = ranked[:depth]
            passages = [
                (record.document.title, record.passage.text)
                for record in islice(stored, len(first))
            ]
            own = {view: of_view[start : start + len(first)] for view, of_view in vectors.items()}
            start += len(first)
            features = matrix(query, first, passages, terms, rankings, vectors=own)
            scores = combiner.score(features, query_terms(query, terms), first)
            ranked_anew.append(rescore_hits("combine", ranked, scores.tolist()))
        return ranked_anew
