"""The cards on which the page shows hits, in pieces of text that the template escapes one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...retrieval.domain import Document, Passage
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.listings import Citation, citation, list_hits
from ...retrieval.text import Piece, pieces_of
from .i18n import direction_of
from .reasons import Reason

LONGEST_EXCERPT = 480
Mark = Callable[[str], Sequence[tuple[int, int]]]
"""A function from a text to its stretches that match a query, in order."""
_LEAD = 60
_VERDICTS = frozenset({"true", "mixed", "false", "unproven"})
_TITLE = 80
"""Characters of a passage that stand for the title of a document without one."""


class Place(NamedTuple):
    """Another column that holds a document: its label, its anchor, the rank in it."""

    label: str
    anchor: str
    rank: int


class Review(NamedTuple):
    """A fact-checker's word on a claim, as far as the document has it; ``verdict`` is one of four words or empty."""

    claimant: str
    rating: str
    publisher: str
    verdict: str


class Copy(NamedTuple):
    """A document with a near-copy of a hit's passage, as a link."""

    title: str
    address: str


class Cited(NamedTuple):
    """The citations of a hit; ``link`` leads to the source, or to the document here where it names none."""

    plain: str
    ris: str
    link: str


class Card(NamedTuple):
    """One hit of a column.

    ``address`` leads to its document, ``like`` to what is like it, ``copies`` are the first of the documents that are
    folded under it.
    """

    hit: Evidence
    anchor: str
    pieces: list[Piece]
    link: str
    elsewhere: list[Place]
    address: str
    reason: Reason
    cited: Cited
    like: str
    copies: list[Copy]

    @property
    def title(self) -> str:
        """The title for people: that of the document, else its first words, so that nobody reads an id."""
        return title_of(self.hit.title, self.hit.passage.text, self.hit.docid)

    @property
    def direction(self) -> str:
        """The card's ``dir``: where the language is not known, the browser looks at the title."""
        return "rtl" if direction_of(self.hit.language) == "rtl" else "auto"

    @property
    def review(self) -> Review | None:
        """What the hit says as the review of a claim, None if it holds no rating."""
        return review_of(self.hit.metadata)


class Block(NamedTuple):
    """A stretch of a document's text, line by line; ``number`` is the passage that begins there, if one does."""

    number: int | None
    lines: list[list[Piece]]
    chosen: bool

    @property
    def marked(self) -> bool:
        """Whether anything in it matches the query."""
        return any(piece.marked for line in self.lines for piece in line)


def elsewhere(docid: str, column: str, rankings: Mapping[str, Sequence[Evidence]]) -> list[Place]:
    """Return the places of a document in the other columns among ``rankings``, the hits of all."""
    placed = {name: ranks(hits).get(docid) for name, hits in rankings.items() if name != column}
    return [Place(name, f"{name}-{rank}", rank) for name, rank in placed.items() if rank is not None]


def title_of(title: str, passage: str, docid: str) -> str:
    """Return a document's title for people: its own, else the first words of a passage, else its id."""
    if title or not passage.strip():
        return title or docid
    text = " ".join(passage.split())
    return text if len(text) <= _TITLE else f"{text[:_TITLE].rsplit(' ', 1)[0]} …"


def review_of(metadata: Mapping[str, Any]) -> Review | None:
    """Return what the metadata of a document say as the review of a claim, None if they hold no rating.

    They are whatever the source held: what is no text is passed over.
    """
    texts = {name: value if isinstance(value := metadata.get(name), str) else "" for name in Review._fields}
    if not texts["rating"].strip():
        return None
    verdict = texts["verdict"] if texts["verdict"] in _VERDICTS else ""
    return Review(**{**texts, "verdict": verdict})


def cited(hit: Evidence, link: str) -> Cited:
    """Return the citations of a hit; ``link`` is the address of its source, or of its document here."""
    return Cited(_plain(citation(hit), link), list_hits([hit], "ris").strip(), link)


def _plain(parts: Citation, link: str) -> str:
    authors = "; ".join(parts.authors[:3]) + (" et al." if len(parts.authors) > 3 else "")
    title = parts.title if parts.title.endswith(("…", ".", "?", "!", "؟")) else f"{parts.title}."
    pieces = [f"{authors}." if authors else "", f"“{title}”", ", ".join(filter(None, (parts.source, parts.date)))]
    doi = f"doi:{parts.doi}" if parts.doi else ""
    return " ".join(filter(None, [*pieces[:2], f"{pieces[2]}." if pieces[2] else "", doi or link]))


def ranks(hits: Sequence[Evidence]) -> dict[str, int]:
    """Return the rank of each document, of its best passage if it has several hits."""
    best_ranks: dict[str, int] = {}
    for hit in hits:
        best_ranks.setdefault(hit.docid, hit.rank)
    return best_ranks


def excerpt(text: str, highlights: Sequence[tuple[int, int]], longest: int = LONGEST_EXCERPT) -> list[Piece]:
    """Return the stretch of ``text`` with most highlights, in whole words, split at its highlights."""
    begin = _best_start(text, highlights, longest)
    end = min(begin + longest, len(text))
    if begin:
        begin = _word_after(text, begin, end)
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin) if " " in text[begin:end] else end
    shown = pieces_of(text, highlights, begin, end)
    before, after = Piece("… ", False), Piece(" …", False)
    return [*([before] if begin else []), *shown, *([after] if end < len(text) else [])]


def blocks(document: Document, passages: Sequence[Passage], chosen: int | None, mark: Mark) -> list[Block]:
    """Return a document's whole text, cut where its passages begin; ``chosen`` numbers a passage to point out.

    ``mark`` returns the stretches of a text that match the query. Passages may overlap, blocks do not: no text is shown
    twice.
    """
    picked = next((passage for passage in passages if passage.number == chosen), None)
    numbers = {passage.start: passage.number for passage in passages}
    ends = (picked.start, picked.end) if picked else ()
    cuts = sorted({0, len(document.text), *numbers, *ends})
    cut = [
        Block(
            numbers.get(start),
            [
                pieces_of(line, mark(line), 0, len(line))
                for line in document.text[start:end].splitlines()
                if line.strip()
            ],
            picked is not None and picked.start <= start < picked.end,
        )
        for start, end in pairwise(cuts)
    ]
    return [block for block in cut if block.lines]


def _best_start(text: str, highlights: Sequence[tuple[int, int]], longest: int) -> int:
    """Return where a stretch of at most ``longest`` characters holds most different words that match, then most."""
    if len(text) <= longest:
        return 0
    starts = [0, *(max(start - _LEAD, 0) for start, _ in highlights)]
    words = [text[start:end].casefold() for start, end in highlights]
    in_window: Counter[str] = Counter()
    first = after = 0  # the window holds the highlights from ``first`` up to but not including ``after``
    best, most = 0, (-1, -1)
    for begin in starts:
        while after < len(highlights) and highlights[after][1] <= begin + longest:
            in_window[words[after]] += 1
            after += 1
        while first < after and highlights[first][0] < begin:
            _take_one(in_window, words[first])
            first += 1
        worth = (len(in_window), after - first)
        if worth > most:
            best, most = begin, worth
    return min(best, len(text) - longest)


def _take_one(counts: Counter[str], word: str) -> None:
    """Count a word once less, and forget it when none is left."""
    counts[word] -= 1
    if not counts[word]:
        del counts[word]


def _word_after(text: str, begin: int, end: int) -> int:
    """Return where the first word after ``begin`` starts, or ``begin`` in a text without blanks."""
    blank = text.find(" ", begin, min(begin + _LEAD, end))
    return blank + 1 if blank >= 0 else begin
