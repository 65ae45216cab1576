"""Statements ranked by check-worthiness, and the words that explain their scores."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...retrieval.domain import Statement
from .rankers import Ranker

_WORD = re.compile(r"https?://\S+|[@#]?\w+(?:[.,:'’]\w+)*%?")
_MOST = 200  # the number of distinct words to try; a tweet has fewer


class Weight(NamedTuple):
    """A word, and by how much the score falls without it; negative if it rises."""

    word: str
    weight: float


class Ranked(NamedTuple):
    """A statement with its rank: rank 1 is the most worth checking of the statements so far.

    ``probability`` of being worth checking is ``None`` if the ranker is not calibrated. ``words`` are empty unless the
    caller asks for them.
    """

    rank: int
    score: float
    probability: float | None
    statement: Statement
    words: Sequence[Weight] = ()


def rank(ranker: Ranker, statements: Sequence[Statement]) -> list[Ranked]:
    """Return statements by descending score; equal scores keep their order."""
    scores = ranker.score(statements)
    probabilities = ranker.probability(scores)
    order = sorted(range(len(statements)), key=lambda row: -float(scores[row]))
    return [
        Ranked(
            place,
            float(scores[row]),
            None if probabilities is None else float(probabilities[row]),
            statements[row],
        )
        for place, row in enumerate(order, 1)
    ]


def rank_stream(ranker: Ranker, statements: Iterable[Statement], words: int = 0) -> Iterator[Ranked]:
    """Rank each statement, as it arrives, among the earlier ones; earlier statements of equal score come first.

    Explain each by at most ``words`` words.
    """
    seen: list[float] = []
    for statement in statements:
        alone = rank(ranker, [statement])[0]
        above = len(seen) - bisect_left(seen, alone.score)
        insort(seen, alone.score)
        yield alone._replace(rank=above + 1, words=explain(ranker, statement, words))


def words(text: str) -> list[str]:
    """Return the distinct words of a text in the order of their first occurrence, including addresses and hashtags."""
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
    """Return at most ``most`` words whose absence changes the score, the largest absolute weight first.

    Equal weights are in text order. There are no words if the ranker's ``explains`` is false.
    """
    if not ranker.explains or not most:
        return []
    tried = words(statement.text)[:_MOST]
    variants = [statement._replace(text=without(statement.text, word)) for word in tried]
    whole, *parts = ranker.score([statement, *variants])
    weights = [Weight(word, float(whole - part)) for word, part in zip(tried, parts, strict=True)]
    return sorted((weight for weight in weights if weight.weight), key=lambda weight: -abs(weight.weight))[:most]
