"""Highlights: where in a passage the words of a query stand, as the analyzer sees them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from .vocabulary import Finder, Stretch, Vocabulary, words_of

Highlighter = Finder
"""From a text to the stretches of it that match a query."""


def highlights(query: str, text: str, vocabulary: Vocabulary) -> list[Stretch]:
    """Return the stretches ``(start, end)`` of ``text`` that match a term of ``query``, in order, not overlapping."""
    return highlighter(query, vocabulary)(text)


def highlighter(query: str, vocabulary: Vocabulary) -> Highlighter:
    """Return a function from a text to its stretches that match a term of ``query``: for many texts of one query."""
    wanted = query_terms(query, vocabulary)
    if not wanted:
        return lambda _: []
    return vocabulary.finder(wanted, partial(_stretches_of_word, wanted=wanted))


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
