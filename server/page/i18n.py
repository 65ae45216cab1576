"""The languages of the page.

Texts are English in the code; a table has the translations of each other language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl

from flask import g, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from ...core.languages import english_name
from ..runtime import registry

# The languages of the page, each by its own name.
LANGUAGES: Mapping[str, str] = {"en": "English", "ar": "العربية"}
LANGUAGE_NAMES: Mapping[str, str] = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "tr": "Turkish",
    "zh": "Chinese",
}
"""The names of languages for people: English texts of the page."""
LINK_FIELD = (
    # The field with the parameters besides the text, in a form that replaces a link whose address
    # is too long.
    "to"
)
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@lru_cache
def texts(language: str) -> Mapping[str, str]:
    """Return the translations of a language by their English texts; English has no table."""
    path = Path(__file__).with_name("texts") / f"{language}.json"
    table: dict[str, str] = {} if language == "en" else json.loads(path.read_text("utf-8"))
    return table


def translate(language: str, text: str, /, **values: object) -> str:
    """Return the translation of an English text, with the value of each ``{name}`` filled in."""
    translated = texts(language).get(text, text)
    return translated.format(**values) if values else translated


def name_of_language(code: str) -> str:
    """Return the English name of a language for people; the code or the name itself if it has
    none.
    """
    return LANGUAGE_NAMES.get(code) or english_name(code) or code


def direction_of(language: str) -> str:
    """Return the HTML ``dir`` of a text: ``rtl`` if the language is written from right to left,
    else ``ltr``.
    """
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def page_language() -> str:
    """Return the language of the current request: its ``lang``, else the browser's, else that of
    its first index.
    """
    if "language" not in g:
        values = request_values()
        language = values.get("lang", "")
        if language not in LANGUAGES:
            language = request.accept_languages.best_match(LANGUAGES) or ""
        if language not in LANGUAGES:
            indexes = registry().indexes
            names = [*values.getlist("index"), *(request.view_args or {}).values(), *indexes]
            language = next(
                (indexes[name].index.info.language for name in names if name in indexes), "en"
            )
        g.language = language if language in LANGUAGES else "en"
    chosen: str = g.language
    return chosen


def request_values() -> MultiDict[str, str]:
    """Return the parameters of the current request, also those of a form in the place of a link."""
    try:
        values: MultiDict[str, str] = request.values
    except RequestEntityTooLarge:
        return request.args
    again = values.get(LINK_FIELD, "")
    return (
        MultiDict([*values.items(multi=True), *parse_qsl(again.partition("?")[2])])
        if again
        else values
    )
