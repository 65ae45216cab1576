"""Spellings that look the same are one, and what was found in the one form is shown in the text as
it is.
"""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factseek.claims.text.surface import NAMES, surface_features
from factseek.claims.text.words import normalise, words
from factseek.core.domain import Statement
from factseek.core.folding import fold, folded_with_places
from factseek.core.text import tweet, unescape


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("cafe\u0301 São", "caf\u00e9 S\u00e3o"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"),
        ("か\u3099 ｶﾞ", "\u304c \u30ac"),
        ("in\ufb02uenza \ufb01ndings o\ufb03ce", "influenza findings office"),
        (
            "immu\u00adnization hydroxy\u200bchloroquine \u200fQuarantine\u200e\ufeff bleach\u200d",
            None,
        ),
        ("ＣＯＶＩＤ１９", "COVID19"),
        ("CO₂ H₂O SO₄²⁻", "CO2 H2O SO4 2\u2212"),
        ("don’t don‘t don´t donʼt", "don't don't don't don't"),
        ("10² 3·10⁶", "10 2 3\u00b710 6"),
        (
            "m² km² E=mc² vaccine¹ \u091f\u0940\u0915\u093e² ²",
            "m2 km2 E=mc2 vaccine 1 \u091f\u0940\u0915\u093e 2 2",
        ),
        (
            "657\u202f461 1\u00a0234\u00a0567 in 2020\u00a0100 5\u00a0000\u00a0km ٦٥٧٬٤٦١",
            "657461 1234567 in 2020 100 5000 km ٦٥٧٤٦١",
        ),
        ("Pfizer™ Moderna®", "Pfizer  Moderna®"),
        ("محمدﷺقال", "محمد صلى الله عليه وسلم قال"),
        ("ﻟﻘﺎﺡ", "لقاح"),
        ("الل\u200cقاح \u200cx", "الل\u200cقاح x"),
        ("عاجل:الملاريا لا إصابات.الوضع لقاح_كورونا", "عاجل الملاريا لا إصابات الوضع لقاح كورونا"),
        ("COVID:ワクチン ٣.٥ é 3.5 who.int", "COVID ワクチン ٣.٥ é 3.5 who.int"),
        ("BREAKING:Measles ca. 1,000", "BREAKING:Measles ca. 1,000"),
        ("ŉ a\u1ffdb", "'n a'b"),
    ],
)
def test_the_form_of_a_text(written: str, form: str | None) -> None:
    assert fold(written) == (form or "immunization hydroxychloroquine Quarantine bleach")


ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aB9 .:_'é\u0301\u00ad\u200b²½①ﬁﷺ\u1100\u1161ㄱㅏｶﾞ\u0e4d\u0e33\u200cل水"),
    )
)


@given(ODD)
@example("ㄱㅏ")
@example("a\u0e33\u0301")
def test_a_form_is_its_own_and_that_of_all_equivalents(text: str) -> None:
    form = fold(text)
    assert fold(form) == form
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


@given(ODD)
@example("ㄱㅏ")
def test_places_point_into_the_text(text: str) -> None:
    form, starts, ends = folded_with_places(text)
    assert form == fold(text)
    assert len(starts) == len(ends) == len(form)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    assert not ends or 0 <= starts[0] <= ends[-1] <= len(text)


LONG = 4_400
"""Digits of a number that Python refuses to read."""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("&amp;&#65;&#x41;", "&AA"),
        ("&#00000000065;", "A"),
        (f"&#{'0' * LONG}65;", "A"),
        (f"&#{'9' * LONG};x", "\ufffdx"),
        (f"&#x{'f' * LONG};", "\ufffd"),
        ("&#xD800;", "\ufffd"),
        (f"&amp;#{'1' * LONG};", f"&#{'1' * LONG};"),
    ],
)
def test_a_reference_of_any_length_is_read(text: str, meant: str) -> None:
    assert unescape(text) == meant


@pytest.mark.parametrize("reference", [f"&#{'1' * LONG};", f"&amp;#{'1' * LONG};"])
def test_a_statement_with_an_endless_reference_is_read(reference: str) -> None:
    text = f"masks {reference} work"
    assert tweet(text) == normalise(text) == "masks \ufffd work"
    assert words(text)[:2] == ["masks", "work"]
    assert surface_features([Statement("1", text)]).shape == (1, len(NAMES))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("RT @WHO: Masks work https://t.co/Ab12", "Masks work"),
        ("cats &amp; dogs &lt;3", "cats & dogs <3"),
        ("#FlattenTheCurve now", "FlattenTheCurve Flatten The Curve now"),
        ("#НоваяВолна", "НоваяВолна Новая Волна"),
        ("#COVID19 cases", "COVID19 COVID 19 cases"),
        ("95% of 1,200 patients", "95% of 1,200 patients"),
        ("#لقاح_كورونا فعال", "لقاح_كورونا لقاح كورونا فعال"),
        ("  spaces \n and lines ", "spaces and lines"),
        # A mention is of 1 to 15 letters, digits and _ of ASCII: what follows is the claim.
        ("看@WHO疫苗有毒", "看 疫苗有毒"),
        ("RT @UNICEF_ARاللقاح آمن", "اللقاح آمن"),
        ("@longer_than_fifteen letters", "@longer_than_fifteen letters"),
        ("@Müller lügt", "@Müller lügt"),
        (".@WHO says, ask me@who", ". says, ask me@who"),
        # A link ends where the characters of URLs end, and t.co's after its letters and digits.
        ("看https://t.co/abc，疫苗有毒", "看 ，疫苗有毒"),
        ("شاهد https://t.co/abcاللقاح يقتل", "شاهد اللقاح يقتل"),
        ("see https://t.co/abc?amp=1 now", "see now"),
        ("see (https://t.co/abc).", "see ("),
        ("see https://de.wikipedia.org/wiki/Müller now", "see now"),
        ("read nyt.co/3abc now", "read nyt.co/3abc now"),
        ("read www.who.int now, awww.cute", "read now, awww.cute"),
        ("homehttps://t.co/abc pic.twitter.com/x1病毒", "home 病毒"),
        # A hashtag keeps the marks of its letters.
        ("#कोरोनावायरस", "कोरोनावायरस"),
        ("#कोरोना19 m²", "कोरोना19 कोरोना 19 m²"),
        ("#วัคซีนโควิด19", "วัคซีนโควิด19 วัคซีนโควิด 19"),
        ("#لُقَاح آمن", "لُقَاح آمن"),
        ("#می\u200cخواهم", "می\u200cخواهم"),
        ("#cafe\u0301Noir", "cafe\u0301Noir cafe\u0301 Noir"),
    ],
)
def test_tweets(text: str, cleaned: str) -> None:
    assert tweet(text) == cleaned


@given(st.text())
def test_cleaning_keeps_every_number_that_stands_alone(text: str) -> None:
    assert (
        "42"
        in tweet(
            f"{text.replace('@', '').replace('/', '').replace('#', '').replace('.', '')} 42 "
        ).split()
    )
