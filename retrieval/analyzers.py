"""Lucene's analyzers by name: a language's code or English name, ``standard``, ``simple``, ``whitespace``, ``cjk``."""

from __future__ import annotations

from retrieval.errors import ConfigError

_LUCENE = "org.apache.lucene.analysis"

ANALYZERS: dict[str, str] = {
    "arabic": f"{_LUCENE}.ar.ArabicAnalyzer",
    "armenian": f"{_LUCENE}.hy.ArmenianAnalyzer",
    "basque": f"{_LUCENE}.eu.BasqueAnalyzer",
    "bengali": f"{_LUCENE}.bn.BengaliAnalyzer",
    "brazilian": f"{_LUCENE}.br.BrazilianAnalyzer",
    "bulgarian": f"{_LUCENE}.bg.BulgarianAnalyzer",
    "catalan": f"{_LUCENE}.ca.CatalanAnalyzer",
    "cjk": f"{_LUCENE}.cjk.CJKAnalyzer",
    "czech": f"{_LUCENE}.cz.CzechAnalyzer",
    "danish": f"{_LUCENE}.da.DanishAnalyzer",
    "dutch": f"{_LUCENE}.nl.DutchAnalyzer",
    "english": "io.anserini.analysis.DefaultEnglishAnalyzer",
    "estonian": f"{_LUCENE}.et.EstonianAnalyzer",
    "finnish": f"{_LUCENE}.fi.FinnishAnalyzer",
    "french": f"{_LUCENE}.fr.FrenchAnalyzer",
    "galician": f"{_LUCENE}.gl.GalicianAnalyzer",
    "german": f"{_LUCENE}.de.GermanAnalyzer",
    "greek": f"{_LUCENE}.el.GreekAnalyzer",
    "hindi": f"{_LUCENE}.hi.HindiAnalyzer",
    "hungarian": f"{_LUCENE}.hu.HungarianAnalyzer",
    "indonesian": f"{_LUCENE}.id.IndonesianAnalyzer",
    "irish": f"{_LUCENE}.ga.IrishAnalyzer",
    "italian": f"{_LUCENE}.it.ItalianAnalyzer",
    "japanese": f"{_LUCENE}.ja.JapaneseAnalyzer",
    "latvian": f"{_LUCENE}.lv.LatvianAnalyzer",
    "lithuanian": f"{_LUCENE}.lt.LithuanianAnalyzer",
    "nepali": f"{_LUCENE}.ne.NepaliAnalyzer",
    "norwegian": f"{_LUCENE}.no.NorwegianAnalyzer",
    "persian": f"{_LUCENE}.fa.PersianAnalyzer",
    "portuguese": f"{_LUCENE}.pt.PortugueseAnalyzer",
    "romanian": f"{_LUCENE}.ro.RomanianAnalyzer",
    "russian": f"{_LUCENE}.ru.RussianAnalyzer",
    "serbian": f"{_LUCENE}.sr.SerbianAnalyzer",
    "simple": f"{_LUCENE}.core.SimpleAnalyzer",
    "sorani": f"{_LUCENE}.ckb.SoraniAnalyzer",
    "spanish": f"{_LUCENE}.es.SpanishAnalyzer",
    "standard": f"{_LUCENE}.standard.StandardAnalyzer",
    "swedish": f"{_LUCENE}.sv.SwedishAnalyzer",
    "tamil": f"{_LUCENE}.ta.TamilAnalyzer",
    "telugu": f"{_LUCENE}.te.TeluguAnalyzer",
    "thai": f"{_LUCENE}.th.ThaiAnalyzer",
    "turkish": f"{_LUCENE}.tr.TurkishAnalyzer",
    "whitespace": f"{_LUCENE}.core.WhitespaceAnalyzer",
}
"""Java class of each analyzer; ``english`` is Anserini's, whose scores are the published ones."""

LANGUAGES: dict[str, str] = {
    "ar": "arabic",
    "bg": "bulgarian",
    "bn": "bengali",
    "ca": "catalan",
    "ckb": "sorani",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "gl": "galician",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "ko": "cjk",
    "lt": "lithuanian",
    "lv": "latvian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "te": "telugu",
    "th": "thai",
    "tr": "turkish",
    "zh": "cjk",
}
"""The analyzer of each language, by ISO 639 code."""


def analyzer_name(language: str, analyzer: str = "") -> str:
    """Choose the analyzer: ``analyzer`` if it is given (a name or a code), else the language's, else ``standard``.

    Raises ConfigError if ``analyzer`` is unknown.
    """
    if not analyzer:
        return LANGUAGES.get(language, "standard")
    name = LANGUAGES.get(analyzer.lower(), analyzer.lower())
    if name not in ANALYZERS:
        raise ConfigError(
            f"index.analyzer: there is no analyzer {analyzer!r}; there are {', '.join(sorted(ANALYZERS))}"
        )
    return name
