"""Signatures of texts, which detect near-duplicates.

Java makes those of an index (``retrieval/lucene/signer.py``): the same ones, faster.

A signature has 256 bits. It is made with 64 random orders of all words. For each order, it contains
four bits of the hash of the text's first word in that order (MinHash, Broder 1997; b bits of each,
Li and König 2010). The share of orders in which two texts agree estimates the share of common
words: the words in both, divided by the words in either.

Stored signatures must stay valid for years. So everything here is fixed: words, their hashes
(CRC-32, then multiply-add-shift, Dietzfelbinger 1996) and the orders.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from itertools import count
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

ORDERS = 64
BITS = 4
WORDS = ORDERS * BITS // 64  # the number of 64-bit words of a signature
AT_ONCE = 256  # the number of texts whose words are hashed together
_HASHED_AT_ONCE = 512
Signatures: TypeAlias = NDArray[np.uint64]  # Shape (texts, 4), little-endian
_WORD = re.compile(r"[^\W_]+")
_WORD_BYTES = bytes(code if code >= 128 or chr(code).isalnum() else 32 for code in range(256))
"""The translation of each UTF-8 byte of a text: ASCII characters other than letters and digits
separate words.
"""
# The characters of scripts without spaces between words.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_LAST_OF_FOUR = np.uint64(0x1111_1111_1111_1111)


def signatures_of(texts: Sequence[str]) -> Signatures:
    """Return the signature of each text. It depends only on the words of that text."""
    parts = [_sign(texts[start : start + AT_ONCE]) for start in range(0, len(texts), AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty((0, WORDS), dtype="<u8")


def features(text: str) -> set[bytes]:
    """Return a text's lower-case words, or pairs of characters in scripts without spaces; without
    words, the text.
    """
    folded = text.casefold()
    pieces = set(folded.encode("utf-8", "replace").translate(_WORD_BYTES).split())
    if text.isascii():
        return pieces or {folded.strip().encode()}
    # In most texts, few pieces contain other characters than ASCII. Only such a piece may contain
    # several words.
    mixed = [piece for piece in pieces if not piece.isascii()]
    pieces.difference_update(mixed)
    words = set(_WORD.findall(b" ".join(mixed).decode()))
    if UNSPACED.search(folded):
        for word in [word for word in words if UNSPACED.search(word)]:
            words.discard(word)
            words.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    pieces.update(map(str.encode, words))
    return pieces or {folded.strip().encode("utf-8", "replace")}


def most_disagreements(similarity: float) -> int:
    """Return the maximum number of differing orders for texts with at least this share of common
    words.
    """
    return int(ORDERS * (1 - similarity) * (1 - 2.0**-BITS))  # 1 of 16 orders agrees by chance


def disagreements(signatures: Signatures, other: Signatures) -> NDArray[np.int64]:
    """Return the number of orders in which each of ``signatures``, shape (n, 4), differs from
    ``other``, shape (4,).
    """
    differs = signatures ^ other
    differs |= differs >> np.uint64(1)
    differs |= differs >> np.uint64(2)
    differs &= _LAST_OF_FOUR
    counts: NDArray[np.int64] = np.bitwise_count(differs).sum(axis=1, dtype=np.int64)
    return counts


def _sign(texts: Sequence[str]) -> Signatures:
    numbers = defaultdict[bytes, int](count().__next__)
    of_texts = [list(map(numbers.__getitem__, features(text))) for text in texts]
    hashed = np.fromiter(map(crc32, numbers), np.uint64, len(numbers))[:, np.newaxis]
    factors, shifts = orders()
    # The hash of each word in each order.
    ordered = np.empty((len(hashed), ORDERS), dtype=np.uint32)
    for start in range(0, len(hashed), _HASHED_AT_ONCE):  # a batch fits in the processor's cache
        some = hashed[start : start + _HASHED_AT_ONCE] * factors
        some += shifts
        some >>= np.uint64(32)
        ordered[start : start + len(some)] = some
    firsts = np.empty((len(texts), ORDERS), dtype=np.uint32)
    for first, words in zip(firsts, of_texts, strict=True):
        np.minimum.reduce(ordered.take(words, axis=0), axis=0, out=first)
    # Values of four bits, shape (texts, 64), are packed into words of 64 bits.
    values = (
        (firsts & np.uint32(2**BITS - 1)).astype("<u8").reshape(len(texts), WORDS, ORDERS // WORDS)
    )
    places = np.arange(ORDERS // WORDS, dtype=np.uint64) * np.uint64(BITS)
    packed: Signatures = np.bitwise_or.reduce(values << places, axis=2)
    return packed


@cache
def orders() -> tuple[Signatures, Signatures]:
    """Return the hash function of each order: an odd factor, and a number to add to the product."""
    digests = b"".join(
        blake2b(b"factseek %d" % order, digest_size=16).digest() for order in range(ORDERS)
    )
    drawn = np.frombuffer(digests, dtype="<u8").reshape(ORDERS, 2)
    return drawn[:, 0] | np.uint64(1), drawn[:, 1]
