"""The words of a text as the index's analyzer sees them, in their order, and what of a claim they cover."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

_WORD = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")

Analyzer = Callable[[str], tuple[str, ...]]
"""From a word to its terms; none for a stop word."""


def terms(text: str, analyzer: Analyzer) -> list[str]:
    """Return the terms of a text in their order."""
    return [term for word in _WORD.findall(text) for term in analyzer(word)]


def coverage(wanted: Iterable[Hashable], there: Iterable[Hashable]) -> float:
    """Return the share of what is wanted, each counted once, that is there; 0 if nothing is wanted."""
    distinct = frozenset(wanted)
    return len(distinct.intersection(there)) / len(distinct) if distinct else 0.0
