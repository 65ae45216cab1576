"""Ratings of fact-checkers, each in words or on a scale of its own, brought to four verdicts where that can be done.

Whatever stands between true and false is ``mixed``, as in ClaimsKG's normalisation. A rating that is neither among the
words nor on a scale keeps its words and gets no verdict: a guess would be worse.
"""

from __future__ import annotations

import re

TRUE, MIXED, FALSE, UNPROVEN = "true", "mixed", "false", "unproven"

_WORDS = {
    TRUE: """
        true|correct|accurate|verified|confirmed|fact|right|legit|correct attribution|wahr|richtig|stimmt|vrai|exact|
        verdadero|cierto|verdadeiro|vero|doğru|صحيح|صحيحة|حقيقي|حقيقة|صح|правда
    """,
    MIXED: """
        mostly true|half true|partly true|partially true|mixture|mixed|mostly false|partly false|partially false|
        misleading|missing context|lacks context|needs context|out of context|exaggerated|cherry picked|distorted|
        distorts the facts|spins the facts|outdated|half flip|mostly correct|partly correct|teilweise richtig|
        teilweise falsch|größtenteils richtig|größtenteils falsch|irreführend|fehlender kontext|plutôt vrai|
        plutôt faux|partiellement faux|trompeur|engañoso|verdad a medias|enganoso|enganador|impreciso|fuorviante|
        kısmen doğru|yanıltıcı|مضلل|مضللة|مضلل جزئيا|زائف جزئيا|صحيح جزئيا|ناقص|خارج السياق
    """,
    FALSE: """
        false|incorrect|inaccurate|wrong|fake|fake news|hoax|fabricated|pants on fire|bogus|debunked|untrue|scam|
        not true|misattributed|miscaptioned|altered|manipulated|doctored|no|four pinocchios|falsch|fälschung|
        frei erfunden|faux|infox|falso|bulo|fals|falsa|falsità|yanlış|sahte|زائف|زائفة|خطأ|خاطئ|خاطئة|كاذب|كاذبة|
        مفبرك|مفبركة|غير صحيح|غير صحيحة|ложь|фейк
    """,
    UNPROVEN: """
        unproven|unverified|no evidence|unsupported|unsubstantiated|insufficient evidence|not enough evidence|unknown|
        undetermined|inconclusive|unbelegt|nicht belegt|unbewiesen|invérifiable|non vérifié|no verificable|
        sin pruebas|sem provas|insustentável|non verificabile|belirsiz|غير مثبت|غير مؤكد|بلا دليل|لا دليل
    """,
}
_VERDICTS = {
    " ".join(phrase.casefold().split()): verdict for verdict, phrases in _WORDS.items() for phrase in phrases.split("|")
}
_WORDS_OF_RATING = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
"""From the first letter or digit to the last: to look for the marks after it would cost the square of other marks."""
_BETWEEN = re.compile(r"[\s_–—-]+")
_FALSE_UP_TO, _TRUE_FROM = 0.25, 0.75


def verdict_of(rating: str, value: float | None = None, worst: float | None = None, best: float | None = None) -> str:
    """Return ``true``, ``mixed``, ``false`` or ``unproven``, or ``""`` where a rating says none of them.

    The words count; where they say nothing, the place of ``value`` between ``worst`` and ``best``.
    """
    inner = _WORDS_OF_RATING.search(rating.casefold())
    words = _BETWEEN.sub(" ", inner[0]) if inner else ""
    if words in _VERDICTS:
        return _VERDICTS[words]
    if value is None or worst is None or best is None or not worst < best or not worst <= value <= best:
        return ""
    share = (value - worst) / (best - worst)
    return FALSE if share <= _FALSE_UP_TO else TRUE if share >= _TRUE_FROM else MIXED
