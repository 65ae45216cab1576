"""Explanations of hits: the words that a passage contains, and the effect of each ranking and
stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from ...core.domain import Hit, Part
from ...core.terminal import join_words
from .. import retrievers, stages
from ..lucene.analysis import query_terms
from .evidence import AnswerPart, RetrieverPart, stage_answer
from .options import ResolvedSearch
from .plan import Plan
from .prepared_query import AnyQuery
from .score_normalizers import RRF, FusionKind

SHOWN_TERMS = 5  # the number of terms of a sparse model that a sentence names


class WordWeight(AnswerPart):
    """A word and its weight.

    For a hit, the weight is the word's share of the BM25 score. For a ranked claim, it is the
    decrease of the score without the word; it is negative if the score increases.
    """

    word: str
    weight: float


class FusionAnswer(AnswerPart):
    """The fusion of rankings: only rrf uses ``rrf_k``; ``depth`` is the number of hits fused from
    each ranking.
    """

    kind: FusionKind
    rrf_k: int
    weights: dict[str, float]
    depth: int


def describe_fusion(fusion: FusionAnswer) -> str:
    """Return one sentence on how the rankings of a query were fused."""
    weights = [f"{name} {weight:g}" for name, weight in fusion.weights.items()]
    constant = f" with rrf_k {fusion.rrf_k}" if fusion.kind == RRF else ""
    return (
        f"fused by {fusion.kind}{constant}: the first {fusion.depth:,} hits of each ranking, with "
        f"the weights {join_words(weights)}"
    )


class ExplainedPart(AnswerPart):
    """The rank (from 1) and score that a retriever gave a hit, and its vote; a fused score is the
    sum of the votes.
    """

    rank: int
    score: float
    vote: float


class ExplainedHit(AnswerPart):
    """The explanation of a hit's score.

    ``words`` are the query's words in its passage, each with its share of the BM25 score, heaviest
    first. ``sentence`` is the explanation in words. ``impacts`` has, for each ranking by a sparse
    model, the query's terms in its passage as the model writes them, each with its share of that
    ranking's score, heaviest first.
    """

    rank: int
    docid: str
    passage: int
    score: float
    retrievers: dict[str, ExplainedPart]
    words: list[WordWeight]
    sentence: str
    stages: dict[str, RetrieverPart] | msgspec.UnsetType = msgspec.UNSET
    impacts: dict[str, list[WordWeight]] | msgspec.UnsetType = msgspec.UNSET


class Explanation(AnswerPart):
    """The query as the profile prepared it, the terms that the analyzer makes of it, and an
    explanation of each hit.
    """

    text: str
    terms: list[str]
    fusion: FusionAnswer | None
    hits: list[ExplainedHit]


def explanation(plan: Plan, query: AnyQuery, hits: Sequence[Hit]) -> Explanation:
    """Return the text that was searched for, and an explanation of each hit's score."""
    resolved = plan.resolved
    prepared = resolved.prepare(query)
    fusing = retrievers.fusing(resolved.retriever)
    fusion = None
    if fusing:
        settings, info = resolved.settings, plan.context.info
        weights = retrievers.voting_weights(
            prepared, settings.search.fusion.weights, info.published, settings
        )
        counted = replace(settings.search.fusion, weights=weights)
        fusion = fusing.fusion_of(prepared, counted, info.language)
    staged, explained = stages.names(), []
    words_of_hits = plan.word_weights(prepared, hits)
    impacts_of_hits = plan.impact_weights(prepared, hits)
    explained_by = zip(hits, words_of_hits, impacts_of_hits, strict=True)
    for rank, (hit, words, impacts) in enumerate(explained_by, plan.search.offset + 1):
        parts = {part.retriever: part for part in _parts(rank, hit, resolved)}
        of_stages = {name: stage_answer(part) for name, part in parts.items() if name in staged}
        explained.append(
            ExplainedHit(
                rank=rank,
                docid=hit.docid,
                passage=hit.passage,
                score=hit.score,
                retrievers={
                    name: ExplainedPart(rank=part.rank, score=part.score, vote=part.vote)
                    for name, part in parts.items()
                    if name not in staged
                },
                words=_word_weights(words),
                sentence=sentence(rank, hit, words, resolved, staged, impacts=impacts),
                stages=of_stages or msgspec.UNSET,
                impacts={name: _word_weights(terms) for name, terms in impacts.items()}
                or msgspec.UNSET,
            )
        )
    return Explanation(
        text=prepared.text,
        terms=sorted(query_terms(prepared.text, plan.terms)),
        fusion=msgspec.convert(fusion, FusionAnswer, from_attributes=True) if fusion else None,
        hits=explained,
    )


def sentence(
    rank: int,
    hit: Hit,
    words: Mapping[str, float],
    resolved: ResolvedSearch,
    stages: Sequence[str],
    *,
    impacts: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> str:
    """Return one sentence that explains the hit at ``rank``.

    ``words`` are the query's words in its passage, with their weights. ``stages`` are the names of
    all stages. ``impacts`` are the query's terms in its passage by ranking, with their weights.
    """
    parts = _parts(rank, hit, resolved)
    ranked = [part for part in parts if part.retriever not in stages]
    vote = resolved.fuses and hit.score >= 0
    pieces = ["The passage contains no word of the query"]
    if words:
        pieces = [
            (
                "The passage contains "
                f"{join_words([f'{word} ({weight:.2f})' for word, weight in _heaviest(words)])}"
            )
        ]
    pieces += [
        f"{part.retriever} ranks it number {part.rank} with {part.score:.4f}"
        + _from_terms(impacts.get(part.retriever, {}))
        + (f", which adds {part.vote:.4f}" if vote else "")
        for part in ranked
    ]
    depth, having = resolved.settings.search.fusion.depth, {part.retriever for part in ranked}
    if resolved.fuses and all(part.rank > depth for part in ranked):
        pieces.append(f"no ranking has it among its first {depth}, so its score is below 0")
    elif resolved.fuses:
        lacking = (name for name in resolved.rankings if name not in having)
        pieces += [f"{name} does not have it among its first {depth}" for name in lacking]
    pieces += [
        f"it was number {part.rank} before {part.retriever}"
        for part in parts
        if part.retriever in stages
    ]
    return f"{'; '.join(pieces)}."


def _from_terms(terms: Mapping[str, float]) -> str:
    """Return where a score by a sparse model comes from: its heaviest terms."""
    if not terms:
        return ""
    shown = [f"{term} ({weight:.2f})" for term, weight in _heaviest(terms)[:SHOWN_TERMS]]
    others = len(terms) - len(shown)
    if others:
        shown.append(f"{others} other{'s' * (others > 1)}")
    return f" from the terms {join_words(shown)}"


def _word_weights(words: Mapping[str, float]) -> list[WordWeight]:
    return [WordWeight(word=word, weight=round(weight, 4)) for word, weight in _heaviest(words)]


def _parts(rank: int, hit: Hit, resolved: ResolvedSearch) -> tuple[Part, ...]:
    return hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)


def _heaviest(words: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
