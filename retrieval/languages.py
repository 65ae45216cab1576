"""Languages: their codes, the language identifier, and whether an encoder knows the language of a query."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from .files import replacing, user_cache

_WRITTEN_IN = {
    "Arabic": ("ar", "fa", "ur", "ckb"),
    "Cyrillic": ("bg", "ru", "sr", "uk", "mk"),
    "Devanagari": ("hi", "ne", "mr"),
    "Chinese or Japanese": ("zh", "ja"),
    **{"Greek": ("el",), "Hebrew": ("he",), "Bengali": ("bn",), "Tamil": ("ta",), "Telugu": ("te",)},
    **{"Thai": ("th",), "Korean": ("ko",), "Japanese": ("ja",), "Armenian": ("hy",)},
}
"""The languages of each script other than Latin."""
_SCRIPTS = {
    **{script.upper(): script for script in _WRITTEN_IN},
    **{"HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Chinese or Japanese"},
}
"""The script of a character, by the first word of the character's Unicode name."""
_OTHER_SCRIPTS = frozenset(code for codes in _WRITTEN_IN.values() for code in codes)
_LATIN_WORDS = 4  # the minimum number of words to judge the language of a text in Latin script: a name has no language
_SURE = 0.5
_ENGLISH = frozenset("the and that this which their been with from are were your you what".split())
"""Function words of English alone: a text with one of them counts as English, without the slow identifier."""
_NO_LANGUAGE = "zxx"  # the identifier's label for codes and numbers


def unknown_language(text: str, known: Sequence[str]) -> str:
    """Return the script or language of ``text`` if it is not in ``known``, which may be empty for all, else ``""``."""
    if not known:
        return ""
    if not text.isascii() and (script := _script(text)):
        return "" if set(_WRITTEN_IN[script]) & set(known) else script
    return _latin_language(text, tuple(known))


def written_in(text: str, language: str) -> bool:
    """Return whether the letters of ``text`` belong to the script of a language, an ISO 639-1 code."""
    if not text.isascii() and (script := _script(text)):
        return language in _WRITTEN_IN[script]
    return language not in _OTHER_SCRIPTS or not any(map(str.isalpha, text))


def _script(text: str) -> str:
    """Return the script of most letters of ``text``, or ``""`` if it is Latin or unknown."""
    names = (unicodedata.name(char, "").split(" ", 1)[0].split("-", 1)[0] for char in text if char.isalpha())
    common = Counter(_SCRIPTS.get(name, "") for name in names).most_common(1)
    return common[0][0] if common else ""


@lru_cache(maxsize=256)  # a search calls it more than once
def _latin_language(text: str, known: tuple[str, ...]) -> str:
    if len(text.split()) < _LATIN_WORDS or (known == ("en",) and not _ENGLISH.isdisjoint(text.lower().split())):
        return ""
    language, probability = identifier(probabilities=True).classify(text)
    return str(language) if language not in (*known, _NO_LANGUAGE) and probability >= _SURE else ""


@cache
def identifier(among: tuple[str, ...] = (), *, iso_639_1: bool = False, probabilities: bool = False) -> Any:
    """Return py3langid's identifier, whose ``classify`` returns a language's code and a score.

    If ``iso_639_1`` is true, it returns only codes of two letters; otherwise only codes in ``among``, or any code if
    ``among`` is empty. With ``probabilities``, the score is between 0 and 1.
    """
    from py3langid.langid import LanguageIdentifier

    weights, moves, priors, labels, states, features = _model()
    parts = weights, priors, labels.tolist(), moves.data, features.data
    chosen = LanguageIdentifier(*parts, norm_probs=probabilities, tk_row=states.data)
    possible = [label for label in chosen.labels if len(label) == 2] if iso_639_1 else list(among)
    if possible:
        chosen.set_languages(possible)
    return chosen


@cache
def _model() -> Sequence[Any]:
    """Return the arrays of py3langid's model, 70 MB, mapped from a cache: unpacking them takes half a second."""
    from importlib.metadata import version

    import numpy as np  # the help of a command does not need these
    from py3langid.langid import MODEL_DIR, MODEL_FILE
    from py3langid.modelio import load_model

    def map_copy() -> Sequence[Any]:
        with np.load(copy / "rest.npz", allow_pickle=False) as rest:  # it compares checksums
            *shapes, priors, labels, states, features = (rest[name] for name in rest.files)
        large = [np.lib.format.open_memmap(copy / f"{name}.npy", mode="r") for name in ("weights", "moves")]
        if [array.shape for array in large] != list(map(tuple, shapes)):
            raise ValueError("a file is not of this model")
        return *large, priors, labels, states, features

    packed = MODEL_DIR / MODEL_FILE
    with suppress(Exception):  # whatever is wrong with the copy, a new one replaces it
        copy = user_cache("languages") / f"{version('py3langid')}-{packed.stat().st_size}"
        return map_copy()
    weights, priors, labels, moves, states, features = map(np.asarray, load_model(packed))
    with suppress(Exception):
        copy.mkdir(parents=True, exist_ok=True)
        for name, array in (("weights", weights), ("moves", moves)):
            with replacing(copy / f"{name}.npy") as file:
                np.save(file, array, allow_pickle=False)
        with replacing(copy / "rest.npz") as file:
            np.savez(file, weights.shape, moves.shape, priors, labels, states, features)
        return map_copy()
    return weights, moves, priors, labels, states, features


_SPELLINGS = """
af afrikaans|am amharic አማርኛ|ar arabic العربية عربي عربية|as assamese|az azerbaijani azərbaycanca|
be belarusian беларуская|bg bulgarian български bulgarisch bulgare bulgaro bulgarca البلغارية|bh bih|
bn bengali bangla বাংলা|bo tibetan|br breton|bs bosnian bosanski|ca catalan català|cs czech čeština česky|
cy welsh cymraeg|da danish dansk|de german deutsch alemán allemand almanca الألمانية немски|el greek ελληνικά|
en english englisch inglés anglais ingilizce الإنجليزية английски английский inglese inglês|eo esperanto|
es spanish español castellano castilian spanisch espagnol ispanyolca الإسبانية испански|et estonian eesti|
eu basque euskara|fa persian farsi فارسی|fi finnish suomi|fo faroese|
fr french français französisch francés fransızca الفرنسية френски|ga irish gaeilge|gl galician galego|
gu gujarati ગુજરાતી|ha hausa|he iw hebrew עברית|hi hindi हिन्दी हिंदी|hr croatian hrvatski|ht haitian|
hu hungarian magyar|hy armenian հայերեն|id in indonesian indonesia|ig igbo|is icelandic íslenska|it italian italiano|
ja japanese 日本語|jv javanese|ka georgian ქართული|kk kazakh қазақша|km khmer ខ្មែរ|kn kannada ಕನ್ನಡ|ko korean 한국어|
ku kurdish kurdî|ky kyrgyz|la latin|lb luxembourgish|lo ລາວ|lt lithuanian lietuvių|lv latvian latviešu|mg malagasy|
mi maori|mk macedonian македонски|ml malayalam മലയാളം|mn mongolian монгол|mr marathi मराठी|ms malay melayu|mt maltese|
my burmese မြန်မာ|nb bokmål|ne nepali नेपाली|nl dutch nederlands flemish|nn nynorsk|no norwegian norsk|oc occitan|
om oromo|or odia oriya|pa punjabi panjabi ਪੰਜਾਬੀ|pl polish polski|ps pashto پښتو|pt portuguese português|qu quechua|
rm romansh|ro mo romanian română moldovan|ru russian русский руски|rw kinyarwanda|sa sanskrit|sd sindhi|
si sinhala සිංහල|sk slovak slovenčina|sl slovenian slovene slovenščina|sn shona|so somali soomaali|sq albanian shqip|
sr serbian српски srpski|sv swedish svenska|sw swahili kiswahili|ta tamil தமிழ்|te telugu తెలుగు|tg tajik|th thai ไทย|
ti tigrinya|tk turkmen|tl tgl fil tagalog filipino|tr turkish türkçe türkisch turc turco التركية турски|tt tatar|
tw twi|ug uyghur|uk ukrainian українська|ur urdu اردو|uz uzbek|vi vietnamese việt|wo wolof|xh xhosa|yi ji yiddish|
yo yoruba|zh chinese mandarin 中文 汉语 漢語|zu zulu
"""
"""Each language by its ISO 639-1 code, with names in several languages, and codes that CLDR maps elsewhere."""


def language_code(written: str) -> str:
    """Return the ISO 639 code of a language, the two-letter code if there is one; ``""`` if it is not a language.

    ``written`` may be ``en-US``, ``en_GB``, ``eng``, ``English``, ``Français`` or ``العربية``. If it
    lists several languages, only the first is used. A code of three letters without a shorter form stays unchanged.
    """
    known = _codes()
    first = _letters(re.split(r"[,;(/|]", written, maxsplit=1)[0])
    words = re.split(r"[-_\s]+", first)
    for word in (first, words[0], words[-1]):
        if word in known:
            return known[word]
    return words[0] if re.fullmatch(r"[a-z]{3}", words[0]) else ""


@cache
def _codes() -> dict[str, str]:
    from babel.core import get_global  # CLDR's aliases have the codes of three letters: "ger" and "deu" for "de"

    codes = {code: own for code, own in get_global("language_aliases").items() if len(code) == 3 and len(own) == 2}
    rows = ([_letters(word) for word in row.split()] for row in _SPELLINGS.replace("\n", "").split("|"))
    return codes | {code: code for code in codes.values()} | {word: row[0] for row in rows for word in row}


def _letters(written: str) -> str:
    parted = unicodedata.normalize("NFKD", written.strip().casefold())
    return unicodedata.normalize(
        "NFC", "".join(c for c in parted if not 0x300 <= ord(c) < 0x370 and not 0x653 <= ord(c) < 0x656)
    )
