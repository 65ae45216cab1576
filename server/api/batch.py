"""Many queries in one request: ranked some at a time, answered as results arrive; a bad query fails alone.

The memory of each part of the answer is charged as the part is read, and given back as it is sent. If there is no
memory, the answer waits without a thread. So slow readers of large answers delay each other, but never cause refusals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from ...retrieval import retrievers
from ...retrieval.deadline import CutOffError, Deadline
from ...retrieval.domain import Hit
from ...retrieval.errors import QueryError
from ...retrieval.records.runs import run_lines
from ...retrieval.search.answer import Took, coverage, milliseconds
from ...retrieval.search.evidence import Evidence
from ..errors import BadInput
from ..memory import NoMemoryError, PartMemory, answer_memory
from ..runtime import registry
from ..schemas import BatchFault, BatchHits, BatchQuery, BatchRequest
from ..search import limit_of, note_search, search_of

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_AT_ONCE = 10
_PIECE = 100_000
"""Bytes of JSON to send at once: clients cannot use half an object, and each piece wakes the event loop."""
_READ = 500
"""Hits whose documents are read together."""
_AHEAD = 2
"""Parts that are ranked ahead while one is read."""
_PART = 16 << 20
"""The most bytes of a part with several queries; if it needs more, each query becomes a part."""
_WAIT = b""
"""The piece that means: the answer waits for memory."""

Answer = BatchHits | BatchFault
Made = TypeVar("Made")


class Batch:
    """The queries of one request to one index; iterate over it once."""

    def __init__(self, index: Index, request: BatchRequest) -> None:
        """Check the options that all queries share.

        Raises BadInput, with the field, if one is invalid.
        """
        self._index = index
        self._request = request
        self.search = search_of(request, index)
        self.retrieve = self.evidence = 0.0
        server = registry().config.server
        self._seconds = server.search_seconds
        self._k = k = request.k or index.settings.search.k
        most = server.max_batch
        if not 1 <= len(request.queries) <= most:
            raise BadInput("queries", f"a batch contains 1 to {most} queries, this one {len(request.queries)}")
        most_hits = server.max_batch_hits
        if len(request.queries) * k > most_hits:
            raise BadInput(
                "k", f"{len(request.queries)} queries of {k} hits are more than the {most_hits} of one batch; split it"
            )
        self._beside = limit_of().beside
        self._limit = partial(Deadline, beside=self._beside)
        self._memory = answer_memory()
        note_search([query.text for query in request.queries], self)

    @property
    def took(self) -> Took:
        """The milliseconds of the work so far."""
        return Took(retrieve=round(self.retrieve, 2), evidence=round(self.evidence, 2))

    @property
    def retriever(self) -> str:
        """The retriever that answers."""
        return self.search.retriever or ""

    def pieces(self, written: Callable[[int, Answer], bytes]) -> Iterator[bytes]:
        """Yield the evidence for each query, in order, in pieces. ``written`` writes an answer, given its number.

        An empty piece means that there is no memory for the next part yet.
        """
        number = 0
        for some in self._ranked():
            if some is None:
                yield _WAIT
                continue
            numbered = list(enumerate(some, number))
            number += len(some)
            yield from self._part(numbered, written)

    def _part(self, some: Sequence[tuple[int, _Ranked]], written: Callable[[int, Answer], bytes]) -> Iterator[bytes]:
        """Yield a part of the answer in pieces; give their memory back as they are sent."""
        memory = self._part_memory(some)
        try:
            while (pieces := _made(partial(self._written, some, written), memory)) is None:
                if len(some) > 1:
                    yield from chain.from_iterable(self._part([numbered], written) for numbered in some)
                    return
                yield _WAIT
            for piece in _let_go(pieces):
                memory.keep(len(piece) + sum(map(len, pieces)))
                yield piece
        finally:
            memory.keep(0)

    def _part_memory(self, some: Sequence[object]) -> PartMemory:
        return PartMemory(self._memory, _PART if len(some) > 1 else None)

    def _written(
        self, some: Sequence[tuple[int, _Ranked]], written: Callable[[int, Answer], bytes], memory: PartMemory
    ) -> list[bytes]:
        """Return the answers to some queries, cut into pieces of moderate size.

        Raises NoMemoryError if there is no memory for their documents.
        """
        began = perf_counter()
        answers = self._answered([ranked for _, ranked in some], memory)
        content = b"".join(written(number, answer) for (number, _), answer in zip(some, answers, strict=True))
        self.evidence += milliseconds(began, perf_counter())
        return [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]

    def run(self) -> tuple[str, int]:
        """Return the results as a TREC run, and the number of failed queries, which are not in it.

        Raises NoMemoryError if there is no memory for the data that stages read.
        """
        lines, faults = [], 0
        for ranked in chain.from_iterable(map(_without_waiting, self._ranked())):
            try:
                if ranked.fault or ranked.missing:
                    raise QueryError("not answered, or not by all retrievers, which a run cannot express")
                lines.append(run_lines(ranked.query.qid, ranked.hits, self._request.run_id))
            except QueryError:
                faults += 1
        return "".join(lines), faults

    def _answered(self, some: Sequence[_Ranked], memory: PartMemory) -> Iterator[Answer]:
        ranked_texts = [(ranked.query.text, ranked.hits) for ranked in some]
        reading = self._limit(self._seconds * len(some), memory=memory)
        search = self.search._replace(limit=reading)
        evidences = self._index.evidences(ranked_texts, search, highlight=self._request.highlight)
        for ranked, evidence in zip(some, evidences, strict=True):
            yield ranked.fault or self._answer(ranked, evidence, reading)

    def _answer(self, ranked: _Ranked, evidence: list[Evidence], reading: Deadline) -> BatchHits:
        text = ranked.query.text
        if self._request.passages:
            evidence = self._index.with_passages(text, evidence, self.search._replace(limit=reading))
        resolved = self._index.resolve(self.search)
        missing = (*ranked.missing, *reading.missing, *self._index.missing_since(reading.began))
        return BatchHits(
            qid=ranked.query.qid,
            note=self._index.note(text, self.search),
            hits=evidence,
            coverage=coverage(resolved.rankings, missing) or msgspec.UNSET,
            approximate=resolved.approximate or msgspec.UNSET,
        )

    def _ranked(self) -> Iterator[list[_Ranked] | None]:
        """Yield the rankings of a few queries at once, whose documents are read together; None to wait."""
        few = max(1, _READ // self._k)
        seen: set[str] = set()
        began = perf_counter()
        for some in self._chunks():
            self.retrieve += milliseconds(began, perf_counter())
            if some is None:
                yield None
                began = perf_counter()
                continue
            once = [_once(ranked, seen) for ranked in some]
            yield from (once[start : start + few] for start in range(0, len(once), few))
            began = perf_counter()

    def _chunks(self) -> Iterator[list[_Ranked] | None]:
        """Yield the rankings of some queries at a time; the next ones may be ranked while these are read.

        None means that there is no memory yet for the data that stages read.
        """
        queries = self._request.queries
        parts = [queries[start : start + _AT_ONCE] for start in range(0, len(queries), _AT_ONCE)]
        if retrievers.kind(self._index.resolve(self.search).retriever).BATCHES:
            for part in parts:
                yield from self._ranked_in_parts(part, partial(self._some, part))
            return
        begun: deque[tuple[Sequence[BatchQuery], Future[list[_Ranked]]]] = deque()
        try:
            for part in parts:
                begun.append((part, self._beside.submit(self._some, part)))
                if len(begun) > _AHEAD:
                    first, future = begun.popleft()
                    yield from self._ranked_in_parts(first, future.result)
            while begun:
                first, future = begun.popleft()
                yield from self._ranked_in_parts(first, future.result)
        finally:  # do not work for a client that has left
            for _, future in begun:
                future.cancel()

    def _ranked_in_parts(
        self, queries: Sequence[BatchQuery], result: Callable[[], list[_Ranked]]
    ) -> Iterator[list[_Ranked] | None]:
        """Yield the result or, if there is no memory for all at once, one ranking after the other."""
        try:
            together: list[_Ranked] | None = result()
        except NoMemoryError:
            together = None
        if together is not None:
            yield together
            return
        for query in queries:
            memory = PartMemory(self._memory)
            while (ranked := _made(partial(self._rank_one, query), memory)) is None:
                yield None
            memory.keep(0)
            yield [ranked]

    def _some(self, queries: Sequence[BatchQuery]) -> list[_Ranked]:
        memory = self._part_memory(queries)
        try:
            return self._rank(queries, memory)
        except (QueryError, CutOffError):
            # one of them is bad: find out which
            return [self._rank_one(query, memory) for query in queries]
        finally:
            memory.keep(0)

    def _rank(self, queries: Sequence[BatchQuery], memory: PartMemory) -> list[_Ranked]:
        limit = self._limit(self._seconds * len(queries), memory=memory)
        hits = self._index.search([query.text for query in queries], self.search._replace(limit=limit))
        missing = (*limit.missing, *self._index.missing_since(limit.began))
        return [_Ranked(query, ranking, None, missing) for query, ranking in zip(queries, hits, strict=True)]

    def _rank_one(self, query: BatchQuery, memory: PartMemory) -> _Ranked:
        try:
            return self._rank([query], memory)[0]
        except QueryError as error:
            return _failed(query, "text", error.line)
        except CutOffError as error:
            return _Ranked(query, [], BatchFault(qid=query.qid, error="timed-out", detail=error.line, field="text"))


class _Ranked(NamedTuple):
    """A query with its hits, or with its fault."""

    query: BatchQuery
    hits: list[Hit]
    fault: BatchFault | None = None
    missing: Sequence[str] = ()


def _once(ranked: _Ranked, seen: set[str]) -> _Ranked:
    """Return a query's hits, or a fault if its qid was ``seen`` before."""
    if ranked.query.qid in seen:
        return _failed(ranked.query, "qid", "another query of this batch has it")
    seen.add(ranked.query.qid)
    return ranked


def _failed(query: BatchQuery, field: str, reason: str) -> _Ranked:
    fault = BatchFault(qid=query.qid, error="bad-input", detail=f"{field}: {reason}", field=field)
    return _Ranked(query, [], fault)


def _made(make: Callable[[PartMemory], Made], memory: PartMemory) -> Made | None:
    """Return the result of ``make``, or None, holding no memory, if there is not enough."""
    try:
        memory.take_again()
        return make(memory)
    except NoMemoryError:
        memory.keep(0)
        return None


def _let_go(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield pieces in order, and remove each from the list first, so that its memory is freed."""
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def _without_waiting(ranked: list[_Ranked] | None) -> list[_Ranked]:
    """Return rankings, unless they wait for memory: an answer that has not begun is refused instead.

    Raises NoMemoryError if they wait.
    """
    if ranked is None:
        raise NoMemoryError
    return ranked


def json_pieces(head: dict[str, str], batch: Batch) -> Iterator[bytes]:
    """Yield one JSON object in pieces: ``head``, ``results`` and, last, ``took_ms``; an empty piece means waiting."""
    yield msgspec.json.encode(head)[:-1] + b',"results":['
    yield from batch.pieces(lambda number, answer: b"," * bool(number) + msgspec.json.encode(answer))
    yield b'],"took_ms":' + msgspec.json.encode(batch.took) + b"}"


def ndjson_pieces(batch: Batch) -> Iterator[bytes]:
    """Yield one line of JSON per query; an empty piece means that the answer waits for memory."""
    return batch.pieces(lambda _, answer: msgspec.json.encode(answer) + b"\n")
