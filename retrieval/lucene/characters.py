"""The kinds of characters, told to Java: its version of Unicode is not Python's.

The words and signatures of an index are made in Java, and searches compare them with what Python
makes of a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from ...core.text import marks
from ..store.signatures import UNSPACED
from .jvm import java

# The numbers of the kinds in Characters.java.
_LETTER, _MARK, _DIGIT, _UNSPACED = 1, 2, 4, 8
_ALL = 0x110000


@cache
def teach_java() -> None:
    """Tell Java once the kinds of all characters, before it reads a text that is not ASCII."""
    ranges = [bounds for kind in _ranges() for bounds in kind]
    java("WordCounter").learn(np.array(ranges, dtype="<i4").tobytes())


def _ranges() -> Iterator[Iterator[tuple[int, int, int]]]:
    """Yield the ranges of each kind: the first and the last character, and the kind."""
    characters = np.arange(_ALL, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    letters = [run.span() for run in re.finditer(r"[^\W_]+", characters)]
    yield ((start, end - 1, _LETTER) for start, end in letters)
    each_mark = re.findall("(.)-(.)", marks(), re.DOTALL)
    yield ((ord(first), ord(last), _MARK) for first, last in each_mark)
    # Most runs of letters and digits are long, without any digit.
    mixed = [run for run in letters if not characters[slice(*run)].isalpha()]
    digits = [at for run in mixed for at in range(*run) if characters[at].isdigit()]
    yield ((at, at, _DIGIT) for at in digits)
    unspaced = re.findall("(.)-(.)", UNSPACED.pattern, re.DOTALL)
    yield ((ord(first), ord(last), _UNSPACED) for first, last in unspaced)
