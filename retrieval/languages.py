"""Languages: the one identifier, and whether an encoder that knows only some of them knows that of a query."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

_SCRIPTS = {
    "ARABIC": "Arabic",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Devanagari",
    "BENGALI": "Bengali",
    "TAMIL": "Tamil",
    "TELUGU": "Telugu",
    "THAI": "Thai",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese or Japanese",
    "ARMENIAN": "Armenian",
}
_WRITTEN_IN = {
    "Arabic": ("ar", "fa", "ur", "ckb"),
    "Cyrillic": ("bg", "ru", "sr", "uk", "mk"),
    "Greek": ("el",),
    "Hebrew": ("he",),
    "Devanagari": ("hi", "ne", "mr"),
    "Bengali": ("bn",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Thai": ("th",),
    "Korean": ("ko",),
    "Japanese": ("ja",),
    "Chinese or Japanese": ("zh", "ja"),
    "Armenian": ("hy",),
}
_OTHER_SCRIPTS = frozenset(code for codes in _WRITTEN_IN.values() for code in codes)
"""The languages that are written in another script than Latin."""
_LATIN_WORDS = 4  # fewer words of Latin script than this are not judged: a name is in no language
_SURE = 0.5
_ENGLISH = frozenset("the and that this which their been with from are were your you what".split())
"""Function words that only English has: most texts in it hold one, which spares the identifier."""
_NO_LANGUAGE = "zxx"  # what the identifier says of codes and numbers


def unknown_language(text: str, known: Sequence[str]) -> str:
    """Return the script or language of ``text`` if it is none of the languages ``known``, else ``""``.

    An empty ``known`` stands for every language.
    """
    if not known:
        return ""
    script = _script(text)
    if script:
        return "" if set(_WRITTEN_IN[script]) & set(known) else script
    return _latin_language(text, known)


def written_in(text: str, language: str) -> bool:
    """Return whether the letters of ``text`` are those that a language, an ISO 639-1 code, is written in."""
    script = "" if text.isascii() else _script(text)
    if script:
        return language in _WRITTEN_IN[script]
    return language not in _OTHER_SCRIPTS or not any(map(str.isalpha, text))


def _script(text: str) -> str:
    """Return the script of most letters of ``text``, or ``""`` if it is Latin or unknown."""
    if text.isascii():
        return ""
    names = (unicodedata.name(char, "").split(" ", 1)[0].split("-", 1)[0] for char in text if char.isalpha())
    common = Counter(_SCRIPTS.get(name, "") for name in names).most_common(1)
    return common[0][0] if common else ""


def _latin_language(text: str, known: Sequence[str]) -> str:
    if len(text.split()) < _LATIN_WORDS or (tuple(known) == ("en",) and not _ENGLISH.isdisjoint(text.lower().split())):
        return ""
    language, probability = identifier(probabilities=True).classify(text)
    return str(language) if language not in (*known, _NO_LANGUAGE) and probability >= _SURE else ""


@cache
def identifier(among: tuple[str, ...] = (), *, iso_639_1: bool = False, probabilities: bool = False) -> Any:
    """Return py3langid's identifier, whose ``classify`` gives a language's code and how sure it is.

    ``among`` are the only codes that it may give, all that it knows if none is named; with ``iso_639_1`` those of two
    letters. With ``probabilities`` it says how sure it is between 0 and 1. All share one model of 70 MB, which
    takes half a second to unpack.
    """
    from py3langid.langid import LanguageIdentifier

    model = _model()
    chosen = LanguageIdentifier(
        model.nb_ptc,
        model.nb_pc,
        model.nb_classes,
        model.tk_nextmove,
        model.tk_output,
        norm_probs=probabilities,
        tk_row=model.tk_row,
    )
    possible = [label for label in chosen.labels if len(label) == 2] if iso_639_1 else list(among)
    if possible:
        chosen.set_languages(possible)
    return chosen


@cache
def _model() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
