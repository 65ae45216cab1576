"""Whether the hits of a search are related to its query.

A search by vectors has hits for any query. The degree of a hit (:meth:`Nearness.degrees`) compares
its cosine with those of random queries. A query in the language of the index is compared with texts
in its own language, and the hits of an unrelated query seldom reach the degree 1. A query in
another language, over a multilingual encoder, is farther from every text. An encoder that does not
know the language of a query says nothing. The limits were measured (``benchmarks/honest.py``).
"""

from __future__ import annotations

from typing import NamedTuple

RELATED = 1.0
"""The degree from which a hit is related to a query in the language of the index."""
RELATED_ACROSS_LANGUAGES = -0.5
"""The degree from which a hit is related to a query in another language that the encoder knows."""
CLEARLY_RELATED = 2.0
"""The degree from which words that no document contains are not named."""
JUDGED = 10
"""The number of first hits that are compared with the query."""


class Relatedness(NamedTuple):
    """Whether the first hits of a search seem related to its query.

    ``related`` is None if nobody can tell: there are no hits, no encoder read the query, or the
    encoder does not know its language. ``names_words`` is whether to name words of the query that
    no document contains: true if the hits are only rather near; false if they are clearly near, or
    related and in another language than the query; None if they say nothing of it.
    """

    related: bool | None
    names_words: bool | None = None

    @property
    def asks_for_absent_words(self) -> bool:
        """Whether to look for the words of the query that no document contains."""
        return self.related is True and self.names_words is True


class RelatednessAnswer(NamedTuple):
    """Whether hits seem related to their query (None if nobody can tell), and telling words of the
    query that no document contains, if the hits are related, but only rather near.
    """

    related: bool | None
    absent_words: tuple[str, ...] = ()


UNTOLD = Relatedness(None)
"""The relatedness if nobody can tell."""


def together(each: list[Relatedness]) -> Relatedness:
    """Return the relatedness of the hits of several indexes, each with hits of its own.

    One related index is enough. Otherwise the hits are unrelated only if those of every index
    are.
    """
    verdicts = {part.related for part in each}
    related = True if True in verdicts else None if None in verdicts or not verdicts else False
    naming = {part.names_words for part in each}
    names_words = False if False in naming else True if True in naming else None
    return Relatedness(related, names_words)
