"""Highlights: where in a passage the words of a query stand, as the analyzer sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")  # the same, faster
_JOINS = "'’."
Terms = Callable[[str], tuple[str, ...]]
"""The analyzer: from a word to its terms."""
Highlighter = Callable[[str], list[tuple[int, int]]]
"""From a text to the stretches of it that match a query."""


def highlights(query: str, text: str, terms: Terms) -> list[tuple[int, int]]:
    """Return the stretches ``(start, end)`` of ``text`` that match a term of ``query``, in order, not overlapping."""
    return highlighter(query, terms)(text)


def highlighter(query: str, terms: Terms) -> Highlighter:
    """Return what gives the stretches of a text that match a term of ``query``: for many texts and one query."""
    wanted = query_terms(query, terms)
    seen: dict[str, bool] = {}

    def matches(word: str) -> bool:
        if word not in seen:
            seen[word] = not wanted.isdisjoint(terms(word))
        return seen[word]

    def stretches(text: str) -> list[tuple[int, int]]:
        # Most words match nothing: to look up the places of those that do costs less than a match object for each.
        words = set((_ASCII_WORD if text.isascii() else _WORD).findall(text)) if wanted else ()
        found = sorted((start, word) for word in words if matches(word) for start in _places(text, word))
        return [stretch for start, word in found for stretch in _matches(start, word, terms(word), wanted)]

    return stretches


def query_terms(query: str, terms: Terms) -> frozenset[str]:
    """Return the terms that an analyzer makes of ``query``."""
    return frozenset(term for word in _WORD.findall(query) for term in terms(word))


def _places(text: str, word: str) -> Iterator[int]:
    """Yield where a word stands in a text, not as a part of another."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not _goes_on(text[max(0, start - 2) : start][::-1]) and not _goes_on(text[end : end + 2]):
            yield start
        start = text.find(word, end)


def _goes_on(beside: str) -> bool:
    """Say whether a word goes on with what stands beside it, nearest first."""
    return beside[:1].isalnum() or (beside[:1] in _JOINS and beside[1:].isalnum())


def _matches(start: int, word: str, terms: tuple[str, ...], wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield what matches within a word: all of it, or, where a script has no blanks, the terms found in it."""
    matching = wanted.intersection(terms)
    if len(terms) == 1:
        yield start, start + len(word)
        return
    pattern = "|".join(re.escape(term) for term in sorted(matching, key=lambda term: (-len(term), term)))
    found = [part.span() for part in re.finditer(pattern, word, re.IGNORECASE)]
    for begin, end in found or [(0, len(word))]:
        yield start + begin, start + end
