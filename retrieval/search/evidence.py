"""Evidence for a reader: the document of a hit, its best passage, the matching words and its
retrievers.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from ...core.deadline import HIGHLIGHTS, PASSAGES, WRITTEN, Deadline, Memory
from ...core.domain import Document, Hit, Part, Passage, Span
from .. import stages
from ..lucene.analysis import Highlighter, highlighter, in_time
from .index_state import IndexState


class AnswerPart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base class of answers."""


class RetrieverPart(AnswerPart, kw_only=True):
    """The rank (from 1) and score that a retriever gave a hit, or that a hit had before a stage.

    ``gave`` is the new score, if the stage sets scores.
    """

    rank: int
    score: float
    gave: float | msgspec.UnsetType = msgspec.UNSET


def stage_answer(part: Part) -> RetrieverPart:
    """Return a stage's part of a hit in the form of an answer; its vote is the score that it
    gave.
    """
    return RetrieverPart(rank=part.rank, score=part.score, gave=part.vote or msgspec.UNSET)


PAGE_STARTS = "page_starts"
"""The metadata field of a document with pages: the offset in its text at which each page begins."""


def page_at(metadata: Mapping[str, Any], start: int) -> int | msgspec.UnsetType:
    """Return the page, from 1, on which a passage begins; unset if the document has no pages."""
    starts = metadata.get(PAGE_STARTS)
    if not isinstance(starts, list) or not all(isinstance(each, int) for each in starts):
        return msgspec.UNSET
    return bisect_right(starts, start) or msgspec.UNSET


class PassageAnswer(AnswerPart, kw_only=True):
    """A passage of a hit; ``start`` and ``end`` are offsets in the document's text.

    ``highlights`` are offsets in the passage's text. ``page`` is the page on which the passage
    begins, from 1, if the document has pages.
    """

    number: int
    page: int | msgspec.UnsetType = msgspec.UNSET
    start: int
    end: int
    text: str
    highlights: list[tuple[int, int]]


class Copies(AnswerPart, kw_only=True):
    """The documents with a near-duplicate of a hit's passage: their number, and the first hundred
    docids.
    """

    count: int
    docids: list[str]


class Evidence(AnswerPart, kw_only=True):
    """One hit with its document.

    ``passages``, if requested, are its best passage and all others that contain a word of the
    query. ``stages`` gives its rank and score before each stage. ``copies`` are the near-duplicates
    grouped under it. ``index`` names its index if the search covers several. ``weak`` is true if
    only vectors found it and random queries reach its cosine.
    """

    rank: int
    docid: str
    score: float
    retrievers: dict[str, RetrieverPart]
    stages: dict[str, RetrieverPart] | msgspec.UnsetType = msgspec.UNSET
    title: str
    passage: PassageAnswer
    url: str
    date: str
    language: str
    source: str
    topic: str
    kind: str
    metadata: dict[str, Any]
    passages: list[PassageAnswer] | msgspec.UnsetType = msgspec.UNSET
    copies: Copies | msgspec.UnsetType = msgspec.UNSET
    index: str | msgspec.UnsetType = msgspec.UNSET
    weak: bool | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the evidence of hits: the stages and the offset of their search, and a time
    limit.

    ``retriever`` ranked the hits without parts.
    """

    retriever: str
    stages: Mapping[str, stages.Stage]
    offset: int = 0
    highlight: bool = True
    limit: Deadline | None = None


def read_evidences(
    state: IndexState,
    ranked: Sequence[tuple[str, Sequence[Hit]]],
    reading: Reading,
) -> Iterator[list[Evidence]]:
    """Yield the evidence for the hits of each text; the stored documents of all hits are read at
    once.

    Hits that are read after the limit have no highlights.
    """
    limit = reading.limit
    memory = limit.memory if limit else Memory()

    def charge(document: Document, span: Span) -> None:
        """Reserve memory for a document, and for its passage, which the answer repeats."""
        size = sys.getsizeof(document.text)
        memory.spend(size + WRITTEN * size * (span.end - span.start) // (len(document.text) or 1))

    stored = state.read_passages(
        [(hit.docid, hit.passage) for _, hits in ranked for hit in hits], charge
    )
    known = frozenset(
        stages.names() if any(hit.parts for _, hits in ranked for hit in hits) else ()
    )
    for text, hits in ranked:
        marked = (
            _highlighter(state, text, limit, HIGHLIGHTS)
            if reading.highlight and hits
            else lambda _: []
        )
        evidence = []
        for rank, hit in enumerate(hits, reading.offset + 1):
            document, span, kind = stored[hit.docid, hit.passage]
            passage = document.text[span.start : span.end]
            given = [part for part in hit.parts if part.retriever not in known]
            of_retrievers = {
                part.retriever: RetrieverPart(rank=part.rank, score=part.score) for part in given
            }
            evidence.append(
                Evidence(
                    rank=rank,
                    docid=hit.docid,
                    score=hit.score,
                    retrievers=of_retrievers
                    if hit.parts
                    else {reading.retriever: RetrieverPart(rank=rank, score=hit.score)},
                    stages={
                        part.retriever: stage_answer(part)
                        for part in hit.parts
                        if part.retriever in known
                    }
                    or msgspec.UNSET,
                    title=document.title,
                    passage=_passage_answer(document.metadata, span, passage, marked(passage)),
                    url=document.url,
                    date=document.date,
                    language=document.language,
                    source=document.source,
                    topic=document.topic,
                    kind=kind,
                    metadata=dict(document.metadata),
                )
            )
        for shown, folded in zip(
            evidence, stages.copies_of(reading.stages, hits) or (), strict=False
        ):
            shown.copies = folded
        yield evidence


def read_passages(
    state: IndexState, text: str, hits: Sequence[Evidence], limit: Deadline | None
) -> list[Evidence]:
    """Return each hit with its best passage and, if read in time, all others that contain a word of
    ``text``.
    """
    marked, memory = _highlighter(state, text, limit, PASSAGES), limit.memory if limit else Memory()
    with_passages = []
    for hit in hits:
        passages = [hit.passage]
        if not (limit and limit.is_over(PASSAGES)):
            passages = []
            for passage in state.passages(hit.docid):
                marks = marked(passage.text)
                if marks or passage.number == hit.passage.number:
                    memory.spend(WRITTEN * sys.getsizeof(passage.text))
                    passages.append(_passage_answer(hit.metadata, passage, passage.text, marks))
        with_passages.append(msgspec.structs.replace(hit, passages=passages))
    return with_passages


def _highlighter(state: IndexState, text: str, limit: Deadline | None, part: str) -> Highlighter:
    marked = highlighter(text, state.terms)
    return in_time(marked, partial(limit.is_over, part)) if limit else marked


def _passage_answer(
    metadata: Mapping[str, Any], place: Span | Passage, text: str, marks: list[tuple[int, int]]
) -> PassageAnswer:
    start, end = place.start, place.end
    page = page_at(metadata, start) if PAGE_STARTS in metadata else msgspec.UNSET
    return PassageAnswer(
        number=place.number, page=page, start=start, end=end, text=text, highlights=marks
    )
