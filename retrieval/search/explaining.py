"""Why a hit stands where it does, for people: the words that it holds, and what each ranking and stage made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..domain import Hit, Part
from .options import ResolvedSearch


def sentence(rank: int, hit: Hit, words: Mapping[str, float], resolved: ResolvedSearch, stages: Sequence[str]) -> str:
    """Return one sentence on the hit of a rank.

    ``words`` are the words of the query that its passage holds, with their weights; ``stages`` the names of all stages.
    """
    parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
    fused = resolved.rankings != (resolved.retriever,)
    ranked = [part for part in parts if part.retriever not in stages]
    pieces = [_held(words), *(_ranking(part, fused=fused and hit.score >= 0) for part in ranked)]
    pieces += list(_missed(ranked, resolved)) if fused else []
    pieces += [f"it came to {part.retriever} as number {part.rank}" for part in parts if part.retriever in stages]
    return f"{'; '.join(pieces)}."


def _held(words: Mapping[str, float]) -> str:
    if not words:
        return "The passage holds no word of the query"
    heaviest = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"The passage holds {_listed([f'{word} ({weight:.2f})' for word, weight in heaviest])}"


def _ranking(part: Part, *, fused: bool) -> str:
    vote = f", a vote of {part.vote:.4f}" if fused else ""
    return f"{part.retriever} ranks it number {part.rank} with {part.score:.4f}{vote}"


def _missed(ranked: Sequence[Part], resolved: ResolvedSearch) -> Iterator[str]:
    """Yield what it means that a ranking is not among those of a fused hit."""
    depth, having = resolved.settings.search.fusion.depth, {part.retriever for part in ranked}
    if all(part.rank > depth for part in ranked):
        yield f"no ranking has it among its first {depth}, so it has no votes"
        return
    for name in resolved.rankings:
        if name not in having:
            yield f"{name} does not have it among its first {depth}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
