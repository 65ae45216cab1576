"""Languages: their codes, the language identifier, and whether an encoder knows the language of a
query.
"""

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
    **{
        "Greek": ("el",),
        "Hebrew": ("he",),
        "Bengali": ("bn",),
        "Tamil": ("ta",),
        "Telugu": ("te",),
    },
    **{"Thai": ("th",), "Korean": ("ko",), "Japanese": ("ja",), "Armenian": ("hy",)},
}
"""The languages of each script other than Latin."""
_SCRIPTS = {
    **{script.upper(): script for script in _WRITTEN_IN},
    **{
        "HANGUL": "Korean",
        "HIRAGANA": "Japanese",
        "KATAKANA": "Japanese",
        "CJK": "Chinese or Japanese",
    },
}
"""The script of a character, by the first word of the character's Unicode name."""
_OTHER_SCRIPTS = frozenset(code for codes in _WRITTEN_IN.values() for code in codes)
# The minimum number of words to judge the language of a text in Latin script: a name has no
# language.
_LATIN_WORDS = 4
_SURE = 0.5
_ENGLISH = frozenset("the and that this which their been with from are were your you what".split())
"""Function words of English alone: a text with one of them counts as English, without the slow
identifier.
"""
_NO_LANGUAGE = "zxx"  # the identifier's label for codes and numbers
_SHORT_TEXT = 3
"""The minimum number of words to tell that a short text is foreign; one of them without a capital,
because names have no language.
"""
_RULED_OUT = 0.02
"""A short text is foreign if the known languages together are less probable than this. The best
language of a short text is seldom probable, but its own language is hardly ever this improbable.
"""


def unknown_language(text: str, known: Sequence[str]) -> str:
    """Return the script or language of ``text`` if it is not in ``known``, which may be empty for
    all, else ``""``.
    """
    if not known:
        return ""
    if not text.isascii() and (script := _script(text)):
        return "" if set(_WRITTEN_IN[script]) & set(known) else script
    return _latin_language(text, tuple(known))


def foreign_language(text: str, known: Sequence[str]) -> str:
    """Return the script or language of ``text`` if it is hardly in one of the ``known`` languages,
    which may be empty for all, else ``""``.

    Unlike :func:`unknown_language`, it also tells short texts, and names only languages with a code
    of two letters: a text that looks like Nigerian Pidgin is mostly English.
    """
    if not known:
        return ""
    if not text.isascii() and (script := _script(text)):
        return "" if set(_WRITTEN_IN[script]) & set(known) else script
    if _OTHER_SCRIPTS.issuperset(known):  # the script decides, however short the text is
        return _latin_language_of(text) if any(map(str.isalpha, text)) else ""
    return _foreign_latin_language(text, tuple(known))


@lru_cache(maxsize=256)  # a search calls it more than once
def _latin_language_of(text: str) -> str:
    shares = _language_shares(text)
    best = max(shares, key=lambda code: shares[code], default="")
    return best if best and best not in _OTHER_SCRIPTS and shares[best] >= _SURE else "Latin"


@lru_cache(maxsize=256)  # a search calls it more than once
def _foreign_latin_language(text: str, known: tuple[str, ...]) -> str:
    words = text.split()
    if len(words) < _SHORT_TEXT or not any(word[:1].islower() for word in words):
        return ""
    if known == ("en",) and not _ENGLISH.isdisjoint(text.lower().split()):
        return ""
    shares = _language_shares(text)
    best = max(shares, key=lambda code: shares[code], default="")
    if not best or best in known:
        return ""
    of_known = sum(shares.get(code, 0.0) for code in known)
    return best if of_known < _RULED_OUT or shares[best] >= _SURE else ""


def _language_shares(text: str) -> dict[str, float]:
    """Return the probability of each language with a code of two letters; none for a code or a
    number.
    """
    ranked = identifier(probabilities=True).rank(text)
    if ranked[0][0] == _NO_LANGUAGE:
        return {}
    shares = {str(code): float(share) for code, share in ranked if len(code) == 2}
    whole = sum(shares.values()) or 1.0
    return {code: share / whole for code, share in shares.items()}


def written_in(text: str, language: str) -> bool:
    """Return whether the letters of ``text`` belong to the script of a language, an ISO 639-1
    code.
    """
    if not text.isascii() and (script := _script(text)):
        return language in _WRITTEN_IN[script]
    return language not in _OTHER_SCRIPTS or not any(map(str.isalpha, text))


def _script(text: str) -> str:
    """Return the script of most letters of ``text``, or ``""`` if it is Latin or unknown."""
    names = (
        unicodedata.name(char, "").split(" ", 1)[0].split("-", 1)[0]
        for char in text
        if char.isalpha()
    )
    common = Counter(_SCRIPTS.get(name, "") for name in names).most_common(1)
    return common[0][0] if common else ""


@lru_cache(maxsize=256)  # a search calls it more than once
def _latin_language(text: str, known: tuple[str, ...]) -> str:
    if len(text.split()) < _LATIN_WORDS or (
        known == ("en",) and not _ENGLISH.isdisjoint(text.lower().split())
    ):
        return ""
    language, probability = identifier(probabilities=True).classify(text)
    return str(language) if language not in (*known, _NO_LANGUAGE) and probability >= _SURE else ""


@cache
def identifier(
    among: tuple[str, ...] = (), *, iso_639_1: bool = False, probabilities: bool = False
) -> Any:
    """Return py3langid's identifier, whose ``classify`` returns a language's code and a score.

    If ``iso_639_1`` is true, it returns only codes of two letters; otherwise only codes in
    ``among``, or any code if ``among`` is empty. With ``probabilities``, the score is between 0 and
    1.
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
    """Return the arrays of py3langid's model, 70 MB, mapped from a cache: unpacking them takes half
    a second.
    """
    from importlib.metadata import version

    import numpy as np  # the help of a command does not need these
    from py3langid.langid import MODEL_DIR, MODEL_FILE
    from py3langid.modelio import load_model

    def map_copy() -> Sequence[Any]:
        with np.load(copy / "rest.npz", allow_pickle=False) as rest:  # it compares checksums
            *shapes, priors, labels, states, features = (rest[name] for name in rest.files)
        large = [
            np.lib.format.open_memmap(copy / f"{name}.npy", mode="r")
            for name in ("weights", "moves")
        ]
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


_CODE_LETTERS = 3
_SPELLINGS = """
aa aar|ab abk|ae ave|af afr afrikaans|ak aka|am amh amharic አማርኛ|an arg|
ar ara arb arabic العربية عربي عربية|as asm assamese|av ava|ay aym|az aze azerbaijani azərbaycanca|
ba bak|be bel belarusian беларуская|
bg bul bulgarian български bulgarisch bulgare bulgaro bulgarca البلغارية|bh bih|bi bis|bm bam|
bn ben bengali bangla বাংলা|bo bod tib tibetan|br bre breton|bs bos bosnian bosanski|
ca cat catalan català|ce che|ch cha|co cos|cr cre|cs ces cze czech čeština česky|cu chu|cv chv|
cy cym wel welsh cymraeg|da dan danish dansk|
de deu ger german deutsch alemán allemand almanca الألمانية немски|dv div|dz dzo|ee ewe|
el ell gre greek ελληνικά|
en eng english englisch inglés anglais ingilizce الإنجليزية английски английский inglese inglês|
eo epo esperanto|
es spa spanish español castellano castilian spanisch espagnol ispanyolca الإسبانية испански|
et est ekk estonian eesti|eu eus baq basque euskara|fa fas per pes persian farsi فارسی|ff ful|
fi fin finnish suomi|fj fij|fo fao faroese|
fr fra fre french français französisch francés fransızca الفرنسية френски|fy fry|
ga gle irish gaeilge|gd gla|gl glg galician galego|gn grn|gu guj gujarati ગુજરાતી|gv glv|
ha hau hausa|he iw heb hebrew עברית|hi hin hindi हिन्दी हिंदी|ho hmo|hr hrv croatian hrvatski|
ht hat haitian|hu hun hungarian magyar|hy hye arm armenian հայերեն|hz her|ia ina|
id in ind indonesian indonesia|ie ile|ig ibo igbo|ii iii|ik ipk|io ido|
is isl ice icelandic íslenska|it ita italian italiano|iu iku|ja jpn japanese 日本語|jv jav javanese|
ka kat geo georgian ქართული|kg kon|ki kik|kj kua|kk kaz kazakh қазақша|kl kal|km khm khmer ខ្មែរ|
kn kan kannada ಕನ್ನಡ|ko kor korean 한국어|kr kau|ks kas|ku kur kurdish kurdî|kv kom|kw cor|
ky kir kyrgyz|la lat latin|lb ltz luxembourgish|lg lug|li lim|ln lin|lo lao ລາວ|
lt lit lithuanian lietuvių|lu lub|lv lav lvs latvian latviešu|mg mlg malagasy|mh mah|
mi mri mao maori|mk mkd mac macedonian македонски|ml mal malayalam മലയാളം|mn mon mongolian монгол|
mr mar marathi मराठी|ms msa may zsm malay melayu|mt mlt maltese|my mya bur burmese မြန်မာ|na nau|
nb nob bokmål|nd nde|ne nep npi nepali नेपाली|ng ndo|nl nld dut dutch nederlands flemish|
nn nno nynorsk|no nor norwegian norsk|nr nbl|nv nav|ny nya|oc oci occitan|oj oji|om orm oromo|
or ori ory odia oriya|os oss|pa pan punjabi panjabi ਪੰਜਾਬੀ|pi pli|pl pol polish polski|
ps pus pashto پښتو|pt por portuguese português|qu que quechua|rm roh romansh|rn run|
ro ron rum mo romanian română moldovan|ru rus russian русский руски|rw kin kinyarwanda|
sa san sanskrit|sc srd|sd snd sindhi|se sme|sg sag|si sin sinhala සිංහල|
sk slk slo slovak slovenčina|sl slv slovenian slovene slovenščina|sm smo|sn sna shona|
so som somali soomaali|sq sqi alb albanian shqip|sr srp serbian српски srpski|ss ssw|st sot|su sun|
sv swe swedish svenska|sw swa swh swahili kiswahili|ta tam tamil தமிழ்|te tel telugu తెలుగు|
tg tgk tajik|th tha thai ไทย|ti tir tigrinya|tk tuk turkmen|tl tgl fil tagalog filipino|tn tsn|
to ton|tr tur turkish türkçe türkisch turc turco التركية турски|ts tso|tt tat tatar|tw twi|ty tah|
ug uig uyghur|uk ukr ukrainian українська|ur urd urdu اردو|uz uzb uzbek|ve ven|
vi vie vietnamese việt|vo vol|wa wln|wo wol wolof|xh xho xhosa|yi ji yid yiddish|yo yor yoruba|
za zha|zh zho chi cmn chinese mandarin 中文 汉语 漢語|zu zul zulu
"""
"""The ISO 639-1 code of each language, followed by its other codes and its names in several
languages.
"""


def language_code(written: str) -> str:
    """Return the ISO 639 code of a language, the two-letter code if there is one; ``""`` if it is
    not a language.

    ``written`` may be ``en-US``, ``en_GB``, ``eng``, ``English``, ``Français`` or ``العربية``. If
    it lists several languages, only the first is used. A code of three letters without a shorter
    form stays unchanged.
    """
    known = _codes()
    first = _letters(re.split(r"[,;(/|]", written, maxsplit=1)[0])
    words = re.split(r"[-_\s]+", first)
    for word in (first, words[0], words[-1]):
        if word in known:
            return known[word]
    return words[0] if re.fullmatch(r"[a-z]{3}", words[0]) else ""


@cache
def english_name(code: str) -> str:
    """Return the English name of a language by its two-letter code; ``""`` if it has none here."""
    for row in _SPELLINGS.replace("\n", "").split("|"):
        first, *others = row.split()
        # The codes have two and three letters, and the English name is the first of the names.
        names = [word for word in others if len(word) > _CODE_LETTERS and word.isascii()]
        if first == code and names:
            return names[0].capitalize()
    return ""


@cache
def _codes() -> dict[str, str]:
    rows = (
        [_letters(word) for word in row.split()] for row in _SPELLINGS.replace("\n", "").split("|")
    )
    return {word: row[0] for row in rows for word in row}


def _letters(written: str) -> str:
    parted = unicodedata.normalize("NFKD", written.strip().casefold())
    return unicodedata.normalize(
        "NFC",
        "".join(c for c in parted if not 0x300 <= ord(c) < 0x370 and not 0x653 <= ord(c) < 0x656),
    )
