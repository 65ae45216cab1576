"""The settings that tuning tries: BM25's parameters, the weight of titles, the fusion, and the
re-ranking stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import NamedTuple

from msgspec.structs import replace

from ...retrieval import retrievers
from ...retrieval.config import BM25Settings, FusionSettings
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.search.score_normalizers import BY_SCORE, RRF

K1 = (0.6, 0.9, 1.2, 1.6, 2.0)
B = (0.2, 0.4, 0.6, 0.75, 0.9)
TITLE_WEIGHTS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
RRF_K = (1, 5, 10, 20, 60)
DEPTHS = (50, 100, 200, 500, 1000)


class Setting(NamedTuple):
    """The settings of a search that tuning varies."""

    retriever: str
    bm25: BM25Settings
    fusion: FusionSettings
    stages: tuple[str, ...] = ()

    def row(self) -> tuple[str, ...]:
        """Return the setting in the columns of :data:`COLUMNS`; ``-`` for an unused parameter."""
        bm25, fusion = self.bm25, self.fusion
        words = any(
            retrievers.kind(name).weighs_words
            for name in (fusion.weights if self.fuses else [self.retriever])
        )
        sparse = (f"{bm25.k1:g}", f"{bm25.b:g}", f"{bm25.title_weight:g}") if words else ("-",) * 3
        stages = ", ".join(self.stages) or "-"
        if not self.fuses:
            return self.retriever, "-", "-", "-", "-", *sparse, stages
        by_rank = fusion.kind == RRF
        rrf_k = str(fusion.rrf_k) if by_rank else "-"
        weights = " : ".join(f"{fusion.weights[name]:g}" for name in sorted(fusion.weights))
        return self.retriever, fusion.kind, rrf_k, weights, str(fusion.depth), *sparse, stages

    @property
    def fuses(self) -> bool:
        """Whether the retriever fuses other rankings."""
        return retrievers.kind(self.retriever).fuses


COLUMNS = ("retriever", "fusion", "rrf_k", "weights", "depth", "k1", "b", "title weight", "stages")


def parameters(base: Setting) -> Sequence[Setting]:
    """Return settings of BM25 alone that vary k1 and b; the values of ``base`` come first."""
    alone = base._replace(retriever=_find_retriever(lambda kind: kind.weighs_words))
    return [alone, *(alone._replace(bm25=replace(base.bm25, k1=k1, b=b)) for k1 in K1 for b in B)]


def title_weights(base: Setting) -> Sequence[Setting]:
    """Return settings that vary the weight of a match in the title, ``base`` first."""
    text = base.bm25.text_weight or 1.0
    return [
        base,
        *(
            base._replace(bm25=replace(base.bm25, title_weight=weight * text))
            for weight in TITLE_WEIGHTS
        ),
    ]


def fusions(base: Setting, alone: Sequence[str]) -> Sequence[Setting]:
    """Return ``base``, the rankings ``alone``, then settings that vary the kind of fusion and the
    weights.
    """
    by_rank = [replace(base.fusion, kind=RRF, rrf_k=rrf_k) for rrf_k in RRF_K]
    by_score = [replace(base.fusion, kind=kind) for kind in BY_SCORE]
    weighted = [
        replace(fusion, weights=weights)
        for fusion in (*by_rank, *by_score)
        for weights in _weights(sorted(base.fusion.weights))
    ]
    fusing = base._replace(retriever=_find_retriever(lambda kind: kind.fuses))
    unfused = [base._replace(retriever=name) for name in alone]
    return list(
        dict.fromkeys([base, *unfused, *(fusing._replace(fusion=fusion) for fusion in weighted)])
    )


def depths(base: Setting) -> Sequence[Setting]:
    """Return settings that vary how many hits of each ranking are fused, ``base`` first."""
    return [base, *(base._replace(fusion=replace(base.fusion, depth=depth)) for depth in DEPTHS)]


def stages(base: Setting, ranking: Sequence[str]) -> Sequence[Setting]:
    """Return settings that vary which of the stages in ``ranking`` re-rank, and their order,
    ``base`` first.
    """
    kept = tuple(stage for stage in base.stages if stage.partition("=")[0] not in ranking)
    orders = (order for count in range(len(ranking) + 1) for order in permutations(ranking, count))
    return [base, *(base._replace(stages=(*order, *kept)) for order in orders)]


def _find_retriever(chosen: Callable[[RetrieverKind], bool]) -> str:
    return next(name for name in retrievers.names() if chosen(retrievers.kind(name)))


def _weights(names: Sequence[str]) -> list[dict[str, float]]:
    """Return all weights of the rankings, in tenths, that add up to 1; of two rankings, each has at
    least 0.3.
    """
    least = max(1, 6 // len(names))
    shares = [parts for parts in product(range(least, 11), repeat=len(names)) if sum(parts) == 10]
    return [
        dict(zip(names, (part / 10 for part in reversed(parts)), strict=True)) for parts in shares
    ]
