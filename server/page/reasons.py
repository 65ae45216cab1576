"""Why a hit stands where it does, in parts that the page shows: its words, what each ranking made of it, its stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from ...retrieval import retrievers, stages
from ...retrieval.deadline import Deadline
from ...retrieval.domain import Hit, Part
from ...retrieval.errors import FactseekError
from ...retrieval.search.options import ResolvedSearch, Search

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_WORDS = 8
"""Words of a hit that are shown, heaviest first."""
_SHOWN_PART = "reasons"


class WeighedWord(NamedTuple):
    """A word of the query that the passage holds, with what BM25 counts it as."""

    word: str
    weight: float


class RankedBy(NamedTuple):
    """A ranking by its label: the rank that it gave the hit and its score; ``vote`` is None where nothing is fused.

    ``help`` says by what it ranks.
    """

    name: str
    label: str
    help: str
    rank: int
    score: float
    vote: float | None


class Step(NamedTuple):
    """A stage by its name and label, the ranks before and after it, and the score that it gave the hit, if it did."""

    name: str
    label: str
    rank: int
    after: int
    gave: float | None


class Reason(NamedTuple):
    """Why a hit stands at its rank; ``missed`` are the rankings that do not have it, ``depth`` how far they look.

    ``steps`` are the stages that did something to it.
    """

    words: list[WeighedWord]
    rankings: list[RankedBy]
    missed: list[str]
    depth: int
    steps: list[Step]
    fused: bool


def reasons(
    index: Index, query: str, asked: Search, hits: Sequence[Hit], limit: Deadline, *, ranks: Sequence[int] = ()
) -> list[Reason]:
    """Return the reason of each hit of a search; without its words if there is no time for them.

    ``ranks`` are those of the hits in the list of the index, one after the other from the offset on if none is given.
    """
    resolved = index.resolve(asked)
    none: list[dict[str, float]] = [{} for _ in hits]
    words = none if limit.is_over(_SHOWN_PART) else index.word_weights(query, hits, asked)
    return [
        _reason(rank, hit, held, resolved)
        for rank, hit, held in zip(ranks or count(asked.offset + 1), hits, words, strict=False)
    ]


def _reason(rank: int, hit: Hit, words: Mapping[str, float], resolved: ResolvedSearch) -> Reason:
    parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
    names = set(stages.names()) if len(parts) > 1 else set()
    fused = resolved.rankings != (resolved.retriever,)
    ranked = [part for part in parts if part.retriever not in names]
    heaviest = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:_WORDS]
    return Reason(
        words=[WeighedWord(*pair) for pair in heaviest],
        rankings=[_ranked_by(part, fused=fused and hit.score >= 0) for part in ranked],
        missed=list(_missed(ranked, resolved)) if fused else [],
        depth=resolved.settings.search.fusion.depth,
        steps=list(_steps([part for part in parts if part.retriever in names], rank)),
        fused=fused,
    )


def _ranked_by(part: Part, *, fused: bool) -> RankedBy:
    vote = part.vote if fused else None
    return RankedBy(part.retriever, label_of(part.retriever), _help_of(part.retriever), part.rank, part.score, vote)


def _missed(ranked: Sequence[Part], resolved: ResolvedSearch) -> Iterator[str]:
    having = {part.retriever for part in ranked}
    return (label_of(name) for name in resolved.rankings if name not in having)


def _steps(parts: Sequence[Part], rank: int) -> Iterator[Step]:
    """Yield what stages did to a hit that stands at ``rank`` after the last of them."""
    ranks = [*(part.rank for part in parts), rank]
    for part, after in zip(parts, ranks[1:], strict=True):
        if part.vote or part.rank != after:
            yield Step(part.retriever, stages.KINDS.load(part.retriever).LABEL, part.rank, after, part.vote or None)


def label_of(retriever: str) -> str:
    """Return a ranking's name for people."""
    try:
        return retrievers.kind(retriever).LABEL
    except FactseekError:
        return retriever


def _help_of(retriever: str) -> str:
    """Return by what a ranking ranks, in an English text of the page."""
    try:
        return retrievers.kind(retriever).HELP
    except FactseekError:
        return ""
