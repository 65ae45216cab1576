"""Evidence for a reader: the document of a hit, its best passage, the words that matched and who ranked it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import msgspec

from ..domain import Part


class Answer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base of what is answered."""


class RetrieverPart(Answer, kw_only=True):
    """The rank (from 1) and the score that a retriever gave a hit, or with which it came to a stage.

    ``gave`` is the score that a stage gave it instead, of a stage that scores.
    """

    rank: int
    score: float
    gave: float | msgspec.UnsetType = msgspec.UNSET


def part_answer(part: Part, *, staged: bool) -> RetrieverPart:
    """Return what is answered of a part of a hit; what a stage gave is its vote."""
    gave = part.vote if staged and part.vote else msgspec.UNSET
    return RetrieverPart(rank=part.rank, score=part.score, gave=gave)


PAGE_STARTS = "page_starts"
"""The metadata of a document with pages: where in its text each of them begins."""


def page_at(metadata: Mapping[str, Any], start: int) -> int | msgspec.UnsetType:
    """Return the page, from 1, on which a passage begins; unset where a document has no pages."""
    starts = metadata.get(PAGE_STARTS)
    if not isinstance(starts, list) or not all(isinstance(each, int) for each in starts):
        return msgspec.UNSET
    return bisect_right(starts, start) or msgspec.UNSET


class PassageAnswer(Answer, kw_only=True):
    """The best passage; ``start`` and ``end`` are characters of the document's text, highlights of the passage's.

    ``page`` is the page on which it begins, from 1, of a document that has pages.
    """

    number: int
    page: int | msgspec.UnsetType = msgspec.UNSET
    start: int
    end: int
    text: str
    highlights: list[tuple[int, int]]


class Copies(Answer, kw_only=True):
    """The documents with a near-duplicate of a hit's passage: how many they are, and the docids of the first"
    " hundred."""

    count: int
    docids: list[str]


class Evidence(Answer, kw_only=True):
    """One hit with its document; ``passages``, when they are asked for, are those that hold a word of the query;
    ``stages`` says with which rank and score it came to each stage, where there are any, and ``copies`` what is folded
    under it where near-duplicates are. ``index`` names its index where several were asked;
    ``weak`` is true where it was found only by its meaning, and lies no nearer to the query than to made-up words.
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
