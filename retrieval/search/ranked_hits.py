"""The hits of one query as Python has them: a list that a notebook shows with its passages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ...core.domain import Hit
from ...core.notebook import html_rows
from ...core.text import pieces_of

if TYPE_CHECKING:
    from .evidence import Evidence
    from .index import Index
    from .options import Search
    from .prepared_query import AnyQuery

_SHOWN = 20  # the number of hits that a notebook shows
_LONGEST = 500  # the number of characters of a passage that a notebook shows


class RankedHits(list[Hit]):
    """The hits of a query, best first; a notebook shows them as a table with highlights.

    It equals a list of these hits. A copy and a pickle of it are plain lists, because an open index
    cannot be copied.
    """

    def __init__(self, hits: Sequence[Hit], index: Index, query: AnyQuery, search: Search) -> None:
        super().__init__(hits)
        self._index, self._query, self._search = index, query, search

    def __reduce_ex__(self, protocol: object) -> tuple[type[list[Hit]], tuple[list[Hit]]]:
        return list, (list(self),)

    def _repr_html_(self) -> str:
        """Return the first hits with their passages as HTML, which loads nothing.

        Raises ClosedError if the index is closed.
        """
        read = self._index.evidence(self._query, self[:_SHOWN], self._search)
        rows = [_row(hit) for hit in read]
        header = ("rank", "score", "docid", "passage", "date", "source", "retrievers")
        more = f"<p>and {len(self) - len(rows):,} more</p>" if len(self) > len(rows) else ""
        return f"<div>{html_rows(header, rows)}{more}</div>"


def _row(hit: Evidence) -> list[str]:
    """Return the cells of a hit as HTML."""
    retrievers = ", ".join(f"{name} {part.rank}" for name, part in hit.retrievers.items())
    texts = (str(hit.rank), f"{hit.score:.4f}", hit.docid)
    title = f"<strong>{escape(hit.title)}</strong><br>" if hit.title else ""
    passage = title + _marked(hit.passage.text, hit.passage.highlights)
    return [
        *map(escape, texts),
        passage,
        *map(escape, (hit.date, hit.source, retrievers)),
    ]


def _marked(text: str, highlights: Sequence[tuple[int, int]]) -> str:
    """Return the beginning of a passage as HTML, with its highlights marked."""
    end = len(text)
    if end > _LONGEST:
        blank = text.rfind(" ", 0, _LONGEST)
        end = blank if blank > 0 else _LONGEST
    pieces = [
        f"<mark>{escape(piece.text)}</mark>" if piece.marked else escape(piece.text)
        for piece in pieces_of(text, highlights, 0, end)
    ]
    return "".join(pieces) + (" …" if end < len(text) else "")
