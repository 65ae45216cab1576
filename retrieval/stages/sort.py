"""Sort the best hits by date, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...core.deadline import Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from ..filters import last_day
from . import StageContext, Texts, with_part

LABEL = "By date"
HELP = "sorts the best hits by date, newest first: sort=date"
_NAME = "sort"


def open(value: str, context: StageContext) -> Sort:
    if value not in ("", "date"):
        raise QueryError(f"sort={value[:20]}: date is the only value", remedy="use sort=date")
    return Sort(context.settings.search.fusion.depth, context)


class Sort:
    """Sorts by date the hits that score at least half of the best score; the others follow in their
    old order.

    A sort of all hits would show the newest documents, relevant or not; ``dense`` even ranks every
    document. If a score is below 0, the lowest score is first subtracted from all scores. A partial
    date counts as its last day. Hits of one day keep their order. Among the sorted hits, those
    without a date come last.
    """

    def __init__(self, window: int, context: StageContext) -> None:
        self.window = window
        self._state = context.state

    def depth(self, k: int) -> int:
        return k

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        """Return each query's hits in their new order; the score of a hit is its place counted from
        the end.
        """
        places = [(hit.docid, hit.passage) for ranked in hits for hit in ranked]
        days = map(last_day, self._state.document_values(places, "date"))
        return [_newest_first(ranked, [next(days) for _ in ranked]) for ranked in hits]


def _newest_first(hits: Sequence[Hit], days: Sequence[str]) -> list[Hit]:
    lowest = min(0.0, *(hit.score for hit in hits)) if hits else 0.0
    best = sum(hit.score - lowest >= (hits[0].score - lowest) / 2 for hit in hits)
    ranked = list(enumerate(hits, 1))
    dated = (
        sorted(ranked[:best], key=lambda place: days[place[0] - 1], reverse=True) + ranked[best:]
    )
    return [
        msgspec.structs.replace(
            with_part(hit, _NAME, rank, hit.score), score=float(len(hits) - place)
        )
        for place, (rank, hit) in enumerate(dated)
    ]
