"""Languages and analyzers by name."""

from __future__ import annotations

import re

import pytest

from factseek.retrieval.errors import ConfigError
from factseek.retrieval.lucene.analysis import ANALYZERS, LANGUAGES, analyzer_name, language_code

pytestmark = pytest.mark.inner


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("en", "en"),
        ("AR", "ar"),
        (" tr ", "tr"),
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("eng", "en"),
        ("deu", "de"),
        ("ger", "de"),
        ("ckb", "ckb"),
        ("swa", "sw"),
        ("cmn-Hans", "zh"),
        ("vi", "vi"),
    ],
)
def test_a_language_is_known_by_its_code(written: str, code: str) -> None:
    assert language_code(written) == code


@pytest.mark.parametrize("written", ["", "xx", "klingon", "e", "e1", "12"])
def test_what_is_no_code_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=rf"^language {re.escape(repr(written))} is not a code of ISO 639; give one "):
        language_code(written)


@pytest.mark.parametrize(
    ("written", "code"), [("Arabic", "ar"), ("norwegian", "no"), ("العربية", "ar"), ("Français", "fr")]
)
def test_a_language_by_name_is_told_its_code(written: str, code: str) -> None:
    with pytest.raises(ConfigError, match=f"; say {code}$"):
        language_code(written)


def test_every_language_has_an_analyzer_and_is_a_code() -> None:
    assert set(LANGUAGES.values()) <= ANALYZERS.keys()
    assert [language_code(code) for code in LANGUAGES] == list(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "analyzer", "name"),
    [("ar", "", "arabic"), ("vi", "", "standard"), ("en", "tr", "turkish"), ("en", "Standard", "standard")],
)
def test_the_analyzer_is_the_language_s_or_the_one_named(language: str, analyzer: str, name: str) -> None:
    assert analyzer_name(language, analyzer) == name
