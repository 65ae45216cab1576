"""Sentences: their starts and ends in a text of any script that ends sentences with a stop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_END = re.compile(
    r"""(?:(?<![.!?؟…])[.!?؟…]++["'”’»)\]]*+  # all stops of a run at once: one by one is quadratic
            (?=\s++["'“‘«(\[]?[^\Wa-z_])         # then white space and no small Latin letter
        |[。！？]+[」』”）]*                                  # a full-width stop
        |(?=\n))""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|Gen|Sen|Rep|Gov|No|Nos|Fig|Figs|Tab|Eq|Ref|Refs|Vol|vs|approx|ca|cf|al|e\.g|i\.e|etc"
    r"|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)|\b[A-Z])\.$"
)
_WORD = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]|[^\s぀-ヿ㐀-鿿豈-﫿]+")


class SentenceSpan(NamedTuple):
    """A sentence: ``text[start:end]``, without white space around it, and its number of words."""

    start: int
    end: int
    words: int


def sentences(text: str, longest: int = 200) -> Iterator[SentenceSpan]:
    """Yield the sentences of a text; a sentence of more than ``longest`` words is cut between
    words.

    A line break ends a sentence, so headings, list items and paragraphs are separate.
    """
    start = 0
    for stop in _stops(text):
        yield from _pieces(text, start, stop, longest)
        start = stop


def _stops(text: str) -> Iterator[int]:
    for end in _END.finditer(text):
        before = text[max(0, end.start() - 8) : end.start() + 1]
        if not _ABBREVIATION.search(before):
            yield end.end()
    yield len(text)


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[SentenceSpan]:
    words = [(word.start(), word.end()) for word in _WORD.finditer(text, start, end)]
    for first in range(0, len(words), longest):
        piece = words[first : first + longest]
        yield SentenceSpan(piece[0][0], piece[-1][1], len(piece))
