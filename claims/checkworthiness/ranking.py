"""Statements in the order in which they are worth checking, and the words that their scores rest on."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...retrieval.domain import Statement
from .rankers import Ranker

_WORD = re.compile(r"https?://\S+|[@#]?\w+(?:[.,:'’]\w+)*%?")
_MOST = 200
"""Different words that are tried: a tweet has fewer."""


class Weight(NamedTuple):
    """A word, and by how much the score falls when it is left out; negative if it rises."""

    word: str
    weight: float


class Ranked(NamedTuple):
    """A statement with its place: rank 1 is the most worth checking of those seen so far.

    ``probability`` of being worth checking is ``None`` where the ranker is not calibrated; ``words`` are empty unless
    they were asked for.
    """

    rank: int
    score: float
    probability: float | None
    statement: Statement
    words: list[Weight]


def rank(ranker: Ranker, statements: Sequence[Statement], words: int = 0) -> list[Ranked]:
    """Return statements by score, descending; equal scores stay in their order. Explain each by its ``words``."""
    scores = ranker.score(statements)
    probabilities = ranker.probability(scores)
    order = sorted(range(len(statements)), key=lambda row: -float(scores[row]))
    return [
        Ranked(
            place,
            float(scores[row]),
            None if probabilities is None else float(probabilities[row]),
            statements[row],
            explain(ranker, statements[row], words) if words else [],
        )
        for place, row in enumerate(order, 1)
    ]


def rank_stream(ranker: Ranker, statements: Iterable[Statement], words: int = 0) -> Iterator[Ranked]:
    """Rank each statement, as it comes, among those before it; one that scores as they do comes after them."""
    seen: list[float] = []
    for statement in statements:
        alone = rank(ranker, [statement], words)[0]
        above = len(seen) - bisect_left(seen, alone.score)
        insort(seen, alone.score)
        yield alone._replace(rank=above + 1)


def words(text: str) -> list[str]:
    """Return the different words of a text in the order of their first occurrence, also addresses and hashtags."""
    return list(dict.fromkeys(_WORD.findall(text)))


def without(text: str, word: str) -> str:
    """Return a text without any occurrence of a word."""
    kept, end = [], 0
    for match in _WORD.finditer(text):
        if match[0] == word:
            kept.append(text[end : match.start()])
            end = match.end()
    return "".join([*kept, text[end:]])


def explain(ranker: Ranker, statement: Statement, most: int) -> list[Weight]:
    """Return the ``most`` words that weigh most, heaviest first; equal weights in the order of the words.

    Each is left out in turn and the rest scored again, so the weights hold for any ranker. Words without weight are
    not named.
    """
    if not ranker.explains:
        return []
    tried = words(statement.text)[:_MOST]
    variants = [statement._replace(text=without(statement.text, word)) for word in tried]
    whole, *parts = ranker.score([statement, *variants])
    weights = [Weight(word, float(whole - part)) for word, part in zip(tried, parts, strict=True)]
    return sorted((weight for weight in weights if weight.weight), key=lambda weight: -abs(weight.weight))[:most]
