"""The words of a claim that no document of an index contains.

If the nearest passages are only rather near to a claim, such a word often tells why: the documents
are about the claim's topic, but not about the claim. A word is named only if its absence says
something. These are not named: everyday words, misspelt words with a correction, other forms and
synonyms of words that documents contain, and numbers that documents may write as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...core.folding import fold
from ...core.text import tweet
from ..lucene.spelling import possible_stems, words_in
from .everyday_words import EVERYDAY, SYNONYMS
from .index_state import IndexState

_MOST = 8  # the maximum number of words to name
_LEAST_SHARE = 1 / 6
"""The minimum share of the words of a text that must be absent: in a long text, one absent word of
many says little.
"""
_SHORTEST = 3
_NAME = 2  # the letters of an abbreviation in capitals, such as EU
_SAME_WORD, _ENDING = 5, 4
"""Words count as forms of one word if they begin with the same letters: five, or all but the last
four of a longer word, so that microchips is no form of microscopes.
"""
_SPELT_OUT = 12  # documents may write numbers up to this one as words
_NEARLY = 0.02
"""Two numbers are nearly equal if they differ by at most this share of the larger one."""
_HASHTAG = re.compile(r"[#＃]\w+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CONTRACTION = re.compile(r"['’][a-z]+$")
"""The end of a contraction such as can't or I've, but not of a name such as O'Brien."""
_CODE = re.compile(r"(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])\w{8,}")
"""A part of an address, such as the end of a short link."""
_GROUPS = re.compile(r"\d{1,3}(?:[.,]\d{3}){2,}")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_MEASURE = re.compile(r"(\d+[.,]\d+)[^\W\d_]{1,3}")
"""A number with its unit, such as 1.5C or 2,5km."""
_SEPARATORS = str.maketrans(".,", ",.")
_YEAR = re.compile(r"[12]\d{3}")
_AROUND = "\"'“”‘’«»()[]{}<>.,;:!?؟،؛…*_~+-–—−/|&%‰°$€£¥"
"""Marks and units around a number."""
_ARTICLE = re.compile("^[وفبك]?ال|^[وف]?لل")
_WEAK_LETTERS = re.compile("[اأإآويىةءئؤ]")
_ARABIC_ENDING = re.compile("(?:ات|ون|ين|ها|هم|نا|ية)$")
_FORM_EDITS = 2  # the maximum edit distance of two forms of an Arabic noun
_AND = re.compile("^[وف](?=ال)")
"""The word "and", which is written together with the noun that follows."""
_WITH_ARTICLE = ("", "ال", "وال", "بال", "لل")


class ContentWord(NamedTuple):
    """A word of a claim as it is written there, and in lower case as an index looks it up."""

    written: str
    word: str


def content_words(text: str, language: str) -> list[ContentWord]:
    """Return the words of a claim whose absence from an index would say something, in their order;
    none in a language without a list of everyday words.
    """
    if language not in EVERYDAY:
        return []
    words: dict[str, ContentWord] = {}
    in_capitals = text.isupper()
    for chunk in fold(tweet(_HASHTAG.sub(" ", text))).split():
        number = chunk.strip(_AROUND)
        if measure := _MEASURE.fullmatch(number):
            number = measure[1]
        if is_number(number):
            if number_value(number) > _SPELT_OUT:
                words.setdefault(number, ContentWord(number, number))
            continue
        for written in words_in(chunk):
            bare = written.removesuffix("'s").removesuffix("’s")
            if language == "ar":
                bare = _AND.sub("", bare)
            word = bare.lower()
            if _tells(bare, language, in_capitals=in_capitals):
                words.setdefault(word, ContentWord(bare, word))
    return list(words.values())


def _tells(word: str, language: str, *, in_capitals: bool) -> bool:
    lower = word.lower()
    if lower.isdigit() or lower in EVERYDAY[language]:
        return False
    if _CONTRACTION.search(word) or _CODE.fullmatch(word):
        return False
    if language == "ar":
        # Only a noun has the article. Without it, a word may be a verb, in one of many forms.
        return bool(_ARTICLE.match(lower)) and len(_ARTICLE.sub("", lower)) >= _SHORTEST
    if len(word) < _SHORTEST:
        return len(word) == _NAME and word.isupper() and not in_capitals
    return EVERYDAY[language].isdisjoint(_forms(lower))


def absent_among(
    state: IndexState, words: Sequence[ContentWord], language: str, corrections: Mapping[str, str]
) -> list[ContentWord]:
    """Return those of some words of a claim that no document of an index contains.

    ``corrections`` are those of misspelt words, which are not absent.
    """
    candidates = [each for each in words if each.word not in corrections]
    unwritten = set(state.find_unwritten([each.word for each in candidates]))
    candidates = [each for each in candidates if each.word in unwritten]
    if not candidates:
        return []
    others = {each.word: _other_forms(each, language) for each in candidates}
    forms = sorted(set().union(*(each.forms for each in others.values())))
    beginnings = sorted(set().union(*(each.beginnings for each in others.values())))
    missing = {*state.find_unwritten(forms)}
    unbegun = {*state.find_unbegun(beginnings)}
    absent = [
        each
        for each in candidates
        if missing.issuperset(others[each.word].forms)
        and unbegun.issuperset(others[each.word].beginnings)
    ]
    if language != "ar":
        return absent
    return [each for each in absent if is_number(each.word) or not _has_form(state, each.word)]


def _has_form(state: IndexState, word: str) -> bool:
    """Return whether an index contains another form of an Arabic noun.

    Arabic forms change inside: the plural of طفل (child) is أطفال, and that of رضيع (infant) is
    رضع. So two similar words are forms of one noun if their consonants are the same.
    """
    bare = _ARTICLE.sub("", word)
    consonants = _consonants(bare)
    return any(
        _consonants(near.text) == consonants
        for form in (bare, f"ال{bare}")
        for near in state.words_near(form, _FORM_EDITS)
    )


def _consonants(word: str) -> str:
    """Return the consonants of an Arabic word that its forms share, mostly those of its root."""
    return _WEAK_LETTERS.sub("", _ARABIC_ENDING.sub("", _ARTICLE.sub("", word)))


def words_to_name(absent: Sequence[ContentWord], words: Sequence[ContentWord]) -> tuple[str, ...]:
    """Return the ``absent`` ones of the ``words`` of a claim, as they are written there: none if
    they are too few of them, else at most eight.
    """
    if len(absent) < _LEAST_SHARE * len(words):
        return ()
    return tuple(each.written for each in absent[:_MOST])


class _OtherForms(NamedTuple):
    """Words, and beginnings of words, that stand for a word: if an index has one, it has the
    word.
    """

    forms: frozenset[str]
    beginnings: frozenset[str]


def _other_forms(word: ContentWord, language: str) -> _OtherForms:
    if is_number(word.word):
        # Languages write 657,461 as 657.461, and 94.1 as 94,1.
        other = {word.word.translate(_SEPARATORS), re.sub("[.,]", "", word.word)}
        return _OtherForms(frozenset(other - {word.word}), frozenset())
    if language == "ar":
        bare = _beginning(_ARTICLE.sub("", word.word))
        return _OtherForms(frozenset(), frozenset(with_ + bare for with_ in _WITH_ARTICLE))
    forms = _forms(word.word) | SYNONYMS.get(word.word, frozenset())
    beginnings = {_beginning(word.word)} if len(word.word) >= _SAME_WORD else set()
    return _OtherForms(frozenset(forms - {word.word}), frozenset(beginnings))


def _beginning(word: str) -> str:
    return word[: max(_SAME_WORD, len(word) - _ENDING)]


def _forms(word: str) -> set[str]:
    """Return an English word in lower case with the words that it may be a form of."""
    comparative = word.removesuffix("est") + "er" if word.endswith("est") else word
    return {form for form in possible_stems(word) | possible_stems(comparative) if form}


def is_number(word: str) -> bool:
    """Return whether a word is a number, with or without separators."""
    return bool(_NUMBER.fullmatch(word))


def number_value(number: str) -> float:
    """Return the value of a number with a decimal point or comma, and with thousands separators.

    A comma before three digits separates thousands, and so do points if there are several.
    """
    if _GROUPS.fullmatch(number):
        return float(re.sub("[.,]", "", number))
    without_thousands = _THOUSANDS.sub("", number)
    *whole, fraction = re.split("[.,]", without_thousands)
    return float(f"{''.join(whole)}.{fraction}" if whole else fraction)


def nearly_equal(number: str, texts: Iterable[str]) -> str:
    """Return the number in some texts that is nearest to another, if the two are nearly equal; else
    ``""``.

    Two years are different, however near they are.
    """
    value, best = number_value(number), ("", _NEARLY)
    for text in texts:
        for match in _NUMBER.finditer(fold(text)):
            other = match[0]
            if _YEAR.fullmatch(number) and _YEAR.fullmatch(other):
                continue
            largest = max(value, number_value(other))
            share = abs(value - number_value(other)) / largest if largest else 0.0
            if share < best[1]:
                best = other, share
    return best[0]
