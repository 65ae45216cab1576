"""Evidence for a reader: the document of a hit, its best passage, the matching words and its
retrievers.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from ...core.deadline import HIGHLIGHTS, PASSAGES, WRITTEN, Deadline, Memory
from ...core.domain import Document, Hit, Part, Passage, Span
from ...core.parts import PART_STARTS, parts_of
from .. import stages
from ..lucene.analysis import Highlighter, Stretch, highlighter, in_time, mark_texts
from ..store.documents import Stored
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


_READ_TOGETHER = 20
"""The number of hits whose passages are read together; between them, the search looks at the
clock.
"""
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
    only vectors found it and random queries reach its cosine. ``claim`` is the first part of a text
    of several parts, such as the claim of a fact-check, if the passage belongs to another part.
    """

    rank: int
    docid: str
    score: float
    retrievers: dict[str, RetrieverPart]
    stages: dict[str, RetrieverPart] | msgspec.UnsetType = msgspec.UNSET
    title: str
    passage: PassageAnswer
    claim: str | msgspec.UnsetType = msgspec.UNSET
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
        shown = span.end - span.start
        if span.start and PART_STARTS in document.metadata:
            shown += parts_of(document.text, document.metadata)[0].end  # its claim is shown too
        memory.spend(size + WRITTEN * size * shown // (len(document.text) or 1))

    stored = state.read_passages(
        [(hit.docid, hit.passage) for _, hits in ranked for hit in hits], charge
    )
    known = frozenset(
        stages.names() if any(hit.parts for _, hits in ranked for hit in hits) else ()
    )
    for text, hits in ranked:
        read = [stored[hit.docid, hit.passage] for hit in hits]
        passages = _best_passages(state, text, read, reading)
        evidence = _evidence_of(hits, read, passages, reading, known)
        for shown, folded in zip(
            evidence, stages.copies_of(reading.stages, hits) or (), strict=False
        ):
            shown.copies = folded
        yield evidence


def _best_passages(
    state: IndexState, text: str, read: Sequence[Stored], reading: Reading
) -> list[PassageAnswer]:
    """Return the passages of the hits of ``text``, marked together."""
    texts = [document.text[span.start : span.end] for document, span, _ in read]
    marks: list[list[Stretch]] = [[] for _ in texts]
    if reading.highlight and texts:
        marks = mark_texts(_highlighter(state, text, reading.limit, HIGHLIGHTS), texts)
    metadata = [document.metadata for document, _, _ in read]
    spans = [span for _, span, _ in read]
    return _passage_answers(zip(metadata, spans, texts, marks, strict=True))


def _evidence_of(
    hits: Sequence[Hit],
    read: Sequence[Stored],
    passages: Sequence[PassageAnswer],
    reading: Reading,
    known: Collection[str],
) -> list[Evidence]:
    """Return the evidence of hits, from their documents and passages as they were ``read``;
    ``known`` names all stages.
    """
    evidence = []
    of_hits = zip(hits, read, passages, strict=True)
    for rank, (hit, (document, _, kind), passage) in enumerate(of_hits, reading.offset + 1):
        of_retrievers: dict[str, RetrieverPart] = {}
        of_stages: dict[str, RetrieverPart] = {}
        for part in hit.parts:
            if part.retriever in known:
                of_stages[part.retriever] = stage_answer(part)
            else:
                of_retrievers[part.retriever] = RetrieverPart(rank=part.rank, score=part.score)
        if not hit.parts:
            of_retrievers[reading.retriever] = RetrieverPart(rank=rank, score=hit.score)
        claim: str | msgspec.UnsetType = msgspec.UNSET
        if passage.start and PART_STARTS in document.metadata:
            claim = _claim_beside(document, passage)
        evidence.append(
            Evidence(
                rank=rank,
                docid=hit.docid,
                score=hit.score,
                retrievers=of_retrievers,
                stages=of_stages or msgspec.UNSET,
                title=document.title,
                passage=passage,
                claim=claim,
                url=document.url,
                date=document.date,
                language=document.language,
                source=document.source,
                topic=document.topic,
                kind=kind,
                metadata=dict(document.metadata),
            )
        )
    return evidence


def claim_of(hit: Evidence) -> str:
    """Return the claim of a hit that is a fact-check, whichever of its passages was found."""
    return hit.claim or hit.passage.text


def _claim_beside(document: Document, passage: PassageAnswer) -> str | msgspec.UnsetType:
    parts = parts_of(document.text, document.metadata)
    if len(parts) == 1 or passage.start < parts[1].start:
        return msgspec.UNSET
    return document.text[: parts[0].end]


def read_passages(
    state: IndexState, text: str, hits: Sequence[Evidence], limit: Deadline | None
) -> list[Evidence]:
    """Return each hit with its best passage and, if read in time, all others that contain a word of
    ``text``.
    """
    marked, memory = _highlighter(state, text, limit, PASSAGES), limit.memory if limit else Memory()
    with_passages = []
    for start in range(0, len(hits), _READ_TOGETHER):
        some = hits[start : start + _READ_TOGETHER]
        if limit and limit.is_over(PASSAGES):
            of_hits = [[hit.passage] for hit in some]
        else:
            of_hits = _matching_passages(state, marked, some, memory)
        for hit, passages in zip(some, of_hits, strict=True):
            with_passages.append(msgspec.structs.replace(hit, passages=passages))
    return with_passages


def _matching_passages(
    state: IndexState, marked: Highlighter, hits: Sequence[Evidence], memory: Memory
) -> list[list[PassageAnswer]]:
    """Return, for each hit, its best passage and those of its document with a match, in order."""
    passages_of = state.passages_of(list({hit.docid: None for hit in hits}))
    texts = [passage.text for hit in hits for passage in passages_of[hit.docid]]
    marks = iter(mark_texts(marked, texts))
    of_hits = []
    for hit in hits:
        kept = []
        # The passages come first, so that zip takes no marks of the next hit.
        for passage, of_passage in zip(passages_of[hit.docid], marks, strict=False):
            if of_passage or passage.number == hit.passage.number:
                memory.spend(WRITTEN * sys.getsizeof(passage.text))
                kept.append((hit.metadata, passage, passage.text, of_passage))
        of_hits.append(_passage_answers(kept))
    return of_hits


def _highlighter(state: IndexState, text: str, limit: Deadline | None, part: str) -> Highlighter:
    marked = highlighter(text, state.terms)
    return in_time(marked, partial(limit.is_over, part)) if limit else marked


_Shown = tuple[Mapping[str, Any], Span | Passage, str, list[Stretch]]
"""A passage to show: the metadata of its document, its place there, its text and its highlights."""


def _passage_answers(passages: Iterable[_Shown]) -> list[PassageAnswer]:
    """Return passages in the form of an answer."""
    answers = []
    for metadata, place, text, marks in passages:
        page = page_at(metadata, place.start) if PAGE_STARTS in metadata else msgspec.UNSET
        answers.append(
            PassageAnswer(
                number=place.number,
                page=page,
                start=place.start,
                end=place.end,
                text=text,
                highlights=marks,
            )
        )
    return answers
