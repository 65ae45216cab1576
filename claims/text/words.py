"""The words of claims, tweets and sentences: tokens, n-grams as sparse vectors, hashed buckets, near-duplicates.

This module needs only numpy and scipy.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Statement
from ...retrieval.text import unescaped

URL = re.compile(r"(?:https?://|www\.|pic\.twitter\.com/)\S+", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w@.])@\w+")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[#@]?\w+|[%€$£₺?!]")
_CHARACTERS = (2, 3, 4, 5)


def normalised(text: str) -> str:
    """Return a normalised text: entities unescaped, lower case, one word for any address or account, numbers ``0``."""
    text = URL.sub(" xxurl ", unescaped(unescaped(text)))
    return _NUMBER.sub("0", MENTION.sub(" xxuser ", text)).lower()


def words(text: str) -> list[str]:
    """Return words, with unchanged numbers, and pairs of words; accounts keep their names, addresses do not."""
    read = URL.sub(" xxurl ", unescaped(unescaped(text))).lower()
    tokens = _WORD.findall(read)
    return tokens + [f"{first} {second}" for first, second in pairwise(tokens)]


def characters(text: str) -> Iterator[str]:
    """Yield the n-grams of 2 to 5 characters inside the words of a normalised text, including blanks at word ends."""
    for word in normalised(text).split():
        padded = f" {word} "
        for size in _CHARACTERS:
            for start in range(max(1, len(padded) - size + 1)):
                yield padded[start : start + size]
            if size >= len(padded):
                break


_ANALYZED = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")

Analyzer = Callable[[str], tuple[str, ...]]
"""A function from a word to its terms; a stop word has none."""


def terms(text: str, analyzer: Analyzer) -> list[str]:
    """Return the terms of a text in their order."""
    return [term for word in _ANALYZED.findall(text) for term in analyzer(word)]


def coverage(wanted: Iterable[Hashable], there: Iterable[Hashable]) -> float:
    """Return the share of the distinct ``wanted`` items that are in ``there``; 0 if ``wanted`` is empty."""
    distinct = frozenset(wanted)
    return len(distinct.intersection(there)) / len(distinct) if distinct else 0.0


Analyze = Callable[[str], Iterable[str]]
"""A function that returns the terms of a text, as often as they occur."""


class NgramVocabulary:
    """Terms with their weights.

    The vector of a text has the count n of each term times its weight, and unit length. With ``sublinear``, 1 + ln n
    replaces n.
    """

    def __init__(
        self, terms: Sequence[str], weights: NDArray[np.float64], analyze: Analyze, *, sublinear: bool
    ) -> None:
        self.terms = terms
        self.weights = weights
        self.sublinear = sublinear
        self._analyze = analyze
        self._rows = {term: row for row, term in enumerate(terms)}

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return a scipy CSR matrix, float64, shape (len(texts), len(terms)), with ascending columns in each row."""
        from scipy.sparse import csr_matrix

        starts, columns, values = [0], [], []
        for text in texts:
            counts = Counter(row for term in self._analyze(text) if (row := self._rows.get(term)) is not None)
            rows = sorted(counts)
            columns.append(np.array(rows, dtype=np.int32))
            times = np.array([counts[row] for row in rows], dtype=np.float64)
            weights = (1 + np.log(times) if self.sublinear else times) * self.weights[rows]
            values.append(weights / (float(np.sqrt(np.sum(weights * weights))) or 1.0))
            starts.append(starts[-1] + len(rows))
        shape = (len(texts), len(self.terms))
        if not texts:
            return csr_matrix(shape, dtype=np.float64)
        return csr_matrix((np.concatenate(values), np.concatenate(columns), np.array(starts)), shape=shape)


def learn_ngrams(texts: Sequence[str], analyze: Analyze, *, sublinear: bool, least: int = 1) -> NgramVocabulary:
    """Return the vocabulary of the terms in at least ``least`` texts, sorted, with their inverse document frequency.

    The weight is scikit-learn's: ln((1 + texts) / (1 + texts with the term)) + 1.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(analyze(text)))
    terms = sorted(term for term, number in counts.items() if number >= least)
    frequencies = np.array([counts[term] for term in terms], dtype=np.float64)
    return NgramVocabulary(terms, np.log((1 + len(texts)) / (1 + frequencies)) + 1, analyze, sublinear=sublinear)


_SIZES = (3, 4, 5)


class Grams(NamedTuple):
    """The buckets of a statement, in ascending order, and their weights, which have unit length."""

    buckets: NDArray[np.int64]
    weights: NDArray[np.float32]


class Hashing:
    """Words and their n-grams of 3 to 5 characters in buckets, weighted by ``rarity``: inverse document frequency."""

    def __init__(self, rarity: NDArray[np.float64]) -> None:
        self.rarity = rarity

    def rows(self, statements: Sequence[Statement]) -> list[Grams]:
        """Return the buckets of each statement."""
        rows = []
        for statement in statements:
            counts = _bucket_counts(statement, len(self.rarity))
            buckets = np.array(sorted(counts), dtype=np.int64)
            times = np.array([counts[bucket] for bucket in buckets.tolist()], dtype=np.float64)
            weights = (1 + np.log(times)) * self.rarity[buckets]
            rows.append(Grams(buckets, (weights / np.sqrt(np.sum(weights * weights))).astype(np.float32)))
        return rows


def learn_buckets(statements: Sequence[Statement], number: int) -> Hashing:
    """Return the hashing into ``number`` buckets, with the rarity of each bucket among the statements."""
    counts = np.zeros(number)
    for statement in statements:
        counts[list(_bucket_counts(statement, number))] += 1
    return Hashing(np.log((1 + len(statements)) / (1 + counts)) + 1)


def _bucket_counts(statement: Statement, number: int) -> Counter[int]:
    """Return the count of each bucket in a statement; a statement without words has bucket 0."""
    grams = []
    for word in normalised(statement.text).split():
        padded = f"<{word}>"
        grams.append(padded)
        for size in _SIZES:
            grams.extend(padded[start : start + size] for start in range(len(padded) - size))
    return Counter(zlib.crc32(gram.encode("utf-8", "replace")) % number for gram in grams) or Counter([0])


ALIKE = 0.6
"""The cosine of two statements' character n-grams above which they count as near-duplicates."""
_AT_ONCE = 512


def groups(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the group number of each statement; a group holds statements connected by near-duplicates."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    texts, size = [statement.text for statement in statements], len(statements)
    vectors = learn_ngrams(texts, characters, sublinear=True, least=2).vectors(texts)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, size, _AT_ONCE):  # each block of rows is compared with itself and the later rows
        alike = (vectors[start : start + _AT_ONCE] @ vectors[start:].T).toarray() > ALIKE
        pairs.append(np.argwhere(alike) + start)
    rows, others = np.concatenate(pairs).T
    links = coo_matrix((np.ones(len(rows)), (rows, others)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
