"""Group near-duplicates under their best hit: the same snippet in many pages, syndicated articles,
retweets.

A hit is left out if its passage is a near-duplicate of the passage of a better hit that stays.
Whether a hit stays depends on better hits only, so a shorter list is the beginning of a longer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...core.deadline import Deadline
from ...core.domain import Hit
from ...core.errors import QueryError
from ..search.evidence import Copies
from ..store.manifest import SIGNATURES
from ..store.signatures import WORDS, Signatures, disagreements, most_disagreements
from . import StageContext, Texts, with_part

LABEL = "Near-duplicates together"
HELP = "groups near-duplicates under their best hit: collapse=near"
VIEWS = {SIGNATURES: "it has no signatures; add them with factseek compact --add signatures"}
"""The views that the stage reads, each with a message for an index without that view."""
NEAR = 0.58
"""Two passages are near-duplicates if their share of common words is at least this.

If half of the words are changed at random, the share is .33; if a quarter is changed, it is .6.
"""
# The maximum number of near-duplicates' docids to list; the count covers all near-duplicates.
MOST_NAMED = 100


def open(value: str, context: StageContext) -> Collapse:
    if value not in ("", "near"):
        raise QueryError(
            f"collapse={value[:20]}: near is the only value", remedy="use collapse=near"
        )
    return Collapse(context)


class Collapse:
    """Groups the near-duplicates in one index, and lists their docids."""

    window = None
    _most = most_disagreements(NEAR)

    def __init__(self, context: StageContext) -> None:
        self._state, self._where = context.state, context.where

    def depth(self, k: int) -> int:
        return 2 * k

    def apply(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        texts: Texts,
        limit: Deadline | None,
    ) -> list[list[Hit]]:
        return [list(self._keep_leaders(ranked)) for ranked in hits]

    def copies(self, hits: Sequence[Hit]) -> list[Copies]:
        """Return each hit's near-duplicates in the index under the filter, without the hit's own
        document.
        """
        counted = []
        for hit, near in zip(
            hits, self._state.near_copies(self._of(hits), self._most, self._where), strict=True
        ):
            docids = sorted(near - {hit.docid})
            counted.append(Copies(count=len(docids), docids=docids[:MOST_NAMED]))
        return counted

    def _of(self, hits: Sequence[Hit]) -> Signatures:
        return self._state.signatures([(hit.docid, hit.passage) for hit in hits])

    def _keep_leaders(self, hits: Sequence[Hit]) -> Iterator[Hit]:
        signatures = self._of(hits)
        leaders, count = np.empty((len(hits), WORDS), dtype="<u8"), 0
        for rank, (hit, signature) in enumerate(zip(hits, signatures, strict=True), 1):
            if not (disagreements(leaders[:count], signature) <= self._most).any():
                leaders[count] = signature
                count += 1
                yield with_part(hit, "collapse", rank, hit.score)
