"""Limit the hits of one source, so that one site does not fill the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...core.deadline import Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from . import StageContext, Texts, with_part

LABEL = "Per source"
HELP = "keeps at most this many hits of one source: per_source=2"
DEFAULT = 2
MOST_DIGITS = 6


def open(value: str, context: StageContext) -> PerSource:
    if not value:
        return PerSource(DEFAULT, context)
    if not (value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS and int(value)):
        raise QueryError(
            f"per_source={value[:20]}: give the maximum number of hits of one source, 1 or more"
        )
    return PerSource(int(value), context)


class PerSource:
    """Keeps the first hits of each source, and all documents without a source."""

    window = None

    def __init__(self, most: int, context: StageContext) -> None:
        self._most = most
        self._state = context.state

    def depth(self, k: int) -> int:
        """Return ``2 * k``: usually ``k`` of these hits remain; otherwise the search then asks for
        more hits.
        """
        return 2 * k

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        places = [(hit.docid, hit.passage) for ranked in hits for hit in ranked]
        sources = iter(self._state.document_values(places, "source"))
        return [list(self._keep_first(ranked, [next(sources) for _ in ranked])) for ranked in hits]

    def _keep_first(self, hits: Sequence[Hit], sources: Sequence[str]) -> Iterator[Hit]:
        counts: Counter[str] = Counter()
        for rank, (hit, source) in enumerate(zip(hits, sources, strict=True), 1):
            counts[source] += 1
            if not source or counts[source] <= self._most:
                yield with_part(hit, "per_source", rank, hit.score)
