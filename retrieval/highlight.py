"""Highlights: where in a passage the words of a query stand, as the analyzer sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from .vocabulary import Finder, Stretch, Vocabulary, words_of

Highlighter = Finder
"""From a text to the stretches of it that match a query."""
PIECE = 50_000
"""Characters of a long text that are highlighted at once: new words are analysed in a few tenths of a second."""
_BLANK = re.compile(r"\s")


def highlights(query: str, text: str, vocabulary: Vocabulary) -> list[Stretch]:
    """Return the stretches ``(start, end)`` of ``text`` that match a term of ``query``, in order, not overlapping."""
    return highlighter(query, vocabulary)(text)


def highlighter(query: str, vocabulary: Vocabulary) -> Highlighter:
    """Return a function from a text to its stretches that match a term of ``query``: for many texts of one query."""
    wanted = query_terms(query, vocabulary)
    if not wanted:
        return lambda _: []
    return vocabulary.finder(wanted, partial(_stretches_of_word, wanted=wanted))


def in_time(marked: Highlighter, is_over: Callable[[], bool]) -> Highlighter:
    """Return ``marked`` as long as there is time: a long text is read in pieces, and what was found of it stays."""

    def stretches(text: str) -> list[Stretch]:
        marks: list[Stretch] = []
        for start, end in _pieces(text):
            if is_over():
                break
            marks.extend((start + first, start + last) for first, last in marked(text[start:end]))
        return marks

    return stretches


def _pieces(text: str) -> Iterator[Stretch]:
    """Yield the stretches of which a text consists: each ends at a blank, where no word goes on."""
    start = 0
    while start < len(text):
        blank = _BLANK.search(text, start + PIECE)
        end = blank.start() if blank else len(text)
        yield start, end
        start = end


def query_terms(query: str, terms: Callable[[str], tuple[str, ...]]) -> frozenset[str]:
    """Return the terms that an analyzer makes of ``query``."""
    return frozenset(term for word in words_of(query) for term in terms(word))


def _stretches_of_word(word: str, terms: tuple[str, ...], wanted: frozenset[str]) -> list[Stretch]:
    """Return what matches within a word: all of it, or, where a script has no blanks, the terms found in it."""
    if len(terms) == 1:
        return [(0, len(word))]
    matching = wanted.intersection(terms)
    pattern = "|".join(re.escape(term) for term in sorted(matching, key=lambda term: (-len(term), term)))
    return [part.span() for part in re.finditer(pattern, word, re.IGNORECASE)] or [(0, len(word))]
