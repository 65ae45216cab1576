"""What the page shows of a hit, made from pieces of text that the template escapes one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from retrieval.domain import Document, Passage
from retrieval.evidence import Evidence

LONGEST_EXCERPT = 480
_LEAD = 60


class Piece(NamedTuple):
    """A stretch of text, and whether it matches the query."""

    text: str
    marked: bool


class Place(NamedTuple):
    """Where else a document was found: a column's label, its anchor, the rank in it."""

    label: str
    anchor: str
    rank: int


class Card(NamedTuple):
    """One hit of a column."""

    hit: Evidence
    anchor: str
    pieces: list[Piece]
    link: str
    elsewhere: list[Place]


class Block(NamedTuple):
    """A stretch of a document's text; ``number`` is the passage that begins there, if one does."""

    number: int | None
    text: str
    chosen: bool


def cards(column: str, ranking: Sequence[Evidence], others: Mapping[str, Sequence[Evidence]]) -> list[Card]:
    """Return the cards of a column; ``others`` holds the hits of the columns beside it by their names."""
    places = {name: {hit.docid: hit.rank for hit in hits} for name, hits in others.items()}
    return [
        Card(
            hit=hit,
            anchor=f"{column}-{hit.rank}",
            pieces=excerpt(hit.passage.text, hit.passage.highlights),
            link=web_link(hit.url),
            elsewhere=[
                Place(name, f"{name}-{ranks[hit.docid]}", ranks[hit.docid])
                for name, ranks in places.items()
                if hit.docid in ranks
            ],
        )
        for hit in ranking
    ]


def excerpt(text: str, highlights: Sequence[tuple[int, int]], longest: int = LONGEST_EXCERPT) -> list[Piece]:
    """Cut the stretch with most highlights out of ``text``, whole words, and split it at its highlights."""
    begin = _best_start(text, highlights, longest)
    end = min(begin + longest, len(text))
    if begin:
        begin = _word_after(text, begin, end)
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin) if " " in text[begin:end] else end
    pieces, last = [Piece("… ", False)] if begin else [], begin
    for start, stop in highlights:
        if start >= last and stop <= end:
            pieces += [Piece(text[last:start], False), Piece(text[start:stop], True)]
            last = stop
    pieces.append(Piece(text[last:end] + (" …" if end < len(text) else ""), False))
    return [piece for piece in pieces if piece.text]


def web_link(url: str) -> str:
    """Return ``url`` if a browser may be sent there, else ``""``."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""


def blocks(document: Document, passages: Sequence[Passage], chosen: int | None) -> list[Block]:
    """Cut a document's whole text where its passages begin; ``chosen`` is the number of a passage to point out.

    Passages may overlap, blocks do not: no text is shown twice.
    """
    picked = next((passage for passage in passages if passage.number == chosen), None)
    numbers = {passage.start: passage.number for passage in passages}
    ends = (picked.start, picked.end) if picked else ()
    cuts = sorted({0, len(document.text), *numbers, *ends})
    cut = [
        Block(numbers.get(start), document.text[start:end], picked is not None and picked.start <= start < picked.end)
        for start, end in pairwise(cuts)
    ]
    return [block for block in cut if block.text.strip()]


def _best_start(text: str, highlights: Sequence[tuple[int, int]], longest: int) -> int:
    """Return where a stretch of at most ``longest`` characters holds most highlights, the earliest of several."""
    if len(text) <= longest:
        return 0
    starts = [0, *(max(start - _LEAD, 0) for start, _ in highlights)]
    inside = [sum(begin <= start and end <= begin + longest for start, end in highlights) for begin in starts]
    return min(starts[inside.index(max(inside))], len(text) - longest)


def _word_after(text: str, begin: int, end: int) -> int:
    """Return where the first word after ``begin`` starts, or ``begin`` in a text without blanks."""
    blank = text.find(" ", begin, min(begin + _LEAD, end))
    return blank + 1 if blank >= 0 else begin
