"""The words of claims, tweets and sentences: tokens, n-grams as sparse vectors, hashed buckets,
near-duplicates.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Statement
from ...core.text import unescape
from ..settings import CHARACTERS

URL = re.compile(r"(?:https?://|www\.|pic\.twitter\.com/)\S+", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w@.])@\w+")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[#@]?\w+|[%€$£₺?!]")
_CHARACTERS = (2, 3, 4, 5)


def normalise(text: str) -> str:
    """Return a text unescaped, in lower case; addresses become ``xxurl``, accounts ``xxuser``, and
    numbers ``0``.
    """
    text = URL.sub(" xxurl ", unescape(unescape(text)))
    return _NUMBER.sub("0", MENTION.sub(" xxuser ", text)).lower()


def words(text: str) -> list[str]:
    """Return words in lower case, then pairs of words; numbers and account names stay, addresses
    become ``xxurl``.
    """
    read = URL.sub(" xxurl ", unescape(unescape(text))).lower()
    tokens = _WORD.findall(read)
    return tokens + [f"{first} {second}" for first, second in pairwise(tokens)]


def characters(text: str) -> Iterator[str]:
    """Yield the n-grams of 2 to 5 characters inside the words of a normalised text, including
    blanks at word ends.
    """
    for word in normalise(text).split():
        padded = f" {word} "
        for size in _CHARACTERS:
            for start in range(max(1, len(padded) - size + 1)):
                yield padded[start : start + size]
            if size >= len(padded):
                break


_ANALYZED = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")

# A function from a word to its terms; a stop word has none.
Analyzer = Callable[[str], tuple[str, ...]]


def terms(text: str, analyzer: Analyzer) -> list[str]:
    """Return the terms of a text in their order."""
    return [term for word in _ANALYZED.findall(text) for term in analyzer(word)]


def coverage(wanted: Iterable[Hashable], there: Iterable[Hashable]) -> float:
    """Return the share of the distinct ``wanted`` items that are in ``there``; 0 if ``wanted`` is
    empty.
    """
    distinct = frozenset(wanted)
    return len(distinct.intersection(there)) / len(distinct) if distinct else 0.0


# A function from a text to its terms, as often as they occur.
Tokenizer = Callable[[str], Iterable[str]]


def _weigh_terms(
    counted: Iterable[Counter[int]], weights: NDArray[np.float64], *, sublinear: bool
) -> Any:
    """Return the counts of each text as the row of a scipy CSR matrix, float64, with ascending
    columns.

    A row has the count n of each term times its weight, scaled to unit length. With ``sublinear``,
    1 + ln n replaces n.
    """
    from scipy.sparse import csr_matrix

    starts, columns, values = [0], [np.empty(0, dtype=np.int32)], [np.empty(0)]
    for counts in counted:
        rows = np.array(sorted(counts), dtype=np.int32)
        times = np.array([counts[row] for row in rows.tolist()], dtype=np.float64)
        row = (1 + np.log(times) if sublinear else times) * weights[rows]
        columns.append(rows)
        values.append(row / (float(np.sqrt(np.sum(row * row))) or 1.0))
        starts.append(starts[-1] + len(rows))
    shape = (len(starts) - 1, len(weights))
    return csr_matrix(
        (np.concatenate(values), np.concatenate(columns), np.array(starts)), shape=shape
    )


class NgramVocabulary:
    """Terms with their weights, which turn texts into vectors of unit length."""

    def __init__(
        self,
        terms: Sequence[str],
        weights: NDArray[np.float64],
        tokenize: Tokenizer,
        *,
        sublinear: bool,
    ) -> None:
        self.terms = terms
        self.weights = weights
        self._sublinear = sublinear
        self._tokenize = tokenize
        self._rows = {term: row for row, term in enumerate(terms)}

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return a scipy CSR matrix, float64, shape (len(texts), len(terms)), with ascending
        columns in each row.
        """
        rows = (map(self._rows.get, self._tokenize(text)) for text in texts)
        counted = (Counter(row for row in of_text if row is not None) for of_text in rows)
        return _weigh_terms(counted, self.weights, sublinear=self._sublinear)


def learn_ngrams(
    texts: Sequence[str], tokenize: Tokenizer, *, sublinear: bool, least: int = 1
) -> NgramVocabulary:
    """Return the vocabulary of the terms in at least ``least`` texts, sorted, with their inverse
    document frequency.

    The weight is scikit-learn's: ln((1 + texts) / (1 + texts with the term)) + 1.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(tokenize(text)))
    frequent = sorted(term for term, number in counts.items() if number >= least)
    frequencies = np.array([counts[term] for term in frequent], dtype=np.float64)
    return NgramVocabulary(
        frequent, np.log((1 + len(texts)) / (1 + frequencies)) + 1, tokenize, sublinear=sublinear
    )


_SIZES = (3, 4, 5)


class Hashing:
    """Hashes words and their n-grams of 3 to 5 characters into buckets.

    ``rarity`` is the inverse document frequency of each bucket. The class can replace a sentence
    encoder.
    """

    name, revision = CHARACTERS, ""

    def __init__(self, rarity: NDArray[np.float64]) -> None:
        self.rarity = rarity
        self.dimension = len(rarity)

    def encode_document(self, texts: Sequence[str]) -> Any:
        """Return a scipy CSR matrix, float32, shape (len(texts), dimension)."""
        counted = (_bucket_counts(text, self.dimension) for text in texts)
        return _weigh_terms(counted, self.rarity, sublinear=True).astype(np.float32)


def learn_buckets(texts: Sequence[str], number: int) -> Hashing:
    """Return the hashing into ``number`` buckets, with the rarity of each bucket among the
    texts.
    """
    counts = np.zeros(number)
    for text in texts:
        counts[list(_bucket_counts(text, number))] += 1
    return Hashing(np.log((1 + len(texts)) / (1 + counts)) + 1)


def _bucket_counts(text: str, number: int) -> Counter[int]:
    """Return the count of each bucket in a text; a text without words has bucket 0."""
    grams = []
    for word in normalise(text).split():
        padded = f"<{word}>"
        grams.append(padded)
        for size in _SIZES:
            grams.extend(padded[start : start + size] for start in range(len(padded) - size))
    return Counter(
        zlib.crc32(gram.encode("utf-8", "replace")) % number for gram in grams
    ) or Counter([0])


# The cosine of two statements' character n-grams above which they count as near-duplicates.
ALIKE = 0.6
_AT_ONCE = 512


def groups(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the group number of each statement; near-duplicates are always in the same group."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    texts, size = [statement.text for statement in statements], len(statements)
    vectors = learn_ngrams(texts, characters, sublinear=True, least=2).vectors(texts)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    # Each block of rows is compared with itself and the later rows.
    for start in range(0, size, _AT_ONCE):
        alike = (vectors[start : start + _AT_ONCE] @ vectors[start:].T).toarray() > ALIKE
        pairs.append(np.argwhere(alike) + start)
    rows, others = np.concatenate(pairs).T
    links = coo_matrix((np.ones(len(rows)), (rows, others)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
