"""Whether a text is in another language than an index, also if it is short."""

import pytest

from factseek.core.languages import foreign_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("La vacuna triple vírica provoca autismo", "es"),
        ("Aşılar otizme neden olur", "tr"),
        ("Le vaccin provoque l'autisme", "fr"),
        ("Die Erde ist flach", "de"),
        ("لم يهبط الإنسان على القمر", "Arabic"),
        ("القمر", "Arabic"),
    ],
)
def test_a_short_text_in_another_language_is_foreign(text: str, language: str) -> None:
    assert foreign_language(text, ("en",)) == language


@pytest.mark.parametrize(
    "text",
    [
        "covid survives for days on plastic",  # which looks like Nigerian Pidgin
        "vaccines contain microchips",
        "Denmark banned AstraZeneca",
        "Garlic cures covid",
        "5G causes coronavirus",
        "Putin invaded Ukraine",
        "Cristiano Ronaldo Manchester",  # names have no language
        "1945 2020 19",
    ],
)
def test_a_short_english_text_is_not_foreign(text: str) -> None:
    assert foreign_language(text, ("en",)) == ""


def test_the_script_alone_tells_latin_texts_from_arabic_ones() -> None:
    assert foreign_language("Honey", ("ar",)) == "Latin"
    assert foreign_language("The Amazon is longer than the Nile", ("ar",)) == "en"
    assert foreign_language("العسل", ("ar",)) == ""
    assert foreign_language("2025", ("ar",)) == ""


def test_an_encoder_of_all_languages_knows_every_text() -> None:
    assert foreign_language("La vacuna triple vírica provoca autismo", ()) == ""
