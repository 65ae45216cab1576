"""Highlights: where in a passage the words of a query stand, as the analyzer sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
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
        # Most words match nothing: a match object for each of them would be most of the work.
        matching = set(filter(matches, set(_WORD.findall(text)))) if wanted else ()
        if not matching:
            return []
        words = (word for word in _WORD.finditer(text) if word[0] in matching)
        return [stretch for word in words for stretch in _matches(word, terms(word[0]), wanted)]

    return stretches


def query_terms(query: str, terms: Terms) -> frozenset[str]:
    """Return the terms that an analyzer makes of ``query``."""
    return frozenset(term for word in _WORD.findall(query) for term in terms(word))


def _matches(word: re.Match[str], terms: tuple[str, ...], wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield what matches within a word: all of it, or, where a script has no blanks, the terms found in it."""
    matching = wanted.intersection(terms)
    if not matching:
        return
    if len(terms) == 1:
        yield word.span()
        return
    pattern = "|".join(re.escape(term) for term in sorted(matching, key=lambda term: (-len(term), term)))
    found = [part.span() for part in re.finditer(pattern, word[0], re.IGNORECASE)]
    if not found:
        yield word.span()
    for start, end in found:
        yield word.start() + start, word.start() + end
