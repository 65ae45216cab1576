"""Many queries in one request: they are ranked in groups and answered as results arrive; an invalid
query fails alone.

The memory of each part is charged as it is read, and given back as it is sent. If too little is
left, the answer waits without a thread: clients that read large answers slowly delay each other,
but cause no refusals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from ...core.deadline import CutOffError, Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from ...core.records.runs import run_lines
from ...retrieval import retrievers
from ...retrieval.search.answer import Took, coverage, milliseconds
from ..call import Call
from ..errors import BadInput
from ..memory import NoMemoryError, PartMemory
from ..schemas import BatchFault, BatchHits, BatchQuery, BatchRequest
from ..search import search_of

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_AT_ONCE = 10
# The number of bytes of JSON in a piece: smaller pieces help no client, and each wakes the event
# loop.
_PIECE = 100_000
_READ = 500  # the number of hits whose documents are read together
_AHEAD = 2  # the number of parts that are ranked ahead while one part is read
# The most bytes of a part with several queries; a larger one is split into its queries.
_PART = 16 << 20
_WAIT = b""  # the piece that means: the answer waits for memory

Answer = BatchHits | BatchFault
Made = TypeVar("Made")


class _Ranked(NamedTuple):
    query: BatchQuery
    hits: list[Hit]
    fault: BatchFault | None = None
    missing: Sequence[str] = ()
    first: Sequence[Hit] = ()
    """The hits that decide whether the hits are related to the query."""


class Batch:
    """The queries of one request to one index; call :meth:`pieces` or :meth:`run` once."""

    def __init__(self, call: Call, index: Index, request: BatchRequest) -> None:
        """Check the options that all queries share; raise BadInput, with the field, if one is
        invalid.
        """
        self._index = index
        self._request = request
        self._search = search_of(call, request, index)
        self.retriever = self._search.retriever or ""
        self.retrieve = self.evidence = 0.0
        server, number = call.serving.config.server, len(request.queries)
        self._seconds = server.search_seconds
        self._k = k = request.k or index.settings.search.k
        if not 1 <= number <= server.max_batch:
            raise BadInput(
                "queries", f"the batch contains {number} queries; send 1 to {server.max_batch}"
            )
        if number * k > server.max_batch_hits:
            reason = (
                f"{number} queries with {k} hits each exceed {server.max_batch_hits} hits in "
                "all; split the batch"
            )
            raise BadInput("k", reason)
        self._beside = call.serving.beside
        self._memory = call.memory
        call.note([query.text for query in request.queries], self)

    @property
    def took(self) -> Took:
        """The milliseconds of the work so far."""
        return Took(retrieve=round(self.retrieve, 2), evidence=round(self.evidence, 2))

    def pieces(self, written: Callable[[int, Answer], bytes]) -> Generator[bytes]:
        """Yield the answers in order; ``written`` turns each into bytes.

        Yield an empty piece if there is no memory.
        """
        number = 0
        for group in self._rank_some():
            if group is None:
                yield _WAIT
                continue
            yield from self._write_group(list(enumerate(group, number)), written)
            number += len(group)

    def run(self) -> tuple[str, int]:
        """Return a TREC run, and the number of failed queries, which it lacks; raise
        NoMemoryError.
        """
        lines, faults = [], 0
        for group in self._rank_some():
            if group is None:
                raise NoMemoryError  # an answer that has not begun is refused, and does not wait
            for ranked in group:
                try:
                    if ranked.fault or ranked.missing:
                        raise QueryError(
                            "not answered, or not by all retrievers, which a run cannot express"
                        )
                    lines.append(run_lines(ranked.query.qid, ranked.hits, self._request.run_id))
                except QueryError:
                    faults += 1
        return "".join(lines), faults

    def _write_group(
        self, group: Sequence[tuple[int, _Ranked]], written: Callable[[int, Answer], bytes]
    ) -> Iterator[bytes]:
        memory = PartMemory(self._memory, _PART if len(group) > 1 else None)
        try:
            while (
                pieces := _make_or_release(partial(self._write, group, written), memory)
            ) is None:
                if len(group) > 1:
                    yield from chain.from_iterable(
                        self._write_group([numbered], written) for numbered in group
                    )
                    return
                yield _WAIT
            pieces.reverse()
            while pieces:  # the memory of each is free once it is sent
                piece = pieces.pop()
                memory.keep(len(piece) + sum(map(len, pieces)))
                yield piece
        finally:
            memory.keep(0)

    def _write(
        self,
        group: Sequence[tuple[int, _Ranked]],
        written: Callable[[int, Answer], bytes],
        memory: PartMemory,
    ) -> list[bytes]:
        began = perf_counter()
        answers = self._answer([ranked for _, ranked in group], memory)
        content = b"".join(
            written(number, answer) for (number, _), answer in zip(group, answers, strict=True)
        )
        self.evidence += milliseconds(began, perf_counter())
        return [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]

    def _answer(self, group: Sequence[_Ranked], memory: PartMemory) -> Iterator[Answer]:
        index, resolved = self._index, self._index.resolve(self._search)
        reading = Deadline(self._seconds * len(group), self._beside, memory)
        search = self._search
        texts = [(ranked.query.text, ranked.hits) for ranked in group]
        evidences = index.evidences(texts, search, highlight=self._request.highlight, limit=reading)
        for ranked, evidence in zip(group, evidences, strict=True):
            if ranked.fault:
                yield ranked.fault
                continue
            text = ranked.query.text
            hits = (
                index.with_passages(text, evidence, search, reading)
                if self._request.passages
                else evidence
            )
            plan = index.plan(search)
            relatedness = plan.relatedness(text, ranked.first)
            absent = plan.absent_words(text) if relatedness.asks_for_absent_words else ()
            missing = (*ranked.missing, *reading.missing, *index.missing_since(reading.began))
            yield BatchHits(
                qid=ranked.query.qid,
                note=index.note(text, self._search),
                hits=hits,
                related=relatedness.related,
                absent_words=list(absent),
                coverage=coverage(resolved.rankings, missing) or msgspec.UNSET,
                approximate=resolved.approximate or msgspec.UNSET,
            )

    def _rank_some(self) -> Iterator[list[_Ranked] | None]:
        """Yield a few ranked queries at a time, to read their documents together; yield None if
        there is no memory.
        """
        seen: set[str] = set()
        few = max(1, _READ // self._k)
        began = perf_counter()
        for group in self._rank_ahead():
            self.retrieve += milliseconds(began, perf_counter())
            if group is None:
                yield None
                began = perf_counter()
                continue
            for place, ranked in enumerate(group):
                if ranked.query.qid in seen:
                    group[place] = _make_fault(
                        ranked.query, "qid", "another query has the same qid"
                    )
                seen.add(ranked.query.qid)
            yield from (group[start : start + few] for start in range(0, len(group), few))
            began = perf_counter()

    def _rank_ahead(self) -> Iterator[list[_Ranked] | None]:
        """Yield a few ranked queries at a time; the next queries may be ranked meanwhile."""
        queries = self._request.queries
        parts = [queries[start : start + _AT_ONCE] for start in range(0, len(queries), _AT_ONCE)]
        ahead = 0 if retrievers.kind(self.retriever).batches else 1 + _AHEAD
        pending: deque[Future[list[_Ranked]]] = deque()
        try:
            for at, part in enumerate(parts):
                for next_part in parts[at + len(pending) : at + ahead]:
                    pending.append(self._beside.submit(self._rank_group, next_part))
                try:
                    yield pending.popleft().result() if ahead else self._rank_group(part)
                    continue
                except NoMemoryError:
                    pass  # too little memory for all at once, so rank one by one
                for query in part:
                    memory = PartMemory(self._memory)
                    while (
                        ranked := _make_or_release(partial(self._rank_one, query), memory)
                    ) is None:
                        yield None
                    memory.keep(0)
                    yield [ranked]
        finally:  # do not work for a client that has left
            for future in pending:
                future.cancel()

    def _rank_group(self, queries: Sequence[BatchQuery]) -> list[_Ranked]:
        memory = PartMemory(self._memory, _PART if len(queries) > 1 else None)
        try:
            return self._rank(queries, memory)
        except (QueryError, CutOffError):
            # at least one query fails: find out which
            return [self._rank_one(query, memory) for query in queries]
        finally:
            memory.keep(0)

    def _rank(self, queries: Sequence[BatchQuery], memory: PartMemory) -> list[_Ranked]:
        limit = Deadline(self._seconds * len(queries), self._beside, memory)
        plan = self._index.plan(self._search)
        rankings = plan.hits_and_first([query.text for query in queries], limit)
        missing = (*limit.missing, *self._index.missing_since(limit.began))
        return [
            _Ranked(query, hits, None, missing, first)
            for query, (first, hits) in zip(queries, rankings, strict=True)
        ]

    def _rank_one(self, query: BatchQuery, memory: PartMemory) -> _Ranked:
        try:
            return self._rank([query], memory)[0]
        except QueryError as error:
            return _make_fault(query, "text", error.line)
        except CutOffError as error:
            return _Ranked(
                query,
                [],
                BatchFault(qid=query.qid, error="timed-out", detail=error.line, field="text"),
            )


def _make_fault(query: BatchQuery, field: str, reason: str) -> _Ranked:
    fault = BatchFault(qid=query.qid, error="bad-input", detail=f"{field}: {reason}", field=field)
    return _Ranked(query, [], fault)


def _make_or_release(make: Callable[[PartMemory], Made], memory: PartMemory) -> Made | None:
    """Return the result of ``make``; if there is not enough memory, give back all that is held and
    return None.
    """
    try:
        memory.take_again()
        return make(memory)
    except NoMemoryError:
        memory.keep(0)
        return None
