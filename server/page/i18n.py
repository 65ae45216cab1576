"""The languages of the page. Texts are English in the code; a table has the translations of each other language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from flask import g, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from ..runtime import registry

LANGUAGES: Mapping[str, str] = {"en": "English", "ar": "العربية"}  # the languages of the page, each by its own name
AGAIN = "to"  # the field with the parameters besides the text, in a form that replaces a link whose address is too long
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@lru_cache
def texts(language: str) -> Mapping[str, str]:
    """Return the translations of a language by their English texts; English has no table."""
    path = Path(__file__).with_name("texts") / f"{language}.json"
    table: dict[str, str] = {} if language == "en" else json.loads(path.read_text("utf-8"))
    return table


class Speech(NamedTuple):
    """A language of the page."""

    language: str

    @property
    def direction(self) -> str:
        """The HTML ``dir`` of the whole page."""
        return direction_of(self.language)

    def __call__(self, text: str, **values: object) -> str:
        """Return the translation of an English text, with the value of each ``{name}`` filled in."""
        spoken = texts(self.language).get(text, text)
        return spoken.format(**values) if values else spoken


def direction_of(language: str) -> str:
    """Return the HTML ``dir`` of a text: ``rtl`` if the language is written from right to left, else ``ltr``."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def speech() -> Speech:
    """Return the language of the current request: its ``lang``, else the browser's, else that of its first index."""
    if "speech" not in g:
        values = request_values()
        language = values.get("lang", "")
        if language not in LANGUAGES:
            language = request.accept_languages.best_match(LANGUAGES) or ""
        if language not in LANGUAGES:
            indexes = registry().indexes
            names = [*values.getlist("index"), *(request.view_args or {}).values(), *indexes]
            language = next((indexes[name].index.info.language for name in names if name in indexes), "en")
        g.speech = Speech(language if language in LANGUAGES else "en")
    spoken: Speech = g.speech
    return spoken


def request_values() -> MultiDict[str, str]:
    """Return the parameters of the current request, also those of a form in the place of a link."""
    try:
        values: MultiDict[str, str] = request.values
    except RequestEntityTooLarge:
        return request.args
    again = values.get(AGAIN, "")
    return MultiDict([*values.items(multi=True), *parse_qsl(again.partition("?")[2])]) if again else values
