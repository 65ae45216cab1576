"""Read the documents and passages of hits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from .. import stages
from ..deadline import HIGHLIGHTS, PASSAGES, WRITTEN, Deadline, Unbounded
from ..domain import Document, Hit, Passage, Span
from ..lucene.analysis import Highlighter, highlighter, in_time
from ..store.documents import Place, Stored
from .evidence import Copies, Evidence, PassageAnswer, RetrieverPart, page_at, part_answer
from .index_state import IndexState

_CHARGED_AT_ONCE = 64 << 10
"""The bytes that are read before they are charged: most documents are smaller, and each charge takes a lock."""
CopiesOf = Callable[[Sequence[Hit]], Sequence[Copies] | None]
"""Return the near-duplicates grouped under each hit; None if the search groups none."""


class EvidenceReader:
    """Reads the documents of hits from an index, and highlights the words of the query."""

    def __init__(self, state: IndexState) -> None:
        self._state = state

    def evidences(
        self,
        ranked: Sequence[tuple[str, Sequence[Hit]]],
        retriever: str,
        copies: CopiesOf,
        *,
        highlight: bool = True,
        limit: Deadline | None = None,
        after: int = 0,
    ) -> Iterator[list[Evidence]]:
        """Yield the evidence for the hits of each text; all stored documents are read at once.

        Hits without parts were ranked by ``retriever``. ``after`` is the number of hits before these. Hits that are
        read after the limit have no highlights.
        """
        places = [(hit.docid, hit.passage) for _, hits in ranked for hit in hits]
        memory = limit.memory if limit else Unbounded()
        charge = _Charge(memory.spend)
        stored = self._state.stored(places, charge)
        charge.settle()
        staged = frozenset(stages.names() if any(hit.parts for _, hits in ranked for hit in hits) else ())
        for text, hits in ranked:
            marked = self._highlighter(text, limit, HIGHLIGHTS) if highlight and hits else lambda _: []
            answer = partial(_evidence, marked, retriever=retriever, stored=stored, staged=staged)
            evidence = [answer(rank, hit) for rank, hit in enumerate(hits, after + 1)]
            for hit, folded in zip(evidence, copies(hits) or (), strict=False):
                hit.copies = folded
            yield evidence

    def _highlighter(self, text: str, limit: Deadline | None, part: str) -> Highlighter:
        marked = highlighter(text, self._state.terms)
        return in_time(marked, partial(limit.is_over, part)) if limit else marked

    def with_passages(self, text: str, hits: Sequence[Evidence], limit: Deadline | None) -> list[Evidence]:
        """Return the hits with all passages of their documents that contain a word of ``text``, if read in time."""
        marked = self._highlighter(text, limit, PASSAGES)
        return [msgspec.structs.replace(hit, passages=self._passages(marked, hit, limit)) for hit in hits]

    def _passages(self, marked: Highlighter, hit: Evidence, limit: Deadline | None) -> list[PassageAnswer]:
        if limit and limit.is_over(PASSAGES):
            return [hit.passage]
        passages = []
        for passage in self._state.passages(hit.docid):
            marks = marked(passage.text)
            if marks or passage.number == hit.passage.number:
                if limit:
                    limit.memory.spend(WRITTEN * sys.getsizeof(passage.text))
                passages.append(_passage_answer(hit.metadata, passage, marks))
        return passages

    def texts(self, hits: Sequence[Hit], spend: Callable[[int], object]) -> list[Stored]:
        """Return the passages of hits, in their order; ``spend`` receives the size of each document as it is read."""
        places = ((hit.docid, hit.passage) for hit in hits)
        stored = self._state.stored(places, lambda document, _: spend(sys.getsizeof(document.text)))
        return [stored[hit.docid, hit.passage] for hit in hits]


def _passage_answer(metadata: Mapping[str, Any], passage: Passage, marks: list[tuple[int, int]]) -> PassageAnswer:
    _, number, start, end, text = passage
    page = page_at(metadata, start)
    return PassageAnswer(number=number, page=page, start=start, end=end, text=text, highlights=marks)


class _Charge:
    """Charges the memory of each document, and of its passage, which the answer repeats. It collects small charges."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        self._spend = spend
        self._owed = 0

    def __call__(self, document: Document, span: Span) -> None:
        text = document.text
        size = sys.getsizeof(text)
        self._owed += size + WRITTEN * size * (span.end - span.start) // (len(text) or 1)
        if self._owed >= _CHARGED_AT_ONCE:
            self.settle()

    def settle(self) -> None:
        owed, self._owed = self._owed, 0
        self._spend(owed)


def _evidence(
    marked: Highlighter, rank: int, hit: Hit, *, retriever: str, stored: Mapping[Place, Stored], staged: Container[str]
) -> Evidence:
    record = stored[hit.docid, hit.passage]
    document, passage = record.document, record.passage
    by_retrievers: dict[str, RetrieverPart] = {}
    by_stages: dict[str, RetrieverPart] = {}
    for part in hit.parts:
        is_stage = part.retriever in staged
        (by_stages if is_stage else by_retrievers)[part.retriever] = part_answer(part, staged=is_stage)
    if not hit.parts:
        by_retrievers[retriever] = RetrieverPart(rank=rank, score=hit.score)
    return Evidence(
        rank=rank,
        docid=hit.docid,
        score=hit.score,
        retrievers=by_retrievers,
        stages=by_stages or msgspec.UNSET,
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
