"""Optional additions to the hits of a search: how their scores came about, and their other passages."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ...retrieval import stages
from ...retrieval.config import FusionSettings
from ...retrieval.deadline import PASSAGES, WRITTEN, Deadline
from ...retrieval.domain import Hit, Part
from ...retrieval.lucene.analysis import Highlighter, highlighter, in_time, query_terms
from ...retrieval.search.evidence import Evidence, PassageAnswer, part_answer
from ...retrieval.search.explaining import sentence
from ...retrieval.search.options import ResolvedSearch, Search
from ..schemas import ExplainedHit, ExplainedPart, Explanation, FusionAnswer, WordWeight

if TYPE_CHECKING:
    from ...retrieval.search.index import Index


def explanation(index: Index, query: str, asked: Search, hits: Sequence[Hit]) -> Explanation:
    """Return the text that was searched for, its terms, and how the score of each hit came about."""
    resolved = index.resolve(asked)
    text, name = resolved.text(query), resolved.retriever
    fusion = _fusion(resolved.settings.search.fusion) if resolved.rankings != (name,) else None
    return Explanation(
        text=text,
        terms=sorted(query_terms(text, index.terms)),
        fusion=fusion,
        hits=[
            _explained(rank, hit, words, resolved)
            for rank, (hit, words) in enumerate(
                zip(hits, index.word_weights(query, hits, asked), strict=True), asked.offset + 1
            )
        ],
    )


def with_passages(index: Index, query: str, asked: Search, hits: Sequence[Evidence], limit: Deadline) -> list[Evidence]:
    """Return the hits, each with all passages of its document that hold a word of ``query``, and its best one.

    After the limit, which notes that passages are missing, it is the best one alone.
    """
    marked = in_time(highlighter(index.resolve(asked).text(query), index.terms), partial(limit.is_over, PASSAGES))
    return [msgspec.structs.replace(hit, passages=_passages(index, marked, hit, limit)) for hit in hits]


def _passages(index: Index, marked: Highlighter, hit: Evidence, limit: Deadline) -> list[PassageAnswer]:
    if limit.is_over(PASSAGES):
        return [hit.passage]
    passages = []
    for passage in index.passages(hit.docid):
        marks = marked(passage.text)
        if marks or passage.number == hit.passage.number:
            limit.memory.spend(WRITTEN * sys.getsizeof(passage.text))
            passages.append(
                PassageAnswer(
                    number=passage.number, start=passage.start, end=passage.end, text=passage.text, highlights=marks
                )
            )
    return passages


def _fusion(settings: FusionSettings) -> FusionAnswer:
    return msgspec.convert(settings, FusionAnswer, from_attributes=True)


def _explained(rank: int, hit: Hit, words: Mapping[str, float], resolved: ResolvedSearch) -> ExplainedHit:
    parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
    staged = set(stages.names()) if len(parts) > 1 else set()
    by_stage = {part.retriever: part_answer(part, staged=True) for part in parts if part.retriever in staged}
    heaviest = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
    return ExplainedHit(
        rank=rank,
        docid=hit.docid,
        passage=hit.passage,
        score=hit.score,
        retrievers={
            part.retriever: ExplainedPart(rank=part.rank, score=part.score, vote=part.vote)
            for part in parts
            if part.retriever not in staged
        },
        words=[WordWeight(word=word, weight=round(weight, 4)) for word, weight in heaviest],
        sentence=sentence(rank, hit, words, resolved, stages.names()),
        stages=by_stage or msgspec.UNSET,
    )
