"""The parts of a hit and of a document that the page shows; the template escapes each piece of
text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from flask import url_for
from msgspec import UNSET, UnsetType

from ...core.domain import Document, Passage
from ...core.parts import first_part, parts_of
from ...core.text import Piece, pieces_of, web_link
from ...retrieval.search import listings
from ...retrieval.search.evidence import Evidence, page_at
from ..runtime import ServedIndex

LONGEST_EXCERPT = 480
LONGEST_FOUND = 300  # the most characters of a fact-checker's finding under a hit
# A function from a text to the ranges that match a query, in order.
Mark = Callable[[str], Sequence[tuple[int, int]]]
_LEAD = 60
REVIEW = ("claimant", "rating", "publisher", "verdict")  # the metadata of a fact-check
_VERDICTS = frozenset({"true", "mixed", "false", "unproven"})
_TITLE = 80  # the number of characters of a passage that replace a missing title


def title_of(title: str, passage: str, docid: str) -> str:
    """Return a title for people: the document's own, else the first words of a passage, else the
    docid.
    """
    if title or not passage.strip():
        return title or docid
    text = " ".join(passage.split())
    return text if len(text) <= _TITLE else f"{text[:_TITLE].rsplit(' ', 1)[0]} …"


def review_of(metadata: Mapping[str, Any], kind: str = "") -> dict[str, str] | None:
    """Return a fact-checker's verdict on a claim, as far as the metadata have it as text.

    Return None without a rating, unless the ``kind`` of the document is that of fact-checks.
    ``verdict`` is one of four words or empty.
    """
    review = {
        name: value if isinstance(value := metadata.get(name), str) else "" for name in REVIEW
    }
    if not review["rating"].strip() and kind != listings.REVIEW:
        return None
    return {**review, "verdict": review["verdict"] if review["verdict"] in _VERDICTS else ""}


def explanation_of(metadata: Mapping[str, Any]) -> str:
    """Return what a fact-checker found, ``""`` if the metadata have it not as text."""
    found = metadata.get("explanation")
    return found.strip() if isinstance(found, str) else ""


class Finding(NamedTuple):
    """The beginning of what a fact-checker found, and whether more follows."""

    text: str
    more: bool


def finding_of(hit: Evidence, pieces: Sequence[Piece]) -> Finding | None:
    """Return what to show under a hit of what a fact-checker found; None if there is nothing, or if
    the ``pieces`` of its excerpt begin with it.
    """
    found = " ".join(explanation_of(hit.metadata).split())
    text = begin_of(found, LONGEST_FOUND)
    excerpted = " ".join("".join(piece.text for piece in pieces).split())
    if not found or excerpted.startswith(text):
        return None
    return Finding(text, more=len(text) < len(found))


def begin_of(text: str, longest: int) -> str:
    """Return the beginning of a text, cut between words unless its first word is too long."""
    if len(text) <= longest:
        return text
    words, _, _ = text[: longest + 1].rpartition(" ")
    return words.rstrip() or text[:longest]


def claim_beside(document: Document, passage: str, kind: str) -> str | UnsetType:
    """Return the claim of a fact-check, from which a citation quotes; unset if the passage is the
    claim, or the document is no fact-check.
    """
    claim = first_part(document.text, document.metadata)
    if passage == claim or not listings.is_fact_check(kind, document.metadata):
        return UNSET
    return claim


def is_in_claim(document: Document, start: int) -> bool:
    """Return whether a place in the text of a fact-check belongs to the claim, and not to what was
    found.
    """
    return start < parts_of(document.text, document.metadata)[0].end


def citations(served: ServedIndex, hit: Evidence) -> dict[str, str]:
    """Return the citations of a hit in each form, and its address."""
    own = url_for("page.document_page", name=served.name, docid=hit.docid, _external=True)
    example = listings.is_example(served.name, hit.metadata)
    source = own if example else web_link(hit.url) or own
    cited = listings.cited_hit(hit, served.name)
    return {
        "plain": listings.plain_citation(cited, source),
        "ris": listings.list_hits([cited], "ris").strip(),
        "cited": source,
    }


def excerpt(
    text: str, highlights: Sequence[tuple[int, int]], longest: int = LONGEST_EXCERPT
) -> list[Piece]:
    """Return the part of ``text`` with the most highlighted words, cut between words and split at
    its highlights.
    """
    begin = _best_start(text, highlights, longest)
    end = min(begin + longest, len(text))
    if begin:
        blank = text.find(" ", begin, min(begin + _LEAD, end))
        begin = blank + 1 if blank >= 0 else begin
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin) if " " in text[begin:end] else end
    shown = pieces_of(text, highlights, begin, end)
    before, after = Piece("… ", False), Piece(" …", False)
    return [*([before] if begin else []), *shown, *([after] if end < len(text) else [])]


def _best_start(text: str, highlights: Sequence[tuple[int, int]], longest: int) -> int:
    """Return the start of the window with the most different matching words; then with the most
    matches.
    """
    if len(text) <= longest:
        return 0
    words = [text[start:end].casefold() for start, end in highlights]
    starts, ends = [start for start, _ in highlights], [end for _, end in highlights]

    def matching(begin: int) -> tuple[int, int]:
        inside = words[bisect_left(starts, begin) : bisect_right(ends, begin + longest)]
        return len(set(inside)), len(inside)

    begins = [0, *(max(start - _LEAD, 0) for start in starts)]
    return min(max(begins, key=matching), len(text) - longest)


def blocks(
    document: Document, passages: Sequence[Passage], chosen: int | None, mark: Mark
) -> list[dict[str, Any]]:
    """Return a document's text in blocks that begin where passages do, without overlaps; ``mark``
    finds the matches.

    Each block has its lines; a passage, whose ``number`` it has, or a ``page`` may begin there. The
    claim of a fact-check and what was found have a ``heading``.
    """
    headings = {}
    parts = parts_of(document.text, document.metadata)
    if len(parts) > 1 and explanation_of(document.metadata):
        headings = {parts[0].start: "Claim", parts[1].start: "What was found"}
    picked = next((passage for passage in passages if passage.number == chosen), None)
    numbers = {passage.start: passage.number for passage in passages}
    ends = (picked.start, picked.end) if picked else ()
    cut = []
    for start, end in pairwise(sorted({0, len(document.text), *numbers, *ends})):
        texts = [line for line in document.text[start:end].splitlines() if line.strip()]
        lines = [pieces_of(line, mark(line), 0, len(line)) for line in texts]
        if lines:
            block = {
                "number": numbers.get(start),
                "lines": lines,
                "chosen": picked is not None and picked.start <= start < picked.end,
                "heading": headings.get(start, ""),
                "page": page_at(document.metadata, start),
                "marked": any(piece.marked for line in lines for piece in line),
            }
            cut.append(block)
    return cut
