"""Features of a claim and its evidence for a classifier: named numbers, the same for every language.

The features of a sentence are its similarity to the claim, the claim's words that it holds, and whether quantities,
negation and direction agree. Of each, the value of the first sentence, the highest value and the mean are used. The
features of the claim itself and of the search follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.polarity import Lexicon, Polarity, polarity
from ..text.quantities import Quantity, agreement, quantities, unstated
from ..text.words import Analyzer, coverage, terms
from .sentences import ClaimEvidence, EvidenceSentence

PAIR = (
    "similarity", "coverage", "precision", "word pairs", "missing words", "length", "numbers repeated",
    "numbers contradicted", "negated", "negation differs", "both negated", "direction agrees", "direction differs",
    "direction agrees, likely", "direction differs, likely",
)  # fmt: skip
"""Features of a claim and one sentence; the last two are weighted by the similarity."""
NEGATION = ("negated", "negation differs", "both negated")
"""The features of :data:`PAIR` that say which text negates."""
CLAIM = ("claim negated", "claim length", "claim numbers", "claim says more", "claim says less")
SEARCH = ("bm25", "dense", "spread", "covered by all", "pages", "sentences")
OF = ("first", "highest", "mean")
"""How features of sentences are combined: the first sentence's value, the highest value, the mean."""
NAMES = (*(f"{name}, {which}" for which in OF for name in PAIR), *CLAIM, *SEARCH)
"""The names of the columns of a matrix of features."""


class Reading(NamedTuple):
    """The terms, quantities and polarity of a text."""

    terms: list[str]
    quantities: list[Quantity]
    polarity: Polarity


def reading(text: str, analyzer: Analyzer, lists: Lexicon) -> Reading:
    """Return the terms, quantities and polarity of a text."""
    return Reading(terms(text, analyzer), quantities(text), polarity(text, lists))


def matrix(
    claims: Sequence[str], evidence: Sequence[ClaimEvidence], analyzer: Analyzer, lists: Lexicon
) -> NDArray[np.float64]:
    """Return the features, shape (len(claims), len(NAMES))."""
    pairs = zip(claims, evidence, strict=True)
    rows = [_row(reading(claim, analyzer, lists), of_claim, analyzer, lists) for claim, of_claim in pairs]
    return np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))


def covered(claim: str, evidence: ClaimEvidence, analyzer: Analyzer) -> float:
    """Return the share of a claim's distinct terms that its evidence as a whole holds."""
    there = [term for sentence in evidence.sentences for term in terms(sentence.text, analyzer)]
    return coverage(terms(claim, analyzer), there)


def numbers_missing(claim: str, evidence: ClaimEvidence) -> list[Quantity]:
    """Return the quantities of a claim that no sentence of its evidence repeats."""
    return unstated(
        quantities(claim), [number for sentence in evidence.sentences for number in quantities(sentence.text)]
    )


def _row(claim: Reading, evidence: ClaimEvidence, analyzer: Analyzer, lists: Lexicon) -> list[float]:
    read = [reading(sentence.text, analyzer, lists) for sentence in evidence.sentences]
    lacking = unstated(claim.quantities, [number for text in read for number in text.quantities])
    both = zip(evidence.sentences, read, strict=True)
    pairs = np.array([_pair(claim, sentence, text, lacking) for sentence, text in both])
    parts = (pairs[0], pairs.max(axis=0), pairs.mean(axis=0)) if len(pairs) else [[0.0] * len(PAIR)] * len(OF)
    direction, distinct = claim.polarity.direction, frozenset(claim.terms)
    return [
        *(float(value) for part in parts for value in part),
        float(claim.polarity.negations > 0),
        math.log1p(len(claim.terms)),
        float(bool(claim.quantities)),
        float(direction > 0),
        float(direction < 0),
        evidence.bm25 / max(len(distinct), 1),
        evidence.dense,
        evidence.spread,
        coverage(distinct, [term for text in read for term in text.terms]),
        float(len({sentence.docid for sentence in evidence.sentences})),
        float(len(evidence.sentences)),
    ]


def _pair(claim: Reading, sentence: EvidenceSentence, text: Reading, lacking: Sequence[Quantity]) -> list[float]:
    likely = max(sentence.similarity, 0.0)
    numbers = agreement(claim.quantities, text.quantities, lacking)
    negated, claimed = text.polarity.negations > 0, claim.polarity.negations > 0
    same_way = claim.polarity.direction * text.polarity.direction
    wanted = frozenset(claim.terms)
    return [
        sentence.similarity,
        coverage(wanted, text.terms),
        coverage(text.terms, wanted),
        coverage(pairwise(claim.terms), pairwise(text.terms)),
        math.log1p(len(wanted.difference(text.terms))),
        math.log1p(len(text.terms)),
        numbers.repeated / numbers.stated if numbers.stated else 0.0,
        float(numbers.contradicted > 0),
        float(negated),
        float(negated != claimed),
        float(negated and claimed),
        float(same_way > 0),
        float(same_way < 0),
        likely * (same_way > 0),
        likely * (same_way < 0),
    ]
