"""The codes of languages, from what people write."""

from __future__ import annotations

import pytest

from factseek.retrieval.languages import language_code


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("de", "de"), ("DEU", "de"), ("ger", "de"), ("German", "de"), ("Deutsch", "de"), ("de-AT", "de"),
        ("pt_BR", "pt"), ("Brazilian Portuguese", "pt"), ("Español", "es"), ("ESPANOL", "es"), ("Türkçe", "tr"),
        ("български", "bg"), ("عربى", ""), ("عربي", "ar"), ("اللغة العربية", "ar"), ("日本語", "ja"), ("हिन्दी", "hi"),
        ("Spanish (Mexico)", "es"), ("uk, ru", "uk"), ("iw", "he"), ("cmn-Hans-CN", "zh"), ("ckb", "ckb"),
        ("und", "und"), ("xx", ""), ("Dothraki", ""), ("", ""), ("e", ""), ("12", ""),
    ],
)  # fmt: skip
def test_a_language_is_known_by_its_codes_and_names(written: str, code: str) -> None:
    assert language_code(written) == code
