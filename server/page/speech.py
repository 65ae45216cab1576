"""The language of the page: every text that it shows is English in the code, and looked up in a table for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flask import g, has_request_context, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from ..runtime import registry
from .strings import ARABIC, LANGUAGES

_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
_TABLES: Mapping[str, Mapping[str, str]] = {"ar": ARABIC}


class Speech(NamedTuple):
    """A language that the page speaks."""

    language: str

    @property
    def direction(self) -> str:
        """The ``dir`` of the whole page."""
        return direction_of(self.language)

    @property
    def arrow_back(self) -> str:
        """An arrow to where one came from."""
        return "→" if self.direction == "rtl" else "←"

    def __call__(self, text: str, **values: object) -> str:
        """Return an English text in this language; ``{name}`` in it is replaced by its value."""
        spoken = _TABLES.get(self.language, {}).get(text, text)
        return spoken.format(**values) if values else spoken


ENGLISH = Speech("en")


def direction_of(language: str) -> str:
    """Return the ``dir`` of a text: where the language is not known to be written from the right, ``ltr``."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def speech() -> Speech:
    """Return the language of the current request: what it asks for, else that of the first index that it names."""
    if not has_request_context():
        return ENGLISH
    if "speech" not in g:
        values = asked_values()
        g.speech = Speech(_language(values.get("lang", ""), values.getlist("index")))
    spoken: Speech = g.speech
    return spoken


def asked_values() -> MultiDict[str, str]:
    """Return the parameters of the current request, of its address alone where its body is too large to be read."""
    try:
        return request.values
    except RequestEntityTooLarge:
        return request.args


def _language(asked: str, names: Sequence[str]) -> str:
    if asked in LANGUAGES:
        return asked
    indexes = registry().indexes
    named = [*names, *(request.view_args or {}).values(), *indexes]
    language = next((indexes[name].index.info.language for name in named if name in indexes), "en")
    return language if language in LANGUAGES else "en"
