"""Letters: one form for the spellings of a word that differ in letters or in spaces alone.

The analysis of texts applies these functions to folded texts, of documents and of queries. ASCII
letters stay unchanged. :data:`ANALYSIS` in ``retrieval/lucene/analysis.py`` numbers their versions:
a change here needs a new number.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from .text import marks

_LIGATURES = {
    "œ": "oe",
    "Œ": "OE",
    "æ": "ae",
    "Æ": "AE",
    "ǽ": "ae",
    "Ǽ": "AE",
    "ǣ": "ae",
    "Ǣ": "AE",
    "ß": "ss",
    "ẞ": "SS",
    "ꜳ": "aa",
    "Ꜳ": "AA",
    "ꜵ": "ao",
    "Ꜵ": "AO",
    "ꜷ": "au",
    "Ꜷ": "AU",
    "ꜹ": "av",
    "Ꜹ": "AV",
    "ꜽ": "ay",
    "Ꜽ": "AY",
    "ꝏ": "oo",
    "Ꝏ": "OO",
    "ᵫ": "ue",
    "ӕ": "ae",  # Ossetian is also written with the Latin letter
    "Ӕ": "AE",
    "ꝡ": "vy",
    "Ꝡ": "VY",
    "ỻ": "ll",
    "Ỻ": "LL",
    "ȸ": "db",
    "ȹ": "qp",
    # Yiddish
    "\u05f0": "\u05d5\u05d5",
    "\u05f1": "\u05d5\u05d9",
    "\u05f2": "\u05d9\u05d9",
}
"""Letters that two letters can replace; NFKC replaces others, such as ﬁ."""
_ARABIC = {
    "\u0671": "\u0627",  # alef wasla
    "\u06cc": "\u064a",  # the yeh, kaf and heh of Persian and Urdu
    "\u06a9": "\u0643",
    "\u06c1": "\u0647",
    "\u06c2": "\u0647",
    "\u06c0": "\u0647",
    "\u06c3": "\u0629",
    "\u066b": ".",
}
"""Letters of Arabic, Persian and Urdu that keyboards confuse, and the decimal separator."""
_ROMANIAN = {"ș": "ş", "Ș": "Ş", "ț": "ţ", "Ț": "Ţ"}
"""Letters with a comma below, which older texts, and Lucene's stop words, have with a cedilla."""
_JOINER, _DAGGER_ALEF, _ALEF = "\u200c", "\u0670", "\u0627"
_SPELLED = re.compile(f"[{_JOINER}{_DAGGER_ALEF}]")
_HEH_WITH_TWO_EYES = re.compile("\u06be(?<![\\w\u064b-\u065f\u0670].)")
"""A letter that is no heh only after another letter: in Urdu, where it makes that one aspirated."""
_ARABIC_MARKS = (
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u08d3-\u08ff"
)
_CARRIED_ALEF = re.compile(f"[\u0648\u0649\u064a\u06cc][{_ARABIC_MARKS}]*{_DAGGER_ALEF}")
"""A dagger alef on another letter, instead of which modern texts have an alef."""
_HEBREW_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_OWN_ALPHABET = ("sorani",)
"""The analyzers that read the letters of :data:`_ARABIC` themselves, as different letters."""
_YEH_WITHOUT_DOTS = {"\u0649": "\u064a"}
_READ_YEH = ("arabic", "persian", "sorani")
"""The analyzers that read the yeh without dots: it is in their stop words."""
_STOP_WORDS_WITH_AE = ("danish", "norwegian")
_AE = re.compile(r"[æÆ](?!(?<=\b[vV].)[rR](?:[eE]?[tT]|[eE])\b)")
"""The letter æ outside the stop words være, været and vært."""
_REPLACED = "".join((*_LIGATURES, *_ROMANIAN, *_ARABIC, *_YEH_WITHOUT_DOTS))
_SPECIAL = re.compile(f'[\u06be{_ARABIC_MARKS}{_HEBREW_POINTS}{_REPLACED}\u05f4"]')
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_GERSHAYIM = re.compile('(?<=[\u05d0-\u05ea])[\u05f4"](?=[\u05d0-\u05ea])')
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_BESIDE_HANGUL = re.compile(
    rf"(?<=[{_HANGUL}])(?=[^\W_{_HANGUL}{_NO_SPACES}])|(?<=[^\W_{_HANGUL}{_NO_SPACES}])(?=[{_HANGUL}])"
)
_HANGUL_LETTER = re.compile(f"[{_HANGUL}]")
_FOREIGN = re.compile("[\u0530-\u1dff\u2c00-\ud7ff\uf900-\uffdc\U00010000-\U0003ffff]")
"""A letter of a script that is not European."""
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_ASCII_MIXED = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]*+(?:[0-9]++[A-Za-z]*+)+")
_LONGEST_IN_CODE = 2
_EUROPEAN = re.compile("[A-Za-z\u00aa-\u052f\u1e00-\u1fff]+")


def fold_letters(form: str, analyzer: str) -> str:
    """Return a folded text with one form of each letter, for the analyzer of this name."""
    # Two searches for one character each are faster than one search with an alternative.
    if form.isascii() or not (_SPECIAL.search(form) or _OTHER_DIGIT.search(form)):
        return form
    form = _GERSHAYIM.sub("", form)
    if analyzer not in _OWN_ALPHABET:
        form = _HEH_WITH_TWO_EYES.sub("\u0647", form)
    if analyzer in _STOP_WORDS_WITH_AE:
        form = _AE.sub(lambda letter: _LIGATURES[letter[0]], form)
    return form.translate(_replacements(analyzer))


@cache
def _replacements(analyzer: str) -> dict[int, str]:
    letters = _LIGATURES | _ROMANIAN
    if analyzer in _STOP_WORDS_WITH_AE:
        del letters["æ"], letters["Æ"]
    if analyzer not in _OWN_ALPHABET:
        letters |= _ARABIC
    if analyzer not in _READ_YEH:
        letters |= _YEH_WITHOUT_DOTS
    dropped = re.findall(f"[{_ARABIC_MARKS}{_HEBREW_POINTS}]", "".join(map(chr, range(0x0900))))
    return {**{ord(letter): form for letter, form in letters.items()}, **_digits()} | {
        ord(mark): "" for mark in dropped
    }


@cache
def _digits() -> dict[int, str]:
    return {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(0x80, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) == "Nd"
    }


def has_spellings(form: str) -> bool:
    """Return whether a word of a folded text may have other spellings."""
    return not form.isascii() and _SPELLED.search(form) is not None


def spellings(form: str) -> list[str]:
    """Return the other spellings of a folded word, or of several.

    A word with a zero-width non-joiner is also written as one word without it, and as several. A
    dagger alef is not written (``هذا``), or as an alef (``كتاب``).
    """
    if not has_spellings(form):
        return []
    joined = form.replace(_JOINER, "")
    others = [joined, form.replace(_JOINER, " ")]
    if _DAGGER_ALEF in form:
        others += [joined.replace(_DAGGER_ALEF, _ALEF), _CARRIED_ALEF.sub(_ALEF, joined)]
    return [each for each in dict.fromkeys(others) if each != form]


def split_numbers(form: str, analyzer: str) -> str:
    """Return a text with a space between a number and the word that it is written with, as in
    ``10 mg`` and ``Covid 19``.

    Codes such as ``B12`` and ``H1N1`` stay as they are. For the analyzer ``english``, so do words
    in ASCII and in other letters of Europe. Hangul is also split from Latin letters.
    """
    is_european = analyzer == "english" and (form.isascii() or not _FOREIGN.search(form))
    if analyzer == "whitespace" or is_european:
        return form
    if not form.isascii() and _HANGUL_LETTER.search(form):
        form = _BESIDE_HANGUL.sub(" ", form)
    split = _split_foreign if analyzer == "english" else _split
    pieces, done, end = list[str](), 0, 0
    for digit in _DIGIT.finditer(form):  # few of the words have digits
        if digit.start() < end:
            continue
        start = form.rfind(" ", end, digit.start()) + 1 or end
        end = form.find(" ", digit.end())
        end = len(form) if end < 0 else end
        chunk = form[start:end]
        if not (chunk.isdecimal() or (chunk.isascii() and not _LETTER.search(chunk))):
            pattern = _ASCII_MIXED if chunk.isascii() else _mixed()
            pieces += [form[done:start], pattern.sub(split, chunk)]
            done = end
    return "".join((*pieces, form[done:])) if pieces else form


@cache
def _mixed() -> re.Pattern[str]:
    letter = rf"(?:[^\W\d_{_NO_SPACES}{_HANGUL}]|[{marks()}\u200c])"
    return re.compile(rf"(?<![^\W_])(?<![{marks()}\u200c]){letter}*+(?:[0-9]++{letter}*+)+")


def _split_foreign(run: re.Match[str]) -> str:
    letters = "".join(filter(str.isalpha, run[0]))
    return run[0] if _EUROPEAN.fullmatch(letters) or not letters else _split(run)


def _split(run: re.Match[str]) -> str:
    pieces = re.findall(r"[0-9]+|[^0-9]+", run[0])
    words = [piece for piece in pieces if not piece.isdigit()]
    # A single letter of Europe is a unit after a number, and else a part of a code, which has no
    # longer words.
    has_letter = any(len(word) == 1 and _EUROPEAN.fullmatch(word) for word in words)
    is_code = has_letter and max(map(len, words)) <= _LONGEST_IN_CODE
    is_unit = len(pieces) == 2 and pieces[0].isdigit()
    return run[0] if is_code and not is_unit else " ".join(pieces)
