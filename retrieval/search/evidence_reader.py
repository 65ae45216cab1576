"""Read the documents and passages of hits, and highlight the words of the query in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from .. import stages
from ..deadline import HIGHLIGHTS, PASSAGES, WRITTEN, Deadline, Unbounded
from ..domain import Document, Hit, Passage, Span
from ..lucene.analysis import Highlighter, highlighter, in_time
from ..store.documents import Stored
from .evidence import Copies, Evidence, PassageAnswer, RetrieverPart, page_at, part_answer
from .index_state import IndexState

CopiesOf = Callable[[Sequence[Hit]], Sequence[Copies] | None]
"""Return the near-duplicates grouped under each hit; None if the search groups none."""


def read_evidences(
    state: IndexState,
    ranked: Sequence[tuple[str, Sequence[Hit]]],
    retriever: str,
    copies: CopiesOf,
    *,
    highlight: bool = True,
    limit: Deadline | None = None,
    after: int = 0,
) -> Iterator[list[Evidence]]:
    """Yield the evidence for the hits of each text; all stored documents are read at once.

    Hits without parts were ranked by ``retriever``. ``after`` is the number of hits before these. Hits that are read
    after the limit have no highlights.
    """
    memory = limit.memory if limit else Unbounded()

    def charge(document: Document, span: Span) -> None:
        """Charge the memory of a document, and of its passage, which the answer repeats."""
        size = sys.getsizeof(document.text)
        memory.spend(size + WRITTEN * size * (span.end - span.start) // (len(document.text) or 1))

    stored = state.stored([(hit.docid, hit.passage) for _, hits in ranked for hit in hits], charge)
    staged = frozenset(stages.names() if any(hit.parts for _, hits in ranked for hit in hits) else ())
    for text, hits in ranked:
        marked = _highlighter(state, text, limit, HIGHLIGHTS) if highlight and hits else lambda _: []
        evidence = []
        for rank, hit in enumerate(hits, after + 1):
            record = stored[hit.docid, hit.passage]
            document, passage = record.document, record.passage
            parts = {part.retriever: part_answer(part, staged=part.retriever in staged) for part in hit.parts}
            of_retrievers = {name: part for name, part in parts.items() if name not in staged}
            evidence.append(
                Evidence(
                    rank=rank,
                    docid=hit.docid,
                    score=hit.score,
                    retrievers=of_retrievers if parts else {retriever: RetrieverPart(rank=rank, score=hit.score)},
                    stages={name: part for name, part in parts.items() if name in staged} or msgspec.UNSET,
                    title=document.title,
                    passage=_passage_answer(document.metadata, passage, marked(passage.text)),
                    url=document.url,
                    date=document.date,
                    language=document.language,
                    source=document.source,
                    topic=document.topic,
                    kind=record.kind,
                    metadata=dict(document.metadata),
                )
            )
        for shown, folded in zip(evidence, copies(hits) or (), strict=False):
            shown.copies = folded
        yield evidence


def read_passages(state: IndexState, text: str, hits: Sequence[Evidence], limit: Deadline | None) -> list[Evidence]:
    """Return the hits with all passages of their documents that contain a word of ``text``, if read in time."""
    marked = _highlighter(state, text, limit, PASSAGES)
    return [msgspec.structs.replace(hit, passages=_passages(state, marked, hit, limit)) for hit in hits]


def _passages(state: IndexState, marked: Highlighter, hit: Evidence, limit: Deadline | None) -> list[PassageAnswer]:
    if limit and limit.is_over(PASSAGES):
        return [hit.passage]
    passages = []
    for passage in state.passages(hit.docid):
        marks = marked(passage.text)
        if marks or passage.number == hit.passage.number:
            if limit:
                limit.memory.spend(WRITTEN * sys.getsizeof(passage.text))
            passages.append(_passage_answer(hit.metadata, passage, marks))
    return passages


def read_texts(state: IndexState, hits: Sequence[Hit], spend: Callable[[int], object]) -> list[Stored]:
    """Return the passages of hits, in their order; ``spend`` receives the size of each document as it is read."""
    places = ((hit.docid, hit.passage) for hit in hits)
    stored = state.stored(places, lambda document, _: spend(sys.getsizeof(document.text)))
    return [stored[hit.docid, hit.passage] for hit in hits]


def _highlighter(state: IndexState, text: str, limit: Deadline | None, part: str) -> Highlighter:
    marked = highlighter(text, state.terms)
    return in_time(marked, partial(limit.is_over, part)) if limit else marked


def _passage_answer(metadata: Mapping[str, Any], passage: Passage, marks: list[tuple[int, int]]) -> PassageAnswer:
    _, number, start, end, text = passage
    page = page_at(metadata, start)
    return PassageAnswer(number=number, page=page, start=start, end=end, text=text, highlights=marks)
