"""The words of a collection in their written form, and those similar to a misspelt word.

An analyzer's terms are stems, which nobody types, and a misspelt word has a different stem from the
correct word. So this module keeps the words of the documents, in lower case, with their
frequencies. Only scripts with spaces between words have words here; Chinese, Japanese, Thai, Lao,
Burmese and Khmer have none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.errors import MachineError
from ...core.folding import fold
from ...core.text import marks
from ..encoders.sources import ENGLISH, find_model
from ..store.signatures import UNSPACED

SHORTEST, LONGEST = 3, 40  # the minimum and the maximum number of letters of a word to keep
ONE_EDIT, OTHER_LETTERS, TWO_EDITS = 5, 6, 10
"""The minimum length of a word to correct: by one edit that keeps the set of letters, by any one
edit, by two edits.
"""
COMMON, VERY_COMMON, MOST_COMMON = 3, 10, 100
"""The minimum frequency of a correction: by one edit, by two edits, by a letter rarely confused
with the wrong one.
"""
_LONG, _BEGINNING, _FORM = 8, 2, 3
"""The minimum number of letters of a long word, and the numbers of letters at its beginning and at
its end in which words may differ that mean something else.
"""
DENIALS = frozenset(
    "never none nobody nothing neither nor without cannot can't don't doesn't didn't isn't aren't "
    "wasn't weren't won't "
    "nunca jamás nadie nada ninguno ninguna ningún tampoco sin nie niemals niemand nichts kein "
    "keine keiner ohne "
    "jamais aucun aucune personne rien sans değil asla hiç hiçbir yok никога никой нищо нито няма "
    "без "
    "ليس ليست ليسوا لست أبدا بدون غير دون".split()
)
"""Words that reverse a claim: a correction neither replaces nor inserts such a word."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)*")
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that capitalise all nouns
_TITLE_SMALL = 3  # words of up to this many letters may stay in lower case in a title
_OPENING = " \t\"'“”‘’«»([{-–—*#"
_ENDS = ".!?…:;\n،؟。"
# Letters that people confuse with each other.
_ALIKE = ("aeiouy", "cksqxz", "gj", "dt", "bp", "fvw", "mn")
_BRITISH = [pair.split("=") for pair in "ae=e oe=e our=or is=iz ys=yz ll=l gue=g re=er".split()]
_BEGINNINGS = ("un", "re", "non", "anti", "over", "mis", "pre")
_FORMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("s", "'s", "ness", "less"), ("",)),
    **dict.fromkeys(("es", "ed", "ing", "er", "ers", "able"), ("", "e")),
    **{"d": ("e",), "ly": ("", "le"), "ies": ("y",), "ied": ("y",)},
}
"""Endings of English words, each with the possible endings of the word without it."""


class WordNearby(NamedTuple):
    """A word of a collection, with its edit distance from another word and its frequency."""

    text: str
    edits: int
    frequency: int


def words_in(text: str) -> list[str]:
    """Return the words of a text, including numbers."""
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _word()


def suspects(text: str, language: str) -> dict[str, bool]:
    """Return the lower-case words that are misspelt if no document has them, and whether each may
    be a name.

    It leaves out short and very long words, denials, the general vocabulary, and names: capitalised
    words within a sentence. A capitalised first word may be a name, unless the text is a title or
    the language capitalises all nouns.
    """
    found = list(_pattern(text).finditer(text))
    capitals = [
        language not in _CAPITAL_NOUNS and not each[0].islower() and each[0] != each[0].lower()
        for each in found
    ]
    if not any(
        len(each[0]) > _TITLE_SMALL and not capital
        for each, capital in zip(found, capitals, strict=True)
    ):
        capitals = [False] * len(found)  # a title, or a text in capitals
    words: dict[str, bool] = {}
    for number, each in enumerate(found):
        before = text[: each.start()].rstrip(_OPENING)
        begins = not before or before[-1] in _ENDS
        if capitals[number] and not (
            begins and each[0][1:].islower() and not any(capitals[number + 1 : number + 2])
        ):
            continue
        word = each[0].lower()
        if admitted_edits(word) and is_kept(word) and word not in DENIALS and not _is_known(word):
            words[word] = words.get(word, True) and capitals[number]
    return words


@cache
def _vocabulary() -> frozenset[str]:
    """Return the whole words in the vocabulary of the bundled English encoder; none if the encoder
    is missing.
    """
    try:
        lines = (find_model(ENGLISH).path / "vocab.txt").read_text("utf-8").splitlines()
    except (MachineError, OSError):
        return frozenset()
    return frozenset(line for line in lines if len(line) >= SHORTEST and line.isalpha())


@lru_cache(maxsize=20_000)
def _is_known(word: str) -> bool:
    return not _vocabulary().isdisjoint(possible_stems(word))


def possible_stems(word: str) -> set[str]:
    """Return an English word in lower case, and what is left of it without a beginning or an
    ending that may be one of a form.
    """
    stems = {
        word[len(beginning) :] for beginning in ("", *_BEGINNINGS) if word.startswith(beginning)
    }
    for rest in [*stems]:
        for ending, instead in _FORMS.items():
            if rest.endswith(ending) and len(rest) - len(ending) >= SHORTEST:
                stem = rest[: -len(ending)]
                stems.update(stem + other for other in instead)
                if stem[-1] == stem[-2]:  # for example "stopped"
                    stems.add(stem[:-1])
    return stems


def masks(words: Sequence[str]) -> NDArray[np.uint64]:
    """Return 64 bits per word, a bit set for each of its letters: words one edit apart differ in at
    most two bits.
    """
    lengths = np.fromiter(map(len, words), np.intp, len(words))
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    letters = np.uint64(1) << (codes & np.uint32(63)).astype(np.uint64)
    united = np.zeros(len(words), dtype="<u8")
    (written,) = lengths.nonzero()
    if len(written):
        united[written] = np.bitwise_or.reduceat(letters, (np.cumsum(lengths) - lengths)[written])
    return united


def admitted_edits(word: str) -> int:
    """Return the maximum number of edits in a correction of ``word``, which depends on the word's
    length.
    """
    letters = len(word) + (not word.isascii())  # other scripts write vowels as marks, or not at all
    return (letters >= ONE_EDIT) + (letters >= TWO_EDITS)


def possible(own: NDArray[np.uint64], word: str, edits: int) -> NDArray[np.intp]:
    """Return the positions of the masks in ``own`` whose words may be within ``edits`` edits of
    ``word``.
    """
    (mask,) = masks([word])
    differing = own ^ mask
    alike = np.flatnonzero(np.bitwise_count(differing) <= 2 * edits)
    # An edit adds at most one letter and removes at most one, which excludes most of the remaining
    # words.
    differing = differing[alike]
    lacking, more = np.bitwise_count(differing & mask), np.bitwise_count(differing & own[alike])
    near: NDArray[np.intp] = alike[(lacking <= edits) & (more <= edits)]
    return near


def within(word: str, others: Sequence[str], edits: int) -> list[tuple[int, int]]:
    """Return the positions and distances of those of ``others`` that are within ``edits`` edits of
    ``word``.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    near = process.extract(
        word, others, scorer=OSA.distance, score_cutoff=edits, limit=None, processor=None
    )
    return [(place, int(distance)) for _, distance, place in near]


def nearest(word: str, candidates: Iterable[WordNearby], *, may_be_name: bool) -> str:
    """Return the sufficiently frequent candidate with the fewest edits, then the highest frequency;
    else ``""``.
    """
    counts: Counter[str] = Counter()
    edits: dict[str, int] = {}
    for candidate in candidates:
        text = candidate.text  # a correction begins with the same letter, and is no denial
        if text not in DENIALS and text[0] == word[0] and "'" not in text and "’" not in text:
            counts[text] += candidate.frequency
            edits[text] = candidate.edits
    common = [text for text in edits if counts[text] >= _least(word, text, edits[text])]
    if may_be_name:  # Moderna is not a misspelling of modern
        common = [text for text in common if not (text.startswith(word) or word.startswith(text))]
    return min(common, key=lambda text: (edits[text], -counts[text], text), default="")


def _least(word: str, meant: str, edits: int) -> float:
    if edits > 1:
        return VERY_COMMON
    british = any(word.replace(ours, theirs) == meant for ours, theirs in _BRITISH)
    if british or (len(word) < OTHER_LETTERS and word.isascii() and set(word) != set(meant)):
        return math.inf
    changed = [{own, other} for own, other in zip(word, meant, strict=False) if own != other]
    if len(word) == len(meant) and len(changed) == 1 and meant.isascii():
        return COMMON if any(changed[0] <= set(alike) for alike in _ALIKE) else MOST_COMMON
    return 1 if meant in _vocabulary() or _differ_inside(word, meant) else COMMON


def _differ_inside(word: str, meant: str) -> bool:
    """Return whether two long words differ by a letter that one of them lacks, and not at an end,
    where forms of a word differ.

    Such words are hardly ever different words, so a small collection may have the right one once.
    """
    shorter, longer = sorted((word, meant), key=len)
    if len(shorter) == len(longer) or len(shorter) < _LONG:
        return False
    alike = 0
    while alike < len(shorter) and shorter[alike] == longer[alike]:
        alike += 1
    return alike >= _BEGINNING and len(longer) - alike > _FORM


def respelt(text: str, spellings: Mapping[str, str]) -> str:
    """Return a text with words corrected by ``spellings``, which are in lower case; capitals stay
    capitals.
    """

    def put_right(match: re.Match[str]) -> str:
        word = match[0]
        right = spellings.get(word.lower(), word)
        if len(word) > 1 and word.isupper():
            return right.upper()
        return right[:1].upper() + right[1:] if word[:1].isupper() else right

    text = fold(text)
    return _pattern(text).sub(put_right, text)


def is_kept(word: str) -> bool:
    """Return whether a collection keeps a word: it contains only letters and is neither short nor
    very long.
    """
    if not SHORTEST <= len(word) <= LONGEST:
        return False
    if word.isascii() and word.isalpha():  # a fast path for nearly all English words
        return True
    return not any(map(str.isdigit, word)) and not UNSPACED.search(word)


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word in any script; it may contain combining marks, apostrophes and
    joiners.
    """
    return re.compile(rf"[^\W_](?:[^\W_]|[{marks()}]|['’\u200c\u200d](?=\w))*")
