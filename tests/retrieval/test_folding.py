"""Spellings that look the same are one, and what was found in the one form is shown in the text as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factseek.retrieval.folding import folded, folded_with_places


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("cafe\u0301 São", "caf\u00e9 S\u00e3o"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"),
        ("か\u3099 ｶﾞ", "\u304c \u30ac"),
        ("in\ufb02uenza \ufb01ndings o\ufb03ce", "influenza findings office"),
        ("immu\u00adnization hydroxy\u200bchloroquine \u200fQuarantine\u200e\ufeff bleach\u200d", None),
        ("𝗕𝗿𝗲𝗮𝗸𝗶𝗻𝗴 𝙋𝙛𝙞𝙯𝙚𝙧 Ⓥⓐⓒⓒⓘⓝⓔ", "Breaking Pfizer Vaccine"),
        ("ＣＯＶＩＤ１９", "COVID19"),
        ("CO₂ H₂O SO₄²⁻", "CO2 H2O SO4 2\u2212"),
        ("don’t don‘t don´t donʼt", "don't don't don't don't"),
        ("10² 3·10⁶", "10 2 3\u00b710 6"),
        ("m² km² E=mc² vaccine¹ \u091f\u0940\u0915\u093e² ²", "m2 km2 E=mc2 vaccine 1 \u091f\u0940\u0915\u093e 2 2"),
        (
            "657\u202f461 1\u00a0234\u00a0567 in 2020\u00a0100 5\u00a0000\u00a0km ٦٥٧٬٤٦١",
            "657461 1234567 in 2020 100 5000 km ٦٥٧٤٦١",
        ),
        ("½ 1½ 3⁄4", "1/2 1 1/2 3/4"),
        ("Pfizer™ Moderna®", "Pfizer  Moderna®"),
        ("Заповед №5 ג׳ורג׳", "Заповед  5 ג'ורג'"),
        ("①Vaccine ②", " 1 Vaccine  2 "),
        ("10 µg", "10 \u03bcg"),
        ("محمدﷺقال", "محمد صلى الله عليه وسلم قال"),
        ("ﻟﻘﺎﺡ", "لقاح"),
        ("الل\u200cقاح \u200cx", "الل\u200cقاح x"),
        ("عاجل:الملاريا لا إصابات.الوضع لقاح_كورونا", "عاجل الملاريا لا إصابات الوضع لقاح كورونا"),
        ("срочно:Корь Straße:Müller été.Il", "срочно Корь Straße:Müller été Il"),
        ("COVID:ワクチン ٣.٥ é 3.5 who.int", "COVID ワクチン ٣.٥ é 3.5 who.int"),
        ("BREAKING:Measles ca. 1,000", "BREAKING:Measles ca. 1,000"),
        ("don\ud800t ’", "don\ud800t '"),
        ("ŉ a\u1ffdb", "'n a'b"),
    ],
)
def test_the_form_of_a_text(written: str, form: str | None) -> None:
    assert folded(written) == (form or "immunization hydroxychloroquine Quarantine bleach")


ODD = st.text(
    st.one_of(
        st.characters(), st.sampled_from("aB9 .:_'é\u0301\u00ad\u200b²½①ﬁﷺ\u1100\u1161ㄱㅏｶﾞ\u0e4d\u0e33\u200cل水")
    )
)


@given(ODD)
@example("ㄱㅏ")
@example("a\u0e33\u0301")
def test_a_form_is_its_own_and_that_of_all_equivalents(text: str) -> None:
    form = folded(text)
    assert folded(form) == form
    assert folded(unicodedata.normalize("NFC", text)) == folded(unicodedata.normalize("NFD", text))


@given(ODD)
@example("ㄱㅏ")
def test_places_point_into_the_text(text: str) -> None:
    form, starts, ends = folded_with_places(text)
    assert form == folded(text)
    assert len(starts) == len(ends) == len(form)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    assert not ends or 0 <= starts[0] <= ends[-1] <= len(text)


def test_places_of_words() -> None:
    text = "Die immu\u00adnization: in\ufb02uenza, Cafe\u0301s"
    form, starts, ends = folded_with_places(text)

    def shown(word: str) -> str:
        at = form.index(word)
        return text[starts[at] : ends[at + len(word) - 1]]

    assert [shown(word) for word in ("immunization", "influenza", "Café")] == [
        "immu\u00adnization",
        "in\ufb02uenza",
        "Cafe\u0301",
    ]
