"""Evidence for a reader: the document of a hit, its best passage, the matching words and its retrievers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import msgspec

from ..domain import Part


class AnswerPart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base class of answers."""


class RetrieverPart(AnswerPart, kw_only=True):
    """The rank (from 1) and score that a retriever gave a hit, or that a hit had before a stage.

    ``gave`` is the new score, if the stage sets scores.
    """

    rank: int
    score: float
    gave: float | msgspec.UnsetType = msgspec.UNSET


def part_answer(part: Part, *, staged: bool) -> RetrieverPart:
    """Return the answer's form of a part of a hit; the vote of a stage is the score that it gave."""
    gave = part.vote if staged and part.vote else msgspec.UNSET
    return RetrieverPart(rank=part.rank, score=part.score, gave=gave)


PAGE_STARTS = "page_starts"
"""The metadata field of a document with pages: the offset in its text at which each page begins."""


def page_at(metadata: Mapping[str, Any], start: int) -> int | msgspec.UnsetType:
    """Return the page, from 1, on which a passage begins; unset if the document has no pages."""
    starts = metadata.get(PAGE_STARTS)
    if not isinstance(starts, list) or not all(isinstance(each, int) for each in starts):
        return msgspec.UNSET
    return bisect_right(starts, start) or msgspec.UNSET


class PassageAnswer(AnswerPart, kw_only=True):
    """The best passage; ``start`` and ``end`` are offsets in the document's text, highlights in the passage's.

    ``page`` is the page on which the passage begins, from 1, if the document has pages.
    """

    number: int
    page: int | msgspec.UnsetType = msgspec.UNSET
    start: int
    end: int
    text: str
    highlights: list[tuple[int, int]]


class Copies(AnswerPart, kw_only=True):
    """The documents with a near-duplicate of a hit's passage: their number, and the first hundred docids."""

    count: int
    docids: list[str]


class Evidence(AnswerPart, kw_only=True):
    """One hit with its document.

    ``passages``, if requested, are its best passage and all others that contain a word of the query. ``stages`` gives
    its rank and score before each stage. ``copies`` are the near-duplicates grouped under it. ``index`` names its index
    if the search covers several. ``weak`` is true if only vectors found it, and random queries also reach its cosine.
    """

    rank: int
    docid: str
    score: float
    retrievers: dict[str, RetrieverPart]
    stages: dict[str, RetrieverPart] | msgspec.UnsetType = msgspec.UNSET
    title: str
    passage: PassageAnswer
    url: str
    date: str
    language: str
    source: str
    topic: str
    kind: str
    metadata: dict[str, Any]
    passages: list[PassageAnswer] | msgspec.UnsetType = msgspec.UNSET
    copies: Copies | msgspec.UnsetType = msgspec.UNSET
    index: str | msgspec.UnsetType = msgspec.UNSET
    weak: bool | msgspec.UnsetType = msgspec.UNSET
