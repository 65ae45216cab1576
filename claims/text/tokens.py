"""Tokens of a statement for the rankers: words, pairs of words, and runs of characters, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ...retrieval.references import unescaped

URL = re.compile(r"(?:https?://|www\.|pic\.twitter\.com/)\S+", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w@.])@\w+")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[#@]?\w+|[%€$£₺?!]")
_CHARACTERS = (2, 3, 4, 5)


def normalised(text: str) -> str:
    """Return a text in one form: entities unescaped, lower case, addresses and accounts a word, numbers ``0``."""
    text = URL.sub(" xxurl ", unescaped(unescaped(text)))
    return _NUMBER.sub("0", MENTION.sub(" xxuser ", text)).lower()


def words(text: str) -> list[str]:
    """Return words, numbers as they are, and pairs of neighbours; accounts keep their names, addresses do not."""
    read = URL.sub(" xxurl ", unescaped(unescaped(text))).lower()
    tokens = _WORD.findall(read)
    return tokens + [f"{first} {second}" for first, second in pairwise(tokens)]


def characters(text: str) -> Iterator[str]:
    """Yield the runs of 2 to 5 characters inside the words of a normalised text, blanks at their ends included."""
    for word in normalised(text).split():
        padded = f" {word} "
        for size in _CHARACTERS:
            for start in range(max(1, len(padded) - size + 1)):
                yield padded[start : start + size]
            if size >= len(padded):
                break
