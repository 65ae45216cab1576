"""Tweets under the profile ``tweet``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.text import tweet


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("RT @WHO: Masks work https://t.co/Ab12", "Masks work"),
        ("rt is not a retweet", "rt is not a retweet"),
        ("cats &amp; dogs &lt;3", "cats & dogs <3"),
        ("cats &amp;amp; dogs", "cats & dogs"),
        ("#FlattenTheCurve now", "FlattenTheCurve Flatten The Curve now"),
        ("#НоваяВолна", "НоваяВолна Новая Волна"),
        ("#ΝέοΚύμα", "ΝέοΚύμα Νέο Κύμα"),
        ("#measles", "measles"),
        ("#COVID19 cases", "COVID19 COVID 19 cases"),
        ("#covid_19", "covid_19 covid 19"),
        ("#NHSHeroes", "NHSHeroes NHS Heroes"),
        ("95% of 1,200 patients", "95% of 1,200 patients"),
        ("mail me@example.org", "mail me@example.org"),
        ("thanks @a_b and @c!", "thanks and !"),
        ("look pic.twitter.com/0eJtwJyS1J here", "look here"),
        ("#لقاح_كورونا فعال", "لقاح_كورونا لقاح كورونا فعال"),
        ("  spaces \n and lines ", "spaces and lines"),
        ("https://only.a/link", ""),
        # A mention is of 1 to 15 letters, digits and _ of ASCII: what follows is the claim.
        ("@WHOワクチンは危険です", "ワクチンは危険です"),
        ("看@WHO疫苗有毒", "看 疫苗有毒"),
        ("RT @WHO：疫苗有毒", "疫苗有毒"),
        ("RT @UNICEF_ARاللقاح آمن", "اللقاح آمن"),
        ("@ArogyaSetuटीका सुरक्षित है", "टीका सुरक्षित है"),
        ("＠WHO วัคซีนปลอดภัย", "วัคซีนปลอดภัย"),
        ("@longer_than_fifteen letters", "@longer_than_fifteen letters"),
        ("@Müller lügt", "@Müller lügt"),
        (".@WHO says, ask me@who", ". says, ask me@who"),
        # A link ends where the characters of URLs end, and t.co's after its letters and digits.
        ("https://t.co/abcワクチンは危険です", "ワクチンは危険です"),
        ("看https://t.co/abc，疫苗有毒", "看 ，疫苗有毒"),
        ("看 t.co/abc，疫苗有毒", "看 ，疫苗有毒"),
        ("شاهد https://t.co/abcاللقاح يقتل", "شاهد اللقاح يقتل"),
        ("see https://t.co/abc.Vaccines kill", "see .Vaccines kill"),
        ("see https://t.co/abc?amp=1 now", "see now"),
        ("see https://who.int/a-b_c?d=e#f、ワクチン", "see 、ワクチン"),
        ("see (https://t.co/abc).", "see ("),
        ("see https://t.co/abc… now", "see now"),
        ("see https://de.wikipedia.org/wiki/Müller now", "see now"),
        ("read nyt.co/3abc now", "read nyt.co/3abc now"),
        ("read www.who.int now, awww.cute", "read now, awww.cute"),
        ("homehttps://t.co/abc pic.twitter.com/x1病毒", "home 病毒"),
        # A hashtag keeps the marks of its letters.
        ("#कोरोनावायरस", "कोरोनावायरस"),
        ("#টিকা_নিরাপদ", "টিকা_নিরাপদ টিকা নিরাপদ"),
        ("#कोरोना19 m²", "कोरोना19 कोरोना 19 m²"),
        ("#தடுப்பூசி!", "தடுப்பூசி !"),
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
    assert "42" in tweet(f"{text.replace('@', '').replace('/', '').replace('#', '').replace('.', '')} 42 ").split()
